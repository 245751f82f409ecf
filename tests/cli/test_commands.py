"""Every command in its usual course: what it prints, as JSON too, and its exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from halfway.app import Halfway
from halfway.cli import main
from tests.cli.conftest import Project, wait_for

COMMANDS = [name for name in main.list_commands(None) if name != "db"] + ["db migrate", "db status"]  # type: ignore[arg-type]
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.mark.parametrize("command", ["", "db", *COMMANDS])
def test_every_command_has_help_that_says_the_same_as_the_list(command: str) -> None:
    words = command.split()
    result = CliRunner().invoke(main, [*words, "--help"], prog_name="halfway")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: halfway{' ' if words else ''}{command}")
    if len(words) == 1:
        loaded = main.get_command(None, command)  # type: ignore[arg-type]
        assert loaded is not None
        assert loaded.short_help in CliRunner().invoke(main, ["--help"]).stdout


def test_starting_twice_answers_the_same_run(project: Project) -> None:
    first = project.json("start", "ORDER", "--input", '{"id": "o-1"}')
    again = project.json("start", "ORDER", "--input", '{"id": "o-1"}')
    assert first == {
        "id": again["id"], "type": "ORDER", "version": 1, "status": "PENDING", "idempotencyKey": "o-1", "created": True,
        "forgotten": False,
    }  # fmt: skip
    assert again["created"] is False
    told = project.run("start", "ORDER", "--input", '{"id": "o-1"}')
    assert told.stdout.strip() == first["id"]
    assert "Nothing was started" in told.stderr


def test_input_comes_from_a_file_or_from_stdin(small: Project) -> None:
    Path("order.json").write_text('{"id": "o-2"}')
    from_file = small.run("start", "ORDER", "--input", "@order.json")
    from_stdin = small.run("start", "ORDER", "--input", "-", input='{"id": "o-2"}')
    assert from_file.stdout == from_stdin.stdout != ""


def test_a_run_is_found_by_id_key_and_the_end_of_its_id(project: Project) -> None:
    run = project.start("o-3")
    for name in (run, "o-3", run[-6:], run[-12:]):
        assert project.json("show", name)["id"] == run
    assert project.run("show", run[-5:]).exit_code == 3


def test_show_has_the_fields_of_the_requirements(project: Project) -> None:
    run = project.start("o-4")
    assert project.work(run) == "SUCCESS"
    shown = project.json("show", run)
    expected = {
        "id", "type", "version", "status", "correlationId", "idempotencyKey", "currentStep", "input", "output", "resourceKey", "priority",
        "deadlineAt", "createdAt", "startedAt", "completedAt", "updatedAt", "steps", "timeline", "audit", "explanation",
    }  # fmt: skip
    assert expected <= shown.keys()
    assert (shown["status"], shown["input"], shown["output"]) == ("SUCCESS", {"id": "o-4", "do": "work"}, 42)
    assert STAMP.fullmatch(shown["completedAt"])
    step = shown["steps"][1]
    assert {"id", "name", "sequence", "status", "attemptCount", "output", "errorCode", "startedAt", "completedAt"} <= step.keys()
    assert (step["id"], step["effectKind"], step["effect"], step["attemptCount"]) == (f"{run}:CHARGE", "CHANGE", "happened", 1)
    assert step["attempts"][0]["jobId"] == f"{run}:CHARGE#1"
    assert step["attempts"][0]["effectBeganAt"] is not None
    assert shown["steps"][0]["effect"] == "none"
    assert [line["name"] for line in shown["timeline"]][:2] == ["workflow.started", "step.started"]
    assert shown["timeline"][1]["jobId"] == f"{run}:CHECK#1"


def test_show_tells_a_person_what_is_known_and_what_is_safe(project: Project) -> None:
    run = project.start("o-5", "lose")
    assert project.work(run) == "MANUAL_REQUIRED"
    told = project.run("show", "o-5", "--timeline").stdout
    for line in (
        "MANUAL_REQUIRED  1 of 2 steps are done; it stands at CHARGE.",
        "? CHARGE  CHANGE  Nobody knows whether it happened: the answer of attempt 1 was lost (TIMEOUT_ERROR).",
        "Look at: the payment at the bank",
        "finance decides.",
        f"halfway mark-success {run} CHARGE --output '…' --evidence '…' --reason '…'",
        f"halfway retry {run} CHARGE --not-happened --evidence '…' --reason '…'",
        f"halfway cancel {run} --reason '…'",
        "step.person_needed",
    ):
        assert line in told
    assert "\x1b" not in told


def test_a_doubt_is_settled_by_evidence_and_audited(project: Project) -> None:
    run = project.start("o-6", "lose")
    project.work(run)
    done = project.json(
        "mark-success", "o-6", "CHARGE", "--output", "7", "--evidence", "payment p-7", "--reason", "seen at the bank", "--as", "ada"
    )
    assert (done["workflowRunId"], done["action"], done["before"], done["after"]) == (run, "mark-success", "MANUAL_REQUIRED", "SUCCESS")
    shown = project.json("show", run)
    assert shown["output"] == 7
    assert {**shown["audit"][0], "at": ""} == {
        "at": "", "actorId": "ada", "action": "mark-success", "reason": "seen at the bank", "step": "CHARGE", "evidence": "payment p-7",
        "before": "MANUAL_REQUIRED", "after": "SUCCESS", "refused": None,
    }  # fmt: skip
    assert "payment p-7" in project.run("show", run, "--timeline").stdout


def test_an_output_that_the_step_could_not_have_given_is_refused(small: Project) -> None:
    small.work(small.start("o-7", "lose"))
    arguments = ("mark-success", "o-7", "CHARGE", "--output", '"many"', "--evidence", "e", "--reason", "r")
    refused = small.run(*arguments, "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stderr)["code"] == "VALUE_INVALID"


def test_what_did_not_happen_is_tried_again(project: Project) -> None:
    run = project.start("o-8", "lose")
    project.work(run)
    done = project.json("retry", "o-8", "CHARGE", "--not-happened", "--evidence", "no payment at the bank", "--reason", "asked the bank")
    assert done["after"] == "RUNNING"
    assert project.work(run) == "MANUAL_REQUIRED"
    assert project.json("show", run)["steps"][1]["attemptCount"] == 2


def test_a_failed_run_is_resumed_and_a_waiting_one_cancelled(project: Project) -> None:
    run = project.start("o-9", "fail")
    assert project.work(run) == "FAILED"
    assert project.json("resume", "o-9", "--reason", "stock is there")["after"] == "RUNNING"
    assert project.json("cancel", "o-9", "--reason", "no longer wanted")["after"] == "CANCELLED"
    assert project.json("runs", "--status", "cancelled")[0]["id"] == run


def test_the_actor_is_the_option_the_variable_or_the_user(small: Project) -> None:
    for number, (arguments, env) in enumerate([(("--as", "ada"), {}), ((), {"HALFWAY_ACTOR": "grace"}), ((), {"HALFWAY_ACTOR": ""})]):
        small.start(f"a-{number}")
        assert small.run("cancel", f"a-{number}", "--reason", "r", *arguments, env=env).exit_code == 0
    actors = [small.json("show", f"a-{number}")["audit"][0]["actorId"] for number in range(3)]
    assert actors[:2] == ["ada", "grace"]
    assert actors[2] not in ("", "ada", "grace")


def test_runs_are_listed_filtered_and_limited(project: Project) -> None:
    for number in range(3):
        project.start(f"list_{number}")
    rows = project.json("runs", "--search", "list_", "--limit", "2")
    assert [row["idempotencyKey"] for row in rows] == ["list_2", "list_1"]
    assert {"id", "type", "version", "status", "idempotencyKey", "currentStep", "createdAt", "updatedAt"} <= rows[0].keys()
    assert project.json("runs", "--search", "list%") == []
    assert project.json("runs", "--type", "OTHER") == []
    told = project.run("runs")
    assert told.stdout.splitlines()[0].split() == ["run", "status", "workflow", "key", "at", "changed"]
    assert len(told.stdout.splitlines()) == 4
    assert "no such runs" in project.run("runs", "--status", "FAILED").stderr


def test_waiting_ends_with_the_run_and_its_exit_code(small: Project) -> None:
    app = small.app
    with Halfway(small.url, workflows=list(app.workflows.values()), settings=app.settings).worker():
        for do, code in (("work", 0), ("fail", 1), ("lose", 5)):
            result = small.run("start", "ORDER", "--input", json.dumps({"id": do, "do": do}), "--wait")
            assert (do, result.exit_code) == (do, code), result.stderr
    again = small.run("start", "ORDER", "--input", '{"id": "lose", "do": "lose"}', "--wait", "--json")
    assert again.exit_code == 5
    assert json.loads(again.stdout)["status"] == "MANUAL_REQUIRED"


def test_waiting_says_that_no_worker_is_there(small: Project) -> None:
    process = small.process("start", "ORDER", "--input", '{"id": "w"}', "--wait")
    assert process.stderr is not None
    wait_for(lambda: "No worker is running" in process.stderr.readline() or None)
    process.kill()


def test_check_prints_the_contract_of_each_step(small: Project) -> None:
    told = small.run("check").stdout
    assert "evidence: the payment at the bank" in told
    assert "a lost answer: the approver decides, and nothing is repeated before" in told
    assert "approver: finance" in told
    found = small.json("check", "ORDER")[0]
    assert [step["name"] for step in found["steps"]] == ["CHECK", "CHARGE"]
    assert {finding["code"] for finding in found["findings"]} == {"no-probe", "no-mark"}


def test_graph_draws_text_and_mermaid(small: Project) -> None:
    assert small.run("graph", "ORDER").stdout == "ORDER v1  (owner shop-owner)\n  CHECK (READ)\n    CHARGE (CHANGE)  <- CHECK\n"
    assert "    CHECK --> CHARGE\n" in small.run("graph", "ORDER", "--format", "mermaid").stdout
    assert small.run("graph", "ORDER", "--format", "svg").stdout.startswith("<svg ")
    assert small.json("graph", "ORDER")[0]["steps"][1]["after"] == ["CHECK"]


MANY = """
from pydantic import BaseModel

