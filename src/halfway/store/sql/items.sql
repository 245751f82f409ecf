-- Items: records of a step that is done for many. They are so many that nothing reads them all but a page of them, or one count
-- when the step comes to rest. Two partial indexes say which are under way and which have not begun.

-- name: list_item
-- An item of a step whose listing attempt still runs; listed again, it is what it was.
insert into halfway_record (
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks, looks,
    approved_by, position, input
)
select whole.run_id, whole.step, whole.round, cast(:item as text), 'STEP', 'PENDING', whole.route, whole.priority, cast(null as bigint),
    0, 0, 0, 'none', '', '', 0, '', cast(:position as bigint), cast(:input as text)
from halfway_record as whole join halfway_attempt as attempt
    on attempt.run_id = whole.run_id and attempt.step = whole.step and attempt.round = whole.round and attempt.item = ''
    and attempt.kind = 'STEP' and attempt.n = :n and attempt.ended is null
where whole.run_id = :run_id and whole.step = :step and whole.round = :round and whole.item = '' and whole.kind = 'STEP'
on conflict (run_id, step, round, item, kind) do nothing;

-- name: unlist_items
-- Items of an earlier list that have not begun: whether they are still wanted is said by the list that is now made.
delete from halfway_record
where run_id = :run_id and step = :step and round = :round and item <> '' and kind = 'STEP' and attempts = 0
    and ((status = 'PENDING' and ready_at is null) or (status = 'SKIPPED' and code <> 'WAIVED'));

-- name: attempt_runs
-- Whether an attempt still runs; nobody ends it before this transaction does.
select 1 from halfway_attempt
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n
    and ended is null /* pg: for share */;

-- name: load_items
-- All records of these items of one step, with their texts.
select run_id, step, round, item, kind, status, ready_at, attempts, failures, lost, effect, code, asks, looks, first_at,
    started_at, ended_at, approved_until, approved_by, input, output
from halfway_record
where run_id = :run_id and step = :step and round = :round and item in :items[]
order by item, kind;

-- name: load_item_attempts
-- Attempts of these items that run, or whose answer was lost and nothing has proven what happened.
select run_id, step, round, item, kind, n, epoch, started_at, mark_at is not null as marked, ended is not null as lost, gone_at
from halfway_attempt
where run_id = :run_id and step = :step and round = :round and item in :items[]
    and (ended_at is null or (ended = 'LOST' and settled is null))
order by item, kind, n;

-- name: due_items
-- Items of these runs whose doubt is to be looked at.
select run_id, step, round, item, kind from halfway_record
where run_id in :ids[] and item <> '' and status = 'UNKNOWN' and ready_at is not null and ready_at <= :now
order by run_id, step, round, item, kind limit :limit;

-- name: asking_items
-- Items of a step about which a person must decide.
select item from halfway_record
where run_id = :run_id and step = :step and round = :round and kind = :kind and item <> ''
    and status = 'UNKNOWN' and asks <> ''
order by position limit :limit;

-- name: asking_of_run
-- Items of a run about which a person must decide.
select step, round, item, kind from halfway_record
where run_id = :run_id and asks <> '' and item <> '' and status = 'UNKNOWN'
order by step, round, position limit :limit;

-- name: items_under_way
-- How many items of a step run, wait for a slot, or are in a doubt that asks nobody yet.
select count(*) from halfway_record
where run_id = :run_id and step = :step and round = :round and kind = :kind and item <> ''
    and (status = 'RUNNING' or status = 'WAITING' or (status = 'PENDING' and ready_at is not null) or (status = 'UNKNOWN' and asks = ''));

-- name: begin_items
-- The next items of a step get in line.
update halfway_record set ready_at = :now
where run_id = :run_id and step = :step and round = :round and kind = :kind and item in (
    select item from halfway_record
    where run_id = :run_id and step = :step and round = :round and kind = :kind
        and item <> '' and status = 'PENDING' and ready_at is null
    order by position limit :limit
);

-- name: tally_items
-- What has become of the items of a step.
select count(*),
    coalesce(sum(case when status = 'SUCCESS' then 1 else 0 end), 0),
    coalesce(sum(case when status = 'SUCCESS' and code = 'PARTLY_SUCCEEDED' then 1 else 0 end), 0),
    coalesce(sum(case when status = 'FAILED' then 1 else 0 end), 0),
    coalesce(sum(case when status = 'FAILED' and (code = 'AI_BUDGET_EXCEEDED' or code = 'HANDED_OVER') then 1 else 0 end), 0),
    coalesce(sum(case
        when (status = 'SKIPPED' and code <> 'WAIVED') or (status = 'FAILED' and (code = 'NOT_HAPPENED' or code = 'PERSON_SAID_NOT')) then 1
        else 0
    end), 0),
    coalesce(sum(case when asks <> '' then 1 else 0 end), 0),
    coalesce(sum(case when effect = 'happened' then 1 else 0 end), 0)
