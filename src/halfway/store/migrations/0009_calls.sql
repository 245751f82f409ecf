-- What tools were called inside a step, with which effect and which answer, and what was spent: a repeat calls nothing twice, and a
-- budget counts over all attempts.
create table halfway_call (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    n bigint not null,
    seq bigint not null,
    tool text not null,
    effect text not null,
    args text not null,
    tokens bigint not null,
    began_at bigint not null,
    ended_at bigint,
    answer text,
    error text,
    primary key (run_id, step, round, item, kind, n, seq)
);

-- How often a person has granted the whole budget of a run once more.
alter table halfway_run add column grants bigint not null default 0;
