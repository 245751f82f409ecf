"""One verdict about a flow, from criteria that can be read one by one. Pure. `proceed` never means: run it now (R-K8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from halfway.inspection.assessing import Repeatable, automatic, outward, repeatable, to_customer, weight
from halfway.inspection.finding import Case, Finding, Said, Severity, not_read
from halfway.inspection.model import Kind, Mark, Outcome, Ran, Repeating, Reversible, Starting, Step, When
from halfway.inspection.rules.common import DELIVERED, is_logged, tells_team


class Verdict(StrEnum):
    """The only three ends of a card."""

    PROCEED = "proceed"
    LIMITED = "limited trial"
    STOP = "stop"


@dataclass(frozen=True)
class Reason:
    """A criterion that holds, by its code, S1 to S9 or L1 to L8, and about which step."""

    code: str
    said: Said
    step: str = ""
    holds_if: Said | None = None  # of the finding that it comes from


@dataclass(frozen=True)
class Judgement:
    """The verdict with all reasons for it, and the findings with the gravest first."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    findings: tuple[Finding, ...]


Rank = tuple[int, int, bool, bool, bool, bool, bool, int]

DOUBTED = (Repeatable.NO, Repeatable.UNKNOWN)
GRAVE = frozenset({Kind.MONEY, Kind.RECORD, Kind.PERMISSION})
ANSWERS = GRAVE | {Kind.NOTIFY}
BROKEN = frozenset({Kind.MONEY, Kind.NOTIFY, Kind.PUBLISH, Kind.DELETE})
REPEATED = "{step} is repeated automatically, and nothing shows that a repeat does no harm"
REDELIVERED = "{step} is done again when its event is delivered twice, and nothing shows that a repeat does no harm"
UNREAD_AGAIN = "what {step} does cannot be read, and it is done again by itself"
UNREAD_ALONE = "what {step} does cannot be read, and it starts by itself"
STARTS_ALONE = (Starting.SCHEDULE, Starting.EVENT, Starting.POLL, Starting.PUSH)
AROUND = frozenset({"R-15", "R-16", "R-29", "R-30", "R-31", "R-32", "R-36", "R-41", "R-43"})
"""What makes a stop harder to notice or to settle, and does no harm by itself: it comes after what does."""
AGAIN = frozenset({"R-01", "R-02", "R-08", "R-27", "R-37", "R-38", "R-39"})
SAME_AS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "S1": AGAIN, "S5": frozenset({"R-01", "R-02"}), "L1": AGAIN | {"R-10"}, "L4": frozenset({"R-32"}), "L5": frozenset({"R-31"}),
        "L8": AGAIN,
    }
)  # fmt: skip
"""Criteria about a step that say the same as these rules; every other one comes from a finding, or stands for itself."""
TOLD_ONCE = frozenset({"L4", "L5"})  # the rule says it once of a flow
SAID_BY = MappingProxyType({"R-05": "L2", "R-43": "L5", **{f"R-{n}": "L3" for n in range(20, 25)}})
"""Rules that are a criterion by themselves, whatever their severity."""
LIMITING = frozenset({*(f"R-{n}" for n in range(10, 14)), *(f"R-{n}" for n in range(17, 20)), *(f"R-{n}" for n in range(26, 32))})


def judge(case: Case, findings: Sequence[Finding], accepted: Sequence[Finding] = ()) -> Judgement:
    """What is to become of the flow; somebody answers for what is accepted."""
    ranked = tuple(sorted(findings, key=lambda one: rank(case, one), reverse=True))
    stops = tuple(one for one in _stops(case, ranked) if not _is_accepted(one, ranked, accepted))
    if stops:
        return Judgement(Verdict.STOP, stops, ranked)
    limits = tuple(one for one in _limits(case, ranked) if not _is_accepted(one, ranked, accepted))
    return Judgement(Verdict.LIMITED if limits else Verdict.PROCEED, limits, ranked)


