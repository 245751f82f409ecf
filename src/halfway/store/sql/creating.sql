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
-- The run that stands under a key.
select holder.n, run.id, run.status, run.input
from halfway_key as holder join halfway_run as run on run.id = holder.run_id
where holder.type = :type and holder.key = :key
order by holder.n desc
limit 1 /* pg: for no key update of run */;

-- name: take_new_resource
-- A new run takes its resource, if nobody holds it or was there before.
insert into halfway_lease (key, slot, holder)
select 'resource:' || cast(:resource as text), 0, cast(:run_id as text)
where not exists (select 1 from halfway_run where resource = :resource and blocked = 1 and ended_at is null)
on conflict (key, slot) do nothing;

-- name: insert_run
-- A run as it stands after its creation.
insert into halfway_run (
    id, type, version, hash, status, intent, revision, seq, priority, correlation_id, resource, blocked, input, run_key, actor,
    created_at, started_at, updated_at, ended_at, deadline_at, timeout_at
)
values (
    :id, :type, :version, :hash, :status, :intent, :revision, :seq, :priority, :correlation_id, :resource, :blocked, :input,
    :run_key, :actor, :created_at, :started_at, :created_at, :ended_at, :deadline_at, :timeout_at
);
