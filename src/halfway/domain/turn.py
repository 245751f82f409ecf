"""One decision in the making: the snapshot as it changes, and the commands so far. Seen from outside `decide` it is pure."""

from __future__ import annotations

from typing import Any

from halfway.domain.backoff import delay
from halfway.domain.facts import CloseWait, Command, EndAttempt, Move, Note, SettleAttempt, Tell, Told
from halfway.domain.lifecycle import FINAL, RecordStatus, Trigger, advance
from halfway.domain.run import ALL_BACK, PROBED_BY, Attempt, Happened, Intent, Key, Kind, Record, Report, Snapshot, latest
from halfway.domain.spec import RetrySpec, StepSpec, Then, WorkflowSpec

DEATHS = 3  # attempts ended by the death of their worker, before a record counts as poison (B09)
CLOSED_BY: dict[Intent | None, str] = {
    Intent.CANCEL: "CANCELLED",
    Intent.EXPIRE: "EXPIRED",
    Intent.TIMEOUT: "RUN_TIMEOUT",
    None: "RUN_FAILED",
}
ENDS = tuple(FINAL)  # asked all the time, and an enum hashes slowly
GATE = "APPROVAL"  # the code of a record that waits until a person has approved its next attempt


def still(record: Record, effect: Happened) -> Happened:
    """What is known about an effect after another attempt: what has happened stays known."""
    return Happened.HAPPENED if record.effect is Happened.HAPPENED else effect


