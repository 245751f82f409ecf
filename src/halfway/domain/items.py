"""Items: a step that does the same for each of a list (R-E5). Each item is a record of its own, with the rules of any step.

The record of the step as a whole lists the items, waits until none of them moves by itself any more, and then says what that means.
Items are so many that a decision sees only those that it is about: of the others it hears how many there are.
"""

from __future__ import annotations

from enum import Enum

from halfway.domain.contract import Rule, rule_for_absent
from halfway.domain.facts import AtRest, ReopenItems, StopItems, Told, UndoItems
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import Attempt, Happened, Kind, Record, Report, Tally
from halfway.domain.spec import FanSpec, Sort
from halfway.domain.turn import CLOSED_BY, Turn

UNDER_WAY = "ITEMS"  # the code of a step whose items are on their way
PARTIAL = "PARTLY_SUCCEEDED"  # the code of a step for which some items failed, and enough succeeded
TOO_MANY_FAILED = "ITEMS_FAILED"
NOT_NAMED = "ITEM_KEY_INVALID"  # the code of a step whose items could not be listed, as one of them got no key


class Verdict(Enum):
    """What the items of a step come to."""

    WHOLE = "WHOLE"
    PARTIAL = "PARTIAL"
    PERSON = "PERSON"
    FAILED = "FAILED"


def verdict(fan: FanSpec, tally: Tally) -> Verdict:
    """Whether that is enough; nothing to do is a success, and what has partly succeeded makes the whole a partial success at best."""
    if tally.succeeded == tally.total and not tally.partial:
        return Verdict.WHOLE
    share = tally.succeeded / tally.total
    if share >= fan.partial_from:
        return Verdict.PARTIAL
    return Verdict.FAILED if share < fan.failed_below else Verdict.PERSON


