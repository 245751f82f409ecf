"""Whose name, or whose owner's words, let nobody expect that much is done outside by a part that was not given."""

from __future__ import annotations

import re

from halfway.inspection.model import Step

# What is called so works on what it is given, or sees to it that something is there.
_QUIET = re.compile(
    r"(?i)aggregat|calculat|comput|transform|\bparse|convert|validat|prepare.?prompt|build.?query|extract|describe"
    r"|chunk|\bsplit|classif|enrich|deduplicat|translat(?!ions)|transcri|merge|union|cleans|unify"
    r"|normali[sz]|summari[sz]|thumbnail|logging|ensure|if.?not.?exists|symlink|hello|\bshow|\bformat"
    r"|qodana|codeql|\bsast\b|terraform.?plan(?!.*appl)|github-app-(?:auth|token)\b"
    r"|\b(?:call|ask|invoke)\W+(?:\w+\W+)?(?:llm|claude|gemini|gpt|bedrock|openai)|\bllm\b"
)
_PRETENDS = re.compile(r"(?i)(?:^|[\s_:${./-])(?:mock|dummy|fake|stub|noop|no-op)")
_WATCHES = re.compile(r"(?i)guard|block|protect|warn|remind|audit|check|verif|lint|format|log")  # what a hook of an agent is there for
QUIETED = frozenset({"said", "local", "written"})  # the file says that it is safe, or has it in another language; only files are given


def is_quiet(step: Step) -> bool:
    """Whether its name, its owner's words or what it is handed let nobody expect much."""
    name = called(step)
    watches = "hook" in step.extra and _WATCHES.search(name) is not None
    return watches or not QUIETED.isdisjoint(step.extra) or _QUIET.search(name) is not None


def pretends(step: Step) -> bool:
    """Whether a part that was not given says by its name that it does nothing."""
    return step.opaque is not None and _PRETENDS.search(called(step)) is not None


def called(step: Step) -> str:
    """What the step and the part are called, and how the words begin by which the file explains it."""
    said = " ".join(step.extra.get("comment", "").split()[:3])
    return f"{step.name} {step.opaque.what if step.opaque is not None else ''} {said}".rstrip()
