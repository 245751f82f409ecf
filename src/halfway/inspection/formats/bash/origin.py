"""Where a value of a script comes from, followed over a few assignments: what identity a repeat would carry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from halfway.inspection.formats.bash.script import Assignment
from halfway.inspection.model import Bearing, Span
from halfway.inspection.source import expressions, replaced

HOPS = 8  # assignments of one script; outputs of other steps are counted apart
LONGEST = 2_000
_NEWEST = re.compile(
    r"git (?:(?!exact)[^|;]){0,200}?\b(?:tag|rev-list|ls-remote)\b(?![^|;]{0,200}exact-match)"
    r"|git (?:(?!exact)[^|;]){0,200}?\bdescribe\b(?=[^|;]{0,200}--abbrev[= ]0\b)"
    r"|gh (?:release|run) (?:list|view)"
    r"|releases/latest|gh api \S*/(?:releases|tags)\b"
    r"|(?:npm|pnpm|yarn) (?:view|info|show)|pip3? index|\bmax\(|\btail -n?\s*1\b|\bsort -[rV]*V|\bls -t|crane ls|/latest\b"
)
_FROM_COMMIT = re.compile(r"git (?:rev-parse|log|show|hash-object)\b|gh (?:pr|issue) (?:list|view)\b")  # or looked up by what is given
_NEW = re.compile(
    r"\bdate\b(?!\s+-d)|\$\{?(?:RANDOM|SECONDS|EPOCHSECONDS|EPOCHREALTIME|BASHPID|SRANDOM"
    r"|GITHUB_RUN_ATTEMPT)\b|\$\$(?!\()|uuid|\bmktemp\b|openssl rand"
    r"|/dev/u?random|\bshuf\b|\bnanoid\b|time\.time"
)
_FROM_FILE = re.compile(
    r"\b(?:cat|jq|yq|grep|sed|awk|head|cut|node|python3?|poetry version|hatch version|cargo (?:metadata"
    r"|pkgid)|npm pkg get|toml|xmllint|mvn|gradle|basename"
    r"|sha\d+sum|md5sum)\b"
)
_ADDRESS = re.compile(r"https?://[\w.-]+(?=[:/])")
_COMMAND = re.compile(r"[\w./-]+ [\w./-]+")
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_NAMES = re.compile(r"\$\{[#!]?([A-Za-z_]\w*)|\$([A-Za-z_]\w*)|\$\{?([1-9@*])")
_ARITHMETIC = re.compile(r"\$\(\((.*?)\)\)", re.DOTALL)
_FIXED = frozenset({
    "HOME", "USER", "PWD", "PATH", "SHELL", "HOSTNAME", "LANG", "TMPDIR", "CI", "GITHUB_REPOSITORY", "GITHUB_REPOSITORY_OWNER",
    "GITHUB_WORKSPACE", "GITHUB_ACTOR", "GITHUB_WORKFLOW", "GITHUB_JOB", "GITHUB_SERVER_URL", "GITHUB_API_URL", "RUNNER_OS",
    "RUNNER_TEMP", "RUNNER_ARCH", "GITHUB_TOKEN", "GH_TOKEN",
})  # fmt: skip
_RUN = frozenset({"GITHUB_RUN_ID", "GITHUB_RUN_NUMBER", "GITHUB_SHA", "GITHUB_EVENT_PATH"})
_REF = frozenset({"GITHUB_REF", "GITHUB_REF_NAME", "GITHUB_HEAD_REF", "GITHUB_BASE_REF"})
_WORST = (Bearing.MINTED, Bearing.MUTABLE, Bearing.UNKNOWN, Bearing.STABLE, Bearing.NATURAL, Bearing.NONE)


@dataclass(frozen=True)
class Origin:
    """What identity a value carries, and where it is made."""

    bearing: Bearing
    span: Span | None = None


def worst(origins: Sequence[Origin]) -> Origin:
    """What is left of an identity that is made of several parts; of nothing: the thing itself."""
    return min(origins, key=lambda origin: _WORST.index(origin.bearing), default=Origin(Bearing.NATURAL))


def varies(text: str) -> bool:
    """Whether there is anything in the text that is not written out."""
    return bool(_NAMES.search(text)) or any(sign in text for sign in ("$(", "${{", "`", "$$"))


@dataclass(frozen=True)
class Origins:
    """Finds the origin of the values of one script."""

    assignments: tuple[Assignment, ...]
    place: Callable[[int, int], Span]
    outside: Callable[[str], Origin | None]  # of a variable that the script does not set
    expression: Callable[[str], Origin]  # of what stands in `${{ }}`
    _known: dict[tuple[str, int, int], Origin] = field(default_factory=dict[tuple[str, int, int], Origin], compare=False)

    def of(self, text: str, line: int, hops: int = HOPS) -> Origin:
        """What identity a text with variables carries, where it stands in a line."""
        return worst(list(self._parts(text[:LONGEST], line, hops)))

    def assigned(self, name: str, line: int) -> Assignment | None:
        """The last value that a name gets before a line."""
        before = [one for one in self.assignments if one.name == name and one.line <= line]
        return before[-1] if before else None

    def literal(self, name: str, line: int, known: int | None = None, conditions: tuple[str, ...] = ()) -> str:
        """The value of a name where it is written out, or an address of which the host is; known are the assignments done so far.

        What was set under conditions counts where the same conditions hold.
        """
        before = [one for one in self.assignments[:known] if one.name == name and one.line <= line]
        # A function that is called again sets its names in the same line again.
        if len({one.line for one in before}) != 1 or before[-1].looped:
            return ""
        if before[-1].perhaps and not _holds(before[-1], conditions):
            return ""
        return before[-1].value if not varies(before[-1].value) or _ADDRESS.match(before[-1].value) else ""

    def either(self, name: str, line: int) -> tuple[str, ...]:
        """All values that a name may have got before a line, where each of them is written out."""
        before = [one for one in self.assignments if one.name == name and one.line <= line]
        return () if any(one.looped or one.commands or varies(one.value) for one in before) else tuple(one.value for one in before)

    def filled(self, words: Sequence[str], line: int, known: int | None, conditions: tuple[str, ...]) -> tuple[str, ...]:
        """The words of a command with the values that are written out."""
        return tuple(
            VARIABLE.sub(lambda found: self.literal(found[1] or found[2], line, known, conditions) or found[0], one) for one in words
        )

    def program(self, name: str, line: int, conditions: tuple[str, ...] = ()) -> str:
        """The command that a name stands for, where what is added to it later are only options."""
        before = [one for one in self.assignments if one.name == name and one.line <= line]
        own = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
        first = next((one for one in reversed(before) if not own.match(one.value)), None)
        if first is None or any(one.looped for one in before) or not _COMMAND.match(first.value):
            return ""
        return first.value if not first.perhaps or _holds(first, conditions) else ""

    def _parts(self, text: str, line: int, hops: int) -> Iterator[Origin]:
        for expression in expressions(text):
            yield self.expression(expression.strip())
        rest = replaced(text, lambda _: "")
        direct = _of_command(rest) if "$(" in rest or "`" in rest or (_NEW.search(rest) and varies(rest)) else None
        if direct is not None:
            yield Origin(direct)
        if direct in (Bearing.MINTED, Bearing.MUTABLE):
            return
        names = _names(rest)
        if direct is None and not names and "$(" in _ARITHMETIC.sub("", rest):
            yield Origin(Bearing.UNKNOWN)
        for name in names:
            yield self._name(name, line, hops)

    def _name(self, name: str, line: int, hops: int) -> Origin:
        if name[0] in "123456789@*" or name in _RUN:
            return Origin(Bearing.STABLE)
        if name in _REF or name in _FIXED:
            return Origin(Bearing.NATURAL)
        asked = (name, line, hops)
        if asked not in self._known:
            self._known[asked] = Origin(Bearing.UNKNOWN)  # what asks for itself in a circle
            self._known[asked] = self._set_before(name, line, hops)
        return self._known[asked]

    def _set_before(self, name: str, line: int, hops: int) -> Origin:
        """The last value, and those before it that a condition may have left."""
        before = [one for one in self.assignments if one.name == name and one.line <= line]
        if not before:
            return self.outside(name) or Origin(Bearing.UNKNOWN)
        certain = next((place for place in reversed(range(len(before))) if not before[place].perhaps), None)
        found = [self._value(name, one, hops) for one in before[certain or 0 :]]
        other = self.outside(name) if certain is None else None
        return worst(found if other is None else [*found, other])

    def _value(self, name: str, assignment: Assignment, hops: int) -> Origin:
        if assignment.looped:
            return Origin(Bearing.NATURAL)
        if hops == 0:
            return Origin(Bearing.UNKNOWN)
        # A name in its own value means what it was before: `V=${V#v}`.
        itself = re.search(rf"\b{re.escape(name)}\b", assignment.value) is not None
        found = self.of(assignment.value, assignment.line - 1 if itself else assignment.line, hops - 1)
        return found if found.span is not None else replace(found, span=self.place(assignment.line, assignment.line))


def _holds(assignment: Assignment, conditions: tuple[str, ...]) -> bool:
    """Whether what was set under conditions is so wherever these others hold."""
    under = assignment.conditions
    return bool(under) and under == conditions[: len(under)]


def _names(text: str) -> list[str]:
    found = [next(part for part in match if part) for match in _NAMES.findall(text)]
    inner = [name for part in _ARITHMETIC.findall(text) for name in re.findall(r"(?<![\w$])[A-Za-z_]\w*", part)]
    return list(dict.fromkeys(found + inner))


def _of_command(text: str) -> Bearing | None:
    """Of the output of commands, by what they ask."""
    for pattern, bearing in ((_NEW, Bearing.MINTED), (_NEWEST, Bearing.MUTABLE), (_FROM_COMMIT, Bearing.STABLE)):
        if pattern.search(text):
            return bearing
    return Bearing.NATURAL if _FROM_FILE.search(text) and not _NAMES.search(text) else None
