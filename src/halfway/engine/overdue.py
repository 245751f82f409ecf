"""Attempts that end without their bodies: their time is up, or their worker stops."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Protocol

from halfway.domain.contract import cut_short
from halfway.domain.draft import Payload
from halfway.domain.run import ACTING, Ended, Report
from halfway.engine.attempt import Running
from halfway.engine.floor import Done


class Floor(Protocol):
    """What runs on this worker."""

    live: dict[object, Running]

    def tell(self, running: Running, reason: str) -> None: ...


def overdue(floor: Floor, now: float) -> Iterator[Done]:
    """A body past its step's timeout is over. A thread cannot be killed and may still send, so its attempt is not gone."""
    for running in list(floor.live.values()):
        if now < running.until or running.ended:
            continue
        done = cut(running, "TIMEOUT")
        floor.tell(running, f"its timeout of {running.spec.timeout / 1e6:g} s has passed")
        yield done


def hangs(floor: Floor, patience: float) -> bool:
    """Whether a body has outlived its timeout by so much that only a restart ends it."""
    now = monotonic()
    return any(running.ended and now > running.until + patience for running in list(floor.live.values()))


def cut(running: Running, code: str) -> Done:
    message = f"{code}: the attempt was ended before its body returned"
    if running.withdraw() or (code == "WORKER_STOPPED" and not running.marked):
        return Done(running, Report(Ended.HANDED_BACK, code=code), Payload())
    if running.record.kind not in ACTING:
        return Done(running, Report(Ended.NOTHING, code=code, gone=False), Payload(error=message))
    report = cut_short(running.spec, marked=running.marked, code=code, death=False, gone=False)
    return Done(running, report, Payload(error=message))
