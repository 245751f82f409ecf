"""The port `Keeping`: what is old is swept in small batches, and what stays known of a run is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from halfway.domain.draft import Audit
from halfway.ports import Cut, Old, OpenSnapshot, Past, Place, Swept
from halfway.store.ageing import empty_events, forget_artifacts, forget_audit, forget_batches, forget_event_ids, forget_ticks
from halfway.store.artifacts import StoreArtifacts
from halfway.store.database import Database, Purpose, Session
from halfway.store.files import sweep_files
from halfway.store.forgetting import clear_rest, forget_keys, forget_runs
from halfway.store.rows import RUN_STATUS
from halfway.store.texts import require_storable, storable


class Sweep(Protocol):
    """One batch of one kind, inside a transaction."""

    def __call__(self, session: Session, cut: Cut, after: Place, *, delete: bool) -> Swept: ...


SWEEPS: Mapping[Old, Sweep] = {
    Old.RUNS: forget_runs,
    Old.REST: clear_rest,
    Old.EVENTS: empty_events,
    Old.BATCHES: forget_batches,
    Old.ARTIFACTS: forget_artifacts,
    Old.AUDIT: forget_audit,
    Old.KEYS: forget_keys,
    Old.TICKS: forget_ticks,
    Old.EVENT_IDS: forget_event_ids,
}


class StoreKeeping:
    """Each batch is a transaction of its own; whoever is stopped after one has lost nothing, and another goes on."""

    def __init__(self, database: Database, artifacts: StoreArtifacts) -> None:
        self._database = database
        self._artifacts = artifacts

    def now(self) -> int:
        with self._database.reading() as session:
            return session.now

    def count(self, what: Old, cut: Cut) -> int:
        if what is not Old.RUNS:
            return 0
        with self._database.reading() as session:
            return int(session.rows("count_old_runs", type=cut.type, until=cut.until)[0][0])

    def sweep(self, what: Old, cut: Cut, after: Place, *, delete: bool) -> Swept:
        if what is Old.FILES:
            if self._artifacts.is_shared():
                return Swept({}, {"shared": 1}, None)
            return sweep_files(self._artifacts, self._named, cut.until, after, delete=delete)
        name, purpose = ("cleanup", Purpose.WRITE) if delete else ("read", Purpose.READ)
        with self._database.transaction(name, write=delete, purpose=purpose) as session:
            return SWEEPS[what](session, cut, after, delete=delete)

    def past(self, run_id: str) -> Past | None:
        if not storable(run_id):
            return None
        with self._database.reading() as session:
            return past_of(session, run_id)

    def note(self, audit: Audit) -> None:
        require_storable(action_id=audit.action_id, actor=audit.actor, reason=audit.reason, evidence=audit.evidence, refused=audit.refused)
        with self._database.transaction("note") as session:
            now = session.now
            session.run(
                "audit", id=now, action_id=audit.action_id, now=now, actor=audit.actor, action=audit.action, run_id="", step=audit.step,
                reason=audit.reason, evidence=audit.evidence, refused=audit.refused, before_state="", after_state="",
            )  # fmt: skip

    def snapshots(self, older_than: int) -> tuple[OpenSnapshot, ...]:
        with self._database.reading() as session:
            return tuple(OpenSnapshot(*row) for row in session.snapshots(session.now - older_than))

    def _named(self, hashes: list[str]) -> frozenset[str]:
        with self._database.reading() as session:
            return frozenset(sha256 for (sha256,) in session.rows("named_artifacts", hashes=hashes))


def past_of(session: Session, run_id: str) -> Past | None:
    """What stays known of a run, in an open transaction."""
    for id, type, version, status, key, ended_at, deleted_at in session.rows("past", run_id=run_id):
        return Past(id, type, version, RUN_STATUS[status], key, ended_at, deleted_at)
    return None
