"""Why a step of the report gives up. The class names become the error codes; the docstrings say what to do."""

from __future__ import annotations

from halfway import RetryLater, StepFailed


class ProjectUnknown(StepFailed):
    """The settings do not know this project. Add it, then resume."""


class InvalidOutput(StepFailed):
    """The generated text is not a report, three times in a row. Nothing was saved or uploaded; accept one of the attempts, or retry."""


class ModelUnavailable(RetryLater):
    """The model's server does not answer, or is too busy. It was asked five times; start it, then resume."""


class ModelStreamCut(RetryLater):
    """The model's answer broke off before its end. What came was thrown away: half a report is none."""


class ModelNotFound(StepFailed):
    """The server does not have this model. Pull it, or name another one in the settings, then resume."""


class ModelResource(StepFailed):
    """The server has not enough memory for the model. Free some, or name a smaller model, then resume."""


class ModelRefused(StepFailed):
    """The server does not take the request as it is: a wrong key, an option it does not know. Change the settings, then resume."""


class ContextOverflow(StepFailed):
    """The day does not fit into the model's window, and nothing of it is cut in silence. Raise num_ctx or use the mode map, then resume."""


class Stopped(StepFailed):
    """Somebody asked the run to stop while the model was writing. What had come is not used."""


class FileEdited(StepFailed):
    """The path of the report holds another content. Whoever wrote it keeps it: move it away or keep it, then decide."""


class TokenMissing(StepFailed):
    """The environment variable that holds Notion's token is not set for this worker. Set it, restart, resume."""


class PageInTrash(StepFailed):
    """Somebody put the page of this day into the trash. It is not made again behind their back: restore it, or decide."""


class PageDiffers(StepFailed):
    """Notion already has a page for this day with another content, or more than one. Compare them, then decide."""
