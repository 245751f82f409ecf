"""Reports that start by themselves: about the right day, in the zone of the project, once."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from halfway_report import reading
from halfway_report.days import DayName, days_between, named_day
from halfway_report.schedules import schedule_name
from halfway_report.settings import ProjectSettings, ReportSettings, ScheduleSettings
from halfway_report.workflow import NAME, daily_report
from tests.engine.harness import Harness, until
from tests.report.conftest import Scratch

A_DAY = 24 * 3600


def test_a_schedule_makes_one_report_about_the_day_before(tmp_path: Path, repo: Scratch) -> None:
    settings = ReportSettings(
        projects={"shop-api": ProjectSettings(repositories=(repo.path,), zone="Asia/Seoul")},
        out=tmp_path / "reports",
        schedules={"shop-api": ScheduleSettings(cron="0 9 * * *", date="yesterday")},
    )
    repo.commit("Rotate the tokens", "2026-09-30T09:00:00+00:00")
    report = daily_report(settings)
    h = Harness(f"sqlite:///{tmp_path / 'runs.sqlite3'}", report.workflow)
    try:
        assert h.app.control.schedules.list()[0].row.name == "SHOP_API"
        h.advance(A_DAY)
        with h.worker():
            until(lambda: [row.status for row in reading.runs(h.app, NAME, 10)] == ["SUCCESS"])
        (tick,) = h.app.control.schedules.show(NAME, "SHOP_API").ticks
        due = datetime.fromtimestamp(tick.due / 1_000_000, UTC).astimezone(ZoneInfo("Asia/Seoul"))
        (row,) = reading.runs(h.app, NAME, 10)
        assert (due.hour, row.key) == (9, f"daily-report:shop-api:{due.date() - timedelta(days=1)}")
    finally:
        h.close()


def test_no_two_projects_have_a_schedule_of_one_name() -> None:
    assert schedule_name("shop-api") != schedule_name("shopapi")


@pytest.mark.parametrize(
    ("name", "moment", "day"),
    [
        ("today", "2026-10-05T00:00:00+09:00", date(2026, 10, 5)),
        ("yesterday", "2026-10-01T00:00:00+09:00", date(2026, 9, 30)),
        ("last-working-day", "2026-10-05T09:00:00+09:00", date(2026, 10, 2)),  # from a Monday
        ("last-working-day", "2026-10-04T09:00:00+09:00", date(2026, 10, 2)),  # from a Sunday
        ("last-working-day", "2026-10-06T09:00:00+09:00", date(2026, 10, 5)),
    ],
)
def test_case_6_the_name_of_a_day_is_read_in_the_zone_of_its_moment(name: DayName, moment: str, day: date) -> None:
    assert named_day(name, datetime.fromisoformat(moment)) == day


def test_days_between_hold_both_ends() -> None:
    assert days_between(date(2026, 9, 30), date(2026, 10, 2)) == (date(2026, 9, 30), date(2026, 10, 1), date(2026, 10, 2))
