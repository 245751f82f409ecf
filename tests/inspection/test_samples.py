"""Look-alikes of what small teams write: for each rule a bad one and a good one, for each format some, each with its card beside it.

`--update-snapshots` writes the cards anew; every line of them that changes is read before it is kept.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from halfway.cli.cards import sections, wrapped
from halfway.cli.output import clean
from halfway.inspection.card import Card
from halfway.inspection.finding import Finding, Severity
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspection, Inspector
from halfway.inspection.judging import Verdict
from halfway.inspection.knowledge import load
from halfway.inspection.reports import words
from halfway.inspection.rules import all_rules

SAMPLES = Path(__file__).parent / "samples"
COLUMNS = 100
PLANTED = re.compile(r"(?i)planted|@mail\.example|010-\d{4}")
"""What a sample holds so that no card may show it."""
NOT_GRAVEST = frozenset({"R-02", "R-04", "R-19", "R-24", "R-32"})
"""What they weaken another rule tells first, and more gravely: who retries it, or that a key is forgotten."""


@dataclass(frozen=True)
class Sample:
    """A file, or a folder of files that belong together, with the log of a run beside it where the rule needs one."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(SAMPLES).as_posix()

    @property
    def kind(self) -> str:
        return self.path.name.partition(".")[0]

    @property
    def logs(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.kind}.run.*"))

    def snapshot(self, of: str) -> Path:
        return self.path.parent / f"{self.kind}.{of}.txt"


