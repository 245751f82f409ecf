"""Why a job never begins, or never comes to its end: GitHub refuses what it asks for, or fails it each time."""

from __future__ import annotations

import re

from halfway.inspection.formats.github.expressions import Job
from halfway.inspection.formats.github.handing import sources
from halfway.inspection.source import Node

# Since November 2020, unless somebody allows them again.
_OLD_COMMAND, _ALLOWED = (
    re.compile(r"(?m)^[^\n#]*\b(?:echo|printf|print|Write-\w+)\b[^\n]*::(set-env|add-path)\b"),
    "ACTIONS_ALLOW_UNSECURE_COMMANDS",
)
# Since January 2025, those of pages that use them, too, and the cache's since March.
_REFUSED = re.compile(
    r"actions/(?:(?:upload|download)-artifact@v[123]|upload-pages-artifact@v[12]|deploy-pages@v[123]|cache@v[12])(?:\.[\d.]+)?$"
)
_NO_VERSION = re.compile(r"[\w./-]+@v?$")  # what is called so is most likely a slip
# https://github.com/actions/runner-images: its announcements 2845, 6002, 5583, 9255, 10721, 11101, 12045, 13046.
_RETIRED = re.compile(r"ubuntu-(?:16|18|20)\.04|macos-1(?:0\.15|1|2|3)(?:-x?large)?|windows-20(?:16|19)")
_APPLIES, _INITIALISES = (
    re.compile(r"\b(?:terraform|tofu)\b[^\n|;&]*\bapply\b"),
    re.compile(r"\binit\b|terragrunt|\btfc\b|atlantis|spacelift"),
)
# Without any of it these are turned away at once.
_NEEDS_SECRET = re.compile(
    r"\b(?:docker|podman) push\b|\bbuildx build\b[^\n]*--push|\btwine upload\b|\b(?:npm|pnpm|yarn|cargo|poetry|uv) publish\b|\bgem push\b"
    r"|\b(?:terraform|tofu)\b[^\n|;&]*\bapply\b"
    r"|\b(?:fly|flyctl|vercel|netlify|wrangler|serverless|sls|cdk|pulumi|helm|kubectl|ansible-playbook)\b"
    r"|docker/build-push-action@|pypa/gh-action-pypi-publish@"
)
_SECRET = re.compile(
    r"(?i)\bsecrets\s*[.\[]|github\.token|GITHUB_TOKEN|\binherit\b|\b(?:inputs|vars|env)\.\w*(?:token|key|secret|pass|cred|kubeconfig)"
)
_LOGS_IN = re.compile(r"(?m)(?:^|[;&|(]|\$\()\s*(?:sudo\s+)?(?:ssh|scp|sftp|rsync)\s[^\n]*@")
_BRINGS_KEY = re.compile(
    r"(?i)ssh-agent|ssh-key|ssh_key|ssh[-_]?private|private[-_]?key|\.ssh\b|\b(?:ssh|scp|sftp|rsync)\b[^\n]*\s-i\b|IdentityFile"
    r"|sshpass|ssh-add|known_hosts|tailscale|cloudflared|\.pem\b|\bkeys?\b"
)
_OF_MATRIX = re.compile(r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}")


def never_begins(job: Job) -> str:
    """`action:` and the one for which GitHub ends the job before its first step, `version:` and one that names none, or `machine:`."""
    used = [step.get("uses").text for step in job.steps.values()]
    refused = next((f"action:{one}" for one in used if _REFUSED.match(one)), "")
    return refused or next((f"version:{one}" for one in used if _NO_VERSION.match(one)), "") or _retired(job)


def _retired(job: Job) -> str:
    machines = [one.text for one in _of_matrix(job.node.get("runs-on"), job).each()]
    return next((f"machine:{one}" for one in machines if _RETIRED.fullmatch(one.lower())), "") if len(set(machines)) == 1 else ""


def _of_matrix(node: Node, job: Job) -> Node:
    """What a value is, or the list of what it is one after the other."""
    found = _OF_MATRIX.fullmatch(node.text.strip())
    matrix = job.node.get("strategy", "matrix")
    return node if found is None or matrix.get("include").there else matrix.get(found[1])


def fails(job: Job) -> str:
    """Why the job ends with a failure each time, so that nothing that waits for it begins."""
    passed_over = job.node.get("continue-on-error")
    if passed_over and passed_over.value is not False:
        return ""
    return next((why for step in job.steps.values() if (why := halts(step, job))), "")


def halts(step: Node, job: Job) -> str:
    """Why a step fails each time: `command:` and what GitHub takes no more, or `python:`, of which there is not this one."""
    if step.get("if").there or (step.get("continue-on-error").there and step.get("continue-on-error").value is not False):
        return ""
    old = _OLD_COMMAND.search(step.get("run").text)
    if old is not None and not any(one.get("env", _ALLOWED) for one in (step, job.node, job.root)):
        return f"command:{old[1]}"
    return "python:" if _asks_for_no_python(step, job) else ""


def brings(job: Job) -> frozenset[str]:
    """What the job as a whole is seen to bring of what its steps cannot do without; an action of the project may bring anything."""
    used = [step.get("uses").text for step in job.steps.values()]
    if any(one.startswith("./") for one in used):
        return frozenset({"init", "key", "secret"})
    said = sources(job.node)  # with all that its steps say
    token = any(one.get("permissions", "id-token").there or one.get("permissions").text == "write-all" for one in (job.node, job.root))
    handed = token or job.node.get("environment").there or _SECRET.search(f"{said}\n{sources(job.root.get('env'))}") is not None
    found = {"init": _INITIALISES.search(said) is not None, "key": _BRINGS_KEY.search(said) is not None, "secret": handed}
    return frozenset(name for name, there in found.items() if there)


def lacks(step: Node, brought: frozenset[str]) -> str:
    """What a step cannot do without, and its job does not bring: `init` for Terraform, a `key` for another machine, any `secret`."""
    run = step.get("run").text
    needed = {
        "init": _APPLIES.search(run),
        "key": _LOGS_IN.search(run),
        "secret": _NEEDS_SECRET.search(f"{run}\n{step.get('uses').text}"),
    }
    return next((name for name, match in needed.items() if match is not None and name not in brought), "")


def _asks_for_no_python(step: Node, job: Job) -> bool:
    """Whether it sets up Python 3.1, as which 3.10 is read without quotes: there is none for it to find."""
    if not step.get("uses").text.startswith("actions/setup-python@"):
        return False
    return any(one.value == 3.1 for one in _of_matrix(step.get("with", "python-version"), job).each())
