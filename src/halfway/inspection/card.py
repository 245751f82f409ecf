"""The card: what was read, the gravest weakness, what may have happened, one verdict. Plain values; faces put them into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from halfway.inspection.advice import next_step, question
from halfway.inspection.assessing import Category, Repeatable, category, outward, repeatable, weight
from halfway.inspection.finding import Case, Finding, Rule, Said
from halfway.inspection.judging import Judgement, Rank, Reason, Verdict, outcome, ran_as, rank
from halfway.inspection.model import CONSEQUENTIAL, Fact, Kind, Outcome, Repeating, Span, Step
from halfway.inspection.quoting import quoted
from halfway.inspection.suppressing import Suppressed

NEEDS_CONFIRMATION = Said("needs confirmation")


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """What the card says of one step with an effect."""

    name: str
    span: Span
    kinds: tuple[Kind, ...]
    told: str
    certain: bool
    outcome: Outcome
    evidence: Fact | None  # the line of the log
    repeatable: Repeatable
    why: Said
    category: Category
    compensation: str  # of the knowledge base; empty if it knows none
    probe: str
    sourced: bool  # whether what is known of it was verified
    person: bool  # always a person's business (R-K8)
    weight: int  # how much what it does matters


@dataclass(frozen=True, kw_only=True)
class Card:
    """One flow."""

    flow: str
    name: str
    format: str
    file: str
    enabled: bool
    steps: int
    run: str  # id of the run that was given; empty: none
    verdict: Verdict
    reasons: tuple[Reason, ...]
    gravest: Finding | None
    rule: Rule | None
    rank: Rank | None
    others: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]  # and those that do not hold any more
    lines: tuple[StepLine, ...]
    evidence: tuple[Said, ...]  # to be kept before anything is done
    stops: tuple[Said, ...]  # on which nothing goes on by itself
    approver: Said
    question: Said | None
    next: Said

    @property
    def doubtful(self) -> tuple[StepLine, ...]:
        """The steps of which nobody knows whether they have happened."""
        return tuple(line for line in self.lines if line.outcome in (Outcome.UNKNOWN, Outcome.NO_LOG))


def card_of(case: Case, judged: Judgement, rules: Sequence[Rule], suppressed: tuple[Suppressed, ...] = ()) -> Card:
    """Puts the card of a flow together."""
    flow, gravest = case.flow, next(iter(judged.findings), None)
    lines = _told_apart(tuple(_line(case, step) for step in outward(flow)))
    named = [(step, line.name) for step, line in zip(outward(flow), lines, strict=True)]
    return Card(
        flow=flow.id, name=quoted(flow.name), format=flow.format, file=flow.file, enabled=flow.enabled, steps=len(flow.steps),
        run="" if case.run is None else quoted(case.run.id), verdict=judged.verdict, reasons=judged.reasons, gravest=gravest,
        rule=None if gravest is None else next(rule for rule in rules if rule.id == gravest.rule),
        rank=None if gravest is None else rank(case, gravest), others=judged.findings[1:],
        suppressed=suppressed, lines=lines,
        evidence=tuple(_evidence(case, named)), stops=tuple(_stop_conditions(named)), approver=_approver(case),
        question=question(case, judged), next=next_step(case, judged),
    )  # fmt: skip


def _told_apart(lines: tuple[StepLine, ...]) -> tuple[StepLine, ...]:
    """Steps that are called alike get the line that they are in."""
    count = Counter(line.name for line in lines)
    return tuple(line if count[line.name] == 1 else replace(line, name=f"{line.name} :{line.span.line}") for line in lines)


def _line(case: Case, step: Step) -> StepLine:
    assert step.effect is not None
    effect, ran, action = step.effect, ran_as(case, step), case.action(step)
    answer, why = repeatable(step)
    return StepLine(
        name=label(step), span=step.span, kinds=tuple(sorted(effect.kinds)), told=quoted(effect.told), certain=effect.certain,
        outcome=outcome(case, step), evidence=None if ran is None else ran.fact, repeatable=answer, why=why, category=category(step),
        compensation="" if action is None else action.compensation, probe="" if action is None else action.probe,
        sourced=action is not None and action.trust == "verified", person=bool(effect.kinds & (CONSEQUENTIAL | {Kind.UNKNOWN})),
        weight=weight(step),
    )  # fmt: skip


def label(step: Step) -> str:
    """What the step is called; a step of a job that does several things is told with what it does."""
    name, told = quoted(step.name), "" if step.effect is None else quoted(step.effect.told)
    return name if not told or told in name else f"{name} ({told})"


def _evidence(case: Case, named: Sequence[tuple[Step, str]]) -> Iterator[Said]:
    yield Said("the id of the run, and the log of every attempt")
    for step, name in named:
        action = case.action(step)
        if repeatable(step)[0] is Repeatable.PROVEN:
            continue
        if action is not None and action.key is not None:
            yield Said("of {step} the key of the call ({where}) and the id that came back", {"step": name, "where": Said(action.key.where)})
        else:
            yield Said("of {step} the id that came back", {"step": name})


def _stop_conditions(named: Sequence[tuple[Step, str]]) -> Iterator[Said]:
    for step, name in named:
        if repeatable(step)[0] in (Repeatable.NO, Repeatable.UNKNOWN):
            yield Said("{step} ended with an error, a timeout or a cancel: nothing is repeated before it was looked for", {"step": name})
        if any(one.automatic and one.kind is Repeating.REPLAY for one in step.repeaters):
            yield Said("an automatic replay of {step} is off", {"step": name})


def _approver(case: Case) -> Said:
    if not outward(case.flow):
        if case.flow.unread or case.flow.moving or any(step.opaque is not None for step in case.flow.steps):
            return NEEDS_CONFIRMATION
        return Said("nobody needs to: nothing changes anything outside")
    gates = [step.gate for step in case.flow.steps if step.gate is not None]
    named = sorted({gate.approver for gate in gates if gate.approver and gate.kind != "owner"})
    if named:
        return Said("{role}", {"role": ", ".join(named)})
    owners = sorted({gate.approver for gate in gates if gate.approver})
    if owners:
        return Said("{role}, once an outcome is not known; nobody is asked beforehand", {"role": ", ".join(owners)})
    if gates and gates[0].kind == "environment":
        return Said("the reviewers of the environment (its settings were not given): needs confirmation")
    if gates:
        return Said("whoever is asked on the way (no file says who that is): needs confirmation")
    return NEEDS_CONFIRMATION


def chosen(cards: Sequence[Card]) -> Card | None:
    """The card to show when there are many flows: the one with the gravest weakness, of equal ones the first."""
    order = {Verdict.STOP: 2, Verdict.LIMITED: 1, Verdict.PROCEED: 0}
    return max(cards, key=lambda card: (order[card.verdict], card.rank or (0,) * 7, len(card.lines)), default=None)
