"""Takes new leads in: looks them up, opens a ticket, says welcome."""

from dataclasses import dataclass
from datetime import timedelta

from halfway import Absent, Effect, Found, Mark, Retry, Risk, Step, Workflow

import crm


@dataclass(frozen=True)
class Lead:
    id: str
    mail: str


leads = Workflow("LEADS", Lead, version=1, owner="sales", key=lambda lead: f"lead:{lead.id}", retry=Retry(4))


@leads.step(Effect.READ)
def look(step: Step[Lead]) -> str:
    return crm.get(step.input.id)


@leads.step(Effect.CREATE, approver="heads-of-sales", timeout=timedelta(seconds=20))
def open_ticket(step: Step[Lead], mark: Mark) -> str:
    with mark:
        return crm.open(step.output(look), key=step.key)


@open_ticket.probe(settle=timedelta(0))
def find_ticket(step: Step[Lead]) -> Found[str] | Absent:
    found = crm.find(step.key)
    return Found(found) if found else Absent()


@open_ticket.compensate(Risk.LOW, idempotent=True)
def close_ticket(step: Step[Lead], ticket: str) -> None:
    crm.close(ticket, key=step.key)


@leads.step(Effect.NOTIFY, evidence="the log of the mail provider", approver="heads-of-sales")
def welcome(step: Step[Lead]) -> str:
    return crm.mail(step.output(open_ticket), key=step.key)
