"""Schedules on the command line: listed, paused, started by hand, and made up for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Project, _project, wait_for

FLOW = """
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel

from halfway import Effect, Halfway, Settings, Step, Workflow

BROKEN = Path(__file__).parent / "broken"


class Order(BaseModel):
    due: datetime


reports = Workflow("REPORT", Order, version=1, owner="desk", key=lambda order: order.due.isoformat())


@reports.schedule("0 18 * * *", tz="Asia/Seoul", catch_up="ALL")
def daily(due: datetime) -> Order | None:
    if BROKEN.exists():
        raise OSError("the calendar is away")
    return None if due.day == 13 else Order(due=due)


@reports.schedule(every=timedelta(hours=6), name="LOOK")
def look_around(due: datetime) -> Order:
    return Order(due=due)


@reports.step(Effect.READ)
def look(step: Step[Order]) -> None: ...


times = Settings(beat=0.2, lease=3.0, sweep=0.2, stall=4.0, poll=0.05, settle=0.1, grace=1.0)
app = Halfway("URL", workflows=[reports], settings=times)
"""
WHY = ("--reason", "holidays")

pytestmark = pytest.mark.usefixtures("begun_day")


@pytest.fixture
def timed(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project with schedules, registered, and the clock a month later: nothing has started a run yet."""
    for project in _project(url, tmp_path, monkeypatch, flow=FLOW, roles='[tool.halfway.roles]\ndesk = ["kim"]\n'):
        app = project.app
        app.store.advance_clock(int(timedelta(days=31).total_seconds()) * 1_000_000)
        app.close()
        monkeypatch.setenv("HALFWAY_ACTOR", "kim")
        yield project


def days(project: Project, first: int, last: int) -> tuple[str, str]:
    """Days of the database's time, so many ago."""
    app = project.app
    now = datetime.fromtimestamp(app.store.now() / 1e6, UTC)
    app.close()
    return str((now - timedelta(days=first)).date()), str((now - timedelta(days=last)).date())


def test_schedules_are_listed_with_the_times_at_which_they_are_due(timed: Project) -> None:
    daily, look = timed.json("schedule", "list")
    assert (daily["type"], daily["name"], daily["state"], daily["cron"], daily["zone"]) == (
        "REPORT", "DAILY", "ACTIVE", "0 18 * * *", "Asia/Seoul",
    )  # fmt: skip
    assert [one[10:] for one in daily["next"]] == ["T09:00:00.000000Z"] * 3
    assert (look["name"], look["everySeconds"], look["catchUp"], look["overlap"]) == ("LOOK", 21600.0, "ONE", "START")
    told = timed.run("schedule", "list").stdout
    assert "T18:00:00+09:00" in told
    assert "every 6:00:00" in told
    assert timed.run("schedule", "list", "--type", "NONE").stderr == "There are no schedules.\n"


def test_an_unknown_schedule_is_not_found(timed: Project) -> None:
    result = timed.run("schedule", "show", "REPORT", "HOURLY")
    assert (result.exit_code, result.stderr.split(".")[0]) == (3, "halfway: Workflow REPORT has no schedule HOURLY")


def test_a_schedule_rests_and_goes_on(timed: Project) -> None:
    paused = timed.json("schedule", "pause", "REPORT", "LOOK", *WHY)
    assert (paused["state"], paused["next"]) == ("PAUSED", [])
    again = timed.run("schedule", "pause", "REPORT", "LOOK", *WHY)
    assert (again.exit_code, "it is PAUSED" in again.stderr) == (4, True)
    assert timed.json("schedule", "resume", "REPORT", "LOOK", *WHY)["state"] == "ACTIVE"
    told = [(line["action"], line["workflowRunId"], line["actorId"], line["before"], line["after"]) for line in timed.json("audit-log")]
    assert told == [
        ("schedule-resume", "schedule:REPORT/LOOK", "kim", "PAUSED", "ACTIVE"),
        ("schedule-pause", "schedule:REPORT/LOOK", "kim", "PAUSED", "PAUSED"),
        ("schedule-pause", "schedule:REPORT/LOOK", "kim", "ACTIVE", "PAUSED"),
    ]
    assert "it is PAUSED" in timed.json("audit-log")[1]["refused"]
    assert timed.run("audit-log").exit_code == 0


def test_who_holds_no_role_may_not_order_and_that_is_kept(timed: Project) -> None:
    for words in (("schedule", "pause"), ("schedule", "trigger"), ("backfill", "--from", "2026-01-01", "--to", "2026-01-02")):
        order = [words[0], *words[1:2]] if words[0] == "schedule" else [words[0]]
        more = () if words[0] == "schedule" else words[1:]
        assert timed.run(*order, "REPORT", "LOOK", *more, *WHY, "--as", "eve").exit_code == 7
    assert [line["actorId"] for line in timed.json("audit-log") if line["refused"]] == ["eve"] * 3


def test_a_run_is_started_by_hand(timed: Project) -> None:
    told = timed.run("schedule", "trigger", "REPORT", "LOOK", *WHY)
    assert told.exit_code == 0, told.stderr
    run = timed.json("show", told.stdout.strip())
    assert (run["type"], run["startedBy"]) == ("REPORT", "kim")
    [tick] = timed.json("schedule", "show", "REPORT", "LOOK")["ticks"]
    assert (tick["outcome"], tick["origin"], tick["workflowRunId"]) == ("STARTED", "TRIGGER", run["id"])
    assert "TRIGGER" in timed.run("schedule", "show", "REPORT", "LOOK").stdout


