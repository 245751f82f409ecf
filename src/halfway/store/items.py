"""The port `Items`: records of steps that are done for many, a few at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from halfway.domain.draft import Item
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Attempt, Key, Kind, Record, Tally
from halfway.ports import Listed, LoadedItems
from halfway.store.database import Session, Work
from halfway.store.rows import RUN_STATUS, to_attempt, to_key, to_record

AT_ONCE = 1000  # so many doubts are looked at in one transaction, or decided by one order


class StoreItems:
    """On one open transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def load(self, wanted: Sequence[tuple[str, Key]]) -> Mapping[str, LoadedItems]:
        groups: defaultdict[tuple[str, str, int], set[str]] = defaultdict(set)
        for run_id, key in wanted:
            groups[run_id, key.step, key.round].add(key.item)
        found: dict[str, LoadedItems] = {}
        for (run_id, step, round), items in groups.items():
            records, texts = self._load(run_id, step, round, sorted(items))
            before = found.get(run_id)
            if before is not None:
                records, texts = {**before.records, **records}, {**before.texts, **texts}
            found[run_id] = LoadedItems(records, texts)
        return found

    def _load(self, run_id: str, step: str, round: int, items: list[str]) -> tuple[dict[Key, Record], dict[Key, Item]]:
        place: dict[str, object] = {"run_id": run_id, "step": step, "round": round, "items": items}
        open: defaultdict[tuple[object, ...], list[Attempt]] = defaultdict(list)
        for row in self._session.rows("load_item_attempts", **place):
            open[row[:5]].append(to_attempt(row))
        records: dict[Key, Record] = {}
        texts: dict[Key, Item] = {}
        for row in self._session.rows("load_items", **place):
            *columns, input, output = row
            record = to_record(columns, tuple(open.get(row[:5], ())))
            records[record.key] = record
            if record.key.kind is Kind.STEP:
                texts[record.key] = Item(input, output)
        return records, texts

    def due(self, runs: Sequence[str]) -> Sequence[tuple[str, Key]]:
        rows = self._session.rows("due_items", ids=list(runs), now=self._session.now, limit=AT_ONCE) if runs else []
        return [(run_id, to_key(*key)) for run_id, *key in rows]

    def asking(self, run_id: str, key: Key) -> Sequence[tuple[str, Key]]:
        rows = self._session.rows("asking_items", **_place(run_id, key), limit=AT_ONCE)
        return [(run_id, key._replace(item=item)) for (item,) in rows]

    def ended(self, runs: Sequence[str]) -> Sequence[tuple[str, Key, RunStatus]]:
        rows = self._session.rows("ended_children", ids=list(runs), limit=AT_ONCE) if runs else []
        return [(run_id, to_key(step, round, item, kind), RUN_STATUS[status]) for run_id, step, round, item, kind, status in rows]

    def stopped(self, runs: Sequence[str]) -> Sequence[str]:
        found = [run_id for (run_id,) in self._session.rows("passed", ids=list(runs))] if runs else []
        if found:
            self._session.run("drop_passed", ids=found)
        return found

    def begin(self, run_id: str, key: Key, at_once: int) -> int:
        [(moving,)] = self._session.rows("items_under_way", **_place(run_id, key))
        if moving < at_once:
            moving += self._session.run("begin_items", **_place(run_id, key), now=self._session.now, limit=at_once - moving)
        return int(moving)

    def tally(self, run_id: str, key: Key) -> Tally:
        [counts] = self._session.rows("tally_items", **_place(run_id, key))
        return Tally(*map(int, counts))


def keep_listed(session: Session, listed: Sequence[Listed]) -> frozenset[Listed]:
    """Writes the items of attempts that still run, and answers which those were."""
    kept: list[Listed] = []
    for one in listed:
        place = (one.run_id, one.key.step, one.key.round)
        if session.rows("attempt_runs", run_id=place[0], step=place[1], round=place[2], item="", kind=Kind.STEP.value, n=one.n):
            if one.first:
                session.run("unlist_items", run_id=place[0], step=place[1], round=place[2])
            session.many([Work("list_item", [(item, position, input, one.n, *place) for item, position, input in one.rows])])
            kept.append(one)
    return frozenset(kept)


def _place(run_id: str, key: Key) -> dict[str, object]:
    return {"run_id": run_id, "step": key.step, "round": key.round, "kind": key.kind.value}
