"""Queues and workflows as a whole: looked at, paused, resumed; and what is told about runs that wait for them."""

from __future__ import annotations

import json

from halfway.app import Halfway
from tests.cli.conftest import Project

LIMITED = """
from pydantic import BaseModel

from halfway import Effect, Halfway, Queue, Step, Workflow


class Order(BaseModel):
    id: str
    do: str = "work"


orders = Workflow("ORDER", Order, version=1, owner="shop-owner", key=lambda order: order.id, concurrency=1,
                  queue=Queue("bulk", concurrency=2, per_minute=60))
mails = Workflow("MAIL", Order, version=1, owner="shop-owner", key=lambda order: order.id, queue=Queue("mail"))


@orders.step(Effect.READ)
def pack(step: Step[Order]) -> None: ...


@mails.step(Effect.READ)
def send(step: Step[Order]) -> None: ...


app = Halfway("URL", workflows=[orders, mails], roles={"operator": ["olga"], "shop-owner": ["sam"], "admin": ["ada"]})
"""


def limited(project: Project) -> Halfway:
    """Another app in the same folder; its limits are said by a worker."""
    module = f"limited_{project.module}"
    (project.folder / f"{module}.py").write_text(LIMITED.replace("URL", project.url))
    (project.folder / "pyproject.toml").write_text(f'[tool.halfway]\napp = "{module}:app"\n')
    app = project.app
    app._worker(["bulk"], 1, 1, kill_after=None)
    return app


def order(project: Project, *arguments: str, by: str = "olga") -> str:
    result = project.run(*arguments, "--reason", "the receiver rests", "--as", by)
    assert result.exit_code == 0, result.stderr
    return result.stderr


def test_queues_are_listed_with_their_limits_and_who_serves_them(project: Project) -> None:
    app = limited(project)
    project.begin("ORDER", "o-1")
    told = project.json("queue", "list")
    assert [(one["name"], one["concurrency"], one["perMinute"], one["running"], one["ready"], one["workers"]) for one in told] == [
        ("bulk", 2, 60, 0, 1, 0), ("mail", None, None, None, 0, 0),
    ]  # fmt: skip
    assert "bulk   0 of 2   0 of 60      1      0        nobody serves it" in project.run("queue", "list").stdout
    with app._worker(["mail"], 1, 1, kill_after=None):
        assert [one["workers"] for one in project.json("queue", "list")] == [0, 1]
        doctor = {note["code"]: note["params"] for note in project.json("doctor")}
        assert doctor["NOT_SERVED"] == {"queue": "bulk", "workflows": "ORDER", "ready": 1}
    shown = project.run("queue", "show", "bulk").stdout
    assert "workflows: ORDER" in shown
    assert "halfway worker --queue bulk" in shown
    app.close()


def test_a_pause_is_ordered_audited_shown_and_taken_back(project: Project) -> None:
    app = limited(project)
    run = project.begin("MAIL", "m-1")
    assert "halfway queue resume mail" in order(project, "queue", "pause", "mail")
    assert project.json("queue", "show", "mail")["pause"]["actorId"] == "olga"
    assert project.json("runs")[0]["keptBy"] == "PAUSED"
    assert "(paused)" in project.run("runs").stdout
    shown = project.run("show", run).stdout
    assert "Step SEND is ready; it starts when the queue mail goes on, which is paused." in shown
    assert "halfway queue resume mail --reason '…'" in shown
    assert {"QUEUE_RESTS"} <= {note["code"] for note in project.json("doctor")}
    again = project.run("queue", "pause", "mail", "--reason", "r", "--as", "olga")
    assert (again.exit_code, "paused already" in again.stderr) == (4, True)
    with app._worker(["mail"], 1, 1, kill_after=None) as worker:
        worker.wake()
        assert project.json("show", run)["status"] == "PENDING"
    order(project, "queue", "resume", "mail")
    assert project.work(run) == "SUCCESS"
    log = project.json("audit-log")
    assert [(line["action"], line["actorId"], line["evidence"], line["before"]) for line in log] == [
        ("resume-queue", "olga", "queue mail", None), ("pause-queue", "olga", "queue mail", None),
    ]  # fmt: skip
    app.close()


def test_a_workflow_is_paused_by_operators_and_its_owner(project: Project) -> None:
    app = limited(project)
    run = project.begin("MAIL", "m-1")
    refused = project.run("workflow", "pause", "MAIL", "--reason", "r", "--as", "mallory")
    assert refused.exit_code == 7
    order(project, "workflow", "pause", "MAIL", by="sam")
    assert [(one["type"], one["concurrency"], one["pause"] is not None) for one in project.json("workflow", "list")] == [
        ("MAIL", None, True), ("ORDER", 1, False),
    ]  # fmt: skip
    assert "paused" in project.run("workflow", "list").stdout
    explanation = project.json("show", run)["explanation"]
    assert "WORKFLOW_PAUSED" in {one["code"] for one in explanation["coming"]}
    assert "RESUME_WORKFLOW" in {one["code"] for one in explanation["next"]}
    order(project, "workflow", "resume", "MAIL", by="ada")
    assert project.work(run) == "SUCCESS"
    app.close()


def test_a_run_that_waits_for_a_limit_or_in_line_says_so(project: Project) -> None:
    app = limited(project)
    first, second = project.begin("ORDER", "o-1"), project.begin("ORDER", "o-2")
    assert {one["id"]: one["keptBy"] for one in project.json("runs")} == {first: None, second: "LINE"}
    assert "(stands in line)" in project.run("runs").stdout
    coming = {one["code"]: one["params"] for one in project.json("show", second)["explanation"]["coming"]}
    assert (coming["WORKFLOW_FULL"]["type"], coming["WORKFLOW_FULL"]["limit"]) == ("ORDER", 1)
    with app.store.runs.change() as tx:
        tx.flow.count("bulk", ((tx.now // 1_000_000, 60),))
    assert project.json("runs", "--search", "o-1")[0]["keptBy"] == "LIMIT"
    assert "QUEUE_RATE" in {one["code"] for one in project.json("show", first)["explanation"]["coming"]}
    app.close()


def test_what_is_not_there_cannot_be_paused(small: Project) -> None:
    limited(small).close()
    for arguments in (("queue", "pause", "nothing"), ("queue", "show", "nothing"), ("workflow", "pause", "NOTHING")):
        more = () if "show" in arguments else ("--reason", "r", "--as", "ada")
        result = small.run(*arguments, *more, "--json")
        assert result.exit_code == 3
        assert json.loads(result.stderr)["code"] in ("QUEUE_UNKNOWN", "WORKFLOW_UNKNOWN")
    assert small.run("queue", "pause", "mail").exit_code == 2
