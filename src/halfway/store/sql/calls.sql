-- name: keep_call
-- A tool is called, or something is spent, by an attempt that still runs.
insert into halfway_call (run_id, step, round, item, kind, n, seq, tool, effect, args, tokens, began_at)
select run_id, step, round, item, kind, n, cast(:seq as bigint), cast(:tool as text), cast(:effect as text), cast(:args as text),
    cast(:tokens as bigint), cast(:now as bigint)
from halfway_attempt
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n and ended is null;

-- name: keep_answer
-- A tool has answered; also if its attempt was ended meanwhile, for it did happen.
update halfway_call set ended_at = :now, answer = :answer, error = :error
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n = :n and seq = :seq
    and ended_at is null;

-- name: former_calls
-- What earlier attempts of a record have called, in order.
select n, seq, tool, effect, args, tokens, began_at, ended_at, answer, error
from halfway_call
where run_id = :run_id and step = :step and round = :round and item = :item and kind = :kind and n < :before and tool <> ''
order by n, seq;

-- name: spent
-- What a run has spent, and what one of its steps has.
select coalesce(sum(tokens), 0), coalesce(sum(case when tool <> '' then 1 else 0 end), 0),
    coalesce(sum(case when step = :step then tokens else 0 end), 0),
    coalesce(sum(case when step = :step and tool <> '' then 1 else 0 end), 0)
from halfway_call where run_id = :run_id;

-- name: read_calls
-- The work log of a run.
select step, round, item, kind, n, seq, tool, effect, args, tokens, began_at, ended_at, answer, error
from halfway_call where run_id = :run_id
order by began_at, step, round, item, kind, n, seq
limit :limit;
