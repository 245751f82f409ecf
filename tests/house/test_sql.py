"""Statements take the time as a parameter, so that one clock serves a transaction and tests can move it."""

from __future__ import annotations

import re
from pathlib import Path

COMMENT = re.compile(r"--.*$", re.MULTILINE)
OWN_CLOCK = re.compile(
    r"\b(?:(?:now|julianday|unixepoch|strftime|datetime|(?:clock|statement|transaction)_timestamp)\s*\(|(?:current|local)_?(?:time|date))",
    re.IGNORECASE,
)


def test_no_statement_reads_a_clock_of_its_own(root: Path) -> None:
    files = sorted((root / "src/halfway/store/sql").rglob("*.sql"))
    assert files
    found = [f"{path.name}: {hit.group()}" for path in files for hit in OWN_CLOCK.finditer(COMMENT.sub("", path.read_text()))]
    assert found == []
