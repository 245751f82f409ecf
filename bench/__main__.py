"""Runs the benchmarks: `python -m bench [throughput|process|latency|waiting|campaign|all] [--url URL] …`; figures go to standard output."""

from __future__ import annotations

import argparse
import os
import tempfile

from bench import campaign, latency, process, throughput, waiting
from bench.database import databases


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("what", nargs="?", default="all", choices=["all", "throughput", "process", "latency", "waiting", "campaign"])
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--profile", action="store_true", help="also print where the time goes")
    options = parser.parse_args()
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
