"""Which function of the author stands behind a record, what it is given, and what its answer means."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from pydantic import TypeAdapter

from halfway.authoring.failures import bounded
from halfway.authoring.step import Absent, Artifact, AsyncMark, CannotTell, Failure, Found, Mark, Step
from halfway.authoring.steps import Handler
from halfway.authoring.values import decode, encode
from halfway.domain.contract import Place, unstorable
from halfway.domain.draft import Draft, Payload
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.loops import cause
from halfway.domain.run import ACTING, PROBED_BY, UNDOING, Answer, Ended, Happened, Key, Kind, Record, Report, error_of
from halfway.domain.spec import Sort
from halfway.engine.attempt import Running
from halfway.engine.children import tell_child
from halfway.engine.listing import keep_lines, list_items
from halfway.errors import HalfwayError, UnstorableValue

Ending_ = tuple[Report, Payload]


def call_of(running: Running) -> tuple[Callable[..., Any], tuple[object, ...], Mark | AsyncMark | None]:
    """The author's function behind the record of this attempt, what it is given, and its mark."""
    handler, kind = running.handler, running.record.kind
    undoing = kind in UNDOING
    step = handler.step(running, undoing=undoing)
    if kind not in ACTING:
        return (*_looking(running, handler, step), None)
    if running.spec.sort is Sort.CHILD:
        return lambda: tell_child(running), (), None
    if running.spec.fan is not None:
        return lambda: list_items(running, step), (), None
    taken = (step, *_item(running))
    undone = (_output(running),) if kind is Kind.COMPENSATION else ()
    function = _there(handler.undo) if kind is Kind.COMPENSATION else handler.body
    if running.local is not None:
        return function, (step, running.local.connection, *undone), None
    if running.spec.holds and handler.record is not None:
        running.hold = handler.record(step)
    if handler.undo_takes_mark if undoing else handler.takes_mark:
        mark = handler.mark(running, undoing=undoing)
        return function, (*taken, *undone, mark), mark
    return function, (*taken, *undone), None


def _looking(running: Running, handler: Handler, step: Step[Any]) -> tuple[Callable[..., Any], tuple[object, ...]]:
    """What only looks at something: no effect, no mark."""
    match running.record.kind:
        case Kind.PROBE:
            return _there(handler.probe), (step, *_item(running))
        case Kind.CHECK:
            return _check(running, handler, step), ()
        case Kind.CONDITION:
            return _there(handler.condition), (step,)
        case Kind.COMPENSATION_PROBE:
            return _there(handler.undo_probe), (step, _output(running))
        case _:
            return _there(handler.draft), (step, _output(running))


def _item(running: Running) -> tuple[object, ...]:
    """The item that this attempt is about; nothing in every other step."""
    if not running.record.item:
        return ()
    adapter, item = running.handler.item_adapter, running.item
    assert adapter is not None
    assert item is not None, "an item is loaded with its record"
    return (decode(adapter, item.input, what=f"item {running.record.item} of {running.step_name}"),)


def _there(function: Callable[..., Any] | None) -> Callable[..., Any]:
    assert function is not None, "a worker only takes records that it has the code for"
    return function


def _output(running: Running) -> object:
    """What the step returned whose effect is undone."""
    return decode(running.handler.output_adapter, running.own_output, what=f"output of {running.step_name}")


def _check(running: Running, handler: Handler, step: Step[Any]) -> Callable[[], Any]:
    """What a resume builds on still holds: the artifacts that the step made, and then what the author's verify says."""
    output = _output(running)
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


