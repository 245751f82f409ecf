"""The file `report.toml`: found, read, checked. What it may say stands in the settings classes; this module names no key of theirs."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from halfway_report.language import _, retold
from halfway_report.models import Frozen
from halfway_report.settings import VARIABLE, ReportSettings

NAME = "report.toml"
_SQLITE = "sqlite:///"


class ConfigurationWrong(Exception):
    """The file cannot be used. Every fault is one line, which names the key and never its value."""

    def __init__(self, path: Path, faults: Sequence[str]) -> None:
        super().__init__(f"{path}: {'; '.join(faults)}")


class ConfigurationMissing(Exception):
    """There is no file."""


class Places(Frozen):
    """Where the runs are kept. Relative paths begin at the folder of the file."""

    database: str = f"{_SQLITE}report.db"
    artifacts: Path | None = None  # by default beside the SQLite file
    out: Path = Path("reports")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What one file says; every path in it is absolute."""

    path: Path
    database: str
    artifacts: Path | None
    settings: ReportSettings


def find(start: Path) -> Path:
    """The file in this folder or in the nearest one above it."""
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return folder / NAME
    raise ConfigurationMissing(_("There is no {name} in {folder} or above it.").format(name=NAME, folder=start))


def read(path: Path) -> Configuration:
    """Reads and checks a file. Raises ConfigurationWrong and ConfigurationMissing."""
    path = path.absolute()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationMissing(_("There is no file {path}.").format(path=path)) from None
    except OSError as error:
        raise ConfigurationWrong(path, [str(error.strerror)]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationWrong(path, [_("it is no TOML: {problem}").format(problem=error)]) from None
    faults = list(_secrets(document))
    own = {name: value for name, value in document.items() if name in Places.model_fields}
    try:
        places = Places.model_validate(own)
        settings = ReportSettings.model_validate({**_without(document, "database", "artifacts"), "out": places.out})
    except ValidationError as error:
        others = [_told(fault) for fault in error.errors() if fault["type"] != "string_pattern_mismatch" or not _names_variable(fault)]
        raise ConfigurationWrong(path, [*faults, *others]) from None
    if faults:
        raise ConfigurationWrong(path, faults)
    folder = path.parent
    return Configuration(
        path=path,
        database=_anchored_url(places.database, folder),
        artifacts=None if places.artifacts is None else folder / places.artifacts.expanduser(),
        settings=cast(ReportSettings, _anchored(settings, folder)),
    )


def _without(document: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in document.items() if name not in names}


# ── faults ──


def _secrets(value: object, at: str = "") -> Iterator[str]:
    """Whatever ends in `_env` names a variable; what does not look like the name of one may be the secret itself."""
    if isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            place = f"{at}.{name}".lstrip(".")
            if name.endswith("_env") and not (isinstance(inner, str) and re.fullmatch(VARIABLE, inner)):
                yield f"{place}: {_('write the name of an environment variable here, never the secret itself')}"
            yield from _secrets(inner, place)


def _names_variable(fault: ErrorDetails) -> bool:
    """Whether `_secrets` has told it already."""
    return str(fault["loc"][-1]).endswith("_env")


def _told(fault: ErrorDetails) -> str:
    at = [part for part in fault["loc"] if part != "[key]"]
    place = ".".join(map(str, at)) or _("the file")
    if fault["type"] == "extra_forbidden":
        known = _known(at[:-1])
        near = difflib.get_close_matches(str(at[-1]), known, n=1, cutoff=0.5)
        hint = (
            _("unknown; did you mean {key}?").format(key=near[0])
            if near
            else _("unknown; known here: {keys}").format(keys=", ".join(known))
        )
        return f"{place}: {hint}"
    return f"{place}: {_plainly(fault)}"


def _plainly(fault: ErrorDetails) -> str:
    """What people get wrong most often, in words that are not those of a program."""
    match fault["type"]:
        case "missing":
            return _("is missing")
        case "tuple_type":
            return _('is to be a list: ["…"]')
        case "string_pattern_mismatch":
            return _("has not the form {pattern}").format(pattern=fault.get("ctx", {}).get("pattern", ""))
        case _:
            return retold(fault["msg"].removeprefix("Value error, "))


def _known(place: Sequence[object]) -> list[str]:
    """The keys that are known at a place; a part that is no key of a class is one of the user's own names, or a number."""
    here: list[type[BaseModel]] = [ReportSettings]
    for part in place:
        fields = [field for one in here if (field := one.model_fields.get(str(part))) is not None]
        here = [inner for field in fields for inner in _models(field.annotation)] if fields else here
    names = {name for one in here for name in one.model_fields}
    return sorted(names if place else names | set(Places.model_fields))


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The settings classes that an annotation names, inside a mapping, a tuple or a union, too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


# ── paths ──


def _anchored(value: object, folder: Path) -> object:
    """The same with every path made absolute."""
    if isinstance(value, Path):
        return folder / value.expanduser()
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _anchored(getattr(value, name), folder) for name in type(value).model_fields})
    if isinstance(value, Mapping):
        return {name: _anchored(inner, folder) for name, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, tuple):
        return tuple(_anchored(inner, folder) for inner in cast("tuple[object, ...]", value))
    return value


def _anchored_url(url: str, folder: Path) -> str:
    return f"{_SQLITE}{folder / url.removeprefix(_SQLITE)}" if url.startswith(_SQLITE) else url
