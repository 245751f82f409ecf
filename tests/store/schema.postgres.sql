halfway_artifact.id text not null
halfway_artifact.run_id text not null
halfway_artifact.step text not null
halfway_artifact.round bigint not null
halfway_artifact.item text not null
halfway_artifact.kind text not null
halfway_artifact.n bigint not null
halfway_artifact.name text not null
halfway_artifact.sha256 text not null
halfway_artifact.size bigint not null
halfway_artifact.created_at bigint not null
halfway_attempt.run_id text not null
halfway_attempt.step text not null
halfway_attempt.round bigint not null
halfway_attempt.item text not null
halfway_attempt.kind text not null
halfway_attempt.n bigint not null
halfway_attempt.epoch text not null
halfway_attempt.started_at bigint not null
halfway_attempt.mark_at bigint
halfway_attempt.ended_at bigint
halfway_attempt.ended text
halfway_attempt.code text not null
halfway_attempt.settled text
halfway_attempt.gone_at bigint
halfway_audit.action_id text not null
halfway_audit.at bigint not null
halfway_audit.actor text not null
halfway_audit.action text not null
halfway_audit.run_id text not null
halfway_audit.step text
halfway_audit.reason text not null
halfway_audit.evidence text
halfway_audit.before_state text not null
halfway_audit.after_state text not null
halfway_audit.id bigint not null
halfway_audit.refused text
halfway_audit.type text not null
halfway_batch.id text not null
halfway_batch.at bigint not null
halfway_batch.actor text not null
halfway_batch.action text not null
halfway_batch.reason text not null
halfway_batch.filter text not null
halfway_batch.arguments text not null
halfway_batch.rate bigint
halfway_batch.stop_after bigint
halfway_batch.state text not null
halfway_batch.ended_at bigint
halfway_batch_item.batch_id text not null
halfway_batch_item.n bigint not null
halfway_batch_item.run_id text not null
halfway_batch_item.step text
halfway_batch_item.state text not null
halfway_batch_item.detail text
halfway_batch_item.at bigint
halfway_beat.epoch text not null
halfway_beat.counter bigint not null
halfway_beat.at bigint not null
halfway_call.run_id text not null
halfway_call.step text not null
halfway_call.round bigint not null
halfway_call.item text not null
halfway_call.kind text not null
halfway_call.n bigint not null
halfway_call.seq bigint not null
halfway_call.tool text not null
halfway_call.effect text not null
halfway_call.args text not null
halfway_call.tokens bigint not null
halfway_call.began_at bigint not null
halfway_call.ended_at bigint
halfway_call.answer text
halfway_call.error text
halfway_child.parent_id text not null
halfway_child.step text not null
halfway_child.round bigint not null
halfway_child.item text not null
halfway_child.run_id text not null
halfway_child.own bigint not null
halfway_claim.run_id text not null
halfway_claim.key text not null
halfway_claim.slots bigint not null
halfway_claim.waits_from bigint
halfway_debounce.type text not null
halfway_debounce.key text not null
halfway_debounce.run_id text not null
halfway_debounce.first_at bigint not null
halfway_definition.hash text not null
halfway_definition.type text not null
halfway_definition.version bigint not null
halfway_definition.spec text not null
halfway_definition.registered_at bigint not null
halfway_event.id text not null
halfway_event.source text not null
halfway_event.provider_id text not null
halfway_event.name text not null
halfway_event.key text not null
halfway_event.payload text not null
halfway_event.received_at bigint not null
halfway_event.processed_at bigint
halfway_event.run_id text
halfway_event.emptied_at bigint
halfway_evidence.run_id text not null
halfway_evidence.step text not null
halfway_evidence.round bigint not null
halfway_evidence.item text not null
halfway_evidence.kind text not null
halfway_evidence.n bigint not null
halfway_evidence.at bigint not null
halfway_evidence.data text not null
halfway_former_record.run_id text not null
halfway_former_record.version bigint not null
halfway_former_record.step text not null
halfway_former_record.round bigint not null
halfway_former_record.item text not null
halfway_former_record.kind text not null
halfway_former_record.status text not null
halfway_former_record.attempts bigint not null
halfway_former_record.effect text not null
halfway_former_record.code text not null
halfway_former_record.started_at bigint
halfway_former_record.ended_at bigint
halfway_former_record.output text
halfway_former_record.error text
halfway_former_record.moved_at bigint not null
halfway_input.run_id text not null
halfway_input.revision bigint not null
halfway_input.input text not null
halfway_input.replaced_at bigint not null
halfway_journal.run_id text not null
halfway_journal.seq bigint not null
halfway_journal.at bigint not null
halfway_journal.name text not null
halfway_journal.step text
halfway_journal.round bigint
halfway_journal.item text
halfway_journal.kind text
halfway_journal.n bigint
halfway_journal.data text
halfway_key.type text not null
halfway_key.key text not null
halfway_key.n bigint not null
halfway_key.run_id text not null
halfway_lease.key text not null
halfway_lease.slot bigint not null
halfway_lease.holder text not null
halfway_meta.name text not null
halfway_meta.value text not null
halfway_migration.number bigint not null
halfway_migration.name text not null
halfway_migration.checksum text not null
halfway_migration.applied_at bigint not null
halfway_missed.type text not null
halfway_missed.name text not null
halfway_missed.first_at bigint not null
halfway_missed.last_at bigint not null
halfway_missed.count bigint not null
halfway_missed.at bigint not null
halfway_outbox.id text not null
halfway_outbox.at bigint not null
halfway_outbox.what text not null
halfway_outbox.run_id text not null
halfway_outbox.step text
halfway_outbox.role text not null
halfway_outbox.code text not null
halfway_outbox.event_id text
halfway_outbox.tries bigint not null
halfway_outbox.next_at bigint
halfway_outbox.delivered_at bigint
halfway_outbox.error text
halfway_passed.run_id text not null
halfway_passed.parent_id text not null
halfway_past.run_id text not null
halfway_past.type text not null
halfway_past.version bigint not null
halfway_past.status text not null
halfway_past.run_key text
halfway_past.inputs text not null
halfway_past.created_at bigint not null
halfway_past.ended_at bigint not null
halfway_past.deleted_at bigint not null
halfway_past.cleared_at bigint
halfway_pause.what text not null
halfway_pause.name text not null
halfway_pause.at bigint not null
halfway_pause.actor text not null
halfway_pause.reason text not null
halfway_queue.name text not null
halfway_queue.concurrency bigint
halfway_queue.per_minute bigint
halfway_queue.starts text not null
halfway_record.run_id text not null
halfway_record.step text not null
halfway_record.round bigint not null
halfway_record.item text not null
halfway_record.kind text not null
halfway_record.status text not null
halfway_record.route text not null
halfway_record.priority bigint not null
halfway_record.ready_at bigint
halfway_record.attempts bigint not null
halfway_record.failures bigint not null
halfway_record.lost bigint not null
halfway_record.effect text not null
halfway_record.code text not null
halfway_record.asks text not null
halfway_record.looks bigint not null
halfway_record.first_at bigint
halfway_record.started_at bigint
halfway_record.ended_at bigint
halfway_record.output text
halfway_record.error text
halfway_record.approved_until bigint
halfway_record.approved_by text not null
halfway_record.position bigint not null
halfway_record.input text
halfway_run.id text not null
halfway_run.type text not null
halfway_run.version bigint not null
halfway_run.hash text not null
halfway_run.status text not null
halfway_run.intent text
halfway_run.revision bigint not null
halfway_run.seq bigint not null
halfway_run.priority bigint not null
halfway_run.correlation_id text not null
halfway_run.resource text
halfway_run.blocked bigint not null
halfway_run.input text not null
halfway_run.run_key text
halfway_run.actor text not null
halfway_run.created_at bigint not null
halfway_run.started_at bigint
halfway_run.updated_at bigint not null
halfway_run.ended_at bigint
halfway_run.deadline_at bigint
halfway_run.timeout_at bigint
halfway_run.undo text
halfway_run.timeout_left bigint
halfway_run.restored_at bigint
halfway_run.grants bigint not null
halfway_schedule.type text not null
halfway_schedule.name text not null
halfway_schedule.version bigint not null
halfway_schedule.spec text not null
halfway_schedule.accounted_at bigint not null
halfway_schedule.next_at bigint
halfway_schedule.paused_at bigint
halfway_schedule.retired_at bigint
halfway_schedule.revision bigint not null
halfway_task.id text not null
halfway_task.type text not null
halfway_task.kind text not null
halfway_task.name text not null
halfway_task.key text not null
halfway_task.event_id text
halfway_task.run_id text
halfway_task.next_at bigint not null
halfway_task.tries bigint not null
halfway_task.error text
halfway_tick.type text not null
halfway_tick.name text not null
halfway_tick.due_at bigint not null
halfway_tick.outcome text not null
halfway_tick.origin text not null
halfway_tick.run_id text
halfway_tick.reason text not null
halfway_tick.at bigint not null
halfway_tick.next_at bigint
halfway_tick.tries bigint not null
halfway_tick.error text
halfway_trigger.type text not null
halfway_trigger.kind text not null
halfway_trigger.name text not null
halfway_trigger.statuses text not null
halfway_wait.run_id text not null
halfway_wait.step text not null
halfway_wait.round bigint not null
halfway_wait.item text not null
halfway_wait.kind text not null
halfway_wait.n bigint not null
halfway_wait.sort text not null
halfway_wait.name text not null
halfway_wait.wait_key text not null
halfway_wait.opened_at bigint not null
halfway_wait.since bigint not null
halfway_wait.shown text
halfway_wait.closed_at bigint
halfway_wait.how text
halfway_wait.source text
halfway_wake.run_id text not null
halfway_wake.at bigint not null
halfway_worker.epoch text not null
halfway_worker.state text not null
halfway_worker.host text not null
halfway_worker.pid bigint not null
halfway_worker.identity text not null
halfway_worker.kill_after bigint
halfway_worker.started_at bigint not null
halfway_worker.ended_at bigint
halfway_worker.queues text not null

