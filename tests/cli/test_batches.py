"""Orders for many runs: looked at first, carried out once each, stopped in time, and told one by one."""

from __future__ import annotations

import pytest

from halfway.cli.place import control
from halfway.control.outcomes import BatchShown, Step
from halfway.errors import DatabaseError
from tests.cli.conftest import Project, wait_for
from tests.cli.test_refusals import asking


def failing(project: Project, count: int) -> list[str]:
    (project.folder / "broken").touch()
    runs = [project.begin("JOB", f"f-{number}", "fail") for number in range(count)]
    assert set(project.work_until(*runs)) == {"FAILED"}
    return runs


def doubtful(project: Project, count: int) -> list[str]:
    (project.folder / "broken").touch()
    runs = [project.begin("JOB", f"k-{number}", "lose") for number in range(count)]
    assert set(project.work_until(*runs)) == {"MANUAL_REQUIRED"}
    return runs


def made(project: Project, *arguments: str) -> str:
    result = project.run("batch", "create", *arguments, "--reason", "the shelf is open", "--as", "ops")
    assert result.exit_code == 0, result.stderr
    return result.stdout.strip()


def test_a_batch_is_looked_at_kept_and_carried_out(office: Project) -> None:
    runs = failing(office, 3)
    seen = office.json("batch", "plan", "retry", "--code", "LOCKED")
    assert [(one["workflowRunId"], one["step"], one["plan"]["after"]) for one in seen] == [(run, "LOOK", "RUNNING") for run in runs]
    dry = office.run("batch", "create", "retry", "--code", "LOCKED", "--reason", "r", "--dry-run")
    assert (dry.exit_code, "FAILED → RUNNING" in dry.stdout) == (0, True)
    assert "Runs: 3; would be refused: 0. Nothing was changed." in dry.stderr
    assert office.json("batch", "list") == []
    (office.folder / "broken").unlink()
    batch = made(office, "retry", "--code", "LOCKED", "--type", "JOB", "--version", "1", "--since", "2h", "--status", "failed")
    assert {office.json("show", run)["status"] for run in runs} == {"FAILED"}
    told = office.run("batch", "run", batch)
    assert told.exit_code == 0, told.stderr
    assert "DONE  DONE 3" in told.stdout
    assert set(office.work_until(*runs)) == {"SUCCESS"}
    shown = office.json("batch", "show", batch[-8:])
    assert (shown["state"], shown["actorId"], shown["reason"], shown["counts"]) == ("DONE", "ops", "the shelf is open", {"DONE": 3})
    assert shown["filter"] | {"since": ""} == {"errorCode": "LOCKED", "type": "JOB", "version": 1, "status": "FAILED", "since": ""}
    assert [(item["n"], item["before"], item["after"], item["status"]) for item in shown["items"]] == [
        (number, "FAILED", "RUNNING", "SUCCESS") for number in (1, 2, 3)
    ]
    log = office.json("audit-log", "--actor", "ops")
    assert [(line["action"], line["reason"]) for line in log] == [("retry", "the shelf is open")] * 3
    assert "retry" in office.run("batch", "list").stdout


def test_what_is_refused_is_told_and_ordered_again(desk: Project) -> None:
    runs = failing(desk, 2)
    batch = made(desk, "resume", "--code", "LOCKED")
    assert desk.run("resume", runs[0], "--reason", "somebody was faster").exit_code == 0
    told = desk.run("batch", "run", batch)
    assert told.exit_code == 4
    assert "resume does not apply to run" in told.stdout
    items = desk.json("batch", "show", batch)["items"]
    assert [(item["state"], item.get("code")) for item in items] == [("REFUSED", "ACTION_REFUSED"), ("DONE", None)]
    assert set(desk.work_until(*runs)) == {"FAILED"}
    (desk.folder / "broken").unlink()
    again = desk.json("batch", "retry-failed", batch, "--reason", "once more", "--as", "own")
    assert [item["workflowRunId"] for item in again["items"]] == runs  # one was refused, the other has failed anew
    assert again["filter"] == {"failedOf": batch}
    assert desk.run("batch", "run", again["id"]).exit_code == 0
    assert set(desk.work_until(*runs)) == {"SUCCESS"}
    ended = desk.run("batch", "run", batch)
    assert (ended.exit_code, "is DONE: it has ended." in ended.stderr) == (4, True)
    assert desk.run("batch", "retry-failed", again["id"], "--reason", "r").exit_code == 3


