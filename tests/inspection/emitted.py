"""One small automation of each format, as files, for the tests of what is made from them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.inspection.test_agents import SETTINGS
from tests.inspection.test_bpmn import HEAD as BPMN_HEAD
from tests.inspection.test_bpmn import SAGA
from tests.inspection.test_bpmn import TAIL as BPMN_TAIL
from tests.inspection.test_cloudflare import HEAD as TS_HEAD
from tests.inspection.test_cloudflare import TAIL as TS_TAIL
from tests.inspection.test_compose import CRON, SHOP
from tests.inspection.test_n8n import chain, node
from tests.inspection.test_python_engines import ACTIVITIES, TEMPORAL
from tests.inspection.test_step_functions import ORDER
from tests.inspection.test_timetables import CRONTAB, TIMER
from tests.inspection.test_zapier import FILTER, ISSUE, MAIL, ROW, TYPE, UPDATE, export

SHIP = '''name: Ship it
on:
  workflow_dispatch:
    inputs:
      tag: {description: which, required: true}
concurrency: {group: ship}
jobs:
  ship:
    runs-on: ubuntu-latest
    environment: production
    timeout-minutes: 10
    steps:
      - name: Publish
        run: twine upload dist/*
      - name: Release
        env: {TAG: "${{ inputs.tag }}"}
        run: |
          gh release create "$TAG" --notes '"""; import os; os.system("x") #'
      - name: Charge
        if: inputs.tag != ''
        run: 'curl -X POST https://api.stripe.com/v1/charges -H "Idempotency-Key: ${{ inputs.tag }}" -d amount=1'
      - name: Tell
        continue-on-error: true
        run: curl --max-time 5 -X POST https://hooks.slack.com/services/x -d done
      - name: Cry
        if: failure()
        run: curl -X POST https://alarm.example -d failed
'''
WORKFLOW = """
    const id = await step.do("charge", { retries: { limit: 3, delay: 1000 }, timeout: "30 seconds" }, async () => {
      const made = await new Stripe(this.env.KEY).charges.create({ amount: 1 }, { idempotencyKey: event.payload.orderId });
      return { id: made.id };
    });
    await step.sleep("a while", "1 hour");
    await step.waitForEvent("approved", { type: "approval", timeout: "1 day" });
    await step.do("tell", async () => { await fetch("https://api.resend.com/emails", { method: "POST" }); });"""
SCRIPT = """#!/bin/bash
set -e
twine upload dist/*
for one in $(cat list); do
  curl -X POST https://api.github.com/repos/a/b/issues -d "$one"
done
claude -p "tidy up"
kubectl apply -f deploy.yml
"""
BLUEPRINT = {
    "name": "Leads",
    "flow": [
        {"id": 1, "module": "gateway:CustomWebHook", "version": 1, "mapper": {}},
        {
            "id": 2, "module": "http:MakeRequest", "version": 1, "mapper": {"url": "https://pay.example/charge", "method": "post"},
            "onerror": [{"id": 9, "module": "slack:CreateMessage", "version": 1, "mapper": {"channel": "C1"}}],
        },
        {"id": 3, "module": "google-email:ActionSendEmail", "version": 1, "mapper": {"to": ["{{1.email}}"]}},
    ],
    "metadata": {"version": 1, "scenario": {}},
}  # fmt: skip
FLAGS = {"retryOnFail": True, "maxTries": 4, "onError": "continueErrorOutput"}
N8N = chain(
    node("Hook", "webhook"),
    node("Betrag buchen – 결제", "httpRequest", {"method": "POST", "url": "https://pay.example/charge"}, **FLAGS),
    node("class", "gmail", {"sendTo": "={{ $json.mail }}"}),
    node("class!", "postgres", {"operation": "insert"}),
)

FILES: Mapping[str, str] = {
    ".claude/settings.json": SETTINGS,
    "trip.bpmn": BPMN_HEAD + SAGA + BPMN_TAIL,
    "shop.ts": TS_HEAD + WORKFLOW + TS_TAIL,
    "compose.yml": SHOP,
    "jobs.yaml": CRON,
    "n8n.json": json.dumps(N8N, indent=1),
    "order.asl.json": ORDER,
    "crontab": CRONTAB,
    "books.timer": TIMER,
    "books.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/curl -X POST https://api.stripe.com/v1/close\nRestart=on-failure\n",
    "zapfile.json": json.dumps(export(ROW, MAIL, FILTER, TYPE, ISSUE, UPDATE), indent=1),
    "make.json": json.dumps(BLUEPRINT, indent=1),
    ".github/workflows/ship.yml": SHIP,
    "release.sh": SCRIPT,
    "order.py": TEMPORAL,
    "activities.py": ACTIVITIES.replace("{key}", "order_id"),
}
