-- What was deleted of a run is deleted in two steps: its own row becomes a row of `halfway_past`, then its other rows go, so many at
-- once. Whatever names a run that must stay is a part of `needed_runs`, and nothing else is.

-- name: old_runs
-- Runs of a workflow that ended so long ago, the oldest first, after the last one that was looked at.
select id, ended_at from halfway_run
where type = :type and ended_at is not null and ended_at <= :until and (ended_at, id) > (:after_at, :after_id)
order by ended_at, id
limit :limit;

-- name: count_old_runs
-- How many runs of a workflow ended so long ago.
select count(*) from halfway_run where type = :type and ended_at is not null and ended_at <= :until;

-- name: lock_old_runs
-- Those of these runs that have still ended so long ago; those locked elsewhere are left out.
select id from halfway_run where id in :ids[] and ended_at is not null and ended_at <= :until
order by id /* pg: for update skip locked */;

-- name: needed_runs
-- Which of these runs must stay, and why: something of them is open, or something else refers to them.
select run_id, 'attempt' as why from halfway_attempt
where run_id in :ids[] and (ended is null or (ended = 'LOST' and settled is null))
union
select run_id, 'record' from halfway_record
where run_id in :ids[] and (status in ('RUNNING', 'WAITING', 'UNKNOWN') or asks <> '')
union
select run_id, 'undo' from halfway_record
where run_id in :ids[] and kind = 'COMPENSATION' and status not in ('SUCCESS', 'SKIPPED')
union
select holder, 'resource' from halfway_lease where holder in :ids[]
union
select record.run_id, 'hold' from halfway_record as record join halfway_lease as lease on lease.holder = record.run_id || ':' || record.step
where record.run_id in :ids[]
union
select run_id, 'message' from halfway_outbox where run_id in :ids[] and delivered_at is null
union
select run_id, 'task' from halfway_task where run_id in :ids[]
union
select own.run_id, 'wait'
from halfway_key as own join halfway_wait as wait
    on wait.name = own.type and wait.wait_key = own.key and wait.sort = 'RUN' and wait.closed_at is null
where own.run_id in :ids[]
union
select child.run_id, 'parent' from halfway_child as child join halfway_run as parent on parent.id = child.parent_id
where child.run_id in :ids[]
union
select child.parent_id, 'child' from halfway_child as child join halfway_run as run on run.id = child.run_id
where child.parent_id in :ids[] and run.ended_at is null
union
select item.run_id, 'batch' from halfway_batch_item as item join halfway_batch as batch on batch.id = item.batch_id
where item.run_id in :ids[] and batch.ended_at is null;

-- name: last_words
-- What stays known of runs.
select id, type, version, status, run_key, input, created_at, ended_at from halfway_run where id in :ids[];

-- name: last_inputs
-- The inputs that runs had before they were corrected.
select run_id, input from halfway_input where run_id in :ids[];

-- name: put_past
-- What stays known of a run; its other rows are still to be deleted.
insert into halfway_past (run_id, type, version, status, run_key, inputs, created_at, ended_at, deleted_at)
values (:run_id, :type, :version, :status, :run_key, :inputs, :created_at, :ended_at, :now);

-- name: delete_runs
-- The runs themselves.
delete from halfway_run where id in :ids[];

-- name: delete_wakes
-- Nobody is to look at them any more.
delete from halfway_wake where run_id in :ids[];

-- name: delete_claims
-- What they wanted for themselves.
delete from halfway_claim where run_id in :ids[];

-- name: left_runs
-- Runs that are gone and whose other rows may be there, after the last one that was cleared: while somebody holds a snapshot, those
-- that were cleared stay in the index, and to begin at its beginning would be to read all of them. What is locked elsewhere is left out.
select run_id from halfway_past where cleared_at is null and run_id > :after_id order by run_id limit :limit /* pg: for update skip locked */;

-- name: empty_events_of
-- The events that these runs have used, but for those that somebody is still to hear of.
update halfway_event set payload = 'null', emptied_at = :now
where emptied_at is null
    and id in (select source from halfway_wait where run_id in :ids[] and sort = 'EVENT' and source is not null)
    and not exists (select 1 from halfway_task where event_id = halfway_event.id)
    and not exists (select 1 from halfway_outbox where event_id = halfway_event.id and delivered_at is null);

-- name: delete_records
-- So many records.
delete from halfway_record
where run_id in :ids[] and (run_id, step, round, item, kind) in (
    select run_id, step, round, item, kind from halfway_record where run_id in :ids[] limit :limit
);

-- name: delete_attempts
-- So many attempts.
delete from halfway_attempt
where run_id in :ids[] and (run_id, step, round, item, kind, n) in (
    select run_id, step, round, item, kind, n from halfway_attempt where run_id in :ids[] limit :limit
);

