"""The root of the command line: what each error of the report and of halfway says, with the commands of this program."""

from __future__ import annotations

import click

from halfway.command import Mishap, Root, keep_trace
from halfway.errors import MESSAGES, Exit, HalfwayError
from halfway_report.configuration import ConfigurationMissing, ConfigurationWrong
from halfway_report.language import _, retold, speak

REPORT = "report"
SPOKEN = ("source", "problem", "remedy", "reason")  # gaps that hold sentences


class Group(Root):
    """The commands of `report`."""

    def speak(self, language: str | None) -> None:
        speak(language)

    def translate(self, text: str) -> str:
        return _(text)

    def mishap(self, error: Exception) -> Mishap:
        return super().mishap(error) if isinstance(error, click.ClickException) else mishap_of(error)


def mishap_of(error: Exception) -> Mishap:
    """One line for any exception; the traceback of an unexpected one goes to a file."""
    match error:
        case HalfwayError():
            return Mishap(command=REPORT, code=error.code, told=tell(error), exit=error.exit_code, params=error.params)
        case ConfigurationMissing():
            least = _('Write one, or name it with --config. Two lines are enough: [projects.NAME] and repositories = ["FOLDER"]')
            return Mishap(command=REPORT, code="CONFIG_MISSING", told=f"{error} {least}", exit=Exit.USAGE)
        case ConfigurationWrong():
            return Mishap(command=REPORT, code="CONFIG_INVALID", told=str(error), exit=Exit.USAGE)
        case _:
            what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            internal = HalfwayError("INTERNAL", problem=what, trace=keep_trace(error))
            return Mishap(command=REPORT, code="INTERNAL", told=tell(internal), exit=Exit.INTERNAL, params=internal.params)


def tell(error: HalfwayError) -> str:
    """An error of halfway in the chosen language, with the commands of this program."""
    own = {
        "RUN_UNKNOWN": _("There is no run {run}. List the runs with: report runs"),
        "RUN_AMBIGUOUS": _("The id {run} fits {count} runs. Give more characters of the id."),
        "SCHEDULE_UNKNOWN": _(
            "There is no schedule {schedule}. Write [schedules.PROJECT] into report.toml; list them with: report schedule list"
        ),
        "ACTION_REFUSED": _("{action} does not apply to run {run}: {problem} See where it stands with: report status {run}"),
    }
    template = own.get(error.code) or _(MESSAGES[error.code])
    params = {name: retold(value) if name in SPOKEN else value for name, value in error.params.items()}
    return template.format(**params).rstrip()
