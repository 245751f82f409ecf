from __future__ import annotations

import textwrap

import pytest

from halfway.inspection.model import Bearing, Kind, Mark, OnError, Receiver, Repeat, Repeating, Starting, When
from tests.inspection.python_samples import names, one, read, step


def script(text: str) -> str:
    return textwrap.dedent(text)


def test_a_release_script_is_one_unit_of_commands_and_requests_in_their_order():
    flow = one(
        script("""
        import subprocess
        import requests

        REPO = "acme/shop"

        def run_command(*words):
            subprocess.run(words, check=True)

        def draft(version):
            response = requests.post(f"https://api.github.com/repos/{REPO}/releases", json={"tag_name": version})
            response.raise_for_status()
            url = response.json()["html_url"]
            return url

        if __name__ == "__main__":
            version = "1.0"
            run_command("git", "push", "origin", version)
            print(draft(version))
        """)
    )
    assert (flow.name, flow.extra["engine"], [one.kind for one in flow.triggers]) == ("job.py", "script", [Starting.MANUAL])
    push, post = flow.steps
    assert push.effect is not None
    assert push.effect.told == "git push"
    assert post.effect is not None
    assert post.effect.told == "POST https://api.github.com/repos/acme/shop/releases"
    assert {push.unit, push.scope, post.unit, post.scope} == {"script"}
    assert (post.timeout, post.timeout_known) == (None, True)
    assert [place.line for place in post.kept] == [14]
    assert [(one.kind, one.automatic) for one in post.repeaters] == [(Repeating.UNIT_RERUN, False)]


def test_a_tag_made_from_the_newest_one_is_mutable():
    flow = one(
        script("""
        import subprocess
        last = subprocess.check_output(["git", "tag"]).decode().split()[-1]
        patch = int(last.split(".")[-1])
        patch += 1
        subprocess.run(["gh", "release", "create", f"v1.0.{patch}"], check=True)
        """)
    )
    made = step(flow, "gh release create")
    assert made.identity is not None
    assert (made.identity.bearing, made.identity.span.line) == (Bearing.MUTABLE, 6)


def test_a_map_that_is_set_before_a_mail_in_an_endless_loop_is_a_claim():
    flow = one(
        script("""
        import os
        import time
        from sendgrid import SendGridAPIClient
        from sendgrid.helpers.mail import Mail
        TO = os.getenv("TO")
        status_by_page = {}

        def mail(task):
            try:
                client = SendGridAPIClient("…")
                message = Mail(to_emails=TO, subject="updated")
                client.send(message)
            except Exception as error:
                print(f"not sent: {error}")

        def main():
            for task in changed():
                status_by_page[task["id"]] = task["status"]
            while True:
                time.sleep(5)
                for task in changed():
                    status_by_page[task["id"]] = task["status"]
                    mail(task)

        if __name__ == "__main__":
            main()
        """)
    )
    claim, sent = (one for one in flow.steps if one.name != "call")
    assert (claim.marks, claim.effect, claim.span.line) == ({Mark.CLAIM, Mark.IN_LOOP}, None, 23)
    assert sent.effect is not None
    assert (sent.effect.kinds, sent.effect.receiver, sent.on_error) == ({Kind.NOTIFY}, Receiver.UNKNOWN, OnError.SWALLOW)
    assert [(one.kind, one.bound) for one in sent.repeaters if one.kind is Repeating.LOOP] == [
        (Repeating.LOOP, None),
        (Repeating.LOOP, 1000),
    ]
    assert claim.order < sent.order


@pytest.mark.parametrize(
    ("decorator", "bound", "after_timeout"),
    [
        ("@retry", None, True),
        ("@retry()", None, True),
        ("@retry(stop=stop_after_attempt(5))", 5, True),
        ("@retry(stop=stop_after_attempt(5) | stop_after_delay(30))", 5, True),
        ("@retry(stop=stop_after_attempt(2), retry=retry_if_exception_type(ValueError))", 2, False),
    ],
)
def test_tenacity_without_a_stop_never_ends(decorator: str, bound: int | None, after_timeout: bool):
    flow = one(
        f"import requests\nfrom tenacity import retry, stop_after_attempt, stop_after_delay, retry_if_exception_type\n"
        f"{decorator}\ndef pay(order):\n    requests.post('https://pay.example', timeout=5)\n"
    )
    paid = flow.steps[0]
    repeater = paid.repeaters[0]
    assert (repeater.kind, repeater.automatic, repeater.bound, repeater.after_timeout) == (Repeating.STEP_RETRY, True, bound, after_timeout)
    assert repeater.span.line == 3
    assert (paid.timeout, paid.timeout_known) == (5.0, True)


