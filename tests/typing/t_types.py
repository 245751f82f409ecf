# mypy: ignore-errors
# type: ignore
# ruff: noqa
"""What must be inferred (assert_type) and, marked `E:`, what must be refused by mypy and by pyright.

The first two lines keep the checkers away from the deliberate mistakes; `test_types.py` checks this file without them.
"""

from __future__ import annotations

from datetime import timedelta
from sqlite3 import Connection
from typing import assert_type

from halfway import Absent, Artifact, AsyncMark, Effect, Found, Halfway, Mark, Queue, Retry, Run, Step, Then, Workflow
from tests.typing.intake import Lead, create_customer, intake, normalise, open_ticket
from tests.typing.orders import Change, change_order, orders, send_sms, write_receipt
from tests.typing.world import Customer, Page

# ── inferred ──


def inferred(lead: Step[Lead], change: Step[Change]) -> None:
    assert_type(lead.input, Lead)
    assert_type(lead.input.submission_id, str)
    assert_type(lead.output(normalise), str)
    assert_type(lead.output(create_customer), Customer)  # it takes the mark
    assert_type(change.output(change_order), int)  # a transaction
    assert_type(change.output(write_receipt), Artifact)  # an async step
    assert_type(change.output(send_sms), str)  # an async step that takes the mark
    assert_type(lead.remaining, timedelta)
    assert_type(lead.read(lead.save("x", "text")), bytes)


def from_outside(app: Halfway) -> None:
    run = app.start(intake, Lead(submission_id="s-1", email="x"))
    assert_type(run, Run[Lead])
    assert_type(run.input, Lead)
    assert_type(run.output(create_customer), Customer)
    assert_type(app.get(orders, "id").output(send_sms), str)


# ── outputs ──


def wrong_outputs(step: Step[Lead], run: Run[Change]) -> None:
    name: int = step.output(create_customer)  # E: wrong output type
    step.output(create_custommer)  # E: wrong step name
    step.output("CREATE_CUSTOMER")  # E: a step is not named by a string
    step.output(send_sms)  # E: a step of another workflow
    run.output(create_customer)  # E: a step of another workflow
    create_customer(step)  # E: a step is run by the engine only
    step.input.emial  # E: wrong field
    step.emit("x")  # E: there is no such call
    step.evidence(when=timedelta(1))  # E: evidence is JSON
    step.read("a1")  # E: an artifact is not named by a string
    step.save("x", 3)  # E: content is text or bytes


# ── probes and verifiers ──


@create_customer.probe  # E: None does not say whether it happened
def probe_none(step: Step[Lead]) -> Customer | None:
    raise NotImplementedError


@create_customer.probe  # E: finds the wrong thing
def probe_wrong(step: Step[Lead]) -> Found[Page] | Absent:
    raise NotImplementedError


@create_customer.probe  # E: a bool is not an answer
def probe_bool(step: Step[Lead]) -> bool:
    raise NotImplementedError


@create_customer.probe  # E: forgets to say Absent
def probe_falls_through(step: Step[Lead]) -> Found[Customer] | None:
    raise NotImplementedError


@create_customer.probe  # E: probe of another workflow
def probe_other(step: Step[Change]) -> Found[Customer] | Absent:
    raise NotImplementedError


@create_customer.probe  # E: a probe takes no mark
def probe_with_mark(step: Step[Lead], mark: Mark) -> Found[Customer] | Absent:
    raise NotImplementedError


change_order.probe  # E: a transaction cannot be in doubt
create_customer.probe(settle=60)  # E: a time is a timedelta


@create_customer.verify  # E: says yes or no
def verify_nothing(step: Step[Lead], customer: Customer) -> None:
    raise NotImplementedError


@create_customer.verify  # E: takes what the step returned
def verify_wrong(step: Step[Lead], customer: Page) -> bool:
    raise NotImplementedError


@send_sms.verify
async def verify_async(step: Step[Change], message_id: str) -> bool:
    raise NotImplementedError


# ── declarations ──


@intake.step(retry=Retry(3))  # E: a step states its effect
def no_effect(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step("CREATE")  # E: an effect is a member of Effect
def text_effect(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.CREATE, retries=3)  # E: unknown option
def wrong_option(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.READ)  # E: the input of another workflow
def wrong_input(step: Step[Change]) -> None:
    raise NotImplementedError


@intake.step(Effect.READ, after=[send_sms])  # E: after a step of another workflow
def wrong_after(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.READ, on_failure=Then.EXPIRE)  # E: makes no sense here
def wrong_then(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.READ, queue="gpu")  # E: a queue is not named by a string
def text_queue(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.READ, timeout=5)  # E: a time is a timedelta
def wrong_timeout(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.CREATE, idempotent=True, effect_key=lambda step: step.input.emial)  # E: wrong field in a key
def wrong_effect_key(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.CREATE)  # E: the mark of an async step in a def
def wrong_mark(step: Step[Lead], mark: int) -> None:
    raise NotImplementedError


@orders.transaction(Connection)  # E: another connection
def wrong_db(step: Step[Change], db: str) -> None:
    raise NotImplementedError


@orders.transaction(Connection)  # E: takes the connection
def no_db(step: Step[Change]) -> None:
    raise NotImplementedError


def wrong_marks(mark: Mark, amark: AsyncMark) -> None:
    with amark:  # E: the mark of an async step
        pass


async def wrong_async_marks(mark: Mark) -> None:
    async with mark:  # E: the mark of a def step
        pass


Workflow("X", Lead, version=1, owner="x", key=lambda lead: lead.emial)  # E: wrong field in a key
Workflow("X", Lead, version=1, owner="x")  # E: a workflow states its key
Workflow("X", Lead, version=1, key=None)  # E: a workflow has an owner
Workflow("X", Lead, version=1, owner="x", key=None, severity="BAD")  # E: no such severity
Workflow("X", Lead, version=1, owner="x", key=None, on_failure=Then.EXPIRE)  # E: makes no sense here
Workflow("X", Lead, version="1", owner="x", key=None)  # E: a version is a number
Retry()  # E: a retry says how often
Retry(3, wait=5)  # E: a time is a timedelta
Queue("gpu", concurrency=1)  # E: there are no limits yet


# ── from outside ──


def wrong_calls(app: Halfway) -> None:
    app.start(intake, Change("o-1", 1))  # E: wrong input
    app.start("LEAD_INTAKE", Lead(submission_id="s-1", email="x"))  # E: a workflow is not named by a string


async def from_async(app: Halfway) -> None:
    run = await app.astart(intake, Lead(submission_id="s-1", email="x"))
    assert_type(run.output(open_ticket), str)
    run.output(send_sms)  # E: a step of another workflow
