"""What `halfway inspect` makes of a folder of automations, each file alone: crashes, times, memory, verdicts, how often each rule speaks.

With a draw it shows findings with their quotes, and files in which it found nothing, for somebody who reads those files and judges.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from halfway.inspection.assessing import outward
from halfway.inspection.finding import Case, Finding
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspection, Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.model import Span
from halfway.inspection.quoting import quoted
from halfway.inspection.rules import all_rules

LONGEST = 2.0  # seconds of processor time for one file; others may keep the machine busy
SLOWEST = 5  # files that are shown
NOTHING = "no flow"


@dataclass
class Seen:
    """What was found in all files."""

    files: Counter[str] = field(default_factory=Counter[str])  # by format
    flows: Counter[str] = field(default_factory=Counter[str])
    idle: Counter[str] = field(default_factory=Counter[str])  # flows without an effect
    verdicts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    rules: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])  # by format, in how many flows each speaks
    times: list[tuple[float, Path]] = field(default_factory=list[tuple[float, Path]])
    crashes: list[tuple[Path, str]] = field(default_factory=list[tuple[Path, str]])
    skipped: list[str] = field(default_factory=list[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    silent: list[Path] = field(default_factory=list[Path])  # files in which nothing was found


def report(folders: Sequence[Path], *, draw: int, seed: int, as_json: bool) -> None:
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    inspector, seen = Inspector(READERS, all_rules(), load()), Seen()
    with bar(len(paths)) as step:
        for path in paths:
            _one(inspector, path, seen)
            step()
    seen.times.sort(reverse=True)
    if as_json:
        print(json.dumps(figures(seen), indent=1))
    else:
        _print(seen)
    _draw(seen, draw, seed)


def _one(inspector: Inspector, path: Path, seen: Seen) -> None:
    began = time.process_time()
    try:
        found = inspector.inspect([path])
    except Exception as error:  # a crash is what is looked for
        seen.crashes.append((path, f"{type(error).__name__}: {error}"))
        return
    seen.times.append((time.process_time() - began, path))
    _count(inspector, found, path, seen)


def _count(inspector: Inspector, found: Inspection, path: Path, seen: Seen) -> None:
    formats = {flow.format for flow in found.flows} or {NOTHING}
    seen.files.update(formats)
    seen.skipped.extend(skip.why for skip in found.skipped)
    for card in [found.card, *found.others] if found.card else []:
        seen.verdicts.setdefault(card.format, Counter()).update([card.verdict.value])
    findings: list[Finding] = []
    for flow in found.flows:
        seen.flows.update([flow.format])
        seen.idle.update([] if outward(flow) else [flow.format])
        said = inspector.findings(Case(flow, inspector.knowledge))
        findings.extend(said)
        seen.rules.setdefault(flow.format, Counter()).update({finding.rule for finding in said})
    seen.findings.extend(findings)
    seen.silent.extend([] if findings else [path])


def figures(seen: Seen) -> dict[str, object]:
    """What was found, in counts alone; nothing names a file."""
    by_format = {
        name: {
            "files": seen.files[name], "flows": seen.flows[name], "without an effect": seen.idle[name],
            "verdicts": dict(sorted(seen.verdicts.get(name, Counter[str]()).items())),
            "rules": dict(sorted(seen.rules.get(name, Counter[str]()).items())),
        }
        for name in sorted(seen.files, key=lambda one: -seen.files[one])
    }  # fmt: skip
    return {
        "files": len(seen.times) + len(seen.crashes), "crashes": len(seen.crashes), "findings": len(seen.findings),
        "need confirmation": sum(one.holds_if is not None for one in seen.findings),
        "seconds": round(sum(one for one, _ in seen.times), 1), "slowest": round(seen.times[0][0], 2) if seen.times else 0,
        "slower than 2 s": sum(one > LONGEST for one, _ in seen.times),
        "peak MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024), "formats": by_format,
    }  # fmt: skip


def _print(seen: Seen) -> None:
    every = figures(seen)
    print("  ".join(f"{name} {value}" for name, value in every.items() if name != "formats"))
    for name, files in seen.files.most_common():
        flows, idle = seen.flows[name], seen.idle[name]
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(seen.verdicts.get(name, Counter[str]()).items()))
        print(f"{name:<20} {files:>5} files {flows:>5} flows, {idle} without an effect  {verdicts}")
        rules = sorted(seen.rules.get(name, Counter[str]()).items())
        print("  ".join(["", *(f"{rule} {count / flows:.0%}" for rule, count in rules)]) or "")
    for seconds, path in seen.times[:SLOWEST]:
        print(f"{'SLOW ' if seconds > LONGEST else ''}{seconds:.2f} s  {path}")
    for why, count in Counter(seen.skipped).most_common(SLOWEST):
        print(f"not read, {count} times: {why}")
    for path, error in seen.crashes:
        print(f"CRASHED  {path}  {error}")


def _draw(seen: Seen, number: int, seed: int) -> None:
    """Findings at random, first of those that the files show, then of the others; and files in which nothing was found."""
    chance = random.Random(seed)
    every = sorted(seen.findings, key=lambda one: (one.span.file, one.span.line, one.rule, one.step))
    shown, unsure = ([one for one in every if (one.holds_if is None) is sure] for sure in (True, False))
    drawn = [one for group in (shown, unsure) for one in chance.sample(group, min(number, len(group)))]
    for count, finding in enumerate(drawn, 1):
        where = f"{finding.span.file}:{finding.span.line} {finding.span.at}"
        print(f"\n{count}. {finding.rule} {finding.severity.name} {where}\n   {finding.inference.text.format(**finding.inference.params)}")
        if finding.holds_if is not None:
            print(f"   holds if: {finding.holds_if.text.format(**finding.holds_if.params)}")
        for fact in finding.facts:
            print(f"   {fact.span.line}: {fact.quote or _line(fact.span)}")
    for path in chance.sample(seen.silent, min(number // 2, len(seen.silent))):
        print(f"nothing found  {path}")


def _line(span: Span) -> str:
    """The line itself, where no rule knew a quote of it; a card does the same."""
    lines = Path(span.file).read_text(errors="replace").splitlines()
    return quoted(lines[span.line - 1]) if 0 < span.line <= len(lines) else ""


@contextmanager
def bar(total: int) -> Generator[Callable[[], None]]:
    """A bar on a terminal; elsewhere nobody watches."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as shown:
        task = shown.add_task("files", total=total)
        yield lambda: shown.advance(task)
