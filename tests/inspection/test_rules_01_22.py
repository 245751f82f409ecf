"""Rules R-01 to R-22: for each a flow in which it finds something, and flows in which it must not."""

from __future__ import annotations

from typing import Any

import pytest

from halfway.inspection.finding import Rule
from halfway.inspection.knowledge import Key
from halfway.inspection.model import (
    Bearing,
    Fact,
    Flow,
    Gate,
    Kind,
    Mark,
    OnError,
    Receiver,
    Repeat,
    Repeating,
    Reversible,
    Starting,
    Step,
    Undo,
    Unread,
    When,
)
from halfway.inspection.rules import all_rules
from tests.inspection.flows import (
    RERUN,
    RETRY,
    edge,
    edges,
    effect,
    findings,
    flow,
    guard,
    identity,
    repeater,
    row,
    span,
    step,
    told,
    trigger,
)

RULES = {rule.id: rule for rule in all_rules()}
PAY = effect(Kind.MONEY, repeat=Repeat.WITH_KEY, told="POST pay.example", action="pay.create")
MAIL = effect(Kind.NOTIFY, told="send mail", receiver=Receiver.CUSTOMER)
CHAT = effect(Kind.NOTIFY, told="post to the channel", receiver=Receiver.TEAM)
TICKET = effect(Kind.CREATE, told="create ticket")
DEPLOY = effect(Kind.DEPLOY, repeat=Repeat.SAFE, told="helm upgrade")
PUBLISH = effect(Kind.PUBLISH, repeat=Repeat.REJECTS, told="twine upload", reversible=Reversible.NO)
STOCK = effect(Kind.RECORD, told="UPDATE stock")
POST = effect(Kind.UNKNOWN, repeat=Repeat.UNKNOWN, told="POST unknown.example")
KEYLESS = identity(Bearing.NONE)


def only(rule: str, flow: Flow, *rows: Any) -> tuple[str, str, str, list[int]]:
    """The one finding of a rule; its texts fill without a gap left."""
    (finding,) = findings(RULES[rule], flow, *rows)
    text = finding.inference.text.format(**finding.inference.params)
    assert "None" not in text
    return told(finding)


def text(rule: str, flow: Flow, *rows: Any) -> str:
    (finding,) = findings(RULES[rule], flow, *rows)
    return finding.inference.text.format(**finding.inference.params)


def silent(rule: str, *flows: Flow) -> None:
    assert [told(one) for given in flows for one in findings(RULES[rule], given)] == []


def marked(mark: Mark) -> frozenset[Mark]:
    return frozenset({mark})


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_a_flow_without_effects_has_no_weakness_of_a_step(rule: Rule) -> None:
    compute = step("compute", 10, repeaters=(RETRY, RERUN), on_error=OnError.CONTINUE)
    look = step("look", 11, effect(Kind.READ), repeaters=(RETRY, RERUN), on_error=OnError.CONTINUE)
    found = findings(rule, flow(compute, look, triggers=(trigger(Starting.PUSH),), guards=(guard(cancels=True),)))
    assert [one.step for one in found if one.step] == []


# ── R-01 ──


@pytest.mark.parametrize(
    ("does", "severity"),
    [
        (PAY, "BLOCKER"),
        (STOCK, "BLOCKER"),
        (effect(Kind.PERMISSION), "BLOCKER"),
        (MAIL, "HIGH"),
        (effect(Kind.NOTIFY), "HIGH"),
        (TICKET, "HIGH"),
        (effect(Kind.AGENT), "HIGH"),
        (CHAT, "MEDIUM"),
        (effect(Kind.ENQUEUE), "MEDIUM"),
        (POST, "MEDIUM"),
    ],
)
def test_r01_a_retry_goes_over_an_effect_that_is_not_safe_to_repeat(does: Any, severity: str) -> None:
    retry = Fact(span(80), "retry: 3")
    bad = flow(step("act", 10, does, identity=KEYLESS, repeaters=(RETRY,), facts=(retry,)))
    assert only("R-01", bad) == ("R-01", severity, "act", [10, 80])
    assert findings(RULES["R-01"], bad)[0].facts == (Fact(span(10), "do act"), retry)


def test_r01_says_that_it_does_not_know_when_the_vendor_is_not_known() -> None:
    assert text("R-01", flow(step("act", 10, POST, identity=KEYLESS, repeaters=(RETRY,)))) == (
        "POST unknown.example is tried again when its answer is lost; whether it then happens twice is not known."
    )
    assert text("R-01", flow(step("act", 10, PAY, identity=KEYLESS, repeaters=(RETRY,)))) == (
        "POST pay.example is tried again when its answer is lost, "
        "carries nothing by which the receiver knows it again, and then happens twice."
    )


def test_r01_credits_keys_looks_vendors_and_retries_that_repeat_nothing() -> None:
    never_lost = repeater(Repeating.STEP_RETRY, after_timeout=False)
    silent(
        "R-01",
        flow(step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RETRY,))),
        flow(step("post", 10, POST, identity=identity(Bearing.STABLE), repeaters=(RETRY,))),
        flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(RETRY,), guard=span(9))),
        flow(step("publish", 10, PUBLISH, repeaters=(RETRY,))),
        flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(RERUN,))),
        flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(repeater(Repeating.STEP_RETRY, 1), never_lost))),
    )


# ── R-02 ──


def test_r02_the_engine_repeats_by_default() -> None:
    five = repeater(Repeating.STEP_RETRY, 5, line=10, default=True)
    bad = flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(five,)))
    assert only("R-02", bad) == ("R-02", "HIGH", "pay", [10])
    assert "up to 5 times" in text("R-02", bad)
    endless = repeater(Repeating.REDELIVERY, None, line=3, default=True)
    worse = flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(endless,)))
    assert told(findings(RULES["R-02"], worse)[0]) == ("R-02", "HIGH", "pay", [10])
    assert "without end" in text("R-02", worse)


def test_r02_is_silent_where_the_file_says_it_or_a_repeat_is_harmless() -> None:
    unseen = repeater(Repeating.STEP_RETRY, default=True)
    silent(
        "R-02",
        flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(RETRY,))),
        flow(step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(unseen,))),
        flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(repeater(Repeating.STEP_RETRY, 1, default=True),))),
    )


def test_r02_a_place_that_does_not_say_it_is_no_fact() -> None:
    unseen = repeater(Repeating.STEP_RETRY, default=True)
    assert only("R-02", flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(unseen,)))) == ("R-02", "HIGH", "pay", [10])


