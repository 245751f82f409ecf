-- An event and a wait find each other from either side: whoever comes second wakes the run. Two that commit at the same moment see
-- nothing of each other; `overlooked` finds them.
-- Where an event is known by its id, coalesce asks whether it is unused, so that its id is what it is found by.
-- Where the run is given, an open wait is known by its missing outcome, not by its missing end: of that there are indexes of all that
-- are open, which a planner may take for the shorter way, and which are not.

-- name: put_event
-- A message as it came in, unless its source has sent it before.
insert into halfway_event (id, source, provider_id, name, key, payload, received_at)
values (:id, :source, :provider_id, :name, :key, :payload, :now)
on conflict (source, provider_id) do nothing;

-- name: known_event
-- The message that its source has sent before.
select id from halfway_event where source = :source and provider_id = :provider_id;

-- name: wake_for_event
-- A new event wakes the first of those that wait for such a one; each that takes one wakes the rival.
insert into halfway_wake (run_id, at)
select run_id, cast(:now as bigint) from halfway_wait
where sort = 'EVENT' and name = :name and wait_key = :key and closed_at is null and since <= :now
    and exists (select 1 from halfway_event where id = :id)
order by opened_at limit 10;

-- name: starting_events
-- Which of these events start runs.
select distinct name from halfway_trigger where kind = 'EVENT' and name in :names[];

-- name: task_for_event
-- A new event starts runs of the workflows that are triggered by it.
insert into halfway_task (id, type, kind, name, key, event_id, next_at, tries)
select cast(:id as text) || ':' || type, type, 'EVENT', name, cast(:key as text), cast(:id as text), cast(:now as bigint), 0
from halfway_trigger
where kind = 'EVENT' and name = :name and exists (select 1 from halfway_event where id = :id)
on conflict (id) do nothing;

-- name: tell_event
-- What a step has sent is handed over to those outside.
insert into halfway_outbox (id, at, what, run_id, step, role, code, event_id, tries, next_at)
select cast(:message as text), cast(:now as bigint), 'EVENT', cast(:run_id as text), cast(:step as text), '', '', id, 0,
    cast(:now as bigint)
from halfway_event where id = :id;

-- name: tell
-- Somebody must hear of something.
insert into halfway_outbox (id, at, what, run_id, step, role, code, tries, next_at)
values (:id, :now, :what, :run_id, :step, :role, :code, 0, :now);

-- name: open_wait
-- A record waits; asked for once more, it waits anew.
insert into halfway_wait (run_id, step, round, item, kind, n, sort, name, wait_key, opened_at, since, shown)
values (:run_id, :step, :round, :item, :kind, :n, :sort, :name, :wait_key, :now, :since, :shown)
on conflict (run_id, step, round, item, kind, n) do update set
    sort = excluded.sort, name = excluded.name, wait_key = excluded.wait_key, opened_at = excluded.opened_at,
    since = excluded.since, shown = excluded.shown, closed_at = null, how = null, source = null;

-- name: wake_for_wait
-- What a new wait is for may be here already.
insert into halfway_wake (run_id, at)
select cast(:run_id as text), cast(:now as bigint)
where (
        :sort = 'EVENT' and exists (
            select 1 from halfway_event
            where name = :name and key = :wait_key and processed_at is null and received_at >= :since
        )
    )
    or (
        :sort = 'RUN' and exists (
            select 1 from halfway_key as own join halfway_run as run on run.id = own.run_id
            where own.type = :name and own.key = :wait_key and run.ended_at is not null
        )
    );

-- name: close_wait
-- A record waits no longer.
update halfway_wait set closed_at = :now, how = :how
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and how is null;

-- name: use_event
-- The event that a record waits for is used up; no row if somebody else has it.
update halfway_event set processed_at = :now, run_id = :run_id
where id = :source and coalesce(processed_at, 0) = 0
    and exists (
        select 1 from halfway_wait
        where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and how is null
            and sort = 'EVENT'
    );

