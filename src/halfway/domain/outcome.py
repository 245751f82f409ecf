"""What the end of an attempt means for its record: success, another try, a failure, or doubt."""

from __future__ import annotations

from halfway.domain import children, items, joins, loops, waits
from halfway.domain.budget import EXCEEDED
from halfway.domain.contract import Rule, rule_for
from halfway.domain.doubt import RESTORED, answered, forgotten, happened, probed_key
from halfway.domain.facts import Finished, Late, SettleAttempt, Tell, Told
from halfway.domain.lifecycle import RecordStatus, Trigger
from halfway.domain.run import ACTING, PROBED_BY, Answer, Attempt, Ended, Happened, Kind, Record, Report
from halfway.domain.spec import Sort, Then
from halfway.domain.turn import DEATHS, Turn, still

FOR_MANY = {Sort.EACH: items.opened, Sort.CHILDREN: items.opened, Sort.CHILD: children.began}


def finished(turn: Turn, fact: Finished) -> None:
    record = turn.records[fact.key]
    attempt = record.running
    if attempt is None or attempt.n != fact.n:
        return  # it was ended before; the guard in the database says the same
    if fact.key.kind is Kind.STEP:
        _step_finished(turn, record, attempt, fact.report)
    elif fact.key.kind in PROBED_BY:
        _probe_finished(turn, record, attempt, fact.report)
    elif fact.key.kind is Kind.CHECK:
        _check_finished(turn, record, attempt, fact.report)
    elif fact.key.kind is Kind.CONDITION:
        _condition_finished(turn, record, attempt, fact.report)
    elif fact.key.kind is Kind.DRAFT:
        _draft_finished(turn, record, attempt, fact.report)
    else:
        _step_finished(turn, record, attempt, fact.report)


