"""Compensation when something is in doubt: in the step, in the undo itself, or in what has become of the record meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from halfway import Absent, CannotTell, Effect, Found, Mark, Risk, RunStatus, Step, StepFailed, Then, Workflow, one_row
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened
from halfway.errors import Conflict
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import (
    DAY,
    UNDO,
    UNDO_PROBE,
    account,
    accounts,
    connected,
    connection_type,
    execute,
    reach,
    set_account,
    told,
    work,
)


def failing(wf: Workflow[Order], meanwhile: Callable[[], object] = lambda: None) -> None:
    """A last step that fails; `meanwhile`: what it does before."""

    @wf.step(Effect.READ)
    def check(step: Step[Order]) -> None:
        meanwhile()
        raise StepFailed("no", code="NO")


# ── a step in doubt ──


def doubtful(calls: Calls, answer: Any, looking: threading.Event, go_on: threading.Event, **options: object) -> Workflow[Order]:
    """A step that is safe, then one whose answer is lost and whose probe is held while it looks; both can be undone."""
    wf = flow(**options)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def first(step: Step[Order]) -> str:
        return "first"

    @first.compensate(Risk.LOW)
    def undo_first(step: Step[Order], made: str) -> None:
        calls.add("UNDO", made)

    @wf.step(Effect.CREATE)
    def second(step: Step[Order], mark: Mark) -> str:
        calls.add("SECOND")
        with mark:
            raise TimeoutError("no answer")

    @second.probe(settle=timedelta(0))
    def find(step: Step[Order]) -> Found[str] | Absent | CannotTell:
        looking.set()
        assert go_on.wait(30)
        return answer  # type: ignore[no-any-return]

    @second.compensate(Risk.LOW)
    def undo_second(step: Step[Order], made: str) -> None:
        calls.add("UNDO", made)

    return wf


def stop(h: Harness, run: Any, how: str) -> None:
    if how == "cancel":
        h.app.control.cancel(run.id, actor="kim", reason="stop", undo=True)
    else:
        h.advance(2 * 86_400)
        until(lambda: {"workflow.deadline_passed", "workflow.timed_out"} & set(h.journal(run)))


@pytest.mark.parametrize("how", ["cancel", "deadline", "timeout"])
@pytest.mark.parametrize("answer", [Found("second"), Absent()], ids=["found", "absent"])
def test_a_doubt_is_settled_before_anything_is_undone(harness: type[Harness], how: str, answer: Any) -> None:
    calls, looking, go_on = Calls(), threading.Event(), threading.Event()
    options: dict[str, Any] = {"timeout": DAY, "on_failure": Then.COMPENSATE} if how == "timeout" else {"past_deadline": Then.COMPENSATE}
    wf = doubtful(calls, answer, looking, go_on, **options)
    h = harness(wf)
    run = h.start(wf, Order(), **({"deadline": datetime.now(UTC) + DAY} if how == "deadline" else {}))
    with h.worker():
        assert looking.wait(30)
        stop(h, run, how)
        assert h.record(run, "SECOND").status is RecordStatus.UNKNOWN
        assert h.record(run, "FIRST", UNDO) is None
        assert calls.count("UNDO") == 0
        go_on.set()
        reach(h, run, RunStatus.COMPENSATED)
    made = ["second", "first"] if isinstance(answer, Found) else ["first"]
    assert calls.made == [("SECOND", None), *(("UNDO", one) for one in made)]


@pytest.mark.parametrize("said", ["happened", "not"])
def test_a_doubt_that_no_probe_settles_waits_for_a_person_and_then_the_undo_goes_on(harness: type[Harness], said: str) -> None:
    calls, looking, go_on = Calls(), threading.Event(), once_set()
    wf = doubtful(calls, CannotTell("the search is down"), looking, go_on)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.MANUAL_REQUIRED)
    h.app.control.cancel(run.id, actor="kim", reason="stop", undo=True)
    assert h.status(run) is RunStatus.MANUAL_REQUIRED
    assert calls.count("UNDO") == 0
    if said == "happened":
        h.app.control.mark_success(run.id, "SECOND", actor="kim", reason="seen", evidence="the page", output='"second"')
    else:
        h.app.control.retry(run.id, "SECOND", actor="kim", reason="not seen", not_happened=True, evidence="the list")
    work(h, run, RunStatus.COMPENSATED)
    assert calls.made == [("SECOND", None), *[("UNDO", "second")] * (said == "happened"), ("UNDO", "first")]


@pytest.mark.parametrize("probed", [True, False])
def test_a_step_that_failed_after_its_effect_is_undone_with_what_its_probe_finds(harness: type[Harness], probed: bool) -> None:
    calls = Calls()
    wf = flow(on_failure=Then.COMPENSATE)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> str:
        with mark:
            calls.add("CREATE")
        raise StepFailed("made, but wrong", code="WRONG")

    if probed:

        @create.probe(settle=timedelta(0))
        def find(step: Step[Order]) -> Found[str] | Absent:
            return Found("page-1")

    @create.compensate(Risk.LOW)
    def remove(step: Step[Order], made: str) -> None:
        calls.add("REMOVE", made)

    h = harness(wf)
    run = h.start(wf, Order())
    if probed:
        work(h, run, RunStatus.COMPENSATED)
        assert calls.made == [("CREATE", None), ("REMOVE", "page-1")]
        return
    work(h, run, RunStatus.MANUAL_REQUIRED)
    assert h.record(run, "CREATE").effect is Happened.HAPPENED
    assert told(h, run, "PERSON_NEEDED") == [("CREATE", "OUTPUT_UNKNOWN")]
    with pytest.raises(Conflict, match="no machine can undo"):
        h.app.control.retry(run.id, "CREATE", actor="kim", reason="try")
    h.app.control.mark_success(run.id, "CREATE", actor="kim", reason="removed by hand", evidence="the page is gone")
    assert h.status(run) is RunStatus.COMPENSATED
    assert calls.count("REMOVE") == 0


# ── an undo in doubt ──


def lossy_undo(calls: Calls, answer: Any) -> Workflow[Order]:
    """The first answer of the undo is lost; `answer` is what its probe says, None: it has none."""
    wf = flow(on_failure=Then.COMPENSATE)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order]) -> str:
        return "page-1"

    def look(step: Step[Order], made: str) -> Any:
        calls.add("LOOK", made)
        return answer

    @create.compensate(Risk.LOW, probe=None if answer is None else look, evidence="the trash")
    def remove(step: Step[Order], made: str, mark: Mark) -> None:
        n = calls.add("REMOVE")
        with mark:
            if n == 1:
                raise TimeoutError("no answer")

    failing(wf)
    return wf


def test_an_undo_whose_answer_was_lost_is_done_if_its_probe_finds_it(harness: type[Harness]) -> None:
    calls = Calls()
    wf = lossy_undo(calls, Found(None))
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.COMPENSATED)
    assert calls.made == [("REMOVE", None), ("LOOK", "page-1")]
    assert "compensation.unknown" in h.journal(run)


def test_an_undo_whose_answer_was_lost_is_repeated_if_its_probe_proves_that_it_did_not_happen(harness: type[Harness]) -> None:
    calls = Calls()
    wf = lossy_undo(calls, Absent())
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: calls.count("LOOK") >= 1)
        until(lambda: h.record(run, "CREATE", UNDO_PROBE).status is RecordStatus.SUCCESS)
        assert calls.count("REMOVE") == 1  # what it does not show yet may still have happened
        h.advance(61)
        reach(h, run, RunStatus.COMPENSATED)
    assert calls.count("REMOVE") == 2
    assert [name for name, _ in calls.made][-1] == "REMOVE"


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("answer", [None, CannotTell("the search is down")], ids=["no probe", "cannot tell"])
def test_an_undo_whose_answer_stays_lost_waits_for_a_person(harness: type[Harness], answer: Any, happened: bool) -> None:
    calls = Calls()
    wf = lossy_undo(calls, answer)
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.record(run, "CREATE", UNDO) is not None and h.record(run, "CREATE", UNDO).status is RecordStatus.UNKNOWN)
        until(lambda: answer is None or calls.count("LOOK") >= 1)
        until(lambda: answer is None or h.record(run, "CREATE", UNDO_PROBE).status is RecordStatus.SUCCESS)
        h.advance(61)
        reach(h, run, RunStatus.MANUAL_REQUIRED)
        with pytest.raises(Conflict, match="nobody knows"):
            h.app.control.skip(run.id, "CREATE", actor="kim", reason="whatever")
        with pytest.raises(Conflict, match="nobody knows"):
            h.app.control.retry(run.id, "CREATE", actor="kim", reason="try")
        if happened:
            h.app.control.mark_success(run.id, "CREATE", actor="kim", reason="seen", evidence="it is in the trash")
        else:
            h.app.control.retry(run.id, "CREATE", actor="kim", reason="not there", not_happened=True, evidence="it is on the list")
        reach(h, run, RunStatus.COMPENSATED)
    assert calls.count("REMOVE") == (1 if happened else 2)


def test_an_undo_that_notifies_and_is_not_found_is_settled_by_a_person_before_it_is_sent_again(harness: type[Harness]) -> None:
    """A message that is not listed may still have been read."""
    calls = Calls()
    wf = flow(on_failure=Then.COMPENSATE)

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order]) -> str:
        return "page-1"

    @create.compensate(Risk.HIGH, effect=Effect.NOTIFY, probe=lambda step, made: Absent())
    def apologise(step: Step[Order], made: str, mark: Mark) -> None:
        n = calls.add("APOLOGISE")
        with mark:
            if n == 1:
                raise TimeoutError("no answer")

    failing(wf)
    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        reach(h, run, RunStatus.MANUAL_REQUIRED)
        h.app.control.approve(run.id, "CREATE", actor="kim", reason="go")
        until(lambda: h.record(run, "CREATE", UNDO_PROBE) is not None)
        until(lambda: h.record(run, "CREATE", UNDO_PROBE).status is RecordStatus.SUCCESS)
        h.advance(61)
        reach(h, run, RunStatus.MANUAL_REQUIRED)
        assert h.record(run, "CREATE", UNDO).status is RecordStatus.UNKNOWN
        h.app.control.mark_success(run.id, "CREATE", actor="kim", reason="they have read it", evidence="a call")
        reach(h, run, RunStatus.COMPENSATED)
    assert calls.count("APOLOGISE") == 1


# ── never an old value over later work ──


def closing(
    url: str, calls: Calls, inside: threading.Event, go_on: threading.Event, *, outside: bool,
    before: tuple[threading.Event, threading.Event] | None = None,
) -> Workflow[Order]:  # fmt: skip
    """Closes an account and fails afterwards; its undo opens the account at the version that it was closed at."""
    wf = flow("CLOSE", on_failure=Then.COMPENSATE)
    kind = connection_type(url)

    if outside:

        @wf.step(Effect.CHANGE, evidence="the account", record=lambda step: "a")
        def shut(step: Step[Order]) -> int:
            execute(url, set_account("closed", 1))
            return 2

        @shut.compensate(Risk.MEDIUM, approver="lee")
        def reopen_outside(step: Step[Order], version: int, mark: Mark) -> None:
            calls.add("REOPEN")
            inside.set()
            assert go_on.wait(30)
            with mark, connected(url) as connection:
                one_row(connection.execute(set_account("open", version)))
    else:

        @wf.transaction(kind)
        def close(step: Step[Order], db: kind) -> int:  # type: ignore[valid-type]
            one_row(db.execute(set_account("closed", 1)))  # type: ignore[attr-defined]
            return 2

        @close.compensate(Risk.LOW)
        def reopen(step: Step[Order], db: kind, version: int) -> None:  # type: ignore[valid-type]
            calls.add("REOPEN")
            inside.set()
            assert go_on.wait(30)
            one_row(db.execute(set_account("open", version)))  # type: ignore[attr-defined]

    def meanwhile() -> None:
        if before is not None:
            before[0].set()
            assert before[1].wait(30)

    failing(wf, meanwhile)
    return wf


def once_set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def freezing(url: str) -> Workflow[Order]:
    """Another run's work on the same account."""
    wf = flow("FREEZE")

    @wf.step(Effect.CHANGE, evidence="the account")
    def freeze(step: Step[Order]) -> None:
        execute(url, set_account("frozen", 2))

    return wf