from halfway import Effect, Halfway, Rewind, Step, StepFailed, Workflow


class Order(BaseModel):
    big: bool = True


def is_big(step: Step[Order]) -> bool:
    return step.input.big


parcel = Workflow("PARCEL", Order, version=1, owner="o", key=None)
orders = Workflow("ORDER", Order, version=1, owner="o", key=None)


@parcel.step(Effect.READ)
def weigh(step: Step[Order]) -> int:
    return 1


@orders.step(Effect.READ)
def lines(step: Step[Order]) -> list[str]:
    return []


@orders.optional.step(Effect.READ, after=[])
def weather(step: Step[Order]) -> str:
    return "fine"


@orders.step(Effect.READ, after=[lines, weather], at_least=1, rewind=Rewind(to=lines, on=StepFailed, max=3))
def join(step: Step[Order]) -> int:
    return 1


@orders.when(is_big).step(Effect.READ, after=[join])
def quote(step: Step[Order]) -> int:
    return 1


@orders.each(Effect.NOTIFY, lines, key=str, evidence="e", concurrency=4, partial_from=0.9, failed_below=0.5, after=[join])
def send(step: Step[Order], line: str) -> int:
    return 1


@orders.children(parcel, after=[send], detached=True)
def parcels(step: Step[Order]) -> list[Order]:
    return []


