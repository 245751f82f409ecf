"""Orders of a person or program: checked, decided, stored and audited in one transaction (R-D8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from halfway.authoring.steps import Handler
from halfway.authoring.values import decode
from halfway.domain.draft import Audit, Draft, Payload
from halfway.domain.facts import CancelAsked, MarkedSuccess, Order, ResumeAsked, RetryAsked
from halfway.domain.lifecycle import RunStatus
from halfway.domain.run import Key, Snapshot
from halfway.domain.spec import StepSpec
from halfway.errors import Conflict, InvalidInput, NotAllowed, NotFound
from halfway.ports import GuardFailed, Reading, RunStore

Can = Callable[[str, str, str], bool]  # (actor, action, run id)


class Carried(NamedTuple):
    """What an order did: the run's state before and after."""

    run_id: str
    action: str
    before: RunStatus
    after: RunStatus
    revision: int
    action_id: str


def everyone(actor: str, action: str, run_id: str) -> bool:
    """The default: whoever reaches the database may act."""
    return True


class Actions:
    """Resume, retry, mark success and cancel. Each needs a reason; each is refused with the reason why when it does not apply."""

    def __init__(
        self,
        runs: RunStore,
        reading: Reading,
        handlers: Mapping[str, Handler],
        wake: Callable[[tuple[str, ...]], None],
        can: Can = everyone,
    ) -> None:
        self._runs = runs
        self._reading = reading
        self._handlers = handlers
        self._wake = wake
        self._can = can

    def resume(self, run: str, *, actor: str, reason: str, action_id: str | None = None, expected: int | None = None) -> Carried:
        """Checks what the run builds on, then goes on with what stopped it. Nothing that is done runs again (R-B6, R-J6)."""
        return self._carry_out(run, "resume", ResumeAsked(), actor, reason, action_id=action_id, expected=expected)

    def retry(
        self, run: str, step: str, *, actor: str, reason: str, not_happened: bool = False, gone: bool = False, evidence: str | None = None,
        action_id: str | None = None, expected: int | None = None,
    ) -> Carried:  # fmt: skip
        """Gives one failed step its attempts anew; `not_happened` settles an UNKNOWN step by a person's word and evidence."""
        if not_happened:
            _need("evidence", evidence, "Say what you saw at the receiver that proves that it did not happen.")
        order = RetryAsked(step, not_happened, gone)
        return self._carry_out(run, "retry", order, actor, reason, step=step, evidence=evidence, action_id=action_id, expected=expected)

    def mark_success(
        self, run: str, step: str, *, actor: str, reason: str, evidence: str, output: str = "null", action_id: str | None = None,
        expected: int | None = None,
    ) -> Carried:  # fmt: skip
        """A person has seen that the step's effect happened; `output` is the JSON that later steps will read."""
        _need("evidence", evidence, "Say what you saw at the receiver: an id, a log entry, a record.")
        order = MarkedSuccess(step)
        return self._carry_out(
            run, "mark-success", order, actor, reason, step=step, evidence=evidence, output=output, action_id=action_id, expected=expected
        )

    def cancel(self, run: str, *, actor: str, reason: str, action_id: str | None = None, expected: int | None = None) -> Carried:
        """Asks the run to stop at the next safe boundary. What is done stays done (R-B9)."""
        return self._carry_out(run, "cancel", CancelAsked(), actor, reason, action_id=action_id, expected=expected)

    def _carry_out(
        self, run: str, action: str, order: Order, actor: str, reason: str, *, step: str | None = None, evidence: str | None = None,
        output: str | None = None, action_id: str | None = None, expected: int | None = None,
    ) -> Carried:  # fmt: skip
        _need("reason", reason, "Say why; it is kept in the audit log.")
        run_id = self._reading.find(run)
        if not self._can(actor, action, run_id):
            raise NotAllowed("NOT_ALLOWED", actor=actor, action=action, run=run_id, remedy="Ask somebody who holds the role.")
        audit = Audit(action_id or uuid4().hex, actor, action, reason, step, evidence)
        with self._runs.change(name="order") as tx:
            if run_id not in tx.lock([run_id], wait=True):
                raise NotFound("RUN_UNKNOWN", run=run)
            loaded = tx.load([run_id])[run_id]
            snapshot = loaded.snapshot
            if expected is not None and expected != snapshot.run.revision:
                raise Conflict("REVISION_STALE", run=run_id, expected=expected, actual=snapshot.run.revision)
            draft = Draft(self._runs.spec(snapshot.run.hash), snapshot, tx.now, input=loaded.input, outputs=dict(loaded.outputs))
            draft.audit = audit
            if step is not None and output is not None:
                draft.payloads[Key(step)] = Payload(self._checked(draft.spec.by_name.get(step), output))
            draft.take(order)
            change = draft.change()
            if change is not None:
                try:
                    tx.write([change])
                except GuardFailed:  # the run is locked, so only the guard of a reopening can have refused
                    later = "a later run stands under its key."
                    raise Conflict("ACTION_REFUSED", action=action, run=run_id, problem=later, remedy="Work with that one.") from None
        self._wake(_routes(draft))
        return Carried(run_id, action, snapshot.run.status, draft.snapshot.run.status, draft.snapshot.run.revision, audit.action_id)

    def _checked(self, step: StepSpec | None, output: str) -> str:
        """The output a person gives is one that the step could have given."""
        if step is None:
            return output  # decide names the unknown step
        handler = self._handlers.get(step.code)
        if handler is not None:
            decode(handler.output_adapter, output, what=f"output of {step.name}")
        return output


def _need(what: str, given: Any, remedy: str) -> None:
    if not (isinstance(given, str) and given.strip()):
        raise InvalidInput("CONFIG_INVALID", source=f"of the action: {what}", problem="it is empty.", remedy=remedy)


def _routes(draft: Draft) -> tuple[str, ...]:
    spec, snapshot = draft.spec, draft.snapshot
    return tuple({spec.by_name[record.key.step].route for record in ready(snapshot)})


def ready(snapshot: Snapshot) -> list[Any]:
    """Records that wait for a slot."""
    return [record for record in snapshot.records.values() if record.status == "PENDING" and record.ready_at is not None]
