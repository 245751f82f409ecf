"""A card in the words of a model that runs near by: asked once, and once more where its answer is rejected; the card is shown anyway."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

import click

from halfway.cli.card_steps import said
from halfway.cli.cards import VERDICTS, Section, sections
from halfway.cli.i18n import _, language
from halfway.cli.output import chat
from halfway.inspection.card import Card
from halfway.inspection.comparing import check
from halfway.inspection.finding import Said
from halfway.inspection.quoting import quoted
from halfway.inspection.reports import words
from halfway.inspection.retelling import LARGEST, Ground, asked, ground

NEAR = "http://127.0.0.1:11434"
CONNECT = 5.0  # seconds
PATIENCE = 120.0  # ... from the first byte of a question to the last one of its answer
TRIES = 2
MOST_BYTES = 1 << 20
TOKENS = 700  # of an answer


class Silent(Exception):
    """No answer came, or half of one."""

    def __init__(self, why: Said) -> None:
        super().__init__(words(why))
        self.why = why


@dataclass(frozen=True, kw_only=True)
class Retold:
    """What a model made of a card; without a text it was rejected, or never came."""

    model: str
    text: str = ""
    rejected: tuple[Said, ...] = ()

    @property
    def section(self) -> Section:
        """The words under their own heading, marked as what they are."""
        mark = _("written by the model {model} from the card below, and compared with it; it is no finding")
        told = (quoted(line, len(line)) for line in self.text.splitlines() if line.strip())
        return Section(_("In plain words"), (f"[{mark.format(model=quoted(self.model))}]", *told))

    @property
    def json(self) -> dict[str, object]:
        """For programs; never translated."""
        return {"model": quoted(self.model), "text": self.text or None, "rejected": [words(one) for one in self.rejected]}


def retold(card: Card, model: str, url: str) -> Retold:
    """What the model makes of the card; nothing that goes wrong is an error, but it is told."""
    found = _retold(card, model, url)
    if not found.text:
        why = "; ".join(said(one) for one in found.rejected[:3])
        chat(_("The card is shown without the words of {model}: {why}.").format(model=quoted(model), why=why))
    return found


def _retold(card: Card, model: str, url: str) -> Retold:
    place, on = address(url), ground_of(card)
    if len(on.text) > LARGEST:
        return Retold(model=model, rejected=(Said("the card is too long for a model; inspect fewer steps at once"),))
    problems: tuple[Said, ...] = ()
    if sys.stderr.isatty():
        chat(_("Asking {model} at {address}; Ctrl-C ends it.").format(model=quoted(model), address=place.netloc))
    for _number in range(TRIES):
        try:
            answer = ask(place, model, asked(on, [words(one) for one in problems]))
        except Silent as silent:
            return Retold(model=model, rejected=(silent.why,))
        problems = check(on, answer)
        if not problems:
            return Retold(model=model, text=answer.strip())
    return Retold(model=model, rejected=problems)


def ground_of(card: Card) -> Ground:
    """What the model gets to see, in the chosen language, and what its answer is compared with."""
    lines = (f"{section.title}\n" + "\n".join(f"  {line}" for line in section.lines) for section in sections(card, ()))
    spoken, opening = re.split(r"[_.@-]", language().lower())[0], f"{_('Verdict')}: {_(VERDICTS[card.verdict])}"
    return ground(card, "\n".join(lines), language="ko" if spoken == "ko" else "en", opening=opening, unsure=_("needs confirmation"))


# ── the server ──


def address(url: str) -> SplitResult:
    """The address of a server of models, or what is wrong with it."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good, parts = False, urlsplit("")
    if not good or parts.username is not None or not url.isascii() or not url.isprintable():
        problem = _("--model-url wants the address of a server of models, as {example}.").format(example=NEAR)
        raise click.UsageError(problem, click.get_current_context())
    return parts


def ask(place: SplitResult, model: str, told: tuple[str, str]) -> str:
    """One whole answer. Asks this address and no other: no proxy, and a redirect is no answer."""
    ends = time.monotonic() + PATIENCE
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=min(CONNECT, PATIENCE))
    try:
        connection.connect()
        with _bounded(connection.sock):
            path = f"{place.path.rstrip('/')}/api/chat"
            connection.request("POST", path, _body(model, told), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise Silent(_refused(place.netloc, model, answer.status, answer.read(4096)))
            return _joined(answer)
    except (OSError, http.client.HTTPException, Silent) as error:
        if time.monotonic() >= ends:
            patience = {"seconds": f"{PATIENCE:g}"}
            raise Silent(Said("the model did not answer within {seconds} seconds; a smaller one may", patience)) from error
        if isinstance(error, Silent):
            raise
        where = {"address": place.netloc}
        raise Silent(Said("the server of the model does not answer at {address}; start it, or name it with --model-url", where)) from error
    finally:
        connection.close()


@contextmanager
def _bounded(connected: socket.socket) -> Generator[None]:
    """Ends the conversation when its time is up: a server that sends a byte now and then would never be silent."""
    connected.settimeout(PATIENCE)

    def end() -> None:
        with suppress(OSError):  # over already
            connected.shutdown(socket.SHUT_RDWR)

    watch = threading.Timer(PATIENCE, end)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _body(model: str, told: tuple[str, str]) -> bytes:
    order, card = told
    room = sum(1 if sign.isascii() else 4 for sign in order + card) // 3 + TOKENS + 64
    options = {"temperature": 0.1, "seed": 7, "num_predict": TOKENS, "num_ctx": -(-room // 1024) * 1024}
    messages = [{"role": "system", "content": order}, {"role": "user", "content": card}]
    uncut = {"truncate": False, "shift": False}  # else what is too long is cut at its beginning, without a word
    return json.dumps({"model": model, "messages": messages, "stream": True, "options": options, **uncut}).encode()


def _refused(shown: str, model: str, status: int, body: bytes) -> Said:
    if status == 404:
        what = {"address": shown, "model": model}
        return Said("the server at {address} does not have the model {model}; get it with: ollama pull {model}", what)
    told = str(_mapping(body).get("error") or "-")
    return Said("the server at {address} answered {status}: {told}", {"address": shown, "status": status, "told": told})


def _joined(answer: http.client.HTTPResponse) -> str:
    """The pieces up to the one that says that it is the last; without it they are half an answer."""
    parts: list[str] = []
    for line in _lines(answer):
        piece = _mapping(line)
        parts.append(str(_known(piece.get("message")).get("content") or ""))
        if piece.get("done") is True and piece.get("done_reason") == "stop":
            return "".join(parts)
        if piece.get("done") is not False:
            break
    raise Silent(Said("the answer of the model broke off"))


def _lines(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    read = 0
    while line := answer.readline(MOST_BYTES):
        read += len(line)
        if read > MOST_BYTES:
            return
        yield line


def _mapping(line: bytes) -> Mapping[str, Any]:
    try:
        return _known(json.loads(line))
    except ValueError:
        return {}


def _known(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
