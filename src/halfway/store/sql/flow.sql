-- name: epoch_and_flow
-- Whether an epoch is alive, as `epoch_state`; and which limits and pauses hold, by the name of their last change.
select state, (select value from halfway_meta where name = 'flow') as flow
from halfway_worker where epoch = :epoch /* pg: for share */;

-- name: limits
-- What each queue allows; the row of one that has had limits stays, for the slots that its attempts may still hold.
select name, concurrency, per_minute, starts from halfway_queue
where concurrency is not null or per_minute is not null
order by name;

-- name: put_limits
-- What a queue allows from now on.
insert into halfway_queue (name, concurrency, per_minute, starts) values (:name, :concurrency, :per_minute, '[]')
on conflict (name) do update set concurrency = excluded.concurrency, per_minute = excluded.per_minute;

-- name: pauses
-- What is paused.
select what, name, at, actor, reason from halfway_pause order by what, name;

-- name: pause
-- From now on it starts nothing new; no row if it does not anyway.
insert into halfway_pause (what, name, at, actor, reason) values (:what, :name, :now, :actor, :reason)
on conflict (what, name) do nothing;

-- name: unpause
-- It goes on; no row if it was not paused.
delete from halfway_pause where what = :what and name = :name;

-- name: open_queue
-- A queue is in one hand while its slots are given; whoever finds it in another one comes again.
select concurrency, per_minute, starts from halfway_queue where name = :name /* pg: for update skip locked */;

-- name: set_starts
-- When attempts of a queue have begun within the last minute.
update halfway_queue set starts = :starts where name = :name;

-- name: slots
-- Who holds the slots of these.
select key, slot, holder from halfway_lease where key in :keys[];

-- name: queue_slots
-- Who holds the slots of queues.
select key, slot, holder from halfway_lease where key in (select 'queue:' || name from halfway_queue) order by key, slot;

-- name: take_slot
-- A slot is taken, if nobody has it.
insert into halfway_lease (key, slot, holder) values (:key, :slot, :holder)
on conflict (key, slot) do nothing;

-- name: give_back_slot
-- An attempt or a run holds nothing any more.
delete from halfway_lease where holder = :holder;

-- name: may_still_run
-- The attempts of these runs that run, or whose bodies may: their worker lives, and has not said that they have returned.
select attempt.run_id, attempt.step, attempt.round, attempt.item, attempt.kind, attempt.n
from halfway_attempt as attempt
where attempt.run_id in :ids[]
    and (attempt.ended is null or attempt.gone_at > :now
        or (attempt.gone_at is null and exists (select 1 from halfway_worker where epoch = attempt.epoch and state = 'ALIVE')));

-- name: put_claim
-- What a new run must hold; with the time from which it stands in line for it, if it does.
insert into halfway_claim (run_id, key, slots, waits_from) values (:run_id, :key, :slots, :waits_from);

-- name: drop_claims
-- A run claims something else.
delete from halfway_claim where run_id = :run_id;

-- name: claims
-- What these runs must hold.
select run_id, key, slots, waits_from from halfway_claim where run_id in :ids[] order by run_id, key;

-- name: set_waiting
-- A run begins to stand in line, or stands there no longer.
update halfway_claim set waits_from = :waits_from where run_id = :run_id;

-- name: waited_for
-- For which of these somebody stands in line.
select distinct key from halfway_claim where key in :keys[] and waits_from is not null and waits_from <= :now;

-- name: in_line
-- Runs that stand in line, and for which all that they claim is free; the first ones.
with line as (
    select key, max(slots) as slots from halfway_claim where waits_from is not null group by key
), crowded as (
    select key from line where (select count(*) from halfway_lease where halfway_lease.key = line.key) >= line.slots
)
select distinct run_id from halfway_claim as claim
where waits_from is not null and waits_from <= :now
    and not exists (
        select 1 from halfway_claim as other where other.run_id = claim.run_id and other.key in (select key from crowded)
    )
order by run_id limit :limit;

-- name: put_off
-- A start that may be put off further; no row if there is one under this key.
insert into halfway_debounce (type, key, run_id, first_at) values (:type, :key, :run_id, :now)
on conflict (type, key) do nothing;

-- name: put_off_before
-- The start that stands under this key.
select run_id, first_at from halfway_debounce where type = :type and key = :key /* pg: for no key update */;

-- name: put_off_anew
-- Another start stands under this key.
update halfway_debounce set run_id = :run_id, first_at = :first_at where type = :type and key = :key;

-- name: forget_put_off
-- Starts that cannot be put off any more: their runs have begun, or ended.
delete from halfway_debounce where run_id in (
    select debounce.run_id from halfway_debounce as debounce join halfway_run as run on run.id = debounce.run_id
    where run.started_at is not null or run.ended_at is not null
    limit :limit
);

-- name: set_resource
-- A start that is put off names another resource.
update halfway_run set resource = :resource where id = :id;

-- name: ready_work
-- How many records of each route could start.
select route, count(*) from halfway_record where status = 'PENDING' and ready_at is not null and ready_at <= :now group by route;