def refused(h: Harness, url: str, run: Any, step: str) -> None:
    """The undo has failed for good, and the later work stands."""
    record = h.record(run, step, UNDO)
    assert (record.status, record.code, record.attempts) == (RecordStatus.FAILED, "VERSION_CONFLICT", 1)
    assert record.asks
    assert "compensation.failed" in h.journal(run)
    assert (step, "VERSION_CONFLICT") in told(h, run, "INCIDENT")
    assert account(url) == ("frozen", 3)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_an_undo_in_a_transaction_that_meets_later_work_fails_and_leaves_it(harness: type[Harness], url: str) -> None:
    """The undo has begun when the other run commits. On SQLite nobody can write while it is open: see the next test."""
    calls, inside, go_on = Calls(), threading.Event(), threading.Event()
    accounts(url)
    wf, other = closing(url, calls, inside, go_on, outside=False), freezing(url)
    h = harness(wf, other)
    run = h.start(wf, Order())
    with h.worker():
        assert inside.wait(30)
        reach(h, h.start(other, Order()), RunStatus.SUCCESS)
        go_on.set()
        reach(h, run, RunStatus.MANUAL_REQUIRED)
    refused(h, url, run, "CLOSE")


def test_an_undo_in_a_transaction_that_comes_after_later_work_fails_and_leaves_it(harness: type[Harness], url: str) -> None:
    """The other run commits between the transaction and its undo."""
    calls, failing_now, go_on = Calls(), threading.Event(), threading.Event()
    accounts(url)
    wf, other = closing(url, calls, threading.Event(), once_set(), outside=False, before=(failing_now, go_on)), freezing(url)
    h = harness(wf, other)
    run = h.start(wf, Order())
    with h.worker():
        assert failing_now.wait(30)
        reach(h, h.start(other, Order()), RunStatus.SUCCESS)
        go_on.set()
        reach(h, run, RunStatus.MANUAL_REQUIRED)
    refused(h, url, run, "CLOSE")


def test_an_undo_outside_that_meets_later_work_fails_and_leaves_it(harness: type[Harness], url: str) -> None:
    calls, inside, go_on = Calls(), threading.Event(), threading.Event()
    accounts(url)
    wf, other = closing(url, calls, inside, go_on, outside=True), freezing(url)
    h = harness(wf, other)
    run = h.start(wf, Order())
    with h.worker():
        reach(h, run, RunStatus.MANUAL_REQUIRED)  # a CHANGE is undone only with a person's approval
        h.app.control.approve(run.id, "SHUT", actor="lee", reason="the account is still the customer's")
        assert inside.wait(30)
        reach(h, h.start(other, Order()), RunStatus.SUCCESS)
        go_on.set()
        reach(h, run, RunStatus.MANUAL_REQUIRED)
    refused(h, url, run, "SHUT")
