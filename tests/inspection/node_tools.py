"""What the tests of the node tools share: a base of a handful of actions, and sources made of values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

from halfway.inspection.formats import Given
from halfway.inspection.knowledge import Action, Key, Knowledge, Trust
from halfway.inspection.model import Effect, Kind, Receiver, Repeat, Reversible
from halfway.inspection.source import Source


def action(id: str, kind: Kind, repeat: Repeat, key: str = "") -> Action:
    kept = Key(key) if key else None
    return Action(
        id,
        frozenset({kind}),
        repeat,
        Reversible.NO,
        kept,
        "none",
        "none",
        False,
        ("https://vendor.example",),
        date(2026, 11, 29),
        Trust.KNOWN,
    )


ROWS = {
    row.id: row
    for row in (
        action("read", Kind.READ, Repeat.SAFE),
        action("mail", Kind.NOTIFY, Repeat.DUPLICATES),
        action("chat", Kind.NOTIFY, Repeat.DUPLICATES),
        action("text", Kind.NOTIFY, Repeat.DUPLICATES),
        action("page", Kind.CREATE, Repeat.DUPLICATES),
        action("ticket", Kind.CREATE, Repeat.DUPLICATES),
        action("charge", Kind.MONEY, Repeat.WITH_KEY, "header Idempotency-Key"),
        action("row", Kind.RECORD, Repeat.DUPLICATES),
        action("merged", Kind.RECORD, Repeat.MERGES),
        action("model", Kind.AGENT, Repeat.SAFE),
        action("stored", Kind.RECORD, Repeat.REJECTS),
    )
}
NODES = {
    "n8n-nodes-base.twilio": "text",
    "n8n-nodes-base.gmail": "mail",
    "n8n-nodes-base.gmailTool": "mail",
    "n8n-nodes-base.slack": "chat",
    "n8n-nodes-base.airtable": "merged",
    "n8n-nodes-base.googleSheets": "row",
    "n8n-nodes-base.zendesk": "ticket",
    "@n8n/n8n-nodes-langchain.agent": "model",
    "GoogleMailV2CLIAPI message": "mail",
    "SlackCLIAPI channel_message": "chat",
    "JiraSoftwareCloudCLIAPI create_issue": "ticket",
    "JiraSoftwareCloudCLIAPI find_issue": "read",
    "GoogleSheetsV2CLIAPI update_row": "merged",
    "StripeCLIAPI create_charge": "charge",
    "OpenAiCLIAPI send_prompt": "model",
    "google-email:ActionSendEmail": "mail",
    "slack:CreateMessage": "chat",
    "airtable:ActionCreateRecord": "row",
    "datastore:ExistRecord": "read",
    "datastore:AddRecord": "stored",
}


class Base(Knowledge):
    """A base that knows as much as the tests ask."""

    def __init__(self) -> None:
        pass

    def action(self, id: str) -> Action:
        return ROWS[id]

    def actions(self) -> Sequence[Action]:
        return tuple(ROWS.values())

    def effect(self, id: str, told: str, *, certain: bool = True, receiver: Receiver = Receiver.UNKNOWN) -> Effect:
        row = ROWS[id]
        return Effect(id, row.kinds, row.repeat, row.reversible, told, certain, receiver)

    def command(self, words: Sequence[str]) -> Effect | None:
        return self.effect("page", " ".join(words)) if words[:2] == ["gh", "issue"] else None

    def http(self, method: str, url: str) -> Effect | None:
        if method in ("GET", "HEAD"):
            return self.effect("read", f"{method} {url}")
        for host, id in (("pay.example", "charge"), ("pages.example", "page"), ("hooks.chat.example", "chat")):
            if host in url:
                return self.effect(id, f"{method} {host}")
        return Effect("", frozenset({Kind.UNKNOWN}), Repeat.UNKNOWN, Reversible.UNKNOWN, f"{method} {url}", certain=False)

    def node(self, format: str, type: str, resource: str = "", operation: str = "") -> Effect | None:
        if operation in ("get", "getAll", "search"):
            return self.effect("read", f"{type} {operation}")
        id = NODES.get(f"{type} {operation}".strip()) or NODES.get(type)
        return self.effect(id, f"{type} {operation}".strip()) if id else None


def written(value: object, path: str = "flow.json", *, indent: int | None = 1) -> Source:
    return Source(path, json.dumps(value, indent=indent, ensure_ascii=False))


def given(*sources: Source) -> Given:
    return Given({source.path: source for source in sources}, Base())


def line_of(source: Source, text: str) -> int:
    """The one line in which a text stands."""
    found = [number for number, line in enumerate(source.lines, 1) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]
