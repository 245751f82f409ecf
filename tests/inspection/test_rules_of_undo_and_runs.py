"""Rules R-23 to R-25, R-30 and R-40 to R-43: for each a flow in which it finds something, and flows in which it must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from halfway.inspection.formats.moving import moving
from halfway.inspection.model import (
    Bearing,
    Fact,
    Flow,
    Kind,
    Mark,
    OnError,
    Outcome,
    Ran,
    Receiver,
    Repeat,
    RunLog,
    Span,
    Starting,
    Step,
    Undo,
    Unread,
    When,
)
from halfway.inspection.rules import all_rules
from halfway.inspection.source import Source
from tests.inspection.flows import RETRY, edge, edges, effect, findings, flow, identity, span, step, told, trigger

RULES = {rule.id: rule for rule in all_rules()}
PAY = effect(Kind.MONEY, repeat=Repeat.WITH_KEY, told="POST pay.example")
REFUND = effect(Kind.MONEY, repeat=Repeat.WITH_KEY, told="POST pay.example/refunds")
TICKET = effect(Kind.CREATE, told="create ticket")
CHAT = effect(Kind.NOTIFY, told="post to the channel", receiver=Receiver.TEAM)
DEPLOY = effect(Kind.DEPLOY, repeat=Repeat.SAFE, told="helm upgrade")
FORCE = effect(Kind.GIT, Kind.DELETE, repeat=Repeat.SAFE, told="git push --force")
LOAD = effect(Kind.RECORD, repeat=Repeat.UNKNOWN, told="pg_restore")
REMOVE = effect(Kind.DELETE, repeat=Repeat.SAFE, told="aws s3 rm")
KEY, KEYLESS = identity(Bearing.STABLE), identity(Bearing.NONE)


def only(rule: str, flow: Flow, **more: Any) -> tuple[str, str, str, list[int]]:
    (finding,) = findings(RULES[rule], flow, **more)
    assert "None" not in finding.inference.text.format(**finding.inference.params)
    return told(finding)


def text(rule: str, flow: Flow, **more: Any) -> str:
    (finding,) = findings(RULES[rule], flow, **more)
    return finding.inference.text.format(**finding.inference.params)


def silent(rule: str, *flows: Flow, **more: Any) -> None:
    assert [told(one) for given in flows for one in findings(RULES[rule], given, **more)] == []


def marked(*marks: Mark) -> frozenset[Mark]:
    return frozenset(marks)


# ── R-23 ──


def undone(retried: bool = True, reached: bool = True, **back: Any) -> Flow:
    charge = step("charge", 10, PAY, unit="a", undo=Undo("refund", span(30), reached=reached, retried=retried))
    given = {"unit": "r", "identity": KEYLESS, "marks": marked(Mark.RECOVERY), **back}
    ship, refund = step("ship", 20, TICKET, unit="b"), step("refund", 30, given.pop("does", REFUND), **given)
    return flow(charge, ship, refund, edges=(*edges("charge", "ship"), edge("ship", "refund", When.ERROR)))


def test_r23_an_undo_that_is_tried_again_is_done_twice() -> None:
    bad = undone(repeaters=(RETRY,))
    assert only("R-23", bad) == ("R-23", "HIGH", "charge", [10, 30, 80])
    assert text("R-23", bad) == "When the answer of refund is lost, it is done again, and POST pay.example is taken back a second time."
    unknown = undone(repeaters=(RETRY,), identity=None)
    assert text("R-23", unknown).endswith("whether POST pay.example is then taken back twice is not known.")


def test_r23_an_undo_that_fails_is_left_alone() -> None:
    assert only("R-23", undone(retried=False)) == ("R-23", "HIGH", "charge", [10, 30])
    assert text("R-23", undone(retried=False)).startswith("When refund itself fails, nothing tries it again")
    assert text("R-23", undone(on_error=OnError.SWALLOW)).startswith("When refund itself fails, that is passed over")


def test_r23_credits_a_key_a_retry_and_who_takes_over() -> None:
    alone = undone(retried=False)
    human = step("human", 40, CHAT, unit="h")
    silent(
        "R-23",
        undone(repeaters=(RETRY,), identity=KEY),
        undone(),
        replace(alone, steps=(*alone.steps, human), edges=(*alone.edges, edge("refund", "human", When.ERROR))),
        undone(retried=False, reached=False),
        undone(retried=False, opaque=Unread("refund.jar", "{what}", span(30))),
        flow(step("charge", 10, PAY, undo=Undo("the engine's own", span(30), retried=False))),
    )


# ── R-24 ──


def test_r24_an_undo_that_nothing_calls() -> None:
    assert only("R-24", undone(reached=False)) == ("R-24", "MEDIUM", "charge", [10, 30])
    assert text("R-24", undone(reached=False)) == (
        "refund is there to take back POST pay.example, and no way of a failure leads to it: it never runs."
    )
    silent("R-24", undone(), flow(step("charge", 10, PAY)))


# ── R-25 ──


def after_failure(back: Step) -> Flow:
    return flow(step("deploy", 10, DEPLOY, unit="a"), replace(back, unit="b"), edges=(edge("deploy", back.id, When.ERROR),))


@pytest.mark.parametrize(
    ("back", "why"),
    [
        (step("push", 20, FORCE), "overwrites what others may have pushed since"),
        (step("load", 20, LOAD), "puts older values in the place of all that was written since"),
        (step("drop", 20, REMOVE, quote="aws s3 rm s3://shop/backup.sql"), "deletes the copy"),
    ],
)
def test_r25_a_way_back_that_destroys(back: Step, why: str) -> None:
    assert only("R-25", after_failure(back)) == ("R-25", "BLOCKER", back.id, [20])
    assert why in text("R-25", after_failure(back))
    assert only("R-25", replace(flow(back), name="rollback.sh"))[2] == back.id
    assert only("R-25", flow(replace(back, marks=marked(Mark.RECOVERY))))[2] == back.id


def test_r25_credits_a_look_and_what_only_takes_back_its_own() -> None:
    own_tag = effect(Kind.GIT, Kind.DELETE, repeat=Repeat.SAFE, told="git push --delete")
    silent(
        "R-25",
        after_failure(step("push", 20, FORCE, guard=span(19))),
        after_failure(step("tag", 20, own_tag, quote="git push origin --delete v1")),
        after_failure(step("drop", 20, REMOVE, quote="aws s3 rm s3://shop/upload-1")),
        flow(step("push", 20, FORCE)),  # a mirror that is forced on the way of a success
        flow(step("load", 20, LOAD)),
    )


# ── R-30 ──


def alarm(does: Any = TICKET, *, starts: Starting = Starting.SCHEDULE, **more: Any) -> Flow:
    given = {"unit": "z", "marks": marked(Mark.FAILURE_NOTICE), "identity": KEYLESS, **more}
    sync = step("sync", 10, PAY, unit="a", identity=KEY)
    return flow(sync, step("alarm", 20, does, **given), edges=(edge("sync", "alarm", When.ERROR),), triggers=(trigger(starts),))


def test_r30_an_alarm_that_opens_another_ticket_each_time() -> None:
    assert only("R-30", alarm()) == ("R-30", "MEDIUM", "alarm", [20, 2])
    assert only("R-30", alarm(starts=Starting.MANUAL, repeaters=(RETRY,))) == ("R-30", "MEDIUM", "alarm", [20, 80])


def test_r30_an_alarm_that_fails_without_a_word() -> None:
    assert only("R-30", alarm(CHAT, on_error=OnError.SWALLOW)) == ("R-30", "MEDIUM", "alarm", [20])


def test_r30_credits_a_look_and_another_alarm() -> None:
    two = alarm(CHAT, on_error=OnError.SWALLOW)
    silent(
        "R-30",
        alarm(guard=span(19)),
        alarm(CHAT),
        alarm(starts=Starting.MANUAL),
        replace(two, steps=(*two.steps, step("mail", 30, CHAT, marks=marked(Mark.FAILURE_NOTICE)))),
        flow(step("ticket", 10, TICKET), triggers=(trigger(Starting.SCHEDULE),)),
    )


# ── R-40 ──


def looked(does: Any = TICKET, *, proof: bool = False, **more: Any) -> Flow:
    return flow(step("ticket", 10, does, guard=span(8), guard_is_proof=proof), **{"triggers": (trigger(Starting.EVENT),), **more})


def test_r40_a_look_that_is_no_proof() -> None:
    assert only("R-40", looked()) == ("R-40", "MEDIUM", "ticket", [10, 8])
    assert only("R-40", looked(effect(Kind.UNKNOWN, repeat=Repeat.UNKNOWN)))[1] == "LOW"
    assert text("R-40", looked(effect(Kind.CREATE, certain=False))).endswith("whether a second call then has a second effect is not known.")
    retried = flow(step("ticket", 10, TICKET, guard=span(8), guard_is_proof=False, repeaters=(RETRY,)))
    assert only("R-40", retried)[2] == "ticket"


def test_r40_credits_a_proof_and_a_receiver_that_refuses() -> None:
    silent(
        "R-40",
        looked(proof=True),
        looked(effect(Kind.CREATE, repeat=Repeat.REJECTS)),
        looked(triggers=(trigger(Starting.MANUAL),)),
        flow(step("ticket", 10, TICKET), triggers=(trigger(Starting.EVENT),)),
    )


# ── R-41 ──

FETCHED = """
    steps:
      - uses: shop/deploy@main
      - uses: shop/build@v3 # was shop/build@main
      - run: curl -sL https://get.example/install.sh | sudo bash
      - run: curl -O https://code.example/tool/releases/latest/download/tool.tgz
    image: shop/worker:latest
    image: shop/web
    image: shop/web:1.2
    image: shop/db@sha256:abc
