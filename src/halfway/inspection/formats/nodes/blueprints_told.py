"""Who is told by a module of Make, whether it is an answer to the one who has written, and who waits for what comes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from halfway.inspection.formats.nodes import blueprints, parts
from halfway.inspection.formats.nodes.blueprints import Blueprint
from halfway.inspection.formats.nodes.blueprints_effects import Done
from halfway.inspection.formats.nodes.provenance import Tracer, confirms, receiver
from halfway.inspection.model import Effect, Kind, Receiver

_SENDER = re.compile(r"(?i)\b(?:from|sender|reply_?to|chat|user|author|wa_?id)\b")
_MAIL = re.compile(r"e?mail|imap|outlook")
# What a column says in which somebody ticks off what was done.
_TICKED = re.compile(r"(?i)^(?:yes|s[ií]|oui|ja|true|ok|done|sent|enviado|✓|✅)$")
_UNSEEN = re.compile("[\\s\u200b\ufeff]+")
_TABLES = frozenset({"google-sheets", "airtable", "notion", "datastore"})


@dataclass(frozen=True)
class Told:
    """The messages of one scenario, and its answers to a caller."""

    scenario: Blueprint
    done: Mapping[str, Done]
    tracer: Tracer

    def with_receiver(self, name: str, effect: Effect | None) -> Effect | None:
        """The effect with who is told."""
        if effect is None or Kind.NOTIFY not in effect.kinds or effect.receiver is not Receiver.UNKNOWN:
            return effect
        address = self._address(name)
        if not address and self._has_channel(name):
            return replace(effect, receiver=Receiver.TEAM)
        return replace(effect, receiver=receiver(self.tracer.follow(address, name))) if address else effect

    def _has_channel(self, name: str) -> bool:
        """Whether the channel is among the settings of a module, which are the same in every run."""
        given = self.scenario.modules[name].node.get("parameters")
        return bool(given.get("channel").text or given.get("channelId").text)

    def marks(self, name: str) -> dict[str, str]:
        """What rules may ask about a module that does something outside."""
        effect = self.done[name].effect
        if effect is None or not effect.outward:
            return {}
        return {
            "answers": "true" if Kind.NOTIFY in effect.kinds and self._answers(name) else "",
            "confirms": "true" if Kind.NOTIFY in effect.kinds and self._confirms(name) else "",
            "waited_for": "true" if self._waits(name) else "",
            "logs": "true" if self._logs(name) else "",
        }

    def _confirms(self, name: str) -> bool:
        """Whether it tells the one whom a hook names what the hook has brought."""
        address = self._address(name)
        if not address or not self.scenario.role(self.scenario.first, "hooks"):
            return False
        mapper = self.scenario.modules[name].node.get("mapper")
        return confirms(self.tracer.follow(address, name), self.tracer.follow(parts.texts(mapper), name))

    def _address(self, name: str) -> str:
        given = self.scenario.modules[name].node.get("mapper")
        return next((text for key in blueprints.table()["parameters"]["recipients"] if (text := parts.texts(given.get(key)))), "")

    def _answers(self, name: str) -> bool:
        """Whether it goes to the one whose mail, message or form the first module has brought."""
        address, first = self._address(name), self.scenario.first
        givers = {giver for giver, _ in self.scenario.references(address, name) or ()}
        if givers != {first}:
            return False
        brought, sent = (self.scenario.kind(one).split(":")[0] for one in (first, name))
        if brought in blueprints.table()["modules"]["forms"]:
            return True
        same = brought == sent or (_MAIL.search(brought) is not None and _MAIL.search(sent) is not None)
        return same and _SENDER.search(blueprints.moving(address)) is not None

    def _waits(self, name: str) -> bool:
        """Whether the caller of the scenario is answered after it."""
        later = self.scenario.graph.downstream([name])
        return self.scenario.role(self.scenario.first, "hooks") and any(self.scenario.role(one, "answers") for one in later)

    def _logs(self, name: str) -> bool:
        """Whether it writes a row in which something is ticked off as done."""
        node = self.scenario.modules[name].node
        if self.scenario.kind(name).split(":")[0] not in _TABLES:
            return False
        return any(_TICKED.match(_UNSEEN.sub("", leaf.text)) for _, leaf in parts.leaves(node.get("mapper", "values")))
