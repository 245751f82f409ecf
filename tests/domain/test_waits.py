"""Waits, rule by rule: what ends them, what follows when nothing comes, and what is refused."""

from __future__ import annotations

import pytest

from halfway.domain.facts import (
    Arrived,
    CancelAsked,
    CloseWait,
    MarkedSuccess,
    OpenWait,
    ProbeAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Key, Kind, Report
from halfway.domain.spec import SECOND, Effect, RetrySpec, Sort, Then
from halfway.errors import Conflict
from tests.domain.world import PROBE, T0, step, workflow
from tests.domain.world_undo import UndoRun, undo, wait

ASKED = Report(Ended.SUCCESS, waits="order:1")
EVENT = "event-1"


def waiting(sort: Sort = Sort.EVENT, **options: object) -> UndoRun:
    """A run that waits in A; B comes after it."""
    run = UndoRun(workflow(wait("A", sort, **options), step("B", after=("A",))))
    run.start("A")
    run.end("A", ASKED)
    assert run.status is RunStatus.WAITING
    return run


def wait_is_over(run: UndoRun, how: str, source: str | None = None) -> bool:
    return CloseWait(Key("A"), how, source) in run.log


# ── the outside world is asked ──


def test_a_wait_that_ran_out_asks_its_probe_and_what_it_found_is_the_answer() -> None:
    run = waiting(on_timeout=Then.PROBE, probe=PROBE)
    run.advance(31)
    assert run.due() == [Key("A", kind=Kind.PROBE)]
    run.probe("A", Answer.FOUND)
    assert (run.record("A").status, wait_is_over(run, "FOUND")) == (RecordStatus.SUCCESS, True)


@pytest.mark.parametrize(("answer", "status"), [(Answer.ABSENT, RunStatus.FAILED), (Answer.CANNOT_TELL, RunStatus.MANUAL_REQUIRED)])
def test_a_wait_whose_probe_finds_nothing_fails_and_one_that_cannot_tell_asks(answer: Answer, status: RunStatus) -> None:
    run = waiting(on_timeout=Then.PROBE, probe=PROBE)
    run.advance(31)
    run.probe("A", answer)
    assert run.status is status


def test_the_event_may_come_while_the_probe_looks() -> None:
    run = waiting(on_timeout=Then.PROBE, probe=PROBE)
    run.advance(31)
    run.start("A", Kind.PROBE)
    run.take(Arrived(Key("A"), EVENT))
    assert (run.record("A").status, wait_is_over(run, "ARRIVED", EVENT)) == (RecordStatus.SUCCESS, True)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.ABSENT), Kind.PROBE)  # too late to matter
    run.ok("B")
    assert run.status is RunStatus.SUCCESS


@pytest.mark.parametrize("answer", [Answer.ABSENT, Answer.CANNOT_TELL])
def test_a_probe_that_a_person_orders_in_time_takes_nothing_from_the_wait(answer: Answer) -> None:
    run = waiting(on_timeout=Then.FAIL, probe=PROBE)
    run.take(ProbeAsked("A"))
    run.probe("A", answer)
    assert (run.status, run.record("A").status) == (RunStatus.WAITING, RecordStatus.WAITING)
    run.advance(31)
    assert run.status is RunStatus.FAILED


def test_a_probe_that_a_person_orders_in_time_may_find_it() -> None:
    run = waiting(on_timeout=Then.FAIL, probe=PROBE)
    run.take(ProbeAsked("A"))
    run.probe("A", Answer.FOUND)
    assert run.record("A").status is RecordStatus.SUCCESS


def test_what_a_probe_does_not_find_leaves_the_decision_with_the_person_who_was_asked() -> None:
    run = waiting(on_timeout=Then.MANUAL, probe=PROBE)
    run.advance(31)
    run.take(ProbeAsked("A"))
    run.probe("A", Answer.ABSENT)
    assert (run.status, run.record("A").asks) == (RunStatus.MANUAL_REQUIRED, "owner")


