"""The values that travel between the steps and are stored with a run. Frozen; no person's name is among them unless it was asked for."""

from __future__ import annotations

import re
from datetime import date
from hashlib import sha256
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Basis: TypeAlias = Literal["author", "committer", "landed"]
Kind: TypeAlias = Literal["", "submodule", "lock file", "minified", "vendored", "generated", "unwanted"]
# A colon would blur the parts of `daily-report:{project}:{date}`.
Slug: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]


class Frozen(BaseModel):
    """Base of all values here: no field can be set later, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Day(Frozen):
    """The input of a run: one project, one business day; and, when the day is reported anew on purpose, for which time."""

    project: Slug
    date: date
    revision: int = Field(default=1, ge=1)
    replaces: tuple[str, ...] = ()  # hashes of the files that earlier revisions have saved: only those may be written over

    @property
    def key(self) -> str:
        """Names the day at Notion, the same for every revision."""
        return f"daily-report:{self.project}:{self.date}"

    @property
    def run_key(self) -> str:
        """Names the run in the database."""
        return self.key if self.revision == 1 else f"{self.key}:r{self.revision}"

    def place_of(self, key: str) -> tuple[int, int] | None:
        """Which revision of this day the key of a run names, and the how manyth run of it: None if it is one of another day."""
        match = re.fullmatch(r"(?::r(\d+))?(?:#(\d+))?", key.removeprefix(self.key)) if key.startswith(self.key) else None
        return None if match is None else (int(match[1] or 1), int(match[2] or 1))


class FileChange(Frozen):
    """One file of a commit; the counts are None for a binary file, and where the clone lacks the contents."""

    path: str
    added: int | None
    deleted: int | None
    kind: Kind = ""


class Omitted(Frozen):
    """Files of a commit that are not shown one by one, and why."""

    why: str
    files: int
    added: int
    deleted: int


class Commit(Frozen):
    """One change with its text already redacted; `files` is None where the repository cannot say."""

    sha: str
    repository: str
    at: int
    subject: str
    body: str = ""
    files: tuple[FileChange, ...] | None = ()
    omitted: tuple[Omitted, ...] = ()
    also: tuple[str, ...] = ()  # commits that make the same change, on other branches
    reverts: str | None = None  # the commit that this one takes back
    reverted_by: str | None = None  # the commit of this day that takes this one back
    authors: tuple[str, ...] = ()  # only where the settings ask for names
    merge: bool = False

    @property
    def shas(self) -> tuple[str, ...]:
        """Every commit that makes this change."""
        return (self.sha, *self.also)


class Collection(Frozen):
    """What git had to say about a business day."""

    project: Slug
    date: date
    zone: str
    basis: Basis
    commits: tuple[Commit, ...]
    mentioned: tuple[str, ...] = ()  # commits of other days that the messages of this day name
    redactions: dict[str, int] = {}
    warnings: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """What a report may cite beside the commits that it is about."""
        return tuple(sha for commit in self.commits for sha in commit.also) + self.mentioned

    @property
    def shas(self) -> tuple[str, ...]:
        """Every commit a report of this day may cite."""
        return tuple(commit.sha for commit in self.commits) + self.known


class Area(Frozen):
    """A directory at the root, or the root itself where the name is empty, and how much was changed in it."""

    name: str
    changes: int
    added: int
    deleted: int


class Figures(Frozen):
    """How much happened on a day, whatever of it has room in a context."""

    commits: int
    files: int
    added: int
    deleted: int
    areas: tuple[Area, ...]


class Context(Frozen):
    """What a generator is given: a collection cut to a budget, and what was left out."""

    schema_version: Literal[1] = 1
    form: str
    collection: Collection
    left_out: tuple[str, ...] = ()
    left_out_commits: tuple[str, ...] = ()
    figures: Figures | None = None  # of the whole day
    tokens: int = 0  # an estimate, on the safe side, of what `as_text` of all commits costs

    def canonical(self) -> bytes:
        """The same bytes for the same content; their hash is the context hash."""
        return self.model_dump_json(indent=1).encode()


class SavedReport(Frozen):
    """Where the Markdown file is, and the hash of its content."""

    path: str
    sha256: str
    placed: bool = False  # by this run; another one, or a person, may have had the same text there before


class Page(Frozen):
    """A page at Notion."""

    id: str
    url: str


def content_hash(content: bytes) -> str:
    """SHA-256 in hex, the form in which content is compared everywhere here."""
    return sha256(content).hexdigest()
