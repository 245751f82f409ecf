"""Files of artifacts that no row names.

A file is put in place before its row is committed, so it must also be old. Whoever puts content makes its file young, under a lock of
the folder that this sweep takes alone: a file that is just being saved is therefore either found young here, or not yet looked for there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from halfway.ports import Place, Swept
from halfway.store.artifacts import SHA256, StoreArtifacts

ASKED = 500  # contents in one question


def sweep_files(
    artifacts: StoreArtifacts, named: Callable[[list[str]], frozenset[str]], until: int, after: Place, *, delete: bool
) -> Swept:
    """The next folder that holds files: those that were last put before `until` and that no row names."""
    folder = next((name for name in artifacts.folders() if name > after.id), None)
    if folder is None:
        return Swept({}, {}, None)
    behind = Place(0, folder)
    old = artifacts.old(folder, until)
    if not old:
        return Swept({}, {}, behind)
    if not delete:
        return Swept({"files": len(list(_unnamed(old, named)))}, {}, behind)
    with artifacts.alone(folder) as is_alone:
        if not is_alone:
            return Swept({}, {"busy": len(old)}, behind)
        count = 0
        for name in _unnamed(artifacts.old(folder, until), named):
            artifacts.remove(folder, name)
            count += 1
    return Swept({"files": count}, {}, behind)


def _unnamed(files: list[str], named: Callable[[list[str]], frozenset[str]]) -> Iterator[str]:
    """Drafts that nobody finished have no row in any case."""
    for first in range(0, len(files), ASKED):
        some = files[first : first + ASKED]
        known = named([name for name in some if SHA256.fullmatch(name)])
        yield from (name for name in some if name not in known)
