"""A database with a long history: very many runs that have ended, some that can run, and very many that wait for a time to come."""

from __future__ import annotations

from halfway.domain.spec import DAY, Effect, StepSpec, WorkflowSpec
from halfway.ports import NewRun
from halfway.store import Store, new_id

CODE = "soak"
SPEC = WorkflowSpec(type="SOAK", version=1, owner="bench", steps=(StepSpec(name="ONLY", effect=Effect.READ, code=CODE),))
ROUTE = SPEC.by_name["ONLY"].route
AT_ONCE = 50_000  # rows in one transaction
LONG = 10  # steps of each hundredth run

NUMBERS = "with recursive numbers(i) as (select ? union all select i + 1 from numbers where i < ?)"
ENDED = [
    """insert into halfway_run (
        id, type, version, hash, status, revision, seq, priority, correlation_id, blocked, input, run_key, actor,
        created_at, started_at, updated_at, ended_at
    )
    {numbers} select 'old-' || (1000000000 + i), 'SOAK', 1, '{hash}', 'SUCCESS', 3, 3, 0, '', 0, '{{}}', 'k-' || i, '',
        {now} - i * 1000, {now} - i * 1000, {now} - i * 1000, {now} - i * 1000 from numbers""",
    "insert into halfway_key (type, key, n, run_id) {numbers} select 'SOAK', 'k-' || i, 1, 'old-' || (1000000000 + i) from numbers",
    """insert into halfway_record (
        run_id, step, round, item, kind, status, route, priority, attempts, failures, lost, effect, code, asks, looks,
        first_at, started_at, ended_at, output
    )
    {numbers} select 'old-' || (1000000000 + i), 'STEP-' || step.n, 1, '', 'STEP', 'SUCCESS', '{route}', 0, 1, 0, 0, 'happened', '', '', 0,
        {now} - i * 1000, {now} - i * 1000, {now} - i * 1000, '"done"'
    from numbers join {steps} on step.n = 1 or i % 100 = 0""",
    """insert into halfway_attempt (run_id, step, round, item, kind, n, epoch, started_at, ended_at, ended, code)
    {numbers} select 'old-' || (1000000000 + i), 'STEP-' || step.n, 1, '', 'STEP', 1, 'e', {now} - i * 1000, {now} - i * 1000, 'SUCCESS', ''
    from numbers join {steps} on step.n = 1 or i % 100 = 0""",
    """insert into halfway_journal (run_id, seq, at, name)
    {numbers} select 'old-' || (1000000000 + i), line.n, {now} - i * 1000, 'noted' from numbers join {lines} on 1 = 1""",
]
WAITING = [
    """insert into halfway_run (
        id, type, version, hash, status, revision, seq, priority, correlation_id, blocked, input, actor, created_at, started_at, updated_at
    )
    {numbers} select 'wait-' || (1000000000 + i), 'SOAK', 1, '{hash}', 'WAITING', 3, 3, 0, '', 0, '{{}}', '', {now}, {now}, {now}
    from numbers""",
    """insert into halfway_record (
        run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks, looks
    )
    {numbers} select 'wait-' || (1000000000 + i), 'ONLY', 1, '', 'STEP', 'WAITING', '{route}', 0, {now} + {day} + i, 1, 0, 0, 'none',
        '', '', 0
    from numbers""",
]


def fill(store: Store, *, ended: int, runnable: int, waiting: int) -> None:
    """Each run has ended a millisecond after the one before it, the youngest of them now."""
    store.runs.register([SPEC])
    now = store.now()
    for statements, count in ((ENDED, ended), (WAITING, waiting)):
        for first in range(1, count + 1, AT_ONCE):
            _insert(store, statements, now, first, min(first + AT_ONCE - 1, count))
    for first in range(0, runnable, 500):
        store.runs.create([new_run() for _ in range(min(500, runnable - first))])


def new_run() -> NewRun:
    return NewRun(new_id(), SPEC, "{}", None, None, "", 0, None)


def _insert(store: Store, statements: list[str], now: int, first: int, last: int) -> None:
    sqlite = store.url.startswith("sqlite")
    with store._database.transaction("fill") as session:
        for statement in statements:
            text = statement.format(
                numbers=NUMBERS, hash=SPEC.hash, route=ROUTE, now=now, day=DAY, steps=_few("step", LONG), lines=_few("line", 3)
            )
            if sqlite:
                session.raw.execute(text, (first, last))
            else:
                session.raw.execute(text.replace("%", "%%").replace("?", "%s::bigint"), (first, last))


def _few(name: str, count: int) -> str:
    return f"({' union all '.join(f'select {n} as n' for n in range(1, count + 1))}) as {name}"
