"""Why a run does not begin: limits, pauses, lines; and what is safe next."""

from __future__ import annotations

import pytest

from halfway.domain.explain import Explanation, explain
from halfway.domain.line import Full, Traffic
from halfway.domain.run import Key
from tests.domain.world import Run, step, workflow

HOUR = 3600 * 1_000_000


def told(traffic: Traffic, *, blocked: bool = False) -> Explanation:
    run = Run(workflow(step("A", queue="bulk"), locked=True))
    snapshot = run.snapshot._replace(run=run.snapshot.run._replace(blocked=blocked, resource="printer"))
    return explain(run.spec, snapshot, run.now, workers=1, traffic=traffic)


@pytest.mark.parametrize(
    ("traffic", "code", "next"),
    [
        (Traffic(), "READY", ["GOES_ON"]),
        (Traffic(paused_type=True, paused_queues=frozenset({"bulk"})), "WORKFLOW_PAUSED", ["RESUME_WORKFLOW", "RESUME_QUEUE", "GOES_ON"]),
        (Traffic(paused_queues=frozenset({"bulk"})), "QUEUE_PAUSED", ["RESUME_QUEUE", "GOES_ON"]),
        (Traffic(paused_queues=frozenset({"other"})), "READY", ["GOES_ON"]),
        (Traffic(full={"bulk": 3}), "QUEUE_FULL", ["GOES_ON"]),
        (Traffic(more_at={"bulk": HOUR}), "QUEUE_RATE", ["GOES_ON"]),
    ],
)
def test_what_keeps_a_ready_step_from_starting_is_said(traffic: Traffic, code: str, next: list[str]) -> None:
    explanation = told(traffic)
    assert [one.sentence.code for one in explanation.coming] == [code]
    assert [one.sentence.code for one in explanation.next][: len(next)] == next
    assert all(str(one.sentence) for one in (*explanation.coming, *explanation.next))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ((), "It stands in line for what it must hold before it begins."),
        ((Full("resource:printer", 1),), "It starts when another run has released printer."),
        ((Full("workflow:W", 3),), "It starts when another run of W has ended; so many go at once: 3."),
        ((Full("workflow:W:a:b", 2),), "It starts when another run of W for a:b has ended; so many go at once: 2."),
    ],
)
def test_for_what_a_run_stands_in_line_is_said(line: tuple[Full, ...], sentence: str) -> None:
    assert str(told(Traffic(line=line), blocked=True).coming[0].sentence) == sentence


def test_a_start_that_is_put_off_says_when_it_begins() -> None:
    run = Run(workflow(step("A")))
    later = run.snapshot.records[Key("A")]._replace(ready_at=run.now + HOUR)
    [coming] = explain(run.spec, run.snapshot._replace(records={Key("A"): later}), run.now).coming
    assert (coming.sentence.code, coming.at) == ("STARTS_AT", run.now + HOUR)
