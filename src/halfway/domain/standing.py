"""Why a run stands where it stands: what waits for whom, what failed, what is in doubt, what is being undone."""

from __future__ import annotations

from collections.abc import Iterator

from halfway.domain.approvals import REJECTED
from halfway.domain.doubt import RESTORED
from halfway.domain.effects import may_be_missing
from halfway.domain.items import PARTIAL, TOO_MANY_FAILED, are_under_way
from halfway.domain.joins import TOO_FEW, WAIVED, is_passed
from halfway.domain.lifecycle import RecordStatus, RunStatus
from halfway.domain.loops import made, sends_back
from halfway.domain.run import ALL_BACK, UNDOING, Intent, Kind, Record
from halfway.domain.sentences import Sentence, moment
from halfway.domain.spec import Sort
from halfway.domain.turn import DEATHS
from halfway.domain.undo import HANDED_OVER, Fate, fate, in_reverse, undo_key
from halfway.domain.view import View
from halfway.domain.waits import TIMED_OUT, is_gate

HELD = "RECORD_HELD"  # the code of a step that waits for a business record


def reasons(view: View) -> Iterator[Sentence]:
    """Empty while a run simply goes on, and after its success."""
    if view.status is RunStatus.SUCCESS:
        return
    yield from _restored(view)
    for record in view.steps:
        yield from _of_step(view, record)
    for check in view.of_kind(Kind.CHECK):
        if check.status is RecordStatus.FAILED:
            yield Sentence("CHECK_FAILED", _facts(view, check))
    yield from _intent(view)
    yield from _undoing(view)
    if view.waits_for_person and view.snapshot.run.intent is None and not any(record.asks for record in view.records):
        yield Sentence("ENGINE_ERROR", {})


def _facts(view: View, record: Record) -> dict[str, object]:
    return {"step": record.key.step, "code": record.code or "-", "role": view.role(record), "attempts": record.attempts}


def _restored(view: View) -> Iterator[Sentence]:
    at = view.snapshot.run.restored_at
    if at is None or view.over:
        return
    missing = [step.name for step in view.spec.steps if may_be_missing(view, step, view.record(step.name))]
    if missing:
        yield Sentence("RESTORED", {"at": moment(at), "steps": ", ".join(missing)})


# ── steps ──


def _of_step(view: View, record: Record) -> Iterator[Sentence]:
    told = _facts(view, record)
    match record.status:
        case RecordStatus.UNKNOWN if record.asks:
            yield Sentence("IN_DOUBT_RESTORED" if record.code == RESTORED else "IN_DOUBT", told)
        case RecordStatus.FAILED:
            yield from _failure(view, record, told)
        case RecordStatus.SKIPPED:
            yield from _left_out(view, record, told)
        case RecordStatus.WAITING:
            yield from _waiting(view, record, told)
        case RecordStatus.SUCCESS if record.code == PARTIAL:
            yield _of_items(view, record, "ITEMS_PARTLY", told)
        case RecordStatus.PENDING if record.code == HELD and not view.over:
            yield Sentence("HELD", told)
        case _:
            return


def _failure(view: View, record: Record, told: dict[str, object]) -> Iterator[Sentence]:
    unmet = _unmet(view, record)
    if unmet is not None:
        yield Sentence(unmet, told)
        if record.asks:
            yield Sentence("DECIDES", told)
        return
    asked = view.snapshot.records.get(record.key._replace(kind=Kind.CONDITION))
    if asked is not None and asked.status is RecordStatus.FAILED:
        yield from _unanswered(view, record, asked)
        return
    if record.lost >= DEATHS:
        yield Sentence("POISON", {"step": record.key.step, "deaths": record.lost})
    if record.code == TOO_MANY_FAILED:
        yield _of_items(view, record, "ITEMS_FAILED", told)
    elif is_passed(view.turn, record):
        yield Sentence("FAILED_OPTIONAL", told)
    elif record.code == TOO_FEW:
        yield Sentence("TOO_FEW_ASKS" if record.asks else "TOO_FEW", told)
    elif spent := rounds_spent(view, record):
        yield Sentence("ROUNDS_SPENT_ASKS" if record.asks else "ROUNDS_SPENT", {**told, "rounds": spent})
    else:
        yield Sentence("FAILED_ASKS" if record.asks else "FAILED", told)


def _of_items(view: View, record: Record, code: str, told: dict[str, object], ending: str = "") -> Sentence:
    """With the number of those that failed, where it is known; runs that succeeded in part have not failed."""
    known = view.counts.get(record.key)
    if known is None or not known.failed:
        return Sentence(code + ending, told)
    return Sentence(f"{code}_OF{ending}", {**told, "failed": known.failed, "items": known.total})


def _unanswered(view: View, record: Record, condition: Record) -> Iterator[Sentence]:
    """Whether it is to run at all could not be said."""
    step, said = record.key.step, view.said.get(condition.key, condition.code)
    yield Sentence("CONDITION_FAILED", {"step": step, "condition": view.unit(record).condition, "said": said, "code": condition.code})
    if record.asks:
        yield Sentence("DECIDES", {"role": view.role(record)})
    elif is_passed(view.turn, record):
        yield Sentence("WITHOUT_IT", {"step": step})


def rounds_spent(view: View, record: Record) -> int:
    """How many rounds of its loop are used up, if that is why it stands; 0 if not."""
    rewind = view.unit(record).rewind
    if not sends_back(rewind, record.code) or rewind is None:
        return 0
    gone = len(made(view.snapshot.records, record.key.step))
    return gone + 1 if gone >= rewind.max else 0