-- name: close_event_wait
-- A record has got its event.
update halfway_wait set closed_at = :now, how = :how, source = :source
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and how is null
    and sort = 'EVENT';

-- name: close_other_wait
-- A record has got what it waited for, and it was no event.
update halfway_wait set closed_at = :now, how = :how, source = :source
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and how is null
    and sort <> 'EVENT';

-- name: wake_next
-- Whoever waits no longer for an event leaves the next one to the next who waits.
insert into halfway_wake (run_id, at)
select rival.run_id, cast(:now as bigint) from halfway_wait as rival
where rival.sort = 'EVENT' and rival.closed_at is null
    and rival.name = (
        select name from halfway_wait
        where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and sort = 'EVENT'
            and coalesce(closed_at, 0) = :now
        limit 1
    )
    and rival.wait_key = (
        select wait_key from halfway_wait
        where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and sort = 'EVENT'
            and coalesce(closed_at, 0) = :now
        limit 1
    )
    and 1 = (
        select 1 from halfway_event as event
        where event.name = rival.name and event.key = rival.wait_key and event.processed_at is null
            and event.received_at >= rival.since
        limit 1
    )
order by rival.opened_at limit 10;

-- name: wake_for_run
-- The end of a run wakes those that wait for it.
insert into halfway_wake (run_id, at)
select wait.run_id, cast(:now as bigint)
from halfway_key as own join halfway_wait as wait
    on wait.sort = 'RUN' and wait.name = own.type and wait.wait_key = own.key and wait.closed_at is null
where own.run_id = :run_id;

-- name: task_for_run
-- The end of a run starts runs of the workflows that are triggered by it; a bare pattern would be planned anew for each run.
insert into halfway_task (id, type, kind, name, key, run_id, next_at, tries)
select cast(:id as text) || ':' || cause.type, cause.type, 'RUN', cause.name, coalesce(run.run_key, ''), run.id,
    cast(:now as bigint), 0
from halfway_trigger as cause join halfway_run as run on run.id = :run_id
where cause.kind = 'RUN' and cause.name = :name and (cause.statuses = '' or cause.statuses like '' || :pattern)
on conflict (id) do nothing;

-- name: wake_for_run (postgres)
-- All at once.
insert into halfway_wake (run_id, at)
select wait.run_id, r.now
from unnest(:now::bigint[], :run_id::text[]) as r (now, run_id)
    join halfway_key as own on own.run_id = r.run_id
    join halfway_wait as wait on wait.sort = 'RUN' and wait.name = own.type and wait.wait_key = own.key and wait.closed_at is null;

-- name: task_for_run (postgres)
-- All at once.
insert into halfway_task (id, type, kind, name, key, run_id, next_at, tries)
select r.id || ':' || cause.type, cause.type, 'RUN', cause.name, coalesce(run.run_key, ''), run.id, r.now, 0
from unnest(:id::text[], :now::bigint[], :run_id::text[], :name::text[], :pattern::text[]) as r (id, now, run_id, name, pattern)
    join halfway_trigger as cause
        on cause.kind = 'RUN' and cause.name = r.name and (cause.statuses = '' or cause.statuses like r.pattern)
    join halfway_run as run on run.id = r.run_id
on conflict (id) do nothing;

-- name: forget_wakes
-- Runs that are being looked at; a wake that is committed later stays.
delete from halfway_wake where run_id in :ids[];

-- name: wake
-- A run is to be looked at once more.
insert into halfway_wake (run_id, at) values (:run_id, :now);

-- name: own_waits
-- What runs wait for, the oldest event that would do, and whether others wait for such events.
select own.run_id, own.step, own.round, own.item, own.kind, own.sort, own.name, own.wait_key,
    case when own.sort = 'EVENT' then (
        select event.id from halfway_event as event
        where event.name = own.name and event.key = own.wait_key and event.processed_at is null and event.received_at >= own.since
        order by event.received_at, event.id limit 1
    ) end as event_id,
    case when exists (
        select 1 from halfway_wait as other
        where other.sort = 'EVENT' and other.name = own.name and other.wait_key = own.wait_key and other.closed_at is null
            and not (
                other.run_id = own.run_id and other.step = own.step and other.round = own.round and other.item = own.item
                and other.kind = own.kind and other.n = own.n
            )
    ) then 1 else 0 end as shared
