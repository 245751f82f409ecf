"""What is known of the effects of a run, and what has become of each when the run is undone (R-F2, R-D7)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from halfway.domain.clauses import contract_of
from halfway.domain.doubt import RESTORED, forgotten, probe_key
from halfway.domain.items import are_under_way
from halfway.domain.joins import WAIVED
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Counted, Happened, Key, Kind, Record
from halfway.domain.sentences import Sentence, moment
from halfway.domain.spec import Effect, Sort, StepSpec
from halfway.domain.undo import HANDED_OVER, Fate, fate, undo_key
from halfway.domain.view import View
from halfway.domain.waits import is_gate


class Undone(StrEnum):
    """The states of a compensation, as they are shown (R-A5)."""

    PENDING = "COMPENSATION_PENDING"
    RUNNING = "COMPENSATING"
    DONE = "COMPENSATED"
    FAILED = "COMPENSATION_FAILED"
    MANUAL = "MANUAL_REQUIRED"
    UNKNOWN = "UNKNOWN"
    NOT_NEEDED = "NOT_NEEDED"


@dataclass(frozen=True, kw_only=True)
class EffectView:
    """One effect of the run: a step whose answer can be lost, or a transaction (R-F2)."""

    step: str
    effect: str  # CREATE, NOTIFY, CHANGE, DELEGATE or TRANSACTION
    happened: Happened  # HAPPENED, NOT or UNKNOWN
    sentence: Sentence
    evidence: str  # where a person can look
    undo: str = ""  # a member of Undone; empty while nothing is undone
    undone: Sentence | None = None  # what has become of it, or why it cannot be undone


def effects(view: View) -> tuple[EffectView, ...]:
    """Of every step, and of the earlier rounds of a loop what they left behind."""
    steps = [step for step in view.spec.steps if step.can_be_lost or step.sort is Sort.TRANSACTION or _acts_for_many(step)]
    return tuple(_effect(view, step, record) for step in steps for record in (*_earlier(view, step), view.record(step.name)))


def _acts_for_many(step: StepSpec) -> bool:
    """Whether its items have effects; what child runs have done they say themselves."""
    return step.sort is Sort.EACH and step.effect is not Effect.READ


def _earlier(view: View, step: StepSpec) -> list[Record]:
    rounds = [record for record in view.of_kind(Kind.STEP) if record.key.step == step.name and view.turn.superseded(record)]
    return [record for record in rounds if record.effect in (Happened.HAPPENED, Happened.UNKNOWN)]


def name_of(view: View, record: Record) -> str:
    """A step by its name; an earlier round of it with its number."""
    return f"{record.key.step}#{record.key.round}" if view.turn.superseded(record) else record.key.step


def _effect(view: View, step: StepSpec, record: Record | None) -> EffectView:
    happened, sentence = _happened(view, step, record)
    undo, undone = _undo(view, step, record)
    return EffectView(
        step=step.name if record is None else name_of(view, record),
        effect="TRANSACTION" if step.effect is None else step.effect.value,
        happened=happened,
        sentence=sentence,
        evidence=contract_of(step, view.spec).evidence,
        undo="" if undo is None else undo.value,
        undone=undone,
    )


# ── did it happen? ──


def _happened(view: View, step: StepSpec, record: Record | None) -> tuple[Happened, Sentence]:
    if record is not None and record.key in view.counts:
        return _for_many(view.counts[record.key])
    if record is not None and record.effect is Happened.HAPPENED:
        if record.status is RecordStatus.FAILED:
            return Happened.HAPPENED, Sentence("HAPPENED_THEN_FAILED", {"code": record.code})
        return Happened.HAPPENED, Sentence("COMMITTED" if step.sort is Sort.TRANSACTION else "HAPPENED", {})
    if may_be_missing(view, step, record):
        return Happened.UNKNOWN, Sentence("MAY_BE_FORGOTTEN", {})
    if record is None or (not record.attempts and record.effect is Happened.NONE):
        return Happened.NOT, Sentence("NOT_BEGUN", {})
    if step.sort is Sort.TRANSACTION:
        return Happened.NOT, Sentence("NOT_COMMITTED", {})
    doubt = _doubt(record)
    return (Happened.NOT, Sentence("DID_NOT_HAPPEN", {})) if doubt is None else (Happened.UNKNOWN, doubt)


def _for_many(known: Counted) -> tuple[Happened, Sentence]:
    """All items of a step together."""
    told: dict[str, object] = {
        "total": known.total, "happened": known.happened, "missing": known.missing, "unknown": known.unknown,
    }  # fmt: skip
    if known.unknown:
        return Happened.UNKNOWN, Sentence("NOT_KNOWN_FOR_MANY", told)
    code = "HAPPENED_FOR_NONE" if not known.happened else "HAPPENED_FOR_MANY" if known.missing else "HAPPENED_FOR_ALL"
    return known.effect, Sentence(code, told)


def may_be_missing(view: View, step: StepSpec, record: Record | None) -> bool:
    """Whether it may have happened after the copy was made from which the database was restored."""
    record = record or Record(Key(step.name), RecordStatus.PENDING)
    if record.status is RecordStatus.UNKNOWN:
        return record.code == RESTORED
    return record.status is not RecordStatus.SUCCESS and not record.open and forgotten(view.turn, record)


def _doubt(record: Record) -> Sentence | None:
    if record.status is RecordStatus.UNKNOWN or (record.effect is Happened.UNKNOWN and not record.open):
        return Sentence("NOT_KNOWN", {"n": lost_attempt(record), "code": record.code or "-"})
    if record.unsettled:
        return Sentence("BEING_REPEATED", {"n": lost_attempt(record)})
    if record.running is not None and record.running.marked:
        return Sentence("UNDER_WAY", {"n": record.running.n})
    return None


def lost_attempt(record: Record) -> int:
    return record.unsettled[-1].n if record.unsettled else record.attempts


# ── was it undone? ──


def _undo(view: View, step: StepSpec, record: Record | None) -> tuple[Undone | None, Sentence | None]:
    undo = None if record is None else view.snapshot.records.get(undo_key(record.key))
    if undo is not None:
        return state_of(undo), _told(view, step, undo)
    if view.snapshot.run.undo is None or view.over or record is None or record.effect is not Happened.HAPPENED:
        return None, None
    return _ahead(view, step, record)


def _ahead(view: View, step: StepSpec, record: Record) -> tuple[Undone, Sentence]:
    """It happened, and its undo has not begun."""
    outlook, probe = fate(view.turn, record), view.snapshot.records.get(probe_key(record.key))
    if outlook in (Fate.STAYS, Fate.KEPT):
        return Undone.NOT_NEEDED, _stays(step, outlook.value)
    if outlook is Fate.NO_UNDO:
        return Undone.PENDING, Sentence("NO_UNDO", {"role": view.turn.approver(undo_key(record.key))})
    looking = probe is not None and probe.status in (RecordStatus.PENDING, RecordStatus.RUNNING)
    return Undone.PENDING, Sentence("UNDO_LOOKS_FIRST" if outlook is Fate.OUTPUT_UNKNOWN and looking else "UNDO_LATER", {})


def state_of(undo: Record) -> Undone:
    """The state of a compensation, as it is shown (R-A5)."""
    if are_under_way(undo):
        return Undone.UNKNOWN if undo.asks else Undone.RUNNING
    match undo.status:
        case RecordStatus.PENDING | RecordStatus.WAITING:
            return Undone.PENDING
        case RecordStatus.RUNNING:
            return Undone.RUNNING
        case RecordStatus.SUCCESS:
            return Undone.DONE
        case RecordStatus.UNKNOWN:
            return Undone.UNKNOWN
        case RecordStatus.SKIPPED:
            return Undone.NOT_NEEDED
        case RecordStatus.FAILED:
            return Undone.MANUAL if undo.code in HANDED_OVER else Undone.FAILED


def _told(view: View, step: StepSpec, undo: Record) -> Sentence:
    told: dict[str, object] = {"role": view.role(undo), "code": undo.code or "-"}
    if are_under_way(undo):
        return _undo_under_way(view, undo)
    match undo.status:
        case RecordStatus.PENDING | RecordStatus.WAITING:
            return _pending(view, undo, told)
        case RecordStatus.RUNNING:
            return Sentence("UNDO_IS_RUNNING", {"n": undo.attempts})
        case RecordStatus.SUCCESS:
            return Sentence("UNDONE" if undo.attempts else "PUT_RIGHT", {})
        case RecordStatus.UNKNOWN:
            return Sentence("UNDO_MAY_BE_FORGOTTEN" if undo.code == RESTORED else "UNDO_NOT_KNOWN", {"n": lost_attempt(undo), **told})
        case RecordStatus.SKIPPED:
            return Sentence("ACCEPTED", {}) if undo.code == WAIVED else _stays(step, undo.code)
        case RecordStatus.FAILED:
            code = "UNDO_WAS_REJECTED" if undo.code == "REJECTED" else undo.code if undo.code in HANDED_OVER else "NOT_UNDONE"
            return Sentence(code, told)


def _undo_under_way(view: View, undo: Record) -> Sentence:
    known = view.counts.get(undo.key)
    if undo.asks:
        return Sentence("UNDO_NOT_KNOWN_FOR_MANY", {"items": view.in_doubt(undo), "role": view.role(undo)})
    if known is None:
        return Sentence("UNDO_FOR_MANY", {})
    return Sentence("UNDONE_FOR_MANY", {"done": known.done, "total": known.total})


def _pending(view: View, undo: Record, told: dict[str, object]) -> Sentence:
    if is_gate(undo):
        return Sentence("UNDO_IS_ASKED", told)
    if undo.ready_at is None:
        return Sentence("UNDO_IS_DRAFTED", {})
    if undo.ready_at > view.now:
        return Sentence("UNDO_IS_RETRIED", {"at": moment(undo.ready_at)})
    return Sentence("UNDO_IS_READY", {})


def _stays(step: StepSpec, code: str) -> Sentence:
    if code == Fate.STAYS:
        return Sentence("STAYS", {"reason": step.stays.rstrip(".")})
    return Sentence("KEPT", {}) if code == Fate.KEPT else Sentence("STAYS", {"reason": code})
