"""How far a run has come, while somebody looks at a terminal: a line for each step, rewritten in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from halfway_report.cli.printing import chat
from halfway_report.language import _
from halfway_report.reading import RunView, StepView

_SIGNS = {"SUCCESS": "✓", "FAILED": "✗", "UNKNOWN": "?", "RUNNING": "›", "SKIPPED": "-"}
_MINUTE = 60


@contextmanager
def progress() -> Generator[Callable[[RunView], None], None, None]:
    """What is to be called with each newer view of the run; where nobody watches it tells only what has to be tried again."""
    if not sys.stderr.isatty():
        told: set[tuple[str, int]] = set()
        yield lambda view: _tell_failures(view, told)
        return
    from rich.console import Console  # noqa: PLC0415 - not needed by most commands
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(console=Console(stderr=True, highlight=False), auto_refresh=False, transient=False) as live:
        yield lambda view: live.update(Text("\n".join(lines(view, datetime.now(UTC)))), refresh=True)


def _tell_failures(view: RunView, told: set[tuple[str, int]]) -> None:
    """A line for each attempt that failed and is followed by another."""
    for step in view.steps:
        if step.status == "PENDING" and step.error_code and (step.name, step.attempts) not in told:
            told.add((step.name, step.attempts))
            line = _("{step}: attempt {number} failed with {code}; it is tried again by itself.")
            chat(line.format(step=step.name, number=step.attempts, code=step.error_code))


def lines(view: RunView, now: datetime) -> Iterator[str]:
    """A line for each step: its sign, its name, how long it took, and which try this is."""
    for step in view.steps:
        told = [f"{_SIGNS.get(step.status, ' ')} {step.name:<16} {_elapsed(step, now):>8}", *_tries(step)]
        yield "  ".join(told).rstrip()


def _tries(step: StepView) -> Iterator[str]:
    if step.round > 1:
        yield _("generation {number}").format(number=step.round)
    if step.attempts > 1:
        yield _("attempt {number}").format(number=step.attempts)
    if step.status not in ("SUCCESS", "RUNNING") and step.error_code:
        yield step.error_code


def _elapsed(step: StepView, now: datetime) -> str:
    if step.started_at is None:
        return ""
    seconds = max(0.0, ((step.ended_at or now) - step.started_at).total_seconds())
    return f"{seconds:.1f} s" if seconds < _MINUTE else f"{int(seconds) // _MINUTE}:{int(seconds) % _MINUTE:02} min"
