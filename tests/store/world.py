"""What the tests of the store need: a few definitions, and short ways to move a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import psycopg

from halfway.domain.decide import decide, evolve
from halfway.domain.draft import Audit, Change, Payload
from halfway.domain.facts import Claimed, CloseWait, Command, Fact, Finished, OpenWait, SetRun
from halfway.domain.line import Claim
from halfway.domain.run import Ended, Key, Report, Snapshot
from halfway.domain.spec import Effect, Sort, StepSpec, WorkflowSpec
from halfway.ports import Arrival, NewEvent, NewRun, Received, Started
from halfway.store import Store, new_id

CODE = "code"
ROUTE = f"default/{CODE}"


def spec_of(*steps: StepSpec, type: str = "orders", **options: object) -> WorkflowSpec:
    placed = [replace(step, after=(steps[number - 1].name,) if number else ()) for number, step in enumerate(steps)]
    return WorkflowSpec(type=type, version=1, owner="owner", steps=tuple(placed), **options)


def step(name: str, effect: Effect = Effect.CREATE, **options: object) -> StepSpec:
    return StepSpec(name=name, effect=effect, code=CODE, **options)


TWO = spec_of(step("first"), step("second"))
MARKED = spec_of(step("first", takes_mark=True))
BOOKED = spec_of(StepSpec(name="first", sort=Sort.TRANSACTION, code=CODE), type="bookings")
LOCKED = spec_of(step("first"), type="locked", locked=True)


def new_run(spec: WorkflowSpec = TWO, **options: object) -> NewRun:
    new = NewRun(new_id(), spec, "{}", None, None, "", 0, None, "tester")
    new = new._replace(**options)
    return new if new.resource is None or new.claims else new._replace(claims=(Claim(f"resource:{new.resource}"),))


def start(store: Store, spec: WorkflowSpec = TWO, **options: object) -> Started:
    return store.runs.create([new_run(spec, **options)])[0]


def begin(store: Store, identity: str = "") -> str:
    return store.lives.begin(host="host", pid=1, identity=identity, kill_after=None)


def apply(
    store: Store, run_id: str, spec: WorkflowSpec, *facts: Fact, payloads: dict[Key, Payload] | None = None, epoch: str | None = None
) -> Snapshot:
    """Each fact in a transaction of its own; answers the run as it stands then."""
    snapshot = read(store, run_id)
    for fact in facts:
        with store.runs.change(epoch=epoch) as turn:
            assert run_id in turn.lock([run_id])
            snapshot = turn.load([run_id])[run_id].snapshot
            commands = decide(spec, snapshot, fact, turn.now)
            turn.write([Change(snapshot, commands, payloads or {})])
            snapshot = evolve(snapshot, commands)
    return snapshot


def claim(store: Store, run_id: str, epoch: str, spec: WorkflowSpec = TWO, name: str = "first") -> Snapshot:
    return apply(store, run_id, spec, Claimed(Key(name), epoch))


def succeed(store: Store, run_id: str, spec: WorkflowSpec = TWO, *, name: str = "first", n: int = 1, output: str = "{}") -> Snapshot:
    return apply(store, run_id, spec, Finished(Key(name), n, Report(Ended.SUCCESS)), payloads={Key(name): Payload(output)})


def order(store: Store, run_id: str, fact: Fact, audit: Audit) -> None:
    """What Control does: one fact with an audit row."""
    with store.runs.change(name="order") as turn:
        turn.lock([run_id], wait=True)
        snapshot = turn.load([run_id])[run_id].snapshot
        turn.write([Change(snapshot, decide(TWO, snapshot, fact, turn.now), audit=audit)])


def put(store: Store, run_id: str, *commands: Command, payloads: dict[Key, Payload] | None = None, new_input: str | None = None) -> None:
    """Stores these commands about a run, whoever may decide them."""
    with store.runs.change() as turn:
        turn.lock([run_id], wait=True)
        before = turn.load([run_id])[run_id].snapshot
        turn.write([changed(before, *commands, payloads=payloads, new_input=new_input)])


def changed(before: Snapshot, *commands: Command, payloads: dict[Key, Payload] | None = None, new_input: str | None = None) -> Change:
    """These commands, and the run as it is with its next revision."""
    run = next((command.run for command in commands if isinstance(command, SetRun)), None)
    own = () if run is not None else (SetRun(before.run._replace(revision=before.run.revision + 1)),)
    return Change(before, (*commands, *own), payloads or {}, new_input=new_input)


def waits(
    name: str = "paid", key: str = "order-1", *, sort: Sort = Sort.EVENT, since: int = 0, n: int = 1, step: str = "first"
) -> OpenWait:
    return OpenWait(Key(step), n, sort, name, key, since)


def waiting_run(store: Store, wait: OpenWait | None = None, **options: object) -> str:
    """A run that waits, for an event unless it is said otherwise."""
    run_id = start(store, **options).run_id
    put(store, run_id, wait or waits())
    return run_id


def event(name: str = "paid", key: str = "order-1", **options: object) -> NewEvent:
    id = new_id()
    return NewEvent(id, "shop", id, name, key, "{}")._replace(**options)


def receive(store: Store, *events: NewEvent) -> list[Received]:
    with store.runs.change() as turn:
        return list(turn.inbox.receive(events))


def arrived(store: Store, *run_ids: str) -> list[Arrival]:
    """What has come for runs, without taking it."""
    with store.runs.change() as turn:
        turn.lock(run_ids)
        return list(turn.inbox.arrived(run_ids))


def take(store: Store, run_id: str) -> list[str]:
    """What has come for a run is used up, as the engine does it."""
    with store.runs.change() as turn:
        turn.lock([run_id], wait=True)
        before = turn.load([run_id])[run_id].snapshot
        found = turn.inbox.arrived([run_id])
        if found:
            turn.write([changed(before, *(CloseWait(one.key, "ARRIVED", one.source) for one in found))])
        return [one.source for one in found]


def due(store: Store, *, repair: int = 0) -> list[str]:
    with store.runs.change() as turn:
        return list(turn.due(100, repair=repair))


def read(store: Store, run_id: str) -> Snapshot:
    with store.runs.change() as turn:
        return turn.load([run_id])[run_id].snapshot


def ids(started: Sequence[Started]) -> list[str]:
    return [one.run_id for one in started]


def until_somebody_waits(url: str) -> None:
    """Returns when another session of this PostgreSQL database waits for a lock."""
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute(WAITING).fetchall():
            pass


WAITING = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