def _is_accepted(reason: Reason, findings: Sequence[Finding], accepted: Sequence[Finding]) -> bool:
    """Whether a criterion says of a step what only accepted findings say of it. S2 and S6 have none: a log and an unread part stand."""
    same = SAME_AS.get(reason.code, frozenset())
    anywhere = reason.code in TOLD_ONCE

    def say(these: Sequence[Finding]) -> bool:
        return any(one.rule in same and (anywhere or one.step == reason.step) for one in these)

    return say(accepted) and not say(findings)


def rank(case: Case, finding: Finding) -> Rank:
    """How grave a finding is, part by part; a card can print it, so that the order can be checked."""
    step = step_of(case, finding.step)
    if step is None:
        return finding.severity, 0, finding.rule not in AROUND, False, False, False, False, -finding.span.line
    return (
        finding.severity,
        weight(step),
        finding.rule not in AROUND,
        bool(automatic(step)),
        outcome(case, step) is Outcome.UNKNOWN,
        step.effect is not None and step.effect.reversible is Reversible.NO,
        not step.kept,
        -finding.span.line,
    )


def step_of(case: Case, id: str) -> Step | None:
    return case.steps.get(id)


def ran_as(case: Case, step: Step) -> Ran | None:
    """What the log says about the step; a log names it as the definition does, or as the scope that it is part of."""
    if case.run is None:
        return None
    names = (step.name, step.scope, step.id)
    same_unit = [one for one in case.run.steps if one.unit in ("", step.unit)]
    return next((one for name in names for one in same_unit or case.run.steps if one.step == name), None)


def outcome(case: Case, step: Step) -> Outcome:
    """What a log says about a step."""
    ran = ran_as(case, step)
    if ran is not None:
        return ran.outcome
    return Outcome.NO_LOG


# ── stop ──


def _stops(case: Case, findings: Sequence[Finding]) -> Iterator[Reason]:
    for step in outward(case.flow):
        yield from _stops_of(case, step)
    for finding in findings:
        reason = _stops_for(case, finding)
        if reason is not None:
            yield reason


def _stops_of(case: Case, step: Step) -> Iterator[Reason]:
    assert step.effect is not None
    repeaters = automatic(step)
    grave = bool(step.effect.kinds & GRAVE) or to_customer(step)
    if grave and repeaters and repeatable(step)[0] in DOUBTED and not is_logged(step):  # a log is there to tell what has come twice
        redelivered = all(one.kind is Repeating.REDELIVERY for one in repeaters)
        held = Said(DELIVERED, {"what": step.name}) if redelivered else None
        yield Reason("S1", Said(REDELIVERED if redelivered else REPEATED, {"step": step.name}), step.id, held)
    doubt = _doubt(case, step)
    if doubt is not None:
        yield Reason("S2", doubt, step.id)
    if step.effect.consequential and any(one.bound is None for one in repeaters if one.kind is Repeating.STEP_RETRY):
        yield Reason("S5", Said("{step} is retried without an end", {"step": step.name}), step.id)
    if step.opaque is not None and step.effect.consequential and (repeaters or _starts_alone(case)):
        yield Reason("S6", Said(UNREAD_AGAIN if repeaters else UNREAD_ALONE, {"step": step.name}), step.id)


def _doubt(case: Case, step: Step) -> Said | None:
    """What a log leaves open of a step, if its repeat could do harm."""
    if _half_done(case, step):
        return Said("{step} may have happened, and neither an id nor a way to look is known", {"step": step.name})
    if outcome(case, step) is Outcome.UNKNOWN and repeatable(step)[0] is not Repeatable.PROVEN:
        return Said("nobody knows whether {step} has happened, and nothing shows that a repeat does no harm", {"step": step.name})
    return None


def _half_done(case: Case, step: Step) -> bool:
    ran = ran_as(case, step)
    if ran is None or ran.outcome in (Outcome.NO_LOG, Outcome.NOT_EXECUTED):
        return False
    if ran.outcome is Outcome.LANDED and not _later_failed(case, step):
        return False
    action = case.action(step)
    can_look = action is not None and action.probe not in ("", "none")
    return not (ran.external_id or step.kept or can_look or repeatable(step)[0] is Repeatable.PROVEN)


def _later_failed(case: Case, step: Step) -> bool:
    later = [one for one in case.flow.steps if one.order > step.order]
    return any(outcome(case, one) is Outcome.UNKNOWN for one in later)


