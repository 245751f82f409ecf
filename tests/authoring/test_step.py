"""What a step's function holds."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Artifact, Effect, Event, Failure, Run, Step, StepFailed, Workflow, one_row
from halfway.domain.lifecycle import RunStatus
from halfway.errors import AttemptEnded, DefinitionError, InvalidInput, NotFound, UnstorableValue, VersionConflict
from tests.authoring.host import FakeHost


class Lead(BaseModel):
    id: str


class Customer(BaseModel):
    id: int


intake = Workflow("LEAD_INTAKE", Lead, version=1, owner="support", key=lambda lead: f"lead:{lead.id}")


@intake.step(Effect.READ)
def find(step: Step[Lead]) -> Customer:
    raise NotImplementedError


@intake.step(Effect.READ, after=[])
def beside(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.CREATE, after=[find], idempotent=True, effect_key=lambda step: f"{step.input.id}:{step.output(find).id}")
def create(step: Step[Lead]) -> Customer:
    raise NotImplementedError


@intake.step(Effect.CREATE, after=[find], idempotent=True, effect_key=lambda step: "")
def nameless(step: Step[Lead]) -> None:
    raise NotImplementedError


def step_for(host: FakeHost, name: str = "CREATE") -> Step[Any]:
    return intake.handlers[name].step(host)


def test_the_input_is_decoded_once() -> None:
    host = FakeHost()
    step = step_for(host)
    assert step.input == Lead(id="x")
    assert step.input is step.input
    assert host.asked == ["input"]


def test_an_output_is_decoded_once_and_without_io() -> None:
    host = FakeHost(outputs={"FIND": '{"id":7}'})
    step = step_for(host)
    assert step.output(find) == Customer(id=7)
    assert step.output(find) is step.output(find)
    assert host.asked == ["output FIND"]


@pytest.mark.parametrize("other", [beside, create])
def test_reading_a_step_that_is_not_upstream_names_both(other: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"step CREATE reads the output of {other.name}.*Add {other.name} to its after"):
        step_for(FakeHost()).output(other)


def test_a_skipped_step_has_no_output() -> None:
    with pytest.raises(NotFound, match="Step FIND of run r1 has no output"):
        step_for(FakeHost()).output(find)


def test_an_output_that_no_longer_fits_says_so() -> None:
    with pytest.raises(InvalidInput, match="output of FIND does not fit"):
        step_for(FakeHost(outputs={"FIND": '{"id":"x"}'})).output(find)


def test_the_key_is_the_runs_or_the_business_key_of_the_definition() -> None:
    assert step_for(FakeHost(), "FIND").key == "r1:CREATE"
    host = FakeHost(outputs={"FIND": '{"id":7}'})
    step = step_for(host)
    assert (step.key, step.key) == ("x:7", "x:7")
    with pytest.raises(InvalidInput, match="effect_key of CREATE"):
        _ = step_for(FakeHost(), "NAMELESS").key


def test_the_plain_attributes_are_there_also_when_the_attempt_has_ended() -> None:
    step = step_for(FakeHost(ended=True), "FIND")
    assert (step.run_id, step.attempt, step.correlation_id, step.cancel_requested) == ("r1", 1, "c1", False)
    assert step.remaining == timedelta(0)
    assert step_for(FakeHost()).remaining == timedelta(seconds=12.5)


def test_every_call_of_an_ended_attempt_raises() -> None:
    host = FakeHost(ended=True, outputs={"FIND": '{"id":7}'})
    step = step_for(host)
    artifact = Artifact("a0", "x", "", 0)
    calls: list[Callable[[], object]] = [
        lambda: step.output(find),
        lambda: step.evidence(a=1),
        lambda: step.save("x", "y"),
        lambda: step.read(artifact),
        lambda: step.emit(told, Customer(id=7), key="k"),
    ]
    for call in calls:
        with pytest.raises(AttemptEnded, match="Stop the work"):
            call()
    assert (host.facts, host.content) == ([], {})


def test_evidence_is_json_and_what_cannot_be_kept_is_refused() -> None:
    host = FakeHost()
    step_for(host).evidence(model="m", tokens=[1, 2], done=True, cost=None)
    assert host.facts == ['{"model":"m","tokens":[1,2],"done":true,"cost":null}']
    with pytest.raises(UnstorableValue, match=r"\$\.score"):
        step_for(host).evidence(score=float("nan"))


def test_content_is_saved_and_read_back() -> None:
    host = FakeHost()
    step = step_for(host)
    artifact = step.save("report.md", "# 보고서")
    assert (artifact.name, artifact.size, len(artifact.sha256)) == ("report.md", 11, 64)
    assert step.read(artifact).decode() == "# 보고서"
    assert step.read(step.save("raw", b"\xff")) == b"\xff"


# ── events, and why a run is undone ──


told = Event("TOLD", Customer)


def test_an_event_is_handed_to_the_host() -> None:
    host = FakeHost()
    step_for(host).emit(told, Customer(id=7), key="k")
    assert host.emitted == [("TOLD", "k", '{"id":7}')]


def test_what_only_looks_sends_no_event() -> None:
    host = FakeHost(looks=True)
    with pytest.raises(DefinitionError, match="Step CREATE in run r1 cannot send TOLD here: a probe, a check or a draft only looks"):
        step_for(host).emit(told, Customer(id=7), key="k")
    assert host.emitted == []


@pytest.mark.parametrize("key", ["", "x" * 513, "a\nb", 3])
def test_an_event_has_a_key(key: Any) -> None:
    with pytest.raises(InvalidInput, match="key of the event TOLD"):
        step_for(FakeHost()).emit(told, Customer(id=7), key=key)


def test_a_payload_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UnstorableValue, match="payload of TOLD"):
        step_for(FakeHost()).emit(told, 7, key="k")  # type: ignore[arg-type]


def test_an_undo_knows_why_and_what_its_approver_was_shown() -> None:
    failure = Failure("SUBMIT", "CARD_DECLINED", "no")
    step = step_for(FakeHost(failure=failure, drafted='{"text": "sorry"}'))
    assert (step.cause, step.draft) == (failure, {"text": "sorry"})
    assert (step_for(FakeHost()).cause, step_for(FakeHost()).draft) == (None, None)


# ── one row ──


class Cursor:
    def __init__(self, rowcount: int) -> None:
        self.rowcount = rowcount


@pytest.mark.parametrize("changed", [1, Cursor(1)])
def test_one_row_was_changed(changed: Any) -> None:
    one_row(changed)


@pytest.mark.parametrize("changed", [0, 2, -1, Cursor(0)])
def test_a_row_at_another_version_is_a_conflict_that_is_not_repeated(changed: Any) -> None:
    with pytest.raises(VersionConflict, match="one row at one version") as caught:
        one_row(changed)
    assert isinstance(caught.value, StepFailed)
    assert caught.value.code == "VERSION_CONFLICT"


# ── a run, from outside ──


def run(**outputs: str) -> Run[Lead]:
    return Run(
        id="r1",
        type="LEAD_INTAKE",
        version=1,
        key="lead:x",
        status=RunStatus.RUNNING,
        input=Lead(id="x"),
        failure=None,
        created=True,
        outputs=outputs,
        steps={"FIND": "SUCCESS", "CREATE": "FAILED"},
    )


def test_a_run_gives_the_outputs_of_its_steps() -> None:
    assert run(FIND='{"id":7}').output(find) == Customer(id=7)
    with pytest.raises(NotFound, match="Step CREATE of run r1 has no output: it is FAILED"):
        run().output(create)
    with pytest.raises(NotFound, match="has no step BESIDE"):
        run().output(beside)
    assert repr(run()) == "<run r1 of LEAD_INTAKE: RUNNING>"
