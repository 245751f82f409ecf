"""What waits for people, what they decide, and what an order would do, told beforehand."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import pytest

from halfway.app import Halfway
from tests.cli.conftest import Project, wait_for
from tests.cli.test_refusals import asking, doubtful, failed

# ── plans ──


def test_a_plan_says_what_runs_again_and_how_it_is_confirmed(office: Project) -> None:
    run = failed(office)
    plan = office.json("plan", run, "resume")
    assert {**plan, "hash": "", "confirm": ""} == {
        "workflowRunId": run, "type": "JOB", "revision": 3, "hash": "", "before": "FAILED", "after": "RUNNING", "again": ["LOOK"],
        "checked": [], "probed": [], "kept": [], "ahead": ["MAKE"], "dropped": [], "items": [], "ready": ["LOOK"], "undone": [],
        "approvals": [], "action": "resume", "step": None, "confirm": "",
    }  # fmt: skip
    told = office.run("plan", run, "resume").stdout
    for line in (
        f"resume: JOB {run}, revision 3",
        "The run is FAILED and would then be RUNNING.",
        "Runs again: LOOK",
        "Does not run again: nothing",
        "Runs afterwards, if the others succeed: MAKE",
        "Can start at once: LOOK",
        f"Hash of this plan: {plan['hash']}",
        f"halfway resume {run} --plan {plan['hash']} --reason '…'",
    ):
        assert line in told
    assert office.json("show", run)["revision"] == 3
    assert office.run("resume", run, "--plan", plan["hash"], "--reason", "r").exit_code == 0


def test_plans_and_the_inbox_speak_korean(desk: Project) -> None:
    run = doubtful(desk)
    told = desk.run("plan", run, "retry", "MAKE", "--not-happened", "--lang", "ko").stdout
    assert "실행은 지금 MANUAL_REQUIRED이고, 그다음에는 RUNNING입니다." in told
    assert "다시 실행함: MAKE" in told
    inbox = desk.run("inbox", "--lang", "ko").stdout
    assert "결정하는 역할: finance" in inbox
    assert "저절로 진행 중: 없음. 실패: 0." in inbox


def test_a_plan_names_probes_and_people_on_the_way(desk: Project) -> None:
    run = doubtful(desk)
    told = desk.run("plan", run, "cancel").stdout
    assert "A person must decide about MAKE: finance" in told
    assert "Does not run again: LOOK" in told
    again = desk.json("plan", run, "retry", "MAKE", "--not-happened", "--gone")
    assert again["again"] == ["MAKE"]
    assert again["confirm"].startswith(f"halfway retry {run} MAKE --not-happened --gone --evidence '…' --plan ")
    settled = desk.json("plan", run, "mark-success", "MAKE")
    assert (settled["kept"], settled["after"]) == (["LOOK", "MAKE"], "SUCCESS")
    assert "--output '…' --evidence '…' --plan" in settled["confirm"]


def test_a_plan_says_what_is_undone_and_what_cannot_be(office: Project) -> None:
    run = asking(office)
    assert office.run("approve", run, "AGREE", "--reason", "r", "--as", "fin").exit_code == 0
    assert office.work_until(run) == ["SUCCESS"]
    plan = office.json("plan", run, "compensate")
    assert [(one["step"], one["fate"], one["risk"]) for one in plan["undone"]] == [
        ("CHARGE", "APPROVAL", "HIGH"),
        ("PACK", "UNDONE", "LOW"),
    ]
    told = office.run("plan", run, "compensate").stdout
    assert "CHARGE: its compensation undoes it (risk HIGH), once finance has approved that" in told
    assert "PACK: its compensation undoes it (risk LOW)" in told
    back = office.json("plan", run, "compensate", "--from", "CHARGE")
    assert [(one["step"], one["fate"]) for one in back["undone"]] == [("CHARGE", "APPROVAL"), ("PACK", "KEPT")] or back["undone"]
    assert f"halfway compensate {run} --from CHARGE --plan {back['hash']} --reason '…'" == back["confirm"]


def test_everything_is_undone_step_by_step_with_approval(office: Project) -> None:
    run = asking(office)
    office.run("approve", run, "AGREE", "--reason", "r", "--as", "fin")
    assert office.work_until(run) == ["SUCCESS"]
    done = office.json("compensate", run, "--reason", "the customer has gone")
    assert (done["action"], done["before"], done["after"]) == ("compensate", "SUCCESS", "MANUAL_REQUIRED")
    told = office.run("inbox").stdout
    assert "approval  DEAL the compensation of CHARGE" in told
    shown = office.json("inbox")["entries"][0]["runs"][0]
    assert office.run("approve", run, "CHARGE", "--seen", shown["shownHash"], "--reason", "r", "--as", "fin").exit_code == 0
    assert office.work_until(run) == ["COMPENSATED"]


def test_a_cancelled_run_is_undone_if_that_is_asked_for(desk: Project) -> None:
    run = asking(desk)
    plan = desk.json("plan", run, "cancel", "--compensate")
    assert plan["undone"][0]["step"] == "PACK"
    assert desk.run("cancel", run, "--compensate", "--plan", plan["hash"], "--reason", "r").exit_code == 0
    assert desk.work_until(run) == ["COMPENSATED"]


# ── single steps ──


def test_a_step_is_skipped_and_probed(office: Project) -> None:
    run = failed(office)
    assert office.json("skip", run, "LOOK", "--reason", "not needed")["after"] == "RUNNING"
    assert office.work_until(run) == ["PARTIAL_SUCCESS"]
    lost = doubtful(office)
    (office.folder / "broken").unlink()
    assert office.json("probe", lost, "MAKE", "--reason", "the shelf is open")["after"] == "RUNNING"
    assert office.work_until(lost) == ["SUCCESS"]
    assert office.json("show", lost)["output"] == 7


def test_a_corrected_input_is_checked_and_used(desk: Project) -> None:
    run = failed(desk)
    wrong = desk.run("retry", run, "LOOK", "--input", '{"do": "work"}', "--reason", "r")
    assert (wrong.exit_code, "The input of JOB is not valid" in wrong.stderr) == (2, True)
    assert desk.run("retry", run, "LOOK", "--input", '{"id": "j-1", "do": "work"}', "--reason", "typing error").exit_code == 0
    assert desk.work_until(run) == ["SUCCESS"]
    assert desk.json("show", run)["input"] == {"id": "j-1", "do": "work"}


# ── the inbox ──


def test_the_inbox_groups_what_stands_at_the_same_step(office: Project) -> None:
    runs = [doubtful(office, f"k-{number}") for number in range(2)]
    told = office.run("inbox").stdout
    assert "decision  JOB MAKE  TIMEOUT_ERROR  × 2" in told
    assert "decides: finance" in told
    assert "Look at: the box; the probe: The box." in told
    assert all(run in told for run in runs)
    assert "halfway batch create mark-not-happened --type JOB --step MAKE --role finance --code TIMEOUT_ERROR" in told
    assert "By itself: nothing. Failed: 0." in told
    [entry] = office.json("inbox")["entries"]
    assert (entry["step"], entry["asked"], entry["role"], len(entry["runs"])) == ("MAKE", "DECISION", "finance", 2)
    assert office.json("inbox", "--role", "nobody")["entries"] == []


def test_the_inbox_shows_an_approval_with_what_it_is_bound_to(office: Project) -> None:
    run = asking(office)
    office.begin("JOB", "moving")
    [entry] = office.json("inbox")["entries"]
    [one] = entry["runs"]
    assert (entry["asked"], one["shown"], one["runbook"]) == ("APPROVAL", {"pay": "d-1"}, None)
    told = office.run("inbox").stdout
    assert 'shown: {"pay": "d-1"}' in told
    assert f"halfway approve {run} AGREE --seen {one['shownHash']} --reason '…'" in told
    assert "By itself: PENDING 1. Failed: 0." in told
    plan = office.json("plan", run, "approve", "AGREE", "--as", "fin")
    assert plan["confirm"] == f"halfway approve {run} AGREE --seen {one['shownHash']} --reason '…'"
    assert office.run("reject", run, "AGREE", "--seen", one["shownHash"], "--reason", "too much", "--as", "fin").exit_code == 0
    assert office.work_until(run) == ["CANCELLED"]


def test_the_inbox_says_the_runbook_and_can_be_asked_by_a_script(desk: Project) -> None:
    assert desk.run("inbox", "--check").exit_code == 0
    assert "Nothing waits for a person." in desk.run("inbox").stderr
    run = desk.begin("DEAL", "d-1", "lose-pack")
    desk.work_until(run)
    assert desk.run("inbox").exit_code == 0
    checked = desk.run("inbox", "--check")
    assert checked.exit_code == 5
    assert "runbook: Call the bank first." in checked.stdout
    assert desk.run("inbox", "--check", "--json").exit_code == 5


def test_waiting_for_a_run_ends_where_only_an_approval_is_missing(desk: Project) -> None:
    app = desk.app
    with Halfway(desk.url, workflows=list(app.workflows.values()), settings=app.settings).worker():
        desk.run("event", "send", "PAID", "--key", "w-1", "--id", "1", "--payload", '{"amount": 1}')
        result = desk.run("start", "DEAL", "--input", '{"id": "w-1"}', "--as", "kim", "--wait")
    assert result.exit_code == 5, result.stderr
    assert "Step AGREE waits for finance to approve it." in result.stderr
    assert desk.json("show", "w-1")["startedBy"] == "kim"


def test_waiting_goes_on_while_something_may_still_come(desk: Project) -> None:
    app = desk.app
    with Halfway(desk.url, workflows=list(app.workflows.values()), settings=app.settings).worker():
        process = desk.process("start", "DEAL", "--input", '{"id": "w-2"}', "--wait")
        wait_for(lambda: _status(desk, "w-2") == "WAITING" or None)
        assert process.poll() is None
        desk.run("event", "send", "PAID", "--key", "w-2", "--id", "1", "--payload", '{"amount": 1}')
        assert process.wait(timeout=30) == 5


def _status(project: Project, key: str) -> str:
    found = project.run("show", key, "--json")
    return str(json.loads(found.stdout)["status"]) if found.exit_code == 0 else ""


# ── events ──


def test_an_event_reaches_the_run_that_waits_once(office: Project) -> None:
    run = office.begin("DEAL", "d-1")
    assert office.work_until(run) == ["WAITING"]
    send = ("event", "send", "PAID", "--key", "d-1", "--id", "p-1", "--payload", '{"amount": 5}')
    first, again = office.json(*send), office.json(*send)
    assert (first["state"], first["created"], first["workflowRunId"]) == ("DELIVERED", True, run)
    assert again == {**first, "created": False}
    assert "It was received before under this id; nothing was changed." in office.run(*send).stderr
    [row] = office.json("event", "list", "--key", "d-1")
    assert (row["payload"], row["workflowRunId"], row["source"]) == ({"amount": 5}, run, "PAID")
    assert office.json("event", "list", "--unused") == []


def test_an_event_that_nobody_waits_for_is_kept_or_told(desk: Project) -> None:
    kept = desk.run("event", "send", "PAID", "--key", "later", "--id", "1", "--payload", '{"amount": 5}')
    assert (kept.exit_code, "It is kept until somebody waits for it" in kept.stderr) == (0, True)
    run = desk.begin("DEAL", "gone")
    desk.work_until(run)
    desk.run("cancel", run, "--reason", "r")
    late = desk.run("event", "send", "PAID", "--key", "gone", "--id", "2", "--payload", '{"amount": 5}')
    assert late.exit_code == 4
    assert f"It is stored, but nobody gets it: run {run} waited for such an event, and waits no longer." in late.stderr
    assert {row["key"] for row in desk.json("event", "list", "--unused")} == {"later", "gone"}


def test_an_event_needs_no_code(office: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(office.folder.parent)
    sent = office.json("event", "send", "OTHER", "--key", "k", "--id", "1", "--payload", '{"a": [1]}', "--url", office.url)
    assert sent["state"] == "KEPT"
    assert office.json("event", "list", "--url", office.url)[0]["payload"] == {"a": [1]}
    assert "no such events" in office.run("event", "list", "--name", "NONE", "--url", office.url).stderr


# ── roles, restored databases, the doctor ──


def test_check_wants_members_for_every_role(ruled: Project) -> None:
    assert ruled.run("check").exit_code == 0
    file = ruled.folder / "pyproject.toml"
    file.write_text(file.read_text().replace('finance = ["fin", "fay"]', "finance = []"))
    told = ruled.run("check")
    assert told.exit_code == 2
    assert "role-without-members" in told.stdout
    specs = json.loads(ruled.run("check", "--json").stdout)
    assert ("error", "role-without-members") in {(one["level"], one["code"]) for spec in specs for one in spec["findings"]}


def test_check_says_that_no_roles_are_named(desk: Project) -> None:
    told = desk.run("check")
    assert told.exit_code == 0
    assert "No roles are named" in told.stderr


def test_a_restored_database_is_told_to_every_open_run(office: Project) -> None:
    office.begin("JOB", "r-1")
    asked = office.run("db", "restored", input="n\n")
    assert (asked.exit_code, asked.stdout) == (130, "")
    assert office.json("db", "restored", "--yes") == {"runs": 1}
    told = office.run("db", "restored", input="y\n")
    assert told.stdout.strip() == "1"
    assert "Workers that still run must be stopped and started again." in told.stderr


def test_the_doctor_sees_what_nobody_heard_of_and_what_could_not_start(office: Project) -> None:
    file = office.folder / f"{office.module}.py"
    file.write_text(file.read_text().replace("settings=times", "settings=times, notify=[deaf]"))
    run = doubtful(office)
    assert office.json("event", "send", "ASKED", "--key", "a", "--id", "1", "--payload", '{"amount": -1}')["created"]
    app = office.app
    with app.worker():
        wait_for(lambda: app.store.attention.failed_tasks() or None)
    app.close()
    notes = {note["code"]: note for note in office.json("doctor")}
    assert notes["UNDELIVERED"]["level"] == notes["TASK_FAILED"]["level"] == "problem"
    assert f"PERSON_NEEDED of run {run}) was not handed over to finance" in notes["UNDELIVERED"]["message"]
    assert "EVENT ASKED (key a) should start a run of JOB" in notes["TASK_FAILED"]["message"]
    assert "OSError: no route to them" in office.run("doctor").stdout


def test_the_doctor_counts_events_that_nobody_took(desk: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.run("event", "send", "PAID", "--key", "old", "--id", "1", "--payload", '{"amount": 5}')
    assert "UNUSED_EVENTS" not in {note["code"] for note in desk.json("doctor")}
    later = time.time() + timedelta(days=2).total_seconds()
    monkeypatch.setattr("halfway.control.desk.time.time", lambda: later)
    assert "UNUSED_EVENTS" in {note["code"] for note in desk.json("doctor")}
    assert "the oldest PAID with the key old" in desk.run("doctor").stdout
