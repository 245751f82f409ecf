"""What an exception that leaves an effect mark proves about the outside call: that nothing happened, or nothing at all.

Exceptions are known by their qualified class names, so no client library is imported. Unclear means lost, and the whole chain
must be clear: a client that retries or follows redirects by itself may have been heard before the error that is seen (R-J7).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from types import MappingProxyType, TracebackType
from typing import NamedTuple


class Proof(StrEnum):
    """What is known after an exception left the effect mark."""

    NOTHING_RETRY = "NOTHING_RETRY"  # nothing happened, and a repeat may help
    NOTHING_FAIL = "NOTHING_FAIL"  # nothing happened, and a repeat will not help
    CONFLICT = "CONFLICT"  # the receiver has something like it already
    LOST = "LOST"  # it may have happened


class Proven(NamedTuple):
    """The proof, and the code it gives to the failure ("" if the exception's own name says it best)."""

    proof: Proof
    code: str = ""


LOST = Proven(Proof.LOST)

_HTTP_CLIENTS = ("httpx", "httpx2", "httpcore", "httpcore2")
_NOTHING_SENT_HTTP = {"ConnectError": "CONNECT_ERROR", "ConnectTimeout": "CONNECT_TIMEOUT", "PoolTimeout": "POOL_TIMEOUT"}

# Class -> the code of the failure. Each is raised before a byte of the request is sent.
NOTHING_SENT: MappingProxyType[str, str] = MappingProxyType(
    {
        **{f"{client}.{name}": code for client in _HTTP_CLIENTS for name, code in _NOTHING_SENT_HTTP.items()},
        "socket.gaierror": "DNS_ERROR",
        "builtins.ConnectionRefusedError": "CONNECTION_REFUSED",
        "ssl.SSLCertVerificationError": "TLS_ERROR",
        "psycopg_pool.PoolTimeout": "POOL_TIMEOUT",
        "psycopg_pool.TooManyRequests": "POOL_TIMEOUT",
        "psycopg.errors.ConnectionTimeout": "CONNECT_TIMEOUT",
    }
)

STATUS_ERRORS = frozenset({"httpx.HTTPStatusError", "httpx2.HTTPStatusError", "requests.exceptions.HTTPError"})

HTTP_STATUS: MappingProxyType[int, Proof] = MappingProxyType(
    {
        **dict.fromkeys((400, 401, 403, 404, 413, 415, 422), Proof.NOTHING_FAIL),
        409: Proof.CONFLICT,
        429: Proof.NOTHING_RETRY,
    }
)

# SQLSTATE or its class -> proof; the longest that fits counts. The server says that it rolled the statement back.
SQLSTATE: MappingProxyType[str, Proof] = MappingProxyType(
    {
        "22": Proof.NOTHING_FAIL,  # data exception
        "23": Proof.NOTHING_FAIL,  # constraint violation
        "23505": Proof.CONFLICT,  # unique: something like it is there
        "23P01": Proof.CONFLICT,  # exclusion
        "25": Proof.NOTHING_FAIL,  # invalid transaction state, read only
        "28": Proof.NOTHING_FAIL,  # authorisation
        "3D": Proof.NOTHING_FAIL,  # no such database
        "3F": Proof.NOTHING_FAIL,  # no such schema
        "40": Proof.NOTHING_RETRY,  # serialisation failure, deadlock
        "40003": Proof.LOST,  # statement completion unknown
        "42": Proof.NOTHING_FAIL,  # syntax, privileges
        "53": Proof.NOTHING_RETRY,  # out of memory, disk or connections
        "55P03": Proof.NOTHING_RETRY,  # lock not available
        "57014": Proof.NOTHING_RETRY,  # statement timeout
        "57P03": Proof.NOTHING_RETRY,  # cannot connect now
    }
)

# SQLite's primary result codes.
SQLITE: MappingProxyType[int, Proof] = MappingProxyType(
    {
        5: Proof.NOTHING_RETRY,  # busy
        6: Proof.NOTHING_RETRY,  # locked
        8: Proof.NOTHING_FAIL,  # read only
        13: Proof.NOTHING_RETRY,  # full
        14: Proof.NOTHING_FAIL,  # cannot open
        19: Proof.NOTHING_FAIL,  # constraint
    }
)
_SQLITE_UNIQUE = frozenset({1555, 2067, 2579})  # extended codes: primary key, unique, rowid

# An error that was caught in one of these says nothing more than the proof that they made of it.
_CATCHERS = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "anyio", "asyncio", "ssl", "socket", "psycopg"})
_LONGEST_CHAIN = 50


