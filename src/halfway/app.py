"""The composition root: a URL becomes a store, an engine and Control. The only place that builds things."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from halfway.authoring.events import Event
from halfway.authoring.keys import checked_key
from halfway.authoring.policy import LONGEST, Queue, microseconds
from halfway.authoring.retention import FOR_EVER, Retention
from halfway.authoring.run import Run
from halfway.authoring.step import Failure
from halfway.authoring.workflow import Workflow
from halfway.domain.items import have_failed
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.line import NO_LIMITS, Limits
from halfway.domain.run import Kind
from halfway.domain.spec import MINUTE
from halfway.engine.settings import Settings
from halfway.errors import DefinitionError, HalfwayError, InvalidInput, NotFound
from halfway.ports import Debounce, Message, NewEvent, NewRun, NoPoints, Notifier, Points, Started, Task

if TYPE_CHECKING:  # the rooms below are opened at their first use, so that importing halfway costs little more than pydantic
    from halfway.control.access import Can
    from halfway.control.events import Events, Sent
    from halfway.control.reading import Control
    from halfway.engine.courier import Courier
    from halfway.engine.scheduler import Job, Scheduler
    from halfway.engine.worker import Worker
    from halfway.store import Store

I = TypeVar("I")
T = TypeVar("T")

HIGHEST = 1_000_000_000
LONGEST_ID = 512
STILL = frozenset({RunStatus.MANUAL_REQUIRED, RunStatus.WAITING}) | FINAL  # nothing more happens by itself


CLEANUP_SECONDS = 30.0  # in one go; what is left is for the next hour


class _Locks:
    """What another thread of the parent may be holding at the moment of a fork is free in the child."""

    def __init__(self) -> None:
        self.forked()

    def forked(self) -> None:
        self.opening = threading.Lock()
        self.ends = threading.Condition()


class Halfway:
    """Starts runs, reads them, and makes workers. Creating one touches nothing; the first use opens the database.

    url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`. artifacts: a folder; by default beside the SQLite file.
    Raises DefinitionError for two workflows of one name and version, and UnsafeStep for a contract with a hole (R-J1).
    """

    def __init__(
        self, url: str, *, workflows: Sequence[Workflow[Any]], artifacts: str | os.PathLike[str] | None = None,
        roles: Mapping[str, Sequence[str]] | None = None, can: Can | None = None, notify: Sequence[Notifier] | None = None,
        settings: Settings | None = None, points: Points | None = None, retention: Retention = FOR_EVER,
    ) -> None:  # fmt: skip
        """roles: who holds which; while none are named, whoever reaches the database may act. The roles `operator` and `admin` are
        permissions. can: another answer to (actor, action, what about). notify: who is told about approvals, decisions and incidents;
        by default the log. retention: how long the runs of workflows are kept that do not say it themselves.
        """
        self.url = url
        self._artifacts = None if artifacts is None else os.fspath(artifacts)
        self.settings = settings or Settings()
        self._points = points or NoPoints()
        self.roles, self.can = roles, can
        self.notify = notify
        self.retention = retention
        self.workflows: dict[tuple[str, int], Workflow[Any]] = {}
        for workflow in workflows:
            place = (workflow.name, workflow.version)
            if place in self.workflows:
                problem = f"version {workflow.version} is given twice."
                raise DefinitionError("DEFINITION", workflow=workflow.name, problem=problem, remedy="Give the second one another version.")
            self.workflows[place] = workflow
        limits_of(workflows)
        self._store: Store | None = None
        self._locks = _Locks()
        self._workers: list[Worker] = []
        self._upkeep: list[Job] = []

    # ── the store behind it ──

    @property
    def store(self) -> Store:
        """The open store; opened, checked and told about the definitions at the first use."""
        if self._store is not None:
            return self._store
        from halfway.store import open_store
        from halfway.store.forks import watch

        watch(self._locks)
        with self._locks.opening:
            if self._store is None:
                store = open_store(self.url, create=True, artifacts=self._artifacts, points=self._points)
                store.runs.register([workflow.spec for workflow in self.workflows.values()])
                self._store = store
            return self._store

    @property
    def control(self) -> Control:
        """What an operator may ask and order; the faces use nothing else."""
        from halfway.control.reading import Control
        from halfway.store.ids import new_id

        store = self.store
        return Control(
            store.runs, store.reading, store.attention, workflows=self.workflows.values(), wake=self._wake, can=self.can,
            members=self.roles, batches=store.batches, timetable=store.schedules, queues=store.queues, keeping=store.keeping,
            calls=store.calls, new_id=new_id,
            retention=self.retention, retentions=self.retentions,
        )  # fmt: skip

    @property
    def retentions(self) -> Mapping[str, Retention]:
        """How long the runs of each workflow of this application are kept; of its versions the newest says it."""
        newest = sorted(self.workflows.values(), key=lambda workflow: workflow.version)
        return {workflow.name: workflow.retention or self.retention for workflow in newest}

    def close(self) -> None:
        """Stops the workers of this object and closes its connections."""
        for worker in self._workers:
            worker.stop()
        if self._store is not None:
            self._store.close()

    # ── starting ──

    def start(
        self, workflow: Workflow[I], input: I, /, *, deadline: datetime | None = None, priority: int = 0, correlation_id: str = "",
        again: str | None = None, actor: str = "", within: object = None, debounce: timedelta | None = None,
        debounce_max: timedelta | None = None, debounce_key: str | None = None,
    ) -> Run[I]:  # fmt: skip
        """Starts a run, or answers the one that already stands under the input's key (`created` is False then).

        deadline: no attempt starts after it; with a time zone. again: the audited reason for a second run under a key whose first
        run has ended. actor: who asked for it, whom four eyes keep from approving. within: a connection of the same database; the run
        exists if its transaction commits. debounce: it begins so much later, and while it has not, each start under its key replaces its
        input and puts it off again, but no further than debounce_max after the first. debounce_key: what is put off together, in a
        workflow whose runs have no key of their own. Raises InvalidInput, KeyConflict (the key belongs to a run with another input) and
        DatabaseError.
        """
        if within is None:
            _outside_transactions(workflow.name)
        new = self._new(workflow, input, deadline=deadline, priority=priority, correlation_id=correlation_id, again=again, actor=actor)
        if not (debounce is None and debounce_max is None and debounce_key is None):
            new = new._replace(debounce=_debounce(new, debounce, debounce_max, debounce_key))
        return self._started(workflow, [new], self.store.runs.create([new], within=within), within)[0]

    def start_many(self, workflow: Workflow[I], inputs: Sequence[I], /, *, priority: int = 0) -> Sequence[Run[I]]:
        """Starts many runs in one transaction; all or none."""
        _outside_transactions(workflow.name)
        new = [self._new(workflow, input, priority=priority) for input in inputs]
        return self._started(workflow, new, self.store.runs.create(new), None)

    def _new(
        self, workflow: Workflow[I], input: I, *, deadline: datetime | None = None, priority: int = 0, correlation_id: str = "",
        again: str | None = None, actor: str = "",
    ) -> NewRun:  # fmt: skip
        if self.workflows.get((workflow.name, workflow.version)) is not workflow:
            known = ", ".join(sorted(name for name, _ in self.workflows)) or "none"
            raise NotFound("WORKFLOW_UNKNOWN", workflow=workflow.name, known=known)
        from halfway.store.ids import new_id

        _check_options(workflow.name, priority=priority, correlation_id=correlation_id, again=again, actor=actor)
        run_id = new_id()
        text = workflow.encode(input)
        return NewRun(
            run_id, workflow.spec, text, workflow.key_of(input), workflow.resource_of(input), correlation_id or run_id, priority,
            None if deadline is None else _microseconds(deadline), actor=actor.strip(), again=again, claims=workflow.claims_of(input),
        )  # fmt: skip

    def _started(self, workflow: Workflow[I], new: Sequence[NewRun], started: Sequence[Started], within: object) -> Sequence[Run[I]]:
        if within is None:  # else the caller has not committed yet, and the worker's next look finds it
            self._wake(tuple({route for one in started for route in one.ready}))
        return [
            _fresh(workflow, asked, one.key) if one.created else self._run(workflow, one.run_id, created=False, known=asked.input)
            for asked, one in zip(new, started, strict=True)
        ]

    def _wake(self, routes: tuple[str, ...]) -> None:
        for worker in self._workers:
            if worker.alive:
                worker.wake(routes)

    # ── sending ──

    def send(self, event: Event[T], payload: T, /, *, key: str, id: str, source: str = "", within: object = None) -> Sent:
        """Sends an event, and answers what became of it. It is stored in every case (R-C2).

        key: names the business case, as the wait's function does; it may also be the provider's id of a message, or a run's id.
        id: the provider's id of this event; a repeat under it changes nothing. source: who gives these ids; by default the event's
        name. within: a connection of the same database; what waits hears after its transaction has committed.
        """
        if within is None:
            _outside_transactions(event.name)
        return self._events.send([self._event(event, payload, key, id, source)], within=within)[0]

    def send_many(self, event: Event[T], payloads: Sequence[tuple[str, str, T]], /, *, source: str = "") -> Sequence[Sent]:
        """Sends many events, in order; each is (key, id, payload)."""
        _outside_transactions(event.name)
        return self._events.send([self._event(event, payload, key, id, source) for key, id, payload in payloads])

    @property
    def _events(self) -> Events:
        from halfway.control.events import Events

        return Events(self.store.runs, self._wake)

    def _event(self, event: Event[T], payload: T, key: str, id: str, source: str) -> NewEvent:
        from halfway.store.ids import new_id

        what = f"of the event {event.name}"
        return NewEvent(
            new_id(),
            source or event.name,
            checked_key(f"id {what}", id),
            event.name,
            checked_key(f"key {what}", key),
            event.encode(payload),
        )

    # ── reading ──

    def get(self, workflow: Workflow[I], run_id: str, /) -> Run[I]:
        """A snapshot of a run. Raises NotFound if there is none of this workflow."""
        return self._run(workflow, run_id, created=False)

    def result(self, run: Run[I], /, *, timeout: timedelta) -> Run[I]:
        """Waits until the run has ended or needs something from outside; raises HalfwayError TIMEOUT_WAITING if it still goes on."""
        workflow = self._workflow_of(run)
        until = monotonic() + timeout.total_seconds()
        pause = 0.002
        while True:
            now = self._run(workflow, run.id, created=run.created, known=run)
            if now.status in STILL:
                return now
            left = until - monotonic()
            if left <= 0:
                raise HalfwayError("TIMEOUT_WAITING", run=run.id, status=now.status, seconds=timeout.total_seconds())
            with self._locks.ends:
                self._locks.ends.wait(min(pause, left))
            pause = min(pause * 1.5, 0.25)

    def _workflow_of(self, run: Run[I]) -> Workflow[I]:
        try:
            return self.workflows[run.type, run.version]
        except KeyError:
            known = ", ".join(sorted(name for name, _ in self.workflows))
            raise NotFound("WORKFLOW_UNKNOWN", workflow=run.type, known=known) from None

    def _run(self, workflow: Workflow[I], run_id: str, *, created: bool, known: str | Run[I] | None = None) -> Run[I]:
        """known: what it was started with, or as what it was seen: then a run whose history was deleted can be answered, too."""
        from halfway.engine.source import RunSource

        try:
            detail = self.store.reading.detail(run_id)
        except NotFound:
            past = None if known is None else self.store.keeping.past(run_id)
            if past is None or known is None or past.type != workflow.name:
                raise
            return Run(
                id=past.run_id, type=past.type, version=past.version, key=past.key, status=past.status, failure=None, created=created,
                input=known.input if isinstance(known, Run) else workflow.parse(known), outputs={}, steps={}, forgotten=True,
            )  # fmt: skip
        row = detail.run
        if row.type != workflow.name:
            raise NotFound("RUN_UNKNOWN", run=run_id)
        rounds = sorted((one for one in detail.records if one.record.key.kind is Kind.STEP), key=lambda one: one.record.key.round)
        steps = list({one.record.key.step: one for one in rounds}.values())  # of a loop the last round
        failed = min(
            (one for one in steps if one.record.status is RecordStatus.FAILED), key=lambda one: one.record.ended_at or 0, default=None
        )
        failure = None if failed is None else Failure(failed.record.key.step, failed.record.code, failed.error or "")
        return Run(
            id=row.id, type=row.type, version=row.version, key=detail.key, status=row.status, input=workflow.parse(detail.input),
            failure=failure, created=created,
            outputs={one.record.key.step: one.output for one in steps if one.output is not None and not have_failed(one.record)},
            steps={one.record.key.step: one.record.status for one in steps},
            source=RunSource(self.store.reading, self.store.artifacts, row.id),
        )  # fmt: skip

    def _ended(self, run_id: str) -> None:
        with self._locks.ends:
            self._locks.ends.notify_all()

    # ── twins for async programs ──

    async def astart(
        self, workflow: Workflow[I], input: I, /, *, deadline: datetime | None = None, priority: int = 0, correlation_id: str = "",
        again: str | None = None, actor: str = "", debounce: timedelta | None = None, debounce_max: timedelta | None = None,
        debounce_key: str | None = None,
    ) -> Run[I]:  # fmt: skip
        """`start` for an async program."""
        return await _in_thread(
            lambda: self.start(
                workflow, input, deadline=deadline, priority=priority, correlation_id=correlation_id, again=again, actor=actor,
                debounce=debounce, debounce_max=debounce_max, debounce_key=debounce_key,
            )
        )  # fmt: skip

    async def asend(self, event: Event[T], payload: T, /, *, key: str, id: str, source: str = "") -> Sent:
        """`send` for an async program."""
        return await _in_thread(lambda: self.send(event, payload, key=key, id=id, source=source))

    async def aget(self, workflow: Workflow[I], run_id: str, /) -> Run[I]:
        """`get` for an async program."""
        return await _in_thread(lambda: self.get(workflow, run_id))

    async def aresult(self, run: Run[I], /, *, timeout: timedelta) -> Run[I]:
        """`result` for an async program."""
        return await _in_thread(lambda: self.result(run, timeout=timeout))

    # ── working ──

    def worker(self, *queues: Queue, slots: int = 8, threads: int | None = None, run: Run[Any] | None = None) -> Worker:
        """A worker for these queues (default: all that the workflows name); use it in `with`, or call `run_forever()`.

        slots: attempts at once for `async def`; threads: for `def`, by default as many, at most 32. run: it executes steps of this run
        alone and serves no schedules, as a command that brings about one thing; runs that this one starts need another worker.
        """
        return self._worker([queue.name for queue in queues], slots, threads, kill_after=None, only="" if run is None else run.id)

    def _worker(self, queues: Sequence[str], slots: int, threads: int | None, *, kill_after: int | None, only: str = "") -> Worker:
        for name, given in (("slots", slots), ("threads", threads)):
            if given is not None and given < 1:
                raise InvalidInput("CONFIG_INVALID", source=f"of the worker: {name}", problem=f"it is {given}.", remedy="Give 1 or more.")
        from halfway.engine.catalog import Catalog
        from halfway.engine.worker import Worker
        from halfway.store.life import identity

        store, limits = self.store, limits_of(list(self.workflows.values()))
        catalog = Catalog(store.runs, list(self.workflows.values()))
        for queue in set(queues) - catalog.queues:
            remedy = f"Queues that steps use: {', '.join(sorted(catalog.queues)) or 'none'}."
            raise InvalidInput("CONFIG_INVALID", source=f"of the worker: queue {queue}", problem="no step uses it.", remedy=remedy)
        served = list(queues) or sorted(catalog.queues)
        store.queues.declare({queue: limits[queue] for queue in served})
        worker = Worker(
            runs=store.runs, lives=store.lives, artifacts=store.artifacts, reading=store.reading, calls=store.calls,
            catalog=catalog, settings=self.settings,
            points=self._points, queues=served, slots=slots, threads=threads or min(slots, 32),
            identity=identity(), kill_after=kill_after, on_end=self._ended, courier=self._courier(store), only=only,
            scheduler=None if only else self._scheduler(store),
        )  # fmt: skip
        self._workers.append(worker)
        return worker

    def _courier(self, store: Store) -> Courier:
        from halfway.engine.courier import Courier
        from halfway.observe.notify import to_log

        control, notifiers = self.control, [to_log] if self.notify is None else list(self.notify)

        def hand_over(message: Message) -> None:
            notice = control.notice(message)
            for notify in notifiers:
                notify(notice)

        types = sorted({workflow.name for workflow in self.workflows.values() if workflow.spec.triggers})
        return Courier(store.outbox, store.triggers, hand_over=hand_over, start=self._start_task, types=types, now=store.now)

    def _scheduler(self, store: Store) -> Scheduler:
        """Runs the schedules of the newest versions that are here, and what the engine does for itself at certain times."""
        from halfway.engine.scheduler import Scheduler

        newest = {workflow.name: workflow.spec for workflow in sorted(self.workflows.values(), key=lambda one: one.version)}
        make = self.control.schedules.run_of
        jobs = [*self._upkeep, *self._cleanup(store)]
        return Scheduler(store.schedules, specs=list(newest.values()), make=make, wake=self._wake, jobs=jobs)

    def _cleanup(self, store: Store) -> Iterator[Job]:
        """What is old is deleted by whichever worker comes first, an hour after the last time, and not for long (R-F6, R-E7)."""
        if any(one != FOR_EVER for one in (self.retention, *self.retentions.values())):
            from halfway.control.cleaning import cleanup
            from halfway.engine.scheduler import Job

            def clean() -> None:
                until = monotonic() + CLEANUP_SECONDS
                cleanup(store.keeping, self.control.cleaning.policy, stop=lambda: monotonic() > until)

            yield Job("CLEANUP", 60 * MINUTE, clean)

    def _start_task(self, task: Task) -> None:
        """Something has happened that starts a run: in the transaction that creates the run, the task is done (R-C5)."""
        newest = max((workflow for workflow in self.workflows.values() if workflow.name == task.type), key=lambda one: one.version)
        trigger = newest.trigger_functions.get((task.kind, task.name))
        if trigger is None:  # another release asked for it: a worker that has its code starts it
            problem = f"{newest.name}:v{newest.version} of this worker is not started by it any more, or not yet."
            remedy = "A worker of the release that is takes it."
            raise InvalidInput("CONFIG_INVALID", source=f"of {task.kind.lower()} {task.name}", problem=problem, remedy=remedy)
        input = trigger.input_for(task.payload or "null")
        if input is None:
            self.store.triggers.drop(task.id)
            return
        new = self._new(newest, input, actor=f"{task.kind.lower()}:{task.name}")._replace(trigger=task.id)
        self._started(newest, [new], self.store.runs.create([new]), None)


async def _in_thread(work: Callable[[], T]) -> T:
    import asyncio

    return await asyncio.to_thread(work)


def _fresh(workflow: Workflow[I], new: NewRun, key: str | None) -> Run[I]:
    return Run(
        id=new.id, type=workflow.name, version=workflow.version, key=key, status=RunStatus.PENDING, input=workflow.parse(new.input),
        failure=None, created=True, outputs={}, steps={},
    )  # fmt: skip


def _outside_transactions(workflow: str) -> None:
    from halfway.engine.context import in_transaction

    if in_transaction.get():
        problem = "it is called in a transaction step, and would commit by itself."
        remedy = "Pass within= the step's connection."
        raise InvalidInput("CONFIG_INVALID", source=f"of the start of {workflow}", problem=problem, remedy=remedy)


def limits_of(workflows: Sequence[Workflow[Any]]) -> dict[str, Limits]:
    """What the queues of these workflows allow; a queue may be named without its limits, but not with others."""
    found: dict[str, Limits] = {}
    for workflow in workflows:
        for queue in sorted(workflow.queues, key=lambda queue: queue.name):
            before = found.get(queue.name, NO_LIMITS)
            if NO_LIMITS not in (before, queue.limits) and before != queue.limits:
                problem = f"the queue {queue.name} has other limits than elsewhere in the app: {_told(queue.limits)}, and {_told(before)}."
                remedy = "Make one Queue object and use it everywhere, or give its name alone."
                raise DefinitionError("DEFINITION", workflow=workflow.name, problem=problem, remedy=remedy)
            found[queue.name] = queue.limits if before == NO_LIMITS else before
    return found


def _told(limits: Limits) -> str:
    return ", ".join(f"{name}={value}" for name, value in limits._asdict().items() if value is not None)


def _debounce(new: NewRun, wait: object, longest: object, key: str | None) -> Debounce:
    """How a start is put off; whatever is wrong with it is said before anything is written."""
    problem = ""
    if not _is_time(wait) or not (longest is None or _is_time(longest)):
        problem = f"debounce and debounce_max are times of more than 0, at most {LONGEST.days} days; here {wait!r} and {longest!r}."
    elif new.again is not None:
        problem = "again= starts another run, and debounce= puts off the same one."
    elif new.key is not None and key is not None:
        problem = f"its runs have keys of their own; {new.key} is put off, not {key}."
    elif new.key is None and key is None:
        problem = "its runs have no key, so nobody knows which starts belong together. Give debounce_key=."
    if problem:
        source = f"of the start of {new.spec.type}: debounce"
        raise InvalidInput("CONFIG_INVALID", source=source, problem=problem, remedy="Nothing was started.")
    name = checked_key(f"debounce key of {new.spec.type}", new.key if key is None else key)
    assert isinstance(wait, timedelta)
    return Debounce(name, microseconds(wait), microseconds(longest) if isinstance(longest, timedelta) else None)


def _is_time(given: object) -> bool:
    return isinstance(given, timedelta) and timedelta(0) < given <= LONGEST


def _check_options(workflow: str, *, priority: object, correlation_id: object, again: object, actor: object) -> None:
    """What a type checker would have refused is refused here too, before anything is written."""
    problem = ""
    if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) > HIGHEST:
        problem = f"priority is {priority!r}, not a whole number between -{HIGHEST:,} and {HIGHEST:,}."
    elif not isinstance(correlation_id, str) or len(correlation_id) > LONGEST_ID:
        problem = f"correlation_id is no text of at most {LONGEST_ID} characters."
    elif not isinstance(actor, str):
        problem = "actor is no text."
    elif again is not None and not (isinstance(again, str) and again.strip()):
        problem = "again is no reason."
    if problem:
        raise InvalidInput("CONFIG_INVALID", source=f"of the start of {workflow}", problem=problem, remedy="Nothing was started.")


def _microseconds(moment: datetime) -> int:
    if not isinstance(moment, datetime):  # pyright: ignore[reportUnnecessaryIsInstance] - not everybody runs a type checker
        raise InvalidInput("CONFIG_INVALID", source="of the start: deadline", problem="it is no datetime.", remedy="Give one with tzinfo.")
    if moment.tzinfo is None:
        raise DefinitionError(
            "DEFINITION", workflow="start", problem=f"the deadline {moment} has no time zone.", remedy="Give one with tzinfo."
        )
    return int(moment.astimezone(UTC).timestamp() * 1_000_000)