from halfway_wait as own
where own.run_id in :ids[] and own.how is null and (own.sort = 'EVENT' or own.sort = 'RUN')
order by own.opened_at, own.run_id, own.step, own.round, own.item, own.kind, own.n;

-- name: waits_in_line
-- All that wait for events of one name and key, in the order in which they are served.
select run_id, step, round, item, kind, since from halfway_wait
where sort = 'EVENT' and name = :name and wait_key = :key and closed_at is null
order by opened_at, run_id, step, round, item, kind, n
limit :limit;

-- name: events_in_line
-- The events of one name and key that nobody has used, the oldest first.
select id, received_at from halfway_event
where name = :name and key = :key and processed_at is null
    and received_at >= (
        select min(since) from halfway_wait where sort = 'EVENT' and name = :name and wait_key = :key and closed_at is null
    )
order by received_at, id
limit :limit;

-- name: take_events
-- Events that are about to be used; those that somebody else is about to use are left out.
select id, payload from halfway_event where id in :ids[] and coalesce(processed_at, 0) = 0 order by id /* pg: for update skip locked */;

-- name: ended_under_key
-- The newest run under a key, if it has ended.
select run.id, run.type, run.version, run.run_key, run.status, run.input
from halfway_key as own join halfway_run as run on run.id = own.run_id
where own.type = :type and own.key = :key and run.ended_at is not null
    and own.n = (select max(newest.n) from halfway_key as newest where newest.type = :type and newest.key = :key);

-- name: steps_of_run
-- What has become of the steps of a run, each in its last round.
select step, status, output, code, error from halfway_record as one
where run_id = :run_id and kind = 'STEP' and item = ''
    and not exists (
        select 1 from halfway_record
        where run_id = one.run_id and step = one.step and round = one.round + 1 and item = '' and kind = 'STEP'
    )
order by case when ended_at is null then 1 else 0 end, ended_at, step, round, item;

-- name: event_names
-- Under which names and keys events have come that nobody has used.
select distinct name, key from halfway_event where id in :ids[] and coalesce(processed_at, 0) = 0 order by name, key;

-- name: waiting_for
-- Runs that wait for events of one name and key, in the order in which they are served.
select run_id from halfway_wait
where sort = 'EVENT' and name = :name and wait_key = :key and closed_at is null
order by opened_at, run_id, step, round, item, kind, n
limit :limit;

-- name: woken
-- Runs that this transaction has woken.
select distinct run_id from halfway_wake where at = :now order by run_id;

-- name: outcomes
-- What has become of events: the run that has used one, or the one for which it comes too late: it was the last that waited for
-- such, and has ended or gone on without.
select event.id, event.run_id,
    case when event.processed_at is null and not exists (
        select 1 from halfway_wait as wait
        where wait.sort = 'EVENT' and wait.name = event.name and wait.wait_key = event.key and wait.closed_at is null
    ) then (
        select case when run.ended_at is not null or not (last.how = 'ARRIVED' or last.how = 'AGAIN') then last.run_id end
        from halfway_wait as last join halfway_run as run on run.id = last.run_id
        where last.sort = 'EVENT' and last.name = event.name and last.wait_key = event.key and last.closed_at is not null
        order by last.closed_at desc limit 1
    ) end as resolved
from halfway_event as event where event.id in :ids[];

