"""The contract of a step in plain words, derived from its definition (R-J1). Pure: it reads the Spec only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from halfway.domain.spec import ANY_FAILURE, Effect, FanSpec, RewindSpec, Sort, StepSpec, Then, WaitSpec, WorkflowSpec
from halfway.domain.strategy import acts, strategies

FOLLOWS = {
    Then.FAIL: "the run fails",
    Then.COMPENSATE: "what is done is undone, in reverse order",
    Then.MANUAL: "a person decides",
    Then.CANCEL: "the run is cancelled",
    Then.EXPIRE: "the run expires",
    Then.PROBE: "the probe looks",
    Then.RETRY: "it waits anew",
    Then.VALUE: "the run goes on with a given value",
}


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What is known about a step before it runs (R-J1)."""

    evidence: str  # what proves that it ran
    rule: str  # what a lost answer means
    stop_condition: str  # when no further attempt is made
    approver: str  # the role that decides about the next attempt
    strategy: str  # what its final failure leads to (R-D5)
    undo: str  # what happens to it when the run is undone
    starts: str = ""  # what is asked before it starts; empty: nothing but that all before it is through
    many: str = ""  # for what it is done, and how many results are enough; empty: it is done once


def contract_of(step: StepSpec, workflow: WorkflowSpec) -> Contract:
    """A step's contract, derived from its definition; of one that is done for many that of each item."""
    unit = step if step.fan is None else step.of_item
    return Contract(
        evidence=_evidence(unit),
        rule=_rule(unit),
        stop_condition="; ".join(_stops(step, unit)),
        approver=workflow.decides(unit),
        strategy=", then ".join(strategies(unit, workflow)),
        undo=_undo(step, workflow),
        starts="; ".join(_starts(step, workflow)),
        many="" if step.fan is None else "; ".join(_many(step, step.fan)),
    )


def _evidence(step: StepSpec) -> str:
    if step.sort is Sort.CHILD:
        return "the end of each of these runs"
    if step.sort is Sort.TRANSACTION:
        return "its rows, which are committed together with its checkpoint"
    parts: list[str] = []
    if step.wait is not None:
        parts.append(_awaited(step, step.wait))
    if step.evidence:
        parts.append(step.evidence)
    if step.probe is not None:
        parts.append(f"the probe: {step.probe.shows}" if step.probe.shows else "what the probe finds")
    if step.idempotent:
        parts.append("the receiver's record under step.key")
    return "; ".join(parts) or "its output"


def _awaited(step: StepSpec, wait: WaitSpec) -> str:
    match step.sort:
        case Sort.EVENT:
            return f"the event {wait.name}"
        case Sort.RUN:
            return f"the end of the run of {wait.name}"
        case Sort.APPROVAL:
            return f"the decision of {wait.role}, bound to exactly what was shown"
        case _:
            return "the time that it waits for"


def _starts(step: StepSpec, workflow: WorkflowSpec) -> Iterator[str]:
    """Its own questions, in the order in which they are asked."""
    if step.condition:
        yield f"only if its condition {step.condition} holds, otherwise it is left out and the run goes on"
        yield f"if {step.condition} cannot be answered, {_what_follows(Then.FAIL, step)}"
    if step.at_least is not None:
        among = ", ".join(name for name in step.after if workflow.by_name[name].optional)
        yield f"only if at least {step.at_least} of these have succeeded: {among}"
        yield f"if fewer have, {_what_follows(Then.FAIL, step)}"
    if step.requires_approval and step.fan is not None:
        yield "before it begins the approver is asked"


def _many(step: StepSpec, fan: FanSpec) -> Iterator[str]:
    """For what it is done, and when the whole is a success."""
    yield f"a run of {fan.workflow} for each input" if fan.workflow else f"for each of what {fan.items} gives"
    if fan.concurrency is not None:
        yield f"at most {fan.concurrency} at once"
    if fan.partial_from >= 1 and fan.failed_below >= 1:
        yield f"if any of them fails, {_what_follows(Then.FAIL, step)}"
        return
    yield f"from {fan.partial_from:.0%} successes on it is a partial success"
    if fan.failed_below > 0:
        yield f"below {fan.failed_below:.0%} {_what_follows(Then.FAIL, step)}"
    if fan.failed_below < fan.partial_from:
        yield "between the two the approver decides"


