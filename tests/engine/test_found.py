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


def test_the_late_success_of_an_earlier_attempt_does_not_change_what_is_read(harness: type[Harness]) -> None:
    """The repeat has answered and its output is stored; the first attempt comes back with another one."""
    first, second, started = threading.Event(), threading.Event(), threading.Event()
    reading = threading.Event()
    wf = flow()

    @wf.step(Effect.CREATE, timeout=timedelta(seconds=1), retry=NOW, idempotent=True)
    def send(step: Step[Order]) -> str:
        if step.attempt == 1:
            first.wait(20)
            return "of the first"
        started.set()
        second.wait(20)
        return "of the second"

    @wf.step(Effect.READ, retry=NOW)
    def use(step: Step[Order]) -> str:
        if step.attempt == 1:
            reading.set()
            first.wait(20)
            raise RuntimeError("again, after the late answer")
        return step.output(send)

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert started.wait(20)
        second.set()
        assert reading.wait(20)
        first.set()
        ended = h.app.result(run, timeout=timedelta(seconds=30))
    assert ended.output(use) == ended.output(send) == "of the second"


@pytest.mark.parametrize(("url", "statement"), [("sqlite", "commit"), ("sqlite", "script"), ("postgres", "commit")], indirect=["url"])
def test_a_transaction_step_that_ends_its_transaction_writes_nothing_twice(harness: type[Harness], url: str, statement: str) -> None:
    calls = Calls()
    wf = changing(url, calls)
    sqlite = url.startswith("sqlite")
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


def test_a_body_begins_or_is_handed_back_and_never_both(harness: type[Harness]) -> None:
    from halfway.engine.overdue import cut

    wf = flow()

    @wf.step(Effect.CREATE, evidence="the ledger")
    def send(step: Step[Order]) -> int:
        return 1

    h = harness(wf)
    seen: list[Any] = []

    with h.worker() as worker:
        pump = worker.pump
        assert pump is not None
        launch = pump.threads.run
        pump.threads.run = seen.extend  # type: ignore[method-assign]  # the bodies wait in line
        run = h.start(wf, Order())
        until(lambda: seen, "it is started")
        done = cut(seen[0], "TIMEOUT")
        assert done.report.ended.value == "HANDED_BACK"
        assert not seen[0].begin(), "what was handed back never runs"
        other = seen[0]
        pump.threads.run = launch  # type: ignore[method-assign]
        pump._inbox.put(done)
        pump.threads.free += 1
        pump.live.pop(other.id, None)
        pump.wake()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS


def breaking(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, when: Any) -> None:
    """Makes a rule of the domain raise for some facts."""
    real = getattr(module, name)

    def broken(turn: Any, *rest: Any) -> Any:
        if when(turn, *rest):
            raise ZeroDivisionError
        return real(turn, *rest)

    monkeypatch.setattr(module, name, broken)