def returned(running: Running, mark: Mark | AsyncMark | None, value: object) -> Ending_:
    """What a body that returned has proven, and what of it is kept."""
    kind = running.record.kind
    if kind in PROBED_BY:
        return _probed(running, value)
    if kind in (Kind.CHECK, Kind.CONDITION):
        if value not in (True, False):
            what = "VERIFY" if kind is Kind.CHECK else "CONDITION"
            error = f"a {what.lower()} function must answer True or False"
            said = error if kind is Kind.CONDITION else ""
            return Report(Ended.NOTHING, code=f"{what}_NOT_BOOL", said=said), Payload(error=error)
        return Report(Ended.SUCCESS, answer=Answer.HOLDS if value else Answer.BROKEN, code="" if value else "NO_LONGER_HOLDS"), Payload()
    if mark is not None and mark.place is Place.BEFORE:
        problem = "left its body without having entered its effect mark."
        misused = HalfwayError("MARK_MISUSED", step=running.step_name, run=running.run_id, problem=problem)
        return Report(Ended.FAILED, code="MARK_NOT_TAKEN", effect=Happened.NOT, final=True), Payload(error=str(misused))
    if running.spec.sort is Sort.CHILD:
        return cast(Report, value), Payload()
    if running.spec.fan is not None:
        return Report(Ended.SUCCESS, total=cast(int, value)), Payload()
    if running.handler.streams and kind is Kind.STEP:
        value = keep_lines(running, cast("Iterable[Any]", value))
    try:
        output = encode(_adapter_of(running), value, what=f"output of {running.step_name}")
    except UnstorableValue as bad:  # the body ran; that is known, and must not be lost or repeated (B27, B28)
        return unstorable(running.spec), Payload(error=str(bad))
    report = _waits(running, value, output) if running.spec.waits and kind is Kind.STEP else _SUCCESS
    return report, Payload(output, emitted=tuple(running.emitted))


_SUCCESS = Report(Ended.SUCCESS)
_NOTHING: TypeAdapter[Any] = TypeAdapter(type(None))


def _adapter_of(running: Running) -> TypeAdapter[Any]:
    """The type of what a function returns."""
    kind = running.record.kind
    if kind is Kind.COMPENSATION:
        return _NOTHING
    if kind is Kind.DRAFT:
        return running.handler.draft_adapter or _NOTHING
    return running.handler.output_adapter if running.handler.streams else running.handler.body_adapter


def _waits(running: Running, value: object, output: str) -> Report:
    """What the function of a wait has said: the key of what it waits for, the time, or what a person is shown."""
    if running.spec.sort is Sort.TIME:
        assert isinstance(value, datetime)
        return Report(Ended.SUCCESS, until=int(value.timestamp() * 1e6))
    if running.spec.sort is Sort.APPROVAL:
        return Report(Ended.SUCCESS, waits=shown_hash(running.handler.code, running.input, output))
    return Report(Ended.SUCCESS, waits=str(value))


def shown_hash(code: str, input: str, shown: str) -> str:
    """What an approval is bound to: the definition of the step, the run's input, and the bytes that a person is shown (R-C4)."""
    return hashlib.sha256("\x1f".join((code, input, shown)).encode()).hexdigest()[:32]


def _probed(running: Running, value: object) -> Ending_:
    if isinstance(value, Found):
        found: object = cast("Found[object]", value).value
        adapter = running.handler.output_adapter if running.record.kind is Kind.PROBE else _NOTHING
        output = encode(adapter, found, what=f"what the probe of {running.step_name} found")
        return Report(Ended.SUCCESS, answer=Answer.FOUND), Payload(output)
    if isinstance(value, Absent):
        return Report(Ended.SUCCESS, answer=Answer.ABSENT), Payload()
    if isinstance(value, CannotTell):
        return Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL), Payload(error=bounded(value.reason, 2000))
    error = f"the probe answered {type(value).__name__}; only Found, Absent or CannotTell say anything"
    return Report(Ended.SUCCESS, answer=Answer.CANNOT_TELL, code="PROBE_ANSWER_INVALID"), Payload(error=error)


def cause_of(draft: Draft, key: Key) -> Failure | None:
    """Why something is undone, or done once more: the step that failed, or what was asked of the run."""
    if key.kind not in UNDOING:
        failed = cause(draft.spec, draft.records, key.step) if draft.spec.loops else None
        return None if failed is None else _failure(draft, failed)
    for record in draft.records.values():
        if record.key.kind is Kind.STEP and record.status is RecordStatus.FAILED:
            return _failure(draft, record)
    intent = draft.before.run.intent
    return Failure("", "COMPENSATE" if intent is None else intent.value, "")


def _failure(draft: Draft, record: Record) -> Failure:
    return Failure(record.key.step, record.code, draft.outputs.get(error_of(record.key.step), ""))