# ── R-03 ──


def test_r03_a_failure_after_the_send_repeats_the_send() -> None:
    bad = flow(step("mail", 10, MAIL, repeaters=(RETRY,)), step("save", 12))
    assert only("R-03", bad) == ("R-03", "BLOCKER", "mail", [10, 12, 80])
    assert (
        text("R-03", bad) == "send mail has succeeded when save fails; the retry begins before both, and send mail happens a second time."
    )


def test_r03_is_less_grave_for_the_team_and_where_the_vendor_is_not_known() -> None:
    assert only("R-03", flow(step("chat", 10, CHAT, repeaters=(RETRY,)), step("save", 12)))[1] == "HIGH"
    assert only("R-03", flow(step("post", 10, POST, repeaters=(RETRY,)), step("save", 12)))[1] == "HIGH"


def test_r03_is_silent_when_nothing_later_fails_inside_the_same_retry() -> None:
    mail = step("mail", 10, MAIL, repeaters=(RETRY,))
    silent(
        "R-03",
        flow(step("save", 8), mail),
        flow(mail, step("save", 12, scope="another")),
        flow(mail, step("save", 12, fallible=False)),
        flow(mail, step("save", 12, on_error=OnError.SWALLOW)),
        flow(step("mail", 10, MAIL, repeaters=(RETRY,), guard=span(9)), step("save", 12)),
        flow(step("mail", 10, MAIL, repeaters=(RERUN,)), step("save", 12)),
    )


# ── R-04 ──


def test_r04_the_key_is_made_by_each_attempt() -> None:
    bad = flow(step("pay", 10, PAY, identity=identity(Bearing.MINTED, "uuid4()", 9), repeaters=(RERUN,)))
    assert only("R-04", bad) == ("R-04", "HIGH", "pay", [10, 9, 81])
    assert "(uuid4())" in text("R-04", bad)


def test_r04_is_silent_for_keys_from_outside_and_for_what_nobody_repeats() -> None:
    minted = identity(Bearing.MINTED)
    silent(
        "R-04",
        flow(step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RETRY,))),
        flow(step("pay", 10, PAY, identity=minted, repeaters=(repeater(Repeating.SCHEDULE), repeater(Repeating.LOOP)))),
        flow(step("pay", 10, PAY, identity=minted, repeaters=(RETRY,), guard=span(9))),
        flow(step("deploy", 10, DEPLOY, identity=minted, repeaters=(RETRY,))),
        flow(step("gone", 10, effect(Kind.DELETE, repeat=Repeat.UNKNOWN), identity=minted, repeaters=(RETRY,))),
    )


# ── R-05 ──


DAY = 24 * 3600


def test_r05_the_key_is_forgotten_before_the_last_repeat() -> None:
    pay = step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RETRY, RERUN))
    known = row("pay.create", key=Key("header Idempotency-Key", DAY))
    assert only("R-05", flow(pay, format="github-actions"), known) == ("R-05", "MEDIUM", "pay", [10, 81])
    assert "24 hours" in text("R-05", flow(pay, format="github-actions"), known)
    endless = step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(repeater(Repeating.STEP_RETRY, None),))
    assert only("R-05", flow(endless), known) == ("R-05", "MEDIUM", "pay", [10, 80])


def test_r05_is_silent_when_the_key_lives_longer_or_its_time_is_not_known() -> None:
    pay = step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RETRY, RERUN))
    looked = step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RERUN,), guard=span(9))
    keyless = step("pay", 10, PAY, identity=KEYLESS, repeaters=(RERUN,))
    bounded = step("pay", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RETRY,))
    short, longer = row("pay.create", key=Key("header", DAY)), row("pay.create", key=Key("header", 40 * DAY))
    assert findings(RULES["R-05"], flow(pay, format="github-actions"), longer) == []
    assert findings(RULES["R-05"], flow(pay), row("pay.create", key=Key("header"))) == []
    assert findings(RULES["R-05"], flow(pay)) == []
    assert [one for given in (looked, keyless, bounded) for one in findings(RULES["R-05"], flow(given), short)] == []


# ── R-06 ──


@pytest.mark.parametrize(
    ("does", "severity", "word"),
    [(MAIL, "HIGH", "a customer has been"), (effect(Kind.NOTIFY), "HIGH", "perhaps a customer"), (CHAT, "MEDIUM", "the team has been")],
)
def test_r06_a_message_goes_before_what_it_tells_of(does: Any, severity: str, word: str) -> None:
    bad = flow(step("mail", 10, does, unit="a"), step("ticket", 20, TICKET, unit="b"), edges=edges("mail", "ticket"))
    assert only("R-06", bad) == ("R-06", severity, "mail", [10, 20])
    assert word in text("R-06", bad)


def test_r06_is_silent_when_the_message_is_last_or_nothing_that_it_tells_of_follows() -> None:
    mail = step("mail", 10, MAIL)
    silent(
        "R-06",
        flow(step("ticket", 8, TICKET), mail),
        flow(mail, step("chat", 12, CHAT)),
        flow(mail, step("compute", 12), step("look", 13, effect(Kind.READ))),
        flow(mail, step("note", 12, STOCK, marks=marked(Mark.CLAIM))),
        flow(mail, step("ticket", 12, TICKET, fallible=False)),
        flow(mail, step("ticket", 12, TICKET, on_error=OnError.CONTINUE)),
        flow(mail, step("ticket", 12, TICKET, unit="another")),
        flow(step("mail", 10, MAIL, marks=marked(Mark.FAILURE_NOTICE)), step("ticket", 12, TICKET)),
        flow(step("release", 10, effect(Kind.PUBLISH, Kind.NOTIFY)), step("ticket", 12, TICKET)),
    )


def test_r06_a_message_does_not_tell_of_a_mark_and_seldom_of_a_record_that_is_kept_up() -> None:
    mail = step("mail", 10, effect(Kind.NOTIFY, told="send mail"))
    kept_up = step("row", 12, effect(Kind.RECORD, repeat=Repeat.MERGES, told="upsert row"))
    for mark in ("gmail markAsRead", "gmail addLabels", "mail archive"):
        silent("R-06", flow(mail, step("mark", 12, effect(Kind.RECORD, told=mark))))
    assert only("R-06", flow(mail, kept_up))[1] == "MEDIUM"
    assert only("R-06", flow(step("mail", 10, MAIL), kept_up))[1] == "HIGH"
    assert only("R-06", flow(mail, step("row", 12, STOCK)))[1] == "HIGH"


