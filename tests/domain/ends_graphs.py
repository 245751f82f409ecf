"""Whether a walk has come to what the reference says: exactly, if nothing has stopped the run; else to what a stop may leave."""

from __future__ import annotations

from halfway.domain.lifecycle import RecordStatus as S
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Happened, Key, Kind, Record
from halfway.domain.spec import Sort
from tests.domain.reference import WELL, End, Out, Place, Reference
from tests.domain.walk_graphs import STOPPED_BY, UNDONE_BY, GraphWalk

Ends = dict[Place, Record]


def steps(walk: GraphWalk) -> Ends:
    """The records of all steps in all rounds."""
    return {(k.step, k.round): r for k, r in walk.run.snapshot.records.items() if k.kind is Kind.STEP}


def compare(walk: GraphWalk) -> None:
    """Fails if the run, a step or an effect has come to something else than it may."""
    reference, ends = walk.reference, steps(walk)
    status = walk.run.status
    _run(walk, reference, status)
    for place, record in ends.items():
        end = reference.ends.get(place)
        if status in WELL:
            assert end is not None, f"{place} is {record.status} {record.code}, and was never to begin"
            assert _same(record, end) or _left_over(walk, record.key), f"{place} is {record.status} {record.code} instead of {end}"
        else:
            assert _allowed(walk, record, end), f"{place} is {record.status} {record.code} instead of {end}"
    if status in WELL:
        assert ends.keys() == reference.ends.keys(), f"rounds: {ends.keys() ^ reference.ends.keys()}"
    _effects(walk)


def _run(walk: GraphWalk, reference: Reference, status: RunStatus) -> None:
    happened = any(n for key, n in walk.done.items() if key.kind is Kind.STEP) or any(k.kind is Kind.STEP for k in walk.by_hand)
    happened = happened or any(r.effect is Happened.HAPPENED for k, r in walk.run.items.items() if walk.spec.unit(k).sort is Sort.CHILD)
    if walk.undone and happened:
        assert status is RunStatus.COMPENSATED, f"{status} and not undone"
    elif walk.cancelled:
        assert status is RunStatus.CANCELLED, f"{status} after a cancel"
    elif walk.undone or any(walk.run.rules.is_fatal(record) for record in walk.run.rules.lasts(walk.run.snapshot.records).values()):
        assert status is RunStatus.FAILED, f"{status} after a failure"
        assert reference.status is RunStatus.FAILED or walk.ordered, f"{status} instead of {reference.status}"
    elif status is not reference.status:
        some = any(_left_over(walk, record.key) for record in steps(walk).values())
        assert some, f"{status} instead of {reference.status}"
        assert status is RunStatus.PARTIAL_SUCCESS, f"{status} instead of {reference.status}"
    if walk.calm and reference.status in WELL:
        assert status is reference.status, f"{status} instead of {reference.status}, and nobody has ordered anything"


def _left_over(walk: GraphWalk, whole: Key) -> bool:
    """Whether a doubt about one of its items was settled while the run stopped: only an order that names the step does that item again."""
    return any(one.status is S.FAILED and one.code in UNDONE_BY for one in walk.run.of(whole))


def _same(record: Record, end: End) -> bool:
    return (record.status, record.code) == (end.status, end.code)


def _allowed(walk: GraphWalk, record: Record, end: End | None) -> bool:
    """In a run that stopped, a step may have been stopped too, in its last round; one that could not begin never did."""
    stopped = record.status is S.SKIPPED and record.code in STOPPED_BY
    stopped = stopped or (record.status is S.FAILED and record.code in UNDONE_BY)
    if stopped:
        return not walk.run.rules.superseded(walk.run.snapshot.records, record) and (end is not None or not record.attempts)
    if end is None:
        return False
    if end.code == Out.HALF and record.status is S.SUCCESS:
        return walk.undone  # its probe was asked what it gave, so that it could be undone
    many = walk.spec.by_name[record.key.step].fan is not None
    partly = many and (record.code in ("ITEMS_FAILED", "PARTLY_SUCCEEDED") or (record.key.step, record.key.round) in walk.said.marked)
    if partly and any(one.status is S.SKIPPED and one.code in STOPPED_BY for one in walk.run.of(record.key)):
        return False  # whoever was stopped has not failed
    return _same(record, end) or partly  # some of the items were settled as not done, and what the others came to counts


def _effects(walk: GraphWalk) -> None:
    """What happened is known, in every round; and in a run that was undone something has become of each of it."""
    records = walk.run.records
    for key in [key for key, n in walk.done.items() if n and key.kind is Kind.STEP]:
        assert records[key].effect is Happened.HAPPENED, f"{key} happened and is {records[key].effect}"
        if walk.run.status is RunStatus.COMPENSATED:
            _is_settled(walk, key)
    for key, child in walk.run.children.items():
        left = walk.run.items[key].effect is not Happened.HAPPENED and walk.run.items[key].status is not S.SKIPPED
        assert not child.happened or not left, f"the child of {key} has left something, and nobody knows"
    for key, record in records.items():
        if walk.spec.unit(key).can_be_lost and record.effect is Happened.HAPPENED and key.kind is Kind.STEP:
            assert walk.done[key] or key in walk.by_hand, f"{key} did not happen and is {record.effect}"


def _is_settled(walk: GraphWalk, key: Key) -> None:
    records = walk.run.records
    whole = records[key.whole._replace(kind=Kind.COMPENSATION)]
    assert whole.status in (S.SUCCESS, S.SKIPPED), f"{key} happened and its undo is {whole.status}"
    if whole.status is S.SUCCESS and whole.key not in walk.by_hand:
        undo = key._replace(kind=Kind.COMPENSATION)
        assert records[undo].status in (S.SUCCESS, S.SKIPPED), f"{key} happened and its undo is {records[undo].status}"
        assert walk.done[undo] or undo in walk.by_hand, f"{undo} is said to have happened"