def _step_finished(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    step = turn.step(record.key)
    if report.ended is Ended.SUCCESS and step.waits:
        waits.suspend(turn, record, attempt, report)
        return
    if report.ended is Ended.SUCCESS and step.sort in FOR_MANY:
        FOR_MANY[step.sort](turn, record, attempt, report)
        return
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
        if report.rewinds and step.rewind is not None:
            loops.failed(turn, record, Trigger.FAILED)
        else:
            turn.fail(record, Trigger.FAILED, Then.MANUAL if report.code in ASKS else None)
    else:
        turn.retry_or_stop(record, report)


ASKS = (EXCEEDED, "HANDED_OVER")  # codes of failures about which a person decides, whatever the step says about its failures


def count(record: Record, report: Report) -> Record:
    """An attempt counts against Retry, or against the limit of deaths, or (handed back) against nothing."""
    if report.death:
        return record._replace(lost=record.lost + 1)
    if report.ended is Ended.HANDED_BACK:
        return record
    return record._replace(failures=record.failures + 1)


def _lost(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    step = turn.step(record.key)
    left = turn.end(record, attempt, report, unsettled=True)
    record = record._replace(open=left, code=report.code, approved_until=None, approved_by=())
    spent = report.final or record.failures >= step.retry.attempts or record.lost >= DEATHS
    repeatable = not (spent or turn.gives_up(record) or turn.key_forgotten(step, record))
    if rule_for(step, repeatable=repeatable) is Rule.REPEAT:
        turn.retry_or_stop(record, report)
    else:
        turn.doubt(record)


def _probe_finished(turn: Turn, probe: Record, attempt: Attempt, report: Report) -> None:
    """A probe that raised has not said absent: it is asked again, and at its limit it cannot tell."""
    probe = count(probe, report)._replace(open=turn.end(probe, attempt, report, unsettled=False))
    if report.ended is not Ended.SUCCESS:
        if not report.final and probe.failures < turn.retry_of(probe.key).attempts and probe.lost < DEATHS:
            turn.retry_or_stop(probe, report)
            return
        report = report._replace(answer=Answer.CANNOT_TELL)
    turn.move(probe._replace(ended_at=turn.now, code=report.code, ready_at=None), Trigger.SUCCEEDED)
    record = turn.records.get(probed_key(probe.key))
    if record is not None and record.status is RecordStatus.WAITING and turn.step(record.key).waits:
        waits.probed(turn, record, probe, report.answer or Answer.CANNOT_TELL)
    else:
        answered(turn, probe, report, attempt.started_at)


def _draft_finished(turn: Turn, draft: Record, attempt: Attempt, report: Report) -> None:
    """What a person is to be shown is made, or cannot be; the compensation goes on from there."""
    draft = count(draft, report)._replace(open=turn.end(draft, attempt, report, unsettled=False))
    if report.ended is Ended.SUCCESS:
        turn.move(draft._replace(ended_at=turn.now, code="", ready_at=None), Trigger.SUCCEEDED, keep=True)
        turn.note("step.completed", draft.key, attempt.n)
    elif report.final or draft.failures >= turn.retry_of(draft.key).attempts or draft.lost >= DEATHS:
        turn.move(draft._replace(ended_at=turn.now, code=report.code, ready_at=None), Trigger.FAILED)
    else:
        turn.retry_or_stop(draft, report)


def _condition_finished(turn: Turn, asked: Record, attempt: Attempt, report: Report) -> None:
    """Whether a step runs at all. Where that cannot be said, the step has failed before it began."""
    asked = count(asked, report)._replace(open=turn.end(asked, attempt, report, unsettled=False))
    if report.ended is Ended.SUCCESS:
        code = "" if report.answer is Answer.HOLDS else joins.RULED_OUT
        turn.move(asked._replace(ended_at=turn.now, code=code, ready_at=None), Trigger.SUCCEEDED)
        turn.note("step.completed", asked.key, attempt.n, holds=not code)
    elif turn.stopping:  # nobody needs the answer any more
        turn.stop(asked, absent=False)
    elif not (report.final or asked.failures >= turn.retry_of(asked.key).attempts or asked.lost >= DEATHS):
        turn.retry_or_stop(asked, report)
    else:
        turn.move(asked._replace(ended_at=turn.now, code=report.code, ready_at=None), Trigger.FAILED)
        condition = turn.step(asked.key).condition
        turn.note("step.failed", asked.key, attempt.n, code=report.code, condition=condition, message=report.said)
        key = asked.key._replace(kind=Kind.STEP)
        step = turn.records.get(key) or Record(key, RecordStatus.PENDING)
        turn.fail(step._replace(code=report.code, ended_at=turn.now), Trigger.FAILED)


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
    again = record._replace(ready_at=None, failures=0, lost=0, code=code, approved_until=None, approved_by=())
    turn.move(again, Trigger.INVALIDATED)
    turn.hold_back(record.key.step)


def late(turn: Turn, fact: Late) -> None:
    """A late answer is a probe's answer about its own attempt: one path, one guard."""
    record = turn.records.get(fact.key)
    if record is None or fact.key.kind not in ACTING or not turn.step(fact.key).can_be_lost:
        return
    attempt = next((attempt for attempt in record.unsettled if attempt.n == fact.n), None)
    if attempt is None:
        _contradiction(turn, record, fact)
        return
    turn.note("step.late_answer", record.key, fact.n, ended=fact.report.ended.value)
    if fact.report.ended is Ended.SUCCESS:
        _late_success(turn, record, attempt)
    elif fact.report.ended is Ended.LOST:
        _gone(turn, record, attempt, turn.now + fact.report.gone_after)
    else:
        _late_failure(turn, record, attempt, fact.report)


def _late_success(turn: Turn, record: Record, attempt: Attempt) -> None:
    if record.status is RecordStatus.PENDING:  # the repeat is not needed any more
        record = turn.move(record, Trigger.LOST)
    if record.status is RecordStatus.UNKNOWN:
        happened(turn, record, "LATE_ANSWER", Trigger.FOUND)
    else:  # the repeat is under way: it brings the output, and if it fails the doubt is settled otherwise
        _gone(turn, record, attempt, turn.now)


def _late_failure(turn: Turn, record: Record, attempt: Attempt, report: Report) -> None:
    effect = report.effect if report.ended is Ended.FAILED else Happened.NOT
    if record.status is RecordStatus.RUNNING and effect is Happened.HAPPENED:
        _gone(turn, record, attempt, turn.now)
        return
    record = turn.settle(record, "LATE_ANSWER", attempt)
    if effect is Happened.HAPPENED or not record.unsettled:
        record = record._replace(effect=still(record, effect))
    if record.status is RecordStatus.RUNNING:
        turn.put(record)
    elif record.status is RecordStatus.PENDING:
        turn.move(record, Trigger.BECAME_READY)
    elif record.unsettled:
        turn.move(record, Trigger.LOOKED)
    elif report.ended is Ended.FAILED:
        turn.fail(record._replace(code=report.code, ended_at=turn.now), Trigger.FAILED)
    elif forgotten(turn, record._replace(effect=Happened.UNKNOWN)):  # this attempt did nothing, and one after it may have
        turn.move(record._replace(effect=Happened.UNKNOWN, code=RESTORED, ready_at=turn.now, asks=""), Trigger.LOOKED)
    else:
        turn.retry_or_stop(record, report._replace(effect=Happened.NOT), absent=True)


def _contradiction(turn: Turn, record: Record, fact: Late) -> None:
    """Its doubt was settled otherwise: an incident if it says that it happened too, unless its receiver dropped the repeat."""
    step = turn.step(record.key)
    dropped = step.idempotent and not turn.key_forgotten(step, record)
    known = record.status is RecordStatus.SUCCESS and (record.attempts == fact.n or dropped)
    if fact.report.ended is Ended.SUCCESS and not known:
        turn.note("incident.may_have_happened_twice", record.key, fact.n)
        turn.commands.append(Tell(Told.INCIDENT, record.key, turn.approver(record.key), "MAY_HAVE_HAPPENED_TWICE"))
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
