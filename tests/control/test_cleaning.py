"""Deleting what is old as an order: permitted, audited, and a program still knows how its runs ended (R-F6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from halfway import Effect, Event, Retention, RunStatus, Step, Then, Workflow
from halfway.control.cleaning import Policy, Progress, cleanup, parts
from halfway.errors import InvalidInput, NotAllowed, NotFound
from halfway.ports import Old
from tests.engine.harness import Calls, Harness, Order, flow, until

Make = Callable[..., Harness]
DAY = 24 * 3600.0
KEPT = Retention(history=timedelta(days=30), keys=timedelta(days=365))


def works(calls: Calls | None = None, **options: Any) -> Workflow[Order]:
    wf = flow(retention=options.pop("retention", KEPT), **options)

    @wf.step(Effect.CREATE, idempotent=True)
    def only(step: Step[Order]) -> str:
        if calls is not None:
            calls.add("only")
        return f"made {step.input.id}"

    return wf


def clean(h: Harness, **options: Any) -> Any:
    return h.app.control.cleaning.run(**{"actor": "kim", "reason": "retention", **options})


def test_a_program_is_answered_how_a_run_ended_whose_history_was_deleted(harness: Make) -> None:
    calls, wf = Calls(), flow(retention=KEPT)

    @wf.step(Effect.CREATE, idempotent=True)
    def only(step: Step[Order]) -> str:
        calls.add("only")
        return f"made {step.input.id}"

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.output(only) == "made o1"
    h.advance(31 * DAY)
    assert clean(h).deleted["runs"] == 1
    again = h.start(wf, Order())
    assert (again.id, again.created, again.status, again.forgotten) == (run.id, False, RunStatus.SUCCESS, True)
    assert (again.input, again.key) == (Order(), "o1")
    for known in (run, again):
        assert h.app.result(known, timeout=timedelta(seconds=5)).status is RunStatus.SUCCESS
    with pytest.raises(NotFound, match="history of the run was deleted"):
        again.output(only)
    with pytest.raises(NotFound, match="ended SUCCESS at"):
        h.app.get(wf, run.id)
    second = h.run(wf, Order(), again="it is wanted again")
    assert (second.status, second.key) == (RunStatus.SUCCESS, "o1#2")
    assert calls.count("only") == 2


def test_a_run_that_is_gone_can_be_looked_up_but_not_ordered_about(harness: Make) -> None:
    wf = works()
    h = harness(wf)
    run = h.run(wf, Order())
    h.advance(31 * DAY)
    clean(h)
    control = h.app.control
    asks: tuple[Callable[[], object], ...] = (
        lambda: control.show(run.id), lambda: control.seen(run.id, "ONLY"), lambda: control.cancel(run.id, actor="kim", reason="x"),
    )  # fmt: skip
    for ask in asks:
        with pytest.raises(NotFound) as caught:
            ask()
        assert caught.value.code == "RUN_GONE"
    gone = control.gone("o1")
    assert gone is not None
    assert gone.code == "RUN_GONE"
    assert (control.gone("nobody"), control.runs()) == (None, ())


def test_who_ordered_it_is_kept_before_anything_is_deleted(harness: Make) -> None:
    wf = works()
    h = harness(wf)
    h.run(wf, Order())
    h.advance(31 * DAY)
    assert clean(h, dry_run=True).deleted == {"runs": 1}
    assert h.app.control.audit_log(action="cleanup") == ()
    clean(h, actor=" kim ", reason="every night")
    (line,) = h.app.control.audit_log(action="cleanup")
    assert (line["actorId"], line["reason"], line["workflowRunId"], line["before"]) == ("kim", "every night", "", None)
    assert '"history":2592000.0' in str(line["evidence"])
    for empty in ({"actor": " "}, {"reason": ""}):
        with pytest.raises(InvalidInput):
            clean(h, **empty)


def test_only_an_admin_deletes_what_is_old_and_the_owner_that_of_a_workflow(harness: Make) -> None:
    wf = works()
    h = harness(wf)
    h.app.roles = {"admin": ["root"], "operator": ["olga"], "owner": ["oskar"]}
    h.run(wf, Order())
    h.advance(31 * DAY)
    for actor, type in (("olga", None), ("olga", "FLOW"), ("oskar", None)):
        with pytest.raises(NotAllowed):
            clean(h, actor=actor, type=type)
    assert [bool(line["refused"]) for line in h.app.control.audit_log()] == [True] * 3
    assert clean(h, actor="oskar", type="FLOW").deleted["runs"] == 1
    assert clean(h, actor="root").deleted == {}


def test_nothing_is_deleted_where_nobody_said_how_long_it_is_kept(harness: Make) -> None:
    wf = works(retention=None)
    h = harness(wf)
    run = h.run(wf, Order())
    h.advance(3000 * DAY)
    assert clean(h).deleted == {}
    assert h.status(run) is RunStatus.SUCCESS


def test_an_application_deletes_no_runs_of_another_one(harness: Make) -> None:
    mine, other = works(name="MINE"), works(name="OTHER")
    first, second = harness(mine), harness(other)
    first.run(mine, Order())
    run = second.run(other, Order())
    first.advance(31 * DAY)
    assert clean(first).deleted["runs"] == 1
    assert second.status(run) is RunStatus.SUCCESS


def test_what_is_looked_at_is_told_and_it_can_be_stopped(harness: Make) -> None:
    wf = works()
    h = harness(wf)
    for number in range(3):
        h.run(wf, Order(id=f"o{number}"))
    h.advance(31 * DAY)
    told: list[Progress] = []
    assert clean(h, told=told.append, stop=lambda: True).stopped
    assert clean(h, told=told.append).deleted["runs"] == 3
    assert [one for one in told if one.what is Old.RUNS] == [Progress(Old.RUNS, 3, 3)]
    assert told[-1].what is Old.FILES


def test_a_batch_rests_as_long_as_it_took(harness: Make) -> None:
    wf = works()
    h = harness(wf)
    h.run(wf, Order())
    rests: list[float] = []
    cleanup(h.app.store.keeping, Policy(by_type={"FLOW": KEPT}), rest=rests.append)
    assert rests
    assert all(0 <= one <= 0.1 for one in rests)


def test_an_unused_event_stays_as_long_as_a_wait_may_look_back(harness: Make) -> None:
    wf = flow(retention=KEPT)

    @wf.wait_for(Event("PAID", Order), timeout=timedelta(days=1), on_timeout=Then.FAIL, look_back=timedelta(days=90))
    def paid(step: Step[Order]) -> str:
        return step.input.id

    h = harness(wf)
    h.app.retention = KEPT
    assert h.app.control.cleaning.policy.look_back == timedelta(days=90)
    h.app.send(Event("PAID", Order), Order(), key="o1", id="e-1")
    h.advance(31 * DAY)
    assert clean(h).kept == {"event": 1}
    assert h.run(wf, Order()).status is RunStatus.SUCCESS


def test_keys_follow_the_history_and_each_has_its_own_time() -> None:
    policy = Policy(default=KEPT, by_type={"A": Retention(history=timedelta(days=1)), "B": Retention(audit=timedelta(days=1))})
    found = [(part.what, part.cut.type) for part in parts(policy, None, 10**15)]
    assert found == [
        (Old.RUNS, "A"), (Old.REST, ""), (Old.EVENTS, ""), (Old.BATCHES, ""), (Old.AUDIT, "B"), (Old.EVENT_IDS, ""), (Old.FILES, ""),
    ]  # fmt: skip
    assert [part.what for part in parts(policy, ["C"], 10**15)] == [Old.RUNS, Old.REST, Old.KEYS, Old.TICKS]


def test_waiting_for_a_run_that_is_gone_ends_as_its_timeout_says(harness: Make) -> None:
    made, waits = works(), flow("WAITS")

    @waits.wait_for(made, timeout=timedelta(days=1), on_timeout=Then.FAIL)
    def until_made(step: Step[Order]) -> str:
        return step.input.id

    h = harness(made, waits)
    h.run(made, Order())
    h.advance(31 * DAY)
    clean(h)
    with h.worker():
        run = h.start(waits, Order())
        h.wait_for(run, "UNTIL_MADE", "WAITING")
        h.advance(1.1 * DAY)
        until(lambda: h.status(run) is RunStatus.FAILED)


def test_workers_go_on_beside_a_cleanup(harness: Make) -> None:
    calls = Calls()
    wf = works(calls)
    h = harness(wf)
    for number in range(60):
        h.start(wf, Order(id=f"old-{number}"))
    with h.worker():
        runs = [h.start(wf, Order(id=f"old-{number}")) for number in range(60)]
        for run in runs:
            h.app.result(run, timeout=timedelta(seconds=30))
        h.advance(31 * DAY)
        young = [h.start(wf, Order(id=f"young-{number}")) for number in range(60)]
        clean(h)  # beside the worker's own, which does the same every hour
        until(lambda: all(h.app.control.gone(run.id) for run in runs), "the old runs are deleted")
        for run in young:
            assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert calls.count("only") == 120
