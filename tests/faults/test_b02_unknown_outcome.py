"""B02: a call whose answer is missing may have happened. It is looked up before anything is sent again, and nothing is sent on hope."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from halfway import Absent, Effect, Found, Mark, Retry, Run, RunStatus, Step, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened, Kind
from halfway.errors import Conflict
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well
from tests.faults.receiver import Receiver, nobody_listens

SOON = Retry(3, wait=timedelta(milliseconds=10))
LOST = ["close", "504", "stall"]
HASTY = {"stall": 0.3}  # seconds until a client gives up


def posting(where: Callable[[int], str], *, probe: bool, patience: float = 10.0) -> Workflow[Order]:
    """One thing is created over HTTP; with a probe, or only with the name of a log where a person can look."""
    wf = flow(retry=SOON)

    @wf.step(Effect.CREATE, evidence="the receiver's list")
    def create(step: Step[Order], mark: Mark) -> str:
        with mark:
            answer = httpx2.post(f"{where(step.attempt)}/things", json={"key": step.key}, timeout=patience)
            answer.raise_for_status()
            return str(answer.json()["id"])

    if probe:

        @create.probe(settle=timedelta(0), retry=SOON)
        def find(step: Step[Order]) -> Found[str] | Absent:
            answer = httpx2.get(f"{where(0)}/things", params={"key": step.key}, timeout=10)
            if answer.status_code == 404:
                return Absent()
            answer.raise_for_status()
            return Found(str(answer.json()["id"]))

    return wf


def flows(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    """For a worker process: the receiver is in the environment."""
    return [posting(lambda n: os.environ["RECEIVER"], probe=os.environ["PROBE"] == "yes", patience=60)]


def order_of_events(ledger: Ledger) -> list[object]:
    return [line["event"] for line in ledger.lines()]


@pytest.mark.parametrize("mishap", LOST)
def test_a_lost_answer_that_is_found_is_a_success_with_what_was_found(harness: type[Harness], ledger: Ledger, mishap: str) -> None:
    """B02 a, b, c."""
    with Receiver(ledger, mishap) as receiver:
        wf = posting(lambda n: receiver.url, probe=True, patience=HASTY.get(mishap, 10))
        h = harness(wf)
        run = h.run(wf, Order())
        assert run.status is RunStatus.SUCCESS
        assert h.app.store.reading.detail(run.id).records[0].output == '"thing of CREATE"'
        assert h.record(run, "CREATE").effect is Happened.HAPPENED
        assert order_of_events(ledger) == ["ASKED", "POST", "GET"]
    assert [name for name in h.journal(run) if name in ("step.unknown", "step.probed")] == ["step.unknown", "step.probed"]
    all_is_well(h, run)


def test_a_lost_answer_that_is_proven_absent_is_sent_once_more_with_the_same_key(harness: type[Harness], ledger: Ledger) -> None:
    """B02: not found."""
    with Receiver(ledger, "swallow") as receiver:
        wf = posting(lambda n: receiver.url, probe=True)
        h = harness(wf)
        run = h.run(wf, Order())
        assert run.status is RunStatus.SUCCESS
        assert order_of_events(ledger) == ["ASKED", "GET", "ASKED", "POST"]
        assert len({line["key"] for line in ledger.lines()}) == 1
    all_is_well(h, run)


def test_a_look_that_fails_has_not_said_absent_and_a_person_decides(harness: type[Harness], ledger: Ledger) -> None:
    """B02: the reconcile function raises."""
    with Receiver(ledger, "swallow") as receiver:
        receiver.finds.extend([500, 500, 500])
        wf = posting(lambda n: receiver.url, probe=True)
        h = harness(wf)
        run = h.run(wf, Order())
        assert run.status is RunStatus.MANUAL_REQUIRED
        assert h.record(run, "CREATE").status is RecordStatus.UNKNOWN
        assert order_of_events(ledger) == ["ASKED", "GET", "GET", "GET"]
        all_is_well(h, run)
        h.app.control.retry(run.id, "CREATE", actor="kim", reason="the list is empty", not_happened=True, evidence="list of 17:02")
        assert h.drain(run).status is RunStatus.SUCCESS
    assert ledger.count(event="POST") == 1
    all_is_well(h, run, orders=1)


@pytest.mark.parametrize("mishap", LOST)
def test_without_a_probe_nothing_is_sent_again_until_a_person_has_decided(harness: type[Harness], ledger: Ledger, mishap: str) -> None:
    """B02 a, b, c without a reconcile function."""
    with Receiver(ledger, mishap) as receiver:
        wf = posting(lambda n: receiver.url, probe=False, patience=HASTY.get(mishap, 10))
        h = harness(wf)
        with h.worker():
            run = h.start(wf, Order())
            until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED, "a person is asked")
            for _ in range(3):  # no passing of time sends it again
                h.advance(86_400)
            with pytest.raises(Conflict, match="nobody knows"):
                h.app.control.retry(run.id, "CREATE", actor="kim", reason="try it")
            assert h.record(run, "CREATE").status is RecordStatus.UNKNOWN
            h.app.control.mark_success(run.id, "CREATE", actor="kim", reason="seen", evidence="row 7", output='"thing of CREATE"')
        assert h.status(run) is RunStatus.SUCCESS
        assert order_of_events(ledger) == ["ASKED", "POST"]
    all_is_well(h, run, orders=1)


@pytest.mark.parametrize("probe", [True, False])
def test_a_refused_connection_is_an_ordinary_retry(harness: type[Harness], ledger: Ledger, probe: bool) -> None:
    """B02 d."""
    closed = nobody_listens()
    with Receiver(ledger) as receiver:
        wf = posting(lambda n: closed if n == 1 else receiver.url, probe=probe)
        h = harness(wf)
        run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert order_of_events(ledger) == ["ASKED", "POST"]
    assert h.record(run, "CREATE").attempts == 2
    assert "step.unknown" not in h.journal(run)
    assert h.record(run, "CREATE", Kind.PROBE) is None
    all_is_well(h, run)


@pytest.mark.parametrize("probe", [True, False])
def test_a_worker_killed_behind_the_call_leaves_a_doubt_and_not_a_second_call(
    harness: type[Harness], url: str, ledger: Ledger, probe: bool
) -> None:
    """B02 e."""
    with Receiver(ledger, "stall") as receiver:
        wf = posting(lambda n: receiver.url, probe=probe)
        h = harness(wf)
        run: Run[Order] = h.start(wf, Order())
        environment = {"RECEIVER": receiver.url, "PROBE": "yes" if probe else "no"}
        with Worker("tests.faults.test_b02_unknown_outcome:flows", url, ledger.path, **environment) as worker:
            until(lambda: ledger.count(event="POST") == 1, "it was sent")
            worker.kill()
        run = h.drain(run)
        if probe:
            assert run.status is RunStatus.SUCCESS
            assert order_of_events(ledger) == ["ASKED", "POST", "GET"]
        else:
            assert run.status is RunStatus.MANUAL_REQUIRED
            assert h.record(run, "CREATE").code == "WORKER_LOST"
            assert order_of_events(ledger) == ["ASKED", "POST"]
    all_is_well(h, run)
