"""Reads a file of suppressions, and refuses whatever is not said completely. Pure; the text and today are given."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NoReturn, cast

from halfway.errors import InvalidInput
from halfway.inspection.quoting import quoted, shown_path
from halfway.inspection.suppressing import NEVER, Suppression, absolute

FILE_NAME = ".halfway-inspect.toml"
TABLE = "suppress"
KEYS = ("rule", "file", "at", "reason", "owner", "expires")
REQUIRED = ("rule", "file", "reason", "owner", "expires")
MOST = 1_000
LONGEST_TEXT = 500
LONGEST_FILE = 2**18  # characters
_DOTS = re.compile(r"(?<![\w-])(?:[\w-]+\s*\.\s*){20}")  # of one key; the time and the room that its parser takes grow with their square
LONGEST_TIME = timedelta(days=366)  # what is accepted is looked at again at least once a year
LINES = ("line", "lines", "line_number", "lineno", "row")
_LINE = re.compile(r"^(?:L|line\s*)?\d+$", re.IGNORECASE)


@dataclass(frozen=True)
class _File:
    """What is known of the file that is read."""

    source: str  # as it is shown
    folder: str  # from which the files that it names are found
    rules: Collection[str]
    today: date


def parse(text: str, *, source: str, folder: str, rules: Collection[str], today: date) -> tuple[Suppression, ...]:
    """The suppressions of a file; the files that they name are found from its folder."""
    file = _File(source, folder, rules, today)
    if len(text) > LONGEST_FILE or _DOTS.search(text):
        _refuse(file, problem="it is larger than 256 KiB, or a key of it has too many parts.", remedy="Mend what it is about.")
    try:
        told = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        problem = f"it is no TOML: {quoted(str(error)) or type(error).__name__}."
        raise InvalidInput("CONFIG_INVALID", source=source, problem=problem, remedy="Correct the line that is named.") from error
    found: dict[tuple[str, str, str], Suppression] = {}
    for number, entry in enumerate(_entries(told, file), 1):
        one = _suppression(entry, number, file)
        first = found.setdefault((one.rule, one.file, one.at), one)
        if first is not one:
            _refuse(file, problem=f"entries {first.number} and {number} are about the same.", remedy="Leave one of them.")
    return tuple(found.values())


def _entries(told: Mapping[str, Any], file: _File) -> list[dict[str, Any]]:
    for key in told:
        if key != TABLE:
            _refuse(file, problem=f"there is no key {quoted(key, 40)}.", remedy="Begin each suppression with a line [[suppress]].")
    entries: object = told.get(TABLE, [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in cast("list[object]", entries)):
        _refuse(file, problem="suppress is no list of tables.", remedy="Begin each suppression with a line [[suppress]].")
    listed = cast("list[dict[str, Any]]", entries)
    if len(listed) > MOST:
        _refuse(file, problem=f"it has more than {MOST} suppressions.", remedy="Mend what they are about.")
    return listed


def _suppression(entry: Mapping[str, Any], number: int, file: _File) -> Suppression:
    _check_keys(entry, number, file)
    texts = {key: _text(entry[key], key, number, file) for key in KEYS if key != "expires" and key in entry}
    at, owner = texts.get("at", ""), texts["owner"]
    _check_rule(texts["rule"], number, file)
    _check_place(texts["file"], at, number, file)
    if quoted(owner, LONGEST_TEXT) != owner:
        _refuse(file, problem=f"the owner of entry {number} holds personal data or a secret.", remedy="Name a role, a team or a handle.")
    return Suppression(
        rule=texts["rule"], file=absolute(texts["file"], file.folder), at=at, reason=quoted(texts["reason"], LONGEST_TEXT), owner=owner,
        expires=_expiry(entry["expires"], number, file), shown=shown_path(texts["file"]), source=file.source, number=number,
    )  # fmt: skip


def _check_keys(entry: Mapping[str, Any], number: int, file: _File) -> None:
    for key in entry:
        if key in LINES:
            _refuse(
                file, problem=f"entry {number} has an unknown key {quoted(key, 40)}.",
                remedy="Lines move: name the step with at, by its id or the path of keys.",
            )  # fmt: skip
        if key not in KEYS:
            near = [f"{one} = …" for one in difflib.get_close_matches(key.lower(), KEYS, n=1, cutoff=0.5)]
            remedy = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(KEYS)}."
            _refuse(file, problem=f"entry {number} has an unknown key {quoted(key, 40)}.", remedy=remedy)
    for key in REQUIRED:
        if key not in entry:
            remedy = "Each one needs rule, file, reason, owner and expires, and at unless it is about the flow as a whole."
            _refuse(file, problem=f"entry {number} has no {key}.", remedy=remedy)


def _text(value: object, key: str, number: int, file: _File) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT or not value.isprintable():
        problem = f"{key} of entry {number} is no text of 1 to {LONGEST_TEXT} characters."
        _refuse(file, problem=problem, remedy="Write it in one line, in quotation marks.")
    return value.strip()


def _check_rule(rule: str, number: int, file: _File) -> None:
    if rule in NEVER:
        problem = f"{rule} of entry {number} cannot be suppressed: it is about what a log shows, or what was not read."
        _refuse(file, problem=problem, remedy="Settle what the log shows, or give the missing part to the inspection.")
    if rule not in file.rules:
        near = difflib.get_close_matches(rule.upper(), file.rules, n=1)
        remedy = f"Did you mean {near[0]}?" if near else "Name one rule, as the card does: R-09."
        _refuse(file, problem=f"entry {number} names a rule that is not known, {quoted(rule, 40)}.", remedy=remedy)


def _check_place(path: str, at: str, number: int, file: _File) -> None:
    if any(sign in path for sign in "*?"):
        _refuse(file, problem=f"file of entry {number} is a pattern.", remedy="Name one file; each suppression is about one place.")
    if _LINE.match(at) or re.search(r":\d+$", path):
        remedy = "Name the step by its id, or the path of keys that the card shows in parentheses."
        _refuse(file, problem=f"entry {number} names a line, and lines move.", remedy=remedy)


def _expiry(value: object, number: int, file: _File) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        _refuse(file, problem=f"expires of entry {number} is no date.", remedy="Write a date without quotation marks: 2027-03-31.")
    if value - file.today > LONGEST_TIME:
        _refuse(file, problem=f"expires of entry {number} is more than a year away.", remedy="Choose a day within a year.")
    return value


def _refuse(file: _File, *, problem: str, remedy: str) -> NoReturn:
    raise InvalidInput("CONFIG_INVALID", source=file.source, problem=problem, remedy=remedy)
