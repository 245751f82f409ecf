"""What exceptions prove, asked of real ones: real clients, real sockets, real databases."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx2
import psycopg
import pytest
from psycopg import errors as pg

from halfway.domain.proof import HTTP_STATUS, Proof, Proven, prove

Act = Callable[[], object]
LOST = Proven(Proof.LOST)


def raised(act: Act) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@contextmanager
def served(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server on a real port that reads one request per connection and answers it."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                client.recv(65536)
                answer(client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopped.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses: bound, but not listening."""
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def saying(status: int, *headers: str, body: bytes = b"") -> Callable[[socket.socket], None]:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return lambda client: client.sendall("\r\n".join(lines).encode() + body)


def post(port: int, *, scheme: str = "http", timeout: float = 5, follow: bool = False) -> None:
    with httpx2.Client(timeout=timeout, follow_redirects=follow, trust_env=False) as client:
        client.post(f"{scheme}://127.0.0.1:{port}/", content=b"once").raise_for_status()


async def apost(url: str, timeout: float = 5) -> None:
    async with httpx2.AsyncClient(timeout=timeout, trust_env=False) as client:
        await client.post(url)


# ── nothing was sent ──


def test_a_refused_connection_proves_that_nothing_happened() -> None:
    with closed_port() as port:
        assert prove(raised(lambda: post(port))) == Proven(Proof.NOTHING_RETRY, "CONNECT_ERROR")
        assert prove(raised(lambda: asyncio.run(apost(f"http://127.0.0.1:{port}/")))) == Proven(Proof.NOTHING_RETRY, "CONNECT_ERROR")
        assert prove(raised(lambda: asyncio.run(apost(f"http://localhost:{port}/")))).proof is Proof.NOTHING_RETRY
        assert prove(raised(lambda: socket.create_connection(("127.0.0.1", port)))) == Proven(Proof.NOTHING_RETRY, "CONNECTION_REFUSED")


def test_an_unknown_host_proves_that_nothing_happened() -> None:
    assert prove(raised(lambda: httpx2.post("http://host.invalid/", trust_env=False))).proof is Proof.NOTHING_RETRY
    assert prove(raised(lambda: asyncio.run(apost("http://host.invalid/")))).proof is Proof.NOTHING_RETRY
    assert prove(raised(lambda: socket.getaddrinfo("host.invalid", 80))) == Proven(Proof.NOTHING_RETRY, "DNS_ERROR")


def test_a_connect_timeout_proves_that_nothing_happened() -> None:
    with closing(socket.socket()) as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]  # the queue is full: further connections get no answer
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(address)
            assert prove(raised(lambda: post(address[1], timeout=0.2))) == Proven(Proof.NOTHING_RETRY, "CONNECT_TIMEOUT")
            url = f"http://127.0.0.1:{address[1]}/"
            assert prove(raised(lambda: asyncio.run(apost(url, timeout=0.2)))) == Proven(Proof.NOTHING_RETRY, "CONNECT_TIMEOUT")
        finally:
            for one in waiting:
                one.close()


def test_a_failed_tls_handshake_proves_that_nothing_happened() -> None:
    with served(lambda client: client.sendall(b"this is no TLS\r\n\r\n")) as port:
        assert prove(raised(lambda: post(port, scheme="https"))) == Proven(Proof.NOTHING_RETRY, "CONNECT_ERROR")
        assert prove(raised(lambda: asyncio.run(apost(f"https://127.0.0.1:{port}/")))) == Proven(Proof.NOTHING_RETRY, "CONNECT_ERROR")
    certificate = ssl.SSLCertVerificationError(1, "certificate verify failed")
    assert prove(certificate) == Proven(Proof.NOTHING_RETRY, "TLS_ERROR")


