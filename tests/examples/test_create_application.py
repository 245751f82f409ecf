"""An application is declined: the reservation is released, the order is kept, and nothing is submitted or released twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from halfway import Halfway, Run, RunStatus
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.examples.conftest import Stage, said


@pytest.fixture
def example(load: Callable[[str], Any]) -> Any:
    return load("create_application")


@pytest.fixture
def app(stage: Stage, example: Any) -> Iterator[Halfway]:
    example.create_tables(stage.url)
    with stage.open(example.create_application) as app:
        yield app


def play(stage: Stage, example: Any) -> Run[Any]:
    return stage.play(example.create_application, example.Application(order_id="o-1", article="lamp"))


def order(stage: Stage, example: Any) -> tuple[object, ...]:
    """Its status and the reason; there is exactly one."""
    ((order_id, status, reason, *_),) = example.orders(stage.url)
    assert order_id == "o-1"
    return status, reason


def test_an_application_that_is_taken_keeps_its_reservation(stage: Stage, example: Any, app: Halfway) -> None:
    run = play(stage, example)
    assert run.status is RunStatus.SUCCESS
    assert run.output(example.submit) == "A-1"
    assert order(stage, example) == ("CREATED", None)
    assert example.stock.on_shelf == 2


def test_one_that_is_declined_is_released_and_kept_with_its_reason(stage: Stage, example: Any, app: Halfway) -> None:
    example.provider.declines = "NO_CREDIT"
    run = play(stage, example)
    assert run.status is RunStatus.COMPENSATED
    assert run.failure is not None
    assert (run.failure.step, run.failure.code) == ("SUBMIT", "NO_CREDIT")
    assert order(stage, example) == ("SUBMISSION_FAILED", "NO_CREDIT")
    assert [status for _, status, _ in _audit(stage)] == ["CREATED", "SUBMISSION_FAILED"]
    assert example.provider.requests == ["submit o-1"]
    assert example.stock.requests == ["reserve lamp", "release R-1"]
    assert example.stock.on_shelf == 3
    undone = [entry.step for entry in app.control.show(run.id).journal if entry.name == "compensation.completed"]
    assert undone == ["RESERVE", "CREATE_ORDER"]


def _audit(stage: Stage) -> list[tuple[Any, ...]]:
    from examples.shop import audit

    return audit(stage.url)


def test_a_submission_whose_answer_is_lost_is_found(stage: Stage, example: Any, app: Halfway) -> None:
    example.provider.answers_to_lose = 1
    run = play(stage, example)
    assert run.status is RunStatus.SUCCESS
    assert run.output(example.submit) == "A-1"
    assert stage.step(run, "SUBMIT").attempts == 1
    assert len(example.provider.applications) == 1


def test_a_submission_that_never_arrived_is_sent_exactly_once_more(stage: Stage, example: Any, app: Halfway) -> None:
    example.provider.requests_to_lose = 1
    run = play(stage, example)
    assert run.status is RunStatus.SUCCESS
    assert stage.step(run, "SUBMIT").attempts == 2
    assert example.provider.requests == ["submit o-1"]
    assert len(example.provider.applications) == 1


def test_a_release_that_fails_once_is_tried_again(stage: Stage, example: Any, app: Halfway) -> None:
    example.provider.declines = "NO_CREDIT"
    example.stock.refusals = 1
    assert play(stage, example).status is RunStatus.COMPENSATED
    assert example.stock.requests == ["reserve lamp", "release R-1"]
    assert example.stock.on_shelf == 3


def test_a_release_that_fails_for_good_is_an_incident_and_holds_up_nothing_else(stage: Stage, example: Any, app: Halfway) -> None:
    example.provider.declines = "NO_CREDIT"
    example.stock.is_picking = True
    run = play(stage, example)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert order(stage, example) == ("SUBMISSION_FAILED", "NO_CREDIT")
    assert [(one.message.step, one.message.code) for one in app.control.incidents()] == [("RESERVE", "IN_PICKING")]
    (asking,) = app.control.inbox()
    assert (asking.step, asking.kind, asking.role, asking.code) == ("RESERVE", "COMPENSATION", "warehouse", "IN_PICKING")
    assert asking.runbook == "Ask the warehouse to put the goods back, then: halfway retry RUN RESERVE"

    example.stock.is_picking = False
    app.control.retry(run.id, "RESERVE", actor="wim", reason="the goods are back on the shelf")
    assert stage.again(run).status is RunStatus.COMPENSATED
    assert example.stock.requests == ["reserve lamp", "release R-1"]
    assert len(_audit(stage)) == 2
    assert len(example.provider.requests) == 1


def test_an_order_with_which_somebody_has_gone_on_is_not_overwritten(stage: Stage, example: Any, app: Halfway, load: Any) -> None:
    submit, shop = example.provider.submit, load("shop")

    def overtaken(order_id: str, *, reference: str) -> str:
        db = shop.connect(stage.url.removeprefix("sqlite:///"))
        shop.execute(db, "update orders set status = 'PAID', version = 2 where id = ?", order_id)
        db.commit()
        db.close()
        return str(submit(order_id, reference=reference))

    example.provider.declines, example.provider.submit = "NO_CREDIT", overtaken
    run = play(stage, example)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert order(stage, example) == ("PAID", None)
    assert example.stock.on_shelf == 3
    assert [one.code for one in app.control.inbox()] == ["VERSION_CONFLICT"]


def test_a_worker_that_dies_with_the_release_done_does_not_release_again(stage: Stage, example: Any, tmp_path: Path) -> None:
    example.create_tables(stage.url)
    ledger = Ledger(tmp_path / "stock.jsonl")
    place = ("tests.examples.killed:flows", stage.url, ledger.path)
    with stage.open(example.create_application, working=False) as app:
        run = app.start(example.create_application, example.Application(order_id="o-1", article="lamp"))
        with Worker(*place, ready=False, EXAMPLES_URL=stage.url) as first:
            assert first.wait() == -9
        assert app.get(example.create_application, run.id).status is RunStatus.COMPENSATING
        assert order(stage, example) == ("CREATED", None)
        with Worker(*place, EXAMPLES_URL=stage.url):
            assert stage.again(run).status is RunStatus.COMPENSATED
    assert ledger.tally() == {"RESERVED": 1, "RELEASED": 1, "DROPPED": 1}
    assert order(stage, example) == ("SUBMISSION_FAILED", "NO_CREDIT")
    assert len(_audit(stage)) == 2


def test_it_runs_by_itself(stage: Stage, example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(stage.url)
    assert said(capsys) == [
        "COMPENSATED: SUBMIT failed with NO_CREDIT",
        "reserved 1, released 1, on the shelf 3",
        "order o-1 is kept: SUBMISSION_FAILED, NO_CREDIT",
    ]
