"""What `check` finds in a definition, and the contract it derives (R-D14, R-J1, R-J7)."""

from __future__ import annotations

import pytest

from halfway.domain.check import check, roles_of
from halfway.domain.clauses import Contract, contract_of
from halfway.domain.spec import (
    DAY,
    SECOND,
    Effect,
    FanSpec,
    ProbeSpec,
    RetrySpec,
    RewindSpec,
    Risk,
    Sort,
    StepSpec,
    Then,
    UndoSpec,
    WaitSpec,
    WorkflowSpec,
)

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


def test_undoing_what_stands_after_something_that_cannot_be_taken_back_is_a_warning_too() -> None:
    first = step("SEND", Effect.NOTIFY, idempotent=True, stays="it was read")
    last = StepSpec(name="READ", effect=Effect.READ, after=("SEND",), on_failure=Then.COMPENSATE)
    assert codes(first, last) == [("warning", "fails-after-irreversible")]


# ── undos ──

UNDO = UndoSpec(risk=Risk.LOW, effect=Effect.CREATE, evidence="the log")
BACK = StepSpec(name="BACK", effect=Effect.READ, on_failure=Then.COMPENSATE)


def test_an_undo_that_nothing_proves_is_an_error() -> None:
    unproven = UndoSpec(risk=Risk.LOW, effect=Effect.CREATE)
    assert codes(step(idempotent=True, undo=unproven)) == [("error", "no-undo-contract")]
    assert codes(StepSpec(name="A", sort=Sort.TRANSACTION, undo=UndoSpec(risk=Risk.LOW, effect=None))) == []


def test_a_raised_risk_is_told() -> None:
    undo = UndoSpec(risk=Risk.HIGH, effect=Effect.NOTIFY, evidence="the log", raised=True)
    (finding,) = check(workflow(step(idempotent=True, undo=undo)))
    assert (finding.level, finding.code) == ("note", "risk-raised")
    assert "NOTIFY" in finding.problem


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (step(idempotent=True), True),
        (StepSpec(name="A", sort=Sort.TRANSACTION), True),
        (step(idempotent=True, undo=UNDO), False),
        (step(idempotent=True, stays="it is only a draft"), False),
        (step(effect=Effect.READ), False),
        (StepSpec(name="A", sort=Sort.TIME, wait=WaitSpec()), False),
    ],
)
@pytest.mark.parametrize("after", [(), ("A",)])
def test_what_nothing_undoes_is_told_where_the_run_may_be_undone(one: StepSpec, found: bool, after: tuple[str, ...]) -> None:
    back = StepSpec(name="BACK", effect=Effect.READ, after=after, on_failure=Then.COMPENSATE)
    assert codes(one, back) == ([("warning", "no-undo")] if found else [])
    assert [finding.step for finding in check(workflow(one, back))] == (["A"] if found else [])


def test_what_stands_after_the_failure_is_not_done_then() -> None:
    assert codes(BACK, step(idempotent=True, after=("BACK",))) == []


def test_a_rejection_and_a_deadline_lead_back_too() -> None:
    wait = WaitSpec(timeout=DAY, role="boss", on_reject=Then.COMPENSATE)
    approval = StepSpec(name="OK", sort=Sort.APPROVAL, wait=wait, after=("A",))
    assert codes(step(idempotent=True), approval) == [("warning", "no-undo")]
    spec = WorkflowSpec(type="X", version=1, owner="x", steps=(step(idempotent=True),), past_deadline=Then.COMPENSATE)
    assert [finding.code for finding in check(spec)] == ["no-undo"]


# ── waits and roles ──


def test_a_wait_that_asks_the_world_needs_a_probe() -> None:
    wait = WaitSpec(name="E", timeout=DAY, on_timeout=Then.PROBE)
    assert codes(StepSpec(name="A", sort=Sort.EVENT, wait=wait)) == [("error", "wait-without-probe")]
    assert codes(StepSpec(name="A", sort=Sort.EVENT, wait=wait, probe=PROBE)) == []


