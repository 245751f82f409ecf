"""What can be declared, what is refused and how it is said, and what a definition becomes."""

import functools
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from halfway import (
    Absent,
    Artifact,
    AsyncMark,
    CannotTell,
    Effect,
    Errors,
    Found,
    Mark,
    Queue,
    Retry,
    Step,
    Then,
    Workflow,
)
from halfway.domain.spec import MINUTE, SECOND, Sort, WorkflowSpec
from halfway.errors import DefinitionError, InvalidInput, UnsafeStep, VersionConflict


class Lead(BaseModel):
    id: str


@dataclass
class Point:
    x: float


class Form(TypedDict):
    name: str


class Untold:
    """pydantic knows nothing about it."""


def workflow(name: Any = "LEAD", input: Any = Lead, **options: Any) -> Workflow[Any]:
    return Workflow(name, input, **{"version": 1, "owner": "support", "key": None, **options})


def read(step: Step[Lead]) -> None: ...
def mark_of_async(step: Step[Lead], mark: AsyncMark) -> None: ...
async def mark_of_sync(step: Step[Lead], mark: Mark) -> None: ...
def nothing_taken() -> None: ...
def three(step: Step[Lead], mark: Mark, more: int) -> None: ...
def keyword(step: Step[Lead], *, client: object) -> None: ...
def arguments(*steps: Step[Lead]) -> None: ...
def unannotated(step: Step[Lead]): ...  # type: ignore[no-untyped-def]
def untold(step: Step[Lead]) -> Untold: ...  # type: ignore[empty-body]
def unresolved(step: Step[Lead]) -> "Nowhere": ...  # type: ignore[name-defined] # noqa: F821
def many(step: Step[Lead]) -> Iterable[int]: ...  # type: ignore[empty-body]
def function(step: Step[Lead]) -> Callable[[], int]: ...  # type: ignore[empty-body]
def generator(step: Step[Lead]) -> list[int]:
    yield 1


async def in_async(step: Step[Lead], db: sqlite3.Connection) -> None: ...
def in_transaction(step: Step[Lead], db: sqlite3.Connection) -> None: ...


other = workflow("OTHER")
elsewhere = other.step(Effect.READ)(read)

READ = Effect.READ
STEPS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (unannotated, {}, "does not say what it returns. Annotate it, '-> None'"),
    (untold, {}, "pydantic cannot handle"),
    (unresolved, {}, "the annotation 'Nowhere' cannot be resolved"),
    (many, {}, "can be read only once. Use list"),
    (function, {}, "holds a function"),
    (generator, {}, "generator is a generator and does not say of what. Annotate it as Iterator"),
    (nothing_taken, {}, "takes 0 arguments. Take the step"),
    (three, {}, "takes 3 arguments"),
    (keyword, {}, "takes client: object, which nobody gives"),
    (arguments, {}, "which nobody gives"),
    (mark_of_async, {}, "annotated as AsyncMark. A 'def' step takes 'mark: Mark'"),
    (mark_of_sync, {}, "annotated as Mark. A 'async def' step takes 'mark: AsyncMark'"),
    (read, {"name": "read"}, "'read' is no name for a step"),
    (read, {"name": "A" * 65}, "is no name for a step"),
    (read, {"name": "A B"}, "is no name for a step"),
    (lambda step: None, {}, "'<LAMBDA>' is no name for a step.*give name="),
    (read, {"after": [elsewhere]}, "after names READ, which is no earlier step of LEAD"),
    (read, {"after": ["OTHER"]}, "after names 'OTHER'. Name steps by the objects"),
    (read, {"after": elsewhere}, "after is <step READ of OTHER>. Give a list"),
    (read, {"timeout": timedelta(0)}, "timeout is 0:00:00"),
    (read, {"timeout": timedelta(seconds=-1)}, "Give a time of more than 0"),
    (read, {"timeout": timedelta.max}, "at most 3650 days"),
    (read, {"timeout": 5}, "timeout is 5. Give a timedelta"),
    (read, {"retry": 3}, "retry is 3. Give a Retry"),
    (read, {"queue": "gpu"}, "queue is 'gpu'. Give a Queue"),
    (read, {"on_failure": Then.EXPIRE}, "on_failure is EXPIRE. Give Then.FAIL, Then.COMPENSATE or Then.MANUAL"),
    (read, {"on_failure": "FAIL"}, "Give a member of Then"),
    (read, {"approver": " "}, "approver is empty"),
    (read, {"evidence": ""}, "evidence is empty"),
    (read, {"effect_key": "x"}, "Give a function of the step"),
    (read, {"record": lambda step: "x"}, "record= means nothing in a READ"),
    (read, {"stays": " "}, "stays is empty"),
    (read, {"requires_approval": "boss"}, "requires_approval is 'boss'. Give True or False"),
    (read, {"retries": 3}, "there is no option retries=. The options are name, after"),
    (read, {"idempotent": timedelta(0)}, "idempotent is 0:00:00"),
    (read, {"idempotent": timedelta(minutes=5)}, "not longer than the timeout"),
]


