"""A workflow as an author writes it: parallel and optional steps, a condition, a loop, a part for any input that has an id."""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel

from halfway import Effect, Part, Rewind, Step, StepFailed, Workflow


class HasId(Protocol):
    @property
    def id(self) -> str: ...


class Question(BaseModel):
    id: str
    thorough: bool = False


class Nameless(BaseModel):
    number: int


class NotGoodEnough(StepFailed):
    """The answer says too little."""


signing = Part[HasId]("SIGNING")


@signing.step(Effect.READ)
def sign(step: Step[HasId]) -> str:
    return f"signed {step.input.id}"


analysis = Workflow("ANALYSIS", Question, version=1, owner="analyst", key=lambda question: question.id)


@analysis.step(Effect.READ, after=[])
def facts(step: Step[Question]) -> list[str]:
    return ["one"]


@analysis.optional.step(Effect.READ, after=[])
async def rumours(step: Step[Question]) -> list[str]:
    return []


@analysis.when(lambda step: step.input.thorough).step(Effect.READ, after=[facts, rumours], at_least=1)
def check_twice(step: Step[Question]) -> int:
    return len(step.output(facts)) + len(step.output(rumours) or [])


@analysis.step(Effect.READ)
def answer(step: Step[Question]) -> str:
    checked = step.output(check_twice)
    return "unchecked" if checked is None else f"checked {checked}"


@analysis.step(Effect.READ, rewind=Rewind(to=answer, on=NotGoodEnough, max=2))
def judge(step: Step[Question]) -> None:
    if "un" in step.output(answer):
        raise NotGoodEnough("says too little")


analysis.include(signing)
