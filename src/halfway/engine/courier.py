"""The courier: hands over what people and other systems must hear of, and starts the runs that events and ends of runs ask for.

It works beside the pump, since a receiver may be slow. What it hands over was written in the transaction that it tells about, and is
handed over at least once; its id tells a repeat.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from halfway.domain.backoff import delay
from halfway.domain.spec import MINUTE, SECOND, RetrySpec
from halfway.errors import DatabaseError
from halfway.ports import Message, Outbox, Task, Triggers

log = logging.getLogger("halfway.engine")

AT_ONCE = 10  # a slow receiver must be through with all of them within the lease
LEASE = 2 * MINUTE  # so long a message is in the hands of one courier
PACE = RetrySpec(wait=5 * SECOND, factor=2.0, max_wait=60 * MINUTE)  # without an end: whoever is meant may come back


class Courier:
    """One pass after the other."""

    def __init__(
        self, outbox: Outbox, triggers: Triggers, *, hand_over: Callable[[Message], None], start: Callable[[Task], None],
        types: Sequence[str], now: Callable[[], int],
    ) -> None:  # fmt: skip
        self._outbox = outbox
        self._triggers = triggers
        self._hand_over = hand_over
        self._start = start
        self._types = types
        self._now = now

    def pass_once(self) -> bool:
        """Whether anything was to be done."""
        messages = self._outbox.take(AT_ONCE, LEASE)
        for message in messages:
            self._deliver(message)
        tasks = self._triggers.due(self._types, AT_ONCE) if self._types else ()
        for task in tasks:
            self._start_run(task)
        return bool(messages or tasks)

    def _deliver(self, message: Message) -> None:
        try:
            self._hand_over(message)
        except Exception as error:
            again = self._now() + delay(PACE, message.tries, message.id)
            log.warning("message %s (%s of run %s) was not handed over: %s", message.id, message.what, message.run_id, error)
            self._outbox.failed(message.id, f"{type(error).__name__}: {error}"[:500], again)
        else:
            self._outbox.delivered(message.id)

    def _start_run(self, task: Task) -> None:
        try:
            self._start(task)
        except DatabaseError:
            raise
        except Exception as error:
            log.warning("what %s %s should start could not be started", task.kind.lower(), task.name, exc_info=True)
            again = self._now() + delay(PACE, task.tries + 1, task.id)
            self._triggers.failed(task.id, f"{type(error).__name__}: {error}"[:500], again)
