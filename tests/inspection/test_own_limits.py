"""What ends by itself, though nothing in the file says so; and what is only looked at. Beside each the one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspection.test_told_too_much import agent, dag, told, workflow

FLOW = ".github/workflows/a.yml"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: sync}}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers:
        - name: sync
          image: bitnami/kubectl:1
          command: [/bin/sh, -c, "kubectl create secret generic a --from-literal=b=$C {tries} | kubectl apply -f -"]
"""
RESTORE = "#!/bin/bash\nif {looks}; then\n  echo there\nelse\n  npm publish\nfi\n"
DEPLOYS = """
import {{ WorkflowEntrypoint }} from "cloudflare:workers";
export class Shop extends WorkflowEntrypoint {{
  async run(event, step) {{
    await step.do("decide", async () => {{
      if (event.payload.closed) {{
        await fetch("https://shop.example/mails", {{ method: "POST", body: "closed" }});
        {leaves}
      }}
      {later}
    }});
  }}
}}
"""
CALLS = """
import boto3
import requests
from airflow import DAG
from airflow.operators.python import PythonOperator

def load(day):
    {}

with DAG("x", schedule="@daily") as dag:
    PythonOperator(task_id="t", python_callable=load)
"""
SERVICE = """services:
  load:
    {build}image: {image}
    command: python -m shop.load
    restart: on-failure
"""
BOOKS = """await fetch("https://shop.example/orders", { method: "POST", body: "open" });"""


def untimed(step: str) -> str:
    return workflow(step).replace("    timeout-minutes: 9\n", "")


def ssh(more: str = "") -> str:
    return dag("DAG('x', schedule='@daily')", f"SSHOperator(task_id='t', ssh_conn_id='a', command='make ship'{more})")


PAIRS = [
    ("R-15", FLOW, untimed("- uses: appleboy/ssh-action@v1\n  with: {script: make ship}\n"),
     untimed("- uses: acme/ssh-action@v1\n  with: {script: make ship, key: '${{ secrets.KEY }}'}\n- run: npm publish\n")),
    ("R-15", FLOW, untimed("- run: aws ecs update-service --service a\n"), untimed("- run: aws ecs update-service --cli-read-timeout 0\n")),
    ("R-15", FLOW, untimed("- run: dotnet nuget push a.nupkg\n"), untimed("- run: npm publish\n")),
    ("R-15", "dag.py", ssh(", cmd_timeout=60"), ssh()),
    ("R-15", "dag.py", ssh(", sla=timedelta(minutes=9)"), ssh()),
    ("R-15", "dag.py", dag("DAG('x', schedule='@daily')", "TriggerDagRunOperator(task_id='t', trigger_dag_id='ship')"),
     dag("DAG('x', schedule='@daily')", "TriggerDagRunOperator(task_id='t', trigger_dag_id='ship', wait_for_completion=True)")),
    ("R-08", "job.yaml", JOB.format(tries="--dry-run=client -o yaml"), JOB.format(tries="--dry-run=none -o yaml")),
    ("R-25", "a.sh", RESTORE.format(looks="pg_restore --list all.dump"), RESTORE.format(looks="pg_restore all.dump")),
    ("R-25", "a.sh", RESTORE.format(looks="command -v pg_restore"), RESTORE.format(looks="command pg_restore all.dump")),
    ("R-15", FLOW, untimed("- run: gcloud builds submit .\n"), untimed("- run: gcloud run deploy web\n")),
    ("R-15", "dag.py", CALLS.format("boto3.client('s3').put_object(Bucket='a', Key='b', Body=day)"),
     CALLS.format("requests.post('https://shop.example/orders', json=day)")),
    ("R-36", "a.sh", "#!/bin/bash\nset -e\n# as in db://user:PASS@host.example\nnpm publish\n",
     "#!/bin/bash\nset -e\n# as in db://user:hunter-2@host.example\nnpm publish\n"),
    ("R-36", "a.sh", "#!/bin/bash\necho 'BOT_TOKEN: @TheFather2'\nnpm publish\n",
     "#!/bin/bash\necho 'BOT_TOKEN: 9TheFather2'\nnpm publish\n"),
    ("R-41", "compose.yaml", SERVICE.format(build="build: .\n    ", image="shop-tools"), SERVICE.format(build="", image="shop-tools")),
    ("R-10", ".claude/settings.json", '{"permissions": {"allow": ["Bash(wrangler deploy:*)"]}}', ""),
    # A branch that is left at its end is not before what stands below it; a failure that is caught repeats nothing.
    ("R-03", "shop.ts", DEPLOYS.format(leaves="return null;", later=BOOKS), DEPLOYS.format(leaves="", later=BOOKS)),
    ("R-03", "shop.ts", DEPLOYS.format(leaves="", later=f"try {{ {BOOKS} }} catch (e) {{ console.log(e); }}"),
     DEPLOYS.format(leaves="", later=f"try {{ {BOOKS} }} catch (e) {{ throw e; }}")),
    # That the engine tries it again after its own ten minutes is the question of R-02.
    ("R-14", "shop.ts", DEPLOYS.format(leaves="", later=""),
     DEPLOYS.format(leaves="", later="").replace('"decide", async', '"decide", { retries: { limit: 3 }, timeout: "1 minute" }, async')),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "none", "one"), PAIRS)
def test_beside_what_ends_by_itself_stands_one_that_does_not(tmp_path: Path, rule: str, name: str, none: str, one: str) -> None:
    assert rule not in told(tmp_path / "a", name, none)
    assert not one or rule in told(tmp_path / "b", name, one)


def test_what_an_agent_may_do_is_no_run_that_another_one_meets(tmp_path: Path) -> None:
    found = told(tmp_path, FLOW, workflow(agent("Bash(wrangler deploy)") + "- run: wrangler deploy\n"))
    assert "R-10" in found
