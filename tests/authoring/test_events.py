"""Events, and the runs that they start by themselves."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Event, Run, RunStatus, Step, Workflow
from halfway.domain.spec import TriggerSpec, WorkflowSpec
from halfway.errors import DefinitionError, InvalidInput, UnstorableValue


class Lead(BaseModel):
    id: str


class Ready(BaseModel):
    project: str


ready = Event("REPORT_READY", Ready)


def workflow(name: str = "LEAD") -> Workflow[Lead]:
    wf = Workflow(name, Lead, version=1, owner="support", key=None)
    wf.step(Effect.READ)(read)
    return wf


def read(step: Step[Lead]) -> None: ...


# ── events ──


def test_a_payload_comes_back_as_it_was() -> None:
    assert ready.decode(ready.encode(Ready(project="x"))) == Ready(project="x")
    assert ready == Event("REPORT_READY", Ready)
    assert hash(ready) == hash(Event("REPORT_READY", Ready))


@pytest.mark.parametrize("payload", [int, str, list[int], dict[str, Ready]])
def test_a_payload_needs_no_named_fields(payload: Any) -> None:
    value: Any = {int: 3, str: "x"}.get(payload, [1] if payload == list[int] else {"a": Ready(project="x")})
    event: Event[Any] = Event("X", payload)
    assert event.decode(event.encode(value)) == value


def test_a_payload_of_another_type_is_refused() -> None:
    with pytest.raises(UnstorableValue, match="payload of REPORT_READY"):
        ready.encode(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="payload of REPORT_READY does not fit"):
        ready.decode("{}")


@pytest.mark.parametrize("name", ["ready", "", "A" * 65, "A B", 3, None])
def test_a_name_that_is_none_is_refused(name: Any) -> None:
    with pytest.raises(DefinitionError, match=r"Event cannot be used: .* is no name for an event"):
        Event(name, Ready)


def test_a_payload_that_is_no_data_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"Event cannot be used: pydantic cannot handle"):
        Event("X", Workflow)


# ── what starts a run by itself ──


def from_ready(event: Ready) -> Lead | None:
    return Lead(id=event.project) if event.project else None


def from_run(run: Run[Lead]) -> Lead | None:
    return Lead(id=f"{run.input.id} {run.status}")


def test_an_event_starts_a_run() -> None:
    wf = workflow()
    assert wf.starts_on(ready)(from_ready) is from_ready
    assert wf.spec.triggers == (TriggerSpec(kind="EVENT", name="REPORT_READY"),)
    assert WorkflowSpec.from_json(wf.spec.to_json()) == wf.spec
    trigger = wf.trigger_functions["EVENT", "REPORT_READY"]
    assert (trigger.spec, trigger.function) == (wf.spec.triggers[0], from_ready)
    assert trigger.input_for('{"project":"x"}') == Lead(id="x")
    assert trigger.input_for('{"project":""}') is None
    with pytest.raises(InvalidInput, match="trigger REPORT_READY does not fit"):
        trigger.input_for("{}")


def test_the_end_of_another_run_starts_a_run() -> None:
    wf, other = workflow(), workflow("OTHER")
    assert wf.starts_after(other)(from_run) is from_run
    assert wf.spec.triggers == (TriggerSpec(kind="RUN", name="OTHER", statuses=("SUCCESS",)),)
    run = {"id": "r", "type": "OTHER", "version": 1, "key": None, "status": "SUCCESS", "input": '{"id":"x"}', "failure": None}
    text = json.dumps({**run, "outputs": {}, "steps": {}})
    assert wf.trigger_functions["RUN", "OTHER"].input_for(text) == Lead(id="x SUCCESS")


def test_the_other_run_may_have_ended_otherwise() -> None:
    wf = workflow()
    wf.starts_after(workflow("OTHER"), RunStatus.FAILED, RunStatus.EXPIRED, RunStatus.FAILED)(from_run)
    assert wf.spec.triggers[0].statuses == ("FAILED", "EXPIRED")


def test_a_trigger_that_cannot_work_is_refused() -> None:
    wf, other = workflow(), workflow("OTHER")
    with pytest.raises(DefinitionError, match=r"'READY' is no event. Give an Event"):
        wf.starts_on("READY")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="'OTHER' is no workflow"):
        wf.starts_after("OTHER")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"no run ends as RUNNING. Give CANCELLED, COMPENSATED"):
        wf.starts_after(other, RunStatus.RUNNING)
    with pytest.raises(DefinitionError, match=r"trigger by REPORT_READY: nothing takes 0 arguments. Take the payload"):
        wf.starts_on(ready)(nothing)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=r"trigger by OTHER: nothing takes 0 arguments. Take the other run"):
        wf.starts_after(other)(nothing)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="later is 'async def'"):
        wf.starts_on(ready)(later)  # type: ignore[arg-type]
    wf.starts_on(ready)(from_ready)
    with pytest.raises(DefinitionError, match="two functions say what REPORT_READY starts"):
        wf.starts_on(ready)(from_ready)
    _ = wf.spec
    with pytest.raises(DefinitionError, match="a trigger by OTHER is declared after the workflow was used"):
        wf.starts_after(other)(from_run)


def nothing() -> None: ...
async def later(event: Ready) -> Lead | None: ...
