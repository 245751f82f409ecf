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
)
from halfway.inspection.rules import all_rules
from tests.inspection.flows import RERUN, RETRY, effect, findings, flow, identity, repeater, span, step, told, trigger

RULES = {rule.id: rule for rule in all_rules()}
PAY = effect(Kind.MONEY, repeat=Repeat.WITH_KEY, told="POST pay.example", action="pay.create")
MAIL = effect(Kind.NOTIFY, told="send mail", receiver=Receiver.CUSTOMER)
CHAT = effect(Kind.NOTIFY, told="post to the channel", receiver=Receiver.TEAM)
TICKET = effect(Kind.CREATE, told="create ticket")
DEPLOY = effect(Kind.DEPLOY, repeat=Repeat.SAFE, told="helm upgrade")
PUBLISH = effect(Kind.PUBLISH, repeat=Repeat.REJECTS, told="twine upload", reversible=Reversible.NO)
POST = effect(Kind.UNKNOWN, repeat=Repeat.UNKNOWN, told="POST unknown.example")
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
        "twine upload takes github.ref_name, which such a start does not give it: it then does its work with a wrong or an empty value."
    )


def test_r28_an_input_that_nothing_reads_is_said_of_the_flow() -> None:
    assert only("R-28", broken("version", step("upload", 10, PUBLISH))) == ("R-28", "MEDIUM", "", [4])
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
    assert only("R-35", flow(step("ask", 10, AGENT))) == ("R-35", "MEDIUM", "ask", [10])
    silent("R-35", flow(step("ask", 10, AGENT, kept=(span(11),))))


def test_r35_an_effect_uses_what_the_agent_made() -> None:
    ask = step("ask", 10, AGENT, kept=(span(11),))
    bad = flow(ask, step("mail", 20, MAIL, needs_output_of=("ask",)))
    assert only("R-35", bad) == ("R-35", "HIGH", "ask", [10, 20])
    assert text("R-35", bad) == "mail goes on with what claude -p has made, and nobody looks at it between."
    silent(
        "R-35",
        flow(ask, step("mail", 20, MAIL)),
        flow(ask, step("chat", 20, CHAT, needs_output_of=("ask",))),
        flow(ask, step("mail", 20, MAIL, needs_output_of=("ask",), gate=approval())),
        flow(ask, step("wait", 15, gate=approval()), step("mail", 20, MAIL, needs_output_of=("ask",))),
        flow(step("tool", 10, AGENT, extra={"unattended": "true"})),
    )


# ── R-39 ──


@pytest.mark.parametrize(("does", "severity"), [(PAY, "BLOCKER"), (TICKET, "HIGH"), (MAIL, "HIGH"), (POST, "MEDIUM"), (CHAT, "LOW")])
def test_r39_an_event_that_comes_twice(does: Any, severity: str) -> None:
    act = step("act", 10, does, identity=KEYLESS, repeaters=(AGAIN,))
    assert only("R-39", flow(act, triggers=(trigger(Starting.EVENT),))) == ("R-39", severity, "act", [10, 2])
    assert findings(RULES["R-39"], flow(act, triggers=(trigger(Starting.EVENT),)))[0].facts[1] == Fact(span(2), "on event")
    assert only("R-39", flow(act)) == ("R-39", severity, "act", [10, 2])


def test_r39_credits_events_that_are_known_again() -> None:
    pay = step("pay", 20, PAY, identity=KEYLESS, repeaters=(AGAIN,))
    silent(
        "R-39",
        flow(step("seen", 10, marks=marked(Mark.CLAIM)), pay),
        flow(replace(pay, guard=span(9))),
        flow(replace(pay, identity=identity(Bearing.STABLE))),
        flow(replace(pay, repeaters=(RETRY, RERUN))),
    )
    late = flow(pay, step("seen", 30, marks=marked(Mark.CLAIM)))
    assert only("R-39", late) == ("R-39", "BLOCKER", "pay", [20, 2])
