"""A lead comes in: a customer, a task for support, a confirmation mail, a subscription; and the last step gets no answer.

Three effects have happened already, so nothing may begin anew. The payment service cannot tell programs yet what it has booked, so
its owner looks and says what is true; until then no other run changes this subscription. Then only what is missing goes on.
"""

import sys
import time
from datetime import timedelta
from queue import SimpleQueue

from pydantic import BaseModel

from examples.stage import play, show
from examples.world import Crm, Customer, Desk, Mail, Payments
from halfway import Absent, CannotTell, Effect, Found, Halfway, Mark, Retry, Step, Then, Workflow
from halfway.errors import NotAllowed
from halfway.ports import Notice

crm = Crm()
desk = Desk()
mail = Mail()
payments = Payments()


class Lead(BaseModel):
    """The person's data stays in the form system; steps fetch it by this id."""

    submission_id: str
    plan: str


class Upgrade(BaseModel):
    customer_id: str
    plan: str


intake = Workflow(
    "LEAD_INTAKE",
    Lead,
    version=1,
    owner="support-lead",
    key=lambda lead: f"lead:{lead.submission_id}",
    severity="HIGH",
    on_failure=Then.MANUAL,
    retry=Retry(3, wait=timedelta(milliseconds=10)),
    runbook={"": "Read what has happened already before you order anything: halfway show RUN"},
)
upgrade = Workflow("UPGRADE", Upgrade, version=1, owner="billing", key=lambda upgrade: f"upgrade:{upgrade.customer_id}:{upgrade.plan}")


@intake.step(Effect.CREATE)
def create_customer(step: Step[Lead], mark: Mark) -> Customer:
    with mark:
        return crm.create(external_id=step.key)


@create_customer.probe(settle=timedelta(0))  # the CRM shows at once what it has
def find_customer(step: Step[Lead]) -> Found[Customer] | Absent | CannotTell:
    """The customer in the CRM whose external id is our key."""
    match crm.search(external_id=step.key):
        case [customer]:
            return Found(customer)
        case []:
            return Absent()
        case several:
            return CannotTell(f"{len(several)} customers have this external id")


@intake.step(Effect.CREATE, idempotent=True)
def open_task(step: Step[Lead]) -> str:
    return desk.open("Welcome a new customer", key=step.key)


@intake.step(
    Effect.NOTIFY,
    evidence="the mail provider's log, by our key",
    accept_unknown="its log has no interface for programs",
    approver="support-lead",
)
def confirm(step: Step[Lead], mark: Mark) -> str:
    with mark:
        return mail.send(step.output(create_customer).id, "confirmation", key=step.key)


@intake.step(Effect.CHANGE, approver="billing", record=lambda step: f"subscription:{step.output(create_customer).id}")
def subscribe(step: Step[Lead], mark: Mark) -> str:
    customer = step.output(create_customer)
    with mark:
        return payments.subscribe(customer.id, step.input.plan)


@subscribe.probe(settle=timedelta(0))  # it shows at once what it shows at all
def current_plan(step: Step[Lead]) -> Found[str] | Absent | CannotTell:
    """The customer's plan at the payment service."""
    return look(step.output(create_customer).id, step.input.plan)


@upgrade.step(Effect.CHANGE, record=lambda step: f"subscription:{step.input.customer_id}")
def change_plan(step: Step[Upgrade], mark: Mark) -> str:
    with mark:
        return payments.subscribe(step.input.customer_id, step.input.plan)


@change_plan.probe(settle=timedelta(0))
def changed_plan(step: Step[Upgrade]) -> Found[str] | Absent | CannotTell:
    """The customer's plan at the payment service."""
    return look(step.input.customer_id, step.input.plan)


def look(customer_id: str, wanted: str) -> Found[str] | Absent | CannotTell:
    """What the payment service tells a program."""
    plan = payments.plan_of(customer_id)
    if plan is None:
        return CannotTell("what was booked today is shown tomorrow")
    return Found(plan) if plan == wanted else Absent()


def say_booked(app: Halfway, run_id: str, *, actor: str) -> None:
    """What somebody says who has looked at the payment service."""
    seen = "booking 77 of today, plan pro"
    app.control.mark_success(run_id, "SUBSCRIBE", actor=actor, reason="the answer was lost", evidence=seen, output='"pro"')


def main(url: str) -> None:
    told = SimpleQueue[Notice]()
    app = Halfway(url, workflows=[intake, upgrade], roles={"support-lead": ["ada"], "billing": ["bea"]}, notify=[told.put])
    payments.is_closed, payments.answers_to_lose = True, 1
    with app.worker():
        run = app.result(app.start(intake, Lead(submission_id="s-1042", plan="pro")), timeout=timedelta(minutes=1))
        show(url, run.id)
        notice = told.get(timeout=60)
        print(f"\n{', '.join(notice.members)} of {notice.role} is told: {notice.what} for {notice.step}")
        print(f"customers {len(crm.customers)}, tasks {len(desk.tasks)}, mails {len(mail.log)}")

        customer = run.output(create_customer)
        waiting = app.start(upgrade, Upgrade(customer_id=customer.id, plan="team"))
        while app.control.show(waiting.id).steps[0].error_code != "RECORD_HELD":
            time.sleep(0.05)
        print(f"another run wants to change the subscription of {customer.id}, and waits")

        try:
            say_booked(app, run.id, actor="ada")
        except NotAllowed as refused:
            print(refused)
        say_booked(app, run.id, actor="bea")
        payments.is_closed = False
        run = app.result(run, timeout=timedelta(minutes=1))
        print(f"{run.status}: plan {run.output(subscribe)}; customers {len(crm.customers)}, mails {len(mail.log)}")
        waited = app.result(waiting, timeout=timedelta(minutes=1))
        print(f"{waited.status}: plan {waited.output(change_plan)}; bookings {len(payments.requests)}")
    app.close()


if __name__ == "__main__":
    play(main)
    sys.exit(0)