"""


def test_r41_what_is_fetched_anew_by_each_run() -> None:
    facts = moving(Source("flow.yml", FETCHED))
    assert [fact.span.line for fact in facts] == [3, 5, 6, 7]
    assert [fact.span.line for fact in moving(Source("flow.yml", FETCHED), Span("flow.yml", 7, 10))] == [7, 8]
    bad = flow(step("deploy", 10, DEPLOY), moving=facts)
    assert only("R-41", bad) == ("R-41", "LOW", "", [3, 5, 6])
    assert text("R-41", bad).startswith("A run that is started again may be another one than the first")
    silent("R-41", flow(step("deploy", 10, DEPLOY)), flow(step("build", 10), moving=facts))


# ── R-42 ──


def log(**outcomes: Outcome) -> RunLog:
    ran = tuple(Ran(name, "", how, Fact(Span("log.json", 100 + place), how.value)) for place, (name, how) in enumerate(outcomes.items()))
    return RunLog(id="7", format="made-up", name="flow", attempt=1, span=Span("log.json", 1), steps=ran, version="b")


SHOP = flow(step("deploy", 10, DEPLOY), step("charge", 20, PAY), step("chat", 30, CHAT))
LANDED, OPEN, NEVER = Outcome.LANDED, Outcome.UNKNOWN, Outcome.NOT_EXECUTED


def test_r42_the_log_shows_what_is_half_done() -> None:
    assert only("R-42", SHOP, run=log(deploy=LANDED, charge=LANDED, chat=OPEN)) == ("R-42", "BLOCKER", "charge", [20, 101, 102, 100])
    assert text("R-42", SHOP, run=log(deploy=LANDED, charge=LANDED, chat=OPEN)) == (
        "The log shows that POST pay.example was done and that chat was not finished: the run 7 is half done."
    )
    begun = log(deploy=LANDED, charge=OPEN, chat=NEVER)
    assert only("R-42", SHOP, run=begun) == ("R-42", "BLOCKER", "charge", [20, 101, 100])
    assert text("R-42", SHOP, run=begun).startswith("The log shows that POST pay.example was begun and not how it ended")
    assert only("R-42", SHOP, run=log(deploy=OPEN, charge=NEVER))[1:3] == ("HIGH", "deploy")


def test_r42_is_silent_about_a_run_that_is_whole_or_has_done_nothing() -> None:
    silent("R-42", SHOP)
    silent("R-42", SHOP, run=log(deploy=LANDED, charge=LANDED, chat=LANDED))
    silent("R-42", SHOP, run=log(deploy=NEVER, charge=NEVER))
    silent("R-42", flow(step("build", 5), step("deploy", 10, DEPLOY)), run=log(build=OPEN, deploy=NEVER))


# ── R-43 ──


def test_r43_the_run_was_of_another_version() -> None:
    (finding,) = findings(RULES["R-43"], replace(SHOP, version="a"), run=log())
    assert (finding.severity.name, finding.span) == ("MEDIUM", Span("log.json", 1))
    assert [fact.quote for fact in finding.facts] == ["version: b", "version: a"]
    silent("R-43", replace(SHOP, version="b"), SHOP, run=log())
    silent("R-43", replace(SHOP, version="a"), run=replace(log(), version=""))
    silent("R-43", replace(SHOP, version="a"))
