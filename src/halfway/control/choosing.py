"""Which runs an order for many is for: a filter, and the steps of a run that the order can mean. Nothing is approved in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from halfway.control.shown import rfc3339
from halfway.domain.facts import CancelAsked, MarkedSuccess, Order, ProbeAsked, ResumeAsked, RetryAsked, SkipAsked
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import ACTING, Record
from halfway.domain.spec import Sort, WorkflowSpec
from halfway.domain.waits import is_gate
from halfway.errors import InvalidInput
from halfway.ports import Reading, Row

PAGE = 500
WHOLE = ("resume", "cancel")  # of a run as a whole
DECISIONS = ("mark-success", "mark-not-happened")  # they settle a doubt, so they need evidence
ACTIONS = (*WHOLE, "retry", "skip", "probe", *DECISIONS)
STOPPED = (RunStatus.FAILED, RunStatus.MANUAL_REQUIRED)
OPEN = tuple(status for status in RunStatus if status not in FINAL)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """How runs are chosen; what is None does not matter."""

    code: str | None = None  # of the error
    step: str | None = None
    role: str | None = None  # that is asked to decide
    type: str | None = None
    version: int | None = None
    status: RunStatus | None = None
    since: datetime | None = None  # when the run last changed
    until: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        told = {
            "errorCode": self.code, "step": self.step, "role": self.role, "type": self.type, "version": self.version,
            "status": None if self.status is None else self.status.value, "since": rfc3339(self.since), "until": rfc3339(self.until),
        }  # fmt: skip
        return {name: value for name, value in told.items() if value is not None}


def order_of(action: str, step: str | None, arguments: dict[str, Any]) -> Order:
    """What is ordered for one run."""
    if action in WHOLE:
        return ResumeAsked() if action == "resume" else CancelAsked(bool(arguments.get("undo")))
    name = step or ""
    made: dict[str, Order] = {
        "retry": RetryAsked(name),
        "skip": SkipAsked(name),
        "probe": ProbeAsked(name),
        "mark-success": MarkedSuccess(name),
        "mark-not-happened": RetryAsked(name, True, bool(arguments.get("gone"))),
    }
    return made[action]


def choose(
    reading: Reading, spec_of: Callable[[str], WorkflowSpec], action: str, filter: Filter, limit: int
) -> tuple[tuple[Row, str | None], ...]:
    """The runs that fit, the oldest first, each with the step that is meant."""
    if action not in ACTIONS:
        problem = f"{action} cannot be ordered for many runs."
        raise InvalidInput("CONFIG_INVALID", source="of the batch", problem=problem, remedy=f"Known are {', '.join(ACTIONS)}.")
    if not filter.to_json():
        problem = "it would be for every run."
        raise InvalidInput("CONFIG_INVALID", source="of the batch", problem=problem, remedy="Say which runs are meant, as with --code.")
    found: list[tuple[Row, str | None]] = []
    for row in _rows(reading, action, filter):
        found.extend((row, step) for step in _steps(spec_of, action, filter, row))
    found.sort(key=lambda one: (one[0].run.created_at, one[0].run.id))
    return tuple(found[:limit])


def _rows(reading: Reading, action: str, filter: Filter) -> Iterator[Row]:
    statuses = (filter.status,) if filter.status is not None else STOPPED if action in ("resume", "retry", "skip") else OPEN
    for status in statuses:
        before: str | None = None
        while page := reading.runs(status=status, type=filter.type, limit=PAGE, before=before):
            yield from (row for row in page if _fits(filter, row))
            before = page[-1].run.id
            if len(page) < PAGE:
                break


def _fits(filter: Filter, row: Row) -> bool:
    if filter.version is not None and row.run.version != filter.version:
        return False
    since, until = (None if one is None else one.timestamp() * 1e6 for one in (filter.since, filter.until))
    return (since is None or row.updated_at >= since) and (until is None or row.updated_at <= until)


def _steps(spec_of: Callable[[str], WorkflowSpec], action: str, filter: Filter, row: Row) -> tuple[str | None, ...]:
    spec = spec_of(row.run.hash)
    meant = [record for record in row.records if record.key.kind in ACTING and _is_meant(action, filter, spec, record)]
    if action not in WHOLE:
        return tuple(dict.fromkeys(record.key.step for record in meant))
    by_step = filter.code is not None or filter.step is not None or filter.role is not None
    return (None,) if meant or not by_step else ()


def _is_meant(action: str, filter: Filter, spec: WorkflowSpec, record: Record) -> bool:
    for wanted, given in ((filter.code, record.code), (filter.step, record.key.step), (filter.role, record.asks)):
        if wanted is not None and wanted != given:
            return False
    in_doubt = record.status is RecordStatus.UNKNOWN and bool(record.asks)
    failed = record.status is RecordStatus.FAILED
    late = record.status is RecordStatus.WAITING and bool(record.asks) and not _awaits_yes(spec, record)
    return {
        "resume": True,
        "cancel": True,
        "retry": failed or late,
        "skip": failed or late,
        "probe": in_doubt or late,
        "mark-success": in_doubt or (failed and bool(record.asks)),
        "mark-not-happened": in_doubt,
    }[action]


def _awaits_yes(spec: WorkflowSpec, record: Record) -> bool:
    """Each approval is given for itself."""
    return is_gate(record) or spec.unit(record.key).sort is Sort.APPROVAL
