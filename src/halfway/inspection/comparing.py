"""Whether what a model made of a card says nothing but what the card says.

What can be compared is compared: verdict, ids, places, numbers, quotes, names, and what it claims.
In doubt an answer is rejected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from halfway.inspection.claiming import claims
from halfway.inspection.finding import Said
from halfway.inspection.quoting import quoted
from halfway.inspection.retelling import Ground

LONGEST = 1_500  # characters
MOST_LINES = 12


def check(on: Ground, answer: str) -> tuple[Said, ...]:
    """Why the answer cannot be shown; nothing if it can. Every look is allowed to be too strict, none to be too mild."""
    whole = answer.strip()
    form = tuple(_form(whole))
    if form:
        return form
    opening, _, body = whole.partition("\n")
    plain, wrong = _unquoted(on, body)
    problems = (
        *_verdict(on, opening, body), *wrong, *_omitted(on, body), *_tokens(on, plain), *_counts(on, plain), *_names(on, plain),
        *claims(on, body, _words(body)), *_language(on, plain),
    )  # fmt: skip
    return tuple({(one.text, *map(str, one.params.values())): one for one in problems}.values())


# ── its form ──

_ALLOWED = frozenset("…—–‘’“”·「」")
_MARKUP = re.compile(r"```|~~~|^\s*#|^ {4}|\t|<|\]\(|^\s*\|", re.MULTILINE)
_URL = re.compile(r"://|\bwww\.", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w")


def _form(text: str) -> Iterator[Said]:
    if not text:
        yield Said("it is empty")
    if len(text) > LONGEST or text.count("\n") >= MOST_LINES:
        yield Said("it is longer than {characters} characters or {lines} lines", {"characters": LONGEST, "lines": MOST_LINES})
    if any(not one.isprintable() and one != "\n" for one in text) or unicodedata.normalize("NFC", text) != text:
        yield Said("it has characters that cannot be seen")
    if _MARKUP.search(text):
        yield Said("it has a code block, a heading or other markup")
    if _URL.search(text):
        yield Said("it has a link")
    if _MAIL.search(text):
        yield Said("it has an address of a person")
    # What hides a secret, or could be taken for an order to a build server.
    if any(quoted(line, LONGEST) != " ".join(line.split()) for line in text.splitlines()):
        yield Said("it has something that must not be shown")


# ── the verdict ──

_VERDICTS = re.compile(r"\bproceed|\blimited|\btrial|\bstop|진행|제한적|시험|중단", re.IGNORECASE)


def _verdict(on: Ground, opening: str, body: str) -> Iterator[Said]:
    if opening.strip() != on.opening:
        yield Said("its first line is not: {line}", {"line": on.opening})
    # A name of a file may be made of such a word, and its place has to be told.
    rest = body.replace(on.place, "") if on.place else body
    for found in _VERDICTS.finditer(rest.replace("-", "")):
        yield Said("it uses the word {word} outside of its first line", {"word": found[0]})


_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


def _omitted(on: Ground, body: str) -> Iterator[Said]:
    for one in on.needed:
        if not _stands(one, body):
            yield Said("it leaves out {what}", {"what": one})
    named = [one for one in _SENTENCE.split(body) if on.unsure and _stands(on.needed[0], one)]
    if named and not any(on.unsure in one for one in named):
        yield Said("the sentence that names {rule} does not say: {what}", {"rule": on.needed[0], "what": on.unsure})


# ── what the card must say, too ──

_QUOTES = re.compile(r"`([^`]*)`|\"([^\"]*)\"|“([^”]*)”|‘([^’]*)’|「([^」]*)」|(?<!\w)'([^'\n]+)'(?!\w)")
_MARKS = re.compile(r"[`\"“”‘「」]|(?<!\w)'")
_RUN = re.compile(r"[!-~]+")
_AROUND = "()[]{},;:!?\"'`*."
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")
_CODE = re.compile(r"\d|[/\\$_=<>{}@#|&~^*%+]|[A-Za-z)][.:(][A-Za-z(]|^-|[a-z][A-Z]|^[A-Z]{2,}")
_NEXT = re.compile(r"\s*[A-Za-z가-힣]{1,2}")
_BEFORE = re.compile(r"\S+\s*$")
_NUMERALS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|dozens?|hundreds?|thousands?|millions?|twice|thrice|second|third"
    r"|fourth|fifth|several times)\b"
    r"|(?<![가-힣])(?:한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|스무)\s?(?:번|개|단계|차례|명|시간|분|초|곳|가지|건)",
    re.IGNORECASE,
)


def _unquoted(on: Ground, body: str) -> tuple[str, list[Said]]:
    """The answer without its quotes; each of them must be one of the card's, whole."""
    wrong: list[Said] = []

    def out(found: re.Match[str]) -> str:
        content = next(one for one in found.groups() if one is not None)
        if content not in on.quotes:
            wrong.append(Said("it quotes {what}, which is no whole name, place or fact of the card", {"what": content}))
        return " \x00 "

    plain = _QUOTES.sub(out, body)
    if _MARKS.search(plain):
        wrong.append(Said("it opens a quote and does not close it"))
    return plain, wrong


