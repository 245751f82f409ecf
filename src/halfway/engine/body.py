"""The execution of one attempt: call the author's function, and judge how it ended.

`execute` and `aexecute` are the only two twins of the engine; all that is more than the call itself is shared.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from halfway.authoring.failures import bounded, describe
from halfway.authoring.step import AsyncMark, Mark
from halfway.domain.contract import Ending, Place, Word, cut_short, judge
from halfway.domain.draft import Payload
from halfway.domain.proof import prove
from halfway.domain.run import ACTING, Answer, Ended, Happened, Kind, Report
from halfway.engine.attempt import Running
from halfway.engine.calls import Ending_, call_of, returned
from halfway.engine.context import where
from halfway.errors import (
    ArtifactDamaged,
    AttemptEnded,
    HalfwayError,
    MarkRefused,
    Outcome,
    OutcomeUnknown,
    RecordHeld,
    RetryLater,
    StepFailed,
)

log = logging.getLogger("halfway.engine")

SAID = 300  # characters of what a condition said, in the journal

HANDED_BACK = (Report(Ended.HANDED_BACK), Payload())


def execute(running: Running) -> Ending_:
    """Runs a `def` body in the present thread."""
    if not running.begin():
        return HANDED_BACK
    token = where.set(running.where())
    mark, called = None, False
    try:
        function, arguments, mark = call_of(running)
        called = True
        if running.hold is not None and mark is None:
            running.take_mark()
        value = function(*arguments)
        running.ensure_not_stopped()
        return returned(running, mark, value)
    except BaseException as error:  # the author's code may raise anything; the worker survives (B29)
        return raised(running, mark, error, called=called)
    finally:
        where.reset(token)


async def aexecute(running: Running) -> Ending_:
    """Runs an `async def` body on the present loop."""
    if not running.begin():
        return HANDED_BACK
    where.set(running.where())
    mark, called = None, False
    try:
        function, arguments, mark = call_of(running)
        called = True
        if running.hold is not None and mark is None:
            await running.atake_mark()
        value = await function(*arguments)
        running.ensure_not_stopped()
        return returned(running, mark, value)
    except BaseException as error:
        report, payload = raised(running, mark, error, called=called)
        if running.ended or isinstance(error, asyncio.CancelledError):  # what it started may still be on its way
            report = report._replace(gone_after=running.spec.timeout)
        return report, payload


def raised(running: Running, mark: Mark | AsyncMark | None, error: BaseException, *, called: bool = True) -> Ending_:
    """What an exception that left the body has proven; one that came while the call was made ready proves that nothing was done."""
    if running.stopped is not None and isinstance(error, Exception) and not isinstance(error, (MarkRefused, AttemptEnded)):
        error = running.stopped
    code, message = describe(error)
    payload = Payload(error=message)
    if running.record.kind not in ACTING:
        broken = running.record.kind is Kind.CHECK and isinstance(error, ArtifactDamaged)
        if broken:
            return Report(Ended.SUCCESS, answer=Answer.BROKEN, code=code), payload
        said = bounded(message, SAID) if running.record.kind is Kind.CONDITION else ""
        return Report(Ended.NOTHING, code=code, said=said), payload
    if isinstance(error, HalfwayError) and error.code == "MARK_MISUSED":
        done = Happened.HAPPENED if mark is not None and mark.place is Place.CLOSED else Happened.UNKNOWN
        if done is Happened.HAPPENED:
            return Report(Ended.FAILED, code="MARK_TAKEN_TWICE", effect=done, final=True), payload
    if isinstance(error, (MarkRefused, AttemptEnded)) and _not_begun(running, mark):  # it was not the step that failed
        return Report(Ended.HANDED_BACK, code=code, retry_after=_patience(running, error)), payload
    place, word = _place(mark, error) if called else Place.BEFORE, _word(running, error)
    proven = prove(mark.failed if mark is not None and mark.failed is not None and place is Place.INSIDE else error)
    if word is None and proven.code:
        code = proven.code
    report = judge(running.spec, Ending(place, code, word, proven.proof, _asked(error)))
    if report.ended is Ended.FAILED and running.record.kind is Kind.STEP and isinstance(error, running.handler.rewind_on):
        report = report._replace(rewinds=True)
    return report, payload


def _word(running: Running, error: BaseException) -> Word | None:
    """The author's word: an outcome raised on purpose, or a foreign exception that the step's Errors know."""
    if isinstance(error, Outcome):
        if isinstance(error, RetryLater):
            return Word.RETRY
        if isinstance(error, StepFailed):
            return Word.FAIL
        return Word.UNKNOWN if isinstance(error, OutcomeUnknown) else None
    errors = running.handler.errors
    if isinstance(error, errors.retry):
        return Word.RETRY
    if isinstance(error, errors.fail):
        return Word.REFUSED
    return Word.UNKNOWN if isinstance(error, errors.unknown) else None


def _asked(error: BaseException) -> int | None:
    after = error.after if isinstance(error, RetryLater) else None
    return int(after.total_seconds() * 1e6) if isinstance(after, timedelta) else None  # a subclass may set anything


def broken(running: Running, error: BaseException) -> Ending_:
    """The engine itself failed to judge how a body ended; the worst that can be true is assumed."""
    log.critical("the end of %s could not be judged", running.key, exc_info=error)
    report = cut_short(running.spec, marked=running.marked, code="ENGINE_ERROR", death=False, gone=True)
    if running.record.kind not in ACTING:
        report = Report(Ended.NOTHING, code="ENGINE_ERROR")
    return report, Payload(error=f"the end of the attempt could not be judged: {type(error).__name__}")


HELD_FOR = 1_000_000  # microseconds until a held business record is asked for again, the first time
AT_MOST = 60 * HELD_FOR


def _patience(running: Running, error: BaseException) -> int | None:
    """A person may take days to decide about a held record, so it is asked for less and less often."""
    return min(running.attempt * HELD_FOR, AT_MOST) if isinstance(error, RecordHeld) else None


def _not_begun(running: Running, mark: Mark | AsyncMark | None) -> bool:
    """Whether nothing of its effect can have begun: the mark, its own or the engine's, was not taken."""
    return (mark.place is Place.BEFORE) if mark is not None else (running.hold is not None and not running.marked)


def _place(mark: Mark | AsyncMark | None, error: BaseException) -> Place:
    if mark is None:
        return Place.NO_MARK
    if mark.place is Place.BEFORE:
        return Place.BEFORE
    if mark.place is Place.CLOSED:
        return Place.CLOSED
    return Place.INSIDE if _stems_from(error, mark.failed) else Place.BROKEN


def _stems_from(error: BaseException, failed: BaseException | None) -> bool:
    """Whether this is the exception that left the mark, or was raised because of it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        if current is failed:
            return True
        seen.add(id(current))
        current = current.__cause__ or current.__context__
    return False
