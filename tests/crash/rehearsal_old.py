"""The release that is being replaced."""

from __future__ import annotations

from typing import Any

from halfway import Effect, Mark, Step, Workflow
from halfway.testing import Ledger
from tests.crash.rehearsal import SAW, Case, Release


def release(ledger: Ledger) -> Release:
    def write(wf: Workflow[Case]) -> None:
        @wf.step(Effect.CREATE, evidence=SAW, name="FINISH")
        def finish(step: Step[Case], mark: Mark) -> str:
            with mark:
                ledger.write("FINISH", run=step.input.id, release=1)
            return "finished"

    return Release(1, ledger).finish(write)


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    return release(ledger).workflows
