from __future__ import annotations

import textwrap

import pytest

from halfway.inspection.model import Bearing, Kind, Mark, Receiver, Repeating, Starting, When
from tests.inspection.python_samples import one, read, step

TEMPORAL = """
from datetime import timedelta
from temporalio import workflow
from temporalio.common import RetryPolicy
from activities import charge, refund, ship

@workflow.defn
class Order:
    @workflow.run
    async def run(self, order_id: str) -> None:
        undos = []
        try:
            undos.append(refund)
            await workflow.execute_activity(charge, order_id, start_to_close_timeout=timedelta(seconds=10))
            policy = RetryPolicy(maximum_attempts=3)
            await workflow.execute_activity(ship, order_id, start_to_close_timeout=timedelta(minutes=2), retry_policy=policy)
        except BaseException:
            for undo in reversed(undos):
                await workflow.execute_activity(undo, order_id, start_to_close_timeout=timedelta(seconds=10))
            raise
"""
ACTIVITIES = """
import stripe
import requests
from temporalio import activity

@activity.defn
async def charge(order_id: str) -> str:
    return stripe.PaymentIntent.create(amount=1, idempotency_key={key}).id

@activity.defn
async def ship(order_id: str) -> None:
    requests.post("https://ship.example", json={"id": order_id})
"""


def test_an_activity_without_a_policy_is_retried_without_end_and_with_its_timeout():
    flow = one(TEMPORAL, activities=ACTIVITIES.replace("{key}", "order_id"))
    assert (flow.name, flow.extra["engine"], flow.undoes) == ("Order", "temporal", True)
    charge, ship = step(flow, "PaymentIntent"), step(flow, "POST")
    assert (charge.unit, charge.scope, charge.span.file, charge.span.line, charge.timeout) == ("charge", "charge", "activities.py", 8, 10.0)
    assert [(one.kind, one.automatic, one.bound, one.default, one.span.line) for one in charge.repeaters] == [
        (Repeating.UNIT_RERUN, False, None, False, 8),
        (Repeating.STEP_RETRY, True, None, True, 14),
    ]
    assert charge.identity is not None
    assert charge.identity.bearing is Bearing.STABLE
    assert [place.line for place in charge.kept] == [8]
    assert (ship.timeout, ship.repeaters[1].bound, ship.repeaters[1].default) == (120.0, 3, False)
    assert charge.undo is None or charge.undo.reached


def test_the_key_of_an_activity_may_be_the_id_of_the_workflow_and_never_the_attempt():
    for key, bearing in (
        ("activity.info().workflow_id", Bearing.STABLE),
        ("f'{order_id}-{activity.info().attempt}'", Bearing.MINTED),
        ("str(__import__('uuid').uuid4())", Bearing.MINTED),
        ("made(order_id)", Bearing.UNKNOWN),
    ):
        identity = step(one(TEMPORAL, activities=ACTIVITIES.replace("{key}", key)), "PaymentIntent").identity
        assert identity is not None
        assert identity.bearing is bearing, key


def test_an_activity_that_was_not_given_is_unread_and_repeated_all_the_same():
    flow = one(TEMPORAL)
    charge = step(flow, "charge")
    assert charge.opaque is not None
    assert (charge.opaque.what, charge.opaque.span.line) == ("charge", 14)
    assert charge.effect is not None
    assert (charge.effect.kinds, charge.effect.certain) == ({Kind.UNKNOWN}, False)
    assert [one.what for one in flow.unread] == ["charge", "ship", "undo"]
    undo = step(flow, "undo")
    assert Mark.RECOVERY in undo.marks
    assert {edge.when for edge in flow.edges if edge.after == undo.id} == {When.ERROR}


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("await asyncio.sleep(1)", False), ('"""Charges."""\n    ...', False), ("raise NotImplementedError", False),
        ('activity.logger.info("x")\n    await asyncio.sleep(1)\n    return "done"', False), ("return 1 + 1", True), ('return "x"', True),
    ],
)  # fmt: skip
def test_an_activity_that_only_waits_stands_for_work_that_nobody_knows(body: str, known: bool) -> None:
    flow = one(f"""
import asyncio
from temporalio import activity, workflow

@activity.defn
async def charge(order):
    {body}

@workflow.defn
class Shop:
    @workflow.run
    async def run(self, order):
        await workflow.execute_activity(charge, order, start_to_close_timeout=timedelta(seconds=10))
""")
    unknown = [step for step in flow.steps if step.effect is not None and step.effect.kinds == {Kind.UNKNOWN}]
    assert [(step.name, step.opaque, [again.bound for again in step.repeaters if again.automatic]) for step in unknown] == (
        [] if known else [("charge", None, [None])]
    )