@dataclass(frozen=True)
class Seen:
    """A sample that was inspected."""

    sample: Sample
    inspection: Inspection

    @property
    def card(self) -> Card:
        assert self.inspection.card is not None, self.sample.name
        return self.inspection.card

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Of all its flows."""
        cards = (self.card, *self.inspection.others)
        return tuple(one for card in cards for one in (card.gravest, *card.others) if one is not None)

    @cached_property
    def rules(self) -> frozenset[str]:
        return frozenset(one.rule for one in self.findings)


def _samples(folder: str) -> list[Sample]:
    paths = sorted((SAMPLES / folder).glob("*/*"))
    return [Sample(path) for path in paths if re.fullmatch(r"(?:bad|good|spoiled)(?:\.(?!run|card|findings)[a-z]+)*", path.name)]


RULES, FORMATS, PROCEED = _samples("rules"), _samples("formats"), _samples("proceed")
EVERY = [*RULES, *FORMATS, *PROCEED]


@pytest.fixture(scope="module")
def seen() -> dict[str, Seen]:
    """Every sample, inspected once, from the folder of the samples: a card names files as they were given."""
    inspector = Inspector(READERS, all_rules(), load())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(SAMPLES)
        found = {one.name: inspector.inspect([Path(one.name)], [log.relative_to(SAMPLES) for log in one.logs]) for one in EVERY}
    return {one.name: Seen(one, found[one.name]) for one in EVERY}


def card_text(seen: Seen) -> str:
    lines = [
        line
        for section in sections(seen.card, seen.inspection.others)
        for line in (section.title, *(part for told in section.lines for part in wrapped(clean(told), COLUMNS)))
    ]
    return "\n".join([*lines, *(f"not read: {skip.path}: {skip.why}" for skip in seen.inspection.skipped)]) + "\n"


def findings_text(seen: Seen) -> str:
    """For programs: the verdict with its criteria, then a line of each finding, the gravest first."""
    lines: list[str] = []
    for card in (seen.card, *seen.inspection.others):
        lines.append(f"{card.verdict.name} {' '.join(dict.fromkeys(one.code for one in card.reasons)) or '-'}: {card.name}")
        for one in (card.gravest, *card.others):
            if one is not None:
                quotes = " | ".join(f"{fact.span.file}:{fact.span.line} {fact.quote}" for fact in one.facts)
                lines.append(f"  {one.rule} {one.severity.name} [{one.step}] {quotes} => {words(one.inference)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("sample", EVERY, ids=lambda one: one.name)
def test_the_card_is_the_one_that_was_read_and_kept(sample: Sample, seen: dict[str, Seen], request: pytest.FixtureRequest) -> None:
    for of, text in (("card", card_text(seen[sample.name])), ("findings", findings_text(seen[sample.name]))):
        file = sample.snapshot(of)
        if request.config.getoption("--update-snapshots"):
            file.write_text(text, encoding="utf-8")
        kept = file.read_text(encoding="utf-8") if file.exists() else ""
        changed = difflib.unified_diff(kept.splitlines(), text.splitlines(), f"kept {file.name}", "now", lineterm="")
        assert kept == text, f"{sample.name} (--update-snapshots keeps what is now):\n" + "\n".join(changed)


@pytest.mark.parametrize("sample", RULES, ids=lambda one: one.name)
def test_a_bad_one_has_its_weakness_and_a_good_one_has_not(sample: Sample, seen: dict[str, Seen]) -> None:
    rule, found = f"R-{sample.path.parent.name[1:]}", seen[sample.name]
    if sample.kind == "good":
        assert [one for one in found.findings if one.rule == rule] == []
        return
    assert rule in found.rules
    if rule not in NOT_GRAVEST:
        assert found.card.gravest is not None
        assert found.card.gravest.rule == rule


@pytest.mark.parametrize("sample", FORMATS, ids=lambda one: one.name)
def test_a_bad_one_of_a_format_has_a_grave_weakness_and_a_good_one_has_none(sample: Sample, seen: dict[str, Seen]) -> None:
    grave = [one.rule for one in seen[sample.name].findings if one.severity >= Severity.HIGH]
    assert (grave != []) == (sample.kind == "bad"), grave


@pytest.mark.parametrize("sample", PROCEED, ids=lambda one: one.name)
def test_a_flow_that_deserves_it_may_proceed_and_its_spoiled_twin_may_not(sample: Sample, seen: dict[str, Seen]) -> None:
    assert (seen[sample.name].card.verdict is Verdict.PROCEED) == (sample.kind == "good"), card_text(seen[sample.name])


def test_a_spoiled_twin_differs_in_one_place() -> None:
    for folder in sorted({one.path.parent for one in PROCEED}):
        good, spoiled = (_lines(one) for kind in ("good", "spoiled") for one in PROCEED if one.path.parent == folder and one.kind == kind)
        places = [one for one in difflib.SequenceMatcher(None, good, spoiled, autojunk=False).get_opcodes() if one[0] != "equal"]
        assert len(places) == 1, folder.name
        _, first, last, _, end = *places[0][:3], *places[0][3:]
        assert last - first <= 3, folder.name
        assert end - places[0][3] <= 3, folder.name


def _lines(sample: Sample) -> list[str]:
    files = sorted(sample.path.rglob("*")) if sample.path.is_dir() else [sample.path]
    return [line for file in files if file.is_file() for line in file.read_text(encoding="utf-8").splitlines()]


def test_no_card_shows_what_was_planted(seen: dict[str, Seen]) -> None:
    holding = [one.name for one in EVERY if PLANTED.search("\n".join(_lines(one)))]
    assert len(holding) >= 10
    assert [name for name in holding if PLANTED.search(card_text(seen[name]) + findings_text(seen[name]))] == []


def test_every_rule_has_a_bad_and_a_good_one() -> None:
    wanted = {f"{kind} {rule.id}" for rule in all_rules() for kind in ("bad", "good")}
    assert {f"{one.kind} R-{one.path.parent.name[1:]}" for one in RULES} == wanted


def test_every_reader_has_several(seen: dict[str, Seen]) -> None:
    read = [flow.format for one in seen.values() for flow in one.inspection.flows]
    read += ["github-runs" for one in EVERY if any("jobs" in log.read_text(encoding="utf-8") for log in one.logs)]
    # A database of halfway is no text that could stand here.
    assert {reader.name for reader in READERS if read.count(reader.name) < 2} == {"halfway-database"}
