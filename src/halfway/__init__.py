"""halfway: durable steps with a recovery contract."""

from __future__ import annotations

from halfway.app import Halfway
from halfway.authoring.declaring import Part
from halfway.authoring.definition import StepDefinition
from halfway.authoring.events import Event
from halfway.authoring.loops import Rewind
from halfway.authoring.policy import Budget, Errors, Queue, Retry
from halfway.authoring.retention import Retention
from halfway.authoring.rows import one_row
from halfway.authoring.run import Run
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Failure, Found, Mark, Step
from halfway.authoring.waits import Approval
from halfway.authoring.workflow import Workflow
from halfway.domain.lifecycle import RunStatus
from halfway.domain.spec import Effect, Risk, Then
from halfway.engine.settings import Settings
from halfway.errors import OutcomeUnknown, RetryLater, StepFailed

__all__ = [
    "Absent",
    "Approval",
    "Artifact",
    "AsyncMark",
    "Budget",
    "CannotTell",
    "Effect",
    "Errors",
    "Event",
    "Failure",
    "Found",
    "Halfway",
    "Mark",
    "OutcomeUnknown",
    "Part",
    "Queue",
    "Retention",
    "Retry",
    "RetryLater",
    "Rewind",
    "Risk",
    "Run",
    "RunStatus",
    "Settings",
    "Step",
    "StepDefinition",
    "StepFailed",
    "Then",
    "Workflow",
    "one_row",
]