def test_r06_a_bill_that_is_sent_to_a_customer_tells_as_well() -> None:
    bill = step("bill", 10, effect(Kind.MONEY, Kind.NOTIFY, receiver=Receiver.CUSTOMER))
    assert only("R-06", flow(bill, step("ticket", 12, TICKET))) == ("R-06", "HIGH", "bill", [10, 12])


# ── R-07 ──


def notice(**more: Any) -> Step:
    return step("done", 20, MAIL, marks=marked(Mark.SUCCESS_NOTICE), **more)


@pytest.mark.parametrize(
    "bad",
    [
        flow(step("deploy", 10, DEPLOY), notice(condition="always()")),
        flow(step("deploy", 10, DEPLOY), notice(condition="${{ !cancelled() }}")),
        flow(step("deploy", 10, DEPLOY, on_error=OnError.CONTINUE), notice()),
        flow(step("deploy", 10, DEPLOY, on_error=OnError.SWALLOW), notice()),
        flow(step("deploy", 10, DEPLOY, unit="a"), notice(unit="b"), edges=(edge("deploy", "done", When.ALWAYS),)),
        flow(step("deploy", 10, DEPLOY, unit="a"), notice(unit="b"), edges=(edge("deploy", "done", When.ERROR),)),
    ],
)
def test_r07_success_is_told_after_a_failure(bad: Flow) -> None:
    assert only("R-07", bad) == ("R-07", "HIGH", "done", [20, 10])


def test_r07_a_mark_done_that_is_last_counts_as_well() -> None:
    deploy = step("deploy", 10, DEPLOY, on_error=OnError.CONTINUE)
    done = step("mark", 20, STOCK, marks=marked(Mark.CLAIM))
    assert only("R-07", flow(deploy, done)) == ("R-07", "HIGH", "mark", [20, 10])
    silent("R-07", flow(deploy, done, step("ticket", 30, TICKET)))


def test_r07_is_silent_when_the_message_asks_for_the_outcome_or_tells_it() -> None:
    deploy = step("deploy", 10, DEPLOY)
    silent(
        "R-07",
        flow(deploy, notice()),
        flow(deploy, notice(condition="success()")),
        flow(deploy, notice(condition="always() && steps.deploy.outcome == 'success'")),
        flow(deploy, notice(condition="always()", quote="curl -d '${{ job.status }}'")),
        flow(notice(condition="always()"), step("deploy", 30, DEPLOY)),
        flow(step("deploy", 10, DEPLOY, fallible=False), notice(condition="always()")),
        flow(deploy, step("told", 20, MAIL, condition="always()")),
    )


# ── R-08 ──


@pytest.mark.parametrize(
    ("does", "severity", "word"),
    [
        (PAY, "BLOCKER", "a second time"),
        (STOCK, "BLOCKER", "a second time"),
        (TICKET, "HIGH", "a second time"),
        (POST, "LOW", "not known"),
    ],
)
def test_r08_running_a_unit_again_repeats_its_earlier_effects(does: Any, severity: str, word: str) -> None:
    bad = flow(step("first", 10, does, identity=KEYLESS, repeaters=(RERUN,)), step("second", 12, TICKET, repeaters=(RERUN,)))
    assert only("R-08", bad) == ("R-08", severity, "first", [10, 12, 81])
    assert word in text("R-08", bad)


def test_r08_what_may_be_harmless_is_not_enough() -> None:
    made = effect(Kind.CREATE, repeat=Repeat.UNKNOWN)
    silent("R-08", flow(step("first", 10, made, identity=KEYLESS, repeaters=(RERUN,)), step("second", 12, TICKET, repeaters=(RERUN,))))


def test_r08_money_of_which_only_a_name_speaks_is_no_blocker() -> None:
    guessed = effect(Kind.MONEY, repeat=Repeat.UNKNOWN, certain=False)
    bad = flow(step("pay", 10, guessed, identity=KEYLESS, repeaters=(RERUN,)), step("next", 12, TICKET, repeaters=(RERUN,)))
    assert only("R-08", bad)[1] == "MEDIUM"


def test_r08_a_script_makes_a_remark_here_or_there() -> None:
    remark = effect(Kind.CREATE, told="gh pr comment")
    silent("R-08", flow(step("yes", 10, remark, identity=KEYLESS, repeaters=(RERUN,)), step("no", 12, remark, repeaters=(RERUN,))))


def test_r08_is_said_once_of_a_unit_at_its_gravest_effect() -> None:
    steps = [
        step(name, line, does, identity=KEYLESS, repeaters=(RERUN,))
        for name, line, does in (("a", 10, TICKET), ("b", 11, PAY), ("c", 12, TICKET))
    ]
    assert only("R-08", flow(*steps)) == ("R-08", "BLOCKER", "b", [11, 12, 81])


def test_r08_a_receiver_that_refuses_keeps_from_all_that_comes_later() -> None:
    bad = flow(step("first", 10, PUBLISH, repeaters=(RERUN,)), step("last", 12, TICKET, repeaters=(RERUN,)))
    assert only("R-08", bad) == ("R-08", "MEDIUM", "first", [10, 12, 81])
    assert text("R-08", bad).endswith("which is there already, and never reaches last.")


def test_r08_is_silent_when_each_effect_has_its_unit_or_the_earlier_is_safe() -> None:
    last = step("last", 12, TICKET, repeaters=(RERUN,))
    silent(
        "R-08",
        flow(
            step("first", 10, TICKET, unit="a", repeaters=(RERUN,)),
            step("last", 12, TICKET, repeaters=(RERUN,)),
            edges=edges("first", "last"),
        ),
        flow(step("first", 10, PAY, identity=identity(Bearing.STABLE), repeaters=(RERUN,)), last),
        flow(step("first", 10, TICKET, guard=span(9), repeaters=(RERUN,)), last),
        flow(step("first", 10, PUBLISH, guard=span(9), repeaters=(RERUN,)), last),
        flow(step("first", 10, PUBLISH, on_error=OnError.CONTINUE, repeaters=(RERUN,)), last),
        flow(step("first", 10, TICKET), last),
        flow(step("first", 10, TICKET, repeaters=(RETRY,), scope="s1"), step("last", 12, TICKET, scope="s2")),
        flow(step("first", 10, TICKET, repeaters=(RERUN,)), step("compute", 12)),
    )