def _rule(step: StepSpec) -> str:
    rule = _plain_rule(step)
    return f"{rule}; before every attempt the approver is asked" if step.requires_approval else rule


def _plain_rule(step: StepSpec) -> str:
    if step.waits:
        return "nothing is sent: it waits"
    if step.sort is Sort.CHILD:
        return "it cannot be lost: a run that stands already is found, and not started twice"
    if step.sort is Sort.TRANSACTION:
        return "it cannot be lost: what is not committed did not happen, and is tried again"
    if step.effect is Effect.READ:
        return "nothing was changed: it is tried again"
    if not step.idempotent:
        return _rule_of_effect(step)
    if step.idempotent_for is None:
        return f"it is repeated with the same key, and the receiver drops a repeat; afterwards {_rule_of_effect(step)}"
    told = f"for {_time(step.idempotent_for - step.timeout)} after its first start it is repeated with the same key"
    return f"{told}; afterwards {_rule_of_effect(step)}"


def _rule_of_effect(step: StepSpec) -> str:
    if step.probe is None:
        return "the approver decides, and nothing is repeated before"
    found = "the probe looks: found means done"
    if step.effect is Effect.CREATE or step.idempotent:
        return f"{found}, absent means it is tried again, and if it cannot tell the approver decides"
    return f"{found}, in every other case the approver decides, and nothing is repeated before"


def _stops(step: StepSpec, unit: StepSpec) -> Iterator[str]:
    """When no further attempt is made, and what follows then; of one that is done for many that of each item."""
    times = "1 attempt" if unit.retry.attempts == 1 else f"{unit.retry.attempts} attempts"
    long, then = _time(unit.timeout), _what_follows(Then.FAIL, step)
    if unit.sort is Sort.CHILD:
        yield "when all of these runs have ended, or at the run's deadline"
    elif step.fan is not None:
        yield f"after {times} of at most {long} each, or at the run's deadline; then that item has failed, and the others go on"
    elif step.wait is not None:
        yield _wait_ends(step, step.wait)
    else:
        yield f"after {times} of at most {long} each, or at the run's deadline; then {then}"
    if step.rewind is not None:
        yield _goes_back(step.rewind, step)


def _goes_back(rewind: RewindSpec, step: StepSpec) -> str:
    often = "at most once" if rewind.max == 1 else f"at most {rewind.max} times"
    then = _what_follows(rewind.then, step)
    if ANY_FAILURE in rewind.on:
        return f"but before that the run goes back to {rewind.to}, {often}; after that {then}"
    return f"but if it fails with {', '.join(rewind.on)} the run goes back to {rewind.to}, {often}; after that {then}"


def _wait_ends(step: StepSpec, wait: WaitSpec) -> str:
    if wait.timeout is None:
        return "at the time that its function says, or at the run's deadline"
    told = f"after {_time(wait.timeout)}, or at the run's deadline; then {_what_follows(wait.on_timeout, step)}"
    return told if step.sort is not Sort.APPROVAL else f"{told}; if it is rejected, {_what_follows(wait.on_reject, step)}"


def _what_follows(then: Then, step: StepSpec) -> str:
    """In a few words; a wait that fails is a step that fails."""
    if then is Then.FAIL and step.on_failure is not Then.FAIL:
        return _what_follows(step.on_failure, step)
    return "the run goes on without it" if step.optional and then in (Then.FAIL, Then.COMPENSATE) else FOLLOWS[then]


def _undo(step: StepSpec, workflow: WorkflowSpec) -> str:
    undo = step.undo
    if step.sort is Sort.CHILDREN:
        return "these runs go on" if step.detached else "the runs that it has started are undone, each as its own workflow says"
    if undo is not None:
        told = f"a compensation of risk {undo.risk}"
        return f"{told}, approved by {undo.approver or workflow.decides(step)}" if undo.needs_approval else f"{told}, by itself"
    if not acts(step):
        return "there is nothing to undo"
    return f"it stays: {step.stays}" if step.stays else "cannot be undone"


def _time(microseconds: int) -> str:
    for unit, name in ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms")):
        if microseconds >= unit and microseconds % unit == 0:
            return f"{microseconds // unit} {name}"
    return f"{microseconds / 1_000_000:g} s"
