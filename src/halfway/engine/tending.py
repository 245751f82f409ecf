"""Looking after the items of steps that are done for many: who gets in line, and when a step has come to rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halfway.domain.draft import Draft
from halfway.domain.facts import AtRest, Command, Move, ReopenItems, StopItems, UndoItems
from halfway.domain.items import are_under_way
from halfway.ports import Turn

AT_ONCE = 500  # items of a step that are under way, where its author has set no limit


def moves_items(commands: Sequence[Command]) -> bool:
    """Whether these may have changed how many items of a run move."""
    return any(_moves(command) for command in commands)


def _moves(command: Command) -> bool:
    if isinstance(command, Move):
        return bool(command.record.key.item) or are_under_way(command.record)
    return isinstance(command, (StopItems, ReopenItems, UndoItems))


def begin_items(tx: Turn, draft: Draft, hot: set[str]) -> Iterator[AtRest]:
    """Lets as many items get in line as there may be; tells of the steps of this run none of whose items moves any more."""
    for key, record in draft.snapshot.records.items():
        if not are_under_way(record) or key.item:
            continue
        step = draft.spec.by_name[key.step]
        at_once = AT_ONCE if step.fan is None or step.fan.concurrency is None else step.fan.concurrency
        if tx.items.begin(draft.before.run.id, key, at_once):
            hot.add(step.route)
        else:
            yield AtRest(key, tx.items.tally(draft.before.run.id, key))
