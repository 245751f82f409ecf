"""Looking at a definition before its first run: holes in the contract, and what would better be otherwise.

Pure: it reads the Spec only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from halfway.domain.spec import Effect, Sort, StepSpec, Then, WaitSpec, WorkflowSpec
from halfway.domain.strategy import acts, is_final, leads_back

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something about a definition that its author should know."""

    level: Level
    step: str  # empty: the workflow itself
    code: str
    problem: str
    remedy: str


def check(spec: WorkflowSpec, roles: Mapping[str, Sequence[str]] | None = None) -> tuple[Finding, ...]:
    """All findings of a workflow, errors first, then in order of its steps; `roles`: who has which, if that is known."""
    units = [step if step.fan is None else step.of_item for step in spec.steps]
    found = [finding for step in units for finding in _findings(step, spec)]
    if roles is not None:
        found += _without_members(spec, roles)
    levels: tuple[Level, ...] = ("error", "warning", "note")
    return tuple(sorted(found, key=lambda finding: levels.index(finding.level)))


def roles_of(spec: WorkflowSpec) -> frozenset[str]:
    """Every role that a definition names: who owns it, and who decides."""
    return frozenset({spec.owner}.union(*(_roles(step) for step in spec.steps)))


# ── findings ──


def _findings(step: StepSpec, spec: WorkflowSpec) -> Iterator[Finding]:
    yield from _fails_too_late(step, spec)
    yield from _stays_behind(step, spec)
    yield from _risky(step)
    yield from _unreviewed(step, spec)
    if step.wait is not None:
        yield from _waits_blindly(step, step.wait)
    if not step.can_be_lost:
        return
    if not _has_contract(step):
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


def _has_contract(step: StepSpec) -> bool:
    return bool(step.probe or step.idempotent or step.evidence)


def _unreviewed(step: StepSpec, spec: WorkflowSpec) -> Iterator[Finding]:
    """What an agent has changed is looked at before the next step with consequences (R-J10)."""
    if step.waits or step.effect is Effect.READ or step.requires_approval:
        return
    if step.condition and any(step.name in names for names in spec.loops.values()):
        return  # it is reached by going back, after the step that ends the loop has looked
    before, seen = list(step.after), set[str]()
    while before:
        name = before.pop()
        other = spec.by_name[name]
        if name in seen or other.effect is Effect.READ or other.sort is Sort.APPROVAL:
            continue
        seen.add(name)
        before.extend(other.after)
        if other.effect is Effect.DELEGATE:
            yield Finding(
                level="error",
                step=step.name,
                code="no-review",
                problem=f"it has consequences and follows {name}, in which an agent acts, and nothing looks at what that has changed.",
                remedy="Put a READ step that checks it, or an approval, between the two; or give requires_approval=True.",
            )
            return


def _risky(step: StepSpec) -> Iterator[Finding]:
    """An undo is a step of its own, with a contract of its own (R-D3), and waits for a person if it reaches people (R-D4)."""
    if step.undo is None:
        return
    if step.undoing.can_be_lost and not _has_contract(step.undoing):
        yield Finding(
            level="error",
            step=step.name,
            code="no-undo-contract",
            problem=f"a lost answer of its undo, a {step.undo.effect}, would have no rule: nothing shows whether it happened.",
            remedy="Give compensate() a probe=, idempotent=True, or evidence='…' that says where a person can look.",
        )
    if step.undo.raised:
        yield Finding(
            level="note",
            step=step.name,
            code="risk-raised",
            problem=f"its undo is a {step.undo.effect}, so its risk counts as {step.undo.risk} and a person approves it first.",
            remedy="Say so with that risk, or give effect= if the undo itself does something else.",
        )


def _stays_behind(step: StepSpec, spec: WorkflowSpec) -> Iterator[Finding]:
    """What may be done when the run is undone, and nothing undoes (R-D7)."""
    if not acts(step) or step.undo is not None or step.stays:
        return
    others = (one for one in spec.steps if one.name != step.name and one.name not in spec.ancestors[step.name])
    later = next((one for one in others if leads_back(one)), None)
    if later is None and spec.past_deadline is not Then.COMPENSATE:
        return
    if later is None:
        yield _recommended(step, "no-undo", "if the deadline passes, nothing undoes this step: a person must accept it then.")
    else:
        yield _recommended(step, "no-undo", f"if {later.name} leads back, nothing undoes this step: a person must accept it then.")


def _waits_blindly(step: StepSpec, wait: WaitSpec) -> Iterator[Finding]:
    if wait.on_timeout is Then.PROBE and step.probe is None:
        yield Finding(
            level="error",
            step=step.name,
            code="wait-without-probe",
            problem="when its time is up the probe is asked, and it has none.",
            remedy="Give it a probe (@step.probe), or another on_timeout=.",
        )


def _without_members(spec: WorkflowSpec, roles: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """R-J4: a role that nobody has would be asked for ever."""
    named = [("", spec.owner), *((step.name, role) for step in spec.steps for role in sorted(_roles(step)))]
    for step, role in named:
        if not roles.get(role):
            yield Finding(
                level="error",
                step=step,
                code="role-without-members",
                problem=f"the role {role} has no member, so nobody could decide.",
                remedy="Give the role a member, or name another one.",
            )


def _roles(step: StepSpec) -> frozenset[str]:
    named = (step.approver, step.wait.role if step.wait else "", step.undo.approver if step.undo else "")
    return frozenset(role for role in named if role)


def _fails_too_late(step: StepSpec, spec: WorkflowSpec) -> Iterator[Finding]:
    """R-D14: what may fail comes before what cannot be taken back."""
    final = [name for name in spec.order if name in spec.ancestors[step.name] and is_final(spec.by_name[name])]
    if final and step.on_failure is not Then.MANUAL:
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
        "no-undo": "Give it a compensation (@step.compensate), or stays='…' with the reason why it may stay.",
        "no-mark": "Take the mark as second argument and enclose the one outside call in 'with mark:'.",
    }
    return Finding(level="warning", step=step.name, code=code, problem=problem, remedy=remedies[code])
