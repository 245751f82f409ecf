"""The crash matrix: a process is broken at every point of its undisturbed life, a fresh worker finishes, and the ledger is compared."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple

from halfway import Run, RunStatus
from halfway.domain.run import Kind
from halfway.ports import Detail
from tests.crash.flows import EXPECTED, bookings, run_sql
from tests.crash.processes import Program
from tests.crash.program import FLOWS
from tests.crash.recovery_flows import STORIES
from tests.crash.worlds import World, Worlds
from tests.engine.harness import Harness, Order
from tests.faults.checks import all_is_well, attempts_are_recorded, history_agrees

AT_ONCE = 4  # processes; they wait more than they compute


class Undisturbed(NamedTuple):
    """A life in which nothing went wrong."""

    status: str
    points: list[str]  # `name:n`, in order


class Nursery:
    """A few processes in which lives are begun; the one that has nothing to do takes the next."""

    def __init__(self, module: str = "tests.crash.program", **environment: str) -> None:
        self._free: SimpleQueue[Program] = SimpleQueue()
        self._programs = [Program(module, **environment) for _ in range(AT_ONCE)]
        for program in self._programs:
            self._free.put(program)

    def live(
        self, flow: str, world: World, at: str = "", how: str = "kill", order: tuple[str, dict[str, str]] | None = None
    ) -> Undisturbed | None:
        """One life of a process, that is killed at this point or loses its connection there; None if it was killed."""
        told = self.ask([flow, world.url, str(world.folder / "ledger"), at, how, order])
        return None if told is None else undisturbed(told)

    def ask(self, request: Sequence[object], *, seconds: float | None = None) -> dict[str, Any] | None:
        """What a life tells; None if it was killed, by itself, by its world, or because its seconds were over."""
        program = self._free.get()
        try:
            program.tell(json.dumps([seconds, request]))
            code, told = json.loads(program.told())
            assert code in (0, -signal.SIGKILL), f"exit code {code} of {request}:\n{program.errors()}"
        finally:
            self._free.put(program)
        return None if code else json.loads(told)

    def close(self) -> None:
        for program in self._programs:
            program.close()


def undisturbed(told: dict[str, Any]) -> Undisturbed:
    seen: Counter[str] = Counter()
    points = []
    for name in told["points"]:
        seen[name] += 1
        points.append(f"{name}:{seen[name]}")
    return Undisturbed(told["status"], points)


def break_everywhere(
    nursery: Nursery, flow: str, worlds: Worlds, *, how: str = "kill", begun: World | None = None,
    only: Callable[[list[str]], Sequence[str]] = list,
) -> list[str]:  # fmt: skip
    """Breaks a life at each of its points, and answers these. begun: a world in which an earlier life has died already."""
    first = worlds.fresh() if begun is None else worlds.copy(begun)
    whole = nursery.live(flow, first)
    assert whole is not None
    points = list(only(whole.points))
    places = [worlds.fresh() if begun is None else worlds.copy(begun) for _ in points]
    lost = (begun is not None) + (how == "kill")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        tries = [pool.submit(break_at, nursery, point, how, flow, place, lost) for point, place in zip(points, places, strict=True)]
    problems = [f"{how} at {point}: {error!r}" for point, one in zip(points, tries, strict=True) if (error := one.exception())]
    assert not problems, "\n".join(problems)
    return points


def break_at(nursery: Nursery, point: str, how: str, flow: str, world: World, lost: int) -> None:
    """How commits are shared may differ from life to life, so a late point may not be reached; then nothing was broken."""
    nursery.live(flow, world, point, how)
    finish(flow, world, lost)


def finish(flow: str, world: World, lost: int) -> None:
    """A fresh worker brings the run to its end, and the world is as the contract allows."""
    wf = FLOWS[flow](world.url, world.ledger)
    h = Harness(world.url, wf)
    try:
        whole_where_it_stands(h)
        run = h.start(wf, Order())
        doubted = in_doubt(h.app.store.reading.detail(run.id))
        if flow in STORIES:
            with h.worker():
                run = STORIES[flow](h.app, run)
        else:
            run = h.drain(run)
        CONTRACT[flow](h, world, run, doubted, lost)
    finally:
        h.close()


def whole_where_it_stands(h: Harness) -> None:
    """Whatever was killed, what is committed tells one story."""
    reading = h.app.store.reading
    for row in reading.runs():
        detail, journal = reading.detail(row.run.id), reading.journal(row.run.id)
        history_agrees(detail, journal)
        attempts_are_recorded(detail, journal)


def in_doubt(detail: Detail) -> bool:
    """Whether an attempt had begun its effect when its worker died."""
    steps = [one for one in detail.records if one.record.key.kind is Kind.STEP]
    return any(attempt.mark_at is not None and attempt.ended_at is None for one in steps for attempt in one.attempts)


def outputs_are(h: Harness, run: Run[Order], flow: str) -> None:
    steps = {one.record.key.step: one.output for one in h.app.store.reading.detail(run.id).records if one.record.key.kind is Kind.STEP}
    assert steps == EXPECTED[flow]


def order_contract(h: Harness, world: World, run: Run[Order], doubted: bool, lost: int) -> None:
    """CREATE once, though its first answer is lost; the transaction once; what may be repeated not more often than lives were lost."""
    assert run.status is RunStatus.SUCCESS, h.journal(run)
    outputs_are(h, run, "order")
    tally = world.ledger.tally()
    assert tally["CREATE"] == 1
    assert bookings(world.url) == 1
    assert 1 <= tally["LOOK_UP"] <= 1 + lost
    assert 1 <= tally["NOTIFY"] <= 1 + lost
    assert len({line["key"] for line in world.ledger.lines() if line["event"] == "NOTIFY"}) == 1
    assert 1 <= tally["SUMMARY"] <= 1 + lost
    assert "step.person_needed" not in h.journal(run)
    all_is_well(h, run)


def message_contract(h: Harness, world: World, run: Run[Any], doubted: bool, lost: int) -> None:
    """A kill before the mark asks nobody; one behind it asks a person, who looks at the provider's log, and then it was sent once."""
    sent = world.ledger.count(event="SEND")
    if doubted:
        assert run.status is RunStatus.MANUAL_REQUIRED, h.journal(run)
        if sent:
            h.app.control.mark_success(run.id, "SEND", actor="kim", reason="seen", evidence="log line 7", output='"sent: dear o1"')
        else:
            h.app.control.retry(run.id, "SEND", actor="kim", reason="looked", not_happened=True, evidence="no line in the log")
        run = h.drain(run)
    else:
        assert not {"step.unknown", "step.person_needed"} & set(h.journal(run)), h.journal(run)
    assert run.status is RunStatus.SUCCESS, h.journal(run)
    outputs_are(h, run, "message")
    assert world.ledger.count(event="SEND") == 1
    all_is_well(h, run, orders=1 if doubted else 0)


