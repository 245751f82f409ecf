"""Why a step of the report gives up. The class names become the error codes; the docstrings say what to do."""

from __future__ import annotations

from halfway import StepFailed


class ProjectUnknown(StepFailed):
    """The settings do not know this project. Add it, then resume."""


class InvalidOutput(StepFailed):
    """The generated text is not a report. Look at the artifact; nothing was saved or uploaded."""


class FileEdited(StepFailed):
    """The path of the report holds another content. Whoever wrote it keeps it: move it away or keep it, then decide."""


class FolderUnusable(StepFailed):
    """The file of the report cannot be written where it belongs. Mend the folder, or name another one in the settings, then resume."""


class NoRoom(StepFailed):
    """The file system has no room for the report. Nothing half written was left there: free some, then resume."""


class LeadsOut(StepFailed):
    """A symbolic link leads out of the folder of the reports. Nothing is written through it: remove it, then resume."""


class TokenMissing(StepFailed):
    """The environment variable that holds Notion's token is not set for this worker. Set it, restart, resume."""


class PageInTrash(StepFailed):
    """Somebody put the page of this day into the trash. It is not made again behind their back: restore it, or decide."""


class PageDiffers(StepFailed):
    """Notion already has a page for this day with another content, or more than one. Compare them, then decide."""
