"""R-25: a way back destroys what somebody may still need: the work of others, the newer state, the only copy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Mark, Step
from halfway.inspection.rules.common import found, kinds
from halfway.inspection.ways import Ways

OVERWRITES = "{what} is done on the way back and overwrites what others may have pushed since."
OLDER = "{what} puts older values in the place of all that was written since, without a look at what is newer."
LAST_COPY = "{what} is done on the way back and deletes the copy by which it could be told what was there before."
OVERWRITING = frozenset({Kind.GIT, Kind.DELETE})
_WAY_BACK = re.compile(r"(?i)roll[-_ ]?back|restor|recover|revert|\bundo|복구|되돌")
_RESTORES = re.compile(
    r"(?i)\b(?:pg_restore|mongorestore|mysqlimport)\b|\b(?:mysql|mariadb|psql)\b.*(?:<|-f\b|\|).*(?:backup|dump|snapshot)"
    r"|(?:backup|dump|snapshot).*\|\s*(?:mysql|mariadb|psql)\b|\brestore[-_]?(?:database|table|snapshot|backup|db)(?![\w-]*(?:from|to))"
)  # what a cloud restores of a database or a table is a new one
_FORCED = re.compile(r"--force|\s-f\b|--mirror|\s\+\w")
_COPY = re.compile(r"(?i)backup|\bbak\b|\.bak\b|snapshot|\bdump\b|\barchive\b|백업")


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    back = _on_the_way_back(ways, _WAY_BACK.search(case.flow.name) is not None)
    for step in back:
        text = _destroys(step) if step.guard is None else None
        if text is not None:
            yield found(RULE.id, Severity.BLOCKER, step, text)


def _on_the_way_back(ways: Ways, whole: bool) -> list[Step]:
    """Every step of a flow that is one as a whole, else those on the way of a failure and those that are called so."""
    failing = {one.id for step in ways.steps for one in ways.failing(step)}
    return [
        step
        for step in ways.steps
        if whole or Mark.RECOVERY in step.marks or step.id in failing or _WAY_BACK.search(f"{step.unit} {step.name}") is not None
    ]


def _destroys(step: Step) -> str | None:
    said = f"{step.quote} {step.effect.told if step.effect is not None else ''}"
    if kinds(step) >= OVERWRITING and _FORCED.search(said):
        return OVERWRITES
    if Kind.DELETE in kinds(step):
        return LAST_COPY if _COPY.search(said) and "cloned" not in step.extra else None
    return OLDER if kinds(step) & {Kind.RECORD, Kind.UNKNOWN} and _RESTORES.search(said) else None


RULE = Rule(
    id="R-25",
    name="destructive-undo",
    title="The way back destroys what may still be needed",
    why="A recovery is done in a hurry, by a rule that cannot know what has happened since. What it overwrites nobody can bring back.",
    fix="Look first at what is there now, correct only what the run itself has made, and keep the copy until a person has compared.",
    check=check,
    holds_if={
        OVERWRITES: "somebody else may push there meanwhile",
        OLDER: "something that is wanted may be written meanwhile",
        LAST_COPY: "no other copy is kept",
    },
)
