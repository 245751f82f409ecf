"""Importing the library is cheap, and its public surface is small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import halfway

# What a face, a database or an extra brings along, and what a program that only declares its workflows must not pay for.
LATE = {
    "anyio", "babel", "click", "fastapi", "halfway_report", "httpcore2", "httpx", "httpx2", "jinja2", "markdown_it", "mcp", "opentelemetry",
    "prometheus_client", "psycopg", "psycopg_binary", "pytest", "rich", "starlette", "uvicorn",
}  # fmt: skip
LATE_ROOMS = {"api", "cli", "console", "inspection", "mcp", "testing"}
MOST_NAMES = 30


def imported_by(statement: str, directory: Path) -> set[str]:
    """The modules that a fresh interpreter has after one statement."""
    code = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], cwd=directory, check=True, capture_output=True, text=True)
    return set(json.loads(answer.stdout))


def test_importing_halfway_loads_no_driver_no_face_and_no_extra(tmp_path: Path) -> None:
    loaded = imported_by("import halfway", tmp_path)
    assert "halfway" in loaded
    assert {name.partition(".")[0] for name in loaded} & LATE == set()
    assert loaded & {f"halfway.{room}" for room in LATE_ROOMS} == set()


def test_the_public_surface_has_at_most_30_names_and_all_of_them_exist() -> None:
    assert len(halfway.__all__) <= MOST_NAMES
    assert len(set(halfway.__all__)) == len(halfway.__all__)
    assert [name for name in halfway.__all__ if not hasattr(halfway, name)] == []