def test_a_reason_is_asked_for(timed: Project) -> None:
    assert timed.run("schedule", "pause", "REPORT", "LOOK").exit_code == 2
    assert timed.run("backfill", "REPORT", "DAILY", "--from", "2026-01-01", "--to", "2026-01-02").exit_code == 2


# ── times that have passed ──


def test_a_backfill_is_foreseen_started_and_gone_on_with(timed: Project) -> None:
    first, last = days(timed, 4, 2)
    between = ("REPORT", "LOOK", "--from", first, "--to", last)
    foreseen = timed.json("backfill", *between, "--dry-run")
    assert [one["started"] for one in foreseen] == [False] * 12
    assert "without a run: 12" in timed.run("backfill", *between, "--dry-run").stderr
    app = timed.app
    with app.worker():
        done = timed.json("backfill", *between, "--concurrency", "3", *WHY)
    app.close()
    assert (done["ticks"], done["had"] + done["started"], done["failed"]) == (12, 12, [])
    again = timed.json("backfill", *between, *WHY)
    assert (again["had"], again["started"]) == (12, 0)
    inputs = [timed.json("show", run["id"])["input"]["due"] for run in timed.json("runs", "--limit", "100")]
    assert len(set(inputs)) == len(inputs) >= 12
    assert {one["due"][:19] for one in foreseen} <= {one[:19] for one in inputs}


def test_a_backfill_waits_while_too_many_are_open(timed: Project) -> None:
    first, last = days(timed, 4, 3)
    process = timed.process("backfill", "REPORT", "LOOK", "--from", first, "--to", last, "--concurrency", "2", *WHY)
    app = timed.app
    wait_for(lambda: app.store.schedules.open("REPORT", "LOOK") == 2 or None, of=process)
    process.kill()
    process.wait()
    assert app.store.schedules.open("REPORT", "LOOK") == 2
    with app.worker():
        done = timed.json("backfill", "REPORT", "LOOK", "--from", first, "--to", last, "--concurrency", "2", *WHY)
    app.close()
    assert done["had"] + done["started"] == 8


def test_a_time_for_which_no_run_can_be_made_stops_no_other(timed: Project) -> None:
    first, last = days(timed, 20, 17)
    (timed.folder / "broken").touch()
    result = timed.run("backfill", "REPORT", "DAILY", "--from", first, "--to", last, *WHY, "--json")
    assert result.exit_code == 4
    done = json.loads(result.stdout)
    assert [one["error"] for one in done["failed"]] == ["OSError: the calendar is away"] * 4
    (timed.folder / "broken").unlink()
    done = timed.json("backfill", "REPORT", "DAILY", "--from", first, "--to", last, "--concurrency", "9", *WHY)
    assert done["started"] + done["declined"] == 4


def test_a_run_ordered_by_hand_that_cannot_be_made_is_refused_and_that_is_kept(timed: Project) -> None:
    (timed.folder / "broken").touch()
    result = timed.run("schedule", "trigger", "REPORT", "DAILY", *WHY)
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith(
        "halfway: schedule-trigger does not apply to schedule DAILY of REPORT: no run can be made for 20"
    ), result.stderr  # fmt: skip
    assert "Z: OSError: the calendar is away. Correct its function" in result.stderr
    [line] = timed.json("audit-log")
    assert (line["action"], line["workflowRunId"]) == ("schedule-trigger", "schedule:REPORT/DAILY")
    assert "OSError: the calendar is away" in line["refused"]
    assert timed.json("schedule", "show", "REPORT", "DAILY")["ticks"] == []


@pytest.mark.parametrize("text", ["yesterday", "2026-10-01T18:00:00"])
def test_a_time_without_a_zone_is_refused(timed: Project, text: str) -> None:
    result = timed.run("backfill", "REPORT", "DAILY", "--from", text, "--to", "2026-10-02", *WHY)
    assert (result.exit_code, "is no time" in result.stderr) == (2, True)


def test_without_the_code_a_schedule_can_be_looked_at_but_starts_nothing(timed: Project) -> None:
    (timed.folder / "pyproject.toml").unlink()
    where = ("--url", timed.url)
    assert len(timed.json("schedule", "list", *where)) == 2
    assert timed.json("schedule", "pause", "REPORT", "LOOK", *WHY, *where)["state"] == "PAUSED"
    result = timed.run("schedule", "trigger", "REPORT", "LOOK", *WHY, *where)
    assert (result.exit_code, "the code of REPORT:v1 is not here" in result.stderr) == (4, True)


def test_the_doctor_sees_a_schedule_that_nobody_looks_at_and_one_that_fails(timed: Project) -> None:
    late = {note["code"] for note in timed.json("doctor")}
    assert "SCHEDULE_LATE" in late
    (timed.folder / "broken").touch()
    app = timed.app
    with app.worker():
        wait_for(lambda: any(one.error for one in app.control.schedules.list()) or None)
    app.close()
    [note] = [note for note in timed.json("doctor") if note["code"] == "SCHEDULE_FAILED"]
    assert note["params"] == {"schedule": "DAILY", "type": "REPORT", "error": "OSError: the calendar is away"}
