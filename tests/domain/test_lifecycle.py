"""The whole product of state and trigger: what the tables allow moves, everything else is refused."""

from __future__ import annotations

from itertools import product

import pytest

from halfway.domain.lifecycle import (
    ENTERED_BY,
    FINAL,
    RECORD_TRANSITIONS,
    RUN_TRANSITIONS,
    RecordStatus,
    RunStatus,
    RunTrigger,
    Trigger,
    advance,
    advance_run,
)
from halfway.errors import IllegalTransition


@pytest.mark.parametrize(("state", "trigger"), list(product(RecordStatus, Trigger)))
def test_every_pair_of_record_state_and_trigger(state: RecordStatus, trigger: Trigger) -> None:
    if (state, trigger) in RECORD_TRANSITIONS:
        assert advance(state, trigger) is RECORD_TRANSITIONS[state, trigger]
    else:
        with pytest.raises(IllegalTransition) as refused:
            advance(state, trigger)
        assert state in str(refused.value)
        assert trigger in str(refused.value)


@pytest.mark.parametrize(("state", "trigger"), list(product(RunStatus, RunTrigger)))
def test_every_pair_of_run_state_and_trigger(state: RunStatus, trigger: RunTrigger) -> None:
    if (state, trigger) in RUN_TRANSITIONS:
        assert advance_run(state, trigger) is RUN_TRANSITIONS[state, trigger]
    else:
        with pytest.raises(IllegalTransition):
            advance_run(state, trigger)


def test_a_final_run_is_left_only_by_an_operator() -> None:
    assert {trigger for (state, trigger) in RUN_TRANSITIONS if state in FINAL} == {RunTrigger.REOPENED}


def test_unknown_never_becomes_failed_without_proof() -> None:
    ways = {
        trigger
        for (state, trigger), target in RECORD_TRANSITIONS.items()
        if state is RecordStatus.UNKNOWN and target is RecordStatus.FAILED
    }
    assert ways == {Trigger.NOT_HAPPENED, Trigger.FAILED}


def test_success_is_reached_only_by_success_or_by_somebody_who_saw_it() -> None:
    ways = {trigger for (_, trigger), target in RECORD_TRANSITIONS.items() if target is RecordStatus.SUCCESS}
    assert ways == {Trigger.SUCCEEDED, Trigger.FOUND, Trigger.MARKED_SUCCESS, Trigger.ARRIVED, Trigger.DEFAULTED}


def test_each_run_state_is_entered_by_one_trigger() -> None:
    for (_, trigger), target in RUN_TRANSITIONS.items():
        assert trigger is RunTrigger.REOPENED or ENTERED_BY[target] is trigger
