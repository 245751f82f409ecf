"""Faults that were found by trying to break the promise; each is forced again here, on both databases."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from halfway import AsyncMark, Effect, Mark, Retry, RetryLater, RunStatus, Step, StepFailed
from halfway.errors import DatabaseError, InvalidInput
from halfway.testing import HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.test_transactions import changes, changing

NOW = Retry(3, wait=timedelta(0))


class Armed(HoldAt):
    """Holds the first thread that reaches the point after the test has armed it."""

    def __init__(self, point: str) -> None:
        super().__init__(point, times=0)

    def arm(self) -> None:
        self._left = 1


def test_a_mark_is_not_granted_in_the_turn_that_ends_its_attempt(harness: type[Harness]) -> None:
    """The pump stood still while the attempt asked for its mark and its time ran out: it must not send, or not be tried again."""
    sent: list[int] = []
    inside, ask = threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.CREATE, timeout=timedelta(seconds=1), retry=NOW, evidence="the ledger")
    def send(step: Step[Order], mark: Mark) -> int:
        if step.attempt == 1:
            inside.set()
            ask.wait(20)
        with mark:
            sent.append(step.attempt)
        return step.attempt

    hold = Armed("pump.before_commit")
    h = harness(wf, points=hold)
    with h.worker() as worker:
        run = h.start(wf, Order())
        assert inside.wait(20)
        hold.arm()
        worker.wake()
        hold.wait()
        [running] = list(worker.pump.live.values())  # type: ignore[union-attr]
        ask.set()
        until(lambda: running.remaining() <= 0, "its time is up while the pump is held")
        hold.release()
        ended = h.app.result(run, timeout=timedelta(seconds=30))
    assert ended.status is RunStatus.SUCCESS
    assert len(sent) == 1


def test_a_stop_does_not_hand_back_an_attempt_whose_mark_is_being_committed(harness: type[Harness]) -> None:
    sent: list[int] = []
    inside, ask = threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.CREATE, retry=NOW, evidence="the ledger")
    def send(step: Step[Order], mark: Mark) -> int:
        if step.attempt == 1:
            inside.set()
            ask.wait(20)
        with mark:
            sent.append(step.attempt)
        return step.attempt

    hold = Armed("pump.after_commit")
    h = harness(wf, points=hold)
    worker = h.app.worker(slots=2)
    worker.start()
    run = h.start(wf, Order())
    assert inside.wait(20)
    hold.arm()
    ask.set()
    hold.wait()  # the mark is committed, and nobody knows it yet
    stopping = threading.Thread(target=lambda: worker.stop(grace=0.05))
    stopping.start()
    until(lambda: worker.pump is not None and worker.pump.stopping)
    hold.release()
    stopping.join(30)
    with h.worker():
        until(lambda: h.status(run) in (RunStatus.SUCCESS, RunStatus.MANUAL_REQUIRED) or h.record(run, "SEND").status == "UNKNOWN")
    assert len(sent) <= 1


@pytest.mark.parametrize("outage", [False, True])
def test_a_body_that_gives_up_its_mark_harms_nobody_else(harness: type[Harness], outage: bool) -> None:
    calls = Calls()
    inside, ask = threading.Event(), threading.Event()
    gave_up = threading.Event()
    wf = flow(key=False)

    @wf.step(Effect.CREATE, retry=NOW, evidence="the ledger")
    async def impatient(step: Step[Order], mark: AsyncMark) -> int:
        if calls.add("BODY") == 1:
            inside.set()
            while not ask.is_set():
                await asyncio.sleep(0)
            try:
                async with asyncio.timeout(0.1):
                    async with mark:
                        calls.add("SENT")
            except TimeoutError:
                gave_up.set()
                raise
        async with mark:
            calls.add("SENT")
        return step.attempt

    class Point(Armed):
        def reached(self, name: str) -> None:
            held = self._left
            super().reached(name)
            if outage and held and name == self._point:
                raise DatabaseError("DATABASE_UNREACHABLE", url="test", problem="it is away.")

    hold = Point("pump.before_commit")
    h = harness(wf, points=hold)
    with h.worker() as worker:
        run = h.start(wf, Order())
        assert inside.wait(20)
        hold.arm()
        worker.wake()
        hold.wait()
        ask.set()
        assert gave_up.wait(20)
        hold.release()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
        other = h.start(wf, Order(id="other"))
        assert h.app.result(other, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert calls.count("SENT") == 2


def test_seconds_are_understood_where_a_timedelta_is_meant(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        if calls.add("LOOK") == 1:
            raise RetryLater("rate limited", after=0.01)
        return 1

    assert harness(wf).run(wf, Order()).status is RunStatus.SUCCESS


def test_an_error_of_the_engine_itself_never_takes_a_slot_with_it(harness: type[Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    from halfway.engine import body

    real = body.raised

    def broken(running: Any, mark: Any, error: BaseException) -> Any:
        if str(error) == "hard to judge":
            raise ZeroDivisionError
        return real(running, mark, error)

    monkeypatch.setattr(body, "raised", broken)
    wf = flow(key=False)

    @wf.step(Effect.READ, retry=Retry(1))
    def look(step: Step[Order]) -> int:
        if step.input.id == "bad":
            raise RuntimeError("hard to judge")
        return 1

    h = harness(wf)
    with h.worker(slots=1):
        bad = h.start(wf, Order(id="bad"))
        assert h.app.result(bad, timeout=timedelta(seconds=30)).status is RunStatus.FAILED
        good = h.start(wf, Order(id="good"))
        assert h.app.result(good, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS


def test_a_failure_may_have_any_code(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        raise StepFailed("already in the warehouse", code="STORED")

    run = harness(wf).run(wf, Order())
    assert run.failure is not None
    assert run.failure.code == "STORED"


@pytest.mark.parametrize("old_takes_mark", [True, False])
def test_what_counts_for_the_mark_is_the_code_that_runs(harness: type[Harness], old_takes_mark: bool) -> None:
    """A deploy adds or removes the mark of a step while a run of the old definition is open."""
    calls = Calls()
    go_on = threading.Event()

    def version(takes_mark: bool) -> Any:
        wf = flow()
        options = {"timeout": timedelta(milliseconds=300), "retry": NOW, "evidence": "the ledger", "name": "SEND"}
        if takes_mark:

            @wf.step(Effect.CREATE, **options)  # type: ignore[arg-type]
            def with_mark(step: Step[Order], mark: Mark) -> int:
                with mark:
                    return sending(step)
        else:

            @wf.step(Effect.CREATE, **options)  # type: ignore[arg-type]
            def without(step: Step[Order]) -> int:
                return sending(step)

        return wf

    def sending(step: Step[Order]) -> int:
        n = calls.add("SENT")
        if n == 1:
            go_on.wait(20)
        return n

    old, new = version(old_takes_mark), version(not old_takes_mark)
    run = harness(old).start(old, Order())
    h = harness(new)
    with h.worker():
        h.wait_for(run, "SEND", "UNKNOWN")
        go_on.set()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert calls.count("SENT") == 1


def test_a_late_answer_takes_nothing_from_the_success_beside_it(harness: type[Harness]) -> None:
    """Both come in one batch: the first attempt's trouble and the second one's output."""
    first, second, started = threading.Event(), threading.Event(), threading.Event()
    wf = flow()

    @wf.step(Effect.CREATE, timeout=timedelta(seconds=1), retry=NOW, idempotent=True)
    def send(step: Step[Order]) -> str:
        if step.attempt == 1:
            first.wait(20)
            raise ValueError("late trouble")
        started.set()
        second.wait(20)
        return "the output"

    @wf.step(Effect.READ)
    def use(step: Step[Order]) -> str:
        return step.output(send)

    hold = Armed("pump.before_commit")
    h = harness(wf, points=hold)
    with h.worker() as worker:
        run = h.start(wf, Order())
        assert started.wait(20)
        hold.arm()
        worker.wake()
        hold.wait()
        second.set()
        until(lambda: worker.pump is not None and not worker.pump._inbox.empty(), "the success is handed in")
        first.set()
        until(lambda: worker.pump is not None and worker.pump._inbox.qsize() >= 2, "the late answer is handed in")
        hold.release()
        ended = h.app.result(run, timeout=timedelta(seconds=30))
    assert ended.output(use) == "the output"


@pytest.mark.parametrize("statement", ["commit", "script"])
def test_a_transaction_step_that_ends_its_transaction_writes_nothing_twice(harness: type[Harness], url: str, statement: str) -> None:
    calls = Calls()
    wf = changing(url, calls)
    sqlite = url.startswith("sqlite")
    if statement == "script" and not sqlite:
        return
    kind: Any = wf.handlers["CHANGE"].connection
    bad = flow("BAD")

    @bad.transaction(kind, retry=NOW)
    def change(step: Step[Order], db: kind) -> None:  # type: ignore[valid-type]
        calls.add("BAD")
        if statement == "script":
            db.executescript("update orders set changes = changes + 1")  # type: ignore[attr-defined]
        else:
            db.execute("update orders set changes = changes + 1")  # type: ignore[attr-defined]
            db.execute("commit")  # type: ignore[attr-defined]
        raise RuntimeError("a fault after it")

    h = harness(bad)
    run = h.run(bad, Order())
    assert run.status is RunStatus.FAILED
    assert changes(url) == (0 if sqlite else 1), "refused where that can be seen, told and not repeated where it cannot"
    if not sqlite:
        assert calls.count("BAD") == 1
        assert run.failure is not None
        assert run.failure.code == "TRANSACTION_ENDED"


@pytest.mark.parametrize(
    "options", [{"priority": "high"}, {"priority": True}, {"correlation_id": 7}, {"again": " "}, {"deadline": "tomorrow"}]
)
def test_options_of_the_wrong_type_are_refused_before_anything_is_written(harness: type[Harness], options: dict[str, Any]) -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    h = harness(wf)
    with pytest.raises(InvalidInput):
        h.start(wf, Order(), **options)
    assert h.app.store.reading.runs() == []
