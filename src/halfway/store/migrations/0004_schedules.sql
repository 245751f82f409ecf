-- Schedules, and what became of each of their ticks.

create table halfway_schedule (
    type text not null,
    name text not null,
    version bigint not null,
    spec text not null,
    accounted_at bigint not null,
    next_at bigint,
    paused_at bigint,
    retired_at bigint,
    revision bigint not null,
    primary key (type, name)
);

-- One row for each tick: that it has one run is its key, whoever is looking at the clock.
create table halfway_tick (
    type text not null,
    name text not null,
    due_at bigint not null,
    outcome text not null check (outcome = 'WAITING' or outcome = 'STARTED' or outcome = 'SKIPPED'),
    origin text not null check (origin = 'SCHEDULE' or origin = 'TRIGGER' or origin = 'BACKFILL'),
    run_id text,
    reason text not null,
    at bigint not null,
    next_at bigint,
    tries bigint not null,
    error text,
    primary key (type, name, due_at)
);
create index halfway_tick_waiting on halfway_tick (type, name, next_at) where outcome = 'WAITING';
create index halfway_tick_backfilled on halfway_tick (type, name, run_id) where origin = 'BACKFILL';

-- Many ticks that nobody could start in time, after a long outage.
create table halfway_missed (
    type text not null,
    name text not null,
    first_at bigint not null,
    last_at bigint not null,
    count bigint not null,
    at bigint not null,
    primary key (type, name, first_at)
);
