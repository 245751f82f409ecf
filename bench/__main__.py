"""Runs the benchmarks: `python -m bench [throughput|process|latency|waiting|campaign|all] …`; figures go to standard output.

`python -m bench report PATH …` reads a business day out of repositories instead, `python -m bench inspection FOLDER` automations of others.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from datetime import date
from pathlib import Path

from bench import campaign, inspection, latency, process, report, throughput, waiting
from bench.database import databases


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument(
        "what", nargs="?", default="all",
        choices=["all", "throughput", "process", "latency", "waiting", "campaign", "report", "inspection"],
    )  # fmt: skip
    parser.add_argument("paths", nargs="*", type=Path, help="repositories, for report; folders, for inspection")
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--profile", action="store_true", help="also print where the time goes")
    parser.add_argument("--day", type=date.fromisoformat, help="for report; the busiest day if left out")
    parser.add_argument("--zone", action="append", help="for report; may be repeated")
    parser.add_argument("--draw", type=int, default=0, help="for inspection: so many findings at random, to be judged")
    parser.add_argument("--seed", type=int, default=1, help="for inspection")
    parser.add_argument("--json", action="store_true", help="for inspection: counts, as JSON")
    options = parser.parse_args()
    if options.what == "inspection":
        inspection.report(options.paths, draw=options.draw, seed=options.seed, as_json=options.json)
        return
    if options.what == "report":
        report.report(options.paths, options.zone or report.ZONES, options.day)
        return
    print(f"{os.cpu_count()} cores; every start and every end committed; SQLite WAL with synchronous=FULL, PostgreSQL with its defaults")
    with tempfile.TemporaryDirectory() as folder:
        for name, url in databases(folder, options.only):
            if options.what in ("all", "throughput"):
                throughput.report(name, url, options.runs, profile=options.profile)
            if options.what in ("all", "process"):
                process.report(name, url, options.runs)
            if options.what in ("all", "latency"):
                latency.report(name, url)
            if options.what in ("all", "waiting"):
                waiting.report(name, url)
            if options.what in ("all", "campaign"):
                campaign.report(name, url)


if __name__ == "__main__":
    main()
