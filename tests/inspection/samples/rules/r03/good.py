"""Welcome mails. Queued by the sign-up view, worked off by the `mail` worker."""

from __future__ import annotations

import smtplib
from email.message import EmailMessage

from celery import shared_task
from django.conf import settings
from django.db import connection


def letter(address: str, name: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = settings.DEFAULT_FROM_EMAIL
    message["To"] = address
    message["Subject"] = f"Welcome, {name}"
    message.set_content("Good to have you here.")
    return message


@shared_task(max_retries=0)
def welcome(user_id: int, address: str, name: str) -> None:
    with smtplib.SMTP(settings.EMAIL_HOST, timeout=20) as server:
        server.send_message(letter(address, name))
    mark_welcomed.delay(user_id)


@shared_task(autoretry_for=(Exception,), retry_backoff=True, max_retries=5)
def mark_welcomed(user_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("update accounts set welcomed_at = now() where id = %s", [user_id])
