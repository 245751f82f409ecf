"""Moving a run to a later version of its workflow, inside a transaction that has locked it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from halfway.domain.spec import WorkflowSpec


class Moved(NamedTuple):
    """A run as it stands under another definition."""

    run_id: str
    revision: int  # at which it was read
    version: int  # that it leaves
    spec: WorkflowSpec  # that it gets
    input: str  # JSON; the one before is kept
    steps: tuple[tuple[str, str], ...]  # (former name, name now): their records go along
    dropped: tuple[str, ...]  # former names: their records are set aside
    outputs: Mapping[str, str]  # JSON by the name now, where it is not what it was
    note: str  # JSON, for the journal


class Moves(Protocol):
    """The one change of a run that is not made by `decide`: its definition."""

    def move(self, moved: Moved) -> None:
        """Puts a run under another definition; `GuardFailed` if it has moved since it was read."""
        ...
