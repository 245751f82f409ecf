"""Starting a child run, or telling one that stands already that its parent wants it again, or wants it undone.

Each is a transaction of its own beside that of the attempt; done once more, it finds what it has done.
"""

from __future__ import annotations

from typing import Any, cast

from halfway.authoring.workflow import Workflow
from halfway.domain.children import NOTHING
from halfway.domain.draft import Audit, Draft
from halfway.domain.facts import CompensateAsked, Order, ResumeAsked
from halfway.domain.lifecycle import FINAL, RunStatus
from halfway.domain.run import Ended, Kind, Report
from halfway.engine.attempt import Running
from halfway.errors import Conflict, StepFailed
from halfway.ports import NewRun, Parent


def tell_child(running: Running) -> Report:
    """What the attempt of a child does: the run stands when this returns, and the record waits for its end."""
    undoing = running.record.kind is Kind.COMPENSATION
    run_id = running.pump.runs.child(running.run_id, running.record)
    if run_id is None:
        return Report(Ended.SUCCESS, code=NOTHING) if undoing else _start(running)
    if undoing:
        return Report(Ended.SUCCESS, code="" if _order(running, run_id, "compensate", CompensateAsked()) else NOTHING)
    if running.again:
        _order(running, run_id, "resume", ResumeAsked())
    return Report(Ended.SUCCESS)


def _start(running: Running) -> Report:
    child, item = cast("Workflow[Any]", running.handler.child), running.item
    assert item is not None
    input = child.parse(item.input)
    new = NewRun(
        id="", spec=child.spec, input=item.input, key=child.key_of(input), resource=child.resource_of(input),
        correlation_id=running.correlation_id, priority=running.priority, deadline_at=None, actor=f"run:{running.run_id}",
        parent=Parent(running.run_id, running.record, running.attempt), claims=child.claims_of(input),
    )  # fmt: skip
    try:
        [started] = running.pump.runs.create([new])
    except Conflict as error:
        if error.code == "CHILD_IS_ABOVE":  # another attempt would find the same
            raise StepFailed(str(error), code=error.code) from None
        raise
    if started.ready:
        running.pump.wake(started.ready)
    return Report(Ended.SUCCESS)


def _order(running: Running, run_id: str, action: str, order: Order) -> bool:
    """Whether the child goes on because of it; a child that does not take the order says by its state what it has come to."""
    with running.pump.runs.change(name="order") as tx:
        tx.lock([run_id], wait=True)
        loaded = tx.load([run_id])[run_id]
        run = loaded.snapshot.run
        if run.status not in FINAL or (action == "resume" and run.status is RunStatus.SUCCESS):
            return run.status not in FINAL
        spec = running.pump.runs.spec(run.hash)
        draft = Draft(spec, loaded.snapshot, tx.now, input=loaded.input, outputs=dict(loaded.outputs))
        reason = f"its parent, step {running.step_name} of run {running.run_id}"
        draft.audit = Audit(f"{running.key}#{running.attempt}:{action}", f"run:{running.run_id}", action, reason)
        try:
            draft.take(order)
        except Conflict:
            return False
        change = draft.change()
        if change is not None:
            tx.write([change])
    running.pump.wake(())
    return True
