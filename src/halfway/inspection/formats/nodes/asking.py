"""Which requests put a question to a model, whoever is asked: by what the body holds, and by what of the answer is read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_SETTINGS = frozenset({"system", "temperature", "max_tokens", "num_predict", "top_p", "stream", "options", "format"})
_WITH_SETTINGS = frozenset({"inputs", "parameters", "options"})
_KEY = re.compile(r"""(?<![\w.])\\?["']?(\w{1,40})\\?["']?\s*:(?!//)""")
_GENERATED = re.compile(r"\bchoices\s*\[\s*\d*\s*\]\s*\??\.\s*(?:message|delta|text)\b")
LONGEST = 5_000


def keys_in(text: str) -> set[str]:
    """The names of the fields of a body that is written as a text."""
    return set(_KEY.findall(text[:LONGEST]))


def asks_model(names: Collection[str]) -> bool:
    """Whether a body is made of what a model is asked: the model and the talk so far, or a text with how to answer it."""
    told = frozenset(names)
    return "model" in told and ("messages" in told or ("prompt" in told and bool(told & _SETTINGS)))


def only_infers(names: Collection[str]) -> bool:
    """Whether a body has nothing but what a model works on, and how."""
    return "inputs" in names and frozenset(names) <= _WITH_SETTINGS


def reads_generated(uses: Iterable[str]) -> bool:
    """Whether all that is read of an answer is what a model has written."""
    read = list(uses)
    return bool(read) and all(_GENERATED.search(one) for one in read)
