"""What is read was written by others: nothing secret or personal leaves, nothing forges a line or gives orders to a build server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from halfway.cli import main

TOKEN = "ghp_Zz1Yy2Xx3Ww4Vv5Uu6Tt7Ss8"
MAIL = "jane.doe@shop.example"
BOTH = f"{MAIL} {TOKEN}"
ACTIONS = f"""# {BOTH}
name: "Release {BOTH}"
on:
  push: {{branches: ["{MAIL}"]}}
  workflow_dispatch: {{inputs: {{"{MAIL}": {{description: "{BOTH}"}}}}}}
env: {{TOK: {TOKEN}, "{MAIL}": x}}
concurrency: {{group: "g {BOTH}", cancel-in-progress: true}}
jobs:
  "job-{MAIL}":
    name: "J {BOTH}"
    environment: {{name: "prod {BOTH}", url: "https://u:{TOKEN}@h.example/{MAIL}"}}
    if: "github.actor == '{MAIL}'"
    runs-on: "{MAIL}"
    steps:
      - name: "::error file=x::S {BOTH}\\n::warning::forged\\e[2J\\u202e##[error]x"
        id: "x{TOKEN}"
        if: "contains('{BOTH}', 'x')"
        run: |
          gh release create "v-{TOKEN}" --notes "{MAIL}"
          curl -X POST https://api.stripe.com/v1/charges?u={MAIL} -d to={MAIL} -H "X: {TOKEN}" || true
          ./deploy-{MAIL}.sh {TOKEN}
          $CMD {MAIL} {TOKEN}
          git push https://x:{TOKEN}@git.example/a/b.git main
      - name: "Mail {MAIL}\\n## Verdict\\n\\n- PROCEED"
        uses: dawidd6/action-send-mail@v3
        with: {{to: "{MAIL}", subject: "{TOKEN}", password: "hunter22hunter"}}
"""
NODES = [
    {"name": f"In {MAIL}", "type": "n8n-nodes-base.webhook", "parameters": {"path": TOKEN}},
    {"name": f"Mail {BOTH}", "type": "n8n-nodes-base.gmail", "retryOnFail": True, "parameters": {"sendTo": MAIL, "subject": TOKEN}},
    {"name": f"Odd {MAIL}", "type": f"n8n-nodes-{TOKEN}.{MAIL}", "notes": BOTH, "credentials": {"x": {"id": TOKEN, "name": MAIL}}},
]
LINKS = {one["name"]: {"main": [[{"node": other["name"], "type": "main", "index": 0}]]} for one, other in pairwise(NODES)}
OWN = f"""import requests
from halfway import Effect, Workflow
from pydantic import BaseModel

class Input(BaseModel):
    id: str

flow = Workflow("ORDER {BOTH}", Input, version=1, owner="{MAIL}", key=lambda given: "{MAIL}")

@flow.step(Effect.CHANGE, name="{BOTH}")
def pay(step, mark):
    requests.post("https://u:{TOKEN}@pay.example/{MAIL}")

@flow.approval("{MAIL}", name="{TOKEN}")
def sign(step):
    return 1
