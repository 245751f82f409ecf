"""Decorators that are written wrong are refused in one sentence, with the way in which they are written right; none is passed over."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Event, Part, Risk, Step, Then, Workflow
from halfway.errors import DefinitionError


class Lead(BaseModel):
    id: str


def workflow() -> Workflow[Lead]:
    return Workflow("LEAD", Lead, version=2, owner="support", key=None)


def body(step: Step[Lead]) -> list[str]:
    return []


def holds(step: Step[Lead]) -> bool:
    return True


Wrong = Callable[[Any], object]
WITHOUT_A_STEP: list[tuple[Wrong, str]] = [
    (lambda wf: wf(body), "@workflow does not say what is declared. Write @workflow.step(Effect.X)"),
    (lambda wf: wf.optional(body), "@workflow.optional does not say what is declared. Write @workflow.optional.step(Effect.X)"),
    (lambda wf: wf.optional(), "@workflow.optional does not say what is declared."),
    (lambda wf: wf.optional(at_least=1), "@workflow.optional does not say what is declared."),
    (lambda wf: wf.when(holds)(body), "@workflow.when(…) does not say what is declared. Write @workflow.when(…).step(Effect.X)"),
    (lambda wf: wf.optional.when(holds)(body), "@workflow.optional.when(…) does not say what is declared."),
    (lambda wf: wf.when(holds).optional(body), "@workflow.optional.when(…) does not say what is declared."),
]
WITHOUT_PARENTHESES: list[tuple[Wrong, str]] = [
    (lambda wf: wf.step(body), "is not an effect. Give a member of Effect"),
    (lambda wf: wf.optional.step(body), "is not an effect. Give a member of Effect"),
    (lambda wf: wf.when(holds).step(body), "is not an effect. Give a member of Effect"),
    (lambda wf: wf.transaction(body), "is no connection for a transaction. Give sqlite3.Connection"),
    (lambda wf: wf.each(body), "each: missing a required argument: 'items'. Write it as in @workflow.each(Effect.READ, items, key="),
    (lambda wf: wf.children(body), "is no workflow. Give a Workflow"),
    (lambda wf: wf.wait_for(body), "wait_for: missing a required argument: 'timeout'. Write it as in @workflow.wait_for(event, "),
    (lambda wf: wf.wait_until(body), "wait_until: too many positional arguments. Write it as in @workflow.wait_until()."),
    (lambda wf: wf.approval(body), "approval: missing a required argument: 'expires'. Write it as in @workflow.approval('role', "),
    (lambda wf: wf.schedule(body), "schedule does not say when it is due. Write it as in @workflow.schedule('0 18 * * *')."),
    (lambda wf: wf.starts_on(body), "is no event. Give an Event"),
    (lambda wf: wf.starts_after(body), "is no workflow. Give a Workflow"),
    (lambda wf: wf.takes_over(body), "is no workflow. Give the earlier version"),
]
WITHOUT_ARGUMENTS: list[tuple[Wrong, str]] = [
    (lambda wf: wf.step(), "step: missing a required argument: 'effect'. Write it as in @workflow.step(Effect.READ)."),
    (lambda wf: wf.optional.step(), "step: missing a required argument: 'effect'."),
    (lambda wf: wf.step(Effect.READ, "x"), "step: too many positional arguments."),
    (lambda wf: wf.transaction(), "transaction: missing a required argument: 'connection'."),
    (lambda wf: wf.transaction(sqlite3.Connection, body), "transaction: too many positional arguments."),
    (lambda wf: wf.when(), "when: missing a required argument: 'condition'. Write it as in @workflow.when(condition).step"),
    (lambda wf: wf.when(holds, body), "when: too many positional arguments."),
    (lambda wf: wf.when(True), "when: True is not a function. Give a function of the step"),
    (lambda wf: wf.when(holds).when(holds), "when(…) is said twice of one step."),
    (lambda wf: wf.children(), "children: missing a required argument: 'workflow'."),
    (lambda wf: wf.starts_on(), "starts_on: missing a required argument: 'event'."),
    (lambda wf: wf.starts_after(), "starts_after: missing a required argument: 'workflow'."),
    (lambda wf: wf.takes_over(), "takes_over: missing a required argument: 'former'."),
    (lambda wf: wf.schedule(many=timedelta(1)), "schedule: got an unexpected keyword argument 'many'."),
    (lambda wf: wf.schedule()(lambda due: None), "is no name for a schedule"),
    (lambda wf: wf.step(Effect.READ, at_least=0)(body), "at_least is 0."),
    (lambda wf: wf.step(Effect.READ, at_least="one")(body), "at_least is 'one'. Give a whole number."),
    (lambda wf: wf.step(Effect.READ, optional=True)(body), "there is no option optional=. The options are name,"),
    (lambda wf: wf.step(Effect.READ, when=holds)(body), "there is no option when=. The options are name,"),
]


@pytest.mark.parametrize(("wrong", "told"), [*WITHOUT_A_STEP, *WITHOUT_PARENTHESES, *WITHOUT_ARGUMENTS])
def test_what_is_written_wrong_is_refused_and_shown_right(wrong: Wrong, told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        wrong(workflow())
    assert str(caught.value).startswith("Workflow LEAD: ")
    assert told in str(caught.value)


def test_a_condition_that_no_step_has_is_refused_when_the_workflow_is_used() -> None:
    wf = workflow()
    wf.step(Effect.READ)(body)

    @wf.when  # type: ignore[arg-type]
    def look(step: Step[Lead]) -> None: ...

    with pytest.raises(DefinitionError, match=r"when\(look\) is said of no step. Write @workflow.when\(condition\).step") as caught:
        _ = wf.spec
    assert caught.value.params["workflow"] == "LEAD"


def test_a_condition_of_a_part_that_no_step_has_is_refused_when_the_part_is_included() -> None:
    part: Part[Lead] = Part("PART")
    part.step(Effect.READ)(body)
    part.when(holds)
    with pytest.raises(DefinitionError, match=r"Workflow PART: when\(holds\) is said of no step"):
        workflow().include(part)


def test_one_condition_may_stand_for_several_steps() -> None:
    wf = workflow()
    held = wf.when(holds)
    held.step(Effect.READ, name="ONE")(body)
    held.step(Effect.READ, name="TWO")(body)
    assert [step.condition for step in wf.spec.steps] == ["holds", "holds"]


def test_an_undo_without_its_risk_is_not_passed_over() -> None:
    wf = workflow()
    made: Any = wf.step(Effect.CREATE, evidence="there")(body)
    listed = wf.step(Effect.READ, name="LIST")(body)
    each: Any = wf.each(Effect.CREATE, listed, key=str, evidence="there", name="EACH")(one)
    written: Any = wf.transaction(sqlite3.Connection, name="WRITE")(write)
    for step in (made, each, written):
        with pytest.raises(DefinitionError, match=r"is not a risk. Give a member of Risk, as in compensate\(Risk.LOW\)"):
            step.compensate(lambda step, output: None)
    assert made.compensate(Risk.LOW) is not None


def one(step: Step[Lead], item: str) -> None: ...
def write(step: Step[Lead], db: sqlite3.Connection) -> None: ...


def test_what_is_written_right_is_still_taken() -> None:
    wf = workflow()
    paid: Event[Lead] = Event("PAID", Lead)

    @wf.starts_on(paid)
    def by_event(lead: Lead) -> Lead:
        return lead

    @wf.schedule("0 18 * * *")
    def daily(due: datetime) -> Lead | None:
        return None

    @wf.wait_for(paid, timeout=timedelta(days=1), on_timeout=Then.FAIL)
    def wait(step: Step[Lead]) -> str:
        return step.input.id

    @wf.optional.step(Effect.READ)
    def look(step: Step[Lead]) -> int:
        return 1

    assert [step.name for step in wf.spec.steps] == ["WAIT", "LOOK"]
