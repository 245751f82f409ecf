"""R-E1 to R-E5: random graphs, walked through with faults in any order, against a model that knows no order at all."""

from __future__ import annotations

import pytest

from tests.domain.ends_graphs import compare, steps
from tests.domain.reference import WELL
from tests.domain.walk_graphs import GraphWalk

WALKS = 100


def walked(seed: int, *, chance: int | None = None, calm: bool = False, most: int = 12) -> GraphWalk:
    walk = GraphWalk(seed, chance=chance, calm=calm, most=most)
    try:
        walk.go()
        compare(walk)
    except AssertionError as error:
        raise AssertionError(f"walk {seed}, chance {chance}: {error}") from error
    return walk


@pytest.mark.parametrize("block", range(4))
def test_a_walk_that_nobody_stops_comes_to_what_its_functions_say(block: int) -> None:
    for seed in range(block * WALKS, block * WALKS + WALKS):
        walked(seed, calm=True)


@pytest.mark.parametrize("block", range(8))
def test_no_walk_starts_a_step_too_early_forgets_an_effect_or_gets_stuck(block: int) -> None:
    for seed in range(block * WALKS, block * WALKS + WALKS):
        walked(seed)


@pytest.mark.parametrize("block", range(2))
def test_large_graphs_walk_as_small_ones_do(block: int) -> None:
    for seed in range(100_000 + block * 60, 100_000 + block * 60 + 60):
        walked(seed, most=30)


def test_the_order_of_events_does_not_change_what_a_run_comes_to() -> None:
    well = 0
    for seed in range(120):
        first, second = walked(seed, chance=1, calm=True), walked(seed, chance=2, calm=True)
        if first.reference.status in WELL:
            well += 1
            came_to = [{place: (one.status, one.code) for place, one in steps(walk).items()} for walk in (first, second)]
            assert came_to[0] == came_to[1], f"walk {seed}"
            assert first.run.status is second.run.status, f"walk {seed}"
    assert well > 50
