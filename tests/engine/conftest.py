"""A harness on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import Harness


@pytest.fixture
def harness(url: str, tmp_path: Path) -> Iterator[Callable[..., Harness]]:
    """Makes harnesses on one fresh database, and closes them."""
    made: list[Harness] = []

    def make(*workflows: Any, **options: Any) -> Harness:
        made.append(Harness(url, *workflows, artifacts=str(tmp_path / "artifacts"), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
