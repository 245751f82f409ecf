"""What the end of an attempt means for its record: success, another try, a failure, or doubt."""

from __future__ import annotations

from halfway.domain.contract import Rule, rule_for
from halfway.domain.doubt import answered, happened, probe_failed
from halfway.domain.facts import Finished, Late, SettleAttempt
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import Answer, Attempt, Ended, Happened, Kind, Record, Report
from halfway.domain.spec import Sort
from halfway.domain.turn import DEATHS, Turn, still


def finished(turn: Turn, fact: Finished) -> None:
    record = turn.records[fact.key]
    attempt = record.running
    if attempt is None or attempt.n != fact.n:
        return  # it was ended before; the guard in the database says the same
    if fact.key.kind is Kind.PROBE:
        _probe_finished(turn, record, attempt, fact.report)
    elif fact.key.kind is Kind.CHECK:
        _check_finished(turn, record, attempt, fact.report)
    else:
        _step_finished(turn, record, attempt, fact.report)


def _step_finished(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    step = turn.step(record.key)
    if report.ended is Ended.SUCCESS:
        if turn.end(record, attempt, report, unsettled=False):  # an idempotent step: the repeat has answered for the lost ones too
            turn.settle(record, "REPEATED", *record.unsettled)
        effect = Happened.HAPPENED if step.can_be_lost or step.sort is Sort.TRANSACTION else Happened.NONE
        turn.move(record, Trigger.SUCCEEDED, keep=True, open=(), effect=effect, code="", ended_at=turn.now, ready_at=None)
        turn.note("step.completed", record.key, attempt.n)
        return
    record = count(record, report)
    if report.ended is Ended.LOST and step.can_be_lost:
        _lost(turn, record, attempt, report)
        return
    record = record._replace(open=turn.end(record, attempt, report, unsettled=False))
    if report.ended is Ended.FAILED and not record.unsettled:
        record = record._replace(code=report.code, effect=still(record, report.effect), ended_at=turn.now)
        turn.fail(record, Trigger.FAILED)
    else:
        turn.retry_or_stop(record, report)


def count(record: Record, report: Report) -> Record:
    """An attempt counts against Retry, or against the limit of deaths, or (handed back) against nothing."""
    if report.death:
        return record._replace(lost=record.lost + 1)
    if report.ended is Ended.HANDED_BACK:
        return record
    return record._replace(failures=record.failures + 1)


def _lost(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    step = turn.step(record.key)
    record = record._replace(open=turn.end(record, attempt, report, unsettled=True), code=report.code)
    spent = report.final or record.failures >= step.retry.attempts or record.lost >= DEATHS
    repeatable = not (spent or turn.stopping or turn.key_forgotten(step, record))
    if rule_for(step, repeatable=repeatable) is Rule.REPEAT:
        turn.retry_or_stop(record, report)
    else:
        turn.doubt(record)


def _probe_finished(turn: Turn, probe: Record, attempt: Attempt, report: Report) -> None:
    probe = count(probe, report)._replace(open=turn.end(probe, attempt, report, unsettled=False))
    if report.ended is Ended.SUCCESS:
        answered(turn, probe, report, attempt.started_at)
    else:
        probe_failed(turn, probe, report, attempt.started_at)


def _check_finished(turn: Turn, check: Record, attempt: Attempt, report: Report) -> None:
    """A check before a resume: what it builds on holds, is broken, or could not be looked at."""
    check = count(check, report)._replace(open=turn.end(check, attempt, report, unsettled=False))
    if report.ended is not Ended.SUCCESS:
        turn.retry_or_stop(check, report)
    elif report.answer is Answer.BROKEN:
        _broken(turn, check, report.code or "RESULT_BROKEN")
    else:
        turn.move(check._replace(ended_at=turn.now, code="", ready_at=None), Trigger.SUCCEEDED)


def _broken(turn: Turn, check: Record, code: str) -> None:
    """The step whose result is broken runs again only if its contract allows that (R-B6)."""
    record = turn.records[check.key._replace(kind=Kind.STEP)]
    step = turn.step(record.key)
    turn.note("step.check_failed", record.key, record.attempts, code=code)
    repeatable = not step.can_be_lost or (step.idempotent and not turn.key_forgotten(step, record))
    if not repeatable or step.sort is Sort.TRANSACTION:
        turn.fail(check._replace(code=code, ended_at=turn.now), Trigger.FAILED)
        return
    turn.move(check._replace(ended_at=turn.now, code=code, ready_at=None), Trigger.SUCCEEDED)
    turn.move(record._replace(ready_at=None, failures=0, lost=0, code=code), Trigger.INVALIDATED)


def late(turn: Turn, fact: Late) -> None:
    """A late answer is a probe's answer about its own attempt: one path, one guard."""
    record = turn.records.get(fact.key)
    if record is None or fact.key.kind is not Kind.STEP or not turn.step(fact.key).can_be_lost:
        return
    attempt = next((attempt for attempt in record.unsettled if attempt.n == fact.n), None)
    if attempt is None:
        _contradiction(turn, record, fact)
        return
    turn.note("step.late_answer", record.key, fact.n, ended=fact.report.ended.value)
    report = fact.report
    if report.ended is Ended.SUCCESS:
        if record.status is RecordStatus.UNKNOWN:
            happened(turn, record, "LATE_ANSWER", Trigger.FOUND)
        else:  # an idempotent repeat is under way: it will bring the output
            turn.put(turn.settle(record, "LATE_ANSWER", attempt))
    elif report.ended is Ended.LOST:
        _gone(turn, record, attempt, turn.now + report.gone_after)
    else:
        record = turn.settle(record, "LATE_ANSWER", attempt)
        if record.status is not RecordStatus.UNKNOWN or record.unsettled:
            turn.put(record)
        elif report.ended is Ended.FAILED:
            turn.fail(record._replace(code=report.code, effect=report.effect, ended_at=turn.now), Trigger.FAILED)
        else:
            turn.retry_or_stop(record, report._replace(effect=Happened.NOT), absent=True)


def _contradiction(turn: Turn, record: Record, fact: Late) -> None:
    """Its doubt was settled otherwise: an incident if it says that it happened too, unless its receiver dropped the repeat."""
    step = turn.step(record.key)
    dropped = step.idempotent and not turn.key_forgotten(step, record)
    known = record.status is RecordStatus.SUCCESS and (record.attempts == fact.n or dropped)
    if fact.report.ended is Ended.SUCCESS and not known:
        turn.note("incident.may_have_happened_twice", record.key, fact.n)
    else:
        turn.note("step.late_answer_discarded", record.key, fact.n, ended=fact.report.ended.value)


def gone(turn: Turn, record: Record, n: int, at: int) -> None:
    attempt = next((attempt for attempt in record.unsettled if attempt.n == n), None)
    if attempt is not None:
        _gone(turn, record, attempt, at)


def _gone(turn: Turn, record: Record, attempt: Attempt, at: int) -> None:
    if attempt.gone_at is not None and attempt.gone_at <= at:
        return
    turn.commands.append(SettleAttempt(record.key, attempt.n, "", at))
    opened = tuple(other._replace(gone_at=at) if other.n == attempt.n else other for other in record.open)
    record = record._replace(open=opened)
    if record.status is RecordStatus.UNKNOWN and not record.asks:
        turn.move(record._replace(ready_at=turn.now), Trigger.LOOKED)
    else:
        turn.put(record)
