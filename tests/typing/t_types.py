# mypy: ignore-errors
# type: ignore
# ruff: noqa
"""What must be inferred (assert_type) and, marked `E:`, what must be refused by mypy and by pyright.

The first two lines keep the checkers away from the deliberate mistakes; `test_types.py` checks this file without them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from sqlite3 import Connection
from typing import assert_type

from halfway import (
    Absent,
    Approval,
    Artifact,
    AsyncMark,
    Effect,
    Event,
    Failure,
    Found,
    Halfway,
    Mark,
    Part,
    Queue,
    Retry,
    Rewind,
    Risk,
    Run,
    Step,
    Then,
    Workflow,
)
from halfway import one_row
from tests.typing.analysis import Nameless, NotGoodEnough, Question, analysis, answer, check_twice, facts, rumours, sign, signing
from tests.typing.application import Application, create_order, invite, reserve, submit
from tests.typing.deploy import Deploy, Release, approve_release, approve_window, deploy
from tests.typing.intake import Lead, create_customer, intake, normalise, open_ticket
from tests.typing.order_status import Audit, Delivery, OrderChanged, audit, changed, delivery, next_morning, order_changed, order_status
from tests.typing.order_status import Change as StatusChange
from tests.typing.order_status import second_delivery, sms_delivery, version
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


def inferred_graph(step: Step[Question]) -> None:
    assert_type(step.output(facts), list[str])
    assert_type(step.output(rumours), list[str] | None)  # optional
    assert_type(step.output(check_twice), int | None)  # conditional
    assert_type(step.output(sign), str)  # of a part
    assert_type(step.missing(rumours), str | None)
    len(step.output(rumours))  # E: it may have no output


nameless = Workflow("NAMELESS", Nameless, version=1, owner="x", key=None)
nameless.include(signing)  # E: its input has no id


@analysis.step(Effect.READ, rewind=Rewind(to=answer, on=ValueError, max=2))  # E: only what is made from StepFailed goes back
def wrong_on(step: Step[Question]) -> None:
    raise NotImplementedError


@analysis.step(Effect.READ, rewind=Rewind(to=answer, on=NotGoodEnough))  # E: a loop has an end
def endless(step: Step[Question]) -> None:
    raise NotImplementedError


@analysis.step(Effect.READ, rewind=Rewind(to=create_customer, max=2))  # E: a step of another workflow
def wrong_to(step: Step[Question]) -> None:
    raise NotImplementedError


@analysis.when(lambda step: "yes").step(Effect.READ)  # E: a condition is true or false
def wrong_condition(step: Step[Question]) -> None:
    raise NotImplementedError


def inferred_waits(change: Step[StatusChange], ship: Step[Deploy], look: Step[Audit], undo: Step[Application]) -> None:
    assert_type(change.output(delivery), Delivery)
    assert_type(change.output(second_delivery), Delivery)
    assert_type(change.output(next_morning), datetime)
    assert_type(look.output(changed), Run[StatusChange])
    assert_type(look.output(changed).input.order_id, str)
    assert_type(look.output(version), int)
    assert_type(ship.output(approve_release), Approval)
    assert_type(ship.output(approve_window), Approval)
    assert_type(undo.cause, Failure | None)
    assert_type(order_changed, Event[OrderChanged])


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


# ── compensations ──


@reserve.compensate  # E: an undo has a risk
def undo_without_risk(step: Step[Application], reservation: str) -> None:
    raise NotImplementedError


@reserve.compensate("LOW")  # E: a risk is a member of Risk
def undo_text_risk(step: Step[Application], reservation: str) -> None:
    raise NotImplementedError


@reserve.compensate(Risk.LOW)  # E: takes what the step returned
def undo_wrong(step: Step[Application], reservation: Page) -> None:
    raise NotImplementedError


@reserve.compensate(Risk.LOW)  # E: needs the output
def undo_without_output(step: Step[Application]) -> None:
    raise NotImplementedError


@reserve.compensate(Risk.LOW)  # E: undo of another workflow
def undo_other(step: Step[Lead], reservation: str) -> None:
    raise NotImplementedError


@reserve.compensate(Risk.LOW)  # E: an undo returns nothing
def undo_returns(step: Step[Application], reservation: str) -> str:
    raise NotImplementedError


@reserve.compensate(Risk.LOW)  # E: the mark comes last
def undo_mark_first(step: Step[Application], mark: Mark, reservation: str) -> None:
    raise NotImplementedError


@create_order.compensate(Risk.LOW)  # E: the undo of a transaction takes the connection
def undo_without_db(step: Step[Application], order_id: str) -> None:
    raise NotImplementedError


@create_order.compensate(Risk.LOW)  # E: a transaction is 'def'
async def undo_async_db(step: Step[Application], db: Connection, order_id: str) -> None:
    raise NotImplementedError


def wrong_look(step: Step[Application], number: int) -> bool:
    raise NotImplementedError


submit.compensate(Risk.LOW, probe=wrong_look)  # E: a bool is not an answer
submit.compensate(Risk.LOW, approver=3)  # E: a role is a text
create_order.compensate(Risk.LOW, idempotent=True)  # E: a transaction cannot be lost
delivery.compensate(Risk.LOW)  # E: a wait has nothing to undo
assert_type(invite.compensate(Risk.LOW, idempotent=True) is None, bool)


# ── waits, approvals, events ──


@order_status.wait_for(sms_delivery, on_timeout=Then.FAIL)  # E: no wait is endless
def wait_endless(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@order_status.wait_for(sms_delivery, timeout=timedelta(1))  # E: says what happens then
def wait_no_policy(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@order_status.wait_for(sms_delivery, timeout=timedelta(1), on_timeout=Then.COMPENSATE)  # E: makes no sense here
def wait_wrong_then(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@order_status.wait_for(sms_delivery, timeout=timedelta(1), on_timeout=Then.VALUE)  # E: needs the value
def wait_no_value(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@order_status.wait_for(sms_delivery, timeout=timedelta(1), on_timeout=Then.FAIL, value=None)  # E: a value without its use
def wait_odd_value(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@order_status.wait_for(sms_delivery, timeout=timedelta(1), on_timeout=Then.FAIL, retry=Retry(3))  # E: a wait sends nothing
def wait_retry(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@order_status.wait_for(sms_delivery, timeout=timedelta(1), on_timeout=Then.FAIL)  # E: returns the key
def wait_no_key(step: Step[StatusChange]) -> int:
    raise NotImplementedError


@order_status.wait_for("SMS_DELIVERY", timeout=timedelta(1), on_timeout=Then.FAIL)  # E: an event is not named by a string
def wait_text(step: Step[StatusChange]) -> str:
    raise NotImplementedError


@audit.wait_for(order_status, timeout=timedelta(1), on_timeout=Then.PROBE)  # E: the other run is here, nobody need ask
def wait_run_probe(step: Step[Audit]) -> str:
    raise NotImplementedError


@order_status.wait_until()  # E: returns a time
def wait_no_time(step: Step[StatusChange]) -> timedelta:
    raise NotImplementedError


@order_status.wait_until(idempotent=True)  # E: a wait sends nothing
def wait_until_idempotent(step: Step[StatusChange]) -> datetime:
    raise NotImplementedError


@delivery.probe  # E: finds the wrong thing
def wait_probe_wrong(step: Step[StatusChange]) -> Found[str] | Absent:
    raise NotImplementedError


@deploy.approval("boss", expires=timedelta(1), on_expiry=Then.PROBE)  # E: makes no sense here
def approval_probe(step: Step[Deploy]) -> Release:
    raise NotImplementedError


@deploy.approval("boss", on_expiry=Then.FAIL)  # E: no approval is endless
def approval_endless(step: Step[Deploy]) -> Release:
    raise NotImplementedError


@deploy.approval(expires=timedelta(1), on_expiry=Then.FAIL)  # E: somebody approves
def approval_nobody(step: Step[Deploy]) -> Release:
    raise NotImplementedError


@deploy.approval("boss", expires=timedelta(1), on_expiry=Then.FAIL)  # E: of another workflow
def approval_other(step: Step[Lead]) -> Release:
    raise NotImplementedError


@audit.starts_on(order_changed)  # E: takes the payload
def starts_wrong(event: Delivery) -> Audit:
    raise NotImplementedError


@audit.starts_on(order_changed)  # E: makes an input
def starts_nothing(event: OrderChanged) -> str:
    raise NotImplementedError


@audit.schedule("0 18 * * *", tz="Asia/Seoul", overlap="WAIT", catch_up="ALL", limit=7)
def nightly(due: datetime) -> Audit | None:
    raise NotImplementedError


assert_type(nightly(datetime(2026, 1, 1)), Audit | None)


@audit.schedule(every=timedelta(hours=1), at=datetime(2026, 1, 1))
def hourly(due: datetime) -> Audit:
    raise NotImplementedError


@audit.schedule("0 18 * * *")  # E: takes the time
def scheduled_wrong(due: str) -> Audit:
    raise NotImplementedError


@audit.schedule("0 18 * * *")  # E: makes an input
def schedules_nothing(due: datetime) -> str:
    raise NotImplementedError


@audit.schedule("0 18 * * *", overlap="skip")  # E: one of three
def scheduled_text(due: datetime) -> Audit:
    raise NotImplementedError


@audit.schedule(every=600)  # E: a timedelta
def scheduled_number(due: datetime) -> Audit:
    raise NotImplementedError


@audit.starts_after(order_status)  # E: takes the other run
def after_wrong(run: Run[Lead]) -> Audit:
    raise NotImplementedError


@audit.starts_after(order_status, "SUCCESS")  # E: a status is a member of RunStatus
def after_text(run: Run[StatusChange]) -> Audit:
    raise NotImplementedError


def wrong_events(step: Step[StatusChange], db: Connection) -> None:
    step.emit(order_changed, Delivery(message_id="x", status="BOUNCED"), key="x")  # E: another payload
    step.emit(order_changed, OrderChanged(order_id="x", status="x"))  # E: an event has a key
    step.output(approve_release)  # E: a step of another workflow
    one_row(db)  # E: a connection has no count


Event("X")  # E: an event has a payload type

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


@intake.step(Effect.CHANGE, idempotent=True, record=lambda step: step.input.emial)  # E: wrong field in a record
def wrong_record(step: Step[Lead]) -> None:
    raise NotImplementedError


@intake.step(Effect.READ, stays=True)  # E: a reason is a text
def wrong_stays(step: Step[Lead]) -> None:
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
Workflow("X", Lead, version=1, owner="x", key=None, past_deadline=Then.CANCEL)  # E: makes no sense here
Workflow("X", Lead, version=1, owner="x", key=None, runbook={3: "x"})  # E: neither a class nor a code
Workflow("X", Lead, version="1", owner="x", key=None)  # E: a version is a number
Retry()  # E: a retry says how often
Retry(3, wait=5)  # E: a time is a timedelta
Queue("gpu", concurrency="1")  # E: a limit is a number


# ── from outside ──


def wrong_calls(app: Halfway) -> None:
    app.start(intake, Change("o-1", 1))  # E: wrong input
    app.start("LEAD_INTAKE", Lead(submission_id="s-1", email="x"))  # E: a workflow is not named by a string


async def from_async(app: Halfway) -> None:
    run = await app.astart(intake, Lead(submission_id="s-1", email="x"))
    assert_type(run.output(open_ticket), str)
    run.output(send_sms)  # E: a step of another workflow


# ── versions ──

orders_v2 = Workflow("ORDERS", Lead, version=9, owner="x", key=None)


@orders_v2.step(Effect.CREATE, evidence="x")
def change_again(step: Step[Lead]) -> str:
    raise NotImplementedError


@orders_v2.takes_over(orders, at={change_order: change_again, send_sms: None})
def carry(old: Change) -> Lead:
    raise NotImplementedError


@carry.output(change_order, change_again)
def as_text(old: int) -> str:
    return str(old)


@orders_v2.takes_over(orders)  # E: takes the former input
def wrong_former(old: Lead) -> Lead:
    raise NotImplementedError


@orders_v2.takes_over(orders)  # E: makes the new input
def wrong_new(old: Change) -> Change:
    raise NotImplementedError


orders_v2.takes_over(orders, at={change_again: change_again})  # E: no step of the former version
orders_v2.takes_over(orders, at={change_order: send_sms})  # E: no step of this version
orders_v2.takes_over(orders, at={change_order: "CHANGE_AGAIN"})  # E: a step is not named by a string
orders_v2.takes_over("ORDERS")  # E: a version is not named by a string


@carry.output(change_order, change_again)  # E: takes the former output
def wrong_output(old: str) -> str:
    return old


@carry.output(change_order, change_again)  # E: makes the new output
def wrong_new_output(old: int) -> int:
    return old
