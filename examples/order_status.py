"""The status of an order changes: its rows, a message to the customer, the provider's word that it arrived, and what remains to be noted.

The order, its audit and the event about it are one transaction with their checkpoint, so their answer cannot be lost. The message can
be: its provider is asked before anything is repeated, and asked again when its webhook does not come. Statistics that fail after the
message went out are done later, and nothing else is.
"""

import sys
from datetime import timedelta
from typing import Literal

from pydantic import BaseModel

from examples.shop import Connection, create_tables, execute
from examples.stage import play
from examples.world import Channel, Contacts, Sms, Statistics
from halfway import (
    Absent,
    AsyncMark,
    CannotTell,
    Effect,
    Event,
    Found,
    Halfway,
    Mark,
    Retry,
    Run,
    Step,
    StepFailed,
    Then,
    Workflow,
    one_row,
)

contacts = Contacts()
sms = Sms()
channel = Channel()
statistics = Statistics()


class Change(BaseModel):
    order_id: str
    to: Literal["SHIPPED", "CANCELLED"]
    expected_version: int


class OrderChanged(BaseModel):
    order_id: str
    status: str


class Delivery(BaseModel):
    """What became of a message."""

    message_id: str
    status: Literal["DELIVERED", "BOUNCED"]


order_changed = Event("ORDER_CHANGED", OrderChanged)
sms_delivery = Event("SMS_DELIVERY", Delivery)

order_status = Workflow(
    "ORDER_STATUS_CHANGE",
    Change,
    version=1,
    owner="order-desk",
    key=lambda change: f"order-status:{change.order_id}:{change.expected_version}",
    resource=lambda change: f"order:{change.order_id}",
    severity="CRITICAL",
    stuck_after=timedelta(hours=1),
    runbook={"VERSION_CONFLICT": "Read the order. If the change still applies, start it again with the order's present version."},
)


@order_status.step(Effect.READ)
def validate(step: Step[Change]) -> str:
    """Whom to tell: what may fail comes before what cannot be taken back."""
    contact = contacts.of(step.input.order_id)
    if contact is None:
        raise StepFailed(f"nobody can be told about order {step.input.order_id}", code="NO_CONTACT")
    return contact


@order_status.transaction(Connection)
def change_order(step: Step[Change], db: Connection) -> int:
    change = step.input
    version = change.expected_version + 1
    update = "update orders set status = ?, version = ? where id = ? and version = ?"
    one_row(execute(db, update, change.to, version, change.order_id, change.expected_version))
    execute(db, "insert into audit values (?, ?, ?)", change.order_id, change.to, step.run_id)
    step.emit(order_changed, OrderChanged(order_id=change.order_id, status=change.to), key=change.order_id)
    return version


@order_status.step(Effect.NOTIFY, approver="order-desk")
async def send_sms(step: Step[Change], mark: AsyncMark) -> str:
    text = f"Your order is {step.input.to.lower()}."
    async with mark:
        return await sms.send(step.output(validate), text, reference=step.key)


@send_sms.probe(settle=timedelta(0))  # this provider lists a message before it answers
async def find_sms(step: Step[Change]) -> Found[str] | Absent:
    """The provider's message with our reference."""
    message_id = await sms.find(step.key)
    return Found(message_id) if message_id else Absent()


@order_status.wait_for(sms_delivery, timeout=timedelta(minutes=30), on_timeout=Then.PROBE, on_failure=Then.MANUAL)
def delivery(step: Step[Change]) -> str:
    return step.output(send_sms)


@delivery.probe
def ask_provider(step: Step[Change]) -> Found[Delivery] | CannotTell:
    """What the provider says about our message."""
    message_id = step.output(send_sms)
    match sms.state(message_id):
        case "delivered":
            return Found(Delivery(message_id=message_id, status="DELIVERED"))
        case "bounced":
            return Found(Delivery(message_id=message_id, status="BOUNCED"))
        case other:
            return CannotTell(f"the provider says that it is {other}")


@order_status.transaction(Connection, on_failure=Then.MANUAL)
def finalise(step: Step[Change], db: Connection) -> None:
    """Only if the order is still as this run has left it."""
    order_id, version = step.input.order_id, step.output(change_order)
    one_row(execute(db, "update orders set notified = ? where id = ? and version = ?", step.output(delivery).status, order_id, version))


@order_status.step(
    Effect.NOTIFY,
    evidence="the history of the channel, by our key",
    accept_unknown="its history has no interface for programs",
    approver="order-desk",
    on_failure=Then.MANUAL,
)
def tell_admins(step: Step[Change], mark: Mark) -> None:
    text = f"{step.input.order_id} is {step.input.to}, the customer's message {step.output(delivery).status}"
    with mark:
        channel.post(text, key=step.key)


@order_status.step(
    Effect.CREATE,
    after=[finalise],
    idempotent=True,
    retry=Retry(2, wait=timedelta(milliseconds=10)),
    approver="analytics",
    on_failure=Then.MANUAL,
)
def count(step: Step[Change], mark: Mark) -> int:
    with mark:  # not needed for a repeat, but a refused connection is then known to have done nothing
        return statistics.count(step.input.to, key=step.key)


def main(url: str) -> None:
    create_tables(url, order="o-1")
    roles = {"order-desk": ["ada"], "analytics": ["max"], "operator": ["olga"]}
    app = Halfway(url, workflows=[order_status], roles=roles)

    def change(to: Literal["SHIPPED", "CANCELLED"], version: int) -> Run[Change]:
        started = app.start(order_status, Change(order_id="o-1", to=to, expected_version=version))
        return app.result(started, timeout=timedelta(minutes=1))

    with app.worker():
        sms.answers_to_lose = 1
        run = change("SHIPPED", 4)
        print(f"{run.status}: the message went out as {run.output(send_sms)}; it was looked for, not sent again")

        statistics.is_down = True
        message = Delivery(message_id=run.output(send_sms), status="DELIVERED")
        app.send(sms_delivery, message, key=message.message_id, id="evt-1", source="sms-provider")
        run = app.result(run, timeout=timedelta(minutes=1))
        assert run.failure is not None
        print(f"{run.status}: the webhook came, then {run.failure.step} failed: {run.failure.message}")

        statistics.is_down = False
        app.control.resume(run.id, actor="olga", reason="statistics are back")
        run = app.result(run, timeout=timedelta(minutes=1))
        print(f"{run.status}: messages {len(sms.messages)}, notices {len(channel.requests)}, counted {len(statistics.counted)}")

        run = change("CANCELLED", 3)
        print(f"{run.status}: {run.failure.message if run.failure else ''}")

        run = change("CANCELLED", 5)
        sms.states[run.output(send_sms)] = "delivered"
        app.control.probe(run.id, "DELIVERY", actor="ada", reason="the customer is on the phone, and no webhook has come")
        run = app.result(run, timeout=timedelta(minutes=1))
        print(f"{run.status}: no webhook came, and the provider says {run.output(delivery).status}")
    app.close()


if __name__ == "__main__":
    play(main)
    sys.exit(0)
