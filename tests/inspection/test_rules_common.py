"""What rules ask of a step and of a flow."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from halfway.inspection.assessing import Repeatable, identified, repeatability
from halfway.inspection.finding import Case, Finding, Rule, Said, Severity
from halfway.inspection.formats import Given
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.model import Bearing, Fact, Kind, Mark, Receiver, Repeat, Repeating, Step, When
from halfway.inspection.rules import all_rules
from halfway.inspection.rules.common import again, exposed, found, place, tells_team
from halfway.inspection.ways import Ways
from tests.docs.pages import ROOT
from tests.inspection.flows import edge, edges, effect, flow, identity, repeater, span, step


def names(steps: object) -> list[str]:
    return [one.id for one in steps]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("repeat", "bearing", "guarded", "proof"),
    [
        (Repeat.SAFE, None, False, Repeatable.PROVEN),
        (Repeat.SAFE, Bearing.MINTED, False, Repeatable.PROVEN),
        (Repeat.WITH_KEY, Bearing.STABLE, False, Repeatable.PROVEN),
        (Repeat.WITH_KEY, Bearing.NATURAL, False, Repeatable.PROVEN),
        (Repeat.WITH_KEY, Bearing.MINTED, False, Repeatable.NO),
        (Repeat.WITH_KEY, Bearing.NONE, False, Repeatable.NO),
        (Repeat.WITH_KEY, Bearing.UNKNOWN, False, Repeatable.UNKNOWN),
        (Repeat.WITH_KEY, None, False, Repeatable.UNKNOWN),
        (Repeat.WITH_KEY, Bearing.NONE, True, Repeatable.GUARDED),
        (Repeat.REJECTS, None, False, Repeatable.GUARDED),
        (Repeat.MERGES, Bearing.NONE, False, Repeatable.GUARDED),
        (Repeat.REJECTS, Bearing.MUTABLE, False, Repeatable.NO),
        (Repeat.REJECTS, Bearing.MUTABLE, True, Repeatable.NO),
        (Repeat.MERGES, Bearing.MINTED, False, Repeatable.NO),
        (Repeat.DUPLICATES, None, False, Repeatable.NO),
        (Repeat.DUPLICATES, Bearing.NONE, True, Repeatable.GUARDED),
        (Repeat.DUPLICATES, Bearing.STABLE, False, Repeatable.UNKNOWN),
        (Repeat.UNKNOWN, Bearing.NONE, False, Repeatable.UNKNOWN),
        (Repeat.UNKNOWN, Bearing.NONE, True, Repeatable.GUARDED),
        (Repeat.UNKNOWN, Bearing.STABLE, False, Repeatable.UNKNOWN),
    ],
)
def test_whether_a_repeat_is_harmless(repeat: Repeat, bearing: Bearing | None, guarded: bool, proof: Repeatable) -> None:
    own = identity(bearing) if bearing is not None else None
    one = step("pay", 10, effect(Kind.MONEY, repeat=repeat), identity=own, guard=span(9) if guarded else None)
    assert repeatability(one) is proof
    assert exposed(one) is (proof in (Repeatable.NO, Repeatable.UNKNOWN) and not identified(one))


def test_what_is_inferred_is_never_a_certain_duplicate() -> None:
    assert repeatability(step("pay", 10, effect(Kind.MONEY, certain=False))) is Repeatable.UNKNOWN


def test_a_step_that_leaves_nothing_outside_may_be_repeated() -> None:
    assert repeatability(step("look", 10, effect(Kind.READ))) is Repeatable.PROVEN
    assert repeatability(step("compute", 10)) is Repeatable.PROVEN


@pytest.mark.parametrize(("receiver", "team"), [(Receiver.TEAM, True), (Receiver.UNKNOWN, False), (Receiver.CUSTOMER, False)])
def test_an_unknown_receiver_counts_as_a_customer(receiver: Receiver, team: bool) -> None:
    assert tells_team(step("tell", 10, effect(Kind.NOTIFY, receiver=receiver))) is team
    assert not tells_team(step("pay", 10, effect(Kind.NOTIFY, Kind.MONEY, receiver=receiver)))


def test_one_attempt_is_no_repeat_and_a_schedule_begins_something_new() -> None:
    sorts = [
        repeater(Repeating.STEP_RETRY, 1),
        repeater(Repeating.SCHEDULE),
        repeater(Repeating.MANUAL),
        repeater(Repeating.REDELIVERY, None),
    ]
    assert [one.kind for one in again(step("pay", 10, repeaters=tuple(sorts)))] == [Repeating.REDELIVERY]


def test_inside_a_unit_the_order_counts_and_between_units_the_edges() -> None:
    a1, a2 = step("a1", 10, unit="a"), step("a2", 11, unit="a")
    b1, b2, c = step("b1", 20, unit="b"), step("b2", 21, unit="b"), step("c", 30, unit="c")
    ways = Ways(flow(c, b2, a2, b1, a1, edges=(edge("a2", "b1"),)))
    assert names(ways.after(a1)) == ["a2", "b1", "b2"]
    assert names(ways.after(b1)) == ["b2"]
    assert names(ways.after(c)) == []


def test_a_unit_that_tells_its_branches_by_edges_is_not_read_in_its_order() -> None:
    look, new, old, end = (step(name, line) for name, line in (("look", 10), ("new", 11), ("old", 12), ("end", 13)))
    ways = Ways(flow(look, new, old, end, edges=(*edges("look", "new", "end"), *edges("look", "old", "end"))))
    assert names(ways.after(new)) == ["end"]
    assert names(ways.after(look)) == ["new", "old", "end"]


def test_what_is_done_only_after_a_failure_does_not_follow_a_success() -> None:
    a, back, told, b = step("a", 10), step("back", 11), step("told", 12), step("b", 13)
    ways = Ways(flow(a, back, told, b, edges=(edge("a", "back", When.ERROR), edge("back", "told"))))
    assert names(ways.after(a)) == ["b"]
    assert names(ways.failing(a)) == ["back", "told"]


def test_what_a_circle_leads_to_first_is_not_behind_its_gate() -> None:
    pay, ask, send, log = step("pay", 10), step("ask", 11), step("send", 12), step("log", 13)
    circle = (*edges("pay", "ask", "send"), edge("ask", "pay"))
    for ways in (
        Ways(flow(pay, ask, send, edges=circle)),
        Ways(flow(pay, ask, send, log, step("end", 14), edges=(*circle, edge("log", "end")))),
    ):
        assert names(ways.behind(ask)) == ["send"]


def test_a_unit_that_is_entered_only_after_a_failure_is_done_in_its_order() -> None:
    a, b1, b2 = step("a", 10, unit="a"), step("b1", 20, unit="b"), step("b2", 21, unit="b")
    ways = Ways(flow(a, b1, b2, edges=(edge("a", "b1", When.ERROR),)))
    assert names(ways.after(a)) == []
    assert names(ways.failing(a)) == ["b1", "b2"]


def test_a_way_of_a_failure_that_comes_back_is_a_way_of_success_too() -> None:
    a, b, c = step("a", 10, unit="a"), step("b", 11, unit="b"), step("c", 12, unit="c")
    ways = Ways(flow(a, b, c, edges=(edge("a", "b", When.ERROR), *edges("a", "c"), edge("b", "c"))))
    assert names(ways.after(a)) == ["c"]
    assert names(ways.failing(a)) == ["b", "c"]


def test_a_circle_of_edges_ends_and_edges_to_nowhere_are_no_way() -> None:
    a, b = step("a", 10, unit="a"), step("b", 11, unit="b")
    ways = Ways(flow(a, b, edges=(*edges("a", "b", "a", "gone"), edge("gone", "a"), edge("a", "away", When.ERROR))))
    assert names(ways.after(a)) == ["b"]
    assert names(ways.after(b)) == ["a"]
    assert names(ways.failing(a)) == []


def test_notices_of_failures_and_recoveries_are_not_what_comes_after_a_success() -> None:
    a, told, back = (
        step("a", 10),
        step("told", 11, marks=frozenset({Mark.FAILURE_NOTICE})),
        step("back", 12, marks=frozenset({Mark.RECOVERY})),
    )
    assert names(Ways(flow(a, told, back)).after(a)) == []


def test_a_place_is_quoted_with_what_a_step_knows_of_its_line() -> None:
    retry = Fact(span(12, "retry"), "retry: 3")
    one = step("pay", 10, facts=(retry,))
    assert place(span(12, "retry.attempts"), one) == Fact(span(12, "retry.attempts"), "retry: 3")
    assert place(span(10, "run"), one) == Fact(span(10, "run"), "do pay")
    assert place(span(99), one) == Fact(span(99), "")


def test_a_finding_quotes_each_line_once_and_its_own_line_first() -> None:
    one = step("pay", 10, effect(Kind.MONEY, told="POST pay.example"))
    finding = found("R-99", Severity.LOW, one, "{what}", place(span(12)), place(span(10, "run"), one), place(span(12)))
    assert [(fact.span.line, fact.quote) for fact in finding.facts] == [(10, "do pay"), (12, "")]
    assert (finding.step, finding.span, finding.inference.params) == ("pay", span(10), {"what": "POST pay.example"})


def test_no_secret_leaves_with_the_words_of_an_inference() -> None:
    one = step("pay", 10, effect(Kind.MONEY, told="curl https://api.example/?token=abcdef123456"))
    assert "abcdef" not in str(found("R-99", Severity.LOW, one, "{what}").inference.params)


def test_the_rules_are_in_the_order_of_their_ids_and_each_has_a_page_that_is_linked() -> None:
    ids = [rule.id for rule in all_rules()]
    assert ids == sorted(set(ids))
    assert ids[:22] == [f"R-{number:02}" for number in range(1, 23)]
    index = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    for rule in all_rules():
        page = f"rules/{rule.id.replace('-', '').lower()}.md"
        assert f"[{rule.id}]({page})" in index
        assert (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8").startswith(f"# {rule.id} {rule.name}\n")


def test_a_file_of_a_rule_is_called_like_the_rule() -> None:
    for rule in all_rules():
        assert rule.check.__module__.rpartition(".")[2].startswith(rule.id.replace("-", "").lower() + "_")


def test_what_is_said_twice_of_one_place_is_told_once_as_the_gravest() -> None:
    """A function that is called from two places is read at each of them."""
    one = step("pay", 10, effect(Kind.MONEY, told="POST pay.example"))
    said = [
        Finding(rule="R-99", severity=severity, span=span(line), facts=(), inference=Said("{what}", {"what": what}), step="pay")
        for severity, line, what in ((Severity.LOW, 10, "a"), (Severity.HIGH, 10, "a"), (Severity.LOW, 10, "b"), (Severity.LOW, 11, "a"))
    ]
    rule = Rule(id="R-99", name="", title="", why="", fix="", check=lambda case: iter(said))
    found = Inspector((), (rule,), load()).findings(Case(flow(one), load()))
    assert [(one.severity, one.span.line, one.inference.params["what"]) for one in found] == [
        (Severity.HIGH, 10, "a"), (Severity.LOW, 10, "b"), (Severity.LOW, 11, "a"),
    ]  # fmt: skip


def _is(name: str, _: Case, at: Step | None) -> bool:
    return at is not None and at.id == name


def test_of_two_that_are_as_grave_the_one_that_the_files_show_stays() -> None:
    """A function that is called from two places is read at each of them, and its first place may be the one that has to be confirmed."""
    one = step("pay", 10, effect(Kind.MONEY, told="POST pay.example"))
    said = [
        Finding(rule="R-99", severity=Severity.LOW, span=span(10), facts=(), inference=Said("{what}", {"what": "a"}), step=name)
        for name in ("first", "second")
    ]
    for shown in ("first", "second"):
        rule = Rule(
            id="R-99", name="", title="", why="", fix="", check=lambda case: iter(said), holds_if={"{what}": "x"},
            shown=partial(_is, shown),
        )  # fmt: skip
        case = Case(flow(replace(one, id="first"), replace(one, id="second", order=2)), load())
        [found] = Inspector((), (rule,), load()).findings(case)
        assert (found.step, found.holds_if) == (shown, None)


def test_all_rules_ask_the_same_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    made, whole = list[object](), Ways.__init__
    monkeypatch.setattr(Ways, "__init__", lambda self, of: (made.append(of), whole(self, of))[1])
    inspector = Inspector((), all_rules(), load())
    one = flow(step("a", 1, effect(Kind.MONEY)), step("b", 2, effect(Kind.CREATE)))
    inspector._card(one, (), Given({}, inspector.knowledge), None)
    assert len(made) == 1
