"""A small base of knowledge and short ways to read a script or a workflow, for the tests of both readers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import dedent

from halfway.inspection.formats import Given
from halfway.inspection.formats.github_actions import GithubActions
from halfway.inspection.formats.shell import Shell
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Effect, Flow, Kind, Receiver, Repeat, Reversible, Step
from halfway.inspection.source import Source

_COMMANDS: tuple[tuple[str, str, Kind, Repeat], ...] = (
    ("gh release create", "gh.release.create", Kind.PUBLISH, Repeat.REJECTS),
    ("gh release edit", "gh.release.edit", Kind.PUBLISH, Repeat.MERGES),
    ("gh issue create", "gh.issue.create", Kind.CREATE, Repeat.DUPLICATES),
    ("gh workflow run", "gh.workflow.run", Kind.ENQUEUE, Repeat.DUPLICATES),
    ("git push", "git.push", Kind.GIT, Repeat.SAFE),
    ("npm publish", "npm.publish", Kind.PUBLISH, Repeat.REJECTS),
    ("twine upload", "pypi.upload", Kind.PUBLISH, Repeat.REJECTS),
    ("docker push", "docker.push", Kind.PUBLISH, Repeat.SAFE),
    ("kubectl apply", "kubectl.apply", Kind.DEPLOY, Repeat.SAFE),
    ("mail", "mail", Kind.NOTIFY, Repeat.DUPLICATES),
    ("gh release view", "read", Kind.READ, Repeat.SAFE),
    ("git tag -l", "read", Kind.READ, Repeat.SAFE),
)
_ACTIONS: Mapping[str, tuple[str, Kind, Repeat]] = {
    "pypa/gh-action-pypi-publish": ("pypi.upload", Kind.PUBLISH, Repeat.REJECTS),
    "slackapi/slack-github-action": ("slack.post", Kind.NOTIFY, Repeat.DUPLICATES),
    "changesets/action": ("changesets", Kind.PUBLISH, Repeat.SAFE),
    "softprops/action-gh-release": ("gh.release", Kind.PUBLISH, Repeat.MERGES),
    "actions/checkout": ("read", Kind.READ, Repeat.SAFE),
    "anthropics/claude-code-action": ("agent", Kind.AGENT, Repeat.UNKNOWN),
}


def _effect(id: str, kind: Kind, repeat: Repeat, told: str) -> Effect:
    return Effect(id, frozenset({kind}), repeat, Reversible.UNKNOWN, told)


class Few(Knowledge):
    """Knows a dozen actions."""

    def __init__(self) -> None:
        """The real base reads its data here; this one has its own."""

    def command(self, words: Sequence[str]) -> Effect | None:
        said = " ".join(words)
        for start, id, kind, repeat in _COMMANDS:
            if said == start or said.startswith(f"{start} "):
                return _effect(id, kind, repeat, start)
        if words[0] == "curl":
            posts = any(word == "POST" or word.startswith(("-d", "--data")) for word in words)
            return self.http("POST" if posts else "GET", next((word for word in words[1:] if "://" in word or word.startswith("$")), ""))
        return None

    def uses(self, action: str, given: Mapping[str, str]) -> Effect | None:
        found = _ACTIONS.get(action.split("@", maxsplit=1)[0])
        return None if found is None else _effect(*found, action.split("@", maxsplit=1)[0])

    def http(self, method: str, url: str) -> Effect | None:
        host = re.sub(r"^\w+://", "", url).split("/")[0]
        if method == "GET":
            return _effect("read", Kind.READ, Repeat.SAFE, f"GET {host}")
        if "pay." in host:
            return _effect("pay", Kind.MONEY, Repeat.WITH_KEY, f"POST {host}")
        if "hook" in url.lower():
            return _effect("hook", Kind.NOTIFY, Repeat.DUPLICATES, f"POST {host}")
        return Effect("", frozenset({Kind.UNKNOWN}), Repeat.UNKNOWN, Reversible.UNKNOWN, f"POST {host}", certain=False)

    def call(self, name: str, given: Mapping[str, str]) -> Effect | None:
        return _effect("gh.issue.create", Kind.CREATE, Repeat.DUPLICATES, name) if name.endswith("issues.create") else None


def given(*sources: Source) -> Given:
    return Given({source.path: source for source in sources}, Few())


def shell(text: str, path: str = "run.sh", *others: Source) -> Flow:
    source = Source(path, dedent(text).lstrip("\n"))
    (flow,) = Shell().flows(source, given(source, *others))
    return flow


def workflow(text: str, *others: Source, path: str = ".github/workflows/ship.yml") -> Flow:
    source = Source(path, dedent(text).lstrip("\n"))
    reader = GithubActions()
    assert reader.takes(source)
    (flow,) = reader.flows(source, given(source, *others))
    return flow


def acts(flow: Flow) -> list[str]:
    """What the steps do, in order; `-` for one without an effect."""
    return [step.effect.told if step.effect is not None else "-" for step in flow.steps]


def one(flow: Flow, told: str) -> Step:
    """The step with this effect; there is exactly one."""
    (found,) = [step for step in flow.steps if step.effect is not None and step.effect.told == told]
    return found


__all__ = ["Few", "Receiver", "acts", "given", "one", "shell", "workflow"]