from halfway_record
where run_id = :run_id and step = :step and round = :round and kind = :kind and item <> '';

-- name: stop_items
-- Items that have not begun are not begun any more; one whose answer was lost is settled first. A run that is not the parent's own, or
-- is detached, is not waited for.
update halfway_record set status = 'SKIPPED', code = :code, ready_at = null, ended_at = :now
where run_id = :run_id and step = :step and round = :round and kind = :kind and item <> ''
    and (
        status = 'PENDING'
        or (
            status = 'WAITING' and (
                :detached = 1 or exists (
                    select 1 from halfway_child as child
                    where child.parent_id = halfway_record.run_id and child.step = halfway_record.step
                        and child.round = halfway_record.round and child.item = halfway_record.item and child.own = 0
                )
            )
        )
    )
    and not exists (
        select 1 from halfway_attempt as attempt
        where attempt.run_id = halfway_record.run_id and attempt.step = halfway_record.step and attempt.round = halfway_record.round
            and attempt.item = halfway_record.item and attempt.kind = halfway_record.kind
            and attempt.ended = 'LOST' and attempt.settled is null
    );

-- name: reopen_items
-- Items that have failed or were stopped are tried again; one that had happened before it failed is not. Whether one is that a probe did
-- not find while the run stopped, depends on what that proves.
update halfway_record set status = 'PENDING', code = '', ready_at = null, failures = 0, lost = 0, looks = 1, asks = '', output = null
where run_id = :run_id and step = :step and round = :round and kind = :kind and item <> ''
    and (
        (
            ((status = 'FAILED' and (code <> 'NOT_HAPPENED' or :not_found = 1)) or (status = 'SKIPPED' and code <> 'WAIVED'))
            and effect <> 'happened'
        )
        or ((status = 'FAILED' or status = 'SKIPPED' or code = 'PARTLY_SUCCEEDED') and exists (
            select 1 from halfway_child as child
            where child.parent_id = halfway_record.run_id and child.step = halfway_record.step
                and child.round = halfway_record.round and child.item = halfway_record.item
        ))
    );

-- name: undo_items
-- Each item that has happened gets a compensation, the last of them first. A run that this one has not started is not its to undo.
insert into halfway_record (
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks, looks,
    approved_by, position, input
)
select run_id, step, round, item, 'COMPENSATION', 'PENDING', route, priority, cast(null as bigint), 0, 0, 0, 'none', '', '', 0, '',
    -position, input
from halfway_record
where run_id = :run_id and step = :step and round = :round and kind = 'STEP' and item <> '' and effect = 'happened'
    and not exists (
        select 1 from halfway_child as child
        where child.parent_id = halfway_record.run_id and child.step = halfway_record.step and child.round = halfway_record.round
            and child.item = halfway_record.item and child.own = 0
    )
on conflict (run_id, step, round, item, kind) do nothing;

-- name: pass_down
-- The children of a step that still run are asked to stop.
insert into halfway_passed (run_id, parent_id)
select child.run_id, child.parent_id
from halfway_child as child join halfway_run as run on run.id = child.run_id
where child.parent_id = :run_id and child.step = :step and child.round = :round and child.own = 1 and run.ended_at is null
on conflict (run_id) do nothing;

-- name: passed
-- Runs that are asked to stop because their parents do.
select run_id from halfway_passed where run_id in :ids[];

-- name: drop_passed
-- They have been asked.
delete from halfway_passed where run_id in :ids[];

-- name: wake_parent
-- The end of a run wakes the runs that have started it.
insert into halfway_wake (run_id, at)
select parent_id, cast(:now as bigint) from halfway_child where run_id = :run_id;

-- name: ended_children
-- Children whose runs have ended, and whose parents still wait for them.
select child.parent_id, child.step, child.round, child.item, record.kind, run.status
from halfway_record as record
    join halfway_child as child on child.parent_id = record.run_id and child.step = record.step and child.round = record.round
        and child.item = record.item
    join halfway_run as run on run.id = child.run_id
where record.run_id in :ids[] and record.item <> '' and record.status = 'WAITING' and run.ended_at is not null
order by child.parent_id, child.step, child.round, child.item
limit :limit;

-- name: child
-- The run that stands for an item of a step already.
select run_id from halfway_child where parent_id = :run_id and step = :step and round = :round and item = :item;

-- name: put_child
-- A run stands for an item of a step.
insert into halfway_child (parent_id, step, round, item, run_id, own) values (:parent_id, :step, :round, :item, :run_id, :own)
on conflict (parent_id, step, round, item) do nothing;

