"""Names of artifacts: data, never paths of ours."""

from __future__ import annotations

import re
from urllib.parse import unquote

from halfway.errors import UnstorableValue

LONGEST_NAME = 255
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
DRIVE = re.compile(r"[A-Za-z]:")


def check_name(name: str) -> str:
    """A name is data, never a path of ours; refused is what a reader's system might take for a way out of its folder."""
    problem = _problem(name)
    if problem is not None:
        shown = name[:40].encode("unicode_escape").decode("ascii")
        raise UnstorableValue("VALUE_UNSTORABLE", path=f"artifact name '{shown}'", problem=problem, remedy="Choose another name.")
    return name


def _problem(name: str) -> str | None:
    decoded = unquote(name)
    if not name:
        return "it is empty."
    if len(name) > LONGEST_NAME:
        return f"it is longer than {LONGEST_NAME} characters."
    if CONTROL.search(decoded):
        return "it holds a line break or another control character."
    if "\\" in decoded or DRIVE.match(decoded) or not {"", ".", ".."}.isdisjoint(decoded.split("/")):
        return "it is a path that leads elsewhere."
    return None
