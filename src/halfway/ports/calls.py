"""Calls of tools inside a step, and what was spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from halfway.domain.run import Key


class Called(NamedTuple):
    """A tool is about to be called, or (without a tool) something was spent."""

    run_id: str
    key: Key
    n: int
    seq: int
    tool: str
    effect: str
    args: str  # JSON
    tokens: int = 0


class Answered(NamedTuple):
    """A tool has answered, or failed."""

    run_id: str
    key: Key
    n: int
    seq: int
    answer: str | None  # JSON; None: it failed, or cannot be kept
    error: str | None


class CallRow(NamedTuple):
    """A call as it is looked at."""

    key: Key
    n: int
    seq: int
    tool: str
    effect: str
    args: str
    tokens: int
    began_at: int
    ended_at: int | None
    answer: str | None
    error: str | None


class Spent(NamedTuple):
    """What was spent so far, over all attempts and rounds."""

    tokens: int
    calls: int
    step_tokens: int
    step_calls: int


class Calls(Protocol):
    """What was called and spent; read only."""

    def spent(self, run_id: str, step: str) -> Spent:
        """What the run has spent, and what this step of it has."""
        ...

    def before(self, run_id: str, key: Key, n: int) -> Sequence[CallRow]:
        """What the attempts before this one have called, in order."""
        ...

    def of_run(self, run_id: str, *, limit: int = 1000) -> Sequence[CallRow]:
        """The work log of a run."""
        ...
