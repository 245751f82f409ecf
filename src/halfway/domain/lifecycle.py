"""The state machines, as literal tables: (state, trigger) -> state. Everything else about states is derived from them.

A new state or trigger is a member and a line here; the diagram in the docs and the tests of the whole product follow by themselves. The
checks in SQL are written by hand in a migration, and a test compares them with these members.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from halfway.errors import IllegalTransition


class RecordStatus(StrEnum):
    """The states of a record: a step, probe, check or compensation of a run (R-A4)."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    WAITING = "WAITING"
    SKIPPED = "SKIPPED"


class Trigger(StrEnum):
    """What happened to a record, in the past tense."""

    BECAME_READY = "became_ready"  # what it needs is there
    STARTED = "started"  # an attempt began
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # no automatic retry is left
    RETRIED = "retried"  # nothing happened, another attempt will start
    LOST = "lost"  # the answer is missing and it may have happened
    LOOKED = "looked"  # still unknown, a later look is set
    PERSON_NEEDED = "person_needed"
    FOUND = "found"  # a probe, or the late answer itself, shows that it happened
    ABSENT = "absent"  # proven: it did not happen, and a machine may repeat it
    NOT_HAPPENED = "not_happened"  # proven, and it is not repeated
    STOPPED = "stopped"  # the run goes nowhere from here: cancelled, expired, failed
    REOPENED = "reopened"  # a person or a resume wants it again
    INVALIDATED = "invalidated"  # a resume found that its result no longer holds
    MARKED_SUCCESS = "marked_success"  # a person saw that it happened
    MARKED_ABSENT = "marked_absent"  # a person saw that it did not happen
    RELEASED = "released"  # nobody needs to decide about it any more
    SUSPENDED = "suspended"  # its function has said what it waits for
    ARRIVED = "arrived"  # what it waits for is here
    DEFAULTED = "defaulted"  # it did not come in time, and the run goes on with the value given beforehand
    TIMED_OUT = "timed_out"  # it did not come in time
    APPROVAL_ASKED = "approval_asked"  # a person must approve the next attempt
    APPROVED = "approved"
    REJECTED = "rejected"
    WAIVED = "waived"  # a person goes on without it
    ITEMS_OPENED = "items_opened"  # its items are on their way, or on their way again
    RULED_OUT = "ruled_out"  # its condition does not hold


_R, _T = RecordStatus, Trigger

RECORD_TRANSITIONS: Mapping[tuple[RecordStatus, Trigger], RecordStatus] = MappingProxyType(
    {
        (_R.PENDING, _T.BECAME_READY): _R.PENDING,
        (_R.PENDING, _T.STARTED): _R.RUNNING,
        (_R.PENDING, _T.STOPPED): _R.SKIPPED,
        (_R.PENDING, _T.LOST): _R.UNKNOWN,  # an idempotent step whose repeat will no longer come
        (_R.PENDING, _T.REOPENED): _R.PENDING,  # the next attempt now instead of later
        (_R.PENDING, _T.FAILED): _R.FAILED,
        (_R.RUNNING, _T.SUCCEEDED): _R.SUCCESS,
        (_R.RUNNING, _T.FAILED): _R.FAILED,
        (_R.RUNNING, _T.RETRIED): _R.PENDING,
        (_R.RUNNING, _T.LOST): _R.UNKNOWN,
        (_R.RUNNING, _T.STOPPED): _R.SKIPPED,
        (_R.UNKNOWN, _T.LOOKED): _R.UNKNOWN,
        (_R.UNKNOWN, _T.PERSON_NEEDED): _R.UNKNOWN,
        (_R.UNKNOWN, _T.FOUND): _R.SUCCESS,
        (_R.UNKNOWN, _T.ABSENT): _R.PENDING,
        (_R.UNKNOWN, _T.NOT_HAPPENED): _R.FAILED,
        (_R.UNKNOWN, _T.FAILED): _R.FAILED,
        (_R.UNKNOWN, _T.MARKED_SUCCESS): _R.SUCCESS,
        (_R.UNKNOWN, _T.MARKED_ABSENT): _R.PENDING,
        (_R.FAILED, _T.REOPENED): _R.PENDING,
        (_R.FAILED, _T.MARKED_SUCCESS): _R.SUCCESS,
        (_R.FAILED, _T.PERSON_NEEDED): _R.FAILED,
        (_R.FAILED, _T.RELEASED): _R.FAILED,
        (_R.SKIPPED, _T.REOPENED): _R.PENDING,
        (_R.RUNNING, _T.SUSPENDED): _R.WAITING,
        (_R.WAITING, _T.ARRIVED): _R.SUCCESS,
        (_R.WAITING, _T.FOUND): _R.SUCCESS,
        (_R.WAITING, _T.DEFAULTED): _R.SUCCESS,
        (_R.WAITING, _T.MARKED_SUCCESS): _R.SUCCESS,
        (_R.WAITING, _T.TIMED_OUT): _R.FAILED,
        (_R.WAITING, _T.REJECTED): _R.FAILED,
        (_R.WAITING, _T.STOPPED): _R.SKIPPED,
        (_R.WAITING, _T.WAIVED): _R.SKIPPED,
        (_R.WAITING, _T.LOOKED): _R.WAITING,  # its probe is asked
        (_R.WAITING, _T.PERSON_NEEDED): _R.WAITING,
        (_R.WAITING, _T.APPROVED): _R.PENDING,
        (_R.WAITING, _T.REOPENED): _R.PENDING,  # it waits anew
        (_R.PENDING, _T.APPROVAL_ASKED): _R.WAITING,
        (_R.PENDING, _T.WAIVED): _R.SKIPPED,
        (_R.PENDING, _T.RULED_OUT): _R.SKIPPED,
        (_R.PENDING, _T.ITEMS_OPENED): _R.WAITING,
        (_R.WAITING, _T.ITEMS_OPENED): _R.WAITING,
        (_R.FAILED, _T.ITEMS_OPENED): _R.WAITING,
        (_R.SUCCESS, _T.ITEMS_OPENED): _R.WAITING,
        (_R.WAITING, _T.FAILED): _R.FAILED,
        (_R.FAILED, _T.WAIVED): _R.SKIPPED,
        (_R.FAILED, _T.FOUND): _R.SUCCESS,  # it happened and then failed; its undo needs what it gave
        (_R.SUCCESS, _T.INVALIDATED): _R.PENDING,
        (_R.SUCCESS, _T.REOPENED): _R.PENDING,  # a probe or a check is asked again; a step never is
    }
)


