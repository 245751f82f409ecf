-- Records of two more kinds, and approvals. SQLite changes no check of a table that is there, so the table is made anew.

alter table halfway_record rename to halfway_record_before;

create table halfway_record (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null check (
        kind = 'STEP' or kind = 'PROBE' or kind = 'CHECK' or kind = 'COMPENSATION' or kind = 'COMPENSATION_PROBE' or kind = 'DRAFT'
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
    primary key (run_id, step, round, item, kind)
);

insert into halfway_record (
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks,
    looks, first_at, started_at, ended_at, output, error
)
select
    run_id, step, round, item, kind, status, route, priority, ready_at, attempts, failures, lost, effect, code, asks,
    looks, first_at, started_at, ended_at, output, error
from halfway_record_before;

drop table halfway_record_before;

create index halfway_record_ready on halfway_record (route, priority desc, ready_at) where status = 'PENDING' and ready_at is not null;
create index halfway_record_doubt on halfway_record (ready_at) where status = 'UNKNOWN' and ready_at is not null;
create index halfway_record_asks on halfway_record (asks, run_id) where asks <> '';
create index halfway_record_waiting on halfway_record (ready_at) where status = 'WAITING' and ready_at is not null;
