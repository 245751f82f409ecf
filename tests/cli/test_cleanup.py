"""`halfway cleanup`, and what the other commands say about a run whose history was deleted (R-F6)."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import psycopg
import pytest

from halfway.cli.cleanup import NOTES, progress, stoppable
from halfway.control.cleaning import Progress
from halfway.errors import Exit
from halfway.ports import Old
from halfway.store.forgetting import REST
from tests.cli.conftest import FLOW, Project, _project

MONTH = 31 * 86_400 * 1_000_000
KEEPING = FLOW.replace("Effect, Halfway, Retry", "Effect, Halfway, Retention, Retry").replace(
    "workflows=[orders]", "workflows=[orders], retention=Retention(history=timedelta(days=30), keys=timedelta(days=365))"
)


@pytest.fixture
def shop(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project that keeps its runs for a month."""
    yield from _project(url, tmp_path, monkeypatch, flow=KEEPING)


def month_later(project: Project) -> None:
    app = project.app
    app.store.advance_clock(MONTH)
    app.close()


def test_a_dry_run_counts_and_changes_nothing(shop: Project) -> None:
    shop.work(shop.start("o1"))
    month_later(shop)
    for _ in range(2):
        assert shop.json("cleanup", "--dry-run") == {"deleted": {"runs": 1}, "kept": {}, "dryRun": True, "stopped": False}
    told = shop.run("cleanup", "--dry-run")
    assert "Runs whose history is deleted  1" in told.stdout
    assert "Nothing was changed." in told.stderr
    assert shop.json("audit-log") == []


def test_what_is_old_is_deleted_and_counted_by_kind(shop: Project) -> None:
    shop.work(shop.start("o1"))
    shop.work(shop.start("bad", "lose"))
    assert shop.run("cleanup").stderr.strip() == "Nothing is old enough to be deleted."
    month_later(shop)
    report = shop.json("cleanup", "--as", "kim", "--reason", "every night")
    assert (report["deleted"]["runs"], report["deleted"]["records"], report["kept"]) == (1, 2, {})
    (*_, line) = shop.json("audit-log", "--action", "cleanup")
    assert line["actorId"] in ("kim", "root")
    assert [line["reason"] for line in shop.json("audit-log", "--actor", "kim")] == ["every night"]
    assert shop.run("audit-log").exit_code == 0
    assert [one["idempotencyKey"] for one in shop.json("runs")] == ["bad"]


def test_what_is_needed_is_told(shop: Project) -> None:
    run = shop.start("o1")
    shop.work(run)
    app = shop.app
    with app.store._database.transaction("test") as session:
        session.run("take_hold", key="record:r", holder=f"{run}:CHARGE")
    app.close()
    month_later(shop)
    told = shop.run("cleanup")
    assert told.exit_code == 0
    assert "runs that hold a business record  1" in told.stdout


def test_every_command_says_that_the_history_was_deleted(shop: Project) -> None:
    run = shop.start("o1")
    shop.work(run)
    month_later(shop)
    shop.run("cleanup")
    for arguments in (["show", run], ["show", "o1"], ["resume", run, "--reason", "x"], ["plan", run, "resume"]):
        result = shop.run(*arguments)
        assert (result.exit_code, "its history was deleted" in result.stderr) == (Exit.NOT_FOUND, True), arguments
    assert f"halfway audit-log --run {run}" in shop.run("show", run).stderr
    assert shop.run("audit-log", "--run", run).exit_code == 0
    assert shop.run("runs", "--search", "o1").stderr.count("its history was deleted") == 1
    assert "There are no such runs." in shop.run("runs", "--search", "nobody").stderr


def test_a_start_answers_the_run_that_stood_under_the_key(shop: Project) -> None:
    run = shop.start("o1")
    shop.work(run)
    month_later(shop)
    shop.run("cleanup")
    input = json.dumps({"id": "o1", "do": "work"})
    again = shop.run("start", "ORDER", "--input", input)
    assert (again.exit_code, again.stdout.strip()) == (0, run)
    assert "Its history was deleted" in again.stderr
    told = shop.json("start", "ORDER", "--input", input, "--wait")
    assert (told["id"], told["status"], told["created"], told["forgotten"]) == (run, "SUCCESS", False, True)
    other = shop.run("start", "ORDER", "--input", json.dumps({"id": "o1", "do": "fail"}))
    assert other.exit_code == Exit.CONFLICT


def test_without_an_app_nobody_knows_how_long_runs_are_kept(shop: Project) -> None:
    file = shop.folder / "pyproject.toml"
    file.write_text("\n".join(line for line in file.read_text().splitlines() if not line.startswith("app")))
    result = shop.run("cleanup")
    assert result.exit_code == Exit.USAGE
    assert "how long runs are kept stands in the app" in result.stderr


def test_a_run_of_a_workflow_that_is_gone_from_the_app_is_deleted_by_its_name(shop: Project) -> None:
    shop.work(shop.start("o1"))
    month_later(shop)
    code = shop.folder / f"{shop.module}.py"
    code.write_text(code.read_text().replace('"ORDER"', '"ANOTHER"'))
    sys.modules.pop(shop.module, None)
    assert shop.json("cleanup")["deleted"] == {}
    assert shop.json("cleanup", "--type", "ORDER")["deleted"]["runs"] == 1


def test_b47_a_doctor_sees_who_keeps_what_was_deleted(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that is held for long: nothing that is deleted can be given back to the server."""
    for project in _project(postgres_url, tmp_path, monkeypatch, flow=KEEPING):
        assert "OLD_SNAPSHOT" not in [note["code"] for note in project.json("doctor")]
        with psycopg.connect(postgres_url, application_name="report") as reader:
            reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            reader.execute("select count(*) from halfway_run")
            month_later(project)
            (note,) = [note for note in project.json("doctor") if note["code"] == "OLD_SNAPSHOT"]
        assert (note["level"], note["params"]["name"]) == ("problem", "report")
        assert "OLD_SNAPSHOT" not in [note["code"] for note in project.json("doctor")]


def test_a_signal_stops_it_behind_a_batch_and_a_second_one_at_once() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stoppable() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_was_deleted_before_it_was_stopped_is_told(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.work(shop.start("o1"))
    month_later(shop)
    asked: list[int] = []

    @contextmanager
    def after_one_batch() -> Iterator[Callable[[], bool]]:
        yield lambda: bool(asked.append(1)) or len(asked) > 1

    monkeypatch.setattr("halfway.cli.cleanup.stoppable", after_one_batch)
    told = shop.run("cleanup")
    assert (told.exit_code, told.stdout.split("\n")[1].split()[-1]) == (0, "1")
    assert told.stderr.strip() == "Stopped; the rest is left to the next time."


def test_a_bar_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress() as told:
        for what in Old:
            told(Progress(what, 3, 4))
    assert "3/4" in terminal.getvalue()


def test_everything_that_is_deleted_has_a_name_for_people() -> None:
    assert [name for name in REST if f"deleted.{name}" not in NOTES] == []