-- name: lock_families
-- Two runs may be about to wait for each other, or many in a circle: one transaction at a time looks who waits for whom.
insert into halfway_meta (name, value) values ('families', '') on conflict (name) do update set value = excluded.value;

-- name: is_above
-- Whether a run is this one, or has started it, or one that has; a set of runs, so a circle comes to an end, too.
with recursive above (run_id) as (
    select cast(:run_id as text)
    union
    select child.parent_id from above join halfway_child as child on child.run_id = above.run_id
)
select 1 from above where run_id = :other limit 1;

-- name: held_for_child
-- What the parent holds, so that its child works under it.
select key from halfway_claim
where run_id = :run_id and exists (select 1 from halfway_run where id = :run_id and blocked = 0 and ended_at is null);

-- name: page_children
-- A page of the children of a step in the order of their list.
select record.position, child.run_id
from halfway_record as record join halfway_child as child
    on child.parent_id = record.run_id and child.step = record.step and child.round = record.round and child.item = record.item
where record.run_id = :run_id and record.step = :step and record.round = :round and record.kind = 'STEP' and record.item <> ''
    and record.position > :after
order by record.position limit :limit;

-- name: parents
-- The runs that have started this one, or wait for it.
select distinct parent_id, step from halfway_child where run_id = :run_id order by parent_id, step limit :limit;

-- name: children_not_well
-- Runs that a run has started and that have not ended well; those that a person must look at first.
select child.step, run.id, run.status
from halfway_child as child join halfway_run as run on run.id = child.run_id
where child.parent_id = :run_id and run.status <> 'SUCCESS'
order by case run.status when 'MANUAL_REQUIRED' then 0 when 'FAILED' then 1 when 'EXPIRED' then 1 else 2 end, run.id
limit :limit;

-- name: page_items
-- A page of the items of a step in their order, each with the run that stands for it, if it is a child.
select record.position, record.item, record.status, record.attempts, record.effect, record.code, record.asks, record.output, record.error,
    record.input, record.started_at, record.ended_at, child.run_id
from halfway_record as record
    left join halfway_child as child on child.parent_id = record.run_id and child.step = record.step and child.round = record.round
        and child.item = record.item
where record.run_id = :run_id and record.step = :step and record.round = :round and record.kind = :kind and record.item <> ''
    and record.position > :after
    and (cast(:status as text) is null or record.status = :status)
order by record.position limit :limit;

-- name: count_items
-- How many items the steps of a run have in each state, what is known of their effects, and whether a retry would try them again. What a
-- child has done is what its run says by now; a run that is not the parent's own has done nothing for it.
select step, round, kind, status, ready, asks, effect, again, count(*)
from (
    select record.step, record.round, record.kind, record.status,
        case when record.ready_at is null then 0 else 1 end as ready,
        case when record.asks = '' then 0 else 1 end as asks,
        case
            when child.run_id is not null and record.kind = 'STEP' then
                case
                    when child.own = 0 or run.status = 'COMPENSATED' then 'not'
                    when exists (
                        select 1 from halfway_record as below
                        where below.run_id = child.run_id and below.kind = 'STEP'
                            and (below.status = 'UNKNOWN' or below.effect = 'unknown')
                    ) then 'unknown'
                    when exists (
                        select 1 from halfway_record as below
                        where below.run_id = child.run_id and below.kind = 'STEP' and below.effect = 'happened'
                    ) then 'happened'
                    else 'not'
                end
            when record.effect = 'happened' then 'happened'
            when record.status = 'UNKNOWN' then 'unknown'
            when record.status = 'RUNNING' and exists (
                select 1 from halfway_attempt as attempt
                where attempt.run_id = record.run_id and attempt.step = record.step and attempt.round = record.round
                    and attempt.item = record.item and attempt.kind = record.kind
                    and attempt.ended_at is null and attempt.mark_at is not null
            ) then 'unknown'
            else record.effect
        end as effect,
        case
            when (record.status = 'FAILED' or (record.status = 'SKIPPED' and record.code <> 'WAIVED')) and record.effect <> 'happened' then 1
            when child.run_id is not null
                and (record.status = 'FAILED' or record.status = 'SKIPPED' or record.code = 'PARTLY_SUCCEEDED') then 1
            else 0
        end as again
    from halfway_record as record
        left join halfway_child as child on child.parent_id = record.run_id and child.step = record.step and child.round = record.round
            and child.item = record.item
        left join halfway_run as run on run.id = child.run_id
    where record.run_id = :run_id and record.item <> '' and (record.kind = 'STEP' or record.kind = 'COMPENSATION')
) as item
group by step, round, kind, status, ready, asks, effect, again;
