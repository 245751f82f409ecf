"""Finds what a command of a shell does: who really runs behind `sudo` and `npx`, which subcommand, and which flags make it harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from halfway.inspection.knowledge.rows import CommandRule, Row

_SETS = re.compile(r"^[A-Za-z_]\w*\+?=")
_RUN_DRY = re.compile(r"^--?(?:dry-?run)(?:=(?!none$|false$).*)?$|^--help$")
_SOME = "..."
_CLUSTERING = frozenset(("curl", "wget", "psql", "mysql"))
_CLUSTER = re.compile(r"^-[A-Za-z]{2,}$")


@dataclass(frozen=True)
class Command:
    """A command without those who only start it; its flags apart from its words."""

    words: tuple[str, ...]  # the program, by its own name, and what is no option
    flags: tuple[str, ...]
    all: tuple[str, ...]  # as it stands, the program first


class Commands:
    """The rows by the words of a command; the rule that says more is preferred."""

    def __init__(self, rows: Iterable[Row], table: Mapping[str, Any]) -> None:
        self._starters: Mapping[str, Mapping[str, Any]] = table["starters"]
        self._valued: Mapping[str, frozenset[str]] = {name: frozenset(options) for name, options in table["valued"].items()}
        found: dict[str, list[tuple[int, CommandRule, tuple[str, ...], str]]] = {}
        for row in rows:
            for rule in row.shell:
                words = tuple(rule.run.split())
                weight = 10 * len(words) + 5 * bool(rule.given) + (0 if "*" in rule.run else 1)
                for program in words[0].split("|"):
                    found.setdefault(program, []).append((-weight, rule, words[1:], row.action.id))
        self._rules = {program: sorted(rules, key=lambda rule: (rule[0], rule[3])) for program, rules in found.items()}

    def plain(self, words: Sequence[str]) -> Command | None:
        """The command that really runs; None if it is not written there."""
        rest = list(words)
        for _ in range(10):
            while rest and _SETS.match(rest[0]):
                rest.pop(0)
            skipped = self._starter(rest)
            if not skipped:
                break
            rest = rest[skipped:]
        if not rest or not rest[0] or rest[0][0] in "$-":
            return None
        program = rest[0].replace("\\", "/").rsplit("/", 1)[-1]
        found, flags = self._apart(program, rest[1:])
        return Command((program, *found), flags, (program, *rest[1:]))

    def find(self, command: Command) -> tuple[str, str] | None:
        """The id of the row of a command, and what was recognised."""
        for _, rule, pattern, id in self._rules.get(command.words[0], ()):
            matched = _match(pattern, command.words[1:])
            if matched is None or any(has_flag(command, flag) for flag in rule.without):
                continue
            decides = [flag for flag in rule.given if has_flag(command, flag)]
            if rule.given and not decides:
                continue
            return id, " ".join((command.words[0], *matched, *decides[:1]))
        return None

    def _starter(self, words: Sequence[str]) -> int:
        """How many words only start the command that follows; 0 if the first one is the command."""
        if len(words) < 2:
            return 0
        first = words[0].rsplit("/", 1)[-1]
        name = next((one for one in (f"{first} {words[1]}", first) if one in self._starters), "")
        if not name:
            return 0
        told = self._starters[name]
        at, left = name.count(" ") + 1, int(told.get("words", 0))
        while at < len(words):
            word = words[at]
            if word == "--":
                return at + 1
            if word.startswith("-"):
                at += 2 if word in told.get("valued", ()) else 1
            elif _SETS.match(word):
                at += 1
            elif left:
                left, at = left - 1, at + 1
            else:
                break
        return at if at < len(words) else 0

    def _apart(self, program: str, words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        valued = self._valued.get(program, frozenset())
        found: list[str] = []
        flags: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                found += rest
            elif word.startswith("-") and len(word) > 1:
                flags.append(word)
                if word in valued or (program in _CLUSTERING and _ends_in(word, valued)):
                    next(rest, None)
            else:
                found.append(word)
        return tuple(found), tuple(flags)


def only_tries(command: Command) -> bool:
    """Whether a flag makes the command harmless, whatever it is: `--dry-run`, `--help`."""
    return any(_RUN_DRY.match(flag) for flag in command.flags)


def fetches(command: Command) -> bool:
    """Whether a copy between machines ends on this one: `rsync host:/tmp/repo /tmp`."""
    if command.words[0] not in ("rsync", "scp") or len(command.words) < 3 or has_flag(command, "--remove-source-files"):
        return False
    *sources, target = command.words[1:]
    return ":" not in target and "$" not in target and any(":" in one for one in sources)


def _ends_in(word: str, valued: frozenset[str]) -> bool:
    """Whether the last of several letters, as in `-sSfX`, takes the next word."""
    return _CLUSTER.match(word) is not None and not any(f"-{letter}" in valued for letter in word[1:-1]) and f"-{word[-1]}" in valued


def has_flag(command: Command, flag: str) -> bool:
    """Whether a flag is there: by itself, with a value behind a `=`, or one letter among others."""
    if not flag.startswith("-"):
        return any(fnmatchcase(word, flag) for word in command.all[1:])
    letter = flag[1:] if len(flag) == 2 else ""
    return any(
        given == flag or given.startswith(f"{flag}=") or (letter and letter in given and re.fullmatch(r"-[A-Za-z]+", given) is not None)
        for given in command.flags
    )


def values(command: Command, *names: str) -> list[str]:
    """All that an option is given: behind a space, behind a `=`, or right behind its letter."""
    found: list[str] = []
    program = command.words[0]
    for at, word in enumerate(command.all):
        for name in names:
            if at + 1 < len(command.all) and (word == name or (program in _CLUSTERING and _ends_in(word, frozenset((name,))))):
                found.append(command.all[at + 1])
            elif name.startswith("--") and word.startswith(f"{name}="):
                found.append(word[len(name) + 1 :])
            elif len(name) == 2 and word.startswith(name) and len(word) > 2:
                found.append(word[2:])
    return found


def _match(pattern: Sequence[str], words: Sequence[str]) -> list[str] | None:
    """The words that fit; `...` stands for any number of others, `a|b` for one of them, `*` for anything, which is not told."""
    if not pattern:
        return []
    if pattern[0] == _SOME:
        for start in range(len(words)):
            rest = _match(pattern[1:], words[start:])
            if rest is not None:
                return rest
        return None
    if not words or not any(fnmatchcase(words[0], one) for one in pattern[0].split("|")):
        return None
    rest = _match(pattern[1:], words[1:])
    return None if rest is None else [*(words[:1] if pattern[0] != "*" else ()), *rest]
