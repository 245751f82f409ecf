"""The one table of what can go wrong at Notion, and what each proves. Unclear means lost.

Only refusals prove that nothing was done. A 5xx does not: Notion may go on with a request for a minute after it has answered, or
after we have stopped to listen. Nor does a 409: it is a transaction that could not be completed, and the probe knows more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, ValidationError

from halfway_report.errors import UNEXPLAINED
from halfway_report.notion_values import Fate, NotionError

STATUS: Mapping[int, Fate] = MappingProxyType(
    {
        **dict.fromkeys((400, 401, 403, 404, 413), Fate.REFUSED),
        **dict.fromkeys((429, 529), Fate.NOT_TAKEN),
        **dict.fromkeys((409, 500, 502, 503, 504), Fate.LOST),
    }
)
# The vendor's word goes before the status.
CODES: Mapping[str, Fate] = MappingProxyType({"row_limit_exceeded": Fate.REFUSED})
# By the name of the client's class, and the code that the failure gets; every other one is lost.
NOT_SENT: Mapping[str, str] = MappingProxyType(
    {"ConnectError": "CONNECT_ERROR", "ConnectTimeout": "CONNECT_TIMEOUT", "PoolTimeout": "POOL_TIMEOUT", "ProxyError": "PROXY_ERROR"}
)
# Raised before anything is sent, and no repeat mends them.
UNUSABLE: frozenset[str] = frozenset({"UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "InvalidPathParameterError"})
HINTS: Mapping[int, str] = MappingProxyType(
    {
        401: "Check the token of the connection.",
        403: "Give the connection the rights to read, insert and update content.",
        404: "The id is wrong, is that of a database instead of one of its data sources, or the page is not shared with the connection.",
    }
)
LATER = timedelta(seconds=30)  # where Notion is busy and names no time


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore")

    code: str
    message: str


def by_status(status: int, body: str, retry_after: str) -> NotionError:
    """What an answer that is not a success proves. The edge answers in HTML and has no code."""
    try:
        said = _Said.model_validate_json(body)
    except ValidationError:
        said = _Said(code="", message=UNEXPLAINED)
    fate = CODES.get(said.code, STATUS.get(status, Fate.LOST))
    what = f"{status} {said.code}".rstrip()
    text = f"Notion answered {what}: {said.message}"
    if status in HINTS:
        text = f"{text} {HINTS[status]}"
    if fate is Fate.NOT_TAKEN:
        after = _seconds(retry_after)
        return NotionError(fate, "NOTION_BUSY", f"{text} (asks to wait {after.total_seconds():.0f} s)", status=status, after=after)
    return NotionError(fate, f"HTTP_{status}", text, status=status)


def by_exception(names: tuple[str, ...], message: str) -> NotionError:
    """What an exception of the client proves, by the names of its class and of that class's bases."""
    if UNUSABLE.intersection(names):
        # Its words may quote a header, and with it the token.
        return NotionError(
            Fate.REFUSED, "NOTION_ADDRESS", f"the request to Notion could not be made ({names[0]}); check address, id and token"
        )
    for name in names:
        if name in NOT_SENT:
            return NotionError(Fate.NOT_SENT, NOT_SENT[name], f"Notion could not be reached: {message}")
    return NotionError(Fate.LOST, "ANSWER_LOST", f"the answer of Notion was lost ({names[0]}): {message}")


def _seconds(retry_after: str) -> timedelta:
    """What a Retry-After header asks for: seconds, or a date."""
    if retry_after.isascii() and retry_after.isdigit():
        return timedelta(seconds=int(retry_after[:9]))
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return LATER
    if moment.tzinfo is None:
        return LATER
    return max(timedelta(0), moment - datetime.now(UTC))
