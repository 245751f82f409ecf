"""A workflow that is not written yet: every step says what it stands for, and does nothing."""

# Made from flow (made-up) in flow.yml, which was only read.
# The inspection of it ended with: LIMITED TRIAL
# TODO: first the places with this mark, then the bodies: each raises NotImplementedError
# Look at it again and again with: halfway check --app MODULE:app
# That refuses a step as long as nothing tells what became of a lost answer, and a role that nobody holds.

from datetime import datetime, timedelta

from halfway import (
    Absent,
    CannotTell,
    Effect,
    Found,
    Halfway,
    Mark,
    Retry,
    Risk,
    Step,
    Then,
    Workflow,
)
from pydantic import BaseModel

OWNER = "owner"


class Input(BaseModel):
    # flow.yml:90: order.id
    order_id: str


flow = Workflow(
    "FLOW",
    Input,
    version=1,
    owner=OWNER,
    # TODO: whether this names the case: a second start with the same key answers the first run
    key=lambda given: f"flow:{given.order_id}",
    severity="CRITICAL",
    on_failure=Then.MANUAL,
    # flow.yml:5: shop
    concurrency=1,
)
# flow.yml:2: on schedule
# TODO: what starts it: flow.schedule, flow.starts_on, or app.start in your program


@flow.step(
    Effect.READ,
    retry=Retry(5),
    timeout=timedelta(seconds=2.5),
)
def look(step: Step[Input]) -> str:
    # flow.yml:1: do look
    # GET shop.example
    raise NotImplementedError


@flow.approval(
    "release team",
    expires=timedelta(seconds=3600),
    on_expiry=Then.CANCEL,
)
def agree(step: Step[Input]) -> Input:
    # flow.yml:9: approval release team
    # TODO: what the person must see to decide about agree
    return step.input


@flow.step(
    Effect.CHANGE,
    retry=Retry(5),
    timeout=timedelta(seconds=30),
    idempotent=timedelta(seconds=86400),
)
def pay(step: Step[Input], mark: Mark) -> str:
    # flow.yml:3: do pay
    # POST pay.example
    # it uses what came back from look
    # the receiver tells a repeat by header Idempotency-Key: give it step.key
    # https://docs.example/
    raise NotImplementedError


@pay.probe
def find_pay(step: Step[Input]) -> Found[str] | Absent | CannotTell:
    # look with GET /charges
    raise NotImplementedError


@pay.compensate(
    Risk.HIGH,
    evidence="GET /charges",
)
def undo_pay(step: Step[Input], made: str, mark: Mark) -> None:
    # Refund it.
    raise NotImplementedError


@flow.optional.step(Effect.CREATE)
def order(step: Step[Input], mark: Mark) -> str:
    # flow.yml:4: do order
    # create ticket
    # https://docs.example/
    # TODO: whether the run may go on without it, as it did
    # TODO: it was done for each of several things: that is flow.each
    # TODO: how long an attempt may take: timeout=
    raise NotImplementedError


@order.probe
def find_order(step: Step[Input]) -> Found[str] | Absent | CannotTell:
    # look with search by the marker
    raise NotImplementedError


@order.compensate(
    Risk.HIGH,
    evidence="search by the marker",
)
def undo_order(step: Step[Input], made: str, mark: Mark) -> None:
    # flow.yml:9: do revoke
    raise NotImplementedError


@flow.when(lambda step: step.missing(order) is not None).step(Effect.CHANGE)
def park(step: Step[Input], mark: Mark) -> str:
    # flow.yml:5: do park
    # unknown
    # TODO: whether it is a CHANGE: that was inferred
    # TODO: how to look whether it has happened: a probe, idempotent=True, or evidence=
    # TODO: it ran only if failed > 0: that is flow.when
    # TODO: how long an attempt may take: timeout=
    raise NotImplementedError


@flow.wait_until(after=[order])
def rest(step: Step[Input]) -> datetime:
    # flow.yml:6: do rest
    # TODO: until which time; for a message it is flow.wait_for
    raise NotImplementedError


@flow.optional.step(
    Effect.NOTIFY,
    irreversible=True,
)
def tell(step: Step[Input], mark: Mark) -> str:
    # flow.yml:7: do tell
    # send mail
    # https://docs.example/
    # TODO: whether the run may go on without it, as it did
    # TODO: how long an attempt may take: timeout=
    raise NotImplementedError


@tell.probe
def find_tell(step: Step[Input]) -> Found[str] | Absent | CannotTell:
    # look with the folder of what was sent
    raise NotImplementedError


@flow.step(Effect.READ)
def clean(step: Step[Input]) -> None:
    # flow.yml:8: do clean
    raise NotImplementedError


# TODO: what is done when a run fails: halfway tells its owner, and a person decides; left out are
# flow.yml:10: cry


app = Halfway(
    "sqlite:///flow.db",
    workflows=[flow],
    # TODO: who holds each role
    roles={OWNER: [], "release team": []},
)
