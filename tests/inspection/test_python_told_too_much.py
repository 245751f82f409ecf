"""What Python files were told of and is none, or is another thing; beside each stands the same file but for the one thing, which is one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from halfway.inspection.model import Bearing, Step
from tests.inspection.test_told_too_much import INSPECTOR, dag, told

QUEUES = """
from celery import shared_task
from shop.sums import charge

@shared_task(acks_late=True)
def sell(order):
    later.delay(order)
    charge(order)

{}
def later(order):
    charge(order)
"""
ONE_WAY = """
from celery import shared_task
from shop.orders import weigh

@shared_task(autoretry_for=(Exception,))
def sell(order):
    try:
        weigh.run_it(order)
    except ValueError:
        {first}(order)
        {ends}
    {second}(order)

def _tell(order):
    post.delay(order)

def _tell_too(order):
    post.delay(order)
"""
STATES = """
from celery import shared_task
from shop import orders, bank

@shared_task(autoretry_for=(Exception,), max_retries=3)
def sell(order):
    if order.status != "open":
        return
    {}
    bank.charge(order)
    orders.file_away(order)
"""
FLAGS = """
from celery import shared_task
from shop.models import Order
from shop.search import index

@shared_task
def close():
    ids = list(Order.objects.filter(closed=False).values_list("id"))
    Order.objects.filter(id__in=ids).update(closed={})
    index.delay("orders", ids)
    index.delay("lines", ids)
"""
ONCE = """
from celery import shared_task
from shop.services import services

@shared_task
def tell(order):
    for one in services(order):
        one.post_comment(order)
        {}
"""
PUTS = """
import requests
from celery import shared_task

@shared_task
def tell(orders):
    for one in orders:
        requests.{}(one.url, "x", timeout=9)
"""
AGENT = """
from agents import Agent, Runner
from temporalio import workflow
from shop.tools import refund

@workflow.defn
class Asks:
    @workflow.run
    async def run(self, text: str) -> str:
        agent = Agent(name="Clerk", instructions="Answer."{})
        return (await Runner.run(agent, text)).final_output
"""
CHILD = """
from temporalio import workflow
from shop.activities import ship

@workflow.defn
class Parent:
    @workflow.run
    async def run(self, order: str) -> str:
        {}

@workflow.defn
class Child:
    @workflow.run
    async def run(self, order: str) -> str:
        return await workflow.execute_activity(ship, order, schedule_to_close_timeout=9)
"""
ALARM = """
import boto3, json

sns = boto3.client("sns")
table = boto3.resource("dynamodb").Table("failures")

def handler(event, context):
    message = {{"job": event["job"], {}: event["text"]}}
    tell(json.dumps(message))
    table.put_item(Item=message)

def tell(message):
    sns.publish(TopicArn="arn:aws:sns:eu-west-1:1:x", Message=message)
"""
FILL = """#!/usr/bin/env python3
# {}
from shop.models import Order

def fill():
    for number in range(9):
        Order.objects.bulk_create([Order()])
    Order.objects.create()

if __name__ == "__main__":
    fill()
"""
DAG = """
from datetime import timedelta
from airflow import DAG
from airflow.operators.bash import BashOperator
from airflow.operators.python import PythonOperator
from airflow.operators.subdag import SubDagOperator
from airflow.providers.warehouse.operators.jobs import WarehouseRunJobOperator
from shop.files import tidy_up
from shop.graphs import of_orders
from shop.operators import ShopOperator, ShopEmailOperator, ShopImageOperator, ShopSqlOperator
from shop.statements import FILL, DROP_OLD

tmp_dir = "/data/tmp/shop"
docs = "{docs}"

with DAG("a", schedule="@daily", doc_md=docs, default_args={{"retries": 2, "email_on_failure": True{defaults}}}) as dag:
    {task}
"""


TIMED = """
from datetime import timedelta
from airflow import DAG
from shop.graphs import shared, LIMIT
from shop.operators import ShopOperator

