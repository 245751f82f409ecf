"""Workflows of halfway as their files declare them: what holds is credited, and what does not hold is named."""

from __future__ import annotations

import pytest

from halfway.inspection.assessing import Repeatable, repeatable
from halfway.inspection.card import Card, card_of
from halfway.inspection.finding import Case
from halfway.inspection.formats import Given
from halfway.inspection.formats.halfway.definitions import HalfwayReader
from halfway.inspection.judging import Verdict, judge
from halfway.inspection.knowledge import load
from halfway.inspection.model import Bearing, Flow, Kind, Mark, OnError, Repeating, Starting, Step
from halfway.inspection.rules import all_rules
from halfway.inspection.source import Source

KNOWN = load()
HEAD = """from datetime import timedelta
from halfway import Absent, Effect, Found, Mark, Part, Retry, Risk, Step, Then, Workflow
import crm, requests

raise SystemExit("this file is only read")

DAY = timedelta(days=1)
intake = Workflow("INTAKE", Lead, version=2, owner="support", key=lambda lead: f"lead:{lead.id}", retry=Retry(4))
"""
GOOD = """
@intake.step(Effect.READ)
def look(step: Step[Lead]) -> str:
    return crm.get(step.input.id)

@intake.step(Effect.CREATE, approver="support", timeout=timedelta(seconds=20))
def open_ticket(step: Step[Lead], mark: Mark) -> str:
    with mark:
        return crm.open(step.output(look), key=step.key)

@open_ticket.probe(settle=timedelta(0))
def find_ticket(step: Step[Lead]) -> Found[str] | Absent:
    found = crm.find(step.key)
    return Found(found) if found else Absent()

@open_ticket.compensate(Risk.LOW, idempotent=True)
def close_ticket(step: Step[Lead], ticket: str) -> None:
    crm.close(ticket, key=step.key)

@intake.step(Effect.NOTIFY, idempotent=DAY, approver="support", retry=Retry(5))
def send_welcome(step: Step[Lead]) -> str:
    return crm.mail(step.output(open_ticket), key=step.key)
"""


def flows(text: str) -> list[Flow]:
    source = Source("flow.py", HEAD + text)
    assert HalfwayReader().takes(source)
    return list(HalfwayReader().flows(source, Given({"flow.py": source}, KNOWN)))


def one(text: str) -> dict[str, Step]:
    (flow,) = flows(text)
    return {step.id: step for step in flow.steps}


def card(text: str) -> Card:
    (flow,) = flows(text)
    case = Case(flow, KNOWN)
    rules = all_rules()
    return card_of(case, judge(case, [found for rule in rules for found in rule.check(case)]), rules)


def weakness(text: str) -> tuple[Verdict, str, str]:
    """The verdict, the gravest rule and the step that it is about."""
    found = card(text)
    return found.verdict, found.gravest.rule if found.gravest else "", found.gravest.step if found.gravest else ""


def test_what_is_well_declared_may_proceed() -> None:
    found = card(GOOD)
    assert (found.verdict, found.reasons, found.gravest, found.question) == (Verdict.PROCEED, (), None, None)
    assert found.next.text == "halfway show RUN"
    assert [(line.name.partition(" ")[0], line.repeatable) for line in found.lines] == [
        ("OPEN_TICKET", Repeatable.GUARDED), ("SEND_WELCOME", Repeatable.PROVEN),
    ]  # fmt: skip


