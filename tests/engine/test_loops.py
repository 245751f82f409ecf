"""R-E3: bounded loops; each round with its own records, keys, outputs and compensations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from halfway import Absent, Effect, Event, Found, Mark, Retry, Rewind, Risk, RunStatus, Step, StepFailed, Then
from halfway.domain.run import Kind, Record
from halfway.errors import DefinitionError, Rejected
from tests.engine.harness import Calls, Harness, Order, flow, until


class InvalidOutput(StepFailed):
    """The text is no report."""


def records(h: Harness, run: Any, step: str, kind: Kind = Kind.STEP) -> list[Record]:
    found = [one.record for one in h.app.store.reading.detail(run.id).records]
    return sorted((one for one in found if one.key.step == step and one.key.kind is kind), key=lambda one: one.key.round)


def report(calls: Calls, *, good_from: int, max: int = 2, then: Any = Then.MANUAL) -> Any:
    """GENERATE until VALIDATE likes it, then SAVE."""
    wf = flow(key=False)

    @wf.step(Effect.READ)
    def context(step: Step[Order]) -> int:
        return calls.add("CONTEXT")

    @wf.step(Effect.READ)
    def generate(step: Step[Order]) -> str:
        n = calls.add("GENERATE", None if step.cause is None else (step.cause.step, step.cause.code, step.cause.message))
        assert step.round == n
        return f"report {n} of context {step.output(context)}"

    @wf.step(Effect.READ, rewind=Rewind(to=generate, on=InvalidOutput, max=max, then=then))
    def validate(step: Step[Order]) -> str:
        n = calls.add("VALIDATE")
        if n < good_from:
            raise InvalidOutput(f"number {n} is bad")
        return f"{step.output(generate)} is good"

    @wf.step(Effect.READ)
    def save(step: Step[Order]) -> str:
        assert step.cause is None
        return f"saved: {step.output(generate)}"

    return wf, validate, save


def test_a_loop_goes_back_until_its_end_is_reached(harness: type[Harness]) -> None:
    calls = Calls()
    wf, validate, save = report(calls, good_from=3)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert run.output(save) == "saved: report 3 of context 1"
    assert run.output(validate) == "report 3 of context 1 is good"
    assert [what for name, what in calls.made if name == "GENERATE"] == [
        None,
        ("VALIDATE", "INVALID_OUTPUT", "number 1 is bad"),
        ("VALIDATE", "INVALID_OUTPUT", "number 2 is bad"),
    ]
    assert [(one.key.round, one.status.value) for one in records(h, run, "VALIDATE")] == [(1, "FAILED"), (2, "FAILED"), (3, "SUCCESS")]
    shown = {step.name: step for step in h.app.control.show(run.id).steps}["GENERATE"]
    assert shown.round == 3
    assert [(one.round, one.output) for one in shown.rounds] == [(1, "report 1 of context 1"), (2, "report 2 of context 1")]
    assert h.journal(run).count("workflow.rewound") == 2


@pytest.mark.parametrize(("then", "status"), [(Then.MANUAL, RunStatus.MANUAL_REQUIRED), (Then.FAIL, RunStatus.FAILED)])
def test_when_all_rounds_are_used_up_the_loop_says_what_follows(harness: type[Harness], then: Any, status: RunStatus) -> None:
    calls = Calls()
    wf, _, _ = report(calls, good_from=99, then=then)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is status
    assert len([name for name, _ in calls.made if name == "GENERATE"]) == 3
    assert h.app.control.show(run.id).explanation.reasons[0].code == ("ROUNDS_SPENT_ASKS" if then is Then.MANUAL else "ROUNDS_SPENT")


def test_a_person_can_give_another_round(harness: type[Harness]) -> None:
    calls = Calls()
    wf, _, save = report(calls, good_from=4)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.MANUAL_REQUIRED
    h.app.control.retry(run.id, "VALIDATE", actor="kim", reason="once more")
    run = h.drain(run)
    assert run.status is RunStatus.SUCCESS
    assert run.output(save) == "saved: report 4 of context 1"


def test_another_failure_does_not_go_back(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def generate(step: Step[Order]) -> int:
        return calls.add("GENERATE")

    class Other(StepFailed):
        """Something else."""

    @wf.step(Effect.READ, rewind=Rewind(to=generate, on=InvalidOutput, max=2))
    def validate(step: Step[Order]) -> int:
        raise Other("broken")

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.FAILED
    assert len(calls.made) == 1


def test_an_exception_made_from_the_named_one_goes_back_too(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def generate(step: Step[Order]) -> int:
        return calls.add("GENERATE")

    class NoHeadings(InvalidOutput):
        """It has no headings."""

    @wf.step(Effect.READ, rewind=Rewind(to=generate, on=InvalidOutput, max=2))
    def validate(step: Step[Order]) -> int:
        if step.output(generate) == 1:
            raise NoHeadings("none")
        return 1

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert len(calls.made) == 2


def fixing(calls: Calls, red: int) -> Any:
    """FIX runs from the second round on; TEST is red so often."""
    wf = flow(key=False)

    @wf.step(Effect.CREATE, evidence="the tree")
    def modify(step: Step[Order]) -> str:
        return step.key

    @wf.when(lambda step: step.cause is not None).step(Effect.CREATE, evidence="the tree", per_round=True)
    def fix(step: Step[Order]) -> str:
        assert step.cause is not None
        calls.add("FIX", step.key)
        return f"fixed {step.cause.message}"

    @fix.compensate(Risk.LOW, idempotent=True)
    def unfix(step: Step[Order], done: str) -> None:
        calls.add("UNFIX", (step.key, done))

    @wf.step(Effect.READ, rewind=Rewind(to=fix, on=InvalidOutput, max=3))
    def test(step: Step[Order]) -> str:
        if (n := calls.add("TEST")) <= red:
            raise InvalidOutput(f"{n} red")
        return "green"

    @wf.step(Effect.READ, on_failure=Then.COMPENSATE, retry=Retry(1))
    def last(step: Step[Order]) -> str:
        if step.input.id == "bad":
            raise StepFailed("no")
        return step.output(test)

    return wf


def test_fix_and_test_go_round_until_the_tests_are_green(harness: type[Harness]) -> None:
    """R-E3: TEST → FIX → TEST; each round of FIX has a key of its own."""
    calls = Calls()
    wf = fixing(calls, red=2)
    h = harness(wf)
    run = h.run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert [name for name, _ in calls.made] == ["TEST", "FIX", "TEST", "FIX", "TEST"]
    assert [what for name, what in calls.made if name == "FIX"] == [f"{run.id}:FIX:2:", f"{run.id}:FIX:3:"]
    assert [one.status.value for one in records(h, run, "FIX")] == ["SKIPPED", "SUCCESS", "SUCCESS"]


def test_each_round_is_undone_with_what_it_gave_the_last_one_first(harness: type[Harness]) -> None:
    calls = Calls()
    wf = fixing(calls, red=2)
    wf_modify = wf  # MODIFY has no undo: a person is asked about it at the end
    h = harness(wf_modify)
    run = h.start(wf, Order(id="bad"))
    with h.worker():
        until(lambda: h.status(run) is RunStatus.MANUAL_REQUIRED)
    undone = [what for name, what in calls.made if name == "UNFIX"]
    assert undone == [(f"{run.id}:FIX:3::undo", "fixed 2 red"), (f"{run.id}:FIX:2::undo", "fixed 1 red")]
    effects = [(effect.step, effect.undo) for effect in h.app.control.show(run.id).explanation.effects if effect.step.startswith("FIX")]
    assert effects == [("FIX#2", "COMPENSATED"), ("FIX", "COMPENSATED")]


def test_what_is_done_once_is_kept_in_every_round(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.CREATE, evidence="the list", once=True)
    def order(step: Step[Order]) -> str:
        return f"order {calls.add('ORDER')}"

    @wf.step(Effect.READ)
    def generate(step: Step[Order]) -> str:
        return f"{step.output(order)}, text {calls.add('GENERATE')}"

    @wf.step(Effect.READ, rewind=Rewind(to=order, max=2))
    def validate(step: Step[Order]) -> str:
        if calls.add("VALIDATE") < 3:
            raise InvalidOutput("bad")
        return step.output(generate)

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.SUCCESS
    assert run.output(validate) == "order 1, text 3"


def test_a_rejected_approval_makes_a_rework_loop(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def write(step: Step[Order]) -> str:
        return f"text {calls.add('WRITE', None if step.cause is None else step.cause.code)}"

    @wf.approval("boss", expires=timedelta(days=1), on_expiry=Then.CANCEL, rewind=Rewind(to=write, on=Rejected, max=2))
    def agree(step: Step[Order]) -> str:
        return step.output(write)

    @wf.step(Effect.READ)
    def publish(step: Step[Order]) -> str:
        return step.output(write)

    h = harness(wf)
    run = h.start(wf, Order())
    with h.worker():
        until(lambda: h.status(run) is RunStatus.WAITING)
        h.app.control.reject(run.id, "AGREE", actor="kim", reason="too long")
        until(lambda: len(calls.made) == 2 and h.status(run) is RunStatus.WAITING)
        h.app.control.approve(run.id, "AGREE", actor="kim", reason="good")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert [what for _, what in calls.made] == [None, "REJECTED"]
    assert h.get(run).output(publish) == "text 2"


def test_a_wait_in_a_loop_takes_a_new_event_in_each_round(harness: type[Harness]) -> None:
    calls, wf, answer = Calls(), flow(key=False), Event("ANSWER", str)

    @wf.wait_for(answer, timeout=timedelta(days=1), on_timeout=Then.MANUAL, per_round=True)
    def hear(step: Step[Order]) -> str:
        return step.input.id

    @wf.step(Effect.READ, rewind=Rewind(to=hear, on=InvalidOutput, max=5))
    def judge(step: Step[Order]) -> str:
        calls.add("JUDGE", step.output(hear))
        if step.output(hear) != "yes":
            raise InvalidOutput("not yes")
        return "judged"

    h = harness(wf)
    run = h.start(wf, Order(id="k"))
    with h.worker():
        h.app.send(answer, "no", key="k", id="1")
        until(lambda: len(calls.made) == 1 and h.status(run) is RunStatus.WAITING)
        h.app.send(answer, "yes", key="k", id="2")
        until(lambda: h.status(run) is RunStatus.SUCCESS)
    assert [what for _, what in calls.made] == ["no", "yes"]


def test_a_loop_inside_a_loop_counts_its_own_rounds(harness: type[Harness]) -> None:
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def plan(step: Step[Order]) -> int:
        return calls.add("PLAN")

    @wf.step(Effect.READ)
    def draft(step: Step[Order]) -> int:
        return calls.add("DRAFT")

    @wf.step(Effect.READ, rewind=Rewind(to=draft, on=InvalidOutput, max=1))
    def lint(step: Step[Order]) -> int:
        if (n := calls.add("LINT")) in (1, 3):
            raise InvalidOutput("untidy")
        return n

    @wf.step(Effect.READ, rewind=Rewind(to=plan, on=InvalidOutput, max=2))
    def review(step: Step[Order]) -> int:
        if (n := calls.add("REVIEW")) == 1:
            raise InvalidOutput("wrong")
        return n

    run = harness(wf).run(wf, Order())
    assert run.status is RunStatus.MANUAL_REQUIRED  # the inner loop has one round in all, and needed two
    assert [name for name, _ in calls.made].count("PLAN") == 2


def test_a_loop_survives_that_its_worker_stops_between_rounds(harness: type[Harness]) -> None:
    """What a later round reads comes from the database, not from the memory of a worker."""
    calls = Calls()
    wf, _, save = report(calls, good_from=3)
    h = harness(wf)
    run = h.start(wf, Order())
    for _ in range(20):
        if h.status(run) is RunStatus.SUCCESS:
            break
        with h.worker():
            before = len(calls.made)
            until(lambda before=before: len(calls.made) > before or h.status(run) is RunStatus.SUCCESS)
    run = h.drain(run)
    assert run.output(save) == "saved: report 3 of context 1"
    assert [what for name, what in calls.made if name == "GENERATE"][2] == ("VALIDATE", "INVALID_OUTPUT", "number 2 is bad")


def test_loops_that_cannot_work_are_refused() -> None:
    def base() -> Any:
        wf = flow()

        @wf.step(Effect.READ)
        def first(step: Step[Order]) -> int:
            return 1

        return wf, first

    wf, first = base()

    @wf.step(Effect.CREATE, evidence="e")
    def act(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ, rewind=Rewind(to=first, max=1))
    def last(step: Step[Order]) -> int:
        return 1

    with pytest.raises(DefinitionError, match="does not say what a second round means"):
        _ = wf.spec

    wf, first = base()

    @wf.step(Effect.READ)
    def middle(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ, rewind=Rewind(to=first, max=1))
    def end(step: Step[Order]) -> int:
        return 1

    @wf.step(Effect.READ, after=[middle])
    def outside(step: Step[Order]) -> int:
        return 1

    with pytest.raises(DefinitionError, match="in the middle of the loop"):
        _ = wf.spec

    wf, first = base()

    @wf.step(Effect.CREATE, evidence="e", per_round=True)
    def alone(step: Step[Order]) -> int:
        return 1

    with pytest.raises(DefinitionError, match="stands in no loop"):
        _ = wf.spec
    with pytest.raises(DefinitionError, match="max is 0"):
        Rewind(to=first, max=0)
    with pytest.raises(DefinitionError, match="on is"):
        Rewind(to=first, max=1, on=ValueError)  # type: ignore[arg-type]


def test_a_failure_that_goes_back_is_not_forgotten_while_an_earlier_attempt_is_in_doubt(harness: type[Harness]) -> None:
    """The first answer is lost, the second says that it goes back: the doubt is settled first, and then the run goes back."""
    calls, wf = Calls(), flow(key=False)

    @wf.step(Effect.READ)
    def fix(step: Step[Order]) -> int:
        return calls.add("FIX")

    back = Rewind(to=fix, on=InvalidOutput, max=2)

    @wf.step(Effect.CHANGE, idempotent=True, evidence="the check", per_round=True, rewind=back, retry=Retry(2, wait=timedelta(0)))
    def check(step: Step[Order], mark: Mark) -> str:
        with mark:
            n = calls.add("CHECK")
            if n == 1:
                raise ConnectionError("the answer is lost")
        if n == 2:
            raise InvalidOutput("it is red")
        return "green"

    @check.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[str] | Absent:
        return Absent()

    h = harness(wf)
    run = h.run(wf, Order())
    assert (run.status, run.output(check)) == (RunStatus.SUCCESS, "green")
    assert calls.count("FIX") == 2
    assert [(one.key.round, one.status.value) for one in records(h, run, "CHECK")] == [(1, "FAILED"), (2, "SUCCESS")]
    assert h.journal(run).count("workflow.rewound") == 1
