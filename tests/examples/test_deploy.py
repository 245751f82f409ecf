"""A release is built, approved, rolled out and watched; and it comes back only if a person says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from halfway import Halfway, Run, RunStatus
from halfway.errors import Conflict, NotAllowed
from tests.engine.harness import until
from tests.examples.conftest import Stage, said

ROLES = {"release-manager": ["dan", "rita"], "operator": ["olga"]}


@pytest.fixture
def example(load: Callable[[str], Any]) -> Any:
    return load("deploy")


@pytest.fixture
def app(stage: Stage, example: Any) -> Iterator[Halfway]:
    with stage.open(example.deploy, roles=ROLES) as app:
        yield app


def asked(stage: Stage, example: Any) -> Run[Any]:
    """A release that dan wants, and that nobody has approved."""
    return stage.play(example.deploy, example.Release(service="shop", sha="4f2a91c"), actor="dan")


def approved(stage: Stage, example: Any) -> Run[Any]:
    run = asked(stage, example)
    stage.app.control.approve(run.id, "APPROVE_RELEASE", actor="rita", reason="reviewed")
    return stage.again(run)


def sick(stage: Stage, example: Any) -> Run[Any]:
    """A release that was rolled out and is never healthy."""
    example.cluster.is_broken = True
    return approved(stage, example)


def test_nothing_is_rolled_out_before_a_second_person_has_approved(stage: Stage, example: Any, app: Halfway) -> None:
    run = asked(stage, example)
    assert run.status is RunStatus.WAITING
    (asking,) = app.control.inbox(role="release-manager")
    assert (asking.asked, asking.shown) == ("APPROVAL", {"image": "app:4f2a91c", "replaces": "app:0"})
    with pytest.raises(Conflict, match="dan has asked for this run"):
        app.control.approve(run.id, "APPROVE_RELEASE", actor="dan", reason="it is urgent")
    with pytest.raises(NotAllowed):
        app.control.approve(run.id, "APPROVE_RELEASE", actor="olga", reason="it looks good")
    assert example.cluster.requests == []
    app.control.approve(run.id, "APPROVE_RELEASE", actor="rita", reason="reviewed", seen=asking.shown_hash)
    run = stage.again(run)
    assert run.status is RunStatus.SUCCESS
    assert run.output(example.approve_release).by == "rita"
    assert run.output(example.roll_out) == example.Rollout(image="app:4f2a91c", before="app:0")
    assert stage.step(run, "ROLL_OUT").evidence == ({"before": "app:0", "after": "app:4f2a91c", "approved_by": "rita"},)


def test_silence_is_not_approval(stage: Stage, example: Any, app: Halfway) -> None:
    run = asked(stage, example)
    stage.later(timedelta(hours=25))
    until(lambda: app.get(example.deploy, run.id).status is RunStatus.CANCELLED, "the approval has expired")
    assert example.cluster.requests == []


def test_a_lost_roll_out_is_seen_in_what_runs(stage: Stage, example: Any, app: Halfway) -> None:
    example.cluster.answers_to_lose = 1
    assert approved(stage, example).status is RunStatus.SUCCESS
    assert example.cluster.requests == ["deploy app:4f2a91c"]


def test_if_something_else_runs_the_release_manager_decides(stage: Stage, example: Any, app: Halfway) -> None:
    def lost_and_overtaken(image: str) -> None:
        example.cluster.running = "app:hotfix"
        example.cluster.answers_to_lose = 1
        example.cluster.answer(f"deploy {image}")

    example.cluster.deploy = lost_and_overtaken
    run = approved(stage, example)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert [(one.step, one.role) for one in app.control.inbox()] == [("ROLL_OUT", "release-manager")]
    assert example.cluster.requests == ["deploy app:4f2a91c"]


def test_a_build_whose_answer_is_lost_is_asked_for_again(stage: Stage, example: Any, app: Halfway) -> None:
    example.ci.answers_to_lose = 1
    assert approved(stage, example).status is RunStatus.SUCCESS
    assert len(example.ci.images) == 1


def test_a_release_that_is_never_healthy_goes_back_only_with_an_approval(stage: Stage, example: Any, app: Halfway) -> None:
    run = sick(stage, example)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert example.cluster.running == "app:4f2a91c"
    (asking,) = app.control.inbox(role="release-manager")
    assert (asking.step, asking.kind, asking.asked) == ("ROLL_OUT", "COMPENSATION", "APPROVAL")
    with pytest.raises(NotAllowed):
        app.control.approve(run.id, "ROLL_OUT", actor="olga", reason="customers see errors")
    app.control.approve(run.id, "ROLL_OUT", actor="rita", reason="customers see errors", seen=asking.shown_hash)
    assert stage.again(run).status is RunStatus.COMPENSATED
    assert example.cluster.requests == ["deploy app:4f2a91c", "deploy app:0"]


def test_a_lost_roll_back_is_seen_in_what_runs(stage: Stage, example: Any, app: Halfway) -> None:
    run = sick(stage, example)
    example.cluster.answers_to_lose = 1
    app.control.approve(run.id, "ROLL_OUT", actor="rita", reason="customers see errors")
    assert stage.again(run).status is RunStatus.COMPENSATED
    assert example.cluster.requests == ["deploy app:4f2a91c", "deploy app:0"]


def test_a_roll_back_that_never_arrived_is_a_decision_again(stage: Stage, example: Any, app: Halfway) -> None:
    run = sick(stage, example)
    example.cluster.requests_to_lose = 1
    app.control.approve(run.id, "ROLL_OUT", actor="rita", reason="customers see errors")
    assert stage.again(run).status is RunStatus.MANUAL_REQUIRED
    assert example.cluster.running == "app:4f2a91c"
    (asking,) = app.control.inbox(role="release-manager")
    assert (asking.asked, asking.code) == ("DECISION", "NO_ANSWER")
    seen = {"reason": "the request was lost", "evidence": "the cluster runs app:4f2a91c"}
    app.control.retry(run.id, "ROLL_OUT", not_happened=True, actor="rita", **seen)
    assert [one.asked for one in app.control.inbox()] == ["APPROVAL"]  # the one before was for the attempt that is lost
    app.control.approve(run.id, "ROLL_OUT", actor="rita", reason="customers still see errors")
    assert stage.again(run).status is RunStatus.COMPENSATED
    assert example.cluster.running == "app:0"


def test_a_release_that_somebody_else_has_rolled_out_meanwhile_is_not_replaced(stage: Stage, example: Any, app: Halfway) -> None:
    run = sick(stage, example)
    example.cluster.running = "app:hotfix"
    app.control.approve(run.id, "ROLL_OUT", actor="rita", reason="customers see errors")
    assert stage.again(run).status is RunStatus.MANUAL_REQUIRED
    assert example.cluster.running == "app:hotfix"
    assert [one.message.code for one in app.control.incidents()] == ["OVERTAKEN"]
    app.control.skip(run.id, "ROLL_OUT", actor="rita", reason="the hotfix is what we want")
    assert stage.again(run).status is RunStatus.COMPENSATED


def test_it_runs_by_itself(stage: Stage, example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(stage.url)
    shown, refused, *rest = said(capsys)
    assert shown == "WAITING: {'image': 'app:4f2a91c', 'replaces': 'app:0'}"
    assert refused.endswith("dan has asked for this run, and APPROVE_RELEASE needs another person.")
    assert rest == [
        "SUCCESS: app:4f2a91c runs, though the answer of its roll-out was lost; deploys sent: 1",
        "MANUAL_REQUIRED: app:b03d7e5 is not healthy, and going back waits for release-manager",
        "COMPENSATED: app:4f2a91c runs again",
    ]
