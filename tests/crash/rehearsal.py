"""What both releases of the rehearsal share: a workflow for each state in which a run can be when a new release comes.

PREPARE, then what brings the run into its state, then FINISH, which the second release gives another output.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from halfway import Effect, Event, Mark, Retry, Risk, Step, StepFailed, Then, Workflow
from halfway.testing import Ledger

SAW = "the ledger"
DAY = timedelta(days=1)
ONCE = Retry(1)
PATIENCE = 60.0
KINDS = ("RUNNING", "EVENT", "TIME", "APPROVAL", "CHILDREN", "ITEMS", "UNKNOWN", "MANUAL", "FAILED", "UNDO")


class Case(BaseModel):
    id: str


class Signal(BaseModel):
    go: bool = True


GO = Event("GO", Signal)
CHILD = Workflow("R_CHILD", Case, version=1, owner="owner", key=lambda case: case.id)


@CHILD.wait_for(GO, timeout=DAY, on_timeout=Then.FAIL, name="HEAR")
def hear(step: Step[Case]) -> str:
    return step.input.id


class Release:
    """One release: a version of every workflow."""

    def __init__(self, version: int, ledger: Ledger) -> None:
        self.version, self.ledger = version, ledger
        self.flows: dict[str, Workflow[Case]] = {}
        self.steps: dict[str, dict[str, Any]] = {}
        for kind in KINDS:
            wf = Workflow(f"R_{kind}", Case, version=version, owner="owner", key=lambda case: case.id)
            self.flows[kind], self.steps[kind] = wf, {}
            self._prepare(kind, wf)
            getattr(self, f"_{kind.lower()}")(wf)

    @property
    def workflows(self) -> list[Workflow[Any]]:
        return [CHILD, *self.flows.values()]

    def wait_for_go(self, step: Step[Case]) -> None:
        """Works until the test lets it go on."""
        until = time.monotonic() + PATIENCE
        while not self.ledger.count(event="GO", run=step.input.id) and time.monotonic() < until and not step.cancel_requested:
            time.sleep(0.1)

    def _prepare(self, kind: str, wf: Workflow[Case]) -> None:
        @wf.step(Effect.CREATE, evidence=SAW, name="PREPARE")
        def prepare(step: Step[Case], mark: Mark) -> str:
            with mark:
                self.ledger.write("PREPARE", run=step.input.id)
            return "prepared"

        @prepare.compensate(Risk.HIGH, evidence=SAW)
        def undo(step: Step[Case], output: str) -> None:
            self.ledger.write("UNDONE", run=step.input.id)

        self.steps[kind]["PREPARE"] = prepare

    def _running(self, wf: Workflow[Case]) -> None:
        @wf.step(Effect.READ, name="WORK")
        def work(step: Step[Case]) -> str:
            self.ledger.write("BEGUN", run=step.input.id)
            self.wait_for_go(step)
            return "worked"

    def _event(self, wf: Workflow[Case]) -> None:
        @wf.wait_for(GO, timeout=DAY, on_timeout=Then.FAIL, name="WAIT")
        def wait(step: Step[Case]) -> str:
            return step.input.id

    def _time(self, wf: Workflow[Case]) -> None:
        @wf.wait_until(name="WAIT")
        def wait(step: Step[Case]) -> datetime:
            return datetime.now(UTC) + timedelta(hours=12 if step.input.id.startswith("late") else 1)

    def _approval(self, wf: Workflow[Case]) -> None:
        @wf.approval("boss", expires=DAY, on_expiry=Then.FAIL, name="AGREE")
        def agree(step: Step[Case]) -> dict[str, str]:
            return {"case": step.input.id}

    def _children(self, wf: Workflow[Case]) -> None:
        @wf.children(CHILD, name="SPREAD")
        def spread(step: Step[Case]) -> list[Case]:
            return [Case(id=f"{step.input.id}-{n}") for n in range(2)]

    def _items(self, wf: Workflow[Case]) -> None:
        @wf.step(Effect.READ, name="LIST")
        def names(step: Step[Case]) -> list[str]:
            return [f"i{n}" for n in range(3)]

        @wf.each(Effect.CREATE, names, key=lambda name: name, evidence=SAW, name="EACH")
        def each(step: Step[Case], name: str, mark: Mark) -> str:
            self.wait_for_go(step)
            with mark:
                self.ledger.write("ITEM", run=step.input.id, item=name)
            return name

    def _unknown(self, wf: Workflow[Case]) -> None:
        @wf.step(Effect.CHANGE, evidence=SAW, name="PAY")
        def pay(step: Step[Case], mark: Mark) -> str:
            with mark:
                self.ledger.write("PAY", run=step.input.id)
                raise TimeoutError("no answer")

    def _stops(self, wf: Workflow[Case], then: Any) -> None:
        @wf.step(Effect.READ, retry=ONCE, on_failure=then, name="LOOK")
        def look(step: Step[Case]) -> str:
            if not self.ledger.count(event="GO", run=step.input.id):
                raise StepFailed("not there yet")
            return "seen"

    def _manual(self, wf: Workflow[Case]) -> None:
        self._stops(wf, Then.MANUAL)

    def _failed(self, wf: Workflow[Case]) -> None:
        self._stops(wf, Then.FAIL)

    def _undo(self, wf: Workflow[Case]) -> None:
        self._stops(wf, Then.COMPENSATE)

    def finish(self, write: Callable[[Workflow[Case]], None]) -> Release:
        for wf in self.flows.values():
            write(wf)
        return self