def _unmet(view: View, record: Record) -> str | None:
    """That it got no answer, or a no."""
    step = view.unit(record)
    if record.code == REJECTED and (step.sort is Sort.APPROVAL or step.requires_approval):
        return "REJECTED"
    if record.code == TIMED_OUT and step.waits:
        return "EXPIRED" if step.sort is Sort.APPROVAL else "TOO_LATE"
    return None


def _left_out(view: View, record: Record, told: dict[str, object]) -> Iterator[Sentence]:
    unmet = _unmet(view, record)
    if record.code == WAIVED:
        yield Sentence("LEFT_OUT", told)
    elif unmet is not None:
        yield Sentence(unmet, told)
        yield Sentence("STOPS_IT", {})


def _waiting(view: View, record: Record, told: dict[str, object]) -> Iterator[Sentence]:
    step = view.unit(record)
    until = "" if record.ready_at is None else moment(record.ready_at)
    told = {**told, "at": until, "name": "" if step.wait is None else step.wait.name}
    if is_gate(record):
        yield Sentence("WAITS_GATE", told)
    elif are_under_way(record):
        if record.asks:
            yield Sentence("ITEMS_IN_DOUBT", {**told, "items": view.in_doubt(record)})
        if runs := view.stuck_runs(record):
            yield Sentence("WAITS_FOR_PEOPLE", {**told, "runs": ", ".join(runs)})
    elif record.code == TOO_MANY_FAILED:
        yield _of_items(view, record, "ITEMS_FAILED", told, "_ASKS")
    elif step.sort is Sort.APPROVAL:
        yield Sentence("WAITS_APPROVAL", told)
        yield from _conditions(view, record)
    elif record.asks:
        yield Sentence("WAITS_LATE", told)
    elif record.ready_at is None:
        yield Sentence("WAITS_PROBE", told)
    else:
        yield Sentence(f"WAITS_{step.sort.value}", told)


def _conditions(view: View, record: Record) -> Iterator[Sentence]:
    """What is asked of those who approve."""
    wait, name, actor = view.unit(record).wait, record.key.step, view.snapshot.run.actor
    if wait is None:
        return
    if wait.quorum > 1 and record.approved_by:
        yield Sentence("QUORUM_SO_FAR", {"step": name, "quorum": wait.quorum, "names": ", ".join(record.approved_by)})
    elif wait.quorum > 1:
        yield Sentence("QUORUM", {"step": name, "quorum": wait.quorum})
    if wait.four_eyes:
        yield Sentence("FOUR_EYES", {"step": name, "actor": actor}) if actor else Sentence("NO_REQUESTER", {"step": name})


# ── the whole run ──


def _intent(view: View) -> Iterator[Sentence]:
    run = view.snapshot.run
    if run.intent is Intent.CANCEL and not stopped_by_policy(view):
        yield Sentence("CANCEL_ASKED", {})
    elif run.intent is Intent.EXPIRE:
        yield Sentence("DEADLINE_PASSED", {"at": moment(run.deadline_at or 0)})
    elif run.intent is Intent.TIMEOUT:
        yield Sentence("TIMED_OUT", {})


def stopped_by_policy(view: View) -> bool:
    """Whether nobody has asked it to stop: a wait or an approval did, as its definition says."""
    return any(record.status is RecordStatus.SKIPPED and _unmet(view, record) is not None for record in view.of_kind(Kind.STEP))


def _undoing(view: View) -> Iterator[Sentence]:
    back_from = view.snapshot.run.undo
    if back_from is None:
        return
    if view.over:
        if view.status is RunStatus.COMPENSATED:
            yield Sentence("WAS_UNDONE", {})
        return
    yield Sentence("IS_UNDONE", {}) if back_from == ALL_BACK else Sentence("IS_UNDONE_FROM", {"step": back_from})
    began = [record.first_at for record in view.of_kind(*UNDOING) if record.first_at is not None]
    if began:
        yield Sentence("UNDO_SINCE", {"at": moment(min(began))})
    doubtful = [record.key.step for record in view.of_kind(Kind.STEP) if record.status in (RecordStatus.RUNNING, RecordStatus.UNKNOWN)]
    if doubtful:
        yield Sentence("UNDO_AFTER_DOUBT", {"steps": ", ".join(doubtful)})
    for undo in view.of_kind(Kind.COMPENSATION):
        yield from _of_undo(view, undo)


def _of_undo(view: View, undo: Record) -> Iterator[Sentence]:
    told = _facts(view, undo)
    spec = view.spec.by_name[undo.key.step].undo
    if is_gate(undo):
        yield Sentence("UNDO_ASKED", {**told, "risk": "-" if spec is None else spec.risk.value})
    elif undo.status is RecordStatus.UNKNOWN and undo.asks:
        yield Sentence("UNDO_IN_DOUBT", told)
    elif undo.asks and are_under_way(undo):
        yield Sentence("UNDO_ITEMS_IN_DOUBT", {**told, "items": view.in_doubt(undo)})
    elif runs := view.stuck_runs(undo):
        yield Sentence("UNDO_WAITS_FOR_PEOPLE", {**told, "runs": ", ".join(runs)})
    elif undo.status is RecordStatus.FAILED:
        yield Sentence(f"UNDO_{undo.code}" if undo.code in HANDED_OVER else "UNDO_FAILED", told)
    elif undo.status is RecordStatus.PENDING and undo.code == HELD:
        yield Sentence("HELD", told)


def undone_later(view: View) -> tuple[str, ...]:
    """What has happened and is still to be undone, the last one first; what stays is not in it."""
    if view.snapshot.run.undo is None or view.over:
        return ()
    ahead = [record for record in in_reverse(view.turn) if undo_key(record.key) not in view.snapshot.records]
    return tuple(record.key.step for record in ahead if fate(view.turn, record) not in (Fate.STAYS, Fate.KEPT, Fate.NO_UNDO))
