"""Collects what a subscription owes. Run by hand, once for each customer: `python collect.py cus_17 4900 2026-11`."""

from __future__ import annotations

import os
import sys

import stripe
from tenacity import retry, stop_after_attempt, wait_exponential

stripe.api_key = os.environ["STRIPE_KEY"]


@retry(stop=stop_after_attempt(4), wait=wait_exponential(max=30))
def collect(customer: str, cents: int, month: str) -> str:
    key = f"collect-{customer}-{month}"
    intent = stripe.PaymentIntent.create(
        amount=cents,
        currency="eur",
        customer=customer,
        metadata={"month": month},
        idempotency_key=key,
    )
    return intent.id


def main() -> None:
    customer, cents, month = sys.argv[1:4]
    print(collect(customer, int(cents), month))


if __name__ == "__main__":
    main()
