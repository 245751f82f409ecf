"""The release that comes: FINISH answers a number, and a step follows it. It takes over the runs of the one before."""

from __future__ import annotations

from typing import Any

from halfway import Effect, Mark, Step, Workflow
from halfway.testing import Ledger
from tests.crash import rehearsal_old
from tests.crash.rehearsal import SAW, Case, Release


def release(ledger: Ledger) -> Release:
    def write(wf: Workflow[Case]) -> None:
        @wf.step(Effect.CREATE, evidence=SAW, name="FINISH")
        def finish(step: Step[Case], mark: Mark) -> int:
            with mark:
                ledger.write("FINISH", run=step.input.id, release=2)
            return 1

        @wf.step(Effect.NOTIFY, evidence=SAW, name="TELL")
        def tell(step: Step[Case], mark: Mark) -> None:
            with mark:
                ledger.write("TELL", run=step.input.id)

    old, new = rehearsal_old.release(ledger), Release(2, ledger).finish(write)
    for kind, wf in new.flows.items():
        wf.takes_over(old.flows[kind])(lambda case: case)
    return new


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    return release(ledger).workflows
