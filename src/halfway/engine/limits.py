"""What may start in one turn of the pump: slots and rates of queues, and what is paused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from halfway.domain.draft import Change
from halfway.domain.facts import Command, EndAttempt
from halfway.domain.line import Starts, free_slots, holder_of, may_start, may_start_at, slot_key, with_starts
from halfway.domain.run import ACTING, Key, Kind
from halfway.engine.catalog import Catalog
from halfway.ports import Flow, FlowState, OpenQueue

MANY = 1_000_000
SOON = 20_000  # microseconds: a queue that is in another hand is free in a moment


class Opened:
    """A queue with limits, in the hand of this turn."""

    def __init__(self, queue: OpenQueue, freed: set[str], now: int) -> None:
        self._limits, self._taken, self._freed, self._now = queue.limits, dict(queue.taken), freed, now
        self.starts: Starts = queue.starts
        self.began = 0

    @property
    def room(self) -> int:
        """How many attempts may start now."""
        slots = MANY if self._limits.concurrency is None else len(self._free(self._limits.concurrency))
        return min(slots, self.by_time)

    @property
    def by_time(self) -> int:
        """The same, as far as the rate is concerned."""
        allowed = may_start(self._limits, self.starts, self._now)
        return MANY if allowed is None else max(allowed - self.began, 0)

    def more_at(self) -> int | None:
        """When its rate allows more."""
        return may_start_at(with_starts(self.starts, self.began, self._now), self._now)

    def _free(self, limit: int) -> list[int]:
        return free_slots(limit, (slot for slot, holder in self._taken.items() if holder not in self._freed))

    def take(self, holder: str) -> int | None:
        """An attempt begins; answers its slot, if the queue has slots."""
        self.began += 1
        if self._limits.concurrency is None:
            return None
        slot = self._free(self._limits.concurrency)[0]
        self._taken[slot] = holder
        return slot

    def counted(self) -> Starts | None:
        """What counts against the rate from now on; None if nothing has changed."""
        return with_starts(self.starts, self.began, self._now) if self.began and self._limits.per_minute is not None else None


class Gate:
    """Asked for everything that wants to start, on a database where anything is limited or paused."""

    def __init__(self, flow: Flow, state: FlowState, catalog: Catalog, now: int) -> None:
        self._flow, self._state, self._catalog, self._now = flow, state, catalog, now
        self._opened: dict[str, Opened | None] = {}
        self._ending: Counter[str] = Counter()  # attempts of a queue whose end is about to be taken in
        self._returned: list[str] = []
        self._freed: set[str] = set()
        self._slots: dict[str, dict[str, tuple[str, int]]] = {}  # by run

    @staticmethod
    def of(flow: Flow, catalog: Catalog, now: int) -> Gate | None:
        """None on a database where nothing is limited or paused."""
        state = flow.state()
        return Gate(flow, state, catalog, now) if state.binds else None

    def _is_paused(self, queue: str, type: str) -> bool:
        return queue in self._state.paused_queues or type in self._state.paused_types

    # ── what ends ──

    def expect(self, ending: Iterable[str], routes: Iterable[str]) -> set[str]:
        """Attempts of these queues have handed in, so that their slots are free in this turn; answers the routes that may go on."""
        self._ending.update(queue for queue in ending if queue in self._state.limits)
        return {route for route in routes if route.partition("/")[0] in self._ending} if self._ending else set()

    def ended(self, run_id: str, commands: Sequence[Command]) -> None:
        """What was decided about a run; attempts that end, and whose bodies have returned, free their slots in this turn."""
        for command in commands:
            if isinstance(command, EndAttempt) and command.gone_at is not None and command.gone_at <= self._now:
                self._freed.add(holder_of(run_id, command.key, command.n))

    def returned(self, run_id: str, key: Key, n: int) -> None:
        """The body of an attempt that was ended before."""
        holder = holder_of(run_id, key, n)
        self._returned.append(holder)
        self._freed.add(holder)

    # ── what starts ──

    def room(self, route: str) -> int:
        """For how many steps of a route it is worth looking; for none, what only looks or undoes is looked for."""
        queue = route.partition("/")[0]
        if self._is_paused(queue, self._catalog.type_of(route)):
            return 0
        if queue not in self._state.limits:
            return MANY
        opened = self._open(queue)
        return 0 if opened is None else min(opened.room + self._ending[queue], opened.by_time)

    def admits(self, route: str, type: str, kind: Kind) -> bool:
        """Whether one more may start. A pause holds back steps; limits bind what acts; nothing holds back what only looks."""
        queue = route.partition("/")[0]
        if kind is Kind.STEP and self._is_paused(queue, type):
            return False
        if kind not in ACTING or queue not in self._state.limits:
            return True
        opened = self._open(queue)
        return opened is not None and opened.room > 0

    def take(self, queue: str, run_id: str, key: Key, n: int) -> None:
        """It has started."""
        opened = self._opened.get(queue)
        if opened is None or key.kind not in ACTING:
            return
        holder = holder_of(run_id, key, n)
        slot = opened.take(holder)
        if slot is not None:
            self._slots.setdefault(run_id, {})[holder] = (slot_key(queue), slot)

    def _open(self, queue: str) -> Opened | None:
        if queue not in self._opened:
            found = self._flow.open(queue)
            self._opened[queue] = None if found is None else Opened(found, self._freed, self._now)
        return self._opened[queue]

    # ── the end of the turn ──

    def settle(self, changes: Sequence[Change], due: Callable[[int], None]) -> list[Change]:
        """Writes what belongs to no run, says when a rate allows more, and answers the changes with the slots that they take."""
        if self._returned:
            self._flow.give_back(self._returned)
        if any(opened is None for opened in self._opened.values()):
            due(self._now + SOON)
        for queue, opened in self._opened.items():
            counted = None if opened is None else opened.counted()
            if counted is not None:
                self._flow.count(queue, counted)
            if opened is not None and opened.by_time == 0 and (at := opened.more_at()) is not None:
                due(at)
        return [change._replace(slots=slots) if (slots := self._slots.get(change.before.run.id)) else change for change in changes]


def settled(gate: Gate | None, changes: list[Change], due: Callable[[int], None]) -> list[Change]:
    """The changes of a turn with the slots that their attempts take."""
    return changes if gate is None else gate.settle(changes, due)
