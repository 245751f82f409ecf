"""Makes the steps and edges of a flow from what a walk found."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from halfway.inspection.formats.python import marks
from halfway.inspection.formats.python.effects import Seen, literal, unknown
from halfway.inspection.formats.python.frames import Frame, entries, keyword, text
from halfway.inspection.formats.python.identity import identity
from halfway.inspection.formats.python.kept import kept, results
from halfway.inspection.formats.python.names import Module, Program
from halfway.inspection.formats.python.undoing import Undoing
from halfway.inspection.formats.python.walk import TAKEN, Around, Found, Walk
from halfway.inspection.model import (
    Bearing,
    Edge,
    Effect,
    Fact,
    Flow,
    Guard,
    Identity,
    Kind,
    Mark,
    Receiver,
    Repeater,
    Repeating,
    Span,
    Step,
    Trigger,
    When,
)
from halfway.inspection.quoting import quoted

FORMAT = "python"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What an engine says about a flow."""

    engine: str
    name: str
    module: Module
    span: Span
    triggers: tuple[Trigger, ...] = ()
    guards: tuple[Guard, ...] = ()
    failure_notice: Span | None = None
    notice_expected: bool = False
    undoes: bool = False
    extra: Mapping[str, str] = field(default_factory=dict[str, str])


def flow(plan: Plan, walk: Walk) -> Flow:
    """The flow of a walk."""
    made, edges = steps(walk)
    return Flow(
        id=f"{plan.module.source.path}:{plan.name}",
        name=plan.name,
        format=FORMAT,
        file=plan.module.source.path,
        span=plan.span,
        steps=made,
        edges=edges,
        triggers=plan.triggers,
        guards=plan.guards,
        failure_notice=plan.failure_notice,
        notice_expected=plan.notice_expected,
        undoes=plan.undoes,
        unread=tuple({one.opaque.what: one.opaque for one in made if one.opaque}.values()),
        extra={"engine": plan.engine, "drawn": "edges", **plan.extra},  # of two branches neither comes after the other
    )


def steps(walk: Walk) -> tuple[tuple[Step, ...], tuple[Edge, ...]]:
    """The steps in their order; what has no effect is left out where it cannot matter, and put together where it stands together."""
    every = [_shown(_recovering(_marking(one, walk.found))) for one in walk.found]
    home = _homes(every)
    shown = [index for index, at in enumerate(home) if at == index]
    ids = _ids([every[index] for index in shown])
    named = {id(every[index]): every[index].name for index in shown}
    undoing = Undoing(every, named)
    given = [frozenset(results(one.node, one.statement, one.around.frame.module)) for one in every]
    at = {index: ids[order] for order, index in enumerate(shown)}
    made: list[Step] = []
    for order, index in enumerate(shown):
        step = _step(every[index], undoing, walk.program)
        needs = _needs(every, given, index, shown, ids)
        passed = _passed_to(walk, index, home, at)
        missed = passed is None or walk.passing.is_missed(index)
        extra = step.extra if missed else {**step.extra, "heard": "true"}
        made.append(replace(step, id=ids[order], order=order, needs_output_of=needs, passed_to=passed, extra=extra))
    return tuple(made), tuple(_edges(walk, home, at))


def _marking(found: Found, every: list[Found]) -> Found:
    """What fills a map in a loop without effects marks nothing as done; it is how the map begins."""
    loops = [one for one in found.around.frame.repeaters if one.kind is Repeating.LOOP]
    if not found.marks & {Mark.CLAIM, Mark.CURSOR} or not loops or found.seen is not None:
        return found
    sharing = (one for one in every if loops[-1] in one.around.frame.repeaters and (one.opaque is not None or one.seen is not None))
    return (
        found
        if any(one.opaque is not None or (one.seen is not None and one.seen.effect.outward) for one in sharing)
        else replace(found, marks=frozenset())
    )


def _recovering(found: Found) -> Found:
    """A call that takes something back, as its name says, in a handler of errors."""
    if (
        found.seen is None
        and found.opaque is None
        and found.around.handles
        and isinstance(found.node, ast.Call)
        and marks.takes_back(found.name)
    ):
        return replace(found, seen=Seen(unknown("", f"{found.name}()")), marks=found.marks | {Mark.RECOVERY})
    return found


