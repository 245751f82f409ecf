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
from tests.docs.pages import page

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


def words_of(public: type) -> list[str]:
    """Members of an enumeration; else parameters of the constructor, public methods and properties."""
    if issubclass(public, Enum):
        return [member.name for member in public]
    taken = [] if "points" in inspect.signature(public).parameters else list(inspect.signature(public).parameters)
    made_by_us = {"Mark", "AsyncMark", "Step", "Run", "StepDefinition"}
    if public.__name__ in made_by_us:
        taken = []
    own = [name for name in vars(public) if not name.startswith("_") and name not in ("step_name", "to_spec", "decode")]
    hidden = {"args", "kwargs", "self", "store", "declare", "key_of", "resource_of", "encode", "parse", "spec", "handlers"}
    return [name for name in [*taken, *own] if name not in hidden or name == "encode_"]


def test_every_option_of_a_step_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)` \|", entry("Workflow"), re.MULTILINE))
    assert described == set(Work.__annotations__)


def test_every_option_of_a_workflow_is_described() -> None:
    text = entry("Workflow")
    assert [name for name in inspect.signature(Workflow).parameters if f"`{name}`" not in text] == []


def test_what_is_attached_to_a_step_is_described() -> None:
    attached = [name for name in vars(EffectStep) if not name.startswith("_")]
    assert [name for name in attached if f"`@step.{name}`" not in entry("StepDefinition")] == []


def test_every_setting_is_described_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", SETTINGS, re.MULTILINE))
    assert {name: float(value) for name, value in rows.items()} == {field.name: field.default for field in dataclasses.fields(Settings)}
