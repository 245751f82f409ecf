"""Who writes the report: what a generator is given, what it answers with. None of them knows that there is an engine.

`outline.py` beside this package needs no model; `modes.py` in it uses one, through `ollama.py` or `openai.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from halfway_report.models import Context


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Which model it is. A name can be moved to another model, a digest cannot."""

    name: str
    digest: str | None = None
    thinks: bool = False  # whether it can be asked to think, or not to


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be written, for the how manyth time, and what was wrong with the time before."""

    context: Context
    model: Identity
    generation: int = 1
    faults: str = ""


@dataclass(frozen=True, kw_only=True)
class Written:
    """A text that is to become the report; only the validator says whether it is one."""

    text: str
    finish: str = "stop"  # what the model says about its end: stop, length, …
    faults: tuple[str, ...] = ()  # what was wrong before there was a text to look at
    repairs: tuple[str, ...] = ()  # what was mended without anybody having to judge
    tokens: int = 0


class Desk(Protocol):
    """What the attempt offers to a generator while it writes."""

    def remaining(self) -> timedelta:
        """How long it may still take."""
        ...

    def beat(self, received: int) -> None:
        """Says how far it is, in bytes, at every piece that comes; raises if nobody wants the rest any more."""
        ...

    def keep(self, name: str, content: str) -> None:
        """Stores an artifact; durable when it returns."""
        ...

    def kept(self, name: str) -> str | None:
        """What an earlier attempt of this run has stored under a name."""
        ...


class Generator(Protocol):
    """Writes a report from a context. What it is called and which prompt it uses become evidence of the run."""

    @property
    def prompt_version(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def language(self) -> str | None:
        """The language that the text must be in; None if it follows the commits."""
        ...

    @property
    def examples(self) -> tuple[str, ...]:
        """Sentences of the prompt that must not come back."""
        ...

    def identify(self, desk: Desk, /) -> Identity:
        """Which model will write; raises what `errors.py` says about one that cannot."""
        ...

    def seed(self, generation: int, /) -> int | None:
        """The seed of a generation; another one each time, or a repeat would give the same text."""
        ...

    def write(self, task: Task, desk: Desk, /) -> Written:
        """The report in Markdown."""
        ...
