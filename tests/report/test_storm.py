"""Case 24: a worker of the report is killed at every commit and between all that it does outside, and at any time.

Whatever was killed, a day ends with one page and one file, and the model is asked again only for what was under way.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from halfway import RunStatus
from halfway_report import reading
from tests.crash.matrix import AT_ONCE, Nursery
from tests.crash.worlds import SqliteWorlds, World, Worlds, worlds
from tests.report.conftest import Scratch
from tests.report.lives import HASTY, OUTSIDE
from tests.report.storm import ENVIRONMENT, Stage, as_it_happened, one_page

COMMITS = 2
ROUNDS = 50
ON_POSTGRES = 6  # of the rounds
LATE, LAG, SETTLE = 0.7, 1.0, 2.0  # seconds
POSTED = "server.create.served:1"  # the page is there, and nobody has heard of it

SOME = ("server.chat.midway:2", "model.ask.after:2", "file.write.after:1", "file.name.after:1", "server.create.arrived:1")
OF_A_RECOVERY = ("server.query.arrived:1", "server.query.served:2")
ONLY_LOOKING = {"notion.me.before", "notion.me.after"}  # at a page that is there
AROUND_THE_PAGE = ("notion.create.before:1", "server.create.arrived:1", POSTED, "notion.create.after:1")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery("tests.report.lives", **ENVIRONMENT)
    yield made
    made.close()


@pytest.fixture
def day(repo: Scratch) -> Scratch:
    """A repository with the work of a day."""
    for number in range(COMMITS):
        repo.commit(f"Change number {number}", f"2026-09-30T09:{number:02}:00+00:00")
    return repo


@pytest.fixture
def shas(day: Scratch) -> list[str]:
    return day.git("log", "--format=%H", "--reverse").split()


@pytest.fixture
def places(tmp_path: Path) -> Worlds:
    return SqliteWorlds(tmp_path / "worlds")


@pytest.fixture
def on_postgres(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Worlds]:
    databases = request.getfixturevalue("postgres_databases")
    yield from worlds("postgres", tmp_path / "servers", databases.server, databases.template)


Build = Callable[..., Stage]


@pytest.fixture
def build(nursery: Nursery, day: Scratch, monkeypatch: pytest.MonkeyPatch) -> Build:
    for module, name, waits in HASTY:
        monkeypatch.setattr(module, name, waits)
    return lambda world, **given: Stage(nursery, day, world, **given)


def in_pairs(tries: dict[str, Callable[[], object]]) -> None:
    """Each is tried, a few at once, and all that went wrong is told."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = {name: pool.submit(act) for name, act in tries.items()}
    problems = [f"{name}: {error!r}" for name, one in done.items() if (error := one.exception())]
    assert not problems, "\n".join(problems)


def kill(build: Build, world: World, *points: str, must: bool = True) -> bool:
    """Lives that end at these points, one after the other, and one that ends well; whether the last point was reached."""
    with build(world) as stage:
        reached = [stage.live(point) is None for point in points]
        assert all(reached) or not must, f"nothing has come by {points}"
        if reached[-1]:
            assert stage.live() is not None
        as_it_happened(stage, COMMITS)
    return reached[-1]


def undisturbed(build: Build, world: World, *deaths: str) -> list[str]:
    """The points of a life that nothing happens to."""
    with build(world) as stage:
        for death in deaths:
            assert stage.live(death) is None
        points = stage.live()
        assert points is not None
        as_it_happened(stage, COMMITS)
        return points


def kill_everywhere(build: Build, places: Worlds, *deaths: str) -> set[str]:
    """How commits are shared may differ from life to life, so a late one may not be reached; what is done outside always is."""
    points = undisturbed(build, places.fresh(), *deaths)
    in_pairs({
        point: partial(kill, build, places.fresh(), *deaths, point, must="_commit:" not in point and "sweep." not in point)
        for point in points
    })  # fmt: skip
    return {point.partition(":")[0] for point in points}


def test_a_worker_that_is_killed_leaves_one_page_one_file_and_no_generation_too_many(build: Build, places: Worlds) -> None:
    once = {point: partial(kill, build, places.fresh(), point) for point in SOME}
    twice = {f"{POSTED}, {point}": partial(kill, build, places.fresh(), POSTED, point) for point in OF_A_RECOVERY}
    in_pairs(once | twice)


@pytest.mark.full_matrix
@pytest.mark.timeout(1200)
def test_at_every_point_of_a_life(build: Build, places: Worlds) -> None:
    names = kill_everywhere(build, places)
    assert {f"{label}.{side}" for _, _, label in OUTSIDE for side in ("before", "after")} - ONLY_LOOKING <= names
    assert {f"server.{call}.{side}" for call in ("source", "query", "create") for side in ("arrived", "served")} <= names


@pytest.mark.full_matrix
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("death", [POSTED, "server.create.arrived:1", "model.ask.after:2"])
def test_at_every_point_of_the_life_that_follows_a_death(build: Build, places: Worlds, death: str) -> None:
    names = kill_everywhere(build, places, death)
    assert {f"{name}.{side}_commit" for name in ("declare_dead", "sweep") for side in ("before", "after")} <= names
    assert death != POSTED or names >= ONLY_LOOKING


