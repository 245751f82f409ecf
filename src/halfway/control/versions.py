"""What the code at hand means for runs that are open, by groups of those that stand alike (R-A2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from halfway.authoring.workflow import Workflow
from halfway.control.desk import Desk
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.run import Snapshot
from halfway.domain.versions import Affected, Code, Standing, judge
from halfway.ports import Row

Json = dict[str, Any]
PAGE = 500
EXAMPLES = 5
OPEN = tuple(status for status in RunStatus if status not in FINAL)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs of one definition that stand at the same steps in the same state: what the code at hand means for them."""

    type: str
    version: int
    hash: str
    status: RunStatus
    steps: tuple[str, ...]  # that run, wait, are in doubt or ask somebody
    affected: Affected
    runs: list[str] = field(default_factory=list[str])

    @property
    def open(self) -> bool:
        """Whether these runs go on by themselves; others only if a person orders it."""
        return self.status not in FINAL

    def to_json(self) -> Json:
        affected = self.affected
        return {
            "type": self.type, "version": self.version, "definition": self.hash[:12], "status": self.status.value,
            "steps": list(self.steps), "standing": affected.standing.value, "runs": len(self.runs), "examples": self.runs[:EXAMPLES],
            "lacking": [
                {
                    "step": one.step,
                    "changes": [{"code": told.gap.value, "message": str(told)} for told in one.differences],
                }
                for one in affected.lacking
            ],
            "toVersion": affected.to, "settleFirst": list(map(str, affected.settle)), "refused": list(map(str, affected.refused)),
            "lackingIfUndone": list(affected.undo_only),
        }  # fmt: skip


class Versions(Desk):
    """Questions about versions."""

    def impact(self, workflows: Iterable[Workflow[Any]] | None = None, *, type: str | None = None) -> tuple[Group, ...]:
        """What this code means for every run that is open or has failed: those that would stand first. Changes nothing.

        workflows: the code; by default what this app has.
        """
        known = self._workflows.values() if workflows is None else workflows
        code = Code(workflow.spec for workflow in known)
        groups: dict[object, Group] = {}
        for row in self._movable(type, (*OPEN, RunStatus.FAILED)):
            spec = self._runs.spec(row.run.hash)
            affected = judge(spec, Snapshot(row.run, {record.key: record for record in row.records}), code)
            place = (spec.type, spec.version, row.run.hash, row.run.status, row.current, affected)
            if place not in groups:
                groups[place] = Group(
                    type=spec.type, version=spec.version, hash=row.run.hash, status=row.run.status, steps=row.current, affected=affected
                )
            groups[place].runs.append(row.run.id)
        return tuple(sorted(groups.values(), key=_urgency))

    def movable(self, type: str, version: int) -> tuple[str, ...]:
        """Every run of this version that is open, has failed or was stopped, the oldest first."""
        found = [row.run for row in self._movable(type, (*OPEN, RunStatus.FAILED, RunStatus.CANCELLED)) if row.run.version == version]
        return tuple(run.id for run in sorted(found, key=lambda run: (run.created_at, run.id)))

    def _movable(self, type: str | None, statuses: Iterable[RunStatus]) -> Iterator[Row]:
        for status in statuses:
            before: str | None = None
            while page := self._reading.runs(status=status, type=type, limit=PAGE, before=before):
                yield from page
                before = page[-1].run.id
                if len(page) < PAGE:
                    break


def _urgency(group: Group) -> tuple[object, ...]:
    order = (Standing.BLOCKED, Standing.MOVE, Standing.COMPATIBLE)
    return not group.open, order.index(group.affected.standing), group.type, group.version, group.hash, group.status.value, group.steps
