"""A picture as lines of text, for a terminal and for Mermaid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from halfway.domain.picture import Look, Picture

# How a node begins and ends in Mermaid.
SHAPES: Mapping[Look, tuple[str, str]] = {
    "step": ('["', '"]'),
    "each": ('[/"', '"/]'),
    "transaction": ('[["', '"]]'),
    "wait": ('(["', '"])'),
    "approval": ('{{"', '"}}'),
}


def text_lines(picture: Picture) -> Iterator[str]:
    """One line for each step, as far to the right as it stands from the beginning."""
    yield f"{picture.title}  ({picture.subtitle})"
    for node in picture.nodes:
        before = [f"{line.source}{_noted(line.label)}" for line in picture.lines if line.target == node.name and line.course == "next"]
        back = [
            f"  -> {picture.back} {line.target}{_noted(line.label)}"
            for line in picture.lines
            if line.source == node.name and line.course == "back"
        ]
        after = f"  <- {', '.join(before)}" if before else ""
        details = f"; {'; '.join(node.details)}" if node.details else ""
        yield f"{'  ' * (node.layer + 1)}{node.name} ({node.kind}{details}){after}{''.join(back)}"


def mermaid_lines(picture: Picture) -> Iterator[str]:
    """A flowchart; what Mermaid would take for its own is written as a number."""
    yield "flowchart TD"
    for node in picture.nodes:
        begin, end = SHAPES[node.look]
        label = "<br/>".join(_plain(one) for one in (node.name, node.kind, *node.details))
        yield f"    {node.name}{begin}{label}{end}"
    for line in picture.lines:
        arrow = "-.->" if line.course == "back" else "-->"
        label = f"|{_plain(line.label)}|" if line.label else ""
        yield f"    {line.source} {arrow}{label} {line.target}"


def _noted(label: str) -> str:
    return f" ({label})" if label else ""


def _plain(text: str) -> str:
    """Letters, digits and harmless signs as they are."""
    return "".join(one if one.isalnum() or one in " _-.,:/" else f"#{ord(one)};" for one in text)
