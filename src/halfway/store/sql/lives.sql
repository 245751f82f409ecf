-- name: epoch_state
-- Whether an epoch is alive; on PostgreSQL it stays so until the end of this transaction.
select state from halfway_worker where epoch = :epoch /* pg: for share */;

-- name: begin_epoch
-- A worker process begins its one life.
insert into halfway_worker (epoch, state, host, pid, identity, kill_after, started_at, queues)
values (:epoch, 'ALIVE', :host, :pid, :identity, :kill_after, :now, :queues);

-- name: begin_beats
-- No beat has been counted yet.
insert into halfway_beat (epoch, counter, at) values (:epoch, 0, :now);

-- name: beat
-- Counts a beat, if the epoch is alive.
update halfway_beat set counter = counter + 1, at = :now
where epoch = :epoch and exists (select 1 from halfway_worker where epoch = :epoch and state = 'ALIVE' /* pg: for share */);

-- name: epochs
-- All that are alive, and the dead ones whose attempts run or are not yet known to be gone.
select worker.epoch, worker.state, beat.counter, beat.at, worker.host, worker.pid, worker.identity, worker.kill_after
from halfway_worker as worker join halfway_beat as beat on beat.epoch = worker.epoch
where worker.state = 'ALIVE'
    or worker.epoch in (select epoch from halfway_attempt where ended_at is null)
    or worker.epoch in (select epoch from halfway_attempt where ended = 'LOST' and settled is null and gone_at is null)
order by worker.epoch;

-- name: declare_dead
-- ALIVE becomes DEAD, unless it has beaten since it was read.
update halfway_worker set state = 'DEAD', ended_at = :now
where epoch = :epoch and state = 'ALIVE'
    and exists (select 1 from halfway_beat where epoch = :epoch and counter = :counter);

-- name: end_epoch
-- The worker has stopped in good order.
update halfway_worker set state = 'ENDED', ended_at = :now where epoch = :epoch and state = 'ALIVE';
