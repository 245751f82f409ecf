"""A transaction step: what its body writes, its output and the course of the run commit together, so its answer cannot be lost."""

from __future__ import annotations

import logging
from time import monotonic

from halfway.domain.draft import Change, Draft, Payload
from halfway.domain.facts import Finished
from halfway.domain.run import Ended, Happened, Report
from halfway.engine.attempt import Running
from halfway.engine.body import execute
from halfway.engine.catalog import Catalog
from halfway.engine.context import in_transaction
from halfway.ports import GuardFailed, Loaded, RunStore

log = logging.getLogger("halfway.engine")

SLOW = 0.05  # on SQLite the body holds the write lock of the whole database


def execute_local(runs: RunStore, catalog: Catalog, running: Running) -> tuple[Report, Payload]:
    """Runs the body on a connection of its own and commits it together with the checkpoint."""
    connection = running.handler.connection
    assert connection is not None
    try:
        with runs.transaction(connection, running.run_id, running.record, running.attempt) as local:
            running.local = local
            inside = in_transaction.set(True)
            began = monotonic()
            try:
                report, payload = execute(running)
            finally:
                in_transaction.reset(inside)
            if not local.intact:
                raise _RolledBack(*_broken_open(running))
            if report.ended is not Ended.SUCCESS:
                raise _RolledBack(report, payload)
            took = monotonic() - began
            local.finish(lambda loaded, now: _decide(catalog, running, (report, payload), loaded, now))
    except _RolledBack as rolled_back:
        return rolled_back.report, rolled_back.payload
    except GuardFailed:
        return Report(Ended.NOTHING, code="ATTEMPT_ENDED"), Payload(error="the attempt had ended before it could commit")
    except Exception as error:  # the commit was refused, or its answer is lost: the attempt's row knows
        log.warning("transaction step %s did not commit: %s", running.key, error)
        return Report(Ended.NOTHING, code="COMMIT_FAILED", answer=None), Payload(error=str(error)[:2000])
    finally:
        running.local = None
    if took > SLOW and connection.__module__ == "sqlite3":
        log.warning("transaction step %s held the database's write lock for %.0f ms; aim at less than 50", running.key, took * 1000)
    return STORED, payload


STORED = Report(Ended.SUCCESS)  # known by its identity: no author can raise it


def _broken_open(running: Running) -> tuple[Report, Payload]:
    """The body has ended the transaction by itself: what it had written stands, and another attempt would write it again."""
    error = (
        f"step {running.step_name} committed or rolled back its connection by itself; what it had written may stand. "
        "Leave the transaction open: it is committed together with the step."
    )
    return Report(Ended.FAILED, code="TRANSACTION_ENDED", effect=Happened.HAPPENED, final=True), Payload(error=error)


class _RolledBack(Exception):
    def __init__(self, report: Report, payload: Payload) -> None:
        self.report, self.payload = report, payload


def _decide(catalog: Catalog, running: Running, brought: tuple[Report, Payload], loaded: Loaded, now: int) -> Change:
    report, payload = brought
    snapshot = loaded.snapshot
    draft = Draft(catalog.spec(snapshot.run.hash), snapshot, now, input=loaded.input, outputs=dict(loaded.outputs))
    record = snapshot.records[running.record]
    if record.running is None or record.running.n != running.attempt:
        raise GuardFailed
    draft.payloads[running.record] = payload
    draft.take(Finished(running.record, running.attempt, report))
    change = draft.change()
    assert change is not None
    return change
