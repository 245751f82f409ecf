"""A small base of what is known, and how the tests read a text as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfway.inspection.formats import Given
from halfway.inspection.formats.python import PythonReader
from halfway.inspection.knowledge import Action, Knowledge
from halfway.inspection.model import Effect, Flow, Kind, Repeat, Reversible, Step
from halfway.inspection.source import Source

_CALLS: dict[str, tuple[Kind, Repeat]] = {
    "stripe.PaymentIntent.create": (Kind.MONEY, Repeat.WITH_KEY),
    "stripe.Refund.create": (Kind.MONEY, Repeat.WITH_KEY),
    "smtplib.SMTP.send_message": (Kind.NOTIFY, Repeat.DUPLICATES),
    "slack_sdk.WebClient.chat_postMessage": (Kind.NOTIFY, Repeat.DUPLICATES),
    "boto3.sqs.send_message": (Kind.ENQUEUE, Repeat.DUPLICATES),
    "sendgrid.SendGridAPIClient.send": (Kind.NOTIFY, Repeat.DUPLICATES),
    "openai.OpenAI.responses.create": (Kind.UNKNOWN, Repeat.SAFE),
    "github.Github.search_issues": (Kind.READ, Repeat.SAFE),
    "github.Github.create_issue": (Kind.CREATE, Repeat.DUPLICATES),
}


def effect(kind: Kind, repeat: Repeat, told: str) -> Effect:
    """An effect without a row."""
    return Effect("", frozenset({kind}), repeat, Reversible.FORWARD, told)


class Few(Knowledge):
    """Knows a handful of vendors."""

    def __init__(self) -> None:
        """Without any rows: every lookup that is used is answered below."""

    def action(self, id: str) -> Action:
        raise KeyError(id)

    def call(self, name: str, given: Mapping[str, str]) -> Effect | None:
        del given
        return effect(*_CALLS[name], name) if name in _CALLS else None

    def http(self, method: str, url: str, body: str = "") -> Effect | None:
        if method in ("GET", "HEAD"):
            return effect(Kind.READ, Repeat.SAFE, f"{method} {url}")
        return effect(Kind.CREATE if "api.github.com" in url else Kind.UNKNOWN, Repeat.UNKNOWN, f"{method} {url}")

    def command(self, words: Sequence[str]) -> Effect | None:
        told = " ".join(words[:3])
        if words[:2] == ["git", "push"]:
            return effect(Kind.GIT, Repeat.SAFE, "git push")
        return effect(Kind.PUBLISH, Repeat.REJECTS, "gh release create") if told == "gh release create" else None


def read(text: str, **others: str) -> list[Flow]:
    """The flows of `job.py`; other files stand beside it."""
    sources = {name.replace("__", "/") + ".py": Source(name.replace("__", "/") + ".py", body) for name, body in others.items()}
    source = Source("job.py", text)
    return list(PythonReader().flows(source, Given({**sources, "job.py": source}, Few())))


def one(text: str, **others: str) -> Flow:
    """The only flow."""
    flows = read(text, **others)
    assert len(flows) == 1, [flow.name for flow in flows]
    return flows[0]


def step(flow: Flow, told: str) -> Step:
    """The only step whose effect is told so."""
    found = [one for one in flow.steps if one.effect is not None and told in one.effect.told]
    assert len(found) == 1, [(one.id, one.effect and one.effect.told) for one in flow.steps]
    return found[0]


def names(flow: Flow) -> list[str]:
    """The names of its steps."""
    return [one.name for one in flow.steps]
