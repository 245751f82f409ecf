"""An AI task on a repository: analyse, plan, modify, test and fix in a loop with an end, review, report, and commit behind an approval.

The agent may use the tools that its steps declare and no others, it hands over before it leaves its folder, and what it may spend has a
limit. Every call is in the work log, so that a crash inside the agent's loop repeats none that had an effect.
"""

import tempfile
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from examples.agent import Action, Model, Scripted
from examples.checkout import Checkout, TestRun
from examples.stage import play, show
from halfway import (
    Absent,
    Artifact,
    Budget,
    Effect,
    Found,
    Halfway,
    Mark,
    Queue,
    Retry,
    Rewind,
    Risk,
    RunStatus,
    Step,
    StepFailed,
    Then,
    Workflow,
)
from halfway.authoring.tools import Call

PROMPT_VERSION = "p3"
POLICY_VERSION = "write inside of the checkout only"
agents = Queue("agents", concurrency=2)
model: Model = Scripted([])


class Task(BaseModel):
    """The goal is text for a model; it is not looked at for anything else."""

    id: str
    goal: str
    folder: str
    commit: bool = False
    push: bool = False


class Work(BaseModel):
    """What an agent has left in the checkout, and with what it was made."""

    base: str  # the commit it began from
    tree: str  # the content of the working tree, as git names it
    log: Artifact
    prompt: str = PROMPT_VERSION
    policy: str = POLICY_VERSION


class Tested(BaseModel):
    """Which tree was tested, and the report; a resume looks whether both are as they were."""

    tree: str
    log: Artifact


class Verdict(BaseModel):
    risk: str
    remarks: str


class TestsFailed(StepFailed):
    """The suite is red."""


ai_task = Workflow(
    "AI_TASK",
    Task,
    version=1,
    owner="developer",
    key=lambda task: f"ai-task:{task.id}",
    resource=lambda task: f"checkout:{task.folder}",
    severity="LOW",
    queue=agents,
    budget=Budget(tokens=200_000, tool_calls=80, steps=30, duration=timedelta(hours=1)),
    runbook={"AI_BUDGET_EXCEEDED": "Read the work log: halfway show RUN --timeline. A retry grants the budget once more."},
)


# ── tools ──


def read_file(folder: str, path: str) -> str:
    return Checkout(folder).read(path)


def list_files(folder: str) -> list[str]:
    return Checkout(folder).files()


def write_file(folder: str, path: str, content: str) -> str:
    return Checkout(folder).write(path, content)


def run_tests(folder: str) -> TestRun:
    return Checkout(folder).test()


def outside(call: Call) -> str | None:
    """A person takes over before anything is written beside the checkout."""
    return None if Checkout.is_inside(str(call.args[1])) else f"it wants to write {call.args[1]}, outside of its checkout"


LOOKING = {read_file: Effect.READ, list_files: Effect.READ}
WRITING = {**LOOKING, write_file: Effect.CHANGE}


def work(step: Step[Task], goal: str) -> Work:
    """The agent's loop: the model says what to do, a tool does it, until the model is done."""
    folder, log = step.input.folder, list[str]()
    base = Checkout(folder).head()
    answer = ""
    while True:
        action, tokens = model.next(goal, answer)
        step.spend(tokens=tokens)
        if action.tool == "done":
            break
        answer = act(step, action)
        log.append(f"{action.tool} {action.path}: {len(answer)} characters")
    return Work(base=base, tree=Checkout(folder).tree(), log=step.save("agent.log", "\n".join(log)))


def act(step: Step[Task], action: Action) -> str:
    folder = step.input.folder
    if action.tool == "write":
        return step.call(write_file, folder, action.path, action.content)
    if action.tool == "list":
        return "\n".join(step.call(list_files, folder))
    return step.call(read_file, folder, action.path)


# ── steps ──


@ai_task.step(Effect.READ, tools=LOOKING)
def analyze(step: Step[Task]) -> str:
    files = step.call(list_files, step.input.folder)
    answer, tokens = model.say(f"{step.input.goal}\n\nFiles:\n" + "\n".join(files))
    step.spend(tokens=tokens)
    step.evidence(model=model.name, prompt_version=PROMPT_VERSION)
    return answer


@ai_task.step(Effect.READ)
def plan(step: Step[Task]) -> str:
    answer, tokens = model.say(f"Plan: {step.output(analyze)}")
    step.spend(tokens=tokens)
    return answer


@ai_task.step(
    Effect.DELEGATE, evidence="the work log and the tree of the checkout", stays="the checkout is a scratch copy", tools=WRITING,
    hand_over=outside,
)  # fmt: skip
def modify(step: Step[Task]) -> Work:
    return work(step, step.output(plan))


@modify.verify
def still_there(step: Step[Task], done: Work) -> bool:
    return as_it_was(step, done)


