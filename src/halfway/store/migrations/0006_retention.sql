-- What is left of a run whose history was deleted, and indexes that find what is old without a look at what is young.

create table halfway_past (
    run_id text not null primary key,
    type text not null,
    version bigint not null,
    status text not null,
    run_key text,
    inputs text not null,
    created_at bigint not null,
    ended_at bigint not null,
    deleted_at bigint not null,
    cleared_at bigint
);
create index halfway_past_left on halfway_past (run_id) where cleared_at is null;
create index halfway_past_by_age on halfway_past (type, ended_at, run_id) where cleared_at is not null;
create index halfway_past_by_key on halfway_past (run_key) where run_key is not null;

create index halfway_run_ended on halfway_run (type, ended_at, id) where ended_at is not null;

-- The log outlives its runs, so it knows itself to which workflow an entry belongs.
alter table halfway_audit add column type text not null default '';
update halfway_audit set type = coalesce((select type from halfway_run where id = halfway_audit.run_id), '');
create index halfway_audit_by_age on halfway_audit (type, at, action_id);

-- An event without its payload still tells a repeat.
alter table halfway_event add column emptied_at bigint;
create index halfway_event_full on halfway_event (received_at, id) where emptied_at is null;
create index halfway_event_emptied on halfway_event (received_at, id) where emptied_at is not null;

create index halfway_artifact_by_age on halfway_artifact (created_at, id);
create index halfway_task_of_run on halfway_task (run_id) where run_id is not null;
create index halfway_task_of_event on halfway_task (event_id) where event_id is not null;
create index halfway_outbox_of_event on halfway_outbox (event_id) where event_id is not null and delivered_at is null;
create index halfway_batch_ended on halfway_batch (ended_at, id) where ended_at is not null;
create index halfway_batch_item_by_run on halfway_batch_item (run_id);
