"""One business day read out of a real repository: how long it takes, how much memory, and whether plain git finds the same commits."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from halfway_report.collect import collect
from halfway_report.context import build_context
from halfway_report.settings import ProjectSettings

ZONES = ("Asia/Seoul", "America/New_York")


def report(paths: Sequence[Path], zones: Sequence[str] = ZONES, day: date | None = None) -> None:
    for path in paths:
        for zone in zones:
            _one(path, zone, day)


def _one(path: Path, zone: str, day: date | None) -> None:
    plain = _plain(path, zone)
    chosen = day or max(Counter(when for when, _ in plain).items(), key=lambda item: (item[1], item[0]))[0]
    expected = {sha for when, sha in plain if when == chosen}
    began, cpu = time.perf_counter(), _cpu()
    collection = collect("bench", chosen, ProjectSettings(repositories=(path,), zone=zone), within=timedelta(minutes=5))
    collected, cpu = time.perf_counter(), _cpu() - cpu
    context = build_context(collection)
    ended = time.perf_counter()
    found = {sha for commit in collection.commits for sha in commit.shas}
    verdict = "as plain git says" if found == expected else f"PLAIN GIT SAYS {len(expected)}, {len(found ^ expected)} differ"
    own, git = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{path}  {len(plain):,} commits without merges  {chosen} in {zone}: {len(found)} commits, {verdict}")
    print(f"  collect {collected - began:.2f} s, {cpu:.2f} s of processor time with git")
    print(f"  context {(ended - collected) * 1e3:.0f} ms, {context.tokens:,} tokens")
    print(f"  peak {own:.0f} MiB here, at most {git:.0f} MiB in git  warnings {list(collection.warnings)}")


def _cpu() -> float:
    return sum(os.times()[:4])


def _plain(path: Path, zone: str) -> list[tuple[date, str]]:
    """The author's date of every commit in a zone, as git itself converts it with the C library's table of zones."""
    command = ["git", "-C", str(path), "log", "--branches", "HEAD", "--no-merges", "--date=format-local:%Y-%m-%d", "--format=%ad %H"]
    output = subprocess.run(command, env={**os.environ, "TZ": zone}, check=True, capture_output=True, text=True).stdout
    return [(date.fromisoformat(line.split()[0]), line.split()[1]) for line in output.splitlines()]
