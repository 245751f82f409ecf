-- name: is_message_due
-- Whether any message is to be handed over; it locks nothing, so that a transaction which only reads may ask.
select 1 from halfway_outbox where delivered_at is null and next_at is not null and next_at <= :now limit 1;

-- name: due_messages
-- Messages that are to be handed over, the oldest first; those that somebody else is taking are left out.
select message.id, message.at, message.what, message.run_id, message.step, message.role, message.code, message.tries + 1,
    event.id, event.source, event.provider_id, event.name, event.key, event.payload
from halfway_outbox as message left join halfway_event as event on event.id = message.event_id
where message.delivered_at is null and message.next_at is not null and message.next_at <= :now
order by message.next_at, message.id
limit :limit /* pg: for update of message skip locked */;

-- name: lease_messages
-- Nobody else is given these messages for a while.
update halfway_outbox set tries = tries + 1, next_at = :next_at where id in :ids[];

-- name: message_delivered
-- A message was handed over.
update halfway_outbox set delivered_at = :now, next_at = null, error = null where id = :id and delivered_at is null;

-- name: message_failed
-- A message could not be handed over.
update halfway_outbox set next_at = :next_at, error = :error where id = :id and delivered_at is null;

-- name: due_tasks
-- Runs that are to be started by what has happened, the oldest first.
select task.id, task.type, task.kind, task.name, task.key, event.payload, task.run_id, task.tries
from halfway_task as task left join halfway_event as event on event.id = task.event_id
where task.type in :types[] and task.next_at <= :now
order by task.next_at, task.id
limit :limit;

-- name: ended_run
-- A run that has ended.
select id, type, version, run_key, status, input from halfway_run where id = :run_id;

-- name: task_failed
-- A run could not be started; it is tried again.
update halfway_task set next_at = :next_at, tries = tries + 1, error = :error where id = :id;

-- name: create_batch
-- An order for many runs; nothing of it is carried out yet.
insert into halfway_batch (id, at, actor, action, reason, filter, arguments, rate, stop_after, state)
values (:id, :now, :actor, :action, :reason, :filter, :arguments, :rate, :stop_after, 'READY');

-- name: create_batch_item
-- A run that an order for many is for.
insert into halfway_batch_item (batch_id, n, run_id, step, state) values (:batch_id, :n, :run_id, :step, 'WAITING');

-- name: batches
-- Orders for many runs, the newest first: one, those in a state, or all.
select id, actor, action, reason, filter, arguments, rate, stop_after, at, state, ended_at
from halfway_batch
where (cast(:id as text) is null or id = :id) and (cast(:state as text) is null or state = :state)
order by id desc
limit :limit;

-- name: batch_counts
-- How many items of orders are in which state.
select batch_id, state, count(*) from halfway_batch_item where batch_id in :ids[] group by batch_id, state;

-- name: batch_items
-- The items of an order.
select n, run_id, step, state, detail, at from halfway_batch_item
where batch_id = :id and n > :after and (cast(:state as text) is null or state = :state)
order by n
limit :limit;

-- name: next_batch_items
-- The first items that wait, of an order that is being carried out.
select n, run_id, step, state, detail, at from halfway_batch_item
where batch_id = :id and state = 'WAITING' and exists (select 1 from halfway_batch where id = :id and state = 'RUNNING')
order by n
limit :limit;

-- name: set_batch_state
-- An order goes on, rests or ends; no row if it was not in the state from which it was to go.
update halfway_batch set state = :state, ended_at = :ended_at where id = :id and state = :former;

-- name: finish_batch_item
-- The outcome of one item; no row if it has one.
update halfway_batch_item set state = :state, detail = :detail, at = :now where batch_id = :id and n = :n and state = 'WAITING';

-- name: end_batch
-- An order without an item that waits is done.
update halfway_batch set state = 'DONE', ended_at = :now
where id = :id and (state = 'RUNNING' or state = 'PAUSED')
    and not exists (select 1 from halfway_batch_item where batch_id = :id and state = 'WAITING');
