"""The ports `Flow` and `Queues`: limits and pauses, the slots of queues, and the lines in which runs wait."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from halfway.domain.draft import Audit
from halfway.domain.line import Limits, Starts, attempt_of, counting, may_start, may_start_at, slot_key
from halfway.domain.run import Key
from halfway.errors import Conflict
from halfway.ports import FlowState, LineRow, OpenQueue, PauseRow, QueueRow
from halfway.store.claims import Claims
from halfway.store.database import Database, Session, Work
from halfway.store.ids import new_id
from halfway.store.rows import to_key
from halfway.store.texts import require_storable, storable

CHANGED = "flow"  # the name under which the last change of limits and pauses is kept
FORGOTTEN_AT_ONCE = 200
UNLIMITED = FlowState({})


class Known:
    """Limits and pauses as this process last read them, and the name of the change after which it did."""

    def __init__(self) -> None:
        self.change: str | None = None
        self.state = UNLIMITED
        self.limited: frozenset[str] = frozenset()  # queues that have had limits since this process began: their attempts may hold slots

    def read(self, session: Session, change: str | None) -> FlowState:
        if change != self.change:
            self.state = _state(session)
            self.limited = self.limited.union(self.state.limits)
            self.change = change
        return self.state


class StoreFlow:
    """The port `Flow` on one open transaction. `change`: the last change of limits and pauses; None if there was none, or nobody asked."""

    def __init__(self, session: Session, known: Known, change: str | None) -> None:
        self._session = session
        self._known = known
        self._change = change
        self._claims = Claims(session)

    def state(self) -> FlowState:
        return self._known.read(self._session, self._change)

    def open(self, queue: str) -> OpenQueue | None:
        rows = self._session.rows("open_queue", name=queue)
        if not rows:
            return None
        concurrency, per_minute, starts = rows[0]
        taken = {slot: holder for _, slot, holder in self._session.rows("slots", keys=[slot_key(queue)])}
        return OpenQueue(Limits(concurrency, per_minute), taken, _starts(starts))

    def count(self, queue: str, starts: Starts) -> None:
        self._session.run("set_starts", name=queue, starts=json.dumps(starts, separators=(",", ":")))

    def give_back(self, holders: Sequence[str]) -> None:
        self._session.many([Work("give_back_slot", [(holder,) for holder in holders])])

    def tidy(self) -> int:
        self._session.run("forget_put_off", limit=FORGOTTEN_AT_ONCE)
        holders = [holder for _, _, holder in self._session.rows("queue_slots")]
        if not holders:
            return 0
        alive = self._may_still_run(sorted({attempt_of(holder)[0] for holder in holders}))
        over = sorted(holder for holder in holders if attempt_of(holder) not in alive)
        if over:
            self.give_back(over)
        return len(over)

    def _may_still_run(self, run_ids: Sequence[str]) -> set[tuple[str, Key, int]]:
        rows = self._session.rows("may_still_run", ids=run_ids, now=self._session.now)
        return {(row[0], to_key(*row[1:5]), row[5]) for row in rows}

    def in_line(self, limit: int) -> Sequence[str]:
        return self._claims.in_line(limit)

    def take(self, run_ids: Sequence[str]) -> frozenset[str]:
        wanted = self._claims.of(run_ids)
        return self._claims.take([(run_id, wanted.get(run_id, ())) for run_id in run_ids])


class StoreQueues:
    """The port `Queues`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def declare(self, limits: Mapping[str, Limits]) -> None:
        with self._database.reading() as session:
            known = _limits(session)
        if all(known.get(name, Limits()) == one for name, one in limits.items()):
            return
        with self._database.transaction("declare") as session:
            for name, (concurrency, per_minute) in sorted(limits.items()):
                session.run("put_limits", name=name, concurrency=concurrency, per_minute=per_minute)
            _changed(session)

    def limited(self) -> Sequence[QueueRow]:
        with self._database.reading() as session:
            running: defaultdict[str, int] = defaultdict(int)
            for key, _, _ in session.rows("queue_slots"):
                running[key] += 1
            now = session.now
            return [
                QueueRow(
                    name, limits, running[slot_key(name)], sum(count for _, count in counting(_starts(starts), now)),
                    may_start_at(_starts(starts), now) if may_start(limits, _starts(starts), now) == 0 else None,
                )
                for name, concurrency, per_minute, starts in session.rows("limits")
                for limits in [Limits(concurrency, per_minute)]
            ]  # fmt: skip

    def ready(self) -> Mapping[str, int]:
        found: defaultdict[str, int] = defaultdict(int)
        with self._database.reading() as session:
            for route, count in session.rows("ready_work", now=session.now):
                found[route.partition("/")[0]] += count
        return found

    def pauses(self) -> Sequence[PauseRow]:
        with self._database.reading() as session:
            return [PauseRow(*row) for row in session.rows("pauses")]

    def set_pause(self, what: str, name: str, *, paused: bool, audit: Audit) -> bool:
        require_storable(name=name, actor=audit.actor, reason=audit.reason, action_id=audit.action_id)
        with self._database.transaction("pause") as session:
            for action_id, run in session.rows("audited", ids=[audit.action_id]):
                raise Conflict("ACTION_REPEATED", action_id=action_id, run=run or name)
            if paused:
                done = session.run("pause", what=what, name=name, now=session.now, actor=audit.actor, reason=audit.reason)
            else:
                done = session.run("unpause", what=what, name=name)
            if not done:
                return False
            session.run(
                "audit", id=session.now, now=session.now, action_id=audit.action_id, actor=audit.actor, action=audit.action, run_id="",
                step=None, reason=audit.reason, evidence=audit.evidence, refused=None, before_state="", after_state="",
            )  # fmt: skip
            _changed(session)
            return True

    def lines(self, run_id: str) -> Sequence[LineRow]:
        if not storable(run_id):
            return []
        with self._database.reading() as session:
            claims = session.rows("claims", ids=[run_id])
            held: defaultdict[str, int] = defaultdict(int)
            for key, _, _ in session.rows("slots", keys=[key for _, key, _, _ in claims]) if claims else []:
                held[key] += 1
        return [LineRow(key, slots, held[key], waits_from is not None) for _, key, slots, waits_from in claims]


def _changed(session: Session) -> None:
    """Whoever asks next reads limits and pauses anew."""
    session.run("put_meta", name=CHANGED, value=new_id())


def _state(session: Session) -> FlowState:
    pauses = session.rows("pauses")
    return FlowState(
        _limits(session),
        frozenset(name for what, name, *_ in pauses if what == "QUEUE"),
        frozenset(name for what, name, *_ in pauses if what == "WORKFLOW"),
    )


def _limits(session: Session) -> dict[str, Limits]:
    return {name: Limits(concurrency, per_minute) for name, concurrency, per_minute, _ in session.rows("limits")}


def _starts(text: str) -> Starts:
    return tuple((second, count) for second, count in json.loads(text))
