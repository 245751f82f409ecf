"""When a decision itself fails: the run stops for a person, by the smallest change that can be made without `decide`."""

from __future__ import annotations

from halfway.domain.draft import Draft
from halfway.domain.facts import Claimed, Command, EndAttempt, Fact, Finished, Move, Note, SetRun, Tell, Told
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import Attempt, Ended, Happened, Record, Report, Snapshot

CODE = "ENGINE_ERROR"


def rescue(draft: Draft, fact: Fact) -> None:
    """Ends what the fact is about as an engine error, and asks the owner. What may have happened stays in doubt."""
    snapshot = draft.before
    commands: list[Command] = []
    if isinstance(fact, (Finished, Claimed)):
        record = snapshot.records.get(fact.key)
        attempt = record.running if record is not None else None
        if record is not None and isinstance(fact, Claimed) and record.status is RecordStatus.PENDING:
            commands.append(Move(_failed(draft, record, record.effect), Trigger.FAILED))
        elif record is not None and attempt is not None and isinstance(fact, Finished) and attempt.n == fact.n:
            commands += _ended(draft, record, attempt, fact.report)
    run = snapshot.run
    commands.append(Note("workflow.engine_error"))
    stopped = run._replace(status=RunStatus.MANUAL_REQUIRED, revision=run.revision + 1, seq=run.seq + 1)
    commands.append(SetRun(stopped))
    commands.append(Tell(Told.PERSON_NEEDED, None, draft.spec.owner, CODE))
    records = dict(snapshot.records)
    records.update({command.record.key: command.record for command in commands if isinstance(command, Move)})
    draft.replace(commands, Snapshot(stopped, records))


def _failed(draft: Draft, record: Record, effect: Happened) -> Record:
    return record._replace(
        status=RecordStatus.FAILED, code=CODE, asks=draft.spec.owner, ended_at=draft.now, open=(), effect=effect, ready_at=None
    )


def _ended(draft: Draft, record: Record, attempt: Attempt, report: Report) -> list[Command]:
    key, now = record.key, draft.now
    if report.ended is not Ended.LOST:
        happened = report.ended is Ended.SUCCESS and draft.spec.by_name[key.step].can_be_lost
        failed = _failed(draft, record, Happened.HAPPENED if happened else report.effect)
        return [EndAttempt(key, attempt.n, Ended.FAILED, CODE, now), Move(failed, Trigger.FAILED)]
    gone_at = now + report.gone_after if report.gone else None
    doubtful = record._replace(
        status=RecordStatus.UNKNOWN, code=CODE, asks=draft.spec.owner, ended_at=now, effect=Happened.UNKNOWN, ready_at=None,
        open=(attempt._replace(lost=True, gone_at=gone_at),),
    )  # fmt: skip
    return [EndAttempt(key, attempt.n, Ended.LOST, CODE, gone_at), Move(doubtful, Trigger.LOST)]