-- name: delete_journal
-- So many lines of journals.
delete from halfway_journal
where run_id in :ids[] and (run_id, seq) in (
    select run_id, seq from halfway_journal where run_id in :ids[] limit :limit
);

-- name: delete_evidence
-- So many rows of evidence, and those of the same moments.
delete from halfway_evidence
where run_id in :ids[] and (run_id, at) in (
    select run_id, at from halfway_evidence where run_id in :ids[] limit :limit
);

-- name: delete_calls
-- So many calls of tools.
delete from halfway_call
where run_id in :ids[] and (run_id, step, round, item, kind, n, seq) in (
    select run_id, step, round, item, kind, n, seq from halfway_call where run_id in :ids[] limit :limit
);

-- name: delete_waits
-- So many waits.
delete from halfway_wait
where run_id in :ids[] and (run_id, step, round, item, kind, n) in (
    select run_id, step, round, item, kind, n from halfway_wait where run_id in :ids[] limit :limit
);

-- name: delete_inputs
-- So many inputs that were corrected.
delete from halfway_input
where run_id in :ids[] and (run_id, revision) in (
    select run_id, revision from halfway_input where run_id in :ids[] limit :limit
);

-- name: delete_former
-- So many records that were set aside when their runs were moved to a later version.
delete from halfway_former_record
where run_id in :ids[] and (run_id, version, step, round, item, kind) in (
    select run_id, version, step, round, item, kind from halfway_former_record where run_id in :ids[] limit :limit
);

-- name: delete_children
-- So many entries about runs that these have started; a child goes after its parent.
delete from halfway_child
where parent_id in :ids[] and (parent_id, step, round, item) in (
    select parent_id, step, round, item from halfway_child where parent_id in :ids[] limit :limit
);

-- name: delete_messages
-- So many messages; they were handed over.
delete from halfway_outbox where id in (
    select id from halfway_outbox where run_id in :ids[] limit :limit
);

-- name: delete_artifacts_of
-- So many artifacts, but for those of workflows whose artifacts have a time of their own.
delete from halfway_artifact where id in (
    select artifact.id from halfway_artifact as artifact join halfway_past as past on past.run_id = artifact.run_id
    where artifact.run_id in :ids[] and not past.type in :types[] limit :limit
);

-- name: set_cleared
-- Nothing is left of these runs but what stays known.
update halfway_past set cleared_at = :now where run_id in :ids[] and cleared_at is null;

-- name: past
-- What is known of a run whose history was deleted.
select run_id, type, version, status, run_key, ended_at, deleted_at from halfway_past where run_id = :run_id;

-- name: past_under_key
-- What is known of the run that stands under a key, if its history was deleted.
select holder.n, past.run_id, past.status, past.inputs
from halfway_key as holder join halfway_past as past on past.run_id = holder.run_id
where holder.type = :type and holder.key = :key
    and holder.n = (select max(n) from halfway_key where type = :type and key = :key)
/* pg: for share of holder */;

-- name: old_pasts
-- Runs of a workflow that ended so long ago that even their keys are old, the oldest first.
select run_id, ended_at from halfway_past
where type = :type and cleared_at is not null and ended_at <= :until and (ended_at, run_id) > (:after_at, :after_id)
order by ended_at, run_id
limit :limit;

-- name: lock_keys
-- Every key under which one of these runs stands, with all runs that ever stood there; those locked elsewhere are left out.
select beside.type, beside.key, beside.n
from halfway_key as own join halfway_key as beside on beside.type = own.type and beside.key = own.key
where own.run_id in :ids[]
order by beside.type, beside.key, beside.n /* pg: for update of beside skip locked */;

-- name: keys_beside
-- The same, with those that are locked elsewhere, and whether even what is known of their runs is old.
select beside.type, beside.key, beside.n, beside.run_id,
    case when exists (
        select 1 from halfway_past where run_id = beside.run_id and cleared_at is not null and ended_at <= :until
    ) then 1 else 0 end as is_old
from halfway_key as own join halfway_key as beside on beside.type = own.type and beside.key = own.key
where own.run_id in :ids[]
order by beside.type, beside.key, beside.n;

-- name: delete_key
-- A business key may be taken anew.
delete from halfway_key where type = :type and key = :key and n = :n;

-- name: delete_pasts
-- Nothing is known of these runs any more.
delete from halfway_past where run_id in :ids[] and cleared_at is not null;

-- name: old_events
-- Events that came so long ago and have their payloads, the oldest first.
select id, received_at from halfway_event
where emptied_at is null and received_at <= :until and (received_at, id) > (:after_at, :after_id)
order by received_at, id
limit :limit;

-- name: lock_events
-- Those of these events that still have their payloads; those locked elsewhere are left out.
select id from halfway_event where id in :ids[] and emptied_at is null order by id /* pg: for update skip locked */;

