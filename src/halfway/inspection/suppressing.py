"""Findings that somebody answers for until a day: they no longer decide, and the card tells them. Pure; today is given."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from halfway.inspection.finding import Case, Finding, Said
from halfway.inspection.judging import outcome, step_of
from halfway.inspection.model import Flow, Outcome
from halfway.inspection.quoting import shown_path

NEVER = frozenset({"R-42", "R-44"})
"""Rules that nothing may suppress: what a log shows has happened, and nobody can answer for what nobody has read."""


class State(StrEnum):
    """Whether a suppression holds."""

    ACTIVE = "active"
    EXPIRED = "expired"
    OVERRULED = "overruled"


@dataclass(frozen=True, kw_only=True)
class Suppression:
    """What a person has written down: which finding, why it is accepted, who answers for it, and until when."""

    rule: str
    file: str  # absolute
    at: str  # the id of a step or a path of keys, never a line; empty: the flow as a whole
    reason: str
    owner: str
    expires: date  # the last day on which it holds
    shown: str  # the file as it was written
    source: str  # the file of suppressions
    number: int  # its place in it, from 1


@dataclass(frozen=True, kw_only=True)
class Suppressed:
    """A suppression that fits a finding, and whether it holds."""

    suppression: Suppression
    finding: Finding
    state: State
    why: Said | None = None  # of one that is overruled


@dataclass(frozen=True, kw_only=True)
class Suppressions:
    """All that are given, the day on which they are looked at, and the folder from which shown paths begin."""

    entries: tuple[Suppression, ...]
    today: date
    here: str
    named: bool = False  # the file was named, so that whatever fits nothing is told


@dataclass(frozen=True)
class Weighed:
    """What counts, what somebody answers for, and what is told of it."""

    counted: tuple[Finding, ...]
    accepted: tuple[Finding, ...] = ()
    told: tuple[Suppressed, ...] = ()


def weighed(case: Case, findings: Sequence[Finding], given: Suppressions | None) -> Weighed:
    """Takes out what is suppressed; what has expired or is overruled counts, and is told as well."""
    if given is None or not given.entries:
        return Weighed(tuple(findings))
    told = tuple(one for entry in given.entries for one in _of(case, findings, entry, given))
    accepted = [one.finding for one in told if one.state is State.ACTIVE]
    counted = tuple(one for one in findings if not any(one is other for other in accepted))
    return Weighed(counted, tuple(accepted), told)


def _of(case: Case, findings: Sequence[Finding], entry: Suppression, given: Suppressions) -> Iterable[Suppressed]:
    fitting = [one for one in findings if _fits(case.flow, one, entry, given.here)]
    # One answers for one step: what is added later under the same key is nobody's yet.
    steps = sorted({one.step for one in fitting})
    for one in fitting:
        step = step_of(case, one.step)
        if len(steps) > 1:
            why = Said("it fits {count} steps; name one of them: {steps}", {"count": len(steps), "steps": ", ".join(steps)})
            yield Suppressed(suppression=entry, finding=one, state=State.OVERRULED, why=why)
        elif given.today > entry.expires:
            yield Suppressed(suppression=entry, finding=one, state=State.EXPIRED)
        elif step is not None and outcome(case, step) is Outcome.UNKNOWN:
            why = Said("the log of the run leaves open whether it has happened")
            yield Suppressed(suppression=entry, finding=one, state=State.OVERRULED, why=why)
        else:
            yield Suppressed(suppression=entry, finding=one, state=State.ACTIVE)


def _fits(flow: Flow, finding: Finding, entry: Suppression, here: str) -> bool:
    if finding.rule != entry.rule or absolute(finding.span.file, here) != shown_path(entry.file):
        return False
    if finding.step:
        return entry.at != "" and entry.at in (finding.step, finding.span.at)
    return entry.at in ("", finding.span.at, flow.name)


def absolute(file: str, here: str) -> str:
    """The path without `.` and `..`; nothing is looked up."""
    return posixpath.normpath(posixpath.join(here, file))


def unmatched(given: Suppressions | None, told: Iterable[Suppressed], paths: Collection[str]) -> tuple[Suppression, ...]:
    """The suppressions about what was looked at that fit no finding: what they were for is gone, or is called otherwise now."""
    if given is None:
        return ()
    used = {id(one.suppression) for one in told}
    looked_at = [absolute(path, given.here) for path in paths]
    return tuple(
        entry
        for entry in given.entries
        if id(entry) not in used
        and (given.named or any(entry.file == path or entry.file.startswith(path.rstrip("/") + "/") for path in looked_at))
    )