def test_r08_what_is_deleted_is_not_found_a_second_time() -> None:
    gone = effect(Kind.DELETE, repeat=Repeat.REJECTS, told="kubectl delete")
    said = text("R-08", flow(step("gone", 10, gone, repeaters=(RERUN,)), step("pay", 20, PAY)))
    assert said == "When pay fails, running job again is refused at kubectl delete, which finds nothing any more, and never reaches pay."


def test_a_task_that_is_queued_twice_weighs_less_than_what_it_does() -> None:
    queued = effect(Kind.ENQUEUE, told="sync.delay()")
    pay = step("pay", 20, PAY)
    assert only("R-08", flow(step("queue", 10, queued, repeaters=(RERUN,)), pay))[1] == "LOW"
    assert only("R-03", flow(step("queue", 10, queued, repeaters=(RETRY,)), pay))[1] == "MEDIUM"
    event = repeater(Repeating.REDELIVERY, bound=None)
    assert [one.severity.name for one in findings(RULES["R-39"], flow(step("queue", 10, queued, repeaters=(event,))))] == ["MEDIUM"]
    remark = effect(Kind.NOTIFY, told="gh issue comment", action="github.comment")
    assert only("R-08", flow(step("say", 10, remark, repeaters=(RERUN,)), pay))[1] == "MEDIUM"


# ── R-09 ──


NEWEST = identity(Bearing.MUTABLE, "git tag | tail -1", 9)


@pytest.mark.parametrize(("does", "severity"), [(PUBLISH, "BLOCKER"), (effect(Kind.GIT), "BLOCKER"), (TICKET, "HIGH")])
def test_r09_the_name_comes_from_what_is_the_newest(does: Any, severity: str) -> None:
    bad = flow(step("make", 10, does, identity=NEWEST, repeaters=(RERUN,)))
    assert only("R-09", bad) == ("R-09", severity, "make", [10, 9, 81])
    assert "(git tag | tail -1)" in text("R-09", bad)


def test_r09_a_look_makes_it_a_question() -> None:
    looked = flow(step("make", 10, PUBLISH, identity=NEWEST, repeaters=(RERUN,), guard=span(8)))
    assert only("R-09", looked) == ("R-09", "MEDIUM", "make", [10, 9, 81, 8])
    assert "not known" in text("R-09", looked)


def test_r09_is_silent_for_names_that_are_handed_in_and_for_new_starts() -> None:
    silent(
        "R-09",
        flow(step("make", 10, PUBLISH, identity=identity(Bearing.NATURAL), repeaters=(RERUN,))),
        flow(step("make", 10, PUBLISH, identity=NEWEST, repeaters=(repeater(Repeating.MANUAL), repeater(Repeating.SCHEDULE)))),
        flow(step("make", 10, DEPLOY, identity=NEWEST, repeaters=(RERUN,))),
    )


# ── R-10 ──


def test_r10_nothing_keeps_two_runs_apart() -> None:
    starts = (trigger(Starting.PUSH, 2), trigger(Starting.MANUAL, 3))
    bad = flow(step("up", 10, DEPLOY), step("more", 11, DEPLOY), triggers=starts)
    assert only("R-10", bad) == ("R-10", "MEDIUM", "up", [10, 2, 3])
    environment = Fact(span(6), "environment: production")
    for known in (
        {"unit": "deploy-prod"},
        {"extra": {"environment": "prod"}},
        {"gate": Gate("environment", span(6)), "facts": (environment,)},
    ):
        assert only("R-10", flow(step("up", 10, DEPLOY, **known), triggers=starts))[1] == "HIGH"
    assert only("R-10", flow(step("products", 10, DEPLOY), triggers=starts))[1] == "MEDIUM"
    assert only("R-10", flow(step("stock", 10, STOCK, unit="production"), triggers=starts))[1] == "MEDIUM"


def test_r10_is_silent_with_a_group_and_for_what_does_not_meet() -> None:
    starts = (trigger(Starting.PUSH),)
    silent(
        "R-10",
        flow(step("up", 10, DEPLOY), triggers=starts, guards=(guard(),)),
        flow(step("up", 10, DEPLOY), triggers=starts, guards=(guard(unit="job"),)),
        flow(step("up", 10, DEPLOY), triggers=(trigger(Starting.CALL),)),
        flow(step("up", 10, DEPLOY)),
        flow(step("up", 10, effect(Kind.DEPLOY, told="aws cloudformation deploy")), triggers=starts),
        flow(step("up", 10, effect(Kind.DEPLOY, Kind.PUBLISH, told="docker push")), triggers=starts),
        flow(step("pay", 10, PAY, identity=identity(Bearing.STABLE)), triggers=starts),
        flow(step("ticket", 10, TICKET), triggers=starts),
    )
    assert only("R-10", flow(step("up", 10, DEPLOY), triggers=starts, guards=(guard(unit="test"),)))[2] == "up"


@pytest.mark.parametrize("command", ["docker compose up", "docker-compose up", "systemctl restart"])
def test_r10_what_runs_on_a_runner_of_its_own_meets_nothing(command: str) -> None:
    does, starts = effect(Kind.DEPLOY, told=command), (trigger(Starting.PUSH),)
    silent("R-10", flow(step("up", 10, does), triggers=starts, format="github-actions"))
    assert only("R-10", flow(step("up", 10, does), triggers=starts, format="shell"))[2] == "up"


def test_r10_two_events_are_about_two_records_unless_both_look_for_one() -> None:
    events = (trigger(Starting.EVENT),)
    merged = effect(Kind.RECORD, repeat=Repeat.MERGES, told="upsert row")
    silent(
        "R-10",
        flow(step("row", 10, merged), triggers=(trigger(Starting.SCHEDULE),)),
        flow(step("stock", 10, STOCK), triggers=events),
        flow(step("stock", 10, STOCK), triggers=(trigger(Starting.MANUAL),)),
    )
    assert only("R-10", flow(step("stock", 10, STOCK, guard=span(9), identity=identity(Bearing.NONE)), triggers=events))[2] == "stock"
    assert only("R-10", flow(step("stock", 10, STOCK), triggers=(*events, trigger(Starting.SCHEDULE))))[2] == "stock"
    silent(
        "R-10",
        flow(step("pay", 10, PAY), triggers=events),
        flow(step("row", 10, effect(Kind.RECORD, Kind.CREATE, told="sheets append")), triggers=(trigger(Starting.SCHEDULE),)),
    )
    assert only("R-10", flow(step("pay", 10, PAY), triggers=(trigger(Starting.SCHEDULE),)))[2] == "pay"


