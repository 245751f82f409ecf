"""A workflow of two versions; which of them the app has stands in a line of its own."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

FLOW = """
from datetime import timedelta

from pydantic import BaseModel

from halfway import Effect, Event, Halfway, Settings, Step, Then, Workflow


class Order(BaseModel):
    id: str
    do: str = "work"


class Parcel(BaseModel):
    id: str
    weight: int


class Paid(BaseModel):
    amount: int = 1


paid = Event("PAID", Paid)
old = Workflow("ORDER", Order, version=1, owner="shop-owner", key=lambda order: order.id)


@old.step(Effect.CREATE, evidence="the warehouse")
def reserve(step: Step[Order]) -> str:
    return "r-1"


@old.wait_for(paid, timeout=timedelta(days=7), on_timeout=Then.CANCEL, name="PAYMENT")
def payment(step: Step[Order]) -> str:
    return step.input.id


@old.step(Effect.CREATE, evidence="the carrier")
def ship(step: Step[Order]) -> str:
    if step.input.do == "lose":
        raise TimeoutError("no answer")
    return step.output(reserve)


new = Workflow("ORDER", Parcel, version=2, owner="shop-owner", key=lambda parcel: parcel.id)


@new.step(Effect.CREATE, evidence="the warehouse", name="RESERVE_STOCK")
def reserve_stock(step: Step[Parcel]) -> int:
    return 2


@new.wait_for(paid, timeout=timedelta(days=7), on_timeout=Then.CANCEL, name="PAYMENT")
def second_payment(step: Step[Parcel]) -> str:
    return step.input.id


@new.step(Effect.CREATE, evidence="the carrier", name="SHIP")
def second_ship(step: Step[Parcel]) -> str:
    return f"{step.output(reserve_stock)} of {step.input.weight}"


@new.takes_over(old, at={reserve: reserve_stock})
def carry(order: Order) -> Parcel:
    return Parcel(id=order.id, weight=len(order.id))


@carry.output(reserve, reserve_stock)
def number(reservation: str) -> int:
    return int(reservation.removeprefix("r-"))


bare = Workflow("ORDER", Parcel, version=2, owner="shop-owner", key=lambda parcel: parcel.id)


@bare.step(Effect.CREATE, evidence="the warehouse", name="RESERVE_STOCK")
def bare_reserve(step: Step[Parcel]) -> int:
    return 2


times = Settings(beat=0.2, lease=3.0, sweep=0.2, stall=4.0, poll=0.05, settle=0.1, grace=GRACE)
app = Halfway("URL", workflows=[old], settings=times)
"""


def deploy(folder: Path, module: str, *names: str) -> None:
    """From now on the app has these versions."""
    path = folder / f"{module}.py"
    path.write_text(re.sub(r"workflows=\[.*?\]", f"workflows=[{', '.join(names)}]", path.read_text()))
    sys.modules.pop(module, None)
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)  # two versions may be of one second, and of one size
