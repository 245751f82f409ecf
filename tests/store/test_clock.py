"""The clock of a store when that of the database is put back."""

from __future__ import annotations

from halfway.store.dialects.clock import Clock


def test_time_goes_on_after_the_clock_was_put_back_by_an_hour() -> None:
    passed = [0.0]
    clock = Clock(lambda: passed[0])
    assert clock.see(10_000_000_000) == 10_000_000_000
    passed[0] += 1.0
    assert clock.see(6_400_000_000) == 10_001_000_000
    passed[0] += 2.5
    assert clock.see(6_402_500_000) == 10_003_500_000
    assert clock.see(10_004_000_000) == 10_004_000_000