def prove(error: BaseException) -> Proven:
    """What the exception proves, judged by every link of its chain of causes and contexts."""
    first = _judge(error)
    if first.proof is Proof.LOST:
        return first
    for number, link in enumerate(_chain(error)):
        if number > _LONGEST_CHAIN or (_judge(link).proof is Proof.LOST and not _is_detail(link)):
            return LOST
    return first


def _judge(error: BaseException) -> Proven:
    names = _names(error)
    code = next((NOTHING_SENT[name] for name in names if name in NOTHING_SENT), None)
    if code is not None:
        return LOST if _was_redirected(error.__traceback__) else Proven(Proof.NOTHING_RETRY, code)
    if not STATUS_ERRORS.isdisjoint(names):
        return _judge_status(getattr(error, "response", None))
    if "psycopg.Error" in names:
        return _judge_postgres(error)
    if "sqlite3.Error" in names:
        return _judge_sqlite(getattr(error, "sqlite_errorcode", None))
    return LOST


def _judge_status(response: object) -> Proven:
    status: object = getattr(response, "status_code", None)
    if not isinstance(status, int):
        return LOST
    proof = HTTP_STATUS.get(status, Proof.LOST)
    if getattr(response, "history", None) or _retried_by_itself(response):
        proof = Proof.LOST
    return Proven(proof, f"HTTP_{status}")


def _retried_by_itself(response: object) -> bool:
    """Whether urllib3, under requests, sent the request more than once."""
    raw: object = getattr(response, "raw", None)
    return bool(getattr(getattr(raw, "retries", None), "history", None))


def _judge_postgres(error: BaseException) -> Proven:
    state: object = getattr(error, "sqlstate", None)
    if isinstance(state, str) and state:
        proof = SQLSTATE.get(state, SQLSTATE.get(state[:2], Proof.LOST))
        return Proven(proof, f"SQLSTATE_{state}")
    if getattr(error, "pgconn", None) is not None:  # psycopg sets it only on an attempt to connect
        return Proven(Proof.NOTHING_RETRY, "CONNECT_ERROR")
    return LOST


def _judge_sqlite(result: object) -> Proven:
    if not isinstance(result, int):
        return LOST
    if result in _SQLITE_UNIQUE:
        return Proven(Proof.CONFLICT, "SQLITE_19")
    primary = result & 0xFF
    return Proven(SQLITE.get(primary, Proof.LOST), f"SQLITE_{primary}")


def _was_redirected(trace: TracebackType | None) -> bool:
    """Whether httpx had already followed a redirect when it failed: the first request was heard."""
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "_send_handling_redirects" and frame.f_locals.get("history"):
            return True
        trace = trace.tb_next
    return False


def _names(error: BaseException) -> tuple[str, ...]:
    return tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)


def _is_detail(error: BaseException) -> bool:
    """Whether it only explains the proof above it, as the socket's error that a client turned into its own."""
    trace = error.__traceback__
    if trace is None or type(error).__module__.startswith(_HTTP_CLIENTS):
        return False  # what a client says itself is judged by the table
    catcher = str(trace.tb_frame.f_globals.get("__name__", ""))
    return catcher.partition(".")[0] in _CATCHERS


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Every exception behind this one."""
    seen = {id(error)}
    waiting = [error]
    while waiting:
        current = waiting.pop()
        for link in (current.__cause__, current.__context__):
            if link is not None and id(link) not in seen:
                seen.add(id(link))
                waiting.append(link)
                yield link
