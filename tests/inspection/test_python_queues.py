from __future__ import annotations

import textwrap

from halfway.inspection.model import Bearing, Kind, Mark, OnError, Receiver, Repeat, Repeating, Starting, When
from tests.inspection.python_samples import names, one, read, step


def test_a_retried_celery_task_that_mints_its_key_repeats_both_of_its_effects():
    flow = one(
        textwrap.dedent("""
        import uuid
        import stripe
        from celery import Celery
        from crm import client
        app = Celery("shop")

        @app.task(bind=True, autoretry_for=(Exception,), acks_late=True)
        def settle(self, order):
            stripe.PaymentIntent.create(amount=order.total, idempotency_key=str(uuid.uuid4()))
            client.submit_order(order.id)
        """)
    )
    assert (flow.name, flow.format, flow.extra["engine"]) == ("settle", "python", "celery")
    assert [one.kind for one in flow.triggers] == [Starting.EVENT]
    charge, close = flow.steps
    assert (charge.unit, charge.scope, charge.span.line, charge.span.at) == ("settle", "settle", 10, "settle")
    assert charge.quote == "stripe.PaymentIntent.create(amount=order.total, idempotency_key=str(uuid.uuid4()))"
    assert charge.identity is not None
    assert (charge.identity.bearing, charge.identity.expression) == (Bearing.MINTED, "str(uuid.uuid4())")
    assert [(one.kind, one.automatic, one.bound, one.default) for one in charge.repeaters] == [
        (Repeating.STEP_RETRY, True, 4, False),
        (Repeating.REDELIVERY, True, None, False),
        (Repeating.UNIT_RERUN, False, None, False),
    ]
    assert charge.kept == ()
    assert close.effect is not None
    assert (close.effect.kinds, close.effect.repeat, close.effect.certain) == (frozenset({Kind.CREATE}), Repeat.UNKNOWN, False)
    assert [(one.before, one.after, one.when) for one in flow.edges] == [(charge.id, close.id, When.SUCCESS)]


def test_a_key_from_the_task_or_its_request_is_stable_and_one_from_the_count_of_attempts_is_not():
    text = """
import stripe
from celery import shared_task

@shared_task(bind=True, autoretry_for=(Exception,))
def pay(self, order_id):
    stripe.PaymentIntent.create(amount=1, idempotency_key={key})
"""
    cases = {
        "self.request.id": Bearing.STABLE,
        'f"order-{order_id}"': Bearing.STABLE,
        'f"{order_id}-{self.request.retries}"': Bearing.MINTED,
        "helper(order_id)": Bearing.UNKNOWN,
    }
    for key, bearing in cases.items():
        identity = one(text.replace("{key}", key)).steps[0].identity
        assert identity is not None
        assert identity.bearing is bearing, key


def test_what_stands_after_the_send_inside_the_retried_block_shares_its_scope():
    flow = one(
        textwrap.dedent("""
        from celery import shared_task

        @shared_task(bind=True, ignore_result=True)
        def send_email(task, request, message, recipient):
            sender = request.find_service("mail")
            try:
                sender.send_message(message, recipient=recipient)
                request.db.record(message)
            except Exception as exc:
                task.retry(exc=exc)
            request.metrics.commit()
        """)
    )
    send, record, after = flow.steps
    assert send.effect is not None
    assert (send.effect.kinds, send.effect.receiver) == (frozenset({Kind.NOTIFY}), Receiver.CUSTOMER)
    assert (record.effect, record.scope, record.fallible) == (None, send.scope, True)
    retry = send.repeaters[0]
    assert (retry.kind, retry.bound, retry.span.line) == (Repeating.STEP_RETRY, 4, 11)
    assert after.scope != send.scope
    assert [one.kind for one in after.repeaters] == [Repeating.UNIT_RERUN]
    assert send.on_error is OnError.STOP


def test_attempts_are_counted_as_the_task_says_them():
    text = "from celery import shared_task\n@shared_task(autoretry_for=(IOError,), {options})\ndef t(x):\n    svc.create_order(x)\n"
    bounds = {"max_retries=5": 6, "max_retries=None": None, "retry_kwargs={'max_retries': 1}": 2, "retry_backoff=True": 4}
    for options, bound in bounds.items():
        assert one(text.replace("{options}", options)).steps[0].repeaters[0].bound == bound


def test_late_acknowledgement_for_all_tasks_counts_as_one_that_the_task_does_not_say():
    task = "from celery import shared_task\n@shared_task\ndef t(x):\n    svc.create_order(x)\n"
    assert [one.kind for one in one(task).steps[0].repeaters] == [Repeating.UNIT_RERUN]
    flow = one(task, settings="CELERY_TASK_ACKS_LATE = True\n")
    redelivery = flow.steps[0].repeaters[0]
    assert (redelivery.kind, redelivery.default, redelivery.span.file, redelivery.span.line) == (
        Repeating.REDELIVERY,
        True,
        "settings.py",
        1,
    )
    assert [fact.quote for fact in flow.steps[0].facts] == ["CELERY_TASK_ACKS_LATE = True", "@shared_task", "svc.create_order(x)"]


