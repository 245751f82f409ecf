"""Finds the row of a call by its dotted name, and of an operation of AWS however it is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from halfway.inspection.knowledge.rows import Row

_PYTHON = re.compile(
    r"^(?:aio)?boto(?:3|core)\.(?:[Ss]ession(?:\(\))?\.)?(?:client|resource)\(?[\"']?\.?([\w-]*)[\"']?\)?\.(?:.*\.)?(\w+)$"
)
_PYTHON_SHORT = re.compile(r"^(?:aio)?boto3\.([\w-]+)\.(?:.*\.)?(\w+)$")
_TYPESCRIPT = re.compile(r"^@aws-sdk/client-([\w-]+)\.(\w+)Command$")
_ARN = re.compile(r"^arn:[\w-]+:states:[^:]*:[^:]*:(?:aws-sdk:)?([\w-]+):(\w+)(?:\..*)?$")
_GAPS = re.compile(r"\$\{[^{}]*\}")
_FUNCTION = re.compile(r"^arn:[\w-]+:lambda:[^:]*:[^:]*:function:")
_OTHER_NAMES = {
    "sfn": "stepfunctions",
    "states": "stepfunctions",
    "eventbridge": "events",
    "cognitoidentityprovider": "cognitoidp",
    "cloudwatchlogs": "logs",
    "docdb": "rds",
}
_READS = re.compile(
    r"^(?:get|list|describe|head|batchget|search|query|scan|select|lookup|view|check|estimate|simulate|validate|wait|read|download)"
)
MOST_NAMES = 10_000  # that are remembered
# What is put under a name, or tagged, is so after a second time; records that are put into a stream are more each time.
_PUTS = re.compile(r"^(?:put(?!record|event|metric|log|item)|tag|untag)")
_MAKES, _DELETES = ("create", "run", "allocate", "purchase"), ("delete", "terminate", "remove", "purge")


class Calls:
    """The rows by dotted name; capitals and underscores do not matter, since SDKs differ only in them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        found: list[tuple[int, re.Pattern[str], str]] = []
        for row in rows:
            for rule in row.call:
                found.append((-len(rule.replace("*", "")), _dotted(rule), row.action.id))
        self._rules = sorted(found, key=lambda rule: (rule[0], rule[2]))
        self._found: dict[str, str | None] = {}  # a program calls the same few names over and over

    def find(self, name: str) -> str | None:
        if name not in self._found:
            if len(self._found) >= MOST_NAMES:
                self._found.clear()
            plain = _plain(name)
            self._found[name] = next((id for _, pattern, id in self._rules if pattern.fullmatch(plain)), None)
        return self._found[name]


class Operations:
    """The rows by service and operation of AWS, and which operations take a token that tells a repeat."""

    def __init__(self, rows: Iterable[Row], tokens: Mapping[str, Any]) -> None:
        self._tokens = {_letters(service): frozenset(_letters(one) for one in found) for service, found in tokens["operations"].items()}
        found: list[tuple[int, str, str, str]] = []
        for row in rows:
            for rule in row.aws:
                service, _, operation = rule.partition(":")
                found.append((-len(operation.replace("*", "")), _letters(service), _letters(operation), row.action.id))
        self._rules = sorted(found, key=lambda rule: (rule[0], rule[3]))

    def find(self, service: str, operation: str) -> tuple[str, bool]:
        """The id of a row, and whether it is the row of this very operation."""
        of, name = _letters(service), _letters(operation)
        of = _OTHER_NAMES.get(of, of)
        for _, service_rule, rule, id in self._rules:
            if service_rule == of and fnmatchcase(name, rule):
                return id, True
        if _READS.match(name):
            return "aws.read", True
        if _PUTS.match(name):
            return "aws.put", False
        if name in self._tokens.get(of, ()):
            return ("aws.create_with_token" if name.startswith(_MAKES) else "aws.operation_with_token"), True
        return ("aws.create" if name.startswith("create") else "aws.delete" if name.startswith(_DELETES) else "aws.operation"), False


def operation(name: str, service: str = "") -> tuple[str, str] | None:
    """The service and the operation that a name means; None if it is none of AWS."""
    name = _GAPS.sub("x", name) if name.startswith("arn:") else name
    for pattern in (_PYTHON, _TYPESCRIPT, _ARN, _PYTHON_SHORT):
        match = pattern.match(name)
        if match is not None:
            return service or match[1], match[2]
    return ("lambda", "Invoke") if _FUNCTION.match(name) else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("()", "").lower()


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9*]", "", name.lower())


def _dotted(rule: str) -> re.Pattern[str]:
    """`*` is one name or some of it, `**` any number of names."""
    parts = _plain(rule).split(".")
    made = "".join(r"(?:[^.]+\.)*" if part == "**" else re.escape(part).replace(r"\*", r"[^.]*") + r"\." for part in parts)
    return re.compile(made.removesuffix(r"\."))
