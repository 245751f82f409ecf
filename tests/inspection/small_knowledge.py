"""A base of a few rows, enough to try readers on."""

from collections.abc import Mapping, Sequence

from halfway.inspection.formats import Given, Reader
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Effect, Flow, Kind, Receiver, Repeat, Reversible, RunLog, Step
from halfway.inspection.source import Source


def effect(id: str, kind: Kind, repeat: Repeat, told: str, reversible: Reversible = Reversible.NO) -> Effect:
    return Effect(id, frozenset({kind}), repeat, reversible, told, True, Receiver.UNKNOWN)


class Small(Knowledge):
    def __init__(self) -> None:
        """Without the data of the package: every row stands below."""

    def command(self, words: Sequence[str]) -> Effect | None:
        match list(words):
            case ["git", "push", *_]:
                return effect("git.push", Kind.GIT, Repeat.SAFE, "git push")
            case ["curl", *rest] if "POST" in rest:
                return self.http("POST", next(word for word in rest if "://" in word))
            case ["mail", *_]:
                return effect("mail", Kind.NOTIFY, Repeat.DUPLICATES, "mail")
            case _:
                return None

    def http(self, method: str, url: str, body: str = "") -> Effect | None:
        if method in ("GET", "HEAD"):
            return effect("read", Kind.READ, Repeat.SAFE, f"{method} {url}")
        if "api.stripe.com" in url:
            return effect("stripe.charge", Kind.MONEY, Repeat.WITH_KEY, "POST api.stripe.com", Reversible.FORWARD)
        return Effect("", frozenset({Kind.UNKNOWN}), Repeat.UNKNOWN, Reversible.UNKNOWN, f"{method} {url}", False)

    def call(self, name: str, given: Mapping[str, str]) -> Effect | None:
        if name == "stripe.charges.create":
            return effect("stripe.charge", Kind.MONEY, Repeat.WITH_KEY, name, Reversible.FORWARD)
        if name == "stripe.refunds.create":
            return effect("stripe.refund", Kind.MONEY, Repeat.WITH_KEY, name)
        if name == "@aws-sdk/client-sns.PublishCommand":
            return effect("sns.publish", Kind.NOTIFY, Repeat.DUPLICATES, name)
        return None

    def node(self, format: str, type: str, resource: str = "", operation: str = "") -> Effect | None:
        if ":sns:publish" in type:
            return effect("sns.publish", Kind.NOTIFY, Repeat.DUPLICATES, "sns publish")
        if ":dynamodb:" in type:
            return effect("dynamodb.write", Kind.RECORD, Repeat.UNKNOWN, "dynamodb")
        if ":sqs:" in type:
            return effect("sqs.send", Kind.ENQUEUE, Repeat.WITH_KEY, "sqs send")
        return None


def given(*sources: Source) -> Given:
    return Given({source.path: source for source in sources}, Small())


def read(reader: Reader, path: str, text: str, *others: Source) -> list[Flow]:
    source = Source(path, text)
    assert reader.takes(source)
    return list(reader.flows(source, given(source, *others)))


def only(reader: Reader, path: str, text: str, *others: Source) -> Flow:
    [flow] = read(reader, path, text, *others)
    return flow


def logs(reader: Reader, path: str, text: str) -> list[RunLog]:
    source = Source(path, text)
    assert reader.takes(source)
    return list(reader.runs(source, given(source)))


def by_id(flow: Flow) -> dict[str, Step]:
    found = {step.id: step for step in flow.steps}
    assert len(found) == len(flow.steps)
    return found


def edges(flow: Flow) -> list[tuple[str, str, str]]:
    return [(edge.before, edge.after, edge.when.value) for edge in flow.edges]
