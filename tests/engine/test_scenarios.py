"""The scenarios that every workflow engine must show, by name, on both databases."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from halfway import Absent, Effect, Found, Mark, Retry, RetryLater, RunStatus, Step, StepFailed, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened
from halfway.errors import Conflict, KeyConflict
from tests.engine.harness import Calls, Harness, Order, flow, until

SOON = Retry(3, wait=timedelta(milliseconds=10))


def chain(calls: Calls, **third: object) -> Workflow[Order]:
    wf = flow()

    @wf.step(Effect.READ)
    def one(step: Step[Order]) -> str:
        calls.add("ONE")
        return f"{step.input.id}-1"

    @wf.step(Effect.READ)
    async def two(step: Step[Order]) -> str:
        calls.add("TWO")
        return step.output(one) + "-2"

    @wf.step(Effect.READ, retry=SOON)
    def three(step: Step[Order]) -> str:
        n = calls.add("THREE")
        if n <= int(str(third.get("fails", 0))):
            raise third.get("error", RuntimeError("not yet"))  # type: ignore[misc]
        return step.output(two) + "-3"

    wf.last = three  # type: ignore[attr-defined]
    return wf


def test_normal_a_run_completes_and_each_step_runs_once(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls)
    h = harness(wf)
    run = h.run(wf, Order(id="a"))
    assert run.status is RunStatus.SUCCESS
    assert run.output(wf.last) == "a-1-2-3"  # type: ignore[attr-defined]
    assert [name for name, _ in calls.made] == ["ONE", "TWO", "THREE"]
    names = h.journal(run)
    assert names[0] == "workflow.started"
    assert names[-1] == "workflow.completed"
    assert names.count("step.started") == names.count("step.completed") == 3


def test_retry_only_the_failed_step_is_tried_again_in_the_same_run(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls, fails=2)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert (calls.count("ONE"), calls.count("TWO"), calls.count("THREE")) == (1, 1, 3)
    assert h.record(run, "THREE").attempts == 3


def test_retry_now_the_next_attempt_does_not_wait(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow()

    @wf.step(Effect.READ, retry=Retry(3, wait=timedelta(minutes=5)))
    def one(step: Step[Order]) -> int:
        if calls.add("ONE") == 1:
            raise RetryLater("the other side is away")
        return step.attempt

    h = harness(wf)
    run = h.start(wf, Order())
    with pytest.raises(Conflict, match="PENDING"):  # nothing was tried yet, and nothing waits
        h.app.control.retry(run.id, "ONE", actor="kim", reason="it shall begin")
    with h.worker():
        until(lambda: calls.count("ONE") == 1 and h.record(run, "ONE").status == "PENDING")
        with pytest.raises(Conflict, match="PENDING"):  # what is about to run has its input
            h.app.control.retry(run.id, "ONE", actor="kim", reason="mended", input=Order().model_dump_json())
        h.app.control.retry(run.id, "ONE", actor="kim", reason="the other side is back")
        done = h.app.result(run, timeout=timedelta(seconds=60))
    assert (done.status, done.output(one)) == ("SUCCESS", 2)
    assert h.journal(run).count("step.retry_ordered") == 1


def test_retry_limit_the_step_fails_and_the_run_says_why(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls, fails=9, error=RetryLater("queue is full", code="QUEUE_FULL"))
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    assert calls.count("THREE") == 3
    assert run.failure is not None
    assert (run.failure.step, run.failure.code) == ("THREE", "QUEUE_FULL")
    assert "queue is full" in run.failure.message


def test_a_final_failure_is_not_retried(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls, fails=9, error=StepFailed("no such order"))
    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.FAILED
    assert calls.count("THREE") == 1


def test_duplicate_signal_many_wake_ups_start_each_step_once(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls)
    h = harness(wf)
    with h.worker() as first, h.worker() as second:
        run = h.start(wf, Order())
        for _ in range(50):
            first.wake()
            second.wake()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert (calls.count("ONE"), calls.count("TWO"), calls.count("THREE")) == (1, 1, 1)


def test_atomic_claim_many_workers_never_run_one_step_twice(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def only(step: Step[Order]) -> str:
        calls.add(step.run_id)
        return step.run_id

    h = harness(wf)
    runs = h.app.start_many(wf, [Order(id=str(n)) for n in range(200)])
    with h.worker(), h.worker(), h.worker(), h.worker():
        until(lambda: len(calls.made) >= 200 and all(h.status(run) is RunStatus.SUCCESS for run in runs), "all runs end")
    assert {calls.count(run.id) for run in runs} == {1}


def test_resume_from_the_middle_runs_only_what_is_missing(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls, fails=3)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    done = h.app.control.resume(run.id, actor="kim", reason="the queue has room again")
    assert (done.before, done.after) == (RunStatus.FAILED, RunStatus.RUNNING)
    assert h.drain(run).status is RunStatus.SUCCESS
    assert (calls.count("ONE"), calls.count("TWO"), calls.count("THREE")) == (1, 1, 4)
    audit = h.app.store.reading.audit(run.id)
    assert [(row.audit.actor, row.audit.action, row.audit.reason) for row in audit] == [("kim", "resume", "the queue has room again")]


def lossy(calls: Calls, *, happened: bool, effect: Effect = Effect.CREATE) -> Workflow[Order]:
    """A step whose first answer is lost, and a probe that looks at the ledger."""
    wf = flow()
    world: list[str] = []

    @wf.step(effect, retry=SOON)
    def create(step: Step[Order], mark: Mark) -> str:
        n = calls.add("CREATE")
        with mark:
            if n > 1 or happened:
                world.append(step.key)
            if n == 1:
                raise TimeoutError("no answer")
            return "page-1"

    @create.probe(settle=timedelta(milliseconds=50))
    def find(step: Step[Order]) -> Found[str] | Absent:
        calls.add("PROBE")
        return Found("page-1") if step.key in world else Absent()

    wf.world = world  # type: ignore[attr-defined]
    wf.create = create  # type: ignore[attr-defined]
    return wf


def test_unknown_is_reconciled_and_becomes_success_without_a_second_call(harness: type[Harness]) -> None:
    calls = Calls()
    wf = lossy(calls, happened=True)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert run.output(wf.create) == "page-1"  # type: ignore[attr-defined]
    assert calls.count("CREATE") == 1
    assert h.record(run, "CREATE").effect is Happened.HAPPENED
    assert [name for name in h.journal(run) if name.startswith("step.")] == [
        "step.started",
        "step.unknown",
        "step.probed",
        "step.completed",
    ]


def test_unknown_that_did_not_happen_is_repeated_only_after_the_probe_has_said_so(harness: type[Harness]) -> None:
    calls = Calls()
    wf = lossy(calls, happened=False)
    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert len(wf.world) == 1  # type: ignore[attr-defined]
    order = [name for name, _ in calls.made]
    assert order[0] == "CREATE"
    assert order[-1] == "CREATE"
    assert set(order[1:-1]) == {"PROBE"}


def test_unknown_message_that_is_absent_waits_for_a_person(harness: type[Harness]) -> None:
    calls = Calls()
    wf = lossy(calls, happened=False, effect=Effect.NOTIFY)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert calls.count("CREATE") == 1
    with pytest.raises(Conflict, match="nobody knows"):
        h.app.control.resume(run.id, actor="kim", reason="try")
    with pytest.raises(Conflict, match="revision"):
        h.app.control.retry(run.id, "CREATE", actor="kim", reason="x", not_happened=True, evidence="log", expected=1)
    h.app.control.retry(
        run.id, "CREATE", actor="kim", reason="the provider has no such message", not_happened=True, evidence="provider log 17:02"
    )
    assert h.drain(run).status is RunStatus.SUCCESS
    assert calls.count("CREATE") == 2


def test_a_person_can_say_that_it_happened(harness: type[Harness]) -> None:
    calls = Calls()
    wf = lossy(calls, happened=False, effect=Effect.NOTIFY)
    h = harness(wf)
    run = h.run(wf, Order())
    with pytest.raises(Exception, match=r"not valid|JSON|string"):
        h.app.control.mark_success(run.id, "CREATE", actor="kim", reason="seen", evidence="inbox", output="[1]")
    h.app.control.mark_success(run.id, "CREATE", actor="kim", reason="seen", evidence="the mail is in the inbox", output='"m-7"')
    now = h.get(run)
    assert now.status is RunStatus.SUCCESS
    assert now.output(wf.create) == "m-7"  # type: ignore[attr-defined]
    assert calls.count("CREATE") == 1


def test_cancel_requested_stops_at_the_next_boundary_and_keeps_what_is_done(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()
    entered, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.READ)
    def slow(step: Step[Order]) -> str:
        calls.add("SLOW")
        entered.set()
        go_on.wait(20)
        return "done"

    @wf.step(Effect.READ)
    def after(step: Step[Order]) -> None:
        calls.add("AFTER")

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        assert entered.wait(20)
        answer = h.app.control.cancel(run.id, actor="kim", reason="ordered twice")
        assert answer.after is RunStatus.CANCEL_REQUESTED
        go_on.set()
        ended = h.app.result(run, timeout=timedelta(seconds=30))
    assert ended.status is RunStatus.CANCELLED
    assert ended.output(slow) == "done"
    assert calls.count("AFTER") == 0
    with pytest.raises(Conflict, match="already ended"):
        h.app.control.cancel(run.id, actor="kim", reason="again")


def test_cancel_before_anything_has_started_ends_the_run_at_once(harness: type[Harness]) -> None:
    wf = chain(Calls())
    h = harness(wf)
    run = h.start(wf, Order())
    assert h.app.control.cancel(run.id, actor="kim", reason="no").after is RunStatus.CANCELLED


def test_duplicate_start_answers_the_run_that_stands_under_the_key(harness: type[Harness]) -> None:
    calls = Calls()
    wf = chain(calls)
    h = harness(wf)
    first = h.start(wf, Order(id="same"))
    second = h.start(wf, Order(id="same"))
    assert (first.created, second.created) == (True, False)
    assert first.id == second.id
    assert h.drain(first).status is RunStatus.SUCCESS
    third = h.start(wf, Order(id="same"))
    assert (third.id, third.created, third.status) == (first.id, False, RunStatus.SUCCESS)
    again = h.start(wf, Order(id="same"), again="the customer asked for it")
    assert again.created
    assert again.id != first.id
    with pytest.raises(Conflict, match="not final"):
        h.start(wf, Order(id="same"), again="once more")


def test_another_input_under_the_same_key_is_a_conflict(harness: type[Harness]) -> None:
    wf = Workflow("KEYED", Order, version=1, owner="o", key=lambda order: "fixed")

    @wf.step(Effect.READ)
    def only(step: Step[Order]) -> None: ...

    h = harness(wf)
    run = h.start(wf, Order(id="a"))
    with pytest.raises(KeyConflict, match=run.id):
        h.start(wf, Order(id="b"))


def test_a_step_that_never_ran_says_so_when_its_output_is_read(harness: type[Harness]) -> None:
    wf = chain(Calls())
    h = harness(wf)
    run = h.start(wf, Order())
    with pytest.raises(Exception, match="THREE"):
        h.get(run).output(wf.last)  # type: ignore[attr-defined]


def test_a_resource_is_for_one_run_at_a_time_in_order(harness: type[Harness]) -> None:
    calls = Calls()
    wf = Workflow("LOCKED", Order, version=1, owner="o", key=lambda order: order.id, resource=lambda order: "the-one")
    inside = 0
    most = 0

    @wf.step(Effect.READ)
    def work(step: Step[Order]) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        calls.add(step.input.id)
        inside -= 1

    @wf.step(Effect.READ)
    def more(step: Step[Order]) -> None: ...

    h = harness(wf)
    runs = [h.start(wf, Order(id=str(n))) for n in range(8)]
    with h.worker():
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "all have had their turn")
    assert most == 1
    assert [name for name, _ in calls.made] == [str(n) for n in range(8)]


def test_parallel_branches_meet_in_a_join(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ, after=[])
    async def left(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ, after=[])
    def right(step: Step[Order]) -> int:
        return 2

    @wf.step(Effect.READ, after=[left, right])
    def join(step: Step[Order]) -> int:
        calls.add("JOIN")
        return step.output(left) + step.output(right)

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.output(join) == 3
    assert calls.count("JOIN") == 1
    assert h.record(run, "JOIN").status is RecordStatus.SUCCESS


def test_a_resumed_run_waits_in_line_for_its_resource_again(harness: type[Harness]) -> None:
    calls = Calls()
    wf = Workflow("LOCKED", Order, version=1, owner="o", key=lambda order: order.id, resource=lambda order: "the-one")
    inside, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.READ, retry=Retry(1))
    def work(step: Step[Order]) -> None:
        if step.input.id == "first" and calls.add("FIRST") == 1:
            raise StepFailed("no")
        if step.input.id == "second":
            inside.set()
            go_on.wait(20)
        calls.add(step.input.id)

    h = harness(wf)
    with h.worker():
        first = h.start(wf, Order(id="first"))
        until(lambda: h.status(first) is RunStatus.FAILED)
        second = h.start(wf, Order(id="second"))
        assert inside.wait(20)
        h.app.control.resume(first.id, actor="kim", reason="again")
        go_on.set()
        until(lambda: h.status(first) is RunStatus.SUCCESS, "the first has its turn again")
        assert h.status(second) is RunStatus.SUCCESS
    assert [name for name, _ in calls.made] == ["FIRST", "second", "FIRST", "first"]