def people_contract(h: Harness, world: World, run: Run[Any], doubted: bool, lost: int) -> None:
    """One event, one approval, one booking; the message is repeated under its key at most as often as lives were lost."""
    assert run.status is RunStatus.SUCCESS, h.journal(run)
    assert bookings(world.url) == 1
    assert 1 <= world.ledger.tally()["TELL"] <= 1 + lost
    events = h.app.control.events()
    assert sorted((one.event.name, one.run_id) for one in events) == [("BOOKED", run.id), ("PAID", run.id)]
    all_is_well(h, run, orders=1)


def undo_contract(h: Harness, world: World, run: Run[Any], doubted: bool, lost: int) -> None:
    """Each effect is undone once, the last one first; what carries a key may be repeated under it."""
    assert run.status is RunStatus.COMPENSATED, h.journal(run)
    tally = world.ledger.tally()
    assert tally["REMOVE"] == 1
    assert 1 <= tally["CORRECT"] <= 1 + lost
    rows = run_sql(world.url, "select attempt from booking order by attempt")
    assert [attempt > 0 for (attempt,) in rows] == [False, True]
    undone = [line["event"] for line in world.ledger.lines() if line["event"] in ("REMOVE", "CORRECT")]
    assert undone[-1] == "REMOVE"
    compensations = [one.record for one in h.app.store.reading.detail(run.id).records if one.record.key.kind is Kind.COMPENSATION]
    assert sorted((record.key.step, record.status.value) for record in compensations) == [
        ("ANNOUNCE", "SUCCESS"), ("BOOK", "SUCCESS"), ("CREATE", "SUCCESS"),
    ]  # fmt: skip
    all_is_well(h, run, orders=1)


CONTRACT: dict[str, Callable[[Harness, World, Run[Any], bool, int], None]] = {
    "order": order_contract, "message": message_contract, "people": people_contract, "undo": undo_contract,
}  # fmt: skip
