"""A lead comes in: a customer record, a ticket, a mail, a plan. Four effects, and each says what a lost answer means.

The CRM is asked for the customer by our key. The desk drops a repeat. Nobody can ask the mail provider, so a person looks into its
log. The plan is compared, and only its owner may decide when the comparison does not tell.
"""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from examples.world import Crm, Customer, Desk, Mail
from halfway import Absent, CannotTell, Effect, Found, Halfway, Mark, Retry, Step, Then, Workflow

crm = Crm()
desk = Desk()
mail = Mail()


class Lead(BaseModel):
    """The person's data stays in the form system; steps fetch it by this id."""

    submission_id: str
    plan: str


intake = Workflow(
    "LEAD_INTAKE",
    Lead,
    version=1,
    owner="support-lead",
    key=lambda lead: f"lead:{lead.submission_id}",
    on_failure=Then.MANUAL,
    retry=Retry(3, wait=timedelta(0)),
)


@intake.step(Effect.CREATE)
def create_customer(step: Step[Lead], mark: Mark) -> Customer:
    with mark:
        return crm.create(external_id=step.key)


@create_customer.probe(settle=timedelta(0))
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
def open_ticket(step: Step[Lead]) -> str:
    return desk.open("Welcome a new customer", key=step.key)


@intake.step(
    Effect.NOTIFY,
    evidence="the mail provider's log, by our key",
    accept_unknown="its log has no interface for programs",
    approver="support-lead",
)
def send_welcome(step: Step[Lead], mark: Mark) -> str:
    with mark:
        return mail.send(step.output(create_customer).id, "welcome", key=step.key)


@intake.step(Effect.CHANGE, approver="billing")
def set_plan(step: Step[Lead], mark: Mark) -> str:
    customer = step.output(create_customer)
    with mark:
        return crm.set_plan(customer.id, step.input.plan)


@set_plan.probe(settle=timedelta(0))
def current_plan(step: Step[Lead]) -> Found[str] | Absent:
    """The plan of the customer in the CRM."""
    plan = crm.plan_of(step.output(create_customer).id)
    step.evidence(plan=plan)
    return Found(plan) if plan == step.input.plan else Absent()


def main(path: Path) -> None:
    app = Halfway(f"sqlite:///{path}", workflows=[intake])
    crm.answers_to_lose = desk.answers_to_lose = mail.answers_to_lose = 1
    with app.worker():
        run = app.result(app.start(intake, Lead(submission_id="s-1042", plan="pro")), timeout=timedelta(minutes=1))
        print(f"{run.status}: customers {len(crm.customers)}, tickets {len(desk.tickets)}, mails {len(mail.log)}")
        for sentence in app.control.show(run.id).explanation.reasons:
            print(sentence)

        app.control.mark_success(
            run.id, "SEND_WELCOME", actor="ada", reason="the answer was lost", evidence="mail-1 in the provider's log", output='"mail-1"'
        )
        run = app.result(run, timeout=timedelta(minutes=1))
        print(f"{run.status}: customers {len(crm.customers)}, mails {len(mail.log)}, plan {run.output(set_plan)}")
    app.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "leads.db")
    sys.exit(0)
