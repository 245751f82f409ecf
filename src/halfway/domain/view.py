"""A run as it is looked at to tell about it: its records in order, and what an order would do to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from halfway.domain.facts import Order
from halfway.domain.items import are_under_way
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.line import NO_TRAFFIC, Traffic
from halfway.domain.ordering import in_doubt
from halfway.domain.plan import Plan, plan
from halfway.domain.run import Counted, Key, Kind, Record, Snapshot, latest
from halfway.domain.spec import StepSpec, WorkflowSpec
from halfway.domain.turn import Turn
from halfway.errors import HalfwayError

NOTHING_SAID: Mapping[Key, str] = MappingProxyType({})


@dataclass(frozen=True)
class View:
    """A run at one moment. `workers`: how many are alive, None if that is not known.

    What a decision does not need comes beside it: `counts` of the items of steps as a whole, and by step `stuck`, runs that it waits for
    and that themselves wait for a person.
    """

    spec: WorkflowSpec
    snapshot: Snapshot
    now: int
    workers: int | None
    traffic: Traffic = NO_TRAFFIC
    counts: Mapping[Key, Counted] = field(default_factory=dict[Key, Counted])
    stuck: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    said: Mapping[Key, str] = field(default_factory=lambda: NOTHING_SAID)  # by conditions that could not be answered

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """All of them, in the order of their steps."""
        order = self.spec.order
        return tuple(sorted(self.snapshot.records.values(), key=lambda record: (order.get(record.key.step, 0), record.key)))

    def of_kind(self, *kinds: Kind) -> tuple[Record, ...]:
        """Without items: their step tells about them."""
        return tuple(record for record in self.records if record.key.kind in kinds and not record.key.item)

    def in_doubt(self, record: Record) -> int:
        """About how many items of a step a person must decide whether they happened."""
        return len(in_doubt(self.turn, record)) if are_under_way(record) else 0

    def stuck_runs(self, record: Record) -> tuple[str, ...]:
        """Runs that a step waits for, or their undo, and that go on only when a person has decided there."""
        return self.stuck.get(record.key.step, ()) if are_under_way(record) else ()

    def record(self, step: str) -> Record | None:
        """The record of a step in its last round."""
        return latest(self.snapshot.records, step)

    @cached_property
    def steps(self) -> tuple[Record, ...]:
        """The records of all steps that have one, each in its last round, in the order of the steps."""
        return tuple(record for record in self.of_kind(Kind.STEP) if not self.turn.superseded(record))

    @cached_property
    def turn(self) -> Turn:
        """For questions that the domain answers about a decision in the making; nothing is decided on it."""
        return Turn(self.spec, self.snapshot, self.now)

    @property
    def status(self) -> RunStatus:
        return self.snapshot.run.status

    @property
    def over(self) -> bool:
        return self.status in FINAL

    @property
    def waits_for_person(self) -> bool:
        return self.status is RunStatus.MANUAL_REQUIRED

    def unit(self, record: Record) -> StepSpec:
        """What the record stands for: the step, or its compensation, which is one of its own."""
        return self.spec.unit(record.key)

    def role(self, record: Record) -> str:
        """Who decides about it."""
        return record.asks or self.turn.approver(record.key)

    def plan(self, order: Order) -> Plan | None:
        """What the run would do with this order now; None if it would refuse it."""
        try:
            return plan(self.spec, self.snapshot, order, self.now, self.counts)
        except HalfwayError:
            return None


def is_current(record: Record) -> bool:
    """Whether it runs, waits, is in doubt or asks somebody."""
    ready = record.status is RecordStatus.PENDING and record.ready_at is not None
    return ready or bool(record.asks) or record.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN, RecordStatus.WAITING)
