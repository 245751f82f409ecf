"""The workflow of examples/create_application.py in a process that dies while a reservation is released."""

from __future__ import annotations

import os
import signal
from typing import Any

from examples import create_application as example
from examples.world import Stock
from halfway.testing import Ledger


class KeptStock(Stock):
    """Its books are a file, so that they outlive whoever asks it. The first release kills its caller before it has an answer."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def reserve(self, article: str, *, key: str) -> str:
        self._ledger.write("RESERVED", key=key)
        return "R-1"

    def release(self, reservation: str) -> None:
        if self._ledger.count(event="RELEASED", reservation=reservation):
            self._ledger.write("DROPPED", reservation=reservation)
            return
        self._ledger.write("RELEASED", reservation=reservation)
        os.kill(os.getpid(), signal.SIGKILL)


def flows(url: str, ledger: Ledger) -> list[Any]:
    example.stock = KeptStock(ledger)
    example.provider.declines = "NO_CREDIT"
    return [example.create_application]
