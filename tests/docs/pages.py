"""Reading the documentation: its pages, the blocks of code in them, their headings and links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITTEN_BY_A_COMMAND = {"run-states.md", "cli.md", "errors.md"}

_BLOCK = re.compile(
    r"^(?P<fence>```)(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$"
    r"|^<!-- python\n(?P<hidden>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_SAYS = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of code; `title` is the file it is meant for. A hidden one stands in a comment: what the page takes for granted."""

    language: str
    title: str | None
    code: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the documentation."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The text without its blocks of code."""
        return _FENCED.sub("", self.text)

    def blocks(self, language: str) -> list[Block]:
        return [block for block in self._blocks() if block.language == language]

    def _blocks(self) -> Iterator[Block]:
        text = self.text
        for found in _BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            hidden = found["hidden"]
            if hidden is not None:
                yield Block(language="python", title=None, code=hidden, line=line)
            else:
                yield Block(language=found["language"], title=found["title"], code=found["code"], line=line)

    def commands(self) -> list[str]:
        """What is typed in the page's terminals: the lines that begin with `$ `, with those they are continued on."""
        typed: list[str] = []
        for block in self.blocks("console"):
            lines = block.code.replace("\\\n", " ").splitlines()
            typed.extend(line.removeprefix("$ ") for line in lines if line.startswith("$ "))
        return typed

    def says(self) -> list[str]:
        """What the `print(…)  # …` of the page promise to print."""
        return [said for block in self.blocks("python") if block.title is None for said in _SAYS.findall(block.code)]

    def anchors(self) -> set[str]:
        return {_slug(heading) for heading in _HEADING.findall(self.prose)}

    def links(self) -> list[str]:
        return _LINK.findall(self.prose)


def pages() -> list[Page]:
    """README, ARCHITECTURE, the examples' README and everything under docs, but for what a command writes."""
    found = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [Page(path=path) for path in found if path.name not in WRITTEN_BY_A_COMMAND]


def page(name: str) -> Page:
    return Page(path=ROOT / name)


def arguments(command: str) -> list[str] | None:
    """The arguments of a `halfway …` command; None for any other."""
    words = shlex.split(command, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        del words[0]
    return words[1:] if words[:1] == ["halfway"] else None


def _slug(heading: str) -> str:
    """The anchor that a heading gets."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
