"""R-38: the clock starts a run before the last one has ended."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Fact, Flow, Starting, Step
from halfway.inspection.rules.common import exposed, found, outward, tells_team

LONGER = "A run may take {longest} seconds and the next one begins after {period}: both then do {what}, and nothing keeps them apart."
UNBOUNDED = "No limit of time is seen, and the next run begins after {period} seconds: both may do {what}, and nothing keeps them apart."
SHORT = 900.0  # seconds; a run without an end is likely to meet the next one when they come so fast


def check(case: Case) -> Iterator[Finding]:
    """Once of each schedule, at the first effect that a second run would have twice, or else at the first."""
    for trigger in case.flow.triggers:
        if trigger.kind is not Starting.SCHEDULE or trigger.period is None:
            continue
        alone = [step for step in case.ways.steps if _matters(step) and not _is_kept_apart(case.flow, step)]
        step = next((one for one in alone if exposed(one)), alone[0] if alone else None)
        longest = _longest(case.flow)
        if step is None or trigger.period >= (SHORT if longest is None else longest):
            continue
        text = UNBOUNDED if longest is None else LONGER
        severity = Severity.MEDIUM if exposed(step) or step.effect is None else Severity.LOW
        said = {"period": f"{trigger.period:g}", "longest": "" if longest is None else f"{longest:g}"}
        yield found(RULE.id, severity, step, text, Fact(trigger.span, trigger.quote), **said)


def _matters(step: Step) -> bool:
    if tells_team(step):
        return False  # that the own people hear it twice, which is rare, does no harm
    return outward(step) or (step.effect is None and step.opaque is not None and "gone" not in step.extra)


def _is_kept_apart(flow: Flow, step: Step) -> bool:
    return any(guard.unit in ("", step.unit) for guard in flow.guards)


def _longest(flow: Flow) -> float | None:
    """How long a run may take at least before something ends it; None when no limit is seen."""
    whole = flow.extra.get("executionTimeout", "")
    if whole.isdigit() and int(whole):
        return float(whole)
    limits = [step.timeout for step in flow.steps if step.timeout is not None]
    return max(limits) if limits and len(limits) == len(flow.steps) else None


RULE = Rule(
    id="R-38",
    name="schedule-overlap",
    title="A run begins before the last one has ended",
    why="Two runs find the same work and both do it. It shows on the slow day, when there is most of it.",
    fix="Keep runs apart with a lock or a concurrency group, and end each before the next one is due.",
    check=check,
    holds_if=dict.fromkeys((LONGER, UNBOUNDED), "a run can take that long, and both at once do harm"),
)
