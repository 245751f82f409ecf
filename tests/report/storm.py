"""The world in which workers of the report are killed: servers that survive them, and what must be true there in the end."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, Self

from halfway import Run, RunStatus
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.run import Kind
from halfway_report import reading
from halfway_report.files import place
from halfway_report.models import Day, content_hash
from halfway_report.settings import LlmSettings, NotionSettings, ProjectSettings, ReportSettings
from halfway_report.standin import TOKEN, Standin
from halfway_report.standin_ledger import DATA_SOURCE, LedgerPage
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_pages import Asked as AskedNotion
from halfway_report.standin_pages import Pages
from halfway_report.standin_voices import Asked, Script
from halfway_report.workflow import daily_report
from tests.crash.matrix import Nursery, undisturbed, whole_where_it_stands
from tests.crash.program import QUIET
from tests.crash.worlds import World
from tests.engine.harness import Harness, until
from tests.faults.checks import all_is_well
from tests.report.conftest import Scratch
from tests.report.lives import DAY
from tests.report.test_generating import about, good

GENERATE, VALIDATE, UPLOAD = "GENERATE_REPORT", "VALIDATE_REPORT", "UPLOAD_NOTION"
ENVIRONMENT = {"NOTION_TOKEN": TOKEN, "NO_PROXY": "127.0.0.1"}
DEATHS = 2  # of one step; after the third the engine asks a person
LONG_AGO = (1, 1)


class Death(NamedTuple):
    """How the run stood when its worker was dead."""

    generating: str  # the worker whose attempt of GENERATE_REPORT has no end
    accepted: bool
    doubted: bool  # the upload had begun its effect
    deaths: int  # of the step that has died most often, this time included
    chats: int


@dataclass
class Guard:
    """Kills the worker of a world when something has reached one of its servers for the n-th time, or only counts that."""

    folder: Path
    at: str = ""
    seen: list[str] = field(default_factory=list[str])
    _one: threading.Lock = field(default_factory=threading.Lock)

    def reached(self, name: str) -> None:
        with self._one:
            self.seen.append(name)
            if f"{name}:{self.seen.count(name)}" == self.at:
                self.at = ""
                os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)

    def expect(self, at: str) -> None:
        self.at = at
        self.seen.clear()


class Watched(Pages):
    """Pages whose requests are noticed when they arrive and when they are served, one after the other.

    late: seconds for which a request for a page is held back after it has arrived.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard, self._turn = guard, threading.Lock()
        self.late = 0.0

    def serve(self, asked: AskedNotion) -> Mapping[str, object]:
        if asked.call == "create" and self.late:
            self._guard.reached("server.create.arrived")
            threading.Event().wait(self.late)
            return super().serve(asked)
        with self._turn:  # what comes later finds what came earlier
            self._guard.reached(f"server.{asked.call}.arrived")
            answer = super().serve(asked)
            self._guard.reached(f"server.{asked.call}.served")
            return answer


class Teller(Script):
    """A model that is noticed when it is asked and in the middle of its answer."""

    def __init__(self, guard: Guard, answer: Callable[[Asked], str]) -> None:
        super().__init__(answer)
        self._guard = guard

    def speak(self, asked: Asked, /) -> Iterator[tuple[str, str | None]]:
        self._guard.reached("server.chat.arrived")
        for number, piece in enumerate(super().speak(asked)):
            if number == 3:
                self._guard.reached("server.chat.midway")
            yield piece


def mended(shas: list[str]) -> Callable[[Asked], str]:
    """A model that writes a report only when it was told what was wrong with its first one."""
    return lambda asked: good(*shas) if "MISSING_HEADING" in asked.text else "# Daily report\n\nNothing."


