"""What is refused by hand: one clear line and its exit code, nothing changed, and kept in the audit log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Project


def audit(project: Project, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.json("audit-log", "--run", run)
    return found


def state(project: Project, run: str) -> tuple[object, ...]:
    shown = project.json("show", run)
    return shown["status"], shown["revision"], [step["status"] for step in shown["steps"]]


def refused(project: Project, run: str, code: int, told: str, *arguments: str, audited: bool = True) -> None:
    """The order is refused in one line, and nothing but the audit log has moved."""
    before, lines = state(project, run), len(audit(project, run))
    result = project.run(*arguments)
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert state(project, run) == before
    log = audit(project, run)
    assert len(log) == lines + audited
    if audited:
        assert told in log[0]["refused"]
        assert log[0]["before"] == log[0]["after"]


def doubtful(project: Project, id: str = "k-1") -> str:
    """A run that nobody knows about."""
    (project.folder / "broken").touch()
    run = project.begin("JOB", id, "lose", "--as", "kim")
    assert project.work_until(run) == ["MANUAL_REQUIRED"]
    return run


def failed(project: Project, id: str = "j-1") -> str:
    (project.folder / "broken").touch()
    run = project.begin("JOB", id, "fail", "--as", "kim")
    assert project.work_until(run) == ["FAILED"]
    return run


def asking(project: Project, id: str = "d-1") -> str:
    """A run that waits for an approval."""
    run = project.begin("DEAL", id, "work", "--as", "kim")
    project.work_until(run)
    assert project.run("event", "send", "PAID", "--key", id, "--id", f"p-{id}", "--payload", '{"amount": 5}', "--as", "ops").exit_code == 0
    assert project.work_until(run) == ["WAITING"]
    return run


EVIDENCE = ("--evidence", "the box is not there", "--reason", "looked")


def test_the_wrong_role_is_refused(ruled: Project) -> None:
    run = doubtful(ruled)
    not_happened = ("retry", run, "MAKE", "--not-happened", *EVIDENCE)
    refused(ruled, run, 7, "ops may not settle run", *not_happened, "--as", "ops")
    refused(ruled, run, 7, "Ask somebody who holds the role finance.", "mark-success", run, "MAKE", *EVIDENCE, "--as", "own")
    refused(ruled, run, 7, "nobody may not cancel run", "cancel", run, "--reason", "r", "--as", "nobody")
    refused(ruled, run, 7, "ops may not skip run", "skip", run, "MAKE", "--reason", "r", "--as", "ops")
    assert ruled.run("mark-success", run, "MAKE", "--output", "7", *EVIDENCE, "--as", "fin").exit_code == 0


def test_who_may_approve_is_asked_before_the_step_is_looked_at(ruled: Project) -> None:
    run = asking(ruled)
    refused(ruled, run, 7, "ops may not approve run", "approve", run, "AGREE", "--reason", "r", "--as", "ops")
    refused(ruled, run, 7, "own may not reject run", "reject", run, "AGREE", "--reason", "r", "--as", "own")
    assert ruled.run("approve", run, "AGREE", "--reason", "r", "--as", "fin").exit_code == 0


def test_who_may_not_send_events_does_not(ruled: Project) -> None:
    result = ruled.run("event", "send", "PAID", "--key", "k", "--id", "1", "--payload", '{"amount": 1}', "--as", "nobody")
    assert (result.exit_code, result.stdout) == (7, "")
    assert result.stderr == "halfway: nobody may not send-event. Ask somebody who holds the role operator.\n"
    assert ruled.json("event", "list") == []


def test_the_roles_of_the_app_count_where_the_project_names_none(desk: Project) -> None:
    file = desk.folder / f"{desk.module}.py"
    file.write_text(file.read_text().replace("settings=times", 'settings=times, roles={"finance": ["fin"], "shop-owner": ["own"]}'))
    run = asking_as(desk)
    refused(desk, run, 7, "eve may not approve run", "approve", run, "AGREE", "--reason", "r", "--as", "eve")


def asking_as(project: Project) -> str:
    run = project.begin("DEAL", "d-9", "work", "--as", "kim")
    project.work_until(run)
    return run


def test_what_has_moved_since_it_was_seen_is_refused(office: Project) -> None:
    run = failed(office)
    revision = office.json("show", run)["revision"]
    refused(office, run, 4, "has changed since it was looked at", "resume", run, "--expected", str(revision - 1), "--reason", "r")
    assert office.run("resume", run, "--expected", str(revision), "--reason", "r").exit_code == 0


def test_an_outdated_plan_is_refused(office: Project) -> None:
    run = failed(office)
    plan = office.json("plan", run, "resume")
    refused(office, run, 4, "is outdated", "resume", run, "--plan", "0" * 16, "--reason", "r")
    refused(office, run, 4, "is outdated", "retry", run, "LOOK", "--plan", plan["hash"], "--reason", "r")
    assert office.run("resume", run, "--plan", plan["hash"], "--reason", "r").exit_code == 0
    assert office.work_until(run) == ["FAILED"]
    refused(office, run, 4, "is outdated", "resume", run, "--plan", plan["hash"], "--reason", "r")


def test_a_second_decision_is_refused(desk: Project) -> None:
    run = asking(desk)
    refused(desk, run, 4, "is not what you saw", "approve", run, "AGREE", "--seen", "0" * 32, "--reason", "r", "--as", "fin")
    refused(desk, run, 4, "kim has asked for this run, and AGREE needs another person.", "approve", run, "AGREE", "--reason", "r",
            "--as", "kim")  # fmt: skip
    assert desk.run("approve", run, "AGREE", "--reason", "r", "--as", "fin").exit_code == 0
    assert desk.work_until(run) == ["SUCCESS"]
    refused(desk, run, 4, "AGREE is already decided, it is SUCCESS.", "approve", run, "AGREE", "--reason", "r", "--as", "fay")
    refused(desk, run, 4, "AGREE is already decided, it is SUCCESS.", "reject", run, "AGREE", "--reason", "r", "--as", "fay")


def test_an_action_id_is_carried_out_once(desk: Project) -> None:
    run = failed(desk)
    assert desk.run("resume", run, "--reason", "r", "--action-id", "a-1").exit_code == 0
    refused(desk, run, 4, "Action a-1 was already carried out", "resume", run, "--reason", "r", "--action-id", "a-1", audited=False)
    desk.work_until(run)
    refused(desk, run, 4, "Action a-1 was already carried out", "resume", run, "--reason", "r", "--action-id", "a-1", audited=False)
    assert [line["refused"] for line in audit(desk, run)] == [None]


APPLIES_NOT = [
    (("resume",), "nobody knows yet whether MAKE happened."),
    (("retry", "LOOK"), "step LOOK is SUCCESS."),
    (("retry", "MAKE"), "nobody knows whether step MAKE happened."),
    (("skip", "MAKE"), "nobody knows whether step MAKE happened."),
    (("approve", "MAKE"), "nobody is asked to approve MAKE; it is UNKNOWN."),
    (("reject", "LOOK"), "nobody is asked to approve LOOK; it is SUCCESS."),
    (("probe", "LOOK"), "step LOOK has no probe."),
    (("release", "MAKE", "--evidence", "e"), "step MAKE holds no business record."),
    (("mark-success", "LOOK", "--output", '"x"', "--evidence", "e"), "step LOOK is SUCCESS."),
    (("compensate", "--from", "LOOK"), "step LOOK has done nothing that could be undone."),
]


def test_an_order_that_does_not_apply_is_refused_with_the_reason(desk: Project) -> None:
    run = doubtful(desk)
    for (action, *more), told in APPLIES_NOT:
        refused(desk, run, 4, told, action, run, *more, "--reason", "r")


def test_unknown_runs_and_steps_are_told(desk: Project) -> None:
    run = doubtful(desk)
    for action in ("retry", "skip", "probe", "approve", "reject"):
        refused(desk, run, 3, "has no step NOWHERE. Its steps: LOOK, MAKE.", action, run, "NOWHERE", "--reason", "r", audited=False)
        assert "There is no run nobody" in desk.run(action, "nobody", "MAKE", "--reason", "r").stderr
    refused(desk, run, 3, "has no step NOWHERE", "plan", run, "skip", "NOWHERE", audited=False)
    for arguments in (["batch", "run", "nothing"], ["batch", "show", "nothing"], ["batch", "pause", "nothing"]):
        result = desk.run(*arguments)
        assert (result.exit_code, "There is no batch nothing." in result.stderr) == (3, True)


def test_a_refusal_is_told_in_korean_and_kept_in_english(desk: Project) -> None:
    run = doubtful(desk)
    result = desk.run("retry", run, "LOOK", "--reason", "r", "--lang", "ko")
    assert result.exit_code == 4
    assert "LOOK 단계의 상태가 SUCCESS입니다." in result.stderr
    assert "step LOOK is SUCCESS." in audit(desk, run)[0]["refused"]


def test_a_refusal_as_json_has_code_and_parameters(desk: Project) -> None:
    run = failed(desk)
    told = json.loads(desk.run("resume", run, "--expected", "1", "--reason", "r", "--json").stderr)
    assert (told["code"], told["params"]["expected"]) == ("REVISION_STALE", 1)


MISUSED = [
    (["plan", "RUN", "resume", "LOOK"], "resume is about the whole run."),
    (["plan", "RUN", "retry"], "retry needs a step: halfway plan RUN retry STEP"),
    (["plan", "RUN", "skip", "LOOK", "--gone"], "--gone means nothing to skip."),
    (["plan", "RUN", "cancel", "--from", "LOOK"], "--from means nothing to cancel."),
    (["retry", "RUN", "LOOK", "--not-happened", "--evidence", "e", "--input", "{}", "--reason", "r"], "--input does not go with"),
    (["release", "RUN", "MAKE", "--reason", "r"], "release needs --evidence"),
    (["skip", "RUN", "LOOK"], "--reason"),
    (["batch", "create", "retry", "--code", "X"], "--reason"),
    (["batch", "create", "retry", "--code", "X", "--evidence", "e", "--reason", "r"], "--evidence means nothing to retry."),
    (["batch", "create", "retry", "--reason", "r"], "it would be for every run."),
    (["batch", "create", "mark-not-happened", "--code", "X", "--reason", "r"], "a decision needs evidence."),
    (["batch", "create", "approve", "--code", "X", "--reason", "r"], "approve"),
    (["batch", "create", "retry", "--since", "soon", "--reason", "r"], "soon is no time."),
    (["event", "send", "PAID", "--key", "k", "--id", "1", "--payload", "{"], "The payload of PAID does not fit its type"),
    (["event", "send", "OTHER", "--key", "k", "--id", "1", "--payload", "{"], "it is not valid JSON"),
    (["event", "send", "OTHER", "--key", "k", "--id", "1", "--payload", "NaN"], "it is not valid JSON"),
    (["event", "send", "OTHER", "--key", "", "--id", "1"], "cannot be used as a key"),
]


@pytest.mark.parametrize(("arguments", "told"), MISUSED, ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "")
def test_a_command_that_means_nothing_is_one_line(desk: Project, arguments: list[str], told: str) -> None:
    run = desk.begin("JOB", "m-1")
    result = desk.run(*(run if word == "RUN" else word for word in arguments))
    assert (result.exit_code, result.stdout) == (2, ""), result.stderr
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