app = Halfway("sqlite:///many.db", workflows=[orders, parcel])
"""


def test_graph_tells_a_program_what_is_special_about_a_step(small: Project) -> None:
    (small.folder / "many_things.py").write_text(MANY)
    [graph] = small.json("graph", "ORDER", "--app", "many_things:app")
    usual = {"optional": False, "condition": None, "atLeast": None, "rewind": None, "each": None, "children": None}
    special = {step["name"]: {name: step[name] for name, value in usual.items() if step[name] != value} for step in graph["steps"]}
    assert special == {
        "LINES": {}, "WEATHER": {"optional": True}, "QUOTE": {"condition": "is_big"},
        "JOIN": {"atLeast": 1, "rewind": {"to": "LINES", "max": 3, "on": ["*"], "then": "MANUAL"}},
        "SEND": {"each": {"items": "LINES", "concurrency": 4, "partialFrom": 0.9, "failedBelow": 0.5}},
        "PARCELS": {"children": {"workflow": "PARCEL", "concurrency": None, "partialFrom": 1.0, "failedBelow": 1.0, "detached": True}},
    }  # fmt: skip


def test_the_database_is_made_and_looked_at(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, missing in ((f"sqlite:///{tmp_path / 'new.db'}", 6), (postgres_url, 0)):
        runner = CliRunner()
        assert runner.invoke(main, ["db", "status", "--url", url]).exit_code == missing
        assert runner.invoke(main, ["db", "migrate", "--url", url]).exit_code == 0
        status = json.loads(runner.invoke(main, ["db", "status", "--url", url, "--json"]).stdout)
        assert status["found"] == status["needed"] == len(status["applied"])
        assert json.loads(runner.invoke(main, ["db", "migrate", "--url", url, "--json"]).stdout) == {"applied": []}


def test_doctor_sees_the_missing_worker_the_roles_and_foreign_work(project: Project) -> None:
    runs = {project.start("d-1"), project.start("d-2")}
    notes = {note["code"]: note for note in project.json("doctor")}
    assert notes["DATABASE_OK"]["level"] == "ok"
    assert notes["NO_WORKER"]["level"] == "problem"
    assert ("SQLITE_LIFE" in notes) == project.url.startswith("sqlite")
    assert "CODE_MISSING" not in notes
    roles = [note["params"]["role"] for note in project.json("doctor") if note["code"] == "ROLE"]
    assert roles == ["finance", "shop-owner"]
    module = project.folder / "other.py"
    module.write_text((project.folder / f"{project.module}.py").read_text().replace('"ORDER"', '"PARCEL"'))
    [missing] = [one for one in project.json("doctor", "--app", "other:app", "--url", project.url) if one["code"] == "CODE_MISSING"]
    assert (missing["params"]["step"], missing["params"]["count"]) == ("CHECK", 2)
    assert set(missing["params"]["runs"].split(", ")) == runs


def test_init_writes_an_example_that_works_and_overwrites_nothing(small: Project, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    assert small.run("init", str(folder)).exit_code == 0
    small.folder = folder
    started = small.process("start", "GREET", "--input", '{"id": "g-1", "name": "Ada"}')
    run = started.communicate(timeout=30)[0].strip()
    worker = small.process("worker")
    url = f"sqlite:///{folder / 'halfway.db'}"
    wait_for(lambda: CliRunner().invoke(main, ["runs", "--status", "SUCCESS", "--json", "--url", url]).stdout.strip() != "[]" or None)
    worker.terminate()
    assert worker.wait(timeout=30) == 0
    assert [file.read_text() for file in (folder / "outbox").iterdir()] == ["Welcome, Ada!"]
    assert CliRunner().invoke(main, ["show", run, "--url", url]).exit_code == 0
    refused = small.run("init", str(folder))
    assert refused.exit_code == 2
    assert "it is already there. Nothing was overwritten" in refused.stderr


def test_help_loads_nothing_that_is_heavy(small: Project) -> None:
    """What makes a command slow to answer is what it imports."""
    code = "import sys; from halfway.cli import main; sys.argv = ['halfway', '--help']\ntry: main()\nexcept SystemExit: pass\n"
    told = subprocess.run(
        [sys.executable, "-c", code + "print([name for name in ('psycopg', 'asyncio', 'rich', 'halfway.store') if name in sys.modules])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.splitlines()[-1] == "[]"
