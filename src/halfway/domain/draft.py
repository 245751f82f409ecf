"""One run inside a transaction: facts are decided one after the other, on top of each other, and stored as one change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from halfway.domain.decide import AT_REST, close, take
from halfway.domain.facts import Command, Fact, Move
from halfway.domain.lifecycle import FINAL, RunStatus, Trigger
from halfway.domain.run import Key, Kind, Record, Snapshot, output_of
from halfway.domain.spec import WorkflowSpec
from halfway.domain.turn import Turn


class Payload(NamedTuple):
    """What an attempt brought with it; decisions never read it."""

    output: str | None = None  # JSON text
    error: str | None = None  # bounded, redacted
    emitted: tuple[Emitted, ...] = ()  # kept if the record succeeds, together with it


class Emitted(NamedTuple):
    """An event that a step sends with its success."""

    name: str
    key: str
    payload: str  # JSON text


class Audit(NamedTuple):
    """Who ordered what, and why (R-D8); written in the transaction that changes the run."""

    action_id: str
    actor: str
    action: str
    reason: str
    step: str | None = None
    evidence: str | None = None
    refused: str | None = None  # why it was not carried out
    before: RunStatus | None = None  # how the run stood, where the order has written something of it already


class Change(NamedTuple):
    """What one decision does to one run, ready to be stored."""

    before: Snapshot
    commands: tuple[Command, ...]
    payloads: Mapping[Key, Payload] = {}  # by the record that a command moves (with keep) or whose error it is
    audit: Audit | None = None
    new_input: str | None = None  # JSON text, of EditInput
    wakes: bool = False  # whoever decided does not look after the items of the run: a worker must
    slots: Mapping[str, tuple[str, int]] = {}  # what its attempts take with their start: (key, slot) by holder


class Item(NamedTuple):
    """What belongs to one item: texts that its bodies read."""

    input: str  # JSON
    output: str | None = None  # JSON, once it has succeeded


NO_ITEMS: Mapping[Key, Item] = {}


class Draft:
    """What one transaction does to one run."""

    __slots__ = ("_snapshot", "_turn", "audit", "before", "input", "items", "new_input", "now", "outputs", "payloads", "spec", "tends")

    def __init__(
        self, spec: WorkflowSpec, snapshot: Snapshot, now: int, *, input: str, outputs: dict[str, str],
        items: Mapping[Key, Item] = NO_ITEMS, tends: bool = False,
    ) -> None:  # fmt: skip
        """`items`: by the key of their steps, of those that are in the snapshot. `tends`: whoever decides looks after all items."""
        self.items = items
        self.tends = tends
        self.spec = spec
        self.before = snapshot
        self.now = now
        self.input = input
        self.outputs = outputs
        self.payloads: dict[Key, Payload] = {}
        self.audit: Audit | None = None
        self.new_input: str | None = None
        self._turn = Turn(spec, snapshot, now)
        self._snapshot: Snapshot | None = None  # once the decision is closed

    @property
    def records(self) -> Mapping[Key, Record]:
        """The records as they stand now."""
        return self._turn.records

    @property
    def commands(self) -> Sequence[Command]:
        """All that was decided so far."""
        return self._turn.commands

    @property
    def snapshot(self) -> Snapshot:
        """The run as it stands after everything that was taken in; nothing more can be taken afterwards."""
        if self._snapshot is None:
            close(self._turn)
            self._snapshot = Snapshot(self._turn.run, self._turn.records)
        return self._snapshot

    def take(self, fact: Fact) -> Sequence[Command]:
        """Decides about one fact, on top of those before, and answers what it adds."""
        if self._snapshot is not None:
            raise RuntimeError("this decision is closed")
        known = len(self._turn.commands)
        take(self._turn, fact)
        added = self._turn.commands[known:]
        for command in added if self.spec.waits or self.spec.loops else ():
            if isinstance(command, Move) and command.trigger is Trigger.DEFAULTED:
                self._default(command.record.key)
            elif isinstance(command, Move) and command.trigger is Trigger.BECAME_READY:
                self._new_round(command.record.key)
        return added

    def _new_round(self, key: Key) -> None:
        """What an earlier round gave is kept for its undo, and read by nobody else."""
        former = self.outputs.pop(key.step, None) if key.round > 1 and key.kind is Kind.STEP else None
        if former is not None:
            self.outputs[output_of(key._replace(round=key.round - 1))] = former

    def _default(self, key: Key) -> None:
        """A wait that ended in vain gives the value that its definition holds for that."""
        wait = self.spec.by_name[key.step].wait
        value = "null" if wait is None or wait.value is None else wait.value
        self.payloads[key] = Payload(value)
        self.outputs[key.step] = value

    def replace(self, commands: Sequence[Command], snapshot: Snapshot) -> None:
        """Sets what was decided aside; for an engine that cannot decide."""
        self._turn.commands[:] = commands
        self._snapshot = snapshot

    @property
    def ended(self) -> bool:
        return self.snapshot.run.status in FINAL

    @property
    def at_rest(self) -> bool:
        """Whether nothing more happens before something comes from outside."""
        return self.snapshot.run.status in AT_REST

    @property
    def stopping(self) -> bool:
        """Whether bodies of this run should stop at their next safe boundary."""
        return self._turn.stopping

    def change(self) -> Change | None:
        """All that was decided; None if nothing changes."""
        _ = self.snapshot
        if not self._turn.commands and self.audit is None:
            return None
        return Change(self.before, tuple(self._turn.commands), self.payloads, self.audit, self.new_input, not self.tends)
