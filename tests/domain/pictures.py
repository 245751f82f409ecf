"""Workflows of which pictures are drawn: a short one, one with everything, a wide one, and one whose texts try to break out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from halfway.domain.drawing import mermaid_lines, text_lines
from halfway.domain.picture import Picture, picture_of
from halfway.domain.spec import (
    DAY,
    MINUTE,
    Effect,
    FanSpec,
    ProbeSpec,
    RewindSpec,
    Risk,
    Sort,
    StepSpec,
    Then,
    TriggerSpec,
    UndoSpec,
    WaitSpec,
    WorkflowSpec,
)
from halfway.domain.svg import svg

SHORT = WorkflowSpec(
    type="GREETING", version=1, owner="support",
    steps=(StepSpec(name="FIND", effect=Effect.READ), StepSpec(name="GREET", effect=Effect.NOTIFY, after=("FIND",), idempotent=True)),
)  # fmt: skip

ORDER = WorkflowSpec(
    type="ORDER", version=3, owner="shop-owner", locked=True, triggers=(TriggerSpec(kind="EVENT", name="BASKET_SENT"),),
    steps=(
        StepSpec(name="CHECK_STOCK", effect=Effect.READ),
        StepSpec(name="FIND_CUSTOMER", effect=Effect.READ, after=()),
        StepSpec(
            name="RESERVE", effect=Effect.CHANGE, after=("CHECK_STOCK",), probe=ProbeSpec(), holds=True,
            undo=UndoSpec(risk=Risk.HIGH, effect=Effect.CHANGE),
        ),
        StepSpec(name="BOOK", sort=Sort.TRANSACTION, after=("CHECK_STOCK", "FIND_CUSTOMER")),
        StepSpec(
            name="PAYMENT", sort=Sort.EVENT, after=("RESERVE", "BOOK"),
            wait=WaitSpec(name="PAID", timeout=3 * DAY, on_timeout=Then.CANCEL),
        ),
        StepSpec(
            name="AGREE", sort=Sort.APPROVAL, after=("PAYMENT",),
            wait=WaitSpec(role="finance", quorum=2, four_eyes=True, timeout=DAY, on_timeout=Then.MANUAL),
        ),
        StepSpec(name="COOL_DOWN", sort=Sort.TIME, after=("PAYMENT",), wait=WaitSpec()),
        StepSpec(
            name="CHARGE", effect=Effect.CHANGE, after=("AGREE", "COOL_DOWN"), irreversible=True, requires_approval=True,
            approver="finance", on_failure=Then.MANUAL,
        ),
        StepSpec(
            name="SHIPPED", sort=Sort.RUN, after=("CHARGE",),
            wait=WaitSpec(name="SHIPMENT", timeout=90 * MINUTE, on_timeout=Then.PROBE),
        ),
        StepSpec(name="THANK", effect=Effect.NOTIFY, after=("SHIPPED", "FIND_CUSTOMER"), idempotent=True),
    ),
)  # fmt: skip

WIDE = WorkflowSpec(
    type="CHANNELS", version=1, owner="marketing",
    steps=(
        StepSpec(name="MAKE", effect=Effect.READ),
        *(StepSpec(name=f"SEND_{name}", effect=Effect.CREATE, after=("MAKE",)) for name in ("MAIL", "CHAT", "PAPER", "PHONE", "RADIO")),
        StepSpec(name="REVIEW", effect=Effect.DELEGATE, after=("SEND_CHAT",)),
        StepSpec(name="COUNT", effect=Effect.READ, after=("SEND_MAIL", "REVIEW", "SEND_PAPER", "SEND_PHONE", "SEND_RADIO", "MAKE")),
    ),
)  # fmt: skip

STRANGE = WorkflowSpec(
    type="STRANGE", version=1, owner='</text><script>alert("x")</script> & \x00\x1b[0m',
    steps=(
        StepSpec(name="A_VERY_LONG_NAME_OF_A_STEP_THAT_FILLS_ALL_SIXTY_FOUR_LETTERS_OF_IT", effect=Effect.DELEGATE),
        StepSpec(
            name="ASK", sort=Sort.APPROVAL, after=("A_VERY_LONG_NAME_OF_A_STEP_THAT_FILLS_ALL_SIXTY_FOUR_LETTERS_OF_IT",),
            wait=WaitSpec(role='"><img src=x onerror=y> 재무팀 승인 담당자와 회계 책임자 모두', timeout=DAY),
        ),
    ),
)  # fmt: skip

LOOP = WorkflowSpec(
    type="ARTICLE", version=2, owner="editor",
    steps=(
        StepSpec(name="COLLECT", effect=Effect.READ),
        StepSpec(name="WRITE", effect=Effect.DELEGATE, after=("COLLECT",), idempotent=True, per_round=True),
        StepSpec(name="ILLUSTRATE", effect=Effect.CREATE, after=("COLLECT",), optional=True, probe=ProbeSpec()),
        StepSpec(
            name="REVIEW", effect=Effect.READ, after=("WRITE",), rewind=RewindSpec(to="WRITE", max=3, on=("TOO_LONG", "DULL", "WRONG")),
        ),
        StepSpec(name="TRANSLATE", effect=Effect.DELEGATE, after=("REVIEW",), condition="is_international", idempotent=True),
        StepSpec(name="PUBLISH", effect=Effect.CREATE, after=("TRANSLATE", "ILLUSTRATE"), at_least=1, probe=ProbeSpec()),
        StepSpec(
            name="TELL", sort=Sort.EACH, effect=Effect.NOTIFY, after=("PUBLISH",), idempotent=True,
            fan=FanSpec(items="COLLECT", concurrency=20, failed_below=0.8),
        ),
    ),
)  # fmt: skip

ALL = {"loop": LOOP, "short": SHORT, "order": ORDER, "wide": WIDE, "strange": STRANGE}

FOLDER = Path(__file__).parent / "snapshots"
DRAWINGS: dict[str, Callable[[Picture], str]] = {
    "svg": svg,
    "txt": lambda picture: "\n".join(text_lines(picture)) + "\n",
    "mmd": lambda picture: "\n".join(mermaid_lines(picture)) + "\n",
}


if __name__ == "__main__":  # python -m tests.domain.pictures: draws all of them anew
    FOLDER.mkdir(exist_ok=True)
    for name, spec in ALL.items():
        for form, draw in DRAWINGS.items():
            (FOLDER / f"{name}.{form}").write_text(draw(picture_of(spec)), encoding="utf-8")