@pytest.mark.parametrize(("body", "options", "told"), STEPS, ids=range(len(STEPS)))
def test_a_step_that_cannot_work_is_refused_where_it_is_declared(body: Callable[..., Any], options: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told) as caught:
        workflow().step(READ, **options)(body)
    assert str(caught.value).startswith("Workflow LEAD: ")


WORKFLOWS: list[tuple[dict[str, Any], str]] = [
    ({"name": "lead"}, "'lead' is no name for a workflow"),
    ({"name": ""}, "is no name for a workflow"),
    ({"name": "A" * 65}, "is no name for a workflow"),
    ({"version": 0}, "version is 0"),
    ({"version": True}, "version is True"),
    ({"version": "1"}, "version is '1'"),
    ({"owner": ""}, "nobody owns it"),
    ({"owner": None}, "nobody owns it"),
    ({"severity": "BAD"}, "severity is 'BAD'"),
    ({"on_failure": Then.EXPIRE}, "on_failure is EXPIRE"),
    ({"past_deadline": Then.FAIL}, "past_deadline is FAIL. Give Then.EXPIRE, Then.COMPENSATE or Then.MANUAL"),
    ({"on_failure": "FAIL"}, "on_failure is FAIL"),
    ({"runbook": {"not a code": "x"}}, "runbook names 'not a code', which is no error code"),
    ({"runbook": {KeyError: " "}}, "runbook says nothing about KEY_ERROR"),
    ({"runbook": {None: ""}}, "runbook says nothing about every other error"),
    ({"runbook": {KeyError: "x", "KEY_ERROR": "y"}}, "runbook names KEY_ERROR twice"),
    ({"timeout": timedelta(0)}, "timeout is 0:00:00"),
    ({"stuck_after": timedelta(-1)}, "stuck_after is -1 day"),
    ({"input": str}, "has no named fields"),
    ({"input": dict[str, int]}, "has no named fields"),
    ({"input": Untold}, "has no named fields"),
    ({"input": 3}, "has no named fields"),
]


@pytest.mark.parametrize(("options", "told"), WORKFLOWS, ids=range(len(WORKFLOWS)))
def test_a_workflow_that_cannot_work_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        workflow(**options)


def test_an_input_that_pydantic_cannot_read_is_refused() -> None:
    @dataclass
    class Odd:
        untold: Untold

    with pytest.raises(DefinitionError, match="pydantic cannot handle"):
        workflow(input=Odd)


@pytest.mark.parametrize(("input", "value"), [(Lead, Lead(id="x")), (Point, Point(1.5)), (Form, {"name": "x"})])
def test_an_input_is_a_model_a_dataclass_or_a_typed_dict(input: Any, value: object) -> None:
    wf = workflow(input=input)
    assert wf.parse(wf.encode(value)) == value


def test_an_effect_is_a_member_of_effect() -> None:
    with pytest.raises(DefinitionError, match="'SEND' is not an effect"):
        workflow().step("SEND")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="is not an effect"):
        workflow().step(read)  # type: ignore[arg-type]


def test_two_steps_of_one_name_are_refused() -> None:
    wf = workflow()
    wf.step(READ)(read)
    with pytest.raises(DefinitionError, match="two steps are called READ"):
        wf.step(READ)(read)


