"""The pump: collects what bodies hand in, and in one transaction stores it, starts what follows and claims work for free slots.

Everything a worker writes about its attempts goes through here, so a chain costs one commit a step, many attempts share it, and
every start is recorded before its effect.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from time import monotonic
from typing import NamedTuple

from halfway.domain.draft import Draft, Payload
from halfway.domain.run import ACTING, Kind, Report, Snapshot
from halfway.domain.spec import Sort
from halfway.engine.attempt import Grant, Running
from halfway.engine.body import execute
from halfway.engine.catalog import Catalog
from halfway.engine.cycle import Cycle
from halfway.engine.floor import Asked, Done, Known
from halfway.engine.local import execute_local
from halfway.engine.overdue import cut, overdue
from halfway.engine.settings import Settings
from halfway.engine.slots import Loop, Threads
from halfway.errors import DatabaseError
from halfway.ports import Artifacts, Calls, EpochOver, GuardFailed, Kept, Mark, Points, Reading, RunStore

log = logging.getLogger("halfway.engine")

CACHED = 2_000  # runs whose snapshot a worker keeps in memory
LARGE = 32_768  # characters of output from which a run is read again instead
LATELY = 10 * 60_000_000  # microseconds: whoever is overlooked is found while a wait is that young
EVERY_WAIT = 10 * 365 * 24 * 3600 * 1_000_000
FULL_REPAIR = 60  # each so many repairs look at all waits
LONGEST_PAUSE = 2.0  # between two tries to reach a database that is away


def _without_items(draft: Draft) -> Snapshot:
    """What a run is known by: its items are too many, and read when they are needed."""
    run, records = draft.snapshot
    return Snapshot(run, {key: record for key, record in records.items() if not key.item}) if draft.spec.fans else draft.snapshot


class Wake(NamedTuple):
    """Somebody in this process made work ready."""

    routes: tuple[str, ...]


class CutAll(NamedTuple):
    """The grace is over: what still runs is ended. The pump does it, so no mark is being granted meanwhile."""


Item = Done | Asked | Wake | CutAll


class Pump:
    """One thread per worker. `epoch` is the life of this worker in the database."""

    def __init__(
        self, runs: RunStore, *, artifacts: Artifacts, reading: Reading, calls: Calls, catalog: Catalog, settings: Settings, points: Points,
        epoch: str, queues: Iterable[str], slots: int, threads: int, on_end: Callable[[str], None], on_release: Callable[[], None],
        only: str = "",
    ) -> None:  # fmt: skip
        self.runs = runs
        self.artifacts = artifacts
        self.reading = reading
        self.calls = calls
        self.catalog = catalog
        self.settings = settings
        self.points = points
        self.epoch = epoch
        self.routes = catalog.routes(queues)
        self.only = only
        self._on_loop = {route for route in self.routes if catalog.on_loop(route, Kind.STEP)}
        self.loop = Loop(slots, self._hand_in)
        self.threads = Threads(threads, self._execute, self._hand_in)
        self.on_end = on_end
        self.on_release = on_release  # a run has ended that held a resource
        self.live: dict[object, Running] = {}
        self.known: dict[str, Known] = {}
        self.hot: set[str] = set(self.routes)
        self.backlog: list[Done] = []
        self.parked: list[Done] = []  # results that cannot be stored; they are tried again with every poll
        self.launched: set[object] = set()
        self.apart: set[str] = set()
        self.asked: list[Asked] = []
        self.stopping = False
        self.over = False  # the epoch was declared dead
        self.in_doubt = False  # a stop has cut off something that may have happened
        self.ticked = monotonic()  # last time the pump was seen working
        self.wake_at = 0.0  # monotonic: a retry or a doubt is due
        self._inbox: SimpleQueue[Item] = SimpleQueue()
        self._next_poll = 0.0
        self._next_compare = monotonic() + settings.beat
        self._next_repair = 0.0
        self._repairs = 0
        self._pause = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="halfway-pump", daemon=True)

    # ── what others hand in ──

    def start(self) -> None:
        self._thread.start()

    def wake(self, routes: Iterable[str] = ()) -> None:
        self._inbox.put(Wake(tuple(routes)))

    def mark(self, mark: Mark) -> Future[Grant]:
        return self._ask(mark)

    def keep(self, row: Kept) -> Future[Grant]:
        return self._ask(row)

    def find_artifact(self, run_id: str, artifact_id: str) -> str | None:
        found = self.reading.artifact(run_id, artifact_id)
        return None if found is None else found.sha256

    def _ask(self, what: Mark | Kept) -> Future[Grant]:
        future: Future[Grant] = Future()
        self._inbox.put(Asked(what, future))
        return future

    def _execute(self, running: Running) -> tuple[Report, Payload]:
        local = running.handler.connection is not None and running.spec.sort is Sort.TRANSACTION and running.record.kind in ACTING
        return execute_local(self.runs, self.catalog, running) if local else execute(running)

    def _hand_in(self, running: Running, report: Report, payload: Payload) -> None:
        self._inbox.put(Done(running, report, payload, returned=True))

    # ── the thread ──

    def _run(self) -> None:
        while not self._ended.is_set():
            self._collect()
            self.ticked = monotonic()
            try:
                self._turn()
                self._pause = 0.0
            except EpochOver:
                self._epoch_over()
            except DatabaseError as error:
                self._away(error)
            except Exception:
                log.exception("the pump met an error; it goes on")
                self._away(None)

    def _epoch_over(self) -> None:
        """This worker was declared dead: it begins nothing more, and hands in as late answers what its bodies still bring."""
        if not self.over:
            log.error("this worker was declared dead; it hands in what it has and stops")
        self.over = self.stopping = True
        self.known.clear()
        self._refuse_asked(None)
        for running in self.live.values():
            self.tell(running, "its worker was declared dead")

    def _away(self, error: DatabaseError | None) -> None:
        """The database is away: answers are kept and handed in again, resolved by the guards of their rows."""
        if error is not None:
            log.warning("%s", error)
        self.known.clear()
        self.backlog = [done._replace(again=True) for done in self.backlog]
        self._refuse_asked(error)
        self._pause = min(max(self._pause * 2, 0.05), LONGEST_PAUSE)
        self._ended.wait(self._pause * random.uniform(0.5, 1.0))

    def _refuse_asked(self, error: DatabaseError | None) -> None:
        for asked in self.asked:
            # A mark whose commit is not confirmed: nothing has begun.
            asked.answer(Grant.NO if isinstance(asked.what, Mark) or error is None else error)
        self.asked.clear()

    def _collect(self) -> None:
        """Waits for something to do, then takes all there is."""
        now = monotonic()
        until = min(self._next_poll, self.wake_at or self._next_poll)
        try:
            item = self._inbox.get(timeout=0.0 if self.backlog or self.asked or self.claimable() else max(until - now, 0.001))
            while True:
                self._sort(item)
                item = self._inbox.get_nowait()
        except Empty:
            return

    def claimable(self) -> list[str]:
        """Routes that may have work and whose kind of slot is free."""
        if self.stopping:
            return []
        return [route for route in self.hot if self.pool(route, Kind.STEP).free > 0]

    def pool(self, route: str, kind: Kind) -> Loop | Threads:
        """Where the records of this route run."""
        on_loop = route in self._on_loop if kind is Kind.STEP else self.catalog.on_loop(route, kind)
        return self.loop if on_loop else self.threads

    def _sort(self, item: Item) -> None:
        if isinstance(item, Done):
            if item.returned:
                self._pool(item.running).free += 1
                self.live.pop(item.running.id, None)
            self.backlog.append(item)
        elif isinstance(item, Asked):
            self.asked.append(item)
        elif isinstance(item, CutAll):
            self._cut_all()
        else:
            self.hot.update(self.routes.intersection(item.routes) if item.routes else self.routes)

    def _pool(self, running: Running) -> Loop | Threads:
        return self.loop if running.on_loop else self.threads

    def _turn(self) -> None:
        now = monotonic()
        tick = now >= self._next_poll or bool(self.wake_at and now >= self.wake_at)
        if tick:
            self._next_poll = now + self.settings.poll * random.uniform(0.8, 1.2)
            self.wake_at = 0.0
            self.hot = set(self.routes)
            self.backlog += [*overdue(self, now), *self.parked]
            self.parked = []
        compare = now >= self._next_compare
        if compare:
            self._next_compare = now + self.settings.beat
        if not (self.backlog or self.asked or tick or self.claimable()):
            return
        if self.over:
            self._refuse_asked(None)
        repair = self._repair(now) if tick else 0
        cycle = Cycle(self, self.backlog, self.asked, tick=tick and not self.over, compare=compare and not self.over, repair=repair)
        try:
            with self.runs.change(epoch=None if self.over else self.epoch, name="pump") as tx:
                cycle.decide(tx)
        except (DatabaseError, EpochOver):
            raise
        except Exception as error:
            if not isinstance(error, GuardFailed):
                log.exception("a batch could not be stored; it is stored one by one")
            self._one_by_one()
            return
        if cycle.left and len(cycle.left) == len(self.backlog):
            self._ended.wait(0.01)  # all are locked elsewhere
        self.backlog = cycle.left
        self.asked = []
        if repair:
            self._next_repair = now + self.settings.sweep
            self._repairs += 1
        self._committed(cycle)

    def _repair(self, now: float) -> int:
        """With every sweep, waits that were opened lately are compared with what is here; all of them now and then (R-D10)."""
        if now < self._next_repair:
            return 0
        return LATELY if self._repairs % FULL_REPAIR else EVERY_WAIT

    def _one_by_one(self) -> None:
        """A batch was refused as a whole: what is wrong touches its own run only."""
        self.known.clear()
        backlog, self.backlog = self.backlog, []
        for number, done in enumerate(backlog):
            cycle = Cycle(self, [done], [], tick=False, compare=False, claim=False)
            try:
                with self.runs.change(epoch=None if self.over else self.epoch, name="pump") as tx:
                    cycle.decide(tx)
            except (DatabaseError, EpochOver):
                self.backlog.extend(backlog[number:])
                raise
            except GuardFailed:
                self.backlog.append(done._replace(again=True))
            except Exception as error:
                log.exception("the result of %s could not be stored", done.running.key)
                (self.parked if done.tries else self.backlog).append(done.without_payload(error))
            else:
                self.backlog.extend(cycle.left)
                self._committed(cycle)

    def _committed(self, cycle: Cycle) -> None:
        for asked, granted in cycle.answers:
            if granted is Grant.YES and isinstance(asked.what, Mark):
                running = self.live.get((asked.what.run_id, asked.what.key, asked.what.n))
                if running is not None:
                    running.marked = True
            asked.answer(granted)
        left = {id(done) for done in cycle.left}
        self.launched.difference_update(done.running.id for done in cycle.backlog if done.returned and id(done) not in left)
        self._remember(cycle)
        on_loop: list[Running] = []
        in_threads: list[Running] = []
        for running in cycle.started:
            self.live[running.id] = running
            self.launched.add(running.id)
            (on_loop if running.on_loop else in_threads).append(running)
        if in_threads:
            self.threads.free -= len(in_threads)
            self.threads.run(in_threads)
        if on_loop:
            self.loop.free -= len(on_loop)
            self.loop.run(on_loop)
        for running in cycle.unwanted:
            self.tell(running, "its run no longer counts on it")

    def _remember(self, cycle: Cycle) -> None:
        for run_id, draft in cycle.drafts.items():
            if draft.ended or draft.at_rest:
                self.known.pop(run_id, None)
                self.on_end(run_id)
            elif sum(map(len, draft.outputs.values())) > LARGE:
                self.known.pop(run_id, None)
            else:
                self.known[run_id] = Known(_without_items(draft), draft.input, draft.outputs)
        if len(self.known) > CACHED:
            for run_id in list(self.known)[: len(self.known) - CACHED]:
                del self.known[run_id]
        if cycle.next_due is not None:
            at = monotonic() + max(cycle.next_due - cycle.now, 0) / 1e6 + 0.001
            self.wake_at = min(self.wake_at, at) if self.wake_at else at
        if cycle.waits:  # what is locked elsewhere is free in a moment
            soon = monotonic() + 0.02
            self.wake_at = min(self.wake_at, soon) if self.wake_at else soon
        if cycle.released:
            self.on_release()

    def tell(self, running: Running, reason: str) -> None:
        """This attempt is over, whatever its body still does."""
        running.ended = running.ended or reason
        running.stop_asked = True
        if running.on_loop:
            self.loop.cancel(running)

    # ── the end ──

    def _cut_all(self) -> None:
        for running in list(self.live.values()):
            if not running.ended:
                self.in_doubt = self.in_doubt or (running.marked and running.spec.can_be_lost)
                self.backlog.append(cut(running, "WORKER_STOPPED"))
                self.tell(running, "the worker has stopped")

    def drain(self, grace: float) -> bool:
        """Claims nothing more and gives what runs some time; False if something may have happened and nobody knows."""
        self.stopping = True
        self.wake()
        deadline = monotonic() + grace
        while (self.live or self.backlog) and monotonic() < deadline and self._thread.is_alive():
            self._ended.wait(0.01)
        rest = list(self.live.values())
        self._inbox.put(CutAll())
        flushed = monotonic() + 5
        while (self.backlog or not self._inbox.empty()) and monotonic() < flushed and self._thread.is_alive():
            self._ended.wait(0.01)
        self._ended.set()
        self.wake()
        self._thread.join(timeout=15)
        self.loop.stop()
        self.threads.stop()
        return not (self.in_doubt or self.backlog or any(running.marked for running in rest))
