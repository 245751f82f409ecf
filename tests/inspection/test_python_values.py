"""What Python files only make, read or answer, and which retries and limits hold for a call; beside each stands one that is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspection.test_told_too_much import told

RECEIPTS = """
from celery import shared_task
from .receipts import {name}
from .queue import send_out

@shared_task(autoretry_for=(Exception,))
def pass_on(order):
    {use}
    send_out.delay({sent})
"""
FILES = """
import boto3

store = boto3.client("s3")

def handler(event, context):
    for name in event["names"]:
        kept = store.{call}
        print(kept)
"""
RUNS = """
import subprocess
from celery import shared_task

@shared_task
def look(names):
    for name in names:
        words = subprocess.check_output({}, timeout=9)
        print(words)
"""
OPERATOR = """
from airflow import DAG
from airflow.operators.python import PythonOperator

{defined}

with DAG("shop", schedule=None) as dag:
    restock = PythonOperator(
        task_id="restock",
        python_callable={called})
"""
TURNS = """
import itertools
import requests

if __name__ == "__main__":
    for word in itertools.{}(words):
        requests.post("https://chat.shop.example/words", json=word, timeout=9)
"""
MAIL = """
import smtplib

def send(letter):
    with smtplib.SMTP("mail.shop.example", 25{}) as server:
        server.send_message(letter)

if __name__ == "__main__":
    send(letter)
"""
QUEUES = """
import requests
import kombu
from celery import shared_task
from .sums import add_up

@shared_task(autoretry_for=({},))
def fetch(order):
    found = requests.get("https://shop.example/orders", timeout=9)
    add_up.apply_async((found.text,))
"""
FAILS = """
import telegram
from celery import shared_task

@shared_task(acks_late=True)
def weigh(order):
    try:
        order.weigh()
    except Exception as error:
        telegram.bot.send_message({}, text=str(error))
        raise
"""
OURS = """
from celery import shared_task
from .talk import {0}

@shared_task(autoretry_for=(Exception,))
def close(day):
    {0}(day, "closed")
"""
SSH = "'ssh {{}} {}'.format(name)"
PAIRS = [
    # a value that is filled into the next call; what nobody takes must be there for something else
    (RECEIPTS.format(name="create_receipt_data", use="made = create_receipt_data(order)", sent="made"),
     RECEIPTS.format(name="create_receipt", use="made = create_receipt(order)", sent="made"), "R-44"),
    (RECEIPTS.format(name="create_receipt_uuid", use="made = create_receipt_uuid(order)", sent="made"),
     RECEIPTS.format(name="create_receipt_uuid", use="create_receipt_uuid(order)", sent="1"), "R-44"),
    # an answer that is here is worked on
    (FILES.format(call="get_object(Bucket='a', Key=name)['Body'].read().decode()"),
     FILES.format(call="shop_object(Bucket='a', Key=name)"), "R-27"),
    # commands that only look, however they are written
    (RUNS.format("f'git --git-dir {name} log -n 1'.split()"), RUNS.format("f'ssh {name} restock'.split()"), "R-27"),
    (RUNS.format(SSH.format("cat /srv/words")), RUNS.format(SSH.format("/srv/restock")), "R-27"),
    (RUNS.format(SSH.format("cat /srv/words")), RUNS.format(SSH.format("cat /srv/words > /srv/more")), "R-27"),
    # the name is given its new value after what stands in it was worked out
    (OPERATOR.format(defined="def restock():\n    print(1)", called="restock"),
     OPERATOR.format(defined="from shop.stock import fill", called="fill"), "R-44"),
    # what has no end has no items
    (TURNS.format("cycle"), TURNS.format("chain"), "R-27"),
    # the limit that the object was made with
    (MAIL.format(", timeout=9"), MAIL.format(""), "R-15"),
    # the queue raises no errors of another library
    (QUEUES.format("requests.ConnectionError"), QUEUES.format("kombu.exceptions.OperationalError"), "R-01"),
    (QUEUES.format("requests.ConnectionError"), QUEUES.format("requests.ConnectionError, OSError"), "R-01"),
    # to the own chat
    (OURS.format("post_to_slack"), OURS.format("post_to_shoppers"), "R-44"),
]  # fmt: skip


@pytest.mark.parametrize(("none", "one", "rules"), PAIRS)
def test_what_a_value_says_is_heard(tmp_path: Path, none: str, one: str, rules: str) -> None:
    silent, spoken = told(tmp_path, "a.py", none), told(tmp_path, "b.py", one)
    for rule in rules.split():
        assert rule not in silent
        assert rule in spoken


def test_that_a_failure_is_told_of_twice_is_low_unless_the_customer_is_told(tmp_path: Path) -> None:
    assert told(tmp_path, "a.py", FAILS.format("chat_id=settings.CHAT"))["R-39"] == ["LOW"]
    assert told(tmp_path, "b.py", FAILS.format("chat_id=order['chat']"))["R-39"] == ["HIGH"]


STARTED = """
from dbos import DBOS
from .bank import charge

{}
def pay(order):
    charge(order)

@DBOS.workflow()
def sell(order):
    DBOS.start_workflow(pay, order)
"""


def test_a_workflow_that_another_starts_is_told_at_its_own_place_only(tmp_path: Path) -> None:
    apart = STARTED.format("@DBOS.workflow()")
    assert len(told(tmp_path, "a.py", apart)["R-44"]) == 1
    assert len(told(tmp_path, "b.py", apart.replace("DBOS.start_workflow(pay, order)", "pay(order)"))["R-44"]) == 2
