"""Items of steps that are done for many, inside a transaction that changes runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from halfway.domain.draft import Item
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Happened, Key, Record, Tally


class Listed(NamedTuple):
    """Items that the listing attempt `n` of a step has found; listed again, they are what they were."""

    run_id: str
    key: Key  # of the step as a whole
    n: int
    rows: tuple[tuple[str, int, str], ...]  # key, place in the list, JSON text
    first: bool  # it begins the list: what an earlier attempt has listed in vain goes


class LoadedItems(NamedTuple):
    """Items of a run with their probes and compensations."""

    records: Mapping[Key, Record]
    texts: Mapping[Key, Item]  # by the key of kind step


class ItemRow(NamedTuple):
    """An item as it is looked at."""

    position: int
    item: str
    status: str
    attempts: int
    effect: str
    code: str
    asks: str
    output: str | None
    error: str | None
    input: str
    started_at: int | None
    ended_at: int | None
    run: str | None = None  # the run that stands for it, if it is a child


class CountRow(NamedTuple):
    """How many items of a step are in a state."""

    step: str
    round: int
    kind: str
    status: str
    ready: bool  # in line, or later; else not begun
    asks: bool
    effect: Happened  # of a child: what its run says by now
    again: bool  # a retry of the step tries it again
    number: int


class Items(Protocol):
    """What a worker needs to look after items, in runs that it has locked."""

    def load(self, wanted: Sequence[tuple[str, Key]]) -> Mapping[str, LoadedItems]:
        """By run, these items with everything that belongs to them."""
        ...

    def due(self, runs: Sequence[str]) -> Sequence[tuple[str, Key]]:
        """Items of these runs whose doubt is to be looked at."""
        ...

    def asking(self, run_id: str, key: Key) -> Sequence[tuple[str, Key]]:
        """Items of a step about which a person must decide."""
        ...

    def ended(self, runs: Sequence[str]) -> Sequence[tuple[str, Key, RunStatus]]:
        """Children of these runs that have ended, and for which they still wait."""
        ...

    def stopped(self, runs: Sequence[str]) -> Sequence[str]:
        """Those of these runs that are to stop because their parents do; each is answered once."""
        ...

    def begin(self, run_id: str, key: Key, at_once: int) -> int:
        """Lets so many items of a step be under way as there may be, and answers how many are."""
        ...

    def tally(self, run_id: str, key: Key) -> Tally:
        """What has become of the items of a step."""
        ...
