"""The command `report` in a process of its own, which does not wait long before it asks a Notion that is away again.

`python -m tests.report.hasty run shop` is `report run shop`.
"""

from __future__ import annotations

from datetime import timedelta

from halfway import Retry
from halfway_report import upload
from halfway_report.cli import main

PATIENT = Retry(1000, wait=timedelta(milliseconds=50), max_wait=timedelta(milliseconds=200))

if __name__ == "__main__":
    upload._PATIENT = PATIENT
    main(prog_name="report")
