"""Stand-ins for the outside world, typed as client libraries are."""

from __future__ import annotations

from pydantic import BaseModel


class Customer(BaseModel):
    id: str
    email: str


class Page(BaseModel):
    url: str


class RateLimited(Exception):
    """The CRM asks for patience."""


class InvalidEmail(Exception):
    """The CRM refuses the address."""


class Crm:
    """A customer system."""

    def create(self, email: str, *, external_id: str) -> Customer:
        raise NotImplementedError

    def find(self, *, external_id: str) -> Customer | None:
        raise NotImplementedError


class Sms:
    """A message provider."""

    async def send(self, to: str, text: str, *, key: str) -> str:
        raise NotImplementedError

    async def find(self, key: str) -> str | None:
        raise NotImplementedError


crm = Crm()
sms = Sms()
