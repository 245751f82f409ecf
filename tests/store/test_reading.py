"""What people look at: lists, searches, one run in full, workers, definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from halfway.domain.facts import CancelAsked
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Key
from halfway.errors import NotFound
from halfway.store import Store
from tests.store.world import MARKED, TWO, apply, begin, claim, ids, new_run, start, succeed


def test_runs_come_newest_first_page_by_page(store: Store) -> None:
    run_ids = ids([start(store) for _ in range(5)])[::-1]
    first = store.reading.runs(limit=2)
    assert [row.run.id for row in first] == run_ids[:2]
    second = store.reading.runs(limit=2, before=first[-1].run.id)
    assert [row.run.id for row in second] == run_ids[2:4]
    assert [row.run.id for row in store.reading.runs(before=second[-1].run.id)] == run_ids[4:]
    assert store.reading.runs(before="unknown") == []


def test_runs_are_chosen_by_status_and_type(store: Store) -> None:
    one, other = start(store).run_id, start(store, MARKED).run_id
    cancelled = start(store).run_id
    apply(store, cancelled, TWO, CancelAsked())
    assert [row.run.id for row in store.reading.runs(status=RunStatus.CANCELLED)] == [cancelled]
    assert {row.run.id for row in store.reading.runs(status=RunStatus.PENDING, type=TWO.type)} == {one, other}
    assert store.reading.runs(type="nothing") == []


def test_a_row_says_what_goes_on(store: Store) -> None:
    run_id = start(store, key="order-1").run_id
    claim(store, run_id, begin(store))
    (row,) = store.reading.runs()
    assert (row.key, row.current, [record.key for record in row.records]) == ("order-1", ("first",), [Key("first")])
    succeed(store, run_id)
    assert store.reading.runs()[0].current == ()


def test_records_stand_in_the_order_in_which_they_began(store: Store) -> None:
    run_id = start(store).run_id
    epoch = begin(store)
    claim(store, run_id, epoch)
    succeed(store, run_id)
    assert [one.record.key.step for one in store.reading.detail(run_id).records] == ["first", "second"]


@pytest.mark.parametrize("term", ["%", "_", "\\", "'", '"', ")", "--", "😀", "!", "100%_off!", "a\0b", "x" * 10_000, "한글"])
def test_a_search_matches_literally_and_is_never_an_error(store: Store, term: str) -> None:
    """B48."""
    plain = start(store, key="plain").run_id
    found = [row.run.id for row in store.reading.runs(search=term)]
    assert plain not in found
    if "\0" not in term and len(term) < 1000:
        run_id = start(store, key=f"order {term} x").run_id
        assert [row.run.id for row in store.reading.runs(search=term.upper())] == [run_id]
        assert store.reading.find(f"order {term} x") == run_id
    else:
        with pytest.raises(NotFound):
            store.reading.find(term)


def test_a_run_is_found_by_id_key_and_end_of_id(store: Store) -> None:
    run_id = start(store, key="order-1").run_id
    other = start(store, MARKED).run_id
    for text in (run_id, "order-1", run_id[-8:], run_id[-6:]):
        assert store.reading.find(text) == run_id
    assert store.reading.find(other[-12:]) == other
    for unknown in ("nobody", "", run_id[-5:], "%" * 6, "\0"):
        with pytest.raises(NotFound) as caught:
            store.reading.find(unknown)
        assert caught.value.code == "RUN_UNKNOWN"


def test_a_key_finds_its_newest_run_and_a_number_the_one_that_is_meant(store: Store) -> None:
    first = start(store, key="order-1").run_id
    apply(store, first, TWO, CancelAsked())
    second = start(store, key="order-1", again="once more").run_id
    assert store.reading.find("order-1") == store.reading.find("order-1#2") == second
    assert store.reading.find(first) == first


def test_what_fits_several_runs_is_refused(store: Store) -> None:
    store.runs.create([new_run(key="same"), new_run(replace(TWO, type="other"), key="same")])
    store.runs.create([new_run(id="a-123456"), new_run(id="b-123456")])
    for text in ("same", "123456"):
        with pytest.raises(NotFound) as caught:
            store.reading.find(text)
        assert (caught.value.code, caught.value.params["count"]) == ("RUN_AMBIGUOUS", 2)


@pytest.mark.parametrize("run_id", ["a/b", "..", "a%2Fb", "a b", "x_'y'", "q?z=1#f", "한글/😀", "r" * 255, "[id]", "null"])
def test_ids_with_odd_characters_come_back_unchanged(store: Store, run_id: str) -> None:
    """B48."""
    start(store, id=run_id)
    assert store.reading.find(run_id) == run_id
    assert store.reading.detail(run_id).run.id == run_id


def test_the_journal_is_read_from_where_one_stopped(store: Store) -> None:
    run_id = start(store).run_id
    claim(store, run_id, begin(store))
    lines = store.reading.journal(run_id)
    assert [(line.seq, line.name) for line in lines] == [(1, "workflow.started"), (2, "step.started")]
    assert (lines[1].key, lines[1].n) == (Key("first"), 1)
    assert store.reading.journal(run_id, after_seq=1) == lines[1:]
    assert store.reading.journal(run_id, limit=1) == lines[:1]


def test_workers_definitions_and_schema_are_shown(store: Store) -> None:
    epoch = begin(store)
    run_id = start(store).run_id
    claim(store, run_id, epoch)
    (worker,) = store.reading.workers()
    assert (worker.epoch.id, worker.running, worker.ended_at) == (epoch, 1, None)
    (definition,) = store.reading.definitions()
    assert (definition.type, definition.version, definition.hash) == (TWO.type, 1, TWO.hash)
    schema = store.reading.schema()
    assert schema.found == schema.needed


def test_an_unknown_run_is_said_to_be_unknown(store: Store) -> None:
    for run_id in ("nobody", "no\0body"):
        with pytest.raises(NotFound):
            store.reading.detail(run_id)
    assert store.reading.journal("nobody") == store.reading.audit("nobody") == []
