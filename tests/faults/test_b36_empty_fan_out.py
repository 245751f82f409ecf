"""B36: a step that is done for none of a list is done, and what stands after it runs once. So it is with one, with many, with doubles."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, RetryLater, RunStatus, Step, StepFailed, Workflow
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well

SOON = Retry(3, wait=timedelta(milliseconds=5))
Items = list[str | None]


def fan_out(calls: Calls, items: Items) -> tuple[Workflow[Order], Any]:
    """LIST, the same for each, and a join that is counted."""
    wf = flow(key=False, retry=SOON)

    @wf.step(Effect.READ)
    def listed(step: Step[Order]) -> Items:
        return items

    @wf.each(Effect.READ, listed, key=repr)
    def look(step: Step[Order], item: str | None) -> Items:
        return [item]

    @wf.step(Effect.READ)
    def join(step: Step[Order]) -> list[Items]:
        calls.add("JOIN")
        return list(step.output(look))

    return wf, join


SIZES = {"0": [], "1": ["x"], "2": ["x", "y"], "doubled": ["x", "x"], "odd": [None, "", "None"], "1000": [str(n) for n in range(1000)]}


@pytest.mark.parametrize("items", SIZES.values(), ids=SIZES)
def test_the_join_runs_once_with_a_result_for_each_item_in_their_order(harness: type[Harness], items: Items) -> None:
    """B36."""
    calls = Calls()
    wf, join = fan_out(calls, items)
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker(slots=64):
        until(lambda: h.status(run) is RunStatus.SUCCESS, "it succeeds", patience=60)
    assert h.get(run).output(join) == [[item] for item in items]
    assert calls.count("JOIN") == 1
    all_is_well(h, run)


def test_a_generator_that_yields_nothing_is_an_empty_list(harness: type[Harness]) -> None:
    """B36."""
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def nothing(step: Step[Order]) -> Iterator[str]:
        yield from iter(())

    @wf.each(Effect.READ, nothing, key=str)
    def look(step: Step[Order], item: str) -> str:
        return item

    @wf.step(Effect.READ)
    def join(step: Step[Order]) -> list[str]:
        return list(step.output(look))

    h = harness(wf)
    run = h.run(wf, Order())
    assert (run.status, run.output(join)) == (RunStatus.SUCCESS, [])
    all_is_well(h, run)


def test_a_list_that_is_empty_only_on_its_second_attempt(harness: type[Harness]) -> None:
    """B36."""
    calls, wf = Calls(), flow(key=False, retry=SOON)

    @wf.step(Effect.READ)
    def listed(step: Step[Order]) -> list[str]:
        if step.attempt == 1:
            raise RetryLater("not yet")
        return []

    @wf.each(Effect.READ, listed, key=str)
    def look(step: Step[Order], item: str) -> str:
        return item

    @wf.step(Effect.READ)
    def join(step: Step[Order]) -> list[str]:
        calls.add("JOIN")
        return list(step.output(look))

    h = harness(wf)
    run = h.run(wf, Order())
    assert (run.status, run.output(join), calls.count("JOIN")) == (RunStatus.SUCCESS, [], 1)
    all_is_well(h, run)


def two_in_a_row(calls: Calls, away: list[bool]) -> tuple[list[Workflow[Any]], Any]:
    """Two empty ones after each other, then no children, then a join that fails at first; the children have an empty one of their own."""
    inner = flow("INNER", key=False)

    @inner.step(Effect.READ)
    def nothing(step: Step[Order]) -> list[str]:
        return []

    @inner.each(Effect.READ, nothing, key=str)
    def look(step: Step[Order], item: str) -> str:
        return item

    outer = flow("OUTER", key=False, retry=Retry(1))

    @outer.step(Effect.READ)
    def listed(step: Step[Order]) -> list[str]:
        return []

    @outer.each(Effect.READ, listed, key=str)
    def first(step: Step[Order], item: str) -> str:
        return item

    @outer.each(Effect.READ, listed, key=str)
    def second(step: Step[Order], item: str) -> str:
        return item

    @outer.children(inner)
    def no_children(step: Step[Order]) -> list[Order]:
        return []

    @outer.children(inner)
    def some(step: Step[Order]) -> list[Order]:
        return [Order(id="a"), Order(id="b")]

    @outer.step(Effect.READ)
    def join(step: Step[Order]) -> list[int]:
        calls.add("JOIN")
        if away[0]:
            raise StepFailed("away")
        return [step.output(one).total for one in (first, second)] + [step.output(one).total for one in (no_children, some)]

    return [inner, outer], join


def test_empty_ones_in_a_row_and_inside_children_and_again_after_a_resume(harness: type[Harness]) -> None:
    """B36: a retry of the run behaves the same."""
    calls, away = Calls(), [True]
    flows, join = two_in_a_row(calls, away)
    h = harness(*flows)
    run = h.run(flows[1], Order())
    assert run.status is RunStatus.FAILED
    away[0] = False
    h.app.control.resume(run.id, actor="kim", reason="it is back")
    run = h.drain(run)
    assert (run.status, run.output(join)) == (RunStatus.SUCCESS, [0, 0, 0, 2])
    assert calls.count("JOIN") == 2
    all_is_well(h, run, orders=1)
