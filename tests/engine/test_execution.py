"""One attempt at a time: marks, timeouts, deadlines, stops, logs, artifacts, and what changes between deploys."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from halfway import Absent, Artifact, AsyncMark, Effect, Errors, Found, Mark, OutcomeUnknown, Retry, RunStatus, Step, StepFailed, Then
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened
from halfway.errors import AttemptEnded, HalfwayError, MarkRefused
from tests.engine.harness import Calls, Harness, Order, flow, until

SOON = Retry(3, wait=timedelta(milliseconds=10))


class Refused(Exception):
    """A foreign error."""


# ── the mark ──


def test_a_fault_before_the_mark_is_an_ordinary_retry(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.NOTIFY, evidence="log", retry=SOON)
    def tell(step: Step[Order], mark: Mark) -> str:
        if calls.add("TELL") < 3:
            raise RuntimeError("the template is missing")
        with mark:
            return "sent"

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert calls.count("TELL") == 3


def test_a_body_that_never_enters_its_mark_fails_and_nothing_has_happened(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.NOTIFY, evidence="log", retry=SOON)
    def tell(step: Step[Order], mark: Mark) -> str:
        return "sent"

    h = harness(wf)
    run = h.run(wf, Order())
    assert (run.status, run.failure.code if run.failure else "") == (RunStatus.FAILED, "MARK_NOT_TAKEN")
    assert h.record(run, "TELL").effect is Happened.NOT


def test_a_mark_entered_twice_fails_with_its_effect_known_and_is_not_resumed(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.NOTIFY, evidence="log", retry=SOON)
    def tell(step: Step[Order], mark: Mark) -> str:
        for _ in range(2):
            with mark:
                pass
        return "sent"

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.failure is not None
    assert run.failure.code == "MARK_TAKEN_TWICE"
    assert h.record(run, "TELL").effect is Happened.HAPPENED
    with pytest.raises(HalfwayError, match="would repeat it"):
        h.app.control.resume(run.id, actor="kim", reason="again")


def test_cancel_between_start_and_mark_begins_nothing(harness: type[Harness]) -> None:
    wf = flow()
    inside, go_on = threading.Event(), threading.Event()
    refused: list[BaseException] = []

    @wf.step(Effect.NOTIFY, evidence="log", retry=SOON)
    def tell(step: Step[Order], mark: Mark) -> str:
        inside.set()
        go_on.wait(20)
        try:
            with mark:
                return "sent"
        except (MarkRefused, AttemptEnded) as error:
            refused.append(error)
            raise

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert inside.wait(20)
        h.app.control.cancel(run.id, actor="kim", reason="no")
        go_on.set()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.CANCELLED
    assert refused
    assert h.record(run, "TELL").effect in (Happened.NONE, Happened.NOT)


def test_an_async_mark_works_like_the_other(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.CREATE, retry=SOON)
    async def create(step: Step[Order], mark: AsyncMark) -> str:
        calls.add("CREATE")
        async with mark:
            raise OutcomeUnknown("the line went dead")

    @create.probe(settle=timedelta(0))
    async def find(step: Step[Order]) -> Found[str] | Absent:
        await asyncio.sleep(0)
        return Found("it is there")

    run = harness(wf).run(wf, Order())
    assert run.output(create) == "it is there"
    assert calls.count("CREATE") == 1


@pytest.mark.parametrize(
    ("where", "ended"), [("retry", RunStatus.SUCCESS), ("fail", RunStatus.FAILED), ("unknown", RunStatus.MANUAL_REQUIRED)]
)
def test_the_authors_word_on_foreign_errors_counts(harness: type[Harness], where: str, ended: RunStatus) -> None:
    calls = Calls()
    wf = flow()
    errors = Errors(**{where: Refused})  # type: ignore[arg-type]

    @wf.step(Effect.NOTIFY, evidence="log", retry=SOON, errors=errors)
    def tell(step: Step[Order]) -> str:
        if calls.add("TELL") == 1:
            raise Refused("no")
        return "sent"

    assert harness(wf).run(wf, Order()).status is ended


# ── time ──


def test_an_async_body_past_its_timeout_is_cancelled_and_tried_again(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ, timeout=timedelta(milliseconds=200), retry=SOON)
    async def read(step: Step[Order]) -> float:
        if calls.add("READ") == 1:
            await asyncio.Event().wait()
        return step.remaining.total_seconds()

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert 0 < run.output(read) <= 0.2
    assert calls.count("READ") == 2


def test_nothing_starts_past_the_deadline(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ, retry=Retry(5, wait=timedelta(minutes=10), max_wait=timedelta(minutes=10)))
    def read(step: Step[Order]) -> None:
        calls.add("READ")
        raise RuntimeError("later")

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order(), deadline=datetime.now(UTC) + timedelta(minutes=2))
        until(lambda: h.record(run, "READ") is not None and h.record(run, "READ").failures == 1)
        h.advance(180)
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.EXPIRED
        h.advance(3_600)
    assert calls.count("READ") == 1
    with pytest.raises(HalfwayError, match="time zone"):
        h.start(wf, Order(id="other"), deadline=datetime.now() + timedelta(minutes=2))


def test_a_run_over_its_timeout_fails(harness: type[Harness]) -> None:
    wf = flow(timeout=timedelta(minutes=5))

    @wf.step(Effect.READ, retry=Retry(5, wait=timedelta(minutes=10), max_wait=timedelta(minutes=10)))
    def read(step: Step[Order]) -> None:
        raise RuntimeError("later")

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        until(lambda: h.record(run, "READ") is not None and h.record(run, "READ").failures == 1)
        h.advance(400)
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.FAILED


def test_a_step_may_leave_its_final_failure_to_a_person(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ, on_failure=Then.MANUAL, approver="editor")
    def check(step: Step[Order]) -> str:
        if calls.add("CHECK") == 1:
            raise StepFailed("not a report", code="INVALID_OUTPUT")
        return "fine"

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert h.record(run, "CHECK").asks == "editor"
    h.app.control.resume(run.id, actor="kim", reason="the template was corrected")
    assert h.drain(run).status is RunStatus.SUCCESS


# ── stopping in good order ──


def test_a_stop_waits_for_what_runs_and_starts_nothing_more(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()
    inside = threading.Event()

    @wf.step(Effect.READ)
    def first(step: Step[Order]) -> str:
        inside.set()
        worker_stops.wait(20)
        calls.add("FIRST")
        return "done"

    @wf.step(Effect.READ)
    def second(step: Step[Order]) -> None:
        calls.add("SECOND")

    worker_stops = threading.Event()
    h = harness(wf)
    worker = h.app.worker(slots=2)
    worker.start()
    run = h.start(wf, Order())
    assert inside.wait(20)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    until(lambda: worker.pump is not None and worker.pump.stopping, "the worker stops")
    worker_stops.set()
    stopping.join(30)
    assert (calls.count("FIRST"), calls.count("SECOND")) == (1, 0)
    assert h.record(run, "FIRST").status is RecordStatus.SUCCESS
    assert h.record(run, "FIRST").failures == 0
    assert h.drain(run).status is RunStatus.SUCCESS
    assert calls.count("FIRST") == 1


def test_a_stop_hands_back_what_is_before_its_mark_and_counts_nothing(harness: type[Harness]) -> None:
    wf = flow()
    inside, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.NOTIFY, evidence="log")
    def tell(step: Step[Order], mark: Mark) -> str:
        inside.set()
        go_on.wait(20)
        with mark:
            return "sent"

    h = harness(wf)
    worker = h.app.worker(slots=1)
    worker.start()
    run = h.start(wf, Order())
    assert inside.wait(20)
    worker.stop(grace=0.1)
    record = h.record(run, "TELL")
    assert record.status is RecordStatus.PENDING
    assert (record.failures, record.lost, record.effect) == (0, 0, Happened.NONE)
    go_on.set()


# ── logs, evidence, artifacts ──


def test_every_log_line_of_an_attempt_carries_its_ids(harness: type[Harness], caplog: pytest.LogCaptureFixture) -> None:
    wf = flow()
    author = logging.getLogger("shop.orders")

    @wf.step(Effect.READ)
    def sync(step: Step[Order]) -> None:
        author.warning("from a thread")

    @wf.step(Effect.READ)
    async def on_loop(step: Step[Order]) -> None:
        await asyncio.sleep(0)
        author.warning("from the loop")

    run = harness(wf).run(wf, Order(), correlation_id="case-7")
    lines = [record for record in caplog.records if record.name == "shop.orders"]
    assert [line.getMessage() for line in lines] == ["from a thread", "from the loop"]
    for line, step in zip(lines, ("SYNC", "ON_LOOP"), strict=True):
        ids = (line.workflowRunId, line.stepRunId, line.correlationId, line.jobId)  # type: ignore[attr-defined]
        assert ids == (run.id, f"{run.id}:{step}", "case-7", f"{run.id}:{step}#1")


class Report(BaseModel):
    text: Artifact
    words: int


def test_an_artifact_that_was_damaged_is_found_by_a_resume_and_made_again(harness: type[Harness], tmp_path: Path) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ)
    def write(step: Step[Order]) -> Report:
        calls.add("WRITE")
        return Report(text=step.save("report.md", "a long report"), words=3)

    @wf.step(Effect.READ, retry=Retry(1))
    def upload(step: Step[Order]) -> str:
        if calls.add("UPLOAD") == 1:
            raise StepFailed("disk full")
        return step.read(step.output(write).text).decode()

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    sha256 = run.output(write).text.sha256
    [file] = [path for path in tmp_path.rglob(f"*{sha256[2:]}*") if path.is_file()]
    file.chmod(0o600)
    file.write_bytes(b"tampered with")
    h.app.control.resume(run.id, actor="kim", reason="there is room again")
    ended = h.drain(run)
    assert ended.output(upload) == "a long report"
    assert calls.count("WRITE") == 2
    assert "step.check_failed" in h.journal(run)


def test_verify_names_the_step_whose_result_no_longer_holds(harness: type[Harness]) -> None:
    calls = Calls()
    holds = [False]
    wf = flow()

    @wf.step(Effect.CREATE, evidence="the receiver")
    def create(step: Step[Order]) -> str:
        calls.add("CREATE")
        return "made"

    @create.verify
    def still_there(step: Step[Order], made: str) -> bool:
        return holds[0]

    @wf.step(Effect.READ, retry=Retry(1))
    def after(step: Step[Order]) -> None:
        if calls.add("AFTER") == 1:
            raise StepFailed("no")

    h = harness(wf)
    run = h.run(wf, Order())
    h.app.control.resume(run.id, actor="kim", reason="again")
    assert h.drain(run).status is RunStatus.MANUAL_REQUIRED
    assert calls.count("CREATE") == 1
    assert calls.count("AFTER") == 1
    holds[0] = True
    h.app.control.resume(run.id, actor="kim", reason="it was put back")
    assert h.drain(run).status is RunStatus.SUCCESS
    assert calls.count("CREATE") == 1


# ── between deploys ──


def test_a_worker_never_takes_a_step_whose_code_it_has_not(harness: type[Harness]) -> None:
    calls = Calls()
    old, new = flow("OLD", key=False), flow("NEW", key=False)
    for wf in (old, new):

        @wf.step(Effect.READ, name="ONLY")
        def only(step: Step[Order]) -> None:
            calls.add("ONLY")

    knows_both, knows_old = harness(old, new), harness(old)
    runs = knows_both.app.start_many(new, [Order(id=str(n)) for n in range(20)])
    with knows_old.worker():
        done = knows_old.run(old, Order())
        assert done.status is RunStatus.SUCCESS
        assert all(knows_both.status(run) is RunStatus.PENDING for run in runs)
    with knows_both.worker():
        until(lambda: all(knows_both.status(run) is RunStatus.SUCCESS for run in runs))
    assert calls.count("ONLY") == 21


def test_a_changed_definition_under_the_same_version_serves_new_runs_only(harness: type[Harness]) -> None:
    calls = Calls()

    def version(second: str) -> object:
        wf = flow("CHANGING", key=False)

        @wf.step(Effect.READ, retry=Retry(1))
        def first(step: Step[Order]) -> None:
            if calls.add("FIRST") == 1:
                raise StepFailed("no")

        @wf.step(Effect.READ, name=second)
        def then(step: Step[Order]) -> None:
            calls.add(second)

        return wf

    before, after = version("SECOND"), version("RENAMED")
    h = harness(before)
    run = h.run(before, Order())  # type: ignore[arg-type, type-var]
    assert run.status is RunStatus.FAILED
    changed = harness(after)
    changed.app.control.resume(run.id, actor="kim", reason="deployed")
    with changed.worker():
        until(lambda: (record := h.record(run, "SECOND")) is not None and record.status is RecordStatus.PENDING, "the old step is ready")
        fresh = changed.start(after, Order())  # type: ignore[arg-type, type-var]
        assert changed.app.result(fresh, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert (calls.count("SECOND"), calls.count("RENAMED")) == (0, 1)
    assert h.drain(run).status is RunStatus.SUCCESS  # where the old code still is
    assert calls.count("SECOND") == 1


def test_an_error_inside_a_decision_touches_its_own_run_only(harness: type[Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def only(step: Step[Order]) -> None: ...

    from halfway.domain import outcome

    real = outcome._step_finished

    def broken(turn: object, *rest: object) -> None:
        if turn.run.correlation_id == "broken":  # type: ignore[attr-defined]
            raise ZeroDivisionError
        real(turn, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(outcome, "_step_finished", broken)
    h = harness(wf)
    with h.worker():
        bad = h.start(wf, Order(id="bad"), correlation_id="broken")
        good = h.start(wf, Order(id="good"))
        assert h.app.result(good, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
        ended = h.app.result(bad, timeout=timedelta(seconds=30))
    assert ended.status is RunStatus.MANUAL_REQUIRED
    assert ended.failure is not None
    assert ended.failure.code == "ENGINE_ERROR"


async def _use_async_twins(h: Harness, wf: object) -> RunStatus:
    async with h.app.worker(slots=2):
        run = await h.app.astart(wf, Order())  # type: ignore[arg-type]
        ended = await h.app.aresult(run, timeout=timedelta(seconds=30))
        return (await h.app.aget(wf, ended.id)).status  # type: ignore[arg-type]


def test_the_async_twins_do_the_same(harness: type[Harness]) -> None:
    wf = flow()

    @wf.step(Effect.READ)
    async def only(step: Step[Order]) -> None: ...

    assert asyncio.run(_use_async_twins(harness(wf), wf)) is RunStatus.SUCCESS
