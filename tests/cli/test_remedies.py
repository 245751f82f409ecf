"""Every order that a message suggests is one that the command line takes as it stands there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from halfway.cli import main
from halfway.inspection.advice import ALLOWED

SRC = Path(__file__).parents[2] / "src" / "halfway"
VALUE = "7"  # what is filled in: good for a name, a number and an id
GAPS = {"action": "approve", "what": "", "again": ""}  # what is filled in where that is no value
NO_COMMANDS = ("and", "is", "raises", "import", "that", "tells", "open")  # halfway, the library
ENDS = ".,;:)"
WORD = re.compile(r"'[^']*'|\S+")
SUGGESTED = re.compile(r"\bhalfway (?=[a-z])")
FILLED_IN = re.compile(r"\{\w*\}")


def texts(node: ast.AST) -> Iterator[str]:
    """The literal texts of a file, with something in each gap; docstrings are for whoever reads the code."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else GAPS.get(name_of(one), VALUE) for one in child.values)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield FILLED_IN.sub(lambda gap: GAPS.get(gap[0].strip("{}"), VALUE), child.value)
        else:
            yield from texts(child)


def name_of(gap: ast.expr) -> str:
    value = gap.value if isinstance(gap, ast.FormattedValue) else gap
    return value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""


def suggested() -> Iterator[tuple[str, str]]:
    for path in sorted(SRC.rglob("*.py")):
        for text in texts(ast.parse(path.read_text(encoding="utf-8"))):
            for match in SUGGESTED.finditer("" if text in ALLOWED else text):  # those begin commands
                if text[match.end() :].split()[0] not in NO_COMMANDS:
                    yield f"{path.relative_to(SRC)}", text[match.end() :]


@cache
def understood(text: str) -> None:
    """Takes words as long as they can belong to a command, and parses them."""
    command: click.Command = main
    context = click.Context(main, info_name="halfway")
    rest = [(word.rstrip(ENDS), word[-1] in ENDS) for word in WORD.findall(text)]
    while isinstance(command, click.Group):
        name, last = rest.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command, context = found, click.Context(found, parent=context, info_name=name)
        if last:
            break
    choices = {one for option in command.params if isinstance(option.type, click.Choice) for one in option.type.choices}
    given: list[str] = []
    for word, ends in rest if not last else []:
        if re.fullmatch(r"[a-z]{2,}", word) and word not in choices:
            break  # the sentence goes on
        given.append(word.strip("'"))
        if ends:
            break
    with context:
        command.parse_args(context, given)
    assert context.args == []


@pytest.mark.parametrize(("path", "text"), [pytest.param(*one, id=f"{one[0]}: halfway {one[1]}"[:120]) for one in suggested()])
def test_what_is_suggested_can_be_typed(path: str, text: str) -> None:
    understood(text)


def test_there_are_suggestions() -> None:
    assert len(list(suggested())) > 40


@pytest.mark.parametrize("text", ["schedule show", "cancel", "batch retry-failed 7", "plan", "start --as …", "resum RUN"])
def test_what_lacks_something_is_found(text: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        understood(text)