class Stage:
    """One day, one database, and the two servers of the outside world.

    shas: the model writes all of the report about these commits, a bad one first; without them it writes a sentence about each.
    """

    def __init__(
        self, nursery: Nursery, repo: Scratch, world: World, *, shas: list[str] | None = None, settle: timedelta = timedelta(0)
    ) -> None:
        self.nursery, self.world = nursery, world
        self.guard = Guard(world.folder)
        self.notion, self.ollama = Standin(), StandinOllama(Teller(self.guard, mended(shas) if shas else about))
        self.pages = Watched(self.guard)
        self.notion.pages = self.pages
        self.settle = settle
        self.settings = ReportSettings(
            projects={"shop": ProjectSettings(repositories=(repo.path,))},
            out=world.folder / "reports",
            llm=LlmSettings(base_url=self.ollama.url, model="tiny", mode="whole" if shas else "map"),
            notion=NotionSettings(data_source_id=DATA_SOURCE, url=self.notion.url, settle=settle),
        )
        self.deaths: list[Death] = []

    def __enter__(self) -> Self:
        self.notion.__enter__()
        self.ollama.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.ollama.__exit__(None, None, None)
        self.notion.__exit__(None, None, None)

    # ── lives ──

    def live(self, at: str = "", *, seconds: float | None = None) -> list[str] | None:
        """One life of a worker: the points that it came by, or None if it was killed at one of them, or after so many seconds."""
        here = at.startswith("server.")
        self.guard.expect(at if here else "")
        request = [self.settings.model_dump_json(), self.world.url, str(self.world.folder), "" if here else at]
        told = self.nursery.ask(request, seconds=seconds)
        if told is None:
            if self.settle == timedelta(0):
                self._quiet()
            self._died()
            return None
        return undisturbed(told | {"points": told["points"] + self.guard.seen}).points

    def _quiet(self) -> None:
        """Nothing that a dead worker has sent is still on its way; without a time to settle nothing may be."""
        until(lambda: not {self.notion.port, self.ollama.port} & connected(), "the connections of the dead are closed")

    def _died(self) -> None:
        with self.looking() as looking:
            whole_where_it_stands(looking.h)
            everything = looking.h.app.store.reading.detail(looking.run.id).records
            records = {one.record.key.step: one for one in everything if one.record.key.kind is Kind.STEP}

            def running(step: str) -> bool:
                return step in records and records[step].record.status is RecordStatus.RUNNING

            last = records[UPLOAD].attempts[-1] if running(UPLOAD) else None
            self.deaths.append(
                Death(
                    generating=records[GENERATE].attempts[-1].epoch if running(GENERATE) else "",
                    accepted=VALIDATE in records and records[VALIDATE].record.status is RecordStatus.SUCCESS,
                    doubted=last is not None and last.mark_at is not None,
                    deaths=max([one.record.lost + (one.record.status is RecordStatus.RUNNING) for one in everything], default=0),
                    chats=len(self.ollama.chats),
                )
            )

    @property
    def exhausted(self) -> bool:
        """Whether one more death of the same step would be one too many for the engine."""
        return any(death.deaths >= DEATHS for death in self.deaths)

    # ── people ──

    def answer(self) -> None:
        """A person looks for the page at Notion, and tells what there is."""
        with self.looking() as looking:
            said = {"actor": "kim", "reason": "the answer was lost"}
            pages = self.notion.ledger.pages
            if pages:
                output = json.dumps({"id": self.page.id, "url": f"https://www.notion.so/{self.page.id}"})
                looking.h.app.control.mark_success(looking.run.id, UPLOAD, output=output, evidence="the page is there", **said)
            else:
                looking.h.app.control.retry(looking.run.id, UPLOAD, not_happened=True, evidence="no page", **said)

    def resume(self) -> None:
        with self.looking() as looking:
            reading.resume(looking.h.app, looking.run.id, actor="kim", reason="the cause is removed")

    def damage(self, step: str, name: str) -> None:
        """One bit of what a step has stored is another one now."""
        with self.looking() as looking:
            (sha256,) = {one.sha256 for one in reading.show(looking.h.app, looking.run.id).step(step).artifacts if one.name == name}
        path = self.world.folder / "artifacts" / sha256[:2] / sha256
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.chmod(0o600)
        path.write_bytes(content)

    # ── what there is ──

    @property
    def status(self) -> RunStatus:
        with self.looking() as looking:
            return looking.h.status(looking.run)

    def looking(self) -> Looking:
        return Looking(self)

    @property
    def folder(self) -> Path:
        return self.settings.out / "shop"

    @property
    def page(self) -> LedgerPage:
        (page,) = self.notion.ledger.pages
        return page


class Looking:
    """The database of a stage, with nobody at work."""

    def __init__(self, stage: Stage) -> None:
        self.report = daily_report(stage.settings)
        self.h = Harness(stage.world.url, self.report.workflow, settings=QUIET, artifacts=str(stage.world.folder / "artifacts"))
        self.run: Run[Day] = self.h.start(self.report.workflow, DAY)

    def __enter__(self) -> Looking:
        return self

    def __exit__(self, *_: object) -> None:
        self.h.close()


def connected() -> set[int]:
    """The local ports with a connection that its server has not closed."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] in ("01", "08")}


# ── the contract ──


def as_it_happened(stage: Stage, chats: int, *, orders: int = 0) -> None:
    """One page, one file, no generation too many; what the database tells is what happened. chats: of a life without a death."""
    with stage.looking() as looking:
        h, run = looking.h, looking.run
        journal = h.journal(run)
        assert run.status is RunStatus.SUCCESS, journal
        one_file(stage, looking)
        one_page(stage, looking)
        asked = len(stage.ollama.chats)
        assert chats <= asked <= chats + len({death.generating for death in stage.deaths} - {""}), f"{asked} generations, {stage.deaths}"
        assert all(asked == death.chats for death in stage.deaths if death.accepted), f"{asked} generations, {stage.deaths}"
        assert ("step.unknown" in journal) == any(death.doubted for death in stage.deaths), journal
        assert ("step.person_needed" in journal) == bool(orders), journal
        assert all(step.attempts <= 1 + len(stage.deaths) for step in reading.show(h.app, run.id).steps)
        all_is_well(h, run, orders=orders)


def one_file(stage: Stage, looking: Looking) -> None:
    """The report is there under its name; what the dead have left beside it goes with the next save."""
    report = looking.run.output(looking.report.validate_report)
    (file,) = [path for path in stage.folder.iterdir() if not path.name.startswith(".")]
    assert (file.name, content_hash(file.read_bytes())) == (f"{DAY.date}.md", report.sha256)
    left = [path for path in stage.folder.iterdir() if path != file]
    assert len(left) <= len(stage.deaths)
    for path in left:
        os.utime(path, LONG_AGO)
    following = place(stage.settings.out, Path("shop") / f"{DAY.date + timedelta(days=1)}.md", b"the next day")
    assert sorted(stage.folder.iterdir()) == [file, following]
    following.unlink()


def one_page(stage: Stage, looking: Looking) -> None:
    run, report, page = looking.run, looking.report, stage.page
    assert report.upload_notion is not None
    assert (run.output(report.upload_notion).id, stage.notion.ledger.posts()) == (page.id, 1)
    sha256 = run.output(report.validate_report).sha256
    if "ExternalId" in stage.pages.columns:
        assert page.properties == {"ExternalId": DAY.key, "ContentHash": sha256, "RunId": run.id}
    assert content_hash(page.markdown.encode()) == sha256
