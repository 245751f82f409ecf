"""Where the nodes of a picture stand: in layers by the longest way that leads to them, as little crossed as a few passes can make it.

A line over several layers has a place of its own in each of them, so that it goes round what stands there. The same picture gives the
same places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from halfway.domain.picture import Line, Picture

PASSES = 8  # over all layers, to and fro
GAP = 28.0  # between two that stand side by side
STRAIGHT = 12.0  # the last piece of a line


class Size(NamedTuple):
    """How much room something needs."""

    width: float
    height: float


class Point(NamedTuple):
    """A place in the picture."""

    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The middle of each node, the points through which each line goes, and how large all is."""

    centres: Mapping[str, Point]
    ways: Mapping[Line, tuple[Point, ...]]
    size: Size


class Slot(NamedTuple):
    """A node in its layer, or the place at which a line passes one."""

    layer: int
    name: str
    line: Line | None = None


def arrange(picture: Picture, sizes: Mapping[str, Size], *, between: float) -> Layout:
    """Places for everything; `between`: two layers."""
    graph = _Graph(picture, sizes)
    graph.order()
    xs = graph.spread()
    tops = graph.tops(between)
    left = min((xs[slot] - graph.width(slot) / 2 for slot in xs), default=0.0)
    right = max((xs[slot] + graph.width(slot) / 2 for slot in xs), default=0.0)
    xs = {slot: x - left for slot, x in xs.items()}
    bands = [(top, top + height) for top, height in zip(tops, graph.heights, strict=True)]
    return Layout(
        centres={slot.name: Point(x, sum(bands[slot.layer]) / 2) for slot, x in xs.items() if slot.line is None},
        ways={line: _way([(xs[slot], bands[slot.layer]) for slot in chain]) for line, chain in graph.chains.items()},
        size=Size(right - left, bands[-1][1] if bands else 0.0),
    )


def _way(chain: Sequence[tuple[float, tuple[float, float]]]) -> tuple[Point, ...]:
    """Straight through each layer, so that a line bends only between them: out of the first one, into the last."""
    points = [Point(x, y) for x, band in chain for y in band][1:-1]
    return (*points[:-1], points[-1]._replace(y=points[-1].y - STRAIGHT))


class _Graph:
    """Slots by layer, and which of them hang together."""

    def __init__(self, picture: Picture, sizes: Mapping[str, Size]) -> None:
        self.sizes = sizes
        self.layers: list[list[Slot]] = [[] for _ in range(1 + max((node.layer for node in picture.nodes), default=-1))]
        self.chains: dict[Line, tuple[Slot, ...]] = {}
        self.above: dict[Slot, list[Slot]] = {}
        self.below: dict[Slot, list[Slot]] = {}
        own = {node.name: Slot(node.layer, node.name) for node in picture.nodes}
        for slot in own.values():
            self._add(slot)
        for line in picture.lines:
            if line.course == "next":
                self._chain(line, own[line.source], own[line.target])
        self.heights = [max(self.sizes[slot.name].height for slot in layer if slot.line is None) for layer in self.layers]

    def _add(self, slot: Slot) -> None:
        self.layers[slot.layer].append(slot)
        self.above[slot], self.below[slot] = [], []

    def _chain(self, line: Line, source: Slot, target: Slot) -> None:
        passed = [Slot(layer, f"{line.source} {line.target}", line) for layer in range(source.layer + 1, target.layer)]
        for slot in passed:
            self._add(slot)
        chain = (source, *passed, target)
        self.chains[line] = chain
        for upper, lower in pairwise(chain):
            self.below[upper].append(lower)
            self.above[lower].append(upper)

    def width(self, slot: Slot) -> float:
        return 1.0 if slot.line is not None else self.sizes[slot.name].width

    def order(self) -> None:
        """Everything stands near the middle of what it hangs on; looked at from above, then from below."""
        for number in range(PASSES):
            down = number % 2 == 0
            layers = self.layers if down else self.layers[::-1]
            beside = self.above if down else self.below
            for former, layer in pairwise(layers):
                at = {slot: place for place, slot in enumerate(former)}
                now = {slot: place for place, slot in enumerate(layer)}
                layer.sort(key=lambda slot: (_mean([at[one] for one in beside[slot]], now[slot]), now[slot]))

    def spread(self) -> dict[Slot, float]:
        """The middle of each slot: side by side at first, then nearer to what it hangs on."""
        xs: dict[Slot, float] = {}
        for layer in self.layers:
            xs |= self._apart(layer, [0.0] * len(layer))
        for number in range(PASSES):
            down = number % 2 == 0
            beside = self.above if down else self.below
            for layer in self.layers if down else self.layers[::-1]:
                xs |= self._apart(layer, [_mean([xs[one] for one in beside[slot]], xs[slot]) for slot in layer])
        return xs

    def _apart(self, layer: Sequence[Slot], wanted: Sequence[float]) -> dict[Slot, float]:
        """As near to what is wanted as those side by side allow: groups that touch move together."""
        groups: list[tuple[list[Slot], float]] = []  # each with the middle of its first slot
        offsets: dict[Slot, float] = {}
        for slot, x in zip(layer, wanted, strict=True):
            group, start, aims = [slot], x, [x]
            offsets[slot] = 0.0
            while groups and self._end(groups[-1], offsets) > start - self.width(group[0]) / 2:
                before, _ = groups.pop()
                shift = offsets[before[-1]] + (self.width(before[-1]) + self.width(group[0])) / 2 + GAP
                for one in group:
                    offsets[one] += shift
                group = [*before, *group]
                aims = [wanted[layer.index(one)] - offsets[one] for one in group]
                start = sum(aims) / len(aims)
            groups.append((group, start))
        return {slot: start + offsets[slot] for group, start in groups for slot in group}

    def _end(self, group: tuple[list[Slot], float], offsets: Mapping[Slot, float]) -> float:
        slots, start = group
        return start + offsets[slots[-1]] + self.width(slots[-1]) / 2 + GAP - 1e-6

    def tops(self, between: float) -> list[float]:
        tops: list[float] = []
        y = 0.0
        for height in self.heights:
            tops.append(y)
            y += height + between
        return tops


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
