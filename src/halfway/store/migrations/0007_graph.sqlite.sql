-- Conditions, and items: records of a step that does the same for each of a list. SQLite changes no check of a table that is there, so
-- the table is made anew.

alter table halfway_record rename to halfway_record_before;

create table halfway_record (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null check (
        kind = 'STEP' or kind = 'PROBE' or kind = 'CHECK' or kind = 'CONDITION' or kind = 'COMPENSATION' or kind = 'COMPENSATION_PROBE'
        or kind = 'DRAFT'
    ),
    status text not null check (
        status = 'PENDING' or status = 'RUNNING' or status = 'SUCCESS' or status = 'FAILED'
        or status = 'UNKNOWN' or status = 'WAITING' or status = 'SKIPPED'
    ),
    route text not null,
    priority bigint not null,
    ready_at bigint,
    attempts bigint not null,
    failures bigint not null,
    lost bigint not null,
    effect text not null check (effect = 'none' or effect = 'happened' or effect = 'not' or effect = 'unknown'),
    code text not null,
    asks text not null,
    looks bigint not null,
    first_at bigint,
    started_at bigint,
    ended_at bigint,
    output text,
    error text,
    approved_until bigint,
    approved_by text not null default '',
    position bigint not null default 0,
    input text,
    primary key (run_id, step, round, item, kind)
);

insert into halfway_record (
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks,
    looks, first_at, started_at, ended_at, output, error, approved_until, approved_by
)
select
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks,
    looks, first_at, started_at, ended_at, output, error, approved_until, approved_by
from halfway_record_before;

drop table halfway_record_before;

create index halfway_record_ready on halfway_record (route, (ready_at - priority * 60000000))
    where status = 'PENDING' and ready_at is not null;
create index halfway_record_ready_beside on halfway_record (route, (ready_at - priority * 60000000))
    where status = 'PENDING' and ready_at is not null and kind <> 'STEP';
create index halfway_record_doubt on halfway_record (ready_at) where status = 'UNKNOWN' and ready_at is not null;
create index halfway_record_asks on halfway_record (asks, run_id) where asks <> '';
create index halfway_record_waiting on halfway_record (ready_at) where status = 'WAITING' and ready_at is not null;

-- Items are found by their place in the list, those that have not begun by theirs, and those that are under way
-- without looking at the rest.
create index halfway_record_item on halfway_record (run_id, step, round, kind, position) where item <> '';
create index halfway_record_dormant on halfway_record (run_id, step, round, kind, position)
    where item <> '' and status = 'PENDING' and ready_at is null;
create index halfway_record_item_moving on halfway_record (run_id, step, round, kind)
    where item <> '' and (status = 'RUNNING' or status = 'WAITING' or (status = 'PENDING' and ready_at is not null) or (status = 'UNKNOWN' and asks = ''));
create index halfway_record_child on halfway_record (run_id, step, round, item) where item <> '' and status = 'WAITING';

-- Which runs a run has started and waits for. One that stood already under its key is not its own: nothing is asked of that.
create table halfway_child (
    parent_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    run_id text not null,
    own bigint not null check (own = 0 or own = 1),
    primary key (parent_id, step, round, item)
);
create index halfway_child_run on halfway_child (run_id);

-- Runs that are asked to stop because their parents do; taken away by whoever has asked them.
create table halfway_passed (
    run_id text not null primary key,
    parent_id text not null
);
