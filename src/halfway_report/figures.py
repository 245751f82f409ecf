"""How much happened on a day: counts, of everything that was collected. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from halfway_report.citations import replace_hex_words
from halfway_report.models import Area, Commit, Figures

TOO_MANY = "too many"  # why the collector only counts a file


def figures_of(commits: Sequence[Commit]) -> Figures:
    """The counts of these commits; a file that several of them change is one file, and several changes."""
    files = [(commit.repository, file) for commit in commits for file in commit.files or ()]
    more = [part for commit in commits for part in commit.omitted if part.why == TOO_MANY]
    areas: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for _, file in files:
        area = areas[_area(file.path)]
        area[0] += 1
        area[1] += file.added or 0
        area[2] += file.deleted or 0
    return Figures(
        commits=len(commits),
        files=len({(repository, file.path) for repository, file in files}) + sum(part.files for part in more),
        added=sum(file.added or 0 for _, file in files) + sum(part.added for part in more),
        deleted=sum(file.deleted or 0 for _, file in files) + sum(part.deleted for part in more),
        areas=tuple(
            Area(name=name, changes=changes, added=added, deleted=deleted)
            for name, (changes, added, deleted) in sorted(areas.items(), key=lambda item: (-item[1][0], item[0]))
        ),
    )


def _area(path: str) -> str:
    # A directory named like a commit must not read as a citation.
    return replace_hex_words(path.partition("/")[0], (), "(a name in hex)") if "/" in path else ""
