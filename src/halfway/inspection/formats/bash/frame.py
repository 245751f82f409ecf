"""What a script is done in: a step of a job, or a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from halfway.inspection.formats import Given
from halfway.inspection.formats.bash.origin import Origin
from halfway.inspection.model import Bearing, Gate, OnError, Repeater, Span, When
from halfway.inspection.source import Source


def _nothing(_: str) -> Origin | None:
    return None


def _untold(_: str) -> Origin:
    return Origin(Bearing.UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What all steps of one script have in common."""

    source: Source
    given: Given
    unit: str
    scope: str
    id: str
    place: Callable[[int, int], Span]  # of lines of the script in its file
    name: str = ""
    repeaters: tuple[Repeater, ...] = ()
    timeout: float | None = None
    timeout_known: bool = False
    ends_after: float | None = None
    on_error: OnError = OnError.STOP
    condition: str = ""
    when: When = When.SUCCESS
    gate: Gate | None = None
    needs: tuple[str, ...] = ()  # scopes whose output it uses
    guard: Span | None = None
    in_loop: bool = False
    passing: bool = False  # its files are gone when it ends
    followed: tuple[str, ...] = ()  # files that led here
    outside: Callable[[str], Origin | None] = _nothing
    expression: Callable[[str], Origin] = _untold
    literals: dict[str, str] = field(default_factory=dict[str, str])  # variables from outside that are written out
    extra: dict[str, str] = field(default_factory=dict[str, str])
