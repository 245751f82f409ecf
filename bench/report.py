"""The command `report run` on real repositories: what it takes, and whether plain git finds the same commits in a day."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

ZONES = ("Asia/Seoul", "America/New_York")
_WORKING_DAYS = 5


def report(paths: Sequence[Path], zones: Sequence[str] = ZONES, day: date | None = None) -> None:
    for path in paths:
        for zone in zones:
            counts = Counter(when for when, _ in _plain(path, zone))
            chosen = [day] if day else _days(counts)
            expected = [(when, sha) for when, sha in _plain(path, zone) if when in chosen]
            print(f"{_name(path)}, {counts.total():,} commits without merges, days of {zone}")
            with tempfile.TemporaryDirectory() as folder:
                for one in chosen:
                    _one(Desk(Path(folder), path, zone), one, {sha for when, sha in expected if when == one})


def _name(path: Path) -> str:
    """What a repository is called; that of one in a folder of its own is the folder's."""
    return path.resolve().parent.name if path.name in ("repo", ".git") else path.resolve().name


@dataclass(frozen=True)
class Desk:
    """A folder with a report.toml, in which the command is typed."""

    folder: Path
    repository: Path
    zone: str

    def __post_init__(self) -> None:
        told = f"[projects.bench]\nrepositories = [{json.dumps(str(self.repository.resolve()))}]\nzone = {json.dumps(self.zone)}\n"
        (self.folder / "report.toml").write_text(told, encoding="utf-8")

    def __call__(self, *arguments: str) -> tuple[Mapping[str, Any], str]:
        """What the command prints, and what it takes: with its git, and of memory the most that one of the processes holds."""
        began = time.perf_counter()
        command = [sys.executable, "-m", "halfway_report", *arguments, "--json"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            told = process.stdout.read() if process.stdout else ""
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"report {' '.join(arguments)} ended with {process.returncode}: {told}")
        seconds, busy = time.perf_counter() - began, used.ru_utime + used.ru_stime
        return json.loads(told), f"{seconds:.2f} s, {busy:.2f} s of processor time, {used.ru_maxrss / 1024:.0f} MiB"


def _one(desk: Desk, day: date, expected: set[str]) -> None:
    run, cost = desk("run", "bench", "--date", day.isoformat(), "--no-llm")
    shown, _ = desk("show", run["runId"], "context")
    context = json.loads(shown["content"])
    commits = context["collection"]["commits"]
    found = {sha for commit in commits for sha in (commit["sha"], *commit["also"])} | set(context["left_out_commits"])
    verdict = "as plain git says" if found == expected else f"PLAIN GIT SAYS {len(expected)}, {len(found ^ expected)} differ"
    print(f"  {day:%a %Y-%m-%d} {run['status']}: {len(found)} commits, {verdict}; {cost}")
    for warning in context["collection"]["warnings"]:
        print(f"    {warning}")


def _days(counts: Counter[date]) -> list[date]:
    """The busiest working day of all, and the two newest with commits."""
    working = [when for when in counts if when.weekday() < _WORKING_DAYS]
    busiest = max(working, key=lambda when: (counts[when], when))
    return [*sorted({*working} - {busiest})[-2:], busiest]


def _plain(path: Path, zone: str) -> Iterator[tuple[date, str]]:
    """The author's date of every commit in a zone, as git itself converts it with the C library's table of zones.

    One after the other: a child inherits the peak of its parent's memory.
    """
    command = ["git", "-C", str(path), "log", "--branches", "HEAD", "--no-merges", "--date=format-local:%Y-%m-%d", "--format=%ad %H"]
    with subprocess.Popen(command, env={**os.environ, "TZ": zone}, stdout=subprocess.PIPE, text=True) as git:
        for line in git.stdout or ():
            when, sha = line.split()
            yield date.fromisoformat(when), sha
    if git.returncode:
        raise SystemExit(f"git cannot read {path}")
