"""B35: during a rolling deploy a worker meets work that it has no code for; it leaves it alone."""

from __future__ import annotations

from typing import Any

from halfway import Effect, RunStatus, Step, Workflow
from halfway.domain.versions import Gap, Standing
from halfway.testing import Ledger
from tests.crash.processes import Worker
from tests.engine.harness import Harness, Order, flow, until
from tests.faults.checks import all_is_well

HERE = "tests.faults.test_b35_unknown_step"
MANY = 50


def known(ledger: Ledger) -> Workflow[Order]:
    """A, which both workers know."""
    wf = flow("A")

    @wf.step(Effect.CREATE, evidence="the ledger", name="MAKE_A")
    def make(step: Step[Order]) -> str:
        ledger.write("A", run=step.run_id)
        return "a"

    return wf


def new(ledger: Ledger) -> Workflow[Order]:
    """B, which only the new one knows."""
    wf = flow("B")

    @wf.step(Effect.CREATE, evidence="the ledger", name="MAKE_B")
    def make(step: Step[Order]) -> str:
        ledger.write("B", run=step.run_id)
        return "b"

    return wf


def old_code(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    return [known(ledger)]


def new_code(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    return [known(ledger), new(ledger)]


def code_that_cannot_be_imported(url: str, ledger: Ledger) -> list[Workflow[Any]]:
    raise ModuleNotFoundError("No module named 'carrier'")


def untouched(h: Harness, runs: list[Any]) -> bool:
    """No attempt was used up, nothing has failed, nobody holds it."""
    records = [h.record(run, "MAKE_B") for run in runs]
    return all((one.status, one.attempts, one.failures, one.lost) == ("PENDING", 0, 0, 0) for one in records)


def standing(h: Harness, workflows: list[Workflow[Any]]) -> Any:
    return next(group for group in h.app.control.impact(workflows) if group.type == "B")


def test_an_old_worker_leaves_alone_what_it_does_not_know(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B35: fifty runs of B; the old worker alone, then the new one beside it."""
    a, b = new_code(url, ledger)
    h = harness(a, b)
    runs = list(h.app.start_many(b, [Order(id=f"b{n}") for n in range(MANY)]))
    with Worker(f"{HERE}:old_code", url, ledger.path):
        others = [h.start(a, Order(id=f"a{n}")) for n in range(3)]
        until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in others), "the old worker works")
        assert untouched(h, runs)
        last = h.start(a, Order(id="last"))  # it has looked for work since
        until(lambda: h.status(last) is RunStatus.SUCCESS)
        assert untouched(h, runs)
        with Worker(f"{HERE}:new_code", url, ledger.path) as newer:
            until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs), "the new worker does all of it")
            epochs = {attempt.epoch for run in runs for attempt in h.attempts(run, "MAKE_B")}
            assert epochs == {newer.epoch}
    assert ledger.tally()["B"] == MANY
    assert set(ledger.tally("run").values()) == {1}
    all_is_well(h, *runs, *others, last)


def test_what_nobody_knows_is_seen_and_stays(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B35: nobody ever knows B."""
    a, b = new_code(url, ledger)
    h = harness(a, b)
    runs = [h.start(b, Order(id=f"b{n}")) for n in range(3)]
    with Worker(f"{HERE}:old_code", url, ledger.path):
        other = h.start(a, Order(id="a"))
        until(lambda: h.status(other) is RunStatus.SUCCESS)
        assert untouched(h, runs)
    group = standing(h, old_code(url, ledger))
    assert (group.affected.standing, sorted(group.runs)) == (Standing.BLOCKED, sorted(run.id for run in runs))
    assert [told.gap for told in group.affected.lacking[0].differences] == [Gap.NO_WORKFLOW]
    assert {work.step for work in h.app.control.ready()} == {"MAKE_B"}
    assert [h.status(run) for run in runs] == [RunStatus.PENDING] * 3
    all_is_well(h, *runs)


def test_code_that_cannot_be_imported_takes_nothing(harness: type[Harness], url: str, ledger: Ledger) -> None:
    """B35: the new worker knows B, but its import fails; the old one goes on meanwhile."""
    a, b = new_code(url, ledger)
    h = harness(a, b)
    runs = [h.start(b, Order(id=f"b{n}")) for n in range(3)]
    with Worker(f"{HERE}:old_code", url, ledger.path):
        with Worker(f"{HERE}:code_that_cannot_be_imported", url, ledger.path, ready=False) as broken:
            assert broken.wait() != 0
            assert "No module named 'carrier'" in broken.errors()
        other = h.start(a, Order(id="a"))
        until(lambda: h.status(other) is RunStatus.SUCCESS)
        assert untouched(h, runs)
        with Worker(f"{HERE}:new_code", url, ledger.path):
            until(lambda: all(h.status(run) is RunStatus.SUCCESS for run in runs))
    assert ledger.tally()["B"] == 3
    all_is_well(h, *runs, other)