halfway_artifact halfway_artifact_pkey PRIMARY KEY (id)
halfway_attempt halfway_attempt_ended_check CHECK (((ended = 'SUCCESS'::text) OR (ended = 'NOTHING'::text) OR (ended = 'FAILED'::text) OR (ended = 'LOST'::text) OR (ended = 'HANDED_BACK'::text)))
halfway_attempt halfway_attempt_pkey PRIMARY KEY (run_id, step, round, item, kind, n)
halfway_audit halfway_audit_pkey PRIMARY KEY (action_id)
halfway_batch halfway_batch_pkey PRIMARY KEY (id)
halfway_batch halfway_batch_state_check CHECK (((state = 'READY'::text) OR (state = 'RUNNING'::text) OR (state = 'PAUSED'::text) OR (state = 'STOPPED'::text) OR (state = 'DONE'::text)))
halfway_batch_item halfway_batch_item_pkey PRIMARY KEY (batch_id, n)
halfway_batch_item halfway_batch_item_state_check CHECK (((state = 'WAITING'::text) OR (state = 'DONE'::text) OR (state = 'REFUSED'::text) OR (state = 'FAILED'::text) OR (state = 'SKIPPED'::text)))
halfway_beat halfway_beat_pkey PRIMARY KEY (epoch)
halfway_call halfway_call_pkey PRIMARY KEY (run_id, step, round, item, kind, n, seq)
halfway_child halfway_child_own_check CHECK (((own = 0) OR (own = 1)))
halfway_child halfway_child_pkey PRIMARY KEY (parent_id, step, round, item)
halfway_claim halfway_claim_pkey PRIMARY KEY (run_id, key)
halfway_debounce halfway_debounce_pkey PRIMARY KEY (type, key)
halfway_definition halfway_definition_pkey PRIMARY KEY (hash)
halfway_event halfway_event_pkey PRIMARY KEY (id)
halfway_event halfway_event_source_provider_id_key UNIQUE (source, provider_id)
halfway_former_record halfway_former_record_pkey PRIMARY KEY (run_id, version, step, round, item, kind)
halfway_input halfway_input_pkey PRIMARY KEY (run_id, revision)
halfway_journal halfway_journal_pkey PRIMARY KEY (run_id, seq)
halfway_key halfway_key_pkey PRIMARY KEY (type, key, n)
halfway_lease halfway_lease_pkey PRIMARY KEY (key, slot)
halfway_meta halfway_meta_pkey PRIMARY KEY (name)
halfway_migration halfway_migration_pkey PRIMARY KEY (number)
halfway_missed halfway_missed_pkey PRIMARY KEY (type, name, first_at)
halfway_outbox halfway_outbox_pkey PRIMARY KEY (id)
halfway_passed halfway_passed_pkey PRIMARY KEY (run_id)
halfway_past halfway_past_pkey PRIMARY KEY (run_id)
halfway_pause halfway_pause_pkey PRIMARY KEY (what, name)
halfway_pause halfway_pause_what_check CHECK (((what = 'QUEUE'::text) OR (what = 'WORKFLOW'::text)))
halfway_queue halfway_queue_pkey PRIMARY KEY (name)
halfway_record halfway_record_effect_check CHECK (((effect = 'none'::text) OR (effect = 'happened'::text) OR (effect = 'not'::text) OR (effect = 'unknown'::text)))
halfway_record halfway_record_kind_check CHECK (((kind = 'STEP'::text) OR (kind = 'PROBE'::text) OR (kind = 'CHECK'::text) OR (kind = 'CONDITION'::text) OR (kind = 'COMPENSATION'::text) OR (kind = 'COMPENSATION_PROBE'::text) OR (kind = 'DRAFT'::text)))
halfway_record halfway_record_pkey PRIMARY KEY (run_id, step, round, item, kind)
halfway_record halfway_record_status_check CHECK (((status = 'PENDING'::text) OR (status = 'RUNNING'::text) OR (status = 'SUCCESS'::text) OR (status = 'FAILED'::text) OR (status = 'UNKNOWN'::text) OR (status = 'WAITING'::text) OR (status = 'SKIPPED'::text)))
halfway_run halfway_run_blocked_check CHECK (((blocked = 0) OR (blocked = 1)))
halfway_run halfway_run_intent_check CHECK (((intent = 'CANCEL'::text) OR (intent = 'EXPIRE'::text) OR (intent = 'TIMEOUT'::text)))
halfway_run halfway_run_pkey PRIMARY KEY (id)
halfway_run halfway_run_status_check CHECK (((status = 'PENDING'::text) OR (status = 'RUNNING'::text) OR (status = 'WAITING'::text) OR (status = 'SUCCESS'::text) OR (status = 'PARTIAL_SUCCESS'::text) OR (status = 'FAILED'::text) OR (status = 'COMPENSATING'::text) OR (status = 'COMPENSATED'::text) OR (status = 'MANUAL_REQUIRED'::text) OR (status = 'CANCEL_REQUESTED'::text) OR (status = 'CANCELLED'::text) OR (status = 'EXPIRED'::text)))
halfway_schedule halfway_schedule_pkey PRIMARY KEY (type, name)
halfway_task halfway_task_kind_check CHECK (((kind = 'EVENT'::text) OR (kind = 'RUN'::text)))
halfway_task halfway_task_pkey PRIMARY KEY (id)
halfway_tick halfway_tick_origin_check CHECK (((origin = 'SCHEDULE'::text) OR (origin = 'TRIGGER'::text) OR (origin = 'BACKFILL'::text)))
halfway_tick halfway_tick_outcome_check CHECK (((outcome = 'WAITING'::text) OR (outcome = 'STARTED'::text) OR (outcome = 'SKIPPED'::text)))
halfway_tick halfway_tick_pkey PRIMARY KEY (type, name, due_at)
halfway_trigger halfway_trigger_kind_check CHECK (((kind = 'EVENT'::text) OR (kind = 'RUN'::text)))
halfway_trigger halfway_trigger_pkey PRIMARY KEY (type, kind, name)
halfway_wait halfway_wait_pkey PRIMARY KEY (run_id, step, round, item, kind, n)
halfway_wait halfway_wait_sort_check CHECK (((sort = 'EVENT'::text) OR (sort = 'RUN'::text) OR (sort = 'TIME'::text) OR (sort = 'APPROVAL'::text)))
halfway_worker halfway_worker_pkey PRIMARY KEY (epoch)
halfway_worker halfway_worker_state_check CHECK (((state = 'ALIVE'::text) OR (state = 'DEAD'::text) OR (state = 'ENDED'::text)))