def test_every_role_that_is_named_needs_a_member() -> None:
    approval = StepSpec(name="OK", sort=Sort.APPROVAL, wait=WaitSpec(timeout=DAY, role="boss"))
    undo = UndoSpec(risk=Risk.HIGH, effect=Effect.CREATE, evidence="the log", approver="finance")
    spec = workflow(step(idempotent=True, undo=undo), approval)
    assert roles_of(spec) == {"support-lead", "support", "boss", "finance"}
    assert check(spec) == ()
    members = {"support": ["ann"], "boss": ["bob"], "finance": [], "support-lead": ["ann"]}
    (finding,) = check(spec, members)
    assert (finding.level, finding.step, finding.code) == ("error", "A", "role-without-members")
    assert "finance" in finding.problem
    assert [finding.step for finding in check(spec, {})] == ["", "A", "A", "OK"]


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


def test_a_role_decides_about_each_attempt() -> None:
    one = step(idempotent=True, requires_approval=True)
    assert contract_of(one, workflow(one)).rule.endswith("nothing is repeated before; before every attempt the approver is asked")


def waiting(sort: Sort, **options: object) -> StepSpec:
    wait = WaitSpec(**{"timeout": DAY, **options})  # type: ignore[arg-type]
    return StepSpec(name="A", sort=sort, wait=wait, probe=PROBE if wait.on_timeout is Then.PROBE else None)


@pytest.mark.parametrize(
    ("one", "evidence", "stop"),
    [
        (
            waiting(Sort.EVENT, name="PAID", on_timeout=Then.PROBE),
            "the event PAID; the probe: Looks in the CRM.",
            "after 1 d, or at the run's deadline; then the probe looks",
        ),
        (
            waiting(Sort.EVENT, name="PAID", on_timeout=Then.RETRY),
            "the event PAID",
            "after 1 d, or at the run's deadline; then it waits anew",
        ),
        (
            waiting(Sort.EVENT, name="PAID", on_timeout=Then.VALUE),
            "the event PAID",
            "after 1 d, or at the run's deadline; then the run goes on with a given value",
        ),
        (
            waiting(Sort.RUN, name="OTHER", on_timeout=Then.FAIL),
            "the end of the run of OTHER",
            "after 1 d, or at the run's deadline; then the run fails",
        ),
        (
            waiting(Sort.APPROVAL, role="boss", on_timeout=Then.COMPENSATE),
            "the decision of boss, bound to exactly what was shown",
            "after 1 d, or at the run's deadline; then what is done is undone, in reverse order; if it is rejected, the run is cancelled",
        ),
        (
            waiting(Sort.TIME, timeout=None),
            "the time that it waits for",
            "at the time that its function says, or at the run's deadline",
        ),
    ],
)
def test_the_contract_of_a_wait(one: StepSpec, evidence: str, stop: str) -> None:
    contract = contract_of(one, workflow(one))
    assert (contract.evidence, contract.stop_condition) == (evidence, stop)
    assert contract.rule == "nothing is sent: it waits"
    assert contract.approver == ("boss" if one.sort is Sort.APPROVAL else "support-lead")
    assert contract.undo == "there is nothing to undo"


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (step(undo=UNDO), "a compensation of risk LOW, by itself"),
        (step(undo=UndoSpec(risk=Risk.HIGH, effect=Effect.CREATE)), "a compensation of risk HIGH, approved by support"),
        (step(undo=UndoSpec(risk=Risk.CRITICAL, effect=None, approver="boss")), "a compensation of risk CRITICAL, approved by boss"),
        (step(stays="it is paper"), "it stays: it is paper"),
        (step(effect=Effect.NOTIFY), "cannot be undone"),
        (step(effect=Effect.READ), "there is nothing to undo"),
    ],
)
def test_what_happens_to_it_when_the_run_is_undone(one: StepSpec, told: str) -> None:
    assert contract_of(one, workflow(one)).undo == told


@pytest.mark.parametrize(
    ("then", "first", "told"),
    [
        (Then.MANUAL, step(), "retry, then manual"),
        (Then.FAIL, step(), "retry, then resume, then roll forward"),
        (Then.FAIL, step(effect=Effect.READ), "retry, then resume"),
        (Then.COMPENSATE, step(undo=UNDO), "retry, then compensate"),
        (Then.COMPENSATE, step(stays="paper"), "retry, then compensate"),
        (Then.COMPENSATE, step(), "retry, then compensate, then manual"),
    ],
)
def test_the_ways_on_after_a_failure(then: Then, first: StepSpec, told: str) -> None:
    last = StepSpec(name="LAST", effect=Effect.READ, after=("A",), on_failure=then)
    assert contract_of(last, workflow(first, last)).strategy == told