-- name: overlooked
-- Runs that wait for what is here, though nobody has told them.
select distinct run_id from (
    select run_id from halfway_wait as wait
    where closed_at is null and how is null and opened_at >= :opened_since
        and (
            (
                sort = 'EVENT' and exists (
                    select 1 from halfway_event as event
                    where event.name = wait.name and event.key = wait.wait_key and event.processed_at is null
                        and event.received_at >= wait.since
                )
            )
            or (
                sort = 'RUN' and exists (
                    select 1 from halfway_key as own join halfway_run as run on run.id = own.run_id
                    where own.type = wait.name and own.key = wait.wait_key and run.ended_at is not null
                        and own.n = (select max(n) from halfway_key as newest where newest.type = own.type and newest.key = own.key)
                )
            )
        )
    order by opened_at limit :limit
) as found
union
select distinct run_id from (
    select record.run_id from halfway_record as record
        join halfway_child as child on child.parent_id = record.run_id and child.step = record.step and child.round = record.round
            and child.item = record.item
        join halfway_run as run on run.id = child.run_id
    where record.item <> '' and record.status = 'WAITING' and run.ended_at is not null
    limit :limit
) as unheard;

-- name: keep_input
-- The input as it was, before it is corrected.
insert into halfway_input (run_id, revision, input, replaced_at)
select id, revision, input, cast(:now as bigint) from halfway_run where id = :run_id;

-- name: set_input
-- The input as a person has corrected it.
update halfway_run set input = :input where id = :run_id;

-- name: release_hold
-- The business record that a step held is free for other runs.
delete from halfway_lease where holder = :holder and substr(key, 1, 7) = 'record:';

-- name: use_event (postgres)
-- All at once.
update halfway_event as event set processed_at = r.now, run_id = r.run_id
from unnest(
    :now::bigint[], :run_id::text[], :source::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[]
) as r (now, run_id, source, step, round, item, kind)
where event.id = r.source and coalesce(event.processed_at, 0) = 0
    and exists (
        select 1 from halfway_wait as wait
        where wait.run_id = r.run_id and wait.step = r.step and wait.round = r.round and wait.item = r.item and wait.kind = r.kind
            and wait.how is null and wait.sort = 'EVENT'
    );

-- name: close_event_wait (postgres)
-- All at once.
update halfway_wait as wait set closed_at = r.now, how = r.how, source = r.source
from unnest(
    :now::bigint[], :how::text[], :source::text[], :run_id::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[]
) as r (now, how, source, run_id, step, round, item, kind)
where wait.run_id = r.run_id and wait.step = r.step and wait.round = r.round and wait.item = r.item and wait.kind = r.kind
    and wait.how is null and wait.sort = 'EVENT';

-- name: close_other_wait (postgres)
-- All at once.
update halfway_wait as wait set closed_at = r.now, how = r.how, source = r.source
from unnest(
    :now::bigint[], :how::text[], :source::text[], :run_id::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[]
) as r (now, how, source, run_id, step, round, item, kind)
where wait.run_id = r.run_id and wait.step = r.step and wait.round = r.round and wait.item = r.item and wait.kind = r.kind
    and wait.how is null and wait.sort <> 'EVENT';

-- name: wake_next (postgres)
-- All at once.
insert into halfway_wake (run_id, at)
select distinct next.run_id, r.now
from unnest(
    :now::bigint[], :run_id::text[], :step::text[], :round::bigint[], :item::text[], :kind::text[]
) as r (now, run_id, step, round, item, kind)
    cross join lateral (
        select name, wait_key from halfway_wait as closed
        where closed.run_id = r.run_id and closed.step = r.step and closed.round = r.round and closed.item = r.item
            and closed.kind = r.kind and closed.sort = 'EVENT' and coalesce(closed.closed_at, 0) = r.now
        limit 1
    ) as left_by
    cross join lateral (
        select rival.run_id from halfway_wait as rival
        where rival.sort = 'EVENT' and rival.closed_at is null and rival.name = left_by.name and rival.wait_key = left_by.wait_key
            and 1 = (
                select 1 from halfway_event as event
                where event.name = rival.name and event.key = rival.wait_key and event.processed_at is null
                    and event.received_at >= rival.since
                limit 1
            )
        order by rival.opened_at limit 10
    ) as next;
