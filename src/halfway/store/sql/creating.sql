-- name: register
-- Keeps a definition by its hash; definitions never change.
insert into halfway_definition (hash, type, version, spec, registered_at) values (:hash, :type, :version, :spec, :now)
on conflict (hash) do nothing;

-- name: spec
-- The definition with this hash.
select spec from halfway_definition where hash = :hash;

-- name: take_key
-- A business key belongs to the first run that takes it.
insert into halfway_key (type, key, n, run_id) values (:type, :key, :n, :run_id)
on conflict (type, key, n) do nothing;

-- name: newest_under_key
-- The run that stands under a key; no row, if its history was deleted.
select holder.n, run.id, run.status, run.input
from halfway_key as holder join halfway_run as run on run.id = holder.run_id
where holder.type = :type and holder.key = :key
    and holder.n = (select max(n) from halfway_key where type = :type and key = :key) /* pg: for no key update of run */;

-- name: insert_run
-- A run as it stands after its creation; for seven days after a restore it is told so.
insert into halfway_run (
    id, type, version, hash, status, intent, revision, seq, priority, correlation_id, resource, blocked, input, run_key, actor,
    created_at, started_at, updated_at, ended_at, deadline_at, timeout_at, restored_at
)
values (
    :id, :type, :version, :hash, :status, :intent, :revision, :seq, :priority, :correlation_id, :resource, :blocked, :input,
    :run_key, :actor, :created_at, :started_at, :created_at, :ended_at, :deadline_at, :timeout_at,
    (
        select cast(value as bigint) from halfway_meta
        where name = 'restored_at' and cast(value as bigint) > cast(:created_at as bigint) - 604800000000
    )
);

-- name: former_inputs
-- The inputs that a run had before they were corrected.
select input from halfway_input where run_id = :run_id;

-- name: finish_task
-- What was to start a run has done so; no row if somebody else was faster.
delete from halfway_task where id = :id;

-- name: clear_triggers
-- What starts runs of a workflow, unless a later version of it says so.
delete from halfway_trigger
where type = :type and not exists (select 1 from halfway_definition where type = :type and version > :version);

-- name: put_trigger
-- Something that starts runs of a workflow, unless a later version of it says otherwise.
insert into halfway_trigger (type, kind, name, statuses)
select cast(:type as text), cast(:kind as text), cast(:name as text), cast(:statuses as text)
where not exists (select 1 from halfway_definition where type = :type and version > :version)
on conflict (type, kind, name) do update set statuses = excluded.statuses;
