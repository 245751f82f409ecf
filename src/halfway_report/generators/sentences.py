"""Whether one sentence about one commit can be used. Codes are those of the validator; this looks at less, and earlier."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halfway_report.citations import hex_words, looks_like_hash, matches
from halfway_report.validation import LEAK, echoes, share_problem

_END = re.compile(r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<=[.!?。])[\"'”’]?\s")
_LABEL = re.compile(r"\A(?:sentence|문장)\s*:\s*", re.IGNORECASE)
_QUESTION = re.compile(r"(?:commit|files)\s*:", re.IGNORECASE)
_LOOP = re.compile(r"(.{12,}?)\1{2,}")
_SHORTEST, _LONGEST = 8, 300


def first_sentence(text: str) -> str:
    """The first sentence of an answer, without the label and the quotation marks that models like to put around it."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    line = _LABEL.sub("", lines[0]).strip().strip("\"'`“”‘’")
    return _END.split(line, maxsplit=1)[0].strip()


def flaw(sentence: str, finish: str, shas: Sequence[str], *, examples: Sequence[str], language: str, longest: int = _LONGEST) -> str:
    """What is wrong with it; empty if nothing is."""
    if len(sentence) < _SHORTEST:
        return "TOO_SHORT" if sentence else "EMPTY"
    if len(sentence) > longest:
        return "TOO_LONG"
    if sentence.endswith(":") or (finish != "stop" and not sentence.endswith((".", "!", "?", "다"))):
        return f"TRUNCATED ({finish})"
    return _about_words(sentence, shas, examples) or (f"LANGUAGE ({problem})" if (problem := share_problem(sentence, language)) else "")


def _about_words(sentence: str, shas: Sequence[str], examples: Sequence[str]) -> str:
    if match := LEAK.search(sentence):
        return f"LEAK ({match[0]})"
    if invented := [word for word in hex_words(sentence) if looks_like_hash(word) and matches(word, shas) != 1]:
        return f"UNKNOWN_SHA ({invented[0]})"
    if echoes(sentence, examples) or _QUESTION.match(sentence):
        return "FEWSHOT_ECHO"
    return "REPETITION" if _LOOP.search(sentence) else ""
