"""Times, audit lines, plans and what a person is asked to approve, as every face shows them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from halfway.authoring.values import LIMIT, redact
from halfway.domain.plan import Plan
from halfway.domain.run import Kind, Record
from halfway.domain.spec import WorkflowSpec
from halfway.errors import InvalidInput
from halfway.ports import AuditRow, CallRow, Detail

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AuditShown:
    """Who ordered what, and why."""

    at: datetime
    actor: str
    action: str
    reason: str
    step: str
    evidence: str
    before: str
    after: str
    refused: str = ""  # why it was not carried out

    def to_json(self) -> Json:
        return {
            "at": rfc3339(self.at), "actorId": self.actor, "action": self.action, "reason": self.reason, "step": self.step or None,
            "evidence": self.evidence or None, "before": self.before or None, "after": self.after or None,
            "refused": self.refused or None,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CallShown:
    """A call of a tool inside a step: a line of its work log."""

    at: datetime
    step: str
    attempt: int
    tool: str
    effect: str
    args: object
    answer: object
    error: str
    ended_at: datetime | None
    tokens: int

    def to_json(self) -> Json:
        return {
            "at": rfc3339(self.at), "step": self.step, "attempt": self.attempt, "tool": self.tool or None, "effect": self.effect,
            "arguments": self.args, "answer": self.answer, "error": self.error or None, "completedAt": rfc3339(self.ended_at),
            "tokens": self.tokens,
        }  # fmt: skip


def call_shown(row: CallRow) -> CallShown:
    """A stored call as it is shown; what was cut is shown as it was kept."""
    return CallShown(
        at=instant(row.began_at), step=row.key.step, attempt=row.n, tool=row.tool, effect=row.effect, args=_as_json(row.args),
        answer=None if row.answer is None else _as_json(row.answer), error=row.error or "", ended_at=moment(row.ended_at),
        tokens=row.tokens,
    )  # fmt: skip


def _as_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def audit_shown(row: AuditRow) -> AuditShown:
    """A line of the audit log."""
    audit = row.audit
    return AuditShown(
        at=instant(row.at), actor=audit.actor, action=audit.action, reason=audit.reason, step=audit.step or "",
        evidence=audit.evidence or "", before=row.before, after=row.after, refused=audit.refused or "",
    )  # fmt: skip


def rfc3339(moment: datetime | None) -> str | None:
    """UTC, to the microsecond."""
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant(microseconds: int) -> datetime:
    """A stored time."""
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).replace(microsecond=microseconds % 1_000_000)


def moment(microseconds: int | None) -> datetime | None:
    """A stored time, if there is one."""
    return None if microseconds is None else instant(microseconds)


def plan_json(plan: Plan) -> Json:
    """What an order would do, by the names of its steps."""
    return {
        "hash": plan.hash, "before": plan.before.value, "after": plan.after.value, "again": list(plan.again), "checked": list(plan.checked),
        "probed": list(plan.probed), "kept": list(plan.kept), "ahead": list(plan.ahead), "dropped": list(plan.dropped),
        "items": [one._asdict() for one in plan.items], "ready": list(plan.ready), "undone": [asdict(one) for one in plan.undone],
        "approvals": [{"step": step, "role": role} for step, role in plan.approvals],
    }  # fmt: skip


def what_is_shown(spec: WorkflowSpec, detail: Detail, record: Record) -> tuple[str, str]:
    """What a person sees before the next attempt of a record is approved, and the hash that the approval is bound to (R-C4)."""
    outputs = {one.record.key: one.output for one in detail.records}
    draft = outputs.get(record.key._replace(kind=Kind.DRAFT))
    own = outputs.get(record.key._replace(kind=Kind.STEP))
    shown = draft or json.dumps({"input": json.loads(detail.input), "output": None if own is None else json.loads(own)})
    bound = (spec.hash, record.key.step, record.key.kind.value, str(record.attempts), shown)
    return shown, hashlib.sha256("\x1f".join(bound).encode()).hexdigest()[:32]


def json_text(text: str, what: str) -> str:
    """A JSON text that can be stored; InvalidInput if it is none. For values whose type is not known here."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("VALUE_INVALID", what=what, problem=f"it is not valid JSON: {error}.") from None
    plain = json.dumps(value, separators=(",", ":"))
    if len(plain) > LIMIT:
        raise InvalidInput("VALUE_INVALID", what=what, problem=f"it has {len(plain):,} bytes, more than {LIMIT:,}.")
    safe = redact(plain)
    return plain if safe == plain else json_text(safe, what)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number in JSON")
