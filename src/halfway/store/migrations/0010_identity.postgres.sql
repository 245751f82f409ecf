-- Which database this is: a folder of artifacts knows by it who uses it.
insert into halfway_meta (name, value) values ('identity', md5(random()::text || clock_timestamp()::text || pg_backend_pid()));
