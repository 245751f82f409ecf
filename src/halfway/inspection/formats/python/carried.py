"""What an operator only carries: where the carrier is well known, the part that is really missing is named."""

from __future__ import annotations

import ast
import re
import shlex

from halfway.inspection.formats.python.frames import GAP, Frame, dotted, keyword, text
from halfway.inspection.formats.python.names import Program
from halfway.inspection.model import Unread
from halfway.inspection.quoting import quoted

IMAGE = "what the image {what} does cannot be read from this file"
OPERATOR = "what the operator {what} does is not known"
GRAPH = "what the tasks do that {what} makes cannot be read"
SCRIPT = "the script {what} was not given"
STATEMENTS = "the statements {what} were not given"
JOB = "what the job does that is started by {what} is not in this file"
_PROVIDED = ("airflow.providers.", "airflow.operators.", "airflow.contrib.")
_JOBS = ("job_id", "job_name", "task_definition", "notebook_path", "pipeline_name", "function_name")
_COMMANDS = ("entrypoint", "cmds", "command", "commands", "arguments", "args")
_SHELL = re.compile(r"(?:^|/)(?:ba|da|z|k)?sh$")
_PIPED = re.compile(r"([^|;&\n]+)\|\s*(?:ba|da|z|k)?sh\b(?!\s+-c)")


def unread(call: ast.Call, name: str, frame: Frame) -> Unread:
    """What of an operator was not given: what it carries, else the operator itself."""
    kind = name.rpartition(".")[2]
    graph, image = keyword(call, "subdag"), keyword(call, "image")
    if isinstance(graph, ast.Call):
        return Unread(quoted(frame.module.shown(dotted(graph.func, frame))), GRAPH, frame.module.span(graph))
    if image is not None:
        script = _piped(call, frame)
        return script or Unread(quoted(text(image, frame)), IMAGE, frame.module.span(image))
    sql = keyword(call, "sql", "query")
    if isinstance(sql, ast.Name) and sql.id in frame.module.aliases:
        return Unread(quoted(frame.module.shown(frame.module.aliases[sql.id])), STATEMENTS, frame.module.span(sql))
    job = next((key for key in _JOBS if keyword(call, key) is not None), "")
    if job and name.startswith(_PROVIDED):
        return Unread(quoted(f"{kind} {job}={text(keyword(call, job), frame)}"), JOB, frame.module.span(call))
    return Unread(kind, OPERATOR, frame.module.span(call))


def sql_of(call: ast.Call, frame: Frame, program: Program) -> str:
    """The statements of an operator, also where they are a name of another file that was given."""
    sql = keyword(call, "sql", "query")
    if isinstance(sql, ast.Name) and sql.id in frame.module.aliases:
        found = program.value(frame.module.aliases[sql.id], frame.module)
        return text(found[1], Frame(found[0])) if found is not None else GAP
    return text(sql, frame) if sql is not None else ""


def _piped(call: ast.Call, frame: Frame) -> Unread | None:
    """The script that a shell of the image is fed with: `cat gs://shop/tidy.sh | bash`."""
    fed = _PIPED.search(_script(call, frame))
    files = [word for word in fed[1].split() if "/" in word or "." in word] if fed is not None else []
    return Unread(quoted(files[-1]), SCRIPT, frame.module.span(call)) if files else None


def _script(call: ast.Call, frame: Frame) -> str:
    """What a shell is told to do with -c; empty if none is."""
    words = [text(one, frame) for key in _COMMANDS for one in _each(keyword(call, key))]
    if len(words) == 1:
        try:
            words = shlex.split(words[0])
        except ValueError:
            return ""
    shell = bool(words) and _SHELL.search(words[0]) is not None
    return words[2] if shell and len(words) > 2 and re.fullmatch(r"-\w*c", words[1]) else ""


def _each(given: ast.expr | None) -> list[ast.expr]:
    return list(given.elts) if isinstance(given, (ast.List, ast.Tuple)) else [given] if given is not None else []
