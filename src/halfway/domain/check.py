"""Looking at a definition before its first run: holes in the contract, and what would better be otherwise.

Pure: it reads the Spec only. `contract_of` says the four parts of a step's contract in plain words (R-J1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from halfway.domain.spec import Effect, Sort, StepSpec, Then, WorkflowSpec

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something about a definition that its author should know."""

    level: Level
    step: str
    code: str
    problem: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What is known about a step before it runs (R-J1)."""

    evidence: str  # what proves that it ran
    rule: str  # what a lost answer means
    stop_condition: str  # when no further attempt is made
    approver: str  # the role that decides about the next attempt


def check(spec: WorkflowSpec) -> tuple[Finding, ...]:
    """All findings of a workflow, errors first, then in order of its steps."""
    found = [finding for step in spec.steps for finding in _findings(step, spec)]
    levels: tuple[Level, ...] = ("error", "warning", "note")
    return tuple(sorted(found, key=lambda finding: levels.index(finding.level)))


def contract_of(step: StepSpec, workflow: WorkflowSpec) -> Contract:
    """The four parts of a step's contract, derived from its definition."""
    return Contract(
        evidence=_evidence(step),
        rule=_rule(step),
        stop_condition=_stop_condition(step),
        approver=step.approver or workflow.owner,
    )


# ── findings ──


def _findings(step: StepSpec, spec: WorkflowSpec) -> Iterator[Finding]:
    yield from _fails_too_late(step, spec)
    if not step.can_be_lost:
        return
    if not (step.probe or step.idempotent or step.evidence):
        yield Finding(
            level="error",
            step=step.name,
            code="no-contract",
            problem=f"a lost answer of this {step.effect} would have no rule: nothing shows whether it happened.",
            remedy="Give it a probe (@step.probe), idempotent=True if the receiver drops repeats of step.key, "
            "or evidence='…' that says where a person can look.",
        )
        return
    if not step.accept_unknown:
        yield from _needs_person(step)
    if not step.approver:
        yield Finding(
            level="note",
            step=step.name,
            code="default-approver",
            problem=f"no approver is named, so the owner of the workflow, {spec.owner}, decides.",
            remedy="Name the role with approver='…' if someone else knows better.",
        )


def _fails_too_late(step: StepSpec, spec: WorkflowSpec) -> Iterator[Finding]:
    """R-D14: what may fail comes before what cannot be taken back."""
    final = [name for name in spec.order if name in spec.ancestors[step.name] and _cannot_be_undone(spec.by_name[name])]
    if final and step.on_failure is Then.FAIL:
        yield Finding(
            level="warning",
            step=step.name,
            code="fails-after-irreversible",
            problem=f"if it fails, {final[-1]} has happened already and cannot be taken back.",
            remedy=f"Declare it before {final[-1]}, or give it on_failure=Then.MANUAL so that a person completes the run.",
        )


def _needs_person(step: StepSpec) -> Iterator[Finding]:
    if step.idempotent:
        if step.idempotent_for is not None and step.probe is None:
            yield _recommended(step, "no-probe", "after the receiver has forgotten the key, a lost answer needs a person.")
        return
    if step.probe is None:
        yield _recommended(step, "no-probe", "every lost answer needs a person, because nothing can look whether it happened.")
    if not step.takes_mark:
        yield _recommended(step, "no-mark", "a fault anywhere in it counts as a lost answer, also before its outside call.")


def _recommended(step: StepSpec, code: str, problem: str) -> Finding:
    remedies = {
        "no-probe": "Add a probe, or accept_unknown='…' with the reason why none is possible.",
        "no-mark": "Take the mark as second argument and enclose the one outside call in 'with mark:'.",
    }
    return Finding(level="warning", step=step.name, code=code, problem=problem, remedy=remedies[code])


def _cannot_be_undone(step: StepSpec) -> bool:
    return step.irreversible or step.effect is Effect.NOTIFY


# ── the contract in words ──


def _evidence(step: StepSpec) -> str:
    if step.sort is Sort.TRANSACTION:
        return "its rows, which are committed together with its checkpoint"
    parts: list[str] = []
    if step.evidence:
        parts.append(step.evidence)
    if step.probe is not None:
        parts.append(f"the probe: {step.probe.shows}" if step.probe.shows else "what the probe finds")
    if step.idempotent:
        parts.append("the receiver's record under step.key")
    return "; ".join(parts) or "its output"


def _rule(step: StepSpec) -> str:
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


def _stop_condition(step: StepSpec) -> str:
    retry = step.retry
    times = "1 attempt" if retry.attempts == 1 else f"{retry.attempts} attempts"
    then = "the run fails" if step.on_failure is Then.FAIL else "a person decides"
    return f"after {times} of at most {_time(step.timeout)} each, or at the run's deadline; then {then}"


def _time(microseconds: int) -> str:
    for unit, name in ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms")):
        if microseconds >= unit and microseconds % unit == 0:
            return f"{microseconds // unit} {name}"
    return f"{microseconds / 1_000_000:g} s"
