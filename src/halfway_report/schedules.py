"""What starts reports by itself: one schedule of halfway for each project that asks for it."""

from __future__ import annotations

from datetime import datetime

from halfway import Workflow
from halfway_report.days import named_day
from halfway_report.models import Day
from halfway_report.settings import ProjectSettings, ReportSettings, ScheduleSettings


def schedule_name(project: str) -> str:
    """What the schedule of a project is called; a project has no underscore in its name, so no two are called alike."""
    return project.upper().replace("-", "_")


def add_schedules(workflow: Workflow[Day], settings: ReportSettings) -> None:
    """Declares a schedule for each project that has one, in the zone of the project."""
    for project, schedule in settings.schedules.items():
        _declare(workflow, project, schedule, settings.projects[project])


def _declare(workflow: Workflow[Day], project: str, schedule: ScheduleSettings, settings: ProjectSettings) -> None:
    @workflow.schedule(schedule.cron, tz=settings.zone, name=schedule_name(project), catch_up=schedule.catch_up)
    def report(due: datetime) -> Day:
        return Day(project=project, date=named_day(schedule.date, due, settings.calendar))
