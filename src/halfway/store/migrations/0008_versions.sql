-- Records that nothing stands for any more since their run was moved to a later version: set aside, as they were.
create table halfway_former_record (
    run_id text not null,
    version bigint not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    status text not null,
    attempts bigint not null,
    effect text not null,
    code text not null,
    started_at bigint,
    ended_at bigint,
    output text,
    error text,
    moved_at bigint not null,
    primary key (run_id, version, step, round, item, kind)
);