def _shown(found: Found) -> Found:
    """Nothing that is told holds a secret."""
    seen, opaque = found.seen, found.opaque
    return replace(
        found,
        name=quoted(found.name, 80),
        seen=replace(seen, effect=replace(seen.effect, told=quoted(seen.effect.told))) if seen is not None else None,
        opaque=replace(opaque, what=quoted(opaque.what)) if opaque is not None else None,
    )


def _plain(found: Found) -> bool:
    return found.seen is None and found.opaque is None and found.gate is None and not found.marks


def _homes(every: list[Found]) -> list[int | None]:
    """For each found thing the one in whose step it is told; None: nowhere."""
    homes: list[int | None] = []
    outward = False
    for index, one in enumerate(every):
        outward = outward or one.opaque is not None or (one.seen is not None and one.seen.effect.outward)
        before = every[index - 1] if index else None
        if not _plain(one):
            homes.append(index)
        elif not outward:
            homes.append(None)
        elif before is not None and _plain(before) and homes[-1] is not None and _where(before) == _where(one):
            homes.append(homes[-1])
        else:
            homes.append(index)
    return homes


def _where(found: Found) -> tuple[object, ...]:
    around = found.around
    return around.unit, around.scope, around.handles, around.on_error, Mark.IN_LOOP in around.marks


def _ids(found: list[Found]) -> list[str]:
    seen: Counter[str] = Counter()
    made: list[str] = []
    for one in found:
        base = f"{one.around.unit}/{quoted(one.name, 60)}"
        seen[base] += 1
        made.append(base if seen[base] == 1 else f"{base}#{seen[base]}")
    return made


def _edges(walk: Walk, home: list[int | None], at: dict[int, str]) -> Iterator[Edge]:
    """The edges between steps, past what was left out."""
    before: dict[int, dict[int, When]] = {}
    for (one, two), when in walk.edges.items():
        before.setdefault(two, {})[one] = when
    into: dict[int, dict[int, When]] = {}
    made: dict[tuple[str, str], When] = {}
    for index, place in enumerate(home):
        coming: dict[int, When] = {}
        for one, when in before.get(index, {}).items():
            there = home[one]
            passed = {there: When.SUCCESS} if there is not None else into[one]
            for start, earlier in passed.items():
                coming.setdefault(start, When.ERROR if When.ERROR in (when, earlier) else when)
        into[index] = coming
        for start, when in coming.items():
            if place is not None and start != place:
                made.setdefault((at[start], at[place]), when)
    return (Edge(one, two, when) for (one, two), when in made.items())


def _passed_to(walk: Walk, index: int, home: list[int | None], at: dict[int, str]) -> tuple[str, ...] | None:
    """The steps that are done after its failure was passed over; None where no handler hears of it."""
    if index not in walk.passing.caught:
        return None
    places = (home[one] for one in sorted(walk.passing.reached.get(index, ())))
    return tuple(dict.fromkeys(at[place] for place in places if place is not None and place != index))


def _needs(every: list[Found], given: list[frozenset[str]], index: int, shown: list[int], ids: list[str]) -> tuple[str, ...]:
    one = every[index]
    used = {node.id for node in ast.walk(one.node) if isinstance(node, ast.Name)}
    return tuple(
        ids[order]
        for order, other in enumerate(shown)
        if other < index
        and not _plain(every[other])
        and every[other].around.frame.function is one.around.frame.function
        and used & given[other]
    )


