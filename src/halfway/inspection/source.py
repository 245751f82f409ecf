"""Text that is read with its places: JSON and YAML become trees whose every value knows its line and its path. Data, never instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf
from typing import Any, TypeAlias

from halfway.inspection.model import Fact, Span
from halfway.inspection.quoting import quoted

DEEPEST = 100  # levels of a tree
MOST_NODES = 150_000
MOST_EDGES = 20_000  # between the steps of a flow
MOST_OF_YAML = 30_000  # also through aliases, which name a part again; its parser is slow
LONGEST_YAML = 2**19  # characters
GREATEST = 1e15
LONGEST_COUNT = 15  # digits
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_SPACE = re.compile(r"[ \t\r\n]*")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_IN_PATH = re.compile(r"^[A-Za-z_][\w-]*$")


class Unreadable(Exception):
    """A text that cannot be read as what it claims to be; the message says why and in which line."""


Value: TypeAlias = "dict[str, Node] | list[Node] | str | int | float | bool | None"


@dataclass(frozen=True, eq=False)
class Node:
    """A value with its place: a mapping, a list or a scalar. What is not there is a node too, without a value and without truth."""

    value: Value
    span: Span
    there: bool = True
    begins: int = 0  # the line of the first line of a text that begins below its key; 0: it begins in the first line of the span
    twice: tuple[str, int] | None = None  # of a whole file: the first key that stands twice in a mapping, and its line

    @property
    def first_line(self) -> int:
        """The line in which the text of a scalar begins."""
        return self.begins or self.span.line

    def __bool__(self) -> bool:
        return self.there and self.value not in (None, "", [], {})

    def get(self, *path: str | int) -> Node:
        """The value at a path of keys and places; one that is not there is missing, at the nearest place that is."""
        node = self
        for key in path:
            found: Node | None = None
            if isinstance(key, int) and isinstance(node.value, list) and -len(node.value) <= key < len(node.value):
                found = node.value[key]
            elif isinstance(node.value, dict):
                found = node.value.get(str(key))
            if found is None:
                return Node(None, node.span, there=False)
            node = found
        return node

    def items(self) -> Iterator[tuple[str, Node]]:
        """The entries of a mapping; of anything else none."""
        yield from self.value.items() if isinstance(self.value, dict) else ()

    def each(self) -> Iterator[Node]:
        """The members of a list; a single value counts as a list of one, nothing as an empty one."""
        if isinstance(self.value, list):
            yield from self.value
        elif self.there and self.value is not None:
            yield self

    @property
    def text(self) -> str:
        """The text of a scalar as it would be written; empty for everything else."""
        match self.value:
            case str():
                return self.value
            case bool():
                return "true" if self.value else "false"
            case int() | float():
                return str(self.value)
            case _:
                return ""

    @property
    def written(self) -> str:
        """A key as it is written: what a scalar says, and for a key that is none no name."""
        return "" if isinstance(self.value, dict | list) else self.text or ("null" if self.value is None else "")

    @property
    def plain(self) -> Any:
        """The value without places."""
        match self.value:
            case dict():
                return {key: node.plain for key, node in self.value.items()}
            case list():
                return [node.plain for node in self.value]
            case _:
                return self.value

    @property
    def number(self) -> float | None:
        """The value as a number, also one that is written as a text."""
        return None if isinstance(self.value, (bool, dict, list)) or self.value is None else finite(self.value)


@dataclass(frozen=True)
class Source:
    """A text file that was given to be read."""

    path: str  # as it is shown
    text: str
    unread: dict[str, str] = field(default_factory=dict[str, str], compare=False)  # by kind, why it could not be read as that
    kept: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)  # what readers have made of it; let go with its flows
    _quotes: dict[int, str] = field(default_factory=dict[int, str], compare=False)  # an export is often one line, and each step quotes it

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def span(self, line: int, end: int = 0, at: str = "") -> Span:
        return Span(self.path, line, end, at)

    def fact(self, span: Span) -> Fact:
        """The line at a place, made safe to show."""
        if span.line not in self._quotes:
            self._quotes[span.line] = quoted(self.line(span.line))
        return Fact(span, self._quotes[span.line])

    @cached_property
    def json(self) -> Node | None:
        """The text as JSON, None if it is none."""
        try:
            return _Json(self).whole()
        except Unreadable as error:
            self.unread["json"] = str(error)
            return None

    @cached_property
    def yaml(self) -> Node | None:
        """The first document of the text as YAML 1.2, None if it is none."""
        # JSON is YAML as well, and its own parser is many times faster.
        if self.text.lstrip("\ufeff \t\r\n").startswith(("{", "[")) and (self.json is not None or self.path.endswith(".json")):
            return self.json
        try:
            return _yaml(self)
        except Unreadable as error:
            self.unread["yaml"] = str(error)
            return None


def join(path: str, key: str | int) -> str:
    """The path of a part."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if len(key) >= 16 or not _IN_PATH.match(key):
        key = quoted(key)
    shown = key if _IN_PATH.match(key) else f"[{key!r}]"
    return shown if not path else f"{path}{shown}" if shown.startswith("[") else f"{path}.{shown}"


