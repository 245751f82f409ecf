"""The step that saves the Markdown file, always at the same path; what looks for it there, and what keeps it from there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from halfway import Absent, Artifact, CannotTell, Effect, Found, Mark, Retry, Risk, Step, StepDefinition, Then, Workflow
from halfway_report.errors import FileEdited, FolderUnusable, LeadsOut, NoRoom
from halfway_report.files import NO_ROOM, OtherContent, OutsideFolder, holds, place, remove
from halfway_report.models import Day, SavedReport


def add_save(workflow: Workflow[Day], report: StepDefinition[Day, Artifact], out: Path) -> StepDefinition[Day, SavedReport]:
    """Declares SAVE_MARKDOWN with its check, its undo, and the look at the file where nobody knows whether it was saved."""

    @workflow.step(Effect.CREATE, idempotent=True, retry=Retry(3), on_failure=Then.MANUAL)
    def save_markdown(step: Step[Day], mark: Mark) -> SavedReport:
        accepted, name = step.output(report), _name(step.input)
        content = step.read(accepted)  # what cannot be read has changed nothing
        with mark, _told_to_people():
            placed = not _is_there(out / name, accepted.sha256) or (step.attempt > 1 and accepted.sha256 not in step.input.replaces)
            path = place(out, name, content, replacing=step.input.replaces)
        return SavedReport(path=str(path), sha256=accepted.sha256, placed=placed)

    @save_markdown.probe(settle=timedelta(0))  # a file is there at once, or never
    def find_file(step: Step[Day]) -> Found[SavedReport] | Absent | CannotTell:
        """The file of the day, with the hash of the report; a file with another content is for the next attempt to refuse."""
        path, sha256 = out.absolute() / _name(step.input), step.output(report).sha256
        try:
            return (
                Found(SavedReport(path=str(path), sha256=sha256, placed=sha256 not in step.input.replaces))
                if holds(path, sha256)
                else Absent()
            )
        except OtherContent:
            return Absent()
        except OSError as error:
            return CannotTell(f"{path}: {error.strerror}")

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


def _name(day: Day) -> Path:
    return Path(day.project) / f"{day.date}.md"


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
        raise kind(f"{error.filename or ''}: {error.strerror}".removeprefix(": ")) from None
