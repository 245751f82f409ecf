"""The whole inspection: gather, read, join with runs, let the rules look, judge, make cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from halfway.inspection.card import Card, card_of, chosen
from halfway.inspection.confirming import with_condition
from halfway.inspection.databases import is_dump
from halfway.inspection.finding import Case, Finding, Rule
from halfway.inspection.formats import Given, Reader
from halfway.inspection.gathering import Gathered, Skip, gather, owners
from halfway.inspection.judging import judge
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Flow, RunLog, Span
from halfway.inspection.quoting import quoted, shown_path
from halfway.inspection.source import MOST_EDGES, Source, Unreadable
from halfway.inspection.suppressing import Suppression, Suppressions, unmatched, weighed

MOST_STEPS = 1_000  # of a flow
MOST_FLOWS = 1_000  # of a file
MOST_IN_FILE = 3_000  # steps of all of them
READ_AS = {".yml": "yaml", ".yaml": "yaml", ".json": "json", ".py": "python"}
NAMED_LATER = frozenset({"step-functions"})


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """All that was found: the card to show first, those of the other flows, and what was not read."""

    card: Card | None
    others: tuple[Card, ...]
    flows: tuple[Flow, ...]
    read: int  # files
    skipped: tuple[Skip, ...]
    unmatched: tuple[Suppression, ...] = ()  # about what was looked at, and of no finding


@dataclass(frozen=True)
class Inspector:
    """Knows the readers, the rules and the base."""

    readers: Sequence[Reader]
    rules: Sequence[Rule]
    knowledge: Knowledge

    def inspect(self, paths: Sequence[Path | str], logs: Sequence[Path | str] = (), suppressions: Suppressions | None = None) -> Inspection:
        """Looks at everything under the paths; `logs` tell of runs. A text is the address of a database.

        Raises nothing for what stands in them.
        """
        gathered, told = gather(paths), gather(logs)
        given = Given(gathered.sources | told.sources, self.knowledge, owners(paths))
        flows = [flow for source in gathered.sources.values() for flow in self._flows(source, given, gathered)]
        kept = [source for source in gathered.sources.values() if is_dump(source)]  # a database tells of its runs, too
        logs_of = {source.path: list(self._runs(source, given, told)) for source in (*told.sources.values(), *kept)}
        runs = [run for found in logs_of.values() for run in found]
        told.skipped += _of_no_flow(flows, logs_of, told)
        cards = list(self._cards(flows, runs, given, suppressions, gathered))
        first = chosen(cards)
        skipped = (replace(one, path=shown_path(one.path), why=quoted(one.why)) for one in (*gathered.skipped, *told.skipped))
        suppressed = (one for card in cards for one in card.suppressed)
        return Inspection(
            card=first, others=tuple(card for card in cards if card is not first), flows=tuple(flows),
            read=len(gathered.sources) + len(told.sources), skipped=tuple(skipped),
            unmatched=unmatched(suppressions, suppressed, [path.as_posix() for path in paths if isinstance(path, Path)]),
        )  # fmt: skip

    def _flows(self, source: Source, given: Given, gathered: Gathered) -> Iterator[Flow]:
        taken = False
        for reader in self.readers:
            try:
                if reader.takes(source):
                    taken = True
                    yield from _bounded(reader.flows(source, given))
            except Exception as error:
                taken = True
                gathered.skipped.append(Skip(source.path, _why(error), reader=reader.name))
        source.kept.clear()
        # A file that nobody could read as what it is called is told: it may be the one that matters.
        why = source.unread.get(READ_AS.get(PurePosixPath(source.path).suffix, ""))
        if not taken and why is not None:
            gathered.skipped.append(Skip(source.path, why))

    def _runs(self, source: Source, given: Given, told: Gathered) -> Iterator[RunLog]:
        found = False
        for reader in self.readers:
            try:
                for run in reader.runs(source, given):
                    found = True
                    yield run
            except Exception as error:
                told.skipped.append(Skip(source.path, _why(error), reader=reader.name))
        if not found:
            told.skipped.append(Skip(source.path, "it tells of no run that can be read", named=source.path in told.named))

    def _cards(
        self, flows: Sequence[Flow], runs: Sequence[RunLog], given: Given, suppressions: Suppressions | None, gathered: Gathered
    ) -> Iterator[Card]:
        for flow in flows:
            try:
                yield self._card(flow, runs, given, suppressions, alone=_is_alone(flow, flows))
            except Exception as error:
                gathered.skipped.append(Skip(flow.file, _why(error), reader=flow.format))

    def _card(self, flow: Flow, runs: Sequence[RunLog], given: Given, suppressions: Suppressions | None, *, alone: bool = False) -> Card:
        case = Case(flow, self.knowledge, _run_of(flow, runs, alone=alone))
        found = weighed(case, [_quoted(finding, given) for finding in self.findings(case)], suppressions)
        return card_of(case, judge(case, found.counted, found.accepted), self.rules, found.told)

    def findings(self, case: Case) -> list[Finding]:
        """What all rules say, each place once: a function that is called from several places is read at each of them."""
        found: dict[tuple[str, Span, str, object], Finding] = {}
        for finding in (with_condition(case, rule, one) for rule in self.rules for one in rule.check(case)):
            key = finding.rule, finding.span, finding.inference.text, finding.inference.params.get("what")
            if key not in found or _graver(finding) > _graver(found[key]):
                found[key] = finding
        return list(found.values())


def _graver(finding: Finding) -> tuple[int, bool]:
    """Of two that are as grave the one that the files show."""
    return finding.severity, finding.holds_if is None


def _why(error: Exception) -> str:
    """Why something was left out. Strangers write what is read: where a reader errs, all others are read nevertheless, and it is told."""
    return str(error) if isinstance(error, (Unreadable, RecursionError)) else f"{type(error).__name__}: an error of the inspection itself"


def _bounded(flows: Iterator[Flow]) -> Iterator[Flow]:
    """Who may come after whom is asked for each pair of steps, so what is made to have thousands would never end."""
    steps = 0
    for number, flow in enumerate(flows):
        steps += len(flow.steps)
        if len(flow.steps) > MOST_STEPS:
            raise Unreadable(f"line {flow.span.line}: the flow has more than {MOST_STEPS:,} steps")
        if len(flow.edges) > MOST_EDGES:
            raise Unreadable(f"line {flow.span.line}: the flow has more than {MOST_EDGES:,} ways from step to step")
        if number >= MOST_FLOWS or steps > MOST_IN_FILE:
            raise Unreadable(
                f"line {flow.span.line}: the rest was not read, as the file has more than {MOST_FLOWS:,} flows or {MOST_IN_FILE:,} steps"
            )
        yield flow


def _quoted(finding: Finding, given: Given) -> Finding:
    """With the line of each place of which a rule knows no quote."""
    sources = given.sources
    facts = [sources[one.span.file].fact(one.span) if not one.quote and one.span.file in sources else one for one in finding.facts]
    return replace(finding, facts=tuple(dict.fromkeys(facts)))


def _of_no_flow(flows: Sequence[Flow], runs: Mapping[str, Sequence[RunLog]], told: Gathered) -> Iterator[Skip]:
    """The logs that say nothing about what is inspected."""
    for path, found in runs.items():
        if path in told.sources and flows and found and all(_run_of(flow, found, alone=_is_alone(flow, flows)) is None for flow in flows):
            name = quoted(found[0].name)
            yield Skip(path, f"it tells of a run of {name}, and no flow of that name was read", named=path in told.named)


def _is_alone(flow: Flow, flows: Sequence[Flow]) -> bool:
    """Whether a log can be of this one only, though its engine calls it otherwise than its file: it is given a name when it is deployed."""
    return flow.format in NAMED_LATER and sum(one.format == flow.format for one in flows) == 1


def _run_of(flow: Flow, runs: Sequence[RunLog], *, alone: bool) -> RunLog | None:
    """The newest attempt of a run of the flow; a log that names no flow is of the only one there is."""
    names = ("", flow.name, flow.id, flow.file)
    same = [run for run in runs if run.format == flow.format and (alone or run.name in names or flow.file.endswith(f"/{run.name}"))]
    return max(same, key=lambda run: run.attempt, default=None)
