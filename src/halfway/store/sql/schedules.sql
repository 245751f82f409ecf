-- name: retire_schedules
-- Schedules that a workflow has no more, unless a later version of it says so.
update halfway_schedule set retired_at = :now, revision = revision + 1
where type = :type and retired_at is null and not (name in :names[])
    and not exists (select 1 from halfway_definition where type = :type and version > :version);

-- name: skip_retired_ticks
-- What still waits to be started for a schedule that is no more.
update halfway_tick set outcome = 'SKIPPED', reason = 'RETIRED', at = :now, next_at = null
where type = :type and outcome = 'WAITING' and exists (
    select 1 from halfway_schedule as schedule
    where schedule.type = halfway_tick.type and schedule.name = halfway_tick.name and schedule.retired_at is not null
);

-- name: put_schedule
-- A schedule as the newest version of its workflow has it: a new one begins now, a changed one goes on from where it was.
insert into halfway_schedule (type, name, version, spec, accounted_at, next_at, revision)
select cast(:type as text), cast(:name as text), cast(:version as bigint), cast(:spec as text), cast(:now as bigint), cast(:now as bigint), 0
where not exists (select 1 from halfway_definition where type = :type and version > :version)
on conflict (type, name) do update set
    version = excluded.version, spec = excluded.spec, next_at = excluded.next_at, retired_at = null,
    accounted_at = case
        when halfway_schedule.retired_at is null then halfway_schedule.accounted_at else excluded.accounted_at
    end,
    revision = halfway_schedule.revision + 1
where halfway_schedule.version <> excluded.version or halfway_schedule.spec <> excluded.spec or halfway_schedule.retired_at is not null;

-- name: due_schedules
-- Schedules that are to be looked at: a tick is due, or one waits that may be started.
select type, name, version, spec, accounted_at, next_at, paused_at, retired_at, revision
from halfway_schedule
where type in :types[] and retired_at is null and paused_at is null and (
    next_at <= :now or exists (
        select 1 from halfway_tick as tick
        where tick.type = halfway_schedule.type and tick.name = halfway_schedule.name and tick.outcome = 'WAITING' and tick.next_at <= :now
    )
)
order by type, name;

-- name: waiting_ticks
-- Ticks of a schedule that are still to be started, the oldest first.
select due_at, next_at, tries from halfway_tick
where type = :type and name = :name and outcome = 'WAITING'
order by due_at;

-- name: open_tick
-- Whether a run that a schedule has started goes on, among its last hundred; what a backfill has started does not count.
select 1
from (
    select run_id from halfway_tick
    where type = :type and name = :name and outcome = 'STARTED' and origin <> 'BACKFILL' and run_id is not null
    order by due_at desc
    limit 100
) as tick join halfway_run as run on run.id = tick.run_id
where run.ended_at is null
limit 1;

-- name: move_schedule
-- A schedule has come further; no row if somebody else has moved it.
update halfway_schedule set accounted_at = :accounted_at, next_at = :next_at, revision = revision + 1
where type = :type and name = :name and revision = :revision;

-- name: touch_schedule
-- Whoever starts a run for a schedule is the only one who does; no row if somebody else has moved it.
update halfway_schedule set revision = revision + 1
where type = :type and name = :name and retired_at is null
    and (cast(:revision as bigint) is null or revision = :revision);

-- name: put_tick
-- A tick that waits, or one that is left out, although it may have waited so far.
insert into halfway_tick (type, name, due_at, outcome, origin, reason, at, next_at, tries)
values (:type, :name, :due_at, :outcome, 'SCHEDULE', :reason, :now, :next_at, 0)
on conflict (type, name, due_at) do update set
    outcome = excluded.outcome, reason = excluded.reason, at = excluded.at, next_at = excluded.next_at
where halfway_tick.outcome = 'WAITING' and excluded.outcome = 'SKIPPED';

-- name: put_missed
-- Many ticks that are left out.
insert into halfway_missed (type, name, first_at, last_at, count, at) values (:type, :name, :first_at, :last_at, :count, :now);

