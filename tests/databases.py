"""Databases for the tests, migrated once: SQLite is copied, and one PostgreSQL database serves a test after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from halfway.store import migrate

SERVES = 40
"""How many tests one database serves before a new one takes its place: its tables are deleted from, never rewritten."""

MIGRATIONS = "select * from halfway_migration order by number"
TABLES = "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'halfway_migration'"
OURS = {"halfway_meta": " where name <> 'identity'"}  # rows of a test, where a migration has made others
CATALOG = """
select (
  select count(case when datname = current_database() and pid <> pg_backend_pid() then pg_terminate_backend(pid, 5000) end)
  from pg_stat_activity), (
  select md5(string_agg(concat_ws(' ', c.oid, c.relname, c.relkind, c.relchecks, c.relhastriggers, c.reloptions, c.relacl,
    (select string_agg(concat_ws(' ', a.attname, a.atttypid, a.attnotnull, a.atthasdef, a.attisdropped), ',' order by a.attnum)
    from pg_attribute as a where a.attrelid = c.oid and a.attnum > 0)), ';' order by c.oid))
  from pg_class as c where c.relnamespace::regnamespace::text not in ('pg_catalog', 'pg_toast', 'information_schema')), (
  select count(*) from pg_proc as p where p.pronamespace = 'public'::regnamespace), (
  select count(*) from pg_trigger), (
  select string_agg(nspname, ',' order by oid) from pg_namespace where nspname not like 'pg_temp%' and nspname not like 'pg_toast_temp%'), (
  select string_agg(concat_ws(' ', s.setrole, s.setconfig), ',') from pg_db_role_setting as s join pg_database as d on d.oid = s.setdatabase
  where d.datname = current_database()), (
  select count(*) from pg_prepared_xacts where database = current_database())
"""
"""Ends what a test has left connected, and tells all of the schema that a test can change."""


def named(server: str, database: str) -> str:
    """The URL of another database of a server."""
    return urlunsplit(urlsplit(server)._replace(path=f"/{database}"))


def name_of(url: str) -> str:
    """The database that a URL of a server names."""
    return urlsplit(url).path.removeprefix("/")


def command(server: str, text: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(text.encode())


class Postgres:
    """The databases of one server: taken under a name that was never used before, so that nothing left over of an earlier test finds it."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.template = f"halfway_template_{uuid4().hex[:12]}"
        self._spare: tuple[str, int] | None = None
        command(server, f"create database {self.template}")
        migrate(named(server, self.template))
        with psycopg.connect(named(server, self.template), autocommit=True) as connection:
            self._seed = connection.execute(MIGRATIONS).fetchall()
            tables = [str(name) for (name,) in connection.execute(TABLES).fetchall()]
        looks = [f"select '{table}' where exists (select 1 from {table}{OURS.get(table, '')})" for table in tables]
        self._filled = " union all ".join(looks).encode()

    @contextmanager
    def database(self) -> Iterator[str]:
        """An empty, migrated database of one test; another test gets it when nothing but rows was changed in it."""
        name, served = f"halfway_test_{uuid4().hex[:12]}", 0
        if self._spare is None:
            command(self.server, f"create database {name} template {self.template}")
        else:
            (spare, served), self._spare = self._spare, None
            command(self.server, f"alter database {spare} rename to {name}")
        before = self._catalog(name)
        yield named(self.server, name)
        if served < SERVES and self._emptied(name, before):
            self._spare = name, served + 1
        else:
            command(self.server, f"drop database {name} with (force)")

    def close(self) -> None:
        for name in [self.template, *([self._spare[0]] if self._spare else [])]:
            command(self.server, f"drop database {name} with (force)")

    def _catalog(self, name: str) -> tuple[object, ...] | None:
        with psycopg.connect(named(self.server, name), autocommit=True) as connection:
            return connection.execute(CATALOG).fetchone()

    def _emptied(self, name: str, before: tuple[object, ...] | None) -> bool:
        """Removes the rows of a test, or says that this is not enough."""
        try:
            with psycopg.connect(named(self.server, name), autocommit=True) as connection:
                connection.execute("set session_replication_role = replica")  # rows go in any order
                found = connection.execute(CATALOG).fetchone()
                if found is None or before is None or found[1:] != before[1:] or connection.execute(MIGRATIONS).fetchall() != self._seed:
                    return False
                for (table,) in connection.execute(self._filled).fetchall():
                    where = sql.SQL(OURS.get(table, ""))
                    connection.execute(sql.SQL("delete from {}{}").format(sql.Identifier(table), where))
        except psycopg.Error:  # a test may have renamed, locked or dropped its database
            return False
        return True
