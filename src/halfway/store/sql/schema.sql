-- name: create_migration
-- Which migrations a database has had.
create table if not exists halfway_migration (
    number bigint not null primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
);

-- name: applied
-- The migrations that were applied, in order.
select number, name, checksum, applied_at from halfway_migration order by number;

-- name: add_migration
-- A migration was applied.
insert into halfway_migration (number, name, checksum, applied_at) values (:number, :name, :checksum, :at);

-- name: advance_clock
-- Moves the clock forward; only tests do.
insert into halfway_meta (name, value) values ('clock_offset', cast(cast(:microseconds as bigint) as text))
on conflict (name) do update set value = cast(cast(halfway_meta.value as bigint) + cast(:microseconds as bigint) as text);
