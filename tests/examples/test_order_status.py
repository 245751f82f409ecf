"""An order changes its status: nothing is done twice, silence is looked into, and only what is missing is done later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from halfway import Halfway, Run, RunStatus
from tests.engine.harness import until
from tests.examples.conftest import Stage, said


@pytest.fixture
def example(load: Callable[[str], Any]) -> Any:
    return load("order_status")


@pytest.fixture
def shop(example: Any, load: Callable[[str], Any]) -> Any:
    return load("shop")


@pytest.fixture
def app(stage: Stage, example: Any) -> Iterator[Halfway]:
    example.create_tables(stage.url, order="o-1")
    with stage.open(example.order_status) as app:
        yield app


def sent(stage: Stage, example: Any, *, version: int = 4) -> Run[Any]:
    """A run that has told the customer, and waits for what became of that."""
    return stage.play(example.order_status, example.Change(order_id="o-1", to="SHIPPED", expected_version=version))


def deliver(app: Halfway, example: Any, message: str = "sms-1", *, id: str = "evt-1") -> Any:
    delivery = example.Delivery(message_id=message, status="DELIVERED")
    return app.send(example.sms_delivery, delivery, key=message, id=id, source="sms-provider")


def test_the_webhook_arrives(stage: Stage, example: Any, shop: Any, app: Halfway) -> None:
    run = sent(stage, example)
    assert run.status is RunStatus.WAITING
    assert shop.orders(stage.url) == [("o-1", "SHIPPED", None, 5, None)]
    assert deliver(app, example).state == "DELIVERED"
    run = stage.again(run)
    assert run.status is RunStatus.SUCCESS
    assert shop.orders(stage.url) == [("o-1", "SHIPPED", None, 5, "DELIVERED")]
    assert shop.audit(stage.url) == [("o-1", "SHIPPED", run.id)]
    assert example.sms.requests == ["to contact-7: Your order is shipped."]
    assert len(example.channel.requests) == len(example.statistics.counted) == 1


def test_the_event_about_the_order_is_sent_with_its_rows(stage: Stage, example: Any, app: Halfway) -> None:
    run = sent(stage, example)
    (event,) = app.control.events(name="ORDER_CHANGED")
    assert event.event.key == "o-1"
    assert example.order_changed.decode(event.event.payload) == example.OrderChanged(order_id="o-1", status="SHIPPED")
    assert stage.step(run, "CHANGE_ORDER").status == "SUCCESS"


def test_a_webhook_that_comes_twice_or_too_early_counts_once(stage: Stage, example: Any, app: Halfway) -> None:
    assert deliver(app, example).state == "KEPT"
    assert not deliver(app, example).created
    run = sent(stage, example)
    assert run.status is RunStatus.SUCCESS
    assert not deliver(app, example).created
    assert len(example.channel.requests) == 1


def test_a_message_whose_answer_is_lost_is_found_and_not_sent_again(stage: Stage, example: Any, app: Halfway) -> None:
    example.sms.answers_to_lose = 1
    run = sent(stage, example)
    assert run.status is RunStatus.WAITING
    assert run.output(example.send_sms) == "sms-1"
    assert len(example.sms.requests) == 1


def test_only_statistics_are_done_later(stage: Stage, example: Any, shop: Any, app: Halfway) -> None:
    example.statistics.is_down = True
    run = sent(stage, example)
    deliver(app, example)
    run = stage.again(run)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert run.failure is not None
    assert run.failure.step == "COUNT"
    example.statistics.is_down = False
    app.control.resume(run.id, actor="ada", reason="statistics are back")
    run = stage.again(run)
    assert run.status is RunStatus.SUCCESS
    assert len(example.sms.requests) == len(example.channel.requests) == len(example.statistics.requests) == 1
    assert len(shop.audit(stage.url)) == 1
    attempts = {step.name: step.attempts for step in app.control.show(run.id).steps}
    assert attempts.pop("COUNT") == 3
    assert set(attempts.values()) == {1}


@pytest.mark.parametrize(("state", "status"), [("delivered", "DELIVERED"), ("bounced", "BOUNCED")])
def test_a_webhook_that_never_comes_is_asked_for(stage: Stage, example: Any, shop: Any, app: Halfway, state: str, status: str) -> None:
    run = sent(stage, example)
    example.sms.states["sms-1"] = state
    stage.later(timedelta(minutes=31))
    until(lambda: app.get(example.order_status, run.id).status is RunStatus.SUCCESS, "the probe has found it")
    assert shop.orders(stage.url) == [("o-1", "SHIPPED", None, 5, status)]
    assert len(example.sms.requests) == 1


def test_if_the_provider_cannot_tell_either_a_person_decides_and_the_webhook_may_still_come(
    stage: Stage, example: Any, app: Halfway
) -> None:
    run = sent(stage, example)
    stage.later(timedelta(minutes=31))
    until(lambda: app.get(example.order_status, run.id).status is RunStatus.MANUAL_REQUIRED, "the probe cannot tell")
    (asking,) = app.control.inbox(role="order-desk")
    assert (asking.step, asking.code) == ("DELIVERY", "TIMED_OUT")
    deliver(app, example)
    assert stage.again(run).status is RunStatus.SUCCESS


def test_an_order_that_somebody_else_changed_is_left_alone(stage: Stage, example: Any, shop: Any, app: Halfway) -> None:
    run = sent(stage, example, version=3)
    assert run.status is RunStatus.FAILED
    assert run.failure is not None
    assert (run.failure.step, run.failure.code) == ("CHANGE_ORDER", "VERSION_CONFLICT")
    assert shop.orders(stage.url) == [("o-1", "PAID", None, 4, None)]
    assert shop.audit(stage.url) == []
    assert app.control.events(name="ORDER_CHANGED") == []
    assert example.sms.requests == []


def test_an_order_that_is_changed_while_the_message_is_on_its_way_is_not_overwritten(
    stage: Stage, example: Any, shop: Any, app: Halfway
) -> None:
    run = sent(stage, example)
    db = shop.connect(stage.url.removeprefix("sqlite:///"))
    shop.execute(db, "update orders set status = 'RETURNED', version = 6 where id = ?", "o-1")
    db.commit()
    db.close()
    deliver(app, example)
    assert stage.again(run).status is RunStatus.MANUAL_REQUIRED
    assert shop.orders(stage.url) == [("o-1", "RETURNED", None, 6, None)]
    assert [one.code for one in app.control.inbox()] == ["VERSION_CONFLICT"]


def test_an_order_that_nobody_can_be_told_about_is_not_touched(stage: Stage, example: Any, shop: Any, app: Halfway) -> None:
    example.contacts.of_orders.clear()
    run = sent(stage, example)
    assert run.failure is not None
    assert run.failure.code == "NO_CONTACT"
    assert shop.orders(stage.url) == [("o-1", "PAID", None, 4, None)]


def test_it_runs_by_itself(stage: Stage, example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(stage.url)
    assert said(capsys) == [
        "WAITING: the message went out as sms-1; it was looked for, not sent again",
        "MANUAL_REQUIRED: the webhook came, then COUNT failed: statistics are down, SHIPPED was not counted",
        "SUCCESS: messages 1, notices 1, counted 1",
        "FAILED: the change was meant for one row at one version, and met 0",
        "SUCCESS: no webhook came, and the provider says DELIVERED",
    ]
