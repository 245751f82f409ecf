"""Compensation: what is done is undone in reverse order, each undo a record with an effect of its own (R-D3 to R-D7).

Nothing is undone over a doubt: steps that are UNKNOWN are settled first. An undo that fails leaves the others going on.
"""

from __future__ import annotations

from enum import StrEnum

from halfway.domain import items
from halfway.domain.doubt import ask_world, probe_key
from halfway.domain.facts import Told
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import ALL_BACK, Happened, Key, Kind, Record
from halfway.domain.turn import Turn
from halfway.domain.waits import gate, is_gate

_BUSY = frozenset({RecordStatus.RUNNING, RecordStatus.UNKNOWN})


def go_on(turn: Turn) -> None:
    """The next undo, if the one before it is through."""
    if any(record.status in _BUSY or items.are_under_way(record) for record in turn.of_kind(Kind.STEP)):
        return  # what is in doubt is settled first
    if waits_in_line(turn):
        return
    for record in in_reverse(turn):
        key = undo_key(record.key)
        undo = turn.records.get(key)
        if undo is None:
            _begin(turn, record)
            undo = turn.records.get(key)
            if undo is None:
                return  # its step's probe is asked for what it gave
        elif undo.status is RecordStatus.PENDING and undo.ready_at is None:
            _go_on_after_draft(turn, undo)
            undo = turn.records[key]
        if _blocks(undo):
            return


def in_reverse(turn: Turn) -> list[Record]:
    """What has happened, the last one first."""
    order = turn.spec.order
    happened = [record for record in turn.of_kind(Kind.STEP) if record.effect is Happened.HAPPENED and not record.key.item]
    return sorted(happened, key=lambda record: (record.ended_at or 0, order[record.key.step]), reverse=True)


def undo_key(key: Key) -> Key:
    return key._replace(kind=Kind.COMPENSATION)


def was_undone(turn: Turn) -> bool:
    """Whether anything has been undone, or was accepted as it is."""
    return turn.run.undo is not None and bool(turn.of_kind(Kind.COMPENSATION))


def waits_in_line(turn: Turn) -> bool:
    """Whether there is something to undo, and another run holds the resource: nothing is undone under its hands (R-B10)."""
    return turn.run.blocked and turn.run.undo is not None and bool(in_reverse(turn))


def _blocks(undo: Record) -> bool:
    """Whether earlier steps must wait for it. One that failed, or that a person must find out about, leaves the others going on."""
    if undo.status is RecordStatus.UNKNOWN:
        return not undo.asks
    if items.are_under_way(undo):
        return not undo.asks
    return undo.status in (RecordStatus.PENDING, RecordStatus.RUNNING) or is_gate(undo)


class Fate(StrEnum):
    """What becomes of an effect when its run is undone."""

    UNDONE = "UNDONE"  # by its compensation
    APPROVAL = "APPROVAL"  # by its compensation, once a person has approved that
    OUTPUT_UNKNOWN = "OUTPUT_UNKNOWN"  # it happened and then failed, so its probe is asked what it gave, else a person
    NO_UNDO = "NO_UNDO"  # the definition knows no compensation: a person accepts what happened, or puts it right by hand
    STAYS = "STAYS"  # the definition says that it may stay
    KEPT = "KEPT"  # it was done after the step from which the run is undone


HANDED_OVER = ("REJECTED", "DRAFT_FAILED", Fate.NO_UNDO, Fate.OUTPUT_UNKNOWN)  # codes of an undo that no machine has tried


def fate(turn: Turn, record: Record) -> Fate:
    step = turn.spec.by_name[record.key.step]
    if _is_kept(turn, record):
        return Fate.KEPT
    if step.undo is None or step.detached:
        return Fate.STAYS if step.stays else Fate.NO_UNDO
    if record.status is not RecordStatus.SUCCESS and step.fan is None:
        return Fate.OUTPUT_UNKNOWN
    return Fate.APPROVAL if step.undoing.requires_approval else Fate.UNDONE


def _begin(turn: Turn, record: Record) -> None:
    undo, outlook = Record(undo_key(record.key), RecordStatus.PENDING), fate(turn, record)
    if outlook in (Fate.KEPT, Fate.STAYS):
        turn.move(undo._replace(code=outlook.value, ended_at=turn.now), Trigger.STOPPED)
        turn.note("step.not_needed", undo.key, code=outlook.value)
    elif outlook is Fate.NO_UNDO:
        _hand_over(turn, undo, outlook.value)
    elif outlook is Fate.OUTPUT_UNKNOWN:
        _look_for_output(turn, record, undo)
    elif outlook is Fate.UNDONE and items.is_whole(turn, record):
        items.undo(turn, undo)
    elif outlook is Fate.UNDONE:
        turn.move(undo._replace(ready_at=turn.now), Trigger.BECAME_READY)
    elif (spec := turn.spec.by_name[record.key.step].undo) is not None and spec.drafts:
        turn.move(undo, Trigger.BECAME_READY)  # without a time: not before its draft has been approved
        turn.move(Record(record.key._replace(kind=Kind.DRAFT), RecordStatus.PENDING, ready_at=turn.now), Trigger.BECAME_READY)
    else:
        gate(turn, undo)


def _is_kept(turn: Turn, record: Record) -> bool:
    """Whether it was done after the step from which the run is undone."""
    back_from = turn.run.undo
    if back_from in (None, ALL_BACK):
        return False
    names = [one.key.step for one in in_reverse(turn)]
    return back_from in names and names.index(record.key.step) < names.index(back_from)


def _hand_over(turn: Turn, undo: Record, code: str) -> None:
    """No machine can undo it: a person puts it right by hand, or accepts it as it is."""
    asks = turn.approver(undo.key)
    undo = turn.move(undo._replace(code=code, asks=asks, ready_at=None, ended_at=turn.now), Trigger.FAILED)
    turn.note("step.person_needed", undo.key, role=asks, code=code)
    turn.tell(Told.PERSON_NEEDED, undo)


def _look_for_output(turn: Turn, record: Record, undo: Record) -> None:
    """It happened and then failed: its probe says what it gave, else nobody can undo it by machine."""
    probe = turn.records.get(probe_key(record.key))
    if turn.spec.by_name[record.key.step].probe is None or (probe is not None and probe.looks == -record.attempts):
        if probe is None or probe.status not in (RecordStatus.PENDING, RecordStatus.RUNNING):
            _hand_over(turn, undo, Fate.OUTPUT_UNKNOWN.value)
        return
    ask_world(turn, record, for_output=True)


def _go_on_after_draft(turn: Turn, undo: Record) -> None:
    draft = turn.records.get(undo.key._replace(kind=Kind.DRAFT))
    if draft is None or draft.status is RecordStatus.SUCCESS:
        gate(turn, undo)
    elif draft.status is RecordStatus.FAILED:
        _hand_over(turn, undo, "DRAFT_FAILED")
