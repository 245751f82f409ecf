"""Writes the parts of the documentation that follow from the code: states, commands, errors. `--check` fails if they are not current."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

import click

from halfway import errors
from halfway.cli import main as command_line
from halfway.domain.lifecycle import FINAL, RECORD_TRANSITIONS, RUN_TRANSITIONS, SETTLED, RecordStatus, RunStatus
from halfway.errors import MESSAGES, Exit

S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
WRITTEN = "<!-- Written by scripts/generate.py from the code; change the code, then run: make docs -->"
EXITS = {
    Exit.OK: "done; also `start` without `--wait`, a run that ended in SUCCESS or PARTIAL_SUCCESS, and a worker that was stopped",
    Exit.RUN_FAILED: "the run ended in FAILED, CANCELLED, EXPIRED or COMPENSATED (`start --wait`)",
    Exit.USAGE: "a mistake in the command, the configuration, the input or a definition; an outdated schema",
    Exit.NOT_FOUND: "no such run, workflow, version, step or batch; no run fits",
    Exit.CONFLICT: "the key belongs to another input, or the order does not apply to the run as it is; a batch that was stopped or had "
    "refusals; an event that nobody gets any more",
    Exit.NEEDS_PERSON: "the run is MANUAL_REQUIRED, or waits for nothing but an approval (`start --wait`); something waits for a person "
    "(`inbox --check`)",
    Exit.DATABASE: "the database is missing, unreachable, busy or full",
    Exit.NOT_ALLOWED: "not allowed",
    Exit.INTERNAL: "an error of halfway itself; the traceback is in a file, whose path is told",
}


def main() -> int:
    """Writes or checks every page; answers the exit code."""
    checking = sys.argv[1:] == ["--check"]
    pages = {"run-states.md": _states(), "cli.md": _commands(), "errors.md": _errors()}
    stale: list[str] = []
    for name, lines in pages.items():
        path, text = FOLDER / name, "\n".join([WRITTEN, "", *lines]).rstrip() + "\n"
        if checking and (not path.exists() or path.read_text(encoding="utf-8") != text):
            stale.append(f"{path.relative_to(ROOT)} is not current; run: make docs")
        elif not checking:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    print("\n".join(stale) or "current", file=sys.stderr if stale else sys.stdout)
    return 1 if stale else 0


# ── states ──


def _states() -> Iterator[str]:
    yield "# The states of runs and steps"
    yield ""
    yield "The state of a run follows from the states of its steps and from what was asked of it."
    yield "A transition that is not listed is refused."
    yield from _machine("Run", RUN_TRANSITIONS, {status.value for status in FINAL}, RunStatus)
    yield ""
    yield "Steps, probes, checks, compensations and drafts share these states."
    yield from _machine("Step", RECORD_TRANSITIONS, {status.value for status in SETTLED}, RecordStatus)


def _machine(title: str, transitions: Mapping[tuple[S, T], S], final: set[str], states: type[Enum]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield "    [*] --> PENDING"
    for (before, trigger), after in transitions.items():
        yield f"    {before.value} --> {after.value}: {trigger.value}"
    used = {state.value for (before, _), after in transitions.items() for state in (before, after)}
    for name in sorted(final & used):
        yield f"    {name} --> [*]"
    yield "```"
    yield ""
    yield "| from | trigger | to |"
    yield "|---|---|---|"
    for (before, trigger), after in transitions.items():
        yield f"| {before.value} | {trigger.value} | {after.value} |"
    planned = [state.value for state in states if state.value not in used]
    if planned:
        yield ""
        yield f"Nothing leads to these yet: {', '.join(planned)}."
    yield ""
    yield f"Left only if an operator asks: {', '.join(sorted(final & used))}."


# ── commands ──


def _commands() -> Iterator[str]:
    yield "# The command line"
    yield ""
    yield "Data goes to stdout, everything else to stderr. `--json` prints JSON, also for errors: `{code, message, params}`."
    yield "RUN is an id, a key, or the last 6 or more characters of an id."
    yield ""
    yield "| exit code | meaning |"
    yield "|---|---|"
    for code, told in EXITS.items():
        yield f"| {int(code)} | {told} |"
    yield from _help(command_line, ("halfway",), None)


def _help(command: click.Command, path: tuple[str, ...], parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, info_name=path[-1], parent=parent, max_content_width=100, terminal_width=100)
    yield ""
    yield f"## `{' '.join(path)}`"
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in command.get_help(context).splitlines())
    yield "```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _help(below, (*path, name), context)


# ── errors ──


def _errors() -> Iterator[str]:
    yield "# Errors"
    yield ""
    yield "Every error has a code and parameters. `--json` prints them; the text is filled in from them."
    yield ""
    yield "| code | text | exit code |"
    yield "|---|---|---|"
    exits = _exits()
    for code, text in MESSAGES.items():
        cell = text.replace("|", "\\|")
        yield f"| `{code}` | {cell} | {', '.join(str(number) for number in sorted(exits.get(code, {int(Exit.USAGE)})))} |"


def _exits() -> dict[str, set[int]]:
    """The exit code of each error, from the classes it is raised with."""
    classes = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.HalfwayError)}
    found: dict[str, set[int]] = {}
    raised = re.compile(r"\b(\w+)\(\s*\"([A-Z_]+)\"")
    for path in sorted((ROOT / "src" / "halfway").rglob("*.py")):
        for name, code in raised.findall(path.read_text(encoding="utf-8")):
            if name in classes and code in MESSAGES:
                found.setdefault(code, set()).add(int(classes[name].exit_code))
    return found | {"INTERNAL": {int(Exit.INTERNAL)}}


if __name__ == "__main__":
    sys.exit(main())