@pytest.mark.parametrize("first", ["GOOD", "BAD"])
def test_a_decision_that_fails_undoes_nothing_else_of_its_run(harness: type[Harness], monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """Two branches end in one batch; the decision about one of them raises: the other's success stands and its body runs once."""
    from halfway.domain import outcome

    breaking(monkeypatch, outcome, "_step_finished", lambda turn, record, *rest: record.key.step == "BAD")
    calls = Calls()
    go_on = {"GOOD": threading.Event(), "BAD": threading.Event()}
    wf = flow()

    @wf.step(Effect.CREATE, evidence="the ledger", after=[])
    def good(step: Step[Order]) -> int:
        n = calls.add("GOOD")
        go_on["GOOD"].wait(20)
        return n

    @wf.step(Effect.CREATE, evidence="the ledger", after=[])
    def bad(step: Step[Order]) -> int:
        n = calls.add("BAD")
        go_on["BAD"].wait(20)
        return n

    hold = Armed("pump.before_commit")
    h = harness(wf, points=hold)
    with h.worker() as worker:
        run = h.start(wf, Order())
        until(lambda: len(calls.made) == 2)
        hold.arm()
        worker.wake()
        hold.wait()
        for number, name in enumerate((first, "BAD" if first == "GOOD" else "GOOD"), 1):
            go_on[name].set()
            until(lambda number=number: worker.pump is not None and worker.pump._inbox.qsize() >= number)  # type: ignore[misc]
        hold.release()
        ended = h.app.result(run, timeout=timedelta(seconds=30))
        until(lambda: h.record(run, "GOOD").status == "SUCCESS", "the good branch is stored")
    assert ended.status is RunStatus.MANUAL_REQUIRED
    assert (calls.count("GOOD"), calls.count("BAD")) == (1, 1)
    assert h.record(run, "BAD").code == "ENGINE_ERROR"


def test_a_record_that_cannot_be_started_does_not_stop_the_line(harness: type[Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    from halfway.domain import decide

    breaking(monkeypatch, decide, "_start", lambda turn, fact: turn.run.correlation_id == "broken")
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    h = harness(wf)
    bad = h.start(wf, Order(id="bad"), correlation_id="broken")
    good = h.start(wf, Order(id="good"))
    with h.worker(slots=1):
        assert h.app.result(good, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
        assert h.app.result(bad, timeout=timedelta(seconds=30)).status is RunStatus.MANUAL_REQUIRED
    assert len(h.journal(bad)) < 10


def test_a_definition_that_cannot_be_read_stops_its_own_runs_only(harness: type[Harness]) -> None:
    one, two = flow("ONE", key=False), flow("TWO", key=False)
    for wf in (one, two):

        @wf.step(Effect.READ, name="ONLY")
        def only(step: Step[Order]) -> int:
            return 1

    h = harness(one, two)
    lost, good = h.start(one, Order()), h.start(two, Order())
    h.app.close()
    database = h.app.store._database
    with database.transaction("test") as session:
        session.raw.execute(  # type: ignore[attr-defined]
            "update halfway_definition set spec = '{\"broken\": 1}' where type = 'ONE'"
        )
    other = harness(two)
    with other.worker():
        assert other.app.result(good, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert h.status(lost) is RunStatus.PENDING


def test_a_field_that_a_later_version_added_to_a_definition_is_passed_over() -> None:
    import json

    from halfway.domain.spec import WorkflowSpec

    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    data = json.loads(wf.spec.to_json())
    data["new"] = 1
    data["steps"][0]["newer"] = 2
    assert WorkflowSpec.from_json(json.dumps(data)) == wf.spec


def test_an_incident_of_the_first_run_is_told_although_a_second_stands_under_its_key(harness: type[Harness]) -> None:
    go_on = threading.Event()
    wf = flow()

    @wf.step(Effect.NOTIFY, evidence="the log", timeout=timedelta(milliseconds=300))
    def tell(step: Step[Order], mark: Mark) -> int:
        if step.attempt == 1 and not go_on.is_set():
            with mark:
                go_on.wait(20)
                return 1
        with mark:
            return 2

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        h.wait_for(run, "TELL", "UNKNOWN")
        h.app.control.cancel(run.id, actor="kim", reason="no")
        h.advance(600)
        until(lambda: h.record(run, "TELL").asks)
        h.app.control.retry(run.id, "TELL", actor="kim", reason="not there", not_happened=True, evidence="log", gone=True)
        until(lambda: h.status(run) is RunStatus.CANCELLED)
        h.start(wf, Order(), again="once more")
        go_on.set()
        until(lambda: "incident.may_have_happened_twice" in h.journal(run), "the incident is told")


def test_a_start_inside_a_transaction_step_is_part_of_it_or_refused(harness: type[Harness], url: str) -> None:
    from tests.engine.test_transactions import table

    kind: Any = table(url)
    child = flow("CHILD")

    @child.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    parent = flow("PARENT")
    app: list[Any] = []

    @parent.transaction(kind, retry=Retry(1))
    def begin(step: Step[Order], db: kind) -> str:  # type: ignore[valid-type]
        if step.input.id == "without":
            return str(app[0].start(child, Order(id="a")).id)
        return str(app[0].start(child, Order(id="b"), within=db).id)

    h = harness(parent, child)
    app.append(h.app)
    refused = h.run(parent, Order(id="without"))
    assert refused.status is RunStatus.FAILED
    assert refused.failure is not None
    assert "within=" in refused.failure.message
    done = h.run(parent, Order(id="with"))
    assert done.status is RunStatus.SUCCESS
    assert h.get(h.app.get(child, done.output(begin))).key == "b"


def test_what_makes_a_repeat_harmless_belongs_to_the_code_that_a_worker_must_have() -> None:
    def code(**options: Any) -> str:
        wf = flow()

        @wf.step(Effect.CREATE, name="S", evidence="the log", **options)
        def send(step: Step[Order]) -> int:
            return 1

        return wf.spec.by_name["S"].code

    assert len({code(), code(idempotent=True), code(idempotent=True, effect_key=lambda step: "k")}) == 3


def test_a_cancelled_coroutine_that_ends_in_another_error_is_not_gone_at_once(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.CREATE, timeout=timedelta(milliseconds=300), retry=NOW)
    async def send(step: Step[Order], mark: AsyncMark) -> int:
        async with mark:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise TimeoutError from None
        return 1

    @send.probe(settle=timedelta(0))
    def find(step: Step[Order]) -> Any:
        from halfway import Absent

        return Absent()

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        until(lambda: any(one.gone_at is not None for one in h.attempts(run, "SEND")), "its body has ended")
        [attempt] = [one for one in h.attempts(run, "SEND") if one.n == 1]
    assert attempt.gone_at - attempt.ended_at >= 300_000


def test_a_transaction_whose_connection_breaks_is_tried_again(postgres_url: str) -> None:
    import psycopg

    from tests.engine.test_transactions import table

    kind: Any = table(postgres_url)
    calls = Calls()
    wf = flow()

    @wf.transaction(kind, retry=NOW)
    def change(step: Step[Order], db: kind) -> int:  # type: ignore[valid-type]
        if calls.add("CHANGE") == 1:
            pid = db.execute("select pg_backend_pid()").fetchone()[0]  # type: ignore[attr-defined]
            with psycopg.connect(postgres_url, autocommit=True) as admin:
                admin.execute("select pg_terminate_backend(%s)", [pid])
        db.execute("update orders set changes = changes + 1 where id = 'o1'")  # type: ignore[attr-defined]
        return 1

    h = Harness(postgres_url, wf)
    assert h.run(wf, Order()).status is RunStatus.SUCCESS
    assert calls.count("CHANGE") == 2
    assert changes(postgres_url) == 1
    h.close()


def test_a_pump_never_waits_for_a_resource_that_somebody_else_is_taking(postgres_url: str) -> None:
    import psycopg

    wf = flow("LOCKED", resource=lambda order: "the-one")

    @wf.step(Effect.READ, retry=Retry(1))
    def work(step: Step[Order]) -> int:
        if step.input.id == "first" and step.attempt == 1:
            raise StepFailed("no")
        return 1

    free = flow("FREE", key=False)

    @free.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    h = Harness(postgres_url, wf, free)
    first = h.run(wf, Order(id="first"))
    assert first.status is RunStatus.FAILED
    with psycopg.connect(postgres_url) as caller, h.worker():
        h.start(wf, Order(id="second"), within=caller)  # takes the resource, and goes on with other things
        h.app.control.resume(first.id, actor="kim", reason="again")
        for n in range(5):
            run = h.start(free, Order(id=str(n)))
            assert h.app.result(run, timeout=timedelta(seconds=3)).status is RunStatus.SUCCESS
        caller.rollback()
        assert h.app.result(first, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    h.close()


def test_settings_and_workers_that_cannot_work_are_refused(harness: type[Harness]) -> None:
    from halfway import Queue, Settings

    for wrong in ({"poll": 0}, {"beat": -1}, {"lease": float("nan")}, {"lease": 1.0, "beat": 2.0}, {"sweep": "5"}):
        with pytest.raises(InvalidInput, match="Settings"):
            Settings(**wrong)  # type: ignore[arg-type]
    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    h = harness(wf)
    for options in ({"slots": 0}, {"threads": -1}):
        with pytest.raises(InvalidInput, match="worker"):
            h.app.worker(**options)
    with pytest.raises(InvalidInput, match="nope"):
        h.app.worker(Queue("nope"))
    with h.worker() as worker, pytest.raises(InvalidInput, match="started before"):
        worker.start()


def test_a_key_function_that_raises_is_named(harness: type[Harness]) -> None:
    from halfway import Workflow

    wf = Workflow("KEYED", Order, version=1, owner="o", key=lambda order: order.nothing)  # type: ignore[attr-defined]

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    with pytest.raises(InvalidInput, match="AttributeError"):
        harness(wf).start(wf, Order())


def test_what_a_probe_finds_of_an_agent_is_kept_and_read_by_nobody(harness: type[Harness]) -> None:
    wf = flow()
    read: list[str] = []

    @wf.step(Effect.DELEGATE, retry=NOW)
    def agent(step: Step[Order], mark: Mark) -> str:
        with mark:
            raise TimeoutError

    @agent.probe(settle=timedelta(0))
    def find(step: Step[Order]) -> Any:
        from halfway import Found

        return Found("three files changed")

    @wf.step(Effect.READ)
    def use(step: Step[Order]) -> None:
        read.append(step.output(agent))

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.MANUAL_REQUIRED
    [found] = [one.output for one in h.app.store.reading.detail(run.id).records if one.record.key.step == "AGENT" and one.output]
    assert found == '"three files changed"'
    assert read == []