@ai_task.when(lambda step: step.cause is not None).step(
    Effect.DELEGATE, evidence="the work log and the tree of the checkout", stays="the checkout is a scratch copy", tools=WRITING,
    hand_over=outside, per_round=True,
)  # fmt: skip
def fix(step: Step[Task]) -> Work:
    return work(step, f"Make the tests pass: {step.cause.message if step.cause else ''}")


@ai_task.step(Effect.READ, tools={run_tests: Effect.READ}, rewind=Rewind(to=fix, on=TestsFailed, max=3), retry=Retry(1))
def test(step: Step[Task]) -> Tested:
    ran = step.call(run_tests, step.input.folder)
    log = step.save("tests.log", ran.output)
    if ran.failed:
        raise TestsFailed(ran.output[-500:])
    return Tested(tree=Checkout(step.input.folder).tree(), log=log)


@test.verify
def tested_as_it_is(step: Step[Task], tested: Tested) -> bool:
    """What was tested is what is there, or what was committed of it."""
    checkout = Checkout(step.input.folder)
    return checkout.tree() == tested.tree


@ai_task.step(Effect.READ)
def review(step: Step[Task]) -> Verdict:
    diff = Checkout(step.input.folder).diff()
    answer, tokens = model.say(f"Review this:\n{diff}")
    step.spend(tokens=tokens)
    return Verdict(risk="HIGH" if "risk" in answer.lower() else "LOW", remarks=answer)


@ai_task.step(Effect.READ)
def report(step: Step[Task]) -> Artifact:
    verdict, checkout = step.output(review), Checkout(step.input.folder)
    text = f"# {step.input.goal}\n\nRisk: {verdict.risk}\n\n{verdict.remarks}\n\n```diff\n{checkout.diff()}\n```\n"
    return step.save("report.md", text)


def wants_commit(step: Step[Task]) -> bool:
    return step.input.commit


@ai_task.when(wants_commit).approval("developer", expires=timedelta(days=2), on_expiry=Then.CANCEL)
def approve_commit(step: Step[Task]) -> dict[str, str]:
    return {"risk": step.output(review).risk, "diff": Checkout(step.input.folder).diff()}


@ai_task.when(wants_commit).step(Effect.CREATE)
def optional_commit(step: Step[Task], mark: Mark) -> str:
    approval = step.output(approve_commit)
    message = f"{step.input.goal}\n\nApproved-by: {approval.by if approval else 'nobody'}\nHalfway-Key: {step.key}"
    with mark:
        return Checkout(step.input.folder).commit(message)


@optional_commit.probe(settle=timedelta(0))
def find_commit(step: Step[Task]) -> Found[str] | Absent:
    """The key stands in the message of the commit."""
    sha = Checkout(step.input.folder).find(f"Halfway-Key: {step.key}")
    return Found(sha) if sha else Absent()


@optional_commit.compensate(Risk.HIGH, effect=Effect.CHANGE, evidence="the log of the branch")
def take_back(step: Step[Task], sha: str) -> None:
    """Before it was pushed the branch goes back; afterwards another commit takes it back (R-H3)."""
    Checkout(step.input.folder).take_back(sha)


@ai_task.when(lambda step: step.input.commit and step.input.push).step(
    Effect.CHANGE, idempotent=True, retry=Retry(3, wait=timedelta(milliseconds=50)), stays="its commit is taken back by another one"
)
def push(step: Step[Task]) -> str:
    """If it fails, the push is tried again and the commit is not: it is the same commit, however often it is sent."""
    return Checkout(step.input.folder).push()


def as_it_was(step: Step[Task], done: Work) -> bool:
    """Whether a resume may build on it: the commit it began from, the prompt and the policy with which it was made (R-B6)."""
    began = done.base in Checkout(step.input.folder).history()
    return began and done.prompt == PROMPT_VERSION and done.policy == POLICY_VERSION


def story(url: str) -> None:
    global model  # noqa: PLW0603 - the story plays the model
    with tempfile.TemporaryDirectory() as folder:
        checkout = Checkout.scratch(Path(folder))
        model = Scripted([Action("write", "calc.py", "def add(a, b):\n    return a - b\n"), Action("done"),
                          Action("write", "calc.py", "def add(a, b):\n    return a + b\n"), Action("done")])  # fmt: skip
        app = Halfway(url, workflows=[ai_task])
        with app.worker():
            run = app.start(ai_task, Task(id="t-1", goal="Write add()", folder=str(checkout.folder), commit=True))
            run = app.result(run, timeout=timedelta(minutes=2))
            show(url, run.id)
            assert run.status is RunStatus.WAITING
            app.control.approve(run.id, "APPROVE_COMMIT", actor="kim", reason="small and tested")
            run = app.result(run, timeout=timedelta(minutes=2))
            print(f"{run.status}: {checkout.log()}")
        app.close()


if __name__ == "__main__":
    play(story)