class RunStatus(StrEnum):
    """The states of a run (R-A3), a pure function of its records and of what was asked of it."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    SUCCESS = "SUCCESS"
    PARTIAL_SUCCESS = "PARTIAL_SUCCESS"
    FAILED = "FAILED"
    COMPENSATING = "COMPENSATING"
    COMPENSATED = "COMPENSATED"
    MANUAL_REQUIRED = "MANUAL_REQUIRED"
    CANCEL_REQUESTED = "CANCEL_REQUESTED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"


class RunTrigger(StrEnum):
    """What happened to a run, in the past tense."""

    PROGRESSED = "progressed"
    SUSPENDED = "suspended"  # nothing of it runs or can run before something comes from outside
    PERSON_NEEDED = "person_needed"
    CANCEL_ASKED = "cancel_asked"
    UNDOING = "undoing"
    UNDONE = "undone"
    SUCCEEDED = "succeeded"
    PARTLY_SUCCEEDED = "partly_succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REOPENED = "reopened"  # an audited action of an operator


_S, _U = RunStatus, RunTrigger

# Whoever has asked a run to stop, or to be undone, never sees it go on; and what is undone stays undone.
RUN_TRANSITIONS: Mapping[tuple[RunStatus, RunTrigger], RunStatus] = MappingProxyType(
    {
        (_S.PENDING, _U.PROGRESSED): _S.RUNNING,
        (_S.PENDING, _U.SUSPENDED): _S.WAITING,
        (_S.PENDING, _U.PERSON_NEEDED): _S.MANUAL_REQUIRED,
        (_S.PENDING, _U.UNDOING): _S.COMPENSATING,
        (_S.PENDING, _U.PARTLY_SUCCEEDED): _S.PARTIAL_SUCCESS,
        (_S.PENDING, _U.FAILED): _S.FAILED,
        (_S.PENDING, _U.CANCELLED): _S.CANCELLED,
        (_S.PENDING, _U.EXPIRED): _S.EXPIRED,
        (_S.RUNNING, _U.SUSPENDED): _S.WAITING,
        (_S.RUNNING, _U.PERSON_NEEDED): _S.MANUAL_REQUIRED,
        (_S.RUNNING, _U.CANCEL_ASKED): _S.CANCEL_REQUESTED,
        (_S.RUNNING, _U.UNDOING): _S.COMPENSATING,
        (_S.RUNNING, _U.UNDONE): _S.COMPENSATED,
        (_S.RUNNING, _U.SUCCEEDED): _S.SUCCESS,
        (_S.RUNNING, _U.PARTLY_SUCCEEDED): _S.PARTIAL_SUCCESS,
        (_S.RUNNING, _U.FAILED): _S.FAILED,
        (_S.RUNNING, _U.CANCELLED): _S.CANCELLED,
        (_S.RUNNING, _U.EXPIRED): _S.EXPIRED,
        (_S.WAITING, _U.PROGRESSED): _S.RUNNING,
        (_S.WAITING, _U.PERSON_NEEDED): _S.MANUAL_REQUIRED,
        (_S.WAITING, _U.CANCEL_ASKED): _S.CANCEL_REQUESTED,
        (_S.WAITING, _U.UNDOING): _S.COMPENSATING,
        (_S.WAITING, _U.UNDONE): _S.COMPENSATED,
        (_S.WAITING, _U.SUCCEEDED): _S.SUCCESS,
        (_S.WAITING, _U.PARTLY_SUCCEEDED): _S.PARTIAL_SUCCESS,
        (_S.WAITING, _U.FAILED): _S.FAILED,
        (_S.WAITING, _U.CANCELLED): _S.CANCELLED,
        (_S.WAITING, _U.EXPIRED): _S.EXPIRED,
        (_S.SUCCESS, _U.REOPENED): _S.RUNNING,
        (_S.PARTIAL_SUCCESS, _U.REOPENED): _S.RUNNING,
        (_S.FAILED, _U.REOPENED): _S.RUNNING,
        (_S.COMPENSATING, _U.PERSON_NEEDED): _S.MANUAL_REQUIRED,
        (_S.COMPENSATING, _U.CANCEL_ASKED): _S.CANCEL_REQUESTED,
        (_S.COMPENSATING, _U.UNDONE): _S.COMPENSATED,
        (_S.COMPENSATING, _U.FAILED): _S.FAILED,
        (_S.COMPENSATING, _U.CANCELLED): _S.CANCELLED,
        (_S.COMPENSATING, _U.EXPIRED): _S.EXPIRED,
        (_S.MANUAL_REQUIRED, _U.PROGRESSED): _S.RUNNING,
        (_S.MANUAL_REQUIRED, _U.SUSPENDED): _S.WAITING,
        (_S.MANUAL_REQUIRED, _U.CANCEL_ASKED): _S.CANCEL_REQUESTED,
        (_S.MANUAL_REQUIRED, _U.UNDOING): _S.COMPENSATING,
        (_S.MANUAL_REQUIRED, _U.UNDONE): _S.COMPENSATED,
        (_S.MANUAL_REQUIRED, _U.SUCCEEDED): _S.SUCCESS,
        (_S.MANUAL_REQUIRED, _U.PARTLY_SUCCEEDED): _S.PARTIAL_SUCCESS,
        (_S.MANUAL_REQUIRED, _U.FAILED): _S.FAILED,
        (_S.MANUAL_REQUIRED, _U.CANCELLED): _S.CANCELLED,
        (_S.MANUAL_REQUIRED, _U.EXPIRED): _S.EXPIRED,
        (_S.CANCEL_REQUESTED, _U.PERSON_NEEDED): _S.MANUAL_REQUIRED,
        (_S.CANCEL_REQUESTED, _U.UNDOING): _S.COMPENSATING,
        (_S.CANCEL_REQUESTED, _U.UNDONE): _S.COMPENSATED,
        (_S.CANCEL_REQUESTED, _U.CANCELLED): _S.CANCELLED,
        (_S.CANCELLED, _U.REOPENED): _S.RUNNING,
        (_S.EXPIRED, _U.REOPENED): _S.RUNNING,
    }
)

# The order of precedence is written in decide.run_status; which trigger leads into a status is unambiguous:
ENTERED_BY: Mapping[RunStatus, RunTrigger] = MappingProxyType(
    {target: trigger for (_, trigger), target in RUN_TRANSITIONS.items() if trigger is not RunTrigger.REOPENED}
)

FINAL = frozenset({_S.SUCCESS, _S.PARTIAL_SUCCESS, _S.FAILED, _S.COMPENSATED, _S.CANCELLED, _S.EXPIRED})
SETTLED = frozenset({_R.SUCCESS, _R.FAILED, _R.SKIPPED})  # record states that move only when somebody asks


def advance(status: RecordStatus, trigger: Trigger) -> RecordStatus:
    """The next state of a record; `IllegalTransition` names the state and the trigger that do not fit."""
    try:
        return RECORD_TRANSITIONS[status, trigger]
    except KeyError:
        raise IllegalTransition("ILLEGAL_TRANSITION", what="record", state=status, trigger=trigger) from None


def advance_run(status: RunStatus, trigger: RunTrigger) -> RunStatus:
    """The next state of a run; `IllegalTransition` names the state and the trigger that do not fit."""
    try:
        return RUN_TRANSITIONS[status, trigger]
    except KeyError:
        raise IllegalTransition("ILLEGAL_TRANSITION", what="run", state=status, trigger=trigger) from None
