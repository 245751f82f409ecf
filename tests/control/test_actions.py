"""Orders: audited with the change they make, refused with the reason why, carried out once."""

from __future__ import annotations

from typing import Any

import pytest

from halfway import Effect, Retry, RunStatus, Step, StepFailed, Workflow
from halfway.control.actions import Actions
from halfway.errors import Conflict, InvalidInput, NotAllowed, NotFound
from tests.engine.harness import Harness, Order, flow


def failing() -> Workflow[Order]:
    wf = flow()

    @wf.step(Effect.READ, retry=Retry(1))
    def only(step: Step[Order]) -> str:
        raise StepFailed("no")

    return wf


def failed(harness: type[Harness]) -> tuple[Harness, Any]:
    wf = failing()
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.FAILED
    return h, run


def test_an_order_without_a_reason_is_refused_and_changes_nothing(harness: type[Harness]) -> None:
    h, run = failed(harness)
    for reason in ("", "  "):
        with pytest.raises(InvalidInput, match="reason"):
            h.app.control.resume(run.id, actor="kim", reason=reason)
    with pytest.raises(InvalidInput, match="evidence"):
        h.app.control.mark_success(run.id, "ONLY", actor="kim", reason="seen", evidence="")
    assert h.app.store.reading.audit(run.id) == []
    assert h.status(run) is RunStatus.FAILED


def test_an_action_id_is_carried_out_once(harness: type[Harness]) -> None:
    h, run = failed(harness)
    h.app.control.mark_success(run.id, "ONLY", actor="kim", reason="seen", evidence="log", output='"x"', action_id="a-1")
    wf = h.app._workflow_of(run)
    other = h.run(wf, Order(id="other"))
    with pytest.raises(Conflict, match="already carried out"):
        h.app.control.resume(other.id, actor="kim", reason="again", action_id="a-1")
    assert h.status(other) is RunStatus.FAILED


def test_a_refused_order_changes_nothing_and_is_audited_as_refused(harness: type[Harness]) -> None:
    h, run = failed(harness)
    with pytest.raises(Conflict, match="not UNKNOWN"):
        h.app.control.retry(run.id, "ONLY", actor="kim", reason="x", not_happened=True, evidence="log")
    with pytest.raises(NotFound, match="NO_SUCH"):
        h.app.control.retry(run.id, "NO_SUCH", actor="kim", reason="x")
    with pytest.raises(Conflict, match="revision"):
        h.app.control.resume(run.id, actor="kim", reason="x", expected=1)
    with pytest.raises(NotFound, match="no-such-run"):
        h.app.control.resume("no-such-run", actor="kim", reason="x")
    rows = h.app.store.reading.audit(run.id)
    assert [(row.audit.action, row.before, row.after) for row in rows] == [
        ("settle", RunStatus.FAILED, RunStatus.FAILED),
        ("resume", RunStatus.FAILED, RunStatus.FAILED),
    ]
    assert all(row.audit.refused for row in rows)
    assert h.status(run) is RunStatus.FAILED


def test_what_is_carried_out_is_not_marked_as_refused(harness: type[Harness]) -> None:
    h, run = failed(harness)
    h.app.control.resume(run.id, actor="kim", reason="x")
    assert [row.audit.refused for row in h.app.store.reading.audit(run.id)] == [None]


def test_who_may_not_act_does_not(harness: type[Harness]) -> None:
    h, run = failed(harness)
    store = h.app.store
    guarded = Actions(
        store.runs, store.reading, store.attention, wake=lambda routes: None, can=lambda actor, action, about: actor == "owner"
    )
    with pytest.raises(NotAllowed, match="kim"):
        guarded.resume(run.id, actor="kim", reason="x")
    assert guarded.resume(run.id, actor="owner", reason="x").after is RunStatus.RUNNING


def test_the_audit_tells_before_and_after(harness: type[Harness]) -> None:
    h, run = failed(harness)
    done = h.app.control.mark_success(run.id, "ONLY", actor="kim", reason="it is there", evidence="row 7", output='"x"')
    [row] = h.app.store.reading.audit(run.id)
    assert (row.before, row.after) == (RunStatus.FAILED, RunStatus.SUCCESS) == (done.before, done.after)
    assert (row.audit.actor, row.audit.action, row.audit.step, row.audit.evidence) == ("kim", "mark-success", "ONLY", "row 7")


def test_a_run_is_not_reopened_once_a_later_one_stands_under_its_key(harness: type[Harness]) -> None:
    h, run = failed(harness)
    wf = h.app._workflow_of(run)
    again = h.start(wf, Order(), again="the customer asked")
    assert again.key == "o1#2"
    with pytest.raises(Conflict, match="later run"):
        h.app.control.resume(run.id, actor="kim", reason="x")
    assert h.status(run) is RunStatus.FAILED
    assert [row.audit.refused is not None for row in h.app.store.reading.audit(run.id)] == [True]


def test_a_second_run_is_refused_once_the_first_was_reopened(harness: type[Harness]) -> None:
    h, run = failed(harness)
    h.app.control.resume(run.id, actor="kim", reason="x")
    with pytest.raises(Conflict, match="not final"):
        h.start(h.app._workflow_of(run), Order(), again="the customer asked")
