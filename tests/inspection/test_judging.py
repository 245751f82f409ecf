"""The criteria of the three verdicts, one by one, on flows made of plain values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from halfway.inspection.advice import ALLOWED, BY_ACTION, BY_FORMAT, next_step, question
from halfway.inspection.assessing import Category, Repeatable, category, repeatable
from halfway.inspection.finding import Case, Finding, Said, Severity
from halfway.inspection.judging import Judgement, Verdict, judge
from halfway.inspection.knowledge import Action, Knowledge, Trust, load
from halfway.inspection.model import (
    Bearing,
    Edge,
    Effect,
    Fact,
    Flow,
    Gate,
    Identity,
    Kind,
    Outcome,
    Ran,
    Receiver,
    Repeat,
    Repeater,
    Repeating,
    Reversible,
    RunLog,
    Span,
    Starting,
    Step,
    Trigger,
    Undo,
    Unread,
    When,
)
from halfway.inspection.reports import words

HERE = Span("flow.yml", 1)
RETRIED = Repeater(Repeating.STEP_RETRY, automatic=True, bound=3, span=HERE)
BY_HAND = Repeater(Repeating.UNIT_RERUN, automatic=False, bound=None, span=HERE)
KEY = Identity(Bearing.STABLE, "order.id", HERE)
SEEN = Gate("environment", HERE, approver="release managers", visible=True)


class Base(Knowledge):
    """Knows one way to look."""

    def __init__(self) -> None:
        """Its rows are given below."""

    def actions(self) -> Sequence[Action]:
        return [
            Action(
                "looked",
                frozenset({Kind.MONEY}),
                Repeat.WITH_KEY,
                Reversible.FORWARD,
                None,
                "list the charges",
                "none",
                False,
                ("https://vendor.example",),
                date(2026, 11, 29),
                Trust.VERIFIED,
            )
        ]


def effect(kind: Kind, repeat: Repeat = Repeat.DUPLICATES, *, receiver: Receiver = Receiver.UNKNOWN, action: str = "") -> Effect:
    return Effect(action, frozenset({kind}), repeat, Reversible.FORWARD, "a call", receiver=receiver)


def step(made: Effect | None, *, name: str = "act", order: int = 1, **given: object) -> Step:
    given.setdefault("repeaters", (BY_HAND,))
    given.setdefault("gate", SEEN)
    return Step(id=name, name=name, unit="job", scope=name, order=order, span=HERE, quote="", effect=made, **given)  # type: ignore[arg-type]


def flow(*steps: Step, **given: object) -> Flow:
    return Flow(id="f", name="f", format="github-actions", file="flow.yml", span=HERE, steps=steps, **given)  # type: ignore[arg-type]


def finding(rule: str, severity: Severity = Severity.HIGH, *, step: str = "act") -> Finding:
    return Finding(rule=rule, severity=severity, span=HERE, facts=(Fact(HERE, "line"),), inference=Said("so"), step=step)


def judged(made: Flow, *findings: Finding, run: RunLog | None = None) -> Judgement:
    return judge(Case(made, Base(), run), findings)


def codes(made: Flow, *findings: Finding, run: RunLog | None = None) -> tuple[Verdict, list[str]]:
    found = judged(made, *findings, run=run)
    return found.verdict, [reason.code for reason in found.reasons]


def log(outcome: Outcome, *, id: str = "", then: Outcome | None = None) -> RunLog:
    steps = [Ran("act", "", outcome, Fact(Span("log.json", 3), "failure"), id)]
    steps += [] if then is None else [Ran("next", "", then, Fact(Span("log.json", 4), "failure"))]
    return RunLog(id="7", format="github-actions", name="f", attempt=1, span=HERE, steps=tuple(steps))


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (step(None), Repeatable.PROVEN),
        (step(effect(Kind.READ)), Repeatable.PROVEN),
        (step(effect(Kind.DEPLOY, Repeat.SAFE)), Repeatable.PROVEN),
        (step(effect(Kind.MONEY, Repeat.WITH_KEY), identity=KEY), Repeatable.PROVEN),
        (step(effect(Kind.MONEY, Repeat.WITH_KEY), identity=replace(KEY, bearing=Bearing.MINTED)), Repeatable.NO),
        (step(effect(Kind.MONEY, Repeat.WITH_KEY), identity=replace(KEY, bearing=Bearing.UNKNOWN)), Repeatable.UNKNOWN),
        (step(effect(Kind.MONEY, Repeat.WITH_KEY)), Repeatable.UNKNOWN),
        (step(effect(Kind.PUBLISH, Repeat.REJECTS)), Repeatable.GUARDED),
        (step(effect(Kind.PUBLISH, Repeat.REJECTS), identity=replace(KEY, bearing=Bearing.MUTABLE)), Repeatable.NO),
        (step(effect(Kind.RECORD, Repeat.MERGES)), Repeatable.GUARDED),
        (step(effect(Kind.CREATE)), Repeatable.NO),
        (step(effect(Kind.CREATE), identity=KEY), Repeatable.UNKNOWN),  # the receiver may heed it
        (step(effect(Kind.CREATE), guard=HERE), Repeatable.GUARDED),
        (step(effect(Kind.UNKNOWN, Repeat.UNKNOWN)), Repeatable.UNKNOWN),
    ],
)
def test_whether_a_step_may_be_repeated(made: Step, answer: Repeatable) -> None:
    assert repeatable(made)[0] is answer


@pytest.mark.parametrize("kind", [Kind.MONEY, Kind.RECORD, Kind.PERMISSION, Kind.NOTIFY])
def test_s1_an_automatic_repeat_of_what_must_not_happen_twice(kind: Kind) -> None:
    verdict, found = codes(flow(step(effect(kind), repeaters=(RETRIED,))))
    assert (verdict, found) == (Verdict.STOP, ["S1"])


def test_s1_what_is_made_is_no_message_because_somebody_may_hear_of_it() -> None:
    ticket = replace(effect(Kind.CREATE), kinds=frozenset({Kind.CREATE, Kind.NOTIFY}))
    assert codes(flow(step(ticket, repeaters=(RETRIED,)))) == (Verdict.LIMITED, ["L8"])
    told = replace(ticket, receiver=Receiver.CUSTOMER)
    assert codes(flow(step(told, repeaters=(RETRIED,)))) == (Verdict.STOP, ["S1"])


def test_s1_the_next_turn_of_a_loop_is_about_another_item() -> None:
    turn = Repeater(Repeating.LOOP, automatic=True, bound=None, span=HERE)
    assert codes(flow(step(effect(Kind.MONEY), repeaters=(turn,)))) == (Verdict.LIMITED, ["L1"])


def test_s1_of_what_only_a_sender_repeats_says_so_and_a_line_of_a_log_is_none() -> None:
    told = step(effect(Kind.RECORD), repeaters=(replace(RETRIED, kind=Repeating.REDELIVERY),))
    [reason] = [one for one in judged(flow(told)).reasons if one.code == "S1"]
    assert "delivered twice" in reason.said.text
    assert reason.holds_if is not None
    assert "S1" not in codes(flow(replace(told, extra={"in_log": "true"})))[1]
    [retried] = [one for one in judged(flow(step(effect(Kind.RECORD), repeaters=(RETRIED,)))).reasons if one.code == "S1"]
    assert retried.holds_if is None


def test_s1_a_notice_to_the_team_is_a_limit() -> None:
    made = step(effect(Kind.NOTIFY, receiver=Receiver.TEAM), repeaters=(RETRIED,))
    assert codes(flow(made)) == (Verdict.LIMITED, ["L8"])


@pytest.mark.parametrize(
    ("run", "given", "stops"),
    [
        (log(Outcome.UNKNOWN), {}, True),
        (log(Outcome.UNKNOWN), {"identity": KEY}, False),
        (log(Outcome.UNKNOWN, id="ch_1"), {}, True),
        (log(Outcome.UNKNOWN), {"kept": (HERE,)}, True),
        (log(Outcome.NOT_EXECUTED), {}, False),
        (log(Outcome.LANDED), {}, False),
        (log(Outcome.LANDED, then=Outcome.UNKNOWN), {}, True),
        (log(Outcome.LANDED, id="ch_1", then=Outcome.UNKNOWN), {}, False),
    ],
)
def test_s2_what_a_log_leaves_open_stops_unless_a_repeat_is_harmless(run: RunLog, given: dict[str, object], stops: bool) -> None:
    made = flow(step(effect(Kind.MONEY, Repeat.WITH_KEY), **given), step(None, name="next", order=2))
    assert codes(made, run=run) == ((Verdict.STOP, ["S2"]) if stops else codes(made))


def test_s2_a_way_to_look_is_used_before_anything_is_repeated() -> None:
    made = flow(step(effect(Kind.MONEY, action="looked")), step(None, name="next", order=2))
    [open_] = judged(made, run=log(Outcome.UNKNOWN)).reasons
    assert open_.said.text == "nobody knows whether {step} has happened, and nothing shows that a repeat does no harm"
    assert "S2" not in codes(made, run=log(Outcome.LANDED, then=Outcome.UNKNOWN))[1]


@pytest.mark.parametrize(
    ("rule", "severity", "kind", "code"),
    [
        ("R-03", Severity.BLOCKER, Kind.CREATE, "S3"), ("R-03", Severity.HIGH, Kind.CREATE, "L7"),
        ("R-09", Severity.BLOCKER, Kind.GIT, "S3"),
        ("R-44", Severity.HIGH, Kind.DEPLOY, "S6"), ("R-44", Severity.MEDIUM, Kind.DEPLOY, ""),
        ("R-28", Severity.HIGH, Kind.PUBLISH, "S4"), ("R-28", Severity.HIGH, Kind.GIT, "L7"), ("R-06", Severity.HIGH, Kind.NOTIFY, "S7"),
        ("R-06", Severity.MEDIUM, Kind.NOTIFY, ""), ("R-20", Severity.BLOCKER, Kind.MONEY, "S9"), ("R-20", Severity.HIGH, Kind.MONEY, "L3"),
        ("R-11", Severity.MEDIUM, Kind.DEPLOY, "L7"), ("R-15", Severity.MEDIUM, Kind.DEPLOY, ""),
    ],
)  # fmt: skip
def test_what_a_finding_leads_to(rule: str, severity: Severity, kind: Kind, code: str) -> None:
    made = step(effect(kind, Repeat.SAFE), identity=KEY)
    verdict, found = codes(flow(made), finding(rule, severity))
    assert found == ([code] if code else [])
    assert verdict is (Verdict.PROCEED if not code else Verdict.STOP if code[0] == "S" else Verdict.LIMITED)


@pytest.mark.parametrize(("receiver", "code"), [(Receiver.CUSTOMER, "S7"), (Receiver.UNKNOWN, "S7"), (Receiver.TEAM, "L7")])
def test_s7_a_success_that_was_none_is_told_to_a_customer(receiver: Receiver, code: str) -> None:
    made = step(effect(Kind.NOTIFY, Repeat.SAFE, receiver=receiver), identity=KEY)
    assert codes(flow(made), finding("R-07"))[1] == [code]


def test_s5_a_delivery_whose_number_is_not_known_is_not_endless() -> None:
    again = tuple(Repeater(kind, automatic=True, bound=None, span=HERE) for kind in (Repeating.REDELIVERY, Repeating.SCHEDULE))
    assert codes(flow(step(effect(Kind.CREATE, Repeat.SAFE), repeaters=again))) == (Verdict.PROCEED, [])


def test_s5_a_retry_without_an_end() -> None:
    made = step(effect(Kind.CREATE, Repeat.SAFE), repeaters=(replace(RETRIED, bound=None),))
    assert codes(flow(made)) == (Verdict.STOP, ["S5"])


@pytest.mark.parametrize(("started", "verdict"), [(Starting.SCHEDULE, Verdict.STOP), (Starting.MANUAL, Verdict.LIMITED)])
def test_s6_what_cannot_be_read_must_not_start_by_itself(started: Starting, verdict: Verdict) -> None:
    made = step(effect(Kind.RECORD, Repeat.SAFE), opaque=Unread("pod", "{what}", HERE))
    assert codes(flow(made, triggers=(Trigger(started, HERE),)))[0] is verdict


@pytest.mark.parametrize(("kind", "verdict"), [(Kind.NOTIFY, Verdict.STOP), (Kind.READ, Verdict.LIMITED)])
def test_s8_a_failure_that_may_be_none_must_not_drive_another_effect(kind: Kind, verdict: Verdict) -> None:
    made = flow(
        step(effect(Kind.DEPLOY, Repeat.SAFE)),
        step(effect(kind, Repeat.SAFE), name="route", order=2),
        edges=(Edge("act", "route", When.ERROR),),
    )
    assert codes(made, finding("R-14"))[0] is verdict


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (step(effect(Kind.CREATE)), "L1"),
        (step(effect(Kind.PUBLISH, Repeat.REJECTS)), "L2"),
        (step(effect(Kind.CREATE), guard=HERE, guard_is_proof=False), "L2"),
        (step(effect(Kind.CREATE, Repeat.SAFE), gate=None), "L4"),
        (step(effect(Kind.CREATE, Repeat.SAFE), gate=replace(SEEN, visible=False)), "L4"),
        (step(effect(Kind.DEPLOY, Repeat.SAFE), gate=None, opaque=Unread("x", "{what}", HERE)), "L6"),
        (step(effect(Kind.GIT), gate=None, repeaters=(RETRIED,)), "L8"),
    ],
)
def test_what_makes_a_trial_of_it(made: Step, code: str) -> None:
    assert codes(flow(made)) == (Verdict.LIMITED, [code])


def test_l8_a_repeat_whose_number_is_not_known_is_not_within_bounds() -> None:
    made = flow(step(effect(Kind.GIT), repeaters=(replace(RETRIED, bound=None),)), step(effect(Kind.GIT), name="b", repeaters=(RETRIED,)))
    assert [one.said.text for one in judged(made).reasons] == [
        "{step} is repeated automatically", "{step} is repeated automatically, within bounds",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "made",
    [
        flow(step(None)),
        flow(step(effect(Kind.READ), repeaters=(RETRIED,))),
        flow(step(effect(Kind.MONEY, Repeat.WITH_KEY), identity=KEY, repeaters=(RETRIED,))),
        flow(step(effect(Kind.CREATE), guard=HERE)),
        flow(step(effect(Kind.DEPLOY, Repeat.SAFE), gate=None, repeaters=(RETRIED,))),
    ],
)
def test_what_may_proceed(made: Flow) -> None:
    assert codes(made) == (Verdict.PROCEED, [])


def test_the_gravest_is_the_one_that_matters_most() -> None:
    made = flow(step(effect(Kind.GIT), name="push"), step(effect(Kind.MONEY), name="charge", order=2))
    found = judged(made, finding("R-08", step="push"), finding("R-08", step="charge"), finding("R-02", Severity.MEDIUM, step="charge"))
    assert [(one.rule, one.step) for one in found.findings] == [("R-08", "charge"), ("R-08", "push"), ("R-02", "charge")]


def test_what_only_makes_a_stop_harder_to_settle_comes_after_what_does_harm() -> None:
    made = flow(step(effect(Kind.CREATE)))
    found = judged(made, finding("R-16"), finding("R-19"), finding("R-15", Severity.MEDIUM), finding("R-27", Severity.MEDIUM))
    assert [one.rule for one in found.findings] == ["R-19", "R-16", "R-27", "R-15"]


@pytest.mark.parametrize(
    ("kind", "given", "answer"),
    [
        (Kind.MONEY, {}, Category.HAND_OVER), (Kind.AGENT, {}, Category.QUARANTINE), (Kind.NOTIFY, {}, Category.MARK),
        (Kind.PUBLISH, {}, Category.CORRECT),
    ],
)  # fmt: skip
def test_how_what_is_half_done_is_dealt_with(kind: Kind, given: dict[str, object], answer: Category) -> None:
    assert category(step(effect(kind), **given)) is answer


@pytest.mark.parametrize(
    ("given", "answer"), [({"kept": (HERE,)}, Category.CANCEL), ({"undo": Undo("x", HERE)}, Category.CANCEL), ({}, Category.MARK)]
)
def test_what_can_be_taken_back_is_cancelled_where_it_can_be_found(given: dict[str, object], answer: Category) -> None:
    made = step(replace(effect(Kind.DEPLOY), reversible=Reversible.YES), **given)
    assert category(made) is answer


def test_the_guide_explains_every_criterion() -> None:
    root = Path(__file__).parents[2]
    codes = set(re.findall(r'"([SL]\d)"', (root / "src/halfway/inspection/judging.py").read_text(encoding="utf-8")))
    told = re.findall(r"^\| ([SL]\d) \| .{20}", (root / "docs/guides/inspecting.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert told == sorted(codes, key=lambda code: (code[0] == "L", code))
    assert len(codes) == 17


def test_one_question_about_one_place() -> None:
    unread = Unread("./.github/actions/deploy", "{what}", Span("flow.yml", 9))
    case = Case(
        flow(step(effect(Kind.DEPLOY, Repeat.SAFE), opaque=unread), step(effect(Kind.CREATE), gate=None, name="b", order=2)), Base()
    )
    asked = question(case, judge(case, []))
    assert asked == Said("Can you show {what}? {place} refers to it.", {"what": "./.github/actions/deploy", "place": "flow.yml:9"})
    readable = Case(flow(step(effect(Kind.CREATE))), Base())
    assert question(readable, judge(readable, [])) is None


def test_nobody_is_asked_for_what_is_at_hand() -> None:
    followed = Unread("./many", "{what} was not followed", Span("flow.yml", 5), at_hand=True)
    missing = Unread("./ship.sh", "{what} was not given", Span("flow.yml", 9))
    first = step(effect(Kind.DEPLOY, Repeat.SAFE), gate=None, opaque=followed)
    case = Case(flow(first, step(effect(Kind.DEPLOY, Repeat.SAFE), gate=None, opaque=missing, name="b", order=2)), Base())
    judged = judge(case, [])
    assert question(case, judged) == Said("Can you show {what}? {place} refers to it.", {"what": "./ship.sh", "place": "flow.yml:9"})
    assert [words(one.said) for one in judged.reasons if one.code == "L6"] == ["./many was not followed", "./ship.sh was not given"]
    alone = Case(flow(first), Base())
    assert question(alone, judge(alone, [])) is None


@pytest.mark.parametrize(
    ("what", "file", "asked"),
    [
        ("npm run prisma:migrate-dev", "flow.yml", "Can you show package.json, which says what npm run prisma:migrate-dev does?"),
        ("yarn deploy", "flow.yml", "Can you show package.json, which says what yarn deploy does?"),
        ("make release", "deploy.sh", "Can you show Makefile, which says what make release does?"),
        ("just ship", "deploy.sh", "Can you show justfile, which says what just ship does?"),
        ("shop.mail.send", "tasks.py", "Can you show the module shop.mail, which shop.mail.send comes from?"),
        ("shop.mail.Client.send", "tasks.py", "Can you show the module shop.mail, which shop.mail.Client.send comes from?"),
        ("send", "tasks.py", "Can you show send?"), ("make", "flow.yml", "Can you show make?"),
        ("make order (own.node)", "n8n.json", "Can you show make order (own.node)?"),
        ("shop.mail.send", "flow.yml", "Can you show shop.mail.send?"),
    ],
)  # fmt: skip
def test_the_question_names_the_file_that_would_show_it(what: str, file: str, asked: str) -> None:
    case = Case(flow(step(effect(Kind.DEPLOY, Repeat.SAFE), opaque=Unread(what, "{what}", Span(file, 9)))), Base())
    said = question(case, judge(case, []))
    assert said is not None
    assert words(said) == f"{asked} {file}:9 refers to it."


def test_every_next_step_only_reads() -> None:
    commands = [*BY_ACTION.values(), *(one.text for one in BY_FORMAT.values() if one.text.split()[0].islower() and "look" not in one.text)]
    assert commands
    assert all(command.startswith(ALLOWED) for command in commands)
    case = Case(flow(step(effect(Kind.CREATE))), Base(), log(Outcome.UNKNOWN))
    assert next_step(case, judge(case, [])) == Said("gh run view {run} --log-failed", {"run": "7"})
    known = replace(case, run=log(Outcome.LANDED))
    assert next_step(known, judge(known, [])).text == BY_FORMAT["github-actions"].text


def test_every_look_at_an_action_is_at_one_that_is_known() -> None:
    ids = [action.id for action in load().actions()]
    assert [prefix for prefix in BY_ACTION if not any(id.startswith(prefix) for id in ids)] == []


@pytest.mark.parametrize(("action", "told"), [
    ("pypi.upload", Said("pip index versions NAME")), ("git.push.tag", Said("git ls-remote --tags origin TAG")),
    ("looked", Said("look whether {step} has happened: {probe}", {"step": "act", "probe": Said("list the charges")})),
])  # fmt: skip
def test_with_a_log_the_next_step_looks_at_what_is_in_doubt(action: str, told: Said) -> None:
    graver = step(effect(Kind.MONEY, action="npm.publish"), name="next", order=2)
    case = Case(flow(graver, step(effect(Kind.PUBLISH, action=action))), Base(), log(Outcome.UNKNOWN, then=Outcome.LANDED))
    assert next_step(case, judge(case, [finding("R-08", step="next")])) == told
    known = replace(case, run=log(Outcome.LANDED, then=Outcome.LANDED))
    assert next_step(known, judge(known, [finding("R-08", step="next")])) == Said("npm view NAME@VERSION version")
