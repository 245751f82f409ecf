"""R-E5: the same for each item of a list; each item a record of its own, the whole closed by thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Absent, Effect, Found, Mark, OutcomeUnknown, Retry, RetryLater, Risk, RunStatus, Step, StepFailed, Then, Workflow
from halfway.errors import Conflict, DefinitionError, NotFound
from tests.engine.harness import Calls, Harness, Order, flow, until


class Mails(BaseModel):
    """The input: whom to write to, and who has no address."""

    to: list[str] = []
    bad: list[str] = []
    lost: list[str] = []


class NoAddress(StepFailed):
    """The provider does not know this address."""


class Ledger(Calls):
    """Calls, and whether the provider has learned the bad addresses."""

    mended = False


def campaign(calls: Ledger, *, probe: bool = False, **options: Any) -> Any:
    options.setdefault("retry", Retry(1))
    wf = Workflow("CAMPAIGN", Mails, version=1, owner="marketing", key=None)

    @wf.step(Effect.READ)
    def recipients(step: Step[Mails]) -> list[str]:
        return step.input.to

    @wf.each(Effect.NOTIFY, recipients, key=lambda to: to, evidence="the provider's log", **options)
    def send(step: Step[Mails], to: str, mark: Mark) -> str:
        with mark:
            calls.add("SEND", (to, step.key))
            if to in step.input.lost and not calls.mended:
                raise OutcomeUnknown("no answer")
            if to in step.input.bad and not calls.mended:
                raise NoAddress(f"{to} is unknown")
        return f"sent to {to}"

    if probe:

        @send.probe(settle=timedelta(0))
        def find(step: Step[Mails], to: str) -> Found[str] | Absent:
            calls.add("FIND", to)
            return Found(f"found {to}")

    @wf.step(Effect.READ)
    def report(step: Step[Mails]) -> dict[str, Any]:
        sent = step.output(send)
        return {
            "total": sent.total, "sent": sent.succeeded, "failed": sent.failed,
            "outputs": list(sent), "failures": [[one.step, one.code, one.message] for one in sent.failures()],
        }  # fmt: skip

    return wf, send, report


def names(n: int) -> list[str]:
    return [f"a{number:05d}" for number in range(n)]


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_each_item_is_done_once_in_the_order_of_the_list(harness: type[Harness], n: int) -> None:
    """B36: also none, and one."""
    calls = Ledger()
    wf, send, report = campaign(calls)
    run = harness(wf).run(wf, Mails(to=names(n)))
    assert run.status is RunStatus.SUCCESS
    assert run.output(report) == {
        "total": n, "sent": n, "failed": 0, "outputs": [f"sent to {name}" for name in names(n)], "failures": [],
    }  # fmt: skip
    assert sorted(what for _, what in calls.made) == [(name, f"{run.id}:SEND:1:{name}") for name in names(n)]
    assert list(run.output(send)) == [f"sent to {name}" for name in names(n)]


def test_doubled_items_are_two_items(harness: type[Harness]) -> None:
    """B36."""
    calls = Ledger()
    wf, _, report = campaign(calls)
    run = harness(wf).run(wf, Mails(to=["x", "x", "x#2"]))
    assert run.output(report)["outputs"] == ["sent to x", "sent to x", "sent to x#2"]
    assert sorted(what for _, what in calls.made) == [
        ("x", f"{run.id}:SEND:1:x"), ("x", f"{run.id}:SEND:1:x#2"), ("x#2", f"{run.id}:SEND:1:x#2#2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bad", "status"), [(1, RunStatus.PARTIAL_SUCCESS), (3, RunStatus.MANUAL_REQUIRED), (5, RunStatus.FAILED)]
)  # fmt: skip
def test_thresholds_say_what_failed_items_mean(harness: type[Harness], bad: int, status: RunStatus) -> None:
    calls = Ledger()
    wf, _, report = campaign(calls, partial_from=0.9, failed_below=0.6)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(10), bad=names(bad)))
    assert run.status is status
    assert len([1 for name, _ in calls.made if name == "SEND"]) == 10
    if status is RunStatus.PARTIAL_SUCCESS:
        assert run.output(report)["failures"] == [["a00000", "NO_ADDRESS", "a00000 is unknown"]]


def test_a_retry_does_the_failed_items_and_nothing_else(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, send, _ = campaign(calls, partial_from=0.5)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(6), bad=names(2)))
    assert run.status is RunStatus.PARTIAL_SUCCESS
    calls.mended = True
    calls.made.clear()
    h.app.control.retry(run.id, "SEND", actor="kim", reason="the addresses are known now")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert sorted(what[0] for name, what in calls.made if name == "SEND") == names(2)
    assert run.output(send).succeeded == 6


def test_without_thresholds_one_failed_item_fails_the_step_and_a_resume_does_what_is_missing(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, _, report = campaign(calls)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(4), bad=names(1)))
    assert run.status is RunStatus.FAILED
    assert h.record(run, "SEND").code == "ITEMS_FAILED"
    calls.mended = True
    calls.made.clear()
    h.app.control.resume(run.id, actor="kim", reason="mended")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert [what[0] for name, what in calls.made if name == "SEND"] == names(1)
    assert run.output(report)["sent"] == 4


def test_a_person_may_accept_what_became_of_the_items(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, _, report = campaign(calls, partial_from=0.9, failed_below=0.5)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(10), bad=names(3)))
    assert run.status is RunStatus.MANUAL_REQUIRED
    h.app.control.mark_success(run.id, "SEND", actor="kim", reason="that will do", evidence="talked to marketing")
    run = h.drain(run)
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert run.output(report)["failed"] == 3


@pytest.mark.parametrize(("bad", "status"), [(3, RunStatus.FAILED), (2, RunStatus.MANUAL_REQUIRED)])
def test_items_that_are_done_are_not_left_out_but_accepted(harness: type[Harness], bad: int, status: RunStatus) -> None:
    """Left out, what was done would be known to nobody who reads the step: so skip is refused, and mark-success keeps the results."""
    calls = Ledger()
    wf, _, report = campaign(calls, partial_from=0.9, failed_below=0.5)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(4), bad=names(bad)))
    assert run.status is status
    with pytest.raises(Conflict, match=r"its items are through.* halfway mark-success RUN SEND --evidence … --reason …"):
        h.app.control.skip(run.id, "SEND", actor="kim", reason="never mind")
    shown = h.app.control.show(run.id)
    commands = [one.command for one in shown.explanation.next]
    assert f"halfway mark-success {run.id} SEND --evidence '…' --reason '…'" in commands
    assert not [one for one in commands if " skip " in one]
    assert shown.steps[1].output is None
    h.app.control.mark_success(run.id, "SEND", actor="kim", reason="that will do", evidence="talked to marketing")
    run = h.drain(run)
    assert run.status is RunStatus.PARTIAL_SUCCESS
    assert (run.output(report)["sent"], run.output(report)["failed"]) == (4 - bad, bad)
    assert len([1 for name, _ in calls.made if name == "SEND"]) == 4


def test_a_failed_step_of_items_has_no_output_until_somebody_accepts_them(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, send, _ = campaign(calls)
    run = harness(wf).run(wf, Mails(to=names(2), bad=names(2)))
    assert run.status is RunStatus.FAILED
    with pytest.raises(NotFound, match="has no output"):
        run.output(send)


BAD_KEYS: list[tuple[Any, str]] = [
    (lambda to: "", "it has 0 characters."),
    (lambda to: to * 200, "it has 1200 characters."),
    (lambda to: 7, "it gave int."),
    (lambda to: {}[to], "its function raised KeyError."),
]


@pytest.mark.parametrize(("key", "told"), BAD_KEYS)
def test_an_item_without_a_key_is_told_by_its_place_and_a_resume_with_corrected_code_lists_anew(
    harness: type[Harness], key: Any, told: str
) -> None:
    calls = Ledger()

    def made(named: Any) -> Any:
        wf = Workflow("CAMPAIGN", Mails, version=1, owner="marketing", key=None)

        @wf.step(Effect.READ)
        def recipients(step: Step[Mails]) -> list[str]:
            calls.add("LIST")
            return step.input.to

        @wf.each(Effect.NOTIFY, recipients, key=lambda to: named(to) if to == "a00002" else to, evidence="the provider's log")
        def send(step: Step[Mails], to: str) -> str:
            calls.add("SEND", to)
            return to

        return wf

    former, corrected = made(key), made(lambda to: f"third {to}")
    h = harness(former)
    run = h.run(former, Mails(to=names(4)))
    assert run.status is RunStatus.FAILED
    shown = h.app.control.show(run.id)
    send = shown.steps[1]
    assert (send.error_code, send.attempts) == ("ITEM_KEY_INVALID", 1)
    assert send.message == (
        f"Item 3 of step SEND cannot be named: {told} Its key must be a text of 1 to 512 characters. The list stays as it is: correct in "
        "the code the function that names its items, which is key=. Then run a worker with that code, and resume the run: the items are "
        "then listed anew."
    )
    assert [one.sentence.code for one in shown.explanation.next] == ["RESUME_CORRECTED"]
    h.app.control.resume(run.id, actor="kim", reason="the code is corrected")
    now = harness(corrected)
    done = now.drain(now.app.get(corrected, run.id))
    assert done.status is RunStatus.SUCCESS
    assert sorted(calls.made) == [("LIST", None), *(("SEND", name) for name in names(4))]
    rows = now.app.store.reading.items(run.id, "SEND", 1, after=0, limit=10)
    assert [row.item for row in rows] == ["a00000", "a00001", "third a00002", "a00003"]


def test_a_child_without_a_key_is_told_by_its_place(harness: type[Harness]) -> None:
    child = Workflow("MAIL", Mails, version=1, owner="marketing", key=lambda mails: mails.to[0])
    child.step(Effect.READ, name="LOOK")(look)
    wf = Workflow("CAMPAIGN", Mails, version=1, owner="marketing", key=None)

    @wf.children(child)
    def send(step: Step[Mails]) -> Iterator[Mails]:
        yield Mails(to=["a"])
        yield Mails(to=[""])

    h = harness(wf, child)
    run = h.run(wf, Mails())
    assert run.status is RunStatus.FAILED
    told = h.app.control.show(run.id).steps[0].message
    assert told.startswith("Item 2 of step SEND cannot be named: it has 0 characters.")
    assert "Correct in the code the function that makes the inputs, or the key= of MAIL." in told
    assert len(h.app.store.reading.runs()) == 1


def look(step: Step[Mails]) -> None: ...


def test_an_item_whose_answer_is_lost_is_looked_for_and_never_repeated(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, _, report = campaign(calls, probe=True)
    run = harness(wf).run(wf, Mails(to=names(4), lost=names(2)))
    assert run.status is RunStatus.SUCCESS
    assert run.output(report)["outputs"] == ["found a00000", "found a00001", "sent to a00002", "sent to a00003"]
    assert len([1 for name, _ in calls.made if name == "SEND"]) == 4


@pytest.mark.parametrize("happened", [True, False])
def test_items_in_doubt_are_one_question_and_one_decision(harness: type[Harness], happened: bool) -> None:
    calls = Ledger()
    wf, _, report = campaign(calls)
    h = harness(wf)
    run = h.start(wf, Mails(to=names(6), lost=names(3)))
    with h.worker():
        until(lambda: h.record(run, "RECIPIENTS") is not None)
        until(lambda: (h.advance(400), h.status(run) is RunStatus.MANUAL_REQUIRED)[1], "a person is asked")
        [asked] = h.app.control.inbox()
        assert (asked.step, asked.role) == ("SEND", "marketing")
        with pytest.raises(Conflict, match="3 items"):
            h.app.control.retry(run.id, "SEND", actor="kim", reason="again")
        calls.made.clear()
        if happened:
            h.app.control.mark_success(run.id, "SEND", actor="kim", reason="seen", evidence="the log", output='"seen"')
        else:
            calls.mended = True
            h.app.control.retry(run.id, "SEND", actor="kim", reason="no", not_happened=True, evidence="the log")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    sent = [what[0] for name, what in calls.made if name == "SEND"]
    assert sorted(sent) == ([] if happened else names(3))
    if happened:
        assert h.get(run).output(report)["outputs"] == ["seen", "seen", "seen", *(f"sent to {name}" for name in names(6)[3:])]


def test_a_cancel_stops_items_that_have_not_begun_and_a_resume_does_them(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, _, report = campaign(calls, concurrency=1)
    h = harness(wf)
    run = h.start(wf, Mails(to=names(200)))
    with h.worker(slots=1):
        until(lambda: len(calls.made) >= 3)
        h.app.control.cancel(run.id, actor="kim", reason="stop")
        until(lambda: h.status(run) is RunStatus.CANCELLED, "it has stopped")
    done = len(calls.made)
    assert done < 200
    h.app.control.resume(run.id, actor="kim", reason="go on")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert len(calls.made) == 200
    assert run.output(report)["sent"] == 200


@pytest.mark.parametrize(("effect", "repeated"), [(Effect.CREATE, True), (Effect.NOTIFY, False)])
def test_an_item_not_found_while_the_run_stopped_is_done_by_a_resume_only_where_that_is_proof(
    harness: type[Harness], effect: Effect, repeated: bool
) -> None:
    """A message that is not listed may still have been read: whoever wants it sent again says so by name."""
    calls = Ledger()
    wf = Workflow("CAMPAIGN", Mails, version=1, owner="marketing", key=None)

    @wf.step(Effect.READ)
    def recipients(step: Step[Mails]) -> list[str]:
        return step.input.to

    @wf.each(effect, recipients, key=str)
    def send(step: Step[Mails], to: str, mark: Mark) -> str:
        with mark:
            calls.add("SEND", to)
            if to in step.input.lost and not calls.mended:
                raise OutcomeUnknown("no answer")
        return to

    @send.probe(settle=timedelta(minutes=5))
    def find(step: Step[Mails], to: str) -> Found[str] | Absent:
        return Absent()

    h = harness(wf)
    run = h.start(wf, Mails(to=names(3), lost=names(1)))
    with h.worker():
        until(lambda: len(calls.made) == 3 and [one.status for one in h.app.control.items(run.id, "SEND", status="UNKNOWN")] != [])
        h.app.control.cancel(run.id, actor="kim", reason="stop")
        until(lambda: (h.advance(60), h.status(run) is RunStatus.CANCELLED)[1], "it has stopped")
    calls.mended = True
    h.app.control.resume(run.id, actor="kim", reason="go on")
    run = h.drain(run)
    assert calls.made[3:] == ([("SEND", "a00000")] if repeated else [])
    assert run.status is (RunStatus.SUCCESS if repeated else RunStatus.FAILED)
    if not repeated:
        h.app.control.retry(run.id, "SEND", actor="kim", reason="nobody has read it")
        assert h.drain(run).status is RunStatus.SUCCESS
        assert calls.made[3:] == [("SEND", "a00000")]


def test_no_more_than_so_many_items_are_under_way(harness: type[Harness]) -> None:
    import threading

    wf, here, most, lock = flow(key=False), [0], [0], threading.Lock()

    @wf.step(Effect.READ)
    def numbers(step: Step[Order]) -> list[int]:
        return list(range(40))

    @wf.each(Effect.READ, numbers, key=str, concurrency=3)
    def look(step: Step[Order], number: int) -> int:
        with lock:
            here[0] += 1
            most[0] = max(most[0], here[0])
        threading.Event().wait(0.002)
        with lock:
            here[0] -= 1
        return number

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert most[0] <= 3
    assert list(run.output(look)) == list(range(40))


def test_a_list_too_large_for_a_value_is_streamed_from_a_generator(harness: type[Harness]) -> None:
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def many(step: Step[Order]) -> Iterator[str]:
        for number in range(3000):
            yield f"{number:05d}" + "x" * 200

    @wf.each(Effect.READ, many, key=lambda text: text[:5])
    async def look(step: Step[Order], text: str) -> int:
        return int(text[:5])

    @wf.step(Effect.READ)
    def total(step: Step[Order]) -> tuple[int, int, int]:
        return sum(step.output(look)), sum(1 for _ in step.output(many)), sum(1 for _ in step.output(many))

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker(slots=64):
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    run = h.get(run)
    assert run.output(total) == (sum(range(3000)), 3000, 3000)
    assert next(run.output(many)).startswith("00000x")


def test_each_item_that_was_done_is_undone(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def names_(step: Step[Order]) -> list[str]:
        return ["a", "b", "c"]

    @wf.each(Effect.CREATE, names_, key=lambda name: name, evidence="e", concurrency=1)
    def make(step: Step[Order], name: str) -> str:
        return f"made {name}"

    @make.compensate(Risk.LOW, idempotent=True)
    def unmake(step: Step[Order], name: str, made: str) -> None:
        calls.add("UNMAKE", (name, made))

    @wf.step(Effect.READ, on_failure=Then.COMPENSATE, retry=Retry(1))
    def fails(step: Step[Order]) -> None:
        raise StepFailed("no")

    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.COMPENSATED
    assert [(what[0], what[1]) for _, what in calls.made] == [("c", "made c"), ("b", "made b"), ("a", "made a")]


def test_the_items_of_several_steps_are_undone_one_step_after_the_other(harness: type[Harness]) -> None:
    """The end of one undo begins the next one, and nothing else of the run moves at that moment."""
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def names_(step: Step[Order]) -> list[str]:
        return ["a", "b"]

    @wf.each(Effect.CREATE, names_, key=str, evidence="e")
    def first(step: Step[Order], name: str) -> str:
        return name

    @first.compensate(Risk.LOW, idempotent=True)
    def unmake_first(step: Step[Order], name: str, made: str) -> None:
        calls.add("FIRST", name)

    @wf.each(Effect.CREATE, names_, key=str, evidence="e")
    def second(step: Step[Order], name: str) -> str:
        return name

    @second.compensate(Risk.LOW, idempotent=True)
    def unmake_second(step: Step[Order], name: str, made: str) -> None:
        calls.add("SECOND", name)

    @wf.step(Effect.READ, on_failure=Then.COMPENSATE, retry=Retry(1))
    def fails(step: Step[Order]) -> None:
        raise StepFailed("no")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.COMPENSATED, "both are undone")
    assert [name for name, _ in calls.made] == ["SECOND", "SECOND", "FIRST", "FIRST"]


def test_a_step_that_fails_stops_the_items_of_another_that_only_wait(harness: type[Harness]) -> None:
    """B38: none of them runs, so nothing but the failure can close them."""
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def names_(step: Step[Order]) -> list[str]:
        return ["a", "b"]

    @wf.each(Effect.READ, names_, key=str, after=[names_], retry=Retry(3, wait=timedelta(hours=1), max_wait=timedelta(hours=1)))
    def later(step: Step[Order], name: str) -> str:
        calls.add("LATER", name)
        raise RetryLater("in an hour")

    @wf.each(Effect.READ, names_, key=str, after=[names_])
    def bad(step: Step[Order], name: str) -> str:
        until(lambda: calls.count("LATER") == 2 and not running())
        raise StepFailed("no")

    def running() -> Sequence[object]:
        return h.app.store.reading.items(run.id, "LATER", 1, after=-1, limit=9, status="RUNNING")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.FAILED, "the run is decided")
    assert h.record(run, "LATER").code == "RUN_FAILED"
    assert calls.count("LATER") == 2


def test_what_cannot_work_is_refused() -> None:
    wf = flow()

    @wf.step(Effect.READ)
    def numbers(step: Step[Order]) -> list[int]:
        return [1]

    with pytest.raises(DefinitionError, match="failed_below"):
        wf.each(Effect.READ, numbers, key=str, partial_from=0.5, failed_below=0.9)
    with pytest.raises(DefinitionError, match="concurrency"):
        wf.each(Effect.READ, numbers, key=str, concurrency=0)
    with pytest.raises(DefinitionError, match="does not say what an item is"):

        @wf.each(Effect.READ, numbers, key=str)
        def untyped(step: Step[Order], number) -> int:  # type: ignore[no-untyped-def]
            return 1

    with pytest.raises(DefinitionError, match="only list what is there"):

        @wf.step(Effect.CREATE, evidence="e")
        def yields(step: Step[Order]) -> Iterator[int]:
            yield 1
