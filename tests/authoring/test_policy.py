"""Bad settings are refused when a policy is made (B40)."""

import math
from datetime import timedelta
from typing import Any

import pytest

from halfway import Errors, Queue, Retry
from halfway.errors import DefinitionError


@pytest.mark.parametrize(
    "settings",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": True},
        {"attempts": 2.5},
        {"attempts": 3, "wait": timedelta(seconds=-1)},
        {"attempts": 3, "wait": 5},
        {"attempts": 3, "wait": timedelta.max, "max_wait": timedelta.max},
        {"attempts": 3, "factor": 0},
        {"attempts": 3, "factor": 0.5},
        {"attempts": 3, "factor": -2},
        {"attempts": 3, "factor": math.nan},
        {"attempts": 3, "factor": math.inf},
        {"attempts": 3, "factor": "2"},
        {"attempts": 3, "max_wait": timedelta(milliseconds=500)},
        {"attempts": 3, "max_wait": timedelta(seconds=-1)},
    ],
)
def test_a_retry_that_cannot_work_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="Retry cannot be used"):
        Retry(**settings)


def test_a_retry_is_data_in_microseconds() -> None:
    spec = Retry(100_000, wait=timedelta(0), factor=1, max_wait=timedelta(hours=1)).to_spec()
    assert (spec.attempts, spec.wait, spec.factor, spec.max_wait) == (100_000, 0, 1.0, 3_600_000_000)


@pytest.mark.parametrize("kinds", ["ValueError", [ValueError], (ValueError, 3), BaseException, ValueError("x")])
def test_errors_names_exception_classes_only(kinds: Any) -> None:
    with pytest.raises(DefinitionError, match="Errors cannot be used"):
        Errors(retry=kinds)


def test_an_exception_proves_one_thing() -> None:
    with pytest.raises(DefinitionError, match="stands in retry= and in unknown="):
        Errors(retry=ValueError, unknown=(KeyError, ValueError))


@pytest.mark.parametrize("name", ["", "GPU", "a b", "a" * 65, "a/b", "-a", None])
def test_a_queue_has_a_plain_name(name: Any) -> None:
    with pytest.raises(DefinitionError, match="Queue cannot be used"):
        Queue(name)
