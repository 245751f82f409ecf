"""What names and expressions of a definition say: a failure, a decision, a way back, an identity. Only words, nothing is evaluated."""

from __future__ import annotations

import re
from dataclasses import replace

from halfway.inspection.knowledge.verbs import acts
from halfway.inspection.model import Bearing, Effect, Kind, Repeat, Reversible

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[가-힣]+")
_BACK = frozenset(
    [
        "cancel",
        "cancels",
        "cancelled",
        "refund",
        "refunds",
        "undo",
        "revert",
        "rollback",
        "compensate",
        "compensation",
        "release",
        "void",
        "reverse",
        "restore",
        "return",
        "remove",
        "delete",
        "unbook",
        "unreserve",
        "credit",
        "취소",
        "환불",
        "복구",
        "보상",
        "해제",
    ]
)
_FAILURE = re.compile(r"(?i)fail|unsuccess|error|reject|declin|denied|abort|cancel|timed? ?out|실패|거절|반려|오류")
_DECISION = re.compile(r"(?i)approv|reject|declin|den(?:y|ied)|accept|expire|cancel|승인|반려|거절|거부|수락")
_APPROVAL = re.compile(r"(?i)approv|review|confirm|consent|sign.?off|승인|검토|확인|결재")
_MINTED = re.compile(
    r"(?i)\buuid|randomUUID|States\.UUID|\bnanoid|\bulid|Math\.random|\$random|MathRandom|\bDate\b|Date\.now|performance\.now|"
    r"\bnow\(|\$now|\$millis|EnteredTime|RetryCount|\battempts?\b|StartTime|getRandomValues|date \+|\$RANDOM"
)
_COMMON = frozenset(
    ["the", "a", "of", "to", "and", "step", "task", "state", "process", "do", "run", "call", "send", "set", "get", "by", "for", "with"]
)


