"""Compensations: what can be declared, what is refused, and what it becomes."""

import sqlite3
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Absent, AsyncMark, CannotTell, Effect, Found, Mark, Retry, Risk, Step, Then, Workflow
from halfway.authoring import EffectStep
from halfway.domain.check import check
from halfway.domain.spec import MINUTE, SECOND, ProbeSpec, Sort, StepSpec, UndoSpec, WorkflowSpec
from halfway.errors import DefinitionError, InvalidInput
from tests.authoring.host import FakeHost


class Lead(BaseModel):
    id: str


def workflow(**options: Any) -> Workflow[Any]:
    return Workflow("LEAD", Lead, **{"version": 1, "owner": "support", "key": None, **options})


def create(step: Step[Lead]) -> str: ...  # type: ignore[empty-body]
def created(step: Step[Lead]) -> Found[str] | Absent: ...  # type: ignore[empty-body]
def undo(step: Step[Lead], output: str) -> None: ...
def with_mark(step: Step[Lead], output: str, mark: Mark) -> None: ...
async def with_async_mark(step: Step[Lead], output: str, mark: AsyncMark) -> None: ...
async def aundo(step: Step[Lead], output: str) -> None: ...
def wrong_mark(step: Step[Lead], output: str, mark: AsyncMark) -> None: ...
def one(step: Step[Lead]) -> None: ...
def undone(step: Step[Lead], output: str) -> Found[None] | Absent | CannotTell:
    """Looks whether it is gone."""
    return Absent()


async def letter(step: Step[Lead], output: str) -> dict[str, str]:
    return {"text": f"sorry for {output}"}


def write(step: Step[Lead], db: sqlite3.Connection) -> int: ...  # type: ignore[empty-body]
def unwrite(step: Step[Lead], db: sqlite3.Connection, output: int) -> None: ...
async def aunwrite(step: Step[Lead], db: sqlite3.Connection, output: int) -> None: ...


def declared(effect: Effect = Effect.CREATE, **options: Any) -> tuple[Workflow[Any], EffectStep[Any, Any, Any]]:
    wf = workflow()
    return wf, wf.step(effect, **{"idempotent": True, **options})(create)


def undo_of(wf: Workflow[Any]) -> UndoSpec:
    assert WorkflowSpec.from_json(wf.spec.to_json()) == wf.spec
    undo = wf.spec.steps[0].undo
    assert undo is not None
    return undo


# ── what they become ──


def test_an_undo_stays_a_plain_function_and_reaches_the_handler() -> None:
    wf, step = declared()
    assert step.compensate(Risk.LOW)(undo) is undo
    assert undo_of(wf) == UndoSpec(risk=Risk.LOW, effect=Effect.CREATE, evidence="the receiver's record under step.key")
    handler = wf.handlers["CREATE"]
    assert (handler.undo, handler.undo_is_async, handler.undo_takes_mark) == (undo, False, False)
    assert (handler.undo_probe, handler.draft, handler.draft_adapter) == (None, None, None)


def test_all_that_can_be_said_of_an_undo() -> None:
    wf, step = declared()
    declare = step.compensate(
        Risk.CRITICAL, effect=Effect.NOTIFY, idempotent=True, probe=undone, draft=letter, approver="boss", retry=Retry(7),
        timeout=timedelta(seconds=9), evidence="the log",
    )  # fmt: skip
    declare(with_async_mark)
    assert undo_of(wf) == UndoSpec(
        risk=Risk.CRITICAL, effect=Effect.NOTIFY, idempotent=True, takes_mark=True, retry=Retry(7).to_spec(), timeout=9 * SECOND,
        probe=ProbeSpec(settle=MINUTE, shows="Looks whether it is gone."), approver="boss", evidence="the log", drafts=True,
    )  # fmt: skip
    handler = wf.handlers["CREATE"]
    assert (handler.undo, handler.undo_is_async, handler.undo_takes_mark) == (with_async_mark, True, True)
    assert (handler.undo_probe, handler.undo_probe_is_async, handler.draft, handler.draft_is_async) == (undone, False, letter, True)
    assert handler.draft_adapter is not None
    assert isinstance(handler.mark(FakeHost(), undoing=True), AsyncMark)
    assert isinstance(handler.mark(FakeHost()), Mark)


@pytest.mark.parametrize(("function", "told"), [(aundo, (True, False)), (with_mark, (False, True))])
def test_an_undo_may_be_async_and_may_take_the_mark(function: Any, told: tuple[bool, bool]) -> None:
    wf, step = declared()
    step.compensate(Risk.LOW)(function)
    handler = wf.handlers["CREATE"]
    assert (handler.undo_is_async, handler.undo_takes_mark) == told


def test_the_undo_of_a_transaction_is_one_itself() -> None:
    wf = workflow()
    step = wf.transaction(sqlite3.Connection)(write)
    assert step.compensate(Risk.MEDIUM, approver="boss", retry=Retry(1))(unwrite) is unwrite
    assert undo_of(wf) == UndoSpec(risk=Risk.MEDIUM, effect=None, approver="boss", retry=Retry(1).to_spec())
    assert wf.spec.steps[0].undoing.sort is Sort.TRANSACTION
    assert wf.handlers["WRITE"].undo is unwrite


