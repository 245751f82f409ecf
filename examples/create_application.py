"""An application is made: an order, a reservation, a submission to a provider, who may decline it.

Then the reservation is released, and the order is kept and says why it came to nothing: nothing that happened is deleted. A
submission whose answer is lost is looked for under our reference before anything is sent again. A reservation that cannot be
released is a person's matter, and holds up nothing else.
"""

import sys
from datetime import timedelta

from pydantic import BaseModel

from examples.shop import Connection, create_tables, execute, orders
from examples.stage import play
from examples.world import Declined, InPicking, Provider, Stock
from halfway import Absent, Effect, Found, Halfway, Mark, Retry, Risk, Step, StepFailed, Then, Workflow, one_row

stock = Stock()
provider = Provider()

SOON = Retry(3, wait=timedelta(milliseconds=10))


class Application(BaseModel):
    order_id: str
    article: str


create_application = Workflow(
    "CREATE_APPLICATION",
    Application,
    version=1,
    owner="order-desk",
    key=lambda application: f"application:{application.order_id}",
    resource=lambda application: f"order:{application.order_id}",
    severity="CRITICAL",
    on_failure=Then.COMPENSATE,
    runbook={"IN_PICKING": "Ask the warehouse to put the goods back, then: halfway retry RUN RESERVE"},
)


@create_application.transaction(Connection)
def create_order(step: Step[Application], db: Connection) -> str:
    order_id = step.input.order_id
    execute(db, "insert into orders values (?, 'CREATED', null, 1, null)", order_id)
    execute(db, "insert into audit values (?, 'CREATED', ?)", order_id, step.run_id)
    return order_id


@create_order.compensate(Risk.LOW)
def mark_submission_failed(step: Step[Application], db: Connection, order_id: str) -> None:
    """The order is kept, with the reason; but only if nobody has gone on with it."""
    why = step.cause.code if step.cause else "CANCELLED"
    update = "update orders set status = 'SUBMISSION_FAILED', reason = ?, version = 2 where id = ? and version = 1"
    one_row(execute(db, update, why, order_id))
    execute(db, "insert into audit values (?, 'SUBMISSION_FAILED', ?)", order_id, step.run_id)


@create_application.step(Effect.CREATE, idempotent=True, retry=SOON)
def reserve(step: Step[Application]) -> str:
    return stock.reserve(step.input.article, key=step.key)


@reserve.compensate(Risk.MEDIUM, idempotent=True, approver="warehouse", retry=SOON)
def release(step: Step[Application], reservation: str, mark: Mark) -> None:
    with mark:
        try:
            stock.release(reservation)
        except InPicking as picking:
            raise StepFailed("the goods are being picked already", code="IN_PICKING") from picking


@create_application.step(Effect.CREATE, approver="order-desk", retry=SOON)
def submit(step: Step[Application], mark: Mark) -> str:
    with mark:
        try:
            return provider.submit(step.input.order_id, reference=step.key)
        except Declined as declined:
            raise StepFailed("the provider declined it", code=declined.code) from declined


@submit.probe(settle=timedelta(0))  # the provider lists an application before it answers
def find_submission(step: Step[Application]) -> Found[str] | Absent:
    """The application at the provider that carries our reference."""
    number = provider.lookup(step.key)
    return Found(number) if number else Absent()


def main(url: str) -> None:
    create_tables(url)
    provider.declines = "NO_CREDIT"
    app = Halfway(url, workflows=[create_application], roles={"order-desk": ["ada"], "warehouse": ["wim"]})
    with app.worker():
        run = app.result(app.start(create_application, Application(order_id="o-1", article="lamp")), timeout=timedelta(minutes=1))
    assert run.failure is not None
    print(f"{run.status}: {run.failure.step} failed with {run.failure.code}")
    print(f"reserved {len(stock.reserved)}, released {len(stock.released)}, on the shelf {stock.on_shelf}")
    for order_id, status, reason, *_ in orders(url):
        print(f"order {order_id} is kept: {status}, {reason}")
    app.close()


if __name__ == "__main__":
    play(main)
    sys.exit(0)
