"""What an operator is told of items and child runs: what happened, what went wrong, what an order would do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from halfway import Effect, Mark, OutcomeUnknown, Retry, RetryLater, Rewind, Risk, RunStatus, Step, StepFailed, Then, Workflow
from halfway.cli import main
from halfway.domain.facts import CancelAsked, ResumeAsked, RetryAsked
from halfway.domain.plan import Again
from tests.engine.harness import Harness, Order, flow, until
from tests.engine.test_children import Batch, children, family
from tests.engine.test_children import Ledger as Books
from tests.engine.test_items import Ledger, Mails, campaign, names


def typed(h: Harness, *words: str) -> str:
    result = CliRunner().invoke(main, [*words, "--url", h.url], env={"HALFWAY_LANG": "en"})
    assert result.exit_code == 0, result.output
    return result.stdout


def step_of(h: Harness, run: Any, name: str) -> Any:
    return next(step for step in h.app.control.show(run.id).to_json()["steps"] if step["name"] == name)


def doubtful(harness: type[Harness]) -> tuple[Harness, Any]:
    """Of 6 items 3 are sent, one is refused, and of two nobody knows."""
    wf, _, _ = campaign(Ledger())
    h = harness(wf)
    run = h.start(wf, Mails(to=names(6), lost=names(2), bad=["a00004"]))
    with h.worker():
        until(lambda: h.record(run, "RECIPIENTS") is not None)
        until(lambda: (h.advance(400), h.status(run) is RunStatus.MANUAL_REQUIRED)[1], "a person is asked")
    return h, run


def test_an_effect_of_items_says_of_how_many_it_is_known(harness: type[Harness]) -> None:
    h, run = doubtful(harness)
    step = step_of(h, run, "SEND")
    assert step["effect"] == "unknown"
    assert step["items"]["effects"] == {"happened": 3, "not": 1, "unknown": 2}
    [effect] = h.app.control.show(run.id).explanation.effects
    told = "Of 6 items it happened for 3, did not happen for 1, and is not known for 2."
    assert (effect.step, effect.happened.value, str(effect.sentence)) == ("SEND", "unknown", told)
    assert f"Effects\n  ? SEND  NOTIFY  {told}\n      Look at: " in typed(h, "show", run.id)


def test_when_all_of_them_happened_the_effect_did(harness: type[Harness]) -> None:
    wf, _, _ = campaign(Ledger())
    h = harness(wf)
    run = h.run(wf, Mails(to=names(3)))
    assert step_of(h, run, "SEND")["effect"] == "happened"
    assert "  ✓ SEND  NOTIFY  It happened for all 3 items." in typed(h, "show", run.id)


@pytest.mark.parametrize(("bad", "effect", "told"), [
    (3, "not", "– SEND  NOTIFY  It happened for none of 3 items."),
    (1, "happened", "✓ SEND  NOTIFY  It happened for 2 of 3 items; for 1 it did not."),
])  # fmt: skip
def test_items_that_failed_before_their_effect_did_nothing(harness: type[Harness], bad: int, effect: str, told: str) -> None:
    wf, _, _ = campaign(Ledger())
    h = harness(wf)
    run = h.run(wf, Mails(to=names(3), bad=names(bad)))
    assert step_of(h, run, "SEND")["effect"] == effect
    assert told in typed(h, "show", run.id)


def test_items_that_went_wrong_are_named_those_in_doubt_first(harness: type[Harness]) -> None:
    h, run = doubtful(harness)
    troubled = step_of(h, run, "SEND")["items"]["troubled"]
    assert [(one["key"], one["status"], one["errorCode"]) for one in troubled] == [
        ("a00000", "UNKNOWN", "OUTCOME_UNKNOWN"), ("a00001", "UNKNOWN", "OUTCOME_UNKNOWN"), ("a00004", "FAILED", "NO_ADDRESS"),
    ]  # fmt: skip
    assert troubled[2]["errorMessage"] == "a00004 is unknown"
    told = typed(h, "show", run.id).partition("Items of SEND\n")[2].splitlines()
    assert [line.split()[:2] for line in told[:3]] == [["a00000", "UNKNOWN"], ["a00001", "UNKNOWN"], ["a00004", "FAILED"]]
    assert told[2].endswith("NO_ADDRESS a00004 is unknown")


def test_of_many_only_the_first_are_named_and_the_others_are_listed(harness: type[Harness]) -> None:
    wf, _, _ = campaign(Ledger())
    h = harness(wf)
    run = h.run(wf, Mails(to=names(14), bad=names(12)))
    assert [one["key"] for one in step_of(h, run, "SEND")["items"]["troubled"]] == names(10)
    assert f"  and 2 more: halfway items {run.id} SEND" in typed(h, "show", run.id)
    listed = json.loads(typed(h, "items", run.id, "SEND", "--status", "failed", "--limit", "11", "--json"))
    assert [one["key"] for one in listed] == names(11)
    assert listed[0]["number"] == 1
    assert (listed[0]["status"], listed[0]["attemptCount"], listed[0]["effect"]) == ("FAILED", 1, "not")
    assert [one["key"] for one in json.loads(typed(h, "items", run.id, "SEND", "--after", "11", "--json"))] == names(14)[11:]
    told = typed(h, "items", run.id, "SEND", "--after", "12").splitlines()
    assert [line.split() for line in told] == [
        ["no.", "item", "status", "attempts", "effect", "run", "error"],
        ["13", "a00012", "SUCCESS", "1", "happened"], ["14", "a00013", "SUCCESS", "1", "happened"],
    ]  # fmt: skip


def test_a_list_of_items_names_an_unknown_step(harness: type[Harness]) -> None:
    wf, _, _ = campaign(Ledger())
    h = harness(wf)
    run = h.run(wf, Mails(to=names(1)))
    refused = CliRunner().invoke(main, ["items", run.id, "SENT", "--url", h.url], env={"HALFWAY_LANG": "en"})
    assert refused.exit_code == 3
    assert "SENT" in refused.stderr
    empty = CliRunner().invoke(main, ["items", run.id, "REPORT", "--url", h.url], env={"HALFWAY_LANG": "en"})
    assert (empty.exit_code, empty.stderr) == (0, "Step REPORT has no such items.\n")


def test_the_inbox_and_the_timeline_say_of_how_many(harness: type[Harness]) -> None:
    wf, _, _ = campaign(Ledger(), partial_from=0.9, failed_below=0.3)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(4), bad=names(2)))
    assert run.status is RunStatus.MANUAL_REQUIRED
    [asked] = h.app.control.inbox()
    assert str(asked.reasons[0]).startswith("2 of 4 items of SEND failed, more than make it a success")
    assert asked.to_json()["items"]["failed"] == 2
    [line] = [entry for entry in h.app.control.show(run.id).journal if entry.name == "step.person_needed"]
    assert (line.data["total"], line.data["failed"], line.data["asking"]) == (4, 2, 0)
    assert "failed=2" in typed(h, "show", run.id, "--timeline")


def test_a_plan_names_the_items_that_run_again_and_is_confirmed(harness: type[Harness]) -> None:
    calls = Ledger()
    wf, _, _ = campaign(calls, partial_from=0.5)
    h = harness(wf)
    run = h.run(wf, Mails(to=names(6), bad=names(2)))
    assert run.status is RunStatus.PARTIAL_SUCCESS
    for order in (RetryAsked("SEND"), ResumeAsked()):
        plan = h.app.control.plan(run.id, order).plan
        assert plan.again == ("SEND",)
        assert plan.items == (Again("SEND", 2, children=False),)
    assert "  Runs again: SEND (items: 2)\n" in typed(h, "plan", run.id, "retry", "SEND")
    assert json.loads(typed(h, "plan", run.id, "retry", "SEND", "--json"))["items"] == [{"step": "SEND", "items": 2, "children": False}]
    assert "again: SEND (items: 2)" in typed(h, "show", run.id)
    calls.mended = True
    plan = h.app.control.plan(run.id, RetryAsked("SEND")).plan
    h.app.control.retry(run.id, "SEND", actor="kim", reason="mended", plan=plan.hash)
    assert h.drain(run).status is RunStatus.SUCCESS


def test_a_plan_of_a_settlement_says_how_many_items_run_again(harness: type[Harness]) -> None:
    h, run = doubtful(harness)
    plan = h.app.control.plan(run.id, RetryAsked("SEND", not_happened=True)).plan
    assert plan.items == (Again("SEND", 2, children=False),)
    with h.worker():
        h.app.control.retry(run.id, "SEND", actor="kim", reason="no", not_happened=True, evidence="the log", plan=plan.hash)


def test_a_plan_about_the_whole_run_is_confirmed_while_one_of_its_items_is_in_doubt(harness: type[Harness]) -> None:
    """Whoever carries it out does not read the items, and finds the same plan."""
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def names_(step: Step[Order]) -> list[str]:
        return ["lost", "later"]

    @wf.each(Effect.NOTIFY, names_, key=str, evidence="e", approver="mailers", retry=Retry(2))
    def send(step: Step[Order], name: str) -> str:
        if name == "later":
            raise RetryLater("next year", after=timedelta(days=300))
        raise OutcomeUnknown("no answer")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.record(run, "NAMES_") is not None)
        until(lambda: (h.advance(400), (items := h.app.control.show(run.id).steps[1].items) and items.asking)[1], "one is in doubt")
    plan = h.app.control.plan(run.id, CancelAsked()).plan
    h.app.control.cancel(run.id, actor="kim", reason="stop", plan=plan.hash)


# ── child runs ──


def test_a_plan_names_the_children_that_are_resumed(harness: type[Harness]) -> None:
    calls = Books()
    calls.bad = {0}
    parent, batch, _, _ = family(calls, 3)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="a"))
    assert run.status is RunStatus.FAILED
    plan = h.app.control.plan(run.id, ResumeAsked()).plan
    assert plan.items == (Again("BATCHES", 1, children=True),)
    assert "  Runs again: BATCHES (runs: 1)\n" in typed(h, "plan", run.id, "resume")
    [bad] = [child for child in children(h, run) if child.status is RunStatus.FAILED]
    [listed] = json.loads(typed(h, "items", run.id, "BATCHES", "--status", "FAILED", "--json"))
    assert (listed["workflowRunId"], listed["errorCode"], listed["effect"]) == (bad.id, "CHILD_FAILED", None)
    assert f"FAILED  {bad.id}  CHILD_FAILED" in typed(h, "show", run.id)
    h.app.control.resume(run.id, actor="kim", reason="mended", plan=plan.hash)


def test_what_children_did_is_undone_as_their_own_steps_say(harness: type[Harness]) -> None:
    parent, batch, _, _ = family(Books(), 2)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="fails"))
    assert step_of(h, run, "BATCHES")["effect"] == "happened"
    told = typed(h, "plan", run.id, "compensate")
    assert "    BATCHES: its runs are asked to undo what they did, as their own steps say\n" in told
    assert "risk" not in told


def test_nothing_is_offered_to_be_undone_where_no_child_did_anything(harness: type[Harness]) -> None:
    parent, batch = flow("PARENT", key=False), Workflow("BATCH", Batch, version=1, owner="o", key=None)

    @batch.step(Effect.READ, retry=Retry(9, wait=timedelta(hours=1), max_wait=timedelta(hours=1)))
    def look(step: Step[Batch]) -> int:
        raise RetryLater("in an hour")

    @batch.step(Effect.CREATE, evidence="e")
    def make(step: Step[Batch]) -> int:
        return 1

    @parent.children(batch)
    def batches(step: Step[Order]) -> Iterator[Batch]:
        yield Batch(number=1)

    h = harness(parent, batch)
    run = h.start(parent, Order())
    with h.worker():
        until(lambda: any(record.code == "RETRY_LATER" for record in looks(h)), "the child waits")
        h.app.control.cancel(run.id, actor="kim", reason="stop")
        until(lambda: h.status(run) is RunStatus.CANCELLED)
    assert step_of(h, run, "BATCHES")["effect"] == "not"
    assert "halfway compensate" not in typed(h, "show", run.id)


def looks(h: Harness) -> list[Any]:
    runs = h.app.store.reading.runs(type="BATCH")
    return [record for row in runs for record in row.records]


def test_what_a_child_did_is_offered_to_be_undone(harness: type[Harness]) -> None:
    parent, batch, _, _ = family(Books(), 1)
    h = harness(parent, batch)
    run = h.run(parent, Order(id="fails"))
    assert f"halfway compensate {run.id}" in typed(h, "show", run.id)


def test_an_undo_that_waits_for_runs_that_wait_for_a_person_says_so(harness: type[Harness]) -> None:
    batch, parent = Workflow("BATCH", Batch, version=1, owner="o", key=None), flow("PARENT", key=False)

    @batch.step(Effect.CREATE, evidence="e")
    def work(step: Step[Batch]) -> str:
        return "worked"

    @work.compensate(Risk.LOW, evidence="the ledger", retry=Retry(1))
    def unwork(step: Step[Batch], done: str, mark: Mark) -> None:
        with mark:
            raise OutcomeUnknown("no answer")

    @parent.children(batch)
    def batches(step: Step[Order]) -> Iterator[Batch]:
        yield Batch(number=1)

    @parent.step(Effect.READ, on_failure=Then.COMPENSATE, retry=Retry(1))
    def fails(step: Step[Order]) -> None:
        raise StepFailed("no")

    h = harness(parent, batch)
    run = h.start(parent, Order())
    with h.worker():
        until(lambda: (h.advance(400), [one.status for one in children(h, run)] == [RunStatus.MANUAL_REQUIRED])[1], "the child asks")
    assert h.status(run) is RunStatus.COMPENSATING
    [child] = children(h, run)
    with h.worker():
        told = typed(h, "show", run.id)
    assert f"The undo of BATCHES waits for runs at which a person must decide: {child.id}." in told
    assert f"Look at the run {child.id}: BATCHES waits for it, and a person must decide there." in told
    assert f"      halfway show {child.id}\n" in told
    assert "Nothing: it goes on by itself" not in told
    assert "are on their way" not in told


def test_a_parent_that_waits_for_a_run_that_waits_for_a_person_says_so(harness: type[Harness]) -> None:
    batch, parent = Workflow("BATCH", Batch, version=1, owner="o", key=None), flow("PARENT", key=False)

    @batch.step(Effect.READ, retry=Retry(1), on_failure=Then.MANUAL)
    def work(step: Step[Batch]) -> str:
        raise StepFailed("no")

    @parent.children(batch)
    def batches(step: Step[Order]) -> Iterator[Batch]:
        yield Batch(number=1)

    h = harness(parent, batch)
    run = h.start(parent, Order())
    with h.worker():
        until(lambda: [one.status for one in children(h, run)] == [RunStatus.MANUAL_REQUIRED], "the child asks")
        told = typed(h, "show", run.id)
    [child] = children(h, run)
    assert f"Step BATCHES waits for runs at which a person must decide: {child.id}." in told
    assert f"      halfway show {child.id}\n" in told
    assert "Nothing: it goes on by itself" not in told


# ── undo of items ──


def test_an_undo_of_items_says_how_far_it_is_and_what_went_wrong(harness: type[Harness]) -> None:
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def names_(step: Step[Order]) -> list[str]:
        return ["a", "b", "c"]

    @wf.each(Effect.CREATE, names_, key=str, evidence="e", concurrency=1)
    def make(step: Step[Order], name: str) -> str:
        return name

    @make.compensate(Risk.LOW, evidence="the shelf", retry=Retry(1))
    def unmake(step: Step[Order], name: str, made: str) -> None:
        if name == "b":
            raise StepFailed("it is locked", code="LOCKED")
        if name == "a":
            raise OutcomeUnknown("no answer")

    @wf.step(Effect.READ, on_failure=Then.COMPENSATE, retry=Retry(1))
    def fails(step: Step[Order]) -> None:
        raise StepFailed("no")

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: (h.advance(400), h.status(run) is RunStatus.MANUAL_REQUIRED)[1], "a person is asked")
    told = typed(h, "show", run.id)
    assert "Nobody knows whether 2 of its items were undone. owner decides." in told
    assert "Nobody knows whether 2 items of MAKE were undone, and a machine must not repeat that. owner decides." in told
    lines = told.partition("Undo of the items of MAKE\n")[2].splitlines()
    assert [line.split()[:3] for line in lines[:2]] == [["b", "UNKNOWN", "LOCKED"], ["a", "UNKNOWN", "OUTCOME_UNKNOWN"]]
    assert [(one["kind"], one["number"]) for one in step_of(h, run, "MAKE")["undoItems"]["troubled"]] == [
        ("COMPENSATION", 2), ("COMPENSATION", 1),
    ]  # fmt: skip


# ── the timeline ──


def test_a_timeline_tells_rounds_apart_and_times_as_times(harness: type[Harness]) -> None:
    wf, tries = flow(key=False), []

    @wf.step(Effect.READ)
    def first(step: Step[Order]) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise RetryLater("soon", after=timedelta(seconds=1))
        return 1

    @wf.step(Effect.READ, retry=Retry(1), rewind=Rewind(to=first, on=StepFailed, max=2))
    def second(step: Step[Order]) -> int:
        if step.round == 1:
            raise StepFailed("once more")
        return 2

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: (h.advance(5), h.status(run) is RunStatus.SUCCESS)[1], "it is through")
    told = typed(h, "show", run.id, "--timeline").partition("Timeline\n")[2].partition("\n\n")[0]
    assert "FIRST (round 2)" in told
    assert "SECOND (round 2)" in told
    assert "(round 1)" not in told
    [line] = [line for line in told.splitlines() if "step.retry_scheduled" in line]
    assert " at=20" in line
    assert line.endswith("Z")
    rounds = {(entry["step"], entry["round"]) for entry in h.app.control.show(run.id).to_json()["timeline"] if entry["step"]}
    assert rounds == {("FIRST", 1), ("FIRST", 2), ("SECOND", 1), ("SECOND", 2)}
