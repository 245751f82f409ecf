"""A run gets another definition: its rows get the names and routes that they have there, and nothing is deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened, Key
from halfway.ports import GuardFailed, Moved
from halfway.store import Store
from tests.store.world import TWO, apply, begin, claim, start, step, succeed

SECOND = replace(TWO, version=2, steps=(step("second"), replace(step("first"), after=("second",), queue="slow")))


def done(store: Store) -> str:
    """A run whose steps have both succeeded; the second one with evidence."""
    epoch = begin(store)
    run_id = start(store).run_id
    claim(store, run_id, epoch)
    succeed(store, run_id, output='"one"')
    claim(store, run_id, epoch, name="second")
    return run_id


def moved(store: Store, run_id: str, **options: object) -> Moved:
    revision = store.reading.detail(run_id).run.revision
    made = Moved(run_id, revision, 1, SECOND, '{"new": 1}', (("first", "first"), ("second", "second")), (), {}, '{"to": 2}')
    return made._replace(**options)


def move(store: Store, order: Moved) -> None:
    store.runs.register([SECOND])
    with store.runs.change() as turn:
        turn.lock([order.run_id], wait=True)
        turn.moves.move(order)


def names(store: Store, run_id: str) -> dict[str, tuple[int, str | None]]:
    """By step, how many attempts are known of it, and its output."""
    return {one.record.key.step: (len(one.attempts), one.output) for one in store.reading.detail(run_id).records}


def test_a_run_gets_its_definition_input_revision_and_a_line_in_the_journal(store: Store) -> None:
    run_id = done(store)
    before = store.reading.detail(run_id)
    move(store, moved(store, run_id))
    after = store.reading.detail(run_id)
    assert (after.run.version, after.run.hash, after.input) == (2, SECOND.hash, '{"new": 1}')
    assert (after.run.revision, after.run.seq) == (before.run.revision + 1, before.run.seq + 1)
    last = store.reading.journal(run_id)[-1]
    assert (last.seq, last.name, last.data) == (after.run.seq, "workflow.moved", '{"to": 2}')


def test_two_steps_exchange_their_names_with_all_that_is_theirs(store: Store) -> None:
    run_id = done(store)
    apply(store, run_id, TWO)
    move(store, moved(store, run_id, steps=(("first", "second"), ("second", "first")), outputs={"second": '"1"'}))
    assert names(store, run_id) == {"second": (1, '"1"'), "first": (1, None)}
    with store.runs.change() as turn:
        records = turn.load([run_id])[run_id].snapshot.records
    assert records[Key("first")].running is not None


def test_what_nothing_stands_for_is_set_aside(store: Store) -> None:
    run_id = done(store)
    move(store, moved(store, run_id, steps=(("second", "second"),), dropped=("first",)))
    assert names(store, run_id) == {"first": (0, None), "second": (1, None)}  # its name goes on, and so do its numbers
    [again] = [one.record for one in store.reading.detail(run_id).records if one.record.key.step == "first"]
    assert (again.status, again.attempts, again.effect, again.ready_at) == (RecordStatus.PENDING, 1, Happened.NONE, None)
    with store._database.reading() as session:
        rows = session.raw.execute("select version, step, status, attempts, output from halfway_former_record").fetchall()
        kept = session.raw.execute("select step, n from halfway_attempt order by step").fetchall()
    assert [tuple(row) for row in rows] == [(1, "first", "SUCCESS", 1, '"one"')]
    assert [tuple(row) for row in kept] == [("first@1", 1), ("second", 1)]


def test_a_run_that_has_moved_on_is_not_moved(store: Store) -> None:
    run_id = done(store)
    order = moved(store, run_id)
    succeed(store, run_id, name="second", output='"two"')
    with pytest.raises(GuardFailed):
        move(store, order)
    assert store.reading.detail(run_id).run.version == 1


def test_records_wait_for_the_code_that_their_step_has_now(store: Store) -> None:
    epoch = begin(store)
    run_id = start(store).run_id
    assert epoch
    move(store, moved(store, run_id, steps=(("first", "first"),)))
    with store.runs.change() as turn:
        assert [one.run_id for one in turn.ready("slow/code", 10)] == [run_id]
        assert turn.ready("default/code", 10) == []