def test_a_doubt_is_settled_for_many_with_evidence(office: Project) -> None:
    runs = doubtful(office, 2)
    (office.folder / "broken").unlink()
    found = ("--step", "MAKE", "--role", "finance", "--evidence", "both boxes are there", "--output", "7")
    batch = made(office, "mark-success", *found)
    assert office.run("batch", "run", batch).exit_code == 0
    assert [office.json("show", run)["output"] for run in runs] == [7, 7]
    assert {line["evidence"] for line in office.json("audit-log")} == {"both boxes are there"}


def test_an_output_that_does_not_fit_is_refused_for_each(desk: Project) -> None:
    doubtful(desk, 1)
    batch = made(desk, "mark-success", "--step", "MAKE", "--evidence", "e", "--output", '"many"')
    assert desk.run("batch", "run", batch).exit_code == 4
    assert desk.json("batch", "show", batch)["items"][0]["code"] == "VALUE_INVALID"


def test_what_did_not_happen_is_tried_again_for_many(desk: Project) -> None:
    runs = doubtful(desk, 2)
    plan = desk.json("batch", "plan", "mark-not-happened", "--code", "TIMEOUT_ERROR", "--evidence", "no box")
    assert [one["plan"]["again"] for one in plan] == [["MAKE"], ["MAKE"]]
    batch = made(desk, "mark-not-happened", "--code", "TIMEOUT_ERROR", "--evidence", "no box")
    assert desk.run("batch", "run", batch).exit_code == 0
    assert {desk.json("show", run)["steps"][1]["status"] for run in runs} == {"PENDING"}


def test_probes_and_cancels_are_ordered_for_many(desk: Project) -> None:
    runs = doubtful(desk, 2)
    (desk.folder / "broken").unlink()
    assert desk.run("batch", "run", made(desk, "probe", "--role", "finance")).exit_code == 0
    assert set(desk.work_until(*runs)) == {"SUCCESS"}
    waiting = desk.begin("DEAL", "d-1")
    desk.work_until(waiting)
    assert desk.run("batch", "run", made(desk, "cancel", "--type", "DEAL", "--compensate")).exit_code == 0
    assert desk.work_until(waiting) == ["COMPENSATED"]


def test_nothing_is_approved_in_bulk(desk: Project) -> None:
    asking(desk)
    for action in ("skip", "retry", "probe"):
        assert desk.json("batch", "plan", action, "--step", "AGREE", "--status", "WAITING") == []
    empty = desk.run("batch", "create", "skip", "--role", "finance", "--reason", "r")
    assert (empty.exit_code, "No run fits" in empty.stderr) == (3, True)
    assert "no such runs" in desk.run("batch", "plan", "skip", "--role", "finance").stderr


def test_a_period_that_is_over_holds_no_run(desk: Project) -> None:
    failing(desk, 1)
    assert desk.json("batch", "plan", "retry", "--until", "1h") == []
    assert len(desk.json("batch", "plan", "retry", "--since", "2020-01-01T00:00:00Z")) == 1
    assert desk.json("batch", "plan", "retry", "--type", "JOB", "--version", "2") == []


def test_every_item_needs_its_own_permission(ruled: Project) -> None:
    runs = doubtful(ruled, 1)
    arguments = ("mark-not-happened", "--step", "MAKE", "--evidence", "e", "--reason", "r")
    nobody = ruled.run("batch", "create", *arguments, "--as", "nobody")
    assert (nobody.exit_code, "nobody may not batch." in nobody.stderr) == (7, True)
    batch = ruled.run("batch", "create", *arguments, "--as", "ops").stdout.strip()
    assert ruled.run("batch", "run", batch, "--as", "nobody").exit_code == 7
    assert ruled.run("batch", "run", batch, "--as", "ops").exit_code == 4
    assert ruled.json("batch", "show", batch)["items"][0]["code"] == "NOT_ALLOWED"
    assert ruled.json("audit-log", "--run", runs[0])[0]["refused"].startswith("ops may not settle")


