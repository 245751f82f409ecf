"""The command `report`. Data goes to stdout, everything else to stderr; one module for each group of commands."""

from __future__ import annotations

from halfway_report.cli.checking import doctor
from halfway_report.cli.filling import backfill
from halfway_report.cli.group import Group
from halfway_report.cli.looking import runs, show, status
from halfway_report.cli.ordering import accept, cancel, reconcile, resume, retry_step, skip
from halfway_report.cli.scheduling import schedule, worker
from halfway_report.cli.starting import run

__all__ = ["main"]

main = Group("report", help="Daily reports from git, each made once.")
for command in (run, runs, status, show, resume, retry_step, skip, reconcile, accept, cancel, backfill, schedule, worker, doctor):
    main.add_command(command)
