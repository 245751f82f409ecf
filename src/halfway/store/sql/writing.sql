-- A running attempt is known here by its missing outcome, not by its missing end: of that there is an index of all that run, which
-- a planner may take for the shorter way, and which is not.

-- name: end_attempt
-- The running attempt is over; no row if it has already been ended.
update halfway_attempt set ended_at = :now, ended = :ended, code = :code, settled = :settled, gone_at = :gone_at
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n and ended is null;

-- name: settle_attempt
-- What became of a lost attempt is known now.
update halfway_attempt set settled = :settled, gone_at = coalesce(:gone_at, gone_at)
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n;

-- name: set_attempt_gone
-- From this time on a lost attempt can send nothing any more.
update halfway_attempt set gone_at = :gone_at
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n;

-- name: start_attempt
-- An attempt is recorded before it can have an effect.
insert into halfway_attempt (run_id, step, round, item, kind, n, epoch, started_at, mark_at, code)
values (:run_id, :step, :round, :item, :kind, :n, :epoch, :now, :mark_at, '');

-- name: put_record
-- A record in its new state: an output lasts until it is tried again, an error as long as its code.
insert into halfway_record (
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks, looks,
    first_at, started_at, ended_at, approved_until, approved_by, output, error
)
values (
    :run_id, :step, :round, :item, :kind, :status, :route, :priority, :ready_at, :attempts, :failures, :lost, :effect, :code,
    :asks, :looks, :first_at, :started_at, :ended_at, :approved_until, :approved_by, :output, :error
)
on conflict (run_id, step, round, item, kind) do update set
    status = excluded.status, route = excluded.route, priority = excluded.priority, ready_at = excluded.ready_at,
    attempts = excluded.attempts, failures = excluded.failures, lost = excluded.lost, effect = excluded.effect,
    code = excluded.code, asks = excluded.asks, looks = excluded.looks, first_at = excluded.first_at,
    started_at = excluded.started_at, ended_at = excluded.ended_at,
    approved_until = excluded.approved_until, approved_by = excluded.approved_by,
    output = case when excluded.status = 'PENDING' then null else coalesce(excluded.output, halfway_record.output) end,
    error = coalesce(excluded.error, case when excluded.code = '' then null else halfway_record.error end);

-- name: note
-- A line of the journal.
insert into halfway_journal (run_id, seq, at, name, step, round, item, kind, n, data)
values (:run_id, :seq, :now, :name, :step, :round, :item, :kind, :n, :data);

-- name: set_run
-- The run's own row; no row if it has moved since it was read.
update halfway_run set status = :status, intent = :intent, revision = :revision, seq = :seq, blocked = :blocked,
    started_at = :started_at, updated_at = :now, ended_at = :ended_at, timeout_at = :timeout_at, timeout_left = :timeout_left,
    undo = :undo, restored_at = :restored_at, grants = :grants
where id = :id and revision = :before_revision;

-- name: end_run
-- The run reaches a final state; no row if it has moved since it was read, or anything of it runs or is in doubt.
update halfway_run set status = :status, intent = :intent, revision = :revision, seq = :seq, blocked = :blocked,
    started_at = :started_at, updated_at = :now, ended_at = :ended_at, timeout_at = :timeout_at, timeout_left = :timeout_left,
    undo = :undo, restored_at = :restored_at, grants = :grants
where id = :id and revision = :before_revision
    and not exists (
        select 1 from halfway_record
        where run_id = :id and kind in ('STEP', 'COMPENSATION') and status in ('RUNNING', 'UNKNOWN')
    );

-- name: reopen_run
-- A run that has ended goes on; no row if it has moved since it was read, or a later run stands under its key.
update halfway_run set status = :status, intent = :intent, revision = :revision, seq = :seq, blocked = :blocked,
    started_at = :started_at, updated_at = :now, ended_at = :ended_at, timeout_at = :timeout_at, timeout_left = :timeout_left,
    undo = :undo, restored_at = :restored_at, grants = :grants
where id = :id and revision = :before_revision
    and not exists (
        select 1 from halfway_key as own join halfway_key as later on later.type = own.type and later.key = own.key and later.n > own.n
        where own.run_id = :id
    );

-- name: release_leases
-- A run that has ended holds nothing.
delete from halfway_lease where holder = :holder;

-- name: audit
-- Who ordered what, and why; about no single run, if its id is empty.
insert into halfway_audit (id, action_id, at, actor, action, run_id, step, reason, evidence, refused, before_state, after_state, type)
values (
    :id, :action_id, :now, :actor, :action, :run_id, :step, :reason, :evidence, :refused, :before_state, :after_state,
    coalesce((select type from halfway_run where id = :run_id), '')
);

-- name: refuse
-- Who ordered what in vain, and why it was refused.
insert into halfway_audit (id, action_id, at, actor, action, run_id, step, reason, evidence, refused, before_state, after_state, type)
select :now, :action_id, :now, :actor, :action, id, :step, :reason, :evidence, :refused, status, status, type
from halfway_run where id = :run_id;

-- name: audited
-- Which of these actions have been carried out before.
select action_id, run_id from halfway_audit where action_id in :ids[];

-- name: mark
-- The effect of a running attempt begins, unless it has begun before, or cancel or deadline bind it.
update halfway_attempt set mark_at = :now
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n
    and ended is null and mark_at is null
    and (:bound = 0 or not exists (
        select 1 from halfway_run where id = :run_id and (intent is not null or deadline_at <= :now)
    ));

