"""A picture as SVG: readable on light and on dark ground, without styles or scripts, and with every text escaped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from html import escape
from itertools import pairwise
from typing import NamedTuple

from halfway.domain.layout import Layout, Point, Size, arrange
from halfway.domain.picture import Line, Node, Picture

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
LETTER = 0.602  # width of a letter of such a font, of its size
NAME, SMALL, TITLE = 13, 11, 15  # sizes of letters
LINE_OF = {NAME: 18.0, SMALL: 15.0}  # heights of lines
LONGEST = 34  # letters of a line
PAD, EDGE, BETWEEN, HEAD, NARROWEST = 12.0, 24.0, 44.0, 62.0, 120.0
INK, PAPER, GREY, PALE = "#1f2328", "#ffffff", "#7d8590", "#57606a"
TONES: Mapping[str, str] = {
    "READ": "#57606a", "CREATE": "#1a7f37", "NOTIFY": "#8250df", "CHANGE": "#bc4c00", "DELEGATE": "#0e7490", "TRANSACTION": "#0969da",
    "EVENT": "#57606a", "RUN": "#57606a", "TIME": "#57606a", "APPROVAL": "#9a6700",
}  # fmt: skip


class Box(NamedTuple):
    """A node as it is written: its lines, each with the size of its letters, and the room that they need."""

    lines: tuple[tuple[str, int], ...]
    size: Size


def svg(picture: Picture) -> str:
    """One SVG document, as large as it needs to be."""
    boxes = {node.name: _box(node) for node in picture.nodes}
    layout = arrange(picture, {name: box.size for name, box in boxes.items()}, between=BETWEEN)
    inner = _inner(picture, layout, boxes)
    wide = max(inner, _width(picture.title, TITLE) + 2 * PAD, _width(picture.subtitle, SMALL) + 2 * PAD)
    size = Size(wide + 2 * EDGE, layout.size.height + HEAD + 2 * EDGE)
    return "\n".join(_document(picture, layout, boxes, size)) + "\n"


def _document(picture: Picture, layout: Layout, boxes: Mapping[str, Box], size: Size) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(size.width)} {_n(size.height)}" width="{_n(size.width)}" '
        f'height="{_n(size.height)}" role="img" aria-label="{_e(_said(picture))}" font-family="{_e(FONT)}">'
    )
    yield from _head(picture, size)
    yield f'<g transform="translate({_n((size.width - _inner(picture, layout, boxes)) / 2)} {_n(EDGE + HEAD)})">'
    for line in picture.lines:
        yield from _line(line, layout, boxes)
    for node in picture.nodes:
        yield from _node(node, layout.centres[node.name], boxes[node.name])
    yield "</g>"
    yield "</svg>"


def _head(picture: Picture, size: Size) -> Iterator[str]:
    middle = size.width / 2
    wide = max(_width(picture.title, TITLE), _width(picture.subtitle, SMALL)) + 2 * PAD
    yield f'<rect x="{_n(middle - wide / 2)}" y="{_n(EDGE)}" width="{_n(wide)}" height="44" rx="6" fill="{PAPER}"/>'
    yield _text(picture.title, Point(middle, EDGE + 19), TITLE, INK, bold=True)
    yield _text(picture.subtitle, Point(middle, EDGE + 36), SMALL, PALE)


# ── nodes ──


def _box(node: Node) -> Box:
    lines = [(part, NAME) for part in _wrapped(node.name, "_")]
    lines += [(part, SMALL) for text in (node.kind, *node.details) for part in _wrapped(text, " ")]
    wide = max(_width(text, size) for text, size in lines)
    return Box(tuple(lines), Size(max(wide + 2 * PAD + 6, NARROWEST), sum(LINE_OF[size] for _, size in lines) + PAD * 1.5))


def _node(node: Node, centre: Point, box: Box) -> Iterator[str]:
    tone, size = TONES.get(node.tone, GREY), box.size
    x, y = centre.x - size.width / 2, centre.y - size.height / 2
    yield f"<g><title>{_e(_told(node))}</title>"
    yield from _shape(node, Point(x, y), size, tone)
    at = y + PAD * 0.75
    kinds = len(_wrapped(node.name, "_"))
    for number, (text, letters) in enumerate(box.lines):
        at += LINE_OF[letters]
        colour = INK if letters == NAME else tone if number == kinds else PALE
        yield _text(text, Point(centre.x, at - 4), letters, colour, bold=letters == NAME)
    yield "</g>"


def _shape(node: Node, corner: Point, size: Size, tone: str) -> Iterator[str]:
    """What it is can be seen without colours: a wait is dashed, an approval has its corners cut, a transaction a second border.

    What is done for many has another behind it.
    """
    x, y = corner
    right, bottom = x + size.width, y + size.height
    common = f'fill="{PAPER}" stroke="{tone}" stroke-width="1.5"'
    if node.look == "approval":
        cut = 10.0
        points = [
            (x + cut, y), (right - cut, y), (right, y + cut), (right, bottom - cut), (right - cut, bottom), (x + cut, bottom),
            (x, bottom - cut), (x, y + cut),
        ]  # fmt: skip
        yield f'<polygon points="{" ".join(f"{_n(one)},{_n(other)}" for one, other in points)}" {common}/>'
        return
    if node.look == "each":
        yield f'<rect x="{_n(x + 5)}" y="{_n(y + 5)}" width="{_n(size.width)}" height="{_n(size.height)}" rx="6" {common}/>'
    dashed = ' stroke-dasharray="5 3"' if node.look == "wait" else ""
    yield f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(size.width)}" height="{_n(size.height)}" rx="6" {common}{dashed}/>'
    if node.look == "transaction":
        yield (
            f'<rect x="{_n(x + 3.5)}" y="{_n(y + 3.5)}" width="{_n(size.width - 7)}" height="{_n(size.height - 7)}" rx="3" '
            f'fill="none" stroke="{tone}" stroke-width="1"/>'
        )


# ── lines ──


def _line(line: Line, layout: Layout, boxes: Mapping[str, Box]) -> Iterator[str]:
    if line.course == "back":
        yield from _back(line, layout, boxes)
        return
    source, target = layout.centres[line.source], layout.centres[line.target]
    start = Point(source.x, source.y + boxes[line.source].size.height / 2)
    end = Point(target.x, target.y - boxes[line.target].size.height / 2)
    points = [start, *layout.ways.get(line, ()), Point(end.x, end.y - 7)]
    parts = [f"M {_n(start.x)} {_n(start.y)}"]
    for one, other in pairwise(points):
        if one.x == other.x:
            parts.append(f"V {_n(other.y)}")
            continue
        half = (one.y + other.y) / 2
        parts.append(f"C {_n(one.x)} {_n(half)} {_n(other.x)} {_n(half)} {_n(other.x)} {_n(other.y)}")
    yield f'<path d="{" ".join(parts)}" fill="none" stroke="{GREY}" stroke-width="1.5"/>'
    yield _arrow(end, 0, -1)
    if line.label:
        yield _text(line.label, Point((start.x + end.x) / 2, (start.y + end.y) / 2), SMALL, GREY)


def _back(line: Line, layout: Layout, boxes: Mapping[str, Box]) -> Iterator[str]:
    """Round the right side of all that stands between, dashed."""
    source, target = layout.centres[line.source], layout.centres[line.target]
    start, end = source.x + boxes[line.source].size.width / 2, target.x + boxes[line.target].size.width / 2
    far = _far(line, layout, boxes)
    path = (
        f"M {_n(start)} {_n(source.y)} H {_n(far - 8)} Q {_n(far)} {_n(source.y)} {_n(far)} {_n(source.y - 8)} V {_n(target.y + 8)} "
        f"Q {_n(far)} {_n(target.y)} {_n(far - 8)} {_n(target.y)} H {_n(end + 7)}"
    )
    if line.source == line.target:
        path = f"M {_n(start)} {_n(source.y + 10)} H {_n(far)} V {_n(source.y)} H {_n(end + 7)}"
    yield f'<path d="{path}" fill="none" stroke="{GREY}" stroke-width="1.5" stroke-dasharray="4 3"/>'
    yield _arrow(Point(end, target.y), 1, 0)
    yield _text(line.label, Point(far + 6, (source.y + target.y) / 2 + 4), SMALL, GREY, anchor="start")


def _far(line: Line, layout: Layout, boxes: Mapping[str, Box]) -> float:
    """To the right of every node and line between its ends."""
    top, bottom = sorted((layout.centres[line.source].y, layout.centres[line.target].y))
    nodes = (centre.x + boxes[name].size.width / 2 for name, centre in layout.centres.items() if top <= centre.y <= bottom)
    points = (point.x for way in layout.ways.values() for point in way if top <= point.y <= bottom)
    return max((*nodes, *points)) + EDGE


def _inner(picture: Picture, layout: Layout, boxes: Mapping[str, Box]) -> float:
    """How wide it is with the lines that lead back, and what stands beside them."""
    backs = [_far(line, layout, boxes) + 6 + _width(line.label, SMALL) for line in picture.lines if line.course == "back"]
    return max([layout.size.width, *backs])


def _arrow(tip: Point, x: int, y: int) -> str:
    """A head that points against this direction."""
    back = Point(tip.x + 8 * x, tip.y + 8 * y)
    wings = (Point(back.x + 4 * y, back.y + 4 * x), Point(back.x - 4 * y, back.y - 4 * x))
    return f'<polygon points="{" ".join(f"{_n(one.x)},{_n(one.y)}" for one in (tip, *wings))}" fill="{GREY}"/>'


# ── texts ──


def _text(text: str, at: Point, size: int, colour: str, *, bold: bool = False, anchor: str = "middle") -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{_n(at.x)}" y="{_n(at.y)}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{weight}>{_e(text)}</text>'


def _wrapped(text: str, at: str) -> list[str]:
    """Lines of at most so many letters, broken behind this letter where there is one."""
    lines: list[str] = []
    while _letters(text) > LONGEST:
        end = _fitting(text)
        cut = text.rfind(at, 1, end)
        cut = end if cut < LONGEST // 3 else cut + 1
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*lines, text]


def _fitting(text: str) -> int:
    """How many letters from the beginning fit into a line."""
    for count in range(len(text), 0, -1):
        if _letters(text[:count]) <= LONGEST:
            return count
    return 1


def _width(text: str, size: int) -> float:
    return _letters(text) * LETTER * size


def _letters(text: str) -> int:
    """Letters of East Asia are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _told(node: Node) -> str:
    return f"{node.name}: {'; '.join((node.kind, *node.details))}"


def _said(picture: Picture) -> str:
    """For whoever does not see it."""
    return f"{picture.title}, {picture.subtitle}. {'. '.join(map(_told, picture.nodes))}."


def _e(text: str) -> str:
    """Escaped, and without what XML cannot hold."""
    return escape("".join(one if one.isprintable() else " " for one in text), quote=True)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
