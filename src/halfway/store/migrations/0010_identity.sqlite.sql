-- Which database this is: a folder of artifacts knows by it who uses it.
insert into halfway_meta (name, value) values ('identity', lower(hex(randomblob(16))));
