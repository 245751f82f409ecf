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
, id bigint not null default 0, refused text, type text not null default '');
CREATE TABLE halfway_batch (
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
CREATE TABLE halfway_batch_item (
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
CREATE TABLE halfway_beat (
    epoch text not null primary key,
    counter bigint not null,
    at bigint not null
);
CREATE TABLE halfway_call (
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
CREATE TABLE halfway_child (
    parent_id text not null,
    step text not null,
    round bigint not null,
    item text not null,
    run_id text not null,
    own bigint not null check (own = 0 or own = 1),
    primary key (parent_id, step, round, item)
);
CREATE TABLE halfway_claim (
    run_id text not null,
    key text not null,
    slots bigint not null,
    waits_from bigint,
    primary key (run_id, key)
);
CREATE TABLE halfway_debounce (
    type text not null,
    key text not null,
    run_id text not null,
    first_at bigint not null,
    primary key (type, key)
);
CREATE TABLE halfway_definition (
    hash text not null primary key,
    type text not null,
    version bigint not null,
    spec text not null,
    registered_at bigint not null
);
CREATE TABLE halfway_event (
    id text not null primary key,
    source text not null,
    provider_id text not null,
    name text not null,
    key text not null,
    payload text not null,
    received_at bigint not null,
    processed_at bigint,
    run_id text, emptied_at bigint,
    unique (source, provider_id)
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
CREATE TABLE halfway_former_record (
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
CREATE TABLE halfway_input (
    run_id text not null,
    revision bigint not null,
    input text not null,
    replaced_at bigint not null,
    primary key (run_id, revision)
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
CREATE TABLE halfway_missed (
    type text not null,
    name text not null,
    first_at bigint not null,
    last_at bigint not null,
    count bigint not null,
    at bigint not null,
    primary key (type, name, first_at)
);
CREATE TABLE halfway_outbox (
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
CREATE TABLE halfway_passed (
    run_id text not null primary key,
    parent_id text not null
);
CREATE TABLE halfway_past (
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
CREATE TABLE halfway_pause (
    what text not null check (what = 'QUEUE' or what = 'WORKFLOW'),
    name text not null,
    at bigint not null,
    actor text not null,
    reason text not null,
    primary key (what, name)
);
CREATE TABLE halfway_queue (
    name text not null primary key,
    concurrency bigint,
    per_minute bigint,
    starts text not null
);
CREATE TABLE halfway_record (
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
, undo text, timeout_left bigint, restored_at bigint, grants bigint not null default 0);
CREATE TABLE halfway_schedule (
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
CREATE TABLE halfway_task (
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
CREATE TABLE halfway_tick (
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
CREATE TABLE halfway_trigger (
    type text not null,
    kind text not null check (kind = 'EVENT' or kind = 'RUN'),
    name text not null,
    statuses text not null,
    primary key (type, kind, name)
);
CREATE TABLE halfway_wait (
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
CREATE TABLE halfway_wake (
    run_id text not null,
    at bigint not null
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
, queues text not null default '');
CREATE INDEX halfway_artifact_by_age on halfway_artifact (created_at, id);
CREATE INDEX halfway_artifact_by_content on halfway_artifact (sha256);
CREATE INDEX halfway_artifact_by_run on halfway_artifact (run_id);
CREATE INDEX halfway_attempt_lost on halfway_attempt (epoch) where ended = 'LOST' and settled is null and gone_at is null;
CREATE INDEX halfway_attempt_running on halfway_attempt (epoch) where ended_at is null;
CREATE INDEX halfway_audit_by_age on halfway_audit (type, at, action_id);
CREATE INDEX halfway_audit_by_id on halfway_audit (id);
CREATE INDEX halfway_audit_by_run on halfway_audit (run_id, at);
CREATE INDEX halfway_batch_ended on halfway_batch (ended_at, id) where ended_at is not null;
CREATE INDEX halfway_batch_item_by_run on halfway_batch_item (run_id);
CREATE INDEX halfway_batch_item_waiting on halfway_batch_item (batch_id, n) where state = 'WAITING';
CREATE INDEX halfway_batch_running on halfway_batch (id) where state = 'RUNNING';
CREATE INDEX halfway_child_run on halfway_child (run_id);
CREATE INDEX halfway_claim_waiting on halfway_claim (key, run_id) where waits_from is not null;
CREATE INDEX halfway_definition_by_type on halfway_definition (type, version);
CREATE INDEX halfway_event_by_name on halfway_event (name, key, id);
CREATE INDEX halfway_event_emptied on halfway_event (received_at, id) where emptied_at is not null;
CREATE INDEX halfway_event_full on halfway_event (received_at, id) where emptied_at is null;
CREATE INDEX halfway_event_unused on halfway_event (name, key, received_at, id) where processed_at is null;
CREATE INDEX halfway_evidence_by_run on halfway_evidence (run_id);
CREATE INDEX halfway_key_by_key on halfway_key (key);
CREATE INDEX halfway_key_by_run on halfway_key (run_id);
CREATE INDEX halfway_lease_by_holder on halfway_lease (holder);
CREATE INDEX halfway_outbox_by_run on halfway_outbox (run_id);
CREATE INDEX halfway_outbox_next on halfway_outbox (next_at) where delivered_at is null and next_at is not null;
CREATE INDEX halfway_outbox_of_event on halfway_outbox (event_id) where event_id is not null and delivered_at is null;
CREATE INDEX halfway_outbox_undelivered on halfway_outbox (id) where delivered_at is null;
CREATE INDEX halfway_past_by_age on halfway_past (type, ended_at, run_id) where cleared_at is not null;
CREATE INDEX halfway_past_by_key on halfway_past (run_key) where run_key is not null;
CREATE INDEX halfway_past_left on halfway_past (run_id) where cleared_at is null;
CREATE INDEX halfway_record_asks on halfway_record (asks, run_id) where asks <> '';
CREATE INDEX halfway_record_child on halfway_record (run_id, step, round, item) where item <> '' and status = 'WAITING';
CREATE INDEX halfway_record_dormant on halfway_record (run_id, step, round, kind, position)
    where item <> '' and status = 'PENDING' and ready_at is null;
CREATE INDEX halfway_record_doubt on halfway_record (ready_at) where status = 'UNKNOWN' and ready_at is not null;
CREATE INDEX halfway_record_item on halfway_record (run_id, step, round, kind, position) where item <> '';
CREATE INDEX halfway_record_item_moving on halfway_record (run_id, step, round, kind)
    where item <> '' and (status = 'RUNNING' or status = 'WAITING' or (status = 'PENDING' and ready_at is not null) or (status = 'UNKNOWN' and asks = ''));
CREATE INDEX halfway_record_ready on halfway_record (route, (ready_at - priority * 60000000))
    where status = 'PENDING' and ready_at is not null;
CREATE INDEX halfway_record_ready_beside on halfway_record (route, (ready_at - priority * 60000000))
    where status = 'PENDING' and ready_at is not null and kind <> 'STEP';
CREATE INDEX halfway_record_waiting on halfway_record (ready_at) where status = 'WAITING' and ready_at is not null;
CREATE INDEX halfway_run_by_correlation on halfway_run (correlation_id) where correlation_id <> '';
CREATE INDEX halfway_run_by_creation on halfway_run (created_at, id);
CREATE INDEX halfway_run_by_key on halfway_run (run_key) where run_key is not null;
CREATE INDEX halfway_run_deadline on halfway_run (deadline_at) where ended_at is null and intent is null and deadline_at is not null;
CREATE INDEX halfway_run_ended on halfway_run (type, ended_at, id) where ended_at is not null;
CREATE INDEX halfway_run_failed on halfway_run (id) where status = 'FAILED';
CREATE INDEX halfway_run_open on halfway_run (status, id) where ended_at is null;
CREATE INDEX halfway_run_timeout on halfway_run (timeout_at) where ended_at is null and intent is null and timeout_at is not null;
CREATE INDEX halfway_task_next on halfway_task (type, next_at);
CREATE INDEX halfway_task_of_event on halfway_task (event_id) where event_id is not null;
CREATE INDEX halfway_task_of_run on halfway_task (run_id) where run_id is not null;
CREATE INDEX halfway_tick_backfilled on halfway_tick (type, name, run_id) where origin = 'BACKFILL';
CREATE INDEX halfway_tick_waiting on halfway_tick (type, name, next_at) where outcome = 'WAITING';
CREATE INDEX halfway_trigger_by_name on halfway_trigger (kind, name);
CREATE INDEX halfway_wait_closed on halfway_wait (name, wait_key, sort, closed_at) where closed_at is not null;
CREATE INDEX halfway_wait_open on halfway_wait (name, wait_key, sort, opened_at) where closed_at is null;
CREATE INDEX halfway_wait_opened on halfway_wait (opened_at) where closed_at is null and how is null;
CREATE INDEX halfway_wake_by_run on halfway_wake (run_id);
CREATE INDEX halfway_wake_by_time on halfway_wake (at);
CREATE INDEX halfway_worker_alive on halfway_worker (epoch) where state = 'ALIVE';