def opened(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    """The items are listed; from now on the step as a whole occupies no worker."""
    left = turn.end(record, attempt, report, unsettled=False)
    if attempt.n > 1:  # the items may have been listed before, and stopped
        turn.commands.append(ReopenItems(record.key, _proves_absence(turn, record)))
    turn.move(record._replace(ready_at=None, asks="", code=UNDER_WAY, looks=0, ended_at=None, open=left), Trigger.SUSPENDED)
    turn.note("step.items_listed", record.key, attempt.n, total=report.total)


def are_under_way(record: Record) -> bool:
    """Whether it is a step as a whole whose items are on their way."""
    return record.status is RecordStatus.WAITING and record.code == UNDER_WAY


def is_whole(turn: Turn, record: Record) -> bool:
    """Whether it is the record of a step that is done for many, and not that of an item."""
    return (
        not record.key.item
        and turn.step(record.key).sort in (Sort.EACH, Sort.CHILDREN)
        and record.key.kind in (Kind.STEP, Kind.COMPENSATION)
    )


def stop(turn: Turn, record: Record) -> bool:
    """The run stops: what has not begun is not begun, what runs is told; the whole is closed when nothing moves any more.

    Answers whether that was not known before.
    """
    if record.looks:
        return False
    turn.move(record._replace(looks=1, asks=""), Trigger.LOOKED)
    turn.commands.append(StopItems(record.key, CLOSED_BY[turn.run.intent], turn.step(record.key).detached))
    return True


def at_rest(turn: Turn, fact: AtRest) -> None:
    record, tally = turn.records.get(fact.key), fact.tally
    if record is None or not are_under_way(record):
        return
    if tally.asking:
        if not record.asks:
            _ask(turn, record, UNDER_WAY, tally)
        return
    happened = Happened.HAPPENED if tally.happened else record.effect
    unit = turn.spec.by_name[fact.key.step].of_item
    record = record._replace(asks="", effect=happened if unit.can_be_lost or unit.sort is Sort.CHILD else record.effect)
    told = tally._asdict()
    if fact.key.kind is Kind.COMPENSATION:
        _undone(turn, record, tally)
    elif tally.stopped and turn.stopping:
        turn.move(record._replace(code=CLOSED_BY[turn.run.intent], ended_at=turn.now), Trigger.STOPPED, keep=True)
        turn.note("step.skipped", record.key, record.attempts, **told)
    else:
        _judge(turn, record, tally)


def _judge(turn: Turn, record: Record, tally: Tally) -> None:
    fan = turn.step(record.key).fan
    assert fan is not None
    if tally.for_person and not turn.stopping:
        _ask(turn, record, TOO_MANY_FAILED, tally)
        return
    match verdict(fan, tally):
        case Verdict.WHOLE:
            succeed(turn, record, "", tally)
        case Verdict.PARTIAL:
            succeed(turn, record, PARTIAL, tally)
        case Verdict.FAILED:
            _fail(turn, record, tally, keep=True)
        case Verdict.PERSON:
            if turn.stopping:
                _fail(turn, record, tally, keep=True)
            else:
                _ask(turn, record, TOO_MANY_FAILED, tally)


def _fail(turn: Turn, record: Record, tally: Tally, *, keep: bool = False) -> None:
    turn.fail(record._replace(code=TOO_MANY_FAILED, ended_at=turn.now), Trigger.FAILED, keep=keep, **tally._asdict())


def succeed(turn: Turn, record: Record, code: str, tally: Tally | None) -> None:
    told = {} if tally is None else tally._asdict()
    turn.move(record._replace(code=code, ended_at=turn.now, asks=""), Trigger.ARRIVED, keep=tally is not None)
    turn.note("step.completed", record.key, record.attempts, **told)


def have_failed(record: Record) -> bool:
    """Whether it is a step as a whole that has come to rest, with too many items that failed; what the others gave is kept."""
    return not record.key.item and record.key.kind is Kind.STEP and record.code == TOO_MANY_FAILED


def accept(turn: Turn, record: Record) -> None:
    """A person takes what became of the items for enough."""
    if record.status is RecordStatus.WAITING:
        succeed(turn, record, PARTIAL, None)
    else:
        turn.move(record._replace(code=PARTIAL, asks="", ended_at=turn.now), Trigger.MARKED_SUCCESS)


def _ask(turn: Turn, record: Record, code: str, tally: Tally) -> None:
    record = turn.move(record._replace(asks=turn.approver(record.key), code=code), Trigger.PERSON_NEEDED, keep=code != UNDER_WAY)
    turn.note("step.person_needed", record.key, record.attempts, role=record.asks, code=code, **tally._asdict())
    turn.tell(Told.PERSON_NEEDED, record)


def open_again(turn: Turn, record: Record, *, by_name: bool) -> None:
    """Items that have failed are tried again, and nothing else is (R-E5); `by_name`: a person has ordered just that."""
    turn.commands.append(ReopenItems(record.key, by_name or _proves_absence(turn, record)))
    turn.move(record._replace(asks="", code=UNDER_WAY, looks=0, ended_at=None), Trigger.ITEMS_OPENED)


def _proves_absence(turn: Turn, record: Record) -> bool:
    """Whether an item that its probe does not find may be repeated without a person; a key that is forgotten some day does not count."""
    unit = turn.spec.by_name[record.key.step].of_item
    return rule_for_absent(unit, key_counts=unit.idempotent_for is None) is Rule.REPEAT


def go_on(turn: Turn, record: Record) -> None:
    """A person has settled items: whether others still ask is looked at anew."""
    if record.asks and record.code == UNDER_WAY:
        turn.move(record._replace(asks=""), Trigger.ITEMS_OPENED)


# ── undo ──


def undo(turn: Turn, record: Record) -> None:
    """Each item is undone by itself; the whole waits for them."""
    turn.commands.append(UndoItems(record.key))
    turn.move(record._replace(asks="", code=UNDER_WAY, looks=0, ready_at=None, approved_until=None), Trigger.ITEMS_OPENED)
    turn.note("step.items_undone", record.key)


def _undone(turn: Turn, record: Record, tally: Tally) -> None:
    if tally.failed:
        _fail(turn, record, tally)
    else:
        succeed(turn, record, "", tally)
