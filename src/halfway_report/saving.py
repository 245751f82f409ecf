"""The step that saves the Markdown file, always at the same path, and what keeps it from there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from halfway import Artifact, Effect, Retry, Risk, Step, StepDefinition, Then, Workflow
from halfway_report.errors import FileEdited, FolderUnusable, LeadsOut, NoRoom
from halfway_report.files import NO_ROOM, OtherContent, OutsideFolder, holds, place, remove
from halfway_report.models import Day, SavedReport


def add_save(workflow: Workflow[Day], report: StepDefinition[Day, Artifact], out: Path) -> StepDefinition[Day, SavedReport]:
    """Declares SAVE_MARKDOWN with its check and its undo."""

    @workflow.step(Effect.CREATE, idempotent=True, retry=Retry(3), on_failure=Then.MANUAL)
    def save_markdown(step: Step[Day]) -> SavedReport:
        accepted = step.output(report)
        name = Path(step.input.project) / f"{step.input.date}.md"
        with _told_to_people():
            placed = not _is_there(out / name, accepted.sha256) or (step.attempt > 1 and accepted.sha256 not in step.input.replaces)
            path = place(out, name, step.read(accepted), replacing=step.input.replaces)
        return SavedReport(path=str(path), sha256=accepted.sha256, placed=placed)

    @save_markdown.verify
    def still_there(step: Step[Day], saved: SavedReport) -> bool:
        """The file is where it was put, unchanged."""
        return _is_there(Path(saved.path), saved.sha256)

    @save_markdown.compensate(Risk.LOW, idempotent=True)
    def take_away(step: Step[Day], saved: SavedReport) -> None:
        """Removes the file if this run has placed it and it is still as it was; everything else belongs to others."""
        if saved.placed:
            remove(Path(saved.path), saved.sha256)

    return save_markdown


def _is_there(path: Path, sha256: str) -> bool:
    try:
        return holds(path, sha256)
    except (OtherContent, OSError):
        return False


@contextmanager
def _told_to_people() -> Generator[None, None, None]:
    """Everything that keeps a file from its place is for a person to mend; trying again a second later changes nothing."""
    try:
        yield
    except OtherContent as error:
        raise FileEdited(f"{error}; it was left as it is") from None
    except OutsideFolder as error:
        raise LeadsOut(str(error)) from None
    except OSError as error:
        kind = NoRoom if error.errno in NO_ROOM else FolderUnusable
        raise kind(f"{error.filename or ''}: {error.strerror}".removeprefix(": ")) from error
