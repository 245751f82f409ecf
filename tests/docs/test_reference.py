"""The reference names everything that is public, with its options and defaults."""

from __future__ import annotations

import dataclasses
import inspect
import re
from enum import Enum

import pytest

import halfway
from halfway import Settings, Workflow
from halfway.authoring import EffectStep
from halfway.authoring.options import Work
from halfway.domain.proof import HTTP_STATUS, NOTHING_SENT
from tests.docs.pages import page

# Nobody calls their constructors; and what the rooms of the house need of public classes, which is not part of the surface.
MADE_BY_HALFWAY = (halfway.Mark, halfway.AsyncMark, halfway.Step, halfway.Run, halfway.StepDefinition)
FOR_THE_ENGINE = {
    "args", "kwargs", "points", "store", "to_spec", "decode", "declare", "key_of", "resource_of", "encode", "parse", "spec", "handlers",
    "trigger_functions", "read", "claims_of", "queues", "limits",
    "as_read", "step_definitions", "takeovers",
}  # fmt: skip

API = page("docs/reference/api.md").text
SETTINGS = page("docs/reference/settings.md").text


def entry(name: str) -> str:
    """The part of the page about one name."""
    parts = re.split(r"^### ", API, flags=re.MULTILINE)
    found = [part for part in parts if part.startswith(f"`{name}`\n")]
    assert len(found) == 1, f"{name} has {len(found)} entries"
    return found[0]


@pytest.mark.parametrize("name", halfway.__all__)
def test_a_public_name_has_an_entry_that_names_all_it_takes_and_has(name: str) -> None:
    public = getattr(halfway, name)
    assert [word for word in words_of(public) if not re.search(rf"\b{word}\b", entry(name))] == []


def words_of(public: object) -> list[str]:
    """Members of an enumeration; else what its author passes, and what is public of it."""
    if not isinstance(public, type):
        return list(inspect.signature(public).parameters) if callable(public) else []
    if issubclass(public, Enum):
        return [member.name for member in public]
    taken = [] if public in MADE_BY_HALFWAY else list(inspect.signature(public).parameters)
    own = [name for name in vars(public) if not name.startswith("_")]
    return [name for name in [*taken, *own] if name not in FOR_THE_ENGINE]


def test_every_option_of_a_step_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", entry("Workflow"), re.MULTILINE))
    assert described == set(Work.__annotations__)


def test_every_option_of_a_workflow_is_described() -> None:
    text = entry("Workflow")
    assert [name for name in inspect.signature(Workflow).parameters if f"`{name}`" not in text] == []


def test_the_table_of_proofs_names_every_class_and_status() -> None:
    text = page("docs/guides/errors-and-retries.md").text
    classes = {name.rpartition(".")[2] for name in NOTHING_SENT} - {"ConnectionTimeout"}  # told in words
    assert [word for word in [*classes, *map(str, HTTP_STATUS)] if not re.search(rf"\b{word}\b", text)] == []


def test_what_is_attached_to_a_step_is_described() -> None:
    attached = [name for name in vars(EffectStep) if not name.startswith("_")]
    assert [name for name in attached if f"`@step.{name}`" not in entry("StepDefinition")] == []


def test_every_setting_is_described_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", SETTINGS, re.MULTILINE))
    assert {name: float(value) for name, value in rows.items()} == {field.name: field.default for field in dataclasses.fields(Settings)}