def test_an_activity_without_its_workflow_stands_alone_with_the_default():
    flows = read(ACTIVITIES.replace("{key}", "order_id"))
    assert [flow.name for flow in flows] == ["charge", "ship"]
    assert [(one.bound, one.default) for one in flows[0].steps[0].repeaters] == [(None, True)]
    assert read(ACTIVITIES.replace("{key}", "order_id"), orders=TEMPORAL) == []


def test_a_wait_for_an_approval_is_a_gate_and_may_have_an_end():
    text = """
from datetime import timedelta
from temporalio import workflow

@workflow.defn
class Refund:
    @workflow.run
    async def run(self, id: str) -> None:
        await workflow.wait_condition(lambda: self.approved{timeout})

    @workflow.signal
    def approve(self) -> None:
        self.approved = True
"""
    for timeout, seconds in (("", None), (", timeout=timedelta(days=1)", 86_400.0)):
        wait = one(text.replace("{timeout}", timeout)).steps[0]
        assert wait.gate is not None
        assert (wait.marks, wait.timeout, wait.timeout_known) == ({Mark.WAIT}, seconds, True)


def test_dbos_does_an_unfinished_step_again_and_a_transaction_never():
    flow = one(
        textwrap.dedent("""
        import requests
        from dbos import DBOS

        @DBOS.step(retries_allowed=True)
        def mail(id):
            requests.post("https://mail.example", headers={"Idempotency-Key": f"{DBOS.workflow_id}-mail"})

        @DBOS.step()
        def ship(id):
            requests.post("https://ship.example", json={"id": id})

        @DBOS.transaction()
        def book(id):
            DBOS.sql_session.execute("UPDATE stock SET n = n - 1")

        @DBOS.workflow()
        def order(id):
            book(id)
            mail(id)
            ship(id)
        """)
    )
    assert (flow.name, [one.unit for one in flow.steps]) == ("order", ["book", "mail", "ship"])
    book, mail, ship = flow.steps
    assert [one.kind for one in book.repeaters] == [Repeating.UNIT_RERUN]
    assert [(one.kind, one.bound, one.default) for one in mail.repeaters] == [
        (Repeating.RESTART, 100, True),
        (Repeating.UNIT_RERUN, None, False),
        (Repeating.STEP_RETRY, 3, False),
    ]
    assert [one.kind for one in ship.repeaters] == [Repeating.RESTART, Repeating.UNIT_RERUN]
    assert mail.identity is not None
    assert mail.identity.bearing is Bearing.STABLE
    assert ship.identity is not None
    assert ship.identity.bearing is Bearing.NONE


def test_prefect_retries_a_task_and_with_the_flow_all_tasks_whose_result_is_not_kept():
    flow = one(
        textwrap.dedent("""
        import requests
        from prefect import flow, task, pause_flow_run
        from prefect.transactions import transaction

        @task(retries=2, timeout_seconds=30)
        def reserve(id):
            requests.post("https://hotel.example", json={"id": id})

        @reserve.on_rollback
        def release(txn):
            requests.delete("https://hotel.example")

        @task(persist_result=True)
        def invoice(id):
            requests.post("https://books.example")

        @flow(retries=1)
        def trip(id):
            with transaction():
                reserve(id)
            pause_flow_run(wait_for_input=str)
            invoice.submit(id)
        """)
    )
    reserve, pause, invoice = flow.steps
    assert (flow.name, flow.undoes, reserve.unit, reserve.timeout) == ("trip", True, "reserve", 30.0)
    assert [(one.kind, one.bound) for one in reserve.repeaters] == [
        (Repeating.STEP_RETRY, 2),
        (Repeating.UNIT_RERUN, None),
        (Repeating.STEP_RETRY, 3),
    ]
    assert reserve.undo is not None
    assert (reserve.undo.step, reserve.undo.reached) == ("release", True)
    assert pause.gate is not None
    assert (pause.gate.kind, pause.timeout) == ("approval", 3_600.0)
    assert (invoice.unit, [one.kind for one in invoice.repeaters]) == ("invoice", [Repeating.UNIT_RERUN])