def test_the_flow_is_what_is_declared() -> None:
    (flow,) = flows(GOOD)
    look, ticket, mail = flow.steps
    assert (flow.id, flow.format, flow.version, flow.undoes, [guard.span.line for guard in flow.guards]) == (
        "INTAKE",
        "halfway",
        "2",
        True,
        [8],
    )
    assert [(edge.before, edge.after) for edge in flow.edges] == [("LOOK", "OPEN_TICKET"), ("OPEN_TICKET", "SEND_WELCOME")]
    assert [step.effect and step.effect.kinds for step in flow.steps] == [{Kind.READ}, {Kind.CREATE}, {Kind.NOTIFY}]
    assert (ticket.timeout, mail.timeout, ticket.needs_output_of, mail.needs_output_of) == (20.0, 300.0, ("LOOK",), ("OPEN_TICKET",))
    assert (ticket.guard is not None, ticket.undo is not None, mail.identity is not None and mail.identity.bearing) == (
        True,
        True,
        Bearing.STABLE,
    )
    assert {step.id: [(who.automatic, who.bound) for who in step.repeaters if who.kind is Repeating.STEP_RETRY] for step in flow.steps} == {
        "LOOK": [(True, 4)], "OPEN_TICKET": [(True, 4)], "SEND_WELCOME": [(True, 5)],
    }  # fmt: skip
    assert ticket.gate is not None
    assert (ticket.gate.approver, ticket.gate.visible, look.gate) == ("support", True, None)
    assert [trigger.kind for trigger in flow.triggers] == [Starting.CALL]


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        # a READ is repeated as often as the engine likes, and this one charges
        ("return crm.get(step.input.id)", "return requests.post('https://api.stripe.com/v1/charges')", (Verdict.STOP, "R-01", "LOOK")),
        # the receiver is said to drop repeats of a key that nobody sends
        ("crm.mail(step.output(open_ticket), key=step.key)", "crm.mail(step.output(open_ticket))", (Verdict.STOP, "R-01", "SEND_WELCOME")),
        # the probe takes an outage for an absence, and the ticket is opened a second time
        (
            "    found = crm.find(step.key)\n",
            "    try:\n        found = crm.find(step.key)\n    except Exception:\n        return Absent()\n",
            (Verdict.LIMITED, "R-01", "OPEN_TICKET"),
        ),
        # nothing tells what became of a lost answer
        ("idempotent=DAY, ", "", (Verdict.LIMITED, "", "")),
        # a second effect in one body, which the contract of the first says nothing about
        (
            "    with mark:\n",
            "    requests.post('https://api.stripe.com/v1/charges')\n    with mark:\n",
            (Verdict.STOP, "R-01", "OPEN_TICKET-2"),
        ),
    ],
)  # fmt: skip
def test_what_is_badly_declared_names_its_weakness(good: str, bad: str, expected: tuple[Verdict, str, str]) -> None:
    assert good in GOOD
    assert weakness(GOOD.replace(good, bad)) == expected


def test_without_a_probe_only_a_person_repeats_and_without_an_approver_nobody_is_seen() -> None:
    lines = GOOD.replace("idempotent=DAY, ", "evidence='the log of the mail provider', ").replace('approver="support", retry', "retry")
    found = card(lines)
    assert (found.verdict, [(reason.code, reason.step) for reason in found.reasons]) == (
        Verdict.LIMITED, [("L1", "SEND_WELCOME"), ("L4", "SEND_WELCOME")],
    )  # fmt: skip
    mail = one(lines)["SEND_WELCOME"]
    assert [who.kind for who in mail.repeaters] == [Repeating.MANUAL]
    assert repeatable(mail)[0] is Repeatable.NO
    assert [place.line for place in mail.kept] == [mail.span.line - 1]


def test_approvals_waits_conditions_and_transactions_are_what_they_are() -> None:
    steps = one("""
@intake.approval("head of support", expires=DAY, on_expiry=Then.CANCEL)
def agree(step: Step[Lead]) -> str: return step.input.id

@intake.optional.when(lambda step: step.input.loud).step(Effect.NOTIFY, evidence="log", after=[])
def shout(step: Step[Lead]) -> None: crm.shout()

@intake.transaction(Connection, after=[agree])
def note(step: Step[Lead], connection: Connection) -> None: connection.execute("insert into x values (1)")

@intake.wait_until(after=[note])
def rest(step: Step[Lead]) -> datetime: return later()

@intake.step(Effect.CHANGE, probe=None, after=[rest, missing])
def change(step: Step[Lead], mark: Mark) -> None: crm.change()

@intake.each(Effect.CREATE, look, key=str, evidence="x", irreversible=True)
def for_each(step: Step[Lead], item: str) -> str: return crm.make(item)

@intake.schedule("0 6 * * *")
def daily(due): return Lead(due)
""")
    assert [steps[name].gate and steps[name].gate.approver for name in ("AGREE", "CHANGE", "SHOUT")] == [
        "head of support",
        "head of support",
        "support",
    ]  # type: ignore[union-attr]
    assert (steps["SHOUT"].on_error, steps["SHOUT"].condition) == (OnError.CONTINUE, "lambda step: step.input.loud")
    assert (steps["NOTE"].effect, steps["REST"].effect, steps["REST"].marks, steps["REST"].timeout) == (None, None, {Mark.WAIT}, None)
    assert (steps["FOR_EACH"].marks, steps["AGREE"].timeout) == ({Mark.IN_LOOP}, 86_400.0)
    assert [trigger.period for trigger in flows("\n@intake.schedule('0 6 * * *')\ndef daily(due): return Lead(due)\n")[0].triggers] == [
        86_400.0
    ]