# ── at any time ──


def weather(build: Build, world: World, seed: int, life: float, **given: Any) -> None:
    """Up to three lives end at any time, and one ends well."""
    chance = random.Random(seed)
    with build(world, **given) as stage:
        for _ in range(chance.randint(1, 3)):
            if stage.exhausted or stage.live(seconds=chance.uniform(0, life)) is not None:
                break
        assert stage.live() is not None
        as_it_happened(stage, 2 if given else COMMITS)


def storm(build: Build, places: Worlds, seeds: Iterable[int], shas: list[str]) -> None:
    """In every other round the model writes all of the report, and a bad one first."""
    began = time.monotonic()
    undisturbed(build, places.fresh())
    life = time.monotonic() - began
    given: dict[int, dict[str, Any]] = {seed: {"shas": shas} if seed % 2 else {} for seed in seeds}
    in_pairs({f"round {seed}": partial(weather, build, places.fresh(), seed, life, **given[seed]) for seed in given})


@pytest.mark.full_matrix
@pytest.mark.timeout(1200)
def test_at_any_time(build: Build, places: Worlds, shas: list[str]) -> None:
    storm(build, places, range(ROUNDS - ON_POSTGRES), shas)


@pytest.mark.full_matrix
@pytest.mark.timeout(600)
def test_at_any_time_on_postgresql(build: Build, on_postgres: Worlds, shas: list[str]) -> None:
    storm(build, on_postgres, range(ROUNDS - ON_POSTGRES, ROUNDS), shas)


# ── a slow Notion ──


def slowly(build: Build, world: World, deaths: tuple[str, ...], late: float) -> None:
    """The request is held back, and what it made is shown later still; a probe that looks too early proves nothing."""
    with build(world, settle=timedelta(seconds=SETTLE)) as stage:
        stage.pages.late, stage.pages.lag = late, timedelta(seconds=LAG)
        for death in deaths:
            assert stage.live(death) is None
        assert stage.live() is not None
        as_it_happened(stage, COMMITS)


@pytest.mark.full_matrix
@pytest.mark.timeout(300)
def test_a_page_that_comes_late_and_is_shown_later_is_not_made_twice(build: Build, places: Worlds) -> None:
    rounds = [(LATE, ("server.create.arrived:1",)), (0.0, (POSTED,)), (0.0, ("notion.create.before:1",)), (0.0, ("notion.create.after:1",))]
    rounds += [(late, (*deaths, point)) for late, deaths in rounds[:2] for point in ("server.query.served:2", "sweep.after_commit:1")]
    in_pairs({f"{late} s, {deaths}": partial(slowly, build, places.fresh(), deaths, late) for late, deaths in rounds})


# ── people ──


def with_a_person(build: Build, world: World, death: str) -> None:
    with build(world) as stage:
        stage.pages.columns = {"Name": "title"}
        assert stage.live(death) is None
        assert stage.live() is not None
        if stage.deaths[0].doubted:
            assert stage.status is RunStatus.MANUAL_REQUIRED
            stage.answer()
            assert stage.live() is not None
        as_it_happened(stage, COMMITS, orders=int(stage.deaths[0].doubted))


@pytest.mark.full_matrix
@pytest.mark.timeout(300)
def test_where_a_page_has_no_identity_a_person_is_asked_once_at_most(build: Build, places: Worlds) -> None:
    in_pairs({point: partial(with_a_person, build, places.fresh(), point) for point in (*AROUND_THE_PAGE, *SOME)})


# ── a damaged disk ──


def damaged(build: Build, world: World, step: str, name: str, death: str) -> None:
    with build(world) as stage:
        assert stage.live(death) is None
        stage.damage(step, name)
        assert stage.live() is not None
        assert stage.status is RunStatus.MANUAL_REQUIRED
        with stage.looking() as looking:
            codes = {one.name: one.error_code for one in reading.show(looking.h.app, looking.run.id).steps if one.error_code}
        assert "ARTIFACT_DAMAGED" in codes.values(), codes
        assert (stage.notion.ledger.pages, list(stage.world.folder.glob("reports/shop/*.tmp"))) == ((), [])
        stage.resume()
        assert stage.live() is not None
        with stage.looking() as looking:
            journal = looking.h.journal(looking.run)
            assert looking.run.status is RunStatus.SUCCESS, (codes, journal)
            assert journal.index("step.check_failed") < len(journal) - 1 - journal[::-1].index("step.started")
            one_page(stage, looking)


DAMAGES = [
    ("BUILD_CONTEXT", "context.json", "model.fetch.before:1"),
    ("GENERATE_REPORT", "report-1.md", "file.write.before:1"),
    ("GENERATE_REPORT", "report-1.md", "notion.columns.before:1"),
]


@pytest.mark.full_matrix
@pytest.mark.parametrize(("step", "name", "death"), DAMAGES)
def test_one_bit_that_is_wrong_on_the_disk_is_noticed(build: Build, places: Worlds, step: str, name: str, death: str) -> None:
    damaged(build, places.fresh(), step, name, death)
