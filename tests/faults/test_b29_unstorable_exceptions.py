"""B29: whatever a body raises, its worker survives, and the error is kept with its type and a text of bounded length."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RetryLater, RunStatus, Step, StepFailed, Workflow
from halfway.authoring.values import MESSAGE_LIMIT
from halfway.domain.lifecycle import RecordStatus
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well

ONCE = Retry(1)


class NeedsTwo(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


class Holds(Exception):
    def __init__(self, thing: object) -> None:
        super().__init__("it holds something")
        self.thing = thing


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Wordy(Exception):
    def __str__(self) -> str:
        return "x" * 50_000_000


class ExitingText(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class OddCode(Exception):
    @property
    def code(self) -> str:
        raise RuntimeError("no code")


def cycle() -> Exception:
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def from_elsewhere() -> Exception:
    """Of a class that nobody else can import."""
    made: type[Exception] = type("Vanished", (Exception,), {})
    return made("gone")


def raised_from_many() -> Exception:
    error: Exception | None = None
    for n in range(5000):
        following = RuntimeError(f"number {n}")
        following.__context__ = error
        error = following
    assert error is not None
    return error


# name: (what is raised, its code, a part of its text)
CASES: dict[str, tuple[Callable[[], BaseException], str, str]] = {
    "two arguments": (lambda: NeedsTwo("a", "b"), "NEEDS_TWO", "a and b"),
    "holds a lock": (lambda: Holds(threading.Lock()), "HOLDS", "it holds something"),
    "holds a socket": (lambda: Holds(socket.SocketType), "HOLDS", "it holds something"),
    "no text": (Mute, "MUTE", "cannot be read"),
    "a text that exits": (ExitingText, "EXITING_TEXT", "cannot be read"),
    "50 MB": (Wordy, "WORDY", "xxx"),
    "half a character": (lambda: RuntimeError("a\ud800b"), "RUNTIME_ERROR", "a\ufffdb"),
    "NUL": (lambda: RuntimeError("a\0b"), "RUNTIME_ERROR", "a\ufffdb"),
    "a group of 1000": (lambda: ExceptionGroup("many", [RuntimeError(str(n)) for n in range(1000)]), "EXCEPTION_GROUP", "many"),
    "a cycle of causes": (cycle, "RUNTIME_ERROR", "two"),
    "5000 contexts": (raised_from_many, "RUNTIME_ERROR", "number 4999"),
    "SystemExit": (lambda: SystemExit(3), "SYSTEM_EXIT", "3"),
    "KeyboardInterrupt": (KeyboardInterrupt, "KEYBOARD_INTERRUPT", ""),
    "GeneratorExit": (GeneratorExit, "GENERATOR_EXIT", ""),
    "CancelledError": (asyncio.CancelledError, "CANCELLED_ERROR", ""),
    "BaseException": (lambda: BaseException("bare"), "BASE_EXCEPTION", "bare"),
    "StopIteration": (lambda: StopIteration(1), "", ""),
    "a class that has gone": (from_elsewhere, "VANISHED", "gone"),
    "a property that raises": (lambda: OddCode("odd"), "ODD_CODE", "odd"),
    "a code that is no text": (lambda: StepFailed("odd", code=7), "STEP_FAILED", "odd"),  # type: ignore[arg-type]
    "a wait that is no time": (lambda: RetryLater("soon", after=5), "RETRY_LATER", "soon"),  # type: ignore[arg-type]
    "a wait in the past": (lambda: RetryLater("now", after=timedelta(days=-5)), "RETRY_LATER", "now"),
    "a wait without end": (lambda: RetryLater("never", after=timedelta.max), "RETRY_LATER", "never"),
}


def raising(calls: Calls, name: str, *, on_loop: bool) -> Workflow[Order]:
    wf = flow("".join(letter if letter.isalnum() else "_" for letter in name.upper()), key=False, retry=ONCE)
    raise_it = CASES[name][0]
    if on_loop:

        @wf.step(Effect.READ, name="WORK")
        async def in_loop(step: Step[Order]) -> None:
            calls.add(step.run_id)
            raise raise_it()

    else:

        @wf.step(Effect.READ, name="WORK")
        def in_thread(step: Step[Order]) -> None:
            calls.add(step.run_id)
            raise raise_it()

    return wf


@pytest.mark.parametrize("on_loop", [False, True], ids=["in a thread", "on the loop"])
def test_every_error_is_told_and_the_worker_goes_on(harness: type[Harness], on_loop: bool) -> None:
    """B29: each in the only slot of the worker, so the next one shows that the slot came back."""
    calls = Calls()
    made = {name: raising(calls, name, on_loop=on_loop) for name in CASES}
    h = harness(*made.values())
    runs = {name: h.start(wf, Order()) for name, wf in made.items()}
    with h.worker(slots=1, threads=1):
        until(lambda: all(h.status(run) is RunStatus.FAILED for run in runs.values()), "all have failed")
    for name, run in runs.items():
        _, code, text = CASES[name]
        [one] = h.app.store.reading.detail(run.id).records
        assert (one.record.status, one.record.attempts, calls.count(run.id)) == (RecordStatus.FAILED, 1, 1), name
        assert code in ("", one.record.code), name
        assert text in str(one.error), name
        assert 0 < len(str(one.error)) <= MESSAGE_LIMIT, name
        str(one.error).encode()
        assert "\0" not in str(one.error), name
        failure = h.get(run).failure
        assert failure is not None
        assert (failure.step, failure.code) == ("WORK", one.record.code)
    all_is_well(h, *runs.values())


def test_both_databases_keep_the_same_words(sqlite_url: str, postgres_url: str) -> None:
    """B29."""
    kept: list[dict[str, Any]] = []
    for url in (sqlite_url, postgres_url):
        calls = Calls()
        made = {name: raising(calls, name, on_loop=False) for name in CASES}
        with closing(Harness(url, *made.values())) as h:
            runs = {name: h.start(wf, Order()) for name, wf in made.items()}
            with h.worker():
                until(lambda h=h, runs=runs: all(h.status(run) is RunStatus.FAILED for run in runs.values()))  # type: ignore[misc]
            details = {name: h.app.store.reading.detail(run.id).records[0] for name, run in runs.items()}
            kept.append({name: (one.record.code, one.error) for name, one in details.items()})
    assert kept[0] == kept[1]


@pytest.mark.parametrize("name", ["no text", "SystemExit", "CancelledError", "a wait that is no time", "a group of 1000"])
def test_an_odd_error_behind_the_mark_is_a_lost_answer_like_any_other(harness: type[Harness], name: str) -> None:
    """B29: it proves nothing."""
    wf = flow(retry=ONCE)

    @wf.step(Effect.NOTIFY, evidence="the ledger")
    def tell(step: Step[Order]) -> None:
        raise CASES[name][0]()

    h = harness(wf)
    run = h.run(wf, Order())
    said_nothing_happened = name == "a wait that is no time"
    assert run.status is (RunStatus.FAILED if said_nothing_happened else RunStatus.MANUAL_REQUIRED)
    all_is_well(h, run)
