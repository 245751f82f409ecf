"""The rows of the knowledge base and how a reader finds one. A row without a source cannot exist."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from halfway.inspection.knowledge.action import Action, Key, Trust
from halfway.inspection.knowledge.names import Calls, Operations, operation
from halfway.inspection.knowledge.nodes import Nodes
from halfway.inspection.knowledge.rows import Row, rows, table
from halfway.inspection.knowledge.shell import Command, Commands, fetches, only_tries, values
from halfway.inspection.knowledge.sql import row_of
from halfway.inspection.knowledge.urls import READING, Requests, address, asks, asks_for_token, completes, selects, signs_in
from halfway.inspection.knowledge.uses import Uses
from halfway.inspection.knowledge.verbs import inferred
from halfway.inspection.knowledge.web import sent
from halfway.inspection.model import Effect, Kind, Receiver, Repeat, Reversible
from halfway.inspection.quoting import quoted

__all__ = ["Action", "Key", "Knowledge", "Trust", "load"]

LONGEST = 300  # letters of a name that are read
_HTTP_CALL = re.compile(
    r"^(?:(?:requests|httpx2?|aiohttp|axios|ky|got|superagent|needle|niquests|urllib3)\b.*?\.|axios$|(?:.*\.)?fetch$|ky$|got$)"
    r"(?:.*\.)?(get|head|options|post|put|patch|delete|request|send)?$",
    re.IGNORECASE,
)
_PLAIN_SESSION = re.compile(r"\.(get|head|options|post|put|patch|delete|request)$")
_SQL_CALL = re.compile(r"\.(?:execute|executemany|exec_driver_sql|executescript|query|unsafe)$")


class Knowledge:
    """The whole base; finds the row that an expression of a format is about, or nothing. It never guesses."""

    def __init__(
        self, rows: Sequence[Row], shell: Mapping[str, object], defaults: Mapping[str, object], tokens: Mapping[str, object]
    ) -> None:
        self._actions = {row.action.id: row.action for row in rows}
        self._commands, self._uses, self._requests = Commands(rows, shell), Uses(rows), Requests(rows)
        self._calls, self._operations, self._nodes = Calls(rows), Operations(rows, tokens), Nodes(rows, defaults)

    def action(self, id: str) -> Action:
        """A row by its id; raises KeyError."""
        return self._actions[id]

    def actions(self) -> Sequence[Action]:
        """All rows, by id."""
        return tuple(self._actions.values())

    def effect(self, id: str, told: str, *, certain: bool = True, receiver: Receiver = Receiver.UNKNOWN) -> Effect:
        """The effect of a row as a step has it."""
        row = self._actions[id]
        return Effect(id, row.kinds, row.repeat, row.reversible, quoted(told, 80), certain, receiver)

    def command(self, words: Sequence[str]) -> Effect | None:
        """Of a command of a shell, its words unquoted; None: it does nothing outside that is known.

        A command that only looks is a READ. `sudo`, `npx`, `uv run`, `timeout 30` and the like are skipped.
        """
        command = self._commands.plain(words)
        if command is None or only_tries(command):
            return None
        if fetches(command):
            return self.effect("read", command.words[0])
        found = self._commands.find(command)
        if found is not None:
            return self.effect(*found)
        request = sent(command)
        if request is not None:
            return self.http(*request)
        return self._inside(command)

    def uses(self, action: str, given: Mapping[str, str]) -> Effect | None:
        """Of an action of GitHub Actions, as `pypa/gh-action-pypi-publish@v1`, with its inputs.

        One that is known to do nothing outside is a READ; None: nobody knows what it does.
        """
        found = self._uses.find(action, given)
        return None if found is None else self.effect(found[0], action.split("@", maxsplit=1)[0], certain=found[1])

    def http(self, method: str, url: str, body: str = "") -> Effect | None:
        """Of a request; one that writes to a host that is not known is UNKNOWN with repeat UNKNOWN, a GET or HEAD is READ."""
        method, at = method.strip().upper() or "GET", address(url)
        told = f"{method} {at.shown}".strip()
        if method in READING:
            return self.effect("read", told)
        id = self._requests.find(method, at, body) if at.host else None
        if id is not None:
            return self.effect(id, told)
        if method == "POST" and (asks(url) or selects(body) or asks_for_token(body) or signs_in(url, body)):
            return self.effect("read", told, certain=False)
        if method == "POST" and completes(url, body):
            return self.effect("model.call", told, certain=False)
        named = self._requests.find_named(at)
        return self.effect(named, told, certain=False) if named else _unknown(told)

    def call(self, name: str, given: Mapping[str, str]) -> Effect | None:
        """Of a call in Python or TypeScript by its dotted name with aliases resolved: `stripe.PaymentIntent.create`.

        Given are the literal arguments by name, or by place as "0" and "1". Of an AWS client: `boto3.client("sns").publish`.
        """
        name = name[:LONGEST]
        id = self._calls.find(name)
        if id is not None:
            return self.effect(id, name)
        of = operation(name, given.get("service", ""))
        if of is not None:
            return self._aws(*of)
        if _SQL_CALL.search(name):
            id = row_of(given.get("0", "") or given.get("query", "") or given.get("statement", ""))
            return self.effect(id, name.rsplit(".", 1)[-1]) if id else None
        return self._sent_by(name, given)

    def node(self, format: str, type: str, resource: str = "", operation: str = "") -> Effect | None:
        """Of a node of n8n, a step of Zapier (api, action), a module of Make, a resource of Step Functions; with the format's defaults.

        A node of n8n or a module of Make that sends a request takes its address as the resource and its method as the operation.
        """
        match format.lower().replace("_", "-"):
            case "n8n":
                return self._n8n(type, resource, operation)
            case "zapier":
                return self._app("zapier", type.split("@", maxsplit=1)[0], operation or resource)
            case "make":
                return self._make(type, resource, operation)
            case _:
                return self._resource(type, resource, operation)

    # ── by format ──

    def _inside(self, command: Command) -> Effect | None:
        match command.words:
            case ("aws", service, operation, *_):
                return self._aws(service, operation)
            case ("psql" | "mysql" | "mariadb" | "sqlite3" as program, *rest):
                id = row_of(" ; ".join(values(command, "-c", "--command", "-e", "--execute")) or " ".join(rest[1:]))
                return self.effect(id, program) if id else None
            case _:
                return None

    def _aws(self, service: str, operation: str) -> Effect:
        id, certain = self._operations.find(service, operation)
        return self.effect(id, f"{service} {operation}".strip(), certain=certain)

    def _sent_by(self, name: str, given: Mapping[str, str]) -> Effect | None:
        url = given.get("url") or given.get("input") or given.get("0", "")
        known, session = _HTTP_CALL.match(name), _PLAIN_SESSION.search(name)
        if known is None and not (session and re.match(r"[frb]?[\"'`]?https?://", url)):
            return None
        verb = ((known and known[1]) or (session and session[1]) or "").lower()
        if verb in ("request", "send", ""):
            by_place = verb == "request" and "url" not in given and given.get("1")
            method, url = (given.get("0", ""), given.get("1", "")) if by_place else (given.get("method", ""), url)
            verb = method.strip("\"'`") or ("GET" if verb == "" else "?")
        return _unknown(name) if verb == "?" else self.http(verb, url)

    def _n8n(self, type: str, resource: str, operation: str) -> Effect | None:
        short, of, does = self._nodes.n8n_names(type, resource, operation)
        if short in ("httpRequest", "httpRequestTool"):
            return self.http(operation or "GET", resource)
        told = f"{short} {of} {does}" if of else f"{short} {does}".strip()
        id = self._nodes.find("n8n", (short, of, does))
        return self.effect(id, told) if id else self._inferred(does, told)

    def _make(self, module: str, resource: str, operation: str) -> Effect | None:
        if module.split(":", maxsplit=1)[0] == "http" and resource:
            return self.http(operation or "GET", resource)
        return self._app("make", module, module.rsplit(":", maxsplit=1)[-1])

    def _app(self, format: str, app: str, does: str) -> Effect | None:
        told = app if format == "make" else f"{app} {does}".strip()
        id = self._nodes.find(format, (app,) if format == "make" else (app, does))
        return self.effect(id, told) if id else self._inferred(does, told)

    def _resource(self, type: str, resource: str, operation_: str) -> Effect | None:
        if ":states:::http:" in type or ":apigateway:invoke" in type:
            return self.http(operation_, resource) if operation_ else _unknown(type.rsplit(":::", 1)[-1])
        of = operation(type)
        if of is None:
            return None
        return self._aws(*of)

    def _inferred(self, does: str, told: str) -> Effect | None:
        """By its verb alone: what it makes is inferred, and what a second call does is not known."""
        kind = inferred(does)
        if kind is Kind.READ:
            return self.effect("read", told)
        return _unknown(told, kind) if kind else None


def _unknown(told: str, kind: Kind = Kind.UNKNOWN) -> Effect:
    return Effect("", frozenset((kind,)), Repeat.UNKNOWN, Reversible.UNKNOWN, quoted(told, 80), certain=False)


def load() -> Knowledge:
    """Reads the data that comes with the package; raises ValueError for a row that breaks the schema."""
    return Knowledge(rows(), table("shell"), table("n8n"), table("aws"))
