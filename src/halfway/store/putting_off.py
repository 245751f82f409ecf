"""Starts that are put off: while a run has not begun, each later start under its key replaces its input and moves it further."""

from __future__ import annotations

from collections.abc import Sequence

from halfway.domain.decide import decide
from halfway.domain.draft import Change
from halfway.domain.facts import CancelAsked, Postponed
from halfway.domain.lifecycle import FINAL, RecordStatus
from halfway.domain.run import Snapshot
from halfway.ports import Debounce, NewRun
from halfway.store.database import Session, Work
from halfway.store.definitions import Definitions, routes_of
from halfway.store.turn import load
from halfway.store.writing import Writing


class PuttingOff:
    """One batch of starts, in one transaction; keys in order, because whoever comes second under one waits for the first."""

    def __init__(self, session: Session, definitions: Definitions) -> None:
        self._session = session
        self._definitions = definitions
        self.begins: dict[str, int] = {}  # id of a new run -> when it begins
        self.moved: dict[str, str] = {}  # id of the run that was asked for -> of the one that stands

    def take(self, runs: Sequence[NewRun]) -> list[NewRun]:
        """Those that are still to be created."""
        wanted = [(new, new.debounce) for new in runs if new.debounce is not None]
        for new, debounce in sorted(wanted, key=lambda pair: (pair[0].spec.type, pair[1].key)):
            self._take(new, debounce)
        return [new for new in runs if new.id not in self.moved]

    def _take(self, new: NewRun, debounce: Debounce) -> None:
        session, now = self._session, self._session.now
        place = {"type": new.spec.type, "key": debounce.key}
        self.begins[new.id] = now + _within(debounce, 0)
        if session.run("put_off", **place, run_id=new.id, now=now):
            return
        former, first_at = session.rows("put_off_before", **place)[0]
        snapshot = self._waiting(former)
        if snapshot is None:
            session.run("put_off_anew", **place, run_id=new.id, first_at=now)
            return
        until = now + _within(debounce, now - first_at)
        if snapshot.run.hash == new.spec.hash:
            self._move(snapshot, new, until)
        else:  # it was started with another release of the workflow, whose input is another one
            self._change(snapshot, CancelAsked())
            session.run("put_off_anew", **place, run_id=new.id, first_at=first_at)
            self.begins[new.id] = until

    def _waiting(self, run_id: str) -> Snapshot | None:
        """The run, locked, if nothing of it has begun."""
        self._session.rows("lock_runs_waiting", ids=[run_id])
        loaded = load(self._session, [run_id]).get(run_id)
        if loaded is None:
            return None
        run, records = loaded.snapshot
        begun = run.started_at is not None or run.status in FINAL or run.intent is not None
        if begun or any(record.status is not RecordStatus.PENDING or record.attempts for record in records.values()):
            return None
        return loaded.snapshot

    def _move(self, snapshot: Snapshot, new: NewRun, until: int) -> None:
        run_id = snapshot.run.id
        self._change(snapshot, Postponed(until, new_input=True), new.input)
        self.moved[new.id] = run_id
        if new.resource != snapshot.run.resource:
            self._session.run("set_resource", resource=new.resource, id=run_id)
        if new.claims:
            self._session.run("drop_claims", run_id=run_id)
            self._session.many([Work("put_claim", [(run_id, key, slots, until) for key, slots in new.claims])])

    def _change(self, snapshot: Snapshot, fact: Postponed | CancelAsked, new_input: str | None = None) -> None:
        spec = self._definitions.spec(self._session, snapshot.run.hash)
        commands = decide(spec, snapshot, fact, self._session.now)
        writing = Writing(self._session.now)
        writing.add(Change(snapshot, commands, new_input=new_input), routes_of(spec), in_line=spec.in_line)
        writing.write(self._session)


def _within(debounce: Debounce, since: int) -> int:
    """How long it still waits, if the first start was so long ago."""
    return debounce.wait if debounce.longest is None else max(min(debounce.wait, debounce.longest - since), 0)