def _step(found: Found, undoing: Undoing, program: Program) -> Step:
    around, frame = found.around, found.around.frame
    span = frame.module.span(found.node, at=frame.name)
    effect = _told_to(found) if found.seen is not None else None
    carried = _identity(found, effect)
    outward = effect is not None and effect.outward
    guard = around.guard if outward else None
    timeout, known = _timeout(found)
    every_mark = found.marks | around.marks
    if effect is not None and isinstance(found.node, ast.Call):
        words = " ".join([ast.unparse(found.node), *literal(found.node, frame).values(), *(text(one, frame) for one in found.node.args)])
        every_mark |= marks.of_effect(effect, words, handling=bool(around.handles), words=words)
        if Kind.NOTIFY in effect.kinds and marks.tells_of_failure(found.node, frame):
            every_mark = (every_mark - {Mark.SUCCESS_NOTICE}) | {Mark.FAILURE_NOTICE}
    if effect is not None and Kind.AGENT in effect.kinds and any(one.kind is Repeating.LOOP for one in frame.repeaters):
        every_mark |= {Mark.IN_LOOP, Mark.AGENT_LOOP}
    places = [*(one.span for one in frame.repeaters), *([carried.span] if carried else []), *([guard[0]] if guard else [])]
    return Step(
        id="",
        name=found.name,
        unit=around.unit,
        scope=around.scope,
        order=0,
        span=span,
        quote=frame.module.source.fact(span).quote,
        effect=effect,
        identity=carried,
        repeaters=tuple(dict.fromkeys(_hearing(around))),
        timeout=timeout,
        timeout_known=known,
        ends_after=found.around.ends_after,
        on_error=around.on_error,
        kept=kept(found.node, found.statement, frame) if outward and isinstance(found.node, ast.expr) else (),
        guard=guard[0] if guard else None,
        guard_is_proof=guard[1] if guard else True,
        undo=undoing.of(found) if outward and not around.handles else None,
        gate=found.gate,
        opaque=found.opaque,
        condition=quoted(around.condition),
        marks=every_mark,
        facts=facts(places, around.facts, program),
        extra={**dict(found.extra), **({"in_handler": "true"} if around.handles else {})},
    )


def _hearing(around: Around) -> Iterator[Repeater]:
    """Who does it again: none that would for a failure, where a try within takes that; a loop around such a try is there for it."""
    for number, one in enumerate(around.frame.repeaters):
        taken = number < around.heeded and around.on_error in TAKEN and one not in around.frame.loops
        if not taken or one.kind is not Repeating.STEP_RETRY:
            yield one


def facts(places: Iterable[Span], more: Iterable[Fact], program: Program) -> tuple[Fact, ...]:
    """The lines of these places, each once."""
    found = {one.span: one for one in more}
    for span in places:
        source = program.given.sources.get(span.file)
        if source is not None:
            found.setdefault(span, source.fact(span))
    return tuple(found.values())


def _identity(found: Found, effect: Effect | None) -> Identity | None:
    if effect is None or not effect.outward:
        return None
    if not isinstance(found.node, ast.Call) or found.opaque is not None:
        return Identity(Bearing.UNKNOWN, "", found.around.frame.module.span(found.node))
    return identity(found.node, found.around.frame)


def _timeout(found: Found) -> tuple[float | None, bool]:
    seen, around = found.seen, found.around
    limits = [one for one in (seen.timeout if seen else None, around.timeout) if one is not None]
    if not limits and seen is not None and seen.ends_by_itself:
        return None, False
    return (min(limits) if limits else None), around.timeout_known or (seen is not None and seen.timeout_known)


def _told_to(found: Found) -> Effect | None:
    assert found.seen is not None
    effect = found.seen.effect
    if Kind.NOTIFY not in effect.kinds or not isinstance(found.node, ast.Call) or effect.receiver is not Receiver.UNKNOWN:
        return effect
    told = receiver(found.node, found.around.frame)
    if told is not None:
        return replace(effect, receiver=marks.told_by(told, found.around.frame))
    return replace(effect, receiver=marks.told_through(found.node.func, found.around.frame))


def receiver(call: ast.Call, frame: Frame) -> ast.expr | None:
    """The expression that says who is told."""
    wanted = marks.recipient_names()
    direct = keyword(call, *wanted)
    if direct is not None:
        return direct
    told = next((one for one in call.args if isinstance(one, ast.Name) and one.id in wanted), None)
    if told is not None:
        return told
    bodies = [one for one in (keyword(call, "json", "data", "body", "message", "params"), *call.args) if one is not None]
    for body in bodies:
        for key, value in entries(body, frame):
            if key.lower() in wanted:
                return value
        made = _message(body, frame)
        if made is not None and (inner := keyword(made, *wanted)) is not None:
            return inner
    last = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    place = {"sendmail": 1, "send_mail": 3, "mail_admins": 9}.get(last)
    return call.args[place] if place is not None and len(call.args) > place else None


def _message(expr: ast.expr, frame: Frame) -> ast.Call | None:
    """The call that made a message object."""
    if isinstance(expr, ast.Name) and (found := frame.bound(expr.id, expr.lineno)) is not None:
        expr = found[0].value
    return expr if isinstance(expr, ast.Call) else None
