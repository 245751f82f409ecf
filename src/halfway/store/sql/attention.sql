-- name: asking
-- Records that need or wait for a person, the oldest first, with what is shown to whoever approves.
select run.id, run.type, run.version, run.hash, run.status, run.revision, run.seq, run.intent, run.priority, run.correlation_id,
    run.resource, run.blocked, run.created_at, run.started_at, run.ended_at, run.deadline_at, run.timeout_at, run.timeout_left,
    run.undo, run.actor, run.restored_at, run.grants,
    record.run_id, record.step, record.round, record.item, record.kind, record.status, record.ready_at, record.attempts,
    record.failures, record.lost, record.effect, record.code, record.asks, record.looks, record.first_at, record.started_at,
    record.ended_at, record.approved_until, record.approved_by,
    run.run_key, wait.shown, wait.wait_key, coalesce(wait.opened_at, record.ended_at, record.started_at, run.updated_at) as since
from halfway_record as record
    join halfway_run as run on run.id = record.run_id
    left join halfway_wait as wait on wait.run_id = record.run_id and wait.step = record.step and wait.round = record.round
        and wait.item = record.item and wait.kind = record.kind and wait.closed_at is null and wait.sort = 'APPROVAL'
where record.asks <> '' and record.item = '' and (cast(:role as text) is null or record.asks = :role)
order by since, run.id, record.step, record.round, record.item, record.kind
limit :limit;

-- name: stopped
-- Runs that have stopped for a person, though no record asks, the oldest first.
select id, type, version, hash, status, revision, seq, intent, priority, correlation_id, resource, blocked, created_at, started_at,
    ended_at, deadline_at, timeout_at, timeout_left, undo, actor, restored_at, grants, run_key, updated_at
from halfway_run as run
where status = 'MANUAL_REQUIRED' and ended_at is null
    and not exists (select 1 from halfway_record where run_id = run.id and asks <> '')
order by updated_at, id
limit :limit;

-- name: count_runs
-- How many runs are open in each state, and how many have failed.
select status, count(*) from halfway_run where ended_at is null group by status
union all
select 'FAILED', count(*) from halfway_run where status = 'FAILED' having count(*) > 0;

-- name: audit_log
-- Who ordered what, the newest first.
select at, run_id, action_id, actor, action, reason, step, evidence, refused, before_state, after_state, id
from halfway_audit
where (cast(:run_id as text) is null or run_id = :run_id)
    and (cast(:actor as text) is null or actor = :actor)
    and (cast(:action as text) is null or action = :action)
    and (cast(:before as bigint) is null or id < :before)
order by id desc, action_id desc
limit :limit;

-- name: events
-- Messages from outside and from steps, the newest first.
select id, source, provider_id, name, key, payload, received_at, processed_at, run_id
from halfway_event
where (cast(:name as text) is null or name = :name)
    and (cast(:key as text) is null or key = :key)
    and (:unused = 0 or processed_at is null)
order by id desc
limit :limit;

-- name: waits
-- What a run waits for and has waited for, in order.
select step, round, item, kind, n, sort, name, wait_key, opened_at, shown, closed_at, how, source
from halfway_wait where run_id = :run_id order by opened_at, step, round, item, kind, n;

-- name: messages
-- Messages to people and to other systems, the newest first.
select message.id, message.at, message.what, message.run_id, message.step, message.role, message.code, message.tries,
    event.id, event.source, event.provider_id, event.name, event.key, event.payload, message.delivered_at, message.error
from halfway_outbox as message left join halfway_event as event on event.id = message.event_id
where (cast(:what as text) is null or message.what = :what) and (:undelivered = 0 or message.delivered_at is null)
order by message.id desc
limit :limit;

-- name: failed_tasks
-- Runs that should be started and could not be, the oldest first.
select id, type, kind, name, key, cast(null as text), run_id, tries, error from halfway_task
where error is not null order by id limit :limit;

-- name: holds
-- Business records that are held, and by which step of which run.
select key, holder from halfway_lease
where substr(key, 1, 7) = 'record:' and (cast(:prefix as text) is null or substr(holder, 1, :length) = :prefix)
order by key;
