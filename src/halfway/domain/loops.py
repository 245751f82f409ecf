"""Bounded loops: a step that fails in a certain way sends its run back to an earlier one (R-E3).

What is between the two is done again in another round. Rounds stand side by side, each with its own records and outputs; a step
with an effect says whether each round is an effect of its own (`per_round`), or what the first one did is kept (`once`).
"""

from __future__ import annotations

from collections.abc import Mapping

from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import Key, Record, latest
from halfway.domain.spec import ANY_FAILURE, RewindSpec, WorkflowSpec
from halfway.domain.turn import Turn


def failed(turn: Turn, record: Record, trigger: Trigger) -> None:
    """A step has failed in the way that sends its run back; when all rounds are used up, what then follows is the loop's own policy."""
    rewind = turn.step(record.key).rewind
    assert rewind is not None
    if len(made(turn.records, record.key.step)) >= rewind.max:
        turn.note("step.rounds_used_up", record.key, record.attempts or None, code=record.code, max=rewind.max)
        turn.fail(record, trigger, rewind.then)
    elif turn.gives_up(record):
        turn.fail(record, trigger)
    else:
        record = turn.move(record._replace(ready_at=None, asks="", approved_until=None), trigger)
        turn.note("step.failed", record.key, record.attempts or None, code=record.code)
        go_back(turn, record, rewind)


def go_back(turn: Turn, record: Record, rewind: RewindSpec) -> None:
    """Another round of all that stands between the two; what is ready in it is found as in every other round."""
    turn.note("workflow.rewound", record.key, record.attempts or None, to=rewind.to, code=record.code)
    for name in turn.spec.loops[record.key.step]:
        before = turn.latest(name)
        kept = turn.spec.by_name[name].once and before is not None and before.status is RecordStatus.SUCCESS
        if before is not None and not kept:
            turn.move(Record(Key(name, before.key.round + 1), RecordStatus.PENDING), Trigger.BECAME_READY)


def made(records: Mapping[Key, Record], step: str) -> list[Record]:
    """The failures of a step that have sent the run back, the first one first."""
    found: list[Record] = []
    record = records.get(Key(step))
    while record is not None and (after := records.get(Key(step, record.key.round + 1))) is not None:
        if record.status is RecordStatus.FAILED:
            found.append(record)
        record = after
    return found


def sends_back(rewind: RewindSpec | None, code: str) -> bool:
    """Whether a failure with this code is one for which the loop is there."""
    return rewind is not None and (code in rewind.on or ANY_FAILURE in rewind.on)


def cause(spec: WorkflowSpec, records: Mapping[Key, Record], step: str) -> Record | None:
    """The failure because of which a step is done once more; None in its first round."""
    record = latest(records, step)
    if record is not None and record.key.round == 1:
        return None
    failures = [failure for last, names in spec.loops.items() if step in names for failure in made(records, last)[-1:]]
    return max(failures, key=lambda failure: (failure.ended_at or 0, failure.key.round), default=None)
