"""Finds the row of an action of GitHub Actions, with the inputs that decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from halfway.inspection.knowledge.rows import Row, UseRule
from halfway.inspection.model import Repeat

# When it cannot be told which of two rows it is, the graver one holds.
_GRAVEST = (Repeat.DUPLICATES, Repeat.UNKNOWN, Repeat.REJECTS, Repeat.MERGES, Repeat.WITH_KEY, Repeat.SAFE)
_EXPRESSION = "${{"


class Uses:
    """The rows by the name of the action."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rules: dict[str, list[tuple[UseRule, Row]]] = {}
        for row in rows:
            for rule in row.uses:
                self._rules.setdefault(rule.action, []).append((rule, row))

    def find(self, action: str, given: Mapping[str, str]) -> tuple[str, bool] | None:
        """The id of the row, and whether the inputs say so for certain: an expression does not."""
        inputs = {key.lower(): value.strip() for key, value in given.items()}
        matches: list[tuple[bool, int, int, str]] = []
        for rule, row in self._candidates(_name(action)):
            certain = _fits(rule, inputs)
            if certain is not None:
                conditions = len(rule.given) + len(rule.without)
                matches.append((not certain, -conditions if certain else 0, _GRAVEST.index(row.action.repeat), row.action.id))
        if not matches:
            return None
        best = min(matches)
        return best[3], not best[0]

    def _candidates(self, name: str) -> Sequence[tuple[UseRule, Row]]:
        exact = self._rules.get(name)
        return exact or [one for pattern, rules in self._rules.items() if "*" in pattern and fnmatchcase(name, pattern) for one in rules]


def _name(action: str) -> str:
    return action.split("@", maxsplit=1)[0].strip().lower().removeprefix("https://github.com/")


def _fits(rule: UseRule, inputs: Mapping[str, str]) -> bool | None:
    """True for certain, False perhaps, None not at all."""
    answers = [_is(inputs.get(key.lower(), ""), wanted) for key, wanted in rule.given]
    answers += [_not(_is(inputs.get(key.lower(), ""), unwanted)) for key, unwanted in rule.without]
    return None if False in answers else None not in answers


def _is(value: str, wanted: str) -> bool | None:
    """`*`: anything but no; `…x…`: it holds the text x; `x …`: x is its first word. None: an expression, which nobody can know."""
    if wanted == "*":
        return value.lower() not in ("", "false")
    if wanted.endswith(" …"):
        return value.lower().split()[:1] == [wanted.removesuffix(" …").lower()]
    if wanted.startswith("…"):
        return wanted.strip("…").lower() in value.lower()
    return None if _EXPRESSION in value else value.lower() == wanted.lower()


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
