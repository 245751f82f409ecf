"""The generations of a run: what each of them wrote, what was wrong with it, and how a person takes one all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import TypeAdapter

from halfway import Artifact, Halfway
from halfway.errors import InvalidInput

GENERATE, VALIDATE = "GENERATE_REPORT", "VALIDATE_REPORT"
_ARTIFACT = TypeAdapter(Artifact)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One generation: its number from 1, the report that it wrote, and the faults that were found in it."""

    number: int
    report: Artifact
    faults: tuple[str, ...]


class Shelf:
    """Finds what a run has stored by its name, which a step itself cannot. Without an application it is empty."""

    def __init__(self) -> None:
        self.app: Halfway | None = None

    def stored(self, run_id: str) -> Mapping[str, Artifact]:
        """What GENERATE_REPORT has stored; of one name the newest."""
        return {} if self.app is None else _stored(self.app, run_id)


def attempts(app: Halfway, run_id: str) -> tuple[Attempt, ...]:
    """What was written so far, the first one first."""
    stored = _stored(app, run_id)
    judged = {facts.get("generation"): facts.get("faults") for facts in _evidence(app, run_id, VALIDATE)}
    reports = sorted((int(name[7:-3]), artifact) for name, artifact in stored.items() if name.startswith("report-"))
    return tuple(
        Attempt(number=number, report=report, faults=tuple(map(str, cast("list[object]", judged.get(number) or ()))))
        for number, report in reports
    )


def accept(app: Halfway, run_id: str, attempt: int, *, actor: str, reason: str) -> Attempt:
    """Takes what a generation wrote as the report, whatever was wrong with it. An order like any other: audited, and it may be refused."""
    known = attempts(app, run_id)
    chosen = next((one for one in known if one.number == attempt), None)
    if chosen is None:
        numbers = ", ".join(str(one.number) for one in known) or "-"
        problem = f"attempt {attempt} has written no report; there are: {numbers}."
        raise InvalidInput("CONFIG_INVALID", source="of the action: attempt", problem=problem, remedy="Name one of these.")
    evidence = f"accepted attempt {attempt}, sha256 {chosen.report.sha256}, faults: {'; '.join(chosen.faults) or 'none'}"
    output = _ARTIFACT.dump_json(chosen.report).decode()
    app.control.mark_success(run_id, VALIDATE, actor=actor, reason=reason, evidence=evidence, output=output)
    return chosen


def _stored(app: Halfway, run_id: str) -> dict[str, Artifact]:
    found: dict[str, Artifact] = {}
    for step in app.control.show(run_id, journal=False).steps:
        for row in step.artifacts if step.name == GENERATE else ():
            facts = cast("Mapping[str, object]", row)
            artifact = Artifact(str(facts["id"]), str(facts["name"]), str(facts["sha256"]), int(str(facts["size"])))
            found[artifact.name] = artifact  # of one name the newest
    return found


def evidence(app: Halfway, run_id: str, name: str) -> Mapping[str, object]:
    """What a step has written down about itself, later facts over earlier ones."""
    return {fact: value for facts in _evidence(app, run_id, name) for fact, value in facts.items()}


def _evidence(app: Halfway, run_id: str, name: str) -> Iterator[Mapping[str, object]]:
    for step in app.control.show(run_id, journal=False).steps:
        if step.name == name:
            yield from cast("tuple[Mapping[str, object], ...]", step.evidence)