def test_an_error_that_means_that_nothing_was_sent_is_no_lost_answer():
    text = "from celery import shared_task\n@shared_task(autoretry_for=({error},))\ndef t(x):\n    svc.create_order(x)\n"
    assert one(text.replace("{error}", "ValueError")).steps[0].repeaters[0].after_timeout is False
    assert one(text.replace("{error}", "Exception")).steps[0].repeaters[0].after_timeout is True


def test_other_queues_have_their_own_attempts():
    dramatiq = one("import dramatiq\n@dramatiq.actor\ndef t(x):\n    svc.create_order(x)\n").steps[0].repeaters[0]
    assert (dramatiq.bound, dramatiq.default) == (21, True)
    none = one("import dramatiq\n@dramatiq.actor(max_retries=0)\ndef t(x):\n    svc.create_order(x)\n").steps[0]
    assert [one.kind for one in none.repeaters] == [Repeating.UNIT_RERUN]
    rq = one("from rq import Retry\nfrom rq.decorators import job\n@job('q', retry=Retry(max=3))\ndef t(x):\n    svc.create_order(x)\n")
    assert (rq.extra["engine"], rq.steps[0].repeaters[0].bound) == ("rq", 4)
    huey = one("from huey import RedisHuey\nhuey = RedisHuey()\n@huey.task(retries=2)\ndef t(x):\n    svc.create_order(x)\n")
    assert (huey.extra["engine"], huey.steps[0].repeaters[0].bound) == ("huey", 3)


def test_a_row_that_says_that_it_is_done_and_an_id_that_is_stored_are_credited():
    flow = one(
        textwrap.dedent("""
        from celery import shared_task

        @shared_task(autoretry_for=(Exception,))
        def open_ticket(row_id):
            row = Row.objects.get(pk=row_id)
            if row.ticket_processed:
                return
            ticket = helpdesk.create_ticket(subject=row.title)
            row.ticket_url = ticket.url
            row.save()
        """)
    )
    made = step(flow, "create_ticket")
    assert made.guard is not None
    assert (made.guard.line, made.guard_is_proof) == (7, False)
    assert [place.line for place in made.kept] == [10]
    assert made.condition == ""


def test_a_task_without_an_effect_is_no_flow():
    assert read("from celery import shared_task\n@shared_task\ndef add(a, b):\n    return a + b\n") == []


def test_a_task_follows_helpers_of_other_files_that_were_given():
    flow = one(
        "from celery import shared_task\nfrom billing import charge\n@shared_task(acks_late=True)\ndef t(order):\n    charge(order)\n",
        billing="import stripe\ndef charge(order):\n    return stripe.PaymentIntent.create(amount=order.total, idempotency_key=order.id)\n",
    )
    charge = step(flow, "PaymentIntent")
    assert (charge.span.file, charge.span.line, charge.unit) == ("billing.py", 3, "t")
    assert charge.identity is not None
    assert charge.identity.bearing is Bearing.STABLE
    assert [place.file for place in charge.kept] == ["billing.py"]
    assert Mark.IN_LOOP not in charge.marks
    assert names(flow) == ["PaymentIntent.create"]


def test_a_function_of_the_same_project_that_was_not_given_is_unread():
    flow = one("from celery import shared_task\nfrom .shop import create_order\n@shared_task\ndef t(x):\n    create_order(x)\n")
    made = flow.steps[0]
    assert made.opaque is not None
    assert (made.opaque.what, made.opaque.span.line, made.effect and made.effect.certain) == ("shop.create_order", 5, False)
    other = one("from celery import shared_task\nfrom vendor import create_order\n@shared_task\ndef t(x):\n    create_order(x)\n")
    assert (other.steps[0].opaque, other.unread) == (None, ())


def test_only_verbs_that_do_something_outside_are_taken_for_effects_and_said_to_be_inferred():
    text = "from celery import shared_task\nimport svc\n@shared_task\ndef t(x):\n    svc.{verb}(x)\n    svc.create_order(x)\n"
    for verb, kinds in (
        ("refund_customer", {Kind.MONEY}),
        ("capture_payment", {Kind.MONEY}),
        ("notify_owner", {Kind.NOTIFY}),
        ("grant_role", {Kind.PERMISSION}),
        ("capture_exception", None),
        ("create_client", None),
        ("send_json", None),
    ):
        first = one(text.replace("{verb}", verb)).steps[0]
        assert first.effect is not None
        assert (first.effect.certain, first.effect.repeat) == (False, Repeat.UNKNOWN)
        assert first.effect.kinds == (kinds or {Kind.CREATE}), verb
