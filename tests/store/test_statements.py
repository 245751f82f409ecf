"""The statements: one text for both databases, few exceptions, and values in the order of their parameters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from halfway.store.statements import SLOT, render, sources, statements

SOURCE = Path(__file__).parents[2] / "src/halfway/store"

# On the hot path PostgreSQL takes whole columns: a statement for each row of a batch costs several times more.
OVERRIDES = {
    "end_attempt",
    "start_attempt",
    "put_record",
    "note",
    "set_run",
    "end_run",
    "wake_for_run",
    "task_for_run",
    "use_event",
    "close_event_wait",
    "close_other_wait",
    "wake_next",
}
SLOTS = {
    "for no key update",
    "for no key update of run",
    "for no key update skip locked",
    "for share",
    "for share of holder",
    "for update skip locked",
    "for update of beside skip locked",
    "for update of message skip locked",
}
BANNED = {
    "a bare parameter compared with null": r"[^)]:\w+ is null",
    "json operators on text": r"->",
    "a comparison with a boolean": r"= (?:true|false)\b",
    "ilike": r"\bilike\b",
}


def test_these_statements_have_a_text_of_their_own_for_postgres() -> None:
    assert {source.name for source in sources() if source.postgres} == OVERRIDES


def test_these_are_the_slots_for_postgres() -> None:
    assert {hit for source in sources() for hit in SLOT.findall(source.text)} == SLOTS


def test_every_statement_has_one_name_one_purpose_and_one_end() -> None:
    common = [source.name for source in sources() if not source.postgres]
    assert len(set(common)) == len(common)
    for source in sources():
        assert source.purpose.endswith("."), source.name
        assert ";" not in source.text, source.name
    heads = sum(path.read_text().count("-- name: ") for path in (SOURCE / "sql").glob("*.sql"))
    assert heads == len(sources())


def test_every_statement_is_used_and_every_used_one_exists() -> None:
    code = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert [name for name in statements(postgres=False) if f'"{name}"' not in code] == []


@pytest.mark.parametrize("problem", BANNED)
def test_the_portable_subset_is_kept(problem: str) -> None:
    assert [source.name for source in sources() if not source.postgres and re.search(BANNED[problem], source.text)] == []


def test_an_override_takes_the_same_values_in_the_same_order() -> None:
    for name in OVERRIDES:
        one, other = statements(postgres=False)[name], statements(postgres=True)[name]
        assert one.params == other.params, name
        assert len(other.columns) == len(other.params), name


def test_rendering() -> None:
    text = "select a from t where id in :ids[] and x = :x and y < :x /* pg: for update skip locked */"
    lite, server = render(text, postgres=False), render(text, postgres=True)
    assert lite.text == "select a from t where id in (select value from json_each(?1)) and x = ?2 and y < ?2"
    assert server.text == "select a from t where id = any($1::text[]) and x = $2 and y < $2 for update skip locked"
    assert lite.params == server.params == ("ids", "x")
    assert lite.lists == {"ids"}
    assert render("select 'a:b', x::text from t", postgres=True).params == ()


def test_values_are_written_in_the_order_of_the_parameters() -> None:
    """`Writing` builds plain tuples; their order is the statement's."""
    found = statements(postgres=False)
    expected = {
        "end_attempt": "now ended code settled gone_at run_id step round item kind n",
        "settle_attempt": "settled gone_at run_id step round item kind n",
        "set_attempt_gone": "gone_at run_id step round item kind n",
        "start_attempt": "run_id step round item kind n epoch now mark_at",
        "put_record": "run_id step round item kind status route priority ready_at attempts failures lost effect code asks looks "
        "first_at started_at ended_at approved_until approved_by output error",
        "note": "run_id seq now name step round item kind n data",
        "set_run": "status intent revision seq blocked started_at now ended_at timeout_at timeout_left undo restored_at grants "
        "id before_revision",
        "end_run": "status intent revision seq blocked started_at now ended_at timeout_at timeout_left undo restored_at grants "
        "id before_revision",
        "audit": "id action_id now actor action run_id step reason evidence refused before_state after_state",
        "mark": "now run_id step round item kind n bound",
        "keep_evidence": "now data run_id step round item kind n",
        "keep_artifact": "id name sha256 size now run_id step round item kind n",
        "take_key": "type key n run_id",
        "take_slot": "key slot holder",
        "give_back_slot": "holder",
        "put_claim": "run_id key slots waits_from",
        "set_waiting": "waits_from run_id",
        "register": "hash type version spec now",
        "clear_triggers": "type version",
        "put_trigger": "type kind name statuses version",
        "finish_task": "id",
        "take_hold": "key holder",
        "drop_hold": "key holder",
        "keep_input": "now run_id",
        "set_input": "input run_id",
        "release_hold": "holder",
        "close_wait": "now how run_id step round item kind",
        "use_event": "now run_id source step round item kind",
        "close_event_wait": "now how source run_id step round item kind",
        "close_other_wait": "now how source run_id step round item kind",
        "wake_next": "now run_id step round item kind",
        "open_wait": "run_id step round item kind n sort name wait_key now since shown",
        "wake_for_wait": "run_id now sort name wait_key since",
        "tell": "id now what run_id step role code",
        "put_event": "id source provider_id name key payload now",
        "tell_event": "message now run_id step id",
        "wake_for_event": "now name key id",
        "task_for_event": "id key now name",
        "wake_for_run": "now run_id",
        "task_for_run": "id now run_id name pattern",
        "wake": "run_id now",
        "create_batch": "id now actor action reason filter arguments rate stop_after",
        "create_batch_item": "batch_id n run_id step",
    }
    assert {name: " ".join(found[name].params) for name in expected} == expected
