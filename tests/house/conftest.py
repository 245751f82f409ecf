"""What the tests of the house look at: the files of the repository, never their behaviour."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def modules() -> list[Path]:
    """Every Python module that is delivered."""
    found = sorted((ROOT / "src").rglob("*.py"))
    assert found, "src has no modules"
    return found


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Every text file of the repository by its path, those about to be added included."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found: dict[str, str] = {}
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (content := path.read_bytes()):
            found[name] = content.decode()
    assert "pyproject.toml" in found
    return found
