"""The scheduler: starts the runs that are due, and the engine's own upkeep, beside the pump.

Any number of workers look at the same clock, that of the database, and none of them leads: a tick is a row, and whoever gives it its run
does so in one transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from halfway.authoring.failures import named
from halfway.domain.backoff import delay
from halfway.domain.schedule import Reason, Skip, account, next_step
from halfway.domain.spec import MINUTE, SECOND, RetrySpec, ScheduleSpec, WorkflowSpec
from halfway.domain.ticks import told_in
from halfway.errors import DatabaseError
from halfway.ports import Looked, NewRun, ScheduleRow, Schedules

log = logging.getLogger("halfway.engine")

UPKEEP = "halfway"  # under this type, which no workflow can have, stands what the engine does for itself
PACE = RetrySpec(wait=5 * SECOND, factor=2.0, max_wait=60 * MINUTE)  # without an end: the cause may be mended


class Job(NamedTuple):
    """Something that the engine does for itself, by one worker at a time."""

    name: str
    every: int  # microseconds
    function: Callable[[], object]


class Scheduler:
    """One pass after the other."""

    def __init__(
        self, schedules: Schedules, *, specs: Sequence[WorkflowSpec], make: Callable[[str, str, int], NewRun | None],
        wake: Callable[[tuple[str, ...]], None], jobs: Sequence[Job] = (),
    ) -> None:  # fmt: skip
        """specs: of the newest versions that this worker has the code of. make: the run that is due, by type, name and time."""
        self._schedules = schedules
        self._own: Mapping[tuple[str, str], tuple[int, ScheduleSpec]] = {
            (spec.type, one.name): (spec.version, one) for spec in specs for one in spec.schedules
        }
        self._make = make
        self._wake = wake
        self._jobs = {job.name: job for job in jobs}
        self._ensured = not jobs
        self._types = sorted({type for type, _ in self._own} | ({UPKEEP} if jobs else set()))

    @property
    def idle(self) -> bool:
        """Whether there is nothing that it could ever start."""
        return not self._types

    def pass_once(self) -> bool:
        """Whether anything was to be done."""
        if not self._ensured:
            for job in self._jobs.values():
                self._schedules.ensure(UPKEEP, _upkeep(job))
            self._ensured = True
        busy = False
        for looked in self._schedules.due(self._types):
            busy |= self._look_at(looked)
        return busy

    def _look_at(self, looked: Looked) -> bool:
        row = looked.row
        try:
            if row.type == UPKEEP:
                return self._keep_up(looked)
            return self._own.get((row.type, row.name)) == (row.version, row.spec) and self._go_on(looked)
        except DatabaseError:
            raise
        except Exception:
            log.exception("schedule %s of %s met an error; it is looked at again", row.name, row.type)
            return False

    def _go_on(self, looked: Looked) -> bool:
        """What waits comes first, then what has become due. A worker with another version of the schedule leaves it alone."""
        row, standing, now = looked
        step = next_step(row.spec, standing, now)
        if isinstance(step, Skip):
            self._schedules.skip(row, step.due, step.reason)
            return True
        if step is not None:
            tries = next(one.tries for one in standing.waiting if one.due == step)
            self._start(row, step, tries, now)
            return True
        if row.next_at is None or row.next_at > now:
            return False
        return self._schedules.account(row, account(row.spec, standing, now))

    def _start(self, row: ScheduleRow, due: int, tries: int, now: int) -> None:
        try:
            run = self._make(row.type, row.name, due)
            if run is None:
                self._schedules.skip(row, due, Reason.DECLINED)
                return
            started = self._schedules.start(row, due, run)
        except DatabaseError:
            raise
        except Exception as error:
            told = told_in(row.spec.zone, due).isoformat()
            log.warning("schedule %s of %s could not start the run that was due at %s", row.name, row.type, told, exc_info=True)
            again = now + delay(PACE, tries + 1, f"{row.type}/{row.name}/{due}")
            self._schedules.failed(row, due, named(error), again)
        else:
            if started is not None:
                self._wake(started.ready)

    # ── upkeep ──

    def _keep_up(self, looked: Looked) -> bool:
        row, job = looked.row, self._jobs.get(looked.row.name)
        if job is None or row.spec != _upkeep(job):
            return False
        due = self._schedules.take(row, account(row.spec, looked.standing, looked.now))
        if due is None:
            return False
        try:
            job.function()
        except Exception as error:
            log.exception("upkeep %s has failed; it is done again when it is due", job.name)
            self._schedules.undone(row, due, named(error))
        return True


def _upkeep(job: Job) -> ScheduleSpec:
    return ScheduleSpec(name=job.name, zone="UTC", every=job.every)