def test_a_step_cannot_stand_after_one_of_a_workflow_that_only_looks_the_same() -> None:
    wf, twin = workflow(), workflow()
    wf.step(READ)(read)
    with pytest.raises(DefinitionError, match="no earlier step of LEAD"):
        wf.step(READ, name="NEXT", after=[twin.step(READ)(read)])(read)


def test_a_step_is_not_called_but_named_by_its_object() -> None:
    step = workflow().step(READ)(read)
    assert not callable(step)
    assert repr(step) == "<step READ of LEAD>"


# ── transactions ──


@pytest.mark.parametrize("connection", [sqlite3.Connection, psycopg.Connection, psycopg.Connection[Any]])
def test_a_transaction_takes_a_connection_of_the_own_database(connection: Any) -> None:
    wf = workflow()
    wf.transaction(connection)(in_transaction)
    handler = wf.handlers["IN_TRANSACTION"]
    assert (handler.sort, handler.effect) == (Sort.TRANSACTION, None)
    assert handler.connection in (sqlite3.Connection, psycopg.Connection)


@pytest.mark.parametrize("connection", [str, psycopg.AsyncConnection, sqlite3.Cursor, "sqlite3"])
def test_a_transaction_takes_no_other_connection(connection: Any) -> None:
    with pytest.raises(DefinitionError, match=r"no connection for a transaction. Give sqlite3.Connection or psycopg.Connection"):
        workflow().transaction(connection)


@pytest.mark.parametrize(
    ("body", "options", "told"),
    [
        (in_async, {}, "in_async is 'async def', but a transaction holds its connection"),
        (read, {}, "takes 1 arguments. Take the step and the connection"),
        (in_transaction, {"idempotent": True}, "idempotent= means nothing in a transaction"),
        (in_transaction, {"accept_unknown": "x"}, "accept_unknown= means nothing"),
        (in_transaction, {"effect_key": lambda step: "x"}, "effect_key= means nothing"),
    ],
)
def test_a_transaction_that_cannot_work_is_refused(body: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        workflow().transaction(sqlite3.Connection, **options)(body)


# ── probes and verifiers ──


def find(step: Step[Lead]) -> Found[None] | Absent | CannotTell:
    """Searches the CRM by key.

    Slowly.
    """
    return Absent()


async def afind(step: Step[Lead]) -> Found[None] | Absent:
    return Absent()


def holds(step: Step[Lead], output: None) -> bool:
    return True


def test_a_probe_and_a_verifier_stay_plain_functions_and_reach_the_handler() -> None:
    wf = workflow()
    create = wf.step(Effect.CREATE)(read)
    assert create.probe(settle=timedelta(0), retry=Retry(5))(find) is find
    assert create.verify(holds) is holds
    step = wf.spec.steps[0]
    assert step.probe is not None
    assert (step.probe.settle, step.probe.retry.attempts, step.probe.shows) == (0, 5, "Searches the CRM by key.")
    assert step.verifies
    handler = wf.handlers["READ"]
    assert (handler.probe, handler.probe_is_async, handler.verify, handler.verify_is_async) == (find, False, holds, False)


def test_a_bare_probe_has_the_defaults_and_is_named_by_its_function() -> None:
    wf = workflow()
    wf.step(Effect.CREATE)(read).probe(afind)
    probe = wf.spec.steps[0].probe
    assert probe is not None
    assert (probe.settle, probe.retry.attempts, probe.shows) == (MINUTE, 3, "afind")
    assert wf.handlers["READ"].probe_is_async


def test_a_second_probe_or_verifier_is_refused() -> None:
    step = workflow().step(Effect.CREATE)(read)
    step.probe(find)
    step.verify(holds)
    with pytest.raises(DefinitionError, match="step READ: a second probe is declared"):
        step.probe(find)
    with pytest.raises(DefinitionError, match="a second verify function is declared"):
        step.verify(holds)


def test_helpers_take_what_they_are_given() -> None:
    step = workflow().step(Effect.CREATE)(read)
    with pytest.raises(DefinitionError, match=r"the probe holds takes 2 arguments. Take the step"):
        step.probe(holds)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match=r"the verify function find takes 1 arguments. Take the step and its output"):
        step.verify(find)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="settle is -1 day"):
        step.probe(settle=timedelta(-1))(find)


