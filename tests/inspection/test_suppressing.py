"""What somebody answers for no longer decides; it is never hidden, never for ever, and never more than one place."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from halfway.errors import InvalidInput
from halfway.inspection.finding import Case, Finding, Said, Severity
from halfway.inspection.judging import Judgement, Verdict, judge
from halfway.inspection.model import Fact, Kind, Outcome, Ran, RunLog
from halfway.inspection.suppressing import State, Suppressions, unmatched, weighed
from halfway.inspection.suppression_file import parse
from tests.inspection.flows import RETRY, Known, effect, flow, span, step

TODAY = date(2026, 11, 30)
RULES = ("R-01", "R-09", "R-29", "R-32", "R-44")
ENTRY = {
    "rule": '"R-01"', "file": '"flow.yml"', "at": '"charge"', "reason": '"the bank asks first"', "owner": '"payments team"',
    "expires": "2027-03-31",
}  # fmt: skip
CASE = Case(flow(step("charge", 1, effect(Kind.MONEY), repeaters=(RETRY,)), step("book", 2)), Known())


def text(**changed: str | None) -> str:
    """One entry; a key that is None is left out."""
    entry = ENTRY | changed
    return "[[suppress]]\n" + "".join(f"{key} = {value}\n" for key, value in entry.items() if value is not None)


def given(*entries: str, today: date = TODAY) -> Suppressions:
    read = parse("\n".join(entries), source="s.toml", folder="/repo", rules=RULES, today=TODAY)
    return Suppressions(entries=read, today=today, here="/repo")


def finding(rule: str = "R-01", at: str = "charge", severity: Severity = Severity.BLOCKER, key: str = "") -> Finding:
    place = replace(span(1), at=key)
    return Finding(rule=rule, severity=severity, span=place, facts=(Fact(place, "do"),), inference=Said("."), step=at)


def judged(case: Case, findings: list[Finding], suppressions: Suppressions) -> tuple[Judgement, list[State]]:
    found = weighed(case, findings, suppressions)
    return judge(case, found.counted, found.accepted), [one.state for one in found.told]


def test_a_suppressed_finding_does_not_decide_and_is_told() -> None:
    assert judged(CASE, [finding()], given())[0].verdict is Verdict.STOP
    judgement, states = judged(CASE, [finding()], given(text()))
    assert (judgement.verdict, judgement.findings, states) == (Verdict.LIMITED, (), [State.ACTIVE])
    assert [reason.code for reason in judgement.reasons] == ["L4"]


def test_a_criterion_stands_while_another_finding_says_the_same() -> None:
    judgement, _ = judged(CASE, [finding(), finding("R-39")], given(text()))
    assert [reason.code for reason in judgement.reasons] == ["S1"]


def test_it_holds_until_the_evening_of_its_last_day() -> None:
    for today, state in ((date(2027, 3, 31), State.ACTIVE), (date(2027, 4, 1), State.EXPIRED)):
        judgement, states = judged(CASE, [finding()], given(text(), today=today))
        assert states == [state]
        assert (judgement.verdict is Verdict.STOP) == (state is State.EXPIRED)


def test_what_a_log_leaves_open_cannot_be_suppressed() -> None:
    ran = Ran("charge", "job", Outcome.UNKNOWN, Fact(span(9), "lost"))
    run = RunLog(id="1", format=CASE.flow.format, name="", attempt=1, span=span(9), steps=(ran,))
    judgement, states = judged(replace(CASE, run=run), [finding()], given(text()))
    assert states == [State.OVERRULED]
    assert {"S1", "S2"} <= {reason.code for reason in judgement.reasons}


def test_an_entry_is_about_one_step() -> None:
    both = [finding(key="jobs.pay"), finding(at="book", key="jobs.pay")]
    found = weighed(CASE, both, given(text(at='"jobs.pay"')))
    assert [(one.state, one.why and one.why.params["steps"]) for one in found.told] == [(State.OVERRULED, "book, charge")] * 2
    assert found.counted == tuple(both)
    assert [one.state for one in weighed(CASE, both[:1], given(text(at='"jobs.pay"'))).told] == [State.ACTIVE]


@pytest.mark.parametrize(
    ("entry", "fits"),
    [
        (text(), True),
        (text(file='"./a/../flow.yml"'), True),
        (text(file='"/repo/flow.yml"'), True),
        (text(file='"other.yml"'), False),
        (text(at='"book"'), False),
        (text(at=None), False),
        (text(rule='"R-09"'), False),
    ],
)
def test_it_fits_by_rule_file_and_place(entry: str, fits: bool) -> None:
    assert bool(weighed(CASE, [finding()], given(entry)).accepted) is fits


def test_without_a_place_it_is_about_the_flow_as_a_whole() -> None:
    whole = finding("R-29", at="")
    assert weighed(CASE, [whole], given(text(rule='"R-29"', at=None))).accepted == (whole,)


def test_what_is_said_once_of_a_flow_is_suppressed_for_all_its_steps() -> None:
    case = Case(flow(step("mail", 1, effect(Kind.NOTIFY)), step("charge", 2, effect(Kind.MONEY))), Known())
    judgement, _ = judged(case, [finding("R-32", severity=Severity.MEDIUM)], given(text(rule='"R-32"')))
    assert {reason.code for reason in judgement.reasons} == {"L1"}


def test_one_that_fits_nothing_is_named_if_its_file_was_looked_at() -> None:
    suppressions = given(text(), text(at='"gone"'), text(file='"elsewhere/b.yml"'))
    told = weighed(CASE, [finding()], suppressions).told
    assert [one.number for one in unmatched(suppressions, told, ["."])] == [2, 3]
    assert [one.number for one in unmatched(suppressions, told, ["flow.yml"])] == [2]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (text(reason=None), "entry 1 has no reason"),
        (text(owner=None), "entry 1 has no owner"),
        (text(expires=None), "entry 1 has no expires"),
        (text(rule=None), "entry 1 has no rule"),
        (text(file=None), "entry 1 has no file"),
        (text(reason='"  "'), "reason of entry 1 is no text"),
        (text(reason='"a\\nb"'), "reason of entry 1 is no text"),
        (text(reason="7"), "reason of entry 1 is no text"),
        (text(ownr='"x"'), "Did you mean owner = …?"),
        (text(until="2027-01-01"), "Known keys: rule, file, at"),
        (text(line="14"), "Lines move"),
        (text(at='"14"'), "names a line, and lines move"),
        (text(file='"flow.yml:14"'), "names a line, and lines move"),
        (text(file='"*.yml"'), "is a pattern"),
        (text(rule='"r-09"'), "Did you mean R-09?"),
        (text(rule='"everything"'), "Name one rule"),
        (text(rule='"R-44"'), "cannot be suppressed"),
        (text(rule='"R-42"'), "cannot be suppressed"),
        (text(expires='"2027-03-31"'), "expires of entry 1 is no date"),
        (text(expires="2027-03-31T00:00:00Z"), "expires of entry 1 is no date"),
        (text(expires="2027-12-31"), "more than a year away"),
        (text(owner='"jane@shop.example"'), "personal data"),
        (text() + text(reason='"again"'), "entries 1 and 2 are about the same"),
        ("suppres = 1", "there is no key suppres"),
        ("suppress = 1", "no list of tables"),
        ("[suppress]\nrule = 1", "no list of tables"),
        ("a = ", "it is no TOML"),
        ("a = " + "[" * 5000, "it is no TOML"),
        (text() * 1001, "more than 1000"),
    ],
)
def test_what_is_not_said_completely_is_refused(entry: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        given(entry)
    assert problem in str(refused.value)
    assert "jane" not in str(refused.value)


@pytest.mark.parametrize("entry", ["a" + ".a" * 20_000 + " = 1", "a = {" + "b . c . " * 10 + "d = 1}", "# " + "x" * 2**18])
def test_what_is_made_to_keep_the_parser_busy_is_refused_before_it_is_parsed(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tomllib.loads", lambda _text: pytest.fail("it was parsed"))
    with pytest.raises(InvalidInput, match="larger than 256 KiB, or a key of it has too many parts"):
        given(entry)
