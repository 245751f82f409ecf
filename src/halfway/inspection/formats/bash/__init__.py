"""Shell text: its commands in order, where its values come from, and the steps that follow. Nothing is executed."""

from __future__ import annotations

from halfway.inspection.formats.bash.script import Script


def read(text: str, *, stops: bool = False, pipefail: bool = False) -> Script:
    """The commands of a text; `stops` and `pipefail` are what its shell was started with."""
    # Loaded when a script is read: its grammar is of the extra `inspect`.
    from halfway.inspection.formats.bash import syntax  # noqa: PLC0415

    return syntax.read(text, stops=stops, pipefail=pipefail)
