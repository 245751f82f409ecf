"""When a decision itself fails: the run stops for a person, by the smallest change that can be made without `decide`."""

from __future__ import annotations

from halfway.domain.draft import Draft
from halfway.domain.facts import Command, EndAttempt, Fact, Finished, Late, Move, Note, SetRun
from halfway.domain.lifecycle import RecordStatus, RunStatus, Trigger
from halfway.domain.run import Ended, Happened, Snapshot


def rescue(draft: Draft, fact: Fact) -> None:
    """Ends the attempt the fact is about as an engine error, and asks the owner."""
    snapshot = draft.before
    commands: list[Command] = []
    if isinstance(fact, (Finished, Late)):
        record = snapshot.records.get(fact.key)
        attempt = record.running if record is not None else None
        if record is not None and attempt is not None and record.status is RecordStatus.RUNNING:
            lost = fact.report.ended in (Ended.SUCCESS, Ended.LOST)
            commands.append(EndAttempt(fact.key, attempt.n, Ended.FAILED, "ENGINE_ERROR", draft.now))
            failed = record._replace(
                status=RecordStatus.FAILED, code="ENGINE_ERROR", asks=draft.spec.owner, ended_at=draft.now, open=(),
                effect=Happened.HAPPENED if lost else record.effect,
            )  # fmt: skip
            commands.append(Move(failed, Trigger.FAILED))
    run = snapshot.run
    commands.append(Note("workflow.engine_error"))
    stopped = run._replace(status=RunStatus.MANUAL_REQUIRED, revision=run.revision + 1, seq=run.seq + 1)
    commands.append(SetRun(stopped))
    records = dict(snapshot.records)
    records.update({command.record.key: command.record for command in commands if isinstance(command, Move)})
    draft.replace(commands, Snapshot(stopped, records))
