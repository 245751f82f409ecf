"""Reads a database of halfway as a text: its definitions, and what became of the runs that matter most. It is never written to.

Of a file nothing is locked, and no file is made beside it. No input, output or message of an error is read: they may hold anything.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
LARGEST_VALUE = 2**20  # bytes
LARGEST = 2**23  # of all values together
ANOTHER = "It is no database of this version of halfway, or cannot be read in time."
UNFINISHED = "Its last transaction is not complete in it: let halfway open it first."

DEFINITIONS = "select type, hash, spec from halfway_definition order by type, version desc, registered_at desc limit 200"
IN_DOUBT = """
select r.id, r.type, r.version, r.hash, r.status from halfway_run r
where exists (select 1 from halfway_record c where c.run_id = r.id and (c.status = 'UNKNOWN' or c.effect = 'unknown'))
order by r.created_at desc, r.id limit :limit
"""
NEWEST = "select id, type, version, hash, status from halfway_run order by created_at desc, id limit :limit"
RECORDS = """
select step, round, item, kind, status, effect, code, attempts from halfway_record
where run_id = :run and kind in ('STEP', 'COMPENSATION') order by step, round, item limit :limit
"""
ATTEMPTS = """
select step, round, item, kind, n, ended, code, settled, case when mark_at is null then 0 else 1 end as marked from halfway_attempt
where run_id = :run and kind in ('STEP', 'COMPENSATION') order by step, round, item, n limit :limit
"""
EVIDENCE = (
    "select step, round, item, kind, n, substr(data, 1, 500) as data from halfway_evidence where run_id = :run order by at limit :limit"
)

TOGETHER = 10  # runs that are asked for at once

Row = dict[str, Any]
Asked = Callable[[Sequence[tuple[str, dict[str, object]]]], list[list[Row]]]
"""Answers statements in their order; the same ones for each kind of database."""


def is_dump(source: Source) -> bool:
    """Whether a text is what such a database was read as."""
    return source.text.startswith(HEAD)


def dump(path: Path) -> str:
    """The text of a file, a definition or a run in each line; raises Unreadable."""
    ends = time.monotonic() + LONGEST
    try:
        with closing(_opened(path.resolve())) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
            database.set_progress_handler(lambda: int(time.monotonic() > ends), 10_000)
            return text_of(_asked(database))
    except (sqlite3.Error, OverflowError, MemoryError) as error:
        raise Unreadable(ANOTHER) from error


def _asked(database: sqlite3.Connection) -> Asked:
    """Asks it for as much as is read, and no more: a view may make any number of rows, and of any size."""
    left = LARGEST

    def rows(statement: str, given: Mapping[str, object]) -> Iterator[Row]:
        nonlocal left
        for row in database.execute(statement, given):
            left -= sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)
            if left < 0:
                raise Unreadable(ANOTHER)
            yield dict(row)

    return lambda statements: [list(rows(*one)) for one in statements]


def text_of(ask: Asked) -> str:
    """What a database answers, as a text."""
    ends = time.monotonic() + LONGEST
    limit: dict[str, object] = {"limit": MOST_RUNS}
    definitions, doubtful, newest = ask([(DEFINITIONS, {}), (IN_DOUBT, limit), (NEWEST, limit)])
    chosen = list({row["id"]: row for row in (*doubtful, *newest)}.values())  # the runs in doubt first, then the newest
    runs: list[Row] = []
    while len(runs) < len(chosen):
        if time.monotonic() > ends:
            raise Unreadable(ANOTHER)
        runs += _runs(ask, chosen[len(runs) : len(runs) + TOGETHER])
    # Databases differ in which of two names comes first.
    told = _lines([json.dumps(row, default=str) for row in sorted(definitions, key=lambda row: row["type"])])
    return f'{HEAD} {{"definitions": [\n{told}\n], "runs": [\n{_lines([json.dumps(row, default=str) for row in runs])}\n]}}}}\n'


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


def _runs(ask: Asked, rows: Sequence[Row]) -> Iterator[Row]:
    kept = {"records": RECORDS, "attempts": ATTEMPTS, "evidence": EVIDENCE}
    found = iter(ask([(statement, {"run": row["id"], "limit": MOST_ROWS}) for row in rows for statement in kept.values()]))
    for row in rows:
        yield row | {name: next(found) for name in kept}


def _lines(lines: Sequence[str]) -> str:
    return ",\n".join(lines)