# ── stopping, resting, going on ──


def carried(project: Project, batch: str, steps: list[Step]) -> BatchShown:
    app = project.app

    def told(step: Step) -> None:
        steps.append(step)

    with app.worker(), control(None, None, code=True) as runs:
        shown = runs.batches.run(batch, actor="ops", told=told)
    app.close()
    return shown


def test_it_stops_after_so_many_that_failed_anew(office: Project) -> None:
    runs = failing(office, 5)
    batch = made(office, "retry", "--code", "LOCKED", "--stop-after", "2")
    steps: list[Step] = []
    shown = carried(office, batch, steps)
    assert shown.row.state == "STOPPED"
    assert shown.row.counts == {"DONE": 2, "WAITING": 3}
    assert [one.fails_anew for one in shown.items] == [True, True, False, False, False]
    assert {step.item is None for step in steps} == {True, False}
    assert [office.json("show", run)["steps"][0]["attemptCount"] for run in runs] == [2, 2, 1, 1, 1]
    assert office.run("batch", "run", batch).exit_code == 4
    (office.folder / "broken").unlink()
    again = office.json("batch", "retry-failed", batch, "--reason", "the shelf is open now", "--as", "ops")
    assert (len(again["items"]), again["stopAfter"]) == (5, 2)
    assert carried(office, again["id"], []).row.state == "DONE"
    assert set(office.work_until(*runs)) == {"SUCCESS"}


def test_a_batch_rests_and_goes_on(desk: Project) -> None:
    failing(desk, 3)
    batch = made(desk, "retry", "--code", "LOCKED", "--rate", "60")
    slept: list[float] = []

    def rest(seconds: float) -> None:
        slept.append(seconds)
        assert desk.run("batch", "pause", batch).exit_code == 0

    with control(None, None, code=True) as runs:
        assert runs.batches.run(batch, actor="ops", sleep=rest).row.state == "PAUSED"
    assert slept == [1.0]
    assert desk.json("batch", "show", batch)["counts"] == {"DONE": 1, "WAITING": 2}
    with control(None, None, code=True) as runs:
        assert runs.batches.run(batch, actor="ops", sleep=slept.append).row.state == "DONE"
    assert slept == [1.0, 1.0]
    refused = desk.run("batch", "pause", batch)
    assert (refused.exit_code, "only a batch that is READY or RUNNING can be paused." in refused.stderr) == (4, True)


def test_whoever_goes_on_after_a_crash_does_nothing_twice(office: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = failing(office, 3)
    batch = made(office, "retry", "--code", "LOCKED")
    with control(None, None, code=True) as found:
        rows = found.batches._rows
        monkeypatch.setattr(rows, "finish", _killed)  # after an order was given, before its outcome was kept
        with pytest.raises(DatabaseError):
            found.batches.run(batch, actor="ops")
    assert office.json("batch", "show", batch)["state"] == "RUNNING"
    assert office.run("batch", "run", batch).exit_code == 0
    assert office.json("batch", "show", batch)["counts"] == {"DONE": 3}
    assert len(office.json("audit-log", "--action", "retry")) == 3
    assert [office.json("show", run)["steps"][0]["attemptCount"] for run in runs] == [1, 1, 1]


def _killed(*outcome: object) -> bool:
    raise DatabaseError("DATABASE_UNREACHABLE", url="here", problem="it was killed.")


def test_a_killed_process_is_gone_on_with(desk: Project) -> None:
    failing(desk, 3)
    batch = made(desk, "retry", "--code", "LOCKED", "--rate", "1")
    process = desk.process("batch", "run", batch)
    wait_for(lambda: desk.json("batch", "show", batch)["counts"].get("DONE"), of=process)
    process.kill()
    process.wait()
    with control(None, None, code=True) as runs:
        assert runs.batches.run(batch, actor="ops", sleep=lambda seconds: None).row.counts == {"DONE": 3}
    assert len(desk.json("audit-log", "--action", "retry")) == 3
