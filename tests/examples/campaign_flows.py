"""The workflows of examples/campaign.py in worker processes, on a mailbox that they share; and a campaign that nobody can look into."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples import campaign as example
from examples.mailbox import UnknownAddress
from halfway import Effect, Errors, Step, Workflow
from halfway.testing import Ledger


def flows(url: str, ledger: Ledger) -> list[Any]:
    example.mailbox.open(Path(os.environ["MAILBOX"]))
    example.BATCH = int(os.environ.get("BATCH", "100"))
    return [*example.flows(), blind]


# A service that drops no repeats, and tells nobody what it has sent.
blind: Workflow[example.Campaign] = Workflow(
    "BLIND_CAMPAIGN", example.Campaign, version=1, owner="marketing", key=lambda campaign: f"blind:{campaign.id}"
)


@blind.step(Effect.READ)
def recipients(step: Step[example.Campaign]) -> Iterator[str]:
    for customer in range(step.input.customers):
        yield f"a-{customer}"


@blind.each(
    Effect.NOTIFY, recipients, key=lambda address: address, evidence="the service's own log", errors=Errors(fail=UnknownAddress),
    partial_from=0.9, failed_below=0.5,
)  # fmt: skip
def send_blindly(step: Step[example.Campaign], address: str) -> str:
    example.mailbox.drops_repeats = False
    return example.mailbox.send(address, step.input.text, key=f"{step.key}#{os.getpid()}#{step.attempt}")
