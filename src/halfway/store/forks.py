"""What must not survive a fork: a child neither uses nor closes what its parent has open."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Holds connections or locks of this process."""

    def forked(self) -> None:
        """Called in the child, where only the forking thread lives: let go of everything without touching it."""
        ...


_watched: WeakSet[Forkable] = WeakSet()


def watch(holder: Forkable) -> None:
    _watched.add(holder)


def leave_open(thing: object) -> None:
    """Keeps what belongs to the parent from ever being closed here, not even when this process ends."""
    import ctypes  # noqa: PLC0415 - only a child of a fork needs it

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _in_child() -> None:
    for holder in list(_watched):
        holder.forked()


os.register_at_fork(after_in_child=_in_child)
