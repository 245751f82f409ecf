"""What looks like a weakness and is none, or a lesser one: each was told once of an automation that somebody then read."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest

from halfway.inspection.finding import Case
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.rules import all_rules

INSPECTOR = Inspector(READERS, all_rules(), load())


def told(folder: Path, name: str, text: str) -> dict[str, list[str]]:
    """The severities of each rule that speaks."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    found: dict[str, list[str]] = {}
    for flow in INSPECTOR.inspect([path]).flows:
        for one in INSPECTOR.findings(Case(flow, INSPECTOR.knowledge)):
            found.setdefault(one.rule, []).append(one.severity.name)
    return found


def workflow(steps: str, on: str = "push") -> str:
    head = f"on: {on}\njobs:\n  ship:\n    runs-on: ubuntu-latest\n    timeout-minutes: 9\n    steps:\n"
    # Without any token most of what is shipped would be turned away.
    return (
        head + "\n".join(f"      {line}" for line in dedent(steps).strip().splitlines()) + "\n    outputs:\n      handed: inputs.api_key\n"
    )


def script(code: str, on: str = "push") -> str:
    body = "\n".join(f"      {line}" for line in dedent(code).strip().splitlines())
    return workflow(f"- uses: actions/github-script@v7\n  with:\n    script: |\n{body}\n- run: gh issue create --title x --body y", on)


def node(type: str, then: str, **parameters: object) -> str:
    """A node of n8n that an event starts; each has another name than its type."""
    nodes = [
        {"name": "Event", "type": f"n8n-nodes-base.{then}", "parameters": {}, "typeVersion": 1, "position": [0, 0]},
        {"name": "Act", "type": f"n8n-nodes-base.{type}", "parameters": parameters, "typeVersion": 1, "position": [200, 0]},
    ]
    ways = {"Event": {"main": [[{"node": "Act", "type": "main", "index": 0}]]}}
    return json.dumps({"name": "x", "nodes": nodes, "connections": ways, "active": True, "settings": {}}, indent=1)


def dag(made: str, task: str) -> str:
    head = "from airflow import DAG\nfrom pendulum import duration\nfrom shop.common import shared\n"
    operator, package = task.partition("(")[0], "from shop.operators import"
    return f"{head}{package} {operator}\n\nwith {made} as dag:\n    t = {task}\n"


def agent(tools: str) -> str:
    return f"""- uses: anthropics/claude-code-action@v1
  with:
    claude_args: |
      --max-turns 9
      --allowedTools "{tools}"
"""


def job(command: str) -> str:
    return f"""
    apiVersion: batch/v1
    kind: Job
    metadata: {{name: x}}
    spec:
      backoffLimit: 4
      template:
        spec:
          restartPolicy: Never
          containers: [{{name: x, image: "perl:5.34", command: {command}}}]
    """


def looked_for_first() -> str:
    types = {"Ask": "discord", "Sort": "code", "There?": "if", "Make": "discord"}
    parameters = {
        "Ask": {"resource": "channel", "operation": "getAll"},
        "Sort": {"jsCode": "return $input.all().filter(one => one.json.name === 'x');"},
        "There?": {"conditions": {"string": [{"value1": "={{ $json.id }}", "operation": "isNotEmpty"}]}},
        "Make": {"resource": "channel", "operation": "create"},
    }
    nodes = [{"name": "Event", "type": "n8n-nodes-base.webhook", "parameters": {}, "typeVersion": 1, "position": [0, 0]}] + [
        {"name": name, "type": f"n8n-nodes-base.{types[name]}", "parameters": parameters[name], "typeVersion": 1, "position": [0, 0]}
        for name in types
    ]
    names = ["Event", *types]
    ways = {one: {"main": [[{"node": other, "type": "main", "index": 0}]]} for one, other in pairwise(names)}
    ways["There?"] = {"main": [[], [{"node": "Make", "type": "main", "index": 0}]]}
    return json.dumps({"name": "x", "nodes": nodes, "connections": ways, "active": True, "settings": {}}, indent=1)


def told_in_a_message() -> str:
    given = json.loads(node("asana", "webhook", resource="task", operation="create"))
    text = {"channel": "C1", "text": "=made: {{ $json.id }}"}
    given["nodes"].append({"name": "Say", "type": "n8n-nodes-base.slack", "parameters": text, "typeVersion": 1, "position": [0, 0]})
    given["connections"]["Act"] = {"main": [[{"node": "Say", "type": "main", "index": 0}]]}
    return json.dumps(given, indent=1)


def task(tags: str, inner: str, executable: str = "true") -> str:
    return f"""<?xml version="1.0"?>
    <bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
      <bpmn:process id="p" isExecutable="{executable}">
        <bpmn:startEvent id="s"><bpmn:messageEventDefinition/></bpmn:startEvent>
        <bpmn:serviceTask id="t" {tags}>{inner}</bpmn:serviceTask>
        <bpmn:sequenceFlow id="f" sourceRef="s" targetRef="t"/>
      </bpmn:process>
    </bpmn:definitions>"""