CREATE INDEX halfway_artifact_by_age ON public.halfway_artifact USING btree (created_at, id)
CREATE INDEX halfway_artifact_by_content ON public.halfway_artifact USING btree (sha256)
CREATE INDEX halfway_artifact_by_run ON public.halfway_artifact USING btree (run_id)
CREATE UNIQUE INDEX halfway_artifact_pkey ON public.halfway_artifact USING btree (id)
CREATE INDEX halfway_attempt_lost ON public.halfway_attempt USING btree (epoch) WHERE ((ended = 'LOST'::text) AND (settled IS NULL) AND (gone_at IS NULL))
CREATE UNIQUE INDEX halfway_attempt_pkey ON public.halfway_attempt USING btree (run_id, step, round, item, kind, n)
CREATE INDEX halfway_attempt_running ON public.halfway_attempt USING btree (epoch) WHERE (ended_at IS NULL)
CREATE INDEX halfway_audit_by_age ON public.halfway_audit USING btree (type, at, action_id)
CREATE INDEX halfway_audit_by_id ON public.halfway_audit USING btree (id)
CREATE INDEX halfway_audit_by_run ON public.halfway_audit USING btree (run_id, at)
CREATE UNIQUE INDEX halfway_audit_pkey ON public.halfway_audit USING btree (action_id)
CREATE INDEX halfway_batch_ended ON public.halfway_batch USING btree (ended_at, id) WHERE (ended_at IS NOT NULL)
CREATE INDEX halfway_batch_item_by_run ON public.halfway_batch_item USING btree (run_id)
CREATE UNIQUE INDEX halfway_batch_item_pkey ON public.halfway_batch_item USING btree (batch_id, n)
CREATE INDEX halfway_batch_item_waiting ON public.halfway_batch_item USING btree (batch_id, n) WHERE (state = 'WAITING'::text)
CREATE UNIQUE INDEX halfway_batch_pkey ON public.halfway_batch USING btree (id)
CREATE INDEX halfway_batch_running ON public.halfway_batch USING btree (id) WHERE (state = 'RUNNING'::text)
CREATE UNIQUE INDEX halfway_beat_pkey ON public.halfway_beat USING btree (epoch)
CREATE UNIQUE INDEX halfway_call_pkey ON public.halfway_call USING btree (run_id, step, round, item, kind, n, seq)
CREATE UNIQUE INDEX halfway_child_pkey ON public.halfway_child USING btree (parent_id, step, round, item)
CREATE INDEX halfway_child_run ON public.halfway_child USING btree (run_id)
CREATE UNIQUE INDEX halfway_claim_pkey ON public.halfway_claim USING btree (run_id, key)
CREATE INDEX halfway_claim_waiting ON public.halfway_claim USING btree (key, run_id) WHERE (waits_from IS NOT NULL)
CREATE UNIQUE INDEX halfway_debounce_pkey ON public.halfway_debounce USING btree (type, key)
CREATE INDEX halfway_definition_by_type ON public.halfway_definition USING btree (type, version)
CREATE UNIQUE INDEX halfway_definition_pkey ON public.halfway_definition USING btree (hash)
CREATE INDEX halfway_event_by_name ON public.halfway_event USING btree (name, key, id)
CREATE INDEX halfway_event_emptied ON public.halfway_event USING btree (received_at, id) WHERE (emptied_at IS NOT NULL)
CREATE INDEX halfway_event_full ON public.halfway_event USING btree (received_at, id) WHERE (emptied_at IS NULL)
CREATE UNIQUE INDEX halfway_event_pkey ON public.halfway_event USING btree (id)
CREATE UNIQUE INDEX halfway_event_source_provider_id_key ON public.halfway_event USING btree (source, provider_id)
CREATE INDEX halfway_event_unused ON public.halfway_event USING btree (name, key, received_at, id) WHERE (processed_at IS NULL)
CREATE INDEX halfway_evidence_by_run ON public.halfway_evidence USING btree (run_id)
CREATE UNIQUE INDEX halfway_former_record_pkey ON public.halfway_former_record USING btree (run_id, version, step, round, item, kind)
CREATE UNIQUE INDEX halfway_input_pkey ON public.halfway_input USING btree (run_id, revision)
CREATE UNIQUE INDEX halfway_journal_pkey ON public.halfway_journal USING btree (run_id, seq)
CREATE INDEX halfway_key_by_key ON public.halfway_key USING btree (key)
CREATE INDEX halfway_key_by_run ON public.halfway_key USING btree (run_id)
CREATE UNIQUE INDEX halfway_key_pkey ON public.halfway_key USING btree (type, key, n)
CREATE INDEX halfway_lease_by_holder ON public.halfway_lease USING btree (holder)
CREATE UNIQUE INDEX halfway_lease_pkey ON public.halfway_lease USING btree (key, slot)
CREATE UNIQUE INDEX halfway_meta_pkey ON public.halfway_meta USING btree (name)
CREATE UNIQUE INDEX halfway_migration_pkey ON public.halfway_migration USING btree (number)
CREATE UNIQUE INDEX halfway_missed_pkey ON public.halfway_missed USING btree (type, name, first_at)
CREATE INDEX halfway_outbox_by_run ON public.halfway_outbox USING btree (run_id)
CREATE INDEX halfway_outbox_next ON public.halfway_outbox USING btree (next_at) WHERE ((delivered_at IS NULL) AND (next_at IS NOT NULL))
CREATE INDEX halfway_outbox_of_event ON public.halfway_outbox USING btree (event_id) WHERE ((event_id IS NOT NULL) AND (delivered_at IS NULL))
CREATE UNIQUE INDEX halfway_outbox_pkey ON public.halfway_outbox USING btree (id)
CREATE INDEX halfway_outbox_undelivered ON public.halfway_outbox USING btree (id) WHERE (delivered_at IS NULL)
CREATE UNIQUE INDEX halfway_passed_pkey ON public.halfway_passed USING btree (run_id)
CREATE INDEX halfway_past_by_age ON public.halfway_past USING btree (type, ended_at, run_id) WHERE (cleared_at IS NOT NULL)
CREATE INDEX halfway_past_by_key ON public.halfway_past USING btree (run_key) WHERE (run_key IS NOT NULL)
CREATE INDEX halfway_past_left ON public.halfway_past USING btree (run_id) WHERE (cleared_at IS NULL)
CREATE UNIQUE INDEX halfway_past_pkey ON public.halfway_past USING btree (run_id)
CREATE UNIQUE INDEX halfway_pause_pkey ON public.halfway_pause USING btree (what, name)
CREATE UNIQUE INDEX halfway_queue_pkey ON public.halfway_queue USING btree (name)
CREATE INDEX halfway_record_asks ON public.halfway_record USING btree (asks, run_id) WHERE (asks <> ''::text)
CREATE INDEX halfway_record_child ON public.halfway_record USING btree (run_id, step, round, item) WHERE ((item <> ''::text) AND (status = 'WAITING'::text))
CREATE INDEX halfway_record_dormant ON public.halfway_record USING btree (run_id, step, round, kind, "position") WHERE ((item <> ''::text) AND (status = 'PENDING'::text) AND (ready_at IS NULL))
CREATE INDEX halfway_record_doubt ON public.halfway_record USING btree (ready_at) WHERE ((status = 'UNKNOWN'::text) AND (ready_at IS NOT NULL))
CREATE INDEX halfway_record_item ON public.halfway_record USING btree (run_id, step, round, kind, "position") WHERE (item <> ''::text)
CREATE INDEX halfway_record_item_moving ON public.halfway_record USING btree (run_id, step, round, kind) WHERE ((item <> ''::text) AND ((status = 'RUNNING'::text) OR (status = 'WAITING'::text) OR ((status = 'PENDING'::text) AND (ready_at IS NOT NULL)) OR ((status = 'UNKNOWN'::text) AND (asks = ''::text))))
CREATE UNIQUE INDEX halfway_record_pkey ON public.halfway_record USING btree (run_id, step, round, item, kind)
CREATE INDEX halfway_record_ready ON public.halfway_record USING btree (route, ((ready_at - (priority * 60000000)))) WHERE ((status = 'PENDING'::text) AND (ready_at IS NOT NULL))
CREATE INDEX halfway_record_ready_beside ON public.halfway_record USING btree (route, ((ready_at - (priority * 60000000)))) WHERE ((status = 'PENDING'::text) AND (ready_at IS NOT NULL) AND (kind <> 'STEP'::text))
CREATE INDEX halfway_record_waiting ON public.halfway_record USING btree (ready_at) WHERE ((status = 'WAITING'::text) AND (ready_at IS NOT NULL))
CREATE INDEX halfway_run_by_correlation ON public.halfway_run USING btree (correlation_id) WHERE (correlation_id <> ''::text)
CREATE INDEX halfway_run_by_creation ON public.halfway_run USING btree (created_at, id)
CREATE INDEX halfway_run_by_key ON public.halfway_run USING btree (run_key) WHERE (run_key IS NOT NULL)
CREATE INDEX halfway_run_deadline ON public.halfway_run USING btree (deadline_at) WHERE ((ended_at IS NULL) AND (intent IS NULL) AND (deadline_at IS NOT NULL))
CREATE INDEX halfway_run_ended ON public.halfway_run USING btree (type, ended_at, id) WHERE (ended_at IS NOT NULL)
CREATE INDEX halfway_run_failed ON public.halfway_run USING btree (id) WHERE (status = 'FAILED'::text)
CREATE INDEX halfway_run_open ON public.halfway_run USING btree (status, id) WHERE (ended_at IS NULL)
CREATE UNIQUE INDEX halfway_run_pkey ON public.halfway_run USING btree (id)
CREATE INDEX halfway_run_timeout ON public.halfway_run USING btree (timeout_at) WHERE ((ended_at IS NULL) AND (intent IS NULL) AND (timeout_at IS NOT NULL))
CREATE UNIQUE INDEX halfway_schedule_pkey ON public.halfway_schedule USING btree (type, name)
CREATE INDEX halfway_task_next ON public.halfway_task USING btree (type, next_at)
CREATE INDEX halfway_task_of_event ON public.halfway_task USING btree (event_id) WHERE (event_id IS NOT NULL)
CREATE INDEX halfway_task_of_run ON public.halfway_task USING btree (run_id) WHERE (run_id IS NOT NULL)
CREATE UNIQUE INDEX halfway_task_pkey ON public.halfway_task USING btree (id)
CREATE INDEX halfway_tick_backfilled ON public.halfway_tick USING btree (type, name, run_id) WHERE (origin = 'BACKFILL'::text)
CREATE UNIQUE INDEX halfway_tick_pkey ON public.halfway_tick USING btree (type, name, due_at)
CREATE INDEX halfway_tick_waiting ON public.halfway_tick USING btree (type, name, next_at) WHERE (outcome = 'WAITING'::text)
CREATE INDEX halfway_trigger_by_name ON public.halfway_trigger USING btree (kind, name)
CREATE UNIQUE INDEX halfway_trigger_pkey ON public.halfway_trigger USING btree (type, kind, name)
CREATE INDEX halfway_wait_closed ON public.halfway_wait USING btree (name, wait_key, sort, closed_at) WHERE (closed_at IS NOT NULL)
CREATE INDEX halfway_wait_open ON public.halfway_wait USING btree (name, wait_key, sort, opened_at) WHERE (closed_at IS NULL)
CREATE INDEX halfway_wait_opened ON public.halfway_wait USING btree (opened_at) WHERE ((closed_at IS NULL) AND (how IS NULL))
CREATE UNIQUE INDEX halfway_wait_pkey ON public.halfway_wait USING btree (run_id, step, round, item, kind, n)
CREATE INDEX halfway_wake_by_run ON public.halfway_wake USING btree (run_id)
CREATE INDEX halfway_wake_by_time ON public.halfway_wake USING btree (at)
CREATE INDEX halfway_worker_alive ON public.halfway_worker USING btree (epoch) WHERE (state = 'ALIVE'::text)
CREATE UNIQUE INDEX halfway_worker_pkey ON public.halfway_worker USING btree (epoch)
