"""The reader of Python files: which engines a file has to do with, and the flows of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from halfway.inspection.formats import Given
from halfway.inspection.formats.python import airflow, dbos, prefect, queues, scripts, temporal
from halfway.inspection.formats.python.building import FORMAT
from halfway.inspection.formats.python.frames import Frame, dotted
from halfway.inspection.formats.python.names import Module, Program, module_of
from halfway.inspection.formats.python.starting import decorated
from halfway.inspection.model import Flow, RunLog
from halfway.inspection.source import Source, Unreadable

_MARK = re.compile(r"(?m)^(?:from [\w.]+ import |import [\w.]+|(?:async )?def \w+\(|class \w+[(:])")
_ENGINES = ("temporalio", "dbos", "prefect", "airflow")


class PythonReader:
    """Reads Python by its syntax tree; what the text says is never executed."""

    @property
    def name(self) -> str:
        return FORMAT

    def takes(self, source: Source) -> bool:
        """Whether it parses as Python and imports, defines or calls something; a broken file only if it says that it is Python."""
        first = source.lines[0]
        if first.startswith("#!") and "python" not in first:
            return False
        if not _MARK.search(source.text) and not first.startswith("#!"):
            return False
        try:
            tree = module_of(source).tree
        except Unreadable as error:
            source.unread["python"] = str(error)
            return "python" in first or source.path.endswith(".py")
        return any(isinstance(one, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for one in tree.body)

    def flows(self, source: Source, given: Given) -> Iterator[Flow]:
        """The automations of the file; raises Unreadable if it cannot be parsed."""
        program = Program(given)
        module = module_of(source)
        try:
            yield from list(_flows(module, program))
        except RecursionError as error:
            raise Unreadable("it is nested too deeply") from error

    def runs(self, source: Source, given: Given) -> Iterator[RunLog]:
        """Python files tell about no runs."""
        del source, given
        yield from ()


def _flows(module: Module, program: Program) -> Iterator[Flow]:
    yield from queues.flows(module, program)
    roots = {one.partition(".")[0] for one in module.aliases.values()}
    for root, engine in (("temporalio", temporal.flows), ("dbos", dbos.flows), ("prefect", prefect.flows), ("airflow", airflow.flows)):
        if root in roots:
            yield from engine(module, program)
    if "airflow" not in roots:
        own = scripts.flows(module, program, frozenset(_taken(module)))
        yield from (flow for flow in own if flow.steps or "halfway" not in roots)  # a workflow's own program only starts it


def _taken(module: Module) -> Iterator[str]:
    """The functions that belong to an engine: it calls them, not the script."""
    yield from (name for name, _, _ in queues.tasks(module))
    top = Frame(module)
    for name, function in module.functions.items():
        if any(dotted_name.startswith((*_ENGINES, "DBOS.")) for dotted_name, _ in decorated(function, top)):
            yield name
    yield from (
        run for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef) and _is_workflow(node, top) for run in _methods(node)
    )


def _is_workflow(node: ast.ClassDef, top: Frame) -> bool:
    return any(dotted(one, top).startswith("temporalio") for one in node.decorator_list)


def _methods(node: ast.ClassDef) -> Iterator[str]:
    yield from (f"{node.name}.{one.name}" for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))
