"""The root of halfway's command line: loads a command when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from halfway.cli.mishaps import mishap_of
from halfway.command import Mishap, Root


class Lazy(Root):
    """Knows its commands by name and by where they are; its own help imports none of them."""

    def __init__(self, name: str, *, help: str, places: Mapping[str, tuple[str, str]], hidden: Mapping[str, str]) -> None:
        super().__init__(name, help=help)
        self._places = places
        self._hidden = hidden

    def mishap(self, error: Exception) -> Mishap:
        return super().mishap(error) if isinstance(error, click.ClickException) else mishap_of(error)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._places[cmd_name][0] if cmd_name in self._places else self._hidden.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in self._places.items()])
