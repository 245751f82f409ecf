"""The request that a command sends: `curl`, `wget`, HTTPie and `gh api`. Nothing is sent; the words are only read."""

from __future__ import annotations

import re

from halfway.inspection.knowledge.shell import Command, has_flag, values

_BODY = (
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "--json",
    "-F",
    "--form",
    "--form-string",
    "--post-data",
    "--body-data",
)
_FIELDS = ("-f", "-F", "--raw-field", "--field", "--input")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_QUESTION = re.compile(r"query=\s*(?:query\b|\{)")
_METHOD_IN_CLUSTER = re.compile(r"^-[A-Za-z]*X([A-Z]+)$")


def sent(command: Command) -> tuple[str, str, str] | None:
    """The method, the address and the body of a command that sends a request; None for any other command."""
    asked = _asked(command)
    return None if asked is None else (*asked, " ".join(values(command, *_BODY, *_FIELDS)))


def _asked(command: Command) -> tuple[str, str] | None:
    match command.words:
        case ("curl", *urls):
            return _curl(command, urls)
        case ("wget", *urls):
            body = values(command, "--post-data", "--post-file")
            return (_first(values(command, "--method")) or ("POST" if body else "GET")).upper(), _first(urls)
        case ("http" | "https" | "xh" | "xhs", *words) if words:
            return _httpie(words)
        case ("gh", "api", *rest):
            return _gh(command, _first(rest))
        case _:
            return None


def _curl(command: Command, urls: list[str]) -> tuple[str, str]:
    url = _first(values(command, "--url")) or next((url for url in urls if "://" in url), _first(urls))
    clustered = next((match[1] for flag in command.flags if (match := _METHOD_IN_CLUSTER.match(flag))), "")
    method = clustered or _first(values(command, "-X", "--request"))
    if method:
        return method.upper(), url
    if has_flag(command, "-I") or has_flag(command, "--head"):
        return "HEAD", url
    if has_flag(command, "-G") or has_flag(command, "--get"):
        return "GET", url
    if values(command, "-T", "--upload-file"):
        return "PUT", url
    return ("POST" if values(command, *_BODY) else "GET"), url


def _httpie(words: list[str]) -> tuple[str, str]:
    if words[0].upper() in _METHODS:
        return words[0].upper(), _first(words[1:])
    return ("POST" if any(re.match(r"[\w.\[\]-]+:?=(?!=)", word) for word in words[1:]) else "GET"), words[0]


def _gh(command: Command, path: str) -> tuple[str, str]:
    fields = values(command, *_FIELDS)
    if path == "graphql" and ("--paginate" in command.flags or any(_QUESTION.match(field) and "mutation" not in field for field in fields)):
        return "GET", "https://api.github.com/graphql"  # a question, which is posted
    method = _first(values(command, "-X", "--method")) or ("POST" if fields else "GET")
    return method.upper(), path if "://" in path else f"https://api.github.com/{path.lstrip('/')}"


def _first(words: list[str]) -> str:
    return words[0] if words else ""
