"""The dialect of OpenAI-compatible servers: `/v1/chat/completions`, server-sent events, the last one with a `finish_reason`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from halfway_report.errors import ModelStreamCut
from halfway_report.generators import Desk, Identity
from halfway_report.generators.wire import Answer, Lenient, Prompt, Wire, check_window, keeping_partial, parsed, reason
from halfway_report.settings import LlmSettings

_DATA, _DONE = b"data:", b"[DONE]"


class _Model(Lenient):
    id: str


class _Models(Lenient):
    data: tuple[_Model, ...] = ()


class _Delta(Lenient):
    content: str | None = None  # reasoning comes in fields of its own, which are not read


class _Choice(Lenient):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Usage(Lenient):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Event(Lenient):
    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None
    error: object = None


class OpenAi:
    """One model of a server that speaks like OpenAI's. Its window is what the server was started with."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._wire = Wire(settings)

    def identify(self, desk: Desk, /) -> Identity:
        """The model, if the server lists it; there is no digest in this dialect."""
        known = self._wire.fetch("GET", "/v1/models", desk, _Models).data
        # Some servers answer to any name with the one model they have: what is not listed is not asked for.
        if all(model.id != self._settings.model for model in known):
            raise self._wire.not_found(f"the server has {', '.join(model.id for model in known) or 'none'}")
        return Identity(name=self._settings.model)

    def ask(self, prompt: Prompt, desk: Desk, /) -> Answer:
        """The whole answer; half of one is ModelStreamCut."""
        check_window(self._settings, prompt)
        parts: list[str] = []
        finish: str | None = None
        usage = _Usage()
        with keeping_partial(parts, desk):
            for event in self._events(prompt, desk):
                usage = event.usage or usage
                for choice in event.choices[:1]:
                    parts.append(choice.delta.content or "")
                    finish = choice.finish_reason or finish
            if finish is None:
                raise ModelStreamCut(f"the answer ended after {sum(map(len, parts))} characters without saying that it is done")
        return Answer(text="".join(parts), finish=finish, prompt_tokens=usage.prompt_tokens, tokens=usage.completion_tokens)

    def _events(self, prompt: Prompt, desk: Desk) -> Iterator[_Event]:
        for line in self._wire.stream("/v1/chat/completions", self._body(prompt), desk):
            if not line.startswith(_DATA):  # comments that keep the connection open, names of events
                continue
            data = line.removeprefix(_DATA).strip()
            if data == _DONE:
                return
            event = parsed(_Event, data)
            if event.error is not None:
                told = self._wire.safe(reason(data))
                self._wire.explain(told, told)
                raise ModelStreamCut(f"the model gave up in the middle of its answer: {told}")
            yield event

    def _body(self, prompt: Prompt) -> Mapping[str, object]:
        schema = {"type": "json_schema", "json_schema": {"name": "report", "schema": prompt.schema, "strict": True}}
        return {
            "model": self._settings.model,
            "messages": prompt.messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": prompt.num_predict,
            "temperature": self._settings.temperature,
            "seed": prompt.seed,
            **({"response_format": schema} if prompt.schema is not None else {}),
        }
