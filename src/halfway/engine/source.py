"""Reading what is too large for a value: items page by page, artifacts line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from halfway.domain.run import Kind
from halfway.errors import ArtifactDamaged, NotFound
from halfway.ports import Artifacts, Reading

Page = Sequence[tuple[str, str | None, str, str | None]]  # key, output, error code, error


def pages(reading: Reading, run_id: str, step: str, round: int, *, status: str, size: int) -> Iterator[Page]:
    """The items of a step in one state, in their order."""
    after = 0
    while True:
        rows = reading.items(run_id, step, round, after=after, limit=size, status=status)
        if rows:
            yield [(row.item, row.output, row.code, row.error) for row in rows]
        if len(rows) < size:
            return
        after = rows[-1].position


def artifact_lines(reading: Reading, artifacts: Artifacts, run_id: str, artifact_id: str, name: str) -> Iterator[str]:
    """The lines of an artifact of this run; its hash is checked first."""
    found = reading.artifact(run_id, artifact_id)
    if found is None:
        raise NotFound("ARTIFACT_UNKNOWN", artifact=artifact_id, run=run_id)
    lines = artifacts.lines(found.sha256)
    if lines is None:
        raise ArtifactDamaged("ARTIFACT_DAMAGED", artifact=artifact_id, name=name)
    return (line.decode().rstrip("\n") for line in lines)


Child = tuple[Mapping[str, str], "RunSource"]  # its outputs as JSON by step, and where what is larger is read


def child_pages(reading: Reading, artifacts: Artifacts, run_id: str, step: str, round: int, *, size: int) -> Iterator[Child]:
    """The children of a step, in the order of their list."""
    after = 0
    while True:
        rows = reading.children(run_id, step, round, after=after, limit=size)
        for _, child in rows:
            rounds = sorted(
                (one for one in reading.detail(child).records if one.record.key.kind is Kind.STEP), key=lambda one: one.record.key.round
            )
            outputs = {one.record.key.step: one.output for one in rounds if one.output is not None}
            yield outputs, RunSource(reading, artifacts, child)
        if len(rows) < size:
            return
        after = rows[-1][0]


class RunSource:
    """What a program reads of a run."""

    def __init__(self, reading: Reading, artifacts: Artifacts, run_id: str) -> None:
        self._reading, self._artifacts, self._run_id = reading, artifacts, run_id

    def items(self, step: str, round: int, status: str, page: int) -> Iterator[Page]:
        return pages(self._reading, self._run_id, step, round, status=status, size=page)

    def children(self, step: str, round: int, page: int) -> Iterator[Child]:
        return child_pages(self._reading, self._artifacts, self._run_id, step, round, size=page)

    def lines(self, artifact_id: str, name: str) -> Iterator[str]:
        return artifact_lines(self._reading, self._artifacts, self._run_id, artifact_id, name)
