"""B28: a value comes back exactly or is refused with the path of its bad part: inputs before anything happens, outputs without a repeat.

Which types are kept is listed in halfway.authoring.values and tried there; here whole runs meet them, and both databases must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from halfway import Effect, RunStatus, Step, Workflow
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Happened
from halfway.errors import Conflict, UnstorableValue
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.faults.checks import all_is_well


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


# name: (annotation, value, path of what is refused; None: it is kept)
CASES: dict[str, tuple[Any, Callable[[], object], str | None]] = {
    "nan": (float, lambda: float("nan"), "$"),
    "inf": (list[float], lambda: [1.0, float("inf")], "$[1]"),
    "-inf": (dict[str, float], lambda: {"a": float("-inf")}, "$.a"),
    "Decimal": (Decimal, lambda: Decimal("1.10"), None),
    "aware datetime": (datetime, lambda: datetime(2026, 3, 8, 9, tzinfo=UTC), None),
    "naive datetime": (datetime, lambda: datetime(2026, 3, 8, 9), None),
    "date": (date, lambda: date(2026, 3, 8), None),
    "timedelta": (timedelta, lambda: timedelta(seconds=1.5), None),
    "bytes": (bytes, lambda: b"\xff\xfe", "$"),
    "set": (set[int], lambda: {3, 1, 2}, None),
    "tuple": (tuple[int, str], lambda: (1, "a"), None),
    "int keys": (dict[int, str], lambda: {1: "a"}, None),
    "int keys without a word of it": (Any, lambda: {1: "a"}, "$"),
    "UUID": (UUID, lambda: UUID(int=7), None),
    "Enum": (Colour, lambda: Colour.RED, None),
    "dataclass": (Point, lambda: Point(1), None),
    "2**63": (int, lambda: 2**63, None),
    "10**5000": (list[int], lambda: [1, 2, 10**5000], "$[2]"),
    "too deep": (Any, lambda: nested(2000), "$[0][0]"),
    "contains itself": (list[Any], endless, "$[1]"),
    "generator": (Any, lambda: (n for n in range(3)), "$"),
    "not as annotated": (int, lambda: "seven", "$"),
    "half a character": (list[str], lambda: ["a", "b\ud800"], "$[1]"),
    "too long": (str, lambda: "x" * 300_000, "$"),
}


def returning(calls: Calls) -> dict[str, Workflow[Order]]:
    return {name: one(calls, name, *case[:2]) for name, case in CASES.items()}


def one(calls: Calls, name: str, annotation: Any, value: Callable[[], object]) -> Workflow[Order]:
    wf = flow("".join(letter if letter.isalnum() else "_" for letter in name.upper()), key=False)

    def give(step: Step[Order]) -> Any:
        calls.add(step.run_id)
        return value()

    give.__annotations__["return"] = annotation
    wf.step(Effect.CREATE, evidence="the ledger")(give)
    return wf


def outcomes(url: str) -> dict[str, tuple[object, ...]]:
    """What each case comes to: state, code, effect, output and error."""
    calls = Calls()
    made = returning(calls)
    with closing(Harness(url, *made.values())) as h:
        runs = {name: h.start(wf, Order()) for name, wf in made.items()}
        with h.worker():
            until(lambda: all(h.status(run) in (RunStatus.SUCCESS, RunStatus.FAILED) for run in runs.values()), "all end")
        found = {}
        for name, run in runs.items():
            [detail] = h.app.store.reading.detail(run.id).records
            record = detail.record
            assert (record.attempts, calls.count(run.id)) == (1, 1), name
            if record.status is RecordStatus.SUCCESS:
                [(definition, _)] = made[name]._graph.steps.values()
                again, given = h.get(run).output(definition), CASES[name][1]()
                assert (type(again), again) == (type(given), given), name
            found[name] = (record.status, record.code, record.effect, detail.output, detail.error)
        all_is_well(h, *runs.values())
    return found


def test_an_output_is_kept_exactly_or_fails_without_a_repeat_and_says_where(sqlite_url: str, postgres_url: str) -> None:
    """B28: output."""
    found = outcomes(sqlite_url)
    assert outcomes(postgres_url) == found
    for name, (_, _, path) in CASES.items():
        status, code, effect, _, error = found[name]
        if path is None:
            assert (status, effect, error) == (RecordStatus.SUCCESS, Happened.HAPPENED, None), name
        else:
            assert (status, code, effect) == (RecordStatus.FAILED, "OUTPUT_UNSTORABLE", Happened.HAPPENED), name
            assert f"at {path}" in str(error), f"{name}: {error}"
            assert len(str(error)) <= 2000
    assert found["Decimal"][3] == '"1.10"'


def test_a_failed_output_is_not_made_again_by_retry_or_resume(harness: type[Harness]) -> None:
    """B28: the effect has happened; only a person can say what it gave."""
    calls = Calls()
    wf = one(calls, "nan", float, lambda: float("nan"))
    h = harness(wf)
    run = h.run(wf, Order())
    for order in (h.app.control.resume, lambda run, **said: h.app.control.retry(run, "GIVE", **said)):
        with pytest.raises(Conflict, match="would repeat it"):
            order(run.id, actor="kim", reason="again")
    h.app.control.mark_success(run.id, "GIVE", actor="kim", reason="seen", evidence="log", output="1.5")
    assert h.status(run) is RunStatus.SUCCESS
    assert calls.count(run.id) == 1
    all_is_well(h, run, orders=1)


class Anything(BaseModel):
    value: Any = None


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0] is Any or case[0] in (float, bytes)])
def test_an_input_that_cannot_be_kept_starts_nothing(harness: type[Harness], name: str) -> None:
    """B28: input."""
    wf = Workflow("ANYTHING", Anything, version=1, owner="owner", key=None)

    @wf.step(Effect.READ)
    def read(step: Step[Anything]) -> None: ...

    h = harness(wf)
    with pytest.raises(UnstorableValue, match=r"\$\.value"):
        h.start(wf, Anything(value=CASES[name][1]()))
    assert h.app.store.reading.runs() == []


@pytest.mark.parametrize(
    "value", [float("nan"), {1: "a"}, object(), "\ud800", nested(2000)], ids=["nan", "int keys", "object", "half", "deep"]
)
def test_evidence_that_cannot_be_kept_is_refused_and_the_body_may_go_on(harness: type[Harness], value: Any) -> None:
    """B28: what a step wants to keep beside its output."""
    wf = flow()

    @wf.step(Effect.READ)
    def keep(step: Step[Order]) -> str:
        with pytest.raises(UnstorableValue, match=r"\$\.seen"):
            step.evidence(seen=value)
        step.evidence(seen="the rest")
        return "done"

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert [row.data for row in h.app.store.reading.detail(run.id).evidence] == ['{"seen":"the rest"}']
    all_is_well(h, run)