# ── R-11 ──


def test_r11_a_newer_run_ends_an_older_one() -> None:
    bad = flow(step("test", 8, unit="test"), step("up", 10, DEPLOY), guards=(guard(5, cancels=True),))
    assert only("R-11", bad) == ("R-11", "HIGH", "up", [10, 5])
    assert only("R-11", flow(step("up", 10, PUBLISH), guards=(guard(5, unit="job", cancels=True),)))[2] == "up"


def test_r11_what_cannot_be_read_and_is_guarded_counts() -> None:
    local = {"opaque": Unread("./deploy", "why", span(10)), "gate": Gate("environment", span(7))}
    assert only("R-11", flow(step("up", 10, **local), guards=(guard(5, cancels=True),))) == ("R-11", "HIGH", "up", [10, 5])
    silent("R-11", flow(step("up", 10, opaque=local["opaque"]), guards=(guard(5, cancels=True),)))


def test_r11_is_silent_when_runs_wait_or_only_tests_are_ended() -> None:
    silent(
        "R-11",
        flow(step("up", 10, DEPLOY), guards=(guard(5),)),
        flow(step("test", 8, unit="test"), step("up", 10, DEPLOY), guards=(guard(5, unit="test", cancels=True),)),
        flow(step("chat", 10, CHAT), guards=(guard(5, cancels=True),)),
    )


# ── R-12 ──


def test_r12_a_waiting_run_is_replaced() -> None:
    dispatch = trigger(Starting.MANUAL, 3, inputs=("tag",))
    bad = flow(step("up", 10, DEPLOY), triggers=(trigger(Starting.PUSH, 2), dispatch), guards=(guard(5, group="release", queues=False),))
    assert only("R-12", bad) == ("R-12", "MEDIUM", "up", [10, 5, 3])
    tags = trigger(Starting.PUSH, 3, quote="tags: [v*]")
    assert only("R-12", flow(step("up", 10, DEPLOY), triggers=(tags,), guards=(guard(5, queues=False),)))[3] == [10, 5, 3]


def test_r12_is_silent_when_all_are_kept_or_only_the_newest_matters() -> None:
    up, tags = step("up", 10, DEPLOY), trigger(Starting.PUSH, 3, quote="tags: [v*]")
    silent(
        "R-12",
        flow(up, triggers=(tags,), guards=(guard(queues=True),)),
        flow(up, triggers=(tags,), guards=(guard(queues=False, cancels=True),)),
        flow(up, triggers=(tags,), guards=(guard(queues=False, group="release-${{ github.ref }}"),)),
        flow(up, triggers=(tags,), guards=(guard(queues=False, unit="test"),)),
        flow(up, triggers=(trigger(Starting.PUSH), trigger(Starting.MANUAL)), guards=(guard(queues=False),)),
    )


# ── R-13 ──


def test_r13_a_later_step_needs_what_has_failed() -> None:
    bad = flow(step("ticket", 10, TICKET, on_error=OnError.CONTINUE), step("link", 12, needs_output_of=("ticket",)))
    assert only("R-13", bad) == ("R-13", "HIGH", "ticket", [10, 12])
    follows = flow(step("publish", 10, PUBLISH, on_error=OnError.SWALLOW), step("tag", 12, effect(Kind.GIT)))
    assert only("R-13", follows) == ("R-13", "MEDIUM", "publish", [10, 12])
    label = step("label", 10, effect(Kind.CREATE, action="github.label"), on_error=OnError.SWALLOW)
    cache = step("cache", 10, effect(Kind.FILE), on_error=OnError.SWALLOW)
    silent("R-13", flow(label, step("tag", 12, effect(Kind.GIT))), flow(cache, step("other", 12, effect(Kind.FILE))))


def test_r13_what_comes_later_by_a_loop_alone_is_about_the_next_item() -> None:
    looped = flow(
        step("tag", 10, effect(Kind.GIT)),
        step("publish", 12, PUBLISH, on_error=OnError.CONTINUE),
        edges=edges("tag", "publish", "tag"),
    )
    silent("R-13", looped)


def test_r13_nobody_learns_that_the_last_effect_was_not_done() -> None:
    lost = flow(step("ticket", 10, TICKET, on_error=OnError.SWALLOW))
    assert only("R-13", lost) == ("R-13", "MEDIUM", "ticket", [10])
    handed = step("queue", 12, effect(Kind.ENQUEUE), unit="another")
    silent(
        "R-13",
        flow(step("ticket", 10, TICKET, on_error=OnError.CONTINUE)),
        flow(step("chat", 10, CHAT, on_error=OnError.SWALLOW)),
        flow(step("ticket", 10, TICKET, on_error=OnError.SWALLOW), handed, edges=(edge("ticket", "queue", When.ERROR),)),
    )


def test_r13_is_silent_when_the_failure_stops_or_is_asked_for() -> None:
    ticket = step("ticket", 10, TICKET, on_error=OnError.CONTINUE)
    silent(
        "R-13",
        flow(step("ticket", 10, TICKET), step("link", 12, needs_output_of=("ticket",))),
        flow(ticket, step("link", 12, TICKET, needs_output_of=("ticket",), condition="steps.ticket.outcome == 'success'")),
        flow(ticket, step("compute", 12)),
        flow(step("chat", 10, CHAT, on_error=OnError.CONTINUE), step("up", 12, DEPLOY)),
    )


# ── R-14 ──


def test_r14_what_timed_out_is_booked_as_failed_without_a_look() -> None:
    charge, reject = step("charge", 10, PAY, unit="a"), step("reject", 20, STOCK, unit="b")
    bad = flow(charge, reject, edges=(edge("charge", "reject", When.ERROR),))
    assert only("R-14", bad) == ("R-14", "HIGH", "charge", [10, 20])
    unsure = flow(step("post", 10, POST, unit="a"), reject, edges=(edge("post", "reject", When.ERROR),))
    assert only("R-14", unsure)[1] == "MEDIUM"


def test_r14_the_booking_may_come_after_other_steps_of_the_way() -> None:
    steps = (
        step("charge", 10, PAY, unit="a"),
        step("wait", 20, unit="b"),
        step("sorry", 30, MAIL, unit="c", marks=marked(Mark.FAILURE_NOTICE)),
    )
    bad = flow(*steps, edges=(edge("charge", "wait", When.ERROR), edge("wait", "sorry")))
    assert only("R-14", bad) == ("R-14", "HIGH", "charge", [10, 30])


