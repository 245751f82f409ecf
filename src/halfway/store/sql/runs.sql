-- name: lock_runs
-- Locks runs in order of id and reads their revisions; those locked elsewhere are left out.
select id, revision from halfway_run where id in :ids[] order by id /* pg: for no key update skip locked */;

-- name: lock_runs_waiting
-- Locks runs in order of id and reads their revisions, however long the lock timeout lets it wait.
select id, revision from halfway_run where id in :ids[] order by id /* pg: for no key update */;

-- name: load_runs
-- Runs with their inputs.
select id, type, version, hash, status, revision, seq, intent, priority, correlation_id, resource, blocked, created_at,
    started_at, ended_at, deadline_at, timeout_at, input
from halfway_run where id in :ids[];

-- name: load_records
-- All records of runs, with the outputs that later steps read.
select run_id, step, round, item, kind, status, ready_at, attempts, failures, lost, effect, code, asks, looks, first_at,
    started_at, ended_at, case when status = 'SUCCESS' and kind = 'STEP' then output end as output
from halfway_record where run_id in :ids[]
order by run_id, step, round, item, kind;

-- name: load_open_attempts
-- Attempts that run, or whose answer was lost and nothing has proven what happened.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where run_id in :ids[] and (ended_at is null or (ended = 'LOST' and settled is null))
order by run_id, step, round, item, kind, n;

-- name: ready
-- The first due records of a route, not locked: the lock of the run decides who gets one.
select run_id, step, round, item, kind, route, priority, ready_at
from halfway_record
where status = 'PENDING' and ready_at is not null and route = :route and ready_at <= :now
order by priority desc, ready_at
limit :limit;

-- name: running
-- The attempts of an epoch that run according to the database.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where epoch = :epoch and ended_at is null
order by run_id, step, round, item, kind, n;

-- name: lost
-- The attempts of an epoch whose answer is lost, and which may still send something as far as is known.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where epoch = :epoch and ended = 'LOST' and settled is null and gone_at is null
order by run_id, step, round, item, kind, n;

-- name: due
-- Runs whose time has come, or which nothing would ever move again.
select id from (
    select distinct run_id as id from (
        select run_id from halfway_record where status = 'UNKNOWN' and ready_at is not null and ready_at <= :now
        order by ready_at limit :limit
    ) as doubt
    union
    select id from (
        select id from halfway_run where ended_at is null and intent is null and deadline_at is not null and deadline_at <= :now
        order by deadline_at limit :limit
    ) as deadline
    union
    select id from (
        select id from halfway_run where ended_at is null and intent is null and timeout_at is not null and timeout_at <= :now
        order by timeout_at limit :limit
    ) as timeout
    union
    select id from (
        select id from halfway_run as waiting
        where blocked = 1 and ended_at is null
            and not exists (select 1 from halfway_lease where key = 'resource:' || waiting.resource)
            and not exists (
                select 1 from halfway_run as earlier
                where earlier.blocked = 1 and earlier.ended_at is null and earlier.resource = waiting.resource
                    and earlier.id < waiting.id
            )
        order by id limit :limit
    ) as blocked
    union
    select id from (
        select id from halfway_run as stuck
        where ended_at is null and status in ('RUNNING', 'CANCEL_REQUESTED')
            and not exists (
                select 1 from halfway_record
                where run_id = stuck.id
                    and (status = 'RUNNING' or (status in ('PENDING', 'UNKNOWN') and ready_at is not null) or asks <> '')
            )
        order by id limit :limit
    ) as stuck
) as found
order by id
limit :limit;

-- name: take_resource
-- A blocked run takes the resource it waits for, if nobody holds it and nobody is before it.
insert into halfway_lease (key, slot, holder)
select 'resource:' || resource, 0, id from halfway_run as waiting
where id = :run_id and resource is not null
    and not exists (
        select 1 from halfway_run as earlier
        where earlier.blocked = 1 and earlier.ended_at is null and earlier.resource = waiting.resource and earlier.id < waiting.id
    )
on conflict (key, slot) do nothing;

-- name: holds_resource
-- Whether a run holds what it needs; one without a resource does.
select 1 from halfway_run
where id = :run_id
    and (resource is null or exists (
        select 1 from halfway_lease where key = 'resource:' || resource and slot = 0 and holder = :run_id
    ));
