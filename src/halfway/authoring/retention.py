"""How long what has ended is kept: a frozen value for a workflow, and for all that say nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from halfway.authoring.policy import LONGEST
from halfway.errors import DefinitionError


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How long what has ended is kept. None keeps it for ever, but for artifacts, which then go with the history.

    `Retention(history=timedelta(days=90))` forgets the steps of a run 90 days after its end. Its key stays taken and the log of orders
    stays readable; each has a time of its own.
    """

    history: timedelta | None = None  # records, attempts, journal, evidence, payloads of events
    artifacts: timedelta | None = None
    audit: timedelta | None = None  # who ordered what; never deleted together with the history
    keys: timedelta | None = None  # what a run was and how it ended, its business key, the ids of events

    def __post_init__(self) -> None:
        for name in ("history", "artifacts", "audit", "keys"):
            _check(name, getattr(self, name))
        if self.keys is not None and self.history is None:
            raise _refused("keys= is given, and history= is not.", "A key is kept at least as long as the run: give history=, too.")
        if self.keys is not None and self.history is not None and self.keys < self.history:
            problem = f"keys ({self.keys}) is shorter than history ({self.history})."
            raise _refused(problem, "Give keys= longer than history=: while a key is kept, nothing is started twice under it.")


def _check(name: str, time: object) -> None:
    if time is None:
        return
    if not isinstance(time, timedelta):
        raise _refused(f"{name} is {time!r}.", "Give a timedelta, or None for ever.")
    if not timedelta(0) < time <= LONGEST:
        raise _refused(f"{name} is {time}.", f"Give a time of more than 0 and at most {LONGEST.days} days.")


def _refused(problem: str, remedy: str) -> DefinitionError:
    return DefinitionError("POLICY_INVALID", policy="Retention", problem=problem, remedy=remedy)


FOR_EVER = Retention()