def test_r14_a_look_before_the_effect_has_not_seen_it() -> None:
    look, charge = step("look", 40, effect(Kind.READ), unit="l"), step("charge", 10, PAY, unit="a", on_error=OnError.ROUTE, order=41)
    for guarded in (
        step("reject", 30, STOCK, unit="b", guard=span(9), order=42),
        step("reject", 30, STOCK, unit="b", guard=span(40), order=42),
    ):
        bad = flow(look, charge, guarded, edges=(edge("look", "charge"), edge("charge", "reject", When.ERROR)))
        assert only("R-14", bad) == ("R-14", "HIGH", "charge", [10, 30])
    routed = step("reject", 30, STOCK, unit="b", extra={"branch": "failure"}, order=42)
    assert only("R-14", flow(charge, routed, edges=(edge("charge", "reject", When.ERROR),)))[2] == "charge"


def test_r14_what_timed_out_is_done_again() -> None:
    timeout = Fact(span(11, "steps.pay.timeout"), "timeout: 30")
    bad = flow(step("pay", 10, PAY, identity=KEYLESS, timeout=30, repeaters=(RETRY,), facts=(timeout,)))
    assert only("R-14", bad) == ("R-14", "HIGH", "pay", [10, 11, 80])
    assert "after 30 seconds" in text("R-14", bad)


def test_r14_is_silent_after_a_look_and_for_the_own_team() -> None:
    charge = step("charge", 10, PAY, unit="a")
    look, reject = step("look", 20, effect(Kind.READ), unit="b"), step("reject", 30, STOCK, unit="c")
    chat = step("chat", 20, CHAT, unit="b", marks=marked(Mark.FAILURE_NOTICE))
    queue = step("queue", 20, effect(Kind.ENQUEUE), unit="b")
    silent(
        "R-14",
        flow(charge, look, reject, edges=(edge("charge", "look", When.ERROR), edge("look", "reject"))),
        flow(charge, step("reject", 30, STOCK, unit="c", guard=span(29)), edges=(edge("charge", "reject", When.ERROR),)),
        flow(charge, step("reject", 30, STOCK, unit="c", extra={"branch": "failure"}), edges=(edge("charge", "reject", When.ERROR),)),
        flow(charge, chat, edges=(edge("charge", "chat", When.ERROR),)),
        flow(charge, queue, edges=(edge("charge", "queue", When.ERROR),)),
        flow(step("up", 10, DEPLOY, unit="a"), reject, edges=(edge("up", "reject", When.ERROR),)),
        flow(step("pay", 10, PAY, identity=identity(Bearing.STABLE), timeout=30, repeaters=(RETRY,))),
        flow(step("pay", 10, PAY, identity=KEYLESS, repeaters=(RETRY,))),
    )


def test_r14_the_limit_of_the_whole_ends_its_retry_too() -> None:
    slow: dict[str, Any] = {"timeout": 60.0, "repeaters": (RETRY,)}
    assert only("R-14", flow(step("post", 10, POST, **slow)))[1] == "MEDIUM"
    silent("R-14", flow(step("post", 10, POST, **slow, extra={"limit": "whole"})))


# ── R-15 ──


def test_r15_nothing_ends_a_step_that_hangs() -> None:
    bad = flow(step("pay", 10, PAY, timeout_known=True), step("more", 11, PAY, timeout_known=True))
    assert only("R-15", bad) == ("R-15", "MEDIUM", "pay", [10])
    assert only("R-15", flow(step("up", 10, DEPLOY, timeout_known=True)))[1] == "LOW"  # who learns of it late does it again
    wait = flow(step("wait", 10, timeout_known=True, marks=marked(Mark.WAIT)))
    assert only("R-15", wait) == ("R-15", "LOW", "wait", [10])  # nothing but the wait is open
    assert "The wait wait" in text("R-15", wait)
    assert only("R-15", flow(step("pay", 9, PAY, timeout=9), *wait.steps))[1] == "MEDIUM"


def test_r15_names_the_limit_that_the_engine_has_of_its_own() -> None:
    bad = flow(step("up", 10, DEPLOY, timeout_known=True, ends_after=21_600.0))
    assert only("R-15", bad) == ("R-15", "LOW", "up", [10])
    assert text("R-15", bad) == "No limit of time is set for helm upgrade: when it hangs, only the engine's own ends it, after 6 hours."
    silent("R-15", flow(step("up", 10, DEPLOY, timeout_known=True, ends_after=900.0)))


def test_r15_who_has_started_a_script_by_hand_sees_that_a_command_hangs() -> None:
    command = step("run", 10, effect(Kind.UNKNOWN, told="subprocess.run"), timeout_known=True)
    by_hand: dict[str, Any] = {"triggers": (trigger(Starting.MANUAL),), "extra": {"engine": "script"}}
    silent("R-15", flow(command, **by_hand))
    assert only("R-15", flow(step("ask", 10, POST, timeout_known=True), **by_hand))[2] == "ask"
    assert only("R-15", flow(command, **by_hand | {"triggers": (trigger(Starting.SCHEDULE),)}))[2] == "run"


def test_r15_is_silent_with_a_timeout_and_where_the_format_has_none() -> None:
    silent(
        "R-15",
        flow(step("up", 10, DEPLOY, timeout_known=True, timeout=600)),
        flow(step("up", 10, DEPLOY)),
        flow(step("compute", 10, timeout_known=True)),
    )


# ── R-16 ──


@pytest.mark.parametrize(("does", "severity"), [(TICKET, "HIGH"), (PAY, "HIGH"), (effect(Kind.CREATE, certain=False), "MEDIUM")])
def test_r16_the_id_is_not_kept(does: Any, severity: str) -> None:
    assert only("R-16", flow(step("make", 10, does, identity=KEYLESS))) == ("R-16", severity, "make", [10])


def test_r16_a_remark_stands_below_its_thing() -> None:
    silent("R-16", flow(step("say", 10, effect(Kind.CREATE, told="jira issueComment add"), identity=KEYLESS)))


def test_r16_is_silent_when_the_id_is_kept_or_another_one_is_known() -> None:
    silent(
        "R-16",
        flow(step("make", 10, TICKET, kept=(span(11),))),
        flow(step("make", 10, TICKET, identity=identity(Bearing.NATURAL))),
        flow(step("make", 10, TICKET, guard=span(9))),
        flow(step("make", 10, effect(Kind.CREATE, certain=False), opaque=Unread("shop.make", "why", span(10)))),
        flow(step("mail", 10, MAIL)),
    )


