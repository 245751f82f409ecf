import pytest

from halfway.inspection.formats.compose import READER
from halfway.inspection.formats.kubernetes import READER as KUBERNETES
from halfway.inspection.model import Kind, Repeating, Starting
from halfway.inspection.source import Source
from tests.inspection.small_knowledge import by_id, edges, only, read

SHOP = """services:
  db:
    image: postgres:16
    restart: always
  web:
    image: acme/web
    command: serve
    ports: ["80:80"]
  bill:
    image: acme/bill
    command: charge_all.sh
    restart: always
    environment:
      API_KEY: abcdef123456
  push:
    image: alpine/git
    command: ["git", "push", "origin"]
    restart: on-failure:2
    depends_on:
      bill: {condition: service_completed_successfully}
"""


def test_work_that_is_started_again_when_it_is_done() -> None:
    flow = only(READER, "compose.yml", SHOP)
    steps = by_id(flow)
    assert list(steps) == ["bill: charge_all.sh", "push: git push origin"]
    bill, push = flow.steps
    assert (bill.span.line, bill.quote, bill.unit) == (11, "command: charge_all.sh", "bill")
    assert [(one.kind, one.automatic, one.bound, one.span.line) for one in bill.repeaters] == [
        (Repeating.RESTART, True, None, 12),
        (Repeating.UNIT_RERUN, False, None, 9),
    ]
    assert bill.opaque is not None
    assert bill.opaque.what == "charge_all.sh"
    assert bill.effect is not None
    assert Kind.UNKNOWN in bill.effect.kinds
    assert push.effect is not None
    assert (push.effect.action, push.repeaters[0].bound, push.repeaters[0].span.line) == ("git.push", 3, 18)
    assert edges(flow) == [("bill: charge_all.sh", "push: git push origin", "success")]
    assert [(fact.span.line, "abcdef" in fact.quote) for fact in flow.secrets] == [(14, False)]


def test_who_is_asked_whether_he_is_well_waits_for_others() -> None:
    asked = SHOP.replace("    command: charge_all.sh\n", "    command: charge_all.sh\n    healthcheck: {test: ls}\n")
    serves = [
        [step.extra.get("serves", "") for step in only(READER, "compose.yml", text).steps if step.unit == "bill"] for text in (SHOP, asked)
    ]
    assert serves == [[""], ["true"]]


def test_servers_alone_are_no_automation() -> None:
    assert read(READER, "compose.yml", SHOP[: SHOP.index("  bill:")]) == []


def test_jobs_that_labels_start() -> None:
    text = """services:
  app:
    image: acme/app
    labels:
      ofelia.job-exec.nightly.schedule: "@every 1h"
      ofelia.job-exec.nightly.command: "curl -X POST https://api.stripe.com/v1/close"
      ofelia.job-exec.nightly.no-overlap: "true"
"""
    flow = only(READER, "compose.yml", text)
    [step] = flow.steps
    assert (flow.id, step.effect is not None and step.effect.action, step.span.line) == ("app: nightly", "stripe.charge", 6)
    assert [(one.kind, one.period) for one in flow.triggers] == [(Starting.SCHEDULE, 3_600.0)]
    assert [(one.group, one.queues) for one in flow.guards] == [("nightly", False)]


CRON = """apiVersion: v1
kind: ConfigMap
metadata: {name: x}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: close
spec:
  schedule: "0 * * * *"
  concurrencyPolicy: Replace
  failedJobsHistoryLimit: 0
  jobTemplate:
    spec:
      activeDeadlineSeconds: 120
      template:
        spec:
          restartPolicy: OnFailure
          containers:
            - name: main
              image: acme/close
              command: ["sh", "-c", "git push && curl -X POST https://api.stripe.com/v1/close"]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: acme/once}]
"""


def test_jobs_of_a_cluster() -> None:
    close, once = read(KUBERNETES, "jobs.yaml", CRON)
    first, second = close.steps
    assert (first.effect is not None and first.effect.action, second.effect is not None and second.effect.action) == (
        "git.push",
        "stripe.charge",
    )
    assert (first.unit, first.scope, first.span.line, first.timeout) == ("close", "close", 22, 120.0)
    assert [(one.kind, one.bound, one.default) for one in first.repeaters] == [
        (Repeating.RESTART, 7, False),  # `OnFailure` is written
        (Repeating.SCHEDULE, None, False),
        (Repeating.UNIT_RERUN, None, True),
    ]
    assert [(one.cancels, one.queues, one.span.line) for one in close.guards] == [(True, False, 11)]
    assert close.evidence_off is not None
    assert close.evidence_off.line == 12
    assert [one.period for one in close.triggers] == [3_600.0]
    [step] = once.steps
    assert step.opaque is not None
    assert (step.opaque.what, [one.kind for one in step.repeaters]) == ("acme/once", [Repeating.UNIT_RERUN])


@pytest.mark.parametrize(
    "text", ["services: []\nimage: x", "services:\n  a: {x: image}\n", "kind: Job\n", "jobs:\n  a:\n    services: {b: {image: c}}\n"]
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert not READER.takes(Source("x.yml", text))
    assert not KUBERNETES.takes(Source("x.yml", text))


@pytest.mark.parametrize(
    "service",
    [
        "{image: a, command: 3}",
        "{image: [a], command: [], depends_on: 1}",
        '{build: ., command: "\'", restart: [always]}',
        "{image: a, labels: [x]}",
    ],
)
def test_odd_services_do_no_harm(service: str) -> None:
    assert len(read(READER, "compose.yml", f"services:\n  a: {service}\n")) <= 1


def test_a_shell_as_entrypoint_is_told_by_the_command_what_to_do() -> None:
    text = "services:\n  init:\n    image: acme/init\n    entrypoint: /bin/bash\n"
    text += "    command:\n      - -c\n      - |\n        mkdir -p /a\n        exec /prepare db\n"
    assert [step.opaque and step.opaque.what for step in only(READER, "compose.yml", text).steps] == ["/prepare"]
