"""Says in sentences what the knowledge base holds about an action. Texts are message ids, those of the rows as well."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from halfway.inspection.finding import Said
from halfway.inspection.knowledge.action import Action, Key, Trust
from halfway.inspection.knowledge.base import Knowledge
from halfway.inspection.model import Effect, Kind, Repeat, Reversible

_NONE = "none"
_REQUEST = re.compile(r"^([A-Z]+) +((?:\w+://)?[\w.-]+/\S+)$")  # without its path it may be one of several
_USED = re.compile(r"^[\w.-]+/[\w./-]+(?:@\S+)?$")
_CALL = re.compile(r"^\w+(?:\.\w+)+$")
LIKE = 12  # ids that are proposed

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


def find(known: Knowledge, words: str) -> Action | None:
    """The action of this id, or of these words, as a card prints them: a command, a request, an action of GitHub Actions, a call."""
    id = words.strip()
    effect = None if any(action.id == id for action in known.actions()) else _effect(known, id)
    return next((action for action in known.actions() if action.id == (id if effect is None else effect.action)), None)


def _effect(known: Knowledge, words: str) -> Effect | None:
    request = _REQUEST.match(words)
    if request is not None:
        return known.http(request[1], request[2])
    if _USED.match(words):
        return known.uses(words, {})
    if _CALL.match(words):
        return known.call(words, {})
    try:
        command = shlex.split(words)
    except ValueError:  # a quote that is not closed
        return None
    return (known.command(command) if command else None) or _of_node(known, command)


def _of_node(known: Knowledge, words: Sequence[str]) -> Effect | None:
    """Of a service and what it is told, as cards call the tasks of Step Functions and the nodes of n8n and Make."""
    match words:
        case [service, operation]:
            found = known.node("step-functions", f"arn:aws:states:::{service}:{operation}")
            # Of an operation that has no row of its own nothing is known but whose it is.
            return found if found is not None and not found.action.startswith("aws.operation") else None
        case [node, resource, operation]:
            return known.node("n8n", f"n8n-nodes-base.{node}", resource, operation)
        case [module] if ":" in module:
            return known.node("make", module)
        case _:
            return None


def like(known: Knowledge, words: str) -> Sequence[str]:
    """Ids that may have been meant: spelt alike, or of a vendor whose name is among the words."""
    ids = [action.id for action in known.actions()]
    names = set(re.findall(r"\w{3,}", words.lower()))
    vendors = (id for id in ids if id.partition(".")[0] in names)
    return tuple(dict.fromkeys((*difflib.get_close_matches(words, ids, n=3), *vendors)))[:LIKE]


def listed(known: Knowledge) -> Iterator[tuple[str, tuple[Said, ...]]]:
    """Every id with what its action does."""
    for action in known.actions():
        yield action.id, tuple(Said(KINDS[kind]) for kind in Kind if kind in action.kinds)


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
    return (Said("The receiver tells a repeat by: {where}", {"where": Said(key.where)}), *kept, *warned)


def _looking(action: Action) -> Said:
    if action.probe == _NONE:
        return Said("There is no way to look whether it has happened.")
    return Said("To look without changing anything: {probe}", {"probe": Said(action.probe)})


def _undoing(action: Action) -> Said:
    if action.compensation == _NONE:
        return Said("There is nothing that takes it back: hand it to a person.")
    return Said("To set it right: {compensation}", {"compensation": Said(action.compensation)})
