"""`halfway worker` is a small parent and a child: the child has pump and slots, the parent sees that it lives (section 8 of the design).

The parent beats for the child's epoch, so a body that holds the interpreter stops no beat; it kills a child whose pump stands still, and
one whose beats are no longer confirmed, so that an unreachable attempt is gone; it never outlives its child's epoch, nor the child it.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import NamedTuple

from halfway.engine.clock import uptime
from halfway.engine.settings import Settings
from halfway.engine.worker import Worker
from halfway.errors import Exit, HalfwayError, WorkerOver
from halfway.ports import Lives

log = logging.getLogger("halfway.engine")

LOOK = 0.1  # seconds between two looks at the child
QUICK = 10.0  # a child that lived shorter died quickly
QUICK_DEATHS = 5  # in a row, then the parent gives up
LONGEST_PAUSE = 10.0  # before a restart
BOOTED_BY = 120.0  # a child that has not begun its epoch by then will not
AFTER_GRACE = 30.0  # a stopping child hands in and closes what it has
PR_SET_PDEATHSIG = 1
USELESS = frozenset({Exit.USAGE, Exit.NOT_FOUND, Exit.NOT_ALLOWED})  # a restart would end the same way


class Hello(NamedTuple):
    """What the child tells once its epoch has begun. Clocks are those of this machine, the same in both processes."""

    epoch: str
    url: str
    beats: bool  # whether its database wants beats
    began: float  # on the clock of `uptime`, before the epoch was begun
    kill_after: float  # seconds without a confirmed beat
    beat: float
    stall: float
    grace: float


# ── the parent ──


class Beats:
    """The beats of one epoch, in a thread of their own: a database that does not answer must not stop the parent."""

    def __init__(self, lives: Callable[[], Lives], hello: Hello) -> None:
        self._lives, self._hello = lives, hello
        self._stop = threading.Event()
        self.confirmed = hello.began
        self.refused = False  # the epoch was declared dead
        self._thread = threading.Thread(target=self._loop, name="halfway-beat", daemon=True)
        self._thread.start()

    @property
    def overdue(self) -> bool:
        """Whether others may now rely on the child being killed."""
        return uptime() - self.confirmed > self._hello.kill_after

    def stop(self) -> None:
        """No beat may come in between when the epoch is declared dead."""
        self._stop.set()
        self._thread.join(timeout=5)

    def _loop(self) -> None:
        while not self.overdue and not self.refused:  # once overdue, no beat may bring it back to life
            asked = uptime()
            try:
                if self._lives().beat(self._hello.epoch):
                    self.confirmed = asked
                else:
                    self.refused = True
            except HalfwayError as error:
                log.warning("no beat: %s", error)
            except Exception:
                log.exception("no beat")
            if self._stop.wait(self._hello.beat):
                return


class Child:
    """One child process and what it reports."""

    def __init__(self, command: Sequence[str]) -> None:
        report, reporting = os.pipe()
        lifeline, self._lifeline = os.pipe()
        pipes = ["--report", str(reporting), "--lifeline", str(lifeline), "--parent", str(os.getpid())]
        try:
            # A process group of its own: a Ctrl-C goes to the parent, which stops the child in good order.
            self.process = subprocess.Popen([*command, *pipes], stdin=subprocess.DEVNULL, pass_fds=(reporting, lifeline), process_group=0)
        finally:
            os.close(reporting)
            os.close(lifeline)
        self._report = report
        self._rest = b""
        self.started = monotonic()
        self.hello: Hello | None = None
        self.ticked = monotonic()

    def listen(self) -> None:
        """Takes in what it has reported, waiting a moment for it."""
        readable, _, _ = select.select([self._report], [], [], LOOK)
        if not readable:
            return
        data = os.read(self._report, 65536)
        if not data:  # it has closed its end: it is about to die
            time.sleep(LOOK)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, _, told = line.decode().partition(" ")
            if word == "epoch":
                self.hello = Hello(*json.loads(told))
                self.ticked = monotonic()
            else:
                self.ticked = max(self.ticked, float(told))

    def stalled(self) -> bool:
        """Whether its pump has stood still for too long, or it never came to work."""
        if self.hello is None:
            return monotonic() - self.started > BOOTED_BY
        return monotonic() - self.ticked > self.hello.stall

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        os.close(self._report)
        os.close(self._lifeline)


class Parent:
    """Keeps one child at work until it is told to stop."""

    def __init__(self, command: Sequence[str], lives: Callable[[str], Lives]) -> None:
        """command: starts a child, which gets the pipes as further options. lives: opens the epochs of a database."""
        self._command = command
        self._open = lives
        self._opened: Lives | None = None
        self._signals: list[int] = []
        self._deaths = 0
        self._worked = False

    def run(self) -> int:
        """Works until SIGTERM or SIGINT, then stops in good order; a second signal kills. Answers the exit code."""
        with self._listening():
            while True:
                code = self._life()
                if self._signals:
                    return 0 if len(self._signals) == 1 else 128 + self._signals[-1]
                if code in USELESS or (code == Exit.DATABASE and not self._worked):
                    return code
                self._pause(code)
                if self._signals:
                    return 0

    @contextmanager
    def _listening(self) -> Generator[None]:
        def on_signal(number: int, frame: FrameType | None) -> None:
            self._signals.append(number)

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # ── one child ──

    def _life(self) -> int:
        """From its start to its death; answers its exit code, negative for a signal."""
        child = Child(self._command)
        log.info("worker process %d started", child.process.pid)
        beats: Beats | None = None
        try:
            begun, until, heard = False, float("inf"), 0
            while child.process.poll() is None:
                child.listen()
                if child.hello is not None and not begun:
                    begun = True
                    beats = self._begin(child, child.hello)
                if len(self._signals) > heard:
                    heard = len(self._signals)
                    until = self._stop(child, until)
                self._watch(child, beats, monotonic() > until)
        finally:
            child.kill()
            if beats is not None:
                beats.stop()
            child.close()
        self._bury(child)
        return child.process.returncode

    def _begin(self, child: Child, hello: Hello) -> Beats | None:
        self._worked = True
        log.info("worker %s works in process %d", hello.epoch, child.process.pid)
        return Beats(lambda: self._lives(hello.url), hello) if hello.beats else None

    def _lives(self, url: str) -> Lives:
        if self._opened is None:
            self._opened = self._open(url)
        return self._opened

    def _stop(self, child: Child, until: float) -> float:
        """The first signal stops it in good order, until this time at the latest; the second kills it."""
        if len(self._signals) > 1:
            log.warning("worker process %d is killed", child.process.pid)
            return 0.0
        child.signal(signal.SIGTERM)
        grace = child.hello.grace if child.hello is not None else 0.0
        return min(until, monotonic() + grace + AFTER_GRACE)

    def _watch(self, child: Child, beats: Beats | None, late: bool) -> None:
        reason = ""
        if late:
            reason = "it did not stop in time"
        elif child.stalled():
            reason = "it stands still"
        elif beats is not None and beats.refused:
            reason = "its epoch was declared dead"
        elif beats is not None and beats.overdue:
            reason = "its beats were not confirmed for so long that others may rely on its death"
        if reason and child.process.poll() is None:
            log.warning("worker process %d is killed: %s", child.process.pid, reason)
            child.kill()

    def _bury(self, child: Child) -> None:
        """What it left is nobody's: its epoch is declared dead at once, so that no lease has to pass."""
        code, lived = child.process.returncode, monotonic() - child.started
        self._deaths = self._deaths + 1 if lived < QUICK and code not in (0, Exit.DATABASE) else 0
        if child.hello is None:
            return
        try:
            lives = self._lives(child.hello.url)
            for epoch in lives.epochs():
                if epoch.id == child.hello.epoch and epoch.state == "ALIVE":
                    lives.declare_dead(epoch)
        except HalfwayError as error:
            log.warning("the epoch of process %d could not be closed, others will find it: %s", child.process.pid, error)

    def _pause(self, code: int) -> None:
        """Before the next child, longer each time; too many quick deaths have a cause that a restart does not remove."""
        if self._deaths >= QUICK_DEATHS:
            raise WorkerOver("WORKER_DIES", count=self._deaths, how=_told(code))
        pause = min(0.1 * 2**self._deaths, LONGEST_PAUSE) if self._deaths or code == Exit.DATABASE else 0.0
        log.warning("the worker process ended %s; a new one starts in %.1f s", _told(code), pause)
        until = monotonic() + pause
        while monotonic() < until and not self._signals:
            time.sleep(min(LOOK, pause))