def test_a_probe_of_an_earlier_wait_says_nothing_about_the_next_one() -> None:
    run = waiting(on_timeout=Then.MANUAL, probe=PROBE)
    run.advance(31)
    run.take(ProbeAsked("A"))
    run.start("A", Kind.PROBE)
    run.take(RetryAsked("A"))
    run.start("A")
    run.end("A", ASKED)
    run.end("A", Report(Ended.SUCCESS, answer=Answer.ABSENT), Kind.PROBE)
    assert (run.status, run.record("A").status) == (RunStatus.WAITING, RecordStatus.WAITING)
    run.advance(31)
    assert run.status is RunStatus.MANUAL_REQUIRED


def test_a_probe_that_says_it_will_never_work_cannot_tell() -> None:
    run = waiting(on_timeout=Then.PROBE, probe=PROBE)
    run.advance(31)
    run.start("A", Kind.PROBE)
    run.end("A", Report(Ended.FAILED, code="BOOM", final=True), Kind.PROBE)
    assert (run.status, run.record("A").asks) == (RunStatus.MANUAL_REQUIRED, "owner")


# ── what a wait is ──


def test_a_wait_is_opened_with_what_it_waits_for_and_occupies_no_worker() -> None:
    run = waiting(on_timeout=Then.FAIL, look_back=60 * SECOND)
    assert OpenWait(Key("A"), 1, Sort.EVENT, "paid", "order:1", T0 - 60 * SECOND) in run.log
    assert (run.due(), run.record("A").running) == ([], None)
    run.take(Arrived(Key("A"), EVENT))
    assert (run.due(), wait_is_over(run, "ARRIVED", EVENT)) == ([Key("B")], True)


def test_an_event_for_a_wait_that_is_over_changes_nothing() -> None:
    run = waiting(on_timeout=Then.FAIL)
    run.advance(31)
    before = run.snapshot
    assert run.take(Arrived(Key("A"), EVENT)) == ()
    assert run.snapshot == before


@pytest.mark.parametrize("until", [T0 - SECOND, T0 + 20 * SECOND])
def test_a_time_may_lie_in_the_future_or_in_the_past(until: int) -> None:
    run = UndoRun(workflow(wait("A", Sort.TIME)))
    run.start("A")
    run.end("A", ASKED._replace(until=until))
    assert (run.status is RunStatus.SUCCESS) == (until < T0)
    run.advance(21)
    assert run.status is RunStatus.SUCCESS


# ── nothing comes in time ──


@pytest.mark.parametrize(
    ("then", "status", "record"),
    [
        (Then.FAIL, RunStatus.FAILED, RecordStatus.FAILED),
        (Then.CANCEL, RunStatus.CANCELLED, RecordStatus.SKIPPED),
        (Then.MANUAL, RunStatus.MANUAL_REQUIRED, RecordStatus.WAITING),
        (Then.VALUE, RunStatus.RUNNING, RecordStatus.SUCCESS),
    ],
)
def test_a_wait_that_runs_out_follows_its_own_policy(then: Then, status: RunStatus, record: RecordStatus) -> None:
    run = waiting(on_timeout=then, value="7")
    run.advance(31)
    assert (run.status, run.record("A").status) == (status, record)
    assert wait_is_over(run, "VALUE" if then is Then.VALUE else "TIMED_OUT") == (then is not Then.MANUAL)


def test_a_wait_that_runs_out_begins_anew_as_often_as_its_retry_says() -> None:
    run = waiting(on_timeout=Then.RETRY, retry=RetrySpec(attempts=2))
    run.advance(31)
    assert run.due() == [Key("A")]
    run.start("A")
    run.end("A", ASKED)
    run.advance(31)
    assert (run.status, run.record("A").code) == (RunStatus.FAILED, "TIMED_OUT")


def test_an_answer_may_still_come_while_a_person_is_asked() -> None:
    run = waiting(on_timeout=Then.MANUAL)
    run.advance(31)
    assert run.record("A").asks == "owner"
    run.take(Arrived(Key("A"), EVENT))
    assert run.due() == [Key("B")]