AIRFLOW = """
from datetime import datetime, timedelta
import requests
from airflow import DAG
from airflow.operators.bash import BashOperator
from airflow.operators.python import PythonOperator
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

def ticket(context):
    requests.post("https://jira.example/issue", json={"summary": "failed"})

def pay(order, **context):
    requests.post("https://pay.example", headers={"Idempotency-Key": context["run_id"]})

default_args = {"retries": 3, "on_failure_callback": ticket, "execution_timeout": timedelta(hours=1)}

with DAG("billing", default_args=default_args, schedule="@daily", max_active_runs=1) as dag:
    sync = KubernetesPodOperator(task_id="sync", image="registry.example/sync:latest")
    charge = PythonOperator(task_id="charge", python_callable=pay, op_kwargs={"order": "x"}, retries=0)
    push = BashOperator(task_id="push", bash_command="cd repo && git push origin main", trigger_rule="all_done")
    sync >> charge >> push
"""


def test_default_arguments_of_airflow_hit_every_task_that_does_not_say_otherwise():
    flow = one(AIRFLOW)
    assert (flow.name, flow.extra["engine"]) == ("billing", "airflow")
    assert [(one.kind, one.period, one.span.line) for one in flow.triggers] == [(Starting.SCHEDULE, 86_400.0, 17)]
    assert [(one.group, one.cancels, one.queues) for one in flow.guards] == [("billing", False, True)]
    assert flow.failure_notice is not None
    assert flow.failure_notice.line == 15
    sync, charge, push = step(flow, "Kubernetes"), step(flow, "https://pay.example"), step(flow, "git push")
    assert [(one.kind, one.bound, one.span.line) for one in sync.repeaters] == [
        (Repeating.SCHEDULE, None, 17),
        (Repeating.UNIT_RERUN, None, 17),
        (Repeating.STEP_RETRY, 4, 15),
    ]
    assert sync.opaque is not None
    assert (sync.opaque.what, sync.opaque.span.line, sync.timeout) == ("registry.example/sync:latest", 18, 3_600.0)
    assert [one.kind for one in charge.repeaters] == [Repeating.SCHEDULE, Repeating.UNIT_RERUN]
    assert charge.identity is not None
    assert charge.identity.bearing is Bearing.STABLE
    assert charge.unit == "charge"
    arrows = {(edge.before, edge.after): edge.when for edge in flow.edges}
    assert arrows[sync.id, charge.id] is When.SUCCESS
    assert arrows[charge.id, next(one.id for one in flow.steps if one.unit == "push")] is When.ALWAYS
    assert push.unit == "push"


def test_the_callback_of_a_failure_is_part_of_the_way_of_a_failure():
    flow = one(AIRFLOW)
    told = step(flow, "jira.example")
    assert (told.unit, told.marks, told.repeaters) == ("ticket", {Mark.FAILURE_NOTICE}, ())
    assert (told.timeout, told.timeout_known) == (None, True)
    assert {edge.when for edge in flow.edges if edge.after == told.id} == {When.ERROR}


