"""R-16: the id of what was made is not kept, so that nobody can find it later."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.assessing import identified
from halfway.inspection.finding import Case, Finding, Rule, Severity
from halfway.inspection.model import Kind
from halfway.inspection.rules.common import found, is_row, kinds, named_only, told

INFERENCE = "The id that the receiver gives to {what} is kept nowhere: after a stop somebody has to search by hand for what was made."
IN_THE_LOG = (
    "The id that the receiver gives to {what} stands in the log of the execution only: "
    "once that is deleted, somebody has to search by hand for what was made."
)
NAMED = frozenset({"aws.create", "aws.create_with_token"})
LOGGED = frozenset({"n8n", "make", "zapier"})
"""Here the output of each step is kept with the run for a while."""
_REMARK = re.compile(r"(?i)comment|reply")
_SHOWN = re.compile(r"(?i)homebrew|winget|\b(?:playlist|playlistItem) add\b|\b(?:googleDrive|dropbox|oneDrive|box) file\b")
GIVES_ID = frozenset({Kind.CREATE, Kind.MONEY})


def check(case: Case) -> Iterator[Finding]:
    for step in case.ways.outward():
        # What carries an identity of its own, or is looked for first, can be found without the receiver's id.
        if (
            not kinds(step) & GIVES_ID
            or not {"unattended", "replaced", "named"}.isdisjoint(step.extra)  # it is found by its name, or by whoever begins again
            or is_row(step)
            or step.kept
            or step.guard is not None
            or identified(step)
        ):
            continue
        if told(step).startswith(("PATCH ", "PUT ")):
            continue  # what is changed has its id already: it is in the address
        certain = step.effect is not None and step.effect.certain
        if (step.opaque is not None or named_only(step)) and not certain:
            continue  # what was not read may keep it
        # A remark stands below the thing that it is about, where it is found again.
        if step.effect is None or _REMARK.search(f"{step.effect.action} {step.effect.told}"):
            continue
        if step.effect.action in NAMED or step.effect.told.startswith(("release-drafter", "awsTranscribe")):
            continue  # the caller gives it its name, or there is one only
        if _SHOWN.search(step.effect.told):
            continue  # by its name, or in the list to which it was added
        # What is made at a project is seen there by everybody.
        shown = step.effect.action.startswith("github.")
        logged = case.flow.format in LOGGED and case.flow.evidence_off is None
        severity = Severity.LOW if shown or logged else Severity.HIGH if certain else Severity.MEDIUM
        yield found(RULE.id, severity, step, IN_THE_LOG if logged else INFERENCE)


RULE = Rule(
    id="R-16",
    name="no-external-id-kept",
    title="The id of what was made is not kept",
    why="The receiver's id is the proof that it happened, and the handle to take it back.",
    fix="Store, return or log the id before the next effect begins.",
    check=check,
    holds_if=dict.fromkeys((INFERENCE, IN_THE_LOG), "somebody has to find again what {what} makes, and no name of it tells where it is"),
)