def words(name: str) -> frozenset[str]:
    """The words of a name in any of the usual spellings, small."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def is_back(name: str) -> bool:
    """Whether a name says that something is taken back."""
    return bool(words(name) & _BACK)


def takes_back(back: str, forward: str) -> bool:
    """Whether one name says that it takes back what the other does: `Refund Payment` and `Process Payment`."""
    return is_back(back) and not is_back(forward) and bool((words(back) - _BACK - _COMMON) & (words(forward) - _COMMON))


def is_failure(text: str) -> bool:
    """Whether a name or a compared value speaks of a failure."""
    return _FAILURE.search(text) is not None


def is_decision(text: str) -> bool:
    """Whether a name speaks of the answer that a person gives."""
    return _DECISION.search(text) is not None


def is_approval(text: str) -> bool:
    """Whether a name speaks of a person who looks and agrees."""
    return _APPROVAL.search(text) is not None


def is_minted(expression: str) -> bool:
    """Whether an expression has a part that is new each time."""
    return _MINTED.search(expression) is not None


def bearing(expression: str, stable: re.Pattern[str]) -> Bearing:
    """What a key computed so carries; the pattern finds what the format keeps over repeats."""
    if is_minted(expression):
        return Bearing.MINTED
    return Bearing.STABLE if stable.search(expression) else Bearing.UNKNOWN


_MONEY = frozenset(
    [
        "pay",
        "payment",
        "payments",
        "charge",
        "charges",
        "refund",
        "refunds",
        "payout",
        "payouts",
        "billing",
        "invoice",
        "invoices",
        "결제",
        "환불",
        "청구",
    ]
)
_NOTICE = frozenset(["mail", "email", "emails", "sms", "notify", "notification", "notifications", "message", "알림", "메일", "문자"])
_TELLING = frozenset({Kind.NOTIFY, Kind.READ, Kind.UNKNOWN, Kind.AGENT})
_LOOKING = frozenset(
    [
        "check",
        "checks",
        "get",
        "verify",
        "validate",
        "validation",
        "wait",
        "read",
        "list",
        "status",
        "calculate",
        "query",
        "lookup",
        "find",
        "retrieve",
        "received",
        "load",
        "is",
        "확인",
        "조회",
        "검증",
    ]
)


_PART = re.compile(r"^[${]*(?:aws)?(?:lambda)?(?:function|fn)?[-_]?|(?:lambda)?(?:function|fn)?(?:arn|name)?[}]*$", re.IGNORECASE)
_SENT = frozenset(["mail", "email", "emails", "sms", "message", "메일", "문자"])
_SENDING = frozenset(
    ["send", "sends", "sending", "sender", "post", "publish", "deliver", "write", "reply", "forward", "발송", "전송", "보내기"]
)
_WITH_TEXT = frozenset([
    "process", "handle", "receive", "consume", "parse", "dequeue", "ingest", "extract", "extractor", "find", "crawl", "template", "address",
    "classify", "analyze", "analyse", "read", "reader", "fetch", "filter", "store", "save", "archive", "delete",
])  # fmt: skip
_STARTING = frozenset(["execute", "call", "run", "invoke", "perform", "do"])
_LOOKS_LAST = frozenset(
    ["check", "checks", "checker", "lookup", "search", "validation", "validator", "verification", "inquiry", "detector"]
)
_WORKS_OUT = frozenset(["calculate", "calc", "compute", "estimate", "count", "determine", "계산"])
# What is called so may do more; where somebody takes its answer it is there for that.
_SEEMS_TO_LOOK = frozenset([
    "fetch", "detect", "evaluate", "assess", "filter", "compare", "sort", "concatenate", "serialize", "serializer", "deserialize", "infer",
    "inference", "predict", "prediction", "estimate",
])  # fmt: skip
_KEEPING = frozenset(["store", "save", "put", "load", "ingest", "import", "export", "register", "install", "deploy", "sync", "migrate"])
_LOOKS_FIRST = frozenset(
    [
        "check",
        "get",
        "verify",
        "validate",
        "read",
        "list",
        "query",
        "lookup",
        "find",
        "search",
        "describe",
        "count",
        "show",
        "display",
        "retrieve",
        "조회",
        "확인",
        "검증",
    ]
)


def told_kinds(*names: str) -> frozenset[Kind]:
    """What kind of effect the names of an action speak of, where nothing else says it; nothing if they speak of looking."""
    found = frozenset(word for name in names for word in words(name))
    if found & _LOOKING:
        return frozenset()
    if not any(map(_sends, names)):
        found -= _SENT
    return frozenset(kind for kind, spoken in ((Kind.MONEY, _MONEY), (Kind.NOTIFY, _NOTICE)) if found & spoken)


def _sends(name: str) -> bool:
    """Whether a name speaks of sending a message, and not of what is done with one: `Email customer`, `Confirmation mail`."""
    spoken = _spoken(name)
    if not spoken or frozenset(spoken) & _WITH_TEXT:
        return False
    return bool(frozenset(spoken) & _SENDING) or spoken[0] in _SENT - {"message"} or spoken[-1] in _SENT


def only_looks(name: str) -> bool:
    """Whether a name begins with a word for looking, and has none of what may be lost, as `Get Price` and `List Buckets` do."""
    spoken = [word.lower() for word in _WORD.findall(name)]
    while len(spoken) > 1 and spoken[0] in _STARTING and (spoken[1] in _LOOKS_FIRST or spoken[1] in _WORKS_OUT):
        spoken = spoken[1:]
    if len(spoken) > 1 and spoken[-1] in _LOOKS_LAST:
        return not frozenset(spoken) & (_MONEY | _NOTICE | _BACK)
    outs = spoken[1:2] in (["out"], ["in"])  # to check somebody out is no look
    if spoken and spoken[0] in _WORKS_OUT:
        return True  # what a payment comes to is worked out, whatever is done with it later
    return bool(spoken) and spoken[0] in _LOOKS_FIRST and not outs and not (frozenset(spoken) & (_MONEY | _NOTICE | _BACK))


def _is_for_looking(part: str) -> bool:
    """The same of a part that a step names: `${LambdaGetPrice}`."""
    return only_looks(_PART.sub("", part))


def seems_to_look(name: str) -> bool:
    """Whether a name begins or ends with a word for what is done for its answer: `FetchQuotes`, `Distance estimate`."""
    spoken = _spoken(name)
    return bool(spoken) and not _SEEMS_TO_LOOK.isdisjoint((spoken[0], spoken[-1]))


def begins_with_look(name: str) -> bool:
    """Whether a name begins with a word for looking, whatever is looked at; to check somebody out is no look."""
    spoken = _spoken(name)
    return bool(spoken) and spoken[0] in _LOOKS_FIRST and spoken[1:2] not in (["out"], ["in"])


def changes(name: str) -> bool:
    """Whether one of the words of a name is about a change, a message or a way back."""
    return acts(name) or not words(name).isdisjoint(_KEEPING | _SENDING | _BACK)


def _spoken(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_PART.sub("", name))]


def is_notice(effect: Effect | None) -> bool:
    """Whether an effect is there to tell somebody; a ticket of which somebody hears as well is more than that."""
    return effect is not None and Kind.NOTIFY in effect.kinds and effect.kinds <= _TELLING


def looked(told: str) -> Effect:
    """The effect of code that cannot be read and is there for its answer only, as its names say."""
    return Effect("", frozenset({Kind.READ}), Repeat.SAFE, Reversible.YES, told, certain=False)


def opaque_effect(told: str, *names: str) -> Effect:
    """The effect of code that cannot be read: unknown, and what its names speak of, which is inferred."""
    if names and (only_looks(names[0]) or (any(map(_is_for_looking, names[1:])) and not told_kinds(*names))):
        return looked(told)
    kinds = told_kinds(*names)
    return Effect("", frozenset({Kind.UNKNOWN}) | kinds, Repeat.UNKNOWN, _reversible(kinds, names), told, certain=False)


def named(effect: Effect | None, *names: str) -> Effect | None:
    """The effect of a request to a receiver that nobody knows, with what its address and name speak of."""
    if effect is None or effect.kinds != frozenset({Kind.UNKNOWN}):
        return effect
    kinds = told_kinds(*names)
    return replace(effect, kinds=effect.kinds | kinds, reversible=_reversible(kinds, names), certain=False) if kinds else effect


def _reversible(kinds: frozenset[Kind], names: tuple[str, ...]) -> Reversible:
    """Money that is taken can be given back by another action; money that was given away cannot be taken."""
    given_away = frozenset({"refund", "refunds", "payout", "payouts", "환불"}) & frozenset(word for name in names for word in words(name))
    return Reversible.FORWARD if Kind.MONEY in kinds and not given_away else Reversible.UNKNOWN
