"""Which attempt the present code belongs to, so that every log line says so, also the author's own (R-A12)."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import NamedTuple


class Where(NamedTuple):
    """The ids that every log line of an attempt carries."""

    run: str
    step: str  # the id of the step in its run
    correlation: str
    job: str  # the id of this one attempt


NOWHERE = Where("", "", "", "")
where: ContextVar[Where] = ContextVar("halfway_where", default=NOWHERE)


in_transaction: ContextVar[bool] = ContextVar("halfway_in_transaction", default=False)  # the body of a transaction step


def install() -> None:
    """Adds workflowRunId, stepRunId, correlationId and jobId to every log record made from now on. Safe to repeat."""
    make = logging.getLogRecordFactory()
    if getattr(make, "_halfway", False):
        return

    def with_context(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)
        here = where.get()
        record.workflowRunId, record.stepRunId, record.correlationId, record.jobId = here
        return record

    with_context._halfway = True  # type: ignore[attr-defined]  # a mark on our own function, so that it is added once
    logging.setLogRecordFactory(with_context)
