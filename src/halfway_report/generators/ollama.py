"""Ollama's own dialect: `/api/chat`, one JSON object a line, the last one with `done: true`."""

from __future__ import annotations

from collections.abc import Mapping

from halfway_report.errors import ContextOverflow, ModelStreamCut
from halfway_report.generators import Desk, Identity
from halfway_report.generators.wire import Answer, Lenient, Prompt, Wire, check_window, keeping_partial, parsed, reason
from halfway_report.settings import LlmSettings


class _Tag(Lenient):
    name: str
    digest: str | None = None


class _Tags(Lenient):
    models: tuple[_Tag, ...] = ()


class _Shown(Lenient):
    capabilities: tuple[str, ...] = ()


class _Message(Lenient):
    content: str = ""


class _Piece(Lenient):
    message: _Message = _Message()
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None  # left out where it is 0
    eval_count: int | None = None
    error: str | None = None


class Ollama:
    """One model of an Ollama server."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._wire = Wire(settings)

    def identify(self, desk: Desk, /) -> Identity:
        """The model with its digest, as the server lists it now."""
        tags = self._wire.fetch("GET", "/api/tags", desk, _Tags)
        name = full_name(self._settings.model)
        tag = next((tag for tag in tags.models if full_name(tag.name) == name), None)
        if tag is None:
            raise self._wire.not_found("the server does not have it")
        shown = self._wire.fetch("POST", "/api/show", desk, _Shown, {"model": self._settings.model})
        return Identity(name=name, digest=tag.digest, thinks="thinking" in shown.capabilities)

    def ask(self, prompt: Prompt, desk: Desk, /) -> Answer:
        """The whole answer; half of one is ModelStreamCut."""
        check_window(self._settings, prompt)
        parts: list[str] = []
        with keeping_partial(parts, desk):
            for line in self._wire.stream("/api/chat", self._body(prompt), desk):
                piece = parsed(_Piece, line)
                if piece.error is not None:
                    self._wire.explain(piece.error, self._wire.safe(reason(line)))
                    raise ModelStreamCut(f"the model gave up in the middle of its answer: {self._wire.safe(piece.error)}")
                parts.append(piece.message.content)
                if piece.done:
                    return self._answer("".join(parts), piece)
            raise ModelStreamCut(f"the answer ended after {sum(map(len, parts))} characters without saying that it is done")

    def _answer(self, text: str, last: _Piece) -> Answer:
        if last.done_reason not in ("stop", "length"):  # load and unload: nothing was asked
            raise ModelStreamCut(f"the answer ended with {last.done_reason or 'no reason'}")
        used = (last.prompt_eval_count or 0) + (last.eval_count or 0)
        if (last.prompt_eval_count or 0) >= self._settings.num_ctx or used > self._settings.num_ctx:
            raise ContextOverflow(f"{used} tokens were used and num_ctx is {self._settings.num_ctx}: the server has cut the prompt")
        return Answer(text=text, finish=last.done_reason, prompt_tokens=last.prompt_eval_count, tokens=last.eval_count)

    def _body(self, prompt: Prompt) -> Mapping[str, object]:
        options = {
            "num_ctx": self._settings.num_ctx,
            "num_predict": prompt.num_predict,
            "temperature": self._settings.temperature,
            "seed": prompt.seed,
        }
        return {
            "model": self._settings.model,
            "messages": prompt.messages,
            "stream": True,
            # Else a prompt that is too long is cut at its beginning, without a word.
            "truncate": False,
            "shift": False,
            "options": options,
            **({"format": prompt.schema} if prompt.schema is not None else {}),
            **({"think": prompt.think} if prompt.think is not None else {}),
        }


def full_name(model: str) -> str:
    """`tiny` is `tiny:latest`."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"