-- name: start_tick
-- A tick that has waited gets its run; no row if it does not wait any more.
update halfway_tick set outcome = 'STARTED', run_id = :run_id, at = :now, next_at = null, error = null
where type = :type and name = :name and due_at = :due_at and outcome = 'WAITING';

-- name: order_tick
-- A person has a run started for this time; no row if there is one.
insert into halfway_tick (type, name, due_at, outcome, origin, run_id, reason, at, tries)
values (:type, :name, :due_at, 'STARTED', :origin, :run_id, '', :now, 0)
on conflict (type, name, due_at) do update set
    outcome = excluded.outcome, origin = excluded.origin, run_id = excluded.run_id, reason = '', at = excluded.at, next_at = null,
    error = null
where halfway_tick.outcome <> 'STARTED';

-- name: set_tick_run
-- The run that stood under the key already.
update halfway_tick set run_id = :run_id where type = :type and name = :name and due_at = :due_at;

-- name: tick_failed
-- The input of a run could not be made; it is tried again.
update halfway_tick set next_at = :next_at, tries = tries + 1, error = :error
where type = :type and name = :name and due_at = :due_at and outcome = 'WAITING';

-- name: take_upkeep
-- One worker does what is due now of the engine's own upkeep.
insert into halfway_tick (type, name, due_at, outcome, origin, reason, at, tries)
values (:type, :name, :due_at, 'STARTED', 'SCHEDULE', '', :now, 0)
on conflict (type, name, due_at) do nothing;

-- name: upkeep_failed
-- What has gone wrong with the engine's own upkeep.
update halfway_tick set error = :error, tries = tries + 1 where type = :type and name = :name and due_at = :due_at;

-- name: forget_upkeep
-- Of the engine's own upkeep only the latest is remembered.
delete from halfway_tick where type = :type and name = :name and due_at < :before;

-- name: schedules
-- Schedules with how many of their ticks wait, and why the last one of these could not be started.
select type, name, version, spec, accounted_at, next_at, paused_at, retired_at, revision,
    (
        select count(*) from halfway_tick as tick
        where tick.type = halfway_schedule.type and tick.name = halfway_schedule.name and tick.outcome = 'WAITING'
    ),
    (
        select tick.error from halfway_tick as tick
        where tick.type = halfway_schedule.type and tick.name = halfway_schedule.name and tick.outcome = 'WAITING' and tick.error is not null
        order by tick.due_at desc limit 1
    )
from halfway_schedule
where (cast(:type as text) is null or type = :type) and (cast(:name as text) is null or name = :name)
order by type, name;

-- name: last_ticks
-- What became of the ticks of a schedule, the newest first.
select due_at, outcome, origin, run_id, reason, at, next_at, tries, error,
    (select status from halfway_run where id = halfway_tick.run_id)
from halfway_tick
where type = :type and name = :name
order by due_at desc
limit :limit;

-- name: last_missed
-- Many ticks of a schedule that were left out, the newest first.
select first_at, last_at, count, at from halfway_missed where type = :type and name = :name order by first_at desc limit :limit;

-- name: started_between
-- The ticks of a time that have a run.
select due_at from halfway_tick
where type = :type and name = :name and due_at >= :first_at and due_at <= :last_at and outcome = 'STARTED';

-- name: count_backfilled
-- How many runs that a backfill has started go on.
select count(*) from halfway_tick as tick join halfway_run as run on run.id = tick.run_id
where tick.type = :type and tick.name = :name and tick.origin = 'BACKFILL' and run.ended_at is null;

-- name: lock_schedule
-- A schedule, while something is ordered about it.
select paused_at, revision from halfway_schedule
where type = :type and name = :name and retired_at is null /* pg: for no key update */;

-- name: pause_schedule
-- Nothing is started for a schedule until it goes on.
update halfway_schedule set paused_at = :paused_at, next_at = :now, revision = revision + 1 where type = :type and name = :name;
