"""Where bodies run: threads for `def`, one event loop for `async def`. A slot is taken until its body has returned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from halfway.domain.draft import Payload
from halfway.domain.run import Report
from halfway.engine.attempt import Running
from halfway.engine.body import aexecute, broken

HandIn = Callable[[Running, Report, Payload], None]
Execute = Callable[[Running], tuple[Report, Payload]]


class Threads:
    """A fixed number of daemon threads; a hung one cannot be killed, so it just keeps its slot."""

    def __init__(self, size: int, execute: Execute, hand_in: HandIn) -> None:
        self.free = size
        self._size = size
        self._started = 0
        self._busy = 0  # attempts that were given out and have not ended
        self._lock = threading.Lock()
        self._work: SimpleQueue[Running | None] = SimpleQueue()
        self._execute = execute
        self._hand_in = hand_in

    def run(self, attempts: Sequence[Running]) -> None:
        with self._lock:
            self._busy += len(attempts)
            for _ in range(min(self._busy, self._size) - self._started):
                self._started += 1
                threading.Thread(target=self._loop, name=f"halfway-slot-{self._started}", daemon=True).start()
        for attempt in attempts:
            self._work.put(attempt)

    def _loop(self) -> None:
        while True:
            running = self._work.get()
            if running is None:
                return
            try:
                ending = self._execute(running)
            except BaseException as error:  # a slot never dies, whatever the engine itself gets wrong
                ending = broken(running, error)
            with self._lock:
                self._busy -= 1
            self._hand_in(running, *ending)

    def stop(self) -> None:
        for _ in range(self._started):
            self._work.put(None)


class Loop:
    """One event loop in a thread of its own."""

    def __init__(self, size: int, hand_in: HandIn) -> None:
        self.free = size
        self._hand_in = hand_in
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, attempts: Sequence[Running]) -> None:
        self._ready().call_soon_threadsafe(self._spawn, attempts)

    def _ready(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="halfway-loop", daemon=True)
                self._thread.start()
            return self._loop

    def _spawn(self, attempts: Sequence[Running]) -> None:
        assert self._loop is not None
        for running in attempts:
            running.task = self._loop.create_task(self._run(running))

    async def _run(self, running: Running) -> None:
        try:
            ending = await aexecute(running)
        except BaseException as error:
            ending = broken(running, error)
        self._hand_in(running, *ending)

    def cancel(self, running: Running) -> None:
        """Asks a body to stop; it hands in by itself when it has."""
        loop, task = self._loop, running.task
        if loop is not None and task is not None:
            loop.call_soon_threadsafe(task.cancel)

    def stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=5)
        if not thread.is_alive():
            loop.close()
