"""Cuts a collection to the budget of a generator, and says what was left out."""

from __future__ import annotations

from collections import Counter

from halfway_report.form import DAILY, Form
from halfway_report.models import Collection, Commit, Context

_BODY = 600  # characters of a commit message after its first line
_FILES = 40  # files of one commit


def build_context(collection: Collection, form: Form = DAILY) -> Context:
    """A pure function: the same collection gives the same context, byte for byte."""
    left_out: Counter[str] = Counter()
    commits = tuple(_cut(commit, left_out) for commit in collection.commits)
    return Context(
        form=form.name,
        collection=collection.model_copy(update={"commits": commits}),
        left_out=tuple(f"{what}: {count}" for what, count in sorted(left_out.items())),
    )


def _cut(commit: Commit, left_out: Counter[str]) -> Commit:
    changes: dict[str, object] = {}
    if len(commit.body) > _BODY:
        changes["body"] = commit.body[:_BODY]
        left_out["characters of commit messages"] += len(commit.body) - _BODY
    if commit.files is not None and len(commit.files) > _FILES:
        changes["files"] = commit.files[:_FILES]
        left_out[f"files of commits with more than {_FILES} files"] += len(commit.files) - _FILES
    return commit.model_copy(update=changes)
