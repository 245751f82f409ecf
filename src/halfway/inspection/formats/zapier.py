"""Reads Zaps as Zapier exports them. An export says nothing of autoreplay, so that is left open and asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from halfway.inspection.formats import Given
from halfway.inspection.formats.nodes import parts, zaps
from halfway.inspection.formats.nodes.keys import given_key, identity_of, key_names
from halfway.inspection.formats.nodes.provenance import Root, Tracer, receiver
from halfway.inspection.formats.nodes.zaps import Zap, place
from halfway.inspection.formats.nodes.zaps_effects import Done, done_by
from halfway.inspection.formats.wording import is_notice
from halfway.inspection.model import (
    Effect,
    Flow,
    Gate,
    Identity,
    Kind,
    Mark,
    Receiver,
    Repeater,
    Repeating,
    RunLog,
    Span,
    Starting,
    Step,
    Trigger,
    Unread,
)
from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Source

AUTOREPLAY = "autoreplay"
AUTOREPLAY_UNREAD = "whether {what} is on stands in the settings of the account and of the Zap, not in the export; it repeats failed steps"
_STORES = frozenset({Kind.CREATE, Kind.RECORD, Kind.FILE, Kind.UNKNOWN})


class Zapier:
    """The reader of Zapier."""

    name = "zapier"

    def takes(self, source: Source) -> bool:
        """Whether the text is an export of Zaps."""
        return next(_zaps(source), None) is not None

    def flows(self, source: Source, given: Given) -> Iterator[Flow]:
        """The Zaps in the text, in their order."""
        for root in _zaps(source):
            parts.bounded(tuple(root.get("nodes").items()), "the Zap", root.span.line)
            yield _flow(Zap(root), source, given)

    def runs(self, source: Source, given: Given) -> Iterator[RunLog]:
        """An export holds no runs."""
        del source, given
        return iter(())


READER = Zapier()


def _zaps(source: Source) -> Iterator[Node]:
    if '"zaps"' not in source.text or '"nodes"' not in source.text or source.json is None:
        return
    for root in source.json.get("zaps").each():
        nodes = root.get("nodes")
        if isinstance(nodes.value, dict) and any(node.get("selected_api").there for _, node in nodes.items()):
            yield root


def _flow(zap: Zap, source: Source, given: Given) -> Flow:
    steps = _Steps(zap, given)
    made = tuple(steps.step(name, order) for order, name in enumerate(steps.kept))
    autoreplay = Unread(AUTOREPLAY, AUTOREPLAY_UNREAD, zap.root.span)
    return Flow(
        id=zap.root.get("id").text or zap.root.get("title").text,
        name=zap.root.get("title").text or source.path,
        format="zapier",
        file=source.path,
        span=zap.root.span,
        steps=made,
        edges=zap.graph.edges(frozenset(steps.kept)),
        triggers=tuple(_trigger(zap.nodes[name]) for name in zap.starts),
        enabled=zap.root.get("status").text in ("on", ""),
        notice_expected=False,
        unread=(autoreplay,) if any(step.effect is not None and step.effect.outward for step in made) else (),
        secrets=tuple(one for node in zap.nodes.values() for one in parts.secrets(node.get("params")))[: parts.MOST_SECRETS],
        version=max((node.get("last_changed").text for node in zap.nodes.values()), default=""),
        extra={"status": zap.root.get("status").text} if zap.root.get("status").text else {},
    )


def _trigger(node: Node) -> Trigger:
    period = zaps.table()["periods"].get(zaps.action(node)) if zaps.kind_of(node) is Starting.SCHEDULE else None
    return Trigger(zaps.kind_of(node), place(node), parts.entries(node, "selected_api", "action"), period=float(period) if period else None)


@dataclass(frozen=True)
class _Steps:
    """The steps of one Zap."""

    zap: Zap
    given: Given

    @cached_property
    def done(self) -> dict[str, Done]:
        return {name: Done(None) if name in self.zap.starts else done_by(self.zap, name, self.given) for name in self.zap.nodes}

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """What does something outside, what stops the run, and code, which may fail; of several codes in a row the first."""
        graph, zap = self.zap.graph, self.zap
        doing = {name for name in zap.nodes if self.done[name].effect or (name not in zap.starts and zap.role(name, "filtering"))}
        outward = {name for name in doing if (effect := self.done[name].effect) and effect.outward}
        around = graph.downstream(outward) & {one for name in outward for one in graph.upstream(name)}
        codes = {name for name in around - doing if zap.role(name, "code")}
        first = {name for name in codes if not set(graph.nearest_before(name, doing | codes)) <= codes}
        return tuple(name for name in graph.order if name in doing | first)

    @cached_property
    def tracer(self) -> Tracer:
        roots = {name: root for name in self.zap.nodes if (root := self._root(name)) is not None}
        return self.zap.tracer(roots)

    def _root(self, name: str) -> Root | None:
        node, effect = self.zap.nodes[name], self.done[name].effect
        if name in self.zap.starts:
            return {Starting.SCHEDULE: Root.MADE, Starting.MANUAL: Root.UNKNOWN}.get(zaps.kind_of(node), Root.EVENT)
        if self.zap.role(name, "model"):
            return Root.MADE
        if effect is None:
            return None if self.zap.role(name, "passing") else Root.UNKNOWN
        return Root.ANSWER if effect.outward else Root.STORE

    def step(self, name: str, order: int) -> Step:
        """One step; a filter is one, too, for it stops what has begun."""
        node, done = self.zap.nodes[name], self.done[name]
        effect = self._told(name, done.effect)
        guard = self._guard(name) if parts.makes_anew(effect) else None
        return Step(
            id=name,
            name=quoted(zaps.title(node), 80),
            unit=name,
            scope=name,
            order=order,
            span=place(node),
            quote=parts.entries(node, "selected_api", "action"),
            effect=effect,
            identity=self._identity(name, effect),
            repeaters=tuple(self._repeaters(name)),
            kept=self._kept(name),
            guard=guard,
            guard_is_proof=guard is None,
            gate=self._gate(name),
            opaque=done.opaque and replace(done.opaque, span=place(node)),
            condition=quoted("; ".join(self._conditions(name))),
            needs_output_of=tuple(one for one in self.kept if one != name and one in self._givers(name)),
            marks=self._marks(name, effect),
            facts=(
                parts.fact(node, "parent_id"),
                *(parts.fact(node.get("params"), key) for key in ("subject", "filter_criteria") if node.get("params", key)),
            ),
            extra={"api": node.get("selected_api").text, "action": zaps.action(node), "parent": node.get("parent_id").text},
        )

    def _told(self, name: str, effect: Effect | None) -> Effect | None:
        """The effect with who is told."""
        if effect is None or Kind.NOTIFY not in effect.kinds or effect.receiver is not Receiver.UNKNOWN:
            return effect
        given = self.zap.nodes[name].get("params")
        address = next((text for key in zaps.table()["parameters"]["recipients"] if (text := parts.texts(given.get(key)))), "")
        return replace(effect, receiver=receiver(self.tracer.follow(address, name))) if address else effect

    def _identity(self, name: str, effect: Effect | None) -> Identity | None:
        if effect is None or not effect.outward:
            return None
        given = self.zap.nodes[name].get("params")
        key = given_key(given, key_names(effect, self.given.knowledge))
        natural = next((given.get(one) for one in zaps.table()["parameters"]["keys"] if given.get(one)), None)
        return identity_of(effect, place(self.zap.nodes[name]), key, lambda text: self.tracer.follow(text, name), natural)

    def _repeaters(self, name: str) -> Iterator[Repeater]:
        """A person may replay a run, and what sent a hook may send it again; autoreplay may be off, so it is asked for."""
        for above in self._looping(name):
            yield Repeater(Repeating.LOOP, True, None, place(self.zap.nodes[above]))
        for start in self.zap.starts:
            match zaps.kind_of(self.zap.nodes[start]):
                case Starting.EVENT:
                    yield Repeater(Repeating.REDELIVERY, True, None, place(self.zap.nodes[start]))
                case Starting.SCHEDULE:
                    yield Repeater(Repeating.SCHEDULE, True, None, place(self.zap.nodes[start]))
                case _:
                    pass
        yield Repeater(Repeating.REPLAY, False, None, place(self.zap.nodes[name]), default=True)

    def _looping(self, name: str) -> list[str]:
        return [above for above in self.zap.graph.upstream(name) if self.zap.role(above, "looping")]

    def _givers(self, name: str) -> set[str]:
        """The nodes whose values the parameters of a node use, also through those that only reshape."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for one, _ in self.zap.references(parts.texts(self.zap.nodes[waiting.pop()].get("params")), name) or ():
                if one in self.zap.nodes and one not in found:
                    found.add(one)
                    waiting += [one] if self.zap.role(one, "passing") else []
        return found

    def _kept(self, name: str) -> tuple[Span, ...]:
        """The later steps that write down what this one was answered."""
        effect = self.done[name].effect
        if effect is None or not effect.outward:
            return ()
        later = [one for one in self.kept if one in self.zap.graph.downstream([name])]
        storing = [one for one in later if (other := self.done[one].effect) is not None and other.kinds & _STORES]
        direct = [
            one
            for one in storing
            if name in {giver for giver, _ in self.zap.references(parts.texts(self.zap.nodes[one].get("params")), one) or ()}
        ]
        return tuple(place(self.zap.nodes[one]) for one in direct)

    def _filters(self, name: str) -> list[str]:
        """The conditions above a node; those of a branch are filters of the branching API."""
        above = self.zap.graph.upstream(name)
        return [one for one in self.zap.graph.order if one in above and self.zap.nodes[one].get("params", "filter_criteria")]

    def _conditions(self, name: str) -> Iterator[str]:
        for one in self._filters(name):
            yield from zaps.conditions(self.zap.nodes[one])

    def _guard(self, name: str) -> Span | None:
        """A search of the same app above, whose result a condition asks about."""
        for one in self._filters(name):
            for giver in self._givers(one):
                same = giver in self.zap.nodes and zaps.api(self.zap.nodes[giver]) == zaps.api(self.zap.nodes[name])
                if same and parts.only_reads(self.done[giver].effect):
                    return place(self.zap.nodes[giver])
        return None

    def _gate(self, name: str) -> Gate | None:
        above = self.zap.graph.upstream(name)
        return next(
            (
                Gate("approval", place(self.zap.nodes[one]))
                for one in self.zap.graph.order
                if one in above and self.zap.role(one, "approval")
            ),
            None,
        )

    def _marks(self, name: str, effect: Effect | None) -> frozenset[Mark]:
        found = {Mark.SUCCESS_NOTICE} if is_notice(effect) else set[Mark]()
        return frozenset(found | ({Mark.IN_LOOP} if self._looping(name) else set()))
