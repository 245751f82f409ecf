"""A worker: one epoch with its pump, slots, beats, sweep, courier and scheduler."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from types import FrameType, TracebackType
from typing import Self

from halfway.engine import context
from halfway.engine.catalog import Catalog
from halfway.engine.courier import Courier
from halfway.engine.overdue import hangs
from halfway.engine.pump import Pump
from halfway.engine.scheduler import Scheduler
from halfway.engine.settings import Settings
from halfway.engine.sweep import Sweep
from halfway.errors import HalfwayError, InvalidInput, WorkerOver
from halfway.ports import Artifacts, Calls, Lives, Points, Reading, RunStore

log = logging.getLogger("halfway.engine")

JOIN = 5.0  # seconds that a stop waits for a beat, a sweep or a message that is under way


class Worker:
    """Executes steps until it is stopped. Use it as a context manager inside a program, or `run_forever` as a process."""

    def __init__(
        self, *, runs: RunStore, lives: Lives, artifacts: Artifacts, reading: Reading, calls: Calls, catalog: Catalog,
        settings: Settings, points: Points,
        queues: Iterable[str], slots: int, threads: int, identity: str, kill_after: int | None, on_end: Callable[[str], None],
        courier: Courier | None = None, scheduler: Scheduler | None = None, only: str = "",
    ) -> None:  # fmt: skip
        self._runs, self._lives, self._artifacts, self._reading, self._calls = runs, lives, artifacts, reading, calls
        self._catalog, self._settings, self._points = catalog, settings, points
        self._queues, self._slots, self._threads = tuple(queues), slots, threads
        self._identity, self._kill_after, self._on_end = identity, kill_after, on_end
        self._only = only
        self._beside: dict[str, Callable[[], bool]] = {} if courier is None else {"courier": courier.pass_once}
        if scheduler is not None and not scheduler.idle:
            self._beside["scheduler"] = scheduler.pass_once
        self._stop = threading.Event()
        self._sweep_now = threading.Event()
        self.epoch = ""
        self._process = 0  # that has begun the epoch; a child of a fork has only a likeness of this worker
        self.beats_itself = True  # False: its parent beats for it, so that a body that holds the interpreter stops no beat
        self.begun: Callable[[str], None] | None = None  # told of the epoch before anything is executed
        self.pump: Pump | None = None
        self._sweep: Sweep | None = None
        self._helpers: list[threading.Thread] = []

    def start(self) -> None:
        """Begins an epoch and starts to work; an error of the database is raised here. A worker has one life."""
        if self.pump is not None:
            problem = "it was started before."
            raise InvalidInput("CONFIG_INVALID", source="of the worker", problem=problem, remedy="Make a new one with app.worker().")
        context.install()
        self._process = os.getpid()
        self.epoch = self._lives.begin(
            host=socket.gethostname(), pid=os.getpid(), identity=self._identity, kill_after=self._kill_after, queues=self._queues
        )
        if self.begun is not None:
            self.begun(self.epoch)
        if self._lives.history_changed():  # the server has been restored, or another one has taken over, and starts may be missing
            log.error("the database was restored or failed over; %d runs begin their next effects by looking", self._runs.restored())
        self._sweep = Sweep(self._runs, self._lives, self._catalog, self._settings, self._points, own=self.epoch)
        self.pump = Pump(
            self._runs, artifacts=self._artifacts, reading=self._reading, calls=self._calls, catalog=self._catalog,
            settings=self._settings,
            points=self._points, epoch=self.epoch, queues=self._queues, threads=self._threads, on_end=self._on_end,
            slots=self._slots, on_release=self._sweep_now.set, only=self._only,
        )  # fmt: skip
        self.pump.start()
        work: dict[str, Callable[[], None]] = {"beat": self._beat_loop} if self.beats_itself else {}
        work |= {"sweep": self._sweep_loop}
        work |= {name: partial(self._loop, name, pass_once) for name, pass_once in self._beside.items()}
        for name, loop in work.items():
            helper = threading.Thread(target=loop, name=f"halfway-{name}", daemon=True)
            helper.start()
            self._helpers.append(helper)

    def wake(self, routes: Iterable[str] = ()) -> None:
        """Work may be ready: look at once."""
        if self.pump is not None:
            self.pump.wake(routes)

    @property
    def alive(self) -> bool:
        """Whether this worker still counts; False after its epoch was declared dead."""
        return self.pump is not None and not self.pump.over and not self._stop.is_set()

    @property
    def hung(self) -> bool:
        """Whether a thread has outlived its timeout so long that only a restart of the process ends it."""
        return self.pump is not None and hangs(self.pump, max(self._settings.settle, self._settings.hung))

    @property
    def ticked(self) -> float:
        """When the pump was last seen working, on the clock of `time.monotonic`."""
        return self.pump.ticked if self.pump is not None else monotonic()

    # ── beside the pump ──

    def _beat_loop(self) -> None:
        while not self._stop.wait(self._settings.beat):
            try:
                if not self._lives.beat(self.epoch):
                    log.error("epoch %s was declared dead; this worker stops", self.epoch)
                    self._declared_dead()
                    return
            except HalfwayError as error:
                log.warning("no beat: %s", error)
            except Exception:
                log.exception("no beat")

    def _declared_dead(self) -> None:
        if self.pump is not None:
            self.pump.wake()  # its next transaction finds the same, and hands in what it has

    def _sweep_loop(self) -> None:
        assert self._sweep is not None
        pause = 0.0  # once at the start: what a dead worker left must not wait
        while not self._stop.is_set():
            self._sweep_now.wait(pause)
            self._sweep_now.clear()
            pause = self._settings.sweep
            try:
                if self._sweep.sweep() or self._sweep.freed:
                    self.wake()
            except HalfwayError as error:
                log.warning("the sweep is repeated: %s", error)
                self._sweep.blink()
                pause = min(pause, 1.0)
            except Exception:
                log.exception("the sweep met an error; it is repeated")
                self._sweep.blink()

    def _loop(self, name: str, pass_once: Callable[[], bool]) -> None:
        """The courier, or the scheduler."""
        while not self._stop.wait(self._settings.poll):
            try:
                while pass_once() and not self._stop.is_set():
                    pass
            except HalfwayError as error:
                log.warning("the %s tries again: %s", name, error)
            except Exception:
                log.exception("the %s met an error; it goes on", name)

    # ── the end ──

    def stop(self, grace: float | None = None) -> None:
        """Claims nothing more, gives what runs the grace period, and ends the epoch if nothing is left in doubt."""
        if self.pump is None or self._stop.is_set() or os.getpid() != self._process:
            return
        clean = self.pump.drain(self._settings.grace if grace is None else grace)
        self._stop.set()
        self._sweep_now.set()
        for helper in self._helpers:
            if helper is not threading.current_thread():
                helper.join(timeout=JOIN)
        if clean and not self.pump.over:
            try:
                self._lives.end(self.epoch)
            except HalfwayError as error:
                log.warning("the epoch could not be closed, others will find it: %s", error)

    def run_forever(self) -> None:
        """Works until SIGTERM or SIGINT, then stops in good order; a second signal stops at once."""
        heard: list[int] = []
        asked: SimpleQueue[int] = SimpleQueue()  # its `put` may interrupt its `get`: a lock of an Event would hold this thread forever

        def on_signal(number: int, frame: FrameType | None) -> None:
            if heard:
                os._exit(128 + number)
            heard.append(number)
            asked.put(number)

        calm_collector()
        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        self.start()
        try:
            while not heard and self.alive and not self.hung:
                with suppress(Empty):
                    asked.get(timeout=0.2)
            over = not self.alive
            self.stop()
            if over:
                raise WorkerOver("WORKER_OVER", reason="its beats were not seen for a whole lease.")
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        await asyncio.to_thread(self.stop)


def calm_collector() -> None:
    """Makes Python look for garbage in cycles less often, in a process that is a worker and nothing else.

    A worker makes many short-lived values and keeps few of them; the default thresholds cost it a fifth of its speed.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
