"""The races that decide whether an effect is doubled or lost, forced by barriers on both databases."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import psycopg
import pytest

from halfway import Absent, Effect, Found, Mark, Retry, RunStatus, Step
from halfway.domain.lifecycle import RecordStatus
from halfway.errors import DatabaseError
from halfway.testing import FailAt, HoldAt
from tests.engine.harness import Calls, Harness, Order, flow, until

SOON = Retry(3, wait=timedelta(milliseconds=10))


def lost_connection() -> DatabaseError:
    return DatabaseError("DATABASE_UNREACHABLE", url="test", problem="the connection broke.")


def test_a_sweep_that_meets_the_commit_of_a_chain_loses_and_doubles_nothing(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ)
    def first(step: Step[Order]) -> None:
        calls.add("FIRST")

    @wf.step(Effect.CREATE, evidence="the ledger")
    def second(step: Step[Order]) -> str:
        calls.add("SECOND")
        return "made"

    hold = HoldAt("pump.before_commit")
    held, other = harness(wf, points=hold), harness(wf)
    run = held.start(wf, Order())
    assert other.status(run) is RunStatus.PENDING  # opens the other's store: the held transaction would keep it waiting
    worker = held.app.worker(slots=2)
    worker.start()
    hold.wait()  # the commit that claims FIRST is about to happen
    [epoch] = [one for one in other.app.store.lives.epochs() if one.id == worker.epoch]
    verdict: list[object] = []

    def judge() -> None:
        try:
            verdict.append(other.app.store.lives.declare_dead(epoch))
        except DatabaseError as busy:
            verdict.append(busy)

    judging = threading.Thread(target=judge)
    judging.start()
    hold.release()
    judging.join(30)
    with other.worker():
        until(lambda: other.status(run) is RunStatus.SUCCESS, "the late answer of the worker that was declared dead settles the run")
    worker.stop()
    assert calls.count("SECOND") == 1


def test_the_last_two_branches_on_two_workers_start_the_join_once(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()
    together = threading.Barrier(2)

    @wf.step(Effect.READ, after=[])
    def left(step: Step[Order]) -> int:
        together.wait(20)
        return 1

    @wf.step(Effect.READ, after=[])
    def right(step: Step[Order]) -> int:
        together.wait(20)
        return 2

    @wf.step(Effect.READ, after=[left, right])
    def join(step: Step[Order]) -> int:
        calls.add("JOIN")
        return step.output(left) + step.output(right)

    one, two = harness(wf), harness(wf)
    with one.worker(slots=1), two.worker(slots=1):
        for n in range(15):
            run = one.start(wf, Order(id=str(n)))
            ended = one.app.result(run, timeout=timedelta(seconds=30))
            assert ended.output(join) == 3
    assert calls.count("JOIN") == 15


@pytest.mark.parametrize("point", ["pump.before_commit", "pump.after_commit"])
@pytest.mark.parametrize("times", [1, 4])
def test_an_ambiguous_commit_is_resolved_by_the_guards(harness: type[Harness], point: str, times: int) -> None:
    """Before: it did not happen; after: it did, and only the answer is lost. The pump cannot tell, and need not."""
    calls = Calls()
    wf = flow()

    @wf.step(Effect.READ, retry=SOON)
    def read(step: Step[Order]) -> int:
        return calls.add("READ")

    @wf.step(Effect.CREATE, retry=SOON, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> int:
        with mark:
            return calls.add("CREATE")

    @wf.step(Effect.NOTIFY, retry=SOON, idempotent=True)
    def tell(step: Step[Order]) -> int:
        return calls.add("TELL")

    for skipped in range(6):
        h = harness(wf, points=Skipping(point, skipped, times))
        run = h.run(wf, Order(id=f"{point}-{times}-{skipped}"))
        assert run.status is RunStatus.SUCCESS, h.journal(run)
        assert calls.count("CREATE") == skipped + 1, "a mark that is not confirmed begins nothing, a call that was made is not made again"


class Skipping(FailAt):
    """Lets the first passes through, then breaks the connection."""

    def __init__(self, point: str, skip: int, times: int) -> None:
        super().__init__(point, lost_connection(), times)
        self.skip = skip
        self.point = point

    def reached(self, name: str) -> None:
        if name == self.point and self.skip > 0:
            self.skip -= 1
            return
        super().reached(name)


def test_a_commit_that_lands_after_it_was_given_up_is_recognised(postgres_url: str) -> None:
    """COMMIT waits for a standby, its connection is cut: the client knows nothing, the server has committed."""
    calls = Calls()
    wf = flow()

    inside, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.READ, retry=SOON)
    def read(step: Step[Order]) -> int:
        inside.set()
        go_on.wait(20)
        return calls.add("READ")

    @wf.step(Effect.CREATE, retry=SOON, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> int:
        with mark:
            return calls.add("CREATE")

    h = Harness(postgres_url, wf)
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("set synchronous_commit = local")
        name = admin.info.dbname
        run = h.start(wf, Order())
        try:
            with h.worker():
                assert inside.wait(20)
                admin.execute("alter system set synchronous_standby_names = 'nobody'")
                admin.execute("select pg_reload_conf()")
                go_on.set()
                cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = %s and wait_event = 'SyncRep'"
                until(lambda: (admin.execute(cut, [name]).fetchone() or [0])[0] > 0, "a commit waits for its standby")
                admin.execute("alter system reset synchronous_standby_names")
                admin.execute("select pg_reload_conf()")
                ended = h.app.result(run, timeout=timedelta(seconds=30))
        finally:
            admin.execute("alter system reset synchronous_standby_names")
            admin.execute("select pg_reload_conf()")
    assert ended.status is RunStatus.SUCCESS
    assert calls.count("CREATE") == 1
    h.close()


def test_an_outage_longer_than_the_lease_kills_nobody(postgres_server: str, postgres_url: str) -> None:
    calls = Calls()
    wf = flow()
    inside, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> int:
        with mark:
            inside.set()
            go_on.wait(20)
            return calls.add("CREATE")

    h, other = Harness(postgres_url, wf), Harness(postgres_url, wf)
    with psycopg.connect(postgres_url) as own:
        name = own.info.dbname
    with psycopg.connect(postgres_server, autocommit=True) as admin, h.worker(slots=1) as worker, other.worker(slots=1) as observer:
        run = h.start(wf, Order())
        assert inside.wait(20)
        try:
            admin.execute(f'alter database "{name}" allow_connections false')  # type: ignore[arg-type]
            admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])
            go_on.set()  # the answer comes while the database is away
            gone = time.monotonic() + 2 * h.app.settings.lease
            until(lambda: time.monotonic() > gone, "the outage has lasted longer than a lease")
        finally:
            admin.execute(f'alter database "{name}" allow_connections true')  # type: ignore[arg-type]
        ended = h.app.result(run, timeout=timedelta(seconds=30))
        assert worker.alive
        assert observer.alive
    assert ended.status is RunStatus.SUCCESS
    assert calls.count("CREATE") == 1
    assert "step.unknown" not in h.journal(run)
    h.close()
    other.close()


def test_a_held_write_lock_delays_and_loses_nothing(sqlite_url: str) -> None:
    import sqlite3

    calls = Calls()
    wf = flow()
    inside, go_on = threading.Event(), threading.Event()

    @wf.step(Effect.CREATE, evidence="the ledger")
    def create(step: Step[Order], mark: Mark) -> int:
        with mark:
            inside.set()
            go_on.wait(20)
            return calls.add("CREATE")

    h = Harness(sqlite_url, wf)
    with h.worker():
        run = h.start(wf, Order())
        assert inside.wait(20)
        holder = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
        holder.execute("begin immediate")
        go_on.set()
        until(lambda: calls.count("CREATE") == 1)
        released = time.monotonic() + 1.0
        until(lambda: time.monotonic() > released, "the lock was held for a while")
        assert h.record(run, "CREATE").status is RecordStatus.RUNNING
        holder.execute("rollback")
        holder.close()
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
    assert calls.count("CREATE") == 1
    h.close()


def test_a_thread_that_outlives_its_timeout_is_waited_for_and_not_repeated(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()
    world: list[str] = []
    go_on = threading.Event()

    @wf.step(Effect.CREATE, retry=SOON, timeout=timedelta(milliseconds=300))
    def create(step: Step[Order], mark: Mark) -> str:
        calls.add("CREATE")
        with mark:
            go_on.wait(20)  # a client without a timeout
            world.append(step.key)
            return "made"

    @create.probe(settle=timedelta(0))
    def find(step: Step[Order]) -> Found[str] | Absent:
        calls.add("PROBE")
        return Absent()  # truthful until the zombie sends: it must not count before the thread is gone

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        until(lambda: calls.count("PROBE") >= 1, "the doubt is looked into")
        assert h.record(run, "CREATE").status is RecordStatus.UNKNOWN
        go_on.set()
        ended = h.app.result(run, timeout=timedelta(seconds=30))
    assert ended.status is RunStatus.SUCCESS
    assert len(world) == calls.count("CREATE") == 1
    assert "step.late_answer" in h.journal(run)


def test_a_late_answer_after_a_persons_no_is_told_as_an_incident(harness: type[Harness]) -> None:
    calls = Calls()
    wf = flow()
    go_on = threading.Event()

    @wf.step(Effect.NOTIFY, evidence="provider log", timeout=timedelta(milliseconds=300))
    def tell(step: Step[Order], mark: Mark) -> str:
        with mark:
            n = calls.add("TELL")  # an attempt whose time is over before its mark has done nothing, and is made again
            if n == 1:
                go_on.wait(20)
            return f"m{n}"

    h = harness(wf)
    with h.worker():
        run = h.start(wf, Order())
        h.wait_for(run, "TELL", "UNKNOWN")
        h.advance(600)
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED, "a person is asked")
        with pytest.raises(Exception, match="may still be running"):
            h.app.control.retry(run.id, "TELL", actor="kim", reason="not there", not_happened=True, evidence="log")
        h.app.control.retry(run.id, "TELL", actor="kim", reason="not there", not_happened=True, evidence="log", gone=True)
        assert h.app.result(run, timeout=timedelta(seconds=30)).status is RunStatus.SUCCESS
        go_on.set()
        until(lambda: "incident.may_have_happened_twice" in h.journal(run), "the incident is told")
