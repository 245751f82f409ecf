"""One attempt as its body sees it: what it may read, keep and begin, and whether it is still wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum
from threading import Lock
from time import monotonic
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

from halfway.authoring.step import Failure
from halfway.authoring.steps import Handler
from halfway.domain.draft import Emitted, Item
from halfway.domain.joins import NOTHING_MISSING
from halfway.domain.names import check_name
from halfway.domain.run import ACTING, Key, Kind, draft_of, output_of
from halfway.domain.spec import StepSpec
from halfway.engine.clock import uptime
from halfway.engine.context import Where
from halfway.engine.source import Child, artifact_lines, child_pages, pages
from halfway.engine.tools import Toolbox
from halfway.errors import ArtifactDamaged, AttemptEnded, MarkRefused, NotFound, RecordHeld, StepFailed
from halfway.ports import Artifacts, Calls, Evidence, Kept, Local, Mark, Reading, RunStore, Saved


class Grant(Enum):
    """Whether what an attempt asked for is committed."""

    YES = "YES"
    NO = "NO"
    HELD = "HELD"  # another step holds the business record


Allowed: TypeAlias = tuple[int | None, int | None, int | None, int | None]  # tokens and calls of the run, of the step
UNLIMITED: Allowed = (None, None, None, None)


class Desk(Protocol):
    """Where an attempt hands in what must be committed: the pump."""

    artifacts: Artifacts
    reading: Reading
    runs: RunStore
    calls: Calls

    def wake(self, routes: Iterable[str] = ()) -> None: ...
    def mark(self, mark: Mark) -> Future[Grant]: ...
    def keep(self, row: Kept) -> Future[Grant]: ...
    def find_artifact(self, run_id: str, artifact_id: str) -> str | None:
        """The hash of an artifact of this run."""
        ...


class Running:
    """The `Host` of one attempt."""

    __slots__ = (
        "_cause", "_first", "_toolbox", "again", "attempt", "budget", "claimed", "correlation_id", "emitted", "ended", "handler", "hold",
        "input", "item", "key", "lease", "local", "marked", "missing", "on_loop", "outputs", "priority", "pump", "record", "round",
        "run_id", "spec", "step_name", "stop_asked", "task", "until",
    )  # fmt: skip

    def __init__(
        self, pump: Desk, run_id: str, record: Key, n: int, *, handler: Handler, spec: StepSpec, correlation_id: str, input: str,
        outputs: Mapping[str, str], marked: bool, lease: float, on_loop: bool, cause: Failure | None = None,
        missing: Mapping[str, str] = NOTHING_MISSING, item: Item | None = None,
        priority: int = 0, again: bool = False, budget: Allowed = UNLIMITED,
    ) -> None:  # fmt: skip
        self.pump = pump
        self.handler = handler
        self.spec = spec
        self.run_id = run_id
        self.record = record
        self.step_name = record.step
        self.round = record.round
        self.attempt = n
        self.correlation_id = correlation_id
        self.key = record.name_in(run_id)
        self.input = input
        self.outputs = outputs
        self.marked = marked
        self.lease = lease
        self.on_loop = on_loop
        self.claimed = uptime()
        self.until = monotonic() + spec.timeout / 1e6
        self.ended = ""  # why the attempt is over while its body may still run
        self.stop_asked = False
        self._first = Lock()  # taken once: either the body begins, or the attempt is handed back
        self.local: Local | None = None
        self.hold: str | None = None  # the business record that it changes
        self.emitted: list[Emitted] = []
        self._cause = cause
        self.missing = missing
        self.item = item
        self.priority = priority
        self.budget = budget
        self._toolbox: Toolbox | None = None
        self.again = again  # of a child: it has ended, and is wanted again
        self.task: asyncio.Task[None] | None = None

    # ── what the engine asks ──

    @property
    def id(self) -> tuple[str, Key, int]:
        return (self.run_id, self.record, self.attempt)

    def where(self) -> Where:
        return Where(self.run_id, self.key, self.correlation_id, f"{self.key}#{self.attempt}")

    def begin(self) -> bool:
        """Whether the body may run; never, if the attempt was handed back before."""
        return not self.ended and not self.stale() and self._first.acquire(blocking=False)

    def withdraw(self) -> bool:
        """Whether the body has not begun, and now never will."""
        return self._first.acquire(blocking=False)

    def stale(self) -> bool:
        """Whether so much time has passed since the start was committed that this process may have been declared dead."""
        return uptime() - self.claimed > self.lease

    # ── what the author's step asks ──

    def input_text(self) -> str:
        return self.input

    def output_text(self, step: str, /) -> str | None:
        return self.outputs.get(step)

    def missing_text(self, step: str, /) -> str | None:
        return self.missing.get(step)

    @property
    def own_output(self) -> str:
        """What the step returned whose effect is undone or checked, in the round that this attempt is about."""
        if self.record.item:
            return "null" if self.item is None or self.item.output is None else self.item.output
        return self.outputs.get(output_of(self.record)) or self.outputs[self.step_name]

    def cause(self) -> Failure | None:
        return self._cause

    def draft_text(self) -> str | None:
        return self.outputs.get(draft_of(self.record))

    def may_emit(self) -> bool:
        return self.record.kind in ACTING

    def emit(self, event: str, key: str, payload_json: str, /) -> None:
        self.emitted.append(Emitted(event, key, payload_json))

    def ensure_running(self) -> None:
        if self.ended:
            raise AttemptEnded("ATTEMPT_ENDED", attempt=self.attempt, step=self.step_name, run=self.run_id, reason=self.ended)

    def remaining(self) -> float:
        return max(0.0, self.until - monotonic())

    def cancel_requested(self) -> bool:
        return self.stop_asked

    def evidence(self, facts_json: str, /) -> None:
        self._keep(Evidence(self.run_id, self.record, self.attempt, facts_json))

    def save(self, name: str, content: bytes, /) -> tuple[str, str, int]:
        check_name(name)
        sha256, size = self.pump.artifacts.put(content)
        artifact_id = uuid4().hex
        self._keep(Saved(self.run_id, self.record, self.attempt, artifact_id, name, sha256, size))
        return artifact_id, sha256, size

    def _keep(self, row: Evidence | Saved) -> None:
        if self.local is not None:
            self.local.keep([row])
        else:
            self.hand_in(row)

    def hand_in(self, row: Kept) -> None:
        """Durable when it returns; AttemptEnded if this attempt is over."""
        if self.pump.keep(row).result() is not Grant.YES:
            self.ended = self.ended or "it was ended by the engine"
            self.ensure_running()

    def call(self, tool: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object], /) -> Any:
        return self._tools().call(tool, args, kwargs)

    def spend(self, tokens: int, /) -> None:
        self._tools().spend(tokens)

    @property
    def stopped(self) -> StepFailed | None:
        """That it has used up its budget, or has handed over; a body that goes on after that has not succeeded."""
        return None if self._toolbox is None else self._toolbox.stopped

    def ensure_not_stopped(self) -> None:
        if self.stopped is not None:
            raise self.stopped

    def _tools(self) -> Toolbox:
        if self._toolbox is None:
            self._toolbox = Toolbox(self)
        return self._toolbox

    def save_lines(self, name: str, lines: Iterator[bytes]) -> tuple[str, str, int]:
        """As `save`, for content that need not fit into memory."""
        sha256, size = self.pump.artifacts.put_lines(lines)
        artifact_id = uuid4().hex
        self._keep(Saved(self.run_id, self.record, self.attempt, artifact_id, name, sha256, size))
        return artifact_id, sha256, size

    def children(self, step: str, round: int, page: int) -> Iterator[Child]:
        return child_pages(self.pump.reading, self.pump.artifacts, self.run_id, step, round, size=page)

    def items(self, step: str, round: int, status: str, page: int) -> Iterator[Sequence[tuple[str, str | None, str, str | None]]]:
        for rows in pages(self.pump.reading, self.run_id, step, round, status=status, size=page):
            self.ensure_running()
            yield rows

    def lines(self, artifact_id: str, name: str) -> Iterator[str]:
        return artifact_lines(self.pump.reading, self.pump.artifacts, self.run_id, artifact_id, name)

    def read(self, artifact_id: str, name: str, /) -> bytes:
        sha256 = self.pump.find_artifact(self.run_id, artifact_id)
        if sha256 is None:
            raise NotFound("ARTIFACT_UNKNOWN", artifact=artifact_id, run=self.run_id)
        content = self.pump.artifacts.get(sha256)
        if content is None:
            raise ArtifactDamaged("ARTIFACT_DAMAGED", artifact=artifact_id, name=name)
        return content

    # ── the effect mark ──

    def _writes_mark(self) -> bool:
        """READ, transaction and idempotent steps need no mark and write none; the block still says where an exception came from."""
        self.ensure_running()
        return self.spec.can_be_lost and (self.hold is not None or not self.spec.idempotent) and self.record.kind in ACTING

    def _mark(self) -> Mark:
        return Mark(self.run_id, self.record, self.attempt, self.record.kind is Kind.STEP, self.hold)

    def take_mark(self) -> None:
        if self._writes_mark():
            asked = uptime()
            self._taken(self.pump.mark(self._mark()).result(), asked)

    async def atake_mark(self) -> None:
        if self._writes_mark():
            asked = uptime()
            self._taken(await asyncio.wrap_future(self.pump.mark(self._mark())), asked)

    def _taken(self, granted: Grant, asked: float) -> None:
        if granted is Grant.HELD:
            raise RecordHeld("RECORD_HELD", step=self.step_name, run=self.run_id, record=self.hold)
        if granted is Grant.NO:
            self.ensure_running()
            reason = "The run was cancelled, its deadline has passed, or the attempt was ended."
            raise MarkRefused("MARK_REFUSED", step=self.step_name, run=self.run_id, reason=reason)
        if uptime() - asked > self.lease:  # this process stood still after the commit: it may already count as dead
            reason = "This process stood still for longer than its lease."
            raise MarkRefused("MARK_REFUSED", step=self.step_name, run=self.run_id, reason=reason)
        self.marked = True
