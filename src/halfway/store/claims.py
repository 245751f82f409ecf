"""What runs must hold before they begin: resources, and places among the runs of a workflow. All of it at once, or they stand in line."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from halfway.domain.line import Claim
from halfway.store.database import Session, Work

ABLE_AT_ONCE = 1000


class Claims:
    """Leases of runs, in one transaction. They are taken in order of their key and slot, so that nobody waits in a circle."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, run_ids: Sequence[str]) -> Mapping[str, Sequence[Claim]]:
        """What these runs must hold."""
        found: defaultdict[str, list[Claim]] = defaultdict(list)
        for run_id, key, slots, _ in self._session.rows("claims", ids=list(run_ids)) if run_ids else []:
            found[run_id].append(Claim(key, slots))
        return found

    def in_line(self, limit: int) -> list[str]:
        """Runs that stand in line and could begin."""
        return [run_id for (run_id,) in self._session.rows("in_line", now=self._session.now, limit=limit)]

    def take(self, wanted: Sequence[tuple[str, Sequence[Claim]]], *, behind: bool = False) -> frozenset[str]:
        """Those that hold all of it now. `behind`: they are new, and take nothing for which somebody stands in line who could begin."""
        keys = sorted({claim.key for _, claims in wanted for claim in claims})
        taken: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for key, slot, holder in self._session.rows("slots", keys=keys) if keys else []:
            taken[key][slot] = holder
        closed = self._closed([key for key in keys if self._may_be_free(key, wanted, taken)]) if behind else frozenset[str]()
        rows: list[tuple[str, int, str]] = []
        able: dict[str, int] = {}
        for run_id, claims in wanted:
            places = [_place(run_id, claim, taken[claim.key]) for claim in claims]
            if any(place is None for place in places) or any(claim.key in closed for claim in claims):
                continue
            able[run_id] = 0
            for claim, place in zip(claims, places, strict=True):
                if place is not None and taken[claim.key].get(place) != run_id:
                    taken[claim.key][place] = run_id
                    rows.append((claim.key, place, run_id))
        return frozenset(able) - self._lost(sorted(rows))

    def _lost(self, rows: Sequence[tuple[str, int, str]]) -> frozenset[str]:
        """Whoever finds a slot taken at the last moment gives back what it has got, and stands in line."""
        counts = self._session.each(Work("take_slot", rows)) if rows else []
        lost = frozenset(run_id for (_, _, run_id), count in zip(rows, counts, strict=True) if not count)
        if lost:
            self._session.many([Work("give_back_slot", [(run_id,) for run_id in sorted(lost)])])
        return lost

    def _may_be_free(self, key: str, wanted: Sequence[tuple[str, Sequence[Claim]]], taken: Mapping[str, Mapping[int, str]]) -> bool:
        return any(len(taken[key]) < claim.slots for _, claims in wanted for claim in claims if claim.key == key)

    def _closed(self, keys: Sequence[str]) -> frozenset[str]:
        """Those for which somebody stands in line who could begin."""
        waited = {key for (key,) in self._session.rows("waited_for", keys=list(keys), now=self._session.now)} if keys else set[str]()
        if not waited:
            return frozenset()
        able = self.of(self.in_line(ABLE_AT_ONCE))
        return frozenset(claim.key for claims in able.values() for claim in claims)


def _place(run_id: str, claim: Claim, taken: Mapping[int, str]) -> int | None:
    """The slot that it has, or one that is free; each run begins to look elsewhere, so that two who come together rarely meet."""
    for slot, holder in taken.items():
        if holder == run_id:
            return slot
    if len(taken) >= claim.slots:
        return None
    first = zlib.crc32(run_id.encode()) % claim.slots
    return next((slot for slot in (*range(first, claim.slots), *range(first)) if slot not in taken), None)