def test_waiting_in_vain_for_a_connection_of_the_pool_proves_that_nothing_happened() -> None:
    with served(lambda client: client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")) as port:
        limits, timeout = httpx2.Limits(max_connections=1), httpx2.Timeout(5, pool=0.1)
        url = f"http://127.0.0.1:{port}/"
        with httpx2.Client(limits=limits, timeout=timeout, trust_env=False) as client, client.stream("POST", url):
            error = raised(lambda: client.post(f"http://127.0.0.1:{port}/"))
    assert prove(error) == Proven(Proof.NOTHING_RETRY, "POOL_TIMEOUT")


# ── the answer is missing ──


def test_a_read_timeout_is_lost() -> None:
    with served(lambda client: client.recv(1)) as port:
        assert prove(raised(lambda: post(port, timeout=0.2))) == LOST
        assert prove(raised(lambda: asyncio.run(apost(f"http://127.0.0.1:{port}/", timeout=0.2)))) == LOST


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    "answer",
    [reset, lambda client: None, lambda client: client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")],
    ids=["reset", "closed without a word", "half a response"],
)
def test_a_connection_that_breaks_after_the_request_is_lost(answer: Callable[[socket.socket], None]) -> None:
    with served(answer) as port:
        assert prove(raised(lambda: post(port))) == LOST


@pytest.mark.parametrize(
    "error", [TimeoutError(), ConnectionResetError(), BrokenPipeError(), OSError(113, "no route"), ssl.SSLError(1, "x")]
)
def test_an_error_of_a_connection_that_may_have_stood_is_lost(error: OSError) -> None:
    assert prove(error) == LOST


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), KeyboardInterrupt(), ExceptionGroup("x", [ConnectionRefusedError()])])
def test_what_is_not_known_is_lost(error: BaseException) -> None:
    assert prove(error) == LOST


# ── what the receiver said ──


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 415, 418, 422, 429, 500, 502, 503, 504])
def test_a_status_proves_what_the_table_says(status: int) -> None:
    with served(saying(status)) as port:
        assert prove(raised(lambda: post(port))) == Proven(HTTP_STATUS.get(status, Proof.LOST), f"HTTP_{status}")


def test_the_table_of_statuses() -> None:
    assert {status for status, proof in HTTP_STATUS.items() if proof is Proof.NOTHING_FAIL} == {400, 401, 403, 404, 413, 415, 422}
    assert HTTP_STATUS[429] is Proof.NOTHING_RETRY
    assert HTTP_STATUS[409] is Proof.CONFLICT
    assert not any(status >= 500 for status in HTTP_STATUS)


# ── clients that go on by themselves prove nothing ──


def test_an_error_after_a_redirect_is_lost_because_the_first_request_was_heard() -> None:
    with closed_port() as nobody, served(saying(307, f"Location: http://127.0.0.1:{nobody}/")) as port:
        error = raised(lambda: post(port, follow=True))
        assert isinstance(error, httpx2.ConnectError)
        assert prove(error) == LOST


def test_a_status_after_a_redirect_is_lost() -> None:
    with served(saying(404)) as second, served(saying(303, f"Location: http://127.0.0.1:{second}/")) as first:
        error = raised(lambda: post(first, follow=True))
        assert isinstance(error, httpx2.HTTPStatusError)
        assert prove(error) == Proven(Proof.LOST, "HTTP_404")


def test_a_refusal_after_a_lost_answer_is_lost_whoever_repeated_it() -> None:
    def repeat() -> None:
        with served(lambda client: client.recv(1)) as silent, closed_port() as port:
            try:
                post(silent, timeout=0.2)
            except httpx2.ReadTimeout:
                post(port)

    assert prove(raised(repeat)) == LOST


def test_a_refusal_after_a_lost_answer_of_a_plain_socket_is_lost() -> None:
    def repeat() -> None:
        with served(lambda client: client.recv(1)) as silent, closed_port() as port:
            try:
                with socket.create_connection(("127.0.0.1", silent)) as plain:
                    plain.settimeout(0.2)
                    plain.sendall(b"once")
                    plain.recv(1)
            except TimeoutError:
                post(port)

    assert prove(raised(repeat)) == LOST


def test_a_refusal_after_a_refusal_still_proves_that_nothing_happened() -> None:
    def repeat() -> None:
        with closed_port() as port:
            try:
                post(port)
            except httpx2.ConnectError:
                post(port)

    assert prove(raised(repeat)).proof is Proof.NOTHING_RETRY


def test_an_unknown_wrapper_around_a_proof_is_lost_because_its_client_may_have_repeated() -> None:
    class SdkError(Exception):
        pass

    def call() -> None:
        with closed_port() as port:
            try:
                post(port)
            except httpx2.ConnectError as error:
                raise SdkError from error

    assert prove(raised(call)) == LOST


def test_a_subclass_of_a_known_error_proves_the_same() -> None:
    class CrmRefused(httpx2.ConnectError):
        pass

    assert prove(CrmRefused("down")).proof is Proof.NOTHING_RETRY


def lookalike(module: str, name: str) -> type[Exception]:
    return type(name, (Exception,), {"__module__": module})


