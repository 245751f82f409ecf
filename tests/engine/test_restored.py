"""After a restore (`restored`): what the copy does not know may have happened, so steps look before they act."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from halfway import Absent, Effect, Found, Retry, Run, RunStatus, Step, Then, Workflow
from halfway.domain.lifecycle import RecordStatus
from tests.engine.harness import Calls, Harness, Order, flow, until
from tests.engine.recovery import DAY, PAID, accounts, connection_type, execute, pay, reach, told, work

TABLES = ("halfway_record", "halfway_attempt", "halfway_evidence", "halfway_artifact")


class Copy:
    """The database as it stood when the copy was made: a file put back, or on PostgreSQL the rows that came later taken away."""

    def __init__(self, h: Harness, run: Run[Order]) -> None:
        self.url, self.run = h.url, run
        self.on_file = h.url.startswith("sqlite")
        if self.on_file:
            execute(self.url, "pragma wal_checkpoint(truncate)")
            self.path = Path(self.url.removeprefix("sqlite:///"))
            shutil.copy(self.path, self.path.with_suffix(".copy"))
            return
        columns = "status, revision, seq, started_at, updated_at, ended_at, blocked"
        self.row = execute(self.url, f"select {columns} from halfway_run where id = '{run.id}'")[0]
        self.records = execute(self.url, f"select * from halfway_record where run_id = '{run.id}'")
        self.seq = self.row[2]

    def put_back(self, h: Harness) -> None:
        if self.on_file:
            h.close()
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            shutil.copy(self.path.with_suffix(".copy"), self.path)
            return
        id = self.run.id
        for table in TABLES:
            execute(self.url, f"delete from {table} where run_id = '{id}'")
        execute(self.url, f"delete from halfway_journal where run_id = '{id}' and seq > {self.seq}")
        with psycopg.connect(self.url, autocommit=True) as connection:
            status, revision, seq, started_at, updated_at, ended_at, blocked = self.row
            connection.execute(
                "update halfway_run set status = %s, revision = %s, seq = %s, started_at = %s, updated_at = %s, ended_at = %s, blocked = %s"
                " where id = %s",
                (status, revision, seq, started_at, updated_at, ended_at, blocked, id),
            )
            for record in self.records:
                marks = ", ".join(["%s"] * len(record))
                connection.execute(f"insert into halfway_record values ({marks})".encode(), record)


def restored(harness: type[Harness], wf: Workflow[Order], run: Run[Order], copy: Copy, h: Harness) -> Harness:
    """Another application on what was put back, which has been told."""
    copy.put_back(h)
    again = harness(wf)
    assert again.status(run) is RunStatus.PENDING
    assert again.app.store.runs.restored() == 1
    assert again.journal(run)[-1] == "workflow.restored"
    return again


def creating(calls: Calls, world: set[str]) -> Workflow[Order]:
    wf = flow()

    @wf.step(Effect.CREATE)
    def create(step: Step[Order]) -> str:
        calls.add("CREATE")
        world.add(step.key)
        return "page-1"

    @create.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[str] | Absent:
        calls.add("LOOK")
        return Found("page-1") if step.key in world else Absent()

    wf.create = create  # type: ignore[attr-defined]
    return wf


def test_a_create_begins_with_its_probe_and_has_no_second_effect(harness: type[Harness]) -> None:
    calls, world = Calls(), set[str]()
    wf = creating(calls, world)
    h = harness(wf)
    run = h.start(wf, Order())
    copy = Copy(h, run)
    work(h, run, RunStatus.SUCCESS)
    assert calls.made == [("CREATE", None)]
    again = restored(harness, wf, run, copy, h)
    assert work(again, run, RunStatus.SUCCESS).output(wf.create) == "page-1"  # type: ignore[attr-defined]
    assert calls.made == [("CREATE", None), ("LOOK", None)]


def test_a_create_that_had_not_happened_is_done_once_the_probe_has_said_so(harness: type[Harness]) -> None:
    calls, world = Calls(), set[str]()
    wf = creating(calls, world)
    h = harness(wf)
    run = h.start(wf, Order())
    again = restored(harness, wf, run, Copy(h, run), h)
    with again.worker():
        until(lambda: calls.count("LOOK") >= 1)
        assert calls.count("CREATE") == 0
        again.advance(301)  # an attempt that the copy does not know may still run for as long as its timeout
        reach(again, run, RunStatus.SUCCESS)
    assert calls.count("CREATE") == 1
    assert [name for name, _ in calls.made][-1] == "CREATE"


def test_a_message_without_a_probe_waits_for_a_person(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.NOTIFY, evidence="the mail log", approver="support")
    def tell(step: Step[Order]) -> str:
        calls.add("TELL")
        return "mail-1"

    h = harness(wf)
    run = h.start(wf, Order())
    copy = Copy(h, run)
    work(h, run, RunStatus.SUCCESS)
    again = restored(harness, wf, run, copy, h)
    with again.worker():
        until(lambda: again.record(run, "TELL").status is RecordStatus.UNKNOWN)
        again.advance(301)
        reach(again, run, RunStatus.MANUAL_REQUIRED)
    assert told(again, run, "PERSON_NEEDED") == [("TELL", "RESTORED")]
    again.app.control.mark_success(run.id, "TELL", actor="kim", reason="seen", evidence="the mail log", output='"mail-1"')
    assert again.status(run) is RunStatus.SUCCESS
    assert calls.count("TELL") == 1


def test_steps_that_may_be_repeated_just_run(harness: type[Harness], url: str) -> None:
    """READ, an idempotent step, and a transaction, whose rows are gone together with its checkpoint."""
    calls = Calls()
    accounts(url)
    kind = connection_type(url)
    wf = flow()

    @wf.step(Effect.READ)
    def read(step: Step[Order]) -> None:
        calls.add("READ")

    @wf.step(Effect.CREATE, idempotent=True)
    def create(step: Step[Order]) -> None:
        calls.add("CREATE", step.key)

    @wf.transaction(kind)
    def change(step: Step[Order], db: kind) -> None:  # type: ignore[valid-type]
        calls.add("CHANGE")
        db.execute("update account set version = version + 1")  # type: ignore[attr-defined]

    h = harness(wf)
    run = h.start(wf, Order())
    copy = Copy(h, run)
    work(h, run, RunStatus.SUCCESS)
    if not copy.on_file:
        execute(url, "update account set version = 1")
    again = restored(harness, wf, run, copy, h)
    work(again, run, RunStatus.SUCCESS)
    assert (calls.count("READ"), calls.count("CREATE"), calls.count("CHANGE")) == (2, 2, 2)
    assert len({key for name, key in calls.made if name == "CREATE"}) == 1
    assert execute(url, "select version from account") == [(2,)]
    assert "step.unknown" not in again.journal(run)


@pytest.mark.parametrize("found", [True, False])
def test_a_run_that_begins_after_the_restore_looks_only_where_its_key_may_be_an_older_one(harness: type[Harness], found: bool) -> None:
    calls = Calls()
    world = {"o2"} if found else set[str]()
    wf = flow()

    @wf.step(Effect.CREATE, evidence="the ledger")
    def own(step: Step[Order]) -> None:
        calls.add("OWN")

    @wf.step(Effect.CREATE, effect_key=lambda step: step.input.id, retry=Retry(3, wait=timedelta(0)))
    def shared(step: Step[Order]) -> str:
        calls.add("SHARED")
        return "new"

    @shared.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[str] | Absent:
        calls.add("LOOK")
        return Found("old") if step.key in world else Absent()

    h = harness(wf)
    h.app.store.runs.restored()
    run = h.start(wf, Order(id="o2"))
    with h.worker():
        until(lambda: calls.count("LOOK") >= 1)
        h.advance(301)
        reach(h, run, RunStatus.SUCCESS)
    assert h.get(run).output(shared) == ("old" if found else "new")
    assert (calls.count("OWN"), calls.count("SHARED")) == (1, 0 if found else 1)


def test_what_ended_before_the_copy_stays_as_it_is(harness: type[Harness]) -> None:
    calls, world = Calls(), set[str]()
    wf = creating(calls, world)
    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.SUCCESS)
    assert h.app.store.runs.restored() == 0
    assert work(h, run, RunStatus.SUCCESS).output(wf.create) == "page-1"  # type: ignore[attr-defined]
    assert calls.made == [("CREATE", None)]


def test_a_step_that_stood_behind_a_wait_looks_first_too(harness: type[Harness]) -> None:
    calls, world = Calls(), set[str]()
    wf = flow()

    @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.CREATE)
    def create(step: Step[Order]) -> str:
        calls.add("CREATE")
        world.add(step.key)
        return "made"

    @create.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[str] | Absent:
        return Found("found") if step.key in world else Absent()

    h = harness(wf)
    run = h.start(wf, Order())
    work(h, run, RunStatus.WAITING)
    world.add(f"{run.id}:CREATE")  # it happened after the copy was made
    assert h.app.store.runs.restored() == 1
    pay(h, "o1")
    assert work(h, run, RunStatus.SUCCESS).output(create) == "found"
    assert calls.made == []