def test_tasks_that_are_functions_are_joined_by_what_they_hand_on():
    flow = one(
        textwrap.dedent("""
        import requests
        from airflow.decorators import dag, task

        @task(retries=2)
        def make():
            return requests.post("https://a.example").json()["id"]

        @task
        def tell(id):
            requests.post("https://b.example", json={"id": id})

        @dag(schedule=None)
        def pipeline():
            made = make()
            tell(made)

        pipeline()
        """)
    )
    make, tell = flow.steps
    assert (flow.name, make.unit, tell.unit, [one.kind for one in flow.triggers]) == ("pipeline", "make", "tell", [Starting.MANUAL])
    assert [one.bound for one in make.repeaters if one.kind is Repeating.STEP_RETRY] == [3]
    assert [(edge.before, edge.after) for edge in flow.edges] == [(make.id, tell.id)]
    assert [place.line for place in make.kept] == [7]


def test_a_mail_operator_to_a_literal_address_tells_the_team():
    flow = one(
        "from airflow import DAG\nfrom airflow.operators.email import EmailOperator\nwith DAG('x'):\n"
        "    EmailOperator(task_id='mail', to='ops@example.org', subject='done')\n"
    )
    effect = flow.steps[0].effect
    assert effect is not None
    assert (effect.kinds, effect.receiver, flow.steps[0].opaque) == ({Kind.NOTIFY}, Receiver.TEAM, None)
    assert "ops@example.org" not in effect.told + flow.steps[0].quote


def test_a_sensor_of_airflow_ends_after_a_week_where_it_says_nothing():
    flow = one(
        "from airflow import DAG\nfrom airflow.sensors.external_task import ExternalTaskSensor\nwith DAG('x'):\n"
        "    ExternalTaskSensor(task_id='wait', external_dag_id='y')\n"
    )
    (wait,) = flow.steps
    assert (wait.timeout, wait.timeout_known, wait.ends_after) == (None, True, 604_800.0)


@pytest.mark.parametrize(
    ("defaults", "line"),
    [
        ("'email': ['ops@shop.example']", 3),
        ("'email': ['ops@shop.example'], 'email_on_failure': False", None),
        ("'email_on_failure': True", None),
    ],
)
def test_airflow_writes_to_the_addresses_of_a_graph_by_itself(defaults: str, line: int | None):
    flow = one(
        "from airflow import DAG\nfrom airflow.operators.bash import BashOperator\n"
        f"with DAG('x', default_args={{{defaults}}}):\n    BashOperator(task_id='push', bash_command='git push')\n"
    )
    assert (flow.failure_notice and flow.failure_notice.line) == line


SEVERAL = """
from airflow import DAG
from airflow.providers.http.operators.http import SimpleHttpOperator

first = DAG("first", schedule="@daily")
{0}
second = DAG("second", schedule="@hourly")
{1}
"""
TASK = "SimpleHttpOperator(task_id='{0}', method='PUT', endpoint='/{0}'{1})"


@pytest.mark.parametrize(
    "text",
    [
        SEVERAL.format(TASK.format("a", ", dag=first"), TASK.format("b", ", dag=second")),
        SEVERAL.format("with first:\n    " + TASK.format("a", ""), "with second:\n    " + TASK.format("b", "")),
        SEVERAL.format("with first:\n    " + TASK.format("a", ""), "with first:\n    " + TASK.format("b", ", dag=second")),
        SEVERAL.replace("second =", "first =").format(TASK.format("a", ", dag=first"), TASK.format("b", ", dag=first")),
        SEVERAL.replace('second = DAG("second", schedule="@hourly")', 'with DAG("second") as second:').format(
            TASK.format("a", ", dag=first"), "    with TaskGroup('g') as g:\n        " + TASK.format("b", "")
        ),
    ],
)
def test_each_graph_of_a_file_has_its_own_tasks(text: str) -> None:
    assert [[step.unit for step in flow.steps] for flow in read(text)] == [["a"], ["b"]]


def test_a_request_of_a_task_may_have_a_limit_of_its_own() -> None:
    limited = TASK.format("a", ", extra_options={'timeout': 60}, dag=first")
    [[limit], [none]] = [flow.steps for flow in read(SEVERAL.format(limited, TASK.format("b", ", dag=second")))]
    assert (limit.timeout, none.timeout) == (60.0, None)
