"""What an author writes with: workflows, the decorators, and what a step's function holds. It builds Spec and Handlers.

It must never know the engine, a store or a face.
"""

from __future__ import annotations

from halfway.authoring.definition import StepDefinition
from halfway.authoring.events import Event
from halfway.authoring.policy import Errors, Queue, Retry
from halfway.authoring.rows import one_row
from halfway.authoring.run import Run
from halfway.authoring.schedules import Schedule
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Failure, Found, Host, Mark, Step
from halfway.authoring.steps import EffectStep, Handler, TransactionStep
from halfway.authoring.triggers import Trigger
from halfway.authoring.waits import Approval, WaitStep
from halfway.authoring.workflow import Workflow
from halfway.domain.contract import Place

__all__ = [
    "Absent",
    "Approval",
    "Artifact",
    "AsyncMark",
    "CannotTell",
    "EffectStep",
    "Errors",
    "Event",
    "Failure",
    "Found",
    "Handler",
    "Host",
    "Mark",
    "Place",
    "Queue",
    "Retry",
    "Run",
    "Schedule",
    "Step",
    "StepDefinition",
    "TransactionStep",
    "Trigger",
    "WaitStep",
    "Workflow",
    "one_row",
]
