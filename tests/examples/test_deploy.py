"""A release is built, rolled out and watched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples import deploy as example
from halfway import Halfway, RunStatus
from tests.examples.conftest import Stage, empty

RELEASE = example.Release(service="shop", sha="4f2a91c")


@pytest.fixture
def app(stage: Stage) -> Iterator[Halfway]:
    empty(example.ci, example.cluster)
    with stage.open(example.deploy) as app:
        yield app


def deploys() -> list[str]:
    return [request for request in example.cluster.requests if request.startswith("deploy")]


def test_it_waits_until_the_release_is_healthy(stage: Stage, app: Halfway) -> None:
    run = stage.play(example.deploy, RELEASE)
    assert run.status is RunStatus.SUCCESS
    assert run.output(example.roll_out) == example.Rollout(image="app:4f2a91c", before="app:0")
    assert example.cluster.looks_until_healthy == -1


def test_a_lost_roll_out_is_seen_in_what_runs(stage: Stage, app: Halfway) -> None:
    example.cluster.answers_to_lose = 1
    assert stage.play(example.deploy, RELEASE).status is RunStatus.SUCCESS
    assert deploys() == ["deploy app:4f2a91c"]


def test_if_something_else_runs_the_release_manager_decides(stage: Stage, app: Halfway, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost_and_overtaken(image: str) -> None:
        example.cluster.running = "app:hotfix"
        example.cluster.answers_to_lose = 1
        example.cluster.answer(f"deploy {image}")

    monkeypatch.setattr(example.cluster, "deploy", lost_and_overtaken)
    run = stage.play(example.deploy, RELEASE)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert [step.waits_for for step in app.control.show(run.id).steps if step.waits_for] == ["release-manager"]
    assert deploys() == ["deploy app:4f2a91c"]


def test_a_build_whose_answer_is_lost_is_asked_for_again(stage: Stage, app: Halfway) -> None:
    example.ci.answers_to_lose = 1
    assert stage.play(example.deploy, RELEASE).status is RunStatus.SUCCESS
    assert len(example.ci.images) == 1


def test_it_runs_by_itself(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    empty(example.ci, example.cluster)
    example.main(stage.path)
    assert capsys.readouterr().out.splitlines() == ["SUCCESS: app:4f2a91c runs, before it app:0; deploys sent: 1"]