# ── R-17 ──


GATE = "needs.release.outputs.published == 'true'"


def gated(name: str, line: int, condition: str = GATE, **more: Any) -> Step:
    return step(name, line, DEPLOY, unit="b", condition=condition, **more)


def test_r17_later_effects_wait_for_what_only_this_run_did() -> None:
    release = step("release", 10, PUBLISH, unit="a")
    bad = flow(release, gated("docker", 20), gated("helm", 21), edges=edges("release", "docker"))
    assert only("R-17", bad) == ("R-17", "HIGH", "docker", [20, 10])
    named = flow(
        release, step("other", 11, TICKET, unit="a"), gated("docker", 20, needs_output_of=("release",)), edges=edges("other", "docker")
    )
    assert only("R-17", named) == ("R-17", "HIGH", "docker", [20, 10])
    unread = step("docker", 20, unit="b", condition=GATE, opaque=Unread("./publish.yml", "why", span(20)))
    assert only("R-17", flow(release, unread, edges=edges("release", "docker"))) == ("R-17", "HIGH", "docker", [20, 10])
    way_past = flow(release, gated("docker", 20, f"{GATE} || inputs.force"), edges=edges("release", "docker"))
    assert only("R-17", way_past)[1] == "MEDIUM"


@pytest.mark.parametrize(
    ("condition", "severity"),
    [
        (f"(github.event_name == 'push' || inputs.again) && {GATE}", "HIGH"),
        (f"github.ref == 'main' && ({GATE} || inputs.force)", "MEDIUM"),
        (f"inputs.force || github.ref == 'main' && {GATE}", "MEDIUM"),
    ],
)
def test_r17_only_what_opens_the_gate_itself_is_a_way_past_it(condition: str, severity: str) -> None:
    made = flow(step("release", 10, PUBLISH, unit="a"), gated("docker", 20, condition), edges=edges("release", "docker"))
    assert only("R-17", made)[1] == severity


def test_r17_is_silent_when_it_is_asked_whether_the_thing_exists() -> None:
    release = step("release", 10, PUBLISH, unit="a")
    silent(
        "R-17",
        flow(release, gated("docker", 20, "needs.release.outputs.exists == 'true'"), edges=edges("release", "docker")),
        flow(release, gated("docker", 20, "success()"), edges=edges("release", "docker")),
        flow(release, gated("docker", 20, guard=span(19)), edges=edges("release", "docker")),
        flow(release, gated("docker", 20)),
    )


# ── R-18 ──


def test_r18_it_is_marked_before_it_is_done() -> None:
    claim = step("claim", 10, STOCK, marks=marked(Mark.CLAIM))
    assert only("R-18", flow(claim, step("mail", 12, MAIL))) == ("R-18", "HIGH", "claim", [10, 12])
    passed_over = step("mail", 12, MAIL, on_error=OnError.SWALLOW)
    assert only("R-18", flow(claim, passed_over)) == ("R-18", "HIGH", "claim", [10, 12])
    looked = (
        step("look", 8, effect(Kind.READ)),
        step("claim", 10, STOCK, marks=marked(Mark.CLAIM), guard=span(8)),
        step("mail", 12, MAIL, guard=span(8)),
    )
    assert only("R-18", flow(*looked)) == ("R-18", "HIGH", "claim", [10, 12])
    assert only("R-18", flow(claim, step("chat", 12, CHAT))) == ("R-18", "MEDIUM", "claim", [10, 12])


def test_r18_is_silent_with_two_states_or_a_mark_that_is_taken_back() -> None:
    claim = step("claim", 10, STOCK, marks=marked(Mark.CLAIM))
    done, undo = step("done", 14, STOCK, marks=marked(Mark.CLAIM)), step("undo", 14, STOCK, marks=marked(Mark.RECOVERY))
    mail = step("mail", 12, MAIL)
    silent(
        "R-18",
        flow(claim, mail, done),
        flow(claim, mail, undo, edges=(edge("mail", "undo", When.ERROR),)),
        flow(step("mail", 8, MAIL), claim),
        flow(claim, step("compute", 12), step("log", 13, effect(Kind.FILE))),
    )


# ── R-19 ──


def test_r19_progress_is_written_down_after_the_loop() -> None:
    loop = repeater(Repeating.LOOP, None, line=8)
    cursor = step("cursor", 14, STOCK, marks=marked(Mark.CURSOR))
    assert only("R-19", flow(step("ticket", 10, TICKET, repeaters=(loop,)), cursor)) == ("R-19", "HIGH", "ticket", [10, 8, 14])
    assert only("R-19", flow(step("post", 10, POST, marks=marked(Mark.IN_LOOP)), cursor)) == ("R-19", "HIGH", "post", [10, 14])
    assert "not known" in text("R-19", flow(step("post", 10, POST, marks=marked(Mark.IN_LOOP)), cursor))


def test_r19_is_silent_when_each_item_is_written_down_or_safe() -> None:
    cursor = step("cursor", 14, STOCK, marks=marked(Mark.CURSOR))
    inside = step("seen", 12, STOCK, marks=frozenset({Mark.CLAIM, Mark.IN_LOOP}))
    ticket = step("ticket", 10, TICKET, marks=marked(Mark.IN_LOOP))
    silent(
        "R-19",
        flow(ticket, inside, cursor),
        flow(step("pay", 10, PAY, identity=identity(Bearing.STABLE), marks=marked(Mark.IN_LOOP)), cursor),
        flow(step("ticket", 10, TICKET), cursor),
        flow(ticket),
    )


# ── R-20 ──


def test_r20_the_engine_can_undo_and_nothing_is_registered() -> None:
    bad = flow(
        step("stock", 10, STOCK, unit="a"), step("ship", 20, TICKET, unit="b", fallible=True), edges=edges("stock", "ship"), undoes=True
    )
    assert told(findings(RULES["R-20"], bad)[0]) == ("R-20", "HIGH", "stock", [10, 20])
    assert len(findings(RULES["R-20"], bad)) == 1


def test_r20_a_row_of_ones_own_is_less() -> None:
    row = step("row", 10, effect(Kind.RECORD, told="dynamodb putItem", action="dynamodb.put"), unit="a")
    bad = flow(row, step("ship", 20, TICKET, unit="b"), edges=edges("row", "ship"), undoes=True)
    assert only("R-20", bad)[1] == "LOW"


