-- Waits and the events they wait for, messages to people, runs that start by themselves, orders for many runs, and what undoes a run.

alter table halfway_run add column undo text;
alter table halfway_run add column timeout_left bigint;
alter table halfway_run add column restored_at bigint;
-- By their state: whoever looks for runs that should be moving does not look at those that wait, however many there are. One index,
-- not two: every step writes the run's row, and SQLite writes anew each index that names what is written.
drop index halfway_run_open;
create index halfway_run_open on halfway_run (status, id) where ended_at is null;
create index halfway_run_failed on halfway_run (id) where status = 'FAILED';

-- The id is the place in the log: the time of the entry, a microsecond later for each one before it in the same transaction.
alter table halfway_audit add column id bigint not null default 0;
alter table halfway_audit add column refused text;
update halfway_audit set id = at;
create index halfway_audit_by_id on halfway_audit (id);

create table halfway_wait (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    n bigint not null,
    sort text not null check (sort = 'EVENT' or sort = 'RUN' or sort = 'TIME' or sort = 'APPROVAL'),
    name text not null,
    wait_key text not null,
    opened_at bigint not null,
    since bigint not null,
    shown text,
    closed_at bigint,
    how text,
    source text,
    primary key (run_id, step, round, item, kind, n)
);
create index halfway_wait_open on halfway_wait (name, wait_key, sort, opened_at) where closed_at is null;
-- Its condition says more than it must, so that no other statement takes it for the shorter way.
create index halfway_wait_opened on halfway_wait (opened_at) where closed_at is null and how is null;
create index halfway_wait_closed on halfway_wait (name, wait_key, sort, closed_at) where closed_at is not null;

-- Runs to be looked at, because something they wait for may be here. Rows are only added, and taken away by whoever holds the run: to
-- wake a run waits for nobody, and no wake is lost between two who look at the same time.
create table halfway_wake (
    run_id text not null,
    at bigint not null
);
create index halfway_wake_by_run on halfway_wake (run_id);
create index halfway_wake_by_time on halfway_wake (at);

create table halfway_event (
    id text not null primary key,
    source text not null,
    provider_id text not null,
    name text not null,
    key text not null,
    payload text not null,
    received_at bigint not null,
    processed_at bigint,
    run_id text,
    unique (source, provider_id)
);
create index halfway_event_unused on halfway_event (name, key, received_at, id) where processed_at is null;
create index halfway_event_by_name on halfway_event (name, key, id);

-- The inputs that a run had before they were corrected.
create table halfway_input (
    run_id text not null,
    revision bigint not null,
    input text not null,
    replaced_at bigint not null,
    primary key (run_id, revision)
);

create table halfway_outbox (
    id text not null primary key,
    at bigint not null,
    what text not null,
    run_id text not null,
    step text,
    role text not null,
    code text not null,
    event_id text,
    tries bigint not null,
    next_at bigint,
    delivered_at bigint,
    error text
);
create index halfway_outbox_next on halfway_outbox (next_at) where delivered_at is null and next_at is not null;
create index halfway_outbox_undelivered on halfway_outbox (id) where delivered_at is null;
create index halfway_outbox_by_run on halfway_outbox (run_id);

-- What starts a run of a workflow by itself; the statuses stand between spaces, none means every one.
create table halfway_trigger (
    type text not null,
    kind text not null check (kind = 'EVENT' or kind = 'RUN'),
    name text not null,
    statuses text not null,
    primary key (type, kind, name)
);
create index halfway_trigger_by_name on halfway_trigger (kind, name);

create table halfway_task (
    id text not null primary key,
    type text not null,
    kind text not null check (kind = 'EVENT' or kind = 'RUN'),
    name text not null,
    key text not null,
    event_id text,
    run_id text,
    next_at bigint not null,
    tries bigint not null,
    error text
);
create index halfway_task_next on halfway_task (type, next_at);

create table halfway_batch (
    id text not null primary key,
    at bigint not null,
    actor text not null,
    action text not null,
    reason text not null,
    filter text not null,
    arguments text not null,
    rate bigint,
    stop_after bigint,
    state text not null check (
        state = 'READY' or state = 'RUNNING' or state = 'PAUSED' or state = 'STOPPED' or state = 'DONE'
    ),
    ended_at bigint
);
create index halfway_batch_running on halfway_batch (id) where state = 'RUNNING';

create table halfway_batch_item (
    batch_id text not null,
    n bigint not null,
    run_id text not null,
    step text,
    state text not null check (
        state = 'WAITING' or state = 'DONE' or state = 'REFUSED' or state = 'FAILED' or state = 'SKIPPED'
    ),
    detail text,
    at bigint,
    primary key (batch_id, n)
);
create index halfway_batch_item_waiting on halfway_batch_item (batch_id, n) where state = 'WAITING';
