CREATE TABLE halfway_artifact (
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
CREATE TABLE halfway_attempt (
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
CREATE TABLE halfway_audit (
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
CREATE TABLE halfway_beat (
    epoch text not null primary key,
    counter bigint not null,
    at bigint not null
);
CREATE TABLE halfway_definition (
    hash text not null primary key,
    type text not null,
    version bigint not null,
    spec text not null,
    registered_at bigint not null
);
CREATE TABLE halfway_evidence (
    run_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    kind text not null,
    n bigint not null,
    at bigint not null,
    data text not null
);
CREATE TABLE halfway_journal (
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
CREATE TABLE halfway_key (
    type text not null,
    key text not null,
    n bigint not null,
    run_id text not null,
    primary key (type, key, n)
);
CREATE TABLE halfway_lease (
    key text not null,
    slot bigint not null,
    holder text not null,
    primary key (key, slot)
);
CREATE TABLE halfway_meta (
    name text not null primary key,
    value text not null
);
CREATE TABLE halfway_migration (
    number bigint not null primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
);
CREATE TABLE halfway_record (
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
CREATE TABLE halfway_run (
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
);
CREATE TABLE halfway_worker (
    epoch text not null primary key,
    state text not null check (state = 'ALIVE' or state = 'DEAD' or state = 'ENDED'),
    host text not null,
    pid bigint not null,
    identity text not null,
    kill_after bigint,
    started_at bigint not null,
    ended_at bigint
);
CREATE INDEX halfway_artifact_by_content on halfway_artifact (sha256);
CREATE INDEX halfway_artifact_by_run on halfway_artifact (run_id);
CREATE INDEX halfway_attempt_lost on halfway_attempt (epoch) where ended = 'LOST' and settled is null and gone_at is null;
CREATE INDEX halfway_attempt_running on halfway_attempt (epoch) where ended_at is null;
CREATE INDEX halfway_audit_by_run on halfway_audit (run_id, at);
CREATE INDEX halfway_definition_by_type on halfway_definition (type, version);
CREATE INDEX halfway_evidence_by_run on halfway_evidence (run_id);
CREATE INDEX halfway_key_by_key on halfway_key (key);
CREATE INDEX halfway_key_by_run on halfway_key (run_id);
CREATE INDEX halfway_lease_by_holder on halfway_lease (holder);
CREATE INDEX halfway_record_asks on halfway_record (asks, run_id) where asks <> '';
CREATE INDEX halfway_record_doubt on halfway_record (ready_at) where status = 'UNKNOWN' and ready_at is not null;
CREATE INDEX halfway_record_ready on halfway_record (route, priority desc, ready_at) where status = 'PENDING' and ready_at is not null;
CREATE INDEX halfway_run_blocked on halfway_run (resource, id) where blocked = 1 and ended_at is null;
CREATE INDEX halfway_run_by_correlation on halfway_run (correlation_id) where correlation_id <> '';
CREATE INDEX halfway_run_by_creation on halfway_run (created_at, id);
CREATE INDEX halfway_run_by_key on halfway_run (run_key) where run_key is not null;
CREATE INDEX halfway_run_deadline on halfway_run (deadline_at) where ended_at is null and intent is null and deadline_at is not null;
CREATE INDEX halfway_run_open on halfway_run (id) where ended_at is null;
CREATE INDEX halfway_run_timeout on halfway_run (timeout_at) where ended_at is null and intent is null and timeout_at is not null;
CREATE INDEX halfway_worker_alive on halfway_worker (epoch) where state = 'ALIVE';
