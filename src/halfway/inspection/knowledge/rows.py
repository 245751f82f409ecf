"""Reads the rows of the knowledge base and refuses what breaks their schema. A row without a source cannot exist."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum
from importlib.resources import files
from typing import Any, NoReturn, TypeVar, cast

from halfway.inspection.knowledge.action import Action, Key, Trust
from halfway.inspection.model import Kind, Repeat, Reversible

E = TypeVar("E", bound=StrEnum)
_ROOM = "halfway.inspection.knowledge"
_SAID = ("id", "probe", "compensation")
_NEEDED = (*_SAID, "kinds", "repeat", "reversible", "mails", "sources", "checked", "trust")


@dataclass(frozen=True)
class CommandRule:
    """A command of a shell: its words, the flags of which one must be there, and those that make it harmless."""

    run: str
    given: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class UseRule:
    """An action of GitHub Actions, with the inputs that must have, or must not have, a value."""

    action: str
    given: tuple[tuple[str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Row:
    """An action with the expressions that mean it."""

    action: Action
    shell: tuple[CommandRule, ...] = ()
    uses: tuple[UseRule, ...] = ()
    http: tuple[str, ...] = ()  # POST api.vendor.example/v1/things/*, and perhaps ` with field=value`
    named: tuple[str, ...] = ()  # names of variables that hold such an address
    call: tuple[str, ...] = ()  # vendor.**.create
    aws: tuple[str, ...] = ()  # service:Operation
    node: tuple[str, ...] = ()  # n8n:type/resource/operation


_MATCHES = tuple(field.name for field in fields(Row) if field.name != "action")
_COMMAND, _USE = frozenset(("run", "with", "without")), frozenset(("action", "with", "without"))
_KEYS = frozenset((*_NEEDED, "key", "minted_by_sdk", "lasting", *_MATCHES))


class _Table:
    """A table of a file that is read strictly; every problem names the file and the row."""

    def __init__(self, file: str, row: str, table: Mapping[str, Any]) -> None:
        self._where, self.table = f"{file}: {row}", table

    def fail(self, problem: str) -> NoReturn:
        raise ValueError(f"{self._where}: {problem}")

    def only(self, known: frozenset[str], needed: tuple[str, ...]) -> None:
        unknown, missing = sorted(self.table.keys() - known), [key for key in needed if key not in self.table]
        if unknown or missing:
            self.fail("; ".join([*(f"unknown key {key}" for key in unknown), *(f"{key} is missing" for key in missing)]))

    def text(self, key: str) -> str:
        value = self.table[key]
        if not isinstance(value, str) or not value.strip():
            self.fail(f"{key} must be a text that says something")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        found = cast("list[object]", value) if isinstance(value, list) else [None]
        texts = tuple(one for one in found if isinstance(one, str) and one)
        if len(texts) != len(found):
            self.fail(f"{key} must be a list of texts")
        return texts

    def inner(self, value: object, known: frozenset[str], needed: str, problem: str) -> Mapping[str, Any]:
        """A table within the row, with these keys and no others."""
        if not isinstance(value, dict):
            self.fail(problem)
        found = cast("dict[str, Any]", value)
        if not found.keys() <= known or not found.get(needed):
            self.fail(problem)
        return found

    def flag(self, key: str) -> bool:
        value = self.table.get(key, False)
        if not isinstance(value, bool):
            self.fail(f"{key} must be true or false")
        return value

    def one_of(self, key: str, kind: type[E], value: object) -> E:
        if value not in list(kind):
            self.fail(f"{key} {value!r} is none of {', '.join(kind)}")
        return kind(str(value))


def rows() -> tuple[Row, ...]:
    """All rows of the files that come with the package, by id."""
    found: dict[str, Row] = {}
    folder = files(_ROOM) / "data"
    for file in sorted((one for one in folder.iterdir() if one.name.endswith(".toml")), key=lambda one: one.name):
        for row in parse(file.name, file.read_text("utf-8")):
            if row.action.id in found:
                raise ValueError(f"{file.name}: {row.action.id}: the id is there twice")
            found[row.action.id] = row
    return tuple(found[id] for id in sorted(found))


def table(name: str) -> Mapping[str, Any]:
    """A table that the lookups need beside the rows."""
    return tomllib.loads((files(_ROOM) / "data" / "tables" / f"{name}.toml").read_text("utf-8"))


def parse(file: str, text: str) -> Iterator[Row]:
    """The rows of one file; raises ValueError for one that breaks the schema."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from error
    _Table(file, "the file", content).only(frozenset(("action",)), ("action",))
    for number, one in enumerate(content["action"], 1):
        yield _row(_Table(file, str(one.get("id") or f"row {number}"), one))


def _row(read: _Table) -> Row:
    read.only(_KEYS, _NEEDED)
    return Row(
        _action(read),
        tuple(_command(read, one) for one in read.table.get("shell", [])),
        tuple(_use(read, one) for one in read.table.get("uses", [])),
        *(read.texts(key) for key in _MATCHES if key not in ("shell", "uses")),
    )


def _action(read: _Table) -> Action:
    kinds = frozenset(read.one_of("kinds", Kind, kind) for kind in read.texts("kinds"))
    sources, checked = read.texts("sources"), read.table["checked"]
    repeat = read.one_of("repeat", Repeat, read.table["repeat"])
    key = _key(read)
    if not kinds:
        read.fail("kinds is empty")
    if not sources or not all(source.startswith("https://") for source in sources):
        read.fail("sources must name at least one address that begins with https://")
    if type(checked) is not date:
        read.fail("checked must be a date")
    if repeat is Repeat.WITH_KEY and key is None:
        read.fail("it is safe with a key, and no key is named")
    id, probe, compensation = (read.text(name) for name in _SAID)
    return Action(
        id=id,
        kinds=kinds,
        repeat=repeat,
        reversible=read.one_of("reversible", Reversible, read.table["reversible"]),
        key=key,
        probe=probe,
        compensation=compensation,
        mails=read.flag("mails"),
        sources=sources,
        checked=checked,
        trust=read.one_of("trust", Trust, read.table["trust"]),
        minted_by_sdk=read.flag("minted_by_sdk"),
        lasting=read.flag("lasting"),
    )


def _key(read: _Table) -> Key | None:
    if "key" not in read.table:
        return None
    value = read.inner(read.table["key"], frozenset(("where", "seconds")), "where", "key must say where, and may say seconds")
    seconds = value.get("seconds")
    if seconds is not None and (type(seconds) is not int or seconds <= 0):
        read.fail("seconds of the key must be a whole number above zero")
    return Key(str(value["where"]), seconds)


def _command(read: _Table, one: object) -> CommandRule:
    if isinstance(one, str) and one:
        return CommandRule(one)
    told = read.inner(one, _COMMAND, "run", "an entry of shell is a text, or a table of run, with and without")
    return CommandRule(str(told["run"]), tuple(told.get("with", ())), tuple(told.get("without", ())))


def _use(read: _Table, one: object) -> UseRule:
    if isinstance(one, str) and one:
        return UseRule(one.lower())
    told = read.inner(one, _USE, "action", "an entry of uses is a text, or a table of action, with and without")
    given, without = (_inputs(told.get(part, {})) for part in ("with", "without"))
    return UseRule(str(told["action"]).lower(), given, without)


def _inputs(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    several = ((key, cast("list[object]", value) if isinstance(value, list) else [value]) for key, value in values.items())
    return tuple((key, str(one)) for key, ones in several for one in ones)
