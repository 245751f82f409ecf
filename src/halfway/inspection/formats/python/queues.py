"""Tasks of Celery, Dramatiq, Huey and RQ: what their queue does again by itself, and what the task itself asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.python.building import Plan, flow
from halfway.inspection.formats.python.frames import Frame, dotted, keyword, number, truth
from halfway.inspection.formats.python.names import Function, Module, Program, worded
from halfway.inspection.formats.python.retrying import decorators, libraries, may_follow_timeout, names_any_error
from halfway.inspection.formats.python.said import said_safe
from halfway.inspection.formats.python.starting import by_person, decorated, head, scheduled, trigger, walked
from halfway.inspection.formats.python.walk import Around, Found, Walk
from halfway.inspection.model import Effect, Flow, Kind, Repeat, Repeater, Repeating, Span, Starting, Trigger

_CELERY_ONLY = worded(
    "bind autoretry_for acks_late ignore_result retry_backoff default_retry_delay retry_kwargs reject_on_worker_lost",
    "soft_time_limit rate_limit",
)
_NOT_CELERY = re.compile(r"^(prefect|airflow|dbos|invoke|locust|luigi|dagster|huey|flytekit|crewai)\b")
_APP = re.compile(r"(?i)(^|\.)(\w*celery\w*|app)\.task$")
_ACKS_LATE = re.compile(r"(?im)^[ \t]*(?:[\w.]+\.)?(?:task_acks_late|CELERY_(?:TASK_)?ACKS_LATE)\s*=\s*True")
_NOTICE = re.compile(r"(?m)^.*(?:task_failure\.connect|sentry_sdk\.init\(|def on_failure\()")
_QUEUED = frozenset({Kind.ENQUEUE})
CELERY_RETRIES = 3
DRAMATIQ_RETRIES = 20


@dataclass(frozen=True)
class Queued:
    """A task of a queue."""

    engine: str
    decorator: ast.expr
    call: ast.Call | None


def tasks(module: Module) -> Iterator[tuple[str, Function, Queued]]:
    """The tasks of a file."""
    top = Frame(module)
    for name, function in module.functions.items():
        for called, decorator in decorated(function, top):
            call = decorator if isinstance(decorator, ast.Call) else None
            engine = _engine(called, call)
            if engine:
                yield name, function, Queued(engine, decorator, call)
                break


def _engine(name: str, call: ast.Call | None) -> str:
    last = name.rpartition(".")[2]
    if name.startswith("dramatiq.") and last == "actor":
        return "dramatiq"
    if re.search(r"(?i)huey", name) and last in ("task", "periodic_task", "db_task", "db_periodic_task"):
        return "huey"
    if (name.startswith(("rq.", "django_rq.")) or "rq" in name.split(".")) and last == "job":
        return "rq"
    if _NOT_CELERY.match(name):
        return ""
    keys = {one.arg for one in call.keywords} if call else set[str | None]()
    if name in ("celery.shared_task", "celery.task") or (
        last in ("task", "shared_task", "periodic_task") and (name.startswith("celery.") or keys & _CELERY_ONLY)
    ):
        return "celery"
    return "celery" if _APP.search(name) else ""


def flows(module: Module, program: Program) -> Iterator[Flow]:
    """One flow for each task that does something."""
    for name, function, queued in tasks(module):
        made = _flow(name, function, queued, module, program)
        if made.steps:
            yield made


def _flow(name: str, function: Function, queued: Queued, module: Module, program: Program) -> Flow:
    top = Frame(module)
    asked = _Asked(_retry_of(function, queued, module))
    triggers, repeaters = _starting(queued, module, program)
    explicit = (asked.repeater,) if asked.repeater is not None else ()
    every = (*repeaters, *explicit, *decorators(_without(function, queued.decorator), top), by_person(module.span(queued.decorator)))
    frame = Frame(module, function, name.rpartition(".")[0], entry=True, repeaters=every)
    limit = _limit(queued, top)
    walk = walked(program, frame, name, engine=asked, timeout=limit)
    docs = ast.get_docstring(function) or ""
    found = (told_at_its_task(_outside(one, index, asked), walk) for index, one in enumerate(walk.found))
    walk.found = [said_safe(one, docs) for one in found]
    plan = Plan(
        engine=queued.engine, name=name, module=module, span=head(function, module), triggers=triggers,
        failure_notice=_notice(program), notice_expected=True,
    )  # fmt: skip
    return flow(plan, walk)


def _without(function: Function, decorator: ast.expr) -> Function:
    """The function with the decorators below that of the queue; only they are around its body as well."""
    copy = ast.FunctionDef(
        name=function.name, args=function.args, body=[], decorator_list=[one for one in function.decorator_list if one is not decorator]
    )
    copy.lineno = function.lineno
    return copy


def _starting(queued: Queued, module: Module, program: Program) -> tuple[tuple[Trigger, ...], tuple[Repeater, ...]]:
    top, span = Frame(module), module.span(queued.decorator)
    found = tuple(_automatic(queued, top, span, program))
    if queued.engine == "huey" and "periodic" in dotted(queued.call.func if queued.call else queued.decorator, top):
        plan, again = scheduled(module, queued.decorator, None)
        return (plan,), (*found, again)
    late = any(one.kind is Repeating.REDELIVERY for one in found)
    return (trigger(Starting.EVENT if late else Starting.CALL, module, queued.decorator),), found


def _automatic(queued: Queued, top: Frame, span: Span, program: Program) -> Iterator[Repeater]:
    call = queued.call
    match queued.engine:
        case "celery":
            errors = keyword(call, "autoretry_for") if call else None
            if errors is not None:
                yield Repeater(
                    Repeating.STEP_RETRY,
                    automatic=True,
                    bound=_celery_bound(call, top),
                    span=_at(errors, top),
                    after_timeout=may_follow_timeout(errors, top),
                    narrow=not names_any_error(errors),
                    libraries=libraries(errors, top),
                )
            late = keyword(call, "acks_late") if call else None
            if truth(late):
                yield Repeater(Repeating.REDELIVERY, automatic=True, bound=None, span=_at(late, top))
            elif late is None and (told := program.given.first(_ACKS_LATE, ".py")) is not None:
                yield Repeater(Repeating.REDELIVERY, automatic=True, bound=None, span=told, default=True)
        case "dramatiq":
            given = keyword(call, "max_retries") if call else None
            tries = number(given, top) if given is not None else DRAMATIQ_RETRIES
            if tries != 0:
                yield Repeater(
                    Repeating.STEP_RETRY,
                    automatic=True,
                    bound=None if tries is None else int(tries) + 1,
                    span=_at(given, top) if given else span,
                    default=given is None,
                )
        case _:
            given = keyword(call, "retries", "retry") if call else None
            tries = _rq_tries(given, top)
            if tries:
                yield Repeater(Repeating.STEP_RETRY, automatic=True, bound=tries + 1, span=_at(given, top))


def _rq_tries(given: ast.expr | None, top: Frame) -> int:
    value = (
        number(keyword(given, "max") or (given.args[0] if given.args else None), top) if isinstance(given, ast.Call) else number(given, top)
    )
    return int(value) if value is not None else 0


def _at(node: ast.expr | None, frame: Frame) -> Span:
    return frame.module.span(node) if node is not None else frame.module.source.span(1)


def _celery_bound(call: ast.Call | None, frame: Frame, given: ast.expr | None = None) -> int | None:
    """Attempts in all: the first one, and three more if nothing is said; None never gives up."""
    said = given or (keyword(call, "max_retries") if call else None)
    options = keyword(call, "retry_kwargs") if call else None
    if said is None and isinstance(options, ast.Dict):
        said = next(
            (
                value
                for key, value in zip(options.keys, options.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == "max_retries"
            ),
            None,
        )
    if said is None:
        return CELERY_RETRIES + 1
    value = number(said, frame)
    return int(value) + 1 if value is not None else None


def _retry_of(function: Function, queued: Queued, module: Module) -> Repeater | None:
    """The retry that a task of Celery asks for in its body."""
    if queued.engine != "celery":
        return None
    first = function.args.args[0].arg if function.args.args else ""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_retry(node, first, function.name):
            bound = _celery_bound(queued.call, Frame(module, function), keyword(node, "max_retries"))
            return Repeater(Repeating.STEP_RETRY, automatic=True, bound=bound, span=module.span(node))
    return None


def _is_retry(call: ast.Call, first: str, name: str) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=one), attr="retry"):
            return one in (first, name, "self", "task")
        case ast.Attribute(value=ast.Attribute(attr="current_task"), attr="retry"):
            return True
        case _:
            return False


@dataclass(eq=False)
class _Asked:
    """Sees where in its body a task asks to be retried: all that came before is repeated, what comes after is not."""

    repeater: Repeater | None
    until: int = -1

    def call(self, walk: Walk, call: ast.Call, name: str, around: Around) -> bool:
        function = around.frame.function
        if self.repeater is None or not name.endswith(".retry") or function is None:
            return False
        first = function.args.args[0].arg if function.args.args else ""
        if not _is_retry(call, first, function.name):
            return False
        self.until = len(walk.found)
        return True


def _outside(found: Found, index: int, asked: _Asked) -> Found:
    """Takes the retry that is asked for away from what comes after the place where it is asked."""
    if asked.repeater is None or index < asked.until:
        return found
    around = found.around
    frame = replace(around.frame, repeaters=tuple(one for one in around.frame.repeaters if one is not asked.repeater))
    return replace(found, around=replace(around, frame=frame, scope=f"{around.scope}/after"))


def told_at_its_task(found: Found, walk: Walk) -> Found:
    """Marks what only queues a task that was given as well: what is done twice is then seen, and told, at that task."""
    call = found.node
    if (
        found.seen is None
        or found.seen.effect.kinds != _QUEUED
        or not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
    ):
        return found
    target = walk.target(call.func.value, found.around.frame)
    if target is None or not _is_seen_there(*target, walk.program):
        return found
    return replace(found, extra=(*found.extra, ("queued", target[1])))


def _is_seen_there(module: Module, name: str, program: Program) -> bool:
    """Whether a task is repeated by itself as well, so that it is judged there, or does nothing that a second time would do again."""
    found = next(((function, queued) for key, function, queued in tasks(module) if key == name), None)
    if found is None:
        return False
    function, queued = found
    if any(one.automatic for one in (*_starting(queued, module, program)[1], *decorators(function, Frame(module)))):
        return True
    if _retry_of(function, queued, module) is not None:
        return True
    walk = walked(program, Frame(module, function, name.rpartition(".")[0], entry=True), name)
    return all(one.opaque is None and (one.seen is None or _is_harmless(one.seen.effect)) for one in walk.found)


def _is_harmless(effect: Effect) -> bool:
    return not effect.outward or effect.repeat in (Repeat.SAFE, Repeat.MERGES)


def _limit(queued: Queued, top: Frame) -> float | None:
    if queued.call is None:
        return None
    if queued.engine == "dramatiq":
        limit = number(keyword(queued.call, "time_limit"), top)
        return limit / 1000 if limit is not None else None
    return number(keyword(queued.call, "soft_time_limit", "time_limit", "timeout"), top)


def _notice(program: Program) -> Span | None:
    return program.given.first(_NOTICE, ".py")