@pytest.mark.parametrize("effect", [Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE])
@pytest.mark.parametrize("risk", [Risk.LOW, Risk.MEDIUM])
def test_an_undo_that_notifies_or_changes_waits_for_a_person(effect: Effect, risk: Risk) -> None:
    wf, step = declared()
    step.compensate(risk, effect=effect)(undo)
    assert (undo_of(wf).risk, undo_of(wf).raised, undo_of(wf).needs_approval) == (Risk.HIGH, True, True)
    assert "risk-raised" in [finding.code for finding in check(wf.spec)]


@pytest.mark.parametrize("risk", list(Risk))
def test_the_risk_of_any_other_undo_is_what_its_author_said(risk: Risk) -> None:
    wf, step = declared(Effect.CHANGE)
    step.compensate(risk, effect=Effect.CREATE)(undo)
    assert (undo_of(wf).risk, undo_of(wf).raised) == (risk, False)


EVIDENCE: list[tuple[dict[str, Any], bool, dict[str, Any], str]] = [
    ({"idempotent": False}, True, {}, "what the probe of CREATE shows"),
    ({"idempotent": False, "evidence": "the log"}, False, {}, "the log"),
    ({"idempotent": True}, False, {}, "the receiver's record under step.key"),
    ({"idempotent": True}, True, {"evidence": "the books"}, "the books"),
    ({"idempotent": True}, True, {"idempotent": True}, ""),
    ({"idempotent": True}, True, {"probe": undone}, ""),
]


@pytest.mark.parametrize(("options", "probe", "given", "told"), EVIDENCE, ids=range(len(EVIDENCE)))
def test_what_shows_the_step_shows_its_undo(options: dict[str, Any], probe: bool, given: dict[str, Any], told: str) -> None:
    wf, step = declared(**options)
    step.compensate(Risk.LOW, **given)(undo)
    if probe:
        step.probe(created)  # also if it comes later
    assert undo_of(wf).evidence == told


def test_old_code_does_not_take_a_step_whose_undo_it_does_not_have() -> None:
    def code(**options: Any) -> str:
        wf, step = declared()
        if options:
            step.compensate(Risk.HIGH, **{key: value for key, value in options.items() if key != "plain"})(undo)
        return wf.spec.steps[0].code

    codes = {
        code(), code(plain=True), code(effect=Effect.NOTIFY), code(idempotent=True), code(probe=undone), code(draft=letter)
    }  # fmt: skip
    assert len(codes) == 6
    assert code(plain=True) == code(evidence="x", approver="y")


def test_the_business_key_of_an_undo_is_another_one() -> None:
    wf, step = declared(effect_key=lambda step: f"k:{step.input.id}")
    step.compensate(Risk.LOW)(undo)
    handler = wf.handlers["CREATE"]
    assert (handler.step(FakeHost()).key, handler.step(FakeHost(), undoing=True).key) == ("k:x", "k:x:undo")


# ── what is refused ──

REFUSED: list[tuple[dict[str, Any], dict[str, Any], Any, str]] = [
    ({"effect": Effect.READ}, {}, undo, "it has an undo, but a READ changes nothing"),
    ({"stays": "paper"}, {}, undo, "it has an undo and stays="),
    ({}, {"risk": "LOW"}, undo, "'LOW' is not a risk. Give a member of Risk"),
    ({}, {"effect": Effect.READ}, undo, "its undo is a READ, which corrects nothing"),
    ({}, {"draft": letter}, undo, "its undo makes a draft, but at LOW nobody is shown one"),
    ({}, {"effect": "SEND"}, undo, "'SEND' is not an effect"),
    ({}, {"retry": 3}, undo, "retry is 3. Give a Retry"),
    ({}, {"approver": 3}, undo, "approver is 3. Give the name of a role"),
    ({}, {"idempotent": timedelta(1)}, undo, "idempotent is .* Give True or False"),
    ({}, {"timeout": 5}, undo, "timeout is 5. Give a timedelta"),
    ({}, {"evidence": None}, undo, "evidence is None. Give a text"),
    ({}, {"timeout": timedelta(0)}, undo, "timeout is 0:00:00"),
    ({}, {"probe": one}, undo, "the probe of the undo one takes 1 arguments. Take the step and its output"),
    ({}, {"risk": Risk.HIGH, "draft": one}, undo, "the draft one takes 1 arguments"),
    ({}, {"risk": Risk.HIGH, "draft": lambda step, output: 1}, undo, "does not say what it returns"),
    ({}, {}, one, "the undo one takes 1 arguments. Take the step and its output, and the mark"),
    ({}, {}, wrong_mark, "the third argument is annotated as AsyncMark. A 'def' undo takes 'mark: Mark'"),
]


