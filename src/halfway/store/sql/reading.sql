-- name: list_runs
-- A page of runs, the newest first.
select id, type, version, hash, status, revision, seq, intent, priority, correlation_id, resource, blocked, created_at,
    started_at, ended_at, deadline_at, timeout_at, timeout_left, undo, actor, restored_at, grants, run_key, updated_at
from halfway_run
where (cast(:status as text) is null or status = :status)
    and (cast(:type as text) is null or type = :type)
    and (cast(:pattern as text) is null
        or lower(id) like lower(:pattern) escape '!'
        or lower(run_key) like lower(:pattern) escape '!'
        or lower(resource) like lower(:pattern) escape '!'
        or lower(correlation_id) like lower(:pattern) escape '!')
    and (cast(:before as text) is null
        or (created_at, id) < (
            select created_at, id from halfway_run where id = :before
            union all select created_at, run_id from halfway_past where run_id = :before
        ))
order by created_at desc, id desc
limit :limit;

-- name: list_records
-- The records of a page of runs, without what they returned.
select run_id, step, round, item, kind, status, ready_at, attempts, failures, lost, effect, code, asks, looks, first_at,
    started_at, ended_at, approved_until, approved_by
from halfway_record where run_id in :ids[] and item = ''
order by run_id, case when first_at is null then 1 else 0 end, first_at, ready_at, step, round, item, kind;

-- name: find_by_id
-- Whether there is a run with this id, or was.
select id from halfway_run where id = :text
union all
select run_id from halfway_past where run_id = :text;

-- name: find_by_key
-- The newest run of each type under a key; `key#2` names the second one itself.
select run_id from halfway_key as newest
where key = :text and n = (select max(n) from halfway_key where type = newest.type and key = newest.key)
union
select id from halfway_run where run_key = :text and run_key like '%#%'
union
select run_id from halfway_past where run_key = :text and run_key like '%#%';

-- name: find_by_suffix
-- Runs whose id ends like this, also if they are gone.
select id from (
    select id from halfway_run where id like :pattern escape '!'
    union all
    select run_id from halfway_past where run_id like :pattern escape '!'
) as found limit 100;

-- name: read_run
-- One run with all its columns.
select id, type, version, hash, status, revision, seq, intent, priority, correlation_id, resource, blocked, created_at,
    started_at, ended_at, deadline_at, timeout_at, timeout_left, undo, actor, restored_at, grants, run_key, input, updated_at
from halfway_run where id = :run_id;

-- name: read_records
-- The records of a run with what they returned, in the order in which they began.
select run_id, step, round, item, kind, status, ready_at, attempts, failures, lost, effect, code, asks, looks, first_at,
    started_at, ended_at, approved_until, approved_by, output, error
from halfway_record where run_id = :run_id and item = ''
order by case when first_at is null then 1 else 0 end, first_at, ready_at, step, round, item, kind;

-- name: read_attempts
-- Every attempt of a run.
select step, round, item, kind, n, epoch, started_at, mark_at, ended_at, ended, code, settled, gone_at
from halfway_attempt where run_id = :run_id and item = ''
order by step, round, item, kind, n;

-- name: read_evidence
-- What the attempts of a run have kept.
select step, round, item, kind, n, at, data from halfway_evidence where run_id = :run_id and item = '' order by at, step, n;

-- name: read_artifacts
-- What the attempts of a run have made.
select id, step, round, item, kind, n, name, sha256, size, created_at
from halfway_artifact where run_id = :run_id and item = '' order by created_at, id;

-- name: artifact
-- One artifact of one run.
select id, step, round, item, kind, n, name, sha256, size, created_at
from halfway_artifact where id = :id and run_id = :run_id;

-- name: journal
-- What happened in a run, in order.
select seq, at, name, step, round, item, kind, n, data
from halfway_journal where run_id = :run_id and seq > :after_seq order by seq limit :limit;

-- name: read_audit
-- Who ordered what about a run, and why.
select at, run_id, action_id, actor, action, reason, step, evidence, refused, before_state, after_state, id
from halfway_audit where run_id = :run_id order by id, action_id;

-- name: workers
-- The workers that are alive, and the latest others.
select worker.epoch, worker.state, beat.counter, beat.at, worker.host, worker.pid, worker.identity, worker.kill_after,
    worker.started_at, worker.ended_at,
    (select count(*) from halfway_attempt as attempt where attempt.epoch = worker.epoch and attempt.ended_at is null) as running,
    worker.queues
from halfway_worker as worker join halfway_beat as beat on beat.epoch = worker.epoch
order by case when worker.state = 'ALIVE' then 0 else 1 end, worker.started_at desc
limit 200;

-- name: definitions
-- All definitions that were registered.
select type, version, hash, registered_at from halfway_definition order by type, version, registered_at, hash;
