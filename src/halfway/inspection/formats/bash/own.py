"""What a script has made for itself on this machine: a folder that is made anew by each run, a working copy of what is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.inspection.formats.bash.programs import plain
from halfway.inspection.formats.bash.script import Command, Script

_KEPT = frozenset({"--mirror", "--bare"})  # a copy that is made to be kept
_PASSING = ("/tmp/", "/var/tmp/", "$TMPDIR/", "$RUNNER_TEMP/")


def clears_own(command: Command, script: Script) -> bool:
    """Whether nothing is removed but what the script itself has made for the time being: a temporary folder, a clone in one."""
    targets = _removed(command, script)
    if not targets:
        return False
    temporary, cloned = {*_temporary(script)}, {*_clones(script)}
    return all(_is_within(written, temporary) or (written in cloned and plain(filled).startswith(_PASSING)) for written, filled in targets)


def clears_clone(command: Command, script: Script) -> bool:
    """Whether only places are removed that the script itself clones into: what was there is where it came from."""
    targets = _removed(command, script)
    cloned = {*_clones(script)} if targets else set[str]()
    return bool(targets) and all(written in cloned for written, _ in targets)


def _removed(command: Command, script: Script) -> list[tuple[str, str]]:
    """What is removed, as it is written, by which the same place is known again, and with its variables filled in."""
    words = script.commands[command.number].words
    if words[0].rsplit("/", 1)[-1] not in ("rm", "rmdir") or len(words) != len(command.words):
        return []
    pairs = zip(words[1:], command.words[1:], strict=True)
    return [(plain(written), filled) for written, filled in pairs if not written.startswith("-")]


def _is_within(target: str, places: set[str]) -> bool:
    return any(target == one or target.startswith(f"{one}/") for one in places)


def _clones(script: Script) -> Iterator[str]:
    """Where the script clones into."""
    for one in script.commands:
        given = [word for word in one.words[2:] if not word.startswith("-")]
        if one.words[:2] == ("git", "clone") and len(given) > 1 and _KEPT.isdisjoint(one.words):
            yield plain(given[-1])


def _temporary(script: Script) -> Iterator[str]:
    """The names that never hold anything but a new temporary file or folder."""
    for name in {one.name for one in script.assignments}:
        values = [one for one in script.assignments if one.name == name and one.value]
        if values and all(any(words[0] == "mktemp" for words in one.commands) for one in values):
            yield f"${name}"
