"""A release is built, approved, rolled out, and watched until it is healthy; if it never is, the one before comes back.

Two people are needed: whoever asked for the release cannot approve it. What runs is a fact that can be looked at, so a lost roll-out is
settled by its probe; but if another release runs, nothing is repeated. Going back touches production again, so a person approves that,
too, and it never replaces a release that somebody else has rolled out meanwhile.
"""

import sys
from datetime import timedelta

from pydantic import BaseModel

from examples.stage import play
from examples.world import Ci, Cluster
from halfway import Absent, Effect, Found, Halfway, Mark, Retry, RetryLater, Risk, Step, StepFailed, Then, Workflow
from halfway.errors import Conflict

ci = Ci()
cluster = Cluster()


class Release(BaseModel):
    service: str
    sha: str


class Rollout(BaseModel):
    """What runs now, and what ran before."""

    image: str
    before: str


class Proposal(BaseModel):
    """What the release manager is shown."""

    image: str
    replaces: str


deploy = Workflow(
    "DEPLOY",
    Release,
    version=1,
    owner="release-manager",
    key=lambda release: f"deploy:{release.service}:{release.sha}",
    resource=lambda release: f"service:{release.service}",
    severity="CRITICAL",
    timeout=timedelta(hours=1),
)


@deploy.step(Effect.CREATE, idempotent=True, stays="an image that nobody runs does no harm")
def build(step: Step[Release]) -> str:
    return ci.build(step.input.sha, key=step.key)


@deploy.step(Effect.READ)
def look_before(step: Step[Release]) -> str:
    return cluster.running


@deploy.approval("release-manager", expires=timedelta(hours=24), on_expiry=Then.CANCEL, four_eyes=True)
def approve_release(step: Step[Release]) -> Proposal:
    return Proposal(image=step.output(build), replaces=step.output(look_before))


@deploy.step(
    Effect.CHANGE,
    approver="release-manager",
    record=lambda step: f"production:{step.input.service}",
    timeout=timedelta(minutes=10),
)
def roll_out(step: Step[Release], mark: Mark) -> Rollout:
    image, before = step.output(build), step.output(look_before)
    step.evidence(before=before, after=image, approved_by=step.output(approve_release).by)
    with mark:
        cluster.deploy(image)
    return Rollout(image=image, before=before)


@roll_out.probe(settle=timedelta(0))  # the cluster knows at once what it was told
def running_release(step: Step[Release]) -> Found[Rollout] | Absent:
    """The image that the cluster runs."""
    if cluster.running == step.output(build):
        return Found(Rollout(image=cluster.running, before=step.output(look_before)))
    return Absent()


def came_back(step: Step[Release], rollout: Rollout) -> Found[None] | Absent:
    """The image that the cluster runs."""
    return Found(None) if cluster.running == rollout.before else Absent()


@roll_out.compensate(Risk.CRITICAL, approver="release-manager", probe=came_back, settle=timedelta(0))
def roll_back(step: Step[Release], rollout: Rollout, mark: Mark) -> None:
    if cluster.running != rollout.image:
        raise StepFailed(f"{cluster.running} runs, which is not ours to replace", code="OVERTAKEN")
    with mark:
        cluster.deploy(rollout.before)


@deploy.step(Effect.READ, retry=Retry(10, wait=timedelta(milliseconds=10), factor=1), on_failure=Then.COMPENSATE)
def check_health(step: Step[Release]) -> None:
    if not cluster.healthy():
        raise RetryLater("it is not healthy yet")


def main(url: str) -> None:
    app = Halfway(url, workflows=[deploy], roles={"release-manager": ["dan", "rita"]})
    patience = timedelta(minutes=1)
    cluster.answers_to_lose = 1
    with app.worker():
        run = app.result(app.start(deploy, Release(service="shop", sha="4f2a91c"), actor="dan"), timeout=patience)
        print(f"{run.status}: {app.control.inbox(role='release-manager')[0].shown}")
        try:
            app.control.approve(run.id, "APPROVE_RELEASE", actor="dan", reason="it is urgent")
        except Conflict as refused:
            print(refused)
        app.control.approve(run.id, "APPROVE_RELEASE", actor="rita", reason="reviewed")
        run = app.result(run, timeout=patience)
        print(f"{run.status}: {cluster.running} runs, though the answer of its roll-out was lost; deploys sent: {len(cluster.requests)}")

        cluster.is_broken = True
        run = app.result(app.start(deploy, Release(service="shop", sha="b03d7e5"), actor="dan"), timeout=patience)
        app.control.approve(run.id, "APPROVE_RELEASE", actor="rita", reason="reviewed")
        run = app.result(run, timeout=patience)
        print(f"{run.status}: {cluster.running} is not healthy, and going back waits for {app.control.inbox()[0].role}")
        app.control.approve(run.id, "ROLL_OUT", actor="rita", reason="customers see errors")
        run = app.result(run, timeout=patience)
        print(f"{run.status}: {cluster.running} runs again")
    app.close()


if __name__ == "__main__":
    play(main)
    sys.exit(0)
