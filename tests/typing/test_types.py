"""Both type checkers infer what an author expects, and refuse every line that is marked `E:`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from halfway import Workflow
from halfway.domain.check import check
from halfway.domain.spec import WorkflowSpec
from tests.typing.analysis import analysis
from tests.typing.application import create_application
from tests.typing.deploy import deploy
from tests.typing.intake import intake
from tests.typing.order_status import audit, order_status
from tests.typing.orders import orders

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_name("t_types.py")
HIDDEN = ("# mypy: ignore-errors", "# type: ignore")
# A mistake makes more things unknown: the decorated function, an unused name. Only the mistake itself counts.
FOLLOW_UPS = ("reportUnused", "reportUnknown", "reportUntyped", "reportUnnecessary")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as the checkers must see it, with the same line numbers."""
    lines = ["" if line in HIDDEN else line for line in CASES.read_text().splitlines()]
    copy = tmp_path_factory.mktemp("typing") / "t_types_seen.py"
    copy.write_text("\n".join(lines) + "\n")
    return copy


def expected() -> set[int]:
    return {number for number, line in enumerate(CASES.read_text().splitlines(), 1) if "# E:" in line}


def told(found: set[int]) -> list[str]:
    """The lines that are missed or unexpected, so that a failure can be read."""
    lines = CASES.read_text().splitlines()
    missed = [f"missed {number}: {lines[number - 1]}" for number in sorted(expected() - found)]
    return missed + [f"unexpected {number}: {lines[number - 1]}" for number in sorted(found - expected())]


def run(*command: str) -> str:
    environment = os.environ | {"MYPYPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    result = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert result.stdout, result.stderr
    return result.stdout


@pytest.mark.timeout(300)
def test_mypy_refuses_exactly_the_marked_lines(cases: Path, tmp_path: Path) -> None:
    output = run("mypy", "--strict", "--no-error-summary", "--explicit-package-bases", "--cache-dir", str(tmp_path), str(cases))
    errors = re.findall(rf"^{re.escape(str(cases))}:(\d+): error(?!.*\[untyped-decorator\])", output, re.MULTILINE)
    assert told({int(number) for number in errors}) == []


@pytest.mark.timeout(300)
def test_pyright_refuses_exactly_the_marked_lines(cases: Path) -> None:
    diagnostics = json.loads(run("pyright", "--outputjson", str(cases)))["generalDiagnostics"]
    errors = {
        int(one["range"]["start"]["line"]) + 1
        for one in diagnostics
        if one["severity"] == "error" and not str(one.get("rule", "")).startswith(FOLLOW_UPS)
    }
    assert told(errors) == []


WORKFLOWS = [intake, orders, order_status, audit, create_application, deploy, analysis]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_what_an_author_writes_has_no_hole(workflow: Workflow[Any]) -> None:
    assert [finding for finding in check(workflow.spec) if finding.level == "error"] == []
    assert WorkflowSpec.from_json(workflow.spec.to_json()) == workflow.spec
    assert list(workflow.handlers) == [step.name for step in workflow.spec.steps]


def test_there_is_something_to_refuse() -> None:
    assert len(expected()) >= 85
