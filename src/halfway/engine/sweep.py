"""The sweep: finds workers that are dead and gives their attempts to the lost-answer table (R-D10, section 8 of the design).

Beats prove life by observation: an epoch is dead only after this very process has seen the same beat for a whole lease of its own
clock, without a break. An outage or a frozen sweeper starts the count anew (B21).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

from halfway.domain.contract import cut_short
from halfway.domain.draft import Change, Draft, Payload
from halfway.domain.facts import Fact, Finished, Gone, Unblocked
from halfway.domain.run import ACTING, Ended, Key, Report, Snapshot
from halfway.engine.catalog import Catalog
from halfway.engine.rescue import rescue
from halfway.engine.settings import Settings
from halfway.ports import Epoch, Left, Lives, Points, RunStore, Turn

log = logging.getLogger("halfway.engine")

WAITING_AT_ONCE = 200


class Seen(NamedTuple):
    """A beat, and when this process first saw it."""

    counter: int
    since: float


class Sweep:
    """One pass after the other; each finds what is left over from those before it."""

    def __init__(self, runs: RunStore, lives: Lives, catalog: Catalog, settings: Settings, points: Points, *, own: str) -> None:
        self._runs = runs
        self._lives = lives
        self._catalog = catalog
        self._settings = settings
        self._points = points
        self._own = own
        self._seen: dict[str, Seen] = {}
        self._last_pass = monotonic()
        self.freed = False  # the last pass has given back slots of queues
        self._observer = ""  # the life of the server in which beats were seen

    def blink(self) -> None:
        """The observation was broken: nobody can be declared dead from what was seen before."""
        self._seen.clear()

    def sweep(self) -> tuple[str, ...]:
        """One pass; answers the runs it has touched."""
        now = monotonic()
        if now - self._last_pass > self._settings.sweep + self._settings.lease:
            self.blink()  # this process stood still
        self._last_pass = now
        touched: list[str] = []
        epochs = self._lives.epochs()
        if self._lives.observer != self._observer:
            self._observer = self._lives.observer
            self.blink()  # another server, or another life of it: what was seen before proves nothing
        for epoch in epochs:
            if epoch.id == self._own:
                continue
            self._points.reached("sweep.judge")
            if epoch.state == "ALIVE" and not (self._is_over(epoch, now) and self._lives.declare_dead(epoch)):
                continue
            touched.extend(self._take_over(epoch))
        touched.extend(self._unblock())
        return tuple(touched)

    def _unblock(self) -> Sequence[str]:
        """Gives what is free to the runs that stand in line for it; not in the pump, which must never wait for a lock."""
        touched: list[str] = []
        with self._runs.change(name="unblock") as tx:
            self.freed = tx.flow.tidy() > 0
            waiting = tx.flow.in_line(WAITING_AT_ONCE)
            drafts = self._drafts(tx, waiting)
            able = [run_id for run_id in waiting if run_id in drafts and _waits(drafts[run_id])]  # it may have been cancelled since
            changes: list[Change] = []
            for run_id in sorted(tx.flow.take(able)):
                self._take(drafts[run_id], Unblocked())
                change = drafts[run_id].change()
                if change is not None:
                    changes.append(change)
                    touched.append(run_id)
            if changes:
                tx.write(changes)
        return touched

    def _is_over(self, epoch: Epoch, now: float) -> bool:
        if self._lives.is_dead(epoch):
            return True
        if not self._lives.beats:
            return False
        seen = self._seen.get(epoch.id)
        if seen is None or seen.counter != epoch.counter:
            self._seen[epoch.id] = Seen(epoch.counter, now)
            return False
        return now - seen.since >= self._settings.lease

    def _take_over(self, epoch: Epoch) -> Sequence[str]:
        """Ends the attempts of a dead epoch, whoever declared it dead, and tells what is known about when they were gone."""
        proven = self._lives.is_dead(epoch)
        touched: dict[str, Draft] = {}
        with self._runs.change(name="sweep") as tx:
            running, lost = list(tx.left(epoch.id)), list(tx.left(epoch.id, lost=True))
            self._points.reached("sweep.read")
            drafts = self._drafts(
                tx, sorted({left.run_id for left in running + lost}), [(left.run_id, left.key) for left in running + lost]
            )
            for left in running:
                draft = drafts.get(left.run_id)
                if draft is not None and self._end(draft, left, _gone_at(epoch, proven, tx.now)):
                    touched[left.run_id] = draft
            for left in lost:
                draft, gone_at = drafts.get(left.run_id), _gone_at(epoch, proven, tx.now)
                if draft is not None and gone_at is not None and draft.take(Gone(left.key, left.attempt.n, gone_at)):
                    touched[left.run_id] = draft
            changes = [change for draft in touched.values() if (change := draft.change()) is not None]
            if changes:
                tx.write(changes)
        if touched:
            log.warning(
                "worker %s (process %d on %s) is dead; %d of its runs go on elsewhere", epoch.id, epoch.pid, epoch.host, len(touched)
            )
        return tuple(touched)

    def _drafts(self, tx: Turn, ids: Sequence[str], about: Sequence[tuple[str, Key]] = ()) -> dict[str, Draft]:
        if not ids:
            return {}
        locked = tx.lock(ids)
        items = tx.items.load([(run_id, key) for run_id, key in about if key.item and run_id in locked])
        drafts: dict[str, Draft] = {}
        for run_id, one in tx.load(sorted(locked)).items():
            try:
                spec = self._catalog.spec(one.snapshot.run.hash)
            except Exception:  # a definition that cannot be read stops its own runs only
                log.exception("the definition of run %s cannot be read", run_id)
                continue
            snapshot, own = one.snapshot, items.get(run_id)
            if own is not None:
                snapshot = Snapshot(snapshot.run, {**snapshot.records, **own.records})
            drafts[run_id] = Draft(spec, snapshot, tx.now, input=one.input, outputs=dict(one.outputs))
        return drafts

    def _end(self, draft: Draft, left: Left, gone_at: int | None) -> bool:
        record = draft.records.get(left.key)
        attempt = record.running if record is not None else None
        if attempt is None or attempt.n != left.attempt.n:
            return False
        spec = draft.spec.unit(left.key)
        if left.key.kind in ACTING:
            report = cut_short(spec, marked=attempt.marked, code="WORKER_LOST", death=True, gone=gone_at is not None)
        else:
            report = Report(Ended.NOTHING, code="WORKER_LOST", death=True)
        report = report._replace(gone_after=max((gone_at or 0) - draft.now, 0))
        draft.payloads[left.key] = Payload(error="WORKER_LOST: the worker died before the answer was stored")
        return self._take(draft, Finished(left.key, left.attempt.n, report))

    def _take(self, draft: Draft, fact: Fact) -> bool:
        """A decision that fails stops its own run only."""
        try:
            return bool(draft.take(fact))
        except Exception:
            log.exception("a decision about run %s has failed; a person is needed", draft.before.run.id)
            rescue(draft, fact)
            return True


def _waits(draft: Draft) -> bool:
    return draft.before.run.blocked and draft.before.run.ended_at is None


def _gone_at(epoch: Epoch, proven: bool, now: int) -> int | None:
    """When the attempts of a dead worker can send nothing any more; None: nobody can tell by time."""
    if proven:
        return now
    return None if epoch.kill_after is None else epoch.beat_at + epoch.kill_after
