"""Opens a ticket for a complaint, unless there is one. Called by the shop's queue."""

import os

import psycopg
from celery import shared_task
from github import Github

desk = Github(os.environ["DESK_TOKEN"])


@shared_task(acks_late=True, max_retries=0, time_limit=60)
def complain(order_id: str, text: str) -> int | None:
    board = desk.get_repo("acme/complaints")
    with psycopg.connect(os.environ["DATABASE_URL"]) as db:
        mine = db.execute("insert into complaints (order_id) values (%s) on conflict do nothing returning order_id", [order_id])
        if mine.fetchone() is None:
            return None
    ticket = board.create_issue(title=f"Order {order_id}", body=text)
    return ticket.number