def test_what_is_tried_once_and_what_waits_is_not_retried() -> None:
    once = step(effect=Effect.READ, retry=RetrySpec(attempts=1))
    assert contract_of(once, workflow(once)).strategy == "resume"
    wait = waiting(Sort.TIME, timeout=None)
    assert contract_of(wait, workflow(wait)).strategy == "resume"


ENDS = "after 3 attempts of at most 5 min each, or at the run's deadline"


def course(one: StepSpec) -> Contract:
    before = (StepSpec(name="B", effect=Effect.READ, optional=True), StepSpec(name="C", effect=Effect.READ))
    return contract_of(one, workflow(*before, one))


def read(**options: object) -> StepSpec:
    return step(effect=Effect.READ, after=("B", "C"), **options)


@pytest.mark.parametrize(
    ("one", "starts", "stop"),
    [
        (read(optional=True), "", f"{ENDS}; then the run goes on without it"),
        (read(optional=True, on_failure=Then.COMPENSATE), "", f"{ENDS}; then the run goes on without it"),
        (read(optional=True, on_failure=Then.MANUAL), "", f"{ENDS}; then a person decides"),
        (
            read(condition="is_big"),
            "only if its condition is_big holds, otherwise it is left out and the run goes on; if is_big cannot be answered, the run fails",
            f"{ENDS}; then the run fails",
        ),
        (
            read(at_least=1, on_failure=Then.MANUAL),
            "only if at least 1 of these have succeeded: B; if fewer have, a person decides",
            f"{ENDS}; then a person decides",
        ),
        (
            read(rewind=RewindSpec(to="B", max=1, on=("DULL", "TOO_LONG"))),
            "",
            f"{ENDS}; then the run fails; but if it fails with DULL, TOO_LONG the run goes back to B, at most once; "
            "after that a person decides",
        ),
        (
            read(rewind=RewindSpec(to="B", max=3, on=("*",), then=Then.FAIL)),
            "",
            f"{ENDS}; then the run fails; but before that the run goes back to B, at most 3 times; after that the run fails",
        ),
    ],
)
def test_what_decides_the_course_of_a_step(one: StepSpec, starts: str, stop: str) -> None:
    contract = course(one)
    assert (contract.starts, contract.stop_condition, contract.many) == (starts, stop, "")


@pytest.mark.parametrize(
    ("fan", "options", "many"),
    [
        (FanSpec(items="B"), {}, "for each of what B gives; if any of them fails, the run fails"),
        (FanSpec(items="B"), {"optional": True}, "for each of what B gives; if any of them fails, the run goes on without it"),
        (
            FanSpec(items="B", concurrency=5, partial_from=0.9, failed_below=0.5),
            {"on_failure": Then.MANUAL},
            "for each of what B gives; at most 5 at once; from 90% successes on it is a partial success; below 50% a person decides; "
            "between the two the approver decides",
        ),
    ],
)
def test_a_step_for_many_says_what_one_item_means_for_the_whole(fan: FanSpec, options: dict[str, object], many: str) -> None:
    contract = course(step(sort=Sort.EACH, after=("B",), fan=fan, idempotent=True, **options))
    assert (contract.many, contract.stop_condition) == (many, f"{ENDS}; then that item has failed, and the others go on")


@pytest.mark.parametrize(
    ("detached", "undo"), [(False, "the runs that it has started are undone, each as its own workflow says"), (True, "these runs go on")]
)
def test_children_say_what_is_waited_for_and_what_becomes_of_them(detached: bool, undo: str) -> None:
    contract = course(step(sort=Sort.CHILDREN, after=("B",), fan=FanSpec(workflow="MAIL"), detached=detached))
    assert contract.many == "a run of MAIL for each input; if any of them fails, the run fails"
    assert contract.evidence == "the end of each of these runs"
    assert contract.rule == "it cannot be lost: a run that stands already is found, and not started twice"
    assert contract.stop_condition == "when all of these runs have ended, or at the run's deadline"
    assert contract.undo == undo
