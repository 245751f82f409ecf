"""A campaign: a child run for each batch of customers, an item for each recipient, and enough is enough.

Twenty addresses are wrong. The campaign ends in part; when the addresses are known, those twenty are written to and nobody else. A
mail carries a key by which the service drops a repeat and can be asked, so that a worker may die at any moment and nobody gets a mail
twice.
"""

import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from examples.mailbox import Mailbox, UnknownAddress
from examples.stage import play, show
from halfway import Absent, Effect, Errors, Found, Halfway, Retry, Step, Then, Workflow

BATCH = 1000
mailbox = Mailbox(Path(tempfile.gettempdir()) / "halfway-campaign-mailbox.db")


class Campaign(BaseModel):
    id: str
    text: str
    customers: int  # who they are is asked of the customer system, page by page


class Batch(BaseModel):
    campaign: str
    number: int
    text: str
    first: int
    last: int


class Recipient(BaseModel):
    customer: int
    address: str  # an id of the address book, not an address


class Totals(BaseModel):
    sent: int
    failed: int


batch = Workflow("CAMPAIGN_BATCH", Batch, version=1, owner="marketing", key=lambda batch: f"campaign:{batch.campaign}:{batch.number}")


@batch.step(Effect.READ)
def load_recipients(step: Step[Batch]) -> Iterator[Recipient]:
    """The customer system answers one after the other; the list is kept, so that every attempt works from the same one."""
    for customer in range(step.input.first, step.input.last):
        yield Recipient(customer=customer, address=f"a-{customer}")


@batch.each(
    Effect.NOTIFY, load_recipients, key=lambda recipient: str(recipient.customer), idempotent=True, partial_from=0.9, failed_below=0.5,
    retry=Retry(3, wait=timedelta(milliseconds=10)), errors=Errors(fail=UnknownAddress), stays="a mail cannot be taken back",
)  # fmt: skip
def send(step: Step[Batch], recipient: Recipient) -> str:
    return mailbox.send(recipient.address, step.input.text, key=step.key)


@send.probe(settle=timedelta(0))
def find(step: Step[Batch], recipient: Recipient) -> Found[str] | Absent:
    """A repeat that is refused says nothing about the first try: the service is asked what it has sent under the key."""
    mail = mailbox.find(step.key)
    return Found(mail) if mail is not None else Absent()


campaign = Workflow("CAMPAIGN", Campaign, version=1, owner="marketing", key=lambda campaign: f"campaign:{campaign.id}")


@campaign.children(batch, concurrency=4, partial_from=0.9, failed_below=0.5, on_failure=Then.MANUAL)
def batches(step: Step[Campaign]) -> Iterator[Batch]:
    for number, first in enumerate(range(0, step.input.customers, BATCH)):
        last = min(first + BATCH, step.input.customers)
        yield Batch(campaign=step.input.id, number=number, text=step.input.text, first=first, last=last)


@campaign.step(Effect.READ)
def count(step: Step[Campaign]) -> Totals:
    sent = list(step.output(batches).outputs(send))
    return Totals(sent=sum(one.succeeded for one in sent), failed=sum(one.failed for one in sent))


def story(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mailbox.open(Path(folder) / "mailbox.db")
        wrong = [f"a-{customer}" for customer in range(0, 1000, 50)]
        mailbox.forget(wrong)
        app = Halfway(url, workflows=[campaign, batch])
        with app.worker(slots=16):
            run = app.start(campaign, Campaign(id="spring", text="Spring is here.", customers=2 * BATCH))
            run = app.result(run, timeout=timedelta(minutes=5))
            print(f"{run.status}: {tell(run.output(count))}")
            show(url, run.id)
            mailbox.learn(wrong)
            app.control.retry(run.id, "BATCHES", actor="kim", reason="the addresses are known now")
            run = app.result(run, timeout=timedelta(minutes=5))
            print(f"{run.status}: {len(mailbox.sent())} mails to {len(set(mailbox.sent()))} customers")
        app.close()


def tell(totals: Totals) -> str:
    return f"{totals.sent} sent, {totals.failed} failed"


def flows() -> Sequence[Workflow[Campaign] | Workflow[Batch]]:
    """What a worker needs."""
    return [campaign, batch]


if __name__ == "__main__":
    play(story)
