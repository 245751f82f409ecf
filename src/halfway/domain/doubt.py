"""What happens to an UNKNOWN record: the probe looks, an Absent must be late enough, and only then a person is asked (R-D1).

An attempt is gone when it can send nothing any more. Found counts at once; Absent only if the probe began after every lost
attempt was gone and the receiver has had time to show it.
"""

from __future__ import annotations

from halfway.domain import loops
from halfway.domain.contract import Rule, rule_for, rule_for_absent
from halfway.domain.facts import Told
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import ACTING, PROBE_OF, PROBED_BY, Answer, Ended, Happened, Key, Record, Report
from halfway.domain.spec import MINUTE, SECOND, Effect
from halfway.domain.turn import Turn

PATIENCE = 5 * MINUTE  # how long an attempt that is not known to be gone is waited for before a person is told


def look(turn: Turn, record: Record) -> None:
    """The next thing to do about an UNKNOWN record that asks nobody yet and whose time to look has come."""
    if rule_for(turn.step(record.key), repeatable=False) is Rule.ASK_WORLD:
        ask_world(turn, record)
        return
    gone_at = _gone_at(turn, record)
    if gone_at is not None and gone_at > turn.now:
        _later(turn, record, gone_at)
    elif gone_at is None and turn.now < _doubted_at(record) + PATIENCE:
        _later(turn, record, _doubted_at(record) + PATIENCE)
    else:
        ask_person(turn, record)


def ask_world(turn: Turn, record: Record, *, for_output: bool = False) -> None:
    """The probe looks. `for_output`: it is known that it happened, and the probe is asked what it gave."""
    key = probe_key(record.key)
    probe = turn.records.get(key)
    if probe is not None and probe.status in (RecordStatus.PENDING, RecordStatus.RUNNING):
        return  # its answer will come
    fresh = probe or Record(key, RecordStatus.PENDING)
    trigger = Trigger.BECAME_READY if probe is None else Trigger.REOPENED
    if not for_output:
        still_waits = record.status is RecordStatus.WAITING and (record.ready_at or 0) > turn.now
        turn.move(record._replace(ready_at=record.ready_at if still_waits else None, looks=record.looks + 1), Trigger.LOOKED)
    looks = -record.attempts if for_output else record.attempts
    turn.move(fresh._replace(ready_at=turn.now, failures=0, lost=0, code="", looks=looks, started_at=None, ended_at=None), trigger)


def probe_key(key: Key) -> Key:
    """The record of the probe that looks for this one."""
    return key._replace(kind=PROBE_OF[key.kind])


def probed_key(key: Key) -> Key:
    """The record that this probe looks for."""
    return key._replace(kind=PROBED_BY[key.kind])


def answered(turn: Turn, probe: Record, report: Report, began: int) -> None:
    """A probe has answered, or given up; `probe.looks` says for which attempt it looked."""
    record = turn.records.get(probed_key(probe.key))
    if record is not None and record.status is RecordStatus.FAILED and probe.looks == -record.attempts:
        _told_output(turn, record, report.answer or Answer.CANNOT_TELL)
    elif record is not None and record.status is RecordStatus.UNKNOWN:
        _answered(turn, record, probe, report, began)


