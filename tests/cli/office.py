"""A project with people in it: it waits for an event and for an approval, changes what can be undone, and has roles."""

from __future__ import annotations

FLOW = '''
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from halfway import Absent, CannotTell, Effect, Event, Found, Halfway, Mark, Retry, Risk, Settings, Step, StepFailed, Then, Workflow

BROKEN = Path(__file__).parent / "broken"


class Order(BaseModel):
    id: str
    do: str = "work"


class Payment(BaseModel):
    amount: int


PAID = Event("PAID", Payment)
ASKED = Event("ASKED", Payment)

deals = Workflow(
    "DEAL", Order, version=1, owner="shop-owner", key=lambda order: order.id, runbook={"TIMEOUT_ERROR": "Call the bank first."}
)


@deals.step(Effect.CHANGE, evidence="the parcel list", approver="finance", retry=Retry(1), irreversible=False)
def pack(step: Step[Order]) -> str:
    if step.input.do == "lose-pack":
        raise TimeoutError("no answer from the warehouse")
    return "parcel"


@pack.compensate(Risk.LOW, effect=Effect.CREATE, idempotent=True)
def unpack(step: Step[Order], output: str) -> None: ...


@deals.wait_for(PAID, timeout=timedelta(days=1), on_timeout=Then.MANUAL)
def paid(step: Step[Order]) -> str:
    return step.input.id


@deals.approval("finance", expires=timedelta(days=1), on_expiry=Then.MANUAL, four_eyes=True)
def agree(step: Step[Order]) -> dict[str, str]:
    return {"pay": step.input.id}


@deals.step(Effect.CHANGE, evidence="the payment at the bank", approver="finance", retry=Retry(1))
def charge(step: Step[Order]) -> int:
    if step.input.do == "lose":
        raise TimeoutError("no answer from the bank")
    return 42


@charge.compensate(Risk.HIGH)
def refund(step: Step[Order], output: int) -> None: ...


jobs = Workflow("JOB", Order, version=1, owner="shop-owner", key=lambda order: order.id)


@jobs.step(Effect.READ, retry=Retry(1))
def look(step: Step[Order]) -> str:
    if step.input.do == "fail" and BROKEN.exists():
        raise StepFailed("the shelf is locked", code="LOCKED")
    return "seen"


@jobs.step(Effect.CREATE, evidence="the box", approver="finance", retry=Retry(1))
def make(step: Step[Order], mark: Mark) -> int:
    with mark:
        if step.input.do == "lose":
            raise TimeoutError("no answer from the maker")
    return 1


@make.probe(settle=timedelta(seconds=0.1))
def found(step: Step[Order]) -> Found[int] | Absent | CannotTell:
    """The box."""
    if BROKEN.exists():
        return CannotTell("the shelf is locked")
    return Found(7)


@jobs.starts_on(ASKED)
def by_request(payment: Payment) -> Order:
    if payment.amount < 0:
        raise ValueError("nothing to do")
    return Order(id=f"asked-{payment.amount}")


def deaf(notice: object) -> None:
    raise OSError("no route to them")


times = Settings(beat=0.2, lease=3.0, sweep=0.2, stall=4.0, poll=0.05, settle=0.1, grace=1.0)
app = Halfway("URL", workflows=[deals, jobs], settings=times)
'''

ROLES = """
[tool.halfway.roles]
finance = ["fin", "fay"]
shop-owner = ["own"]
operator = ["ops"]
"""
