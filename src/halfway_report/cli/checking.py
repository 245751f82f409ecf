"""`report doctor`: whether everything is there that a report needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import click

from halfway import StepFailed
from halfway.errors import Exit, HalfwayError, code_of
from halfway_report import reading
from halfway_report.advice import remedy
from halfway_report.cli.group import tell
from halfway_report.cli.options import common
from halfway_report.cli.printing import print_json
from halfway_report.cli.site import Site, opened
from halfway_report.git import Deadline, GitError
from halfway_report.language import _, retold
from halfway_report.models import Frozen
from halfway_report.notion_place import place_of
from halfway_report.notion_values import NotionError
from halfway_report.settings import NotionSettings, ReportSettings, without_userinfo
from halfway_report.sources import sources
from halfway_report.workflow import NAME

_PATIENCE = timedelta(seconds=10)
_WIDE = "\u1100"  # letters from here on take two cells of a terminal


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    good: bool
    told: str

    def to_json(self) -> dict[str, object]:
        return self._asdict()


@click.command(short_help="Check that everything is there that a report needs.")
@click.option("--offline", is_flag=True, help="Do not ask Notion and the model.")
@common
def doctor(*, offline: bool, config: Path | None, as_json: bool) -> None:
    """Check the configuration, the repositories, the folder, the secrets, the servers and the database, which is made if missing."""
    with opened(config) as site:
        settings = site.configuration.settings
        servers = list(_servers(settings, offline=offline))
        found = not offline and all(one.good for one in servers if one.what.startswith("notion"))
        findings = [
            Finding(_("configuration"), True, str(site.configuration.path)),
            *_repositories(settings),
            _folder(settings.out),
            *servers,
            *(_data_source(settings.notion) if found and settings.notion is not None else ()),
            *_database(site),
        ]
    if as_json:
        print_json([one.to_json() for one in findings])
    for one in () if as_json else findings:
        click.echo(f"{_column(_('ok') if one.good else _('BAD'), 4)} {_column(one.what, 24)} {one.told}".rstrip())
    if not all(one.good for one in findings):
        click.get_current_context().exit(Exit.USAGE)


def _column(text: str, cells: int) -> str:
    return text + " " * (cells - sum(1 + (letter >= _WIDE) for letter in text))


def _repositories(settings: ReportSettings) -> Iterator[Finding]:
    for name, project in settings.projects.items():
        for path in project.repositories:
            try:
                sources([path], Deadline(_PATIENCE))
            except GitError as error:
                yield Finding(_("project {name}").format(name=name), False, f"{path}: {retold(error)}")
            else:
                yield Finding(_("project {name}").format(name=name), True, str(path.resolve()))


def _folder(out: Path) -> Finding:
    """The folder is made at the first report, so the nearest one that is there must take it."""
    there = next(folder for folder in (out, *out.parents) if folder.exists())
    good = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return Finding(_("folder"), good, str(out) if good else _("{path} cannot be written").format(path=there))


def _servers(settings: ReportSettings, *, offline: bool) -> Iterator[Finding]:
    """Every part of the settings that names a server or a secret, whichever they are."""
    for part in ("notion", "llm"):
        chosen: object = getattr(settings, part, None)
        for field, value in dict(chosen).items() if isinstance(chosen, Frozen) else ():
            if field.endswith("_env") and value:
                told = str(value) if os.environ.get(value) else _("the environment variable {name} is not set").format(name=value)
                yield Finding(f"{part} {field}", bool(os.environ.get(value)), told)
            elif field.endswith("url") and not offline:
                yield _reachable(f"{part} {field}", str(value))


def _data_source(settings: NotionSettings) -> Iterator[Finding]:
    """Whether the token opens the place where pages go; what is wrong with either is told as a run would tell it."""
    from halfway_report.notion import Notion  # noqa: PLC0415 - its client takes long to load

    what, token = _("notion data source"), os.environ.get(settings.token_env, "").strip()
    try:
        with Notion(settings.url, token, settings.properties, patience=lambda: _PATIENCE) as notion:
            yield Finding(what, True, place_of(notion, settings).source)
    except NotionError as error:
        yield Finding(what, False, f"{error.code}: {remedy(error.code) if error.status in (401, 403, 404) else retold(error)}")
    except StepFailed as error:
        yield Finding(what, False, f"{retold(error)} {remedy(code_of(type(error)))}")


def _reachable(what: str, url: str) -> Finding:
    """Any answer will do; nothing that is secret is sent to an address that may be wrong."""
    import httpx2  # noqa: PLC0415 - takes longer to load than most commands take

    address = without_userinfo(url)
    host = urlsplit(address).netloc
    try:
        httpx2.get(address, timeout=_PATIENCE.total_seconds())
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return Finding(what, False, f"{host}: {type(error).__name__}: {error}")
    return Finding(what, True, host)


def _database(site: Site) -> Iterator[Finding]:
    try:
        schema = site.app.control.schema()
        waiting = reading.runs(site.app, NAME, 1000, status="MANUAL_REQUIRED")
        late = [one for one in site.app.control.schedules.list(type=NAME) if one.overdue is not None and one.overdue > timedelta(minutes=5)]
    except HalfwayError as error:
        yield Finding(_("database"), False, tell(error))
        return
    yield Finding(_("database"), True, schema.url)
    told = _("runs that wait for a person: {count}; list them with: report runs --status MANUAL_REQUIRED")
    yield Finding(_("runs"), not waiting, told.format(count=len(waiting)) if waiting else "")
    if site.configuration.settings.schedules:
        told = _("nothing starts what is due; start a worker with: report worker")
        yield Finding(_("schedules"), not late, told if late else _("workers: {count}").format(count=reading.workers(site.app)))
