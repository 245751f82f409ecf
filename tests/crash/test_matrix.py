"""SIGKILL before and after every commit of a run, and on both sides of every call to the outside (B01, B02 e, B18 c).

SQLite is killed at every point each time. PostgreSQL is killed at a spread of them, and at all with --full-matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.crash.matrix import Nursery, break_everywhere
from tests.crash.worlds import SqliteWorlds, Worlds

COMMITS = {f"{name}.{side}_commit" for name in ("start", "begin", "pump", "transaction", "end") for side in ("before", "after")}
RECOVERY = {f"{name}.{side}_commit" for name in ("declare_dead", "sweep") for side in ("before", "after")}

ALSO = {
    flow: {f"{name}.{side}_commit" for name in names for side in ("before", "after")}
    for flow, names in {"people": ("event", "order", "transaction"), "undo": ("order", "transaction")}.items()
}


def spread(worlds: Worlds, whole: bool, every: int) -> Callable[[list[str]], Sequence[str]]:
    return list if whole or isinstance(worlds, SqliteWorlds) else lambda points: points[1::every]


def names(points: list[str]) -> set[str]:
    return {point.partition(":")[0] for point in points}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("flow", "every"), [("order", 4), ("message", 4), ("people", 4), ("undo", 6)])
def test_a_run_that_is_killed_anywhere_ends_as_if_nothing_had_happened(
    nursery: Nursery, places: Worlds, whole: bool, flow: str, every: int
) -> None:
    points = break_everywhere(nursery, flow, places, only=spread(places, whole, every))
    if isinstance(places, SqliteWorlds):
        assert (COMMITS | ALSO.get(flow, set())) - {"transaction.before_commit", "transaction.after_commit"} <= names(points)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("died_at", "how"), [("world.after_create:1", "kill"), ("transaction.before_commit:1", "cut")])
def test_a_recovery_that_is_broken_anywhere_is_itself_recovered(
    nursery: Nursery, places: Worlds, whole: bool, died_at: str, how: str
) -> None:
    begun = places.fresh()
    assert nursery.live("order", begun, died_at) is None
    points = break_everywhere(nursery, "order", places, how=how, begun=begun, only=spread(places, whole, 6))
    if isinstance(places, SqliteWorlds):
        assert names(points) >= RECOVERY


@pytest.mark.timeout(900)
@pytest.mark.parametrize("flow", ["order", "message", "people", "undo"])
def test_a_connection_that_breaks_at_any_commit_asks_nobody_and_doubles_nothing(
    nursery: Nursery, places: Worlds, whole: bool, flow: str
) -> None:
    """What was committed although its answer was lost is recognised; a mark whose answer was lost has begun nothing."""
    break_everywhere(nursery, flow, places, how="cut", only=lambda points: only_commits(points, places, whole))


def only_commits(points: list[str], worlds: Worlds, whole: bool) -> Sequence[str]:
    commits = [point for point in points if "_commit:" in point]
    return commits if whole or isinstance(worlds, SqliteWorlds) else commits[1::4]