def _answered(turn: Turn, record: Record, probe: Record, report: Report, began: int) -> None:
    if probe.looks != record.attempts:  # it looked for an earlier attempt: its answer says nothing about this one
        turn.move(record._replace(ready_at=turn.now), Trigger.LOOKED)
        return
    answer = report.answer or Answer.CANNOT_TELL
    turn.note("step.probed", record.key, record.attempts, answer=answer.value, code=report.code)
    if answer is Answer.FOUND and turn.step(record.key).effect is not Effect.DELEGATE:
        happened(turn, record, "FOUND", Trigger.FOUND)
        return
    if answer is Answer.FOUND:  # an agent did something: its result is kept apart until a person has looked
        ask_person(turn, record, keep=True)
        return
    settled_from = _absent_counts_from(turn, record)
    if settled_from is None:
        if turn.now >= _doubted_at(record) + PATIENCE:
            ask_person(turn, record)
        else:
            _later(turn, record, turn.now + max(turn.step(record.key).probe_settle, SECOND))
    elif began < settled_from:
        _later(turn, record, max(settled_from, turn.now + SECOND // 10))
    elif answer is Answer.ABSENT:
        absent(turn, record)
    else:
        ask_person(turn, record)


def _told_output(turn: Turn, record: Record, answer: Answer) -> None:
    """It happened and then failed. With what it gave it can be undone."""
    turn.note("step.probed", record.key, record.attempts, answer=answer.value)
    if answer is Answer.FOUND:
        turn.move(record, Trigger.FOUND, keep=True)


def happened(turn: Turn, record: Record, how: str, trigger: Trigger) -> None:
    """It is known that it happened, and the payload of the fact is what the step would have returned."""
    record = turn.settle(record, how, *record.unsettled)
    record = record._replace(effect=Happened.HAPPENED, code="", asks="", ready_at=None, ended_at=turn.now)
    turn.move(record, trigger, keep=True)
    turn.note("step.completed", record.key, record.attempts, settled=how)


def absent(turn: Turn, record: Record) -> None:
    """It is proven that it did not happen; whether a machine may repeat it is the effect's rule."""
    step = turn.step(record.key)
    if not turn.gives_up(record) and rule_for_absent(step, key_counts=not turn.key_forgotten(step, record)) is Rule.ASK_PERSON:
        ask_person(turn, record)
        return
    record = turn.settle(record, "ABSENT", *record.unsettled)
    if step.rewind is not None and record.code in step.rewind.on:  # a later attempt has failed so, while an earlier one was in doubt
        loops.failed(turn, record, Trigger.NOT_HAPPENED)
        return
    turn.retry_or_stop(record, Report(Ended.NOTHING, code=record.code, effect=Happened.NOT), absent=True)


def ask_person(turn: Turn, record: Record, *, keep: bool = False) -> None:
    """`keep`: what the probe found is stored, but no step reads it before a person has decided."""
    role = turn.approver(record.key)
    record = turn.move(record._replace(asks=role, ready_at=None), Trigger.PERSON_NEEDED, keep=keep)
    turn.note("step.person_needed", record.key, record.attempts, role=role, code=record.code)
    turn.tell(Told.PERSON_NEEDED, record)


def _later(turn: Turn, record: Record, at: int) -> None:
    turn.move(record._replace(ready_at=at), Trigger.LOOKED)


def _doubted_at(record: Record) -> int:
    return record.ended_at or 0


RESTORED = "RESTORED"  # the code of a doubt that comes from a restored database, which may have forgotten a start


def forgotten(turn: Turn, record: Record) -> bool:
    """Whether this record may have been started after the copy was made from which the database was restored."""
    restored_at = turn.run.restored_at
    if restored_at is None:
        return False
    step = turn.step(record.key)
    if record.key.kind not in ACTING or not step.can_be_lost:
        return False
    if step.idempotent and not turn.key_forgotten(step, record._replace(first_at=record.first_at or turn.run.created_at)):
        return False  # a repeat is harmless, however early a forgotten start was
    if turn.run.created_at >= restored_at and not step.business_key:
        return False  # nobody can have done it under a key of this run
    looked = record.effect is Happened.NOT and (record.ended_at or 0) >= restored_at
    return not looked and (record.started_at or 0) < restored_at


def _gone_at(turn: Turn, record: Record) -> int | None:
    """From when on none of the lost attempts can send anything; None: not known."""
    restored_at = turn.run.restored_at
    before = restored_at is not None and (record.started_at or 0) < restored_at  # a start after this one may be forgotten
    latest = (restored_at or 0) + turn.step(record.key).timeout if before else 0
    for attempt in record.unsettled:
        if attempt.gone_at is None:
            return None
        latest = max(latest, attempt.gone_at)
    return latest


def _absent_counts_from(turn: Turn, record: Record) -> int | None:
    gone_at = _gone_at(turn, record)
    return None if gone_at is None else gone_at + turn.step(record.key).probe_settle
