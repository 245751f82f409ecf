"""What no retelling of a card may claim: orders, permission, safety, certainty, an approver, matters of weight that the card does not name.

Words are what gives such a claim away, in English and in Korean; a sentence that means no harm is rejected with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.finding import Said
from halfway.inspection.retelling import Ground

_ACTS = (
    r"(?:re-?)?(?:run|runs|running|execut\w+|tr(?:y|ies|ied|ying)|start\w*|launch\w*|trigger\w*|deploy\w*|merg\w+|play\w*|repeat\w*"
    r"|resum\w+|continu\w+|send|sent|submit\w*|ship\w*|publish\w*|releas\w+|do|done|push\w*|delet\w+|remov\w+|type|press|click|undo|revert)"
)
_ORDERS = re.compile(
    rf"(?:^|[.!?:;,]\s+|\b(?:please|just|simply|then|now|and|or|so|to|safely|go|let us|let's)\s+){_ACTS}\b(?<!ing)(?<!s)(?<!ed)"
    r"(?!\s+(?:may|might|could|can|cannot|not|has|have|is|was|needs)\b)"
    rf"|\b(?:can|may|should|must|could|might|will|shall)\s+(?:(?!not\b|never\b|have\b)\w+\s+){{0,3}}{_ACTS}\b"
    r"|\byou\b|\bgo (?:ahead|on|forward)\b|\bcarry on\b|\bkick (?:it )?off\b|\b(?:allowed|permitted|ready|time|free|good) to\b"
    r"|(?:실행|재시도|재개|반복|시작|배포|호출|계속|전송|발송|시도)(?:을|를)?"
    r"\s?(?:하세요|하십시오|하시|해\s?주|하라|하자|합시다|해도|해야|해\s?보|할\s?수\s?있습|할\s?수\s?있어"
    r"|하면\s?되|하면\s?됩|하는\s?것이\s?좋|시키|부탁|바랍|가능)"
    r"|승인(?:하세요|하십시오|해\s?주|해도)|돌리(?:세요|십시오|면\s?됩)|보내(?:세요|십시오|도\s)",
    re.IGNORECASE | re.MULTILINE,
)
_SAFE = re.compile(
    r"\bsafe(?:ly)?\b|\bharmless|\bno (?:risk|problem|danger|need|reason)|\bguarantee|\bfine\b|\bok(?:ay)?\b|\bgreen light|\bapproved\b"
    r"|\bfalse\b|\bwrong|\bincorrect|\bmistak\w+|\bnot true\b|\bignor\w+|\bminor\b|틀렸|틀린|틀립|잘못"
    r"|\b(?:no|any|without) (?:harm|risk|damage)|\bnot (?:hurt|matter)|해롭지|무해|상관\s?없|지장"
    r"|무시|오탐|사소|승인되었|안전|문제\s?없|문제가\s?없|괜찮|보장|위험이\s?없|해도\s?됩|해도\s?좋",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\b(?:nothing|nobody|none|not|never|hardly|longer|no \w+|n't) (?:\w+ ){0,2}needs? confirmation"
    r"|\b(?:nobody|no one|none) (?:has|have|needs?) to\b|\bnot (?:have|need) to\b|\bneed not\b"
    r"|\b(?:not|never|no|n't) (?:\w+ ){0,2}(?:second|duplicate|another)\b"
    r"|필요(?:가|는|도|한 것은|한 것이)?\s?(?:없|하지)|않아도",
    re.IGNORECASE,
)
_WEIGHTY = re.compile(
    r"\b(?:customer|client|buyer|user|money|pa(?:y|id)|charg|refund|invoice|orders|e?-?mail|messag|password|secret|account|stock|permission"
    r"|idempoten|duplicat|delet|lost|sent\b)|고객|결제|환불|주문|송금|금액|메일|메시지|계정|비밀번호|재고|권한|멱등|중복|삭제",
    re.IGNORECASE,
)
_LANDED = re.compile(r"\bhappened\b|\balready\b|일어났습니다|일어났다|이미(?![^.!?]{0,30}수\s?있)", re.IGNORECASE)
_ABSENT = re.compile(r"\b(?:not|never) executed|\b(?:not|never) happen|실행되지\s?않았|일어나지\s?않았", re.IGNORECASE)
_OPEN = re.compile(r"\b(?:may|might|could|whether|nobody knows)\b[^.!?]{0,40}$", re.IGNORECASE)
_SEVERITIES = {
    "BLOCKER": re.compile(r"\bblock(?:er|ing)\b|차단", re.IGNORECASE), "HIGH": re.compile(r"\bhigh\b|높음|높은", re.IGNORECASE),
    "MEDIUM": re.compile(r"\bmedium\b", re.IGNORECASE), "LOW": re.compile(r"\blow\b|낮음|낮은", re.IGNORECASE),
}  # fmt: skip
_APPROVING = re.compile(r"approv|승인", re.IGNORECASE)
_ASKING = re.compile(r"confirm|\bask|nobody says|확인|물어", re.IGNORECASE)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n")


def claims(on: Ground, body: str, spoken: str) -> Iterator[Said]:
    """What is wrong with the sentences; `spoken` is the text without ids, places and the like."""
    if found := _ORDERS.search(spoken):
        yield Said("it tells somebody to do something, or allows it: {what}", {"what": found[0].strip(" .,;:\n")})
    if found := _SAFE.search(body) or _SURE.search(body):
        yield Said("it says that something is safe or settled: {what}", {"what": found[0]})
    known = on.text.lower()
    for found in _WEIGHTY.finditer(spoken):
        if found[0].lower() not in known:
            yield Said("it has {what}, which the card does not have", {"what": found[0]})
    yield from _certain(on, body)
    yield from _graver(on, body)


def _certain(on: Ground, body: str) -> Iterator[Said]:
    """Certainty where the card has none."""
    for pattern, known in ((_LANDED, on.landed), (_ABSENT, on.absent)):
        found = next((one for one in pattern.finditer(body) if not _OPEN.search(body[: one.start()])), None)
        if found and not known:
            yield Said("it is certain of what nobody knows: {what}", {"what": found[0]})


def _graver(on: Ground, body: str) -> Iterator[Said]:
    """Who approves, and how grave it is."""
    for name, pattern in _SEVERITIES.items():
        if name != on.severity and (found := pattern.search(body)):
            yield Said("it says how grave it is in another way than the card: {what}", {"what": found[0]})
    for sentence in _SENTENCES.split(body):
        if not on.approved and _APPROVING.search(sentence) and not _ASKING.search(sentence):
            yield Said("it says who approves, and the card does not")
