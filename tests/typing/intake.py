"""A workflow as an author writes it: two effects, a probe that is bare, a verifier."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel

from halfway import Absent, Effect, Errors, Found, Mark, Queue, Retry, Step, Then, Workflow
from tests.typing.world import Customer, InvalidEmail, RateLimited, crm


class Lead(BaseModel):
    submission_id: str
    email: str


intake = Workflow(
    "LEAD_INTAKE",
    Lead,
    version=1,
    owner="support-lead",
    key=lambda lead: f"lead:{lead.submission_id}",
    resource=lambda lead: f"submission:{lead.submission_id}",
    severity="HIGH",
    timeout=timedelta(hours=1),
    queue=Queue("leads"),
)


@intake.step(Effect.READ)
def normalise(step: Step[Lead]) -> str:
    return step.input.email.strip().lower()


@intake.step(Effect.CREATE, retry=Retry(3), errors=Errors(retry=RateLimited, fail=InvalidEmail), approver="support-lead")
def create_customer(step: Step[Lead], mark: Mark) -> Customer:
    email = step.output(normalise)
    with mark:
        return crm.create(email, external_id=step.key)


@create_customer.probe
def find_customer(step: Step[Lead]) -> Found[Customer] | Absent:
    """The customer with this external id in the CRM."""
    customer = crm.find(external_id=step.key)
    return Found(customer) if customer else Absent()


@create_customer.verify
def still_there(step: Step[Lead], customer: Customer) -> bool:
    return crm.find(external_id=step.key) == customer


@intake.step(
    Effect.CREATE,
    after=[create_customer],
    idempotent=timedelta(hours=24),
    on_failure=Then.MANUAL,
    effect_key=lambda step: f"ticket:{step.input.submission_id}",
)
def open_ticket(step: Step[Lead]) -> str:
    return f"ticket for {step.output(create_customer).id}"
