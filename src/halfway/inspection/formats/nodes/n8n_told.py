"""Who is told by a node of n8n, and whether it is an answer to the one who has written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from halfway.inspection.formats.nodes import n8n_drawing as drawn
from halfway.inspection.formats.nodes import parts
from halfway.inspection.formats.nodes.n8n_drawing import Drawing
from halfway.inspection.formats.nodes.n8n_effects import address_of, asked, by_webhook
from halfway.inspection.formats.nodes.n8n_triggers import kind_of
from halfway.inspection.formats.nodes.provenance import Tracer, confirms, receiver
from halfway.inspection.model import Effect, Kind, Receiver, Starting
from halfway.inspection.source import Node

_ADDRESS = re.compile(r"""(?i)["'](?:to|recipients?|email|phone|channel|chat_id)["']\s*:\s*\[?\s*["']([^"']+)""")
# What is set once for the whole server is nobody's but the own people's.
_SETTING = re.compile(r"\$(?:env|vars)(?:\.\w+|\[[^\]]{1,80}\])")
_SENDER = {
    "mail": re.compile(r"(?i)\b(?:from|sender|reply_?to|return_?path)"),
    "chat": re.compile(r"(?i)\b(?:chat|from|user|sender|author|channel|wa_?id|phone)"),
    "form": re.compile(""),
}
_NAMES_NODE = re.compile(r"\$\(|\$node\b|\$items\(")
_MOST_HOPS = 12
_IN_THREAD = frozenset({"reply", "replyAll", "replyToSender"})


# Servers that a team runs for itself; who is written to alone may be anybody.
_OF_THE_TEAM = frozenset({"mattermost", "rocketchat", "zulip", "googlechat"})


def _to_one(node: Node) -> bool:
    return node.get("parameters", "resource").text in ("user", "chatMessage") or "user" in node.get("parameters", "sendTo").text


@dataclass(frozen=True)
class Told:
    """The messages of one workflow."""

    drawing: Drawing
    tracer: Tracer

    def with_receiver(self, name: str, effect: Effect | None) -> Effect | None:
        """The effect with who is told."""
        if effect is None or Kind.NOTIFY not in effect.kinds or effect.receiver is not Receiver.UNKNOWN:
            return effect
        node = self.drawing.nodes[name]
        if self.at_home(node) or by_webhook(node) or (drawn.short(node).removesuffix("tool") in _OF_THE_TEAM and not _to_one(node)):
            return replace(effect, receiver=Receiver.TEAM)
        address = self._address(node)
        if not address:
            return effect
        without = _SETTING.sub("", address) if address.startswith("=") else address
        return replace(effect, receiver=receiver(self.tracer.follow(without, name)))

    def answers(self, name: str) -> bool:
        """Whether a message goes to the one who has written, or has filled in the form, that started the run."""
        node = self.drawing.nodes[name]
        if asked(node)[1] in _IN_THREAD:
            of = list(self._origins(drawn.plain(node.get("parameters", "messageId")), name, 0))
            return bool(of) and all(one is not None and _writes(self.drawing.nodes[one[0]]) == "mail" for one in of)
        address = self._address(node)
        found = list(self._origins(address, name, 0)) if address else []
        return bool(found) and all(one is not None and self._is_sender(*one) for one in found)

    def confirms(self, name: str) -> bool:
        """Whether a message tells the one whom an event names what the event has brought."""
        node = self.drawing.nodes[name]
        address = self._address(node)
        starts = [one for one in self.drawing.triggers if name in self.drawing.graph.downstream([one])]
        if not address or any(kind_of(self.drawing.nodes[one]) not in (Starting.EVENT, Starting.MANUAL) for one in starts):
            return False
        texts = (leaf.text for _, leaf in parts.leaves(node.get("parameters")) if leaf.text)
        said = frozenset(root for text in texts for root in self.tracer.follow(text, name))
        return confirms(self.tracer.follow(address, name), said)

    def _is_sender(self, start: str, text: str) -> bool:
        kind = _writes(self.drawing.nodes[start])
        return kind is not None and _SENDER[kind].search(text) is not None

    def _origins(self, text: str, name: str, hops: int) -> Iterator[tuple[str, str] | None]:
        """The starts from whose events an expression is made, with what it takes of each; None: of something else."""
        references = self.drawing.references(text, name) if hops <= _MOST_HOPS else None
        if references is None:
            yield None
            return
        for giver, field in references:
            given = self.drawing.assigned(giver, field)
            if giver in self.drawing.nodes and drawn.is_trigger(self.drawing.nodes[giver]):
                yield giver, drawn.moving(text)
            elif given is not None:
                yield from self._origins(given, giver, hops + 1)
            elif self.drawing.hands_on(giver):
                yield from self._origins(f"={{{{ $json.{field} }}}}" if _NAMES_NODE.search(text) else text, giver, hops + 1)
            else:
                yield None

    def _address(self, node: Node) -> str:
        """Where a message goes, as it is written."""
        values = [drawn.plain(one) for _, one in drawn.parameters_of(node, drawn.table()["parameters"]["recipients"])]
        if not any(values):
            body = parts.texts(node.get("parameters"))
            values = [*_ADDRESS.findall(body), *([address_of(node)] if "hooks." in address_of(node) else [])]
            values = [f"={{{{ {value[2:-2]} }}}}" if value.startswith("{{") else value for value in values]
        return next((value for value in values if value), "")

    def at_home(self, node: Node) -> bool:
        """Whether it is about a channel, whichever it is, of a server or a team that is named in the file."""
        houses = [drawn.plain(node.get("parameters", key)) for key in drawn.table()["parameters"]["houses"]]
        return any(one and not one.startswith("=") for one in houses) and node.get("parameters", "sendTo").text != "user"


def _writes(node: Node) -> str | None:
    """How somebody writes who starts a workflow so: by mail, in a chat, in a form; None: nobody does."""
    writers = drawn.table()["writers"]
    return next((kind for kind in writers if drawn.short(node) in writers[kind]), None)
