"""Workflows with waits, people and undos that are killed at every commit; what a life does with them besides working is its story."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from halfway import Absent, Effect, Event, Found, Halfway, Mark, Risk, Run, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.lifecycle import FINAL
from halfway.errors import Conflict, DatabaseError
from halfway.testing import Ledger
from tests.crash.flows import NOBODY, SOON, connection_of
from tests.engine.harness import Order, flow, until


class Paid(BaseModel):
    amount: int


PAID = Event("PAID", Paid)
BOOKED = Event("BOOKED", Paid)


def people_flow(url: str, ledger: Ledger, reached: Callable[[str], None] = NOBODY) -> Workflow[Order]:
    """An event, a person, a transaction that sends an event, and the wait that hears it."""
    wf = flow("PEOPLE", retry=SOON)

    @wf.wait_for(PAID, timeout=timedelta(hours=1), on_timeout=Then.MANUAL)
    def paid(step: Step[Order]) -> str:
        return step.input.id

    @wf.approval("boss", expires=timedelta(hours=1), on_expiry=Then.FAIL)
    def ask(step: Step[Order]) -> int:
        return step.output(paid).amount

    @wf.transaction(connection_of(url))
    def book(step: Step[Order], connection: Any) -> str:
        connection.execute(f"insert into booking (run, attempt) values ('{step.run_id}', {step.attempt})")
        step.emit(BOOKED, step.output(paid), key=f"booked:{step.input.id}")
        return step.output(ask).by

    @wf.wait_for(BOOKED, timeout=timedelta(hours=1), on_timeout=Then.MANUAL)
    def heard(step: Step[Order]) -> str:
        return f"booked:{step.input.id}"

    @wf.step(Effect.NOTIFY, idempotent=True)
    def tell(step: Step[Order]) -> int:
        reached("world.before_tell")
        ledger.write("TELL", key=step.key, attempt=step.attempt)
        reached("world.after_tell")
        return step.output(heard).amount

    return wf


def undo_flow(url: str, ledger: Ledger, reached: Callable[[str], None] = NOBODY) -> Workflow[Order]:
    """Three effects and a failure: a marked undo with a probe, one in a transaction, one that a person approves."""
    wf = flow("UNDO", retry=SOON)

    @wf.step(Effect.CREATE, idempotent=True)
    def create(step: Step[Order]) -> str:
        ledger.write("CREATE", key=step.key)
        return "page"

    def gone(step: Step[Order], page: str) -> Found[None] | Absent:
        return Found(None) if ledger.count(event="REMOVE", key=step.key) else Absent()

    @create.compensate(Risk.LOW, probe=gone, settle=timedelta(0))
    def remove(step: Step[Order], page: str, mark: Mark) -> None:
        with mark:
            reached("world.before_remove")
            ledger.write("REMOVE", key=step.key)
            reached("world.after_remove")

    @wf.transaction(connection_of(url))
    def book(step: Step[Order], connection: Any) -> str:
        connection.execute(f"insert into booking (run, attempt) values ('{step.run_id}', {step.attempt})")
        return "booked"

    @book.compensate(Risk.LOW)
    def unbook(step: Step[Order], connection: Any, booked: str) -> None:
        connection.execute(f"insert into booking (run, attempt) values ('{step.run_id}', {-step.attempt})")

    def correction(step: Step[Order], sent: str) -> str:
        return f"not {sent}"

    @wf.step(Effect.NOTIFY, idempotent=True)
    def announce(step: Step[Order]) -> str:
        ledger.write("ANNOUNCE", key=step.key)
        return "announced"

    @announce.compensate(Risk.HIGH, idempotent=True, draft=correction)
    def correct(step: Step[Order], sent: str) -> None:
        reached("world.before_correct")
        ledger.write("CORRECT", key=step.key, text=step.draft)
        reached("world.after_correct")

    @wf.step(Effect.READ, on_failure=Then.COMPENSATE)
    def submit(step: Step[Order]) -> None:
        raise StepFailed("declined", code="DECLINED")

    return wf


def stuck_flow(url: str, ledger: Ledger, reached: Callable[[str], None] = NOBODY) -> Workflow[Order]:
    """An effect whose undo does not work, and a step that fails."""
    wf = flow("STUCK", retry=SOON)

    @wf.step(Effect.CREATE, idempotent=True)
    def create(step: Step[Order]) -> str:
        ledger.write("CREATE", key=step.key)
        return "page"

    @create.compensate(Risk.LOW, idempotent=True)
    def remove(step: Step[Order], page: str) -> None:
        ledger.write("REMOVE", key=step.key)
        raise StepFailed("locked", code="LOCKED")

    @wf.step(Effect.READ, on_failure=Then.FAIL)
    def submit(step: Step[Order]) -> None:
        raise StepFailed("declined", code="DECLINED")

    return wf


def persist(act: Callable[[], Any]) -> Any:
    """What a program does whose database was away: the same again. What had been carried out already is refused, and that is well."""
    for _ in range(2):
        try:
            return act()
        except DatabaseError:
            continue
        except Conflict:
            return None
    return act()


def people_story(app: Halfway, run: Run[Order]) -> Run[Order]:
    """A provider sends its event, and a person says yes."""
    persist(lambda: app.send(PAID, Paid(amount=7), key="o1", id="payment-1"))
    return _through(app, run, RunStatus.WAITING, "ASK")


def undo_story(app: Halfway, run: Run[Order]) -> Run[Order]:
    """A person approves the correction."""
    return _through(app, run, RunStatus.MANUAL_REQUIRED, "ANNOUNCE")


def _through(app: Halfway, run: Run[Order], asking: RunStatus, step: str) -> Run[Order]:
    def ended() -> bool:
        nonlocal run
        run = persist(lambda: app.result(run, timeout=timedelta(seconds=60)))
        if run.status is asking and any(one.step == step for one in app.control.inbox()):
            persist(lambda: app.control.approve(run.id, step, actor="kim", reason="well", action_id="approval-1"))
        return run.status in FINAL

    until(ended, "the story ends")
    return run


FLOWS = {"people": people_flow, "undo": undo_flow, "stuck": stuck_flow}
STORIES: dict[str, Callable[[Halfway, Run[Order]], Run[Order]]] = {"people": people_story, "undo": undo_story}
