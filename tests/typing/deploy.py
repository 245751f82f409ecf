"""A deployment as an author writes it: a person approves, health is checked, a person approves the way back."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel

from halfway import Absent, Effect, Found, Retry, RetryLater, Risk, Step, Then, Workflow


class Deploy(BaseModel):
    service: str
    sha: str


class Release(BaseModel):
    version: str


class Rollout(BaseModel):
    release: Release
    before: str | None


class Cluster:
    """What runs where."""

    def deploy(self, release: Release) -> None:
        raise NotImplementedError

    def running(self) -> str | None:
        raise NotImplementedError


cluster = Cluster()
deploy = Workflow("DEPLOY", Deploy, version=1, owner="release-manager", key=lambda deploy: f"deploy:{deploy.service}:{deploy.sha}")


@deploy.step(Effect.CREATE, idempotent=True, stays="an unused build harms nobody")
def build(step: Step[Deploy]) -> Release:
    return Release(version=step.input.sha)


@deploy.approval("release-manager", expires=timedelta(hours=24), on_expiry=Then.CANCEL, four_eyes=True, quorum=2)
def approve_release(step: Step[Deploy]) -> Release:
    return step.output(build)


@deploy.approval("sre", expires=timedelta(hours=1), on_expiry=Then.FAIL, on_reject=Then.COMPENSATE)
async def approve_window(step: Step[Deploy]) -> dict[str, str]:
    return {"service": step.input.service}


@deploy.step(Effect.CHANGE, approver="release-manager")
def roll_out(step: Step[Deploy]) -> Rollout:
    release, before = step.output(build), cluster.running()
    approval = step.output(approve_release)
    step.evidence(before=before, approved_by=[approval.by, *approval.approvers], why=approval.reason, at=approval.at.isoformat())
    cluster.deploy(release)
    return Rollout(release=release, before=before)


@roll_out.probe(settle=timedelta(0))
def running_release(step: Step[Deploy]) -> Found[Rollout] | Absent:
    release = step.output(build)
    return Found(Rollout(release=release, before=None)) if cluster.running() == release.version else Absent()


@roll_out.compensate(Risk.CRITICAL, approver="release-manager")
def roll_back(step: Step[Deploy], rollout: Rollout) -> None:
    if rollout.before:
        cluster.deploy(Release(version=rollout.before))


@deploy.step(Effect.READ, retry=Retry(10, wait=timedelta(seconds=30), factor=1), on_failure=Then.COMPENSATE)
def check_health(step: Step[Deploy]) -> None:
    if cluster.running() != step.output(roll_out).release.version:
        raise RetryLater("not healthy yet")
