"""One turn of the pump: which runs are touched, what is decided about them, and which attempts get the free slots."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence

from halfway.domain.budget import limits
from halfway.domain.contract import cut_short
from halfway.domain.doubt import probed_key
from halfway.domain.draft import NO_ITEMS, Change, Draft, Payload
from halfway.domain.facts import (
    Arrived,
    ChildEnded,
    Claimed,
    Command,
    Fact,
    Finished,
    Late,
    LookAgain,
    Move,
    OpenWait,
    ParentStopped,
    StartAttempt,
)
from halfway.domain.joins import missing
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.line import rank
from halfway.domain.run import ACTING, PROBED_BY, Ended, Key, Kind, Record, Report, Snapshot, draft_of, error_of
from halfway.domain.spec import Sort
from halfway.engine.attempt import Grant, Running
from halfway.engine.calls import cause_of
from halfway.engine.floor import Asked, Done, Floor, Free, Known, Place
from halfway.engine.limits import MANY, Gate, settled
from halfway.engine.local import STORED
from halfway.engine.rescue import rescue
from halfway.engine.tending import begin_items, moves_items
from halfway.ports import Arrival, LoadedItems, Mark, Ready, Turn

log = logging.getLogger("halfway.engine")

DUE_AT_ONCE = 200
_HAS_OUTPUT = (RecordStatus.SUCCESS, RecordStatus.WAITING)  # a wait for a time ends with what its function said, and no fact brings it


class Cycle:
    """Decides inside one transaction; nothing of it counts before the commit."""

    def __init__(
        self, floor: Floor, backlog: Sequence[Done], asked: Sequence[Asked], *, tick: bool, compare: bool, claim: bool = True,
        repair: int = 0,
    ) -> None:  # fmt: skip
        self.floor = floor
        self.backlog = backlog
        self.asked = asked
        self.tick = tick
        self.repair = repair  # microseconds: waits that were opened within this time are compared with what is here
        self.compare = compare
        self.claim = claim and not floor.stopping
        self.now = 0
        self.drafts: dict[str, Draft] = {}
        self.left: list[Done] = []
        self.answers: list[tuple[Asked, Grant]] = []
        self.started: list[Running] = []
        self.unwanted: list[Running] = []
        self.next_due: int | None = None
        self.released = False
        self.waits = False  # a run is locked elsewhere: look again soon
        self._taken: set[str] = set()  # runs about which something was decided in this cycle
        self._dropped: set[str] = set()
        self._gate: Gate | None = None  # on a database where nothing is limited or paused there is none

    def decide(self, tx: Turn) -> None:
        self.now = tx.now
        self._gate = Gate.of(tx.flow, self.floor.catalog, self.now)
        self._grant(tx)
        due = tx.due(DUE_AT_ONCE, repair=self.repair) if self.tick else ()
        strangers = self._strangers(tx)
        waiting = self._waiting(tx)
        self._open(tx, due, strangers, waiting)
        for done in self.backlog:
            self._take_in(done)
        for stranger in strangers:
            self._take_back(*stranger)
        if due:
            self.waits = self.waits or len(due) >= DUE_AT_ONCE
            for arrival in tx.inbox.arrived([run_id for run_id in due if run_id in self.drafts]):
                self._arrive(arrival)
            for run_id in tx.items.stopped([run_id for run_id in due if run_id in self.drafts]):
                self._take(run_id, ParentStopped())
        for run_id in due:
            self._look_again(run_id)
        self._fill_slots(waiting)
        if self._dropped:
            self._hand_back_dropped()
        self._watch()
        changes = [change for draft in self.drafts.values() if (change := draft.change()) is not None]
        changes = settled(self._gate, changes, self._due)
        touched = [run_id for run_id, draft in self.drafts.items() if draft.spec.fans and (run_id in due or moves_items(draft.commands))]
        if changes:
            tx.write(changes)
            self._meet_what_came_first(tx, changes)
        if touched:
            self._tend_items(tx, touched)

    # ── what is asked, what is touched ──

    def _grant(self, tx: Turn) -> None:
        if not self.asked:
            return
        # An attempt that was ended in this process, even if that is not stored yet, begins nothing more.
        marks = [asked.what for asked in self.asked if isinstance(asked.what, Mark) and self._lives(asked.what)]
        rows = [asked.what for asked in self.asked if not isinstance(asked.what, Mark)]
        answers: dict[object, Grant] = {}
        if marks:
            granted = tx.mark(marks)
            answers.update(dict.fromkeys(granted.marks, Grant.YES))
            answers.update(dict.fromkeys(granted.held, Grant.HELD))
        if rows:
            answers.update(dict.fromkeys(tx.keep(rows), Grant.YES))
        self.answers = [(asked, answers.get(asked.what, Grant.NO)) for asked in self.asked]

    def _lives(self, mark: Mark) -> bool:
        running = self.floor.live.get((mark.run_id, mark.key, mark.n))
        return running is not None and not running.ended

    def _strangers(self, tx: Turn) -> list[tuple[str, Key, int]]:
        """Attempts that run according to the database but not here: a commit that was thought lost had landed."""
        if not self.compare:
            return []
        here = set(self.floor.live) | {done.running.id for done in (*self.backlog, *self.floor.parked)}
        found = ((left.run_id, left.key, left.attempt.n) for left in tx.left(self.floor.epoch))
        return [stranger for stranger in found if stranger not in here]

    def _take_back(self, run_id: str, key: Key, n: int) -> None:
        """One that never began here is handed back; one whose body did begin, and is nowhere any more, is lost."""
        draft = self.drafts.get(run_id)
        if draft is None:
            return
        report = Report(Ended.HANDED_BACK, code="NEVER_BEGUN")
        if (run_id, key, n) in self.floor.launched and key.kind in ACTING:
            report = cut_short(draft.spec.unit(key), marked=True, code="ANSWER_LOST", death=False, gone=True)
        self._take(run_id, Finished(key, n, report))

    def _waiting(self, tx: Turn) -> list[Ready]:
        """Records in line for the slots that are free; a route that gave fewer than asked is not asked again until something wakes it."""
        if not self.claim:
            return []
        rows: list[Ready] = []
        if self._gate is not None:
            self.floor.hot |= self._gate.expect((done.running.spec.queue for done in self.backlog), self.floor.routes)
        for route in self.floor.claimable():
            free = self.floor.pool(route, Kind.STEP).free
            room = MANY if self._gate is None else self._gate.room(route)
            asked = min(free, room) or free
            found = tx.ready(route, asked, steps=room > 0, run_id=self.floor.only)
            rows.extend(found)
            if len(found) < asked or room == 0:
                self.floor.hot.discard(route)
        return rows

    def _open(self, tx: Turn, due: Sequence[str], strangers: Sequence[tuple[str, Key, int]], waiting: Sequence[Ready]) -> None:
        ids = {done.running.run_id for done in self.backlog}
        ids.update(due)
        ids.update(run_id for run_id, _, _ in strangers)
        ids.update(ready.run_id for ready in waiting)
        if self.tick:
            ids.update(running.run_id for running in self.floor.live.values())
        if not ids:
            return
        revisions = tx.lock(sorted(ids))
        known = self.floor.known
        stale = [run_id for run_id, revision in revisions.items() if run_id not in known or known[run_id].snapshot.run.revision != revision]
        fresh = {run_id: Known(one.snapshot, one.input, dict(one.outputs)) for run_id, one in tx.load(stale).items()} if stale else {}
        items = self._items(tx, revisions, due, strangers, waiting)
        for run_id in revisions:
            one = fresh.get(run_id) or known[run_id]
            try:
                spec = self.floor.catalog.spec(one.snapshot.run.hash)
            except Exception:  # a definition that cannot be read stops its own runs only
                log.exception("the definition of run %s cannot be read", run_id)
                continue
            snapshot, own = one.snapshot, items.get(run_id)
            if own is not None:
                snapshot = Snapshot(snapshot.run, {**snapshot.records, **own.records})
            self.drafts[run_id] = Draft(
                spec, snapshot, self.now, input=one.input, outputs=one.outputs, items=NO_ITEMS if own is None else own.texts, tends=True
            )

    def _items(
        self, tx: Turn, locked: Mapping[str, int], due: Sequence[str], strangers: Sequence[tuple[str, Key, int]], waiting: Sequence[Ready]
    ) -> Mapping[str, LoadedItems]:
        """Of steps that are done for many only the items about which something is to be decided."""
        wanted = [(done.running.run_id, done.running.record) for done in self.backlog]
        wanted += [(run_id, key) for run_id, key, _ in strangers] + [(ready.run_id, ready.key) for ready in waiting]
        if self.tick:
            wanted += [(running.run_id, running.record) for running in self.floor.live.values()]
            wanted += tx.items.due([run_id for run_id in due if run_id in locked])
        here = [(run_id, key) for run_id, key in wanted if key.item and run_id in locked]
        return tx.items.load(here) if here else {}

    # ── facts ──

    def _take_in(self, done: Done) -> None:
        running = done.running
        draft = self.drafts.get(running.run_id)
        if draft is None or (running.run_id in self.floor.apart and running.run_id in self._taken):
            self.left.append(done)  # the run is locked elsewhere, or set apart: next time
            self.waits = True
            return
        if done.report is STORED:  # a transaction step has committed by itself
            return
        record = draft.records.get(running.record)
        n = running.attempt
        if self._gate is not None and done.returned and (record is None or record.running is None or record.running.n != n):
            self._gate.returned(running.run_id, running.record, n)
        if record is not None and record.running is not None and record.running.n == n:
            self._decide(draft, Finished(running.record, n, done.report), running.record, done.payload)
        elif done.again and (record is None or all(attempt.n != n for attempt in record.unsettled)):
            return  # the commit whose answer was lost had stood
        elif done.returned:
            self._decide(draft, Late(running.record, n, done.report), running.record, done.payload)

    def _decide(self, draft: Draft, fact: Fact, key: Key, payload: Payload) -> None:
        if key.kind is not Kind.STEP and key.kind in PROBED_BY:
            draft.payloads[key] = Payload(error=payload.error)
            key = probed_key(key)
            payload = Payload(payload.output)
        before = draft.payloads.get(key)
        draft.payloads[key] = payload
        commands = self._take(draft.before.run.id, fact)
        moves = [command for command in commands if isinstance(command, Move) and command.record.key == key]
        if key.kind is Kind.CONDITION and payload.error is not None:
            self._fail_with(draft, key._replace(kind=Kind.STEP), payload.error)
        if not moves:  # what came with a fact that moves nothing belongs to no record
            del draft.payloads[key]
            if before is not None:
                draft.payloads[key] = before
        elif key.item:
            return  # nothing but its own undo reads what an item gave
        elif payload.output is not None and any(move.keep and move.record.status in _HAS_OUTPUT for move in moves):
            self._put_out(draft, key, payload.output)
        elif payload.error is not None and key.kind is Kind.STEP and draft.records[key].status is RecordStatus.FAILED:
            draft.outputs[error_of(key.step)] = payload.error

    def _fail_with(self, draft: Draft, step: Key, error: str) -> None:
        """A step whose condition could not be answered has failed with what that said."""
        record = draft.records.get(step)
        if record is not None and record.status is RecordStatus.FAILED:
            draft.payloads[step] = Payload(error=error)
            draft.outputs[error_of(step.step)] = error

    def _put_out(self, draft: Draft, key: Key, output: str) -> None:
        """What later bodies of the run read."""
        if key.kind is Kind.STEP:
            draft.outputs[key.step] = output
        elif key.kind is Kind.DRAFT:
            draft.outputs[draft_of(key)] = output

    def _take(self, run_id: str, fact: Fact) -> Sequence[Command]:
        """Decides about a fact; an error of the engine touches this run alone."""
        draft = self.drafts.get(run_id)
        if draft is None or (run_id in self.floor.apart and run_id in self._taken):
            return ()
        try:
            commands = draft.take(fact)
        except Exception:
            self._undecided(run_id, fact)
            return ()
        self._taken.add(run_id)
        if self._gate is not None:
            self._gate.ended(run_id, commands)
        return commands

    def _undecided(self, run_id: str, fact: Fact) -> None:
        """With other facts of the run in this batch: all of them again, one by one. Alone: a person is needed."""
        log.exception("a decision about run %s has failed", run_id)
        self.floor.apart.add(run_id)
        if run_id in self._taken:
            del self.drafts[run_id]
            self._dropped.add(run_id)
        else:
            rescue(self.drafts[run_id], fact)
            self._taken.add(run_id)  # and no other fact on top of it

    def _hand_back_dropped(self) -> None:
        """Nothing of these runs is stored in this cycle."""
        left = {id(done) for done in self.left}
        self.left = [done for done in self.backlog if id(done) in left or done.running.run_id in self._dropped]
        self.started = [running for running in self.started if running.run_id not in self._dropped]
        for run_id in self._dropped:
            self.floor.known.pop(run_id, None)
        self.waits = True

    def _look_again(self, run_id: str) -> None:
        if not (run_id in self.floor.apart and run_id in self._taken):
            self._take(run_id, LookAgain())

    # ── waits ──

    def _arrive(self, arrival: Arrival) -> None:
        draft = self.drafts.get(arrival.run_id)
        if draft is not None:
            self._decide(draft, Arrived(arrival.key, arrival.source), arrival.key, Payload(arrival.payload))

    def _meet_what_came_first(self, tx: Turn, changes: Sequence[Change]) -> None:
        """What a wait waits for may have come before it: it is taken in the transaction that opens the wait (B13)."""
        opened = [
            change.before.run.id
            for change in changes
            if self.drafts[change.before.run.id].spec.waits and any(isinstance(command, OpenWait) for command in change.commands)
        ]
        arrivals = tx.inbox.arrived(opened) if opened else ()
        again = {run_id: self._go_on_from(run_id) for run_id in dict.fromkeys(arrival.run_id for arrival in arrivals)}
        for arrival in arrivals:
            self._arrive(arrival)
        self._write_more(tx, list(again))

    # ── items ──

    def _tend_items(self, tx: Turn, touched: Sequence[str]) -> None:
        """Items that wait for their turn get in line, and a step none of whose items moves any more is closed; after all was written.

        What the end of one step says may stop the items of another, or begin to undo them: those are looked after in the same turn,
        because nothing else of the run may move and bring it here again.
        """
        while touched:
            touched = self._tend(tx, touched)

    def _tend(self, tx: Turn, touched: Sequence[str]) -> Sequence[str]:
        """Answers the runs in which something else has moved by that."""
        self._hear_of_children(tx, touched)
        rested = [(run_id, fact) for run_id in touched for fact in begin_items(tx, self.drafts[run_id], self.floor.hot)]
        ids = list(dict.fromkeys(run_id for run_id, _ in rested))
        for run_id in ids:
            self._go_on_from(run_id)
        for run_id, fact in rested:
            told = json.dumps({"round": fact.key.round, **fact.tally._asdict()}, separators=(",", ":"))
            self._decide(self.drafts[run_id], fact, fact.key, Payload(told))
        self._write_more(tx, ids)
        return [run_id for run_id in ids if moves_items(self.drafts[run_id].commands)]

    def _hear_of_children(self, tx: Turn, touched: Sequence[str]) -> None:
        """Children that have ended, also those that did before their parent began to wait (B37)."""
        ended = tx.items.ended([run_id for run_id in touched if self.drafts[run_id].spec.starts_runs])
        if not ended:
            return
        loaded = tx.items.load([(run_id, key) for run_id, key, _ in ended])
        for run_id, items in loaded.items():
            self._go_on_from(run_id, items)
        for run_id, key, status in ended:
            self._take(run_id, ChildEnded(key, status))
        self._write_more(tx, list(loaded))

    def _write_more(self, tx: Turn, ids: Sequence[str]) -> None:
        changes = [change for run_id in dict.fromkeys(ids) if (change := self.drafts[run_id].change()) is not None]
        if changes:
            tx.write(changes)
            self.waits = True  # what stands behind is claimed in the next turn
            self.floor.hot.update(self.floor.routes)

    def _go_on_from(self, run_id: str, more: LoadedItems | None = None) -> Draft:
        """Another decision about a run, on top of what was written about it in this transaction."""
        first = self.drafts[run_id]
        snapshot, items = first.snapshot, first.items
        if more is not None:
            snapshot, items = Snapshot(snapshot.run, {**snapshot.records, **more.records}), {**items, **more.texts}
        draft = Draft(first.spec, snapshot, self.now, input=first.input, outputs=first.outputs, items=items, tends=True)
        self._taken.discard(run_id)
        self.drafts[run_id] = draft
        return draft

    # ── slots ──

    def _fill_slots(self, waiting: Sequence[Ready]) -> None:
        free = {id(pool): pool.free for pool in (self.floor.loop, self.floor.threads)}
        for place in sorted(self._line(waiting)):
            pool = id(self._pool(place))
            if free[pool] <= 0:
                self.floor.hot.add(place.route)
                continue
            if self._gate is not None and not self._gate.admits(place.route, self.drafts[place.run_id].spec.type, place.key.kind):
                continue
            if self._start(place):
                free[pool] -= 1

    def _line(self, waiting: Sequence[Ready]) -> Iterator[Place]:
        """Who waits for a slot: what was claimed, and what has just become ready in the runs at hand."""
        if not self.claim:
            return
        for run_id, draft in self.drafts.items():
            for key, record in draft.records.items():
                if record.status is not RecordStatus.PENDING or record.ready_at is None:
                    if record.status is RecordStatus.UNKNOWN and record.ready_at is not None:
                        self._due(record.ready_at)
                    continue
                route = draft.spec.by_name[key.step].route
                if record.ready_at > self.now:
                    self._due(record.ready_at)
                elif route in self.floor.routes and self.floor.only in ("", run_id):
                    yield Place((rank(draft.before.run.priority, record.ready_at), run_id), run_id, key, route)
        for ready in waiting:
            if ready.run_id not in self.drafts:  # its run is locked elsewhere
                self.waits = True

    def _pool(self, place: Place) -> Free:
        """A list of items is made in a thread, whatever is done for each of them."""
        step = self.drafts[place.run_id].spec.by_name[place.key.step]
        lists = step.fan is not None and (not place.key.item or step.sort is Sort.CHILDREN)
        return self.floor.threads if lists else self.floor.pool(place.route, place.key.kind)

    def _due(self, at: int) -> None:
        self.next_due = at if self.next_due is None else min(self.next_due, at)

    def _start(self, place: Place) -> bool:
        draft = self.drafts.get(place.run_id)
        if draft is None or (place.run_id in self.floor.apart and place.run_id in self._taken):
            self.waits = True
            return False
        spec = draft.spec.unit(place.key)
        handler = self.floor.catalog.handler(draft.spec, spec)
        takes_mark = handler.takes_mark if place.key.kind is Kind.STEP and spec.fan is None else None
        commands = self._take(place.run_id, Claimed(place.key, self.floor.epoch, takes_mark))
        begun = next((command for command in commands if isinstance(command, StartAttempt)), None)
        if begun is None:
            return False
        if self._gate is not None:
            self._gate.take(spec.queue, place.run_id, place.key, begun.n)
        self.started.append(
            Running(
                self.floor, place.run_id, place.key, begun.n, handler=handler, spec=spec,
                correlation_id=draft.before.run.correlation_id, input=draft.input, outputs=draft.outputs, marked=begun.marked,
                lease=self.floor.settings.lease, on_loop=self._pool(place) is self.floor.loop,
                item=draft.items.get(place.key._replace(kind=Kind.STEP)), cause=cause_of(draft, place.key),
                priority=draft.before.run.priority, again=bool(draft.records[place.key].looks),
                budget=limits(draft.spec.budget, spec.budget, draft.before.run.grants),
                missing=missing(draft.spec, draft.records, draft.outputs, place.key.step),
            )
        )  # fmt: skip
        return True

    # ── what running bodies must hear ──

    def _watch(self) -> None:
        for draft in self.drafts.values():
            if draft.ended and draft.spec.in_line:
                self.released = True
        if not self.tick:
            return
        for running in self.floor.live.values():
            seen = self.drafts.get(running.run_id)
            if seen is None or running.ended:
                continue
            record = seen.records.get(running.record)
            if record is None or not _still(record, running.attempt):
                self.unwanted.append(running)
            elif running.record.kind is Kind.STEP and seen.stopping:
                running.stop_asked = True


def _still(record: Record, n: int) -> bool:
    return record.running is not None and record.running.n == n