class Turn:
    """The working state of one call of `decide`."""

    __slots__ = ("_failing", "before", "commands", "notes", "now", "records", "reopened", "run", "spec")

    def __init__(self, spec: WorkflowSpec, snapshot: Snapshot, now: int) -> None:
        self.spec = spec
        self.before = self.run = snapshot.run
        self.records = dict(snapshot.records)
        self.now = now
        self.commands: list[Command] = []
        self.notes = 0
        self._failing: bool | None = None
        self.reopened = False  # an operator has opened a run that had ended

    # ── reading ──

    def step(self, key: Key) -> StepSpec:
        """What the record stands for: the step, or its compensation, which is one of its own."""
        return self.spec.unit(key)

    def of_kind(self, *kinds: Kind) -> list[Record]:
        return [record for record in self.records.values() if record.key.kind in kinds]

    @property
    def over(self) -> bool:
        return self.run.status in ENDS

    @property
    def stopping(self) -> bool:
        """Nothing new of kind step starts any more: the run was stopped, is undone, or a step has failed for good."""
        if self.run.intent is not None or self.run.undo is not None:
            return True
        if self._failing is None:
            self._failing = any(self.fails_run(record) for record in self.records.values() if record.status is RecordStatus.FAILED)
        return self._failing

    def latest(self, step: str) -> Record | None:
        """The record of a step in its last round."""
        return latest(self.records, step)

    def found(self) -> dict[str, Record | None]:
        """For each step its record in its last round."""
        if self.spec.loops:
            return {step.name: self.latest(step.name) for step in self.spec.steps}
        return {key.step: self.records.get(key) for _, key in self.spec.places}  # the usual case, asked all the time

    def steps(self) -> list[Record]:
        """The records of all steps that have one, each in its last round."""
        return [record for record in self.found().values() if record is not None]

    def superseded(self, record: Record) -> bool:
        """Whether a loop has gone back to its step, so that another round counts."""
        return record.key._replace(round=record.key.round + 1) in self.records

    def gives_up(self, record: Record) -> bool:
        """Whether it is not repeated any more because its run stops; an undo goes on in a run that stops."""
        return record.key.kind is Kind.STEP and self.stopping

    def fails_run(self, record: Record) -> bool:
        if record.status is not RecordStatus.FAILED or record.key.kind is not Kind.STEP or record.asks or record.key.item:
            return False
        return not self.step(record.key).optional and not self.superseded(record)

    def approver(self, key: Key) -> str:
        return self.step(key).approver or self.spec.owner

    # ── writing ──

    def note(self, name: str, key: Key | None = None, n: int | None = None, **data: object) -> None:
        if key is not None and key.kind is not Kind.STEP:
            name = name.replace("step.", f"{key.kind.lower()}.")
        self.notes += 1
        self.commands.append(Note(name, key, n, data or None))

    def move(self, record: Record, trigger: Trigger, *, keep: bool = False, **changes: Any) -> Record:
        """Moves a record through the lifecycle table; `changes` are its other new fields."""
        before = self.records.get(record.key)
        status = advance(RecordStatus.PENDING if before is None else before.status, trigger)
        if changes or status is not record.status:
            record = record._replace(status=status, **changes)
        if status is RecordStatus.FAILED or (before is not None and before.status is RecordStatus.FAILED):
            self._failing = None  # to be looked at again
        self.records[record.key] = record
        self.commands.append(Move(record, trigger, keep))
        return record

    def hold_back(self, name: str) -> None:
        """A step is made again: what stands after it, and was ready, waits for it; what settles a doubt does not."""
        for record in self.of_kind(Kind.STEP):
            if record.status is RecordStatus.PENDING and not record.unsettled and name in self.spec.ancestors[record.key.step]:
                self.move(record._replace(ready_at=None), Trigger.BECAME_READY)

    def put(self, record: Record) -> None:
        """Its open attempts have changed, its state has not."""
        self.records[record.key] = record

    def end(self, record: Record, attempt: Attempt, report: Report, *, unsettled: bool) -> tuple[Attempt, ...]:
        """The running attempt ends; answers the attempts that stay open: an unsettled one does until something proves what happened."""
        gone_at = self.now + report.gone_after if report.gone else None
        self.commands.append(EndAttempt(record.key, attempt.n, report.ended, report.code, gone_at))
        if len(record.open) == 1 and not unsettled:
            return ()
        others = tuple(other for other in record.open if other.n != attempt.n)
        return (*others, attempt._replace(lost=True, gone_at=gone_at)) if unsettled else others

    def settle(self, record: Record, how: str, *attempts: Attempt) -> Record:
        """It is known now what became of these lost attempts."""
        for attempt in attempts:
            self.commands.append(SettleAttempt(record.key, attempt.n, how, attempt.gone_at))
        settled = {attempt.n for attempt in attempts}
        return record._replace(open=tuple(attempt for attempt in record.open if attempt.n not in settled))

    # ── the three ways on after "nothing happened" ──

    def retry_or_stop(self, record: Record, report: Report, absent: bool = False) -> None:
        """Nothing happened: another attempt, the end of the attempts, or the end of the run for this record."""
        step = self.step(record.key)
        retry = self.retry_of(record.key)
        spent = report.final or record.failures >= retry.attempts or record.lost >= DEATHS
        stopped = self.gives_up(record)
        record = record._replace(code=report.code or record.code, effect=still(record, report.effect), ended_at=self.now, asks="")
        if record.unsettled and (stopped or spent or self.key_forgotten(step, record)):
            self.doubt(record)
        elif stopped:
            self.stop(record, absent)
        elif spent:
            self.fail(record, Trigger.NOT_HAPPENED if absent else Trigger.FAILED)
        else:
            wait = delay(retry, record.failures + record.lost, f"{self.run.id}:{record.key.step}:{record.key.item}", report.retry_after)
            at = self.now + wait if record.failures + record.lost or report.retry_after else self.now
            self.move(record._replace(ready_at=at), Trigger.ABSENT if absent else Trigger.RETRIED)
            self.note("step.retry_scheduled", record.key, record.attempts, code=record.code, at=at)

    def stop(self, record: Record, absent: bool) -> None:
        code = CLOSED_BY[self.run.intent]
        if absent:  # the doubt is over and the run is stopped: it did not happen, and it is not repeated
            self.move(record._replace(ready_at=None, code="NOT_HAPPENED"), Trigger.NOT_HAPPENED)
            self.note("step.failed", record.key, record.attempts, code="NOT_HAPPENED")
        else:
            self.move(record._replace(ready_at=None, code=code), Trigger.STOPPED)
            self.note("step.skipped", record.key, record.attempts or None, code=code)

    def fail(self, record: Record, trigger: Trigger, then: Then | None = None, *, keep: bool = False, **told: object) -> None:
        """No automatic retry is left; `then`: what follows, if it is not what the step says about its failures; `told`: in the journal."""
        then = then or self.step(record.key).on_failure
        kind = record.key.kind
        # Nobody decides about a step of a run that stops; but what could not be undone always needs somebody.
        stops = kind in (Kind.STEP, Kind.CHECK) and (self.run.intent is not None or self.run.undo is not None)
        if (kind is Kind.STEP and self.step(record.key).optional and then is not Then.MANUAL) or record.key.item:
            stops = True  # the run goes on without it, or the step as a whole says what that means
        asks = self.approver(record.key) if (kind is Kind.CHECK or then is Then.MANUAL) and not stops else ""
        record = self.move(record._replace(ready_at=None, asks=asks, approved_until=None), trigger, keep=keep)
        self.note("step.failed", record.key, record.attempts, code=record.code, **told)
        if kind is Kind.COMPENSATION and not record.key.item:
            self.commands.append(Tell(Told.INCIDENT, record.key, asks, record.code))
        if asks:
            self.tell(Told.PERSON_NEEDED, record)
        if kind is Kind.STEP and then is Then.COMPENSATE and not stops:
            self.undo(ALL_BACK)

    def undo(self, back_from: str) -> None:
        """From now on what is done is undone, in reverse order (R-D3); what is in doubt is settled first."""
        if self.run.undo is None:
            self.run = self.run._replace(undo=back_from)
            self.note("workflow.compensating", back_from=back_from)
            self.nobody_decides()

    def nobody_decides(self) -> None:
        """What had failed, and waits for a decision whether it goes on, does not go on any more."""
        for record in self.of_kind(Kind.STEP, Kind.CHECK):
            if record.status is RecordStatus.FAILED and record.asks:
                self.move(record._replace(asks=""), Trigger.RELEASED)

    def tell(self, what: Told, record: Record) -> None:
        """The role that may decide hears of it (R-J4); of items it hears once, when the step as a whole asks."""
        if not record.key.item:
            self.commands.append(Tell(what, record.key, record.asks, record.code))

    def close_wait(self, record: Record, how: str, source: str | None = None) -> None:
        self.commands.append(CloseWait(record.key, how, source))

    def doubt(self, record: Record) -> Record:
        """The answer is lost, and a repeat is not the way to find out."""
        record = record._replace(
            effect=still(record, Happened.UNKNOWN), ready_at=self.now, looks=0, asks="", ended_at=self.now,
            approved_until=None, approved_by=(),
        )  # fmt: skip
        record = self.move(record, Trigger.LOST)
        self.note("step.unknown", record.key, record.attempts, code=record.code)
        return record

    def retry_of(self, key: Key) -> RetrySpec:
        step = self.step(key)
        return step.probe.retry if key.kind in PROBED_BY and step.probe else step.retry

    def key_forgotten(self, step: StepSpec, record: Record) -> bool:
        """Whether the receiver may no longer remember the key by the time another attempt would end."""
        if step.idempotent_for is None or record.first_at is None:
            return False
        return self.now > record.first_at + step.idempotent_for - step.timeout
