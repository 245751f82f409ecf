"""The workflows that are measured: five trivial READ steps in a chain."""

from __future__ import annotations

from pydantic import BaseModel

from halfway import Effect, Step, Workflow


class Input(BaseModel):
    n: int


def chain(*, asynchronous: bool) -> Workflow[Input]:
    flow = Workflow("CHAIN", Input, version=1, owner="bench", key=None)
    for number in range(1, 6):
        if asynchronous:

            async def work(step: Step[Input]) -> dict[str, int]:
                return {"i": step.input.n, "ok": 1}

            flow.step(Effect.READ, name=f"S{number}")(work)
        else:

            def sync_work(step: Step[Input]) -> dict[str, int]:
                return {"i": step.input.n, "ok": 1}

            flow.step(Effect.READ, name=f"S{number}")(sync_work)
    return flow
