"""Rows that are all deleted before they are made anew: who begins again from the beginning makes them once."""

from __future__ import annotations

import ast
import re

from halfway.inspection.formats.python.frames import Frame, text
from halfway.inspection.formats.python.sql import table

_MADE = re.compile(r"^(?:create|bulk_create|abulk_create|acreate|add|add_all|bulk_save_objects|bulk_insert_mappings|insert|insert_many)$")
_EXECUTES = ("execute", "executemany", "execute_async", "run", "raw")
_DELETES = re.compile(r"(?i)^\s*(?:delete\s+from|truncate)\b")
_INSERTS = re.compile(r"(?i)^\s*insert\b")


def emptied(call: ast.Call, name: str, frame: Frame) -> str:
    """The table or model of which a call deletes rows; empty for any other call."""
    last = name.rpartition(".")[2]
    if last in _EXECUTES and call.args:
        sql = text(call.args[0], frame)
        return table(re.sub(r"(?i)truncate\s+(?!table)", "truncate table ", sql)) if _DELETES.match(sql) else _of_statement(call, "delete")
    return _model(call.func) if last in ("delete", "adelete", "delete_many") else ""


def filled(call: ast.Call, name: str, frame: Frame) -> str:
    """The table or model of which a call makes rows; empty for any other call."""
    last = name.rpartition(".")[2]
    if last in _EXECUTES and call.args:
        sql = text(call.args[0], frame)
        return table(sql) if _INSERTS.match(sql) else _of_statement(call, "insert")
    if not _MADE.match(last):
        return ""
    made = call.args[0] if call.args else None
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id[:1].isupper():
        return made.func.id  # session.add(Row(…))
    if isinstance(made, ast.Name) and last == "bulk_insert_mappings":
        return made.id
    if isinstance(made, ast.Name) and (bound := frame.bound(made.id, call.lineno)) is not None and isinstance(bound[0].value, ast.Call):
        func = bound[0].value.func
        return func.id if isinstance(func, ast.Name) and func.id[:1].isupper() else _model(call.func)
    return _model(call.func)


def _of_statement(call: ast.Call, verb: str) -> str:
    """`session.execute(delete(Row).where(…))`."""
    for one in ast.walk(call.args[0]):
        if (
            isinstance(one, ast.Call)
            and ast.unparse(one.func).rpartition(".")[2] == verb
            and one.args
            and isinstance(one.args[0], ast.Name)
        ):
            return one.args[0].id
    return ""


def _model(func: ast.expr) -> str:
    """The model of a chain of calls: `Row.objects.filter(…)`, `session.query(Row).filter(…)`, `db["rows"]`, `db.rows`."""
    node: ast.expr = func
    while True:
        match node:
            case ast.Call(func=ast.Attribute(attr="query"), args=[ast.Name(id=id), *_]):
                return id
            case ast.Call(func=inner):
                node = inner
            case ast.Attribute(value=ast.Name(id=id), attr="objects" | "query"):
                return id
            case ast.Attribute(value=inner):
                node = inner
            case _:
                return ""
