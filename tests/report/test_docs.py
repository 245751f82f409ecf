"""The guide and the reference say what the code does: every key with its default, every command, every file that is shown."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args, get_origin

import click
import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from halfway_report.cli import main
from halfway_report.configuration import Places, read
from halfway_report.settings import ReportSettings
from tests.docs.pages import page

GUIDE, REFERENCE = page("docs/guides/report.md"), page("docs/reference/report.md")
COMMANDS = [shlex.split(command)[1:] for command in GUIDE.commands() if command.startswith("report ")]


def sections(model: type[BaseModel], at: str = "") -> Iterator[tuple[str, str, FieldInfo]]:
    """Every key of the settings: its table, its name, and what is known about it."""
    for name, field in model.model_fields.items():
        inner = [one for one in members(field.annotation) if isinstance(one, type) and issubclass(one, BaseModel)]
        if inner:
            mapping = any(issubclass(get_origin(one) or object, Mapping) for one in (field.annotation,) if get_origin(one) not in (None,))
            for one in inner:
                yield from sections(one, f"{at}.{name}{'.NAME' if mapping else ''}".lstrip("."))
        else:
            yield at, name, field


def members(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from members(inner)


def as_toml(field: FieldInfo) -> str:
    """A default as it would be written."""
    if field.is_required():
        return "required"
    match field.get_default(call_default_factory=True):
        case None:
            return "—"
        case timedelta() as time:
            return f"`{time.total_seconds():g}`"
        case Path() as path:
            return f"`{json.dumps(str(path))}`"
        case value:
            return f"`{json.dumps(value)}`"


def told() -> dict[tuple[str, str], str]:
    """The tables of the reference."""
    found: dict[tuple[str, str], str] = {}
    for part in re.split(r"^## ", REFERENCE.text, flags=re.MULTILINE)[1:]:
        section = re.match(r"`\[(.+)\]`", part)
        for key, default in re.findall(r"^\| `(\w+)` \| (.+?) \|", part, re.MULTILINE):
            found[section[1] if section else "", key] = default
    return found


def test_the_reference_has_every_key_with_its_default_and_no_other() -> None:
    known = {(at, name): as_toml(field) for at, name, field in sections(ReportSettings)}
    known |= {("", name): as_toml(field) for name, field in Places.model_fields.items()}
    assert told() == known


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_of_the_guide_is_understood(words: list[str]) -> None:
    group: click.Command = main
    context = click.Context(main, info_name="report")
    while isinstance(group, click.Group):
        name, *words = words
        found = group.get_command(context, name)
        assert found is not None, name
        group, context = found, click.Context(found, parent=context, info_name=name)
    with context:
        group.parse_args(context, words)


def test_every_command_is_in_the_guide() -> None:
    assert [name for name in main.commands if f"report {name}" not in GUIDE.text] == []


def test_every_file_of_the_guide_can_be_read(tmp_path: Path) -> None:
    blocks = GUIDE.blocks("toml")
    for block in blocks:
        (tmp_path / "report.toml").write_text(block.code)
        assert read(tmp_path / "report.toml").settings.projects
    assert len(blocks) == 3