# ── the contract, when all is declared ──


@pytest.mark.parametrize("effect", [Effect.CREATE, Effect.NOTIFY, Effect.CHANGE, Effect.DELEGATE])
def test_an_effect_that_nothing_proves_is_refused_when_the_workflow_is_used(effect: Effect) -> None:
    wf = workflow()
    step = wf.step(effect, accept_unknown="no search there")(read)
    with pytest.raises(UnsafeStep, match=r"step READ: a lost answer of this .* would have no rule.*probe"):
        _ = wf.spec
    step.probe(find)  # it was not closed by the refusal
    assert wf.spec.steps[0].effect is effect


@pytest.mark.parametrize("contract", [{"idempotent": True}, {"idempotent": timedelta(days=1)}, {"evidence": "the log"}])
def test_an_effect_with_a_contract_is_accepted(contract: dict[str, Any]) -> None:
    wf = workflow()
    wf.step(Effect.NOTIFY, **contract)(read)
    assert wf.spec.steps[0].name == "READ"


def test_a_workflow_that_was_used_is_closed() -> None:
    wf = workflow()
    step = wf.step(READ)(read)
    assert wf.spec is wf.spec
    with pytest.raises(DefinitionError, match="step NEXT is declared after the workflow was used"):
        wf.step(READ, name="NEXT")(read)
    with pytest.raises(DefinitionError, match="a probe is added after the workflow was used"):
        step.probe(find)


def test_a_workflow_without_steps_is_refused() -> None:
    with pytest.raises(DefinitionError, match="it has no steps"):
        _ = workflow().spec


# ── what a definition becomes ──


def test_options_and_defaults_become_the_spec() -> None:
    gpu = Queue("gpu")
    wf = workflow(
        severity="HIGH",
        on_failure=Then.MANUAL,
        past_deadline=Then.MANUAL,
        timeout=timedelta(hours=1),
        stuck_after=timedelta(minutes=5),
        retry=Retry(7),
        queue=gpu,
        key=lambda lead: f"lead:{lead.id}",
        resource=lambda lead: "x",
    )
    first = wf.step(READ)(read)
    wf.step(
        Effect.CREATE,
        name="SECOND",
        on_failure=Then.FAIL,
        retry=Retry(1),
        timeout=timedelta(seconds=3),
        queue=Queue("cpu"),
        idempotent=timedelta(hours=24),
        irreversible=True,
        approver="billing",
        evidence="the log",
        accept_unknown="no search",
        effect_key=lambda step: "k",
    )(mark_taken)
    wf.step(READ, name="THIRD", after=[])(read)
    wf.step(READ, name="FOURTH", after=[first, first])(read)
    spec = wf.spec
    one, two, three, four = spec.steps
    assert (spec.severity, spec.on_failure, spec.past_deadline) == ("HIGH", Then.MANUAL, Then.MANUAL)
    assert (spec.timeout, spec.stuck_after, spec.keyed, spec.locked) == (60 * MINUTE, 5 * MINUTE, True, True)
    assert (one.after, two.after, three.after, four.after) == ((), ("READ",), (), ("READ",))
    assert (one.queue, one.retry.attempts, one.on_failure, one.timeout) == ("gpu", 7, Then.MANUAL, 5 * MINUTE)
    assert (two.queue, two.retry.attempts, two.on_failure, two.timeout) == ("cpu", 1, Then.FAIL, 3 * SECOND)
    assert (two.idempotent, two.idempotent_for, two.irreversible, two.business_key) == (True, 24 * 60 * MINUTE, True, True)
    assert (two.approver, two.evidence, two.accept_unknown, two.takes_mark) == ("billing", "the log", "no search", True)
    assert WorkflowSpec.from_json(spec.to_json()) == spec
    assert [handler.code for handler in wf.handlers.values()] == [step.code for step in spec.steps]


def mark_taken(step: Step[Lead], mark: Mark) -> None: ...


def spec_of(body: Callable[..., Any], name: str = "LEAD", input: Any = Lead, effect: Effect = READ) -> Any:
    wf = workflow(name, input)
    wf.step(effect, name="STEP", idempotent=True)(body)
    return wf.spec.steps[0]


