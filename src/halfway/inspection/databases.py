"""Reads a SQLite database of halfway as a text: its definitions, and what became of the runs that matter most. It is never written to.

Nothing is locked, no file is made beside it, and no input, output or message of an error is read: they may hold anything.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from halfway.inspection.source import Source, Unreadable

MAGIC = b"SQLite format 3\0"
HEAD = '{"halfway":'
MOST_RUNS = 50  # of those in doubt, and of the newest
MOST_ROWS = 2_000  # of one run
LONGEST = 10.0  # seconds
ANOTHER = "It is no database of this version of halfway, or cannot be read in time."
UNFINISHED = "Its last transaction is not complete in it: let halfway open it first."

DEFINITIONS = "select hash, spec from halfway_definition order by type, version desc, registered_at desc limit 200"
IN_DOUBT = """
select r.id, r.type, r.version, r.hash, r.status from halfway_run r
where exists (select 1 from halfway_record c where c.run_id = r.id and (c.status = 'UNKNOWN' or c.effect = 'unknown'))
order by r.created_at desc limit :limit
"""
NEWEST = "select id, type, version, hash, status from halfway_run order by created_at desc limit :limit"
RECORDS = """
select step, round, item, kind, status, effect, code, attempts from halfway_record
where run_id = :run and kind in ('STEP', 'COMPENSATION') order by step, round, item limit :limit
"""
ATTEMPTS = """
select step, round, item, kind, n, ended, code, settled, mark_at is not null as marked from halfway_attempt
where run_id = :run and kind in ('STEP', 'COMPENSATION') order by step, round, item, n limit :limit
"""
EVIDENCE = (
    "select step, round, item, kind, n, substr(data, 1, 500) as data from halfway_evidence where run_id = :run order by at limit :limit"
)

Row = dict[str, Any]


def is_dump(source: Source) -> bool:
    """Whether a text is what such a database was read as."""
    return source.text.startswith(HEAD)


def dump(path: Path) -> str:
    """The text, a definition or a run in each line; raises Unreadable."""
    ends = time.monotonic() + LONGEST
    try:
        with closing(_opened(path.resolve())) as database:
            database.set_progress_handler(lambda: int(time.monotonic() > ends), 10_000)
            definitions = [_line(row) for row in _rows(database, DEFINITIONS)]
            runs = [_line(_run(database, row)) for row in _chosen(database)]
    except sqlite3.Error as error:
        raise Unreadable(ANOTHER) from error
    return f'{HEAD} {{"definitions": [\n{_lines(definitions)}\n], "runs": [\n{_lines(runs)}\n]}}}}\n'


def _opened(path: Path) -> sqlite3.Connection:
    """Without a lock where nobody has it open, else as one of its readers, who hold nobody up."""
    beside = {ending: path.with_name(path.name + ending).exists() for ending in ("-wal", "-shm", "-journal")}
    if beside["-journal"] or (beside["-wal"] and not beside["-shm"]):
        # To read it now would mean to mend it.
        raise Unreadable(UNFINISHED)
    options = "mode=ro" if beside["-wal"] else "mode=ro&immutable=1"
    database = sqlite3.connect(f"file:{quote(str(path))}?{options}", uri=True, timeout=0, isolation_level=None)
    database.row_factory = sqlite3.Row
    database.execute("begin")
    return database


def _rows(database: sqlite3.Connection, statement: str, **given: object) -> Iterator[Row]:
    yield from (dict(row) for row in database.execute(statement, given))


def _chosen(database: sqlite3.Connection) -> Sequence[Row]:
    """The runs in doubt first, then the newest."""
    found: dict[str, Row] = {}
    for statement in (IN_DOUBT, NEWEST):
        for row in _rows(database, statement, limit=MOST_RUNS):
            found.setdefault(row["id"], row)
    return list(found.values())


def _run(database: sqlite3.Connection, row: Row) -> Row:
    given = {"run": row["id"], "limit": MOST_ROWS}
    kept = {"records": RECORDS, "attempts": ATTEMPTS, "evidence": EVIDENCE}
    return row | {name: list(_rows(database, statement, **given)) for name, statement in kept.items()}


def _line(row: Row) -> str:
    return json.dumps(row, default=str)


def _lines(lines: Sequence[str]) -> str:
    return ",\n".join(lines)
