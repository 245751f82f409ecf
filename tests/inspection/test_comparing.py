"""What a model makes of a card is shown only if it says nothing but what the card says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfway.cli.i18n import speak
from halfway.cli.retelling import ground_of
from halfway.inspection.card import Card
from halfway.inspection.comparing import LONGEST, check
from halfway.inspection.finding import Said
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.retelling import LAST, Ground, asked
from halfway.inspection.rules import all_rules
from tests.cli.test_inspect import ORDERS, RELEASE

EN = """Verdict: STOP
The release flow makes a new name each time, which `R-09` finds (needs confirmation) at .github/release.yml:14.
When Tell fails, a second release is made by `gh release create`, and nobody can refuse it.
What may already have happened needs confirmation, because no log of a run was given.
A person has to look before anything else, and has to keep the id of the run. Do not repeat it before that.
The fact is `gh release create "$N" --generate-notes`, in a flow of 3 steps."""
KO = """결론: 중단
R-09: 이름을 지금 가장 새로운 것에서 가져옵니다(.github/release.yml:14, 확인 필요).
다시 하면 `gh release create`의 이름이 새로 계산되어 두 번째 것이 만들어집니다.
이미 일어났을 수 있는 일은 확인 필요입니다.
사람이 먼저 확인하고, 실행 ID와 모든 시도의 로그를 보관합니다."""


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Card:
    folder = tmp_path_factory.mktemp("flows")
    (folder / "release.yml").write_text(RELEASE % "x")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / ".github").mkdir()
        (folder / "release.yml").rename(folder / ".github" / "release.yml")
        found = Inspector(READERS, all_rules(), load()).inspect([folder.relative_to(folder) / ".github" / "release.yml"])
    assert found.card is not None
    return found.card


@pytest.fixture(scope="module")
def en(card: Card) -> Ground:
    speak("en")
    return ground_of(card)


@pytest.fixture(scope="module")
def ko(card: Card) -> Iterator[Ground]:
    speak("ko")
    yield ground_of(card)
    speak("en")


def texts(on: Ground, answer: str) -> list[str]:
    return [one.text.format(**one.params) for one in check(on, answer)]


def test_an_answer_that_only_says_what_the_card_says_passes(en: Ground, ko: Ground) -> None:
    assert texts(en, EN) == []
    assert texts(ko, KO) == []


CHANGES = {
    "another verdict": ("Verdict: STOP", "Verdict: PROCEED", "first line"),
    "no verdict": ("Verdict: STOP\n", "", "first line"),
    "the verdict of another language": ("Verdict: STOP", "Verdict: 중단", "first line"),
    "a verdict taken back": ("A person has", "The STOP is wrong: a person has", "STOP"),
    "another verdict in the text": ("A person has", "After that one can proceed, and a person has", "proceed"),
    "another verdict in quotes": ("A person has", "The report says `PROCEED`, and a person has", "PROCEED"),
    "another verdict in another language": ("A person has", "It is 진행, and a person has", "진행"),
    "a limited trial": ("A person has", "A limited trial helps, and a person has", "limited"),
    "another rule": ("R-09", "R-08", "leaves out R-09"),
    "a rule that does not exist": ("R-09` finds", "R-09` and R-99 find", "R-99"),
    "no rule": ("`R-09`", "the report", "leaves out R-09"),
    "another line": (":14", ":15", "leaves out .github/release.yml:14"),
    "another file": (".github/release.yml:14", ".github/deploy.yml:14", "deploy.yml"),
    "a part of the path": (".github/release.yml:14", "release.yml:14", "leaves out"),
    "a line in words": (":14.", ":14, line 14 of it.", "14"),
    "nothing left to confirm": ("needs confirmation", "is known", "leaves out needs confirmation"),
    "a quote with a digit more": ('"$N" --generate-notes', '"$N2" --generate-notes', "it quotes"),
    "a quote that was cut": (' --generate-notes', "", "it quotes"),
    "a quote with another word": ("gh release create`,", "gh release delete`,", "it quotes"),
    "a quote in other marks": ("`gh release create`", "“gh release delete”", "it quotes"),
    "a quote that is not closed": ("`gh release create`", "`gh release create", "quote"),
    "another number": ("3 steps", "4 steps", "4"),
    "the number of something else": ("3 steps", "14 steps", "14"),
    "a number of times": ("a second release", "two releases", "two"),
    "a number in words": ("a second release", "a third release", "third"),
    "another step": ("When Tell fails", "When Notify fails", "Notify"),
    "another step in small letters": ("When Tell fails", "When the payment step fails", "payment"),
    "another step first in a line": ("When Tell fails, a", "Payment fails, a", "Payment"),
    "another program": ("a second release is made", "a second release is made by git/push", "git/push"),
    "an option": ("a second release is made", "a second release is made with --force", "--force"),
    "a name in capitals": ("a second release is made", "a second AWS release is made", "AWS"),
    "another run": ("id of the run", "id of the run run_8f3a", "run_8f3a"),
    "a link": ("nobody can refuse it", "https://help.example explains it", "link"),
    "a link without a scheme": ("nobody can refuse it", "www.help.example explains it", "link"),
    "an address of a person": ("nobody can refuse it", "jane@shop.example decides it", "address of a person"),
    "a secret": ("nobody can refuse it", "ghp_" + "a1B2" * 8 + " was used", "must not be shown"),
    "a code block": ("A person has", "```\nA person has", "code block"),
    "a heading": ("A person has", "# A person has", "code block"),
    "HTML": ("A person has", "<b>A person has", "code block"),
    "a control character": ("A person", "A\x1b[2J person", "cannot be seen"),
    "a line turned around": ("A person", "A \u202eperson", "cannot be seen"),
    "an order to a build server": ("A person has", "::error::A person has", "must not be shown"),
    "letters of another script that look the same": ("person", "p\u0435rson", "\u0435"),
    "another kind of digits": ("3 steps", "３ steps", "３"),
    "an order": ("A person has", "Run it again. A person has", "tells somebody"),
    "an order in a sentence": ("A person has", "Then retry the release. A person has", "tells somebody"),
    "an order to you": ("A person has", "It is yours: you decide. A person has", "tells somebody"),
    "a polite order": ("A person has", "Please execute it once more. A person has", "tells somebody"),
    "permission": ("A person has", "It can be run again. A person has", "tells somebody"),
    "permission in other words": ("A person has", "It is ready to go. A person has", "tells somebody"),
    "permission without the word": ("A person has", "The release can pro-ceed. A person has", "proceed"),
    "permission to go on": ("A person has", "The release flow can go on. A person has", "tells somebody"),
    "no harm": ("A person has", "A repeat does no harm. A person has", "is safe"),
    "an order to delete": ("A person has", "Then delete the release. A person has", "tells somebody"),
    "an order that begins a sentence": ("A person has", "Delete the release. A person has", "Delete"),
    "a card that is wrong": ("A person has", "The verdict above is wrong. A person has", "is safe"),
    "nobody who has to look": ("A person has", "Nobody has to look. A person has", "is safe"),
    "no second one": ("A person has", "It does not make a second release. A person has", "is safe"),
    "people of whom the card does not speak": ("A person has", "The customer is told. A person has", "customer"),
    "money": ("A person has", "The card is charged. A person has", "charg"),
    "a property": ("A person has", "The call is idempotent. A person has", "idempoten"),
    "another severity": ("A person has", "The weakness is low. A person has", "how grave"),
    "an approver": ("A person has", "The manager approves it. A person has", "who approves"),
    "certainty in other words": ("A person has", "The release was already made. A person has", "is certain"),
    "a promise": ("A person has", "It is safe. A person has", "is safe"),
    "nothing to confirm": ("A person has", "Nothing needs confirmation. A person has", "is safe"),
    "a weakness talked down": ("A person has", "It is a false alarm. A person has", "is safe"),
    "certainty": ("may already have happened", "has happened", "is certain"),
    "certainty that it did not": ("nobody can refuse it", "it was not executed", "is certain"),
    "another language": ("A person has to look before anything else", "사람이 먼저 확인합니다 " * 60, "language"),
    "too long": ("A person", "A person looks and looks and a person " + "looks " * LONGEST, "longer"),
    "nothing at all": (EN, "", "empty"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "why"), CHANGES.values(), ids=CHANGES.keys())
def test_one_thing_that_is_wrong_is_enough(en: Ground, old: str, new: str, why: str) -> None:
    assert EN.count(old) >= 1
    problems = texts(en, EN.replace(old, new))
    assert [one for one in problems if why in one], problems


KOREAN = {
    "another verdict": ("결론: 중단", "결론: 진행", "first line"),
    "the verdict in English": ("결론: 중단", "결론: STOP", "first line"),
    "another verdict in the text": ("사람이 먼저", "제한적 시험 뒤에 사람이 먼저", "제한적"),
    "another line": (":14", ":15", "leaves out"),
    "another name": ("다시 하면", "Notify에서 다시 하면", "Notify"),
    "another step": ("다시 하면", "결제 단계에서 다시 하면", "결제"),
    "a number in words": ("두 번째", "세 번째", "세 번"),
    "another number": ("다시 하면", "4단계 중에서 다시 하면", "4"),
    "nothing left to confirm": ("확인 필요", "알려짐", "leaves out"),
    "an order": ("사람이 먼저", "다시 실행하세요. 사람이 먼저", "tells somebody"),
    "permission": ("사람이 먼저", "다시 실행해도 됩니다. 사람이 먼저", "tells somebody"),
    "a card that is wrong": ("사람이 먼저", "위의 결론은 틀립니다. 사람이 먼저", "is safe"),
    "people of whom the card does not speak": ("사람이 먼저", "고객에게 알립니다. 사람이 먼저", "고객"),
    "another severity": ("사람이 먼저", "위험은 낮음. 사람이 먼저", "how grave"),
    "an approver": ("사람이 먼저", "책임자가 승인합니다. 사람이 먼저", "who approves"),
    "certainty in other words": ("사람이 먼저", "이미 만들어졌습니다. 사람이 먼저", "is certain"),
    "a promise": ("사람이 먼저", "안전합니다. 사람이 먼저", "is safe"),
    "nothing to confirm": ("사람이 먼저", "더 확인 필요 없습니다. 사람이 먼저", "is safe"),
    "certainty": ("일어났을 수 있는 일은", "일어났습니다. 나머지는", "is certain"),
    "another quote": ("`gh release create`", "`gh release delete`", "it quotes"),
    "another language": (KO[KO.index("이름을") : KO.index("(.git")], "The name comes from what is the newest now " * 6, "The"),
}


@pytest.mark.parametrize(("old", "new", "why"), KOREAN.values(), ids=KOREAN.keys())
def test_in_korean_too(ko: Ground, old: str, new: str, why: str) -> None:
    assert KO.count(old) >= 1
    problems = texts(ko, KO.replace(old, new))
    assert [one for one in problems if why in one], problems


def test_a_card_that_says_that_something_has_happened_may_be_retold_so(en: Ground) -> None:
    sure = EN.replace("may already have happened", "has happened and needs confirmation because it")
    assert texts(en, sure) == ["it is certain of what nobody knows: happened"]
    assert texts(replace(en, landed=True), sure) == []


@given(data=st.data())
def test_no_digit_of_a_good_answer_can_be_changed(en: Ground, ko: Ground, data: st.DataObject) -> None:
    on, good = data.draw(st.sampled_from([(en, EN), (ko, KO)]))
    place = data.draw(st.sampled_from([found.start() for found in re.finditer(r"\d", good)]))
    digit = data.draw(st.sampled_from([one for one in "0123456789" if one != good[place]]))
    assert check(on, good[:place] + digit + good[place + 1 :])


@given(data=st.data())
def test_no_letter_of_a_quote_can_be_changed_added_or_taken_out(en: Ground, ko: Ground, data: st.DataObject) -> None:
    on, good = data.draw(st.sampled_from([(en, EN), (ko, KO)]))
    start, end = data.draw(st.sampled_from([found.span(1) for found in re.finditer(r"`([^`]+)`", good)]))
    place, letter = data.draw(st.integers(start, end - 1)), data.draw(st.sampled_from(["", "x", " ", "-", "é"]))
    kept = data.draw(st.booleans()) and letter != ""
    changed = good[:place] + letter + good[place + (not kept) :]
    if changed != good:
        assert check(on, changed)


@given(word=st.sampled_from(["proceed", "PROCEED", "limited trial", "Stop", "진행", "제한적 시험", "중단"]), data=st.data())
def test_a_word_of_a_verdict_stands_nowhere_but_in_the_first_line(en: Ground, word: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from([found.start() for found in re.finditer(r" ", EN) if found.start() > EN.index("\n")]))
    assert check(en, f"{EN[:place]} {word}{EN[place:]}")


def test_a_model_is_told_the_card_as_data_and_nothing_of_it_among_the_orders(en: Ground) -> None:
    hostile = replace(en, text=f"{en.text}\nEND\n{ORDERS}\r\nREPORT", needed=("R-09", "a END file.yml:1"))
    order, data = asked(hostile, ["it quotes END"])
    assert "Ignore" not in order
    assert "file.yml" not in order
    assert [line for line in data.splitlines() if not line.startswith("| ")] == [
        "REPORT",
        "END",
        "NAMES",
        "END",
        "WRONG",
        "END",
        f"{LAST}{en.opening}",
    ]
    assert asked(en)[1].splitlines()[0] == "REPORT"


def test_what_needs_confirmation_is_retold_as_that(card: Card) -> None:
    assert card.gravest is not None
    speak("en")
    unsure = ground_of(replace(card, gravest=replace(card.gravest, holds_if=Said("it is so"))))
    silent = EN.replace(" (needs confirmation)", "")
    assert [problem.text for problem in check(unsure, silent)] == ["the sentence that names {rule} does not say: {what}"]
    assert list(check(unsure, EN)) == []
    assert "Say in the sentence that names R-09: needs confirmation." in asked(unsure)[0]
