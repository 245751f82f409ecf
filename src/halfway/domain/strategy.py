"""What the final failure of a step leads to, and what it means where nobody said it (R-D5)."""

from __future__ import annotations

from halfway.domain.spec import Effect, OnFailure, Sort, StepSpec, Then, WorkflowSpec


def default_on_failure(step: StepSpec, spec: WorkflowSpec) -> OnFailure:
    """COMPENSATE if something before can be undone by a machine and nothing before is for ever; else what is done stays."""
    before = [spec.by_name[name] for name in spec.ancestors[step.name]]
    if any(is_final(one) for one in before):
        return Then.FAIL
    return Then.COMPENSATE if any(undone_alone(one) for one in before) else Then.FAIL


def strategies(step: StepSpec, spec: WorkflowSpec) -> tuple[str, ...]:
    """The ways on after a failure, in the order in which they come: retry, resume, roll forward, compensate, manual."""
    before = [spec.by_name[name] for name in spec.ancestors[step.name]]
    found = ["retry"] if step.retry.attempts > 1 and not step.waits else []
    if step.on_failure is Then.MANUAL:
        found.append("manual")
    elif step.on_failure is Then.COMPENSATE:
        found.append("compensate")
        if any(acts(one) and not (one.stays or undone_alone(one)) for one in before):
            found.append("manual")
    else:
        found.append("resume")
        if any(acts(one) for one in before):
            found.append("roll forward")
    return tuple(found)


def is_final(step: StepSpec) -> bool:
    """Whether what it does can never be taken back."""
    return step.irreversible or step.effect is Effect.NOTIFY


def acts(step: StepSpec) -> bool:
    """Whether it leaves something behind that an undo of the run is about."""
    return not step.waits and step.effect is not Effect.READ


def undone_alone(step: StepSpec) -> bool:
    """Whether a machine may undo it without asking; what children have done, only they know."""
    return step.sort is not Sort.CHILDREN and step.undo is not None and not step.undo.needs_approval


def leads_back(step: StepSpec) -> bool:
    """Whether its failure, or what becomes of its wait, makes the run be undone."""
    after_wait = step.wait is not None and Then.COMPENSATE in (step.wait.on_timeout, step.wait.on_reject)
    return after_wait or step.on_failure is Then.COMPENSATE
