"""`python -m halfway_report.cli`."""

from __future__ import annotations

from halfway_report.cli import main

main(prog_name="report")
