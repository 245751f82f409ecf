"""Stand-ins for the world outside. Each does what it is asked, and then may fail to say so: that is how answers get lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel


class NoAnswer(Exception):
    """The request was sent, and its answer never arrived. It says nothing about what happened."""


@dataclass
class Receiver:
    """Something on the other side of a network."""

    answers_to_lose: int = 0
    requests: list[str] = field(default_factory=list[str])

    def answer(self, request: str) -> None:
        """The work is done when this is called; the caller may never hear of it."""
        self.requests.append(request)
        if self.answers_to_lose:
            self.answers_to_lose -= 1
            raise NoAnswer(f"no answer to {request}")


@dataclass
class Sms(Receiver):
    """A provider of text messages. It can be asked for a message by the reference that came with it."""

    messages: dict[str, str] = field(default_factory=dict[str, str])

    async def send(self, order_id: str, text: str, *, reference: str) -> str:
        message_id = f"sms-{len(self.messages) + 1}"
        self.messages[message_id] = reference
        self.answer(f"message to the customer of {order_id}: {text}")
        return message_id

    async def find(self, reference: str) -> str | None:
        return next((id for id, known in self.messages.items() if known == reference), None)


@dataclass
class Statistics(Receiver):
    """Counts by key, so that a repeat with the same key counts once. It is not always there."""

    counted: set[str] = field(default_factory=set[str])
    is_down: bool = False

    def count(self, what: str, *, key: str) -> int:
        if self.is_down:
            raise ConnectionRefusedError(f"statistics are down, {what} was not counted")
        self.counted.add(key)
        self.answer(f"count {what}")
        return len(self.counted)


class Customer(BaseModel):
    """A customer in the CRM."""

    id: str
    plan: str = "free"


@dataclass
class Crm(Receiver):
    """A CRM. It makes a second customer if it is asked twice."""

    customers: dict[str, Customer] = field(default_factory=dict[str, Customer])
    external_ids: dict[str, str] = field(default_factory=dict[str, str])

    def create(self, *, external_id: str) -> Customer:
        customer = Customer(id=f"C-{len(self.customers) + 1}")
        self.customers[customer.id] = customer
        self.external_ids[customer.id] = external_id
        self.answer(f"create {customer.id}")
        return customer

    def search(self, *, external_id: str) -> list[Customer]:
        return [self.customers[id] for id, known in self.external_ids.items() if known == external_id]

    def set_plan(self, customer_id: str, plan: str) -> str:
        self.customers[customer_id] = Customer(id=customer_id, plan=plan)
        self.answer(f"plan of {customer_id} is {plan}")
        return plan

    def plan_of(self, customer_id: str) -> str:
        return self.customers[customer_id].plan


@dataclass
class Desk(Receiver):
    """A help desk. It knows the key of a ticket, and answers a repeat with the ticket that is there."""

    tickets: dict[str, str] = field(default_factory=dict[str, str])

    def open(self, title: str, *, key: str) -> str:
        ticket = self.tickets.setdefault(key, f"T-{len(self.tickets) + 1}")
        self.answer(f"{title}: {ticket}")
        return ticket


@dataclass
class Mail(Receiver):
    """A mail provider whose log only people can read."""

    log: list[str] = field(default_factory=list[str])

    def send(self, customer_id: str, template: str, *, key: str) -> str:
        self.log.append(key)
        self.answer(f"mail {template} to {customer_id}")
        return f"mail-{len(self.log)}"


@dataclass
class Cluster(Receiver):
    """Where releases run. Some need a while until they are healthy."""

    running: str = "app:0"
    looks_until_healthy: int = 2

    def deploy(self, image: str) -> None:
        self.running = image
        self.answer(f"deploy {image}")

    def healthy(self) -> bool:
        self.looks_until_healthy -= 1
        return self.looks_until_healthy < 0


@dataclass
class Ci(Receiver):
    """Builds images, one for each key."""

    images: dict[str, str] = field(default_factory=dict[str, str])

    def build(self, sha: str, *, key: str) -> str:
        image = self.images.setdefault(key, f"app:{sha}")
        self.answer(f"build {image}")
        return image
