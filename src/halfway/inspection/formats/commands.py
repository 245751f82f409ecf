"""The commands of one line of a timetable or a container, without what only wraps them. Nothing is executed or expanded."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.bash import read
from halfway.inspection.formats.durations import seconds
from halfway.inspection.model import OnError
from halfway.inspection.source import Unreadable

_JOINING = re.compile(r"[();&|]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh"})
_INTERPRETERS = SHELLS | {"python", "python3", "node", "php", "ruby", "perl", "deno", "bun", "java"}
_WRAPPERS = frozenset(
    {"sudo", "nice", "ionice", "time", "exec", "env", "nohup", "setsid", "chronic", "command", "tini", "dumb-init", "xargs", "--"}
)
_HARMLESS = frozenset({
    "echo", "printf", "cd", "test", "[", "true", "false", ":", "date", "sleep", "mkdir", "cat", "ls", "pwd", "export",
    "set", "grep", "sed", "awk", "sort", "head", "tail", "tee", "wait", "which", "logger",
    "source", ".", "corepack", "jq", "apk", "apt", "apt-get", "yum", "dnf", "tr", "cut", "wc", "uniq", "seq", "basename", "dirname",
    "read", "let", "expr", "exit", "return", "break", "continue", "shift", "local", "declare", "unset", "trap", "base64",
    "chown", "chmod", "umask", "du", "df", "stat", "pg_isready", "nc",
})  # fmt: skip
_FETCHERS = frozenset({"pip", "pip3", "npm", "pnpm", "yarn", "bundle", "composer", "gem"})
_AWAITING = re.compile(r"wait[-_]?for(?:[-_](?:it|db|database|postgres|mysql|redis|port|tcp|services?))?(?:\.sh)?")
_SCRIPT = re.compile(r"\.(?:sh|bash|py|rb|pl|php|js|mjs|ts|jar)$")
_INLINE = re.compile(r"-[a-zA-Z]*[ce]|--eval|--print|-p")
_REACHES_OUT = re.compile(
    r"(?i)http|socket|request|urllib|fetch|axios|system|exec|spawn|popen|process|smtp|mail|boto|sdk|client|sql|dbi|redis|mongo|require|import|open|write"
    r"|unlink|`"
)
_CONTROLS = re.compile(r"(?:^|[;&|]\s*)(?:for|while|until|if|case)\s")
_SYSTEM = re.compile(r"^/(?:usr/)?(?:local/)?s?bin/")
_DEEPEST = 4


@dataclass(frozen=True)
class Command:
    """One command, and what the line around it says."""

    words: tuple[str, ...]
    lock: str = ""  # the file of flock
    waits: bool = True  # whether it waits for the lock
    timeout: float | None = None
    quiet: bool = False  # its output goes nowhere
    swallowed: bool = False  # `|| true`
    endless: bool = False  # it is done over and over until somebody stops it

    @property
    def script(self) -> str:
        """The file of a program of its own that it starts, empty if it starts none."""
        first = self.words[0]
        if first.startswith("-"):
            return ""  # an option for the program of an image
        if first.rpartition("/")[2] in _INTERPRETERS:
            if any(_INLINE.fullmatch(word) for word in self.words[1:2] + self.words[2:][:3]):
                return ""  # its code stands in the command itself
            return next((word for word in self.words[1:] if not word.startswith("-")), "")
        if _SCRIPT.search(first) or ("/" in first and not _SYSTEM.match(first)):
            return first
        return ""

    @property
    def only_works(self) -> bool:
        """Whether its code stands in the command itself and asks nobody else for anything: `perl -e 'print 1'`."""
        if self.words[0].rpartition("/")[2] not in _INTERPRETERS - SHELLS:
            return False
        at = next((place for place, word in enumerate(self.words[1:5], 1) if _INLINE.fullmatch(word)), None)
        return at is not None and len(self.words) > at + 1 and not _REACHES_OUT.search(self.words[at + 1])

    @property
    def hidden(self) -> bool:
        """Whether only the run knows which command it is."""
        return self.words[0].startswith(("$", "`"))

    @property
    def harmless(self) -> bool:
        name, first = self.words[0].rpartition("/")[2], self.words[1:2]
        return name in _HARMLESS or (name in _FETCHERS and first in (("install",), ("ci",)))  # what a program needs is fetched


def commands(text: str) -> tuple[Command, ...]:
    """The commands of a line in their order; a line that a shell would refuse is one command of one word."""
    try:
        return tuple(_of_line(text, Command(()), 0))
    except ValueError:
        return (Command((text,)),)


def of_words(given: list[str]) -> tuple[Command, ...]:
    """The commands of a list of words that no shell splits."""
    try:
        return tuple(_unwrapped(Command(tuple(given)), 0))
    except ValueError:
        return (Command(tuple(given)),)


def _of_script(text: str, around: Command, depth: int) -> Iterator[Command]:
    """What a shell is given with -c: a line, or a whole script."""
    if "\n" not in text.strip() and not _CONTROLS.search(text) and "$(" not in text:
        yield from _of_line(text, around, depth)
        return
    try:
        script = read(text)
    except Unreadable:
        yield from _of_line(text, around, depth)
        return
    for one in script.commands:
        swallowed = around.swallowed or one.fate is OnError.SWALLOW
        endless = around.endless or any(loop.endless for loop in one.loops)
        timeout = one.wrapping.timeout or around.timeout
        yield from _unwrapped(replace(around, words=one.words, timeout=timeout, swallowed=swallowed, endless=endless), depth + 1)


def _of_line(text: str, around: Command, depth: int) -> Iterator[Command]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    parts: list[tuple[list[str], str]] = []
    current: list[str] = []
    tokens = list(lexer)
    comment = next((place for place, token in enumerate(tokens) if token.startswith("#")), len(tokens))
    for token in [*tokens[:comment], ";"]:
        if not _JOINING.fullmatch(token):
            current.append(token)
        elif current:
            parts.append((current, token))
            current = []
    for number, (given, after) in enumerate(parts):
        gives_up = after == "||" and number + 1 < len(parts) and parts[number + 1][0][0] in _HARMLESS
        one = replace(_without_redirection(given, around), swallowed=around.swallowed or gives_up)
        yield from _unwrapped(one, depth)


def _without_redirection(given: list[str], around: Command) -> Command:
    kept: list[str] = []
    quiet, skip = around.quiet, False
    for place, word in enumerate(given):
        if skip:
            quiet, skip = quiet or word == "/dev/null", False
        elif re.fullmatch(r"[<>]+&?|&>+|>\||[<>]&", word):
            if kept and kept[-1] in ("1", "2") and place:
                kept.pop()
            skip = True
        else:
            kept.append(word)
    return replace(around, words=tuple(kept), quiet=quiet)


def _unwrapped(command: Command, depth: int) -> Iterator[Command]:
    given = list(command.words)
    while given and (_ASSIGNMENT.match(given[0]) or given[0].rpartition("/")[2] in _WRAPPERS):
        given = (
            _after_options(given[1:], ("-n", "-c", "-u", "-p", "-g", "-I", "-P", "-L", "-d"))
            if given[0].rpartition("/")[2] in _WRAPPERS
            else given[1:]
        )
    if not given or depth > _DEEPEST:
        return
    name = given[0].rpartition("/")[2]
    if _AWAITING.fullmatch(name):
        # It waits for another service, and then starts what stands behind the `--`.
        yield from _unwrapped(replace(command, words=tuple(given[given.index("--") + 1 :] if "--" in given else ())), depth + 1)
    elif name == "timeout":
        rest = _after_options(given[1:], ("-k", "-s"))
        yield from _unwrapped(replace(command, words=tuple(rest[1:]), timeout=seconds(rest[0]) if rest else None), depth + 1)
    elif name == "flock":
        yield from _locked(command, given[1:], depth)
    elif name in SHELLS and any(re.fullmatch(r"-\w*c", word) for word in given[1:-1]):
        at = next(place for place, word in enumerate(given) if place and re.fullmatch(r"-\w*c", word))
        yield from _of_script(given[at + 1], replace(command, words=()), depth + 1)
    else:
        yield replace(command, words=tuple(given))


def _locked(command: Command, given: list[str], depth: int) -> Iterator[Command]:
    rest = _after_options(given, ("-w", "-E", "--timeout", "--wait"))
    options = given[: len(given) - len(rest)]
    waits = not any(word in ("--nonblock", "--nb") or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in options)
    lock, inner = (rest[0], rest[1:]) if rest else ("", [])
    around = replace(command, lock=lock, waits=waits, words=())
    if inner[:1] in (["-c"], ["--command"]):
        yield from _of_line(" ".join(inner[1:2]), around, depth + 1)
    else:
        yield from _unwrapped(replace(around, words=tuple(inner)), depth + 1)


def _after_options(given: list[str], with_value: tuple[str, ...]) -> list[str]:
    while given and (given[0].startswith("-") or _ASSIGNMENT.match(given[0])) and given[0] != "-c":
        given = given[2:] if given[0] in with_value else given[1:]
    return given
