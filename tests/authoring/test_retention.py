"""How long what has ended is kept: values that cannot work are refused when they are made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Halfway, Retention, Step, Workflow
from halfway.errors import DefinitionError

DAY = timedelta(days=1)


class Order(BaseModel):
    id: str


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"history": 90}, "history is 90"),
        ({"artifacts": timedelta(0)}, "artifacts is 0:00:00"),
        ({"audit": timedelta(days=4000)}, "at most 3650 days"),
        ({"keys": DAY}, "history= is not"),
        ({"history": 2 * DAY, "keys": DAY}, "shorter than history"),
    ],
)
def test_a_time_that_cannot_work_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        Retention(**given)


def test_a_workflow_says_how_long_its_runs_are_kept_and_the_application_for_the_rest() -> None:
    def flow(name: str, version: int, retention: Retention | None) -> Workflow[Order]:
        return Workflow(name, Order, version=version, owner="owner", key=None, retention=retention)

    short, long = Retention(history=DAY), Retention(history=90 * DAY)
    app = Halfway("sqlite:///x.db", workflows=[flow("A", 2, long), flow("A", 1, short), flow("B", 1, None)], retention=short)
    assert app.retentions == {"A": long, "B": short}
    assert Halfway("sqlite:///x.db", workflows=[flow("B", 1, None)]).retentions == {"B": Retention()}


def test_what_is_no_retention_is_refused() -> None:
    given: Any = 90
    with pytest.raises(DefinitionError, match="retention is 90"):
        Workflow("A", Order, version=1, owner="owner", key=None, retention=given)


def test_how_long_runs_are_kept_is_no_part_of_the_definition() -> None:
    """Runs go on under the definition with which they began, whatever is said about their end."""

    def flow(retention: Retention | None) -> str:
        wf = Workflow("A", Order, version=1, owner="owner", key=None, retention=retention)

        @wf.step(Effect.READ)
        def only(step: Step[Order]) -> str:
            return step.input.id

        return wf.spec.hash

    assert flow(None) == flow(Retention(history=DAY))