def finite(said: str | float) -> float | None:
    """A number that is used as one; None for what is none, is no end of a number, or is greater than any count or time."""
    try:
        value = float(said)
    except (ValueError, OverflowError):
        return None
    return value if abs(value) <= GREATEST else None


def whole(said: str) -> int | None:
    """A count as it is written; None for what is none, or has more digits than any."""
    return int(said) if said.isascii() and said.isdigit() and len(said) <= LONGEST_COUNT else None


def expressions(text: str) -> list[str]:
    """What stands in each `${{ }}`."""
    found: list[str] = []

    def take(whole: str) -> str:
        found.append(whole[3:-2])
        return ""

    replaced(text, take)
    return found


def replaced(text: str, put: Callable[[str], str]) -> str:
    """The text with something else for each `${{ }}`; in one go, where a pattern would look for the end of each that has none."""
    parts, at = list[str](), 0
    while (begins := text.find("${{", at)) >= 0 and (ends := _end(text, begins + 3)) >= 0:
        parts += (text[at:begins], put(text[begins : ends + 2]))
        at = ends + 2
    return "".join((*parts, text[at:]))


def _end(text: str, at: int) -> int:
    """Where the expression that begins there is closed; what stands between quotes closes nothing."""
    first = ends = text.find("}}", at)
    while ends >= 0 and (opens := text.find("'", at, ends)) >= 0:
        closes = text.find("'", opens + 1)
        if closes < 0:
            return first
        at = closes + 1
        ends = text.find("}}", at) if closes > ends else ends
    return ends if ends >= 0 else first


# ── JSON ──


class _Json:
    """Reads a text from its beginning to its end; the standard library's parser does not tell places."""

    def __init__(self, source: Source) -> None:
        self._source, self._text, self._at = source, source.text.removeprefix("\ufeff"), 0
        self._line, self._counted, self._nodes = 1, 0, 0

    def whole(self) -> Node:
        node = self._value("", 0)
        self._skip()
        if self._at != len(self._text):
            raise self._error("there is something after the value")
        return node

    def _value(self, path: str, depth: int) -> Node:
        self._skip()
        self._nodes += 1
        if depth > DEEPEST or self._nodes > MOST_NODES:
            raise self._error(f"it is deeper than {DEEPEST} levels, or has more than {MOST_NODES:,} values")
        span = self._source.span(self._here(), at=path)
        char = self._text[self._at : self._at + 1]
        if char == "{":
            value: Value = self._mapping(path, depth)
        elif char == "[":
            value = self._list(path, depth)
        elif char == '"':
            value = self._string()
        else:
            value = self._word()
        return Node(value, Span(span.file, span.line, self._here(), path))

    def _mapping(self, path: str, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        self._at += 1
        while not self._ends("}", bool(found)):
            self._skip()
            key = self._string()
            self._expect(":")
            found[key] = self._value(join(path, key), depth + 1)
        return found

    def _list(self, path: str, depth: int) -> list[Node]:
        found: list[Node] = []
        self._at += 1
        while not self._ends("]", bool(found)):
            found.append(self._value(join(path, len(found)), depth + 1))
        return found

    def _ends(self, sign: str, some: bool) -> bool:
        self._skip()
        if self._text.startswith(sign, self._at):
            self._at += 1
            return True
        if some:
            self._expect(",")
        return False

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._error("a text in quotation marks was expected")
        self._at = match.end()
        inner = match[0][1:-1]
        return inner if "\\" not in inner else _unescaped(inner)

    def _word(self) -> Value:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise self._error("a value was expected")
        self._at = match.end()
        if len(match[0]) > 40 or (match[2] and isinf(float(match[0]))):
            return match[0]
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def _expect(self, sign: str) -> None:
        self._skip()
        if not self._text.startswith(sign, self._at):
            raise self._error(f"a {sign} was expected")
        self._at += 1

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _error(self, problem: str) -> Unreadable:
        return Unreadable(f"line {self._here()}: {problem}")


_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescaped(text: str) -> str:
    parts = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda match: _escape(match[1]), text)
    return parts.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(sign: str) -> str:
    return chr(int(sign[1:], 16)) if sign[0] == "u" else _ESCAPES.get(sign, sign)


