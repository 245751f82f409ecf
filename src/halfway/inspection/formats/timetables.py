"""Reads crontabs: what a machine starts by the clock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from cronsim import CronSim, CronSimError

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.command_steps import Around, Line, in_order, steps_of
from halfway.inspection.formats.commands import Command, commands
from halfway.inspection.model import Fact, Flow, Guard, Repeater, Repeating, RunLog, Span, Starting, Trigger
from halfway.inspection.quoting import holds_secret, quoted, safe
from halfway.inspection.source import Source

NAME = "crontab"
_FIELD = r"(?:\*|[\d,\-*/]+|[A-Za-z]{3}(?:[-,][A-Za-z]{3})*)(?:/\d+)?"
_ENTRY = re.compile(rf"^\s*(?:(@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly))|((?:{_FIELD}\s+){{4}}{_FIELD}))\s+(\S.*)$")
_SETTING = re.compile(r"^\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*$")
_USER = re.compile(r"^(root|www-data|nobody|postgres|mysql|ubuntu|deploy|app|backup|daemon|[a-z_][a-z0-9_-]{0,30})\s+(\S.*)$")
_NICKNAMES = {
    "@yearly": 31_536_000.0, "@annually": 31_536_000.0, "@monthly": 2_419_200.0, "@weekly": 604_800.0,
    "@daily": 86_400.0, "@midnight": 86_400.0, "@hourly": 3_600.0,
}  # fmt: skip
_MOST_STARTS = 60


@dataclass(frozen=True)
class _Entry:
    """One line of a crontab."""

    number: int
    schedule: str
    command: str
    settings: Mapping[str, tuple[str, int]]  # as they stand above the line


class Crontab:
    """The reader of crontabs."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return bool(_entries(source))

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        taken: dict[str, int] = {}
        for entry in _entries(source):
            flow = _flow(source, given, entry)
            count = taken[flow.name] = taken.get(flow.name, 0) + 1
            yield flow if count == 1 else replace(flow, id=f"{flow.id} #{count}")

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        yield from ()


def period_of(schedule: str) -> float | None:
    """The shortest time in seconds between two starts of a five-field schedule; None if it never repeats or is none."""
    if schedule.startswith("@"):
        return _NICKNAMES.get(schedule)
    try:
        starts = CronSim(schedule, datetime(2026, 1, 1))
        times = [start for start, _ in zip(starts, range(_MOST_STARTS), strict=False)]
    except (CronSimError, ValueError, OverflowError):
        return None
    gaps = [(after - before).total_seconds() for before, after in pairwise(times)]
    return min(gaps, default=None)


def _entries(source: Source) -> list[_Entry]:
    """The entries of a crontab; none as soon as one line is something else."""
    found: list[_Entry] = []
    settings: dict[str, tuple[str, int]] = {}
    has_user = "cron.d/" in source.path or source.path.endswith("etc/crontab")
    for number, line in enumerate(source.lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry, setting = _ENTRY.match(line), _SETTING.match(line)
        if entry:
            schedule, command = entry[1] or " ".join(entry[2].split()), entry[3]
            user = _USER.match(command) if has_user or command.startswith("root ") else None
            found.append(_Entry(number, schedule, user[2] if user else command, dict(settings)))
        elif setting:
            settings[setting[1]] = (setting[2].strip("\"'"), number)
        else:
            return []
    return found if any("*" in entry.schedule or entry.schedule.startswith("@") for entry in found) else []


def _flow(source: Source, given: Given, entry: _Entry) -> Flow:
    span = source.span(entry.number)
    # In a crontab an unescaped % ends the command; what follows is its input.
    # An address of a person may hold one, too.
    text = re.split(r"(?<!\\)%", safe(entry.command) if "%40" in entry.command else entry.command)[0].replace("\\%", "%")
    found = commands(text)
    boots = entry.schedule == "@reboot"
    repeater = Repeater(Repeating.RESTART if boots else Repeating.SCHEDULE, True, None, span)
    by_hand = Repeater(Repeating.UNIT_RERUN, False, None, span, default=True)
    name = _name(found)
    line = Line(source, span, found)
    steps = steps_of([line], given, Around(unit=name, repeaters=(repeater, by_hand), extra={"schedule": entry.schedule}))
    mailed = entry.settings.get("MAILTO")
    quiet = any(command.quiet for command in found)
    return Flow(
        id=f"{source.path.rpartition('/')[2]}: {name}",
        name=name,
        format=NAME,
        file=source.path,
        span=span,
        steps=tuple(steps),
        edges=in_order(steps),
        triggers=(Trigger(Starting.SCHEDULE, span, source.fact(span).quote, period=period_of(entry.schedule)),),
        guards=tuple(Guard(span, name, command.lock, queues=command.waits) for command in found if command.lock),
        failure_notice=source.span(mailed[1]) if mailed and mailed[0] and not quiet else None,
        evidence_off=span if quiet else None,
        unread=tuple(step.opaque for step in steps if step.opaque is not None),
        secrets=_secrets(source, span),
        extra={"schedule": entry.schedule},
    )


def _name(found: tuple[Command, ...]) -> str:
    """The name of the first script, else of the first command that is not harmless."""
    for command in found:
        if command.script:
            return quoted(command.script).rpartition("/")[2]
    shown = next((command for command in found if not command.harmless), found[0] if found else None)
    return quoted(shown.words[0]).rpartition("/")[2][:60] if shown is not None else "?"


def _secrets(source: Source, span: Span) -> tuple[Fact, ...]:
    return (source.fact(span),) if holds_secret(source.line(span.line)) else ()


READER: Reader = Crontab()
