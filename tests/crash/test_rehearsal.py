"""A rolling deploy with live runs in every state: the old release alone, both, the new one alone. Nothing is lost or done twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from halfway import Run, RunStatus
from halfway.domain.lifecycle import FINAL
from halfway.domain.versions import Standing
from halfway.testing import Ledger
from tests.crash import rehearsal_new, rehearsal_old
from tests.crash.processes import Worker
from tests.crash.rehearsal import GO, KINDS, Case, Release, Signal
from tests.engine.harness import Harness, until

OLD, NEW = "tests.crash.rehearsal_old:flows", "tests.crash.rehearsal_new:flows"
STATES = {
    "RUNNING": RunStatus.RUNNING, "EVENT": RunStatus.WAITING, "TIME": RunStatus.WAITING, "APPROVAL": RunStatus.WAITING,
    "CHILDREN": RunStatus.WAITING, "ITEMS": RunStatus.RUNNING, "UNKNOWN": RunStatus.MANUAL_REQUIRED, "MANUAL": RunStatus.MANUAL_REQUIRED,
    "FAILED": RunStatus.FAILED, "UNDO": RunStatus.MANUAL_REQUIRED,
}  # fmt: skip
BY = {"actor": "kim", "reason": "rehearsal"}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


class Rehearsal:
    """The runs by kind, and what makes each of them go on."""

    def __init__(self, h: Harness, ledger: Ledger, old: Release) -> None:
        self.h, self.ledger, self.old = h, ledger, old
        self.control = h.app.control

    def start(self, phase: str, many: int) -> dict[str, list[Run[Any]]]:
        return {
            kind: [self.h.start(self.old.flows[kind], Case(id=f"{phase}-{kind}-{n}")) for n in range(many)] for kind in KINDS
        }  # fmt: skip

    def stand(self, runs: dict[str, list[Run[Any]]]) -> None:
        """Each is in the state that it stands for."""
        for kind, ones in runs.items():
            for run in ones:
                until(lambda: self._stands(kind, run), f"{run} {kind}: {self.h.journal(run)}")  # noqa: B023

    def _stands(self, kind: str, run: Run[Any]) -> bool:
        if self.h.status(run) is not STATES[kind] and not (kind == "CHILDREN" and self.h.status(run) is RunStatus.RUNNING):
            return False
        detail = self.h.app.store.reading.detail(run.id)
        records = {one.record.key.step: one.record.status.value for one in detail.records if one.record.key.kind == "STEP"}
        wanted = {"RUNNING": ("WORK", "RUNNING"), "ITEMS": ("EACH", "WAITING"), "CHILDREN": ("SPREAD", "WAITING")}.get(kind)
        return wanted is None or records.get(wanted[0]) == wanted[1]

    def let_go(self, runs: dict[str, list[Run[Any]]], *, hours: int) -> None:
        """What each of them waits for comes."""
        for kind, ones in runs.items():
            for run in ones:
                getattr(self, f"_{kind.lower()}")(run)
        self.h.advance(3600 * hours)

    def _go(self, run: Run[Any]) -> None:
        self.ledger.write("GO", run=run.input.id)

    _running = _items = _go

    def _send(self, key: str) -> None:
        self.h.app.send(GO, Signal(), key=key, id=f"go {key}")

    def _event(self, run: Run[Any]) -> None:
        self._send(run.input.id)

    def _children(self, run: Run[Any]) -> None:
        for n in range(2):
            self._send(f"{run.input.id}-{n}")

    def _time(self, run: Run[Any]) -> None:
        """The clock is moved for all of them."""

    def _approval(self, run: Run[Any]) -> None:
        self.control.approve(run.id, "AGREE", **BY)

    def _unknown(self, run: Run[Any]) -> None:
        self.control.mark_success(run.id, "PAY", evidence="it is in the ledger", output='"paid"', **BY)

    def _manual(self, run: Run[Any]) -> None:
        self._go(run)
        self.control.retry(run.id, "LOOK", **BY)

    def _failed(self, run: Run[Any]) -> None:
        self._go(run)
        self.control.resume(run.id, **BY)

    def _undo(self, run: Run[Any]) -> None:
        self.control.approve(run.id, "PREPARE", **BY)

    def epochs(self, run: Run[Any], step: str = "FINISH") -> set[str]:
        return {attempt.epoch for attempt in self.h.attempts(run, step)}

    def ends(self, runs: dict[str, list[Run[Any]]]) -> None:
        for kind, ones in runs.items():
            wanted = RunStatus.COMPENSATED if kind == "UNDO" else RunStatus.SUCCESS
            for run in ones:
                until(lambda: self.h.status(run) is wanted, f"{run} {kind}: {self.h.journal(run)}")  # noqa: B023

    def once(self, runs: dict[str, list[Run[Any]]], release: int) -> None:
        """The ledger of the world: every effect once, by the release whose run it is."""
        for kind, ones in runs.items():
            for run in ones:
                done = {event: self.ledger.count(event=event, run=run.input.id) for event in ("PREPARE", "FINISH", "TELL", "UNDONE")}
                undone = kind == "UNDO"
                assert done == {
                    "PREPARE": 1,
                    "FINISH": 0 if undone else 1,
                    "TELL": 0 if undone or release == 1 else 1,
                    "UNDONE": int(undone),
                }
                assert self.ledger.count(event="FINISH", run=run.input.id, release=3 - release) == 0
                assert self.ledger.count(event="PAY", run=run.input.id) == (1 if kind == "UNKNOWN" else 0)
                items = [line["item"] for line in self.ledger.lines() if line["event"] == "ITEM" and line["run"] == run.input.id]
                assert sorted(map(str, items)) == (["i0", "i1", "i2"] if kind == "ITEMS" else [])


def test_a_rolling_deploy_loses_nothing_and_does_nothing_twice(harness: type[Harness], url: str, ledger: Ledger, whole: bool) -> None:
    """Every state, on both databases; the old release is stopped while it works, and killed where everything is tried."""
    many = 4 if whole else 1
    old, new = rehearsal_old.release(ledger), rehearsal_new.release(ledger)
    h = harness(*old.workflows)
    then = harness(*new.workflows)
    r = Rehearsal(h, ledger, old)
    with Worker(OLD, url, ledger.path, threads=100, slots=100) as before:
        early, late = r.start("early", many), r.start("late", many)
        r.stand(early)
        r.stand(late)
        with Worker(NEW, url, ledger.path, threads=100, slots=100) as after:
            fresh = [then.start(new.flows["EVENT"], Case(id="fresh"))]
            then.app.send(GO, Signal(), key="fresh", id="fresh")
            r.let_go(early, hours=2)
            r.ends(early)
            until(lambda: then.status(fresh[0]) is RunStatus.SUCCESS)
            for kind, ones in early.items():
                assert all(r.epochs(run) <= {before.epoch} for run in ones), kind  # nobody takes what it does not know
            assert r.epochs(fresh[0]) == {after.epoch}
            if whole:
                before.kill()
            else:
                before.terminate()
                before.wait()
            alone(r, then, late, after.epoch)
    r.once(early, 1)
    r.once(late, 2)
    everything = [run for runs in (early, late) for ones in runs.values() for run in ones]
    assert all(h.status(run) in FINAL for run in everything)


def alone(r: Rehearsal, then: Harness, late: dict[str, list[Run[Any]]], epoch: str) -> None:
    """Only the new release is there: runs go on as far as its code is theirs, and stand until somebody moves them."""
    live = {run: group for group in then.app.control.impact() for run in group.runs}
    for kind, ones in late.items():
        wanted = Standing.COMPATIBLE if kind == "UNDO" else Standing.MOVE
        assert [live[run.id].affected.standing for run in ones] == [wanted] * len(ones), kind
    r.let_go(late, hours=12)
    for kind, ones in late.items():
        for run in ones:
            if kind != "UNDO":
                until(lambda: stands_at_finish(r, run), f"{run} {kind}: {r.h.journal(run)}")  # noqa: B023
                assert not r.h.attempts(run, "FINISH")
                then.app.control.move(run.id, actor="kim", reason="the new release")
                if kind == "APPROVAL":  # what follows is another thing than what was approved
                    until(lambda: r.h.record(run, "AGREE").status == "WAITING", f"{run} asks again")  # noqa: B023
                    then.app.control.approve(run.id, "AGREE", **BY)
    r.ends(late)
    for kind, ones in late.items():
        assert all(r.epochs(run) <= {epoch} for run in ones), kind


def stands_at_finish(r: Rehearsal, run: Run[Any]) -> bool:
    record = r.h.record(run, "FINISH")
    return record is not None and record.status == "PENDING" and record.ready_at is not None


def test_both_releases_are_what_they_say(ledger: Ledger) -> None:
    """Of every workflow only FINISH differs, and what follows it."""
    old, new = rehearsal_old.release(ledger), rehearsal_new.release(ledger)
    for kind in KINDS:
        former, now = old.flows[kind].spec, new.flows[kind].spec
        assert {step.name for step in former.steps if step.code != now.by_name[step.name].code} == {"FINISH"}
