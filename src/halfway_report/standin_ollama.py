"""A stand-in for Ollama on the local machine, which can break off on purpose.

It speaks `/api/chat` as version 0.33 of Ollama does, and `/v1/chat/completions` for the other dialect, and keeps what it was asked.
`python -m halfway_report.standin_ollama` runs it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, cast

import click

from halfway_report.standin_chat import DIALECTS, Answering, Dialect
from halfway_report.standin_server import Handler, Local
from halfway_report.standin_voices import Asked, Script, Voice

# Before the first byte of an answer, in the middle of it, and at its end.
_AT_ONCE = ("reset", "hang", "500", "oom", "503", "html")
_MIDWAY = ("error_line", "half_line", "no_done", "reset_midway", "stall", "noise")
_AT_THE_END = ("length", "think", "empty", "load", "no_newline", "extra", "cut_prompt")
FAULTS = _AT_ONCE + _MIDWAY + _AT_THE_END
_ERRORS: Mapping[str, tuple[int, str]] = {
    "500": (500, "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error"),
    "oom": (500, "model requires more system memory (5.5 GiB) than is available (1.2 GiB)"),
    "503": (503, "server busy, please try again.  maximum pending requests exceeded"),
}
_MIDDLE = 3  # pieces that come before an answer breaks off
_LEAK = "<think>They want a report, so I plan one.</think>\n\n"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the server was asked."""

    method: str
    path: str
    body: Mapping[str, object]
    fault: str | None = None


