"""What both dialects share: a request whose answer comes line by line, and what each way to fail means.

A clean end of the bytes proves nothing about the text: each dialect looks for its own last record. Nothing is retried here.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import NoReturn, Protocol, TypeVar

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from halfway_report.errors import (
    UNEXPLAINED,
    ContextOverflow,
    ModelNotFound,
    ModelRefused,
    ModelResource,
    ModelStreamCut,
    ModelUnavailable,
)
from halfway_report.generators import Desk, Identity
from halfway_report.models import content_hash
from halfway_report.settings import LlmSettings, without_userinfo
from halfway_report.tokens import estimate

_MEMORY = ("system memory", "out of memory", "cudamalloc", "insufficient memory")
_WINDOW = ("context length", "context_length", "context size", "context window")
_BUSY = {408, 425, 429}
_AROUND = 16  # tokens, of what stands around the messages
_LONGEST_WAIT = timedelta(hours=1)
_LONGEST_LINE = 4_000_000  # bytes; a piece of an answer is some hundred

Model = TypeVar("Model", bound="Lenient")


class Lenient(BaseModel):
    """Base of what a server sends: vendors add fields without a new version."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request to a model; `schema`: the JSON that it must answer with."""

    system: str
    user: str
    seed: int
    num_predict: int
    schema: Mapping[str, object] | None = None
    think: bool | None = None  # None: not to be said, for to a model that cannot the word is an error
    shots: tuple[tuple[str, str], ...] = ()  # questions with good answers, as if they had been asked before

    @property
    def messages(self) -> list[Mapping[str, str]]:
        """The conversation so far, in the words of both dialects."""
        shots = ((("user", asked), ("assistant", answered)) for asked, answered in self.shots)
        turns = [("system", self.system), *(turn for shot in shots for turn in shot), ("user", self.user)]
        return [{"role": role, "content": text} for role, text in turns if text]

    @property
    def text(self) -> str:
        """All that the model reads."""
        return "\n\n".join(message["content"] for message in self.messages)

    @property
    def sha256(self) -> str:
        """Which request it is, whoever is asked."""
        facts = (self.messages, self.seed, self.num_predict, self.schema, self.think)
        return content_hash(json.dumps(facts, sort_keys=True).encode())


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A complete answer. `finish` is what the model says about its end; the text may still be cut at a limit (`length`)."""

    text: str
    finish: str
    prompt_tokens: int | None
    tokens: int | None


class Chat(Protocol):
    """One model behind one server."""

    def identify(self, desk: Desk, /) -> Identity: ...

    def ask(self, prompt: Prompt, desk: Desk, /) -> Answer:
        """The whole answer, or what `errors.py` says about one that did not come."""
        ...


@cache
def _tls() -> ssl.SSLContext:
    """Reading the list of authorities takes longer than a short answer, so it is read once."""
    return ssl.create_default_context()


class Wire:
    """One server, reached with the timeouts of the settings."""

    def __init__(self, settings: LlmSettings) -> None:
        self.settings = settings
        self._address = without_userinfo(settings.base_url)  # for messages

    def _key(self) -> str:
        return os.environ.get(self.settings.api_key_env, "").strip() if self.settings.api_key_env else ""

    def safe(self, text: str) -> str:
        """What a server says, without the key, which some of them repeat."""
        key = self._key()
        return text.replace(key, "[key]") if key else text

    @contextmanager
    def _client(self) -> Generator[httpx2.Client]:
        key = self._key()
        if self.settings.api_key_env and (not key or not key.isascii() or not key.isprintable()):
            raise ModelRefused(f"the environment variable {self.settings.api_key_env} is not set, or holds no key")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Such servers are usually named together with the version of the dialect.
        base = self.settings.base_url.rstrip("/").removesuffix("/v1")
        with httpx2.Client(base_url=base, headers=headers, follow_redirects=False, verify=_tls()) as client:
            yield client

    def fetch(self, method: str, path: str, desk: Desk, kind: type[Model], body: object = None) -> Model:
        """A small answer in one piece."""
        with self._sending(), self._client() as client:
            response = client.request(method, path, json=body, timeout=self._timeout(desk, self.settings.connect_timeout * 10))
            if not response.is_success:
                self.refuse(response)
            try:
                return kind.model_validate_json(response.content)
            except ValidationError as error:
                raise ModelUnavailable(f"{path} answered something else than a model's server would") from error

    def stream(self, path: str, body: object, desk: Desk) -> Generator[bytes]:
        """The lines of an answer as they come."""
        with self._sending(), self._client() as client:
            timeout = self._timeout(desk, self.settings.first_token_timeout)
            with client.stream("POST", path, json=body, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    self.refuse(response)
                with _receiving():
                    yield from _lines(response.iter_bytes(), desk)

    def refuse(self, response: httpx2.Response) -> NoReturn:
        """Says what an answer that is no success means."""
        status, text = response.status_code, self.safe(reason(response.content))
        told = f"{self._address} answered {status}: {text}"
        if status == 404:
            raise self.not_found(told)
        self.explain(text, told)
        if status in _BUSY or status >= 500:
            raise ModelUnavailable(told, after=_retry_after(response))
        raise ModelRefused(told)

    def explain(self, text: str, told: str) -> None:
        """Raises for the two reasons that a repeat does not mend, whatever status they come with."""
        lower = text.lower()
        if any(word in lower for word in _MEMORY):
            raise ModelResource(told)
        if any(word in lower for word in _WINDOW):
            raise ContextOverflow(f"{told}; raise num_ctx ({self.settings.num_ctx}), or use the mode map")

    def not_found(self, told: str) -> ModelNotFound:
        """The model is missing, and what to do about it."""
        missing = ModelNotFound(f"model {self.settings.model}: {told}")
        return (
            missing if self.settings.provider != "ollama" else ModelNotFound(f"{missing}; get it with: ollama pull {self.settings.model}")
        )

    def _timeout(self, desk: Desk, most: timedelta) -> httpx2.Timeout:
        seconds = max(0.1, min(most, desk.remaining()).total_seconds())
        return httpx2.Timeout(seconds, connect=min(seconds, self.settings.connect_timeout.total_seconds()))

    @contextmanager
    def _sending(self) -> Generator[None]:
        """Until the first byte of an answer nothing is lost but time."""
        try:
            yield
        except (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL) as error:
            # Its words may quote a header or the address, and with it the key.
            name = type(error).__name__
            raise ModelRefused(f"the request to {self._address} could not be made ({name}); check base_url and the key") from None
        except httpx2.TransportError as error:
            name = type(error).__name__
            raise ModelUnavailable(f"{self._address} does not answer ({name}: {error})") from None


@contextmanager
def keeping_partial(parts: Sequence[str], desk: Desk) -> Generator[None]:
    """Keeps what came of an answer that broke off, for a person to look at; nothing goes on from it."""
    try:
        yield
    except ModelStreamCut:
        if any(parts):
            desk.keep("partial.txt", "".join(parts))
        raise


@contextmanager
def _receiving() -> Generator[None]:
    try:
        yield
    except httpx2.TimeoutException as error:
        raise ModelStreamCut("the model fell silent in the middle of its answer, or before it") from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise ModelStreamCut(f"the answer broke off ({type(error).__name__}: {error})") from error


def _lines(pieces: Iterator[bytes], desk: Desk) -> Iterator[bytes]:
    # Not by str.splitlines: U+0085 and U+2028 may stand in the middle of a JSON text.
    rest = b""
    received = 0
    for piece in pieces:
        received += len(piece)
        desk.beat(received)
        if desk.remaining() <= timedelta(0):
            raise ModelStreamCut("the answer took longer than it may take in all")
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise ModelStreamCut("a line of the answer has no end")
        yield from (line.strip() for line in whole if line.strip())
    if rest.strip():
        yield rest.strip()


class _Error(Lenient):
    error: str | _Detail


class _Detail(Lenient):
    message: str = ""
    code: str | int | None = None


_Error.model_rebuild()


def reason(content: bytes) -> str:
    """The server's own words about an error: `{"error": "…"}` of Ollama, `{"error": {"message": …}}` of OpenAI."""
    try:
        error = _Error.model_validate_json(content).error
    except ValidationError:
        return content[:200].decode("utf-8", "replace") or UNEXPLAINED
    return error if isinstance(error, str) else f"{error.code or ''} {error.message}".strip()


def parsed(kind: type[Model], line: bytes) -> Model:
    """A line of a stream; half a line is the end of the stream."""
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise ModelStreamCut(f"the answer broke off in the middle of a line of {len(line)} bytes") from error


def check_window(settings: LlmSettings, prompt: Prompt) -> None:
    """Refuses what would not fit: a server that is old enough cuts it and says nothing."""
    wanted = estimate(prompt.text) + _AROUND
    room = settings.num_ctx - prompt.num_predict
    if wanted > room:
        raise ContextOverflow(
            f"about {wanted} tokens are to be read and {room} have room (num_ctx {settings.num_ctx}, {prompt.num_predict} of them for the "
            f"answer); raise num_ctx, or use the mode map"
        )


def _retry_after(response: httpx2.Response) -> timedelta | None:
    seconds = response.headers.get("Retry-After", "")
    return min(_LONGEST_WAIT, timedelta(seconds=int(seconds[:9]))) if seconds.isascii() and seconds.isdigit() else None