-- name: needed_events
-- Which of these events must keep their payloads: the run that has used one is there, something still needs it, or a wait may take it.
select event.id from halfway_event as event join halfway_run as run on run.id = event.run_id where event.id in :ids[]
union
select event_id from halfway_task where event_id in :ids[]
union
select event_id from halfway_outbox where event_id in :ids[] and delivered_at is null
union
select id from halfway_event where id in :ids[] and coalesce(processed_at, 0) = 0 and received_at > :unused_until
union
select event.id
from halfway_event as event join halfway_wait as wait
    on wait.sort = 'EVENT' and wait.name = event.name and wait.wait_key = event.key and wait.closed_at is null
        and wait.since <= event.received_at
where event.id in :ids[] and coalesce(event.processed_at, 0) = 0;

-- name: empty_events
-- What came is forgotten; that it came is not. Nobody can take it any more.
update halfway_event set payload = 'null', emptied_at = :now, processed_at = coalesce(processed_at, :now) where id in :ids[];

-- name: old_event_ids
-- Events without payloads that came so long ago that their sources will not send them again.
select id, received_at from halfway_event
where emptied_at is not null and received_at <= :until and (received_at, id) > (:after_at, :after_id)
order by received_at, id
limit :limit;

-- name: delete_events
-- A repeat of these would count as a new one.
delete from halfway_event where id in :ids[] and emptied_at is not null;

-- name: old_batches
-- Orders for many runs that ended so long ago, the oldest first.
select id, ended_at from halfway_batch
where ended_at is not null and ended_at <= :until and (ended_at, id) > (:after_at, :after_id)
order by ended_at, id
limit :limit;

-- name: delete_batch_items
-- So many items of an order that has ended.
delete from halfway_batch_item
where batch_id = :id and n in (select n from halfway_batch_item where batch_id = :id order by n limit :limit);

-- name: delete_batch
-- An order that has ended and has no items any more.
delete from halfway_batch
where id = :id and ended_at is not null and not exists (select 1 from halfway_batch_item where batch_id = :id);

-- name: old_artifacts
-- Artifacts that were made so long ago, with the workflow and the end of their runs; those of runs that go on have no end.
select artifact.id, artifact.created_at, artifact.run_id, coalesce(run.type, past.type, ''),
    case when run.id is null then coalesce(past.ended_at, artifact.created_at) else run.ended_at end as ended_at
from halfway_artifact as artifact
    left join halfway_run as run on run.id = artifact.run_id
    left join halfway_past as past on past.run_id = artifact.run_id
where artifact.created_at <= :until and (artifact.created_at, artifact.id) > (:after_at, :after_id)
order by artifact.created_at, artifact.id
limit :limit;

-- name: runs_of_artifacts
-- Which of these runs are there.
select id from halfway_run where id in :ids[];

-- name: lock_runs_of_artifacts
-- Runs whose artifacts are to go: they must not go on meanwhile. Those locked elsewhere are left out.
select id, case when ended_at is null then 0 else 1 end from halfway_run where id in :ids[]
order by id /* pg: for update skip locked */;

-- name: delete_artifacts
-- The rows only; a file goes when no row names it.
delete from halfway_artifact where id in :ids[];

-- name: named_artifacts
-- Which of these contents a row names.
select distinct sha256 from halfway_artifact where sha256 in :hashes[];

-- name: old_audit
-- Entries of the audit log about runs of one workflow, made so long ago, and whether the run still goes on.
select action_id, at,
    case when exists (select 1 from halfway_run where id = entry.run_id and ended_at is null) then 1 else 0 end as is_open
from halfway_audit as entry
where type = :type and at <= :until and (at, action_id) > (:after_at, :after_id)
order by at, action_id
limit :limit;

-- name: delete_audit
-- Who ordered what is not known any more.
delete from halfway_audit where action_id in :ids[];

-- name: old_ticks
-- Times of the schedules of a workflow that were due so long ago, but for those that wait and those whose runs go on.
select name, due_at from halfway_tick
where type = :type and due_at <= :until and outcome <> 'WAITING' and (name, due_at) > (:after_id, :after_at)
    and not exists (select 1 from halfway_run where id = halfway_tick.run_id and ended_at is null)
order by name, due_at
limit :limit;

-- name: delete_ticks
-- Those of one schedule, from the first to the last that were found.
delete from halfway_tick
where type = :type and name = :name and due_at >= :first_at and due_at <= :last_at and outcome <> 'WAITING'
    and not exists (select 1 from halfway_run where id = halfway_tick.run_id and ended_at is null);

-- name: count_missed
-- Rows for many ticks that were left out, the last of them so long ago.
select count(*) from halfway_missed where type = :type and last_at <= :until;

-- name: delete_missed
-- Rows for many ticks that were left out, the last of them so long ago.
delete from halfway_missed where type = :type and last_at <= :until;
