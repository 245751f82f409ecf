"""What is measured on a folder of automations: counts that name no file, and findings drawn for a judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.inspection import report

DEPLOY = "on: push\njobs:\n  ship:\n    steps:\n      - run: |\n          kubectl apply -f all.yml\n          npm publish\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("automations")
    for name, text in (("ship.yml", DEPLOY), ("note.md", "Nothing to do.\n"), ("look.sh", "#!/bin/bash\nls\n")):
        (made / name).write_text(text)
    return made


def test_counts_name_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report([folder], draw=0, seed=1, as_json=True)
    told = capsys.readouterr().out
    counts = json.loads(told)
    assert (counts["files"], counts["crashes"], counts["slower than 2 s"]) == (3, 0, 0)
    assert counts["formats"]["github-actions"]["flows"] == 1
    assert counts["formats"]["no flow"]["files"] == 1
    assert "ship.yml" not in told


def test_a_draw_shows_findings_with_their_quotes_and_files_without_any(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report([folder], draw=4, seed=1, as_json=False)
    told = capsys.readouterr().out
    assert "\n1. R-" in told
    assert f"{folder}/ship.yml" in told
    assert told.count("nothing found  ") == 2