# ── YAML ──


def _yaml(source: Source) -> Node:
    # Loaded when a YAML file is read; it is of the extra `inspect`.
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    if len(source.text) > LONGEST_YAML:
        raise Unreadable("it is YAML of more than 512 KiB")
    reader: Any = YAML(typ="safe", pure=True)
    try:
        return _Yaml(source, reader.parse(source.text)).whole()
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or type(error).__name__
        raise Unreadable(f"line {mark.line + 1}: {problem}" if mark is not None else str(problem)) from error


class _Yaml:
    """Makes a tree of what the parser tells, event by event, and stops as soon as it is too deep or too much."""

    def __init__(self, source: Source, events: Iterator[Any]) -> None:
        self._source, self._events, self._left = source, events, MOST_OF_YAML
        self._anchors: dict[str, Node] = {}
        self._twice: tuple[str, int] | None = None

    def whole(self) -> Node:
        """The first document."""
        for event in self._events:
            if hasattr(event, "anchor"):
                return replace(self._node(event, "", 0), twice=self._twice)
        raise Unreadable("it is empty")

    def _node(self, event: Any, path: str, depth: int) -> Node:
        self._count(depth)
        start, kind = event.start_mark, type(event).__name__
        if kind == "AliasEvent":
            if event.anchor not in self._anchors:
                raise Unreadable(f"line {start.line + 1}: an alias names nothing that ends before it")
            return self._moved(self._anchors[event.anchor], path, depth)
        value, end = self._value(event, kind, path, depth)
        span = Span(self._source.path, start.line + 1, max(start.line, end.line - (end.column == 0)) + 1, path)
        made = Node(value, span, begins=span.line + 1 if kind == "ScalarEvent" and event.style in ("|", ">") else 0)
        if event.anchor is not None:
            self._anchors[event.anchor] = made
        return made

    def _value(self, event: Any, kind: str, path: str, depth: int) -> tuple[Value, Any]:
        """With the place where it ends."""
        if kind == "ScalarEvent":
            return _scalar(event), event.end_mark
        last = event
        if kind == "SequenceStartEvent":
            members: list[Node] = []
            while not _is_end(last := next(self._events)):
                members.append(self._node(last, join(path, len(members)), depth + 1))
            return members, last.end_mark
        entries: dict[str, Node] = {}
        while not _is_end(last := next(self._events)):
            key = self._node(last, "", depth + 1)
            # A value that begins on a line of its own is shown with its key.
            made = self._node(next(self._events), join(path, key.written), depth + 1)
            span = Span(self._source.path, last.start_mark.line + 1, made.span.end, made.span.at)
            if key.written in entries and key.written != "<<":
                self._twice = self._twice or (key.written, last.start_mark.line + 1)
            entries[key.written] = Node(made.value, span, begins=made.first_line)
        return entries, last.end_mark

    def _moved(self, node: Node, path: str, depth: int) -> Node:
        """What an alias names, as it is there; each time it is named it counts."""
        value = node.value
        if isinstance(value, dict):
            value = {key: self._moved_part(one, join(path, key), depth) for key, one in value.items()}
        elif isinstance(value, list):
            value = [self._moved_part(one, join(path, number), depth) for number, one in enumerate(value)]
        return Node(value, replace(node.span, at=path), begins=node.begins)

    def _moved_part(self, node: Node, path: str, depth: int) -> Node:
        self._count(depth + 1)
        return self._moved(node, path, depth + 1)

    def _count(self, depth: int) -> None:
        self._left -= 1
        if depth > DEEPEST or self._left < 0:
            raise Unreadable(f"it is deeper than {DEEPEST} levels, or has more than {MOST_OF_YAML:,} values, aliases counted each time")


def _is_end(event: Any) -> bool:
    return type(event).__name__ in ("MappingEndEvent", "SequenceEndEvent")


def _scalar(event: Any) -> Value:
    """YAML 1.2: `on` and `yes` are texts."""
    text = str(event.value)
    if event.style in ("'", '"', "|", ">"):
        return text
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[-+]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[-+]?\d{1,18}\.\d+", text):
        return float(text)
    return text
