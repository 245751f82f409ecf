"""What a stand-in for a model's server says: a script, or whatever else can be asked for a text piece by piece."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question to the model, in the words that both dialects share."""

    model: str
    messages: Sequence[Mapping[str, str]]
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    format: object = None
    think: bool = False

    @property
    def text(self) -> str:
        """Everything that the model is to read."""
        return "\n".join(message.get("content") or "" for message in self.messages)

    @property
    def limit(self) -> int:
        """So many tokens at most are to be written."""
        limit = self.options.get("num_predict")
        return limit if isinstance(limit, int) and limit > 0 else 1_000_000


class Voice(Protocol):
    """The model itself."""

    def speak(self, asked: Asked, /) -> Iterator[tuple[str, str | None]]:
        """Pieces of the answer; the last one says why it is the last: stop or length."""
        ...

    def count(self, text: str, /) -> int:
        """How many tokens a text has."""
        ...


Line: TypeAlias = "str | Callable[[Asked], str]"
_PIECE = 4  # characters that a script counts as a token


class Script:
    """Answers with these lines in order, and then with the last one for ever."""

    def __init__(self, *lines: Line) -> None:
        self._lines = lines
        self._said = 0
        self._one = threading.Lock()

    def speak(self, asked: Asked, /) -> Iterator[tuple[str, str | None]]:
        """Pieces of four characters, as far as the limit allows."""
        with self._one:
            line = self._lines[min(self._said, len(self._lines) - 1)]
            self._said += 1
        text = line if isinstance(line, str) else line(asked)
        whole = text[: asked.limit * _PIECE]
        for start in range(0, len(whole), _PIECE):
            yield whole[start : start + _PIECE], None
        yield "", "stop" if whole == text else "length"

    def count(self, text: str, /) -> int:
        """Four bytes a token."""
        return len(text.encode()) // 4