"""
FILES: Mapping[str, str] = {
    ".github/workflows/a.yml": ACTIONS,
    f"{MAIL}-{TOKEN}.yml": ACTIONS,
    "n8n.json": json.dumps({"name": BOTH, "id": TOKEN, "nodes": NODES, "connections": LINKS, "pinData": {MAIL: [TOKEN]}}),
    "mcp.json": json.dumps({
        "mcpServers": {f"u{TOKEN}": {"type": "http", "url": f"https://u:{TOKEN}@x.example/{MAIL}?key={TOKEN}", "env": {"MAIL": MAIL}}}
    }),
    "settings.json": json.dumps({"permissions": {"allow": [f"mcp__{TOKEN}__send", f"Bash(curl -X POST https://x.example/{MAIL})"]}}),
    "s.sh": f'#!/bin/sh\n# {MAIL}\nTO={MAIL}\nfor u in {MAIL}; do curl -X POST "https://u:{TOKEN}@x.example/{MAIL}"; done\n./{TOKEN}.sh\n',
    "tasks.py": f'import requests\n"""{BOTH}"""\nrequests.post("https://u:{TOKEN}@pay.example/{MAIL}", headers={{"X": "{TOKEN}"}})\n',
    "own.py": OWN,
    "seen.json": json.dumps({
        "nodes": [{"name": "Mail jane.doe\x01@shop.example", "type": "n8n-nodes-base.gmail", "parameters": {}}], "connections": {},
    }),
    f"broken-{MAIL}.yml": f"jobs: *{TOKEN}\nb: [",
    "broken.json": f'{{"jobs:": "{TOKEN}',
    "a\n::error::b\x1b[31m\u202e.sh": "#!/bin/bash\ncurl -X POST https://x.example\n",
}  # fmt: skip
RUN = {
    "databaseId": 77, "attempt": 1, "conclusion": "failure", "name": f"Release {BOTH}", "displayTitle": BOTH, "headBranch": MAIL,
    "jobs": [{"name": f"J {BOTH}", "conclusion": "failure", "steps": [{"name": f"Mail {BOTH}", "conclusion": "failure", "number": 1}]}],
}  # fmt: skip
NOTHING = f'''[[suppress]]
rule = "R-06"
file = "s.sh"
at = "{BOTH} ##[error]x"
reason = "{BOTH}"
owner = "the desk"
expires = {date.today() + timedelta(days=9)}
'''
LEAKS = (TOKEN, TOKEN[4:], TOKEN[4:].lower(), "jane", "shop.example", "hunter22")


def answered(*arguments: str) -> tuple[str, str]:
    """What is printed on stdout and on stderr; an exception is none of the answers."""
    result = CliRunner().invoke(main, ["inspect", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.stdout, result.stderr


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[str, str]]:
    folder = tmp_path_factory.mktemp("hostile")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "run.log").write_text(json.dumps(RUN))
    (folder / "nothing.toml").write_text(NOTHING)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = {form: answered(".", "--all", "--format", form, "--run", "run.log") for form in ("text", "md", "json", "sarif")}
        emitted = {f"as a workflow: {name}": answered(name, "--emit-workflow") for name in (".github", "n8n.json", "own.py")}
        return (
            found
            | emitted
            | {
                "a broken file": answered(f"broken-{MAIL}.yml"),
                "no file": answered(f"nothing/{MAIL}\n::error::x"),
                "no suppressions": answered(".", "--suppressions", f"{MAIL}.toml"),
                "a suppression of nothing": answered("s.sh", "--suppressions", "nothing.toml"),
                "no action": answered("--explain", f"\n::error::{BOTH}"),
            }
        )


def test_no_secret_and_no_address_leaves_wherever_it_stands(answers: Mapping[str, tuple[str, str]]) -> None:
    found = [
        (form, word, line) for form, both in answers.items() for line in "\n".join(both).splitlines() for word in LEAKS if word in line
    ]
    assert found == []
    assert [name for name in ("n8n.json", "s.sh", "tasks.py", "settings.json", "mcp.json") if name not in answers["json"][0]] == []


def test_no_text_moves_the_cursor_or_gives_an_order_to_a_build_server(answers: Mapping[str, tuple[str, str]]) -> None:
    lines = [(form, line) for form, both in answers.items() for line in "\n".join(both).splitlines()]
    assert [one for one in lines if not one[1].isprintable()] == []
    assert [one for one in lines if one[1].lstrip().startswith("::") or "##[" in one[1]] == []


def test_no_text_makes_a_line_of_the_card(answers: Mapping[str, tuple[str, str]]) -> None:
    headings = {line for line in answers["md"][0].splitlines() if line.startswith("## Verdict")}
    assert headings == {"## Verdict"}
    assert "PROCEED" not in [line.strip(" -") for line in answers["md"][0].splitlines()]
    assert "PROCEED" not in [line.strip() for line in answers["text"][0].splitlines()]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("deep.yml", "on: push\njobs: " + "[" * 200, "it is deeper than 100 levels"),
        ("many.sh", "#!/bin/bash\n" + "curl -X POST https://a.example\n" * 1_001, "the flow has more than 1,000 steps"),
        ("fences.md", "```ts\nclass A extends WorkflowEntrypoint {}\n```\n" * 201, "the page has more than 200 blocks of code"),
        ("lines.yml", "\n" * 500_000, ""),
        ("words.sh", "#!/bin/bash\ncurl -X POST https://a.example " + "a " * 2_001, "a command has more than 2,000 words"),
        ("large.sh", "#!/bin/bash\n" + "a;" * 300_000, "the script is larger than 512 KiB"),
        ("large.ts", "export class A extends WorkflowEntrypoint {}\n" + "a@b." * 140_000, "it is TypeScript of more than 512 KiB"),
        ("values.json", '{"nodes": [' + "1," * 150_000 + "1]}", "has more than 150,000 values"),
        ("large.yml", "on: push\njobs: " + "a " * 300_000, "it is YAML of more than 512 KiB"),
    ],
)
def test_what_is_made_to_never_end_is_left_out_and_told(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    out, err = answered(str(tmp_path / name))
    assert (out, ("No automation could be read" if why else "No automation was found") in err, why in err) == ("", True, True)


CALLING = "on: {{push: , workflow_call: {{inputs: {{a: {{type: string}}}}}}}}\njobs:\n{jobs}"


def _chain(folder: Path, length: int, jobs: str, last: str) -> None:
    """Workflows of which each calls the next; `{n}` of the jobs is its number."""
    for number in range(length):
        text = jobs.replace("{n}", str(number + 1)) if number < length - 1 else last
        path = folder / ".github" / "workflows" / f"w{number}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CALLING.format(jobs=text))


def test_workflows_that_each_call_the_next_many_times_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = "".join(f"  j{number}:\n    uses: ./.github/workflows/w{{n}}.yml\n" for number in range(30))
    _chain(tmp_path, 4, jobs, "  a:\n    runs-on: x\n    steps:\n      - run: npm publish\n")
    monkeypatch.chdir(tmp_path)
    card = json.loads(answered(".github", "--format", "json")[0])["card"]
    assert "./.github/workflows/w3.yml was not followed: the file leads to more than 500 workflows and actions" in json.dumps(card)
    assert "Can you show ./.github" not in json.dumps(card)  # it was given


def test_inputs_that_each_hold_the_next_many_times_are_not_filled_in_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handed = "${{ inputs.a }} ${{ inputs.a == inputs.a && inputs.a }}" * 30
    jobs = f'  j:\n    uses: ./.github/workflows/w{{n}}.yml\n    with: {{a: "{handed}"}}\n'
    _chain(tmp_path, 4, jobs, f"  a:\n    runs-on: x\n    steps:\n      - run: npm publish {handed}\n")
    monkeypatch.chdir(tmp_path)
    out, _ = answered(".github", "--all", "--format", "json")
    assert "npm publish" in out
    assert len(out) < 1_000_000


def test_a_place_that_two_facts_share_stands_once_in_sarif(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("on: push\njobs:\n  a:\n    steps:\n      - run: curl -X POST https://chat.example; npm publish\n")
    for result in json.loads(answered(str(tmp_path / "a.yml"), "--format", "sarif")[0])["runs"][0]["results"]:
        places = [json.dumps(place, sort_keys=True) for place in result["relatedLocations"]]
        assert len(places) == len(set(places))


@pytest.mark.parametrize("redirect", ["| head -1", ">&-"])
def test_a_reader_that_goes_is_no_error_in_ascii_either(tmp_path: Path, redirect: str) -> None:
    (tmp_path / "a.sh").write_text("#!/bin/bash\n" + "curl -X POST https://chat.example\n" * 300)
    command = f"set -o pipefail; {Path(sys.executable).with_name('halfway')} inspect a.sh --format json {redirect}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 10
    assert "Internal error" not in done.stderr
