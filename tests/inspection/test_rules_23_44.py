"""Rules R-26 to R-44: for each a flow in which it finds something, and flows in which it must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from halfway.inspection.model import (
    Bearing,
    Fact,
    Flow,
    Gate,
    Kind,
    Mark,
    Receiver,
    Repeat,
    Repeating,
    Reversible,
    Starting,
    Step,
    Unread,
)
from halfway.inspection.rules import all_rules
from tests.inspection.flows import RERUN, RETRY, edge, edges, effect, findings, flow, guard, identity, repeater, span, step, told, trigger

RULES = {rule.id: rule for rule in all_rules()}
PAY = effect(Kind.MONEY, repeat=Repeat.WITH_KEY, told="POST pay.example", action="pay.create")
MAIL = effect(Kind.NOTIFY, told="send mail", receiver=Receiver.CUSTOMER)
CHAT = effect(Kind.NOTIFY, told="post to the channel", receiver=Receiver.TEAM)
TICKET = effect(Kind.CREATE, told="create ticket")
DEPLOY = effect(Kind.DEPLOY, repeat=Repeat.SAFE, told="helm upgrade")
PUBLISH = effect(Kind.PUBLISH, repeat=Repeat.REJECTS, told="twine upload", reversible=Reversible.NO)
POST = effect(Kind.UNKNOWN, repeat=Repeat.UNKNOWN, told="POST unknown.example")
SHEET = effect(Kind.RECORD, told="append a row")
QUERY = effect(Kind.RECORD, repeat=Repeat.UNKNOWN, told="executeQuery")
CHARGE = effect(Kind.MONEY, repeat=Repeat.UNKNOWN, told="charge")
LOOK = effect(Kind.READ, repeat=Repeat.SAFE, told="GET unknown.example")
AGENT = effect(Kind.AGENT, repeat=Repeat.UNKNOWN, told="claude -p")
FAR_AGENT = effect(Kind.AGENT, repeat=Repeat.UNKNOWN, told="POST agents.example")
KEYLESS = identity(Bearing.NONE)
AGAIN = repeater(Repeating.REDELIVERY, bound=None, line=2)
RESTART = repeater(Repeating.RESTART, bound=None, line=82)


def only(rule: str, flow: Flow) -> tuple[str, str, str, list[int]]:
    """The one finding of a rule; its texts fill without a gap left."""
    (finding,) = findings(RULES[rule], flow)
    assert "None" not in finding.inference.text.format(**finding.inference.params)
    return told(finding)


def text(rule: str, flow: Flow) -> str:
    (finding,) = findings(RULES[rule], flow)
    return finding.inference.text.format(**finding.inference.params)


def silent(rule: str, *flows: Flow) -> None:
    assert [told(one) for given in flows for one in findings(RULES[rule], given)] == []


def marked(*marks: Mark) -> frozenset[Mark]:
    return frozenset(marks)


def approval(line: int = 70, **more: Any) -> Gate:
    return Gate("approval", span(line), **more)


# ── R-28 ──


def broken(names: str, *steps: Step) -> Flow:
    asked = (Fact(span(4), "version:"), Fact(span(5), "dry_run:"), Fact(span(6), "run: upload ${{ github.ref_name }}"))
    return replace(flow(*steps, triggers=(trigger(Starting.MANUAL),)), facts=asked, extra={"broken_inputs": names})


def test_r28_a_missing_value_flows_into_an_effect() -> None:
    bad = broken("version; github.ref_name", step("upload", 10, PUBLISH, extra={"broken_inputs": "github.ref_name"}))
    assert only("R-28", bad) == ("R-28", "HIGH", "upload", [10, 6])
    assert text("R-28", bad) == (
        "twine upload takes github.ref_name: in a start by hand or by the clock that is empty, or something else than is meant."
    )


def test_r28_quotes_the_places_of_the_step_itself() -> None:
    mine = Fact(span(9), "VERSION=${{ github.ref_name }}")
    bad = broken("github.ref_name", step("upload", 10, PUBLISH, extra={"broken_inputs": "github.ref_name"}, facts=(mine,)))
    assert only("R-28", bad) == ("R-28", "HIGH", "upload", [10, 9])


def test_r28_an_input_that_nothing_reads_is_said_of_the_flow() -> None:
    version = broken("version", step("upload", 10, PUBLISH))
    assert only("R-28", version) == ("R-28", "LOW", "", [4])  # it may be left empty
    assert only("R-28", replace(version, extra={**version.extra, "broken_required": "version"})) == ("R-28", "MEDIUM", "", [4])
    assert only("R-28", replace(version, extra={**version.extra, "broken_required": "reason"})) == ("R-28", "LOW", "", [4])
    assert only("R-28", broken("dry_run", step("upload", 10, PUBLISH))) == ("R-28", "HIGH", "", [5])
    assert text("R-28", broken("dry_run", step("upload", 10, PUBLISH))) == (
        "Nothing reads dry_run: who starts it by hand to try it out starts the real effects."
    )


def test_r28_says_nothing_of_notes_for_people_and_of_flows_without_effects() -> None:
    compute = step("compute", 10, extra={"broken_inputs": "version"})
    silent("R-28", broken("reason", step("upload", 10, PUBLISH)), broken("", step("upload", 10, PUBLISH)), broken("version", compute))


# ── R-35 ──


def test_r35_an_agent_is_started_elsewhere_and_nobody_waits() -> None:
    assert only("R-35", flow(step("ask", 10, FAR_AGENT, kept=(span(11),)))) == ("R-35", "HIGH", "ask", [10])
    waited = step("wait", 20, marks=marked(Mark.WAIT))
    polled = step("poll", 20, LOOK, needs_output_of=("ask",))
    silent("R-35", *(flow(step("ask", 10, FAR_AGENT, kept=(span(11),)), one) for one in (waited, polled)))


def test_r35_the_id_of_a_session_is_kept_nowhere() -> None:
    wait = step("wait", 20, marks=marked(Mark.WAIT))
    assert only("R-35", flow(step("ask", 10, FAR_AGENT), wait)) == ("R-35", "HIGH", "ask", [10])
    assert only("R-35", flow(step("ask", 10, AGENT))) == ("R-35", "LOW", "ask", [10])
    silent("R-35", flow(step("ask", 10, AGENT, kept=(span(11),))))


def test_r35_an_effect_uses_what_the_agent_made() -> None:
    ask = step("ask", 10, AGENT, kept=(span(11),))
    bad = flow(ask, step("mail", 20, MAIL, needs_output_of=("ask",)))
    assert only("R-35", bad) == ("R-35", "HIGH", "ask", [10, 20])
    assert text("R-35", bad) == "mail goes on with what claude -p has made, and nobody looks at it between."
    silent(
        "R-35",
        flow(ask, step("mail", 20, MAIL)),
        flow(ask, step("keep", 11, TICKET, needs_output_of=("ask",))),
        flow(ask, step("chat", 20, CHAT, needs_output_of=("ask",))),
        flow(ask, step("mail", 20, MAIL, needs_output_of=("ask",), gate=approval())),
        flow(ask, step("wait", 15, gate=approval()), step("mail", 20, MAIL, needs_output_of=("ask",))),
        flow(step("tool", 10, AGENT, extra={"unattended": "true"})),
    )


# ── R-39 ──


@pytest.mark.parametrize(
    ("does", "severity"),
    [
        (PAY, "BLOCKER"),
        (TICKET, "HIGH"),
        (MAIL, "HIGH"),
        (POST, "MEDIUM"),
        (CHAT, "LOW"),
        (QUERY, "HIGH"),
        (CHARGE, "BLOCKER"),
        (SHEET, "HIGH"),
    ],
)
def test_r39_an_event_that_comes_twice(does: Any, severity: str) -> None:
    act = step("act", 10, does, identity=KEYLESS, repeaters=(AGAIN,))
    assert only("R-39", flow(act, triggers=(trigger(Starting.EVENT),))) == ("R-39", severity, "act", [10, 2])
    assert findings(RULES["R-39"], flow(act, triggers=(trigger(Starting.EVENT),)))[0].facts[1] == Fact(span(2), "on event")
    assert only("R-39", flow(act)) == ("R-39", severity, "act", [10, 2])


def test_r39_says_what_is_known() -> None:
    assert text("R-39", flow(step("act", 10, PAY, identity=KEYLESS, repeaters=(AGAIN,)))) == (
        "An event is delivered again when its receipt is not confirmed in time; "
        "POST pay.example then happens twice, as nothing knows it again."
    )
    assert text("R-39", flow(step("act", 10, POST, identity=KEYLESS, repeaters=(AGAIN,)))) == (
        "An event is delivered again when its receipt is not confirmed in time; "
        "whether POST unknown.example then happens twice is not known."
    )


def test_r39_credits_events_that_are_known_again() -> None:
    pay = step("pay", 20, PAY, identity=KEYLESS, repeaters=(AGAIN,))
    silent(
        "R-39",
        flow(step("seen", 10, marks=marked(Mark.CLAIM)), pay),
        flow(replace(pay, guard=span(9))),
        flow(replace(pay, opaque=unread())),
        flow(replace(pay, identity=identity(Bearing.STABLE))),
        flow(replace(pay, repeaters=(RETRY, RERUN))),
    )
    late = flow(pay, step("seen", 30, marks=marked(Mark.CLAIM)))
    assert only("R-39", late) == ("R-39", "BLOCKER", "pay", [20, 2])


def test_r32_what_a_circle_leads_back_to_was_let_pass_by_nobody() -> None:
    ask = step("ask", 30, gate=approval(30), marks=marked(Mark.WAIT))
    share, send = step("share", 20, MAIL), step("send", 40, PAY)
    again = flow(share, ask, send, edges=(*edges("share", "ask", "send"), edge("ask", "share")))
    assert only("R-32", again) == ("R-32", "MEDIUM", "share", [20])
    one_by_one = flow(ask, send, edges=(*edges("ask", "send"), edge("send", "ask")))
    assert only("R-32", one_by_one)[1:3] == ("LOW", "send")  # it is behind the question each time


# ── R-33 ──


def test_r33_silence_decides() -> None:
    asked = step("ask", 10, gate=approval(10, timeout_answers=True), facts=(Fact(span(14), "except TimeoutError:"),))
    bad = flow(asked, step("pay", 20, PAY))
    assert only("R-33", bad) == ("R-33", "HIGH", "ask", [10, 14, 20])
    assert text("R-33", bad) == "When nobody answers ask in time, the flow goes on as if somebody had decided, to pay."
    assert only("R-33", flow(asked)) == ("R-33", "HIGH", "ask", [10, 14])


def test_r33_is_said_once_of_each_question_and_less_of_a_wait() -> None:
    wait = Gate("wait", span(10), timeout_answers=True)
    bad = flow(step("pay", 20, PAY, gate=wait), step("mail", 30, MAIL, gate=wait))
    assert only("R-33", bad) == ("R-33", "MEDIUM", "pay", [20, 10])
    silent("R-33", flow(step("ask", 10, gate=approval(10)), step("pay", 20, PAY)))


# ── R-44 ──


def unread(line: int = 10) -> Unread:
    return Unread("./deploy.sh", "The script {what} was not given.", span(line))


def test_r44_says_what_was_not_given() -> None:
    bad = flow(step("deploy", 10, opaque=unread()))
    assert only("R-44", bad) == ("R-44", "MEDIUM", "deploy", [10])
    assert text("R-44", bad) == ("./deploy.sh was not read: what it does outside, and whether doing it again is harmless, is not known.")
    assert only("R-44", flow(step("deploy", 10, POST, opaque=unread()))) == ("R-44", "MEDIUM", "deploy", [10])
    silent("R-44", flow(step("deploy", 10, DEPLOY, opaque=unread())))
    assert only("R-44", flow(step("deploy", 10, DEPLOY, opaque=unread(), gate=approval()))) == ("R-44", "MEDIUM", "deploy", [10])


def test_r44_says_nothing_where_little_can_be_in_it() -> None:
    silent("R-44", flow(step("install", 10, opaque=unread(), extra={"handed": "nothing"})))
    gated = step("install", 10, opaque=unread(), extra={"handed": "nothing"}, gate=approval())
    assert only("R-44", flow(gated))[1] == "MEDIUM"
    server = step("server", 10, POST, opaque=unread())
    silent("R-44", flow(replace(server, extra={"serves": "true"})))
    inferred = replace(LOOK, certain=False)
    silent("R-44", flow(step("list", 10, inferred, opaque=unread(), repeaters=(RETRY,))))  # it is called a look


def test_r44_is_graver_when_it_is_done_again_by_itself() -> None:
    bad = flow(step("first", 10, opaque=unread()), step("second", 20, opaque=unread(20), repeaters=(RETRY,)))
    assert only("R-44", bad) == ("R-44", "HIGH", "second", [20, 80])
    assert text("R-44", bad) == "./deploy.sh was not read, and it is done again by itself: what a second time does is not known."
    assert only("R-44", flow(step("deploy", 10, opaque=unread(), repeaters=(RERUN,)))) == ("R-44", "MEDIUM", "deploy", [10])


def test_r44_a_delivery_that_comes_twice_counts_where_the_effect_is_known() -> None:
    starts: dict[str, Any] = {"triggers": (trigger(Starting.EVENT),)}
    code = step("code", 10, POST, opaque=unread(), repeaters=(AGAIN,))
    assert only("R-44", flow(code, **starts)) == ("R-44", "MEDIUM", "code", [10, 2])
    assert only("R-44", flow(replace(code, effect=PAY), **starts)) == ("R-44", "HIGH", "code", [10, 2])
    assert findings(RULES["R-44"], flow(code, **starts))[0].facts[1] == Fact(span(2), "on event")


def test_r44_says_nothing_of_what_is_known_to_do_no_harm() -> None:
    silent(
        "R-44",
        flow(step("look", 10, LOOK, opaque=unread())),
        flow(step("chat", 10, CHAT, opaque=unread())),
        flow(step("pay", 10, PAY)),
    )


# ── R-32 ──


def test_r32_nobody_lets_it_pass() -> None:
    silent("R-32", flow(step("ticket", 5, TICKET)))  # what is merely created, who hears of it may close
    others = step("ticket", 5, TICKET), step("mail", 10, MAIL), step("deploy", 30, DEPLOY), step("chat", 40, CHAT)
    bad = flow(*others, step("pay", 20, PAY))
    assert only("R-32", flow(*others)) == ("R-32", "MEDIUM", "mail", [10, 5])
    assert only("R-32", bad) == ("R-32", "MEDIUM", "pay", [20, 10, 5])
    assert text("R-32", bad) == "Nothing in the files says who lets POST pay.example pass; who approves it has to be asked."


def test_r32_who_starts_it_by_hand_has_said_yes() -> None:
    by_hand = flow(step("pay", 20, PAY), triggers=(trigger(Starting.MANUAL),))
    assert only("R-32", by_hand) == ("R-32", "LOW", "pay", [20])
    assert only("R-32", replace(by_hand, triggers=(*by_hand.triggers, trigger(Starting.PUSH))))[1] == "MEDIUM"


def test_r32_asks_who_stands_behind_a_gate() -> None:
    bad = flow(step("ask", 10, gate=approval(10)), step("pay", 20, PAY))
    assert only("R-32", bad) == ("R-32", "LOW", "pay", [20, 10])
    assert "waits until somebody lets it pass" in text("R-32", bad)
    silent("R-32", flow(step("mail", 20, MAIL, gate=approval(20), marks=marked(Mark.WAIT))))  # it is itself the question
    assert only("R-32", flow(step("pay", 20, PAY, gate=approval(5)), step("mail", 30, MAIL))) == ("R-32", "LOW", "pay", [20, 5])
    before = flow(step("pay", 20, PAY), step("ask", 30, gate=approval(30)))
    assert only("R-32", before) == ("R-32", "MEDIUM", "pay", [20])


def test_r32_a_pull_request_asks_for_its_approval_itself() -> None:
    made = effect(Kind.CREATE, Kind.NOTIFY, told="gh pr create", action="github.pull")
    silent("R-32", flow(step("propose", 10, made)))
    silent("R-32", flow(step("label", 10, effect(Kind.CREATE, action="github.label"))))
    assert only("R-32", flow(step("merge", 10, replace(made, action="github.pull.merge"))))[2] == "merge"


def test_r32_rows_and_words_at_a_project_weigh_least() -> None:
    row = effect(Kind.RECORD, told="UPDATE rows", action="db.update")
    comment = effect(Kind.CREATE, Kind.NOTIFY, told="gh issue comment", action="github.comment")
    silent("R-32", flow(step("row", 5, row), step("comment", 6, comment)))
    assert only("R-32", flow(step("row", 5, row), step("mail", 6, MAIL))) == ("R-32", "MEDIUM", "mail", [6, 5])


def test_r32_an_answer_to_the_one_who_has_written_is_worth_knowing() -> None:
    answer = effect(Kind.NOTIFY, told="telegram message sendMessage")
    asked = trigger(Starting.EVENT, quote='"type": "n8n-nodes-base.telegramTrigger"')
    silent("R-32", flow(step("answer", 10, answer), triggers=(asked,)))
    assert only("R-32", flow(step("answer", 10, answer), triggers=(trigger(Starting.EVENT),)))[1] == "MEDIUM"


def test_r44_that_a_function_is_called_create_is_not_enough() -> None:
    for kind in (Kind.CREATE, Kind.NOTIFY):
        named = effect(kind, repeat=Repeat.UNKNOWN, told="shop.api.create_it()", certain=False)
        call = flow(step("call", 10, named, opaque=Unread("shop.api", "why", span(10))))
        if kind is Kind.CREATE:
            silent("R-44", call)
        else:
            assert only("R-44", call)[1] == "MEDIUM"


def test_r44_a_function_that_only_computes_by_its_name_is_less() -> None:
    for name, severity in (("RecordMetricData", "MEDIUM"), ("StartCrawler", "HIGH")):
        called = step("call", 10, POST, repeaters=(RETRY,), opaque=Unread(name, "why", span(10)))
        assert only("R-44", flow(called))[1] == severity


def test_r27_says_nothing_where_doing_it_again_makes_it_whole() -> None:
    for does in (
        effect(Kind.FILE, repeat=Repeat.SAFE),
        effect(Kind.RECORD, repeat=Repeat.MERGES),
        effect(Kind.DELETE, repeat=Repeat.REJECTS),
    ):
        silent("R-27", flow(step("each", 10, does, marks=marked(Mark.IN_LOOP))))


def test_r32_credits_a_named_approver_and_is_silent_about_the_rest() -> None:
    silent(
        "R-32",
        flow(step("pay", 20, PAY, gate=approval(visible=True))),
        flow(step("pay", 20, PAY, gate=approval(approver="finance"))),
        flow(step("deploy", 30, DEPLOY), step("chat", 40, CHAT), step("alarm", 50, MAIL, marks=marked(Mark.FAILURE_NOTICE))),
    )


# ── R-34 ──


def tool(*kinds: Kind, **more: Any) -> Step:
    given = {"identity": KEYLESS, "marks": marked(Mark.AGENT_LOOP), "extra": {"unattended": "true"}, **more}
    return step("tool", 10, effect(Kind.AGENT, *kinds, told="mcp__shop__refund"), **given)


def test_r34_an_agent_may_act_unasked() -> None:
    assert only("R-34", flow(tool(Kind.MONEY))) == ("R-34", "BLOCKER", "tool", [10])
    assert (
        text("R-34", flow(tool(Kind.MONEY))) == "An agent may do mcp__shop__refund by itself, as often as it decides, and nobody is asked."
    )
    assert only("R-34", flow(tool(Kind.NOTIFY))) == ("R-34", "BLOCKER", "tool", [10])
    assert only("R-34", flow(tool())) == ("R-34", "MEDIUM", "tool", [10])
    assert only("R-34", flow(tool(extra={"unattended": "true", "at_will": "true"}))) == ("R-34", "HIGH", "tool", [10])


def test_r34_a_loop_without_an_end() -> None:
    assert (
        text("R-34", flow(tool(extra={}))) == "No limit is seen to the loop of mcp__shop__refund: neither a number of turns nor a person."
    )
    bounded = flow(tool(Kind.PERMISSION, extra={"max_iterations": "8"}))
    assert only("R-34", bounded) == ("R-34", "HIGH", "tool", [10])
    assert text("R-34", bounded) == (
        "The turns of mcp__shop__refund are limited, but each of them may change something outside, and nobody is asked."
    )
    writes = tool(Kind.CREATE, extra={})
    assert only("R-34", flow(writes)) == ("R-34", "HIGH", "tool", [10])
    assert only("R-34", flow(writes, format="n8n")) == ("R-34", "MEDIUM", "tool", [10])


def test_r34_credits_limits_questions_and_gates() -> None:
    silent(
        "R-34",
        flow(tool(Kind.MONEY, extra={"unattended": "false"})),
        flow(tool(Kind.MONEY, gate=approval())),
        flow(tool(extra={"max_iterations": "8"})),
        flow(tool(Kind.UNKNOWN, extra={}), format="n8n"),
        flow(tool(extra={}, repeaters=(repeater(Repeating.LOOP, 5),))),
        flow(tool(Kind.MONEY, marks=marked())),
    )


# ── R-29 ──


def test_r29_a_failure_reaches_nobody() -> None:
    bad = flow(step("pay", 10, PAY), triggers=(trigger(Starting.SCHEDULE, 3), trigger(Starting.MANUAL, 4)))
    assert only("R-29", bad) == ("R-29", "MEDIUM", "", [10, 3])
    assert text("R-29", bad) == (
        "When POST pay.example fails, nothing in the files tells anybody: the half that is done stays until somebody happens to look."
    )
    assert only("R-29", replace(bad, format="github-actions")) == ("R-29", "MEDIUM", "", [10, 3])


def test_r29_names_what_matters_most_and_is_low_where_only_the_team_misses_a_message() -> None:
    starts = (trigger(Starting.SCHEDULE, 3),)
    assert only("R-29", flow(step("chat", 5, CHAT), step("pay", 10, PAY), triggers=starts)) == ("R-29", "MEDIUM", "", [10, 3])
    assert only("R-29", flow(step("chat", 5, CHAT), triggers=starts)) == ("R-29", "LOW", "", [5, 3])


def test_r29_looks_at_what_starts_without_anybody_in_front_of_it() -> None:
    starts = (trigger(Starting.MANUAL, 3), trigger(Starting.EVENT, 4))
    by_hand = step("fill", 5, PAY, repeaters=(repeater(Repeating.MANUAL, None, 3),))
    by_form = step("order", 6, MAIL, repeaters=(repeater(Repeating.MANUAL, None, 4),))
    silent("R-29", flow(by_hand, triggers=starts))
    assert only("R-29", flow(by_hand, by_form, triggers=starts)) == ("R-29", "MEDIUM", "", [6, 4])


def test_r29_credits_who_hears() -> None:
    pay = step("pay", 10, PAY)
    silent(
        "R-29",
        flow(pay, failure_notice=span(50)),
        flow(pay, step("alarm", 50, CHAT, marks=marked(Mark.FAILURE_NOTICE))),
        flow(pay, notice_expected=False),
        flow(pay, enabled=False),
        flow(pay, format="github-actions", triggers=(trigger(Starting.PUSH),)),
        flow(step("look", 10, LOOK)),
        flow(pay, triggers=(trigger(Starting.MANUAL),)),
        flow(pay, triggers=(trigger(Starting.MANUAL), trigger(Starting.CALL))),
    )


# ── R-31 ──


def test_r31_nothing_is_kept_of_a_failed_run() -> None:
    bad = flow(step("pay", 10, PAY), evidence_off=span(60))
    assert only("R-31", bad) == ("R-31", "MEDIUM", "", [60, 10])
    assert text("R-31", bad) == "Nothing is kept of a run that fails; whether POST pay.example was done can then not be looked up."
    assert only("R-31", flow(step("pay", 10, PAY), evidence_off=span(10))) == ("R-31", "MEDIUM", "", [10])


def test_r31_is_silent_where_it_is_kept_and_where_nothing_is_done() -> None:
    silent("R-31", flow(step("pay", 10, PAY)), flow(step("look", 10, LOOK), evidence_off=span(60)))


# ── R-26 ──


def test_r26_what_is_final_comes_before_what_may_fail() -> None:
    bad = flow(step("upload", 10, PUBLISH), step("chat", 15, CHAT), step("deploy", 20, DEPLOY))
    assert only("R-26", bad) == ("R-26", "MEDIUM", "upload", [10, 20])
    assert text("R-26", bad) == (
        "twine upload cannot be taken back without a trace, and is done before deploy, which may fail and seems not to need it."
    )
    bump = step("bump", 20, effect(Kind.GIT, told="git push"))
    assert only("R-26", flow(step("upload", 10, PUBLISH), bump)) == ("R-26", "LOW", "upload", [10, 20])
    final = effect(Kind.MONEY, told="wire", reversible=Reversible.NO)
    assert only("R-26", flow(step("wire", 10, final), step("ticket", 20, TICKET))) == ("R-26", "MEDIUM", "wire", [10, 20])


def test_r26_what_is_deleted_must_often_be_gone_first() -> None:
    gone = effect(Kind.DELETE, told="helm uninstall", reversible=Reversible.NO)
    assert only("R-26", flow(step("gone", 10, gone), step("up", 20, DEPLOY)))[1] == "LOW"


def test_r26_credits_an_order_that_is_right_or_needed() -> None:
    upload = step("upload", 10, PUBLISH)
    silent(
        "R-26",
        flow(step("deploy", 5, DEPLOY), upload),
        flow(upload, step("read", 15, LOOK, needs_output_of=("upload",)), step("deploy", 20, DEPLOY, needs_output_of=("read",))),
        flow(upload, step("deploy", 20, DEPLOY, fallible=False)),
        flow(step("draft", 10, effect(Kind.PUBLISH, reversible=Reversible.YES)), step("deploy", 20, DEPLOY)),
        flow(upload, step("again", 20, PUBLISH)),
        flow(upload, step("done", 20, TICKET, marks=marked(Mark.CLAIM))),
        flow(upload, step("chat", 20, CHAT), step("look", 30, LOOK)),
        flow(upload, step("tell", 20, effect(Kind.ENQUEUE, told="gh workflow run"))),
        flow(step("mail", 10, effect(Kind.NOTIFY, reversible=Reversible.NO)), step("deploy", 20, DEPLOY)),
    )


# ── R-27 ──


@pytest.mark.parametrize(
    ("does", "severity", "says"),
    [
        (PUBLISH, "MEDIUM", "fails at the first that is there already"),
        (MAIL, "MEDIUM", "does those a second time"),
        (POST, "MEDIUM", "whether that has a second effect is not known"),
        (CHAT, "LOW", "does those a second time"),
        (DEPLOY, "LOW", "that is harmless"),
    ],
)
def test_r27_a_loop_stops_halfway(does: Any, severity: str, says: str) -> None:
    bad = flow(step("each", 10, does, identity=KEYLESS, marks=marked(Mark.IN_LOOP), facts=(Fact(span(9), "for one in *"),)))
    assert only("R-27", bad) == ("R-27", severity, "each", [10, 9])
    assert says in text("R-27", bad)


def test_r27_an_engine_that_keeps_each_turn_goes_on_where_it_was() -> None:
    turn = step("each", 10, POST, identity=KEYLESS, marks=marked(Mark.IN_LOOP))
    assert only("R-27", flow(turn))[1] == "MEDIUM"
    silent("R-27", flow(replace(turn, extra={"each": "kept by the engine"})))


def test_r27_of_a_matrix_the_failed_jobs_can_be_done_again_alone() -> None:
    leg = step("each", 10, POST, identity=KEYLESS, marks=marked(Mark.IN_LOOP), extra={"fail_fast": "true"})
    silent("R-27", flow(leg))
    loop = replace(leg, repeaters=(repeater(Repeating.LOOP, bound=None),))
    assert only("R-27", flow(loop))[1] == "LOW"


@pytest.mark.parametrize("command", ["npm publish --workspaces", "cargo publish --workspace", "docker push -a app", "twine upload dist/*"])
def test_r27_one_command_has_several_effects(command: str) -> None:
    assert only("R-27", flow(step("all", 10, PUBLISH, quote=command))) == ("R-27", "MEDIUM", "all", [10])


def test_r27_credits_items_that_are_skipped_and_single_effects() -> None:
    silent(
        "R-27",
        flow(step("all", 10, PUBLISH, quote="twine upload --skip-existing dist/*")),
        flow(step("one", 10, PUBLISH, quote="docker push app:1.2")),
        flow(step("each", 10, PAY, identity=KEYLESS, marks=marked(Mark.IN_LOOP), guard=span(9))),
        flow(step("tool", 10, PAY, identity=KEYLESS, marks=marked(Mark.IN_LOOP, Mark.AGENT_LOOP))),
        flow(step("compute", 10, marks=marked(Mark.IN_LOOP))),
        flow(step("each", 10, POST, identity=KEYLESS, marks=marked(Mark.IN_LOOP), opaque=unread())),
    )


# ── R-37 ──


@pytest.mark.parametrize(("does", "severity"), [(TICKET, "HIGH"), (PAY, "HIGH"), (POST, "MEDIUM")])
def test_r37_a_restart_does_it_once_more(does: Any, severity: str) -> None:
    bad = flow(step("act", 10, does, identity=KEYLESS, repeaters=(RESTART,), facts=(Fact(span(82), "restart: always"),)))
    assert only("R-37", bad) == ("R-37", severity, "act", [10, 82])
    assert findings(RULES["R-37"], bad)[0].facts[1] == Fact(span(82), "restart: always")


def test_r37_a_program_that_was_not_given_is_told_by_r44() -> None:
    bad = flow(step("charge", 10, opaque=unread(), repeaters=(RESTART,)))
    silent("R-37", bad)
    assert only("R-44", bad) == ("R-44", "HIGH", "charge", [10, 82])


def test_r37_credits_harmless_work_and_leaves_defaults_to_their_rule() -> None:
    pay = step("pay", 10, PAY, identity=KEYLESS)
    silent(
        "R-37",
        flow(replace(pay, repeaters=(replace(RESTART, default=True), replace(RESTART, bound=1), RETRY))),
        flow(replace(pay, repeaters=(RESTART,), identity=identity(Bearing.STABLE))),
        flow(replace(pay, repeaters=(RESTART,), guard=span(9))),
        flow(step("serve", 10, repeaters=(RESTART,))),
    )


# ── R-36 ──


def test_r36_a_secret_is_told_by_its_place() -> None:
    first, second = Fact(span(12), "token: […]"), Fact(span(13), "password: […]")
    bad = flow(step("look", 10, LOOK), secrets=(first, second, first))
    assert only("R-36", bad) == ("R-36", "MEDIUM", "", [12, 13])
    assert text("R-36", bad) == "2 secrets are written into the definition: everybody who may read the file may use them."
    assert text("R-36", flow(secrets=(first,))) == "A secret is written into the definition: everybody who may read the file may use it."
    silent("R-36", flow(step("pay", 10, PAY)))


# ── R-38 ──


def every(seconds: float | None) -> dict[str, Any]:
    return {"triggers": (trigger(Starting.SCHEDULE, 3, period=seconds),)}


def test_r38_the_next_run_begins_before_the_last_has_ended() -> None:
    pay = step("pay", 20, PAY, identity=KEYLESS, timeout=600.0)
    bad = flow(step("deploy", 10, DEPLOY, timeout=60.0), pay, **every(300))
    assert only("R-38", bad) == ("R-38", "MEDIUM", "pay", [20, 3])
    assert text("R-38", bad) == (
        "A run may take 600 seconds and the next one begins after 300: both then do POST pay.example, and nothing keeps them apart."
    )
    whole = flow(replace(pay, timeout=None), extra={"executionTimeout": "4000"}, **every(3600))
    assert only("R-38", whole) == ("R-38", "MEDIUM", "pay", [20, 3])


def test_r38_a_run_without_a_limit_meets_the_next_one() -> None:
    bad = flow(step("send", 10, opaque=unread()), **every(300))
    assert only("R-38", bad) == ("R-38", "MEDIUM", "send", [10, 3])
    assert text("R-38", bad) == (
        "No limit of time is seen, and the next run begins after 300 seconds: both may do send, and nothing keeps them apart."
    )
    assert only("R-38", flow(step("deploy", 10, DEPLOY), **every(300))) == ("R-38", "LOW", "deploy", [10, 3])


def test_r38_credits_locks_limits_and_long_periods() -> None:
    pay = step("pay", 10, PAY, identity=KEYLESS)
    silent(
        "R-38",
        flow(pay, guards=(guard(),), **every(300)),
        flow(pay, guards=(guard(unit="job"),), **every(300)),
        flow(replace(pay, timeout=120.0), **every(300)),
        flow(pay, extra={"executionTimeout": "120"}, **every(300)),
        flow(pay, **every(86400)),
        flow(pay, **every(None)),
        flow(pay, triggers=(trigger(Starting.EVENT, period=300.0),)),
        flow(step("look", 10, LOOK), **every(300)),
    )
    other = flow(pay, guards=(guard(unit="another"),), **every(300))
    assert only("R-38", other) == ("R-38", "MEDIUM", "pay", [10, 3])
