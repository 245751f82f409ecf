"""The execution of one attempt: call the author's function, judge how it ended, encode what it gave.

`execute` and `aexecute` are the only two twins of the engine; all that is more than the call itself is shared.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, cast

from halfway.authoring.failures import bounded, describe
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Found, Mark, Step
from halfway.authoring.steps import Handler
from halfway.authoring.values import decode, encode
from halfway.domain.contract import Ending, Place, Word, cut_short, judge, unstorable
from halfway.domain.draft import Payload
from halfway.domain.proof import prove
from halfway.domain.run import Answer, Ended, Happened, Kind, Report
from halfway.engine.attempt import Running
from halfway.engine.context import where
from halfway.errors import (
    ArtifactDamaged,
    AttemptEnded,
    HalfwayError,
    MarkRefused,
    Outcome,
    OutcomeUnknown,
    RetryLater,
    StepFailed,
    UnstorableValue,
)

log = logging.getLogger("halfway.engine")

Ending_ = tuple[Report, Payload]
HANDED_BACK = (Report(Ended.HANDED_BACK), Payload())


def execute(running: Running) -> Ending_:
    """Runs a `def` body in the present thread."""
    if not running.begin():
        return HANDED_BACK
    token = where.set(running.where())
    mark: Mark | AsyncMark | None = None
    try:
        function, arguments, mark = _call(running)
        return _returned(running, mark, function(*arguments))
    except BaseException as error:  # the author's code may raise anything; the worker survives (B29)
        return raised(running, mark, error)
    finally:
        where.reset(token)


async def aexecute(running: Running) -> Ending_:
    """Runs an `async def` body on the present loop."""
    if not running.begin():
        return HANDED_BACK
    where.set(running.where())
    mark: Mark | AsyncMark | None = None
    try:
        function, arguments, mark = _call(running)
        return _returned(running, mark, await function(*arguments))
    except BaseException as error:
        report, payload = raised(running, mark, error)
        if running.ended or isinstance(error, asyncio.CancelledError):  # what it started may still be on its way
            report = report._replace(gone_after=running.spec.timeout)
        return report, payload


def _call(running: Running) -> tuple[Callable[..., Any], tuple[object, ...], Mark | AsyncMark | None]:
    handler = running.handler
    step = handler.step(running)
    kind = running.record.kind
    if kind is Kind.PROBE:
        assert handler.probe is not None
        return handler.probe, (step,), None
    if kind is Kind.CHECK:
        return _check(running, handler, step), (), None
    if handler.takes_mark:
        mark = handler.mark(running)
        return handler.body, (step, mark), mark
    if running.local is not None:
        return handler.body, (step, running.local.connection), None
    return handler.body, (step,), None


def _check(running: Running, handler: Handler, step: Step[Any]) -> Callable[[], Any]:
    """What a resume builds on still holds: the artifacts that the step made, and then what the author's verify says."""
    output = decode(handler.output_adapter, running.outputs[running.step_name], what=f"output of {running.step_name}")
    for artifact in _artifacts_in(output):
        running.read(artifact.id, artifact.name)  # its hash is checked on every read
    verify = handler.verify
    if verify is None:
        return lambda: True
    return lambda: verify(step, output)


def _artifacts_in(value: object) -> Iterator[Artifact]:
    """Every artifact that an output names, wherever it stands in it."""
    if isinstance(value, Artifact):
        yield value
    elif isinstance(value, Mapping):
        for part in cast("Mapping[object, object]", value).values():
            yield from _artifacts_in(part)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in cast("Iterable[object]", value):
            yield from _artifacts_in(part)
    elif hasattr(value, "__dict__"):
        yield from _artifacts_in(vars(value))


def _returned(running: Running, mark: Mark | AsyncMark | None, value: object) -> Ending_:
    kind = running.record.kind
    if kind is Kind.PROBE:
        return _probed(running, value)
    if kind is Kind.CHECK:
        if value not in (True, False):
            return Report(Ended.NOTHING, code="VERIFY_NOT_BOOL"), Payload(error="verify must answer True or False")
        return Report(Ended.SUCCESS, answer=Answer.HOLDS if value else Answer.BROKEN, code="" if value else "NO_LONGER_HOLDS"), Payload()
    if mark is not None and mark.place is Place.BEFORE:
        problem = "left its body without having entered its effect mark."
        error = HalfwayError("MARK_MISUSED", step=running.step_name, run=running.run_id, problem=problem)
        return Report(Ended.FAILED, code="MARK_NOT_TAKEN", effect=Happened.NOT, final=True), Payload(error=str(error))
    try:
        output = encode(running.handler.output_adapter, value, what=f"output of {running.step_name}")
    except UnstorableValue as error:  # the body ran; that is known, and must not be lost or repeated (B27, B28)
        return unstorable(running.spec), Payload(error=str(error))
    return _SUCCESS, Payload(output)


_SUCCESS = Report(Ended.SUCCESS)


def _probed(running: Running, value: object) -> Ending_:
    if isinstance(value, Found):
        found: object = cast("Found[object]", value).value
        output = encode(running.handler.output_adapter, found, what=f"what the probe of {running.step_name} found")
        return Report(Ended.SUCCESS, answer=Answer.FOUND), Payload(output)
    if isinstance(value, Absent):
        return Report(Ended.SUCCESS, answer=Answer.ABSENT), Payload()
    if isinstance(value, CannotTell):
        return Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL), Payload(error=bounded(value.reason, 2000))
    error = f"the probe answered {type(value).__name__}; only Found, Absent or CannotTell say anything"
    return Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL, code="PROBE_ANSWER_INVALID"), Payload(error=error)


def raised(running: Running, mark: Mark | AsyncMark | None, error: BaseException) -> Ending_:
    """What an exception that left the body has proven."""
    code, message = describe(error)
    payload = Payload(error=message)
    if running.record.kind is not Kind.STEP:
        broken = running.record.kind is Kind.CHECK and isinstance(error, ArtifactDamaged)
        if broken:
            return Report(Ended.SUCCESS, answer=Answer.BROKEN, code=code), payload
        return Report(Ended.NOTHING, code=code), payload
    if isinstance(error, HalfwayError) and error.code == "MARK_MISUSED":
        done = Happened.HAPPENED if mark is not None and mark.place is Place.CLOSED else Happened.UNKNOWN
        if done is Happened.HAPPENED:
            return Report(Ended.FAILED, code="MARK_TAKEN_TWICE", effect=done, final=True), payload
    if isinstance(error, (MarkRefused, AttemptEnded)) and mark is not None and mark.place is Place.BEFORE:
        return Report(Ended.HANDED_BACK, code=code), payload  # it was not the step that failed, and nothing has begun
    place, word = _place(mark, error), _word(running, error)
    proven = prove(mark.failed if mark is not None and mark.failed is not None and place is Place.INSIDE else error)
    if word is None and proven.code:
        code = proven.code
    return judge(running.spec, Ending(place, code, word, proven.proof, _asked(error))), payload


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
    if running.record.kind is not Kind.STEP:
        report = Report(Ended.NOTHING, code="ENGINE_ERROR")
    return report, Payload(error=f"the end of the attempt could not be judged: {type(error).__name__}")


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