@pytest.mark.parametrize(("options", "bound"), [("max_tries=4", 4), ("", None)])
def test_backoff_ends_with_max_tries(options: str, bound: int | None):
    flow = one(
        f"import backoff, requests\n@backoff.on_exception(backoff.expo, Exception, {options})\n"
        "def f():\n    requests.post('https://x.example')\n"
    )
    assert flow.steps[0].repeaters[0].bound == bound


def test_a_loop_that_tries_until_it_works_is_a_retry_and_one_over_items_is_a_loop():
    flow = one(
        script("""
        import httpx

        def push(item):
            for attempt in range(3):
                try:
                    httpx.post("https://x.example/items", json=item)
                    break
                except httpx.HTTPError:
                    continue

        for item in load():
            push(item)
        """)
    )
    pushed = step(flow, "POST")
    assert [(one.kind, one.bound, one.span.line) for one in pushed.repeaters] == [
        (Repeating.UNIT_RERUN, None, 12),
        (Repeating.LOOP, 1000, 12),
        (Repeating.STEP_RETRY, 3, 5),
    ]
    assert Mark.IN_LOOP in pushed.marks
    assert pushed.scope == "script/retry@1"
    assert pushed.timeout == 5.0


def test_a_key_made_before_the_retry_serves_all_attempts_and_one_made_inside_serves_none():
    text = """
import uuid
import stripe
def pay():
    {outside}
    while True:
        try:
            {inside}
            stripe.PaymentIntent.create(amount=1, idempotency_key=key)
            return
        except Exception:
            pass
pay()
"""
    made = "key = str(uuid.uuid4())"
    good = one(text.replace("{outside}", made).replace("{inside}", "pass")).steps[0]
    bad = one(text.replace("{outside}", "pass").replace("{inside}", made)).steps[0]
    assert good.identity is not None
    assert bad.identity is not None
    assert (good.identity.bearing, bad.identity.bearing) == (Bearing.STABLE, Bearing.MINTED)
    assert [(one.kind, one.bound) for one in bad.repeaters][1:] == [(Repeating.STEP_RETRY, None)]


def test_a_handler_that_refunds_is_the_undo_of_the_charge_and_needs_its_answer():
    text = """
import stripe
from shipping import book_parcel
def order(o):
    {before}
    try:
        charge = stripe.PaymentIntent.create(amount=o.total, idempotency_key=o.id)
        book_parcel(o)
    except Exception:
        {handler}
        raise
order(1)
"""
    bad = one(text.replace("{before}", "pass").replace("{handler}", "stripe.Refund.create(payment_intent=charge.id)"))
    charge = step(bad, "PaymentIntent")
    refund = step(bad, "Refund")
    assert charge.undo is not None
    assert (charge.undo.step, charge.undo.span.line, charge.undo.reached, charge.undo.tolerant) == ("Refund.create", 10, True, False)
    assert refund.marks == {Mark.RECOVERY}
    assert [edge.when for edge in bad.edges if edge.after == refund.id] == [When.ERROR, When.ERROR]
    assert charge.on_error is OnError.STOP
    good = one(
        text.replace("{before}", "charge = None").replace(
            "{handler}", "if charge:\n            stripe.Refund.create(payment_intent=charge.id)"
        )
    )
    undo = step(good, "PaymentIntent").undo
    assert undo is not None
    assert undo.tolerant


def test_an_undo_that_is_listed_and_never_unwound_is_not_reached():
    text = """
import stripe
def book(o):
    undos = []
    charge = stripe.PaymentIntent.create(amount=1)
    undos.append(refund)
    hotel.book_room(o)
    {unwind}
book(1)
"""
    for unwind, reached in (("pass", False), ("[f() for f in reversed(undos)]", True), ("for f in reversed(undos):\n        f()", True)):
        undo = step(one(text.replace("{unwind}", unwind)), "PaymentIntent").undo
        assert undo is not None
        assert (undo.step, undo.reached) == ("refund", reached)


def test_a_search_before_a_create_is_a_guard_that_proves_little():
    flow = one(
        script("""
        from github import Github
        gh = Github("…")
        found = gh.search_issues("shop is:open")
        if not found:
            gh.create_issue(title="shop")
        """)
    )
    made = step(flow, "create_issue")
    assert made.guard is not None
    assert (made.guard.line, made.guard_is_proof) == (4, False)
    assert made.condition == "not found"


