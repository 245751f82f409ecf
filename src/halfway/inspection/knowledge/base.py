"""The rows of the knowledge base and how a reader finds one. A row without a source cannot exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from halfway.inspection.model import Effect, Kind, Receiver, Repeat, Reversible


class Trust(StrEnum):
    """How well a row is supported; a card says `needs confirmation` for everything but VERIFIED."""

    VERIFIED = "verified"  # in the vendor's own document or code, on the day of `checked`
    KNOWN = "known"  # with an official address, not read again
    UNSURE = "unsure"


@dataclass(frozen=True)
class Key:
    """How the receiver tells a repeat from another call."""

    where: str  # header `Idempotency-Key`, query `requestid`, …
    seconds: int | None = None  # how long it is remembered; None: not said


@dataclass(frozen=True)
class Action:
    """One row."""

    id: str
    kinds: frozenset[Kind]
    repeat: Repeat
    reversible: Reversible
    key: Key | None
    probe: str  # a way to look that changes nothing; "none" where there is none
    compensation: str  # in words; "none" where there is none
    mails: bool  # whether people hear of it
    sources: tuple[str, ...]
    checked: date
    trust: Trust
    # By its name in SDKs: a key that the SDK makes for each call protects only its own retries.
    minted_by_sdk: bool = False


class Knowledge:
    """The whole base; finds the row that an expression of a format is about, or nothing. It never guesses."""

    def action(self, id: str) -> Action:
        """A row by its id; raises KeyError."""
        raise NotImplementedError

    def actions(self) -> Sequence[Action]:
        """All rows, by id."""
        raise NotImplementedError

    def effect(self, id: str, told: str, *, certain: bool = True, receiver: Receiver = Receiver.UNKNOWN) -> Effect:
        """The effect of a row as a step has it."""
        raise NotImplementedError

    def command(self, words: Sequence[str]) -> Effect | None:
        """Of a command of a shell, its words unquoted; None: it does nothing outside that is known."""
        raise NotImplementedError

    def uses(self, action: str, given: Mapping[str, str]) -> Effect | None:
        """Of an action of GitHub Actions, as `pypa/gh-action-pypi-publish@v1`, with its inputs."""
        raise NotImplementedError

    def http(self, method: str, url: str) -> Effect | None:
        """Of a request; one that writes to a host that is not known is UNKNOWN with repeat UNKNOWN, a GET or HEAD is READ."""
        raise NotImplementedError

    def call(self, name: str, given: Mapping[str, str]) -> Effect | None:
        """Of a call in Python or TypeScript by its dotted name with aliases resolved: `stripe.PaymentIntent.create`."""
        raise NotImplementedError

    def node(self, format: str, type: str, resource: str = "", operation: str = "") -> Effect | None:
        """Of a node of n8n, a step of Zapier (api, action), a module of Make, a resource of Step Functions; with the format's defaults."""
        raise NotImplementedError


def load() -> Knowledge:
    """Reads the data that comes with the package; raises ValueError for a row that breaks the schema."""
    raise NotImplementedError