@pytest.mark.parametrize(("options", "given", "function", "told"), REFUSED, ids=range(len(REFUSED)))
def test_an_undo_that_cannot_work_is_refused(options: dict[str, Any], given: dict[str, Any], function: Any, told: str) -> None:
    _, step = declared(**options)
    given = {"risk": Risk.LOW, **given}
    with pytest.raises(DefinitionError, match=f"Workflow LEAD: step CREATE: .*{told}"):
        step.compensate(given.pop("risk"), **given)(function)


def test_a_second_undo_and_one_that_comes_too_late_are_refused() -> None:
    wf, step = declared()
    step.compensate(Risk.LOW)(undo)
    with pytest.raises(DefinitionError, match="a second compensation is declared"):
        step.compensate(Risk.LOW)(undo)
    _ = wf.spec
    with pytest.raises(DefinitionError, match="a compensation is added after"):
        step.compensate(Risk.LOW)(undo)


@pytest.mark.parametrize(
    ("function", "told"), [(aunwrite, "is 'async def', but a transaction"), (undo, "takes 2 arguments. Take the step, the")]
)
def test_an_undo_of_a_transaction_that_cannot_work_is_refused(function: Any, told: str) -> None:
    step = workflow().transaction(sqlite3.Connection)(write)
    with pytest.raises(DefinitionError, match=told):
        step.compensate(Risk.LOW)(function)


# ── what a failure means ──


def default_of(first: dict[str, Any], risk: Risk | None, **workflow_options: Any) -> StepSpec:
    wf = workflow(**workflow_options)
    step = wf.step(first.pop("effect", Effect.CREATE), **{"idempotent": True, **first})(create)
    if risk is not None:
        step.compensate(risk)(undo)
    wf.step(Effect.READ, name="MIDDLE")(create)
    wf.step(Effect.READ, name="LAST")(create)
    return wf.spec.steps[-1]


@pytest.mark.parametrize(
    ("first", "risk", "then"),
    [
        ({}, Risk.LOW, Then.COMPENSATE),
        ({}, Risk.MEDIUM, Then.COMPENSATE),
        ({}, Risk.HIGH, Then.FAIL),
        ({}, None, Then.FAIL),
        ({"irreversible": True}, Risk.LOW, Then.FAIL),
        ({"effect": Effect.NOTIFY}, Risk.LOW, Then.FAIL),
        ({"effect": Effect.CHANGE}, Risk.LOW, Then.FAIL),  # its risk is raised
    ],
)
def test_where_nobody_says_it_what_is_done_is_undone_if_a_machine_may(first: dict[str, Any], risk: Risk | None, then: Then) -> None:
    assert default_of(first, risk).on_failure is then


def test_the_workflows_word_counts_before_the_default_and_the_steps_before_both() -> None:
    assert default_of({}, Risk.LOW, on_failure=Then.MANUAL).on_failure is Then.MANUAL
    wf = workflow(on_failure=Then.MANUAL)
    wf.step(Effect.READ, on_failure=Then.COMPENSATE)(create)
    assert (wf.spec.steps[0].on_failure, wf.spec.on_failure) == (Then.COMPENSATE, Then.MANUAL)
    assert default_of({}, None).on_failure is Then.FAIL


# ── options that came with it ──


def test_the_other_options_become_the_spec() -> None:
    wf = workflow(past_deadline=Then.COMPENSATE)
    options: dict[str, Any] = {"stays": " it is paper ", "requires_approval": True, "record": lambda step: f"order:{step.input.id}"}
    wf.step(Effect.CHANGE, idempotent=True, **options)(create)
    step = wf.spec.steps[0]
    assert (step.stays, step.requires_approval, step.holds, wf.spec.past_deadline) == ("it is paper", True, True, Then.COMPENSATE)
    handler = wf.handlers["CREATE"]
    assert handler.record is not None
    assert handler.record(handler.step(FakeHost())) == "order:x"


@pytest.mark.parametrize("key", ["", "x" * 513, "a\nb", 3])
def test_a_record_is_named_by_a_key(key: Any) -> None:
    wf = workflow()
    wf.step(Effect.CHANGE, idempotent=True, record=lambda step: key)(create)
    handler = wf.handlers["CREATE"]
    assert handler.record is not None
    with pytest.raises(InvalidInput, match="record of CREATE cannot be used as a key"):
        handler.record(handler.step(FakeHost()))


def test_a_record_changes_the_code_and_belongs_to_a_change() -> None:
    plain, _ = declared(Effect.CHANGE)
    holding, _ = declared(Effect.CHANGE, record=lambda step: "x")
    assert plain.spec.steps[0].code != holding.spec.steps[0].code
    with pytest.raises(DefinitionError, match=r"record= means nothing in a CREATE. Only what an Effect.CHANGE changes is held"):
        declared(record=lambda step: "x")
    with pytest.raises(DefinitionError, match="record= means nothing in a transaction"):
        workflow().transaction(sqlite3.Connection, record=lambda step: "x")(write)


def test_the_code_of_a_step_without_any_of_this_is_what_it_was() -> None:
    _, step = declared()
    assert step.name == "CREATE"
    wf, _ = declared()
    assert wf.spec.steps[0].code == "36440b1dbf294d39"