def test_parts_functions_and_what_is_elsewhere() -> None:
    text = """
common = Part("COMMON")

@intake.step(Effect.READ)
def first(step): return 1

@common.step(Effect.READ)
def second(step): return 2

intake.include(common)
intake.include(far.away)

@intake.step(Effect.READ)
def third(step): return 3

def made():
    other = Workflow("OTHER", Lead, version=1, owner="x", key=None)
    @other.step(Effect.READ)
    def only(step): return 1
    return other
"""
    intake, other = flows(text)
    assert [(step.id, [edge.before for edge in intake.edges if edge.after == step.id]) for step in intake.steps] == [
        ("FIRST", []), ("SECOND", ["FIRST"]), ("THIRD", ["SECOND"]),
    ]  # fmt: skip
    assert [one.what for one in intake.unread] == ["far.away"]
    assert ([step.id for step in other.steps], len(intake.guards), other.guards) == (["ONLY"], 1, ())


def test_a_key_is_followed_into_a_function_of_the_file_and_not_further() -> None:
    text = """
@intake.step(Effect.CREATE, idempotent=True)
def pay(step): return {call}

def send(step): return crm.pay(key=step.key)
"""
    bearings = {call: one(text.format(call=call))["PAY"].identity for call in ("send(step)", "crm.pay(step)", "crm.pay(step.input.id)")}
    assert [found and found.bearing for found in bearings.values()] == [Bearing.STABLE, Bearing.UNKNOWN, Bearing.NONE]


@pytest.mark.parametrize(
    "text", ["import os\n", "from halfway import Workflow\nx = 1\n", "import halfway\ndef broken(:\n", 'w = Workflow("A")\n']
)
def test_other_files_are_left_alone(text: str) -> None:
    assert not HalfwayReader().takes(Source("x.py", text))


def test_a_body_that_is_still_to_be_written_bears_nothing_out() -> None:
    written = one(GOOD)["SEND_WELCOME"]
    body = '    """Says hello."""\n    raise NotImplementedError("later")\n'
    unwritten = one(GOOD.replace("    return crm.mail(step.output(open_ticket), key=step.key)\n", body))["SEND_WELCOME"]
    assert (written.opaque, repeatable(written)[0]) == (None, Repeatable.PROVEN)
    assert unwritten.opaque is not None
    assert repeatable(unwritten)[0] is Repeatable.UNKNOWN
    looks = one(
        GOOD.replace("    with mark:\n        return crm.open(step.output(look), key=step.key)\n", "    raise NotImplementedError\n")
    )
    assert looks["OPEN_TICKET"].guard is None
    probe = GOOD.replace(
        "    found = crm.find(step.key)\n    return Found(found) if found else Absent()\n", "    raise NotImplementedError\n"
    )
    undo = GOOD.replace("    crm.close(ticket, key=step.key)\n", "    raise NotImplementedError\n")
    marked = GOOD.replace("        return crm.open(step.output(look), key=step.key)\n", "        raise NotImplementedError\n")
    assert one(probe)["OPEN_TICKET"].guard is None
    assert one(undo)["OPEN_TICKET"].undo is None
    assert one(marked)["OPEN_TICKET"].opaque is not None
