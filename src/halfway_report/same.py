"""Finds commits that belong together: the same change on several branches, and a change that was taken back."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from halfway_report.models import Commit

_REVERTS = re.compile(r"(?i)\bThis reverts commit ([0-9a-f]{7,64})\b")
_LARGEST = 50_000  # lines; what is larger than this is no cherry-pick that anybody would look for


def same_changes(
    commits: Sequence[Commit], patch_ids: Callable[[Sequence[str]], Mapping[str, str]], committed: Mapping[str, int]
) -> dict[str, tuple[str, ...]]:
    """For each change that several commits of a repository make: the one that was committed first, and the others in their order.

    The patches are only asked for where the counts of the files agree already.
    """
    alike: dict[object, list[str]] = defaultdict(list)
    for commit in commits:
        if (lines := _comparable(commit)) is not None:
            alike[lines].append(commit.sha)
    candidates = [sha for shas in alike.values() if len(shas) > 1 for sha in shas]
    if not candidates:
        return {}
    groups: dict[str, list[str]] = defaultdict(list)
    for sha, identity in patch_ids(candidates).items():
        groups[identity].append(sha)
    ordered = (sorted(shas, key=lambda sha: (committed.get(sha, 0), sha)) for shas in groups.values() if len(shas) > 1)
    return {first: tuple(others) for first, *others in ordered}


def _comparable(commit: Commit) -> object | None:
    """What two commits that make the same change have in common; None where a patch would not say all of it."""
    if commit.merge or commit.omitted or not commit.files:
        return None
    lines = [(file.path, file.added, file.deleted) for file in commit.files]
    total = sum((added or 0) + (deleted or 0) for _, added, deleted in lines)
    if any(added is None for _, added, _ in lines) or not 0 < total <= _LARGEST:
        return None
    return tuple(sorted(lines, key=str))


def reverted(body: str) -> str | None:
    """The commit that a message says it takes back, as it is written there."""
    match = _REVERTS.search(body)
    return match[1].lower() if match else None


def pair_reverts(commits: Iterable[Commit], mentioned: Iterable[str]) -> tuple[Commit, ...]:
    """The commits, each that takes one back with its full hash, and each that was taken back on the same day with the other's."""
    commits = tuple(commits)
    owner = {sha: commit.sha for commit in commits for sha in commit.shas}
    known = (*owner, *mentioned)
    reverts: dict[str, str] = {}
    for commit in commits:
        word = reverted(commit.body)
        found = [sha for sha in known if sha.startswith(word)] if word else []
        if len(found) == 1:
            reverts[commit.sha] = owner.get(found[0], found[0])
    back = {target: sha for sha, target in reverts.items()}
    return tuple(commit.model_copy(update={"reverts": reverts.get(commit.sha), "reverted_by": back.get(commit.sha)}) for commit in commits)