ASL = """
{{"StartAt": "A", "States": {{"A": {{"Type": "Task", "Resource": "{resource}", "TimeoutSeconds": 9, "End": true}}}}}}
"""
RETRIED = """
from celery import shared_task
from requests import RequestException

@shared_task(autoretry_for=(RequestException,), max_retries=3)
def tell(request, order):
    service = request.find_service(Letters)
    service.send_notification(payload=order)
    metrics = request.find_service(Metrics, context=None)
    metrics.increment("told")
"""
IMAGE = "DockerOperator(task_id='t', image='x')"
REF = """- run: |
    head=$(gh api "repos/a/b/git/matching-refs/heads/$HEAD_REF" --jq '.[0].ref')
    if [ -z "$head" ]; then
      gh api --method POST repos/a/b/git/refs --raw-field ref="refs/heads/$HEAD_REF" --silent
    fi
    gh pr create --title x --body y --head "$HEAD_REF"
"""
MATRIX = "    strategy: {matrix: {name: [a, b]}}\n"
ASKED = """- run: gh api graphql --paginate --slurp -f query="$query"
- run: gh pr comment 1 --body x
"""
HERE = "${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}"
QUEUED = """
{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::events:putEvents", "TimeoutSeconds": 9, "End": true,
  "Parameters": {"Entries": [{"Detail": {"of.$": "$$.Execution.Id"}, "Source": "shop"}]},
  "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 3}]}}}
"""
DELETED = """
import boto3

def tidy(event, context):
    vod = boto3.client("mediapackage-vod")
    for asset in vod.list_assets()["Assets"]:
        vod.delete_asset(Id=asset["Id"])
"""
SERVICE = "services:\n  web:\n    image: acme/web:1.2\n    command: {command}\n    restart: always\n"
MAILED = """
from celery import shared_task
from shop.mails import {call}

@shared_task(acks_late=True)
def tell(order):
    {call}(order)
"""
QUEUES = """
from celery import shared_task
from shop.orders import charge, open_orders

@shared_task
def tell(order):
    charge(order)

@shared_task(acks_late=True)
def all_of(order):
    {}
    charge(order)
"""
RESTORED = """
{{"StartAt": "Recover", "States": {{"Recover": {{"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:{}", "TimeoutSeconds": 9,
  "Parameters": {{"DbClusterIdentifier.$": "$.new", "SnapshotIdentifier.$": "$.copy"}}, "End": true}}}}}}
"""
DRAWN = """<?xml version="1.0"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:di="http://www.omg.org/spec/BPMN/20100524/DI">
  <process id="p" isExecutable="true"><serviceTask id="a" name="Payment received"/></process><di:BPMNDiagram id="d"/>
</definitions>
"""
CAUGHT = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
  <process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="a"/>
    <serviceTask id="a" name="Charge the card" camunda:type="external" camunda:topic="charge"/>
    <boundaryEvent id="b" attachedToRef="a"><errorEventDefinition id="d" {}/></boundaryEvent>
    <sequenceFlow id="f2" sourceRef="b" targetRef="c"/>
    <serviceTask id="c" name="Refund the card" camunda:class="shop.Refund"/>
  </process>
  <error id="duplicate" errorCode="duplicate"/>
