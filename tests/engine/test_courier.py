"""Messages reach whoever is told about them, on both databases; what could not be handed over is told again under the same id."""

from __future__ import annotations

from pathlib import Path

from halfway import Effect, Halfway, RunStatus, Step, StepFailed, Then
from halfway.ports import Notice
from tests.engine.harness import FAST, Order, flow, until


def test_a_message_is_handed_over_again_until_it_arrives(url: str, tmp_path: Path) -> None:
    told: list[Notice] = []
    wf = flow(on_failure=Then.MANUAL)

    @wf.step(Effect.READ, approver="ops")
    def read(step: Step[Order]) -> None:
        raise StepFailed("no", code="NO")

    def ring(notice: Notice) -> None:
        told.append(notice)
        if len(told) == 1:
            raise ConnectionError("nobody is there")

    app = Halfway(url, workflows=[wf], settings=FAST, artifacts=str(tmp_path), notify=[ring], roles={"ops": ["kim"]})
    try:
        run = app.start(wf, Order())
        with app.worker():
            until(lambda: len(told) == 1)
            until(lambda: app.get(wf, run.id).status is RunStatus.MANUAL_REQUIRED)
            app.store.advance_clock(3600 * 1_000_000)
            until(lambda: len(told) == 2)
            until(lambda: not app.store.attention.messages(undelivered=True))
    finally:
        app.close()
    assert told[0].id == told[1].id
    assert (told[0].what, told[0].step, told[0].role, told[0].members, told[0].code) == ("PERSON_NEEDED", "READ", "ops", ("kim",), "NO")
