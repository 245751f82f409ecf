-- Conditions, and items: records of a step that does the same for each of a list.

alter table halfway_record drop constraint halfway_record_kind_check;
alter table halfway_record add constraint halfway_record_kind_check check (
    kind = 'STEP' or kind = 'PROBE' or kind = 'CHECK' or kind = 'CONDITION' or kind = 'COMPENSATION' or kind = 'COMPENSATION_PROBE'
    or kind = 'DRAFT'
);
alter table halfway_record add column position bigint not null default 0;
alter table halfway_record add column input text;

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
