"""H1: an AI task with a scripted model on a real git repository: a loop with an end, a budget, approval, commit, push, and its undo."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from halfway import Run, RunStatus
from tests.engine.harness import Harness, until

GOOD = "def add(a, b):\n    return a + b\n"
BAD = "def add(a, b):\n    return a - b\n"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    from examples import ai_task

    return ai_task


@pytest.fixture
def checkout(tmp_path: Path) -> Any:
    from examples.checkout import Checkout

    return Checkout.scratch(tmp_path)


def script(example: Any, monkeypatch: pytest.MonkeyPatch, *contents: str, path: str = "calc.py") -> Any:
    """A model that writes each of these in a turn of its own."""
    from examples.agent import Action, Scripted

    actions = [action for content in contents for action in (Action("write", path, content), Action("done"))]
    model = Scripted(actions)
    monkeypatch.setattr(example, "model", model)
    return model


def start(h: Harness, example: Any, checkout: Any, **options: Any) -> Run[Any]:
    return h.start(example.ai_task, example.Task(id="t-1", goal="Write add()", folder=str(checkout.folder), **options))


def test_it_fixes_until_the_tests_are_green_and_commits_what_was_approved(
    harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(example, monkeypatch, BAD, BAD, GOOD)
    h = harness(example.ai_task)
    run = start(h, example, checkout, commit=True, push=True)
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
        assert checkout.log() == ["The beginning"]
        h.app.control.approve(run.id, "APPROVE_COMMIT", actor="kim", reason="good")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert checkout.log() == ["Write add()", "The beginning"]
    assert checkout.is_pushed(checkout.head())
    steps = {step.name: step for step in h.app.control.show(run.id).steps}
    assert steps["FIX"].round == 3
    assert [one.status for one in steps["FIX"].rounds] == ["SKIPPED", "SUCCESS"]
    assert len([row for row in h.app.store.calls.of_run(run.id) if row.tool == "run_tests"]) == 3


def test_without_a_commit_nobody_is_asked(harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    script(example, monkeypatch, GOOD)
    h = harness(example.ai_task)
    run = h.drain(start(h, example, checkout))
    assert run.status is RunStatus.SUCCESS
    assert checkout.log() == ["The beginning"]
    assert {one.name for one in h.app.control.show(run.id).steps if one.status == "SKIPPED"} == {
        "FIX", "APPROVE_COMMIT", "OPTIONAL_COMMIT", "PUSH",
    }  # fmt: skip


def test_after_three_fixes_a_person_decides(harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = script(example, monkeypatch, BAD, BAD, BAD, BAD, BAD)
    h = harness(example.ai_task)
    run = h.drain(start(h, example, checkout))
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert h.app.control.show(run.id).explanation.reasons[0].code == "ROUNDS_SPENT_ASKS"
    assert len(model.actions) == 2  # one for MODIFY, three for FIX


def test_an_agent_that_wants_to_leave_its_checkout_hands_over(
    harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(example, monkeypatch, "x", path="../beside.py")
    h = harness(example.ai_task)
    run = h.drain(start(h, example, checkout))
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert h.record(run, "MODIFY").asks == "developer"
    assert not (checkout.folder.parent / "beside.py").exists()


def test_a_push_that_fails_is_tried_again_and_the_commit_is_not(
    harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-H3."""
    script(example, monkeypatch, GOOD)
    h = harness(example.ai_task)
    run = start(h, example, checkout, commit=True, push=True)
    remote = checkout.folder.parent / "remote.git"
    shutil.move(remote, f"{remote}.away")
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
        h.app.control.approve(run.id, "APPROVE_COMMIT", actor="kim", reason="good")
        until(lambda: (h.advance(1), h.status(run) in (RunStatus.FAILED, RunStatus.MANUAL_REQUIRED))[1], "the push is given up")
        committed = checkout.head()
        shutil.move(f"{remote}.away", remote)
        if h.record(run, "PUSH").status == "UNKNOWN":
            h.app.control.retry(run.id, "PUSH", actor="kim", reason="it is back", not_happened=True, evidence="the remote was away")
        else:
            h.app.control.resume(run.id, actor="kim", reason="it is back")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert checkout.head() == committed
    assert checkout.log() == ["Write add()", "The beginning"]
    assert checkout.is_pushed(committed)


@pytest.mark.parametrize("pushed", [False, True])
def test_the_undo_of_a_commit_resets_before_the_push_and_reverts_afterwards(
    harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch, pushed: bool
) -> None:
    """R-H3, R-D2."""
    script(example, monkeypatch, GOOD)
    h = harness(example.ai_task)
    run = start(h, example, checkout, commit=True, push=pushed)
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
        h.app.control.approve(run.id, "APPROVE_COMMIT", actor="kim", reason="good")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
        h.app.control.compensate(run.id, actor="kim", reason="not wanted")
        until(lambda: h.record(run, "OPTIONAL_COMMIT", kind=_undo()) is not None)
        h.app.control.approve(run.id, "OPTIONAL_COMMIT", actor="lee", reason="take it back")
        until(lambda: h.status(run) is RunStatus.COMPENSATED)
    reverted = ['Revert "Write add()"', "Write add()", "The beginning"]
    assert checkout.log() == (reverted if pushed else ["The beginning"])
    assert checkout.is_pushed(checkout.head())


def _undo() -> Any:
    from halfway.domain.run import Kind

    return Kind.COMPENSATION


def test_a_resume_looks_whether_what_it_builds_on_is_as_it_was(
    harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-B6: a tree that was changed since is tested again; work of another prompt or policy is a person's matter."""
    model = script(example, monkeypatch, GOOD)
    h = harness(example.ai_task)

    def down(prompt: str) -> tuple[str, int]:
        raise ConnectionError("the model is away")

    monkeypatch.setattr(model, "say", lambda prompt: down(prompt) if prompt.startswith("Review") else ("fine", 1))
    run = start(h, example, checkout)
    with h.worker():
        until(lambda: (h.advance(1), h.status(run) is RunStatus.FAILED)[1], "the review fails")
    monkeypatch.setattr(model, "say", lambda prompt: ("fine", 1))
    (checkout.folder / "more.py").write_text("x = 1\n")
    h.app.control.resume(run.id, actor="kim", reason="the model is back")
    with h.worker():
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert len([row for row in h.app.store.calls.of_run(run.id) if row.tool == "run_tests"]) == 2


def test_work_of_another_policy_is_not_built_on(
    harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(example, monkeypatch, GOOD)
    h = harness(example.ai_task)
    run = start(h, example, checkout, commit=True)
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
        h.app.control.cancel(run.id, actor="kim", reason="later")
        until(lambda: h.status(run) is RunStatus.CANCELLED)
        monkeypatch.setattr(example, "POLICY_VERSION", "another one")
        h.app.control.resume(run.id, actor="kim", reason="now")
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
    assert h.app.control.show(run.id).explanation.reasons[0].code == "CHECK_FAILED"


def test_more_than_the_budget_stops_the_agent(harness: type[Harness], example: Any, checkout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = script(example, monkeypatch, GOOD)
    model.tokens = 150_000
    h = harness(example.ai_task)
    run = h.drain(start(h, example, checkout))
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert h.record(run, "PLAN").code == "AI_BUDGET_EXCEEDED"
