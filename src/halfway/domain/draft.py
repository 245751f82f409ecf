"""One run inside a transaction: facts are decided one after the other, on top of each other, and stored as one change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from halfway.domain.decide import decide, evolve
from halfway.domain.facts import Command, Fact, SetRun
from halfway.domain.lifecycle import FINAL
from halfway.domain.run import Key, Snapshot
from halfway.domain.spec import WorkflowSpec
from halfway.domain.turn import Turn


class Payload(NamedTuple):
    """What an attempt brought with it; decisions never read it."""

    output: str | None = None  # JSON text
    error: str | None = None  # bounded, redacted


class Audit(NamedTuple):
    """Who ordered what, and why (R-D8); written in the transaction that changes the run."""

    action_id: str
    actor: str
    action: str
    reason: str
    step: str | None = None
    evidence: str | None = None


class Change(NamedTuple):
    """What one decision does to one run, ready to be stored."""

    before: Snapshot
    commands: tuple[Command, ...]
    payloads: Mapping[Key, Payload] = {}  # by the record that a command moves (with keep) or whose error it is
    audit: Audit | None = None


class Draft:
    """What one transaction does to one run."""

    __slots__ = ("audit", "before", "commands", "input", "now", "outputs", "payloads", "snapshot", "spec")

    def __init__(self, spec: WorkflowSpec, snapshot: Snapshot, now: int, *, input: str, outputs: dict[str, str]) -> None:
        self.spec = spec
        self.before = self.snapshot = snapshot
        self.now = now
        self.input = input
        self.outputs = outputs
        self.commands: list[Command] = []
        self.payloads: dict[Key, Payload] = {}
        self.audit: Audit | None = None

    def take(self, fact: Fact) -> tuple[Command, ...]:
        """Decides about one fact, on top of those before."""
        commands = decide(self.spec, self.snapshot, fact, self.now)
        if commands:
            self.snapshot = evolve(self.snapshot, commands)
            self.commands.extend(commands)
        return commands

    @property
    def ended(self) -> bool:
        return self.snapshot.run.status in FINAL

    @property
    def stopping(self) -> bool:
        """Whether bodies of this run should stop at their next safe boundary."""
        return Turn(self.spec, self.snapshot, self.now).stopping

    def change(self) -> Change | None:
        """All that was decided, with the run's own row once; None if nothing changes."""
        if not self.commands and self.audit is None:
            return None
        last = next((command for command in reversed(self.commands) if isinstance(command, SetRun)), None)
        ended = any(isinstance(command, SetRun) and command.ended for command in self.commands)
        kept = [command for command in self.commands if not isinstance(command, SetRun)]
        if last is not None:
            kept.append(last._replace(ended=ended))
        return Change(self.before, tuple(kept), self.payloads, self.audit)
