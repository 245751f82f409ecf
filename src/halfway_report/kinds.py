"""Which files are work that somebody wrote, and which only come along with it. Pure; judges a file by its path."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from halfway_report.models import Kind

_LOCK_FILES = frozenset({
    "bun.lock", "bun.lockb", "cargo.lock", "composer.lock", "conan.lock", "deno.lock", "flake.lock", "gemfile.lock", "go.sum",
    "gradle.lockfile", "mix.lock", "npm-shrinkwrap.json", "package-lock.json", "package.resolved", "packages.lock.json", "pdm.lock",
    "pipfile.lock", "pixi.lock", "pnpm-lock.yaml", "podfile.lock", "poetry.lock", "pubspec.lock", "uv.lock", "yarn.lock",
})  # fmt: skip
_MINIFIED = re.compile(r"[.-]min\.(?:js|mjs|cjs|css|html|svg)$|\.(?:js|mjs|cjs|css)\.map$|\.bundle\.js$")
_VENDORED = re.compile(r"(?:^|/)(?:vendor|vendored|_vendor|node_modules|third[_-]?party|bower_components|jspm_packages)/")
_GENERATED = re.compile(
    r"(?:\.pb\.(?:go|cc|h)|_pb2(?:_grpc)?\.pyi?|\.(?:g|freezed)\.dart|\.(?:generated|gen|designer|g)\.[a-z]+|_generated\.[a-z]+|\.snap)$"
)


# The paths and the patterns are those of a stranger: matching them may not become a riddle.
_MOST_RULES = 200
_MOST_WILDCARDS = 2
_LONGEST_PATH = 400


class Rule(NamedTuple):
    """What the files whose paths match are; an empty kind says that they are work after all."""

    path: re.Pattern[str]
    kind: Kind


def kind_of(path: str, rules: Sequence[Rule] = ()) -> Kind:
    """What a file is; the last rule that matches decides, as in Git, and the usual names where none does."""
    for rule in reversed(rules if len(path) <= _LONGEST_PATH else ()):
        if rule.path.search(path):
            return rule.kind
    lower = path.lower()
    if lower.rpartition("/")[2] in _LOCK_FILES:
        return "lock file"
    if _MINIFIED.search(lower):
        return "minified"
    if _VENDORED.search(lower):
        return "vendored"
    return "generated" if _GENERATED.search(lower) else ""


def unwanted(patterns: Sequence[str]) -> list[Rule]:
    """Rules from the settings."""
    return [Rule(_glob(pattern), "unwanted") for pattern in patterns]


def marked(attributes: str, refuse: Callable[[str], None] = lambda pattern: None) -> list[Rule]:
    """The rules of a .gitattributes file that say linguist-generated or linguist-vendored; all else in it is not our matter.

    refuse: is told of each pattern that is none.
    """
    rules: list[Rule] = []
    for line in attributes.splitlines():
        pattern, *names = line.split() or ("#",)
        if pattern.startswith(("#", "!", '"', "[")):
            continue  # a comment, what git refuses too, and quoted or macro lines, which mark no file in practice
        if len(pattern) > _LONGEST_PATH or len(re.findall(r"\*+", pattern)) > _MOST_WILDCARDS:
            continue
        for name in names:
            word, _, value = name.lstrip("-!").partition("=")
            kind = _MARKS.get(word)
            if kind is None:
                continue
            off = name.startswith(("-", "!")) or value == "false"
            try:
                rules.append(Rule(_glob(pattern), "" if off else kind))
            except re.error:
                refuse(pattern)
    return rules[-_MOST_RULES:]


_MARKS: dict[str, Kind] = {"linguist-generated": "generated", "linguist-vendored": "vendored"}


def _glob(pattern: str) -> re.Pattern[str]:
    """A pattern of .gitignore as an expression: without a slash it fits a name at any depth, and a directory fits all below it."""
    anchored = "/" in pattern.rstrip("/")
    body = "".join(_piece(piece) for piece in re.findall(r"\*\*/|/\*\*$|\*+|\?|\[[^\]]+\]|[^*?\[/]+|/|.", pattern.strip("/"), re.DOTALL))
    return re.compile(f"{'^' if anchored else '(?:^|/)'}{body}(?:/|$)", re.DOTALL)


def _piece(piece: str) -> str:
    if piece == "**/":
        return "(?:[^/]+/)*"
    if piece == "/**":
        return "/.+"
    if piece[0] == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if len(piece) > 1 and piece[0] == "[":
        inside = re.sub(r"[\\\[&~|]", r"\\\g<0>", piece[1:-1])
        return f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
    return re.escape(piece)
