"""The samples in the pages of the rules do what the pages say: the bad one has the weakness, the good one has not.

A page shows the lines that matter; here they get the rest of the file around them. Pictures in words cannot be inspected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

import pytest

from halfway.inspection.finding import Severity
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.rules import all_rules

PAGES = sorted((Path(__file__).parents[2] / "docs/reference/rules").glob("r*.md"))
PICTURES = {"r06", "r14", "r20", "r21", "r42", "r43", "r44"}
_SAMPLE = re.compile(r"^(Bad|Good):\n\n```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

STARTED = "on: {push: {tags: ['v*']}, workflow_dispatch: {inputs: {order: {required: true}}}}\n"
JOB = 'jobs:\n  job:\n    runs-on: ubuntu-latest\n    env: {ORDER: "${{ inputs.order }}"}\n    steps:\n'
DEPLOYS = "jobs: {ship: {runs-on: ubuntu-latest, steps: [{run: helm upgrade shop ./chart}]}}\n"
CLASS = """
import { WorkflowEntrypoint, WorkflowEvent, WorkflowStep } from "cloudflare:workers";
import Stripe from "stripe";
export class Shop extends WorkflowEntrypoint<Env, Params> {
  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {
    const order = event.payload;
    const stripe = new Stripe(this.env.KEY);
"""
IMPORTS = """
import os
import psycopg
import requests
import smtplib
import stripe
from pathlib import Path
from uuid import uuid4
from github import Github
from celery import shared_task as task
from fastapi import FastAPI
from tenacity import retry, stop_after_attempt

app = FastAPI()
mailer = smtplib.SMTP("mail.example")
CURSOR = Path("/var/lib/cursor")
desk = Github(os.environ["TOKEN"])
board = desk.get_repo("acme/desk")
db = psycopg.connect(os.environ["DATABASE"])
"""
CHARGE = '    await step.do("charge", async () => (await stripe.charges.create(order)).id, {\n'
RELEASE = """jobs:
  release:
    outputs: {published: "${{ steps.it.outputs.published }}", exists: "${{ steps.it.outputs.exists }}"}
    steps: [{id: it, uses: changesets/action@v1, with: {publish: pnpm release}}]
"""
STATES = """{"StartAt": "ChargePayment", "States": {
"ChargePayment": {"Type": "Task", "Resource": "arn:aws:states:::http:invoke",
  "Parameters": {"Method": "POST", "ApiEndpoint": "https://api.stripe.com/v1/charges"}, "Next": "Ship"},
"Ship": {"Type": "Task", "Resource": "arn:aws:states:::http:invoke",
  "Parameters": {"Method": "POST", "ApiEndpoint": "https://parcels.example/"},
  "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "RefundPayment"}], "End": true},
"""
FAILED = """, "AskFinance": {"Type": "Pass", "Next": "Failed"}, "Failed": {"Type": "Fail"}}}"""
NODES = """{"connections": {"Hook": {"main": [[{"node": "Post", "type": "main", "index": 0}]]}}, "nodes": [
  {"name": "Hook", "type": "n8n-nodes-base.webhook", "parameters": {}},
  {"name": "Post", "type": "n8n-nodes-base.slack", "parameters": {"channel": "C1"}}], """
AROUND: Mapping[str, tuple[str, int, str]] = {
    "r11": ("on: push\n", 0, DEPLOYS),
    "r12": ("", 0, DEPLOYS),
    "r17": (STARTED + RELEASE, 2, "    steps: [{run: docker push acme/app:latest}]\n"),
    "r19": (IMPORTS + "def main():\n", 4, 'if __name__ == "__main__":\n    main()\n'),
    "r22": (CLASS + CHARGE, 6, "    });\n  }\n}\n"),
    "r23": (STATES, 0, FAILED),
    "r29": (NODES, 0, ""),
    "r30": ("on: {schedule: [{cron: 0 2 * * *}]}\n" + JOB + "      - run: rclone sync a b\n", 6, ""),
    "r31": (NODES, 0, ""),
    "r36": ("on: push\n", 0, DEPLOYS),
}
"""Of a page: what stands before its lines, how far they are set in, and what stands behind them."""


def sample(page: str, kind: str) -> tuple[str, str]:
    """The language and the lines."""
    text = (PAGES[0].parent / f"{page}.md").read_text(encoding="utf-8")
    return next((language, lines) for found, language, lines in _SAMPLE.findall(text) if found == kind)


def whole(page: str, language: str, lines: str) -> tuple[str, str]:
    """The name of a file and its text."""
    before, deep, after = AROUND.get(page) or _usual(language, lines)
    name = {"yaml": "flow.yml", "ts": "flow.ts", "typescript": "flow.ts", "bash": "flow.sh", "json": "flow.json"}.get(language, "flow.py")
    if before == NODES:
        lines = lines.strip().removeprefix("{")
    lines = lines.replace("<the token itself>", "Zk81mQ27xW90bv")
    return name if language else "crontab", before + indent(lines, " " * deep) + after


def _usual(language: str, lines: str) -> tuple[str, int, str]:
    if language == "yaml" and lines.startswith("- "):
        return STARTED + JOB, 6, ""
    if language == "yaml" and lines.startswith("jobs:"):
        return STARTED, 0, ""
    if language in ("ts", "typescript"):
        return CLASS, 4, "\n  }\n}\n"
    if language in ("py", "python"):
        return IMPORTS, 0, ""
    return ("#!/usr/bin/env bash\n", 0, "") if language == "bash" else ("", 0, "")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Severity]]:
    """What all rules say of each sample, and how gravely."""
    inspector = Inspector(READERS, all_rules(), load())
    rules: dict[tuple[str, str], dict[str, Severity]] = {}
    for page in (one.stem for one in PAGES if one.stem not in PICTURES):
        for kind in ("Bad", "Good"):
            name, text = whole(page, *sample(page, kind))
            file = tmp_path_factory.mktemp(f"{page}{kind}") / name
            file.write_text(text, encoding="utf-8")
            seen = inspector.inspect([file])
            assert seen.card is not None, (page, kind, text)
            cards = (seen.card, *seen.others)
            findings = [one for card in cards for one in (card.gravest, *card.others) if one is not None]
            rules[page, kind] = {one.rule: one.severity for one in reversed(findings)}
    return rules


@pytest.mark.parametrize("page", [one.stem for one in PAGES if one.stem not in PICTURES])
def test_the_samples_of_a_page_do_what_it_says(page: str, found: dict[tuple[str, str], dict[str, Severity]]) -> None:
    rule, bad, good = f"R-{page[1:]}", found[page, "Bad"], found[page, "Good"]
    assert rule in bad
    # Who stands behind an environment is not in a file; the page says that a low finding stays.
    assert good.get(rule, Severity.INFO) == (Severity.LOW if page == "r32" else Severity.INFO)
    assert good.get(rule, Severity.INFO) < bad[rule]


def test_only_pictures_are_left_out() -> None:
    assert {one.stem for one in PAGES if sample(one.stem, "Bad")[0] in ("text",)} | {"r44"} == PICTURES
