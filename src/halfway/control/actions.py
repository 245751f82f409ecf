"""Orders of a person or program: checked, decided, stored and audited in one transaction (R-D8)."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from halfway.authoring.redaction import redact
from halfway.authoring.steps import Handler
from halfway.authoring.values import decode, encode
from halfway.authoring.workflow import Workflow
from halfway.control.access import Can, Demand, Members, by_roles, checked, everyone
from halfway.control.shown import json_text, what_is_shown
from halfway.domain.draft import Audit, Draft, Payload
from halfway.domain.facts import (
    Approved,
    CancelAsked,
    CompensateAsked,
    MarkedSuccess,
    Order,
    ProbeAsked,
    Rejected,
    ReleaseAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
)
from halfway.domain.items import are_under_way
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.plan import plan
from halfway.domain.run import Key, Kind, Record, Snapshot, meant
from halfway.domain.spec import WorkflowSpec
from halfway.domain.waits import is_gate
from halfway.errors import Conflict, InvalidInput, NotAllowed, NotFound
from halfway.ports import Attention, GuardFailed, Reading, RunStore, Turn

MARKABLE = (RecordStatus.UNKNOWN, RecordStatus.FAILED, RecordStatus.WAITING)


class Carried(NamedTuple):
    """What an order did: the run's state before and after."""

    run_id: str
    action: str
    before: RunStatus
    after: RunStatus
    revision: int
    action_id: str


class Request(NamedTuple):
    """An order as a person gives it."""

    action: str
    order: Order
    actor: str
    reason: str
    step: str | None = None
    evidence: str | None = None
    output: str | None = None  # JSON, for mark-success
    new_input: str | None = None  # JSON
    seen: str | None = None  # the hash of what the person was shown
    action_id: str | None = None
    expected: int | None = None  # the run's revision when the person looked
    plan: str | None = None  # the hash of the plan that the person confirms