def _told(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


# ── the child ──


def serve(worker: Worker, settings: Settings, *, url: str, beats: bool, kill_after: float, report: int) -> None:
    """Works as the child of a parent until it is stopped. beats: whether the database wants beats; they are the parent's then."""
    os.set_inheritable(report, False)
    worker.beats_itself = not beats
    hello = Hello("", url, beats, uptime(), kill_after, settings.beat, settings.stall, settings.grace)

    def begun(epoch: str) -> None:
        _write(report, f"epoch {json.dumps(hello._replace(epoch=epoch))}\n")
        threading.Thread(target=_report, args=(worker, report, hello.stall / 4), name="halfway-report", daemon=True).start()

    worker.begun = begun  # before the first body can hold the interpreter
    worker.run_forever()


def _report(worker: Worker, report: int, pause: float) -> None:
    try:
        while True:
            _write(report, f"tick {worker.ticked!r}\n")
            time.sleep(min(1.0, pause))
    except OSError:
        return  # the parent is gone; the lifeline says so, too


def _write(descriptor: int, text: str) -> None:
    os.write(descriptor, text.encode())


def die_with(parent: int, lifeline: int) -> None:
    """From now on this process dies at once when its parent does, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(Exit.INTERNAL)
    os.set_inheritable(lifeline, False)
    threading.Thread(target=_await_end, args=(lifeline,), name="halfway-lifeline", daemon=True).start()


def _await_end(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(Exit.INTERNAL)