@pytest.mark.parametrize("order", [RetryAsked("A"), ResumeAsked()])
def test_a_wait_that_ran_out_waits_anew_if_a_person_says_so(order: RetryAsked | ResumeAsked) -> None:
    run = waiting(on_timeout=Then.MANUAL)
    run.advance(31)
    run.take(order)
    assert (wait_is_over(run, "AGAIN"), run.due()) == (True, [Key("A")])
    run.start("A")
    run.end("A", ASKED)
    assert (run.status, run.record("A").ready_at) == (RunStatus.WAITING, run.now + 30 * SECOND)


@pytest.mark.parametrize("order", [MarkedSuccess("A"), SkipAsked("A")])
def test_a_person_may_go_on_without_what_does_not_come(order: MarkedSuccess | SkipAsked) -> None:
    run = waiting(on_timeout=Then.MANUAL)
    run.advance(31)
    run.take(order)
    assert run.due() == [Key("B")]


# ── a run that stops, and the run's own time ──


def test_a_run_that_stops_closes_its_waits() -> None:
    run = waiting(on_timeout=Then.MANUAL)
    run.take(CancelAsked())
    assert (run.status, run.record("A").status, wait_is_over(run, "CLOSED")) == (RunStatus.CANCELLED, RecordStatus.SKIPPED, True)


def test_a_wait_that_opens_in_a_run_that_stops_is_closed_at_once() -> None:
    run = UndoRun(workflow(wait("A", Sort.EVENT)))
    run.start("A")
    run.take(CancelAsked())
    run.end("A", ASKED)
    assert (run.status, wait_is_over(run, "CLOSED")) == (RunStatus.CANCELLED, True)


def test_a_wait_that_was_closed_by_a_cancel_waits_anew_after_a_resume() -> None:
    run = waiting(on_timeout=Then.MANUAL)
    run.take(CancelAsked())
    run.take(ResumeAsked())
    assert run.due() == [Key("A")]


def test_the_time_that_a_run_waits_is_not_its_own() -> None:
    run = UndoRun(workflow(wait("A", Sort.EVENT, timeout=900 * SECOND), step("B", after=("A",)), timeout=100 * SECOND))
    run.start("A")
    run.advance(40)
    run.end("A", ASKED)
    assert (run.snapshot.run.timeout_at, run.snapshot.run.timeout_left) == (None, 60 * SECOND)
    run.advance(500)
    run.take(Arrived(Key("A"), EVENT))
    assert (run.snapshot.run.timeout_at, run.snapshot.run.timeout_left) == (run.now + 60 * SECOND, None)


def test_a_deadline_strikes_also_while_a_run_waits() -> None:
    run = UndoRun(workflow(wait("A", Sort.EVENT, timeout=900 * SECOND)), T0 + 60 * SECOND)
    run.start("A")
    run.end("A", ASKED)
    run.advance(61)
    assert (run.status, wait_is_over(run, "CLOSED")) == (RunStatus.EXPIRED, True)


def test_a_wait_that_runs_out_may_have_what_is_done_undone() -> None:
    made = step("M", Effect.CREATE, evidence="log", undo=undo())
    run = UndoRun(workflow(made, wait("A", Sort.EVENT, after=("M",), on_timeout=Then.FAIL, on_failure=Then.COMPENSATE)))
    run.ok("M")
    run.start("A")
    run.end("A", ASKED)
    run.advance(31)
    assert (run.status, run.due()) == (RunStatus.COMPENSATING, [Key("M", kind=Kind.COMPENSATION)])


@pytest.mark.parametrize("order", [RetryAsked("A"), ProbeAsked("A")])
def test_a_wait_in_time_is_neither_retried_nor_probed_without_a_probe(order: RetryAsked | ProbeAsked) -> None:
    run = waiting(on_timeout=Then.MANUAL)
    with pytest.raises(Conflict, match=r"is WAITING|has no probe"):
        run.take(order)