def test_sql_says_what_a_second_statement_would_do():
    text = "import psycopg\nwith psycopg.connect() as db:\n    db.execute({sql})\n"
    cases = {
        "'INSERT INTO orders VALUES (1)'": (Kind.RECORD, Repeat.UNKNOWN, "INSERT orders"),
        "'insert into orders values (1) on conflict do nothing'": (Kind.RECORD, Repeat.SAFE, "INSERT orders"),
        "'insert into orders values (1) on conflict (id) do update set n = 1'": (Kind.RECORD, Repeat.MERGES, "INSERT orders"),
        "'UPDATE stock SET n = n - 1 WHERE id = 1'": (Kind.RECORD, Repeat.DUPLICATES, "UPDATE stock"),
        "'UPDATE stock SET n = 4 WHERE id = 1'": (Kind.RECORD, Repeat.SAFE, "UPDATE stock"),
        "'DELETE FROM stock'": (Kind.DELETE, Repeat.SAFE, "DELETE stock"),
    }
    for sql, (kind, repeat, told) in cases.items():
        found = one(text.replace("{sql}", sql)).steps[0].effect
        assert found is not None
        assert (found.kinds, found.repeat, found.told) == ({kind}, repeat, told)


def test_who_is_told_is_the_team_for_a_literal_and_a_customer_for_data():
    head = "from slack_sdk import WebClient\nslack = WebClient()\ndef lambda_handler(event, context):\n"
    text = head + "    slack.chat_postMessage(channel={to}, text='order shipped')\n"
    for to, receiver in (("'#ops'", Receiver.TEAM), ("event['user']", Receiver.CUSTOMER), ("CHANNEL", Receiver.UNKNOWN)):
        flow = one(text.replace("{to}", to))
        told = flow.steps[0]
        assert told.effect is not None
        assert (told.effect.receiver, told.marks) == (receiver, {Mark.SUCCESS_NOTICE})
        assert [one.kind for one in flow.triggers] == [Starting.EVENT]


def test_a_cursor_after_a_loop_of_effects_is_marked_as_one():
    flow = one(
        script("""
        import requests
        for item in items():
            requests.post("https://x.example", json=item)
        with open("last_run", "w") as file:
            file.write("now")
        """)
    )
    posted, cursor = (one for one in flow.steps if one.effect is not None)
    assert Mark.IN_LOOP in posted.marks
    assert (cursor.marks, cursor.effect and cursor.effect.kinds) == ({Mark.CURSOR}, {Kind.FILE})


def test_a_job_of_a_schedule_has_its_period():
    flows = read("import schedule, requests\ndef job():\n    requests.post('https://x.example')\nschedule.every(10).minutes.do(job)\n")
    assert [(flow.name, flow.extra["engine"]) for flow in flows] == [("job", "schedule")]
    assert [(one.kind, one.period) for one in flows[0].triggers] == [(Starting.SCHEDULE, 600.0)]
    assert flows[0].steps[0].repeaters[0].kind is Repeating.SCHEDULE


def test_a_model_with_tools_in_an_endless_loop_is_an_agent():
    flow = one("from openai import OpenAI\nai = OpenAI()\nwhile True:\n    ai.responses.create(model='m', tools=[send])\n")
    asked = flow.steps[0]
    assert asked.effect is not None
    assert Kind.AGENT in asked.effect.kinds
    assert asked.effect.repeat is Repeat.UNKNOWN
    assert asked.marks == {Mark.IN_LOOP, Mark.AGENT_LOOP}


def test_calls_of_the_standard_library_and_of_own_lists_are_no_effects():
    assert (
        names(
            one(
                "import asyncio\nimport json\nasync def main():\n    asyncio.create_task(x())\n"
                "    json.dumps({})\nif __name__ == '__main__':\n    main()\n"
            )
        )
        == []
    )


def test_a_signal_stays_inside_of_the_process_and_admins_are_the_team():
    flow = one(
        "from django.core.mail import mail_admins\nfrom shop.signals import sold, notify_all\n"
        "def main():\n    sold.send(sender=main, order=1)\n    mail_admins('done', 'all')\nmain()\n"
    )
    assert [(step.effect.told, step.effect.receiver) for step in flow.steps if step.effect] == [
        ("django.core.mail.mail_admins()", Receiver.TEAM)
    ]


def test_to_register_a_part_of_the_program_is_nothing_outside():
    (push,) = one(
        "import engine, subprocess\ndef main():\n    engine.register_queue('a')\n    subprocess.run(['git', 'push'])\nmain()\n"
    ).steps
    assert push.effect is not None
    assert push.effect.told == "git push"


def test_a_helper_starts_what_it_is_given():
    flow = one(
        script("""
        import subprocess

        def run(command, *, cwd):
            subprocess.run(command, cwd=cwd, check=True)

        def git(*words):
            return subprocess.check_output(words)

        if __name__ == "__main__":
            run(["git", "clone", "a"], cwd="b")
            git("git", "show", "c")
            run(["git", "push", "origin"], cwd="b")
        """)
    )
    assert [step.effect.told for step in flow.steps if step.effect is not None and step.effect.outward] == ["git push"]
