"""What programs in front of a command make of it, as `sudo`, `timeout 30`, `xargs` and `bash -c`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from halfway.inspection.formats.bash.script import Wrapping
from halfway.inspection.source import whole

_PLAIN = {"sudo", "env", "time", "command", "exec", "nohup", "nice", "ionice", "stdbuf", "builtin", "doas", "chronic"}
_RETRYING = {"retry", "retry.sh", "with_retry", "with-retry"}
# What runs a command in the surroundings of a project.
_RUN_WITHIN = {"pipenv": "run", "conda": "run", "mamba": "run", "micromamba": "run", "pdm": "run", "hatch": "run", "rye": "run"}
# Options of `docker run` that take the next word.
_OF_CONTAINERS = frozenset({
    "-v", "--volume", "-e", "--env", "--env-file", "-p", "--publish", "-w", "--workdir", "-u", "--user", "-h", "--hostname", "-l",
    "--label", "-m", "--memory", "--name", "--network", "--net", "--entrypoint", "--mount", "--platform", "--cpus", "--gpus",
    "--add-host", "--restart", "--log-driver", "--pull", "--shm-size", "--cap-add", "--device", "--dns", "--ulimit", "--tmpfs",
    "--volumes-from", "--ip", "--pid",
})  # fmt: skip
_CONTAINERS = frozenset({"docker", "podman"})
# What goes outside also from within a container, which the machine that starts it cannot take back.
_FROM_CONTAINERS = frozenset({"curl", "wget", "aws", "gcloud", "az", "gh", "kubectl", "helm"})
_TAKES_VALUE = {
    "conda": {"-n", "--name", "-p", "--prefix"},
    "mamba": {"-n", "--name", "-p", "--prefix"},
    "micromamba": {"-n", "--name", "-p", "--prefix"},
    "sudo": {"-u", "-g", "-h", "-p", "-C", "-T"},
    "doas": {"-u", "-C"},
    "env": {"-u", "-C"},
    "nice": {"-n"},
    "ionice": {"-c", "-n", "-p"},
    "stdbuf": {"-i", "-o", "-e"},
    "timeout": {"-s", "-k"},
    "flock": {"-w", "-E"},
    "xargs": {"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"},
    "parallel": {"-j", "-a", "-n"},
}
_SHELLS = {"bash", "sh", "zsh", "dash", "su", "runuser"}
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_ASSIGNS = re.compile(r"^[A-Za-z_]\w*=")


def unwrapped(words: Sequence[str]) -> tuple[tuple[str, ...], Wrapping, str | None]:
    """The command itself, what was in front of it, and the text if it is a script of its own."""
    rest, wrapping = list(words), Wrapping()
    for _ in range(8):
        name = rest[0].rsplit("/", 1)[-1] if rest else ""
        taken, wrapping = _taken(name, rest, wrapping)
        if taken == 0 or taken >= len(rest):
            break
        rest = rest[taken:]
        if name in _CONTAINERS:
            rest[0] = _program(rest[0])
    return tuple(rest), wrapping, _script(rest)


def _taken(name: str, words: list[str], wrapping: Wrapping) -> tuple[int, Wrapping]:
    """How many words are only wrapping."""
    if name == "command" and words[1:2] in (["-v"], ["-V"]):
        return 0, wrapping  # it only asks where a program is
    if name in _PLAIN:
        return _options(words, 1, assigns=True), wrapping
    if name == "timeout":
        at = _options(words, 1)
        return at + 1, replace(wrapping, timeout=seconds(words[at]) if at < len(words) else None)
    if name == "flock":
        at = _options(words, 1)
        return (at + 1 if at + 1 < len(words) else 0), replace(wrapping, locked=True)
    if name in ("xargs", "parallel"):
        return _options(words, 1), replace(wrapping, looped=True)
    if name == "find" and any(word in ("-exec", "-execdir") for word in words):
        at = next(place for place, word in enumerate(words) if word in ("-exec", "-execdir"))
        return at + 1, replace(wrapping, looped=True)
    if name in _RETRYING:
        return _retried(words, wrapping)
    return _started(name, words), wrapping


def _started(name: str, words: list[str]) -> int:
    """How many words only say in which surroundings the rest is run."""
    if name in _RUN_WITHIN and words[1:2] == [_RUN_WITHIN[name]]:
        return _options(words, 2)
    return _in_container(words) if name in _CONTAINERS and words[1:2] == ["run"] else 0


def _in_container(words: list[str]) -> int:
    """The place of a command that goes outside also from there: of its own name, or of the image that is called after it."""
    at = 2
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _OF_CONTAINERS else 1
    return next((place for place in (at, at + 1) if place < len(words) and _program(words[place]) in _FROM_CONTAINERS), 0)


def _program(word: str) -> str:
    """The name of a program, or of the image that is called after it."""
    return word.rsplit("/", 1)[-1].partition(":")[0]


def _retried(words: list[str], wrapping: Wrapping) -> tuple[int, Wrapping]:
    at, numbers = 1, list[int]()
    while at < len(words) and (words[at].startswith("-") or re.fullmatch(r"\d+s?", words[at])):
        numbers += [number for found in re.findall(r"\d+", words[at]) if (number := whole(found)) is not None]
        at += 1
    return at, replace(wrapping, retried=True, bound=numbers[0] if numbers else None)


def _options(words: list[str], at: int, *, assigns: bool = False) -> int:
    """The place of the first word that is no option."""
    while at < len(words):
        if words[at] == "--":
            return at + 1
        if words[at].startswith("-") and len(words[at]) > 1:
            at += 2 if words[at] in _TAKES_VALUE.get(words[0].rsplit("/", 1)[-1], ()) else 1
        elif assigns and _ASSIGNS.match(words[at]):
            at += 1
        else:
            break
    return at


def _script(words: list[str]) -> str | None:
    """The text of `bash -c '…'` and `eval '…'`."""
    name = words[0].rsplit("/", 1)[-1] if words else ""
    if name in _SHELLS:
        for place, word in enumerate(words[1:], 1):
            if re.fullmatch(r"-[a-z]*c|--command", word) and place + 1 < len(words):
                return words[place + 1]
    return " ".join(words[1:]) if name == "eval" and len(words) > 1 else None


def seconds(text: str) -> float | None:
    """A length of time as `timeout` takes it."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    return float(match[1]) * _UNITS[match[2]] if match else None
