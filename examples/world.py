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
    requests_to_lose: int = 0
    requests: list[str] = field(default_factory=list[str])

    def hear(self, request: str) -> None:
        """Nothing is done yet when this is called; the request may never arrive."""
        if self.requests_to_lose:
            self.requests_to_lose -= 1
            raise NoAnswer(f"no answer to {request}")

    def answer(self, request: str) -> None:
        """The work is done when this is called; the caller may never hear of it."""
        self.requests.append(request)
        if self.answers_to_lose:
            self.answers_to_lose -= 1
            raise NoAnswer(f"no answer to {request}")


@dataclass
class Sms(Receiver):
    """A provider of text messages. It can be asked for a message by the reference that came with it, and what became of it."""

    messages: dict[str, str] = field(default_factory=dict[str, str])
    states: dict[str, str] = field(default_factory=dict[str, str])

    async def send(self, contact: str, text: str, *, reference: str) -> str:
        message_id = f"sms-{len(self.messages) + 1}"
        self.messages[message_id] = reference
        self.answer(f"to {contact}: {text}")
        return message_id

    async def find(self, reference: str) -> str | None:
        return next((id for id, known in self.messages.items() if known == reference), None)

    def state(self, message_id: str) -> str:
        return self.states.get(message_id, "on its way")


@dataclass
class Contacts(Receiver):
    """Who is told about an order; what leaves it is an id, never a number."""

    of_orders: dict[str, str] = field(default_factory=lambda: {"o-1": "contact-7"})

    def of(self, order_id: str) -> str | None:
        return self.of_orders.get(order_id)


@dataclass
class Channel(Receiver):
    """The channel in which the shop's administrators read. Only people can look into its history."""

    def post(self, text: str, *, key: str) -> None:
        self.answer(f"{text} ({key})")


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


class Declined(Exception):
    """The provider has looked at the application and does not take it."""

    def __init__(self, code: str) -> None:
        super().__init__(f"declined: {code}")
        self.code = code


@dataclass
class Provider(Receiver):
    """Takes applications in. It takes each one that arrives, also a second time, and knows them by the reference that came with them."""

    applications: dict[str, str] = field(default_factory=dict[str, str])
    declines: str = ""

    def submit(self, order_id: str, *, reference: str) -> str:
        self.hear(f"submit {order_id}")
        if self.declines:
            self.requests.append(f"submit {order_id}")
            raise Declined(self.declines)
        number = f"A-{len(self.applications) + 1}"
        self.applications[number] = reference
        self.answer(f"submit {order_id}")
        return number

    def lookup(self, reference: str) -> str | None:
        return next((number for number, known in self.applications.items() if known == reference), None)


class InPicking(Exception):
    """The goods are being picked already."""


@dataclass
class Stock(Receiver):
    """A warehouse. It drops a second reservation with the same key, and a second release of the same reservation."""

    on_shelf: int = 3
    reserved: dict[str, str] = field(default_factory=dict[str, str])  # reservation by key
    released: set[str] = field(default_factory=set[str])
    refusals: int = 0  # so many connections are refused before one is let in
    is_picking: bool = False

    def reserve(self, article: str, *, key: str) -> str:
        if key not in self.reserved:
            self.reserved[key] = f"R-{len(self.reserved) + 1}"
            self.on_shelf -= 1
        self.answer(f"reserve {article}")
        return self.reserved[key]

    def release(self, reservation: str) -> None:
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefusedError(f"the warehouse is busy, {reservation} was not released")
        if self.is_picking:
            raise InPicking(f"{reservation} is being picked")
        if reservation not in self.released:
            self.released.add(reservation)
            self.on_shelf += 1
        self.answer(f"release {reservation}")


class Customer(BaseModel):
    """A customer in the CRM."""

    id: str


@dataclass
class Crm(Receiver):
    """A CRM. It makes a second customer if it is asked twice."""

    customers: dict[str, str] = field(default_factory=dict[str, str])  # external id by customer

    def create(self, *, external_id: str) -> Customer:
        customer = Customer(id=f"C-{len(self.customers) + 1}")
        self.customers[customer.id] = external_id
        self.answer(f"create {customer.id}")
        return customer

    def search(self, *, external_id: str) -> list[Customer]:
        return [Customer(id=id) for id, known in self.customers.items() if known == external_id]


@dataclass
class Payments(Receiver):
    """Books subscriptions. What it has booked today, it shows to programs tomorrow; its operators see it at once."""

    plans: dict[str, str] = field(default_factory=dict[str, str])
    is_closed: bool = False  # for today: what was booked does not show yet

    def subscribe(self, customer_id: str, plan: str) -> str:
        self.hear(f"{customer_id} takes {plan}")
        self.plans[customer_id] = plan
        self.answer(f"{customer_id} takes {plan}")
        return plan

    def plan_of(self, customer_id: str) -> str | None:
        """None: today's bookings are not shown yet."""
        return None if self.is_closed else self.plans.get(customer_id, "free")


@dataclass
class Desk(Receiver):
    """A help desk. It knows the key of a task, and answers a repeat with the task that is there."""

    tasks: dict[str, str] = field(default_factory=dict[str, str])

    def open(self, title: str, *, key: str) -> str:
        task = self.tasks.setdefault(key, f"T-{len(self.tasks) + 1}")
        self.answer(f"{title}: {task}")
        return task


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
    is_broken: bool = False  # what runs will never be healthy

    def deploy(self, image: str) -> None:
        self.hear(f"deploy {image}")
        self.running = image
        self.answer(f"deploy {image}")

    def healthy(self) -> bool:
        self.looks_until_healthy -= 1
        return self.looks_until_healthy < 0 and not self.is_broken


@dataclass
class Ci(Receiver):
    """Builds images, one for each key."""

    images: dict[str, str] = field(default_factory=dict[str, str])

    def build(self, sha: str, *, key: str) -> str:
        image = self.images.setdefault(key, f"app:{sha}")
        self.answer(f"build {image}")
        return image
