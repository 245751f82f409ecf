"""An order changes its status: nothing is done twice, and only what is missing is done later."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from examples import order_status as example
from halfway import Halfway, RunStatus
from tests.examples.conftest import Stage, empty

CHANGE = example.Change(order_id="o-1", to="SHIPPED", expected_version=4)


@pytest.fixture
def app(stage: Stage) -> Iterator[Halfway]:
    empty(example.sms, example.statistics)
    example.create_tables(stage.path)
    with stage.open(example.order_status) as app:
        yield app


def rows(stage: Stage, table: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(stage.path)) as db:
        return db.execute(f"select * from {table}").fetchall()


def test_all_rows_are_written_once(stage: Stage, app: Halfway) -> None:
    run = stage.play(example.order_status, CHANGE)
    assert run.status is RunStatus.SUCCESS
    assert rows(stage, "orders") == [("o-1", "SHIPPED", 5, "sms-1")]
    assert rows(stage, "audit") == [("o-1", "SHIPPED", run.id)]
    assert rows(stage, "outbox") == [("o-1", "SHIPPED")]


def test_a_message_whose_answer_is_lost_is_found_and_not_sent_again(stage: Stage, app: Halfway) -> None:
    example.sms.answers_to_lose = 1
    run = stage.play(example.order_status, CHANGE)
    assert run.status is RunStatus.SUCCESS
    assert list(example.sms.messages) == ["sms-1"]
    assert rows(stage, "orders") == [("o-1", "SHIPPED", 5, "sms-1")]


def test_an_order_that_somebody_else_changed_is_left_alone(stage: Stage, app: Halfway) -> None:
    run = stage.play(example.order_status, CHANGE.model_copy(update={"expected_version": 3}))
    assert run.status is RunStatus.FAILED
    assert run.failure is not None
    assert run.failure.code == "VERSION_CONFLICT"
    assert rows(stage, "audit") == []
    assert example.sms.messages == {}


def test_only_statistics_are_done_later(stage: Stage, app: Halfway) -> None:
    example.statistics.is_down = True
    run = stage.play(example.order_status, CHANGE)
    assert run.status is RunStatus.MANUAL_REQUIRED
    example.statistics.is_down = False
    app.control.resume(run.id, actor="ada", reason="statistics are back")
    assert stage.again(run).status is RunStatus.SUCCESS
    assert len(example.sms.messages) == 1
    assert len(example.statistics.counted) == 1
    assert len(rows(stage, "audit")) == 1


def test_it_runs_by_itself(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    empty(example.sms, example.statistics)
    example.main(stage.path)
    assert capsys.readouterr().out.splitlines()[-1] == "SUCCESS: messages 1, counted 1"
