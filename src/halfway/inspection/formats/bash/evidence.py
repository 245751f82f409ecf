"""What a script does about its effects: whether it looks first, keeps what it got, and whom it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from halfway.inspection.formats.bash.frame import Frame
from halfway.inspection.formats.bash.origin import Origins, varies
from halfway.inspection.formats.bash.script import Asked, Assignment, Command, Script
from halfway.inspection.formats.bash.words import lags, looks, related, skips_existing, without_place
from halfway.inspection.model import Effect, Kind, Mark, Receiver, Span, When

_ANSWERS = frozenset({"curl", "wget", "http", "https", "gh", "glab", "hub", "aws", "gcloud", "az", "stripe", "mail"})
_SHOWS = frozenset({"echo", "printf", "cat", "tee", "jq", "export", "gh", "curl", "mv", "cp", "logger"})
_VARIABLES = re.compile(r"\$\{?([A-Za-z_]\w*)")
_CURSOR = re.compile(r"(?i)last|cursor|since|offset|checkpoint|position|watermark|high_?water")
_CLAIM = re.compile(r"(?i)done|sent|processed|seen|marker|claimed|handled|finished")
_DONE = re.compile(
    r"(?i)succe|complete|\bdone\b|released|deployed|published|shipped|\bsent\b|finished|is (?:out|live)|now available"
    r"|✅|🎉|🚀|완료|성공|배포"
)
_FAILED = re.compile(r"(?i)fail|error|broke|❌|🚨|실패|오류")
_SECRET = re.compile(r"(?i)\b(?:secrets|vars)\.|webhook|hook|channel|\bteam\b|admin|ops")
_ALONE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_OTHERS = re.compile(r"(?i)customer|client|user")
_RECORD = re.compile(r"github\.event\b|client_payload|\binputs\.|\$\{?[1-9@]")
_RECEIVERS = (
    "--to",
    "-to",
    "--recipient",
    "--recipients",
    "--channel",
    "--destination",
    "--phone-number",
    "--email",
    "--target-arn",
    "--topic-arn",
)
_EXISTS = re.compile(r"^-[efsd]$")
_MARKER = re.compile(r"(?i)done|sent\b|processed|seen|marker|published|released|deployed|finished|stamp|\.lock\b|\.flag\b")
_REFS = re.compile(r"/git/(?:matching-)?refs?\b|/branches\b")
_REQUESTS = ("curl", "wget")
_TAKES_PART = frozenset({"jq", "yq", "grep", "sed", "awk", "head", "tail", "cut", "tr", "echo", "printf", "sort", "wc"})
_HOPS = 4  # from the variable that is asked back to the look that it was read from


def guard(command: Command, script: Script, frame: Frame, origins: Origins) -> tuple[Span | None, bool]:
    """Where a thing is looked for before it is made, and whether the look is a proof."""
    if skips_existing(command.words):
        return frame.place(command.line, command.end), True
    cleared = _cleared(command, script)
    if cleared is not None:
        return frame.place(cleared.line, cleared.end), not lags(cleared.words)
    act = without_place(command.words)
    for asked in command.asked:
        for said, line in _questions(asked, origins):
            words = without_place(said)
            if (words[0] == "marker" and not frame.passing) or (looks(words) and _about(words, act)):
                return frame.place(line, line), not lags(words)
    return frame.guard, True


def _questions(asked: Asked, origins: Origins) -> Iterator[tuple[tuple[str, ...], int]]:
    """The commands behind a condition: itself, or those that the variables of a test were read from."""
    if asked.words[0] not in ("[", "[[", "test") and not asked.words[0].startswith("["):
        yield asked.words, asked.line
        return
    if any(_EXISTS.match(word) for word in asked.words) and _MARKER.search(" ".join(asked.words)):
        yield ("marker",), asked.line
    for assignment in _read_from(_VARIABLES.findall(" ".join(asked.words)), asked.line, origins):
        for words in assignment.commands:
            yield origins.filled(words, assignment.line, assignment.known, assignment.conditions), assignment.line


def _read_from(names: Sequence[str], line: int, origins: Origins) -> Iterator[Assignment]:
    """Where values come from, also by way of others that only take a part of them."""
    left, seen = [(name, line, _HOPS) for name in names], set[tuple[str, int]]()
    while left:
        name, at, hops = left.pop(0)
        assignment = origins.assigned(name, at)
        if assignment is None or (name, assignment.line) in seen:
            continue
        seen.add((name, assignment.line))
        yield assignment
        if hops and all(words[0] in _TAKES_PART for words in assignment.commands):
            left += [(inner, assignment.line - (inner == name), hops - 1) for inner in _VARIABLES.findall(assignment.value)]


def _cleared(command: Command, script: Script) -> Command | None:
    """The look for what there is already, all of which is closed or deleted before a new one is made."""
    if command.words[0] != "gh":
        return None
    names = set(_VARIABLES.findall(" ".join(command.words)))
    for before in script.commands[: command.number]:
        takes = any(words[:2] == before.words[:2] and words[2:3] in (("close",), ("delete",)) for words in before.followers)
        same = before.words[:2] == command.words[:2] and names & set(_VARIABLES.findall(" ".join(before.words)))
        if takes and same and looks(before.words):
            return before
    return None


def _about(look: Sequence[str], act: Sequence[str]) -> bool:
    """Whether the look can be about what the action makes: a look at a pull request says nothing about a release."""
    if not related(look, act):
        return False
    if look[0] in _REQUESTS and act[0] in _REQUESTS:
        return _host(look) == _host(act) != ""
    if look[0] == "git":
        exact = look[1:2] in (("ls-remote",), ("tag",)) or any("tag" in word or "$" in word for word in look[2:])
        return exact and look[1] not in ("log", "describe", "rev-list", "diff")
    return not (look[0] == act[0] == "gh") or _noun(look) == _noun(act)


def _host(words: Sequence[str]) -> str:
    """The host of a request, or the variable that stands for its address."""
    addressed = [word for word in words[1:] if "://" in word] or words[1:]
    return next((match[1] for word in addressed if (match := re.match(r"^(?:https?://)?(\$\{?\w+|[\w.-]+\.[a-z]+)", word)) is not None), "")


def _noun(words: Sequence[str]) -> str:
    """What a command of `gh` is about; of `gh api` by its path."""
    if words[1:2] != ("api",):
        return {"pr": "pulls", "release": "releases", "issue": "issues", "run": "actions"}.get(words[1], words[1]) if len(words) > 1 else ""
    path = next((word for word in words[2:] if "/" in word and not word.startswith(("-", "Accept"))), "")
    if _REFS.search(path):
        return "refs"
    return next((noun for noun in ("pulls", "releases", "issues", "actions") if f"/{noun}" in path), path)


def kept(command: Command, script: Script, frame: Frame) -> tuple[Span, ...]:
    """Where the id that the receiver gave is kept: stored, put out, or logged."""
    if command.words[0].rsplit("/", 1)[-1] not in _ANSWERS:
        return ()
    files = [*command.writes, *_outputs(command.words)]
    if "/dev/null" in files:
        return ()
    if any("GITHUB_" in file for file in files):
        return (frame.place(command.line, command.end),)
    if files and not frame.passing and not any(file.startswith(("/tmp", "$(mktemp")) for file in files) and not command.into:
        return (frame.place(command.line, command.end),)
    names = [rf"\$\{{?{re.escape(command.into)}\b"] if command.into else [re.escape(file.strip("@")) for file in files]
    if names:
        return tuple(_shown(names, command, script, frame))
    hidden = any(words[:2] in (("grep", "-q"), ("wc", "-l")) for words in command.followers)
    return () if hidden else (frame.place(command.line, command.end),)


def _outputs(words: Sequence[str]) -> list[str]:
    return [words[place + 1] for place, word in enumerate(words[:-1]) if word in ("-o", "--output", "-O", "--output-document")]


def _shown(names: list[str], command: Command, script: Script, frame: Frame) -> Iterator[Span]:
    """Later commands that put it out; one variable made of it is followed."""
    for assignment in script.assignments:
        if assignment.line > command.line and any(re.search(name, assignment.value) for name in names):
            names = [*names, rf"\$\{{?{re.escape(assignment.name)}\b"]
    for later in script.commands:
        text = " ".join((*later.words, later.input))
        shows = later.words[0] in _SHOWS and not later.into and later is not command and later.line >= command.line
        if shows and any(re.search(name, text) for name in names):
            yield frame.place(later.line, later.end)


def told(effect: Effect, command: Command, origins: Origins) -> Receiver:
    """Who is told by a command: from the event or from records, or a literal address."""
    if Kind.NOTIFY not in effect.kinds or effect.receiver is not Receiver.UNKNOWN:
        return effect.receiver
    words = command.words
    to = [words[place + 1] for place, word in enumerate(words[:-1]) if word in _RECEIVERS]
    if words[0].rsplit("/", 1)[-1] in ("mail", "mailx", "mutt", "sendmail"):
        to = [words[-1]]
        if _is_setting(to[0], command, origins):
            return Receiver.TEAM
    elif not to:
        to = [
            word for word in words[1:] if re.match(r"^https?://|^\$\{?\w*(?:HOOK|URL)\w*\}?$|^\$\{\{[^}]*(?:hook|url)", word, re.IGNORECASE)
        ][:1]
        return receiver(to[0]) if to and not _plain_address(to[0]) else Receiver.UNKNOWN
    return receiver(" ".join(to)) if to and not _from_loop(to, command, origins) else Receiver.CUSTOMER if to else Receiver.UNKNOWN


def _is_setting(word: str, command: Command, origins: Origins) -> bool:
    """Whether one message goes to a variable that nothing in the script sets: the same for all runs, and so of whoever runs it."""
    match = _ALONE.fullmatch(word)
    name = match[1] if match is not None and not command.loops else ""
    return name.isupper() and not _OTHERS.search(name) and origins.assigned(name, command.line) is None and origins.outside(name) is None


def _plain_address(url: str) -> bool:
    """An address that is written out says whom it reaches only where it is a hook."""
    return not varies(url) and "hook" not in url.lower()


def _from_loop(to: list[str], command: Command, origins: Origins) -> bool:
    names = [name for word in to for name in _VARIABLES.findall(word)]
    return any((found := origins.assigned(name, command.line)) is not None and found.looped for name in names)


def receiver(expression: str) -> Receiver:
    """Who is meant by the expression of a receiver."""
    if _RECORD.search(expression):
        return Receiver.CUSTOMER
    if not varies(expression) or _SECRET.search(expression):
        return Receiver.TEAM
    return Receiver.UNKNOWN


def notice(kinds: frozenset[Kind], text: str, when: When) -> frozenset[Mark]:
    """Whether a notice tells of a success or of a failure."""
    if Kind.NOTIFY not in kinds:
        return frozenset()
    if when is When.ERROR or (_FAILED.search(text) and not _DONE.search(text)):
        return frozenset({Mark.FAILURE_NOTICE})
    return frozenset({Mark.SUCCESS_NOTICE}) if _DONE.search(text) else frozenset()


def written_down(command: Command) -> Mark | None:
    """Whether a command writes down how far it is, or that something is done."""
    files = [file for file in command.writes if not file.startswith(("/dev/", "&")) and "GITHUB_" not in file]
    if command.words[0] == "touch":
        files += command.words[1:]
    elif command.words[0] not in ("echo", "printf", "date", "cp", "mv", "tee", "git", "jq"):
        return None
    elif command.words[0] in ("tee", "mv", "cp"):
        files += command.words[-1:]
    name = " ".join(file.rsplit("/", 1)[-1] for file in files)
    return Mark.CURSOR if _CURSOR.search(name) else Mark.CLAIM if _CLAIM.search(name) else None
