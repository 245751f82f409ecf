"""Where things are: which app, which database, which artifacts. Options first, then HALFWAY_URL, then `[tool.halfway]`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, cast

from halfway.app import Halfway
from halfway.authoring.retention import FOR_EVER
from halfway.command import keep_trace
from halfway.control.reading import Control
from halfway.errors import HalfwayError, InvalidInput

NAMES = ("app", "url", "artifacts")


@dataclass(frozen=True, kw_only=True)
class Place:
    """What is known about the project a command works in."""

    app: str | None = None
    app_source: str = "--app"
    folder: Path | None = None  # where the app's module is looked for
    url: str | None = None  # given on purpose, or of the project
    overrides: bool = False  # the URL was given on purpose: it counts even if the app has its own
    artifacts: str | None = None
    roles: Mapping[str, Sequence[str]] | None = None


def find_place(app: str | None, url: str | None, *, start: Path | None = None) -> Place:
    """What the options say, completed by the nearest pyproject.toml with a `[tool.halfway]`."""
    if app and url:
        return Place(app=app, folder=Path.cwd(), url=url, overrides=True)
    file, table = _table(start or Path.cwd())
    folder = Path.cwd() if app or file is None else file.parent
    return Place(
        app=app or table.get("app"),
        app_source="--app" if app or file is None else f"app in {file}",
        folder=folder,
        url=url or (_absolute_url(table["url"], file) if "url" in table and file is not None else None),
        overrides=url is not None,
        artifacts=str(file.parent / table["artifacts"]) if "artifacts" in table and file is not None else None,
        roles=None if file is None else _roles(file),
    )


def _table(start: Path) -> tuple[Path | None, dict[str, str]]:
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if not file.is_file():
            continue
        table = _read(file)
        if table is not None:
            return file, table
    return None, {}


def _read(file: Path) -> dict[str, str] | None:
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        _refuse(str(file), f"it is not valid TOML: {error}.", "Correct the file.")
    except OSError as error:
        _refuse(str(file), f"it cannot be read: {error.strerror}.", "Make it readable, or give --app and --url.")
    table: object = tool.get("halfway") if isinstance(tool, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if table is None:
        return None
    if not isinstance(table, dict):
        _refuse(str(file), "tool.halfway is not a table.", "Write [tool.halfway] and below it app, url, artifacts.")
    return dict(_checked(file, table))  # pyright: ignore[reportUnknownArgumentType]


def _roles(file: Path) -> Mapping[str, Sequence[str]] | None:
    """Who holds which role, as `[tool.halfway.roles]` says it; `_table` has read the file before."""
    roles: Any = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["halfway"].get("roles")
    if roles is None:
        return None
    remedy = 'Write a list of names for each role, as in support-lead = ["kim"].'
    if not isinstance(roles, dict):
        _refuse(str(file), "[tool.halfway] has roles that are no table.", remedy)
    known = cast("dict[str, Any]", roles)
    for role, names in known.items():
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):  # pyright: ignore[reportUnknownVariableType]
            _refuse(str(file), f"role {role} in [tool.halfway.roles] is {names!r}.", remedy)
    return known


def _checked(file: Path, table: dict[object, object]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if name == "roles":
            continue
        if name not in NAMES:
            _refuse(str(file), f"[tool.halfway] has {name}, which is not known.", f"Known are {', '.join((*NAMES, 'roles'))}.")
        if not isinstance(value, str) or not value:
            _refuse(str(file), f"{name} in [tool.halfway] is {value!r}.", "Give a text.")
        yield str(name), value


def _absolute_url(url: str, file: Path) -> str:
    """A relative SQLite path is meant from the project's folder, wherever the command is typed."""
    scheme, separator, path = url.partition("sqlite:///")
    if scheme or not separator or path.startswith((":", "/")):
        return url
    return f"sqlite:///{file.parent / path}"


# ── what is there ──


@contextmanager
def control(app: str | None, url: str | None, *, code: bool = False) -> Generator[Control]:
    """What runs can be asked and ordered through. Needs no code if a URL is known; nothing is ever created.

    code: load the app if one is known, so that values can be checked against its types, and who may do what is what it says.
    """
    from halfway.store import new_id, open_store

    place = find_place(app, url)
    loaded = load_app(place) if place.url is None or (code and place.app is not None) else None
    store = open_store(place.url or (loaded.url if loaded else ""), create=False, artifacts=place.artifacts)
    try:
        workflows = () if loaded is None else loaded.workflows.values()
        roles = place.roles if loaded is None or place.roles is not None else loaded.roles
        yield Control(
            store.runs, store.reading, store.attention, workflows=workflows, wake=_nobody, can=None if loaded is None else loaded.can,
            members=roles, batches=store.batches, timetable=store.schedules, queues=store.queues, keeping=store.keeping,
            calls=store.calls, new_id=new_id,
            retention=FOR_EVER if loaded is None else loaded.retention, retentions={} if loaded is None else loaded.retentions,
        )  # fmt: skip
    finally:
        store.close()


def _nobody(routes: tuple[str, ...]) -> None:
    """No worker of this process waits for work; those of others look by themselves."""


# ── the app ──


def load_app(place: Place) -> Halfway:
    """The project's app, with the database that was asked for. Nothing is opened yet."""
    if place.app is None:
        remedy = 'Give --app module:name, or write app = "module:name" under [tool.halfway] in pyproject.toml.'
        _refuse("of this folder", "it names no app.", remedy)
    app = _import(place.app, place.app_source, place.folder or Path.cwd())
    if place.url is None or not place.overrides or place.url == app.url:
        return app
    return Halfway(
        place.url, workflows=list(app.workflows.values()), artifacts=place.artifacts, roles=app.roles, can=app.can, notify=app.notify,
        settings=app.settings, retention=app.retention,
    )  # fmt: skip


def _import(path: str, source: str, folder: Path) -> Halfway:
    name, separator, attribute = path.partition(":")
    source = f"{source} ({path})"
    if not separator or not name or not attribute:
        _refuse(source, "it has not the form module:name.", "Write it as in flow:app.")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    with _user_code(source, name, folder):
        module = import_module(name)
    found: object = getattr(module, attribute, None)
    if isinstance(found, Halfway):
        return found
    others = ", ".join(sorted(name for name, value in vars(module).items() if isinstance(value, Halfway))) or "none"
    problem = f"module {name} has no {attribute}." if found is None else f"{attribute} is a {type(found).__name__}, not a Halfway."
    return _refuse(source, problem, f"Its objects of type Halfway: {others}.")


@contextmanager
def _user_code(source: str, module: str, folder: Path) -> Generator[None]:
    """Whatever the project's module does while it is imported becomes one clear error."""
    try:
        yield
    except HalfwayError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            _failed(source, error)
        _refuse(source, f"there is no module {error.name} in {folder}.", "Correct the name, or type the command in the project's folder.")
    except (Exception, SystemExit) as error:
        _failed(source, error)


def _failed(source: str, error: BaseException) -> NoReturn:
    told = " ".join(str(error).split())[:200]
    _refuse(source, f"importing it raised {type(error).__name__}: {told}.", f"The traceback is in {keep_trace(error)}.")


def _refuse(source: str, problem: str, remedy: str) -> NoReturn:
    raise InvalidInput("CONFIG_INVALID", source=source, problem=problem, remedy=remedy)