def test_r20_is_a_blocker_for_money_when_the_later_failure_has_its_way() -> None:
    steps = step("charge", 10, PAY, unit="a"), step("seat", 20, STOCK, unit="b"), step("sorry", 30, MAIL, unit="c")
    ways = (edge("charge", "seat"), edge("seat", "sorry", When.ERROR))
    assert only("R-20", flow(*steps, edges=ways)) == ("R-20", "BLOCKER", "charge", [10, 20, 30])
    unsure = step("charge", 10, effect(Kind.MONEY, reversible=Reversible.UNKNOWN), unit="a")
    assert only("R-20", flow(unsure, *steps[1:], edges=ways))[1] == "BLOCKER"
    refund = step("sorry", 30, PAY, unit="c", marks=marked(Mark.RECOVERY))
    silent("R-20", flow(*steps[:2], refund, edges=ways))


def test_r20_a_later_result_that_says_failed_is_a_way_of_the_failure_too() -> None:
    refused = step("refused", 30, TICKET, unit="c", extra={"branch": "failure"})
    steps = step("charge", 10, PAY, unit="a"), step("ship", 20, STOCK, unit="b"), refused
    ways = edges("charge", "ship", "refused")
    assert told(findings(RULES["R-20"], flow(*steps, edges=ways))[0]) == ("R-20", "BLOCKER", "charge", [10, 20, 30])
    silent("R-20", flow(*steps[:2], step("more", 30, TICKET, unit="c"), edges=ways[:1]))


def test_r20_is_silent_when_it_is_taken_back_or_cannot_be() -> None:
    ship = step("ship", 20, TICKET, unit="b")
    joined = {"edges": edges("stock", "ship"), "undoes": True}
    final = effect(Kind.RECORD, reversible=Reversible.NO)
    silent(
        "R-20",
        flow(step("stock", 10, STOCK, unit="a", undo=Undo("release", span(12))), ship, **joined),
        flow(step("stock", 10, final, unit="a"), ship, **joined),
        flow(step("stock", 10, STOCK, unit="a"), step("ship", 20, MAIL, unit="b"), **joined),
        flow(step("stock", 10, STOCK, unit="a"), step("ship", 20, TICKET, unit="b", fallible=False), **joined),
        flow(step("stock", 10, STOCK, unit="a"), ship, edges=edges("stock", "ship")),
        flow(step("stock", 10, STOCK, unit="a"), undoes=True),
        # Round a loop the next item follows, and leaves the last one whole.
        flow(step("price", 5, TICKET, unit="p", undo=Undo("drop", span(6))), step("stock", 10, STOCK, unit="a"),
             edges=(edge("price", "stock"), edge("stock", "price")), undoes=True),
    )  # fmt: skip


# ── R-21 ──


def test_r21_only_some_of_the_effects_are_taken_back_by_the_engine() -> None:
    steps = (
        step("stock", 10, STOCK, unit="a"),
        step("charge", 20, PAY, unit="b", undo=Undo("refund", span(22))),
        step("ship", 30, PUBLISH, unit="c"),
    )
    assert only("R-21", flow(*steps, edges=edges("stock", "charge", "ship"))) == ("R-21", "HIGH", "stock", [10, 30, 22])


def saga(*back: str) -> Flow:
    """Stock, then money, then a dispatch whose failure is followed by so many steps back."""
    forward = (
        step("stock", 10, STOCK, unit="stock", undo=Undo("release", span(50))),
        step("charge", 20, PAY, unit="charge", undo=Undo("refund", span(40))),
        step("ship", 30, PUBLISH, unit="ship"),
    )
    lines = {"refund": 40, "release": 50}
    steps = [step(name, lines[name], PAY, unit=name, marks=marked(Mark.RECOVERY)) for name in lines]
    return flow(
        *forward,
        *steps,
        edges=(*edges("stock", "charge", "ship"), edge("ship", back[0], When.ERROR), *edges(*back), edge("charge", "release", When.ERROR)),
    )


def test_r21_one_way_of_a_failure_forgets_an_effect() -> None:
    assert only("R-21", saga("refund")) == ("R-21", "HIGH", "stock", [10, 30, 40])
    silent("R-21", saga("release"))  # no edge leads to the refund: the engine calls it


def test_r21_an_effect_that_is_taken_back_on_another_way_only() -> None:
    stock = step("stock", 10, STOCK, unit="a", undo=Undo("release", span(50)))
    seat, ship = step("seat", 20, PUBLISH, unit="b"), step("ship", 30, PUBLISH, unit="c")
    release, sorry = step("release", 50, STOCK, unit="r", marks=marked(Mark.RECOVERY)), step("sorry", 60, CHAT, unit="s")
    ways = (*edges("stock", "seat", "ship"), edge("seat", "release", When.ERROR), edge("ship", "sorry", When.ERROR))
    assert only("R-21", flow(stock, seat, ship, release, sorry, edges=ways)) == ("R-21", "HIGH", "stock", [10, 30, 50])


def test_r21_is_silent_when_all_are_taken_back_or_none_is() -> None:
    final = effect(Kind.RECORD, reversible=Reversible.NO)
    silent(
        "R-21",
        saga("refund", "release"),
        flow(step("stock", 10, STOCK), step("charge", 20, PAY), step("ship", 30, PUBLISH)),
        flow(step("stock", 10, final), step("charge", 20, PAY, undo=Undo("refund", span(22))), step("ship", 30, PUBLISH)),
        flow(
            step("stock", 10, STOCK, undo=Undo("release", span(12))),
            step("charge", 20, PAY, undo=Undo("refund", span(22))),
            step("ship", 30, PUBLISH),
        ),
        flow(step("stock", 10, STOCK), step("charge", 20, PAY, undo=Undo("refund", span(22), reached=False)), step("ship", 30, PUBLISH)),
    )


# ── R-22 ──


def test_r22_the_undo_needs_an_answer_that_may_be_lost() -> None:
    bad = flow(step("charge", 10, PAY, undo=Undo("refund", span(22), tolerant=False)))
    assert only("R-22", bad) == ("R-22", "HIGH", "charge", [10, 22])


def test_r22_is_silent_when_the_undo_does_without_or_is_never_reached() -> None:
    silent(
        "R-22",
        flow(step("charge", 10, PAY, undo=Undo("refund", span(22)))),
        flow(step("charge", 10, PAY, undo=Undo("refund", span(22), tolerant=False, reached=False))),
        flow(step("charge", 10, PAY)),
    )
