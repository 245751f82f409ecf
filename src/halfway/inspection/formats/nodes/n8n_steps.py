"""Makes the steps of a workflow of n8n: each node with what it does, who repeats it, and what is kept of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.keys import given_key, identity_of, key_names
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import Done, asked, done_by, streams, told
from halfway.inspection.formats.nodes.n8n_failures import Failures, expression
from halfway.inspection.formats.nodes.n8n_guards import Guards
from halfway.inspection.formats.nodes.n8n_items import Items, at_once
from halfway.inspection.formats.nodes.n8n_noting import notes_that_done, says_the_same
from halfway.inspection.formats.nodes.n8n_rows import Rows
from halfway.inspection.formats.nodes.n8n_sets import with_named
from halfway.inspection.formats.nodes.n8n_statements import makes_anew
from halfway.inspection.formats.nodes.n8n_telling import Telling
from halfway.inspection.formats.nodes.n8n_told import Told
from halfway.inspection.formats.nodes.n8n_triggers import again, kind_of
from halfway.inspection.formats.nodes.n8n_waiting import Waiting
from halfway.inspection.formats.nodes.provenance import Root, Tracer
from halfway.inspection.formats.wording import is_notice
from halfway.inspection.model import (
    Edge,
    Effect,
    Identity,
    Kind,
    Mark,
    OnError,
    Receiver,
    Repeater,
    Repeating,
    Span,
    Starting,
    Step,
    When,
)
from halfway.inspection.source import Node

_CHANCE = re.compile(r"(?i)uuid|random|Date\.now|new Date\(\)|nanoid")
_CURSOR = re.compile(r"(?:staticData|StaticData\([^)]{0,80}\))\s*[.\[][\w.\"'\]]{1,80}\s*=[^=]")
_DONE_FIELD = re.compile(r"(?i)^(?:status|state|processed|handled|sent|done|is_?(?:sent|done|processed))$")
_TAKES_ID = re.compile(r"""\w\??(?:\.|\[["'])(?:[iI][dD]|\w+(?:I[dD]|_id))\b""")
_SHOWN = ("resource", "operation", "method", "url")
# The file is what was asked for; it says nothing of anything else.
_SENDS_FILE = frozenset({"sendAudio", "sendPhoto", "sendVideo", "sendDocument", "sendAnimation", "sendSticker", "sendMediaGroup"})
_FACTS = ("retryOnFail", "maxTries", "waitBetweenTries", "onError", "continueOnFail", "executeOnce")
_STORES = frozenset({Kind.CREATE, Kind.RECORD, Kind.FILE, Kind.ENQUEUE, Kind.UNKNOWN})


@dataclass(frozen=True)
class Steps:
    """The steps of one workflow."""

    drawing: Drawing
    given: Given

    @cached_property
    def done(self) -> Mapping[str, Done]:
        """What each node does; triggers and the parts of agents do nothing of their own."""
        skipped = {*self.drawing.inner, *(name for name, node in self.drawing.nodes.items() if drawn.is_trigger(node))}
        return {name: Done(None) if name in skipped else done_by(self.drawing, name, self.given) for name in self.drawing.nodes}

    @cached_property
    def tracer(self) -> Tracer:
        return self.drawing.tracer({name: root for name in self.drawing.nodes if (root := self._root(name)) is not None})

    @cached_property
    def told(self) -> Told:
        """Who is told by its messages."""
        return Told(self.drawing, self.tracer)

    @cached_property
    def waiting(self) -> Waiting:
        """Who waits for its answers."""
        return Waiting(self.drawing, frozenset(name for name in self.drawing.nodes if self._answers(name)))

    @cached_property
    def telling(self) -> Telling:
        """What its messages are about."""
        return Telling(self.drawing)

    @cached_property
    def items(self) -> Items:
        """What becomes of its items."""
        return Items(self.drawing, self.done)

    @cached_property
    def rows(self) -> Rows:
        """The rows that it writes."""
        return Rows(self.drawing, self.done)

    @cached_property
    def failures(self) -> Failures:
        """Its failures that are passed over."""
        return Failures(self.drawing, self.done)

    def _answers(self, name: str) -> bool:
        effect = self.done[name].effect
        return effect is not None and Kind.NOTIFY in effect.kinds and self.told.answers(name)

    def _root(self, name: str) -> Root | None:
        node, effect = self.drawing.nodes[name], self.done[name].effect
        if drawn.is_trigger(node):
            return {Starting.SCHEDULE: Root.MADE, Starting.MANUAL: Root.UNKNOWN}.get(kind_of(node), Root.EVENT)
        if self.drawing.role(name, "code"):
            return Root.MADE if _CHANCE.search(parts.texts(node.get("parameters"))) else Root.UNKNOWN
        if effect is None or self.drawing.hands_on(name):
            return None
        if node.get("type").text.startswith("@n8n/"):
            return Root.MADE  # a model answers anew each time
        return Root.ANSWER if effect.outward else Root.STORE

    @cached_property
    def reached(self) -> frozenset[str]:
        """The nodes that a run can come to; all of them where nothing starts the workflow."""
        starts = self.drawing.triggers
        return frozenset(self.drawing.graph.downstream(starts) if starts else self.drawing.nodes) - self.drawing.inner

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The nodes that become steps, in the order in which they run: what does something, and what may fail between."""
        graph = self.drawing.graph
        doing = {name for name in self.reached if self.done[name].effect or self._roles(name)}
        outward = {name for name in doing if (effect := self.done[name].effect) and effect.outward}
        before, after = graph.downstream(outward), {one for name in outward for one in graph.upstream(name)}
        between = {name for name in self.reached & before & after if self._written(name)}
        chosen = doing | between
        alone = {name for name in between - doing if not self._follows_one_like_it(name, chosen, between - doing)}
        return tuple(name for name in graph.order if name in doing | alone)

    def _written(self, name: str) -> bool:
        return (self.drawing.role(name, "code") or self.drawing.role(name, "halting")) and name not in self.drawing.disabled

    def _follows_one_like_it(self, name: str, chosen: set[str], alike: set[str]) -> bool:
        nearest = self.drawing.graph.nearest_before(name, chosen)
        return bool(nearest) and all(one in alike and one != name for one in nearest)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return self.drawing.graph.edges(frozenset(self.kept))

    def all(self) -> Iterator[Step]:
        """The steps in order."""
        guards = Guards(self.drawing, self.done)
        for order, name in enumerate(self.kept):
            step = self._let_pass(guards.guarded(self._step(name, order), name), guards.let_pass_by(name))
            yield replace(step, extra={**step.extra, "let_pass": "true"}) if guards.is_ordered(name) else step

    def _let_pass(self, step: Step, asking: str | None) -> Step:
        """The step with the mark that the own people let it pass or not, where they are asked and their answer is heeded."""
        effect = None if asking is None else self.told.with_receiver(asking, self.done[asking].effect)
        if effect is None or effect.receiver is not Receiver.TEAM:
            return step
        return replace(step, extra={**step.extra, "let_pass": "true"})

    def _step(self, name: str, order: int) -> Step:
        node, done = self.drawing.nodes[name], self.done[name]
        effect = self._effect(name)
        timeout, known = self._timeout(node)
        return Step(
            id=name,
            name=name,
            unit=name,
            scope=name,
            order=order,
            span=drawn.place(node),
            quote=", ".join(one for one in (parts.entries(node, "name", "type"), parts.entries(node.get("parameters"), *_SHOWN)) if one),
            effect=effect,
            identity=self._identity(name, node, effect),
            repeaters=tuple(self._repeaters(name, node)),
            timeout=timeout,
            timeout_known=known,
            on_error=self._on_error(name, node),
            kept=self._kept(name),
            opaque=done.opaque and replace(done.opaque, span=drawn.place(node)),
            needs_output_of=self._needs(name),
            marks=self._marks(name, effect),
            facts=tuple(parts.fact(node, key) for key in _FACTS if node.get(key).there),
            extra=self._extra(name, done),
        )

    def _effect(self, name: str) -> Effect | None:
        """The effect with who is told, and with what the workflow knows of a second one."""
        effect = self.told.with_receiver(name, self.done[name].effect)
        effect = with_named(self.drawing.nodes[name], effect, lambda text: self.tracer.follow(text, name))
        return self.failures.with_refusal(name, effect)

    def _identity(self, name: str, node: Node, effect: Effect | None) -> Identity | None:
        if effect is None or not effect.outward:
            return None
        given = node.get("parameters")
        key = given_key(given, key_names(effect, self.given.knowledge))
        natural = next((one for _, one in drawn.parameters_of(node, drawn.table()["parameters"]["keys"])), None)
        natural = natural or next((value for found, value in given.get("columns").items() if found == "matchingColumns" and value), None)
        return identity_of(effect, drawn.place(node), key, lambda text: self.tracer.follow(text, name), natural)

    def _repeaters(self, name: str, node: Node) -> Iterator[Repeater]:
        """The node's own retry, the circle that it is in, what starts the workflow again, and a person who retries the run."""
        engine = drawn.table()["engine"]
        if node.get("retryOnFail").value is True:
            bound = parts.whole(node.get("maxTries"), engine["tries"], engine["tries_least"], engine["tries_most"])
            yield Repeater(Repeating.STEP_RETRY, True, bound, node.get("retryOnFail").span)
        circle = self._circle(name)
        if circle is not None:
            yield Repeater(Repeating.LOOP, True, None, drawn.place(self.drawing.nodes[circle]))
        for start in self.drawing.triggers:
            if name in self.drawing.graph.downstream([start]):
                yield from again(self.drawing.nodes[start], drawn.place(self.drawing.nodes[start]))
        yield Repeater(Repeating.UNIT_RERUN, False, None, drawn.place(node), default=True)

    def _circle(self, name: str) -> str | None:
        """The node that hands over one part after the other, if this one is in its circle."""
        graph = self.drawing.graph
        return next((one for one in self._circling if one != name and {one, name} <= graph.downstream([name])), None)

    @cached_property
    def _circling(self) -> tuple[str, ...]:
        return tuple(one for one in self.drawing.nodes if self.drawing.role(one, "circling"))

    def _many(self, name: str) -> bool:
        """Whether the node runs for many records: in a circle, or behind what makes many of one and before what makes one of many."""
        if self.drawing.nodes[name].get("executeOnce").value is True:
            return False
        if self._circle(name) is not None:
            return True
        return name in self._behind_many and not at_once(self.drawing.nodes[name])

    @cached_property
    def _behind_many(self) -> set[str]:
        many = [one for one in self.drawing.nodes if self.drawing.role(one, "many") and not self.drawing.role(one, "circling")]
        one = {one for one in self.drawing.nodes if self.drawing.role(one, "one")}
        return self.drawing.graph.downstream(many, around=one)

    def _timeout(self, node: Node) -> tuple[float | None, bool]:
        """Seconds, and whether such a node has any; a request without one waits as long as the engine says."""
        default: float | None = drawn.table()["timeouts"].get(drawn.short(node))
        given = node.get("parameters", "options", "timeout").number
        return (given / 1000, True) if given else (default, default is not None)

    def _on_error(self, name: str, node: Node) -> OnError:
        """Where an output for failures leads nowhere, nobody learns of them."""
        way = drawn.on_error(node)
        leads = any(link.when is When.ERROR for link in self.drawing.graph.after.get(name, ()))
        return OnError.SWALLOW if way is OnError.ROUTE and not leads else way

    @cached_property
    def givers(self) -> Mapping[str, frozenset[str]]:
        """By node, the nodes whose records its parameters use; a long flow asks for each pair."""
        return {name: self._givers(name) for name in self.drawing.nodes}

    def _givers(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        graph = self.drawing.graph if self._circle(name) is None else self.drawing.forward
        for key, leaf in parts.leaves(self.drawing.nodes[name].get("parameters")):
            for giver, _ in self.drawing.references(expression(key, leaf), name) or ():
                found |= {giver} if not self.drawing.passes(giver) else set(graph.nearest_before(giver, self.kept))
        return frozenset(found)

    def _needs(self, name: str) -> tuple[str, ...]:
        givers = self.givers[name]
        return tuple(one for one in self.kept if one in givers and one != name)

    def _kept(self, name: str) -> tuple[Span, ...]:
        """The later nodes that write down what this one was answered, or return it."""
        effect = self.done[name].effect
        if effect is None or not effect.outward:
            return ()
        found: list[Span] = []
        for later in self.drawing.graph.downstream([name]) - {name}:
            if self._tells_of(name, later) or self.items.found_again(name, later):
                found.append(drawn.place(self.drawing.nodes[later]))
        return tuple(sorted(found))

    def _tells_of(self, name: str, later: str) -> bool:
        """Whether a later node writes down what this one was answered, or has it in its text, or returns it."""
        other = self.done[later].effect
        stores = other is not None and bool(other.kinds & (_STORES | {Kind.NOTIFY}))
        return (stores or self.drawing.role(later, "answering")) and bool({name, *self._take_its_id(name)} & self.givers[later])

    def _take_its_id(self, name: str) -> Iterator[str]:
        """The code right behind a node that takes an id out of what it was answered and hands it on."""
        for link in self.drawing.graph.after.get(name, ()):
            code = parts.texts(self.drawing.nodes[link.after].get("parameters")) if self.drawing.role(link.after, "code") else ""
            if self.done[link.after].effect is None and _TAKES_ID.search(code):
                yield link.after

    def _roles(self, name: str) -> frozenset[Mark]:
        """What a node writes down about the run, by what it says."""
        node, short = self.drawing.nodes[name], drawn.short(self.drawing.nodes[name])
        if name in self.drawing.disabled or drawn.is_trigger(node):
            return frozenset()
        if self.drawing.role(name, "code") and _CURSOR.search(parts.texts(node.get("parameters"))):
            return frozenset({Mark.CURSOR})
        if short == "removeduplicates" and node.get("parameters", "operation").text == "removeItemsSeenInPreviousExecutions":
            return frozenset({Mark.CLAIM})
        if short == "wait":
            return frozenset({Mark.WAIT})
        return frozenset({Mark.CLAIM}) if self._says_done(name) and self._is_asked_for(name) else frozenset()

    def _says_done(self, name: str) -> bool:
        """Whether a node writes a row with a state that is always the same."""
        effect = self.done[name].effect
        stores = effect is not None and bool(effect.kinds & {Kind.RECORD, Kind.CREATE, Kind.FILE})
        columns = self.drawing.nodes[name].get("parameters", "columns", "value").items()
        return stores and any(_DONE_FIELD.match(key) and not value.text.startswith("=") for key, value in columns)

    def _is_asked_for(self, name: str) -> bool:
        """Whether a row may keep a repeat away: it was there before, or something reads where it is added."""
        return not self.rows.only_adds(name) or (self.rows.is_asked_for(name) and not self.rows.is_log(name))

    def _logs(self, name: str) -> bool:
        """Whether a row only tells what happened: it is added to a log, or with a state that nothing asks for."""
        return self.rows.is_log(name) or (self._says_done(name) and not self._is_asked_for(name))

    def _marks(self, name: str, effect: Effect | None) -> frozenset[Mark]:
        found = set(self._roles(name))
        if name in self.after_failures and effect is not None and Kind.NOTIFY in effect.kinds:
            found.add(Mark.FAILURE_NOTICE)
        elif is_notice(effect) and asked(self.drawing.nodes[name])[1] not in _SENDS_FILE:
            found.add(Mark.SUCCESS_NOTICE)
        elif effect is not None and effect.outward and name in self.after_failures:
            found.add(Mark.RECOVERY)
        if self._many(name):
            found.add(Mark.IN_LOOP)
        if self.done[name].tools:
            found.add(Mark.AGENT_LOOP)
        return frozenset(found)

    @cached_property
    def after_failures(self) -> frozenset[str]:
        """The nodes that only a failure leads to."""
        starts = [name for name in self.drawing.triggers if not self.drawing.role(name, "errors")]
        starts = starts if self.drawing.triggers else list(self.drawing.nodes)[:1]
        told = [name for name in self.drawing.triggers if self.drawing.role(name, "errors")]
        regular = self.drawing.graph.downstream(starts, but=(When.ERROR,))
        return frozenset((self.drawing.graph.only_on_errors(starts) | self.drawing.graph.downstream(told)) - regular)

    def _extra(self, name: str, done: Done) -> dict[str, str]:
        node = self.drawing.nodes[name]
        said = {"type": node.get("type").text, "version": node.get("typeVersion").text, "told": told(node)}
        if done.tools:
            at_home = all(self._tells_home(tool) for tool in done.tools)
            said |= {
                "tools": ", ".join(done.tools),
                "tells_team": "true" if at_home else "",
                "max_iterations": node.get("parameters", "options", "maxIterations").text,
            }
        if done.effect is not None and done.effect.outward:
            said |= self._heard(name)
        return {key: value for key, value in said.items() if value}

    def _left_out(self, name: str) -> bool:
        """Whether items that are through do not come here again: they are written down here, or where a failure stops nothing."""
        look = self.items.known_before(name)
        return look is not None and (self.items.writes_to(name, look) or self._on_error(name, self.drawing.nodes[name]) is not OnError.STOP)

    def _tells_home(self, tool: str) -> bool:
        """Whether all that a tool of an agent can do is to tell the own people something."""
        effect = self.told.with_receiver(tool, done_by(self.drawing, tool, self.given).effect)
        return effect is not None and effect.kinds == frozenset({Kind.NOTIFY}) and effect.receiver is Receiver.TEAM

    def _is_called(self, name: str) -> bool:
        """Whether nothing but a call of another workflow, or a person, comes to a node: whoever calls has decided."""
        if self.done[name].tools:
            return False  # what an agent does is decided by nobody who calls it
        starts = [one for one in self.drawing.triggers if name in self.drawing.graph.downstream([one])]
        calls = [one for one in starts if self.drawing.role(one, "called")]
        by_hand = (one for one in starts if kind_of(self.drawing.nodes[one]) is Starting.MANUAL)
        return bool(calls) and {*calls, *by_hand} == set(starts)

    def _says_nothing_of_failure(self, name: str) -> bool:
        """Whether a message that only a failure leads to says what another one says when the same node does not fail."""
        if name not in self.after_failures or not is_notice(self.done[name].effect):
            return False
        graph, node = self.drawing.graph, self.drawing.nodes[name]
        failing = [link.before for link in graph.links if link.when is When.ERROR and name in {link.after, *graph.downstream([link.after])}]
        otherwise = graph.downstream(failing, but=(When.ERROR,))
        return any(is_notice(self.done[one].effect) and says_the_same(node, self.drawing.nodes[one]) for one in otherwise - {name})

    def _beside(self, name: str) -> dict[str, str]:
        """Of a message to the own people what it cannot be about, by line."""
        effect = self.told.with_receiver(name, self.done[name].effect)
        if effect is None or not is_notice(effect) or effect.receiver is not Receiver.TEAM:
            return {}
        found = {"untold": self.telling.untold(name), "told_or_not": self.telling.told_or_not(name)}
        return {key: "\n".join(sorted(names & {*self.kept})) for key, names in found.items()}

    def _heard(self, name: str) -> dict[str, str]:
        """Who waits for what comes of it, and what becomes of its items."""
        node = self.drawing.nodes[name]
        return {
            "taken_out": "true" if self.items.taken_out(name, self._circle(name)) or self._left_out(name) else "",
            "replaced": "true" if self.items.replaced(name) is not None else "",
            "replaces": "true" if name in self.items.replacing or makes_anew(self.drawing, name) else "",
            "alike": "true" if self._says_nothing_of_failure(name) else "",
            "streams": "true" if streams(node) else "",
            "logs": "true" if self._logs(name) or notes_that_done(self.drawing, self.done, name) else "",
            "in_log": "true" if self.rows.is_log(name) else "",
            "called": "true" if self._is_called(name) else "",
            "failure_asked": "true" if self.failures.is_asked_for(name) else "",
            "at_home": "true" if self.told.at_home(node) else "",
            "answers": "true" if name in self.waiting.answering else "",
            "confirms": "true" if is_notice(self.done[name].effect) and self.told.confirms(name) else "",
            **self._beside(name),
            "waited_for": "true" if self.waiting.waits(name) else "",
            "failure_answered": "true" if self.waiting.hears_of_failure(name) else "",
        }