def _words(text: str) -> str:
    """Without ids, places and the like, which are looked for as a whole."""
    return _RUN.sub(lambda run: " \x00 " if _CODE.search(run[0]) else run[0], text)


def _stands(token: str, text: str) -> bool:
    """Whether it stands there, and not as a part of something longer."""
    return re.search(rf"(?<![A-Za-z0-9_.:/$-]){re.escape(token)}(?![A-Za-z0-9_]|[.:/-][A-Za-z0-9])", text) is not None


def _tokens(on: Ground, plain: str) -> Iterator[Said]:
    """Ids, places, names of files, options, numbers: whatever is no plain word."""
    for run in _RUN.finditer(plain):
        token = run[0].rstrip(_AROUND).lstrip(_AROUND.replace(".", ""))  # the name of a file may begin with a dot
        if _NUMBER.fullmatch(token):
            start = run.start() + run[0].index(token)
            if not _counted(on, plain[:start], token, plain[start + len(token) :]):
                yield Said("it counts in another way than the card: {number}", {"number": token})
        elif _CODE.search(token) and not _stands(token, on.text):
            yield Said("it has {what}, which the card does not have", {"what": token})


def _counted(on: Ground, before: str, number: str, after: str) -> bool:
    """A number is that of the card only with what it counts: `6 hours` says nothing about a line 6."""
    follows, leads = _NEXT.match(after), _BEFORE.search(before)
    told = number + follows[0] if follows else (leads[0] if leads else "") + number
    return re.search(rf"(?<![\w.:,]){re.escape(' '.join(told.split()))}", on.text, re.IGNORECASE) is not None


def _counts(on: Ground, plain: str) -> Iterator[Said]:
    known = re.sub(r"\s", "", on.text).lower()
    for found in _NUMERALS.finditer(plain):
        if re.sub(r"\s", "", found[0]).lower() not in known:
            yield Said("it counts in another way than the card: {number}", {"number": found[0]})


# ── names ──

_CAPITAL = re.compile(r"(?P<start>^\s*|[.!?:]\s+)?\b(?P<word>[A-Z][A-Za-z]*)", re.MULTILINE)
_STARTERS = frozenset({
    "a", "after", "all", "also", "an", "another", "any", "as", "at", "because", "before", "both", "but", "do", "don", "during", "each",
    "every", "everybody", "everything", "first", "for", "here", "how", "however", "if", "in", "it", "its", "keep", "most", "no",
    "nobody", "none", "not", "nothing", "of", "on", "one", "only", "otherwise", "since", "so", "some", "somebody", "someone", "still",
    "that", "the", "then", "there", "therefore", "these", "they", "this", "those", "to", "until", "what", "when", "where", "whether",
    "which", "while", "who", "why", "with", "without",
})  # fmt: skip
_STEP = re.compile(r"\b([A-Za-z가-힣]+)\s+(?:steps?\b|단계)|\bstep\s+([A-Za-z]+)")
_NOT_NAMES = _STARTERS | {
    "next", "last", "first", "same", "later", "earlier", "other", "single", "and", "or", "is", "was", "may", "can", "has", "have",
    "had", "does", "from", "by", "이", "그", "각", "다음", "모든", "어느", "어떤", "첫", "이전", "해당", "마지막", "같은", "다른", "뒤",
    "앞", "한", "되는", "있는", "없는",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


def _names(on: Ground, plain: str) -> Iterator[Said]:
    """Words that can only be names: written large, of another script, or in front of `step`."""
    words = {word.lower() for word in _WORD.findall(on.text)}
    plain = _words(plain)
    for found in _CAPITAL.finditer(plain):
        begins, word = found["start"] is not None, found["word"]
        if not (begins and word.lower() in _STARTERS) and not _stands(word, on.text):
            yield Said("it has {what}, which the card does not have", {"what": word})
    for found in _STEP.finditer(plain):
        word = found[1] or found[2]
        if word.lower() not in _NOT_NAMES | words and word not in on.text:
            yield Said("it has {what}, which the card does not have", {"what": word})
    for word in _WORD.findall(plain):
        foreign = not re.fullmatch(r"[A-Za-z]+", word) if on.language == "en" else not re.fullmatch(r"[가-힣]+", word)
        for part in re.findall(r"[가-힣]+|[A-Za-z]+|[^A-Za-z가-힣]+", word) if foreign else ():
            own = re.fullmatch(r"[A-Za-z]+" if on.language == "en" else r"[가-힣]+", part)
            if not own and re.search(rf"(?<![A-Za-z]){re.escape(part)}(?![A-Za-z])", on.text) is None:
                yield Said("it has {what}, which the card does not have", {"what": part})
    for sign in sorted(set(plain) - {"\x00"}):
        if not sign.isascii() and not sign.isalpha() and sign not in _ALLOWED and sign not in on.text:
            yield Said("it has {what}, which the card does not have", {"what": sign})


# ── its language ──

_MOSTLY = 0.5


def _language(on: Ground, plain: str) -> Iterator[Said]:
    letters = [one for one in plain if one.isalpha()]
    korean = sum("가" <= one <= "힣" for one in letters)
    share = korean / len(letters) if letters else 0.0
    if not letters or (share > 1 - _MOSTLY if on.language == "en" else share < _MOSTLY):
        yield Said("it is not in the language that was asked for")