class Actions:
    """Everything that can be ordered about one run. Each needs a reason; each is refused with the reason why when it does not apply.

    `action_id`: the caller's own id; a second order with it changes nothing. `expected`: the revision of the run that the caller has
    seen. `plan`: the hash of a plan; the order is refused if the run has moved since.
    """

    def __init__(
        self, runs: RunStore, reading: Reading, attention: Attention, *, workflows: Iterable[Workflow[Any]] = (),
        wake: Callable[[tuple[str, ...]], None], can: Can | None = None, members: Members | None = None,
    ) -> None:  # fmt: skip
        self._runs = runs
        self._reading = reading
        self._attention = attention
        self._workflows = {(workflow.name, workflow.version): workflow for workflow in workflows}
        self._handlers: Mapping[str, Handler] = {
            step.code: workflow.handlers[step.name] for workflow in self._workflows.values() for step in workflow.spec.steps
        }
        self._wake = wake
        self._members = checked(members)
        self._can = can or (everyone if self._members is None else by_roles(self._members))

    def resume(
        self, run: str, *, actor: str, reason: str, action_id: str | None = None, expected: int | None = None, plan: str | None = None
    ) -> Carried:
        """Checks what the run builds on, then goes on with what stopped it. Nothing that is done runs again (R-B6, R-J6)."""
        return self.order(run, Request("resume", ResumeAsked(), actor, reason, action_id=action_id, expected=expected, plan=plan))

    def retry(
        self, run: str, step: str, *, actor: str, reason: str, not_happened: bool = False, gone: bool = False, evidence: str | None = None,
        input: str | None = None, action_id: str | None = None, expected: int | None = None, plan: str | None = None,
    ) -> Carried:  # fmt: skip
        """Gives one failed step its attempts anew; `not_happened` settles an UNKNOWN step by a person's word and evidence.

        input: a corrected input of the run, as JSON; the former one is kept. Its business key must stay the same.
        """
        if not_happened:
            _need("evidence", evidence, "Say what you saw at the receiver that proves that it did not happen.")
        order = RetryAsked(step, not_happened, gone, input is not None)
        action = "settle" if not_happened else "retry" if input is None else "retry-input"
        return self.order(
            run, Request(action, order, actor, reason, step=step, evidence=evidence, new_input=input, action_id=action_id,
                         expected=expected, plan=plan)
        )  # fmt: skip

    def mark_success(
        self, run: str, step: str, *, actor: str, reason: str, evidence: str, output: str = "null", action_id: str | None = None,
        expected: int | None = None, plan: str | None = None,
    ) -> Carried:  # fmt: skip
        """A person has seen that the step's effect happened; `output` is the JSON that later steps will read."""
        _need("evidence", evidence, "Say what you saw at the receiver: an id, a log entry, a record.")
        return self.order(
            run, Request("mark-success", MarkedSuccess(step), actor, reason, step=step, evidence=evidence, output=output,
                         action_id=action_id, expected=expected, plan=plan)
        )  # fmt: skip

    def cancel(
        self, run: str, *, actor: str, reason: str, undo: bool = False, action_id: str | None = None, expected: int | None = None,
        plan: str | None = None,
    ) -> Carried:  # fmt: skip
        """Asks the run to stop at the next safe boundary. What is done stays done (R-B9), unless `undo` asks for its compensation."""
        order = CancelAsked(undo)
        return self.order(run, Request("cancel", order, actor, reason, action_id=action_id, expected=expected, plan=plan))

    def probe(self, run: str, step: str, *, actor: str, reason: str, action_id: str | None = None, expected: int | None = None) -> Carried:
        """Has the outside world asked now whether an UNKNOWN step happened, or what a wait waits for."""
        return self.order(run, Request("probe", ProbeAsked(step), actor, reason, step=step, action_id=action_id, expected=expected))

    def skip(
        self, run: str, step: str, *, actor: str, reason: str, action_id: str | None = None, expected: int | None = None,
        plan: str | None = None,
    ) -> Carried:  # fmt: skip
        """Goes on without a step that failed or waits; of a compensation: accepts what happened as it is."""
        order = SkipAsked(step)
        return self.order(run, Request("skip", order, actor, reason, step=step, action_id=action_id, expected=expected, plan=plan))

    def compensate(
        self, run: str, *, actor: str, reason: str, step: str | None = None, action_id: str | None = None, expected: int | None = None,
        plan: str | None = None,
    ) -> Carried:  # fmt: skip
        """Undoes what is done, in reverse order: all of it, or from one step back (R-D3)."""
        order = CompensateAsked(step)
        return self.order(run, Request("compensate", order, actor, reason, step=step, action_id=action_id, expected=expected, plan=plan))

    def approve(
        self, run: str, step: str, *, actor: str, reason: str, seen: str | None = None, action_id: str | None = None,
        expected: int | None = None,
    ) -> Carried:  # fmt: skip
        """A person says yes to what this step shows, or to its next attempt. `seen`: the hash of what was shown (R-C4)."""
        order = Approved(step, actor)
        return self.order(run, Request("approve", order, actor, reason, step=step, seen=seen, action_id=action_id, expected=expected))

    def reject(
        self, run: str, step: str, *, actor: str, reason: str, seen: str | None = None, action_id: str | None = None,
        expected: int | None = None,
    ) -> Carried:  # fmt: skip
        """A person says no. What then follows is the step's own policy."""
        order = Rejected(step, actor)
        return self.order(run, Request("reject", order, actor, reason, step=step, seen=seen, action_id=action_id, expected=expected))

    def release(
        self, run: str, step: str, *, actor: str, reason: str, evidence: str, action_id: str | None = None, expected: int | None = None
    ) -> Carried:
        """The owner opens the business record that an UNKNOWN step holds, for other runs (R-J2). The step stays UNKNOWN."""
        _need("evidence", evidence, "Say what you saw that makes it safe for others to change the record.")
        order = ReleaseAsked(step)
        return self.order(
            run, Request("release", order, actor, reason, step=step, evidence=evidence, action_id=action_id, expected=expected)
        )

    def order(self, run: str, request: Request) -> Carried:
        """Carries out an order, or refuses it; both are audited, and a refusal changes nothing else (R-D8)."""
        actor, order = self._signed(request.actor, request.reason), request.order
        if isinstance(order, (Approved, Rejected)):
            order = order._replace(by=actor)
        request = request._replace(actor=actor, order=order)
        run_id = self._reading.find(run)
        evidence = None if request.evidence is None else redact(request.evidence)
        audit = Audit(request.action_id or uuid4().hex, request.actor, request.action, redact(request.reason), request.step, evidence)
        with self._refusals(run_id, audit, request.action_id), self._runs.change(name="order") as tx:
            if run_id not in tx.lock([run_id], wait=True):
                self._reading.detail(run_id)  # says what has become of it
                raise NotFound("RUN_UNKNOWN", run=run)
            carried, routes = self._carry_out(tx, run_id, request, audit)
        self._wake(routes)
        return carried

    def _signed(self, actor: str, reason: str) -> str:
        """Who orders it; everybody has a name, and a reason."""
        _need("reason", reason, "Say why; it is kept in the audit log.")
        _need("actor", actor, "Say who orders it.")
        return actor.strip()

    @contextmanager
    def _refusals(self, run_id: str, audit: Audit, action_id: str | None) -> Generator[None]:
        """An order that is refused is kept with the reason, once its own transaction is over."""
        try:
            yield
        except (Conflict, NotAllowed, InvalidInput) as refused:
            if self._was_carried_out(run_id, action_id):
                raise Conflict("ACTION_REPEATED", action_id=action_id, run=run_id) from None
            if refused.code != "ACTION_REPEATED":
                self._runs.refuse(run_id, audit._replace(refused=str(refused)))
            raise

    def _was_carried_out(self, run_id: str, action_id: str | None) -> bool:
        """Whether an order with this id has moved the run before, so that it does not apply any more."""
        if action_id is None:
            return False
        return any(row.audit.action_id == action_id and not row.audit.refused for row in self._reading.audit(run_id))

    def _carry_out(self, tx: Turn, run_id: str, request: Request, audit: Audit) -> tuple[Carried, tuple[str, ...]]:
        loaded = tx.load([run_id])[run_id]
        snapshot, spec = loaded.snapshot, self._runs.spec(loaded.snapshot.run.hash)
        snapshot = _with_items(tx, spec, snapshot, request.step)
        self._allow(request.actor, request.action, request.step, spec, snapshot)
        if request.expected is not None and request.expected != snapshot.run.revision:
            raise Conflict("REVISION_STALE", run=run_id, expected=request.expected, actual=snapshot.run.revision)
        if request.plan is not None and plan(spec, snapshot, request.order, tx.now).hash != request.plan:
            command = f"halfway plan {run_id} {request.action}" + (f" {request.step}" if request.step else "")
            raise Conflict("PLAN_OUTDATED", run=run_id, plan=request.plan, command=command)
        if isinstance(request.order, (Approved, Rejected)):
            audit = audit._replace(evidence=self._shown(run_id, spec, request))
        draft = Draft(spec, snapshot, tx.now, input=loaded.input, outputs=dict(loaded.outputs))
        draft.audit = audit
        self._bring(draft, request, tx.now)
        draft.take(request.order)
        change = draft.change()
        if change is not None:
            try:
                tx.write([change])
            except GuardFailed:  # the run is locked, so only the guard of a reopening can have refused
                later = "a later run stands under its key."
                raise Conflict("ACTION_REFUSED", action=request.action, run=run_id, problem=later, remedy="Work with that one.") from None
        after = draft.snapshot.run
        return Carried(run_id, request.action, snapshot.run.status, after.status, after.revision, audit.action_id), routes_of(draft)

    def _allow(self, actor: str, action: str, step: str | None, spec: WorkflowSpec, snapshot: Snapshot) -> None:
        demand = demand_of(spec, snapshot, step)
        if not self._can(actor, action, demand):
            remedy = f"Ask somebody who holds the role {demand.role}."
            raise NotAllowed("NOT_ALLOWED", actor=actor, action=action, run=snapshot.run.id, remedy=remedy)

    def _shown(self, run_id: str, spec: WorkflowSpec, request: Request) -> str | None:
        """For the audit log, by its hash: what stood there when the person decided. It must be what the person saw, if that is said."""
        now = self.shown_hash(run_id, spec, request.step or "")
        if request.seen is not None and now is not None and now != request.seen:
            raise Conflict("APPROVAL_OUTDATED", run=run_id, step=request.step, seen=request.seen)
        return None if now is None else f"shown {now}"

    def shown_hash(self, run_id: str, spec: WorkflowSpec, step: str) -> str | None:
        """The hash of what a person is shown about this step; None if nobody is asked to approve it."""
        detail = self._reading.detail(run_id)
        record = meant({one.record.key: one.record for one in detail.records}, step)
        if record is not None and is_gate(record):
            return what_is_shown(spec, detail, record)[1]
        waits = [wait for wait in self._attention.waits(run_id) if wait.key.step == step and wait.closed_at is None]
        return waits[-1].wait_key if waits else None

    def _bring(self, draft: Draft, request: Request, now: int) -> None:
        """What the order brings with it: an output, an approval, an input."""
        if request.step is None:
            return
        record = meant(draft.before.records, request.step)
        key = Key(request.step) if record is None else record.key
        undo = record is not None and record.key.kind is Kind.COMPENSATION
        wanted = record is not None and record.status in MARKABLE  # a person who vouches for a result gives no other
        items = [other for other in draft.before.records if other.item and other.whole == key]
        if request.output is not None and not undo and wanted and (items or draft.spec.by_name[key.step].fan is None):
            payload = Payload(self._checked(draft.spec, request.step, request.output))
            draft.payloads.update(dict.fromkeys(items or [key], payload))
        if isinstance(request.order, Approved) and record is not None and not undo:
            draft.payloads[key] = Payload(_approval(request, record, now))
        if request.new_input is not None:
            draft.new_input = self._new_input(draft, request.new_input)

    def _checked(self, spec: WorkflowSpec, name: str, output: str) -> str:
        """The output a person gives is one that the step could have given."""
        step = spec.by_name.get(name)
        handler = None if step is None else self._handlers.get(step.code)
        if handler is not None:
            return encode(handler.output_adapter, decode(handler.output_adapter, output, what=f"output of {name}"))
        return json_text(output, f"output of {name}")

    def _new_input(self, draft: Draft, text: str) -> str:
        """A corrected input is of the workflow's type, and still about the same business case."""
        run = draft.before.run
        workflow = self._workflows.get((run.type, run.version))
        if workflow is None:
            problem = "the code of the workflow is not here, so it cannot be checked."
            raise InvalidInput("CONFIG_INVALID", source="of the new input", problem=problem, remedy="Name the app: --app module:name.")
        input = workflow.parse(text)
        former = workflow.key_of(workflow.parse(draft.input))
        if workflow.key_of(input) != former:
            problem = f"its key is {workflow.key_of(input)}, and this run stands under {former}."
            remedy = "Cancel this run and start another."
            raise Conflict("ACTION_REFUSED", action="retry --input", run=run.id, problem=problem, remedy=remedy)
        if workflow.resource_of(input) != run.resource:
            problem = f"its resource is {workflow.resource_of(input)}, and this run holds {run.resource}."
            remedy = "Cancel this run and start another."
            raise Conflict("ACTION_REFUSED", action="retry --input", run=run.id, problem=problem, remedy=remedy)
        if workflow.claims_of(input) != workflow.claims_of(workflow.parse(draft.input)):
            problem = "its concurrency key is another one, and this run has its place under the former."
            remedy = "Cancel this run and start another."
            raise Conflict("ACTION_REFUSED", action="retry --input", run=run.id, problem=problem, remedy=remedy)
        return workflow.encode(input)


