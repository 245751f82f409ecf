"""What is told about a run: how far it has come, what stopped it, what to type."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from halfway_report.advice import advice
from halfway_report.cli.progress import lines, progress
from halfway_report.language import speak
from halfway_report.models import Day
from halfway_report.reading import RunView, StepView

NOON = datetime(2026, 9, 30, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    speak("en")
    yield
    speak("en")


def step(name: str, status: str, **more: object) -> StepView:
    known = StepView(
        name=name, kind="READ", status=status, effect="none", attempts=1, round=1, asks="", output=None, artifacts=(),
        effect_began_at=None, started_at=NOON, ended_at=None, error_code="", message="",
    )  # fmt: skip
    return replace(known, **more)  # type: ignore[arg-type] - the fields of a step


def run(status: str, *steps: StepView) -> RunView:
    day = Day(project="shop", date=date(2026, 9, 30))
    return RunView(id="0a1b2c", key=day.key, day=day, status=status, steps=steps, journal=(), document={})


def told(view: RunView, workers: int = 0) -> str:
    return "\n".join(advice(view, workers=workers))


def test_a_run_that_ended_well_needs_nothing() -> None:
    assert told(run("SUCCESS", step("SAVE_MARKDOWN", "SUCCESS"))) == ""


def test_a_step_in_doubt_is_asked_about_and_never_just_repeated() -> None:
    text = told(run("MANUAL_REQUIRED", step("UPLOAD_NOTION", "UNKNOWN", asks="report-owner")))
    assert "report reconcile 0a1b2c" in text
    assert "report retry-step 0a1b2c UPLOAD_NOTION --not-happened" in text
    assert "report resume" not in text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("FILE_EDITED", "move it away or keep it"),
        ("TOKEN_MISSING", "environment variable"),
        ("HTTP_401", "does not accept the token"),
        ("ZERO_DIVISION_ERROR", "Remove the cause"),
    ],
)
def test_a_failure_is_told_with_its_remedy_and_the_command_that_goes_on(code: str, words: str) -> None:
    text = told(run("MANUAL_REQUIRED", step("SAVE_MARKDOWN", "FAILED", error_code=code, asks="report-owner")))
    assert words in text
    assert "report resume 0a1b2c" in text


def test_an_open_run_without_a_worker_says_how_to_go_on() -> None:
    view = run("RUNNING", step("COLLECT_GIT", "SUCCESS"), step("BUILD_CONTEXT", "PENDING"))
    assert "report resume 0a1b2c" in told(view)
    assert "report resume" not in told(view, workers=1)


def test_a_run_that_is_over_is_not_resumed_but_made_anew() -> None:
    assert "report run shop --date 2026-09-30 --force" in told(run("CANCELLED", step("COLLECT_GIT", "FAILED")))


def test_progress_tells_time_tries_and_generations() -> None:
    view = run(
        "RUNNING",
        step("COLLECT_GIT", "SUCCESS", ended_at=NOON + timedelta(seconds=1.25)),
        step("GENERATE_REPORT", "RUNNING", attempts=2, round=3),
        step("UPLOAD_NOTION", "PENDING", started_at=None, attempts=0),
    )
    assert list(lines(view, NOON + timedelta(seconds=83))) == [
        "✓ COLLECT_GIT         1.2 s",
        "› GENERATE_REPORT  1:23 min  generation 3  attempt 2",
        "  UPLOAD_NOTION",
    ]


def test_all_of_it_is_told_in_korean_too() -> None:
    speak("ko")
    text = told(run("MANUAL_REQUIRED", step("SAVE_MARKDOWN", "FAILED", error_code="NO_ROOM", asks="report-owner")))
    assert "report resume 0a1b2c" in text
    assert all(any("가" <= letter <= "힣" for letter in line) for line in text.splitlines())


def test_progress_is_drawn_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    view = run("RUNNING", step("COLLECT_GIT", "RUNNING", attempts=2))
    for screen, drawn in ((Screen(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", screen)
        with progress() as show:
            show(view)
            show(view)
        assert ("COLLECT_GIT" in screen.getvalue()) == drawn
        assert screen.getvalue().count("\n") <= 2
