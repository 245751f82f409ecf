"""What a change tells others: waits and what closes them, events, messages, corrected inputs; rows by statement, as in `writing`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from halfway.domain.draft import Change, Emitted
from halfway.domain.facts import CloseWait, EditInput, OpenWait, PassDown, ReleaseHold, ReopenItems, StopItems, Tell, UndoItems
from halfway.domain.facts import Telling as Told
from halfway.domain.run import Key, Kind, RunRow
from halfway.domain.spec import Sort
from halfway.ports import GuardFailed
from halfway.store.ids import new_id
from halfway.store.texts import made_storable, require_storable

Rows = list[tuple[object, ...]]
OWN_SOURCE = "halfway"  # of events that steps have sent


class Telling:
    """Waits close before others open, and events come after both: so nobody in the same transaction is missed."""

    def __init__(self, now: int) -> None:
        self.now = now
        self._inputs: Rows = []
        self._kept_inputs: Rows = []
        self._holds: Rows = []
        self._closed: Rows = []
        self._used: Rows = []
        self._arrived: Rows = []
        self._rivals: Rows = []
        self._opened: Rows = []
        self._found: Rows = []
        self._messages: Rows = []
        self._events: Rows = []
        self._event_messages: Rows = []
        self._event_wakes: Rows = []
        self._event_tasks: Rows = []
        self._run_wakes: Rows = []
        self._stopped_items: Rows = []
        self._passed_down: Rows = []
        self._reopened_items: Rows = []
        self._undone_items: Rows = []
        self._wakes: Rows = []
        self._run_tasks: Rows = []

    def add(self, change: Change, command: Told) -> None:
        """One command; values in the order of the statement's parameters."""
        run_id = change.before.run.id
        match command:
            case OpenWait():
                self._open(run_id, command, _shown(change, command))
            case CloseWait():
                self._close(run_id, command)
            case ReleaseHold():
                self._holds.append((f"{run_id}:{command.key.step}",))
            case EditInput():
                require_storable(input=change.new_input)
                self._kept_inputs += [(self.now, run_id)] if command.keep else []
                self._inputs.append((change.new_input, run_id))
            case Tell(what, key, role, code):
                step = None if key is None else key.step
                self._messages.append((new_id(), self.now, what.value, run_id, step, role, code))
            case StopItems(key, code, detached):
                self._stopped_items.append((code, self.now, *_group(run_id, key), 1 if detached else 0))
            case PassDown(key):
                self._passed_down.append((run_id, key.step, key.round))
            case ReopenItems(key, not_found):
                self._reopened_items.append((*_group(run_id, key), 1 if not_found else 0))
            case UndoItems(key):
                self._undone_items.append(_group(run_id, key)[:3])
            case _:
                assert_never(command)

    def emit(self, run_id: str, key: Key, emitted: Sequence[Emitted]) -> None:
        """The events of a step that has succeeded; sent again, they are the same."""
        step, round, item, kind = key
        for number, event in enumerate(emitted):
            id, name, event_key = new_id(), made_storable(event.name), made_storable(event.key)
            provider_id = f"{run_id}:{step}:{round}:{item}:{kind.value}#{number}"
            self._events.append((id, OWN_SOURCE, provider_id, name, event_key, made_storable(event.payload), self.now))
            self._event_messages.append((new_id(), self.now, run_id, step, id))
            self._event_wakes.append((self.now, name, event_key, id))
            self._event_tasks.append((id, event_key, self.now, name))

    def tend(self, change: Change, moved: Iterable[Key]) -> None:
        """Whoever has moved items and does not look after the others makes a worker look whether they have come to rest."""
        opened = any(isinstance(command, (StopItems, PassDown, ReopenItems, UndoItems)) for command in change.commands)
        if change.wakes and (opened or any(key.item for key in moved)):
            self._wakes.append((change.before.run.id, self.now))

    def ended(self, run: RunRow) -> None:
        """A run has reached a final state."""
        self._run_wakes.append((self.now, run.id))
        self._run_tasks.append((f"{run.id}:{run.revision}", self.now, run.id, run.type, f"% {run.status.value} %"))

    def first(self) -> tuple[tuple[str, Rows], ...]:
        """What must be written as long as the run's own row stands as it was read."""
        return ("keep_input", self._kept_inputs), ("set_input", self._inputs)

    def last(self) -> tuple[tuple[str, Rows], ...]:
        """What follows from the records and the run as they are written by then."""
        return (
            ("release_hold", self._holds),
            ("close_wait", self._closed),
            ("use_event", self._used),
            ("close_event_wait", self._arrived),
            ("close_other_wait", self._arrived),
            ("wake_next", self._rivals),
            ("open_wait", self._opened),
            ("wake_for_wait", self._found),
            ("tell", self._messages),
            ("put_event", self._events),
            ("tell_event", self._event_messages),
            ("wake_for_event", self._event_wakes),
            ("task_for_event", self._event_tasks),
            ("stop_items", self._stopped_items),
            ("pass_down", self._passed_down),
            ("reopen_items", self._reopened_items),
            ("undo_items", self._undone_items),
            ("wake", self._wakes),
            ("wake_for_run", self._run_wakes),
            ("wake_parent", self._run_wakes),
            ("task_for_run", self._run_tasks),
        )

    def check(self, counts: Mapping[str, int]) -> None:
        """Each wait that has got something was open, and each event was used by one of them."""
        if not self._arrived:
            return
        closed, others, used = counts["close_event_wait"], counts["close_other_wait"], counts["use_event"]
        if closed + others != len(self._arrived) or used != closed:
            raise GuardFailed(f"{len(self._arrived)} waits: {closed} closed by {used} events, {others} by something else")

    def _open(self, run_id: str, wait: OpenWait, shown: str | None) -> None:
        (step, round, item, kind), n, sort, name, wait_key, since = wait
        wait_key = made_storable(wait_key) or ""
        self._opened.append((run_id, step, round, item, kind.value, n, sort.value, name, wait_key, self.now, since, made_storable(shown)))
        if sort is Sort.EVENT or sort is Sort.RUN:
            self._found.append((run_id, self.now, sort.value, name, wait_key, since))

    def _close(self, run_id: str, wait: CloseWait) -> None:
        (step, round, item, kind), how, source = wait
        place = (run_id, step, round, item, kind.value)
        if source is None:
            self._closed.append((self.now, how, *place))
        else:
            self._used.append((self.now, run_id, source, step, round, item, kind.value))
            self._arrived.append((self.now, how, source, *place))
        self._rivals.append((self.now, *place))


def _group(run_id: str, key: Key) -> tuple[object, ...]:
    return run_id, key.step, key.round, key.kind.value


def _shown(change: Change, wait: OpenWait) -> str | None:
    """What whoever approves is shown: what the step itself has made, or the draft of it."""
    if wait.sort is not Sort.APPROVAL:
        return None
    for key in (wait.key, wait.key._replace(kind=Kind.DRAFT)):
        payload = change.payloads.get(key)
        if payload is not None and payload.output is not None:
            return payload.output
    return None