def _with_items(tx: Turn, spec: WorkflowSpec, snapshot: Snapshot, step: str | None) -> Snapshot:
    """An order about a step that is done for many is about those of its items that ask."""
    record = meant(snapshot.records, step) if spec.fans and step is not None else None
    asking = tx.items.asking(snapshot.run.id, record.key) if record is not None and are_under_way(record) else ()
    if not asking:
        return snapshot
    loaded = tx.items.load(asking)[snapshot.run.id].records
    return Snapshot(snapshot.run, {**snapshot.records, **loaded})


def demand_of(spec: WorkflowSpec, snapshot: Snapshot, step: str | None) -> Demand:
    """What an order is about, as far as permissions are concerned."""
    record = None if step is None else meant(snapshot.records, step)
    role = spec.owner
    if record is not None:
        role = record.asks or spec.decides(spec.unit(record.key))
    elif step is not None and step in spec.by_name:
        role = spec.decides(spec.by_name[step])
    return Demand(snapshot.run.id, spec.type, spec.owner, step, role)


def _approval(request: Request, record: Record, now: int) -> str:
    at = datetime.fromtimestamp(now / 1e6, UTC)
    approvers = [*record.approved_by, request.actor]
    return json.dumps({"by": request.actor, "reason": request.reason, "at": at.isoformat(), "approvers": approvers})


def _need(what: str, given: Any, remedy: str) -> None:
    if not (isinstance(given, str) and given.strip()):
        raise InvalidInput("CONFIG_INVALID", source=f"of the action: {what}", problem="it is empty.", remedy=remedy)


def routes_of(draft: Draft) -> tuple[str, ...]:
    """Under which routes this run has work now."""
    spec, snapshot = draft.spec, draft.snapshot
    return tuple({spec.by_name[record.key.step].route for record in ready(snapshot)})


def ready(snapshot: Snapshot) -> list[Record]:
    """Records that wait for a slot."""
    return [record for record in snapshot.records.values() if record.status == "PENDING" and record.ready_at is not None]
