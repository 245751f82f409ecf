"""Why a step of the report gives up. The class names become the error codes; the docstrings say what to do."""

from __future__ import annotations

from halfway import RetryLater, StepFailed

UNEXPLAINED = "no explanation was given"  # by a server that refuses something


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


class FolderUnusable(StepFailed):
    """The file of the report cannot be written where it belongs. Mend the folder, or name another one in the settings, then resume."""


class NoRoom(StepFailed):
    """The file system has no room for the report. Nothing half written was left there: free some, then resume."""


class LeadsOut(StepFailed):
    """A symbolic link leads out of the folder of the reports. Nothing is written through it: remove it, then resume."""


class TokenMissing(StepFailed):
    """The environment variable with Notion's token is not set for this worker, or holds no token. Set it, restart, resume."""


class DataSourceUnclear(StepFailed):
    """The database has no data source, or several, and the settings name none. Set data_source_id to the right one, then resume."""


class DataSourceUnfit(StepFailed):
    """The data source has not the properties that identify a page. Add those that the message names, as text, then resume."""


class ReportTooLarge(StepFailed):
    """Notion takes no request of this size, and a page is never made in parts. The Markdown file is there; a person may make the page."""


class PageInTrash(StepFailed):
    """The page of this day is in the trash. It is not made again behind anybody's back: restore it, or decide."""


class PageEdited(StepFailed):
    """Somebody has edited the page of this day. It is left as it is: compare it with the Markdown file, then decide."""


class PageDiffers(StepFailed):
    """A page with this external id is not what this database made for the day. Compare it with the Markdown file, then decide."""


class PageTwice(StepFailed):
    """More than one page carries this external id. Keep the right one, delete the others for good, then decide."""


class PageOvertaken(StepFailed):
    """A later revision of this day has begun its upload. An older text is not put over it: leave the step out, or report the day anew."""


class PageGone(StepFailed):
    """Notion does not show the page any more: deleted for good, or not shared with the connection. Look for it there, then decide."""
