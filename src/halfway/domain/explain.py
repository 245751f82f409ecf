"""Why a run stands where it stands, what is known of its effects, and what is safe next.

Pure: it reads what `decide` reads. Every order it suggests has been tried on `decide`, so none is refused. Sentences have a code and
parameters; the English text comes from `SENTENCES`, faces translate it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from halfway.domain.check import contract_of
from halfway.domain.decide import decide
from halfway.domain.facts import CancelAsked, MarkedSuccess, Order, ResumeAsked, RetryAsked
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import Attempt, Happened, Intent, Key, Kind, Record, Snapshot
from halfway.domain.spec import Sort, StepSpec, WorkflowSpec
from halfway.domain.turn import DEATHS, Turn
from halfway.errors import HalfwayError

SENTENCES: dict[str, str] = {
    # how far it got
    "NOT_STARTED": "Nothing has started yet; steps ahead: {total}.",
    "DONE_SO_FAR": "{done} of {total} steps are done.",
    "DONE_AND_AT": "{done} of {total} steps are done; it stands at {current}.",
    "ALL_DONE": "All steps are done: {total}.",
    # what is known of an effect
    "HAPPENED": "It happened.",
    "COMMITTED": "It happened: it is committed.",
    "HAPPENED_THEN_FAILED": "It happened, and then the step failed ({code}).",
    "DID_NOT_HAPPEN": "It did not happen.",
    "NOT_BEGUN": "It did not happen: nothing of it has begun.",
    "NOT_COMMITTED": "It did not happen: nothing of it is committed.",
    "UNDER_WAY": "Not known yet: attempt {n} is at it.",
    "BEING_REPEATED": "Not known yet: the answer of attempt {n} was lost, and the repeat with the same key will tell.",
    "NOT_KNOWN": "Nobody knows whether it happened: the answer of attempt {n} was lost ({code}).",
    # why it stands
    "FAILED": "Step {step} failed with {code}; attempts in all: {attempts}.",
    "FAILED_ASKS": "Step {step} failed with {code}; attempts in all: {attempts}. {role} decides how it goes on.",
    "POISON": "Step {step} was stopped: its worker died during it {deaths} times.",
    "IN_DOUBT": "Nobody knows whether {step} happened ({code}), and a machine must not repeat it. {role} decides.",
    "CHECK_FAILED": "The check before the resume could not confirm that the result of {step} still holds ({code}). {role} decides.",
    "CANCEL_ASKED": "It was asked to stop.",
    "DEADLINE_PASSED": "Its deadline has passed: {at}.",
    "TIMED_OUT": "It ran longer than a run of this workflow may.",
    "ENGINE_ERROR": "An error of the engine stopped it; the journal and the log of the worker say more.",
    # what happens by itself
    "RUNNING": "Step {step} is running: attempt {n}, since {at}.",
    "RETRY_AT": "Step {step} is tried again at {at}.",
    "READY": "Step {step} is ready and waits for a worker.",
    "PROBE_RUNNING": "The probe of {step} is looking.",
    "PROBE_AT": "The probe of {step} looks at {at}.",
    "PROBE_READY": "The probe of {step} waits for a worker.",
    "ASKS_AT": "At {at} a person is asked about {step}, if its answer has not come by then.",
    "CHECK_READY": "The check of {step} before the resume waits for a worker.",
    "CHECK_RUNNING": "The check of {step} before the resume is running.",
    "RESOURCE_TAKEN": "It starts when another run has released {resource}.",
    "STOPS_SOON": "It stops at the next safe boundary.",
    "DEADLINE_AHEAD": "No attempt starts after {at}.",
    # what is safe next
    "NOTHING_TO_DO": "Nothing: it is done.",
    "GOES_ON": "Nothing: it goes on by itself.",
    "START_WORKER": "Start a worker: none is running.",
    "SAY_HAPPENED": "If {step} did happen, say so and give what it returned:",
    "SAY_DONE_BY_HAND": "If somebody has completed {step} by hand, say so:",
    "GIVE_OUTPUT": "{step} did happen and must not be repeated. Say what it returned:",
    "SAY_NOT_HAPPENED": "If {step} did not happen, say so, and it is tried again:",
    "SAY_NOT_HAPPENED_STOPPING": "If {step} did not happen, say so, and the run can end:",
    "SAY_GONE": "Attempt {n} of {step} may still be running. Only if you made sure that its process is dead, and it did not happen:",
    "WAIT_GONE": "Until {at} attempt {n} of {step} may still do it; from then on you can say that it did not happen.",
    "RESUME": "Remove the cause, then go on with what is missing; nothing that is done runs again:",
    "RESUME_AFTER_ALL": "If it is wanted after all, go on with what is missing; nothing that is done runs again:",
    "RETRY": "Remove the cause, then try {step} again:",
    "CANCEL": "Or give it up; what is done stays done:",
    "START_NEW": "Start a new run; this one keeps what is known of it:",
}


class Sentence(NamedTuple):
    """Something to be told: a code of `SENTENCES` and what is filled in."""

    code: str
    params: dict[str, object]

    def __str__(self) -> str:
        return SENTENCES[self.code].format(**self.params)


class Coming(NamedTuple):
    """What will happen without anybody's help, and when (microseconds; None: as soon as it can)."""

    sentence: Sentence
    at: int | None


