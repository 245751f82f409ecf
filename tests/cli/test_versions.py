"""What the code at hand means for open runs, and moving them to a later version."""

from __future__ import annotations

import json

from halfway.app import Halfway
from tests.cli.conftest import Project
from tests.cli.versions import deploy


def parked(project: Project, *ids: str, do: str = "work") -> list[str]:
    """Runs of the first version that wait for their payment."""
    runs = [project.start(id, do) for id in ids]
    assert project.work_until(*runs) == ["WAITING"] * len(runs)
    return runs


def paid(project: Project, run: str, id: str) -> None:
    result = project.run("event", "send", "PAID", "--key", id, "--id", f"p-{id}", "--payload", '{"amount": 1}')
    assert result.exit_code == 0, result.stderr


def test_a_check_says_that_open_runs_go_on(deployed: Project) -> None:
    [run] = parked(deployed, "o-1")
    result = deployed.run("check", "--live")
    assert result.exit_code == 0
    assert "compatible  ORDER v1" in result.stdout
    assert run in result.stdout
    assert "open runs: 1 go on with this code, 0 must be moved first, 0 would stand" in result.stderr


def test_a_check_refuses_a_deploy_that_would_strand_runs(deployed: Project) -> None:
    runs = parked(deployed, "o-1", "o-2")
    deploy(deployed.folder, deployed.module, "bare")
    result = deployed.run("check", "--live")
    assert result.exit_code == 4
    for line in (
        "blocked  ORDER v1",
        "WAITING at PAYMENT: 2 runs",
        "step SHIP has no code here: it was removed",
        "→ Keep workers with the old code until these runs have ended, or serve both versions: workflows=[old, new].",
        "→ Or raise the version and say with @workflow.takes_over(old, at={…}) what becomes of these runs.",
    ):
        assert line in result.stdout
    told = deployed.run("check", "--live", "--json")
    assert told.exit_code == 4
    [group] = json.loads(told.stdout)["live"]
    assert (group["standing"], group["runs"], sorted(group["examples"])) == ("BLOCKED", 2, sorted(runs))
    assert group["lacking"] == [{"step": "SHIP", "changes": [{"code": "REMOVED", "message": "it was removed"}]}]


def test_a_check_says_which_runs_must_be_moved(deployed: Project) -> None:
    parked(deployed, "o-1")
    deploy(deployed.folder, deployed.module, "new")
    result = deployed.run("check", "--live")
    assert result.exit_code == 5
    assert "needs a move  ORDER v1" in result.stdout
    assert "step SHIP has no code here: the workflow's input has another shape" in result.stdout
    assert "Version 2 takes them over: halfway move --all-of ORDER:1 --to 2 --dry-run" in result.stdout
    deploy(deployed.folder, deployed.module, "old", "new")
    assert deployed.run("check", "--live").exit_code == 0


def test_a_run_is_moved_as_its_plan_says(deployed: Project) -> None:
    [run] = parked(deployed, "o-1")
    deploy(deployed.folder, deployed.module, "new")
    plan = deployed.json("move", run, "--dry-run")
    assert {**plan, "hash": ""} == {
        "workflowRunId": run, "type": "ORDER", "idempotencyKey": "o-1", "status": "WAITING", "revision": plan["revision"], "version": 1,
        "toVersion": 2, "kept": [{"step": "RESERVE_STOCK", "was": "RESERVE"}], "outputMade": ["RESERVE_STOCK"], "goesOn": [],
        "waitsAnew": [{"step": "PAYMENT", "was": "PAYMENT"}], "leftBehind": [], "ahead": ["PAYMENT", "SHIP"], "problems": [], "hash": "",
    }  # fmt: skip
    told = deployed.run("move", run, "--dry-run").stdout
    for line in (
        f"move: ORDER {run}, from version 1 to 2",
        "Is kept and does not run again: RESERVE → RESERVE_STOCK",
        "Begins to wait anew: PAYMENT",
        f"halfway move {run} --to 2 --plan {plan['hash']} --reason '…'",
    ):
        assert line in told
    assert deployed.json("show", run)["version"] == 1
    assert deployed.run("move", run).exit_code == 2
    assert deployed.run("move", run, "--plan", "0" * 16, "--reason", "r").exit_code == 4
    assert deployed.run("move", run, "--to", "2", "--plan", plan["hash"], "--reason", "v2", "--as", "kim").exit_code == 0
    paid(deployed, run, "o-1")
    assert deployed.work_until(run) == ["SUCCESS"]
    shown = deployed.json("show", run)
    assert (shown["version"], shown["output"], shown["idempotencyKey"]) == (2, "1 of 3", "o-1")
    assert shown["input"] == {"id": "o-1", "weight": 3}
    orders = [(line["action"], line["actorId"], line["before"]) for line in shown["audit"] if line["refused"] is None]
    assert orders == [("move", "kim", "WAITING")]
    assert deployed.run("move", run, "--reason", "again").exit_code == 4


