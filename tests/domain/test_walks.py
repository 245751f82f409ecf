"""Random walks over random graphs with random faults, on the real `decide`, against what really happened outside."""

from __future__ import annotations

import pytest

from tests.domain.world import Walk


@pytest.mark.parametrize("block", range(8))
def test_no_walk_repeats_forgets_or_hides_an_effect_and_none_gets_stuck(block: int) -> None:
    for seed in range(block * 250, block * 250 + 250):
        try:
            Walk(seed).go()
        except AssertionError as error:
            raise AssertionError(f"walk {seed}: {error}") from error
