"""What `halfway inspect` is given: refuses options that do not go together, and paths that cannot be read or hold no automation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource

from halfway.cli.i18n import _, translated
from halfway.cli.output import clean
from halfway.inspection.gathering import Skip
from halfway.inspection.inspecting import Inspection
from halfway.inspection.quoting import quoted, shown_path
from halfway.inspection.servers import is_server, shown

SQLITE = "sqlite:///"
ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
TOLD = 3  # paths that an error names

ALONE = ("form", "as_json", "everything", "fail_on", "model", "near")
EXCLUDES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "action": ("paths", "logs", *ALONE, "emit", "file", "unsuppressed"),  # it only asks the base
        "emit": ALONE,  # it prints Python, and ends with 0
        "unsuppressed": ("file",),
    }
)
"""An option, and those that would say nothing beside it."""


class Given(click.Path):
    """A path, or the URL of a database."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if is_server(value):
            return value
        path = value.removeprefix(SQLITE) if isinstance(value, str) else value
        if isinstance(path, str) and ADDRESS.match(path):
            raise click.UsageError(_("Addresses are not followed: clone it first, and name the folder."), ctx)
        if path == "":  # of a variable that is not set, and not the folder in which one happens to be
            raise click.UsageError(_("An empty name was given: name a file or a folder, as `.` for this one."), ctx)
        return super().convert(path, param, ctx)


def refuse_what_does_not_go_together(context: click.Context) -> None:
    """Before anything is read, so that no option is passed over in silence."""
    said = [one for one in context.command.params if context.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE]
    names = {one.name or "": one.opts[0] if isinstance(one, click.Option) else "PATH" for one in said}
    for option, excluded in EXCLUDES.items():
        others = [names[one] for one in excluded if one in names]
        if option in names and others:
            told = _("{option} does not go with {others}.")
            raise click.UsageError(told.format(option=names[option], others=", ".join(others)), context)
    if context.params["as_json"] and "form" in names and context.params["form"] != "json":
        raise click.UsageError(_("{option} does not go with {others}.").format(option="--json", others="--format"), context)
    if "near" in names and "model" not in names:
        raise click.UsageError(_("{option} goes with {other} only.").format(option="--model-url", other="--wording"), context)
    if "model" in names and context.params["form"] == "sarif":
        raise click.UsageError(_("--wording goes with a card: as text, md or json."), context)


def refuse_what_cannot_be_read(found: Inspection, paths: Sequence[Path | str]) -> None:
    """Whoever names a file wants it to count: without it the verdict would be about something else."""
    missed = [skip for skip in found.skipped if skip.named]
    if missed:
        raise click.UsageError(" ".join(_missed(missed)), click.get_current_context())
    if found.card is None:
        raise click.UsageError(" ".join(_nothing(found, paths)), click.get_current_context())


def _missed(missed: Sequence[Skip]) -> Iterator[str]:
    for skip in missed[:TOLD]:
        if skip.missing:
            yield _("{path} does not exist.").format(path=clean(skip.path))
        else:
            yield _("{path} cannot be read: {why}.").format(path=clean(skip.path), why=clean(told_of(skip)).rstrip("."))
    if len(missed) > TOLD:
        yield _("And {n:,} more.").format(n=len(missed) - TOLD)


def told_of(skip: Skip) -> str:
    """Why something was not read, in the chosen language, with the reader that says so."""
    return f"{skip.reader}: {translated(skip.why)}" if skip.reader else translated(skip.why)


def _nothing(found: Inspection, paths: Sequence[Path | str]) -> Iterator[str]:
    source = ", ".join(shown(path) if isinstance(path, str) else shown_path(str(path)) for path in paths)
    one = _("No automation was found in {source}: one file was read, and it is none.")
    several = _("No automation was found in {source}: {files:,} files were read, and none of them is one.")
    none = _("No automation was found in {source}: there is no file to read.")
    unread = _("No automation could be read in {source}.")
    told = unread if len(found.skipped) >= max(found.read, 1) else {0: none, 1: one}.get(found.read, several)
    yield told.format(source=source, files=found.read)
    for skip in found.skipped[:TOLD]:
        yield _("Not read: {path} ({reason}).").format(path=clean(skip.path), reason=quoted(told_of(skip)))
    yield _("Name a workflow file, an export or a script.")
