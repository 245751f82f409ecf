"""A database restored from an older copy: what is not recorded may have happened nevertheless."""

from __future__ import annotations

import pytest

from halfway.domain.facts import (
    CancelAsked,
    Claimed,
    Late,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Key, Report
from halfway.domain.spec import SECOND
from tests.domain.undoing import UNDO, done, fail, fails
from tests.domain.world import PROBE, workflow
from tests.domain.world_undo import UndoRun, undo


def restored(run: UndoRun) -> UndoRun:
    """The database comes back as it was, a moment later: what was not recorded may have happened."""
    run.advance(1)
    run.restore(run.snapshot)
    return run


def test_a_run_whose_first_start_may_be_forgotten_is_looked_after_before_it_is_cancelled() -> None:
    run = restored(UndoRun(workflow(done("A", probe=PROBE))))
    run.take(Claimed(Key("A"), "e"))
    assert (run.status, run.record("A").code) == (RunStatus.RUNNING, "RESTORED")
    run.take(CancelAsked())
    assert run.status is RunStatus.CANCEL_REQUESTED


def test_an_absent_does_not_count_while_a_forgotten_attempt_may_still_act() -> None:
    run = UndoRun(workflow(done("A", probe=PROBE, timeout=60 * SECOND)))
    run.lose("A")
    run.advance(10)
    restored(run)
    run.probe("A", Answer.ABSENT)  # late enough for the attempt that is known
    assert run.record("A").status is RecordStatus.UNKNOWN
    run.advance(66)
    run.probe("A", Answer.ABSENT)
    assert (run.record("A").status, run.record("A").effect) == (RecordStatus.PENDING, Happened.NOT)


def test_a_late_answer_says_nothing_about_an_attempt_that_the_database_has_forgotten() -> None:
    run = UndoRun(workflow(done("A", probe=PROBE)))
    run.lose("A", gone=False)
    restored(run)
    run.take(Late(Key("A"), 1, Report(Ended.NOTHING, code="CONNECT_ERROR", effect=Happened.NOT)))
    assert (run.record("A").status, run.record("A").code) == (RecordStatus.UNKNOWN, "RESTORED")


@pytest.mark.parametrize(("seconds", "status"), [(60, RecordStatus.RUNNING), (900, RecordStatus.UNKNOWN)])
def test_a_forgotten_start_is_repeated_only_while_the_receiver_must_still_know_the_key(seconds: int, status: RecordStatus) -> None:
    run = UndoRun(workflow(done("A", idempotent=True, idempotent_for=600 * SECOND, timeout=60 * SECOND)))
    run.advance(seconds)
    restored(run)
    run.take(Claimed(Key("A"), "e"))
    assert run.record("A").status is status


def test_an_undo_that_may_be_forgotten_and_is_for_a_person_leaves_the_others_going_on() -> None:
    run = UndoRun(workflow(done("A", undo=undo()), done("B", undo=undo()), fails("C", ("A", "B"))))
    run.ok("A")
    run.ok("B")
    fail(run, "C")
    restored(run)
    run.advance(60)
    run.take(Claimed(Key("B", kind=UNDO), "e"))
    assert (run.record("B", UNDO).asks, run.due()) == ("owner", [Key("A", kind=UNDO)])
