"""`takes_over`: what it becomes, what it refuses, and what makes a fingerprint."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Retry, Step, Workflow
from halfway.domain.spec import WorkflowSpec
from halfway.domain.takeover import TakeoverSpec
from halfway.errors import DefinitionError


class Old(BaseModel):
    id: str


class New(BaseModel):
    id: str
    size: int


def old_and_new(name: str = "ORDER", version: int = 2) -> tuple[Workflow[Old], Workflow[New], Any, Any]:
    old = Workflow("ORDER", Old, version=1, owner="o", key=None)
    new = Workflow(name, New, version=version, owner="o", key=None)

    @old.step(Effect.CREATE, evidence="e")
    def make(step: Step[Old]) -> str:
        return "1"

    @new.step(Effect.CREATE, evidence="e", name="BUILD")
    def build(step: Step[New]) -> int:
        return 1

    return old, new, make, build


def carry(old: Old) -> New:
    return New(id=old.id, size=3)


def number(text: str) -> int:
    return int(text)


def test_it_is_data_of_the_definition_and_comes_back_as_it_was() -> None:
    old, new, make, build = old_and_new()
    taken = new.takes_over(old, at={make: build})(carry)
    taken.output(make, build)(number)
    assert new.spec.takes_over == (
        TakeoverSpec(version=1, input_schema=old.spec.input_schema, at=(("MAKE", "BUILD"),), outputs=("BUILD",)),
    )
    assert WorkflowSpec.from_json(new.spec.to_json()) == new.spec
    assert taken.input_for('{"id": "a"}') == New(id="a", size=3)
    assert taken.output_for("BUILD", '"7"') == "7"


def test_a_definition_that_knows_no_takeover_is_read() -> None:
    old, *_ = old_and_new()
    text = old.spec.to_json().replace('"takes_over":[],', "").replace('"reads":[],', "")
    assert "takes_over" not in text
    assert WorkflowSpec.from_json(text) == old.spec


@pytest.mark.parametrize(
    ("name", "version", "at", "told"),
    [
        ("OTHER", 2, {}, "is no version of it"),
        ("ORDER", 1, {}, "is not earlier"),
        ("ORDER", 2, {"build": "build"}, "is no step of version 1"),
        ("ORDER", 2, {"make": "make"}, "is no step of this version"),
    ],
)
def test_it_is_refused_where_it_names_something_else(name: str, version: int, at: dict[str, str], told: str) -> None:
    old, new, make, build = old_and_new(name, version)
    steps = {"make": make, "build": build}
    with pytest.raises(DefinitionError, match=told):
        new.takes_over(old, at={steps[one]: steps[other] for one, other in at.items()})(carry)


def test_two_steps_cannot_become_one() -> None:
    old, new, make, build = old_and_new()

    @old.step(Effect.CREATE, evidence="e")
    def second(step: Step[Old]) -> str:
        return "2"

    with pytest.raises(DefinitionError, match="two steps are to become the same one"):
        new.takes_over(old, at={make: build, second: build})(carry)


def test_another_shape_needs_a_function_and_another_kind_is_refused() -> None:
    old, new, make, build = old_and_new()
    new.takes_over(old, at={make: build})(carry)
    with pytest.raises(DefinitionError, match=r"the output of MAKE has another shape.*@….output"):
        _ = new.spec
    old, new, make, _ = old_and_new()

    @new.step(Effect.NOTIFY, evidence="e")
    def tell(step: Step[New]) -> str:
        return "1"

    new.takes_over(old, at={make: tell})(carry)
    with pytest.raises(DefinitionError, match="MAKE is CREATE, and TELL is NOTIFY"):
        _ = new.spec


def test_its_functions_take_one_value_and_are_declared_once() -> None:
    old, new, make, build = old_and_new()

    async def acarry(old: Old) -> New:
        return carry(old)

    with pytest.raises(DefinitionError, match="'async def'"):
        new.takes_over(old)(acarry)  # type: ignore[arg-type]
    old, new, make, build = old_and_new()
    with pytest.raises(DefinitionError, match="takes 2 arguments"):
        new.takes_over(old)(lambda a, b: carry(a))  # type: ignore[arg-type, misc]
    old, new, make, build = old_and_new()
    taken = new.takes_over(old, at={make: build})(carry)
    with pytest.raises(DefinitionError, match="declared twice"):
        new.takes_over(old)(carry)
    taken.output(make, build)(number)
    with pytest.raises(DefinitionError, match="two functions make the output of BUILD"):
        taken.output(make, build)(number)


# ── what a step reads is a part of its fingerprint ──


def reading(name: str = "ONE", output: type[Any] = str, *, how: str = "body") -> str:
    """The fingerprint of a step behind another one, which it reads in one way or another."""
    wf = Workflow("ORDER", Old, version=1, owner="o", key=None)

    @wf.step(Effect.READ, name=name)
    def one(step: Step[Old]) -> output:  # type: ignore[valid-type]
        return output()

    def helper(step: Step[Old]) -> str:
        return str(step.output(one))

    def plain(step: Step[Old]) -> int:
        return 1

    def body(step: Step[Old]) -> int:
        return len(str(step.output(one)))

    def nested(step: Step[Old]) -> int:
        return len([str(step.output(one)) for _ in range(2)])

    def by_helper(step: Step[Old]) -> int:
        return len(helper(step))

    functions = {"body": body, "nested": nested, "helper": by_helper}
    key = {"effect_key": helper} if how == "key" else {}
    wf.step(Effect.CREATE, evidence="e", name="TWO", retry=Retry(1), **key)(functions.get(how, plain))  # type: ignore[call-overload]
    return wf.spec.by_name["TWO"].code


@pytest.mark.parametrize("how", ["body", "nested", "helper", "key"])
def test_what_a_step_reads_makes_its_fingerprint(how: str) -> None:
    assert reading(how=how) == reading(how=how)
    assert len({reading(how=how), reading("UNO", how=how), reading(output=int, how=how)}) == 3


def test_what_it_does_not_read_does_not() -> None:
    assert reading(how="none") == reading("UNO", int, how="none")
