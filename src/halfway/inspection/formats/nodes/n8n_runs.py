"""Executions of n8n as its command line, its API and its database give them: which node landed, which did not run, which nobody knows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from halfway.inspection.formats.nodes import parts
from halfway.inspection.model import Fact, Outcome, Ran, RunLog
from halfway.inspection.quoting import quoted
from halfway.inspection.source import DEEPEST, MOST_NODES, Node, Source, Unreadable, Value, join

REJECTED = frozenset({400, 401, 403, 404, 405, 410, 422})
_NOT_SENT = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|CERT_|certificate|getaddrinfo")
_CODE = re.compile(r"(?:^|status code )([45]\d\d)\b")
_PLACE = re.compile(r"[0-9]{1,9}")
_IDS = ("id", "key", "sid", "ts", "name", "messageId", "message_id", "number")
_HALTED = ("crashed", "canceled", "running", "unknown", "new")


def is_execution(root: Node) -> bool:
    """Whether a value tells about a run."""
    return root.get("data").there and (root.get("workflowId").there or root.get("workflowData").there)


def log_of(root: Node, source: Source) -> RunLog:
    """One execution."""
    definition, data = root.get("workflowData"), _data(root, source)
    ran = data.get("resultData", "runData")
    steps = tuple(_steps(root, definition, data, ran))
    version = next((one for one in (root.get("workflowVersionId"), definition.get("versionId")) if one.text), root.get("workflowVersionId"))
    return RunLog(
        id=root.get("id").text,
        format="n8n",
        name=definition.get("name").text or root.get("workflowId").text,
        attempt=2 if root.get("retryOf").text else 1,
        span=root.span,
        steps=steps,
        version=version.text,
        version_at=version.span,
    )


def _steps(root: Node, definition: Node, data: Node, ran: Node) -> Iterator[Ran]:
    status = root.get("status").text
    told = sorted(ran.items(), key=lambda item: item[1].get(0, "executionIndex").number or item[1].get(0, "startTime").number or 0)
    for name, attempts in told:
        yield _ran(name, attempts)
    last = data.get("resultData", "lastNodeExecuted")
    if last.text and last.text not in dict(told):
        yield Ran(last.text, last.text, Outcome.UNKNOWN, parts.fact(data.get("resultData"), "lastNodeExecuted"))
    for node in definition.get("nodes").each():
        name = node.get("name").text
        if name and name != last.text and name not in dict(told) and not node.get("type").text.endswith("stickyNote"):
            yield Ran(name, name, _absent(name, status, dict(told), definition), _why(root, node, bool(told)))


def _absent(name: str, status: str, told: dict[str, Node], definition: Node) -> Outcome:
    """Of a node that the run does not tell about; one that was due when the run was halted may have begun."""
    if not told:
        return Outcome.NO_LOG
    if status not in _HALTED:
        return Outcome.NOT_EXECUTED
    due = {
        one.get("node").text for before in told for output in definition.get("connections", before, "main").each() for one in output.each()
    }
    return Outcome.UNKNOWN if name in due else Outcome.NOT_EXECUTED


def _why(root: Node, node: Node, told: bool) -> Fact:
    """The status tells why a node is not there; where nothing is there at all, so does the node."""
    return parts.fact(root, "status") if told and root.get("status").there else parts.fact(node, "name")


def _ran(name: str, attempts: Node) -> Ran:
    """One node with all that it ran for: what nobody knows counts before what landed."""
    outcomes = {_outcome(one): one for one in attempts.each()}
    for outcome in (Outcome.UNKNOWN, Outcome.LANDED, Outcome.NOT_EXECUTED):
        if outcome in outcomes:
            one = outcomes[outcome]
            return Ran(name, name, outcome, _fact(one, attempts), _external_id(one))
    return Ran(name, name, Outcome.NO_LOG, Fact(attempts.span, quoted(json.dumps(name, ensure_ascii=False))))


def _fact(one: Node, attempts: Node) -> Fact:
    if one.get("error"):
        said = parts.entries(one.get("error"), "message", "httpCode", "code", "description")
        return Fact(one.get("error").span, said or parts.entry(one, "error"))
    return parts.fact(one, "executionStatus") if one.get("executionStatus").there else Fact(attempts.span, parts.entries(one, "startTime"))


def _outcome(one: Node) -> Outcome:
    error = one.get("error") or next((item for item in _items(one) if item), Node(None, one.span, there=False))
    if error:
        return _failed(error)
    return Outcome.LANDED if one.get("executionStatus").text in ("success", "") else Outcome.UNKNOWN


def _items(one: Node) -> Iterator[Node]:
    """The errors that a node which goes on hands over as if they were records."""
    for output in one.get("data", "main").each():
        for item in output.each():
            yield item.get("error") if item.get("error") else item.get("json", "error")


def _failed(error: Node) -> Outcome:
    """A vendor that refuses has done nothing; a connection that was not made has sent nothing; everything else may have landed."""
    said = parts.texts(error)
    number = error.get("httpCode").number or error.get("statusCode").number or error.get("cause", "status").number
    if number is None:
        found = _CODE.search(error.get("message").text or error.text)
        number = float(found[1]) if found else None
    if number in REJECTED or (number is None and _NOT_SENT.search(said)):
        return Outcome.NOT_EXECUTED
    return Outcome.UNKNOWN


def _external_id(one: Node) -> str:
    """The name that the receiver gave, from the first record that was answered."""
    record = one.get("data", "main", 0, 0, "json")
    return next((quoted(record.get(name).text, 80) for name in _IDS if record.get(name).text), "")


# ── the form of the database: a list in which every text is the place of a value ──


def _data(root: Node, source: Source) -> Node:
    data = root.get("data")
    if not isinstance(data.value, str):
        return data
    flat = Source(source.path, data.value).json
    if flat is None:
        raise Unreadable(f"line {data.span.line}: the data of the execution is no JSON")
    return _Flat(list(flat.each()), data).node(0, data.span.at, 0) if isinstance(flat.value, list) else data


class _Flat:
    """Unfolds such a list within bounds; a value that contains itself ends there."""

    def __init__(self, values: Sequence[Node], data: Node) -> None:
        self._values, self._data, self._left = values, data, MOST_NODES // 2

    def node(self, place: int, path: str, depth: int) -> Node:
        self._left -= 1
        if self._left < 0:
            raise Unreadable(f"line {self._data.span.line}: the data of the execution has too many values")
        if depth > DEEPEST // 2 or not 0 <= place < len(self._values):
            return self._made(None, path)
        value = self._values[place].value
        if isinstance(value, dict):
            return self._made({key: self._inner(one.value, join(path, key), depth) for key, one in value.items()}, path)
        if isinstance(value, list):
            return self._made([self._inner(one.value, join(path, number), depth) for number, one in enumerate(value)], path)
        return self._made(value, path)

    def _inner(self, value: Value, path: str, depth: int) -> Node:
        if isinstance(value, str):
            return self.node(int(value), path, depth + 1) if _PLACE.fullmatch(value) else self._made(None, path)
        return self._made(value, path)

    def _made(self, value: Value, path: str) -> Node:
        """Everything stands in the one line of the file that has the list."""
        return Node(value, replace(self._data.span, at=path))
