"""Every error of halfway: what happened, to which id, and what to do next.

A `HalfwayError` carries a code and parameters; the English text comes from `MESSAGES`, faces translate it.
The three `Outcome` classes are what an author's step raises on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import IntEnum
from typing import Any, Self


class Exit(IntEnum):
    """Exit codes of the command line, the same for every command."""

    OK = 0
    RUN_FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    NEEDS_PERSON = 5
    DATABASE = 6
    NOT_ALLOWED = 7
    INTERNAL = 70


MESSAGES: dict[str, str] = {
    # definitions
    "DEFINITION": "Workflow {workflow}: {problem} {remedy}",
    "UNSAFE_STEP": "Workflow {workflow}, step {step}: {problem} {remedy}",
    "POLICY_INVALID": "{policy} cannot be used: {problem} {remedy}",
    # input and configuration
    "INPUT_INVALID": "The input of {workflow} is not valid: {problem} Correct the input and start again; nothing was started.",
    "VALUE_INVALID": "The {what} does not fit its type: {problem} Correct it, or the annotation that describes it.",
    "KEY_INVALID": "The {what} cannot be used as a key: {problem} Return a text of 1 to 512 characters that names the business case.",
    "ITEM_KEY_INVALID": "Item {number} of step {step} cannot be named: {problem} Its key must be a text of 1 to 512 characters. {remedy}",
    "VALUE_UNSTORABLE": "The value at {path} cannot be stored: {problem} {remedy}",
    "CONFIG_INVALID": "The configuration {source} cannot be used: {problem} {remedy}",
    "URL_INVALID": "The database URL {url} cannot be used: {problem} Use sqlite:///path/to/file.db or postgresql://user@host/name.",
    "EXTRA_MISSING": "{feature} needs the extra '{extra}'. Install it with: pip install 'halfway[{extra}]'",
    "CONNECTION_REFUSED_WITHIN": "within= got {given}, which is not a connection of the database {url}. Pass a "
    "connection of the same database.",
    # not found
    "RUN_UNKNOWN": "There is no run {run}. List the runs with: halfway runs",
    "RUN_GONE": "Run {run} of {workflow} ended {status} at {ended}; its history was deleted at {deleted}, as its retention says. "
    "Who ordered what about it: halfway audit-log --run {run}",
    "OUTPUT_GONE": "Step {step} of run {run} has no output any more: the history of the run was deleted. The run ended {status}.",
    "RUN_AMBIGUOUS": "The id {run} fits {count} runs. Give more characters of the id.",
    "WORKFLOW_UNKNOWN": "There is no workflow {workflow} here. Known workflows: {known}.",
    "VERSION_UNKNOWN": "Workflow {workflow} has no version {version} here. Known versions: {known}.",
    "STEP_UNKNOWN": "Workflow {workflow} has no step {step}. Its steps: {known}.",
    "OUTPUT_MISSING": "Step {step} of run {run} has no output: it is {status}.",
    "QUEUE_UNKNOWN": "No step waits in a queue {queue} here. Known queues: {known}.",
    "BATCH_UNKNOWN": "There is no batch {batch}. List them with: halfway batch list",
    "BATCH_EMPTY": "No run fits, so nothing is to be done. Look at the runs with: halfway runs",
    "SCHEDULE_UNKNOWN": "Workflow {workflow} has no schedule {schedule}. List them with: halfway schedule list",
    "ARTIFACT_UNKNOWN": "There is no artifact {artifact} in run {run}.",
    # conflicts
    "KEY_CONFLICT": "Key {key} of {workflow} already belongs to run {run}, which was started with another input. "
    "Use that run, or start with a different key.",
    "AGAIN_REFUSED": "Run {run} with key {key} is {status}, not final. A second run under the key can start only after it has ended. "
    "Look at it with: halfway show {run}",
    "CHILD_IS_ABOVE": "Step {step} of run {parent} cannot wait for run {run}: that is the run itself, or one that waits for it. "
    "Correct in the code which runs the step starts, or their keys.",
    "ACTION_REFUSED": "{action} does not apply to run {run}: {problem} {remedy}",
    "ACTION_REPEATED": "Action {action_id} was already carried out on run {run}. Nothing was changed.",
    "REVISION_STALE": "Run {run} has changed since it was looked at (revision {expected}, now {actual}). Look again, "
    "then repeat the action.",
    "PLAN_OUTDATED": "Plan {plan} of run {run} is outdated: the run has moved since. Look at the new one with {command}, "
    "then confirm that.",
    "APPROVAL_OUTDATED": "What step {step} of run {run} shows is not what you saw ({seen}). Look again, then decide.",
    "PAUSE_REFUSED": "Nothing was changed: {problem}",
    "BATCH_REFUSED": "Batch {batch} is {state}: {problem} {remedy}",
    "SCHEDULE_REFUSED": "{action} does not apply to schedule {schedule} of {workflow}: {problem} {remedy}",
    "ARTIFACT_DAMAGED": "Artifact {artifact} ({name}) does not match its recorded hash. Its content was changed or damaged on disk; "
    "restore the file or run the step that made it again.",
    # database
    "DATABASE_MISSING": "There is no database at {url}. Check the path, or create it with: halfway db migrate --url {url}",
    "DATABASE_UNREACHABLE": "The database {url} cannot be reached: {problem} Nothing was changed; try again when it is back.",
    "COMMIT_UNKNOWN": "The connection to the database {url} broke during a commit, so it is not known whether the change stands: "
    "{problem} Look at it when the database is back; what carries a key or an id can simply be repeated.",
    "DATABASE_BUSY": "The database {url} stayed locked for {seconds} s. Nothing was changed; try again, and look for a "
    "program that holds a long transaction.",
    "FORKED_INSIDE": "This process was forked in the middle of a transaction of its parent on {url}, which did not end in time, and "
    "cannot use that database. Fork when no long transaction is open, or start the process with 'spawn'.",
    "DATABASE_FULL": "The database {url} cannot be written: {problem} Nothing was changed; free some space, then try again.",
    "SCHEMA_OUTDATED": "The database {url} has schema {found}, this version needs {needed}. Run: halfway db migrate --url {url}",
    "SCHEMA_NEWER": "The database {url} has schema {found}, this version knows {needed}. Install the newer version of halfway.",
    "SCHEMA_CHANGED": "Migration {name} of the database {url} does not match this version's file. Do not edit released "
    "migrations; restore the original.",
    # permission, execution
    "NOT_ALLOWED": "{actor} may not {action} run {run}. {remedy}",
    "NOT_PERMITTED": "{actor} may not {action}. {remedy}",
    "ATTEMPT_ENDED": "Attempt {attempt} of step {step} in run {run} has ended ({reason}); what it does now is no longer "
    "recorded. Stop the work.",
    "MARK_REFUSED": "The effect of step {step} in run {run} was not begun: {reason} Nothing has happened outside.",
    "RECORD_HELD": "Step {step} of run {run} waits: another step has changed {record}, and nobody knows yet how that ended. "
    "Settle that one first.",
    "MARK_MISUSED": "Step {step} in run {run} {problem} Enclose its one outside call in 'with mark:' exactly once.",
    "EMIT_REFUSED": "Step {step} in run {run} cannot send {event} here: a probe, a check or a draft only looks. "
    "Send it in the step itself.",
    "WORKER_DIES": "The worker process died {count} times shortly after its start, the last time {how}. "
    "Look at its output above for the cause, then start it again.",
    "WORKER_OVER": "This worker was declared dead and has stopped: {reason} Start it again.",
    "TIMEOUT_WAITING": "Run {run} is still {status} after {seconds} s. It goes on by itself; ask again later.",
    "ILLEGAL_TRANSITION": "A {what} that is {state} cannot take '{trigger}'.",
    "INTERNAL": "Internal error: {problem} Details are in {trace}.",
}


class Told(str):
    """A text made of sentences that stand beside each other: a template and what is filled in for each, so that faces translate them."""

    __slots__ = ("sentences",)
    sentences: tuple[tuple[str, Mapping[str, object]], ...]

    def __new__(cls, sentences: Iterable[tuple[str, Mapping[str, object]]]) -> Self:
        parts = tuple(sentences)
        self = super().__new__(cls, " ".join(template.format(**params) for template, params in parts))
        self.sentences = parts
        return self

    def __getnewargs__(self) -> tuple[Any]:
        return (self.sentences,)


class HalfwayError(Exception):
    """Base of every error that halfway raises for its users."""

    exit_code: Exit = Exit.USAGE

    def __init__(self, code: str, /, **params: object) -> None:
        self.code = code
        self.params = params
        super().__init__(MESSAGES[code].format(**params).rstrip())

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.params)


def _rebuild(kind: type[HalfwayError], code: str, params: dict[str, object]) -> HalfwayError:
    return kind(code, **params)


class DefinitionError(HalfwayError):
    """A workflow definition that cannot work."""


class UnsafeStep(DefinitionError):
    """A step whose contract has a hole: a lost answer would have no rule (R-J1, R-J7)."""


class InvalidInput(HalfwayError):
    """An input, an option or a configuration that is not valid."""


class UnstorableValue(HalfwayError):
    """A value that cannot be kept in the database; the path of the bad part is named."""


class NotFound(HalfwayError):
    """A run, workflow, version, step, output or artifact that does not exist."""

    exit_code = Exit.NOT_FOUND


class Conflict(HalfwayError):
    """A request that the present state does not allow."""

    exit_code = Exit.CONFLICT


class KeyConflict(Conflict):
    """The business key belongs to a run with another input."""


class DatabaseError(HalfwayError):
    """The database is missing, unreachable, busy or full. Nothing was changed."""

    exit_code = Exit.DATABASE


class DatabaseBusy(DatabaseError):
    """The database stayed locked longer than the patience."""


class SchemaError(HalfwayError):
    """The database has another schema than this version needs."""


class NotAllowed(HalfwayError):
    """The actor may not do this."""

    exit_code = Exit.NOT_ALLOWED


class ArtifactDamaged(Conflict):
    """An artifact's content no longer matches its hash."""


