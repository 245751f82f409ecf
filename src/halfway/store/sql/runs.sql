-- name: lock_runs
-- Locks runs in order of id and reads their revisions; those locked elsewhere are left out.
select id, revision from halfway_run where id in :ids[] order by id /* pg: for no key update skip locked */;

-- name: lock_runs_waiting
-- Locks runs in order of id and reads their revisions, however long the lock timeout lets it wait.
select id, revision from halfway_run where id in :ids[] order by id /* pg: for no key update */;

-- name: load_runs
-- Runs with their inputs.
select id, type, version, hash, status, revision, seq, intent, priority, correlation_id, resource, blocked, created_at,
    started_at, ended_at, deadline_at, timeout_at, timeout_left, undo, actor, restored_at, grants, input
from halfway_run where id in :ids[];

-- name: load_records
-- All records of runs but those of items, with the outputs that later steps read, and why steps failed; a wait for a time has its output before it ends.
select run_id, step, round, item, kind, status, ready_at, attempts, failures, lost, effect, code, asks, looks, first_at,
    started_at, ended_at, approved_until, approved_by,
    case when (status = 'SUCCESS' or status = 'WAITING') and (kind = 'STEP' or kind = 'DRAFT') then output end as output,
    case when status = 'FAILED' and kind = 'STEP' then error end as error
from halfway_record where run_id in :ids[] and item = ''
order by run_id, step, round, kind;

-- name: load_open_attempts
-- Attempts that run, or whose answer was lost and nothing has proven what happened.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where run_id in :ids[] and item = '' and (ended_at is null or (ended = 'LOST' and settled is null))
order by run_id, step, round, item, kind, n;

-- name: ready
-- The first due records of a route, not locked: the lock of the run decides who gets one.
select run_id, step, round, item, kind, route, priority, ready_at
from halfway_record
where status = 'PENDING' and ready_at is not null and route = :route and ready_at <= :now
order by ready_at - priority * 60000000
limit :limit;

-- name: ready_beside
-- The same, but for steps: what only looks, and what undoes.
select run_id, step, round, item, kind, route, priority, ready_at
from halfway_record
where status = 'PENDING' and ready_at is not null and kind <> 'STEP' and route = :route and ready_at <= :now
order by ready_at - priority * 60000000
limit :limit;

-- name: ready_of_run
-- The first due records of a route in one run, for a worker that serves no other.
select run_id, step, round, item, kind, route, priority, ready_at
from halfway_record
where run_id = :run_id and status = 'PENDING' and ready_at is not null and route = :route and ready_at <= :now
order by ready_at - priority * 60000000
limit :limit;

-- name: ready_beside_of_run
-- The same, but for steps.
select run_id, step, round, item, kind, route, priority, ready_at
from halfway_record
where run_id = :run_id and status = 'PENDING' and ready_at is not null and kind <> 'STEP' and route = :route and ready_at <= :now
order by ready_at - priority * 60000000
limit :limit;

-- name: left_running
-- The attempts of an epoch that run according to the database.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where epoch = :epoch and ended_at is null
order by run_id, step, round, item, kind, n;

-- name: left_lost
-- The attempts of an epoch whose answer is lost, and which may still send something as far as is known.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where epoch = :epoch and ended = 'LOST' and settled is null and gone_at is null
order by run_id, step, round, item, kind, n;

-- name: due
-- Runs whose time has come, or which nothing would ever move again. A question that is answered by a value, not by `exists`, is
-- asked for each row by its index, and never turned into a join with everything that is open.
select id from (
    select distinct run_id as id from (
        select run_id from halfway_record where status = 'UNKNOWN' and ready_at is not null and ready_at <= :now
        order by ready_at limit :limit
    ) as doubt
    union
    select distinct run_id as id from (
        select run_id from halfway_record where status = 'WAITING' and ready_at is not null and ready_at <= :now
        order by ready_at limit :limit
    ) as waited
    union
    select distinct run_id as id from (
        select run_id from halfway_wake order by at limit :limit
    ) as woken
    union
    select run_id as id from (
        select run_id from halfway_passed order by run_id limit :limit
    ) as passed
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
        select id from halfway_run as stuck
        where ended_at is null and blocked = 0 and status in ('RUNNING', 'CANCEL_REQUESTED', 'COMPENSATING')
            and not exists (
                select 1 from halfway_record
                where run_id = stuck.id
                    and (status = 'RUNNING' or status = 'WAITING' or (status in ('PENDING', 'UNKNOWN') and ready_at is not null) or asks <> '')
            )
        order by id limit :limit
    ) as stuck
) as found
order by id;

-- name: take_hold
-- A step takes the business record that it changes, if nobody holds it.
insert into halfway_lease (key, slot, holder) values (:key, 0, :holder)
on conflict (key, slot) do nothing;

-- name: holders
-- Who holds these.
select key, holder from halfway_lease where key in :keys[] and slot = 0;

-- name: drop_hold
-- What was taken in vain is free again.
delete from halfway_lease where key = :key and slot = 0 and holder = :holder;

-- name: lock_open_runs
-- Locks every open run in order of id, and counts them.
select count(*) from (select id from halfway_run where ended_at is null order by id /* pg: for no key update */) as found;

-- name: set_restored
-- Every open run is told that starts of it may be missing.
update halfway_run set restored_at = :now, updated_at = :now, revision = revision + 1, seq = seq + 1 where ended_at is null;

-- name: note_restored
-- The same, in the journals of these runs.
insert into halfway_journal (run_id, seq, at, name)
select id, seq, cast(:now as bigint), 'workflow.restored' from halfway_run where ended_at is null and restored_at = :now;

-- name: put_meta
-- A value of the whole database.
insert into halfway_meta (name, value) values (:name, :value)
on conflict (name) do update set value = excluded.value;

-- name: meta
-- A value of the whole database.
select value from halfway_meta where name = :name;
