"""Schedules as they are declared: what they become, and what is refused at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from halfway import Effect, Step
from halfway.domain.spec import CatchUp, Overlap, ScheduleSpec, WorkflowSpec
from halfway.errors import DefinitionError
from tests.engine.harness import Order, flow

SECOND = 1_000_000


def scheduled(*cron: Any, **options: Any) -> WorkflowSpec:
    wf = flow()

    @wf.schedule(*cron, **options)
    def nightly(due: datetime) -> Order:
        return Order(id=due.isoformat())

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    return wf.spec


def test_a_cron_line_becomes_data_that_comes_back_from_json() -> None:
    spec = scheduled("0  18 * *   1-5", tz="Asia/Seoul", overlap="WAIT", catch_up="ALL", limit=20)
    assert spec.schedules == (
        ScheduleSpec(name="NIGHTLY", zone="Asia/Seoul", cron="0 18 * * 1-5", overlap=Overlap.WAIT, catch_up=CatchUp.ALL, limit=20),
    )
    assert WorkflowSpec.from_json(spec.to_json()) == spec
    assert WorkflowSpec.from_json(spec.to_json()).hash == spec.hash


def test_an_interval_and_a_moment_become_data() -> None:
    assert scheduled(every=timedelta(minutes=10)).schedules[0].every == 600 * SECOND
    at = datetime(2026, 12, 24, 18, tzinfo=ZoneInfo("Europe/Berlin"))
    assert scheduled(at=at, name="EVE").schedules == (ScheduleSpec(name="EVE", zone="UTC", at=int(at.timestamp()) * SECOND),)


def test_a_workflow_with_another_schedule_is_another_definition() -> None:
    assert len({scheduled(line).hash for line in ("0 1 * * *", "0 2 * * *")}) == 2


def test_a_definition_of_before_there_were_schedules_can_be_read() -> None:
    spec = scheduled("0 1 * * *")
    older = spec.to_json().replace('"schedules":', '"forgotten":')
    assert WorkflowSpec.from_json(older).schedules == ()


def test_the_function_is_told_the_time_in_the_zone_of_its_schedule() -> None:
    wf = flow()
    told: list[datetime] = []

    @wf.schedule("30 6 * * *", tz="Asia/Seoul")
    def morning(due: datetime) -> None:
        told.append(due)

    assert wf.schedule_functions["MORNING"].input_for(int(datetime(2026, 5, 1, 21, 30, tzinfo=UTC).timestamp()) * SECOND) is None
    assert told == [datetime(2026, 5, 2, 6, 30, tzinfo=ZoneInfo("Asia/Seoul"))]
    assert str(told[0].tzinfo) == "Asia/Seoul"


@pytest.mark.parametrize(
    ("cron", "options", "problem"),
    [
        ((), {}, "nobody can say when it is due"),
        (("0 1 * * *",), {"every": timedelta(hours=1)}, "nobody can say when it is due"),
        (("0 1 * *",), {}, "it has 4 fields, not 5"),
        (("0 0 1 * * *",), {}, "it has 6 fields, not 5"),
        (("0 25 * * *",), {}, "Bad hour"),
        (("0 0 30 2 *",), {}, "Bad day-of-month"),
        ((5,), {}, "the cron line is 5"),
        (("0 1 * * *",), {"tz": "Mars/Olympus"}, "'Mars/Olympus', which is no time zone"),
        (("0 1 * * *",), {"tz": "Europe"}, "no time zone"),
        (("0 1 * * *",), {"tz": "../etc/passwd"}, "no time zone"),
        (("0 1 * * *",), {"tz": None}, "no time zone"),
        ((), {"every": timedelta(0)}, "every is 0:00:00"),
        ((), {"every": timedelta(seconds=-5)}, "every is"),
        ((), {"every": timedelta(milliseconds=10)}, "every is"),
        ((), {"every": 10}, "every is 10"),
        ((), {"at": datetime(2026, 1, 1)}, "which has no time zone"),
        ((), {"at": "2026-01-01"}, "which has no time zone"),
        (("0 1 * * *",), {"overlap": "skip"}, "overlap is 'skip'"),
        (("0 1 * * *",), {"catch_up": True}, "catch_up is True"),
        (("0 1 * * *",), {"limit": 0}, "limit is 0"),
        (("0 1 * * *",), {"limit": True}, "limit is True"),
        (("0 1 * * *",), {"name": "lower case"}, "is no name for a schedule"),
    ],
)
def test_nonsense_is_refused_where_it_is_declared(cron: tuple[Any, ...], options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError, match="Workflow FLOW") as caught:
        scheduled(*cron, **options)
    assert problem in str(caught.value)


def test_two_schedules_of_one_name_are_refused() -> None:
    wf = flow()

    @wf.schedule("0 1 * * *")
    def nightly(due: datetime) -> Order:
        return Order()

    with pytest.raises(DefinitionError, match="two schedules are called NIGHTLY"):
        wf.schedule("0 2 * * *", name="NIGHTLY")(nightly)


def test_a_function_that_cannot_make_an_input_is_refused() -> None:
    async def later(due: datetime) -> Order:
        return Order()

    def two(due: datetime, other: str) -> Order:
        return Order()

    for function in (later, two):
        with pytest.raises(DefinitionError, match="schedule "):
            flow().schedule("0 1 * * *")(function)  # type: ignore[arg-type]


def test_a_schedule_is_refused_after_the_workflow_was_used() -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def look(step: Step[Order]) -> None: ...

    assert wf.spec.schedules == ()
    with pytest.raises(DefinitionError, match="after the workflow was used"):
        wf.schedule("0 1 * * *")(lambda due: Order())
