"""Makes the steps of a scenario of Make: each module with what it does, what its handler makes of a failure, and who repeats it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import blueprints, parts
from halfway.inspection.formats.nodes.blueprints import Blueprint, place
from halfway.inspection.formats.nodes.blueprints_effects import Done, done_by
from halfway.inspection.formats.nodes.blueprints_told import Told
from halfway.inspection.formats.nodes.keys import given_key, identity_of, key_names
from halfway.inspection.formats.nodes.provenance import Root, Tracer
from halfway.inspection.formats.wording import is_notice
from halfway.inspection.model import (
    Edge,
    Effect,
    Fact,
    Identity,
    Kind,
    Mark,
    OnError,
    Repeater,
    Repeating,
    Span,
    Starting,
    Step,
)
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node

MOST_SECONDS = 86_400 * 366
_FAILED = re.compile(r"(?i)\b(?:error|fail(?:s|ed|ure)?)\b")
_LAST_PAGE = re.compile(r"(?i)page[-_ ]?count|total[-_ ]?pages|last[-_ ]?page")
_TABLES = frozenset({"datastore", "google-sheets", "airtable", "mysql", "postgres", "mongodb", "notion"})
_FILE_NAMES, _PLACES = ("filename", "fileName"), ("folderId", "folder", "folderPath", "path")
_STORES = frozenset({Kind.CREATE, Kind.RECORD, Kind.FILE, Kind.UNKNOWN})


@dataclass(frozen=True)
class Steps:
    """The steps of one scenario."""

    scenario: Blueprint
    given: Given

    @cached_property
    def done(self) -> dict[str, Done]:
        return {name: done_by(self.scenario, name, self.given) for name in self.scenario.modules}

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The modules that do something outside, in the order in which they run."""
        return tuple(
            name for name in self.scenario.graph.order if self.done[name].effect is not None or self.scenario.role(name, "waiting")
        )

    @property
    def edges(self) -> tuple[Edge, ...]:
        return self.scenario.graph.edges(frozenset(self.kept))

    @cached_property
    def tracer(self) -> Tracer:
        return self.scenario.tracer({name: root for name in self.scenario.modules if (root := self._root(name)) is not None})

    @cached_property
    def told(self) -> Told:
        """Who is told by its messages, and who waits."""
        return Told(self.scenario, self.done, self.tracer)

    def _root(self, name: str) -> Root | None:
        effect, started = self.done[name].effect, self.scenario.started
        if name == self.scenario.first and started is not None:
            return Root.EVENT
        if effect is not None:
            return Root.ANSWER if effect.outward else Root.STORE
        return None

    def all(self) -> Iterator[Step]:
        """The steps in order."""
        for order, name in enumerate(self.kept):
            yield self._step(name, order)

    def _step(self, name: str, order: int) -> Step:
        placed, done = self.scenario.modules[name], self.done[name]
        node, effect = placed.node, self.told.with_receiver(name, done.effect)
        seconds = node.get("mapper", "timeout").number
        known = seconds is not None and 0 < seconds < MOST_SECONDS
        guard = self._guard(name) if parts.makes_anew(effect) else None
        return Step(
            id=name,
            name=quoted(blueprints.title(node), 80),
            unit=name,
            scope=name,
            order=order,
            span=place(node),
            quote=", ".join(
                one for one in (parts.entries(node, "id", "module"), parts.entries(node.get("mapper"), "method", "url", "key")) if one
            ),
            effect=effect,
            identity=self._identity(name, effect),
            repeaters=tuple(self._repeaters(name)),
            timeout=seconds if known else None,
            timeout_known=known,
            on_error=self.on_error(name),
            kept=self._kept(name),
            guard=guard,
            guard_is_proof=guard is None,
            opaque=done.opaque and replace(done.opaque, span=place(node)),
            condition=quoted("; ".join(blueprints.asks(self.scenario.modules[one].node) for one in self._filtered(name))),
            needs_output_of=tuple(one for one in self.kept if one != name and one in self._givers(name)),
            marks=self._marks(name, effect),
            facts=tuple(self._facts(node)),
            extra=self._extra(name),
        )

    def _identity(self, name: str, effect: Effect | None) -> Identity | None:
        """A key in a header, else what the module names its record by: `overwrite: false` makes a second one fail."""
        if effect is None or not effect.outward:
            return None
        node = self.scenario.modules[name].node
        key = given_key(node.get("mapper"), key_names(effect, self.given.knowledge))
        natural = next((node.get("mapper", one) for one in blueprints.table()["parameters"]["keys"] if node.get("mapper", one)), None)
        return identity_of(effect, place(node), key, lambda text: self.tracer.follow(text, name), natural)

    # ── failures ──

    def on_error(self, name: str) -> OnError:
        """What follows a failure: a handler with actions of its own is a way of its own, Ignore and Commit end as a success."""
        node = self.scenario.modules[name].node
        if not node.get("onerror"):
            return OnError.STOP
        way = OnError(blueprints.table()["handlers"].get(blueprints.directive(node), "route"))
        acts = any(placed.handles == name and self.done[one].effect is not None for one, placed in self.scenario.modules.items())
        return OnError.ROUTE if acts and way is not OnError.CONTINUE else way

    def _repeaters(self, name: str) -> Iterator[Repeater]:
        """Break retries what it stored; what sent a hook may send it again; a person may run an old run again."""
        yield from self._break(name)
        for above in self._looping(name):
            yield Repeater(Repeating.LOOP, True, None, place(self.scenario.modules[above].node))
        first = place(self.scenario.modules[self.scenario.first].node)
        if self.scenario.started is Starting.EVENT:
            yield Repeater(Repeating.REDELIVERY, True, None, first)
        elif self.scenario.started is None and self.scenario.root.get("scheduling", "type").text == "on-demand":
            yield Repeater(Repeating.MANUAL, False, None, first)
        elif self.scenario.started is None:
            yield Repeater(Repeating.SCHEDULE, True, None, first, default=not self.scenario.root.get("scheduling"))
        yield Repeater(Repeating.REPLAY, False, None, place(self.scenario.modules[name].node), default=True)

    def _break(self, name: str) -> Iterator[Repeater]:
        """Only a scenario that stores incomplete executions can take them up again."""
        node = self.scenario.modules[name].node
        ends = blueprints.handler(node)
        if ends is None or blueprints.directive(node) != "Break" or self.scenario.scenario.get("dlq").value is not True:
            return
        default, asked = blueprints.table()["break"], ends.get("mapper") if ends.get("mapper") else ends.get("parameters")
        if (asked.get("retry").text or str(default["retry"])).lower() == "true":
            count = parts.whole(asked.get("count"), default["count"], 1, default["count_most"])
            yield Repeater(Repeating.STEP_RETRY, True, count + 1, place(ends), default=not asked.get("count"))
        else:
            yield Repeater(Repeating.UNIT_RERUN, False, None, place(ends))

    def _facts(self, node: Node) -> Iterator[Fact]:
        ends = blueprints.handler(node)
        if ends is not None:
            yield Fact(place(ends), parts.entries(ends, "module", "mapper"))
        if node.get("filter"):
            yield parts.fact(node, "filter")
        for key in ("dlq", "autoCommit"):
            if self.scenario.scenario.get(key).there:
                yield parts.fact(self.scenario.scenario, key)

    # ── what comes before and after ──

    def _looping(self, name: str) -> list[str]:
        """The modules that hand over many parts one by one, unless one between gathers them again."""
        graph = self.scenario.graph
        closing = {one for one in self.scenario.modules if self.scenario.role(one, "closing")}
        return [
            one for one in self.scenario.modules if self.scenario.role(one, "looping") and name in graph.downstream([one], around=closing)
        ]

    def _filtered(self, name: str) -> list[str]:
        """The modules whose filters a record passes before it comes here, this one among them."""
        before = {name, *self.scenario.graph.upstream(name)}
        return [one for one in self.scenario.graph.order if one in before and self.scenario.modules[one].node.get("filter", "conditions")]

    def _givers(self, name: str) -> set[str]:
        """The modules whose values are mapped into one, also through those that only reshape."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            text = parts.texts(self.scenario.modules[waiting.pop()].node.get("mapper"))
            for one, _ in self.scenario.references(text, name) or ():
                if one in self.scenario.modules and one not in found:
                    found.add(one)
                    waiting += [one] if self.scenario.passes(one) else []
        return found

    def _kept(self, name: str) -> tuple[Span, ...]:
        """The later modules that write down what this one was answered, or answer with it."""
        effect = self.done[name].effect
        if effect is None or not effect.outward:
            return ()
        found: list[Span] = []
        later = self.scenario.graph.downstream([name])
        for one in (one for one in self.scenario.modules if one in later):
            stores = (other := self.done[one].effect) is not None and bool(other.kinds & _STORES)
            text = parts.texts(self.scenario.modules[one].node.get("mapper"))
            answered = {giver for giver, field in self.scenario.references(text, one) or () if not field.startswith("error")}
            if (stores or self.scenario.role(one, "answers")) and name in answered:
                found.append(place(self.scenario.modules[one].node))
        return tuple(found)

    def _guard(self, name: str) -> Span | None:
        """A look whose result a filter on the way asks about."""
        for one in self._filtered(name):
            asked = blueprints.asks(self.scenario.modules[one].node)
            if _LAST_PAGE.search(asked):
                continue  # it asks how far the reading is, and not what was found
            for giver, _ in self.scenario.references(asked, one) or ():
                if giver in self.done and parts.only_reads(self.done[giver].effect) and self._same_thing(giver, name):
                    return place(self.scenario.modules[giver].node)
        return None

    def _same_thing(self, look: str, name: str) -> bool:
        """Whether a look can be about what is made: it asks the same app, or a table in which is kept what was done."""
        first, second = (self.scenario.modules[one].node.get("module").text.partition(":")[0] for one in (look, name))
        folders = {self.scenario.modules[one].node.get("mapper", "folderId").text for one in (look, name)} - {""}
        if len(folders) > 1 and not any("{{" in one for one in folders):
            return False  # what lies in one folder is no proof of what is put in another
        return first == second or first in _TABLES

    def _marks(self, name: str, effect: Effect | None) -> frozenset[Mark]:
        handles = bool(self.scenario.modules[name].handles) or self._is_told_on_failure(name, effect)
        found = {Mark.WAIT} if self.scenario.role(name, "waiting") else set[Mark]()
        if handles and effect is not None and Kind.NOTIFY in effect.kinds:
            found.add(Mark.FAILURE_NOTICE)
        elif is_notice(effect):
            found.add(Mark.SUCCESS_NOTICE)
        elif effect is not None and effect.outward and handles:
            found.add(Mark.RECOVERY)
        if self.scenario.role(name, "claims") and self._is_asked_for(name):
            found.add(Mark.CLAIM)
        if self._looping(name) and not self._is_at_the_end(name):
            found.add(Mark.IN_LOOP)
        return frozenset(found)

    def _is_told_on_failure(self, name: str, effect: Effect | None) -> bool:
        """Whether it is a message behind a filter that is called by the failure of what comes before."""
        return is_notice(effect) and _FAILED.search(self.scenario.modules[name].node.get("filter", "name").text) is not None

    def _is_at_the_end(self, name: str) -> bool:
        """Whether a filter lets it run when the last page was read only, so once and not for each."""
        return any(_LAST_PAGE.search(blueprints.asks(self.scenario.modules[one].node)) for one in self._filtered(name))

    def _is_asked_for(self, name: str) -> bool:
        """Whether a record can keep a repeat away: it has a key of its own, or somebody reads the store."""
        key = self.scenario.modules[name].node.get("mapper", "key").text
        if key and self.tracer.follow(key, name) & {Root.MADE, Root.ANSWER}:
            return False  # no other run has the same
        app = self.scenario.kind(name).split(":")[0]
        return bool(key) or any(
            self.scenario.kind(one).split(":")[0] == app and parts.only_reads(self.done[one].effect) for one in self.scenario.modules
        )

    def _is_named_file(self, given: Node) -> bool:
        """Whether it is a file that the caller gives its name and its place."""
        return any(given.get(one).text for one in _FILE_NAMES) and any(given.get(one).text for one in _PLACES)

    def _extra(self, name: str) -> dict[str, str]:
        placed = self.scenario.modules[name]
        directive = blueprints.directive(placed.node)
        stored = self.scenario.scenario.get("dlq").value is True
        said = {
            "module": placed.node.get("module").text,
            "handler": directive,
            "handles": placed.handles,
            "named": "true" if self._is_named_file(placed.node.get("mapper")) else "",
            "dropped": "true" if self.on_error(name) is OnError.SWALLOW else "",
            "route": placed.route,
            "break_without_store": "true" if directive == "Break" and not stored else "",
            **self.told.marks(name),
        }
        return {key: value for key, value in said.items() if value}
