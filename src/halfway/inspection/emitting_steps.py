"""The functions of a workflow in the making: each step with its contract, as far as it is known, and what a person must decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from halfway.domain.spec import Effect
from halfway.inspection.card import Card
from halfway.inspection.drafting import Plan, Planned, known_safe
from halfway.inspection.finding import Finding, Said, not_read
from halfway.inspection.knowledge import Trust
from halfway.inspection.literals import Names, comment, one_line, string
from halfway.inspection.model import Flow, Kind, Mark, Repeat, Repeating, Reversible, Span, Step

MARK = "TO" + "DO"  # in two parts: in our own sources it may not stand
NOT_WRITTEN = "    raise NotImplementedError"
WIDEST = 88  # of a line that a formatter would leave alone
MOST_FINDINGS = 3
MOST_TRIES = 20
DAYS = 3650


@dataclass(frozen=True)
class Writing:
    """What is written, from what, in which language."""

    flow: Flow
    card: Card
    plan: Plan
    names: Names
    say: Callable[[Said], str]

    def todo(self, text: str, **params: object) -> str:
        """A comment about what a person must decide."""
        return comment(f"{MARK}: {self.say(Said(text, params))}")

    def remark(self, text: str, **params: object) -> str:
        """A comment."""
        return comment(self.say(Said(text, params)))


def place(span: Span) -> str:
    """As the card names it."""
    return f"{span.file}:{span.line}" + (f" ({span.at})" if span.at else "")


def roles(writing: Writing) -> tuple[str, ...]:
    """Every role, as an expression."""
    return tuple(dict.fromkeys(["OWNER", *(_role(part) for part in writing.plan.parts.values() if part.asks)]))


def functions(writing: Writing) -> Iterator[str]:
    """The functions in their order."""
    for part in writing.plan.parts.values():
        yield from ("", "")
        if part.asks:
            yield from _approval(writing, part)
        elif part.waits:
            yield from _wait(writing, part)
        else:
            yield from _step(writing, part)


# ── a person, a time ──


def _approval(writing: Writing, part: Planned) -> Iterator[str]:
    expires = "" if part.step.effect is not None else _time(part.step.timeout)  # of the answer, not of the effect behind it
    yield from _decorator(part, "approval", _role(part), f"expires={expires or 'timedelta(days=1)'}", "on_expiry=Then.CANCEL")
    yield f"def {part.name}(step: Step[Input]) -> Input:"
    gate = part.step.gate
    if gate is not None:
        yield "    " + comment(f"{place(gate.span)}: {gate.kind} {gate.approver}")
    yield "    " + writing.todo("what the person must see to decide about {step}", step=part.step.name)
    yield "    return step.input"


def _role(part: Planned) -> str:
    """Who is asked: a role that the flow names, else the owner."""
    gate = part.step.gate
    role = "" if gate is None or not gate.visible or gate.kind == "environment" else one_line(gate.approver)
    return string(role) if role not in ("", "owner") else "OWNER"


def _wait(writing: Writing, part: Planned) -> Iterator[str]:
    yield from _decorator(part, "wait_until")
    yield f"def {part.name}(step: Step[Input]) -> datetime:"
    yield from _evidence(writing, part.step)
    yield "    " + writing.todo("until which time; for a message it is flow.wait_for")
    yield NOT_WRITTEN


# ── a step ──


def _step(writing: Writing, part: Planned) -> Iterator[str]:
    acts = part.effect is not Effect.READ
    yield from _decorator(part, "step", f"Effect.{part.effect}", *_options(part))
    yield f"def {part.name}(step: Step[Input]{', mark: Mark' if acts else ''}) -> {'str' if _answers(part) else 'None'}:"
    yield from _evidence(writing, part.step)
    yield from (f"    {line}" for line in (*_known(writing, part), *_open(writing, part)))
    yield NOT_WRITTEN
    if acts and _look(part):
        name = writing.names.unique(f"find {part.name}")
        answer = "str" if _answers(part) else "None"
        yield from ("", "", f"@{part.name}.probe", f"def {name}(step: Step[Input]) -> Found[{answer}] | Absent | CannotTell:")
        yield f"    {writing.remark('look with {how}', how=Said(_look(part)))}{_unsure(writing, part)}"
        yield NOT_WRITTEN
    if acts:
        yield from _undo(writing, part)


def _answers(part: Planned) -> bool:
    return part.step.effect is not None or part.step.opaque is not None


def _decorator(part: Planned, way: str, *given: str) -> Iterator[str]:
    stands = f".when(lambda step: step.missing({part.failed}) is not None)" if part.failed else ""
    head = f"@flow{stands}{'.optional' if part.optional else ''}.{way}("
    options = [*given]
    if part.after is not None:
        after = f"after=[{', '.join(part.after)}]"
        fits = len(after) + 5 <= WIDEST
        options.append(after if fits else "\n        ".join(["after=[", *(f"{name}," for name in part.after)]) + "\n    ]")
    if len(options) < 2 and len(head + "".join(options)) < WIDEST:
        yield f"{head}{''.join(options)})"
    else:
        yield from (head, *(f"    {option}," for option in options), ")")


def _options(part: Planned) -> Iterator[str]:
    step, safe = part.step, part.effect is Effect.READ or known_safe(part)
    tries = [one.bound for one in step.repeaters if one.kind is Repeating.STEP_RETRY and one.automatic and one.bound]
    if safe and tries and 1 <= min(tries) <= MOST_TRIES:
        yield f"retry=Retry({min(tries)})"
    timeout = _time(step.timeout)
    if timeout:
        yield f"timeout={timeout}"
    if step.effect is not None and step.effect.reversible is Reversible.NO and part.effect is not Effect.READ:
        yield "irreversible=True"
    if part.effect is not Effect.READ and known_safe(part) and _remembered(part):
        yield f"idempotent={_remembered(part)}"


def _remembered(part: Planned) -> str:
    """How long the receiver knows a key; empty if that is not longer than an attempt may take."""
    assert part.step.effect is not None
    assert part.action is not None
    if part.step.effect.repeat is Repeat.SAFE:
        return "True"
    seconds = 0 if part.action.key is None else part.action.key.seconds or 0
    return _time(seconds) if seconds > (part.step.timeout or 300) else ""


def _time(seconds: float | None) -> str:
    """As an expression; empty for what is no time that can be waited."""
    if seconds is None or not math.isfinite(seconds) or not 0.001 <= seconds <= DAYS * 86_400:
        return ""
    return f"timedelta(seconds={int(seconds) if seconds == int(seconds) else round(seconds, 3)})"


def _look(part: Planned) -> str:
    return "" if part.action is None or part.action.probe == "none" else part.action.probe


def _unsure(writing: Writing, part: Planned) -> str:
    sure = part.action is not None and part.action.trust is Trust.VERIFIED
    return "" if sure else f"  [{writing.say(Said('source not confirmed'))}]"


# ── what is said of it ──


def _evidence(writing: Writing, step: Step) -> Iterator[str]:
    """The lines that it is made from."""
    yield "    " + comment(f"{place(step.span)}: {step.quote}")
    if step.effect is not None and step.effect.told and step.effect.told not in step.quote:
        yield "    " + comment(step.effect.told)
    yield from ("    " + comment(f"{place(fact.span)}: {fact.quote}") for fact in dict.fromkeys(step.facts[:MOST_FINDINGS]))
    needs = [writing.plan.made[id] for id in step.needs_output_of if id in writing.plan.made]
    if needs:
        yield "    " + writing.remark("it uses what came back from {steps}", steps=", ".join(needs))
    for one in _findings(writing.card, step)[:MOST_FINDINGS]:
        yield "    " + comment(f"{one.rule}: {writing.say(one.inference)}")
        if one.holds_if is not None:
            yield "    " + writing.remark("holds if: {condition}", condition=one.holds_if)


def _findings(card: Card, step: Step) -> list[Finding]:
    return [one for one in (card.gravest, *card.others) if one is not None and one.step == step.id]


def _known(writing: Writing, part: Planned) -> Iterator[str]:
    """What is filled in, and why."""
    step, action = part.step, part.action
    if part.effect is Effect.READ:
        return
    if action is not None and action.key is not None and step.effect is not None and step.effect.repeat is Repeat.WITH_KEY:
        yield writing.remark("the receiver tells a repeat by {where}: give it step.key", where=Said(action.key.where)) + _unsure(
            writing, part
        )
    if action is not None:
        yield from (comment(source) for source in action.sources[:1])
    tries = next((one for one in step.repeaters if one.automatic and one.kind is Repeating.STEP_RETRY), None)
    if tries is not None and not known_safe(part):
        yield writing.remark("it was tried again at {place}; here only what has provably not happened is", place=place(tries.span))


def _open(writing: Writing, part: Planned) -> Iterator[str]:
    """What a person must decide."""
    step, acts = part.step, part.effect is not Effect.READ
    if step.opaque is not None:
        yield writing.todo("what it does: {why}", why=not_read(step.opaque))
    elif step.effect is not None and (not step.effect.certain or Kind.UNKNOWN in step.effect.kinds):
        yield writing.todo("whether it is a {effect}: that was inferred", effect=part.effect)
    if acts and not _look(part) and not (known_safe(part) and _remembered(part)):
        yield writing.todo("how to look whether it has happened: a probe, idempotent=True, or evidence=")
    if step.condition:
        yield writing.todo("it ran only if {condition}: that is flow.when", condition=step.condition)
    if part.optional:
        yield writing.todo("whether the run may go on without it, as it did")
    if Mark.IN_LOOP in step.marks:
        yield writing.todo("it was done for each of several things: that is flow.each")
    if acts and step.timeout is None:
        yield writing.todo("how long an attempt may take: timeout=")


def _undo(writing: Writing, part: Planned) -> Iterator[str]:
    """What takes it back, where the flow or the base knows something."""
    undo = writing.plan.undoes.get(part.name)
    known = "" if part.action is None or part.action.compensation == "none" else part.action.compensation
    if undo is None and not known:
        return
    yield from ("", "")
    evidence = [f"    evidence={string(writing.say(Said(_look(part))))},"] if _look(part) else []
    yield from (f"@{part.name}.compensate(", "    Risk.HIGH,", *evidence, ")") if evidence else (f"@{part.name}.compensate(Risk.HIGH)",)
    name, made = writing.names.unique(f"undo {part.name}"), "str" if _answers(part) else "None"
    yield f"def {name}(step: Step[Input], made: {made}, mark: Mark) -> None:"
    if undo is not None:
        yield "    " + comment(f"{place(undo.span)}: {undo.quote}")
    if known:
        yield f"    {comment(writing.say(Said(known)))}{_unsure(writing, part)}"
    if not evidence:
        yield "    " + writing.todo("how to look whether it has happened: a probe, idempotent=True, or evidence=")
    yield NOT_WRITTEN
