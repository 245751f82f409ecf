"""What `check` finds in a definition, and the contract it derives (R-D14, R-J1, R-J7)."""

from __future__ import annotations

import pytest

from halfway.domain.check import check, contract_of
from halfway.domain.spec import SECOND, Effect, ProbeSpec, RetrySpec, Sort, StepSpec, Then, WorkflowSpec

PROBE = ProbeSpec(shows="Looks in the CRM.")


def workflow(*steps: StepSpec) -> WorkflowSpec:
    return WorkflowSpec(type="LEAD", version=1, owner="support-lead", steps=steps)


def codes(*steps: StepSpec) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in check(workflow(*steps))]


def step(name: str = "A", effect: Effect = Effect.CREATE, **options: object) -> StepSpec:
    return StepSpec(name=name, effect=effect, **{"approver": "support", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("effect", [Effect.CREATE, Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE])
def test_an_effect_that_nothing_proves_is_an_error(effect: Effect) -> None:
    assert codes(step(effect=effect)) == [("error", "no-contract")]


def test_a_waiver_does_not_lift_the_error() -> None:
    assert codes(step(accept_unknown="the receiver has no search")) == [("error", "no-contract")]


@pytest.mark.parametrize("contract", [{"probe": PROBE, "takes_mark": True}, {"idempotent": True}])
def test_a_probe_with_a_mark_or_a_key_that_the_receiver_honours_is_enough(contract: dict[str, object]) -> None:
    assert codes(step(**contract)) == []


def test_evidence_alone_is_allowed_but_every_lost_answer_needs_a_person() -> None:
    assert codes(step(evidence="the provider's log")) == [("warning", "no-probe"), ("warning", "no-mark")]
    assert codes(step(evidence="the provider's log", accept_unknown="it has no search")) == []


def test_an_effect_without_a_mark_is_lost_wherever_it_breaks() -> None:
    assert codes(step(probe=PROBE)) == [("warning", "no-mark")]


def test_a_key_that_is_forgotten_needs_a_probe_in_the_end() -> None:
    assert codes(step(idempotent=True, idempotent_for=3600 * SECOND)) == [("warning", "no-probe")]
    assert codes(step(idempotent=True, idempotent_for=3600 * SECOND, probe=PROBE)) == []


def test_read_and_transaction_need_nothing() -> None:
    assert codes(step(effect=Effect.READ), StepSpec(name="B", sort=Sort.TRANSACTION)) == []


def test_the_owner_is_named_where_no_approver_is() -> None:
    (finding,) = check(workflow(step(idempotent=True, approver="")))
    assert (finding.level, finding.code) == ("note", "default-approver")
    assert "support-lead" in finding.problem


@pytest.mark.parametrize(
    "first",
    [step("SEND", Effect.NOTIFY, idempotent=True), step("SEND", idempotent=True, irreversible=True)],
    ids=["message", "irreversible"],
)
def test_what_may_fail_after_what_cannot_be_taken_back_is_a_warning(first: StepSpec) -> None:
    between = StepSpec(name="WRITE", sort=Sort.TRANSACTION, after=("SEND",), on_failure=Then.MANUAL)
    last = StepSpec(name="READ", effect=Effect.READ, after=("WRITE",))
    (finding,) = check(workflow(first, between, last))
    assert (finding.level, finding.step, finding.code) == ("warning", "READ", "fails-after-irreversible")
    assert "SEND" in finding.problem


def test_what_may_fail_beside_or_before_it_is_fine() -> None:
    first = StepSpec(name="READ", effect=Effect.READ)
    beside = StepSpec(name="OTHER", effect=Effect.READ)
    assert codes(first, beside, step("SEND", Effect.NOTIFY, idempotent=True, after=("READ",))) == []


def test_errors_come_first() -> None:
    assert [level for level, _ in codes(step("A", probe=PROBE, approver=""), step("B"))] == ["error", "warning", "note"]


# ── the contract in words ──


def test_the_contract_of_a_create_with_probe() -> None:
    spec = workflow(step(probe=PROBE, retry=RetrySpec(attempts=5), timeout=30 * SECOND, on_failure=Then.MANUAL))
    contract = contract_of(spec.steps[0], spec)
    assert contract.evidence == "the probe: Looks in the CRM."
    assert contract.rule == "the probe looks: found means done, absent means it is tried again, and if it cannot tell the approver decides"
    assert contract.stop_condition == "after 5 attempts of at most 30 s each, or at the run's deadline; then a person decides"
    assert contract.approver == "support"


@pytest.mark.parametrize(
    ("one", "evidence", "rule"),
    [
        (step(effect=Effect.READ), "its output", "nothing was changed: it is tried again"),
        (
            StepSpec(name="A", sort=Sort.TRANSACTION),
            "its rows, which are committed together with its checkpoint",
            "it cannot be lost: what is not committed did not happen, and is tried again",
        ),
        (
            step(effect=Effect.NOTIFY, probe=PROBE),
            "the probe: Looks in the CRM.",
            "the probe looks: found means done, in every other case the approver decides, and nothing is repeated before",
        ),
        (
            step(effect=Effect.CHANGE, evidence="the ledger"),
            "the ledger",
            "the approver decides, and nothing is repeated before",
        ),
        (
            step(idempotent=True),
            "the receiver's record under step.key",
            "it is repeated with the same key, and the receiver drops a repeat; afterwards the approver decides, "
            "and nothing is repeated before",
        ),
        (
            step(idempotent=True, idempotent_for=3600 * SECOND, timeout=60 * SECOND),
            "the receiver's record under step.key",
            "for 59 min after its first start it is repeated with the same key; "
            "afterwards the approver decides, and nothing is repeated before",
        ),
    ],
)
def test_the_evidence_and_the_rule_of(one: StepSpec, evidence: str, rule: str) -> None:
    contract = contract_of(one, workflow(one))
    assert (contract.evidence, contract.rule) == (evidence, rule)


def test_the_owner_approves_where_nobody_is_named() -> None:
    spec = workflow(step(approver="", idempotent=True))
    assert contract_of(spec.steps[0], spec).approver == "support-lead"
