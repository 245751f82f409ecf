"""Waits for events, runs, times and people: what can be declared, what is refused, and what it becomes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Absent, Approval, CannotTell, Effect, Event, Failure, Found, Mark, Run, RunStatus, Step, Then, Workflow
from halfway.authoring import WaitStep
from halfway.authoring.values import encode
from halfway.domain.spec import DAY, MINUTE, Sort, WaitSpec, WorkflowSpec
from halfway.errors import DefinitionError, InvalidInput, NotFound, UnsafeStep, UnstorableValue


class Lead(BaseModel):
    id: str


class Delivery(BaseModel):
    status: str


HOUR = timedelta(hours=1)
delivered = Event("DELIVERED", Delivery)


def workflow(name: str = "LEAD", input: Any = Lead, **options: Any) -> Workflow[Any]:
    return Workflow(name, input, **{"version": 1, "owner": "support", "key": None, **options})


def the_key(step: Step[Lead]) -> str:
    return step.input.id


async def the_key_async(step: Step[Lead]) -> str:
    return step.input.id


def the_time(step: Step[Lead]) -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC)


def shown(step: Step[Lead]) -> dict[str, int]:
    return {"amount": 3}


def read(step: Step[Lead]) -> int: ...  # type: ignore[empty-body]


other = workflow("OTHER")
counted = other.step(Effect.READ)(read)


def wait_of(wf: Workflow[Any]) -> WaitSpec:
    (step,) = wf.spec.steps
    assert step.wait is not None
    assert WorkflowSpec.from_json(wf.spec.to_json()) == wf.spec
    return step.wait


# ── what they become ──


def test_a_wait_for_an_event() -> None:
    wf = workflow()
    step = wf.wait_for(delivered, timeout=HOUR, on_timeout=Then.RETRY)(the_key_async)
    assert isinstance(step, WaitStep)
    assert step.decode('{"status":"ok"}') == Delivery(status="ok")
    assert wait_of(wf) == WaitSpec(name="DELIVERED", timeout=60 * MINUTE, on_timeout=Then.RETRY, look_back=7 * DAY)
    spec, handler = wf.spec.steps[0], wf.handlers["THE_KEY_ASYNC"]
    assert (spec.sort, spec.effect, spec.can_be_lost, spec.waits) == (Sort.EVENT, None, False, True)
    assert (handler.sort, handler.waits, handler.wait, handler.is_async) == (Sort.EVENT, True, spec.wait, True)
    assert encode(handler.body_adapter, "key") == '"key"'
    assert encode(handler.output_adapter, Delivery(status="ok")) == '{"status":"ok"}'


def test_a_wait_for_an_event_may_go_on_with_a_value() -> None:
    wf = workflow()
    declare = wf.wait_for(delivered, timeout=HOUR, on_timeout=Then.VALUE, value=Delivery(status="unknown"), look_back=HOUR)
    declare(the_key)
    wait = wait_of(wf)
    assert (wait.on_timeout, wait.value, wait.look_back) == (Then.VALUE, '{"status":"unknown"}', 60 * MINUTE)


def test_the_value_may_be_none_if_the_payload_may() -> None:
    wf = workflow()
    nothing: Event[Any] = Event("NOTHING", type(None))
    wf.wait_for(nothing, timeout=HOUR, on_timeout=Then.VALUE, value=None)(the_key)
    assert wait_of(wf).value == "null"


def stored(**changes: object) -> str:
    import json

    failure = {"step": "READ", "code": "X", "message": "m"}
    run = {"id": "r1", "type": "OTHER", "version": 1, "key": "k", "status": "FAILED", "input": '{"id":"x"}', "failure": failure}
    return json.dumps({**run, "outputs": {"READ": "7"}, "steps": {"READ": "SUCCESS"}, **changes})


def test_a_wait_for_a_run_reads_as_that_run() -> None:
    wf = workflow()
    step = wf.wait_for(other, timeout=HOUR, on_timeout=Then.CANCEL)(the_key)
    assert wait_of(wf) == WaitSpec(name="OTHER", timeout=60 * MINUTE, on_timeout=Then.CANCEL)
    assert wf.spec.steps[0].sort is Sort.RUN
    run = step.decode(stored())
    assert isinstance(run, Run)
    assert (run.id, run.type, run.version, run.key, run.status, run.created) == ("r1", "OTHER", 1, "k", RunStatus.FAILED, False)
    assert run.input == Lead(id="x")
    assert run.output(counted) == 7
    assert run.failure is not None
    assert run.failure.code == "X"
    assert step.decode(stored(failure=None, key=None)).failure is None
    assert step.decode(stored(failure={"step": "A", "code": "X", "message": None})).failure == Failure("A", "X", "")
    with pytest.raises(NotFound, match="has no output"):
        step.decode(stored(outputs={})).output(counted)
    with pytest.raises(InvalidInput, match="output of THE_KEY does not fit"):
        step.decode(stored(input="{}"))


def test_a_wait_for_a_time_takes_a_time_zone() -> None:
    wf = workflow()
    step = wf.wait_until()(the_time)
    assert wait_of(wf) == WaitSpec()
    adapter = wf.handlers["THE_TIME"].body_adapter
    time = the_time(Any)  # type: ignore[arg-type]
    assert step.decode(encode(adapter, time)) == time
    with pytest.raises(UnstorableValue, match="timezone"):
        encode(adapter, datetime(2030, 1, 1))


def test_an_approval() -> None:
    wf = workflow()
    step = wf.approval("boss", expires=HOUR, on_expiry=Then.FAIL, on_reject=Then.COMPENSATE, four_eyes=True, quorum=2)(shown)
    assert wait_of(wf) == WaitSpec(
        timeout=60 * MINUTE, on_timeout=Then.FAIL, role="boss", on_reject=Then.COMPENSATE, four_eyes=True, quorum=2
    )
    assert wf.spec.steps[0].sort is Sort.APPROVAL
    assert encode(wf.handlers["SHOWN"].body_adapter, {"amount": 3}) == '{"amount":3}'
    at = datetime(2030, 1, 1, tzinfo=UTC)
    approval = Approval("ann", "fine", at, ("bob", "ann"))
    assert step.decode(encode(wf.handlers["SHOWN"].output_adapter, approval)) == approval
    assert step.decode('{"by":"ann","reason":"fine","at":"2030-01-01T00:00:00Z"}') == Approval("ann", "fine", at)


def test_an_approval_is_cancelled_when_it_is_rejected_and_needs_one_person() -> None:
    wf = workflow()
    wf.approval(" boss ", expires=HOUR, on_expiry=Then.MANUAL)(shown)
    wait = wait_of(wf)
    assert (wait.role, wait.on_reject, wait.four_eyes, wait.quorum) == ("boss", Then.CANCEL, False, 1)


def test_a_wait_stands_in_the_graph_like_every_step() -> None:
    wf = workflow()
    first = wf.step(Effect.READ)(read)
    wf.wait_until(name="LATER", after=[first], on_failure=Then.MANUAL)(the_time)
    wf.wait_until(name="BESIDE", after=[])(the_time)
    _, later, beside = wf.spec.steps
    assert (later.after, later.on_failure, beside.after) == (("READ",), Then.MANUAL, ())


@pytest.mark.parametrize("key", ["", "x" * 513, "a\nb", "\x00", 3, None])
def test_the_key_of_a_wait_is_a_key(key: Any) -> None:
    wf = workflow()
    wf.wait_for(delivered, timeout=HOUR, on_timeout=Then.FAIL)(the_key)
    with pytest.raises(UnstorableValue):
        encode(wf.handlers["THE_KEY"].body_adapter, key)


def test_a_wait_is_other_code_than_a_step_and_than_a_wait_for_something_else() -> None:
    def code(declare: Callable[[Workflow[Any]], Any]) -> str:
        wf = workflow()
        declare(wf)
        return wf.spec.steps[0].code

    third = Event("THIRD", Delivery)
    odd = Workflow("OTHER", Delivery, version=1, owner="x", key=None)
    codes = [
        code(lambda wf: wf.step(Effect.READ, name="X")(the_key)),
        code(lambda wf: wf.wait_for(delivered, timeout=HOUR, on_timeout=Then.FAIL, name="X")(the_key)),
        code(lambda wf: wf.wait_for(third, timeout=HOUR, on_timeout=Then.FAIL, name="X")(the_key)),
        code(lambda wf: wf.wait_for(other, timeout=HOUR, on_timeout=Then.FAIL, name="X")(the_key)),
        code(lambda wf: wf.wait_for(odd, timeout=HOUR, on_timeout=Then.FAIL, name="X")(the_key)),
        code(lambda wf: wf.wait_until(name="X")(the_time)),
        code(lambda wf: wf.approval("boss", expires=HOUR, on_expiry=Then.FAIL, name="X")(shown)),
    ]
    assert len(set(codes)) == len(codes)


# ── probes ──


def ask(step: Step[Lead]) -> Found[Delivery] | Absent | CannotTell:
    """Asks the provider."""
    return Absent()


def test_a_wait_for_an_event_may_ask_the_world() -> None:
    wf = workflow()
    step = wf.wait_for(delivered, timeout=HOUR, on_timeout=Then.PROBE)(the_key)
    with pytest.raises(UnsafeStep, match="step THE_KEY: when its time is up the probe is asked, and it has none"):
        _ = wf.spec
    assert step.probe(ask) is ask
    probe = wf.spec.steps[0].probe
    assert probe is not None
    assert (probe.settle, probe.shows) == (0, "Asks the provider.")
    assert wf.handlers["THE_KEY"].probe is ask
    with pytest.raises(DefinitionError, match="a probe is added after the workflow was used"):
        step.probe(ask)


def test_no_other_wait_has_a_probe_and_none_an_undo() -> None:
    wf = workflow()
    step = wf.wait_until()(the_time)
    with pytest.raises(DefinitionError, match="only a wait for an event can ask the world"):
        step.probe(ask)
    with pytest.raises(DefinitionError, match="step THE_TIME: it has an undo, but a wait does nothing that could be undone"):
        step.compensate()


# ── what is refused ──

EVENTS: list[tuple[dict[str, Any], str]] = [
    (
        {"on_timeout": Then.COMPENSATE},
        "on_timeout is COMPENSATE. Give Then.PROBE, Then.RETRY, Then.FAIL, Then.CANCEL, Then.MANUAL or Then.V",
    ),
    ({"on_timeout": "FAIL"}, "on_timeout is FAIL. Give"),
    ({"on_timeout": Then.VALUE}, "value= belongs to on_timeout=Then.VALUE. Give both"),
    ({"value": Delivery(status="x")}, "value= belongs to on_timeout=Then.VALUE"),
    ({"on_timeout": Then.VALUE, "value": 3}, "value is no payload of DELIVERED"),
    ({"timeout": timedelta(0)}, "timeout is 0:00:00"),
    ({"timeout": 5}, "timeout is 5. Give a timedelta"),
    ({"look_back": timedelta(-1)}, "look_back is -1 day"),
]


@pytest.mark.parametrize(("options", "told"), EVENTS, ids=range(len(EVENTS)))
def test_a_wait_for_an_event_that_cannot_work_is_refused(options: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"timeout": HOUR, "on_timeout": Then.FAIL, **options}
    with pytest.raises(DefinitionError, match=f"Workflow LEAD: wait_for: {told}"):
        workflow().wait_for(delivered, **given)


RUNS: list[tuple[dict[str, Any], str]] = [
    ({"on_timeout": Then.PROBE}, "on_timeout is PROBE. Give Then.FAIL, Then.CANCEL or Then.MANUAL"),
    ({"on_timeout": Then.RETRY}, "on_timeout is RETRY"),
    ({"value": 3}, "value= and look_back= mean nothing"),
    ({"look_back": HOUR}, "value= and look_back= mean nothing"),
]


@pytest.mark.parametrize(("options", "told"), RUNS, ids=range(len(RUNS)))
def test_a_wait_for_a_run_that_cannot_work_is_refused(options: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"timeout": HOUR, "on_timeout": Then.FAIL, **options}
    with pytest.raises(DefinitionError, match=told):
        workflow().wait_for(other, **given)


def test_what_is_neither_an_event_nor_a_workflow_is_nothing_to_wait_for() -> None:
    with pytest.raises(DefinitionError, match=r"'DELIVERED' is nothing to wait for. Give an Event or a Workflow"):
        workflow().wait_for("DELIVERED", timeout=HOUR, on_timeout=Then.FAIL)  # type: ignore[call-overload]


APPROVALS: list[tuple[dict[str, Any], str]] = [
    ({"role": " "}, "the role is ' '"),
    ({"expires": timedelta(0)}, "expires is 0:00:00"),
    ({"on_expiry": Then.PROBE}, "on_expiry is PROBE. Give Then.FAIL, Then.CANCEL, Then.COMPENSATE or Then.MANUAL"),
    ({"on_reject": Then.RETRY}, "on_reject is RETRY"),
    ({"quorum": 0}, "quorum is 0"),
    ({"quorum": True}, "quorum is True"),
]


@pytest.mark.parametrize(("options", "told"), APPROVALS, ids=range(len(APPROVALS)))
def test_an_approval_that_cannot_work_is_refused(options: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"role": "boss", "expires": HOUR, "on_expiry": Then.CANCEL, **options}
    with pytest.raises(DefinitionError, match=f"approval: {told}"):
        workflow().approval(given.pop("role"), **given)


def two(step: Step[Lead], mark: Mark) -> datetime: ...  # type: ignore[empty-body]


@pytest.mark.parametrize("name", ["retry", "timeout", "idempotent", "effect_key", "stays", "record", "evidence"])
def test_options_of_work_mean_nothing_in_a_wait(name: str) -> None:
    values: dict[str, Any] = {"timeout": HOUR, "idempotent": True, "effect_key": the_key, "record": the_key}
    from halfway import Retry

    option = {name: values.get(name, Retry(3) if name == "retry" else "x")}
    with pytest.raises(DefinitionError, match=rf"step THE_TIME: {name}= means nothing in a wait.*name, after, on_failure"):
        workflow().wait_until(**option)(the_time)


@pytest.mark.parametrize(
    ("body", "told"), [(two, "two takes 2 arguments. Take the step; a wait begins no effect"), (3, "3 is not a function")]
)
def test_the_function_of_a_wait_takes_the_step(body: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        workflow().wait_until(name="X")(body)


def test_what_a_person_is_shown_has_a_type() -> None:
    with pytest.raises(DefinitionError, match="does not say what it returns"):
        workflow().approval("boss", expires=HOUR, on_expiry=Then.FAIL, name="X")(lambda step: 3)


def test_a_wait_is_not_declared_after_the_workflow_was_used() -> None:
    wf = workflow()
    wf.step(Effect.READ)(read)
    _ = wf.spec
    with pytest.raises(DefinitionError, match="step THE_TIME is declared after the workflow was used"):
        wf.wait_until()(the_time)
