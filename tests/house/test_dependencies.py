"""The lists of pinned versions fit the project's own requirements, carry hashes and no addresses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LISTS = {
    "constraints.txt": {"postgres", "report", "dev"},
    "constraints-demo.txt": {"report"},
}
CORE = {"pydantic", "click", "rich", "cronsim"}
PINNED = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.!+-]+)(?: ; .+?)?(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)")


def project(root: Path) -> dict[str, object]:
    with (root / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def pinned(root: Path, name: str) -> dict[str, str]:
    """Version by package; a line that is anything but one package with its hashes fails."""
    entries = re.sub(r"\s*\\\n\s*", " ", (root / name).read_text()).splitlines()
    matches = [PINNED.fullmatch(entry) for entry in entries]
    assert [entry for entry, match in zip(entries, matches, strict=True) if match is None] == []
    return {canonicalize_name(match["name"]): match["version"] for match in matches if match}


@pytest.mark.parametrize("name", LISTS)
def test_every_requirement_is_pinned_to_a_version_it_allows(root: Path, name: str) -> None:
    table = project(root)
    metadata, build = table["project"], table["build-system"]
    assert isinstance(metadata, dict)
    assert isinstance(build, dict)
    extras = [line for extra in LISTS[name] for line in metadata["optional-dependencies"][extra]]
    wanted = [Requirement(line) for line in [*metadata["dependencies"], *build["requires"], *extras]]
    versions = pinned(root, name)
    missing = [
        str(item)
        for item in wanted
        if item.name != "halfway" and not item.specifier.contains(versions.get(canonicalize_name(item.name), "0"))
    ]
    assert missing == []


def test_both_lists_name_the_same_versions(root: Path) -> None:
    assert pinned(root, "constraints-demo.txt").items() <= pinned(root, "constraints.txt").items()


def test_the_core_needs_four_packages(root: Path) -> None:
    metadata = project(root)["project"]
    assert isinstance(metadata, dict)
    assert {Requirement(line).name for line in metadata["dependencies"]} == CORE
