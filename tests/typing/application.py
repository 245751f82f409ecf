"""A saga as an author writes it: what was reserved is released, the order is kept and marked."""

from __future__ import annotations

from sqlite3 import Connection

from pydantic import BaseModel

from halfway import Absent, AsyncMark, CannotTell, Effect, Found, Mark, Retry, Risk, Step, StepFailed, Then, Workflow
from tests.typing.world import sms


class Application(BaseModel):
    order_id: str


create_application = Workflow(
    "CREATE_APPLICATION",
    Application,
    version=1,
    owner="order-desk",
    key=lambda application: f"application:{application.order_id}",
    on_failure=Then.COMPENSATE,
)


@create_application.transaction(Connection)
def create_order(step: Step[Application], db: Connection) -> str:
    db.execute("insert into orders (id, status) values (?, 'CREATED')", (step.input.order_id,))
    return step.input.order_id


@create_order.compensate(Risk.LOW, approver="order-desk", retry=Retry(5))
def mark_submission_failed(step: Step[Application], db: Connection, order_id: str) -> None:
    why = step.cause.code if step.cause else None
    db.execute("update orders set status = 'SUBMISSION_FAILED', reason = ? where id = ?", (why, order_id))


@create_application.step(Effect.CHANGE, idempotent=True, record=lambda step: f"stock:{step.input.order_id}", requires_approval=True)
def reserve(step: Step[Application]) -> str:
    return step.key


@reserve.compensate(Risk.MEDIUM, effect=Effect.CREATE)
def release(step: Step[Application], reservation: str, mark: Mark) -> None:
    with mark:
        print(reservation)


def is_cancelled(step: Step[Application], number: int) -> Found[None] | Absent | CannotTell:
    return Found(None) if number else Absent()


async def letter(step: Step[Application], number: int) -> dict[str, str]:
    return {"to": step.input.order_id, "text": f"We have cancelled {number}."}


@create_application.step(Effect.CREATE, retry=Retry(3))
def submit(step: Step[Application]) -> int:
    raise StepFailed("the provider refused", code="CARD_DECLINED")


@submit.probe
def find_submission(step: Step[Application]) -> Found[int] | Absent:
    return Absent()


@submit.compensate(Risk.HIGH, effect=Effect.NOTIFY, probe=is_cancelled, draft=letter, approver="support", evidence="the sent mail")
async def tell_customer(step: Step[Application], number: int, mark: AsyncMark) -> None:
    text = str(step.draft)
    async with mark:
        await sms.send(step.input.order_id, text, key=step.key)


@create_application.step(Effect.CREATE, idempotent=True)
async def invite(step: Step[Application]) -> str:
    return await sms.send(step.input.order_id, "Welcome", key=step.key)


@invite.compensate(Risk.LOW)
async def withdraw(step: Step[Application], invitation: str) -> None:
    await sms.find(invitation)
