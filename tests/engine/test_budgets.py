"""R-E6, R-J10: what an AI task may spend, which tools it may call, and that no repeat calls one twice."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from halfway import Budget, Effect, Retry, RetryLater, RunStatus, Step
from halfway.authoring.tools import Call
from halfway.errors import DefinitionError
from tests.engine.harness import Calls, Harness, Order, flow, until

SOON = Retry(3, wait=timedelta(0))


def calls_of(h: Harness, run: Any) -> list[tuple[str, str | None]]:
    return [(row.tool, row.answer) for row in h.app.store.calls.of_run(run.id)]


def test_calls_are_written_down_with_what_they_were_given_and_answered(harness: type[Harness]) -> None:
    wf = flow(key=False)

    def add(a: int, b: int = 1) -> int:
        return a + b

    async def fetch(name: str) -> list[str]:
        await asyncio.sleep(0)
        return [name]

    @wf.step(Effect.READ, tools={add: Effect.READ})
    def first(step: Step[Order]) -> int:
        return step.call(add, 2, b=3)

    @wf.step(Effect.READ, tools={fetch: Effect.READ})
    async def second(step: Step[Order]) -> list[str]:
        return await step.call(fetch, "x")

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.output(first) == 5
    assert run.output(second) == ["x"]
    rows = h.app.store.calls.of_run(run.id)
    assert [(row.tool, row.effect, row.args, row.answer) for row in rows] == [
        ("add", "READ", '{"args": [2], "kwargs": {"b": 3}}', "5"),
        ("fetch", "READ", '{"args": ["x"], "kwargs": {}}', '["x"]'),
    ]


def test_a_repeat_does_not_make_a_call_with_an_effect_again(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    def read(name: str) -> int:
        return made.add("READ", name)

    def write(name: str) -> int:
        return made.add("WRITE", name)

    @wf.step(Effect.DELEGATE, evidence="the log", idempotent=True, retry=SOON, tools={read: Effect.READ, write: Effect.CHANGE})
    def work(step: Step[Order]) -> list[int]:
        found = [step.call(read, "a"), step.call(write, "a"), step.call(write, "a"), step.call(write, "b")]
        if step.attempt == 1:
            raise RetryLater("once more")
        return [*found, step.call(write, "c")]

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: (h.advance(1), h.status(run) is RunStatus.SUCCESS)[1])
    assert [what for name, what in made.made if name == "WRITE"] == ["a", "a", "b", "c"]
    assert [what for name, what in made.made if name == "READ"] == ["a", "a"]
    assert h.get(run).output(work) == [2, 1, 2, 3, 4]


def test_a_call_whose_answer_is_missing_makes_the_step_a_doubt(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    def write(name: str) -> int:
        return made.add("WRITE", name)

    @wf.step(Effect.DELEGATE, evidence="the log", idempotent=True, retry=Retry(2, wait=timedelta(0)), tools={write: Effect.CHANGE})
    def work(step: Step[Order]) -> int:
        answer = step.call(write, "a")
        if step.attempt == 1:
            with h.app.store._database.transaction("test") as session:  # as if the process had died in the midst of it
                session.raw.execute("update halfway_call set ended_at = null, answer = null")  # type: ignore[attr-defined]
            raise RetryLater("once more")
        return answer

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: (h.advance(60), h.status(run) is RunStatus.MANUAL_REQUIRED)[1], "a person is asked")
    assert len(made.made) == 1
    assert h.record(run, "WORK").status == "UNKNOWN"


def test_a_tool_that_was_not_declared_is_not_called(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    def known() -> int:
        return 1

    def unknown() -> int:
        return made.add("UNKNOWN")

    @wf.step(Effect.READ, tools={known: Effect.READ}, retry=Retry(1))
    def work(step: Step[Order]) -> int:
        return step.call(unknown)

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    assert h.record(run, "WORK").code == "TOOL_NOT_ALLOWED"
    assert made.made == []


def test_an_agent_hands_over_before_a_call_that_a_person_must_make(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    def write(path: str) -> int:
        return made.add("WRITE", path)

    def beyond_the_folder(call: Call) -> str | None:
        return None if str(call.args[0]).startswith("/home/") else f"{call.args[0]} is outside of the folder"

    @wf.step(Effect.DELEGATE, evidence="the log", idempotent=True, tools={write: Effect.CHANGE}, hand_over=beyond_the_folder)
    def work(step: Step[Order]) -> int:
        step.call(write, "/home/a")
        return step.call(write, "/etc/passwd")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
    assert [what for _, what in made.made] == ["/home/a"]
    assert h.record(run, "WORK").code == "HANDED_OVER"


def test_an_agent_that_swallows_the_stop_has_stopped_all_the_same(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    def write(path: str) -> int:
        return made.add("WRITE", path)

    @wf.step(
        Effect.DELEGATE, evidence="the log", idempotent=True, tools={write: Effect.CHANGE},
        hand_over=lambda call: "outside" if call.args[0] == "/etc" else None,
    )  # fmt: skip
    def work(step: Step[Order]) -> str:
        for path in ("/etc", "/home"):
            with suppress(Exception):
                step.call(write, path)
        return "all done"

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
    assert made.made == []
    assert h.record(run, "WORK").code == "HANDED_OVER"


def test_two_calls_that_only_look_alike_are_two(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    def post(text: str) -> int:
        return made.add("POST", text[-5:])

    @wf.step(Effect.DELEGATE, retry=SOON, evidence="the log", idempotent=True, tools={post: Effect.CHANGE})
    def work(step: Step[Order]) -> int:
        step.call(post, "x" * 5000 + ("first" if not made.made else "other"))
        if len(made.made) == 1:
            raise RetryLater("again")
        return len(made.made)

    h = harness(wf)
    assert h.run(wf, Order()).output(work) == 2
    assert [what for _, what in made.made] == ["first", "other"]


def test_who_settles_a_doubt_about_an_exhausted_agent_grants_its_budget(harness: type[Harness]) -> None:
    wf = flow(key=False, budget=Budget(tokens=100))

    @wf.step(Effect.DELEGATE, evidence="the log")
    def think(step: Step[Order]) -> str:
        step.spend(tokens=60)
        step.spend(tokens=60)
        return "done"

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
        assert h.record(run, "THINK").code == "AI_BUDGET_EXCEEDED"
        h.app.control.retry(run.id, "THINK", actor="kim", reason="it did nothing", not_happened=True, evidence="the log")
        until(lambda: h.record(run, "THINK").attempts == 2 and h.status(run) is RunStatus.MANUAL_REQUIRED)
    assert h.app.store.reading.detail(run.id).run.grants == 1


def test_items_share_the_budget_of_their_step_and_who_retries_them_grants_it(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def names(step: Step[Order]) -> list[str]:
        return ["a", "b", "c", "d"]

    @wf.each(Effect.READ, names, key=str, concurrency=1, retry=Retry(1), budget=Budget(tokens=120))
    def think(step: Step[Order], name: str) -> str:
        step.spend(tokens=40)
        made.add("THOUGHT", name)
        return name

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
        assert len(made.made) == 3
        [asked] = h.app.control.inbox()
        assert asked.step == "THINK"
        h.app.control.retry(run.id, "THINK", actor="kim", reason="it was worth it")
        until(lambda: h.status(run) is RunStatus.SUCCESS, patience=20)
    assert sorted(name for _, name in made.made) == ["a", "b", "c", "d"]


def test_a_budget_of_attempts_counts_a_step_that_is_done_for_many_as_one(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False, budget=Budget(attempts=3))

    @wf.step(Effect.READ)
    def names(step: Step[Order]) -> list[str]:
        return [str(n) for n in range(20)]

    @wf.each(Effect.READ, names, key=str, concurrency=1)
    def work(step: Step[Order], name: str) -> int:
        return made.add("WORK")

    assert harness(wf).run(wf, Order()).status is RunStatus.SUCCESS


@pytest.mark.parametrize("of", ["run", "step"])
def test_more_tokens_than_the_budget_ask_a_person_who_may_grant_it_once_more(harness: type[Harness], of: str) -> None:
    made, budget = Calls(), Budget(tokens=100)
    wf = flow(key=False, **({"budget": budget} if of == "run" else {}))

    @wf.step(Effect.READ, retry=Retry(1), **({} if of == "run" else {"budget": budget}))
    def think(step: Step[Order]) -> int:
        made.add("THINK")
        step.spend(tokens=80)
        step.spend(tokens=30)
        return 1

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
        assert h.record(run, "THINK").code == "AI_BUDGET_EXCEEDED"
        h.app.control.retry(run.id, "THINK", actor="kim", reason="it was worth it")
        until(lambda: len(made.made) == 2 and h.status(run) is RunStatus.MANUAL_REQUIRED)  # 220 of 200
        h.app.control.retry(run.id, "THINK", actor="kim", reason="once more")
        until(lambda: len(made.made) == 3 and h.status(run) is not RunStatus.RUNNING)
    assert h.get(run).status is RunStatus.MANUAL_REQUIRED  # 330 of 300


def test_a_budget_of_tool_calls_counts_over_all_attempts(harness: type[Harness]) -> None:
    made, wf = Calls(), flow(key=False, budget=Budget(tool_calls=4))

    def look() -> int:
        return made.add("LOOK")

    @wf.step(Effect.READ, tools={look: Effect.READ}, retry=SOON)
    def work(step: Step[Order]) -> int:
        for _ in range(3):
            step.call(look)
        raise RetryLater("again")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: (h.advance(1), h.status(run) is RunStatus.MANUAL_REQUIRED)[1])
    assert len(made.made) == 4


@pytest.mark.parametrize(("budget", "made"), [(Budget(attempts=2), 2), (Budget(steps=2), 2)])
def test_attempts_and_steps_are_budgets_too(harness: type[Harness], budget: Budget, made: int) -> None:
    calls, wf = Calls(), flow(key=False, budget=budget)

    @wf.step(Effect.READ)
    def one(step: Step[Order]) -> int:
        return calls.add("ONE")

    @wf.step(Effect.READ)
    def two(step: Step[Order]) -> int:
        return calls.add("TWO")

    @wf.step(Effect.READ)
    def three(step: Step[Order]) -> int:
        return calls.add("THREE")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
        assert len(calls.made) == made
        assert h.record(run, "THREE").code == "AI_BUDGET_EXCEEDED"
        h.app.control.resume(run.id, actor="kim", reason="go on")
        until(lambda: h.status(run) is RunStatus.SUCCESS)


def test_time_is_a_budget_too(harness: type[Harness]) -> None:
    wf = flow(key=False, budget=Budget(duration=timedelta(hours=1)))

    @wf.step(Effect.READ)
    def one(step: Step[Order]) -> int:
        h.app.store.advance_clock(7200 * 1_000_000)
        return 1

    @wf.step(Effect.READ)
    def two(step: Step[Order]) -> int:
        return 2

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
    assert h.record(run, "TWO").code == "AI_BUDGET_EXCEEDED"


def test_what_cannot_work_is_refused() -> None:
    wf = flow()

    def write() -> int:
        return 1

    with pytest.raises(DefinitionError, match="Give the step the effect of its tools"):

        @wf.step(Effect.READ, tools={write: Effect.CHANGE})
        def work(step: Step[Order]) -> int:
            return 1

    with pytest.raises(DefinitionError, match="tokens is 0"):
        Budget(tokens=0)
