"""B04: what an attempt does after another has taken its place changes nothing; it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Retry, Run, RunStatus, Step, Workflow
from halfway.errors import AttemptEnded, Conflict
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.outages import in_a_transaction

SOON = Retry(3, wait=timedelta(milliseconds=10))
Deed = Callable[[Step[Order]], Any]


class Overtaken:
    """The first attempt outlives its timeout and does its deed only when the second has ended the run."""

    def __init__(self, effect: Effect, deed: Deed) -> None:
        self.go_on, self.told, self.done = threading.Event(), threading.Event(), threading.Event()
        self.outcome: object = None
        self.wf = flow(retry=SOON)
        options: dict[str, Any] = {} if effect is Effect.READ else {"idempotent": True}

        @self.wf.step(effect, timeout=timedelta(milliseconds=250), **options)
        def work(step: Step[Order]) -> str:
            if step.attempt > 1:
                return "B"
            try:
                while not self.go_on.wait(0.01):
                    if step.cancel_requested:
                        self.told.set()
                self.outcome = deed(step)
                return str(self.outcome)
            except BaseException as error:
                self.outcome = error
                raise
            finally:
                self.done.set()

    def play(self, h: Harness) -> Run[Order]:
        with h.worker():
            run = h.start(self.wf, Order())
            until(lambda: h.status(run) is RunStatus.SUCCESS, "the second attempt ends the run")
            until(self.told.is_set, "the first is told to stop")
            self.before = whole(h, run)
            self.go_on.set()
            assert self.done.wait(30)
        return run


def whole(h: Harness, run: Run[Order]) -> Any:
    """All that is stored about a run but its journal."""
    detail = h.app.store.reading.detail(run.id)
    row = detail.run._replace(revision=0, seq=0)
    return row, detail.records, detail.evidence, detail.artifacts, h.app.store.reading.audit(run.id)


def fails(step: Step[Order]) -> str:
    raise RuntimeError("too late")


def refused(deed: Deed) -> Deed:
    """Ends well only if the deed was refused."""

    def try_it(step: Step[Order]) -> str:
        with pytest.raises(AttemptEnded):
            deed(step)
        return "refused"

    return try_it


DEEDS: dict[str, Deed] = {
    "v1 returns": lambda step: "A",
    "v2 raises": fails,
    "v5 saves an artifact": refused(lambda step: step.save("late.txt", "A")),
    "keeps evidence": refused(lambda step: step.evidence(who="A")),
}


@pytest.mark.parametrize("effect", [Effect.READ, Effect.CREATE])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_late_deed_of_an_attempt_that_was_overtaken_changes_nothing(harness: type[Harness], effect: Effect, deed: str) -> None:
    """B04 v1, v2, v3 (it is told), v5."""
    play = Overtaken(effect, DEEDS[deed])
    h = harness(play.wf)
    run = play.play(h)
    until(lambda: effect is Effect.READ or "step.late_answer_discarded" in h.journal(run), "the late answer is told as discarded")
    assert isinstance(play.outcome, RuntimeError) if deed == "v2 raises" else play.outcome in ("A", "refused")
    assert whole(h, run) == play.before
    assert h.app.store.reading.detail(run.id).records[0].output == '"B"'
    assert "incident.may_have_happened_twice" not in h.journal(run)
    all_is_well(h, run)


def test_an_overtaken_attempt_cannot_cancel_its_finished_run(harness: type[Harness]) -> None:
    """B04 v8."""
    h: Harness

    def cancel(step: Step[Order]) -> str:
        with pytest.raises(Conflict, match="already ended"):
            h.app.control.cancel(step.run_id, actor="the step itself", reason="something went wrong")
        return "refused"

    play = Overtaken(Effect.READ, cancel)
    h = harness(play.wf)
    run = play.play(h)
    assert play.outcome == "refused"
    assert whole(h, run)[:-1] == play.before[:-1]  # but for the audit, which tells of the refusal
    all_is_well(h, run, refused=1)


# ── a frozen process ──


def frozen_flow(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """The step of the process that is to be frozen returns A, that of any other B."""
    wf = flow(retry=SOON)

    @wf.step(Effect.CREATE, idempotent=True)
    def work(step: Step[Order]) -> str:
        ledger.write("WORK", attempt=step.attempt, key=step.key)
        if step.attempt > 1:
            return "B"
        until(lambda: ledger.count(event="GO_ON"), "the test lets it go on")
        return "A"

    return [wf]


@contextmanager
def frozen(url: str, ledger: Ledger) -> Iterator[tuple[Harness, Run[Order], Worker]]:
    """A process that stands still in the middle of its step."""
    [wf] = frozen_flow(url, ledger)
    with closing(Harness(url, wf)) as h:
        run = h.start(wf, Order())
        with Worker("tests.faults.test_b04_zombie_worker:frozen_flow", url, ledger.path) as worker:
            until(lambda: ledger.count(event="WORK") == 1)
            worker.freeze()
            while in_a_transaction(url):  # it would hold what everybody else waits for
                worker.thaw()
                worker.freeze()
            yield h, run, worker


def test_a_worker_frozen_beyond_its_lease_finds_that_another_has_done_its_work(postgres_url: str, ledger: Ledger) -> None:
    """B04: where beats prove life."""
    with frozen(postgres_url, ledger) as (h, run, worker):
        assert h.drain(run).status is RunStatus.SUCCESS
        before = whole(h, run)
        worker.thaw()
        ledger.write("GO_ON")
        assert worker.wait() != 0  # it does not go on under its old life, nor under a new one
        assert "declared dead" in worker.errors()
        assert whole(h, run) == before
        assert h.get(run)._outputs == {"WORK": '"B"'}
        assert ledger.count(event="WORK") == 2
        assert len({line["key"] for line in ledger.lines() if line["event"] == "WORK"}) == 1
        assert "incident.may_have_happened_twice" not in h.journal(run)
        all_is_well(h, run)


def test_a_frozen_worker_that_holds_its_lock_keeps_its_work(sqlite_url: str, ledger: Ledger) -> None:
    """B04: where a lock proves life, a process that stands still lives."""
    with frozen(sqlite_url, ledger) as (h, run, worker), h.worker() as other:
        looks = other._sweep
        assert looks is not None
        for _ in range(50):
            assert looks.sweep() == ()
        worker.thaw()
        ledger.write("GO_ON")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
        assert h.get(run)._outputs == {"WORK": '"A"'}
        assert ledger.count(event="WORK") == 1
        all_is_well(h, run)
