"""The readers, one file for each kind of automation. All produce the same flows."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Protocol

from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Flow, RunLog, Span
from halfway.inspection.source import Source

# A composite action finds the files beside it by this.
_OWN_FOLDER = re.compile(r"^\$(?:GITHUB_ACTION_PATH|\{GITHUB_ACTION_PATH\}|\{\{\s*github\.action_path\s*\}\})/")


@dataclass(frozen=True)
class Given:
    """All that was given to be read: a reader may look into other files of it, and nowhere else."""

    sources: Mapping[str, Source]
    knowledge: Knowledge
    owners: frozenset[str] = frozenset()  # of the repositories that it comes from
    _first: dict[re.Pattern[str], Span | None] = field(default_factory=dict[re.Pattern[str], Span | None], compare=False)

    def beside(self, source: Source, reference: str) -> Source | None:
        """The file that a relative reference of another one means, from its folder or from any folder above it."""
        path = _OWN_FOLDER.sub("", reference)
        for folder in PurePosixPath(source.path).parents:
            found = self.sources.get(posixpath.normpath(folder / path))
            if found is not None:
                return found
        return None

    def first(self, pattern: re.Pattern[str], ending: str) -> Span | None:
        """The first place in the files with this ending where a setting stands; looked for once."""
        if pattern not in self._first:
            files = (source for path, source in self.sources.items() if path.endswith(ending))
            self._first[pattern] = next((_place(source, one) for source in files if (one := pattern.search(source.text))), None)
        return self._first[pattern]

    @cached_property
    def modules(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the Python files, by the last name of what imports them."""
        found: dict[str, list[str]] = {}
        for path in (PurePosixPath(one) for one in self.sources if one.endswith(".py")):
            found.setdefault(path.parent.name if path.name == "__init__.py" else path.stem, []).append(path.as_posix())
        return {name: tuple(paths) for name, paths in found.items()}


def _place(source: Source, found: re.Match[str]) -> Span:
    return source.span(source.text.count("\n", 0, found.end()) + 1)


class Reader(Protocol):
    """Reads one kind of automation. Whatever the text says, it never raises anything but Unreadable, and executes nothing."""

    @property
    def name(self) -> str:
        """As the card calls the format: `github-actions`."""
        ...

    def takes(self, source: Source, /) -> bool:
        """Whether the text is of this kind; by what it says, not by what it is called."""
        ...

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        """The automations in it, in the order of the file."""
        ...

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        """The runs that it tells about, if it is a log."""
        ...
