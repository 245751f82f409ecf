import os

import requests
import stripe
from temporalio import activity

stripe.api_key = os.environ["STRIPE_KEY"]


@activity.defn
def charge_deposit(customer_id: str) -> str:
    return stripe.PaymentIntent.create(amount=5000, currency="eur", customer=customer_id, idempotency_key=f"deposit-{customer_id}").id


@activity.defn
def open_account(customer_id: str) -> str:
    answer = requests.put(f"https://bank.acme.example/accounts/{customer_id}", timeout=60)
    answer.raise_for_status()
    return answer.json()["number"]