def _stops_for(case: Case, finding: Finding) -> Reason | None:
    step, blocker, high = step_of(case, finding.step), finding.severity is Severity.BLOCKER, finding.severity >= Severity.HIGH
    kinds = frozenset[Kind]() if step is None or step.effect is None else step.effect.kinds
    holds = {
        "R-03": ("S3", blocker), "R-09": ("S3", blocker), "R-25": ("S3", blocker), "R-34": ("S3", blocker),
        "R-28": ("S4", high and bool(kinds & BROKEN)),
        "R-35": ("S6", high and _starts_alone(case)),
        "R-44": ("S6", high),
        "R-06": ("S7", high and case.flow.enabled),
        "R-07": ("S7", high and case.flow.enabled and step is not None and to_customer(step)),
        "R-14": ("S8", high and step is not None and _drives(case, step)),
        "R-20": ("S9", blocker),
    }.get(finding.rule)  # fmt: skip
    return Reason(holds[0], finding.inference, finding.step, finding.holds_if) if holds is not None and holds[1] else None


def _drives(case: Case, step: Step) -> bool:
    """Whether its failure, which may be none, leads to something that cannot be taken back."""
    routed = {edge.after for edge in case.flow.edges if edge.before == step.id and edge.when is When.ERROR}
    return any(one.effect is not None and bool(one.effect.kinds & ANSWERS) for one in case.flow.steps if one.id in routed)


def _starts_alone(case: Case) -> bool:
    return any(trigger.kind in STARTS_ALONE for trigger in case.flow.triggers)


# ── limited trial ──


def _limits(case: Case, findings: Sequence[Finding]) -> Iterator[Reason]:
    flow, approved = case.flow, _approved(case)
    for step in outward(flow):
        # To tell the own people of a failure once too often, and without asking anybody, is right.
        if Mark.FAILURE_NOTICE not in step.marks or not tells_team(step):
            yield from _limits_of(step, approved=step.id in approved)
    for finding in findings:
        if finding.rule in SAID_BY:
            yield Reason(SAID_BY[finding.rule], finding.inference, finding.step, finding.holds_if)
        elif finding.severity >= (Severity.MEDIUM if finding.rule in LIMITING else Severity.HIGH):
            yield Reason("L7", finding.inference, finding.step, finding.holds_if)
    if flow.evidence_off is not None:
        yield Reason("L5", Said("nothing is kept of a run that failed"))
    said = {step.opaque.what for step in outward(flow) if step.opaque is not None}
    for one in (unread for unread in flow.unread if unread.what not in said):
        yield Reason("L6", not_read(one))


def _approved(case: Case) -> frozenset[str]:
    """The steps that somebody who is named in the file lets pass: at the step itself, or at one before it that does nothing else."""
    effects = {step.id for step in outward(case.flow)}
    gates = [step for step in case.flow.steps if step.gate is not None and step.gate.visible]
    return frozenset(step.id for gate in gates for step in (gate, *(() if gate.id in effects else case.ways.behind(gate))))


def _limits_of(step: Step, *, approved: bool) -> Iterator[Reason]:
    assert step.effect is not None
    answer, why = repeatable(step)
    told = {"step": step.name}
    if answer in DOUBTED and automatic(step):
        bounded = all(one.bound is not None for one in automatic(step))
        said = Said("{step} is repeated automatically, within bounds", told) if bounded else Said("{step} is repeated automatically", told)
        yield Reason("L8", said, step.id)
    elif answer is Repeatable.NO:
        yield Reason("L1", Said("{step} must not be done twice, and only a person repeats it", told), step.id)
    elif answer is Repeatable.UNKNOWN:
        yield Reason("L1", Said("whether {step} may be done twice is not known, and only a person repeats it", told), step.id)
    elif answer is Repeatable.GUARDED and (step.guard is None or not step.guard_is_proof):
        yield Reason("L2", Said("{step}: {why}", {**told, "why": why}), step.id)
    if step.effect.consequential and not approved:
        yield Reason("L4", Said("who approves {step} cannot be seen", told), step.id)
    if step.opaque is not None:
        yield Reason("L6", not_read(step.opaque), step.id)