@pytest.mark.parametrize(
    ("history", "retried", "proof"),
    [([], (), Proof.NOTHING_FAIL), ([1], (), Proof.LOST), ([], (1,), Proof.LOST)],
    ids=["one request", "redirected", "repeated by urllib3"],
)
def test_a_status_of_requests_counts_if_it_sent_one_request(history: list[int], retried: tuple[int, ...], proof: Proof) -> None:
    error = lookalike("requests.exceptions", "HTTPError")("404")
    raw = SimpleNamespace(retries=SimpleNamespace(history=retried))
    error.response = SimpleNamespace(status_code=404, history=history, raw=raw)  # type: ignore[attr-defined]
    assert prove(error) == Proven(proof, "HTTP_404")


def test_a_connection_error_of_urllib3_proves_nothing() -> None:
    outer = lookalike("requests.exceptions", "ConnectionError")("refused")
    outer.__cause__ = lookalike("urllib3.exceptions", "MaxRetryError")("refused")
    outer.__cause__.__cause__ = ConnectionRefusedError()
    assert prove(outer) == LOST


def test_a_chain_that_bites_its_tail_or_never_ends_is_judged() -> None:
    first, second = ConnectionRefusedError("a"), ConnectionRefusedError("b")
    first.__cause__, second.__cause__ = second, first
    assert prove(first).proof is Proof.NOTHING_RETRY
    last = start = ConnectionRefusedError()
    for _ in range(1_000):
        last.__cause__ = last = ConnectionRefusedError()
    assert prove(start) == LOST


# ── databases ──


@pytest.mark.parametrize(
    ("state", "proof"),
    [
        ("40001", Proof.NOTHING_RETRY),
        ("40P01", Proof.NOTHING_RETRY),
        ("40003", Proof.LOST),
        ("55P03", Proof.NOTHING_RETRY),
        ("57014", Proof.NOTHING_RETRY),
        ("53300", Proof.NOTHING_RETRY),
        ("57P01", Proof.LOST),
        ("57P03", Proof.NOTHING_RETRY),
        ("22P02", Proof.NOTHING_FAIL),
        ("23503", Proof.NOTHING_FAIL),
        ("23505", Proof.CONFLICT),
        ("42P01", Proof.NOTHING_FAIL),
        ("08000", Proof.LOST),
        ("08003", Proof.LOST),
        ("08006", Proof.LOST),
        ("XX000", Proof.LOST),
    ],
)
def test_postgresql_says_by_sqlstate_what_it_rolled_back(state: str, proof: Proof) -> None:
    assert prove(pg.lookup(state)("said by the server")) == Proven(proof, f"SQLSTATE_{state}")


def test_a_refused_connection_to_postgresql_proves_that_nothing_happened() -> None:
    with closed_port() as port:
        error = raised(lambda: psycopg.connect(host="127.0.0.1", port=port, dbname="x", user="x", connect_timeout=2))
    assert prove(error) == Proven(Proof.NOTHING_RETRY, "CONNECT_ERROR")


def test_a_connection_to_postgresql_that_breaks_is_lost() -> None:
    assert prove(psycopg.OperationalError("server closed the connection unexpectedly")) == LOST


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "own.db", isolation_level=None, timeout=0)) as connection:
        connection.execute("create table item (id integer primary key, name text not null unique, text text)")
        yield connection


def test_a_locked_sqlite_proves_that_nothing_happened(database: sqlite3.Connection, tmp_path: Path) -> None:
    database.execute("begin immediate")
    with closing(sqlite3.connect(tmp_path / "own.db", timeout=0)) as other:
        error = raised(lambda: other.execute("insert into item (name) values ('a')"))
    assert prove(error) == Proven(Proof.NOTHING_RETRY, "SQLITE_5")


def test_a_full_sqlite_proves_that_nothing_happened(database: sqlite3.Connection) -> None:
    database.execute("pragma max_page_count = 4")
    error = raised(lambda: database.execute("insert into item (name, text) values ('a', ?)", ("x" * 100_000,)))
    assert prove(error) == Proven(Proof.NOTHING_RETRY, "SQLITE_13")


def test_a_violated_constraint_of_sqlite_proves_that_nothing_happened(database: sqlite3.Connection) -> None:
    database.execute("insert into item (name) values ('a')")
    assert prove(raised(lambda: database.execute("insert into item (name) values ('a')"))) == Proven(Proof.CONFLICT, "SQLITE_19")
    assert prove(raised(lambda: database.execute("insert into item (name) values (null)"))) == Proven(Proof.NOTHING_FAIL, "SQLITE_19")


def test_any_other_error_of_sqlite_is_lost(database: sqlite3.Connection) -> None:
    assert prove(raised(lambda: database.execute("select * from nothing"))).proof is Proof.LOST
    assert prove(sqlite3.InterfaceError("odd")) == LOST