def test_many_runs_are_moved_and_each_has_its_outcome(deployed: Project) -> None:
    [doubtful] = parked(deployed, "o-1", do="lose")
    paid(deployed, doubtful, "o-1")
    assert deployed.work_until(doubtful) == ["MANUAL_REQUIRED"]
    others = parked(deployed, "o-2", "o-3")
    deploy(deployed.folder, deployed.module, "new")
    dry = deployed.run("move", "--all-of", "ORDER:1", "--dry-run")
    assert dry.exit_code == 4
    assert "moved: 0, can be moved: 2, cannot: 1" in dry.stderr
    assert "Nobody knows yet whether step SHIP happened." in dry.stdout
    told = deployed.run("move", "--all-of", "ORDER:1", "--reason", "v2", "--json")
    assert told.exit_code == 4
    rows = {row["workflowRunId"]: row["moved"] for row in json.loads(told.stdout)}
    assert rows == {doubtful: False, **dict.fromkeys(others, True)}
    assert [deployed.json("show", run)["version"] for run in (doubtful, *others)] == [1, 2, 2]
    retry = deployed.run("retry", doubtful, "SHIP", "--not-happened", "--gone", "--evidence", "none", "--reason", "r")
    assert retry.exit_code == 0, retry.stderr
    assert deployed.run("move", "--all-of", "ORDER:1", "--reason", "v2").exit_code == 0
    assert deployed.work_until(doubtful) == ["SUCCESS"]


def test_a_move_is_typed_in_one_of_two_ways(deployed: Project) -> None:
    assert deployed.run("move", "--dry-run").exit_code == 2
    assert deployed.run("move", "x", "--all-of", "ORDER:1", "--dry-run").exit_code == 2
    assert deployed.run("move", "--all-of", "ORDER", "--dry-run").exit_code == 2
    assert deployed.run("move", "--all-of", "ORDER:1", "--plan", "x", "--reason", "r").exit_code == 2
    [run] = parked(deployed, "o-1")
    assert deployed.run("move", run, "--to", "7", "--dry-run").exit_code == 3
    assert deployed.run("move", run, "--reason", "r").exit_code == 4  # no version here takes it over
    for form in ((), ("--json",)):
        dry = deployed.run("move", run, "--dry-run", *form)
        assert (dry.exit_code, "Version 1 says nothing about runs of version 1." in dry.stdout) == (4, True)


def test_why_a_run_cannot_be_moved_is_told_in_the_language_of_the_reader(deployed: Project) -> None:
    [run] = parked(deployed, "o-1", do="lose")
    paid(deployed, run, "o-1")
    assert deployed.work_until(run) == ["MANUAL_REQUIRED"]
    refused = deployed.run("move", run, "--reason", "r", "--lang", "ko").stderr
    assert "버전 1은(는) 버전 1의 실행에 대해 아무것도 정하지 않았습니다." in refused, refused
    assert "Nobody knows" not in refused
    assert "says nothing" not in refused
    assert isinstance(deployed.app, Halfway)
