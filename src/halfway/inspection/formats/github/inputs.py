"""Inputs of a manual start that nothing uses, and fields of events that a trigger does not bring: the way of recovery is broken there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.github.triggers import events
from halfway.inspection.model import Fact, Step
from halfway.inspection.source import Node, Source, expressions

_FIELD = re.compile(r"\bgithub\.event\.([a-z_]+)")
_REF = re.compile(r"github\.ref_name|\bGITHUB_REF(?:_NAME)?\b|github\.ref\b")
_VERSION = re.compile(r"(?i)version|tag|ref|release")
_WORDS = frozenset({"body", "text", "message", "description"})
_ASKS_START = re.compile(r"event_name|github\.event\b")
_BY_BOT = re.compile(r"(?:^|&&|\{\{)\s*github\.(?:triggering_)?actor\s*==\s*'[\w-]+\[bot\]'")  # who starts it by hand is none
_START = re.compile(r"(?i)event_name")
# Whether that value has come.
_BROUGHT = re.compile(r"-[nz]\s+[\"']?\$\{\{([^}]*)\}\}|\$\{\{([^}]*)\}\}[\"']?\s*(?:==?|!=)\s*(?:\"\"|'')")
_OPENS = re.compile(r"(?:if|case)\b")
_WAY = re.compile(r"(?:if|elif|case)\b")
_CLOSES = re.compile(r"(?:^|[;\s])(?:fi|esac)$")
_COMMON = frozenset({"action", "repository", "sender", "organization", "installation", "enterprise"})
_BRINGS = {
    "schedule": {"schedule", "workflow"},
    "workflow_dispatch": {"inputs", "ref", "workflow"},
    "repository_dispatch": {"client_payload", "branch"},
}


@dataclass(frozen=True)
class Broken:
    """Something that a start does not bring, or brings in vain."""

    name: str
    fact: Fact
    asked: str = ""  # the text that takes the value, as it stands in expressions
    required: bool = False  # who starts it has to name it


def broken(root: Node, source: Source) -> tuple[Broken, ...]:
    """All of a workflow, in the order of the file."""
    unused = list(_unused(root, source))
    found = [*unused, *_instead(unused, root, source), *_missing(root, source)]
    return tuple(sorted(found, key=lambda one: one.fact.span))


def _unused(root: Node, source: Source) -> Iterator[Broken]:
    inputs = root.get("on", "workflow_dispatch", "inputs")
    if re.search(
        r"toJSON\(\s*(?:github\.event\.)?inputs\s*\)|toJSON\(\s*github(?:\.event)?\s*\)|GITHUB_EVENT_PATH", source.text, re.IGNORECASE
    ):
        return
    for name, node in inputs.items():
        if len(list(node.get("options").each())) == 1:
            continue  # there is nothing to choose
        if not re.search(rf"\binputs(?:\.{re.escape(name)}\b(?![-\w])|\[['\"]{re.escape(name)}['\"]\])", source.text):
            yield Broken(
                name, source.fact(node.span), required=node.get("required").value is True or node.get("type").text in ("choice", "boolean")
            )


def _instead(unused: list[Broken], root: Node, source: Source) -> Iterator[Broken]:
    """The version that a person names is not used, and that of the branch is."""
    if not any(_VERSION.search(one.name) for one in unused):
        return
    for node in _texts(root.get("jobs")):
        for offset, line in enumerate(source.lines[node.first_line - 1 : node.span.end]):
            match = _REF.search(line)
            if match is not None and not _guarded(line):
                span = source.span(node.first_line + offset, at=node.span.at)
                yield Broken(match[0], source.fact(span), match[0])


def _missing(root: Node, source: Source) -> Iterator[Broken]:
    # A start by hand, by the clock or by another program is the way of recovery; only there a person would be misled.
    known = [(name, _BRINGS[name]) for name, _ in events(root) if name in ("workflow_dispatch", "schedule", "repository_dispatch")]
    for job in (job for _, job in root.get("jobs").items()):
        for step in list(job.get("steps").each()) or [job]:
            if step.get("uses").text.startswith("actions/checkout@"):
                continue  # without a name of its own it takes what the run is about
            if _ASKS_START.search(job.get("if").text + step.get("if").text) or any(_wants_bot(one) for one in (job, step)):
                continue  # it asks first what started it
            yield from _missing_in(step, known, source)


def _wants_bot(node: Node) -> bool:
    condition = node.get("if").text
    return "||" not in condition and _BY_BOT.search(condition) is not None


def _missing_in(step: Node, known: list[tuple[str, set[str]]], source: Source) -> Iterator[Broken]:
    behind = _behind_a_question(step.get("run").text)
    for node in _texts(step):
        for expression in expressions(node.text):
            if _guarded(expression) or _replaced(expression, step) or expression in behind:
                continue
            for name in _FIELD.findall(expression):
                without = [trigger for trigger, fields in known if name not in fields and name not in _COMMON]
                if without:
                    line = _line(node, f"github.event.{name}", source)
                    span = source.span(line, at=node.span.at)
                    yield Broken(f"github.event.{name} ({', '.join(without)})", source.fact(span), f"github.event.{name}")


def _guarded(text: str) -> bool:
    """Another value is taken where it is missing."""
    return "||" in text or "&&" in text or "event_name" in text


def _replaced(expression: str, step: Node) -> bool:
    """Whether the script of a step takes another value where the variable that holds this one is empty."""
    run, value = step.get("run").text, re.escape("${{" + expression + "}}")
    names = re.findall(rf"^\s*(?:export\s+)?(\w+)=[\"']?{value}[\"']?\s*$", run, re.MULTILINE)
    names += [name for name, node in step.get("env").items() if node.text.strip() == "${{" + expression + "}}"]
    return any(re.search(rf"\$\{{{name}:?[-=?]|-[zn]\s+[\"']?\$\{{?{name}\b", run) for name in names)


def _behind_a_question(run: str) -> frozenset[str]:
    """The expressions of a script that it comes to only after it has asked what started it, as in an `if` or behind an `&&`."""
    every, asked = list[str](), list[set[str]]()  # of each `if` the values that it asks for, and "" where it asks for the event
    free = set[str]()
    for line in run.split("\n"):
        words = line.split("#", 1)[0].strip()
        if _OPENS.match(words):
            asked.append(set())
        if asked and _WAY.match(words):
            asked[-1] |= {(one[1] or one[2]).strip() for one in _BROUGHT.finditer(words)} | ({""} if _START.search(words) else set())
        for expression in expressions(line):
            every.append(expression)
            before = line.split("${{" + expression + "}}", 1)[0]
            if not any("" in one or expression.strip() in one for one in asked) and not _START.search(before):
                free.add(expression)
        if asked and _CLOSES.search(words):
            asked.pop()
    return frozenset(every) - free


def _line(node: Node, text: str, source: Source) -> int:
    for number in range(node.first_line, node.span.end + 1):
        if text in source.line(number):
            return number
    return node.span.line


def _texts(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one.value, str):
            yield one
        elif isinstance(one.value, dict):
            waiting.extend(reversed(list(one.value.values())))
        elif isinstance(one.value, list):
            waiting.extend(reversed(one.value))


def marked(step: Step, node: Node, texts: str, found: tuple[Broken, ...]) -> Step:
    """The step with what is broken of the values that flow into it; one that asks what started it has been written for that start."""
    asks = _ASKS_START.search(step.condition) is not None
    mine = [one for one in found if one.asked and one.asked in texts and not (asks and one.asked.startswith("github.event."))]
    if not mine or step.effect is None:
        return step
    names = "; ".join(dict.fromkeys(one.name for one in mine))
    facts = tuple(dict.fromkeys(one.fact for one in mine))
    said = {"broken_in": "words"} if all(_is_only_said(one.asked, node) for one in mine) else {}
    return replace(step, extra={**step.extra, "broken_inputs": names, **said}, facts=(*step.facts, *facts))


def _is_only_said(asked: str, node: Node) -> bool:
    """Whether a step takes a value nowhere but in what people read."""
    inputs = [name for name, value in node.get("with").items() if asked in value.text]
    elsewhere = any(asked in text.text for part in ("run", "env") for text in _texts(node.get(part)))
    return bool(inputs) and not elsewhere and all(name in _WORDS for name in inputs)
