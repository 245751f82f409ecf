"""The two dialects that the stand-in for a model's server speaks: how a question reads, and what each record of an answer looks like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, cast

from halfway_report.standin_voices import Asked

_AT = "2026-09-30T12:00:00Z"


class Dialect(Protocol):
    """One way to ask and to answer."""

    @property
    def content_type(self) -> str: ...

    @property
    def streams(self) -> bool:
        """What happens when the caller does not say whether to stream."""
        ...

    def asked(self, body: Mapping[str, object], /) -> Asked: ...
    def error(self, message: str, /) -> Mapping[str, object]: ...

    def record(self, asked: Asked, /, *, content: str = "", thinking: str = "") -> Mapping[str, object]:
        """A piece of an answer."""
        ...

    def end(self, asked: Asked, /, *, finish: str, prompt_tokens: int, tokens: int) -> Mapping[str, object]:
        """The last record."""
        ...

    def whole(self, asked: Asked, text: str, /, *, finish: str, prompt_tokens: int) -> Mapping[str, object]:
        """The answer in one piece."""
        ...

    def line(self, record: Mapping[str, object], /) -> bytes: ...

    def broken(self, message: str, /) -> bytes:
        """An error in the middle of a stream."""
        ...


class OllamaDialect:
    """`/api/chat`."""

    content_type = "application/x-ndjson"
    streams = True

    def asked(self, body: Mapping[str, object], /) -> Asked:
        return Asked(
            model=str(body.get("model") or ""), messages=_messages(body), options=_mapping(body.get("options")),
            format=body.get("format"), think=body.get("think") is True,
        )  # fmt: skip

    def error(self, message: str, /) -> Mapping[str, object]:
        return {"error": message}

    def record(self, asked: Asked, /, *, content: str = "", thinking: str = "") -> Mapping[str, object]:
        message = {"role": "assistant", "content": content, **({"thinking": thinking} if thinking else {})}
        return {"model": asked.model, "created_at": _AT, "message": message, "done": False}

    def end(self, asked: Asked, /, *, finish: str, prompt_tokens: int, tokens: int) -> Mapping[str, object]:
        counts = {"prompt_eval_count": prompt_tokens, "eval_count": tokens}
        times = {"total_duration": 2_000, "load_duration": 1, "prompt_eval_duration": 1, "eval_duration": 1}
        # A count of nothing is left out.
        kept = {name: count for name, count in counts.items() if count}
        return {**self.record(asked), "done": True, "done_reason": finish, **times, **kept}

    def whole(self, asked: Asked, text: str, /, *, finish: str, prompt_tokens: int) -> Mapping[str, object]:
        end = self.end(asked, finish=finish, prompt_tokens=prompt_tokens, tokens=len(text) // 4)
        return {**end, "message": {"role": "assistant", "content": text}}

    def line(self, record: Mapping[str, object], /) -> bytes:
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"

    def broken(self, message: str, /) -> bytes:
        return self.line(self.error(message))


class OpenAiDialect:
    """`/v1/chat/completions`."""

    content_type = "text/event-stream"
    streams = False

    def asked(self, body: Mapping[str, object], /) -> Asked:
        options = {"num_predict": body.get("max_tokens"), "temperature": body.get("temperature"), "seed": body.get("seed")}
        return Asked(model=str(body.get("model") or ""), messages=_messages(body), options=options, format=body.get("response_format"))

    def error(self, message: str, /) -> Mapping[str, object]:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def record(self, asked: Asked, /, *, content: str = "", thinking: str = "") -> Mapping[str, object]:
        delta = {"role": "assistant", "content": content, **({"reasoning": thinking} if thinking else {})}
        return self._chunk(asked, [{"index": 0, "delta": delta, "finish_reason": None}])

    def end(self, asked: Asked, /, *, finish: str, prompt_tokens: int, tokens: int) -> Mapping[str, object]:
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}
        return {**self._chunk(asked, [{"index": 0, "delta": {}, "finish_reason": finish}]), "usage": usage}

    def whole(self, asked: Asked, text: str, /, *, finish: str, prompt_tokens: int) -> Mapping[str, object]:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(text) // 4}
        return {**self._chunk(asked, [choice]), "object": "chat.completion", "usage": usage}

    def line(self, record: Mapping[str, object], /) -> bytes:
        return b"data: " + json.dumps(record, ensure_ascii=False).encode() + b"\n\n"

    def broken(self, message: str, /) -> bytes:
        return self.line(self.error(message))

    def _chunk(self, asked: Asked, choices: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": asked.model, "choices": choices}


class Answering:
    """The records of one answer, as lines of its dialect."""

    def __init__(self, dialect: Dialect, asked: Asked, *, prompt_tokens: int) -> None:
        self.dialect, self.asked = dialect, asked
        self._read = prompt_tokens

    def piece(self, text: str) -> bytes:
        """Some more of the text."""
        return self.dialect.line(self.dialect.record(self.asked, content=text))

    def thought(self, text: str) -> bytes:
        """What the model thinks before it answers."""
        return self.dialect.line(self.dialect.record(self.asked, thinking=text))

    def last(self, finish: str, *, tokens: int) -> bytes:
        """The record without which nothing is complete."""
        line = self.dialect.line(self.dialect.end(self.asked, finish=finish, prompt_tokens=self._read, tokens=tokens))
        return line if isinstance(self.dialect, OllamaDialect) else line + b"data: [DONE]\n\n"

    def whole(self, text: str, finish: str) -> Mapping[str, object]:
        """Everything at once."""
        return self.dialect.whole(self.asked, text, finish=finish, prompt_tokens=self._read)

    def loaded(self) -> Mapping[str, object]:
        """What comes when nothing was asked: the model is loaded now."""
        return self.dialect.whole(self.asked, "", finish="load", prompt_tokens=0)


DIALECTS: Mapping[str, Dialect] = MappingProxyType({"/api/chat": OllamaDialect(), "/v1/chat/completions": OpenAiDialect()})


def _messages(body: Mapping[str, object]) -> Sequence[Mapping[str, str]]:
    messages = body.get("messages")
    return cast("Sequence[Mapping[str, str]]", messages) if isinstance(messages, list) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
