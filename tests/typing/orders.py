"""A workflow as an author writes it: a transaction, an `async def` step with its mark, a probe that waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from sqlite3 import Connection

from halfway import Absent, Artifact, AsyncMark, CannotTell, Effect, Found, Retry, Step, StepFailed, Workflow
from tests.typing.world import sms


@dataclass(frozen=True)
class Change:
    order_id: str
    expected_version: int


class VersionConflict(StepFailed):
    """Another run changed the order first. Read the order and decide whether this change still applies."""


orders = Workflow("ORDER_CHANGE", Change, version=1, owner="order-desk", key=None)


@orders.transaction(Connection)
def change_order(step: Step[Change], db: Connection) -> int:
    change = step.input
    updated = db.execute("update orders set version = version + 1 where id = ? and version = ?", (change.order_id, change.expected_version))
    if updated.rowcount == 0:
        raise VersionConflict(f"order {change.order_id} is no longer at version {change.expected_version}")
    return change.expected_version + 1


@orders.step(Effect.READ)
async def write_receipt(step: Step[Change]) -> Artifact:
    return step.save("receipt.md", f"version {step.output(change_order)}")


@orders.step(Effect.NOTIFY, irreversible=True)
async def send_sms(step: Step[Change], mark: AsyncMark) -> str:
    text = step.read(step.output(write_receipt)).decode()
    async with mark:
        return await sms.send(step.input.order_id, text, key=step.key)


@send_sms.probe(settle=timedelta(minutes=1), retry=Retry(5))
async def find_sms(step: Step[Change]) -> Found[str] | Absent | CannotTell:
    message_id = await sms.find(step.key)
    step.evidence(message_id=message_id, looked=True)
    return Found(message_id) if message_id else CannotTell("the provider lists messages for one day only")
