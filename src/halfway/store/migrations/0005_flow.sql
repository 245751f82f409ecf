-- How much runs at once: limits of queues, lines in which runs wait, pauses, starts that are put off; and who serves which queue.

-- What a queue allows, as the worker that started last said it. `starts`: how many attempts began in which second of the last minute.
create table halfway_queue (
    name text not null primary key,
    concurrency bigint,
    per_minute bigint,
    starts text not null
);

create table halfway_pause (
    what text not null check (what = 'QUEUE' or what = 'WORKFLOW'),
    name text not null,
    at bigint not null,
    actor text not null,
    reason text not null,
    primary key (what, name)
);

-- What a run must hold before it begins, and how many may hold it at once. `waits_from`: the run stands in line for it since then.
create table halfway_claim (
    run_id text not null,
    key text not null,
    slots bigint not null,
    waits_from bigint,
    primary key (run_id, key)
);
create index halfway_claim_waiting on halfway_claim (key, run_id) where waits_from is not null;

insert into halfway_claim (run_id, key, slots, waits_from)
select id, 'resource:' || resource, 1, case when blocked = 1 and ended_at is null then created_at end
from halfway_run where resource is not null;
drop index halfway_run_blocked;

create table halfway_debounce (
    type text not null,
    key text not null,
    run_id text not null,
    first_at bigint not null,
    primary key (type, key)
);

alter table halfway_worker add column queues text not null default '';

-- A point of priority is worth a minute of waiting, so whoever waits long enough is not overtaken for ever; no more than a day.
update halfway_record set priority = case when priority < 0 then -1440 else 1440 end where priority > 1440 or priority < -1440;
drop index halfway_record_ready;
create index halfway_record_ready on halfway_record (route, (ready_at - priority * 60000000))
    where status = 'PENDING' and ready_at is not null;
-- Few: what only looks, and what undoes. They go on where the steps of a queue rest.
create index halfway_record_ready_beside on halfway_record (route, (ready_at - priority * 60000000))
    where status = 'PENDING' and ready_at is not null and kind <> 'STEP';
