"""A release is built, rolled out, and watched until it is healthy.

The build is known by its key, so a repeat gives the same image. What runs is a fact that can be looked at, so a lost roll-out is
settled by its probe; but if another release runs, nothing is repeated: the release manager decides.
"""

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from examples.world import Ci, Cluster
from halfway import Absent, Effect, Found, Halfway, Mark, Retry, RetryLater, Step, Then, Workflow

ci = Ci()
cluster = Cluster()


class Release(BaseModel):
    service: str
    sha: str


class Rollout(BaseModel):
    """What runs now, and what ran before, if that was seen."""

    image: str
    before: str | None


deploy = Workflow(
    "DEPLOY",
    Release,
    version=1,
    owner="release-manager",
    key=lambda release: f"deploy:{release.service}:{release.sha}",
    resource=lambda release: f"service:{release.service}",
    timeout=timedelta(hours=1),
)


@deploy.step(Effect.CREATE, idempotent=True)
def build(step: Step[Release]) -> str:
    return ci.build(step.input.sha, key=step.key)


@deploy.step(Effect.READ)
def look_before(step: Step[Release]) -> str:
    return cluster.running


@deploy.step(Effect.CHANGE, approver="release-manager", timeout=timedelta(minutes=10))
def roll_out(step: Step[Release], mark: Mark) -> Rollout:
    image, before = step.output(build), step.output(look_before)
    step.evidence(before=before, after=image)
    with mark:
        cluster.deploy(image)
    return Rollout(image=image, before=before)


@roll_out.probe(settle=timedelta(0))  # the cluster knows at once what it was told
def running_release(step: Step[Release]) -> Found[Rollout] | Absent:
    """The image that the cluster runs."""
    if cluster.running == step.output(build):
        return Found(Rollout(image=cluster.running, before=step.output(look_before)))
    return Absent()


@deploy.step(Effect.READ, retry=Retry(10, wait=timedelta(milliseconds=10), factor=1), on_failure=Then.MANUAL)
def check_health(step: Step[Release]) -> None:
    if not cluster.healthy():
        raise RetryLater("it is not healthy yet")


def main(path: Path) -> None:
    app = Halfway(f"sqlite:///{path}", workflows=[deploy])
    cluster.answers_to_lose = 1
    with app.worker():
        run = app.result(app.start(deploy, Release(service="shop", sha="4f2a91c")), timeout=timedelta(minutes=1))
    deploys = [request for request in cluster.requests if request.startswith("deploy")]
    print(f"{run.status}: {run.output(roll_out).image} runs, before it {run.output(roll_out).before}; deploys sent: {len(deploys)}")
    app.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "deploys.db")
    sys.exit(0)
