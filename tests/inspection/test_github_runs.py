"""What runs of GitHub Actions left behind: landed, not executed, or unknown; there is no third way to guess."""

from __future__ import annotations

import json

import pytest

from halfway.inspection.formats.github_runs import GithubRuns
from halfway.inspection.model import Outcome, RunLog
from halfway.inspection.source import Source
from tests.inspection.shell_tools import given


def _read(text: str, *others: Source, path: str = "run.json") -> list[RunLog]:
    source = Source(path, text)
    assert GithubRuns().takes(source)
    return list(GithubRuns().runs(source, given(source, *others)))


def _step(name: str, conclusion: str | None, **more: object) -> dict[str, object]:
    return {"name": name, "conclusion": conclusion, "number": 1, **more}


def _job(*steps: dict[str, object], name: str = "ship", conclusion: str = "failure") -> dict[str, object]:
    return {"name": name, "conclusion": conclusion, "status": "completed", "startedAt": "2026-11-01T00:00:00Z", "steps": list(steps)}


RUN = {
    "attempt": 2, "databaseId": 99, "workflowName": "Ship", "headSha": "abc", "conclusion": "failure",
    "jobs": [
        _job(
            _step("Set up job", "success"), _step("Charge", "success"), _step("Mail", "cancelled"), _step("Update", "failure"),
            _step("Note", "timed_out"),
            _step("Late", "skipped"), _step("Hung", None, startedAt="2026-11-01T00:00:00Z"), _step("Never", None),
            _step("Post Run x", "success"),
        ),
        {"name": "after", "conclusion": "skipped", "status": "completed", "databaseId": 5, "steps": []},
    ],
}  # fmt: skip


def test_a_run_as_json() -> None:
    (run,) = _read(json.dumps(RUN, indent=1))
    assert (run.id, run.name, run.attempt, run.version, run.format) == ("99", "Ship", 2, "abc", "github-actions")
    assert [(ran.step, ran.unit, ran.outcome) for ran in run.steps] == [
        ("Charge", "ship", Outcome.LANDED),
        ("Mail", "ship", Outcome.UNKNOWN),
        ("Update", "ship", Outcome.UNKNOWN),
        ("Note", "ship", Outcome.UNKNOWN),
        ("Late", "ship", Outcome.NOT_EXECUTED),
        ("Hung", "ship", Outcome.UNKNOWN),
        ("Never", "ship", Outcome.NOT_EXECUTED),
        ("", "after", Outcome.NOT_EXECUTED),
    ]
    charge = run.steps[0].fact
    assert (charge.quote, charge.span.at) == ('"name": "Charge", "conclusion": "success"', "jobs[0].steps[1].conclusion")
    assert '"conclusion": "success"' in json.dumps(RUN, indent=1).split("\n")[charge.span.line - 1]


def test_the_same_over_rest() -> None:
    jobs = [
        {"run_id": 7, "run_attempt": attempt, "head_sha": "f00", "workflow_name": "Ship", "name": "ship",
         "status": "completed", "conclusion": "failure",
         "started_at": "2026-11-01T00:00:00Z", "steps": [_step("Charge", conclusion)]}
        for attempt, conclusion in ((1, "failure"), (2, "success"))
    ]  # fmt: skip
    first, second = _read(json.dumps({"total_count": 2, "jobs": jobs}))
    assert [(run.id, run.attempt, run.name, run.version) for run in (first, second)] == [("7", 1, "Ship", "f00"), ("7", 2, "Ship", "f00")]
    assert [run.steps[0].outcome for run in (first, second)] == [Outcome.UNKNOWN, Outcome.LANDED]


def test_success_of_a_step_that_may_fail_silently_is_unknown() -> None:
    definition = Source(
        ".github/workflows/ship.yml",
        "name: Ship\non: push\njobs:\n  ship:\n    steps:\n      - {name: Charge, run: x, continue-on-error: true}\n"
        "      - {name: Mail, run: y}\n",
    )
    (run,) = _read(json.dumps({**RUN, "jobs": [_job(_step("Charge", "success"), _step("Mail", "success"))]}), definition)
    assert [ran.outcome for ran in run.steps] == [Outcome.UNKNOWN, Outcome.LANDED]


def test_a_log_as_text() -> None:
    at = "2026-11-01T10:00:00.0000000Z"
    lines = [
        f"ship\tSet up job\t{at} go",
        f"ship\tRelease\t{at} https://github.com/acme/app/releases/tag/v1",
        f"ship\tUpdate\t{at} ok",
        f"ship\tUpdate\t{at} ##[error]Process completed with exit code 22.",
        f"ship\tTell\t{at} told",
        f"ship\tComplete job\t{at} bye",
        f"after\tSend\t{at} id",
    ]
    (run,) = _read("\n".join(lines), path="logs/1234.txt")
    assert (run.id, run.format) == ("1234", "github-actions")
    assert [(ran.step, ran.unit, ran.outcome, ran.external_id, ran.fact.span.line) for ran in run.steps] == [
        ("Release", "ship", Outcome.LANDED, "https://github.com/acme/app/releases/tag/v1", 2),
        ("Update", "ship", Outcome.UNKNOWN, "", 4),
        ("Tell", "ship", Outcome.LANDED, "", 5),
        ("Send", "after", Outcome.UNKNOWN, "", 7),
    ]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"jobs": 3}', '{"jobs": [{"name": "x"}], "conclusion": 1}', "job\tstep\tno time", "{"])
def test_other_things_are_not_taken(text: str) -> None:
    source = Source("x", text)
    assert not GithubRuns().takes(source)
    assert list(GithubRuns().flows(source, given(source))) == []
