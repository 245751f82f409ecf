"""R-17: later effects wait for an output that is true only when this very run did the earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind, Step
from halfway.inspection.quoting import quoted
from halfway.inspection.rules.common import found, kinds, line, outward
from halfway.inspection.ways import Ways

INFERENCE = "`{condition}` holds only in the run that did {earlier} itself; when that run stops before {what}, no later run does it."
# That something may be released, or is one for trying out, says nothing about what this run has done.
_DONE_NOW = re.compile(
    r"\boutputs?\.(?!(?:allow|enable|may|can|is[-_](?:pre|latest))(?![a-z]))"
    r"[\w-]*(?:published|(?<!pre)(?<!pre[-_])released?|created|pushed|deployed|uploaded|sent|merged)\b",
    re.IGNORECASE,
)
MAKES = frozenset({Kind.PUBLISH, Kind.CREATE, Kind.DEPLOY, Kind.GIT, Kind.MONEY, Kind.RECORD, Kind.NOTIFY})


def check(case: Case) -> Iterator[Finding]:
    ways = case.ways
    said: set[tuple[str, str]] = set()
    for step in ways.steps:
        if not outward(step) and step.opaque is None:
            continue
        gate = step.unit, step.condition
        if gate in said or step.guard is not None or not _DONE_NOW.search(step.condition):
            continue
        earlier = _earlier(ways, step)
        if earlier is not None:
            said.add(gate)
            severity = Severity.MEDIUM if _has_another_way(step.condition) else Severity.HIGH
            yield found(RULE.id, severity, step, INFERENCE, line(earlier), condition=quoted(step.condition), earlier=earlier.name)


def _has_another_way(condition: str) -> bool:
    """Whether something else opens the gate, too; an `||` within braces that the gate does not stand in does not."""
    level, part, parts = 0, "", list[str]()
    for sign in re.split(r"(&&|\|\||[()])", condition):
        level += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "||" and level == 0:
            return True
        if sign == "&&" and level == 0:
            parts.append(part)
            part = ""
        else:
            part += sign
    return any("||" in one and _DONE_NOW.search(one) for one in (*parts, part))


def _earlier(ways: Ways, step: Step) -> Step | None:
    """The effect whose output it waits for: the one that it names, or else the nearest before it."""
    before = [one for one in ways.outward() if one.id != step.id and kinds(one) & MAKES and ways.is_after(one, step)]
    named = [one for one in ways.steps if one.id in step.needs_output_of and outward(one)]
    ungated = [one for one in before if one.condition != step.condition]
    # What was not read, and is done behind the same gate, may be the one by which the gate stays closed later.
    unread = [
        one for one in ways.steps if one.opaque is not None and one.unit == step.unit and _is_behind(one, step) and ways.is_after(one, step)
    ]
    return next(reversed(named or ungated or unread), None)


def _is_behind(step: Step, other: Step) -> bool:
    gates = [gate for gate in other.condition.split(" && ") if _DONE_NOW.search(gate)]
    return any(gate in step.condition for gate in gates)


RULE = Rule(
    id="R-17",
    name="resume-gate-on-this-run",
    title="Later effects wait for what only this run did",
    why="A repeat finds the earlier effect done, does not do it again, and so passes over all that waits for it.",
    fix="Ask whether the thing exists, not whether this run has made it.",
    check=check,
    holds_if={INFERENCE: "nothing else makes that true in a later run"},
)
