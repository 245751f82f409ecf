"""What an order for many runs would do, and what has become of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from halfway.control.desk import PlanShown
from halfway.control.shown import Json, instant, moment, rfc3339
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.ports import BatchItem, BatchRow

STILL = FINAL | {RunStatus.MANUAL_REQUIRED, RunStatus.WAITING}
STUCK = frozenset({RunStatus.FAILED, RunStatus.MANUAL_REQUIRED})


class Foreseen(NamedTuple):
    """What the order would do to one run; or why it would be refused."""

    run: str
    key: str | None
    step: str | None
    plan: PlanShown | None
    refused: str

    def to_json(self) -> Json:
        plan = None if self.plan is None else self.plan.to_json()
        return {
            "workflowRunId": self.run, "idempotencyKey": self.key, "step": self.step, "plan": plan, "refused": self.refused or None,
        }  # fmt: skip


class ItemShown(NamedTuple):
    """One run of a batch: what became of its order, and where the run stands now."""

    item: BatchItem
    status: RunStatus | None
    told: Mapping[str, str]  # before and after, or why not

    @property
    def fails_anew(self) -> bool:
        """Whether the run went on, and has stopped again."""
        return self.item.state == "DONE" and self.status in STUCK and self.told.get("after") not in STUCK

    def to_json(self) -> Json:
        return {
            "n": self.item.n, "workflowRunId": self.item.run_id, "step": self.item.step, "state": self.item.state,
            "at": rfc3339(moment(self.item.at)), "status": None if self.status is None else self.status.value,
            "failsAnew": self.fails_anew, **self.told,
        }  # fmt: skip


class BatchShown(NamedTuple):
    """An order for many runs, and how far it has come."""

    row: BatchRow
    items: tuple[ItemShown, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.row.counts.values())

    def to_json(self, *, items: bool = False) -> Json:
        batch = self.row.batch
        told = {
            "id": batch.id, "state": self.row.state, "action": batch.action, "actorId": batch.actor, "reason": batch.reason,
            "filter": json.loads(batch.filter), "arguments": json.loads(batch.arguments), "rate": batch.rate,
            "stopAfter": batch.stop_after, "createdAt": rfc3339(instant(self.row.at)), "completedAt": rfc3339(moment(self.row.ended_at)),
            "counts": dict(self.row.counts),
        }  # fmt: skip
        return {**told, "items": [one.to_json() for one in self.items]} if items else told


class Step(NamedTuple):
    """How far a batch has come while it is carried out; `item` is None while it waits for runs that still move."""

    done: int
    total: int
    failures: int
    item: ItemShown | None
    moving: int = 0


class Watch:
    """How many orders of a batch have failed, and how many still may."""

    def __init__(self, status: Callable[[str], RunStatus | None], stop_after: int | None, items: Sequence[ItemShown]) -> None:
        self._status = status
        self._stop_after = stop_after
        self._total = len(items)
        self._done = self._failures = 0
        self._moving: list[ItemShown] = []
        for one in items:
            if one.item.state != "WAITING":
                self.add(one)

    @property
    def left(self) -> bool:
        return self._done < self._total

    def add(self, one: ItemShown) -> None:
        self._done += 1
        if one.item.state != "DONE":
            self._failures += 1
        elif self._stop_after is not None:
            self._moving.append(one)

    def enough(self) -> bool:
        """Whether so many have failed that it must stop."""
        self._look()
        return self._stop_after is not None and self._failures >= self._stop_after

    def full(self) -> bool:
        """Whether one more could make too many fail, if all that still move did."""
        return self._stop_after is not None and self._failures + len(self._moving) >= self._stop_after

    def step(self, item: ItemShown | None) -> Step:
        return Step(self._done, self._total, self._failures, item, len(self._moving))

    def _look(self) -> None:
        now = [one._replace(status=self._status(one.item.run_id)) for one in self._moving]
        self._failures += sum(one.fails_anew for one in now)
        self._moving = [one for one in now if one.status is not None and one.status not in STILL]
