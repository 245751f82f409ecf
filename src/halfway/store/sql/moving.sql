-- name: move_run
-- A run gets another definition; no row if it has moved since it was read.
update halfway_run set version = :version, hash = :hash, input = :input, revision = revision + 1, seq = seq + 1, updated_at = :now
where id = :run_id and revision = :revision;

-- name: note_moved
-- The same, in its journal.
insert into halfway_journal (run_id, seq, at, name, data)
select id, seq, cast(:now as bigint), 'workflow.moved', cast(:data as text) from halfway_run where id = :run_id;

-- name: set_aside
-- What a step has done that nothing stands for any more is kept.
insert into halfway_former_record (
    run_id, version, step, round, item, kind, status, attempts, effect, code, started_at, ended_at, output, error, moved_at
)
select run_id, cast(:version as bigint), step, round, item, kind, status, attempts, effect, code, started_at, ended_at, output, error,
    cast(:now as bigint)
from halfway_record where run_id = :run_id and step = :step and attempts > 0;

-- name: begin_anew
-- A step whose name goes on begins anew, and counts its attempts on: what an earlier one still says is not taken for a later one's word.
update halfway_record
set status = 'PENDING', ready_at = null, failures = 0, lost = 0, effect = 'none', code = '', asks = '', looks = 0, first_at = null,
    started_at = null, ended_at = null, output = null, error = null, approved_until = null, approved_by = ''
where run_id = :run_id and step = :step and round = 1 and item = '' and kind = 'STEP' and attempts > 0;

-- name: drop_records
-- The records of a step, its items included; all but the one that counts on.
delete from halfway_record
where run_id = :run_id and step = :step
    and (:goes_on = 0 or attempts = 0 or round > 1 or item <> '' or kind <> 'STEP');

-- name: void_approvals
-- What a person has approved was made from the former definition and input.
update halfway_record set ready_at = null, approved_until = null, approved_by = ''
where run_id = :run_id and status = 'PENDING' and approved_until is not null;

-- name: rename_records
-- The records of a step go on under another name.
update halfway_record set step = :name where run_id = :run_id and step = :step;

-- name: rename_attempts
-- And so do their attempts.
update halfway_attempt set step = :name where run_id = :run_id and step = :step;

-- name: rename_waits
-- And what they have waited for.
update halfway_wait set step = :name where run_id = :run_id and step = :step;

-- name: rename_evidence
-- And the facts that they have kept.
update halfway_evidence set step = :name where run_id = :run_id and step = :step;

-- name: rename_artifacts
-- And the artifacts that they have made.
update halfway_artifact set step = :name where run_id = :run_id and step = :step;

-- name: rename_calls
-- And the tools that they have called.
update halfway_call set step = :name where run_id = :run_id and step = :step;

-- name: rename_children
-- And the runs that they have started.
update halfway_child set step = :name where parent_id = :run_id and step = :step;

-- name: reroute
-- Records wait for the code that their step has now.
update halfway_record set route = :route where run_id = :run_id and step = :step;

-- name: make_output
-- The output of a done step in the shape that it has now.
update halfway_record set output = :output where run_id = :run_id and step = :step and round = 1 and item = '' and kind = 'STEP';
