"""Moving a run to a later version of its workflow: planned, checked, carried out and audited in one transaction (R-A2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

from halfway.authoring.failures import bounded
from halfway.authoring.redaction import redact
from halfway.authoring.workflow import Workflow
from halfway.control.actions import Carried, routes_of
from halfway.control.versions import PAGE, Versions
from halfway.domain.draft import Audit, Change, Draft
from halfway.domain.facts import LookAgain
from halfway.domain.lifecycle import RunStatus
from halfway.domain.moving import NOTES, Move, Problem, close_waits, plan_move, problem
from halfway.domain.run import Key, Snapshot
from halfway.domain.spec import WorkflowSpec
from halfway.errors import Conflict, HalfwayError, NotFound, Told
from halfway.ports import Detail, Loaded, Moved, Turn

Json = dict[str, Any]


class _Asked(NamedTuple):
    """An order to move, with what was read and made before its transaction."""

    spec: WorkflowSpec
    to: WorkflowSpec
    texts: Texts
    given_up: frozenset[str]
    audit: Audit
    plan: str | None


class Texts(NamedTuple):
    """What the author's functions make of a run: its input, and the outputs that get another shape."""

    input: str
    outputs: Mapping[str, str]
    problems: tuple[Problem, ...]

    @property
    def whole(self) -> str:
        return json.dumps([self.input, self.outputs], sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class MoveShown:
    """What moving a run would do; confirm it with its hash."""

    run: str
    type: str
    key: str | None
    status: RunStatus
    revision: int
    move: Move

    def to_json(self) -> Json:
        move = self.move
        return {
            "workflowRunId": self.run, "type": self.type, "idempotencyKey": self.key, "status": self.status.value,
            "revision": self.revision, "version": move.version, "toVersion": move.to, "kept": _pairs(move.kept),
            "outputMade": list(move.made),
            "goesOn": _pairs(move.begun), "waitsAnew": _pairs(move.waits), "leftBehind": list(move.left), "ahead": list(move.ahead),
            "problems": [
                {"code": one.code, "step": one.step or None, "settleFirst": one.passes, "message": str(one)} for one in move.problems
            ],
            "hash": move.hash if move.possible else None,
        }  # fmt: skip


class Moving(Versions):
    """The order to move a run, and its plan."""

    def plan_move(self, run: str, *, to: int | None = None) -> MoveShown:
        """What moving this run to a later version would do; `to`: which, by default the newest that takes it over. Changes nothing."""
        detail, spec, snapshot = self._read(self._reading.find(run))
        heir = self._heir(detail.run.type, detail.run.version, to)
        texts = _texts(heir, detail, plan_move(spec, heir.spec, snapshot))
        move = _with(plan_move(spec, heir.spec, snapshot, texts.whole, self._given_up(detail.run.id)), texts)
        row = detail.run
        return MoveShown(run=row.id, type=row.type, key=detail.key, status=row.status, revision=row.revision, move=move)

    def move(
        self, run: str, *, actor: str, reason: str, to: int | None = None, action_id: str | None = None, expected: int | None = None,
        plan: str | None = None,
    ) -> Carried:  # fmt: skip
        """Moves a run to a later version: what is done is kept, what is ahead is what the later version says (R-A2).

        Refused while anything of it is under way. Its id, key, journal and audit log stay, its input is kept as a former one.
        """
        audit = Audit(action_id or uuid4().hex, self._signed(actor, reason), "move", redact(reason))
        run_id = self._reading.find(run)
        with self._refusals(run_id, audit, action_id):
            detail, spec, snapshot = self._read(run_id)
            heir = self._heir(detail.run.type, detail.run.version, to)
            self._allow(audit.actor, "move", None, spec, snapshot)
            if expected is not None and expected != detail.run.revision:
                raise _stale(run_id, expected, detail.run.revision)
            texts = _texts(heir, detail, plan_move(spec, heir.spec, snapshot))
            given_up = self._given_up(run_id)
            self._runs.register([heir.spec])  # no worker with this code may have been here yet
            with self._runs.change(name="move") as tx:
                tx.lock([run_id], wait=True)
                loaded = tx.load([run_id])[run_id]
                if loaded.snapshot.run.revision != detail.run.revision:
                    raise _stale(run_id, detail.run.revision, loaded.snapshot.run.revision)
                draft = _carry_over(tx, loaded, _Asked(spec, heir.spec, texts, given_up, audit, plan))
        self._wake(routes_of(draft))
        after = draft.snapshot.run
        return Carried(run_id, "move", detail.run.status, after.status, after.revision, audit.action_id)

    # ── parts ──

    def _read(self, run_id: str) -> tuple[Detail, WorkflowSpec, Snapshot]:
        detail = self._reading.detail(run_id, items=True)
        snapshot = Snapshot(detail.run, {one.record.key: one.record for one in detail.records})
        return detail, self._runs.spec(detail.run.hash), snapshot

    def _given_up(self, run_id: str) -> frozenset[str]:
        """The names that steps of this run had before it was moved, and have no longer."""
        found: set[str] = set()
        after = 0
        while page := self._reading.journal(run_id, after_seq=after, limit=PAGE):
            for told in (json.loads(row.data or "{}") for row in page if row.name == "workflow.moved"):
                found.update(told["left"], (former for former, now in told["steps"].items() if former != now))
            after = page[-1].seq
        return frozenset(found)

    def _heir(self, type: str, version: int, to: int | None) -> Workflow[Any]:
        """The version here that takes over runs of this one."""
        here = {number: workflow for (name, number), workflow in self._workflows.items() if name == type}
        if not here:
            raise NotFound("WORKFLOW_UNKNOWN", workflow=type, known=", ".join(sorted({name for name, _ in self._workflows})) or "none")
        if to is not None and to not in here:
            raise NotFound("VERSION_UNKNOWN", workflow=type, version=to, known=", ".join(map(str, sorted(here))))
        heirs = [number for number, workflow in here.items() if version in workflow.takeovers]
        return here[to if to is not None else max(heirs, default=max(here))]


def _carry_over(tx: Turn, loaded: Loaded, asked: _Asked) -> Draft:
    """The definition changes between two decisions: what waits is closed under the one, what can start begins under the other."""
    snapshot, to, texts = loaded.snapshot, asked.to, asked.texts
    run_id, revision = snapshot.run.id, snapshot.run.revision
    move = _with(plan_move(asked.spec, to, snapshot, texts.whole, asked.given_up), texts)
    if asked.plan is not None and move.hash != asked.plan:
        raise Conflict("PLAN_OUTDATED", run=run_id, plan=asked.plan, command=f"halfway move {run_id} --dry-run")
    _refuse_problems(run_id, move)
    closed = close_waits(asked.spec, snapshot, tx.now)
    if closed:
        tx.write([Change(snapshot, closed)])
        revision += 1
    told = {"from": move.version, "to": move.to, "definition": to.hash[:12], "steps": dict(move.names), "left": list(move.left)}
    moved = Moved(run_id, revision, move.version, to, texts.input, move.names, move.dropped, texts.outputs, json.dumps(told))
    tx.moves.move(moved)
    now = tx.load([run_id])[run_id]
    draft = Draft(to, now.snapshot, tx.now, input=now.input, outputs=dict(now.outputs))
    draft.audit = asked.audit._replace(before=snapshot.run.status)
    draft.take(LookAgain())
    change = draft.change()
    if change is not None:
        tx.write([change])
    return draft


def _texts(heir: Workflow[Any], detail: Detail, move: Move) -> Texts:
    """Asks the author's functions, outside any transaction; what they refuse is a problem of the plan."""
    takeover = heir.takeovers.get(detail.run.version)
    if takeover is None or any(one.code == "OTHER_INPUT" for one in move.problems):
        return Texts("", {}, ())
    try:
        input = takeover.input_for(detail.input)
        text, problems = heir.encode(input), list(_other_case(heir, detail, input))
    except Exception as error:  # the author's own
        return Texts("", {}, (_problem("INPUT_REFUSED", move, "", error),))
    outputs: dict[str, str] = {}
    known = {one.record.key: one.output for one in detail.records}
    for former, name in move.kept:
        if name in move.made:
            try:
                outputs[name] = takeover.output_for(name, known.get(Key(former)) or "null")
            except Exception as error:  # the author's own
                problems.append(_problem("OUTPUT_REFUSED", move, name, error))
    return Texts(text, outputs, tuple(problems))


def _other_case(heir: Workflow[Any], detail: Detail, input: object) -> Iterator[Problem]:
    """A run stays about the same business case: a start for that must go on finding it."""
    key, run = heir.key_of(input), detail.run
    if detail.key is not None and key != detail.key and not detail.key.startswith(f"{key}#"):
        yield problem("OTHER_KEY", to=heir.version, key=key, former=detail.key)
    if heir.resource_of(input) != run.resource:
        yield problem("OTHER_RESOURCE", to=heir.version, resource=heir.resource_of(input), former=run.resource)


def _problem(code: str, move: Move, step: str, error: Exception) -> Problem:
    told = str(error) if isinstance(error, HalfwayError) else f"{type(error).__name__}: {error}"
    return problem(code, step, version=move.version, to=move.to, problem=bounded(redact(told), 500))


def _with(move: Move, texts: Texts) -> Move:
    return replace(move, problems=(*move.problems, *texts.problems))


def _refuse_problems(run_id: str, move: Move) -> None:
    if move.problems:
        told = Told((NOTES[one.code], dict(one.params)) for one in move.problems)
        remedy = f"See all of it with: halfway move {run_id} --dry-run"
        raise Conflict("ACTION_REFUSED", action="move", run=run_id, problem=told, remedy=remedy)


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[Json]:
    return [{"step": name, "was": former} for former, name in pairs]


def _stale(run_id: str, expected: int, actual: int) -> Conflict:
    return Conflict("REVISION_STALE", run=run_id, expected=expected, actual=actual)
