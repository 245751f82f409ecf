"""A drawn flow: which node follows which, with what is of no interest taken out of the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from halfway.inspection.model import Edge, When


@dataclass(frozen=True)
class Link:
    """One drawn line; `output` is the place of it at the node that it leaves."""

    before: str
    after: str
    when: When = When.SUCCESS
    output: int = 0


@dataclass(frozen=True)
class Graph:
    """All lines between the nodes of one flow, whose names are in the order of the file."""

    names: Sequence[str]
    links: Sequence[Link]
    _walked: dict[tuple[tuple[str, ...], frozenset[When], frozenset[str]], set[str]] = field(default_factory=dict[Any, Any], compare=False)

    @cached_property
    def after(self) -> Mapping[str, list[Link]]:
        """The lines that leave a node."""
        return _by(self.links, lambda link: link.before)

    @cached_property
    def before(self) -> Mapping[str, list[Link]]:
        """The lines that reach a node."""
        return _by(self.links, lambda link: link.after)

    def downstream(self, starts: Iterable[str], but: Collection[When] = (), around: Collection[str] = ()) -> set[str]:
        """All that follow, not along lines of those endings and not through those nodes; a start is in it only where it follows itself."""
        asked = (tuple(starts), frozenset(but), frozenset(around))
        if asked not in self._walked:
            self._walked[asked] = self._walk(*asked)
        return set(self._walked[asked])

    def _walk(self, starts: tuple[str, ...], but: frozenset[When], around: frozenset[str]) -> set[str]:
        seen: set[str] = set()
        waiting = list(starts)
        while waiting:
            for link in self.after.get(waiting.pop(), ()):
                if link.when not in but and link.after not in seen and link.after not in around:
                    seen.add(link.after)
                    waiting.append(link.after)
        return seen

    def ways_out(self, name: str, around: Collection[str] = ()) -> list[set[str]]:
        """What each output of a node leads to, not through those nodes."""
        ends: dict[int, list[str]] = {}
        for link in self.after.get(name, ()):
            ends.setdefault(link.output, []).append(link.after)
        return [{*firsts} | self.downstream(firsts, around=around) for firsts in ends.values()]

    def upstream(self, name: str) -> set[str]:
        """All that come before."""
        return self._turned.downstream([name])

    @cached_property
    def _turned(self) -> Graph:
        return Graph(self.names, [Link(link.after, link.before) for link in self.links])

    @cached_property
    def order(self) -> list[str]:
        """The names as they run: each after those that lead to it; a circle is cut where it closes."""
        done: list[str] = []
        seen: set[str] = set()
        roots = [name for name in self.names if not self.before.get(name)]
        # Of what only goes round nothing is first but by the file; it is finished first, to stand last.
        reached = self.downstream(roots) | set(roots)
        for name in (*(one for one in self.names if one not in reached), *reversed(roots)):
            self._finish(name, seen, done)
        return done[::-1]

    def _finish(self, start: str, seen: set[str], done: list[str]) -> None:
        """Puts a node behind all that follow it, by a stack of its own: a drawn flow may be long."""
        if start in seen:
            return
        seen.add(start)
        stack: list[tuple[str, Iterator[Link]]] = [(start, iter(self.after.get(start, [])[::-1]))]
        while stack:
            name, rest = stack[-1]
            link = next((one for one in rest if one.after not in seen), None)
            if link is None:
                done.append(name)
                stack.pop()
            else:
                seen.add(link.after)
                stack.append((link.after, iter(self.after.get(link.after, [])[::-1])))

    def edges(self, kept: Collection[str]) -> tuple[Edge, ...]:
        """The order of those that are kept; how the first one ended counts, whatever lies between them."""
        found: dict[tuple[str, str], When] = {}
        for name in self.order:
            if name not in kept:
                continue
            for link in self.after.get(name, ()):
                for after in self._nearest(link.after, kept):
                    found[name, after] = _wider(found.get((name, after)), link.when)
        return tuple(Edge(before, after, when) for (before, after), when in found.items())

    def _nearest(self, name: str, kept: Collection[str]) -> list[str]:
        """The first ones that are kept from here on."""
        found: list[str] = []
        seen = {name}
        waiting = [name]
        while waiting:
            one = waiting.pop(0)
            if one in kept:
                found.append(one)
                continue
            for link in self.after.get(one, ()):
                if link.after not in seen:
                    seen.add(link.after)
                    waiting.append(link.after)
        return found

    def nearest_before(self, name: str, kept: Collection[str]) -> list[str]:
        """The last ones that are kept before a node."""
        lines = self._turned.after.get(name, ())
        return list(dict.fromkeys(one for link in lines for one in self._turned._nearest(link.after, kept)))

    def only_on_errors(self, starts: Iterable[str]) -> set[str]:
        """Those that nothing reaches unless something failed."""
        return self.downstream(starts) - self.downstream(starts, but=(When.ERROR,))


def _by(links: Sequence[Link], key: Callable[[Link], str]) -> Mapping[str, list[Link]]:
    found: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        found[key(link)].append(link)
    return found


def _wider(one: When | None, other: When) -> When:
    """Both ways of following together."""
    return other if one in (None, other) else When.ALWAYS
