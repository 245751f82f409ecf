"""Which repositories the paths of a project name: each once, however many worktrees of it are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halfway_report.git import BranchUnknown, Deadline, Git, GitFailed, GitSaidTooMuch
from halfway_report.history import Notes
from halfway_report.kinds import Rule, marked
from halfway_report.settings import ProjectSettings

_ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A repository, and the commits that the paths to it have checked out."""

    git: Git
    name: str
    common: Path  # the directory that its worktrees share
    heads: tuple[str, ...]

    def references(self, settings: ProjectSettings) -> tuple[str, ...]:
        """Where the walk over the history begins; never at stashes, notes or pull requests."""
        if settings.basis == "landed":
            return ("--first-parent", *self._landing(settings.branch))
        return ("--branches", *(["--remotes"] if settings.remotes else []), *self.heads)

    def _landing(self, branch: str | None) -> Iterable[str]:
        if branch is None:
            return self.heads[:1]
        for place in ("refs/heads", "refs/remotes"):
            if tip := self.git.names(f"{place}/{branch}"):
                return (tip,)
        raise BranchUnknown(self.git.repository, "rev-parse", f"no branch {branch}")

    def border(self) -> frozenset[str]:
        """The commits whose parents were cut off when the history was cloned."""
        try:
            return frozenset((self.common / "shallow").read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()

    def rules(self, notes: Notes) -> list[Rule]:
        """What the repository itself says about generated and vendored files, at its root."""
        if not self.heads:
            return []
        try:
            text = self.git.ask("cat-file", "blob", f"{self.heads[0]}:{_ATTRIBUTES}", most=2**20).decode("utf-8", "replace")
        except (GitFailed, GitSaidTooMuch):
            return []  # there is none, it is not in this clone, or it is no such file
        return marked(text, lambda _: notes.add("patterns of .gitattributes that are none, ignored"))


def sources(paths: Sequence[Path], deadline: Deadline) -> tuple[Source, ...]:
    """The repositories behind the paths, in their order; raises RepositoryUnusable for the first that git cannot read."""
    found: dict[Path, list[Git]] = {}
    for path in paths:
        git = Git(path, deadline)
        found.setdefault(git.common_directory(), []).append(git)
    names = _names([(common, gits[0].repository) for common, gits in found.items()])
    return tuple(
        Source(
            git=gits[0],
            name=name,
            common=common,
            heads=tuple(dict.fromkeys(head for git in gits if (head := git.names("HEAD")) is not None)),
        )
        for (common, gits), name in zip(found.items(), names, strict=True)
    )


def _names(places: Sequence[tuple[Path, Path]]) -> list[str]:
    """Short names, and longer ones for repositories that would share one."""
    homes = [_home(common, path) for common, path in places]
    shared = {name for name, count in Counter(home.name for home in homes).items() if count > 1}
    return [f"{home.parent.name}/{home.name}" if home.name in shared else home.name for home in homes]


def _home(common: Path, path: Path) -> Path:
    if common.name == ".git":
        return common.parent
    return path.resolve() if common.name.startswith(".") else common.with_name(common.name.removesuffix(".git"))