-- name: keep_evidence
-- Facts of an attempt that still runs.
insert into halfway_evidence (run_id, step, round, item, kind, n, at, data)
select run_id, step, round, item, kind, n, cast(:now as bigint), cast(:data as text) from halfway_attempt
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n and ended is null;

-- name: keep_artifact
-- An artifact of an attempt that still runs.
insert into halfway_artifact (id, run_id, step, round, item, kind, n, name, sha256, size, created_at)
select cast(:id as text), run_id, step, round, item, kind, n, cast(:name as text), cast(:sha256 as text), cast(:size as bigint),
    cast(:now as bigint)
from halfway_attempt
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n and ended is null;

-- name: end_attempt (postgres)
-- All at once: a statement for each row costs more than what it does.
update halfway_attempt as attempt set ended_at = r.now, ended = r.ended, code = r.code, settled = r.settled, gone_at = r.gone_at
from unnest(
    :now::bigint[], :ended::text[], :code::text[], :settled::text[], :gone_at::bigint[],
    :run_id::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[], :n::bigint[]
) as r (now, ended, code, settled, gone_at, run_id, step, round, item, kind, n)
where attempt.run_id = r.run_id and attempt.step = r.step and attempt.round = r.round and attempt.item = r.item
    and attempt.kind = r.kind and attempt.n = r.n and attempt.ended is null;

-- name: start_attempt (postgres)
-- All at once.
insert into halfway_attempt (run_id, step, round, item, kind, n, epoch, started_at, mark_at, code)
select *, '' from unnest(
    :run_id::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[], :n::bigint[], :epoch::text[], :now::bigint[],
    :mark_at::bigint[]
);

-- name: put_record (postgres)
-- All at once.
insert into halfway_record (
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks, looks,
    first_at, started_at, ended_at, approved_until, approved_by, output, error
)
select * from unnest(
    :run_id::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[], :status::text[], :route::text[],
    :priority::bigint[], :ready_at::bigint[], :attempts::bigint[], :failures::bigint[], :lost::bigint[], :effect::text[],
    :code::text[], :asks::text[], :looks::bigint[], :first_at::bigint[], :started_at::bigint[], :ended_at::bigint[],
    :approved_until::bigint[], :approved_by::text[], :output::text[], :error::text[]
)
on conflict (run_id, step, round, item, kind) do update set
    status = excluded.status, route = excluded.route, priority = excluded.priority, ready_at = excluded.ready_at,
    attempts = excluded.attempts, failures = excluded.failures, lost = excluded.lost, effect = excluded.effect,
    code = excluded.code, asks = excluded.asks, looks = excluded.looks, first_at = excluded.first_at,
    started_at = excluded.started_at, ended_at = excluded.ended_at,
    approved_until = excluded.approved_until, approved_by = excluded.approved_by,
    output = case when excluded.status = 'PENDING' then null else coalesce(excluded.output, halfway_record.output) end,
    error = coalesce(excluded.error, case when excluded.code = '' then null else halfway_record.error end);

-- name: note (postgres)
-- All at once.
insert into halfway_journal (run_id, seq, at, name, step, round, item, kind, n, data)
select * from unnest(
    :run_id::text[], :seq::bigint[], :now::bigint[], :name::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[],
    :n::bigint[], :data::text[]
);

-- name: set_run (postgres)
-- All at once.
update halfway_run as run set status = r.status, intent = r.intent, revision = r.revision, seq = r.seq, blocked = r.blocked,
    started_at = r.started_at, updated_at = r.now, ended_at = r.ended_at, timeout_at = r.timeout_at,
    timeout_left = r.timeout_left, undo = r.undo, restored_at = r.restored_at, grants = r.grants
from unnest(
    :status::text[], :intent::text[], :revision::bigint[], :seq::bigint[], :blocked::bigint[], :started_at::bigint[],
    :now::bigint[], :ended_at::bigint[], :timeout_at::bigint[], :timeout_left::bigint[], :undo::text[], :restored_at::bigint[],
    :grants::bigint[], :id::text[], :before_revision::bigint[]
) as r (
    status, intent, revision, seq, blocked, started_at, now, ended_at, timeout_at, timeout_left, undo, restored_at, grants, id,
    before_revision
)
where run.id = r.id and run.revision = r.before_revision;

-- name: end_run (postgres)
-- All at once.
update halfway_run as run set status = r.status, intent = r.intent, revision = r.revision, seq = r.seq, blocked = r.blocked,
    started_at = r.started_at, updated_at = r.now, ended_at = r.ended_at, timeout_at = r.timeout_at,
    timeout_left = r.timeout_left, undo = r.undo, restored_at = r.restored_at, grants = r.grants
from unnest(
    :status::text[], :intent::text[], :revision::bigint[], :seq::bigint[], :blocked::bigint[], :started_at::bigint[],
    :now::bigint[], :ended_at::bigint[], :timeout_at::bigint[], :timeout_left::bigint[], :undo::text[], :restored_at::bigint[],
    :grants::bigint[], :id::text[], :before_revision::bigint[]
) as r (
    status, intent, revision, seq, blocked, started_at, now, ended_at, timeout_at, timeout_left, undo, restored_at, grants, id,
    before_revision
)
where run.id = r.id and run.revision = r.before_revision
    and not exists (
        select 1 from halfway_record
        where run_id = run.id and kind in ('STEP', 'COMPENSATION') and status in ('RUNNING', 'UNKNOWN')
    );
