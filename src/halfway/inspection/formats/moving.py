"""Places in a file where something is taken from elsewhere by a name that means something else tomorrow."""

from __future__ import annotations

import re
from collections.abc import Collection

from halfway.inspection.model import Fact, Span
from halfway.inspection.source import Source

MOST = 5
_LONGEST = 2_000
_COMMENT = re.compile(r"^\s*#|\s#\s")
_RAW = r"raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/(?:refs/heads/)?(?:main|master|HEAD)/"
_MOVES = re.compile(
    "|".join((
        r"\buses:\s*[\"']?(?!\./|\S*\btmate@|\S+/\.github/workflows/)[\w./-]+@(?:main|master|latest|develop|HEAD)\b",
        r"\bimage:\s*[\"']?(?!\S*[A-Z])[\w.-]+(?:[/:][\w.-]+)*:latest\b(?!@sha256:)",
        r"/releases/latest/download/",
        # Without a command that fetches or applies it what is named there must be a program; a picture is none.
        rf"(?i:\b(?:curl|wget|iwr|irm|source|kubectl|oc|helm|deno|bash|sh)\b.*){_RAW}(?!\S+\.(?:png|jpe?g|gif|svg|ico|webp)\b)",
        rf"{_RAW}\S+\.(?:sh|bash|py|ps1|js|ts|ya?ml|tf|service)\b",
        r"\b(?:curl|wget)\b(?![^|]*(?:/(?:download|releases|tags?|archive)/[^|\s]*\d\.\d|[^/]/v?\d+\.\d+\.\d+(?![\w.]*\.\d)[\w.-]*/(?!latest|main|master)))[^|]*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b",
        r"\b(?:npx|dlx|bunx)\s+(?:-\S+\s+)*[@\w./-]+@latest\b",
    ))
)  # fmt: skip
# What is fetched as data, and not applied, is meant to be the newest.
_DATA = re.compile(r"raw\.githubusercontent\.com/\S+\.(?:json|csv|txt|md|xml|tsv|geojson|parquet|pem|crt|cer|pub|asc|gpg)\b")
_APPLIED = re.compile(r"\b(?:apply|create|replace|kubectl|helm|import|load|psql|mysql)\b|\|\s*\w*sh\b")
# A line that is shown to somebody, as what is to be done: nothing is fetched there.
_SHOWN = re.compile(
    r"(?:^|[\s;&|({])(?:(?:log|print|echo|msg|say)(?:_\w+)?|printf|info|warn(?:ing)?|err(?:or)?|die|fail|usage|hint|note"
    r"|\w+_(?:error|warn|info|log|msg|fail|die))\s+(?:-\w+\s+)*[\"'](?:(?!\$\(|`)[^\"'])*$"
)
_TO_COME = re.compile(r"\bsed\b.*s([|#/,@]).*image:|#.*(?i:\breplaced?\b|replace_|placeholder)")  # what stands there is still to be put in
# A mere system, of which every version does the same few things.
_SYSTEM = re.compile(
    r"\bimage:\s*[\"']?(?:docker\.io/)?(?:library/)?(?:busybox|alpine|debian|ubuntu|archlinux|fedora|centos|rockylinux|almalinux|amazonlinux|opensuse/\w+|kalilinux/\S+)(?::latest)?[\"']?\s*$"
)
# Without a tag an image is the latest; elsewhere than among containers `image` may be anything.
_UNTAGGED = re.compile(r"^\s*(?:-\s+)?image:\s*[\"']?[\w.-]+(?:/[\w.-]+)*[\"']?\s*$")


def moving(source: Source, containers: Span | None = None, passed_over: Collection[int] = ()) -> tuple[Fact, ...]:
    """The first of them, in all of the file or in the part that tells of containers; what stands in a comment is none.

    `passed_over` are lines that change nothing outside: of images that are built beside their names, of jobs that only look.
    """
    first, last = (1, len(source.lines)) if containers is None else (containers.line, max(containers.line, containers.end))
    found: list[Fact] = []
    for number in range(first, last + 1):
        line = source.line(number)
        said = _COMMENT.split(line, maxsplit=1)[0] if len(line) <= _LONGEST else ""
        before = source.line(number - 1).rstrip() if number > first else ""
        before = before[:-1][:_LONGEST] if before.endswith("\\") else ""  # one command over two lines
        said = before + said
        if _TO_COME.search(line[:_LONGEST]):
            continue
        if _DATA.search(said) and not _APPLIED.search(said):
            continue
        moves = next((one for one in _MOVES.finditer(said) if one.end() > len(before)), None)
        if _SYSTEM.search(said) or (moves is not None and _SHOWN.search(said[: moves.start()])):
            continue
        if number not in passed_over and len(found) < MOST and (moves or (containers is not None and _UNTAGGED.match(said))):
            found.append(source.fact(source.span(number)))
    return tuple(found)
