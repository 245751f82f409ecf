-- Times are microseconds since the epoch, UTC; ids and payloads are text; there are no booleans.
-- The tables that every step writes have no foreign keys: each insert would lock and read the parent's row, which the same
-- transaction has locked anyway, and retention deletes a run's rows in small batches.
-- Half of each page of runs is kept free for their many updates, which then touch no index.
-- Checks compare one by one: SQLite builds a list anew for every row that it checks against `in (…)`, three times the cost of the row.

create table halfway_meta (
    name text not null primary key,
    value text not null
);

create table halfway_definition (
    hash text not null primary key,
    type text not null,
    version bigint not null,
    spec text not null,
    registered_at bigint not null
);
create index halfway_definition_by_type on halfway_definition (type, version);

create table halfway_run (
    id text not null primary key,
    type text not null,
    version bigint not null,
    hash text not null,
    status text not null check (
        status = 'PENDING' or status = 'RUNNING' or status = 'WAITING' or status = 'SUCCESS'
        or status = 'PARTIAL_SUCCESS' or status = 'FAILED' or status = 'COMPENSATING' or status = 'COMPENSATED'
        or status = 'MANUAL_REQUIRED' or status = 'CANCEL_REQUESTED' or status = 'CANCELLED'
        or status = 'EXPIRED'
    ),
    intent text check (intent = 'CANCEL' or intent = 'EXPIRE' or intent = 'TIMEOUT'),
    revision bigint not null,
    seq bigint not null,
    priority bigint not null,
    correlation_id text not null,
    resource text,
    blocked bigint not null check (blocked = 0 or blocked = 1),
    input text not null,
    run_key text,
    actor text not null,
    created_at bigint not null,
    started_at bigint,
    updated_at bigint not null,
    ended_at bigint,
    deadline_at bigint,
    timeout_at bigint
) /* pg: with (fillfactor = 50) */;
create index halfway_run_open on halfway_run (id) where ended_at is null;
create index halfway_run_blocked on halfway_run (resource, id) where blocked = 1 and ended_at is null;
create index halfway_run_deadline on halfway_run (deadline_at) where ended_at is null and intent is null and deadline_at is not null;
create index halfway_run_timeout on halfway_run (timeout_at) where ended_at is null and intent is null and timeout_at is not null;
create index halfway_run_by_key on halfway_run (run_key) where run_key is not null;
create index halfway_run_by_correlation on halfway_run (correlation_id) where correlation_id <> '';
create index halfway_run_by_creation on halfway_run (created_at, id);

create table halfway_record (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null check (kind = 'STEP' or kind = 'PROBE' or kind = 'CHECK' or kind = 'COMPENSATION'),
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
    primary key (run_id, step, round, item, kind)
);
create index halfway_record_ready on halfway_record (route, priority desc, ready_at) where status = 'PENDING' and ready_at is not null;
create index halfway_record_doubt on halfway_record (ready_at) where status = 'UNKNOWN' and ready_at is not null;
create index halfway_record_asks on halfway_record (asks, run_id) where asks <> '';

create table halfway_attempt (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    n bigint not null,
    epoch text not null,
    started_at bigint not null,
    mark_at bigint,
    ended_at bigint,
    ended text check (ended = 'SUCCESS' or ended = 'NOTHING' or ended = 'FAILED' or ended = 'LOST' or ended = 'HANDED_BACK'),
    code text not null,
    settled text,
    gone_at bigint,
    primary key (run_id, step, round, item, kind, n)
);
create index halfway_attempt_running on halfway_attempt (epoch) where ended_at is null;
create index halfway_attempt_lost on halfway_attempt (epoch) where ended = 'LOST' and settled is null and gone_at is null;

create table halfway_journal (
    run_id text not null,
    seq bigint not null,
    at bigint not null,
    name text not null,
    step text,
    round bigint,
    item text,
    kind text,
    n bigint,
    data text,
    primary key (run_id, seq)
);

create table halfway_audit (
    action_id text not null primary key,
    at bigint not null,
    actor text not null,
    action text not null,
    run_id text not null,
    step text,
    reason text not null,
    evidence text,
    before_state text not null,
    after_state text not null
);
create index halfway_audit_by_run on halfway_audit (run_id, at);

create table halfway_evidence (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    n bigint not null,
    at bigint not null,
    data text not null
);
create index halfway_evidence_by_run on halfway_evidence (run_id);

create table halfway_artifact (
    id text not null primary key,
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    n bigint not null,
    name text not null,
    sha256 text not null,
    size bigint not null,
    created_at bigint not null
);
create index halfway_artifact_by_run on halfway_artifact (run_id);
create index halfway_artifact_by_content on halfway_artifact (sha256);

create table halfway_worker (
    epoch text not null primary key,
    state text not null check (state = 'ALIVE' or state = 'DEAD' or state = 'ENDED'),
    host text not null,
    pid bigint not null,
    identity text not null,
    kill_after bigint,
    started_at bigint not null,
    ended_at bigint
);
create index halfway_worker_alive on halfway_worker (epoch) where state = 'ALIVE';

-- A row of its own, so that a beat never waits for a worker's other writes.
create table halfway_beat (
    epoch text not null primary key,
    counter bigint not null,
    at bigint not null
);

create table halfway_key (
    type text not null,
    key text not null,
    n bigint not null,
    run_id text not null,
    primary key (type, key, n)
);
create index halfway_key_by_key on halfway_key (key);
create index halfway_key_by_run on halfway_key (run_id);

create table halfway_lease (
    key text not null,
    slot bigint not null,
    holder text not null,
    primary key (key, slot)
);
create index halfway_lease_by_holder on halfway_lease (holder);
