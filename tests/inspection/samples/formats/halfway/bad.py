"""Takes new leads in: looks them up, opens a ticket, says welcome."""

from dataclasses import dataclass

from halfway import Effect, Step, Workflow

import crm


@dataclass(frozen=True)
class Lead:
    id: str
    mail: str


leads = Workflow("LEADS", Lead, version=1, owner="sales", key=lambda lead: f"lead:{lead.id}")


@leads.step(Effect.READ)
def look(step: Step[Lead]) -> str:
    return crm.get(step.input.id)


@leads.step(Effect.NOTIFY, evidence="the log of the mail provider")
def welcome(step: Step[Lead]) -> str:
    return crm.mail(step.input.mail, "Welcome")


@leads.step(Effect.CREATE, evidence="the list of tickets")
def open_ticket(step: Step[Lead]) -> str:
    return crm.open(step.output(look))
