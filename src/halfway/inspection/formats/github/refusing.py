"""Refuses the files that GitHub takes for no workflow at all: what they say of effects and repeats never comes about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from halfway.inspection.quoting import quoted
from halfway.inspection.source import Node, Unreadable, expressions

_OF_BOTH = frozenset({"id", "name", "if", "env", "with", "continue-on-error", "timeout-minutes", "working-directory", "shell"})
_STRINGS = re.compile(r"'[^']*'")
# What GitHub knows nothing of in those keys of a job.
_IN_A_JOB: Mapping[str, Sequence[str]] = {
    "env": ("if", "env", "runs-on", "strategy", "concurrency", "continue-on-error", "timeout-minutes", "with", "secrets"),
    "secrets": ("if", "runs-on", "strategy", "concurrency", "continue-on-error", "timeout-minutes", "with"),
}
# A name at whose beginning something is taken from; behind a dot it is a part, and before a bracket a function.
_DOT = re.compile(r"\s*\.\s*")
_TAKEN = re.compile(r"(?<![\w.\-\]])[A-Za-z_][\w-]*(?![\w-])(?!\s*\()")
# The last ones are of other services that read the same files.
_KNOWN = frozenset({
    "github", "env", "vars", "job", "jobs", "steps", "runner", "secrets", "strategy", "matrix", "needs", "inputs",
    "true", "false", "null", "nan", "infinity", "gitea", "forge", "forgejo",
})  # fmt: skip


def refuse_what_never_runs(root: Node) -> None:
    """GitHub takes a file with such a step for none at all: not one of its jobs begins.

    Raises Unreadable.
    """
    if root.twice is not None:
        key, line = root.twice
        raise _refusal(line, f"{quoted(key, 40)} stands twice")
    _refuse_impossible_orders(root.get("jobs"))
    _refuse_strangers(root)
    _refuse_unknown_names(root, {"env": ("env", "run-name", "concurrency"), "secrets": ("run-name", "concurrency")})
    for _, job in root.get("jobs").items():
        if "hashFiles(" in job.get("if").text:
            raise _refusal(job.get("if").span.line, "the condition of a job may not look at files")
        _refuse_unknown_names(job, _IN_A_JOB)
        steps = job.get("steps")
        if steps.there and not isinstance(steps.value, list):
            raise _refusal(steps.span.line, "the steps of a job are no list")
        for step in job.get("steps").each():
            _refuse_unknown_names(step, {"secrets": ("if",)})
        for step in job.get("steps").each():
            line = step.span.line
            # GitHub knows steps of other kinds, too, which have keys of their own.
            idle = not step.get("run").there and not step.get("uses").there
            if idle and isinstance(step.value, dict) and _OF_BOTH.issuperset(step.value):
                raise _refusal(line, "a step has neither run nor uses")
            if step.get("uses").there and (step.get("working-directory").there or step.get("shell").there):
                raise _refusal(line, "a step with uses has a working-directory or a shell")


def _refuse_impossible_orders(jobs: Node) -> None:
    needs = {name: {one.text for one in job.get("needs").each()} for name, job in jobs.items()}
    missing = next(((name, one) for name, wanted in needs.items() for one in sorted(wanted - needs.keys())), None)
    if missing is not None:
        where = jobs.get(missing[0]).get("needs").span.line
        raise _refusal(where, f"{quoted(missing[0], 40)} needs {quoted(missing[1], 40)}, and there is no such job")
    left = set(needs)
    while ready := {name for name in left if not needs[name] & left}:
        left -= ready
    if left:
        first = min(left, key=lambda name: jobs.get(name).span.line)
        raise _refusal(jobs.get(first).span.line, f"{quoted(first, 40)} needs itself")


def _refuse_strangers(root: Node) -> None:
    """What an expression takes from has to be one of few things: a slip as `ssecrets` stops the whole file."""
    waiting = [root.get("jobs"), root.get("env")]
    while waiting:
        node = waiting.pop()
        waiting += [value for _, value in node.items()] + (list(node.each()) if isinstance(node.value, list) else [])
        _refuse_stranger(node, expressions(node.text))
    for _, job in root.get("jobs").items():
        # Without braces a condition is one expression; what stands outside of them where there are some is a text.
        for condition in (one.get("if") for one in (job, *job.get("steps").each())):
            _refuse_stranger(condition, [] if "${{" in condition.text else [condition.text])


def _refuse_stranger(node: Node, texts: Sequence[str]) -> None:
    for text in texts:
        said = _DOT.sub(".", _STRINGS.sub("''", text))
        stranger = next((match[0] for match in _TAKEN.finditer(said) if match[0].lower() not in _KNOWN), None)
        if stranger is not None:
            raise _refusal(node.span.line, f"it knows nothing called {quoted(stranger, 40)}")


def _refuse_unknown_names(node: Node, unknown: Mapping[str, Sequence[str]]) -> None:
    for name, keys in unknown.items():
        for key in keys:
            waiting = [node.get(key)]
            while waiting:
                one = waiting.pop()
                waiting += [value for _, value in one.items()] + (list(one.each()) if isinstance(one.value, list) else [])
                asked = [one.text] if key == "if" else expressions(one.text)
                if any(re.search(rf"(?<![\w.-]){name}\s*[.\[]", _STRINGS.sub("", text)) for text in asked):
                    raise _refusal(one.span.line, f"{key} may not name {name} there")


def _refusal(line: int, why: str) -> Unreadable:
    return Unreadable(f"line {line}: GitHub runs nothing of this file, because {why}")