</definitions>
"""
ASKING = "https://api.shop.example/graphql"
TRANSCRIPT = '{"query": "query Transcript($id: String!) { transcript(id: $id) { title } }"}'
SCRIPT = '["sh", "-c", "set -e\\nfor id in $(cat ids); do\\n  curl -X POST https://shop.example/orders/$id\\ndone\\n"]'
WAITED = """
{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob.sync", "End": true}}}
"""
ROUTED = """
{{"StartAt": "Charge", "States": {{
  "Charge": {{"Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:1:function:charge", "Next": "{next}",
    "Catch": [{{"ErrorEquals": ["States.ALL"], "Next": "{caught}"}}]}},
  "B": {{"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "End": true}},
  "C": {{"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "End": true}}}}}}
"""
CHILD = """
{{"StartAt": "A", "States": {{"A": {{"Type": "Task", "Resource": "arn:aws:states:::states:startExecution", "End": true,
  "Parameters": {{"StateMachineArn": "x", "Input": {{"{key}.$": "$$.Execution.Id"}}}},
  "Retry": [{{"ErrorEquals": ["States.ALL"], "MaxAttempts": 3}}]}}}}}}
"""
RETRYING = """
{{"StartAt": "A", "States": {{"{state}": {{"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "TimeoutSeconds": 9, "End": true,
  "Parameters": {{"FunctionName": "{function}"}}, "Retry": [{{"ErrorEquals": ["States.ALL"], "MaxAttempts": 3}}]}}}}}}
"""
CAUSED = """
{{"StartAt": "{state}", "States": {{"{state}": {{"Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:1:function:x", "End": true}}}}}}
"""
HOOK = """
{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "curl -X POST https://shop.example/started"}]}]}}
"""
SOUGHT = """
from github import Github

def tell(title):
    repo = Github("x").get_repo("a/b")
    for one in repo.get_issues():
        if {test}:
            return
    repo.create_issue(title=title)

def main():
    for title in ("a", "b"):
        tell(title)
    Github("x").get_repo("a/b").create_git_tag("v1")

if __name__ == "__main__":
    main()
"""
OWN_ERROR = """
from celery import shared_task
import requests

class {error}(Exception):
    pass

@shared_task(autoretry_for=({error},), max_retries=3)
def order(item):
    requests.post("https://shop.example/orders", json=item, timeout=9)
"""
PUT = """
{{"StartAt": "A", "States": {{"A": {{"Type": "Task", "Resource": "${{DDBPut}}", "TimeoutSeconds": 9, "End": true,
  "Parameters": {{"TableName": "t", "{item}": {{"Id": {{"S.$": "$.id"}}}}}},
  "Retry": [{{"ErrorEquals": ["States.ALL"], "MaxAttempts": 3}}]}}}}}}
"""
ACTIVITY = """
{{"StartAt": "A", "States": {{"A": {{"Type": "Task", "Resource": "arn:aws:states:eu-west-1:1:activity:{name}", "End": true}}}}}}
"""
ZEEBE = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
  <process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="a"/>
    <serviceTask id="a" name="Book"><extensionElements><zeebe:taskDefinition type="{type}"/></extensionElements></serviceTask>
    {beside}
  </process>
</definitions>
"""
TIMED = """<subProcess id="x" triggeredByEvent="true"><startEvent id="xs"><timerEventDefinition><timeDuration>PT5M</timeDuration>
  </timerEventDefinition></startEvent></subProcess>"""
ASKED_LATE = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">
  <process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="a"/>
    <userTask id="a" name="Approve order" camunda:assignee="kim"/>
    <boundaryEvent id="b" attachedToRef="a"><timerEventDefinition><timeDuration>P2D</timeDuration></timerEventDefinition></boundaryEvent>
    <sequenceFlow id="f2" sourceRef="b" targetRef="c"/>
    <{kind} id="c" name="Approve by the head" camunda:class="shop.Approve"/>
  </process>
</definitions>
"""
ONLY_OF_PULLS = """- run: gh issue comment 1 --body x
  if: github.event_name == 'pull_request' && (needs.a.outputs.b == '' || needs.a.outputs.c == '')
"""
ALARM = "- run: rclone sync ./exports warehouse:exports\n- if: failure()\n  run: gh issue {}\n"
COMMENT = "await github.rest.issues.createComment({owner, repo, issue_number: 1, body: 'no'})"


@pytest.mark.parametrize(
    ("name", "text", "silent"),
    [
        # where a program is, and whether its grammar is right
        (
            "check.sh",
            '#!/bin/bash\nfor TOOL in kubectl helm; do\n  command -v "$TOOL" || exit 1\ndone\nkubectl apply -f x.yml\n',
            "R-27 R-13 R-08 R-44",
        ),
        ("ci.yml", workflow("- run: node --check scripts/stage-assets.mjs"), "R-44"),
        ("ci.yml", workflow("- run: bash -n tools/deploy.sh"), "R-44"),
        # what only prepares a shell, or starts a helper beside the job; who hears of a task is set up where the workers start
        (
            "ci.yml",
            workflow("- name: Set Environment Variables\n  uses: ./.github/actions/preview\n- run: gh issue create --title x --body y"),
            "R-44",
        ),
        ("ci.yml", workflow("- uses: ./.github/actions/docker-compose-start\n- run: gh issue create --title x --body y"), "R-44"),
        ("tasks.py", QUEUES.format("tell.delay(order)"), "R-29"),
        # what builds, and publishes later; what is restored as a new one; what is asked by a POST; what the file gives a name
        ("ci.yml", workflow("- run: goreleaser release --split --clean\n- run: gh issue create --title x --body y"), "R-08 R-44"),
        ("x.asl.json", RESTORED.format("rds:restoreDbClusterFromSnapshot"), "R-25"),
        ("restore.sh", "#!/bin/bash\naws rds restore-db-instance-from-db-snapshot --db-instance-identifier b\n", "R-25"),
        ("x.json", node("httpRequest", "webhook", method="POST", url=ASKING, jsonBody=TRANSCRIPT), "R-39"),
        ("x.json", node("awsTranscribe", "webhook", transcriptionJobName="={{$json.name}}"), "R-16"),
        (
            "ci.yml",
            workflow("- uses: goreleaser/goreleaser-action@v6\n  with: {args: release --split}\n- run: gh issue create --title x --body y"),
            "R-08 R-44 R-26",
        ),
        ("x.json", node("googleDrive", "webhook", operation="upload", name="={{ $json.name }}"), "R-16"),
        ("x.json", node("spotify", "webhook", resource="playlist", operation="add"), "R-16"),
        # a draft is let pass by whoever publishes it; a scanner; a text that is set; settings of a script; statements that stand there
        ("ci.yml", workflow("- run: gh release create v1 --draft"), "R-32"),
        ("ci.yml", workflow("- uses: gitleaks/gitleaks-action@v2\n  env: {LICENSE: '${{ secrets.LICENSE }}'}"), "R-44"),
        ("ci.yml", workflow("- uses: peter-evans/dockerhub-description@v4\n  with: {password: '${{ secrets.HUB }}'}"), "R-44 R-01"),
        ("led.sh", "#!/bin/bash\n. ./shop/zed.rc\ncurl -X POST https://shop.example/orders\n", "R-44"),
        (
            "dag.py",
            dag("DAG('x')", "ShopSqlOperator(task_id='rename', sql='ALTER INDEX a RENAME TO b; DISCARD ALL')"),
            "R-44",
        ),
        # it ends itself; what is thrown as an error with a name has been answered
        ("ci.yml", workflow("- uses: goreleaser/goreleaser-action@v6").replace("    timeout-minutes: 9\n", ""), "R-15"),
        ("p.bpmn", CAUGHT.format('errorRef="duplicate"'), "R-14"),
        # only another start than the clock does it; a remark below what is open; a tool with a limit of its own
        ("ci.yml", workflow(ONLY_OF_PULLS, "{schedule: [{cron: '1 1 * * *'}], pull_request: {}}"), "R-29"),
        ("ci.yml", workflow(ALARM.format("comment 1 --body x"), "{schedule: [{cron: '1 1 * * *'}]}"), "R-30"),
        ("ci.yml", workflow("- run: flux push artifact oci://x").replace("    timeout-minutes: 9\n", ""), "R-15"),
        # an answer in a chat, to whoever the event names
        ("x.json", node("whatsApp", "webhook", operation="send", recipientPhoneNumber="={{ $json.body.from }}", textBody="ok"), "R-32"),
        # one clicks, in the editor; a loop queues what it has looked for; an operator that says that it gets rows
        ("x.json", node("awsTranscribe", "manualTrigger", transcriptionJobName="={{$json.name}}"), "R-32"),
        ("tasks.py", QUEUES.format("for one in open_orders():\n        tell.delay(one)"), "R-08"),
        ("dag.py", dag("DAG('x', default_args={'retries': 2})", "ShopRowsOperator(task_id='get_candidates', table='x')"), "R-44"),
        # the program comes by the pipe; a file of the system
        ("ci.yml", workflow('- run: curl -sfL https://get.example/x.sh | sh -s -- -b "$HOME/bin"'), "R-44"),
        ("ci.yml", workflow("- run: . /etc/profile"), "R-44"),
        # what only sets up the shell, or what runs on the machine of the job
        (
            "publish.sh",
            "#!/bin/bash\nset -e\n$(ssh-agent -s)\nscp x host:/srv\ngit push origin master\n",
            "R-08",
        ),
        ("ci.yml", workflow("- run: sudo systemctl restart docker\n- run: gh issue create --title x --body y"), "R-08 R-27"),
        # a service is there to stay
        ("docker-compose.yml", SERVICE.format(command="python -m shop.worker"), "R-15"),
        ("docker-compose.yml", SERVICE.format(command='sh -c "chown -R app /data && exec ./serve"'), "R-32"),
        ("docker-compose.yml", SERVICE.format(command="x").replace("acme/web:1.2", "acme/web:latest@sha256:14cea493d9a34af3"), "R-41"),
        # what the answer of a search by POST, or of a list, is
        ("x.json", node("discord", "webhook", resource="channel", operation="getAll", authentication="oAuth2"), "R-39 R-32"),
        ("x.json", node("httpRequest", "webhook", method="POST", url="https://tasks.example/v1/tasks/search"), "R-39"),
        ("x.json", node("httpRequest", "webhook", method="POST", url="https://api.elevenlabs.io/v1/text-to-speech/x"), "R-39"),
        # nothing is started before a run of the assistant is
        ("x.json", node("httpRequest", "webhook", method="POST", url="https://api.openai.com/v1/threads"), "R-35"),
        # a status is for machines, an alert for the own people
        ("tasks.py", MAILED.format(call="send_build_status"), "R-32 R-06"),
        ("tasks.py", MAILED.format(call="send_email_alert"), "R-32"),
        ("tasks.py", MAILED.format(call="send_invoice_mail"), "R-32"),  # whoever queues it has decided
        # the execution has a limit; an error whose way is that of the success; a job that its name knows; what the event is told by
        ("x.asl.json", WAITED.replace("{", '{"TimeoutSeconds": 900, ', 1), "R-15"),
        ("x.asl.json", ROUTED.format(next="B", caught="B"), "R-14"),
        ("x.asl.json", QUEUED.replace("events:putEvents", "aws-sdk:transcribe:startTranscriptionJob"), "R-01"),
        ("x.asl.json", CHILD.format(key="lock"), "R-01"),
        # a timer cannot end what runs inside the engine, nor an event; a second one is known; no code, no part
        ("p.bpmn", task('camunda:class="shop.Charge"', ""), "R-15"),
        ("p.bpmn", task("", "").replace('<bpmn:serviceTask id="t" >', '<bpmn:endEvent id="t"><bpmn:messageEventDefinition/>')
         .replace("serviceTask", "endEvent"), "R-15"),
        ("p.bpmn", CAUGHT.format('errorRef="duplicate"'), "R-01 R-02"),
        ("p.bpmn", task('camunda:asyncBefore="true"', ""), "R-44"),
        # what sends to another process; a log; what nothing leads to, or no worker takes; a part that begins by a timer; a job behind it
        ("p.bpmn", task("camunda:expression=\"${runtimeService.createMessageCorrelation('paid').correlate()}\"", ""), "R-44 R-32 R-06"),
        ("p.bpmn", task('name="Send mail" camunda:delegateExpression="${logger}" camunda:asyncBefore="true"', ""), "R-44 R-01 R-02"),
        ("p.bpmn", task('camunda:class="shop.Pay" camunda:asyncBefore="true"', "").replace('targetRef="t"', 'targetRef="u"'), "R-44 R-02"),
        ("p.bpmn", ZEEBE.format(type="", beside=""), "R-01 R-02"),
        ("p.bpmn", ZEEBE.format(type="charge", beside=TIMED), "R-15"),
        ("p.bpmn", task('camunda:class="shop.Charge" camunda:asyncAfter="true"', ""), "R-01 R-02"),
        ("p.bpmn", ASKED_LATE.format(kind="userTask"), "R-33"),
        # only errors of its own have a way; what was given up is not done again; a row; a person answers; a check; no mail is sent
        ("x.asl.json", ROUTED.format(next="B", caught="C").replace("States.ALL", "OutOfStock"), "R-14"),
        ("x.asl.json", RETRYING.format(state="Charge", function="${Charging}").replace("States.ALL", "States.TaskFailed"), "R-14"),
        ("x.asl.json", PUT.format(item="Item"), "R-01 R-44"),
        ("x.asl.json", ACTIVITY.format(name="HumanApproval"), "R-44"),
        ("x.asl.json", RETRYING.format(state="IAM Check", function="${CheckA}"), "R-44"),
        ("x.asl.json", CAUSED.format(state="EmailExtractor"), "R-32"),
        # what is gone is not deleted twice; an event of a diagram; an EXPRESS child; an error of the project's own; a team's own chat
        ("x.asl.json", QUEUED.replace("events:putEvents", "aws-sdk:rds:deleteDBInstance"), "R-01"),
        ("x.asl.json", WAITED.replace("batch:submitJob", "states:startExecution").replace('"End"', '"Comment": "Express", "End"'), "R-15"),
        ("shop/tasks.py", OWN_ERROR.format(error="StockFull"), "R-01"),
        ("x.json", node("mattermost", "webhook", operation="post", channelId="={{ $json.id }}"), "R-32"),
        # a server that everybody knows, told its settings; a run of tests without anything to reach out with
        ("docker-compose.yml", SERVICE.format(command="--storage.path=/data").replace("acme/web", "prom/prometheus"), "R-44"),
        ("docker-compose.yml", SERVICE.format(command="npx mocha dist/tests.js"), "R-44"),
        (".claude/settings.json", HOOK, "R-15"),
        # looked for one by one; a tool of a package; what goes on without it; what is downloaded
        ("tool.py", SOUGHT.format(test="one.title == title"), "R-08 R-16 R-27"),
        ("show.sh", "#!/bin/bash\n./web/node_modules/.bin/http-server . -p 8080\n", "R-44"),
        ("ci.yml", workflow("- run: |\n    for n in a b; do\n      helm upgrade $n ./chart || true\n    done"), "R-27"),
        ("send.sh", "#!/bin/bash\nwhile true; do\n  curl -X POST https://shop.example/orders -d x &\n  sleep 1\ndone\n", "R-15"),
        # what is allowed only looks up
        (".claude/settings.json", json.dumps({"permissions": {"allow": ["mcp__context7__resolve-library-id"]}}), "R-34"),
        # what is called so looks, works on what it is given, or only pretends
        ("x.asl.json", RETRYING.format(state="Handle", function="${LambdaGetPrices}"), "R-44"),
        ("x.asl.json", RETRYING.format(state="Mock: print the label", function="${Printer}"), "R-44"),
        ("x.asl.json", CAUSED.format(state="ProcessMessage"), "R-32"),
        ("tasks.py", MAILED.format(call="create_thumbnail"), "R-32 R-16"),
        ("ci.yml", workflow("- run: ./scripts/assert-changed-files.sh\n  env: {KEY: '${{ secrets.KEY }}'}"), "R-44"),
        ("x.json", node("baserow", "scheduleTrigger", operation="create"), "R-10"),
        # a partition that the engine fills in does not hide the service
        ("x.asl.json", ASL.format(resource="arn:${AWS::Partition}:states:::sagemaker:createModel"), "R-44"),
        ("x.asl.json", ASL.format(resource=f"arn:{HERE}:aws-sdk:athena:getQueryResults"), "R-44"),
        # code that only works on what it has, a command that stands there, a constant
        ("x.json", node("code", "webhook", language="python", pythonCode="from collections import Counter\nreturn []"), "R-44"),
        ("x.json", node("code", "webhook", jsCode="const c = require('crypto');\nreturn [];"), "R-44"),
        ("x.json", node("ssh", "webhook", command="sudo apt update && sudo apt upgrade -y"), "R-44"),
        ("p.bpmn", task('camunda:expression="${true}" camunda:asyncBefore="true"', ""), "R-44 R-01"),
        # what works on what it is given, as its name has it
        ("x.asl.json", RETRYING.format(state="A", function="audio-chunker"), "R-44"),
        ("ci.yml", workflow("- uses: ./.github/actions/bootstrap-poetry\n  with: {version: '3.12'}"), "R-44"),
        # who looks first, and sorts what was found by code of its own
        ("x.json", looked_for_first(), "R-39 R-16"),
        ("x.json", node("httpRequest", "slackTrigger", method="POST", url="https://slack.com/api/views.open"), "R-39"),
        # an answer to the one who has written, also where a plain webhook takes it
        ("x.json", node("telegram", "webhook").replace('"Event"', '"Listen for Telegram events"'), "R-32"),
        # what only works on itself, what only tries, what has nothing to reach out with
        ("job.yaml", job('["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"]'), "R-37 R-44"),
        ("ci.yml", workflow("- run: ./goreleaser release --clean --snapshot\n  env: {TOKEN: '${{ secrets.TOKEN }}'}"), "R-44 R-32"),
        ("ci.yml", workflow("- run: ./src/redis-cli save"), "R-44"),
        ("mock-server/docker-compose.yml", SERVICE.format(command="php -e app/http.php"), "R-44 R-15"),
        # what is gone already is not deleted a second time; a queue can tell a second event by the execution that it names
        ("tasks.py", DELETED, "R-27"),
        ("check.sh", '#!/bin/bash\nfor TOOL in kubectl helm; do\n  "$TOOL" sync\ndone\n', "R-27"),
        ("append.py", "for name in open('names'):\n    with open('seen.txt', 'a') as file:\n        file.write(name)\n", "R-27 R-08"),
        ("ask.sh", '#!/bin/bash\nfor x in a b; do\n  curl -X POST "${MODEL_ENDPOINT}" -d "$x"\ndone\n', "R-27"),
        ("x.asl.json", QUEUED, "R-01"),
        # limits of pendulum, and defaults that stand elsewhere; who fetches, and who only gets rows
        ("dag.py", dag("DAG('a', default_args={'execution_timeout': duration(minutes=9)})", IMAGE), "R-15"),
        ("dag.py", dag("DAG('a', schedule='@daily', default_args=shared)", IMAGE), "R-15 R-29"),
        ("dag.py", dag("DAG('a', default_args={'retries': 2})", "HttpFetchOperator(task_id='t', endpoint='/x')"), "R-01 R-15"),
        ("dag.py", dag("DAG('a', default_args={'retries': 2})", "BigQueryRowsOperator(task_id='get_rows', sql='x')"), "R-01 R-15"),
        # the errors that are retried are those of a request
        ("tasks.py", RETRIED, "R-03"),
        ("dag.py", dag("DAG('a', default_args={'retries': 2})", "SwiftOperator(task_id='download_data', output='x')"), "R-01 R-15"),
        ("p.bpmn", task('camunda:type="external" camunda:topic="noop"', ""), "R-44 R-02"),
        # an agent that only reads; a ref that is asked for first; who has written to a bot sees that no answer comes
        ("ci.yml", workflow(agent("Read,Grep,Bash(git diff:*)")), "R-32"),
        ("ci.yml", workflow(REF), "R-08"),
        # what is done by a person, or in a loop that a person ends
        ("load.sh", '#!/bin/bash\nwhile true; do\n  curl -X POST "$URL" -d x\n  sleep 1\ndone\n', "R-13"),
        # what a step only prepares on a machine that is gone, a cluster that the job has made, a tool that is only installed
        ("ci.yml", workflow("- name: Set up the virtual environment\n  uses: ./.github/actions/make_venv"), "R-44"),
        ("ci.yml", workflow("- uses: ./.github/actions/compare-version"), "R-44"),
        ("ci.yml", workflow("- uses: helm/kind-action@v1\n- run: kubectl delete ns a\n- run: helm upgrade a ./b"), "R-08 R-26 R-10"),
        ("ci.yml", workflow("- uses: goreleaser/goreleaser-action@v6\n  with: {install-only: true}"), "R-15 R-44"),
        # a part of a deployment, and a row, are nobody's to approve or to look for
        ("x.sh", "#!/bin/bash\naws rds create-db-snapshot --db-snapshot-identifier x\n", "R-32"),
        ("x.json", node("airtable", "webhook", operation="create", base="b", table="t"), "R-16"),
        # the message that follows tells the id
        ("x.json", told_in_a_message(), "R-16"),
        # the own people, by the place where they are
        ("dag.py", dag("DAG('a', default_args={'retries': 0})", "MessageOperator(task_id='slack_at_start')"), "R-44 R-32"),
        # who asks for the failure of a function looks at it
        ("pull.sh", '#!/bin/bash\nset -e\npost() {\n  gh pr create -t x -b y\n}\nif ! post; then\n  exit 1\nfi\ngit push\n', "R-13"),
        # for somebody who looks for a fault
        ("docker-compose.yml", SERVICE.format(command="bash -c work").replace("restart: always", "profiles: [debug]"), "R-44 R-08"),
        # this flow itself
        ("x.json", node("executeWorkflow", "webhook", workflowId="={{ $workflow.id }}"), "R-44"),
        # there is one draft only; a page has a limit of its own; a question that is put in pages; what is put is put again
        ("ci.yml", workflow("- uses: release-drafter/release-drafter@v6"), "R-16"),
        ("ci.yml", workflow("- uses: actions/deploy-pages@v4").replace("    timeout-minutes: 9\n", ""), "R-15"),
        ("ci.yml", workflow(ASKED), "R-08"),
        ("ci.yml", workflow("- run: curl -X PUT https://shop.example/x -d y\n- run: gh issue create --title x --body y"), "R-08"),
        ("x.sh", "#!/bin/bash\nset -e\ngit push --follow-tags\nrm -Rf work\n", "R-08"),
        # of a matrix the jobs that failed are done again alone
        ("ci.yml", workflow("- run: docker push acme/${{ matrix.name }}").replace("    steps", f"{MATRIX}    steps"), "R-27"),
        # an image is there to be used by what follows
        ("x.sh", "#!/bin/bash\nset -e\ndocker push acme/shop:1\naws lambda create-function --function-name x\n", "R-26"),
        # what tidies up comes last
        ("ci.yml", workflow("- run: cosign sign --yes acme/shop:1\n- run: gh api --method DELETE repos/a/b/actions/artifacts/1"), "R-26"),
        # nobody but a person starts what has no trigger
        ("x.json", node("airtable", "manualTrigger", operation="append").replace("manualTrigger", "noOp"), "R-29"),
        # an option is no program
        ("docker-compose.yml", SERVICE.format(command="-config.file=/etc/tempo.yaml").replace("acme/web", "grafana/tempo"), "R-08 R-37"),
        # without a name of its own a checkout takes what the run is about
        (
            "ci.yml",
            workflow(
                "- uses: actions/checkout@v4\n  with: {ref: '${{ github.event.pull_request.head.sha }}'}\n- run: docker push acme/shop",
                "{pull_request: {}, workflow_dispatch: {}}",
            ),
            "R-28",
        ),
        # what is said before a script gives up
        ("ci.yml", script(f"if (bad) {{\n  {COMMENT}\n  throw new Error('no')\n}}", "issue_comment"), "R-08"),
        # a code that only sets a variable of the engine; a drawing; two events are about two payments
        ("p.bpmn", task("camunda:expression=\"${execution.setVariable('a', 1)}\" camunda:asyncBefore=\"true\"", ""), "R-01 R-02 R-44"),
        ("p.bpmn", task('name="Charge card" camunda:type="external" camunda:topic="charge"', "", "false"), "R-01 R-02 R-15 R-44"),
        ("p.bpmn", task('name="Charge card" camunda:type="external" camunda:topic="charge"', ""), "R-10"),
        # rows that are added do not meet
        ("x.json", node("googleSheets", "scheduleTrigger", operation="append"), "R-10"),
        # an image is pushed before it is rolled out; the files of a release come after it, and the formula that names them
        ("ci.yml", workflow("- run: docker push acme/shop:1\n- run: helm upgrade shop ./chart"), "R-26"),
        ("ci.yml", workflow("- run: gh release create v1\n- run: gh release upload v1 a.tgz --clobber"), "R-26"),
        ("ci.yml", workflow("- uses: softprops/action-gh-release@v2\n- uses: vedantmgoyal9/winget-releaser@v2"), "R-26"),
    ],
)  # fmt: skip
def test_it_is_none(tmp_path: Path, name: str, text: str, silent: str) -> None:
    found = told(tmp_path / ".github/workflows" if name.endswith(".yml") and "services" not in text else tmp_path, name, text)
    assert {rule: found[rule] for rule in silent.split() if rule in found} == {}


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        (
            "ci.yml",
            workflow("- run: |\n    for TOOL in kubectl helm; do\n      $TOOL sync\n    done\n  env: {KEY: '${{ secrets.KEY }}'}"),
            "R-27",
        ),
        ("ci.yml", workflow("- run: bash tools/deploy.sh"), "R-44"),
        ("x.json", node("discord", "webhook", resource="message", operation="send"), "R-39"),
        ("x.asl.json", WAITED, "R-15"),
        ("x.asl.json", ROUTED.format(next="B", caught="C"), "R-14"),
        ("x.asl.json", CHILD.format(key="AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"), "R-01"),
        ("p.bpmn", task('camunda:type="external" camunda:topic="charge"', ""), "R-15"),
        ("p.bpmn", task("camunda:expression=\"${mails.send('paid')}\"", ""), "R-44"),
        ("p.bpmn", task('name="Send mail" camunda:delegateExpression="${mails}" camunda:asyncBefore="true"', ""), "R-02"),
        ("p.bpmn", task('camunda:class="shop.Charge" camunda:asyncBefore="true"', ""), "R-01"),
        ("x.asl.json", QUEUED.replace("events:putEvents", "aws-sdk:rds:rebootDBInstance"), "R-01"),
        ("x.asl.json", WAITED.replace("batch:submitJob", "states:startExecution"), "R-15"),
        ("shop/tasks.py", OWN_ERROR.format(error="StockTimeout"), "R-01"),
        ("x.json", node("mattermost", "webhook", resource="user", operation="invite", sendTo="user"), "R-39"),
        ("p.bpmn", ZEEBE.format(type="charge", beside=""), "R-02"),
        ("p.bpmn", ZEEBE.format(type="charge", beside=""), "R-15"),
        ("p.bpmn", ASKED_LATE.format(kind="serviceTask"), "R-33"),
        ("x.asl.json", RETRYING.format(state="Charge", function="${Charging}"), "R-14"),
        ("x.asl.json", PUT.format(item="Row"), "R-44"),
        ("x.asl.json", ACTIVITY.format(name="Restock"), "R-44"),
        ("x.asl.json", RETRYING.format(state="IAM Change", function="${ChangeA}"), "R-44"),
        ("p.bpmn", CAUGHT.format(""), "R-01"),
        ("p.bpmn", task('camunda:class="shop.Charge" camunda:asyncBefore="true"', ""), "R-44"),
        ("docker-compose.yml", SERVICE.format(command="restock --all"), "R-44"),
        ("docker-compose.yml", SERVICE.format(command="npx mocha dist/tests.js") + "    environment: [KEY]\n", "R-44"),
        ("tool.py", SOUGHT.format(test="verbose"), "R-08"),
        ("show.sh", "#!/bin/bash\n./web/tools/http-server . -p 8080\n", "R-44"),
        ("ci.yml", workflow("- run: |\n    for n in a b; do\n      helm upgrade $n ./chart\n    done"), "R-27"),
        ("send.sh", "#!/bin/bash\nwhile true; do\n  curl -X POST https://shop.example/orders -d x\n  sleep 1\ndone\n", "R-15"),
        (".claude/settings.json", json.dumps({"permissions": {"allow": ["mcp__shop__restock"]}}), "R-34"),
        ("x.asl.json", RETRYING.format(state="Handle", function="${LambdaPrices}"), "R-44"),
        ("x.asl.json", RETRYING.format(state="Print the label", function="${Printer}"), "R-44"),
        ("x.asl.json", CAUSED.format(state="SendMessage"), "R-32"),
        ("x.json", node("httpRequest", "webhook", method="POST", url="https://tasks.example/v1/tasks"), "R-39"),
        ("x.json", node("httpRequest", "webhook", method="POST", url="https://api.openai.com/v1/threads/x/runs"), "R-35"),
        ("x.asl.json", ASL.format(resource="arn:${AWS::Partition}:states:::lambda:invoke"), "R-44"),
        ("ci.yml", script(f"if (good) {{\n  {COMMENT}\n}}\nif (bad) {{\n  throw new Error('no')\n}}", "issue_comment"), "R-08"),
        ("p.bpmn", task('name="Charge card" camunda:expression="${shop.charge()}" camunda:asyncBefore="true"', ""), "R-44"),
        ("x.json", node("code", "webhook", language="python", pythonCode="import requests\nreturn []"), "R-44"),
        ("x.json", node("code", "webhook", jsCode="const c = require('nodemailer');\nreturn [];"), "R-44"),
        ("x.json", node("ssh", "webhook", command="/opt/shop/restock"), "R-44"),
        ("dag.py", dag("DAG('a', default_args={'retries': 2})", IMAGE), "R-15"),
        ("dag.py", dag("DAG('a', default_args={'retries': 2})", "HttpOperator(task_id='t', endpoint='/x')"), "R-15"),
        ("tasks.py", RETRIED.replace("(RequestException,)", "(Exception,)"), "R-03"),
        ("ci.yml", workflow(agent("Read,Bash(gh pr merge:*)")), "R-32"),
        ("ci.yml", workflow(REF.replace('if [ -z "$head" ]; then', "if true; then")), "R-08"),
        ("ci.yml", workflow("- name: Roll out\n  uses: ./.github/actions/roll_out\n  with: {key: '${{ secrets.KEY }}'}"), "R-44"),
        ("ci.yml", workflow("- run: kubectl delete ns a\n- run: helm upgrade a ./b"), "R-10"),
        ("docker-compose.yml", SERVICE.format(command="bash -c work"), "R-44"),
        ("job.yaml", job('["perl", "-e", "system(q(restock))"]'), "R-44"),
        ("ci.yml", workflow("- run: goreleaser release --clean\n- run: gh issue create --title x --body y"), "R-08"),
        ("restore.sh", "#!/bin/bash\npg_restore --clean -d shop latest.dump\n", "R-25"),
        ("x.json", node("httpRequest", "webhook", method="POST", url=ASKING, jsonBody=TRANSCRIPT.replace("query T", "mutation T")), "R-39"),
        ("tasks.py", QUEUES.format("tell.delay(order)"), "R-08"),
        (
            "x.json",
            node("whatsApp", "scheduleTrigger", operation="send", recipientPhoneNumber="={{ $json.body.from }}", textBody="ok"),
            "R-32",
        ),
        ("ci.yml", workflow("- run: gh release create v1"), "R-32"),
        ("ci.yml", workflow("- uses: shop/poke-action@v2\n  env: {LICENSE: '${{ secrets.LICENSE }}'}"), "R-44"),
        ("led.sh", "#!/bin/bash\n. ./shop/orders.sh\ncurl -X POST https://shop.example/orders\n", "R-44"),
        ("dag.py", dag("DAG('x')", "ShopSqlOperator(task_id='rename')"), "R-44"),
        ("ci.yml", workflow("- uses: softprops/action-gh-release@v2").replace("    timeout-minutes: 9\n", ""), "R-15"),
        ("p.bpmn", CAUGHT.format(""), "R-14"),
        ("ci.yml", workflow(ONLY_OF_PULLS.replace("'pull_request' &&", "'schedule' &&"), "{schedule: [{cron: '1 1 * * *'}]}"), "R-29"),
        ("ci.yml", workflow(ALARM.format("create --title x --body y"), "{schedule: [{cron: '1 1 * * *'}]}"), "R-30"),
        # what a shell of several lines does, a tool that is told to, a program of its own; an action that is given a secret
        ("job.yaml", job(SCRIPT), "R-37"),
        ("x.asl.json", RETRYING.format(state="A", function="audio-seller"), "R-44"),
        ("ci.yml", workflow("- uses: ./.github/actions/ship-poetry\n  with: {key: '${{ secrets.KEY }}'}"), "R-44"),
        ("job.yaml", job('["sh", "-c", "cat ids | xargs -n 1 -I{} curl -X POST https://shop.example/orders/{}"]'), "R-37"),
        ("ci.yml", workflow("- run: acmectl charge --all"), "R-44"),
        ("ci.yml", workflow("- run: java -jar billing.jar"), "R-44"),
        ("ci.yml", workflow("- run: python -m billing.run"), "R-44"),
        ("ci.yml", workflow("- run: php artisan orders:send"), "R-44"),
        ("ci.yml", workflow("- uses: acme/poke@v1\n  env: {TOKEN: '${{ secrets.TOKEN }}'}"), "R-44"),
        ("ci.yml", workflow("- run: ./goreleaser release --clean\n  env: {TOKEN: '${{ secrets.TOKEN }}'}"), "R-32"),
        ("x.asl.json", QUEUED.replace("$$.Execution.Id", "$.order"), "R-01"),
        ("ci.yml", workflow("- run: twine upload dist/*\n- run: helm upgrade shop ./chart"), "R-26"),
    ],
)
def test_beside_it_stands_one(tmp_path: Path, name: str, text: str, rule: str) -> None:
    """The same file but for the thing that makes it none."""
    assert rule in told(tmp_path / ".github/workflows" if name.endswith(".yml") else tmp_path, name, text)


def test_a_drawing_is_no_automation(tmp_path: Path) -> None:
    path = tmp_path / "p.bpmn"
    for text in (task('camunda:type="external" camunda:topic="charge"', "", "false"), DRAWN):
        path.write_text(text)
        (skip,) = INSPECTOR.inspect([path]).skipped
        assert skip.why.endswith("it is a drawing, which no engine runs")
    path.write_text(DRAWN.replace("<serviceTask", '<serviceTask class="shop.Charge"'))
    assert INSPECTOR.inspect([path]).flows


def test_who_starts_a_script_by_hand_may_see_it_hang(tmp_path: Path) -> None:
    assert told(tmp_path, "send.sh", "#!/bin/bash\ncurl -X POST https://shop.example/orders -d x\n")["R-15"] == ["LOW"]
    clock = "17 * * * * root curl -X POST https://shop.example/orders -d x\n"
    assert told(tmp_path, "shop.cron", clock)["R-15"] == ["MEDIUM"]


def test_what_stands_at_a_project_is_found_there(tmp_path: Path) -> None:
    found = told(
        tmp_path / ".github/workflows", "ci.yml", workflow("- run: gh issue create --title x --body y", "{schedule: [{cron: '1 1 * * *'}]}")
    )
    assert found.get("R-16", ["LOW"]) == ["LOW"]


def test_a_timer_around_a_task_ends_it_too(tmp_path: Path) -> None:
    inner = task('camunda:type="external" camunda:topic="x"', "")
    assert "R-15" in told(tmp_path, "p.bpmn", inner)
    whole = inner.replace("<bpmn:serviceTask", '<bpmn:subProcess id="u"><bpmn:serviceTask').replace(
        "</bpmn:serviceTask>",
        '</bpmn:serviceTask></bpmn:subProcess><bpmn:boundaryEvent id="b" attachedToRef="u"><bpmn:timerEventDefinition>'
        "<bpmn:timeDuration>PT1H</bpmn:timeDuration></bpmn:timerEventDefinition></bpmn:boundaryEvent>",
    )
    assert "R-15" not in told(tmp_path, "p.bpmn", whole)


def test_actions_of_one_name_are_told_apart_by_what_they_do(tmp_path: Path) -> None:
    text = workflow("- name: Publish\n  run: |\n    gem push shop.gem\n    git push --tags")
    path = tmp_path / ".github/workflows/ci.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (flow,) = INSPECTOR.inspect([path]).flows
    said = [
        one.inference.text.format(**one.inference.params)
        for one in INSPECTOR.findings(Case(flow, INSPECTOR.knowledge))
        if one.rule == "R-26"
    ]
    assert said == [
        "gem push cannot be taken back without a trace, and is done before git push --tags, which may fail and seems not to need it."
    ]


def test_an_answer_in_a_chat_is_less_than_a_message(tmp_path: Path) -> None:
    text = node("whatsApp", "webhook", operation="send", recipientPhoneNumber="={{ $json.body.from }}", textBody="ok")
    assert told(tmp_path, "x.json", text)["R-39"] == ["MEDIUM"]
    assert told(tmp_path, "x.json", text.replace("={{ $json.body.from }}", "+1 555 0100"))["R-39"] != ["MEDIUM"]


def test_an_action_that_is_an_address_hides_who_logs_in(tmp_path: Path) -> None:
    path = tmp_path / ".github/workflows/ci.yml"
    path.parent.mkdir(parents=True)
    path.write_text(workflow("- uses: acme/publish-https://jane.doe:hunter2pass@db.shop.example/x"))
    (flow,) = INSPECTOR.inspect([path]).flows
    (step,) = flow.steps
    assert "hunter2" not in step.name + step.quote


def test_two_of_one_name_are_told_apart_by_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "move.sh"
    file.write_text('#!/bin/bash\npsql -c "INSERT INTO archive SELECT * FROM orders"\npsql -c "DELETE FROM orders"\n')
    (flow,) = INSPECTOR.inspect([file]).flows
    said = {one.rule: one.inference.params for one in INSPECTOR.findings(Case(flow, INSPECTOR.knowledge))}
    assert (said["R-13"]["what"], said["R-13"]["later"]) == ("psql", "psql (move.sh:3)")
