"""Whole inspections of automations as they are found in public: which weakness comes first, in which line, and with which verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from halfway.inspection.card import Card
from halfway.inspection.finding import Severity
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.rules import all_rules

A_UNIT_THAT_ENDS_AT_WHAT_IS_THERE = """
on: {push: {tags: ["v*"]}}
jobs:
  ship:
    runs-on: ubuntu-latest
    steps:
      - uses: goreleaser/goreleaser-action@v6
        with: {args: release --clean}
      - run: ./smoke-test.sh
      - run: git push origin HEAD:main
"""
WHAT_ONLY_THIS_RUN_DID = """
on: {push: {branches: [main]}, workflow_dispatch: {inputs: {again: {type: boolean}}}}
concurrency: {group: ship}
jobs:
  ship:
    if: github.repository == 'acme/shop' && (github.event_name == 'push' || inputs.again)
    runs-on: ubuntu-latest
    steps:
      - id: packages
        uses: changesets/action@v1
        with: {publish: pnpm release}
      - if: steps.packages.outputs.published == 'true'
        run: gh release create "$TAG" --notes-file notes.md
"""
COMMANDS_OF_A_SCRIPT = """
on: {workflow_call: {inputs: {tags: {type: string, required: true}}}}
jobs:
  copy:
    runs-on: ubuntu-latest
    steps:
      - run: curl -sL https://code.example/crane/releases/latest/download/crane.tgz | tar xz
      - uses: actions/github-script@v7
        with:
          script: |
            const { execSync } = require('child_process');
            for (const tag of JSON.parse(process.env.TAGS)) {
              execSync(`crane copy acme/shop@${process.env.DIGEST} acme/shop:${tag}`);
            }
"""
A_DRAFT_THAT_IS_THERE_TWICE = """
import subprocess
import requests

BASE = "https://api.github.com/repos/acme/shop"


def draft(version):
    asked = {"tag_name": version, "draft": True}
    answer = requests.post(f"{BASE}/releases", json=asked, timeout=30)
    print(answer.json()["id"])


def pull(version):
    answer = requests.post(f"{BASE}/pulls", json={"head": version, "base": "main"}, timeout=30)
    print(answer.json()["number"])


if __name__ == "__main__":
    draft("1.2.3")
    pull("1.2.3")
"""
THE_OWN_PEOPLE = """
from celery import shared_task
from requests import RequestException


@shared_task(autoretry_for=(RequestException,), max_retries=3)
def tell(request, order_id):
    service = request.find_service(IAdminNotificationService)
    service.send_notification(payload={"text": order_id})
"""
A_TICKET_OF_WHICH_SOMEBODY_MAY_HEAR = """
from celery import shared_task
from requests import RequestException


@shared_task(autoretry_for=(RequestException,), max_retries=3)
def report(request, model_id):
    desk = request.find_service(HelpDesk)
    place = desk.create_conversation(request_json={"subject": "Report", "tags": [model_id]})
    request.db.add(place)
"""
A_MARK_AND_A_MAIL_THAT_IS_SWALLOWED = """
import os
import time
from sendgrid import SendGridAPIClient

sent_state = {}


def mail(item):
    try:
        SendGridAPIClient(os.environ["KEY"]).send({"to": os.environ["TO"], "text": item["text"]})
    except Exception as error:
        print(error)


def main():
    while True:
        time.sleep(5)
        for item in items():
            sent_state[item["id"]] = item["state"]
            mail(item)


if __name__ == "__main__":
    main()
"""
BY_HAND = """#!/usr/bin/env bash
set -euo pipefail
: "${RUN_ID:?}"
gh run download "$RUN_ID"
gh release create "$(jq -r .tag manifest.json)" artifacts/*
"""

LOOK_ALIKES: Mapping[str, tuple[str, str, str, int, str]] = {
    "ends.yml": (A_UNIT_THAT_ENDS_AT_WHAT_IS_THERE, "R-08", "MEDIUM", 7, "limited trial"),
    "gate.yml": (WHAT_ONLY_THIS_RUN_DID, "R-17", "HIGH", 13, "limited trial"),
    "copy.yml": (COMMANDS_OF_A_SCRIPT, "R-27", "LOW", 13, "proceed"),
    "draft.py": (A_DRAFT_THAT_IS_THERE_TWICE, "R-08", "HIGH", 10, "limited trial"),
    "own.py": (THE_OWN_PEOPLE, "R-01", "MEDIUM", 9, "limited trial"),
    "desk.py": (A_TICKET_OF_WHICH_SOMEBODY_MAY_HEAR, "R-01", "HIGH", 9, "limited trial"),
    "swallow.py": (A_MARK_AND_A_MAIL_THAT_IS_SWALLOWED, "R-18", "HIGH", 20, "limited trial"),
    "recover.sh": (BY_HAND, "R-32", "LOW", 5, "limited trial"),
}


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Card]:
    folder = tmp_path_factory.mktemp("alike")
    for name, (text, *_) in LOOK_ALIKES.items():
        (folder / name).write_text(dedent(text), encoding="utf-8")
    inspector = Inspector(READERS, all_rules(), load())
    found = {name: inspector.inspect([folder / name]).card for name in LOOK_ALIKES}
    return {name: card for name, card in found.items() if card is not None}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_the_gravest_weakness_comes_first(name: str, cards: dict[str, Card]) -> None:
    _, rule, severity, line, verdict = LOOK_ALIKES[name]
    card = cards[name]
    assert card.gravest is not None
    assert (card.gravest.rule, card.gravest.severity.name, card.gravest.span.line) == (rule, severity, line)
    assert card.verdict.value == verdict


def test_every_fact_has_a_quote_also_where_no_rule_knows_one(cards: dict[str, Card]) -> None:
    found = [one for card in cards.values() for one in (card.gravest, *card.others) if one is not None]
    assert len(found) > len(cards)
    assert [(one.rule, fact.span) for one in found for fact in one.facts if not fact.quote] == []


def test_what_is_done_well_has_no_blocker(cards: dict[str, Card]) -> None:
    for name in ("copy.yml", "recover.sh"):
        assert all(one.severity is not Severity.BLOCKER for one in (cards[name].gravest, *cards[name].others) if one is not None)


SHOP = """
name: Shop
on: {workflow_dispatch: {}}
jobs:
  ship:
    runs-on: ubuntu-latest
    steps:
      - name: Charge
        run: curl -X POST https://api.stripe.com/v1/payment_intents -d amount=5
      - name: Release
        run: gh release create v1
"""
RUN = """{"databaseId": 7, "attempt": 1, "workflowName": "Shop", "jobs": [{"name": "ship", "conclusion": "failure", "steps": [
{"name": "Charge", "conclusion": "success", "startedAt": "2026-11-29T10:00:00Z"},
{"name": "Release", "conclusion": "failure", "startedAt": "2026-11-29T10:00:05Z"}]}]}
"""


def test_a_run_that_stopped_halfway_is_told_with_the_lines_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "shop.yml").write_text(SHOP, encoding="utf-8")
    (tmp_path / "run.json").write_text(RUN, encoding="utf-8")
    card = Inspector(READERS, all_rules(), load()).inspect([tmp_path / "shop.yml"], [tmp_path / "run.json"]).card
    assert card is not None
    found = {one.rule: one for one in (card.gravest, *card.others) if one is not None}
    half = found["R-42"]
    assert (half.severity, [fact.span.line for fact in half.facts]) == (Severity.BLOCKER, [9, 2, 3])
    assert "the run 7 is half done" in half.inference.text.format(**half.inference.params)
