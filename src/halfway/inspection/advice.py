"""At most one question, about one place, and one next step that only reads (R-K6, R-K7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from halfway.inspection.assessing import outward, weight
from halfway.inspection.finding import Case, Said
from halfway.inspection.judging import Judgement, outcome, step_of
from halfway.inspection.model import Outcome, Step, Unread

ALLOWED = (
    "gh run view", "gh run list", "gh release view", "gh api repos/", "gh pr list", "git ls-remote", "npm view", "pip index versions",
    "wrangler workflows instances describe", "aws stepfunctions get-execution-history", "temporal workflow show", "halfway show",
    "docker buildx imagetools inspect", "kubectl get", "helm history", "crontab -l", "systemctl status", "docker compose ps", "git log",
)  # fmt: skip
"""Commands that a card may name. They read."""

BY_ACTION: Mapping[str, str] = MappingProxyType(
    {
        "github.release": "gh release view TAG",
        "github.pull": "gh pr list --head BRANCH --state all",
        "npm": "npm view NAME@VERSION version",
        "pypi": "pip index versions NAME",
        "image": "docker buildx imagetools inspect IMAGE",
        "kubectl": "kubectl get RESOURCE -o yaml",
        "helm": "helm history RELEASE",
        "git.push.tag": "git ls-remote --tags origin TAG",
        "git.push": "git ls-remote origin BRANCH",
    }
)
BY_FORMAT: Mapping[str, Said] = MappingProxyType(
    {
        "github-actions": Said("gh run list --workflow {file} --limit 5 --json databaseId,attempt,conclusion"),
        "n8n": Said("look at the last execution that failed: GET /api/v1/executions?status=error&includeData=true"),
        "zapier": Said("look into the Zap's history for one run with the status Stopped or Errored, and write down the state of each step"),
        "make": Said("look into the scenario's history for one run with a warning or an error, and write down the state of each module"),
        "cloudflare": Said("wrangler workflows instances describe NAME latest"),
        "step-functions": Said("aws stepfunctions get-execution-history --execution-arn ARN"),
        "temporal": Said("temporal workflow show -w ID"),
        "compose": Said("docker compose ps --all"),
        "crontab": Said("crontab -l"),
        "kubernetes": Said("kubectl get jobs --output wide"),
        "systemd": Said("systemctl status {flow}"),
        "halfway": Said("halfway show RUN"),
    }
)
SETTINGS: Mapping[str, Said] = MappingProxyType(
    {"autoreplay": Said("Is Autoreplay on for this Zap? (Zap settings → Advanced → Autoreplay)")}
)
"""What stands in no file, but can be looked up at one place."""
KEPT_IN: Mapping[str, str] = MappingProxyType(
    {
        "npm": "package.json", "pnpm": "package.json", "yarn": "package.json", "bun": "package.json", "make": "Makefile",
        "just": "justfile", "task": "Taskfile.yml", "rake": "Rakefile", "invoke": "tasks.py", "nox": "noxfile.py", "tox": "tox.ini",
    }
)  # fmt: skip
"""Programs that only start what stands in a file of the project."""
CALLED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
ANYTHING_ELSE = Said("look into the log of the last run that failed for the last line of each step, and write down which ids came back")


def question(case: Case, judged: Judgement) -> Said | None:
    """The one thing that somebody could show; nothing if all that is needed was read."""
    unread = _unread(case, judged)
    if unread is not None and unread.what in SETTINGS:
        return SETTINGS[unread.what]
    if unread is not None:
        return _show(unread)
    if case.run is not None and any(reason.code == "S2" for reason in judged.reasons):
        return Said("Can you show the log of {run} for the step that ended without an answer?", {"run": case.run.id})
    gates = [step for step in outward(case.flow) if step.gate is not None and not step.gate.visible and step.effect is not None]
    if gates and any(reason.code == "L4" for reason in judged.reasons):
        return _about_gate(gates[0])
    return None


def _unread(case: Case, judged: Judgement) -> Unread | None:
    first = step_of(case, judged.findings[0].step) if judged.findings else None
    parts = [step.opaque for step in (first, *outward(case.flow), *case.flow.steps) if step is not None and step.opaque is not None]
    return next((part for part in (*parts, *case.flow.unread) if not part.at_hand), None)


def _show(unread: Unread) -> Said:
    """Asks for the file that shows it, where that is known."""
    told = {"what": unread.what, "place": _place(unread)}
    program, _, rest = unread.what.partition(" ")
    if rest and "(" not in rest and program in KEPT_IN:
        return Said("Can you show {file}, which says what {what} does? {place} refers to it.", {**told, "file": KEPT_IN[program]})
    module = _module(unread.what) if unread.span.file.endswith(".py") and CALLED.fullmatch(unread.what) else ""
    if module:
        return Said("Can you show the module {module}, which {what} comes from? {place} refers to it.", {**told, "module": module})
    return Said("Can you show {what}? {place} refers to it.", told)


def _module(called: str) -> str:
    """The part of a dotted name before its function, and before the class of that."""
    parts = called.split(".")[:-1]
    while parts and parts[-1][:1].isupper():
        parts.pop()
    return ".".join(parts)


def _place(unread: Unread) -> str:
    return f"{unread.span.file}:{unread.span.line}"


def _about_gate(step: Step) -> Said:
    assert step.gate is not None
    if step.gate.kind == "environment":
        return Said(
            "Who are the required reviewers of {name}? (Settings → Environments → {name})", {"name": step.gate.approver or step.quote}
        )
    return Said("Who may approve at {step}?", {"step": step.name})


def next_step(case: Case, judged: Judgement) -> Said:
    """Something to do at once that reads only; with a run, a look at what is in doubt."""
    doubtful = sorted((step for step in outward(case.flow) if outcome(case, step) is Outcome.UNKNOWN), key=lambda step: -weight(step))
    looked = next(filter(None, (_look(case, step) for step in doubtful)), None)
    if looked is not None:
        return looked
    if case.run is not None and case.flow.format == "halfway":
        return Said("halfway show {run}", {"run": case.run.id})
    step = step_of(case, judged.findings[0].step) if judged.findings else None
    command = "" if step is None else _command(step)
    if command:
        return Said(command)
    if case.run is not None and doubtful and case.flow.format == "github-actions":
        return Said("gh run view {run} --log-failed", {"run": case.run.id})
    found = BY_FORMAT.get(case.flow.extra.get("engine", ""), BY_FORMAT.get(case.flow.format, ANYTHING_ELSE))
    return Said(found.text, {"file": case.flow.file.rpartition("/")[2], "flow": case.flow.id})


def _command(step: Step) -> str:
    action = "" if step.effect is None else step.effect.action
    return next((command for prefix, command in BY_ACTION.items() if action.startswith(prefix)), "")


def _look(case: Case, step: Step) -> Said | None:
    """A look whether the step has happened, as a command or as the base has it in words."""
    command, action = _command(step), case.action(step)
    if command:
        return Said(command)
    if action is None or action.probe in ("", "none"):
        return None
    return Said("look whether {step} has happened: {probe}", {"step": step.name, "probe": Said(action.probe)})