class AttemptEnded(HalfwayError):
    """This attempt is over: it timed out, its worker was declared dead, or the run was stopped."""


class MarkRefused(HalfwayError):
    """The effect mark was not taken, so nothing has happened outside."""


class RecordHeld(MarkRefused):
    """Another step holds the business record, so nothing was begun."""


class WorkerOver(HalfwayError):
    """The worker's epoch is over."""

    exit_code = Exit.INTERNAL


class IllegalTransition(HalfwayError):
    """A state change that the lifecycle tables do not know."""

    exit_code = Exit.INTERNAL


# ── what a step raises on purpose ──


class Outcome(Exception):
    """Base of the three ways a step may end other than by returning."""

    def __init__(self, message: str = "", /, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code or code_of(type(self))


class RetryLater(Outcome):
    """Nothing happened outside; try again, if the step's `Retry` allows it."""

    def __init__(self, message: str = "", /, *, code: str | None = None, after: timedelta | float | None = None) -> None:
        """after: how long the receiver wants to be left alone, a timedelta or seconds; honoured up to an hour."""
        super().__init__(message, code=code)
        self.after = timedelta(seconds=after) if isinstance(after, int | float) else after


class StepFailed(Outcome):
    """It will not work, and repeating it will not help.

    Inside the effect mark it also says that the receiver refused. In a step without a mark it says nothing about the effect: that is
    a lost answer, unless the step is idempotent. If you do not know, raise `OutcomeUnknown`.
    """


class VersionConflict(StepFailed):
    """The row is no longer at the version that the change was meant for; nothing was changed, and a repeat would not help (R-B11)."""


class Rejected(StepFailed):
    """A person has said no. Name it in `Rewind(on=Rejected)` at an approval, so that what was shown is made anew."""


class OutcomeUnknown(Outcome):
    """It may have happened. The lost-answer rule of the step's effect applies."""


def code_of(kind: type[BaseException]) -> str:
    """The error code of an exception class: its name in capitals, `InvalidOutput` -> `INVALID_OUTPUT`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind.__name__)
    return name.upper()