def test_the_code_of_a_step_changes_with_what_a_worker_must_know() -> None:
    def text(step: Step[Lead]) -> str: ...  # type: ignore[empty-body]

    codes = {
        spec_of(read).code,
        spec_of(text).code,
        spec_of(read, name="OTHER").code,
        spec_of(read, input=Point).code,
        spec_of(read, effect=Effect.CREATE).code,
    }
    assert len(codes) == 5
    assert spec_of(read).code == spec_of(mark_taken).code


def test_a_changed_docstring_or_title_is_the_same_code() -> None:
    def model(doc: str, title: str) -> Any:
        class Output(BaseModel):
            __doc__ = doc
            title_: int = Field(title=title, description=doc)
            description: str

        def body(step: Step[Lead]) -> Output: ...  # type: ignore[empty-body]

        return spec_of(body)

    assert model("a", "b").code == model("c", "d").code


def test_an_output_that_names_artifacts_anywhere_is_verified_before_a_resume() -> None:
    class Report(BaseModel):
        parts: dict[str, list[Artifact]]

    def nested(step: Step[Lead]) -> Report | None: ...
    def plain(step: Step[Lead]) -> Artifact: ...  # type: ignore[empty-body]

    assert spec_of(nested).verifies
    assert spec_of(plain).verifies
    assert not spec_of(read).verifies


def test_models_declared_beside_the_step_can_be_named_as_text() -> None:
    class Local(BaseModel):
        x: int

    def body(step: Step[Lead]) -> "Local": ...  # type: ignore[empty-body]

    wf = workflow()
    step = wf.step(READ)(body)
    assert step.decode('{"x": 1}') == Local(x=1)


def test_other_callables_can_be_steps_too() -> None:
    class Body:
        async def __call__(self, step: Step[Lead]) -> None: ...

    def given(prefix: str, step: Step[Lead]) -> str:
        return prefix

    wf = workflow()
    wf.step(READ, name="OBJECT")(Body())
    wf.step(READ, name="PARTIAL")(functools.partial(given, "x"))
    assert wf.handlers["OBJECT"].is_async
    assert not wf.handlers["PARTIAL"].is_async


def test_the_errors_of_the_workflow_are_the_default_of_its_steps() -> None:
    wf = workflow(errors=Errors(retry=KeyError))
    wf.step(READ)(read)
    wf.step(READ, name="OWN", errors=Errors(fail=KeyError))(read)
    assert wf.handlers["READ"].errors.retry is KeyError
    assert wf.handlers["OWN"].errors == Errors(fail=KeyError)


def test_the_runbook_says_by_code_what_to_do() -> None:
    wf = workflow(runbook={VersionConflict: " Read the order. ", "HTTP_422": "Correct the address.", None: "Ask the desk."})
    wf.step(READ)(read)
    assert wf.spec.runbook == (("", "Ask the desk."), ("HTTP_422", "Correct the address."), ("VERSION_CONFLICT", "Read the order."))
    assert WorkflowSpec.from_json(wf.spec.to_json()) == wf.spec


# ── keys and inputs ──


def test_the_key_and_the_resource_are_functions_of_the_input() -> None:
    wf = workflow(key=lambda lead: f"lead:{lead.id}", resource=lambda lead: f"customer:{lead.id}")
    assert (wf.key_of(Lead(id="x")), wf.resource_of(Lead(id="x"))) == ("lead:x", "customer:x")
    assert (workflow().key_of(Lead(id="x")), workflow().resource_of(Lead(id="x"))) == (None, None)


@pytest.mark.parametrize("key", ["", "x" * 513, "a\x00b", "a\nb", "\ud800", 3, None])
def test_a_key_that_cannot_be_kept_is_refused(key: Any) -> None:
    with pytest.raises(InvalidInput, match="The key of LEAD cannot be used as a key"):
        workflow(key=lambda lead: key).key_of(Lead(id="x"))


def test_an_input_that_does_not_fit_is_told_without_its_value() -> None:
    with pytest.raises(InvalidInput, match=r"The input of LEAD is not valid: \$\.id") as caught:
        workflow().parse('{"id": {"s3cret": 1}}')
    assert "s3cret" not in str(caught.value)
