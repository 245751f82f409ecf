"""What must not survive a fork: a child neither uses nor closes what its parent has open, and is not born inside a transaction."""

from __future__ import annotations

import os
import threading
from collections import Counter
from time import monotonic
from typing import Protocol
from weakref import WeakSet

PATIENCE = 10.0  # seconds that a fork waits for transactions of other threads


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


class Gate:
    """What no fork may fall into: a fork waits for those who are inside, and until it is over nobody else goes in.

    A database library has locks of its own in memory, and SQLite believes of a whole process that it holds the locks of its
    transactions: a child that was forked in the midst of that would inherit locks which nobody in it will ever release.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition(threading.Lock())
        self._inside: Counter[int] = Counter()
        self._forks = 0
        _gates.add(self)

    @property
    def torn(self) -> bool:
        """Whether this process was forked out of the midst of it."""
        return self._name in _torn

    def enter(self) -> None:
        me = threading.get_ident()
        with self._changed:
            while self._forks and me not in self._inside:
                self._changed.wait()
            self._inside[me] += 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                if self._forks:
                    self._changed.notify_all()

    def close(self, until: float) -> None:
        """Before a fork. Who is inside and forks waits for the others only: it would wait for itself for ever."""
        me = threading.get_ident()
        with self._changed:
            self._forks += 1
            while self._inside.keys() - {me} and (left := until - monotonic()) > 0:
                self._changed.wait(left)

    def open(self) -> None:
        """After a fork, in the parent."""
        with self._changed:
            self._forks = max(0, self._forks - 1)  # one that was made meanwhile was never closed
            self._changed.notify_all()

    def forked(self) -> None:
        if self._inside:
            _torn.add(self._name)
        self._changed = threading.Condition(threading.Lock())
        self._inside = Counter()
        self._forks = 0


_gates: WeakSet[Gate] = WeakSet()
_torn: set[str] = set()


def _before() -> None:
    until = monotonic() + PATIENCE
    for gate in list(_gates):
        gate.close(until)


def _in_parent() -> None:
    for gate in list(_gates):
        gate.open()


def _in_child() -> None:
    for gate in list(_gates):
        gate.forked()
    for holder in list(_watched):
        holder.forked()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
