"""How fast the store writes steps: each ends its attempt, starts the next one, and is committed with its batch.

python bench/store_write.py sqlite:///bench.db
python bench/store_write.py postgresql://user@host/name
"""

from __future__ import annotations

import sys
import time

from halfway.domain.decide import decide, evolve
from halfway.domain.draft import Change, Draft, Payload
from halfway.domain.facts import Claimed, Finished
from halfway.domain.run import Ended, Key, Report, Snapshot
from halfway.domain.spec import Effect, StepSpec, WorkflowSpec
from halfway.ports import NewRun
from halfway.store import Store, identity, new_id, open_store

STEPS = 10
OUTPUT = Payload('{"customer":"c_1029","ok":true,"message":"created"}')
SECONDS = 5.0
SPEC = WorkflowSpec(
    type="bench",
    version=1,
    owner="bench",
    steps=tuple(
        StepSpec(name=f"s{number}", effect=Effect.CREATE, after=(f"s{number - 1}",) if number else (), idempotent=True, code="bench")
        for number in range(STEPS)
    ),
)


def begin(store: Store, batch: int, epoch: str) -> list[Snapshot]:
    """Runs whose first step has been started."""
    started = store.runs.create([NewRun(new_id(), SPEC, "{}", None, None, "", 0, None) for _ in range(batch)])
    with store.runs.change(epoch=epoch) as turn:
        loaded = turn.load([one.run_id for one in started])
        changes = [Change(one.snapshot, decide(SPEC, one.snapshot, Claimed(Key("s0"), epoch), turn.now)) for one in loaded.values()]
        turn.write(changes)
    return [evolve(change.before, change.commands) for change in changes]


def go_on(snapshot: Snapshot, number: int, epoch: str, now: int) -> tuple[Change, Snapshot]:
    key = Key(f"s{number}")
    draft = Draft(SPEC, snapshot, now, input="{}", outputs={})
    draft.take(Finished(key, 1, Report(Ended.SUCCESS)))
    draft.payloads[key] = OUTPUT
    if number + 1 < STEPS:
        draft.take(Claimed(Key(f"s{number + 1}"), epoch))
    change = draft.change()
    assert change is not None
    return change, draft.snapshot


def measure(store: Store, batch: int) -> tuple[float, float]:
    """Steps per second of the store alone, and together with the decisions."""
    epoch = store.lives.begin(host="bench", pid=0, identity=identity(), kill_after=None)
    steps, storing, deciding = 0, 0.0, 0.0
    while storing + deciding < SECONDS:
        snapshots = begin(store, batch, epoch)
        for number in range(STEPS):
            began = time.perf_counter()
            pairs = [go_on(snapshot, number, epoch, snapshot.run.created_at + number) for snapshot in snapshots]
            decided = time.perf_counter()
            with store.runs.change(epoch=epoch) as turn:
                turn.lock([snapshot.run.id for snapshot in snapshots])
                turn.write([change for change, _ in pairs])
            storing += time.perf_counter() - decided
            deciding += decided - began
            snapshots = [snapshot for _, snapshot in pairs]
            steps += batch
    store.lives.end(epoch)
    return steps / storing, steps / (storing + deciding)


if __name__ == "__main__":
    opened = open_store(sys.argv[1])
    for size in (1, 10, 50, 100, 200):
        alone, together = measure(opened, size)
        print(f"{opened.url}: batch {size:3}: {alone:8,.0f} steps/s stored, {together:8,.0f} decided and stored")
    opened.close()
