"""Why a step of the report gives up. The class names become the error codes; the docstrings say what to do."""

from __future__ import annotations

from halfway import StepFailed


class ProjectUnknown(StepFailed):
    """The settings do not know this project. Add it, then resume."""


class InvalidOutput(StepFailed):
    """The generated text is not a report. Look at the artifact; nothing was saved or uploaded."""


class FileEdited(StepFailed):
    """The path of the report holds another content. Whoever wrote it keeps it: move it away or keep it, then decide."""


class TokenMissing(StepFailed):
    """The environment variable that holds Notion's token is not set for this worker. Set it, restart, resume."""


class PageInTrash(StepFailed):
    """Somebody put the page of this day into the trash. It is not made again behind their back: restore it, or decide."""


class PageDiffers(StepFailed):
    """Notion already has a page for this day with another content, or more than one. Compare them, then decide."""