class StandinOllama(Local):
    """The server, in this process. `with StandinOllama(Script("…")) as ollama:` starts and stops it.

    models: name -> what it can, as `/api/show` says it. silent: it neither refuses nor tells that a prompt is too long, as old ones do.
    """

    def __init__(
        self, voice: Voice | None = None, *, port: int = 0, models: Mapping[str, tuple[str, ...]] | None = None, silent: bool = False
    ) -> None:
        super().__init__(partial(_Conversation, self), port=port)
        self.voice: Voice = voice or Script("Nothing was scripted.")
        self.models = {_full(name): can for name, can in (models or {"tiny": ("completion",)}).items()}
        self.silent = silent
        self.requests: list[Request] = []
        self._faults: deque[str] = deque()

    @property
    def chats(self) -> list[Mapping[str, object]]:
        """The bodies of the questions so far, those with a fault too."""
        return [request.body for request in self.requests if request.path in DIALECTS]

    def fail(self, *faults: str) -> None:
        """The next questions meet these faults, one each."""
        if unknown := set(faults) - {*FAULTS}:
            raise ValueError(f"unknown faults {sorted(unknown)}; known: {', '.join(FAULTS)}")
        self._faults.extend(faults)

    def next_fault(self) -> str | None:
        """Takes the fault that is due."""
        return self._faults.popleft() if self._faults else None

    def digest(self, name: str) -> str:
        """What `/api/tags` says about a model."""
        return sha256(name.encode()).hexdigest()


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Conversation(Handler):
    def __init__(self, standin: StandinOllama, *given: Any) -> None:
        self.standin = standin
        super().__init__(*given)  # which serves the connection

    def do_GET(self) -> None:
        self.standin.requests.append(Request(method="GET", path=self.path, body={}))
        models = self.standin.models
        match self.path:
            case "/":
                self.send(200, b"Ollama is running", "text/plain; charset=utf-8")
            case "/api/version":
                self._json(200, {"version": "0.33.0"})
            case "/api/tags":
                self._json(200, {"models": [self._tag(name) for name in models]})
            case "/v1/models":
                data = [{"id": name.removesuffix(":latest"), "object": "model", "owned_by": "library"} for name in models]
                self._json(200, {"object": "list", "data": data})
            case _:
                self.send(404, b"404 page not found", "text/plain")

    def do_POST(self) -> None:
        raw = self.body()
        dialect = DIALECTS.get(self.path)
        fault = self.standin.next_fault() if dialect is not None else None
        try:
            body = _parsed(raw)
            self.standin.requests.append(Request(method="POST", path=self.path, body=body, fault=fault))
            if fault in _AT_ONCE:
                self._break(fault)
            elif dialect is not None:
                self._chat(dialect, body, fault)
            elif self.path == "/api/show":
                self._json(200, self._shown(self._known(body.get("model"))))
            else:
                self.send(404, b"404 page not found", "text/plain")
        except _Refused as no:
            self._json(no.status, DIALECTS[self.path].error(str(no)) if dialect is not None else {"error": str(no)})

    def _break(self, fault: str) -> None:
        match fault:
            case "reset":
                self.reset()
            case "hang":
                self.close_connection = True
                self.standin.closing.wait()
            case "html":  # something in between that is no model's server
                self.send(200, b"<html>Please log in</html>", "text/html")
            case _:
                status, message = _ERRORS[fault]
                self._json(status, {"error": message})

    def _known(self, name: object) -> str:
        if not name:
            raise _Refused(400, "model is required")
        if _full(str(name)) not in self.standin.models:
            raise _Refused(404, f"model '{name}' not found")
        return _full(str(name))

    def _chat(self, dialect: Dialect, body: Mapping[str, object], fault: str | None) -> None:
        asked = dialect.asked(body)
        name = self._known(asked.model)
        if body.get("think") and "thinking" not in self.standin.models[name]:
            raise _Refused(400, f'"{asked.model}" does not support thinking')
        read = self._read(asked, body, fault)
        answering = Answering(dialect, asked, prompt_tokens=read)
        if not asked.messages or fault == "load":
            self._json(200, answering.loaded())
        elif body.get("stream", dialect.streams):
            self._stream(dialect, answering, fault)
        else:
            pieces = [*self._pieces(asked, fault)]
            self._json(200, answering.whole("".join(text for text, _ in pieces), self._finish(pieces, fault)))

    def _read(self, asked: Asked, body: Mapping[str, object], fault: str | None) -> int:
        """So many tokens of the prompt reach the model; what would be too many is refused only if the caller has said so."""
        window = asked.options.get("num_ctx", 4096)
        wanted = self.standin.voice.count(asked.text)
        if not isinstance(window, int) or (wanted <= window and fault != "cut_prompt"):
            return wanted
        if body.get("truncate") is False and not self.standin.silent and fault != "cut_prompt":
            raise _Refused(400, "the input length exceeds the context length")
        return window

    def _pieces(self, asked: Asked, fault: str | None) -> Iterator[tuple[str, str | None]]:
        if fault == "think":
            yield _LEAK, None
        if fault == "empty":
            yield "", "stop"
            return
        yield from self.standin.voice.speak(asked)

    def _finish(self, pieces: list[tuple[str, str | None]], fault: str | None) -> str:
        return "length" if fault == "length" else next((finish for _, finish in reversed(pieces) if finish), "stop")

    def _stream(self, dialect: Dialect, answering: Answering, fault: str | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", dialect.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces: list[tuple[str, str | None]] = []
        if answering.asked.think:
            self._chunk(answering.thought("First I think."))
        for piece in self._pieces(answering.asked, fault):
            if len(pieces) == _MIDDLE and fault in _MIDWAY:
                return self._break_off(answering, fault)
            pieces.append(piece)
            if piece[0]:
                self._chunk(answering.piece(piece[0]))
        last = answering.last(self._finish(pieces, fault), tokens=len(pieces))
        self._chunk(last.rstrip(b"\n") if fault == "no_newline" else last)
        if fault == "extra":
            self._chunk(answering.piece("and more after the end"))
        return self._chunk(b"")

    def _break_off(self, answering: Answering, fault: str | None) -> None:
        match fault:
            case "error_line":
                self._chunk(answering.dialect.broken("an error was encountered while running the model"))
            case "half_line":
                self._chunk(answering.piece("half")[:25])
            case "noise":
                self._chunk(b"\xff\xfe upstream closed\n")
            case "reset_midway":
                return self.reset()
            case "stall":
                self.close_connection = True
                self.standin.closing.wait()
                return None
            case _:
                pass
        return self._chunk(b"")  # a clean end of the bytes

    def _tag(self, name: str) -> Mapping[str, object]:
        return {
            "name": name, "model": name, "modified_at": "2026-09-30T00:00:00Z", "size": 98_362_432, "digest": self.standin.digest(name),
            "details": _DETAILS,
        }  # fmt: skip

    def _shown(self, name: str) -> Mapping[str, object]:
        return {
            "license": "Apache-2.0", "modelfile": f"FROM {name}", "parameters": "", "template": "{{ .Prompt }}", "details": _DETAILS,
            "model_info": {"general.architecture": "llama", "llama.context_length": 8192},
            "capabilities": list(self.standin.models[name]), "modified_at": "2026-09-30T00:00:00Z",
        }  # fmt: skip

    def _json(self, status: int, body: object) -> None:
        self.send(status, json.dumps(body).encode(), "application/json; charset=utf-8")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()


_DETAILS: Mapping[str, object] = {
    "parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"], "parameter_size": "134.52M",
    "quantization_level": "Q4_1",
}  # fmt: skip


def _parsed(raw: bytes) -> Mapping[str, object]:
    if not raw:
        raise _Refused(400, "missing request body")
    try:
        body: object = json.loads(raw)
    except ValueError as error:
        raise _Refused(400, f"invalid JSON: {error}") from error
    return cast("Mapping[str, object]", body) if isinstance(body, dict) else {}


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


@click.command()
@click.option("--port", default=0, show_default=True, help="0 takes any free one; the first line of output names it.")
@click.option("--text", default="The work of the day was finished.", show_default=True, help="What the model answers.")
@click.option("--fault", "faults", multiple=True, type=click.Choice(FAULTS), help="What the next question meets; may be repeated.")
@click.option("--end-with-stdin", is_flag=True, help="Stop when standard input is closed.")
def main(port: int, text: str, faults: tuple[str, ...], end_with_stdin: bool) -> None:
    """Run a stand-in for Ollama on 127.0.0.1."""
    standin = StandinOllama(Script(text), port=port)
    standin.fail(*faults)
    standin.run("model tiny", end_with_stdin=end_with_stdin)


if __name__ == "__main__":
    main()
