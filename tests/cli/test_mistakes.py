"""What goes wrong is one clear line and a documented exit code, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from halfway.cli import main
from halfway.cli.mishaps import mishap_of
from halfway.cli.place import find_place
from tests.cli.conftest import Project

RUN = "01234567-89ab-7def-8123-456789abcdef"

EXITS = [
    (2, ["nonsense"], "No such command"),
    (2, ["show"], "Missing argument"),
    (2, ["resume", RUN], "--reason"),
    (2, ["cancel", RUN, "--reason", "  "], "--reason"),
    (2, ["mark-success", RUN, "CHARGE", "--reason", "r"], "--evidence"),
    (2, ["retry", RUN, "CHARGE", "--reason", "r", "--not-happened"], "--evidence"),
    (2, ["retry", RUN, "CHARGE", "--reason", "r", "--gone"], "--not-happened"),
    (2, ["start", "ORDER", "--input", "{"], "The input of ORDER is not valid"),
    (2, ["start", "ORDER", "--input", "{}"], "The input of ORDER is not valid"),
    (2, ["start", "ORDER", "--input", "@nowhere.json"], "cannot be read"),
    (2, ["start", "ORDER", "--input", '{"id": "x"}', "--deadline", "tomorrow"], "no time with a zone"),
    (2, ["start", "ORDER", "--input", '{"id": "x"}', "--deadline", "2026-10-01T18:00:00"], "no time with a zone"),
    (2, ["start", "ORDER", "--input", '{"id": "a\\nb"}'], "cannot be used as a key"),
    (2, ["runs", "--status", "GREEN"], "GREEN"),
    (2, ["runs", "--limit", "0"], "0"),
    (2, ["runs", "--url", "mysql://nobody"], "names neither SQLite nor PostgreSQL"),
    (3, ["start", "OTHER", "--input", "{}"], "Known workflows: ORDER."),
    (3, ["start", "ORDER", "--version", "9", "--input", "{}"], "Known versions: 1."),
    (3, ["show", RUN], "There is no run"),
    (3, ["resume", "nobody", "--reason", "r"], "There is no run"),
    (3, ["graph", "OTHER"], "Known workflows: ORDER."),
    (4, ["resume", "here", "--reason", "r"], "Only a run that has stopped can be resumed."),
    (4, ["retry", "here", "CHARGE", "--reason", "r"], "step CHARGE has not been started."),
    (3, ["retry", "here", "NOWHERE", "--reason", "r"], "Its steps: CHECK, CHARGE."),
    (4, ["start", "ORDER", "--input", '{"id": "here", "do": "other"}'], "already belongs to run"),
    (4, ["start", "ORDER", "--input", '{"id": "here"}', "--again", "once more"], "not final"),
    (6, ["runs", "--url", "sqlite:///nowhere.db"], "There is no database"),
    (6, ["runs", "--url", "postgresql://nobody@127.0.0.1:1/none"], "cannot be reached"),
    (6, ["doctor", "--url", "sqlite:///nowhere.db"], "There is no database"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "arguments", "told"), EXITS, ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "")
def test_a_mistake_is_one_line_and_its_exit_code(small: Project, code: int, arguments: list[str], told: str) -> None:
    small.start("here")
    result = small.run(*arguments)
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("halfway")
    as_json = small.run(*arguments, "--json")
    assert as_json.exit_code == code
    assert json.loads(as_json.stderr).keys() == {"code", "message", "params"}


def test_an_unexpected_error_is_one_line_and_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        raise ZeroDivisionError("in the middle")
    except ZeroDivisionError as error:
        mishap = mishap_of(error)
    assert mishap.exit == 70
    file = Path(str(mishap.params["trace"]))
    assert mishap.line() == f"halfway: Internal error: ZeroDivisionError: in the middle. Details are in {file}."
    assert "Traceback" in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_a_reader_that_has_gone_is_no_failure(small: Project) -> None:
    small.start("here")
    process = small.process("show", "here")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 0


# ── configuration ──

PROJECTS = {
    "broken TOML": ("[tool.halfway\n", "", "it is not valid TOML"),
    "an unknown name": ('[tool.halfway]\nap = "flow:app"\n', "", "[tool.halfway] has ap, which is not known."),
    "not a text": ("[tool.halfway]\napp = 1\n", "", "app in [tool.halfway] is 1. Give a text."),
    "no table": ("[tool]\nhalfway = 1\n", "", "tool.halfway is not a table."),
    "nothing": ("", "", "The configuration of this folder cannot be used: it names no app."),
    "no colon": ('[tool.halfway]\napp = "flow"\n', "", "it has not the form module:name."),
    "no module": ('[tool.halfway]\napp = "absent_module:app"\n', "", "there is no module absent_module in"),
    "no attribute": ('[tool.halfway]\napp = "M:aap"\n', "from halfway import Halfway\napp = Halfway('sqlite:///x.db', workflows=[])\n",
                     "has no aap. Its objects of type Halfway: app."),
    "another type": ('[tool.halfway]\napp = "M:app"\n', "app = 7\n", "app is a int, not a Halfway."),
    "a failing module": ('[tool.halfway]\napp = "M:app"\n', "raise RuntimeError('no coffee')\n",
                         "importing it raised RuntimeError: no coffee."),
    "a missing dependency": ('[tool.halfway]\napp = "M:app"\n', "import absent_dependency\n",
                             "importing it raised ModuleNotFoundError: No module named 'absent_dependency'"),
    "a module that exits": ('[tool.halfway]\napp = "M:app"\n', "raise SystemExit(3)\n", "importing it raised SystemExit: 3."),
    "broken Python": ('[tool.halfway]\napp = "M:app"\n', "def (:\n", "importing it raised SyntaxError"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROJECTS)
def test_a_configuration_that_cannot_be_used_is_told_plainly(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml, module, told = PROJECTS[name]
    unique = f"bad_{abs(hash(name))}"
    (tmp_path / "pyproject.toml").write_text(toml.replace("M:", f"{unique}:"))
    (tmp_path / f"{unique}.py").write_text(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("HALFWAY_URL", raising=False)
    result = CliRunner().invoke(main, ["check"], prog_name="halfway")
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    if "importing it raised" in result.stderr:
        file = Path(result.stderr.rstrip().rstrip(".").rpartition("The traceback is in ")[2])
        assert "Traceback" in file.read_text() or "SyntaxError" in file.read_text()


def test_an_unsafe_definition_is_told_as_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unsafe_flow.py").write_text(
        "from pydantic import BaseModel\nfrom halfway import *\nclass A(BaseModel):\n    x: int = 1\n"
        "w = Workflow('W', A, version=1, owner='o', key=None)\n"
        "@w.step(Effect.NOTIFY)\ndef send(step: Step[A]) -> None: ...\n"
        "app = Halfway('sqlite:///x.db', workflows=[w])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = CliRunner().invoke(main, ["check", "--app", "unsafe_flow:app"])
    assert result.exit_code == 2
    assert result.stderr.startswith("halfway: Workflow W, step SEND: a lost answer of this NOTIFY would have no rule")


def test_the_settings_of_the_nearest_project_count_from_every_folder_below(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.halfway]\nurl = "sqlite:///data/runs.db"\nartifacts = "kept"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text('[project]\nname = "x"\n')
    place = find_place(None, None, start=below)
    assert (place.url, place.artifacts) == (f"sqlite:///{tmp_path / 'data/runs.db'}", str(tmp_path / "kept"))
    given = find_place(None, "sqlite:///other.db", start=below)
    assert (given.url, given.overrides) == ("sqlite:///other.db", True)


def test_a_url_is_enough_where_no_code_is_needed(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = project.start("far")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for arguments in (["runs"], ["show", run], ["doctor"], ["db", "status"], ["cancel", run, "--reason", "r"]):
        assert project.run(*arguments, "--url", project.url).exit_code == 0
        by_variable = project.run(*arguments, env={"HALFWAY_URL": project.url})
        assert by_variable.exit_code == (4 if arguments[0] == "cancel" else 0)
    assert project.run("start", "ORDER", "--url", project.url).exit_code == 2


# ── ids with odd characters ──

KEYS = [
    "a/b", "a//b", "..", ".", "a%2Fb", "a b", "a+b", "x_'y'", "q?z=1#f", "한글/😀", "x" * 255, "[id]", "__proto__", "new", "null",
    "id.json", "-dash", "--reason", 'double"quote', "a\\b", "%", "_", "--", "*", "[red]x[/red]",
]  # fmt: skip


def test_b48_keys_with_odd_characters_work_everywhere_and_come_back_unchanged(project: Project) -> None:
    runs = {key: project.start(key) for key in KEYS}
    assert len(set(runs.values())) == len(KEYS)
    for key, run in runs.items():
        shown = project.run("show", "--json", "--", key)
        assert shown.exit_code == 0, (key, shown.stderr)
        assert (json.loads(shown.stdout)["id"], json.loads(shown.stdout)["idempotencyKey"]) == (run, key)
        assert project.run("show", "--", key).exit_code == 0
        found = project.run("runs", "--json", f"--search={key}", "--limit=100")
        assert run in [row["id"] for row in json.loads(found.stdout)]
        assert project.run("cancel", "--reason", "r", "--", key).exit_code == 0
    assert {row["idempotencyKey"] for row in project.json("runs", "--limit", "100")} == set(KEYS)


@pytest.mark.parametrize("term", ["%", "_", "\\", "'", '"', ")", "--", "😀", "x" * 10_000])
def test_b48_a_search_takes_its_term_literally(project: Project, term: str) -> None:
    project.start("plain")
    result = project.run("runs", "--json", f"--search={term}")
    assert (result.exit_code, json.loads(result.stdout)) == (0, [])


def test_b48_a_dash_at_the_beginning_is_explained(small: Project) -> None:
    told = small.run("show", "-key").stderr
    assert "Write -- before an argument that begins with a dash." in told


@pytest.mark.parametrize("arguments", [[], ["db"]])
def test_a_name_that_needs_a_command_shows_its_help_as_it_is_laid_out(arguments: list[str]) -> None:
    shown = CliRunner().invoke(main, arguments, prog_name="halfway")
    assert shown.exit_code == 2
    assert shown.stderr.rstrip() == CliRunner().invoke(main, [*arguments, "--help"], prog_name="halfway").stdout.rstrip()
