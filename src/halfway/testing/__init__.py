"""Tools to break halfway on purpose: named points where a process is killed, held or made to fail, and a ledger of the world."""

from __future__ import annotations

from halfway.testing.ledger import Ledger
from halfway.testing.points import FailAt, HoldAt, KillAt, RecordPoints

__all__ = ["FailAt", "HoldAt", "KillAt", "Ledger", "RecordPoints"]