class Suggestion(NamedTuple):
    """What is safe next: the command to type, and the order that it gives."""

    sentence: Sentence
    command: str = ""
    order: Order | None = None


@dataclass(frozen=True, kw_only=True)
class EffectView:
    """One effect of the run: a step whose answer can be lost, or a transaction (R-F2)."""

    step: str
    effect: str  # CREATE, NOTIFY, CHANGE, DELEGATE or TRANSACTION
    happened: Happened  # HAPPENED, NOT or UNKNOWN
    sentence: Sentence
    evidence: str  # where a person can look


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a person needs to know about a run before touching it."""

    done: int
    total: int
    current: tuple[str, ...]  # steps that run, wait, are in doubt or ask somebody
    progress: Sentence
    effects: tuple[EffectView, ...]
    reasons: tuple[Sentence, ...]  # why it stands; empty while it simply goes on
    coming: tuple[Coming, ...]
    next: tuple[Suggestion, ...]


def explain(spec: WorkflowSpec, snapshot: Snapshot, now: int, *, workers: int | None = None) -> Explanation:
    """`workers`: how many are alive, None if that is not known."""
    view = _View(spec, snapshot, now, workers)
    done = sum(record.status is RecordStatus.SUCCESS for record in view.steps)
    current = tuple(record.key.step for record in view.steps if _is_current(record))
    reasons = () if snapshot.run.status is RunStatus.SUCCESS else tuple(_reasons(view))
    return Explanation(
        done=done,
        total=len(spec.steps),
        current=current,
        progress=_progress(view, done, current),
        effects=tuple(_effect(view, step) for step in spec.steps if step.can_be_lost or step.sort is Sort.TRANSACTION),
        reasons=reasons,
        coming=() if view.over else tuple(_coming(view)),
        next=tuple(_next(view)),
    )


def moment(microseconds: int) -> str:
    """RFC 3339 in UTC, to the second."""
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ── what it reads ──


@dataclass(frozen=True)
class _View:
    """A run with its records in the order of its steps."""

    spec: WorkflowSpec
    snapshot: Snapshot
    now: int
    workers: int | None
    steps: list[Record] = field(init=False)
    others: list[Record] = field(init=False)

    def __post_init__(self) -> None:
        order = self.spec.order
        records = sorted(self.snapshot.records.values(), key=lambda record: (order.get(record.key.step, 0), record.key))
        object.__setattr__(self, "steps", [record for record in records if record.key.kind is Kind.STEP])
        object.__setattr__(self, "others", [record for record in records if record.key.kind is not Kind.STEP])

    @property
    def over(self) -> bool:
        return self.snapshot.run.status in FINAL

    @property
    def waits_for_person(self) -> bool:
        return self.snapshot.run.status is RunStatus.MANUAL_REQUIRED

    def role(self, record: Record) -> str:
        return record.asks or self.spec.by_name[record.key.step].approver or self.spec.owner

    def accepts(self, order: Order) -> bool:
        """Whether the run would take this order now."""
        try:
            decide(self.spec, self.snapshot, order, self.now)
        except HalfwayError:
            return False
        return True


def _is_current(record: Record) -> bool:
    waits = record.status is RecordStatus.PENDING and record.ready_at is not None
    return waits or bool(record.asks) or record.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN, RecordStatus.WAITING)


def _progress(view: _View, done: int, current: tuple[str, ...]) -> Sentence:
    total = len(view.spec.steps)
    if done == total:
        return Sentence("ALL_DONE", {"total": total})
    if view.snapshot.run.started_at is None and not done:
        return Sentence("NOT_STARTED", {"total": total})
    stands = current or tuple(record.key.step for record in view.steps if record.status is RecordStatus.FAILED)
    if stands:
        return Sentence("DONE_AND_AT", {"done": done, "total": total, "current": ", ".join(stands)})
    return Sentence("DONE_SO_FAR", {"done": done, "total": total})


# ── effects ──


def _effect(view: _View, step: StepSpec) -> EffectView:
    happened, sentence = _happened(step, view.snapshot.records.get(Key(step.name)))
    return EffectView(
        step=step.name,
        effect="TRANSACTION" if step.effect is None else step.effect.value,
        happened=happened,
        sentence=sentence,
        evidence=contract_of(step, view.spec).evidence,
    )


def _happened(step: StepSpec, record: Record | None) -> tuple[Happened, Sentence]:
    if record is None or (not record.attempts and record.effect is Happened.NONE):
        return Happened.NOT, Sentence("NOT_BEGUN", {})
    if record.effect is Happened.HAPPENED and record.status is RecordStatus.FAILED:
        return Happened.HAPPENED, Sentence("HAPPENED_THEN_FAILED", {"code": record.code})
    if record.effect is Happened.HAPPENED:
        return Happened.HAPPENED, Sentence("COMMITTED" if step.sort is Sort.TRANSACTION else "HAPPENED", {})
    if step.sort is Sort.TRANSACTION:
        return Happened.NOT, Sentence("NOT_COMMITTED", {})
    doubt = _doubt(record)
    return (Happened.NOT, Sentence("DID_NOT_HAPPEN", {})) if doubt is None else (Happened.UNKNOWN, doubt)


def _doubt(record: Record) -> Sentence | None:
    lost = record.unsettled[-1].n if record.unsettled else record.attempts
    if record.status is RecordStatus.UNKNOWN or (record.effect is Happened.UNKNOWN and not record.open):
        return Sentence("NOT_KNOWN", {"n": lost, "code": record.code or "-"})
    if record.unsettled:
        return Sentence("BEING_REPEATED", {"n": lost})
    if record.running is not None and record.running.marked:
        return Sentence("UNDER_WAY", {"n": record.running.n})
    return None


# ── why it stands ──


def _reasons(view: _View) -> Iterator[Sentence]:
    run = view.snapshot.run
    asked = False
    for record in view.steps:
        told = _facts(view, record)
        if record.status is RecordStatus.UNKNOWN and record.asks:
            asked = True
            yield Sentence("IN_DOUBT", told)
        elif record.status is RecordStatus.FAILED:
            asked = asked or bool(record.asks)
            yield from _failure(record, told)
    for check in view.others:
        if check.key.kind is Kind.CHECK and check.status is RecordStatus.FAILED:
            asked = True
            yield Sentence("CHECK_FAILED", _facts(view, check))
    yield from _intent(run.intent, run.deadline_at)
    if view.waits_for_person and not asked and run.intent is None:
        yield Sentence("ENGINE_ERROR", {})


def _facts(view: _View, record: Record) -> dict[str, object]:
    return {"step": record.key.step, "code": record.code or "-", "role": view.role(record), "attempts": record.attempts}


def _failure(record: Record, told: dict[str, object]) -> Iterator[Sentence]:
    if record.lost >= DEATHS:
        yield Sentence("POISON", {"step": record.key.step, "deaths": record.lost})
    yield Sentence("FAILED_ASKS" if record.asks else "FAILED", told)


def _intent(intent: Intent | None, deadline_at: int | None) -> Iterator[Sentence]:
    if intent is Intent.CANCEL:
        yield Sentence("CANCEL_ASKED", {})
    elif intent is Intent.EXPIRE:
        yield Sentence("DEADLINE_PASSED", {"at": moment(deadline_at or 0)})
    elif intent is Intent.TIMEOUT:
        yield Sentence("TIMED_OUT", {})


# ── what happens by itself ──


def _coming(view: _View) -> Iterator[Coming]:
    run = view.snapshot.run
    if run.blocked:
        yield Coming(Sentence("RESOURCE_TAKEN", {"resource": run.resource or ""}), None)
    for record in view.steps:
        yield from _coming_of_step(view, record)
    for record in view.others:
        yield from _coming_of_helper(view, record)
    if run.intent is Intent.CANCEL and not view.waits_for_person:
        yield Coming(Sentence("STOPS_SOON", {}), None)
    if run.intent is None and run.deadline_at is not None:
        yield Coming(Sentence("DEADLINE_AHEAD", {"at": moment(run.deadline_at)}), run.deadline_at)


def _coming_of_step(view: _View, record: Record) -> Iterator[Coming]:
    step, running = record.key.step, record.running
    if running is not None:
        yield Coming(Sentence("RUNNING", {"step": step, "n": running.n, "at": moment(running.started_at)}), None)
    elif record.ready_at is None or record.asks:
        return
    elif record.status is RecordStatus.UNKNOWN:
        code = "PROBE_AT" if view.spec.by_name[step].probe is not None else "ASKS_AT"
        yield Coming(Sentence(code, {"step": step, "at": moment(max(record.ready_at, view.now))}), record.ready_at)
    elif record.status is RecordStatus.PENDING and record.ready_at > view.now:
        yield Coming(Sentence("RETRY_AT", {"step": step, "at": moment(record.ready_at)}), record.ready_at)
    elif record.status is RecordStatus.PENDING:
        yield Coming(Sentence("READY", {"step": step}), None)


def _coming_of_helper(view: _View, record: Record) -> Iterator[Coming]:
    kind, step = record.key.kind.value, record.key.step
    if record.running is not None:
        yield Coming(Sentence(f"{kind}_RUNNING", {"step": step}), None)
    elif record.status is RecordStatus.PENDING and record.ready_at is not None:
        if record.ready_at > view.now and record.key.kind is Kind.PROBE:
            yield Coming(Sentence("PROBE_AT", {"step": step, "at": moment(record.ready_at)}), record.ready_at)
        else:
            yield Coming(Sentence(f"{kind}_READY", {"step": step}), None)


# ── what is safe next ──


def _next(view: _View) -> Iterator[Suggestion]:
    run = view.snapshot.run
    if run.status is RunStatus.SUCCESS:
        yield Suggestion(Sentence("NOTHING_TO_DO", {}))
    elif run.status is RunStatus.EXPIRED:
        again = " --again '…'" if view.spec.keyed else ""
        yield Suggestion(Sentence("START_NEW", {}), f"halfway start {run.type} --input '…'{again}")
    elif view.over or view.waits_for_person:
        yield from (suggestion for suggestion in _orders(view) if suggestion.order is None or view.accepts(suggestion.order))
    elif view.workers == 0:
        yield Suggestion(Sentence("START_WORKER", {}), "halfway worker")
    else:
        yield Suggestion(Sentence("GOES_ON", {}))


def _orders(view: _View) -> Iterator[Suggestion]:
    """Everything that may be worth ordering; what would be refused is left out afterwards."""
    run = view.snapshot.run
    for record in view.steps:
        if record.status is RecordStatus.UNKNOWN and record.asks:
            yield from _settle(view, record)
        elif record.status is RecordStatus.FAILED:
            yield from _after_failure(view, record)
    resume = ResumeAsked()
    if view.accepts(resume):
        code = "RESUME_AFTER_ALL" if run.status is RunStatus.CANCELLED else "RESUME"
        yield Suggestion(Sentence(code, {}), f"halfway resume {run.id} --reason '…'", resume)
    else:
        yield from _retries(view)
    yield Suggestion(Sentence("CANCEL", {}), f"halfway cancel {run.id} --reason '…'", CancelAsked())


def _settle(view: _View, record: Record) -> Iterator[Suggestion]:
    step, run = record.key.step, view.snapshot.run
    yield Suggestion(Sentence("SAY_HAPPENED", {"step": step}), _mark_success(run.id, step), MarkedSuccess(step))
    told = RetryAsked(step, not_happened=True)
    command = f"halfway retry {run.id} {step} --not-happened --evidence '…' --reason '…'"
    if view.accepts(told):
        stopping = Turn(view.spec, view.snapshot, view.now).stopping
        code = "SAY_NOT_HAPPENED_STOPPING" if stopping else "SAY_NOT_HAPPENED"
        yield Suggestion(Sentence(code, {"step": step}), command, told)
        return
    alive = [attempt for attempt in record.unsettled if attempt.gone_at is None or attempt.gone_at > view.now]
    yield from _still_alive(step, alive)
    if alive:
        yield Suggestion(Sentence("SAY_GONE", {"step": step, "n": alive[0].n}), f"{command} --gone", told._replace(gone=True))


def _still_alive(step: str, alive: list[Attempt]) -> Iterator[Suggestion]:
    known = [attempt.gone_at for attempt in alive if attempt.gone_at is not None]
    if known and len(known) == len(alive):
        yield Suggestion(Sentence("WAIT_GONE", {"step": step, "n": alive[0].n, "at": moment(max(known) + 999_999)}))


def _after_failure(view: _View, record: Record) -> Iterator[Suggestion]:
    step, spec = record.key.step, view.spec.by_name[record.key.step]
    order = MarkedSuccess(step)
    if record.effect is Happened.HAPPENED and spec.can_be_lost and not spec.idempotent:
        yield Suggestion(Sentence("GIVE_OUTPUT", {"step": step}), _mark_success(view.snapshot.run.id, step), order)
    elif record.asks:
        yield Suggestion(Sentence("SAY_DONE_BY_HAND", {"step": step}), _mark_success(view.snapshot.run.id, step), order)


def _retries(view: _View) -> Iterator[Suggestion]:
    for record in view.steps:
        if record.status is RecordStatus.FAILED:
            step = record.key.step
            yield Suggestion(
                Sentence("RETRY", {"step": step}), f"halfway retry {view.snapshot.run.id} {step} --reason '…'", RetryAsked(step)
            )


def _mark_success(run: str, step: str) -> str:
    return f"halfway mark-success {run} {step} --output '…' --evidence '…' --reason '…'"
