"""Orders for many runs: chosen by a filter, kept as a whole, carried out one by one at a bounded pace, with an outcome for each.

Each order has an action id made of the batch and its number, so whoever goes on after a crash does nothing twice.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from halfway.control.access import Can, Demand
from halfway.control.actions import Request
from halfway.control.choosing import DECISIONS, Filter, choose, order_of
from halfway.control.desk import Desk
from halfway.control.outcomes import BatchShown, Foreseen, ItemShown, Step, Watch
from halfway.control.shown import json_text
from halfway.domain.lifecycle import RunStatus
from halfway.errors import Conflict, DatabaseError, HalfwayError, InvalidInput, NotAllowed, NotFound
from halfway.ports import Batches, BatchItem, BatchRow, NewBatch, Reading, RunStore

log = logging.getLogger("halfway.control")

LOOK_AGAIN = 0.5  # seconds
SHORTEST_SUFFIX = 6


class Bulk:
    """Everything that can be asked and ordered about many runs at once."""

    def __init__(self, desk: Desk, rows: Batches, runs: RunStore, reading: Reading, *, can: Can, new_id: Callable[[], str]) -> None:
        self._desk = desk
        self._rows = rows
        self._runs = runs
        self._reading = reading
        self._can = can
        self._new_id = new_id

    def plan(self, action: str, filter: Filter, *, limit: int = 1000, **arguments: Any) -> tuple[Foreseen, ...]:
        """What the order would do to each run that fits now; changes nothing."""
        return tuple(self._foresee(action, filter, limit, arguments))

    def create(
        self, action: str, filter: Filter, *, actor: str, reason: str, rate: int | None = None, stop_after: int | None = None,
        limit: int = 1000, **arguments: Any,
    ) -> BatchShown:  # fmt: skip
        """Keeps an order for the runs that fit now; nothing is carried out before `run`. Raises NotFound if no run fits.

        arguments: evidence and output of a decision, `gone` as in retry, `undo` as in cancel.
        """
        _check(action, reason, rate, stop_after, arguments)
        chosen = choose(self._reading, self._runs.spec, action, filter, limit)
        self._allow(actor, {row.run.hash for row, _ in chosen})
        given = {name: value for name, value in arguments.items() if value}
        batch = NewBatch(self._new_id(), actor, action, reason, json.dumps(filter.to_json()), json.dumps(given), rate, stop_after)
        return self._keep(batch, [(row.run.id, step) for row, step in chosen])

    def retry_failed(self, id: str, *, actor: str, reason: str) -> BatchShown:
        """A new batch of what was refused, has failed anew, or was left over when the batch was stopped."""
        shown = self.show(id)
        _check(shown.row.batch.action, reason, None, None, json.loads(shown.row.batch.arguments))
        left = ("REFUSED", "FAILED", "WAITING") if shown.row.state == "STOPPED" else ("REFUSED", "FAILED")
        there = [one for one in shown.items if one.status is not None]  # the history of the others was deleted
        items = [(one.item.run_id, one.item.step) for one in there if one.item.state in left or one.fails_anew]
        self._allow(actor, {self._reading.detail(run_id).run.hash for run_id, _ in items})
        again = shown.row.batch._replace(id=self._new_id(), actor=actor, reason=reason, filter=json.dumps({"failedOf": shown.row.batch.id}))
        return self._keep(again, items)

    def recent(self, *, limit: int = 50) -> tuple[BatchShown, ...]:
        """Batches, the newest first."""
        return tuple(BatchShown(row) for row in self._rows.recent(limit=limit))

    def show(self, id: str) -> BatchShown:
        """A batch with the outcome of each item, by its id or the end of it. Raises NotFound."""
        row = self._find(id)
        return BatchShown(row, tuple(self._shown(item) for item in self._items(row.batch.id)))

    def pause(self, id: str, *, actor: str) -> BatchShown:
        """It rests before its next item; `run` goes on."""
        row = self._find(id)
        self._allow_one(actor, row)
        if not any(self._rows.set_state(row.batch.id, former, "PAUSED") for former in ("RUNNING", "READY")):
            raise _refuse(row, "only a batch that is READY or RUNNING can be paused.", "")
        return self.show(row.batch.id)

    def run(
        self, id: str, *, actor: str, told: Callable[[Step], None] = lambda step: None, sleep: Callable[[float], None] = time.sleep
    ) -> BatchShown:
        """Carries it out, or goes on where somebody stopped; each order is given in the name of whoever made the batch.

        With `stop_after` no more orders are given than may still fail: the outcome of the others is waited for.
        """
        row = self._find(id)
        self._allow_one(actor, row)
        self._begin(row)
        batch, watch = row.batch, Watch(self._status, row.batch.stop_after, self.show(row.batch.id).items)
        while items := self._rows.next(batch.id, 1):
            if watch.enough():
                self._rows.set_state(batch.id, "RUNNING", "STOPPED")
                break
            if watch.full():
                told(watch.step(None))
                sleep(LOOK_AGAIN)
                continue
            shown = self._carry_out(batch, items[0])
            watch.add(shown)
            told(watch.step(shown))
            if batch.rate is not None and watch.left:
                sleep(60 / batch.rate)
        return self.show(batch.id)

    # ── parts ──

    def _foresee(self, action: str, filter: Filter, limit: int, arguments: dict[str, Any]) -> Iterator[Foreseen]:
        for row, step in choose(self._reading, self._runs.spec, action, filter, limit):
            try:
                plan = self._desk.plan(row.run.id, order_of(action, step, arguments))
            except (Conflict, NotFound) as refused:
                yield Foreseen(row.run.id, row.key, step, None, str(refused))
            else:
                yield Foreseen(row.run.id, row.key, step, plan, "")

    def _keep(self, batch: NewBatch, items: Sequence[tuple[str, str | None]]) -> BatchShown:
        if not items:
            raise NotFound("BATCH_EMPTY")
        self._rows.create(batch, items)
        return self.show(batch.id)

    def _begin(self, row: BatchRow) -> None:
        if row.state in ("STOPPED", "DONE"):
            raise _refuse(row, "it has ended.", f"What failed can be ordered again: halfway batch retry-failed {row.batch.id} --reason …")
        if row.state != "RUNNING" and not self._rows.set_state(row.batch.id, row.state, "RUNNING"):
            raise _refuse(self._find(row.batch.id), "somebody else has just changed it.", "Look at it again.")

    def _carry_out(self, batch: NewBatch, item: BatchItem) -> ItemShown:
        arguments = json.loads(batch.arguments)
        request = Request(
            "settle" if batch.action == "mark-not-happened" else batch.action, order_of(batch.action, item.step, arguments), batch.actor,
            batch.reason, step=item.step, evidence=arguments.get("evidence"), output=_output(batch.action, arguments),
            action_id=f"{batch.id}:{item.n}",
        )  # fmt: skip
        try:
            carried = self._desk.order(item.run_id, request)
            state, detail = "DONE", {"before": carried.before.value, "after": carried.after.value}
        except DatabaseError:
            raise
        except HalfwayError as error:
            known = "DONE" if error.code == "ACTION_REPEATED" else "REFUSED"  # DONE: before whoever carried it out was stopped
            state, detail = known, {"code": error.code, "message": str(error)}
        except Exception as error:  # one order that goes wrong must not stop the others
            log.exception("item %d of batch %s has failed", item.n, batch.id)
            state, detail = "FAILED", {"code": "ENGINE_ERROR", "message": f"{type(error).__name__}: {error}"}
        self._rows.finish(batch.id, item.n, state, json.dumps(detail))
        return self._shown(item._replace(state=state, detail=json.dumps(detail)))

    def _shown(self, item: BatchItem) -> ItemShown:
        return ItemShown(item, self._status(item.run_id), json.loads(item.detail) if item.detail else {})

    def _status(self, run_id: str) -> RunStatus | None:
        try:
            return self._reading.detail(run_id).run.status
        except NotFound:
            return None

    def _items(self, id: str) -> Iterator[BatchItem]:
        after = 0
        while page := self._rows.items(id, after=after):
            yield from page
            after = page[-1].n

    def _find(self, text: str) -> BatchRow:
        row = self._rows.get(text)
        if row is None and len(text) >= SHORTEST_SUFFIX:
            row = next((one for one in self._rows.recent(limit=1000) if one.batch.id.endswith(text)), None)
        if row is None:
            raise NotFound("BATCH_UNKNOWN", batch=text)
        return row

    # ── permission ──

    def _allow(self, actor: str, hashes: set[str]) -> None:
        for spec in map(self._runs.spec, hashes):
            if not self._can(actor, "batch", Demand("", spec.type, spec.owner, None, spec.owner)):
                raise NotAllowed("NOT_PERMITTED", actor=actor, action="batch", remedy=f"Ask somebody who holds the role {spec.owner}.")

    def _allow_one(self, actor: str, row: BatchRow) -> None:
        if actor != row.batch.actor:
            runs = {item.run_id for item in self._items(row.batch.id)}
            self._allow(actor, {self._reading.detail(run_id).run.hash for run_id in runs})


def _check(action: str, reason: str, rate: int | None, stop_after: int | None, arguments: dict[str, Any]) -> None:
    if not reason.strip():
        raise _invalid(problem="it has no reason.", remedy="Say why; it is kept in the audit log.")
    if action in DECISIONS and not str(arguments.get("evidence") or "").strip():
        raise _invalid(
            problem="a decision needs evidence.", remedy="Say with --evidence what you saw at the receiver that proves it, for all of them."
        )
    if any(given is not None and given < 1 for given in (rate, stop_after)):
        raise _invalid(problem="rate and stop_after count from 1.", remedy="Give 1 or more.")
    if arguments.get("output"):
        json_text(arguments["output"], "output")


def _invalid(*, problem: str, remedy: str) -> InvalidInput:
    return InvalidInput("CONFIG_INVALID", source="of the batch", problem=problem, remedy=remedy)


def _output(action: str, arguments: dict[str, Any]) -> str | None:
    return arguments.get("output", "null") if action == "mark-success" else None


def _refuse(row: BatchRow, problem: str, remedy: str) -> Conflict:
    return Conflict("BATCH_REFUSED", batch=row.batch.id, state=row.state, problem=problem, remedy=remedy)
