"""Modules and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

LONGEST_MODULE = 500
LONGEST_FUNCTION = 60
USUAL_FUNCTION = 40


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield f"{path}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1


def test_no_module_is_longer_than_500_lines(modules: list[Path]) -> None:
    lengths = {str(path): len(path.read_text().splitlines()) for path in modules}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_no_function_is_longer_than_60_lines(modules: list[Path]) -> None:
    lengths = {name: lines for path in modules for name, lines in functions(path)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_nineteen_functions_of_twenty_have_at_most_40_lines(modules: list[Path]) -> None:
    lengths = [lines for path in modules for _, lines in functions(path)]
    assert quantiles(lengths, n=20, method="inclusive")[-1] <= USUAL_FUNCTION
