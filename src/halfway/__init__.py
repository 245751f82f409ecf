"""halfway: durable steps with a recovery contract."""

from __future__ import annotations

from halfway.app import Halfway
from halfway.authoring.definition import StepDefinition
from halfway.authoring.policy import Errors, Queue, Retry
from halfway.authoring.run import Run
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Failure, Found, Mark, Step
from halfway.authoring.workflow import Workflow
from halfway.domain.lifecycle import RunStatus
from halfway.domain.spec import Effect, Then
from halfway.engine.settings import Settings
from halfway.errors import OutcomeUnknown, RetryLater, StepFailed

__all__ = [
    "Absent",
    "Artifact",
    "AsyncMark",
    "CannotTell",
    "Effect",
    "Errors",
    "Failure",
    "Found",
    "Halfway",
    "Mark",
    "OutcomeUnknown",
    "Queue",
    "Retry",
    "RetryLater",
    "Run",
    "RunStatus",
    "Settings",
    "Step",
    "StepDefinition",
    "StepFailed",
    "Then",
    "Workflow",
]
