"""Every `halfway …` of the documentation is a command that exists, with arguments that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import click
import pytest

from halfway.cli import main
from tests.docs.pages import arguments, pages

COMMANDS = [
    pytest.param(words, id=f"{page.name}: halfway {' '.join(words)}"[:120])
    for page in pages()
    for command in page.commands()
    if (words := arguments(command)) is not None
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_of_the_documentation_is_understood(words: Sequence[str]) -> None:
    group: click.Command = main
    context = click.Context(main, info_name="halfway")
    rest = list(words)
    while isinstance(group, click.Group):
        name, *rest = rest
        found = group.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        group, context = found, click.Context(found, parent=context, info_name=name)
    with context:
        group.parse_args(context, rest)
    assert context.args == []


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 10
