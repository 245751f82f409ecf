"""A harness on each database, and the ledger of the world."""

from __future__ import annotations

from pathlib import Path

import pytest

from halfway.testing import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")
