"""Which steps can start: joins are recomputed from the records, never counted (R-E1, R-E2).

A step starts when everything that it stands after is through: it has succeeded, was ruled out by its condition or waived by a person,
or it is optional and has failed. Of the optional ones so many must have succeeded as the step says.
"""

from __future__ import annotations

from collections.abc import Mapping

from halfway.domain.items import PARTIAL
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import Key, Kind, Record, error_of, latest
from halfway.domain.spec import StepSpec, WorkflowSpec
from halfway.domain.turn import Turn
from halfway.domain.waits import gate, needs_gate

WAIVED = "WAIVED"  # the code of a step that a person has skipped
RULED_OUT = "CONDITION_NOT_MET"  # the code of a step whose condition did not hold
TOO_FEW = "TOO_FEW_SUCCEEDED"  # the code of a join for which not enough optional steps have succeeded
CHECKED = (RecordStatus.SUCCESS, RecordStatus.SKIPPED)


def make_ready(turn: Turn) -> None:
    """Whatever can start now becomes ready."""
    for key, record in turn.records.items():
        if key.kind is Kind.CHECK and record.status not in CHECKED:
            return  # a resume still looks at what it builds on, or found it broken
    found = turn.found()
    passed: set[str] = set()
    for step in turn.spec.steps:  # in their order: what is done anew holds back all that is behind it, also behind what is kept
        if not passed.issuperset(step.after):
            continue
        known = found[step.name]
        if _is_open(known):
            _ready(turn, step, known)
            known = turn.latest(step.name)  # ruled out, or failed at once: what stands after it can start
        if known is not None and is_passed(turn, known):
            passed.add(step.name)


def is_passed(turn: Turn, record: Record) -> bool:
    """Whether those that stand after this record's step need not wait for it any more."""
    if record.status is RecordStatus.SUCCESS:
        return True
    if record.status is RecordStatus.SKIPPED:
        return record.code in (WAIVED, RULED_OUT)
    return record.status is RecordStatus.FAILED and not record.asks and turn.step(record.key).optional


def is_whole(record: Record) -> bool:
    """Whether nothing of what was wanted is missing because of it."""
    return record.code == RULED_OUT or (record.status is RecordStatus.SUCCESS and record.code != PARTIAL)


def _is_open(record: Record | None) -> bool:
    return record is None or (record.status is RecordStatus.PENDING and record.ready_at is None)


def _ready(turn: Turn, step: StepSpec, record: Record | None) -> None:
    """Its own questions first: whether its condition holds, whether enough came through, whether a person must approve."""
    known = record or Record(Key(step.name), RecordStatus.PENDING)
    if step.condition and not known.attempts:
        answer = _condition(turn, step, known)
        if answer is None:
            return
        if not answer:
            _rule_out(turn, step, known)
            return
    if _too_few(turn, step):
        turn.fail(known._replace(code=TOO_FEW, ended_at=turn.now), Trigger.FAILED)
        return
    known = known._replace(ready_at=_place_in_line(turn, step) if record is None else turn.now)
    if needs_gate(turn, known):
        gate(turn, known)
    else:
        turn.move(known, Trigger.BECAME_READY)


def _too_few(turn: Turn, step: StepSpec) -> bool:
    if step.at_least is None:
        return False
    optional = [turn.latest(name) for name in step.after if turn.spec.by_name[name].optional]
    return sum(1 for one in optional if one is not None and one.status is RecordStatus.SUCCESS) < step.at_least


def _condition(turn: Turn, step: StepSpec, record: Record) -> bool | None:
    """What its condition has answered in this round; None: it is still to be asked, or is just being asked."""
    key = record.key._replace(kind=Kind.CONDITION)
    asked = turn.records.get(key)
    if asked is None:
        turn.move(Record(key, RecordStatus.PENDING, ready_at=_place_in_line(turn, step)), Trigger.BECAME_READY)
    elif asked.status is RecordStatus.SUCCESS:
        return not asked.code
    elif asked.status in (RecordStatus.FAILED, RecordStatus.SKIPPED):  # its step was opened again
        turn.move(asked._replace(ready_at=turn.now, failures=0, lost=0, code=""), Trigger.REOPENED)
    return None


def _rule_out(turn: Turn, step: StepSpec, record: Record) -> None:
    turn.move(record._replace(code=RULED_OUT, ready_at=None, ended_at=turn.now), Trigger.RULED_OUT)
    turn.note("step.skipped", record.key, code=RULED_OUT, condition=step.condition)


def _place_in_line(turn: Turn, step: StepSpec) -> int:
    """A step keeps its run's place: runs that began earlier go on before later ones begin."""
    return turn.run.created_at if step.after else turn.now


NOTHING_MISSING: Mapping[str, str] = {}


def missing(spec: WorkflowSpec, records: Mapping[Key, Record], outputs: Mapping[str, str], name: str) -> Mapping[str, str]:
    """Why those of the steps before this one have no output that need not have one, in a few words."""
    if not spec.may_lack:
        return NOTHING_MISSING
    found: dict[str, str] = {}
    for before in spec.ancestors[name] & spec.may_lack:
        record = latest(records, before)
        if record is not None and record.status is not RecordStatus.SUCCESS:
            told = outputs.get(error_of(before), "") if record.status is RecordStatus.FAILED else ""
            found[before] = f"{record.code}: {told}" if told else record.code
    return found
