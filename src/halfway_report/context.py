"""Cuts a collection to the budget of a generator, and says what was left out.

Nothing is cut that has room. Where room is short, long messages and lists of files shrink first, for all commits alike;
only then are whole commits left out, and those that changed least go first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from halfway_report.figures import figures_of
from halfway_report.form import DAILY, Form
from halfway_report.models import Collection, Commit, Context, FileChange, Omitted
from halfway_report.redact import Redactor, redactor_for
from halfway_report.settings import ProjectSettings
from halfway_report.tokens import estimate

BUDGET = 24_000  # tokens


class _Measure(NamedTuple):
    """How much of each commit is shown."""

    subject: int  # characters
    body: int
    files: int


_MEASURES = (
    _Measure(4_000, 600, 40),
    _Measure(1_000, 600, 20),
    _Measure(300, 300, 10),
    _Measure(200, 120, 5),
    _Measure(120, 0, 3),
    _Measure(120, 0, 0),
)

LEFT_OUT = {
    "lock file": "lock files",
    "minified": "minified files",
    "vendored": "vendored files",
    "generated": "generated files",
    "unwanted": "files that the settings drop",
    "characters": "characters of commit messages",
    "files": "files of commits with more than {0} files",
    "commits": "commits that changed least, for want of room",
}  # what is only counted, as it is told


def build_context(collection: Collection, form: Form = DAILY, *, budget: int = BUDGET, redactor: Redactor | None = None) -> Context:
    """A pure function: the same collection gives the same context, byte for byte."""
    collection = _redacted(collection, redactor or Redactor())
    left_out: Counter[str] = Counter()
    whole = tuple(_without_noise(commit, left_out) for commit in collection.commits)
    commits, cuts = _shrunk(whole, budget)
    dropped = tuple(commit.sha for commit in _least(commits, budget))
    commits = tuple(_without_pair(commit, set(dropped)) for commit in commits if commit.sha not in set(dropped))
    left_out += cuts + Counter({LEFT_OUT["commits"]: len(dropped)})
    return Context(
        form=form.name,
        collection=collection.model_copy(update={"commits": commits}),
        left_out=tuple(f"{what}: {count}" for what, count in sorted(left_out.items()) if count),
        left_out_commits=dropped,
        figures=figures_of(whole),
        tokens=_cost(commits),
    )


def context_for(collection: Collection, settings: ProjectSettings) -> Context:
    """The context of a day as its project wants it."""
    return build_context(collection, budget=settings.context_tokens, redactor=redactor_for(settings))


def as_text(commit: Commit) -> str:
    """A commit as a model is shown it: what it says, then what it changes. Data of strangers."""
    lines = [f"commit {' = '.join(sha[:12] for sha in commit.shas)} in {commit.repository}", commit.subject]
    if commit.authors:
        lines.append(f"by {', '.join(commit.authors)}")
    if commit.reverts:
        lines.append(f"takes back {commit.reverts[:12]}")
    if commit.reverted_by:
        lines.append(f"was taken back by {commit.reverted_by[:12]}")
    lines += [commit.body] if commit.body else []
    lines += [_file_line(file) for file in commit.files or ()]
    lines += [f"  {part.files} more ({part.why}) +{part.added} -{part.deleted}" for part in commit.omitted]
    return "\n".join(lines)


def _file_line(file: FileChange) -> str:
    counts = "" if file.added is None else f" +{file.added} -{file.deleted or 0}"
    return f"  {file.path}{counts}{f' ({file.kind})' if file.kind else ''}"


def _redacted(collection: Collection, redactor: Redactor) -> Collection:
    counts = Counter(collection.redactions)

    def clean(text: str) -> str:
        redacted = redactor(text)
        counts.update(redacted.counts)
        return redacted.text

    commits = tuple(
        commit.model_copy(
            update={
                "subject": clean(commit.subject),
                "body": clean(commit.body),
                "authors": tuple(map(clean, commit.authors)),
                "files": commit.files and tuple(file.model_copy(update={"path": clean(file.path)}) for file in commit.files),
            }
        )
        for commit in collection.commits
    )
    return collection.model_copy(update={"commits": commits, "redactions": dict(sorted(counts.items()))})


def _without_noise(commit: Commit, left_out: Counter[str]) -> Commit:
    """A commit whose lock files and their like are counted instead of named."""
    noise = [file for file in commit.files or () if file.kind and file.kind != "submodule"]
    if not noise:
        return commit
    for file in noise:
        left_out[LEFT_OUT.get(file.kind, LEFT_OUT["unwanted"])] += 1
    kinds = sorted({file.kind for file in noise})
    omitted = tuple(_counted(kind, (file for file in noise if file.kind == kind)) for kind in kinds)
    return commit.model_copy(
        update={"files": tuple(file for file in commit.files or () if file not in noise), "omitted": commit.omitted + omitted}
    )


def _without_pair(commit: Commit, dropped: Set[str]) -> Commit:
    """A commit that names no other one which was left out: nobody could look it up in the report."""
    return commit.model_copy(
        update={name: None for name in ("reverts", "reverted_by") if getattr(commit, name) in dropped},
    )


def _counted(why: str, files: Iterable[FileChange]) -> Omitted:
    files = tuple(files)
    return Omitted(
        why=why, files=len(files), added=sum(file.added or 0 for file in files), deleted=sum(file.deleted or 0 for file in files)
    )


def _shrunk(commits: Sequence[Commit], budget: int) -> tuple[tuple[Commit, ...], Counter[str]]:
    """The commits in the largest measure that fits, or in the smallest one."""
    shown: tuple[Commit, ...] = ()
    cuts: Counter[str] = Counter()
    for measure in _MEASURES:
        cuts = Counter()
        shown = tuple(_cut(commit, measure, cuts) for commit in commits)
        if _cost(shown) <= budget:
            break
    return shown, cuts


def _cut(commit: Commit, measure: _Measure, cuts: Counter[str]) -> Commit:
    subject, body, files = commit.subject[: measure.subject], commit.body[: measure.body], commit.files
    omitted = commit.omitted
    cuts[LEFT_OUT["characters"]] += len(commit.subject) - len(subject) + len(commit.body) - len(body)
    if files is not None and len(files) > measure.files:
        # The largest changes say most; in the order in which they stood.
        ranked = sorted(enumerate(files), key=lambda item: (-_size(item[1]), item[0]))
        kept = {index for index, _ in ranked[: measure.files]}
        cuts[LEFT_OUT["files"].format(measure.files)] += len(files) - measure.files
        omitted += (_counted("not listed", (file for index, file in enumerate(files) if index not in kept)),)
        files = tuple(file for index, file in enumerate(files) if index in kept)
    return commit.model_copy(update={"subject": subject, "body": body, "files": files, "omitted": omitted})


def _least(commits: Sequence[Commit], budget: int) -> list[Commit]:
    """The commits for which there is no room; those that changed least, and the later of two that are alike."""
    room = budget
    ranked = sorted(commits, key=lambda commit: (-_lines(commit), commit.at, commit.sha))
    out: list[Commit] = []
    for commit in ranked:
        room -= _cost([commit])
        if room < 0:
            out.append(commit)
    return sorted(out, key=lambda commit: (commit.at, commit.repository, commit.sha))


def _cost(commits: Iterable[Commit]) -> int:
    return sum(estimate(as_text(commit)) + 1 for commit in commits)


def _size(file: FileChange) -> int:
    return (file.added or 0) + (file.deleted or 0)


def _lines(commit: Commit) -> int:
    return sum(map(_size, commit.files or ())) + sum(part.added + part.deleted for part in commit.omitted)
