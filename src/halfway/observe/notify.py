"""Ways to tell people and other systems: the log, and a web hook. Each is a function of one notice, and may raise: it is called again."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from halfway.errors import InvalidInput
from halfway.ports import Notice

log = logging.getLogger("halfway.notices")

LEVELS = {"LOW": logging.INFO, "NORMAL": logging.WARNING, "HIGH": logging.ERROR, "CRITICAL": logging.CRITICAL}


def to_log(notice: Notice) -> None:
    """Writes a notice into the log; incidents by the severity of their workflow (R-D11)."""
    if notice.what == "EVENT":
        log.info("run %s of %s has sent %s (%s)", notice.run_id, notice.type, notice.event, notice.id)
        return
    level = LEVELS.get(notice.severity, logging.WARNING) if notice.what == "INCIDENT" else logging.WARNING
    members = ", ".join(notice.members) or "nobody"
    log.log(
        level,
        "%s: run %s of %s, step %s (%s). %s decides (%s). Evidence: %s. %s",
        notice.what, notice.run_id, notice.type, notice.step or "-", notice.code or "-", notice.role or "-", members,
        notice.evidence.rstrip(".") or "-", " ".join(notice.reasons),
    )  # fmt: skip


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None: the redirect itself is the answer, and an error."""
        return


def web_hook(url: str, *, timeout: float = 10.0) -> Callable[[Notice], None]:
    """Posts each notice as JSON; the header `Idempotency-Key` tells a repeat, and any answer but 2xx is tried again later.

    A redirect is such an answer: what a notice tells goes to nobody but the address that was configured.
    Raises InvalidInput for an address that is not one of http or https.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        problem = "its address is not one of http or https."
        raise InvalidInput("CONFIG_INVALID", source="of the web hook", problem=problem, remedy="Give the whole address, as https://….")
    opener = build_opener(_NoRedirect)

    def post(notice: Notice) -> None:
        body = json.dumps(notice.to_json(), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": notice.id}
        with opener.open(Request(url, data=body, headers=headers, method="POST"), timeout=timeout):
            pass

    return post
