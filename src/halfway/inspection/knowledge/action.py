"""One row of the knowledge base: what an action of a vendor does, and how well that is supported. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from halfway.inspection.model import Kind, Repeat, Reversible


class Trust(StrEnum):
    """How well a row is supported; a card says `needs confirmation` for everything but VERIFIED."""

    VERIFIED = "verified"  # in the vendor's own document or code, on the day of `checked`
    KNOWN = "known"  # with an official address, not read again
    UNSURE = "unsure"


@dataclass(frozen=True)
class Key:
    """How the receiver tells a repeat from another call."""

    where: str  # header Idempotency-Key, query requestid, …
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
    # It takes minutes: it builds, carries much, or waits until something runs. One request is none of it.
    lasting: bool = False
