"""Changing one row that somebody else may have changed meanwhile (R-B11, R-J9)."""

from __future__ import annotations

from typing import Protocol

from halfway.errors import VersionConflict


class Counted(Protocol):
    """What an `execute` answers, in either database."""

    @property
    def rowcount(self) -> int: ...


def one_row(changed: int | Counted, /) -> None:
    """Raises VersionConflict unless exactly one row was changed.

    `one_row(db.execute("update orders set … where id = ? and version = ?", …))`: an update that names the version which it was
    meant for fails for good when somebody else was faster, and is not repeated blindly.
    """
    count = changed if isinstance(changed, int) else changed.rowcount
    if count != 1:
        raise VersionConflict(f"the change was meant for one row at one version, and met {count}")
