"""Runs whose effects are undone, in few words."""

from __future__ import annotations

from halfway.domain.run import Ended, Happened, Kind, Report
from halfway.domain.spec import Effect, RetrySpec, Risk, StepSpec, Then
from tests.domain.world import step, workflow
from tests.domain.world_undo import UndoRun, undo

UNDO, UNDO_PROBE = Kind.COMPENSATION, Kind.COMPENSATION_PROBE
OK = Report(Ended.SUCCESS)
LOST = Report(Ended.LOST, code="READ_TIMEOUT", effect=Happened.UNKNOWN)
REFUSED = Report(Ended.FAILED, code="HTTP_400", effect=Happened.NOT, final=True)
ONCE = RetrySpec(attempts=1)


def done(name: str, effect: Effect | None = Effect.CREATE, after: tuple[str, ...] = (), **options: object) -> StepSpec:
    options.setdefault("evidence", "log")
    return step(name, effect, after=after, **options)


def fails(name: str, after: tuple[str, ...], then: Then = Then.COMPENSATE, **options: object) -> StepSpec:
    return step(name, after=after, on_failure=then, **options)


def fail(run: UndoRun, name: str) -> None:
    run.start(name)
    run.end(name, REFUSED._replace(effect=Happened.NONE))


def undone(run: UndoRun, name: str) -> None:
    run.start(name, UNDO)
    run.end(name, OK, UNDO)


def undoing(effect: Effect = Effect.CREATE, risk: Risk = Risk.LOW, **options: object) -> UndoRun:
    """A run whose only effect is about to be undone."""
    run = UndoRun(workflow(done("A", undo=undo(effect, risk, **options)), fails("B", ("A",))))
    run.ok("A")
    fail(run, "B")
    return run
