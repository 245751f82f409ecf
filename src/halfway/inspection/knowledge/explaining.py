"""Says in sentences what the knowledge base holds about one action. Texts are message ids, those of the rows as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfway.inspection.finding import Said
from halfway.inspection.knowledge.action import Action, Key, Trust
from halfway.inspection.model import Kind, Repeat, Reversible

_NONE = "none"

KINDS: Mapping[Kind, str] = {
    Kind.READ: "It only looks.",
    Kind.CREATE: "It makes something new.",
    Kind.NOTIFY: "It tells people something.",
    Kind.MONEY: "It moves money, or promises it.",
    Kind.RECORD: "It changes records.",
    Kind.PERMISSION: "It changes who may do what.",
    Kind.AGENT: "A model with tools decides what it does.",
    Kind.DEPLOY: "It changes what is running.",
    Kind.PUBLISH: "It publishes; what is out cannot be made different.",
    Kind.GIT: "It changes a repository of git.",
    Kind.FILE: "It writes files.",
    Kind.ENQUEUE: "It starts work elsewhere.",
    Kind.DELETE: "It deletes.",
    Kind.UNKNOWN: "It does something outside that cannot be seen from here.",
}
REPEATS: Mapping[Repeat, str] = {
    Repeat.SAFE: "A second call has no further effect.",
    Repeat.WITH_KEY: "A second call is safe only with the same key as the first.",
    Repeat.REJECTS: "A second call is refused: nothing happens twice, and the step fails.",
    Repeat.MERGES: "A second call changes what the first one made.",
    Repeat.DUPLICATES: "A second call does it a second time.",
    Repeat.UNKNOWN: "What a second call does is not known.",
}
REVERSIBLE: Mapping[Reversible, str] = {
    Reversible.YES: "It can be taken back.",
    Reversible.WINDOW: "It can be taken back for a while, or in part.",
    Reversible.FORWARD: "It is not taken back, only followed by something that sets it right and stays visible.",
    Reversible.NO: "It cannot be taken back.",
    Reversible.UNKNOWN: "Whether it can be taken back is not known.",
}
TRUSTS: Mapping[Trust, str] = {
    Trust.VERIFIED: "Verified in the sources on {date}.",
    Trust.KNOWN: "Needs confirmation: the sources are official, and were not read again on {date}.",
    Trust.UNSURE: "Needs confirmation: on {date} the sources did not settle it.",
}


def explain(action: Action) -> Sequence[Said]:
    """What is known of an action: what it does, what a second call does, how to look, how to take it back, and who says so."""
    return (
        Said("{id}", {"id": action.id}),
        *(Said(KINDS[kind]) for kind in Kind if kind in action.kinds),
        Said(REPEATS[action.repeat]),
        *(_key(action.key, action.minted_by_sdk) if action.key else ()),
        _looking(action),
        Said(REVERSIBLE[action.reversible]),
        _undoing(action),
        *((Said("People hear of it, and of every repeat."),) if action.mails else ()),
        Said(TRUSTS[action.trust], {"date": action.checked.isoformat()}),
        *(Said("Source: {address}", {"address": source}) for source in action.sources),
    )


def _key(key: Key, minted: bool) -> Sequence[Said]:
    kept = (Said("It remembers that for {seconds} seconds.", {"seconds": key.seconds}),) if key.seconds else ()
    warned = (Said("The SDK makes a key for each call when none is given; that protects only the SDK's own retries."),) if minted else ()
    return (Said("The receiver tells a repeat by: {where}", {"where": key.where}), *kept, *warned)


def _looking(action: Action) -> Said:
    if action.probe == _NONE:
        return Said("There is no way to look whether it has happened.")
    return Said("To look without changing anything: {probe}", {"probe": action.probe})


def _undoing(action: Action) -> Said:
    if action.compensation == _NONE:
        return Said("There is nothing that takes it back: hand it to a person.")
    return Said("To set it right: {compensation}", {"compensation": action.compensation})