with DAG("a", schedule="@daily"{arguments}) as dag:
    t = ShopOperator(task_id="t", {mapped}
"""
ACTIVITY = """
from datetime import timedelta
from temporalio import workflow
from temporalio.common import RetryPolicy
from shop.activities import {name}
from shop.limits import LONG

@workflow.defn
class Sells:
    @workflow.run
    async def run(self, order: str) -> str:
        return await workflow.execute_activity({name}, order{options})
"""
WAITS = """
from temporalio import workflow

@workflow.defn
class Talks:
    @workflow.run
    async def run(self, order: str) -> str:
        while {}:
            await workflow.wait_condition(lambda: self.asked)
            await workflow.execute_activity("ship", order, schedule_to_close_timeout=9)
"""
SIGNS_IN = """
import requests
from prefect import flow

@flow
def sell(order):
    session = requests.post("https://shop.example/api/{}", json={{"user": "a", "{}": secret}}, timeout=9)
    requests.post("https://shop.example/orders", json=order, timeout=9)
"""
BUCKET = """
import boto3

s3 = boto3.resource("s3")

def handler(event, context):
    bucket = s3.{}
    bucket.put_object(Key="a", Body="b")
"""
TRIED = """
import shutil, subprocess
from celery import shared_task
from shop.jobs import later

@shared_task(autoretry_for=(Exception,))
def make(folder, job):
    try:
        subprocess.run(job, check=True{limit})
    except {error}:
        shutil.rmtree(folder)
        raise
    {rest}
"""
ASKS = """
import sqlite3, requests
from shop.mails import post_it

db = sqlite3.connect("a.db")

def store(order):
    db.cursor().execute("INSERT INTO orders VALUES (?)", order)

def known(order):
    cursor = db.cursor()
    cursor.execute("{}")
    return cursor.fetchone()

if __name__ == "__main__":
    for order in orders:
        row = known(order)
        if not row:
            store(order)
        requests.put("https://shop.example/orders", json=order, timeout=9)
"""
POLLS = """
import requests, time

while True:
    requests.post("https://shop.example/pings", json={{"a": 1}}, timeout=9)
    {}
    time.sleep(9)
"""
LOOKED_UP = """
import psycopg
import tenacity

@tenacity.retry
def book(order):
    cur = psycopg.connect("dbname=shop").cursor()
    cur.execute("SELECT id FROM bookings WHERE key = %s", (order.key,))
    {}
    cur.execute("UPDATE accounts SET balance = balance - %s WHERE id = %s", (order.amount, order.account))

if __name__ == "__main__":
    book(None)
"""
REFUSED = """
import requests

def make(name):
    made = requests.post("https://api.github.com/repos/shop/shop/pulls", json={{"title": name, "head": "a"}}, timeout=9)
    if made.status_code == {}:
        {}
    return requests.post("https://api.github.com/repos/shop/shop/issues", json={{"title": name}}, timeout=9)

if __name__ == "__main__":
    make("a")
"""
CHANGES = """
import requests

if __name__ == "__main__":
    requests.{}("https://api.github.com/repos/shop/shop/pulls/7", json={{"title": "a"}}, timeout=9)
"""
MACHINES = """
import boto3

if __name__ == "__main__":
    {}
"""
BY_HAND = """\"\"\"Ships the orders. {}\"\"\"
import requests
from prefect import flow

@flow
def ship(order):
    requests.post("https://shop.example/orders", json=order, timeout=9)
"""
POSTS = """
from prefect import flow
from {} import send_incoming_webhook_message

@flow
def ship(order):
    send_incoming_webhook_message(text="x")
"""


QUEUED = "        later.delay(folder)\n    except"


def timed(arguments: str = "", mapped: str = ")") -> str:
    return TIMED.format(arguments=arguments, mapped=mapped)


def activity(options: str, name: str = "ship") -> str:
    return ACTIVITY.format(options=options, name=name)


def given(options: str) -> str:
    """The same with the activity itself."""
    text = activity(options).replace("from shop.activities import ship", "import requests")
    return text + "\n\nasync def ship(order):\n    requests.post('https://shop.example/orders', timeout=9)\n"


def heard(then: str) -> str:
    """An activity that goes on so after any failure of its request."""
    text = activity("").replace("from shop.activities import ship", "import requests")
    tried = "    try:\n        requests.post('https://shop.example/orders', timeout=9)\n"
    body = f"{tried}    except Exception:\n        {then}\n    return order\n"
    return f"{text}\n\nasync def ship(order):\n{body}"


def graph(task: str, docs: str = "", defaults: str = "") -> str:
    return DAG.format(task=task, docs=docs, defaults=defaults)


def steps(folder: Path, text: str) -> tuple[Step, ...]:
    (folder / "dag.py").write_text(dedent(text))
    return tuple(step for flow in INSPECTOR.inspect([folder / "dag.py"]).flows for step in flow.steps)


RENEWED = """
from celery import shared_task
from shop.models import Copy, Row

def _clear(shop):
    {}.objects.filter(shop=shop).delete()

@shared_task(acks_late=True)
def renew(shop):
    _clear(shop)
    for part in parts(shop):
        Row.objects.bulk_create(part)
"""
PAIRS = [
    # one and the same call is not before itself
    (ONE_WAY.format(first="_tell", second="_tell", ends=""), ONE_WAY.format(first="_tell", second="_tell_too", ends=""), "R-08 R-03"),
    # of two branches neither comes after the other
    (ONE_WAY.format(first="_tell", second="_tell_too", ends="return"), ONE_WAY.format(first="_tell", second="_tell_too", ends=""), "R-08"),
    # what is asked for and stored before it is not done again; what a transaction may take back is
    (STATES.format('orders.update_status(order, "sold")'), STATES.format("orders.look_at(order)"), "R-01"),
    (STATES.format('order.status = "sold"\n    order.save()'), STATES.format('order.status = "sold"'), "R-01"),
    (FLAGS.format("True"), FLAGS.format("False"), "R-08"),
    (
        STATES.format("orders.update_status(order, 1)"),
        STATES.replace("def sell", "@transaction.atomic\ndef sell").format("orders.update_status(order, 1)"),
        "R-01",
    ),
    # one turn is no loop; what is put is put to the same end
    (ONCE.format("return"), ONCE.format("print(one)"), "R-27"),
    (ONCE.format("return"), ONCE.format("if not one:\n            continue\n        return"), "R-27"),
    (PUTS.format("put"), PUTS.format("post"), "R-27"),
    # without tools an agent only answers
    (AGENT.format(""), AGENT.format(", tools=[refund]"), "R-32"),
    # what is made of an error tells of a failure
    (ALARM.format('"error_message"'), ALARM.format('"text"'), "R-06"),
    # for tests
    (FILL.format("Generates test data only."), FILL.format("Loads the orders of the day."), "R-27"),
    # who hears of it, by the task itself; what need not be heard of
    (
        graph("t = ShopOperator(task_id='t', email=['a@shop.example'])"),
        graph("t = ShopOperator(task_id='t', email=['a@shop.example'], email_on_failure=False)"),
        "R-29",
    ),
    (
        graph("t = ShopOperator(task_id='t', email=['a@shop.example'])"),
        graph("t = ShopOperator(task_id='t', email=['a@shop.example'])\n    u = ShopOperator(task_id='u')"),
        "R-29",
    ),
    (
        graph("t = ShopOperator(task_id='t')", docs="Failures can be ignored."),
        graph("t = ShopOperator(task_id='t')", docs="Failures can be costly."),
        "R-29",
    ),
    # the address to which failures are told is the own one
    (
        graph("t = ShopEmailOperator(task_id='t', to_emails=dag.default_args['email'])", defaults=", 'email': x"),
        graph("t = ShopEmailOperator(task_id='t', to_emails=dag.params['email'])", defaults=", 'email': x"),
        "R-32",
    ),
    # commands that only print, however they are put together
    (
        graph("t = BashOperator(task_id='t', bash_command='{% for i in x %} \\n echo %s \\n{% endfor %}' % tmp_dir)"),
        graph("t = BashOperator(task_id='t', bash_command='{% for i in x %} \\n curl -X POST https://%s \\n{% endfor %}' % tmp_dir)"),
        "R-29",
    ),
    # the limit of a whole run, and one that may stand elsewhere
    (timed(", dagrun_timeout=timedelta(hours=2)"), timed(), "R-15"),
    (timed(", dagrun_timeout=LIMIT"), timed(), "R-15"),
    (timed(", **shared"), timed(", **{'tags': []}"), "R-15 R-29"),
    (timed(", **{'dagrun_timeout': timedelta(hours=2)}"), timed(", **{'tags': []}"), "R-15"),
    (timed(", **shared", "bash_command='x')\n    ShopOperator(task_id='u', bash_command='terraform apply')"),
     timed("", "bash_command='x')\n    ShopOperator(task_id='u', bash_command='terraform apply')"), "R-10"),
    (activity(", start_to_close_timeout=LONG"), activity(", start_to_close_timeout=None"), "R-15"),
    # who writes down how it is tried again knows that it is
    (given(", retry_policy=RetryPolicy(backoff_coefficient=1)"), given(""), "R-02"),
    (given(", retry_policy=RetryPolicy(backoff_coefficient=1)"), given(", retry_policy=RetryPolicy()"), "R-02"),
    # a failure that is taken as an answer never gets to the engine that would try again
    (heard("return {'ok': False}"), heard("raise"), "R-01"),
    # of what was not given one rule tells
    (activity(""), given(""), "R-01 R-02"),
    # what only looks
    (activity("", "get_prices"), activity("", "get_or_create_prices"), "R-44 R-15"),
    (activity("", "mcp_list_tools"), activity("", "mcp_call_tools"), "R-44 R-15"),
    (SIGNS_IN.format("createSession", "password"), SIGNS_IN.format("createSession", "item"), "R-08"),
    (SIGNS_IN.format("auth/login", "password"), SIGNS_IN.format("users", "password"), "R-08"),
    # an error in the else does not lead to the handler; a program that gave its exit code has answered
    (TRIED.format(limit="", error="subprocess.CalledProcessError", rest="else:\n        later.delay(folder)"),
     TRIED.format(limit="", error="subprocess.CalledProcessError", rest="").replace("    except", QUEUED), "R-14"),
    # it is looked for by a function of the file, or the receiver says that it is there
    (ASKS.format("SELECT id FROM orders WHERE id = ?"), ASKS.format("UPDATE orders SET seen = seen + 1"), "R-08 R-27"),
    # a key that is looked up on the very cursor
    (LOOKED_UP.format("if cur.fetchone() is not None:\n        return"), LOOKED_UP.format("print(cur.description)"), "R-01"),
    (REFUSED.format(422, "print(name)"), REFUSED.format(422, "raise ValueError"), "R-08 R-16"),
    (REFUSED.format(422, "print(name)"), REFUSED.format(503, "print(name)"), "R-08"),
    (CHANGES.format("patch"), CHANGES.format("post").replace("pulls/7", "pulls"), "R-16"),
    # what nothing leaves has no items
    (POLLS.format("print()"), POLLS.format("if not more():\n        break"), "R-27"),
    # each starts machines of its own
    (MACHINES.format("boto3.client('ec2').run_instances(MaxCount=1)"),
     MACHINES.format("boto3.client('ecs').run_task(cluster='a')"), "R-10"),
    # only a person starts it
    (BY_HAND.format("Manual-only deployment."), BY_HAND.format("Manual of the deployment."), "R-29"),
    # rows that are deleted first are made once, however often it is begun again
    (RENEWED.format("Row"), RENEWED.format("Copy"), "R-27 R-39"),
    # the owner says that it is idempotent
    (
        graph("t = ShopOperator(task_id='t')", docs="This job is idempotent."),
        graph("t = ShopOperator(task_id='t')", docs="This job is not idempotent."),
        "R-44",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("none", "one", "rules"), PAIRS)
def test_beside_what_is_none_stands_one(tmp_path: Path, none: str, one: str, rules: str) -> None:
    silent, spoken = told(tmp_path, "a.py", none), told(tmp_path, "b.py", one)
    for rule in rules.split():
        assert rule not in silent
        assert rule in spoken


def test_what_is_queued_is_judged_at_the_task(tmp_path: Path) -> None:
    there = told(tmp_path, "a.py", QUEUES.format("@shared_task(acks_late=True)"))
    assert "R-08" not in there
    assert there["R-39"] == ["BLOCKER", "BLOCKER"]  # both charge
    here = told(tmp_path, "b.py", QUEUES.format("@shared_task"))
    assert here["R-08"] == ["LOW"]
    assert sorted(here["R-39"]) == ["BLOCKER", "MEDIUM"]


def test_a_queued_task_without_an_effect_may_be_queued_twice(tmp_path: Path) -> None:
    text = QUEUES.format("@shared_task").replace("def later(order):\n    charge(order)", "def later(order):\n    order.total = 1")
    assert told(tmp_path, "a.py", text)["R-39"] == ["BLOCKER"]


def test_a_child_workflow_is_told_once(tmp_path: Path) -> None:
    called = "return await workflow.execute_child_workflow(Child.run, order)"
    assert len(told(tmp_path, "a.py", CHILD.format(called))["R-44"]) == 1
    itself = "return await workflow.execute_activity(ship, order, schedule_to_close_timeout=9)"
    assert len(told(tmp_path, "b.py", CHILD.format(itself))["R-44"]) == 2


def test_a_child_that_was_not_given_is_said_to_be_missing(tmp_path: Path) -> None:
    text = "from shop.flows import Other\n" + CHILD.format("return await workflow.execute_child_workflow(Other.run, order)")
    assert len(told(tmp_path, "a.py", text)["R-44"]) == 2


@pytest.mark.parametrize(
    ("task", "what"),
    [
        ("t = SubDagOperator(task_id='t', subdag=of_orders('a'))", "shop.graphs.of_orders"),
        ("t = SubDagOperator(task_id='t', subdag=made)", "SubDagOperator"),
        ("t = ShopImageOperator(task_id='t', image='x', cmds=['bash', '-c'], arguments=['cat s3://shop/t.sh | bash'])", "s3://shop/t.sh"),
        ("t = ShopImageOperator(task_id='t', image='x', command='bash -c \"cat s3://shop/t.sh | sh\"')", "s3://shop/t.sh"),
        ("t = ShopImageOperator(task_id='t', image='x', cmds=['bash', '-c'], arguments=['cat s3://shop/t.sh | wc'])", "x"),
        ("t = ShopImageOperator(task_id='t', image='x', cmds=['cat'], arguments=['s3://shop/t.sh | bash'])", "x"),
        ("t = ShopSqlOperator(task_id='t', sql=FILL)", "shop.statements.FILL"),
        ("t = ShopSqlOperator(task_id='t', table='x')", "ShopSqlOperator"),
        ("t = WarehouseRunJobOperator(task_id='t', job_id=7)", "WarehouseRunJobOperator job_id=7"),
        ("t = ShopOperator(task_id='t', job_id=7)", "ShopOperator"),
    ],
)
def test_what_is_carried_is_named(tmp_path: Path, task: str, what: str) -> None:
    (step,) = steps(tmp_path, graph(task))
    assert step.opaque is not None
    assert step.opaque.what == what


def test_statements_of_another_file_that_was_given_are_read(tmp_path: Path) -> None:
    text = dag("DAG('a', default_args={'retries': 2})", "ShopSqlOperator(task_id='t', sql=FILL)")
    (tmp_path / "dag.py").write_text(text.replace("ShopSqlOperator\n", "ShopSqlOperator\nfrom statements import FILL\n", 1))
    found = [step for flow in INSPECTOR.inspect([tmp_path / "dag.py"]).flows for step in flow.steps]
    assert [one.opaque.what for one in found if one.opaque] == ["statements.FILL"]
    (tmp_path / "statements.py").write_text("FILL = 'INSERT INTO orders SELECT * FROM news'\n\ndef none():\n    pass\n")
    found = [step for flow in INSPECTOR.inspect([tmp_path]).flows for step in flow.steps]
    assert [(one.opaque, one.effect.told) for one in found if one.effect] == [(None, "INSERT orders")]


def test_what_only_drops_by_its_name_is_less(tmp_path: Path) -> None:
    dropped = graph("t = ShopSqlOperator(task_id='t', sql=DROP_OLD)").replace("'retries': 2", "'retries': 0")
    assert "R-44" not in told(tmp_path, "a.py", dropped)
    assert "R-44" in told(tmp_path, "b.py", graph("t = ShopSqlOperator(task_id='t', sql=FILL)"))


def test_a_function_of_a_task_that_only_gets_is_less(tmp_path: Path) -> None:
    assert "R-44" not in told(tmp_path, "a.py", graph("t = PythonOperator(task_id='get_list', python_callable=tidy_up)"))
    assert "R-44" in told(tmp_path, "b.py", graph("t = PythonOperator(task_id='tidy', python_callable=tidy_up)"))


def test_the_time_for_all_attempts_ends_them(tmp_path: Path) -> None:
    text = given(", schedule_to_close_timeout=9")
    assert told(tmp_path, "a.py", text)["R-02"] == ["MEDIUM"]
    assert told(tmp_path, "b.py", text.replace("schedule_to_close", "start_to_close"))["R-02"] == ["HIGH"]


def test_a_wait_for_each_next_thing_is_meant(tmp_path: Path) -> None:
    assert told(tmp_path, "a.py", WAITS.format("True"))["R-15"] == ["LOW"]
    assert told(tmp_path, "b.py", WAITS.format("self.open"))["R-15"] == ["MEDIUM"]


@pytest.mark.parametrize(("call", "effects"), [("Bucket(event['name'])", 1), ("create_bucket(Bucket=event['name'])", 2)])
def test_a_handle_is_no_request(tmp_path: Path, call: str, effects: int) -> None:
    assert len([one for one in steps(tmp_path, BUCKET.format(call)) if one.effect is not None]) == effects


def test_what_makes_a_view_or_something_by_its_name_only_is_less(tmp_path: Path) -> None:
    text = "from shop.tables import {0}\n" + dag("DAG('a', default_args={'retries': 2})", "ShopOperator(task_id='t')")
    task = "PythonOperator(task_id='t', python_callable=lambda: {0}())"
    text = text.replace("ShopOperator(task_id='t')", task).replace("import ShopOperator", "import PythonOperator")
    view = told(tmp_path, "shop/a.py", text.replace("{0}", "create_prices_view"))
    made = told(tmp_path, "shop/b.py", text.replace("{0}", "create_price"))
    assert (view["R-44"], view["R-15"], "R-01" in view) == (["MEDIUM"], ["LOW"], False)
    assert (made["R-44"], made["R-15"], "R-01" in made) == (["HIGH"], ["LOW"], False)
    paid = told(tmp_path, "c.py", text.replace("{0}", "charge_order"))
    assert paid["R-15"] == ["MEDIUM"]


def test_a_message_to_the_own_chat_is_less(tmp_path: Path) -> None:
    assert told(tmp_path, "a.py", POSTS.format("shop_slack.messages"))["R-29"] == ["LOW"]
    assert told(tmp_path, "b.py", POSTS.format("shop_mail.messages"))["R-29"] == ["MEDIUM"]


@pytest.mark.parametrize(("task", "what"), [
    ("ShopRunOperator.partial(task_id='t').expand(order=[1, 2])", "ShopRunOperator"),
    ("ShopRunOperator.partial(task_id='t').expand_kwargs(orders)", "ShopRunOperator"),
    ("partial(task_id='t')", None),
])  # fmt: skip
def test_a_mapped_operator_is_itself(tmp_path: Path, task: str, what: str | None) -> None:
    found = steps(tmp_path, graph(f"t = {task}"))
    assert [one.opaque.what for one in found if one.opaque] == ([what] if what else [])


def test_the_task_that_a_container_service_is_told_to_run_is_named(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, graph("t = WarehouseRunJobOperator(task_id='t', task_definition='weigh')"))
    assert step.opaque is not None
    assert step.opaque.what == "WarehouseRunJobOperator task_definition=weigh"


def test_a_part_is_named_as_the_import_has_it(tmp_path: Path) -> None:
    text = "from celery import shared_task\nfrom {} import services\n\n@shared_task\ndef tell():\n    services.send_mails()\n"
    (beside,) = steps(tmp_path, text.format("."))
    (whole,) = steps(tmp_path, text.format("shop.mails"))
    assert beside.opaque is not None
    assert (beside.opaque.what, beside.effect and beside.effect.told) == ("services.send_mails", "services.send_mails()")
    assert whole.effect is not None
    assert whole.effect.told == "shop.mails.services.send_mails()"


def test_a_program_is_known_wherever_it_lies(tmp_path: Path) -> None:
    text = "import subprocess\nfrom prefect import flow\n\n@flow\ndef ship(folder):\n    subprocess.run([f'{folder}/bin/NAME', 'push'])\n"
    assert [one.effect and one.effect.told for one in steps(tmp_path, text.replace("NAME", "git"))] == ["git push"]
    assert [one.effect and one.effect.certain for one in steps(tmp_path, text.replace("NAME", "ship.sh"))] == [False]


LOCAL = "t = PythonOperator(task_id='t', python_callable=tidy_up, op_kwargs={})"


@pytest.mark.parametrize(
    ("task", "mark"),
    [
        (LOCAL.format("{'file': f'{tmp_dir}/a.csv', 'column': 'x'}"), {"local": "files"}),
        (LOCAL.format("{'file': f'{tmp_dir}/a.csv', 'conn_id': 'x'}"), {}),
        (LOCAL.format("{'file': '/srv/a.csv'}"), {}),
        (LOCAL.replace("tidy_up", "tidy_up.upload").format("{'file': f'{tmp_dir}/a.csv'}"), {}),
        ("t = ShopOperator(task_id='t', table='x', output_file=f'{tmp_dir}/a.sql')", {"local": "files"}),
        ("t = ShopOperator(task_id='t', table='x', input_file=f'{tmp_dir}/a.sql')", {}),
        ("t = ShopOperator(task_id='t', copy_data=False, drop_source=False)", {"said": "nothing else"}),
        ("t = ShopOperator(task_id='t', copy_data=True, drop_source=False)", {}),
        ("t = ShopOperator(task_id='t', dry_run=True)", {"said": "nothing else"}),
        ("# makes the table if it does not exist yet\n    t = ShopOperator(task_id='t')", {"said": "if missing"}),
        ("# fails if the table does not exist\n    t = ShopOperator(task_id='t')", {}),
        ("# makes the table\n    t = ShopOperator(task_id='t')", {}),
        ("# this is idempotent\n    t = ShopOperator(task_id='t')", {"said": "idempotent"}),
        ("# this isn't idempotent\n    t = ShopOperator(task_id='t')", {}),
    ],
)
def test_what_the_file_says_of_a_part_is_marked(tmp_path: Path, task: str, mark: dict[str, str]) -> None:
    (step,) = steps(tmp_path, graph(task))
    assert dict(step.extra) == mark


@pytest.mark.parametrize(("call", "what"), [("shop.create_order(1)", ["shop.create_order()"]), ("shop.create_histogram('paid')", [])])
def test_who_counts_makes_nothing(tmp_path: Path, call: str, what: list[str]) -> None:
    found = steps(tmp_path, f"from celery import shared_task\nimport shop\n\n@shared_task\ndef tell():\n    {call}\n")
    assert [one.effect.told for one in found if one.effect is not None and one.effect.outward] == what


@pytest.mark.parametrize(("key", "carried"), [("idem_key", True), ("idempotency_key", True), ("note", False)])
def test_a_key_is_known_by_its_usual_names(tmp_path: Path, key: str, carried: bool) -> None:
    text = f"from celery import shared_task\nimport shop\n\n@shared_task\ndef pay(order):\n    shop.charge_payment(1, {key}=order)\n"
    (one,) = steps(tmp_path, text)
    assert (one.identity is not None and one.identity.bearing is not Bearing.NONE) is carried
