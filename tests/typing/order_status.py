"""A workflow as an author writes it: a transaction with its event, then a provider's webhook, or its absence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from sqlite3 import Connection
from typing import Literal

from pydantic import BaseModel

from halfway import Absent, AsyncMark, CannotTell, Effect, Event, Found, Run, RunStatus, Step, Then, Workflow, one_row
from halfway.errors import VersionConflict
from tests.typing.world import sms


class Change(BaseModel):
    order_id: str
    to: Literal["COMPLETED", "CANCELLED"]
    expected_version: int


class OrderChanged(BaseModel):
    order_id: str
    status: str


class Delivery(BaseModel):
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
    past_deadline=Then.COMPENSATE,
    runbook={VersionConflict: "Read the order and decide whether the change still applies.", "HTTP_422": "Correct it.", None: "Ask."},
)


@order_status.transaction(Connection, stays="the order keeps its status")
def change_order(step: Step[Change], db: Connection) -> int:
    change = step.input
    statement = "update orders set status = ?, version = version + 1 where id = ? and version = ?"
    one_row(db.execute(statement, (change.to, change.order_id, change.expected_version)))
    step.emit(order_changed, OrderChanged(order_id=change.order_id, status=change.to), key=change.order_id)
    return change.expected_version + 1


@order_status.step(Effect.NOTIFY)
async def send_sms(step: Step[Change], mark: AsyncMark) -> str:
    async with mark:
        return await sms.send(step.input.order_id, f"Your order is {step.input.to}", key=step.key)


@send_sms.probe(settle=timedelta(minutes=1))
async def find_sms(step: Step[Change]) -> Found[str] | Absent:
    message_id = await sms.find(step.key)
    return Found(message_id) if message_id else Absent()


@order_status.wait_for(sms_delivery, timeout=timedelta(minutes=30), on_timeout=Then.PROBE)
def delivery(step: Step[Change]) -> str:
    return step.output(send_sms)


@delivery.probe
async def ask_provider(step: Step[Change]) -> Found[Delivery] | Absent | CannotTell:
    message_id = await sms.find(step.output(send_sms))
    return Found(Delivery(message_id=message_id, status="DELIVERED")) if message_id else CannotTell("it is not listed")


bounced = Delivery(message_id="", status="BOUNCED")


@order_status.wait_for(sms_delivery, timeout=timedelta(minutes=30), on_timeout=Then.VALUE, value=bounced, look_back=timedelta(hours=1))
async def second_delivery(step: Step[Change]) -> str:
    return step.output(send_sms)


@order_status.wait_until(name="NEXT_MORNING", after=[second_delivery])
def next_morning(step: Step[Change]) -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


class Audit(BaseModel):
    order_id: str


audit = Workflow("ORDER_AUDIT", Audit, version=1, owner="order-desk", key=lambda audit: audit.order_id)


@audit.wait_for(order_status, timeout=timedelta(hours=1), on_timeout=Then.FAIL, on_failure=Then.MANUAL)
def changed(step: Step[Audit]) -> str:
    return f"order-status:{step.input.order_id}:1"


@audit.step(Effect.READ)
def version(step: Step[Audit]) -> int:
    return step.output(changed).output(change_order)


@audit.starts_on(order_changed)
def on_change(event: OrderChanged) -> Audit | None:
    return Audit(order_id=event.order_id) if event.status == "COMPLETED" else None


@audit.starts_after(order_status, RunStatus.SUCCESS, RunStatus.FAILED)
def after_change(run: Run[Change]) -> Audit:
    return Audit(order_id=run.input.order_id)
