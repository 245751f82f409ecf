"""B34: a definition is changed while runs of it wait; no run takes a result that belongs to another step, and none goes on unasked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Mark, Retry, Rewind, Run, RunStatus, Step, StepFailed, Then, Workflow
from halfway.domain.versions import Gap, Standing
from halfway.errors import Conflict
from halfway.testing import Ledger
from tests.engine.harness import Harness, Order, until
from tests.engine.recovery import DAY, PAID, audits, pay, reach, work
from tests.faults.checks import all_is_well

SAW = "the ledger"
ONCE = Retry(1)


class Bigger(BaseModel):
    """The input with one parameter more."""

    id: str = "o1"
    size: int = 1


class Broken(StepFailed):
    """What sends the run back."""


def flow(version: int, input: type[Any] = Order) -> Workflow[Any]:
    return Workflow("SHOP", input, version=version, owner="owner", key=lambda order: order.id)


@dataclass
class Shop:
    """One version, with the steps by name."""

    wf: Workflow[Any]
    steps: dict[str, Any]


class Shops:
    """a → b → wait → c, and what may become of it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.healthy = True
        self.reads = True

    def _create(self, shop: Shop, name: str, *, after: Any = None) -> None:
        options: dict[str, Any] = {} if after is None else {"after": after}

        @shop.wf.step(Effect.CREATE, evidence=SAW, name=name, retry=ONCE, **options)
        def create(step: Step[Any]) -> str:
            self.ledger.write(name, run=step.run_id)
            return f"{name} of {step.input.id}"

        shop.steps[name] = create

    def _wait(self, shop: Shop) -> None:
        @shop.wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL, name="WAIT")
        def wait(step: Step[Any]) -> str:
            return str(step.input.id)

        shop.steps["WAIT"] = wait

    def _last(self, shop: Shop, name: str = "C") -> None:
        if self.reads and shop.steps.keys() & {"B", "BB"}:
            self._last_that_reads(shop, name, shop.steps.get("B") or shop.steps["BB"])
            return

        @shop.wf.step(Effect.CREATE, evidence=SAW, name=name, retry=ONCE)
        def last(step: Step[Any], mark: Mark) -> str:
            if not self.healthy:
                raise StepFailed("not yet")
            with mark:
                self.ledger.write(name, run=step.run_id)
            return f"{name} of {step.input.id}"

        shop.steps[name] = last

    def _last_that_reads(self, shop: Shop, name: str, b: Any) -> None:
        @shop.wf.step(Effect.CREATE, evidence=SAW, name=name, retry=ONCE)
        def last(step: Step[Any], mark: Mark) -> str:
            got = str(step.output(b))
            if not self.healthy:
                raise StepFailed("not yet")
            with mark:
                self.ledger.write(name, run=step.run_id, got=got)
            return f"{name} of {step.input.id}"

        shop.steps[name] = last

    def _line(self, version: int, *names: str, input: type[Any] = Order) -> Shop:
        shop = Shop(flow(version, input), {})
        for name in names:
            if name == "WAIT":
                self._wait(shop)
            elif name == names[-1]:
                self._last(shop, name)
            else:
                self._create(shop, name)
        return shop

    def first(self) -> Shop:
        return self._line(1, "A", "B", "WAIT", "C")

    def renamed(self, version: int) -> Shop:
        return self._line(version, "A", "BB", "WAIT", "C")

    def removed(self, version: int) -> Shop:
        return self._line(version, "A", "WAIT", "C")

    def new_before_b(self, version: int) -> Shop:
        return self._line(version, "A", "N", "B", "WAIT", "C")

    def swapped(self, version: int) -> Shop:
        return self._line(version, "A", "C", "WAIT", "B")

    def parameter(self, version: int) -> Shop:
        return self._line(version, "A", "B", "WAIT", "C", input=Bigger)

    def child(self, version: int) -> Shop:
        """b starts runs of another workflow now."""
        shop = Shop(flow(version), {})
        self._create(shop, "A")
        other = Workflow("OTHER", Order, version=1, owner="owner", key=lambda order: f"child {order.id}")

        @other.step(Effect.CREATE, evidence=SAW)
        def make(step: Step[Order]) -> str:
            self.ledger.write("CHILD", run=step.run_id)
            return "made"

        @shop.wf.children(other, name="B")
        def b(step: Step[Any]) -> list[Order]:
            return [Order(id=str(step.input.id))]

        shop.steps |= {"B": b, "other": other}
        self._wait(shop)
        self._last(shop)
        return shop


def app_of(shop: Shop) -> list[Workflow[Any]]:
    return [shop.wf, *(one for one in shop.steps.values() if isinstance(one, Workflow))]


@pytest.fixture
def shops(ledger: Ledger) -> Shops:
    return Shops(ledger)


def parked(harness: Callable[..., Harness], shop: Shop) -> tuple[Harness, Run[Any]]:
    """A run of the first version that waits; nobody works on it any more."""
    h = harness(shop.wf)
    run = work(h, h.start(shop.wf, Order()), RunStatus.WAITING)
    h.close()
    return h, run


def result(h: Harness, run: Run[Any], name: str) -> str | None:
    details = h.app.store.reading.detail(run.id).records
    return next((one.output for one in details if one.record.key.step == name and one.record.key.kind == "STEP"), None)


def standing(h: Harness, run: Run[Any]) -> Any:
    return next(group for group in h.app.control.impact() if run.id in group.runs)


# ── the same version number, another definition: a run keeps the one that it began with ──


CHANGES = ["renamed", "removed", "new_before_b", "swapped", "child"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_goes_on_with_the_definition_it_began_with(harness: type[Harness], shops: Shops, change: str) -> None:
    """B34: b renamed, b removed, a new step before b, b and c swapped, b turned into a child; c needs nothing of all that."""
    shops.reads = False
    _, run = parked(harness, shops.first())
    h = harness(*app_of(getattr(shops, change)(1)))
    assert standing(h, run).affected.standing is Standing.COMPATIBLE
    pay(h, "o1")
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
    assert shops.ledger.tally() == {"A": 1, "B": 1, "C": 1}
    assert result(h, run, "C") == '"C of o1"'
    assert h.app.store.reading.detail(run.id).run.version == 1
    all_is_well(h, run)


@pytest.mark.parametrize("change", CHANGES)
def test_a_step_never_reads_what_its_run_does_not_have(harness: type[Harness], shops: Shops, change: str) -> None:
    """B34: the same, and c reads b: it runs only where b is still what it was."""
    _, run = parked(harness, shops.first())
    h = harness(*app_of(getattr(shops, change)(1)))
    same = change == "new_before_b"
    found = standing(h, run).affected
    assert found.standing is (Standing.COMPATIBLE if same else Standing.BLOCKED)
    assert [(one.step, [told.gap for told in one.differences]) for one in found.lacking] == ([] if same else [("C", [Gap.READS])])
    pay(h, "o1")
    with h.worker():
        until(lambda: h.status(run) is RunStatus.SUCCESS if same else h.record(run, "C") is not None)
    assert shops.ledger.tally() == {"A": 1, "B": 1, **({"C": 1} if same else {})}
    assert len(h.attempts(run, "C")) == (1 if same else 0)
    all_is_well(h, run)


@pytest.mark.parametrize(("change", "gap"), [("parameter", Gap.INPUT), ("deleted", Gap.NO_WORKFLOW)])
def test_a_run_whose_code_is_gone_stands_and_says_so(harness: type[Harness], shops: Shops, change: str, gap: Gap) -> None:
    """B34: a parameter added, the workflow deleted."""
    _, run = parked(harness, shops.first())
    other = Workflow("ANOTHER", Order, version=1, owner="owner", key=None)

    @other.step(Effect.READ)
    def look(step: Step[Order]) -> int:
        return 1

    h = harness(shops.parameter(1).wf if change == "parameter" else other)
    pay(h, "o1")
    with h.worker():
        until(lambda: h.record(run, "C") is not None and h.record(run, "C").ready_at is not None)
    assert h.attempts(run, "C") == ()
    assert shops.ledger.tally() == {"A": 1, "B": 1}
    found = standing(h, run).affected
    assert found.standing is Standing.BLOCKED
    assert [(one.step, [told.gap for told in one.differences]) for one in found.lacking] == [("C", [gap])]
    all_is_well(h, run)


def failed(harness: Callable[..., Harness], shops: Shops, shop: Shop) -> Run[Any]:
    """A run of the first version whose last step has failed."""
    _, run = parked(harness, shop)
    shops.healthy = False
    h = harness(shop.wf)
    pay(h, "o1")
    work(h, run, RunStatus.FAILED)
    h.close()
    shops.healthy = True
    return run


@pytest.mark.parametrize("order", ["retry", "resume"])
@pytest.mark.parametrize("change", ["new_before_b", "renamed"])
def test_a_failed_run_is_tried_again_with_its_own_definition(harness: type[Harness], shops: Shops, change: str, order: str) -> None:
    """B34: retry a FAILED run after the deploy; where the code of its step is gone, it stands until that is back."""
    first = shops.first()
    run = failed(harness, shops, first)
    h = harness(getattr(shops, change)(1).wf)
    if order == "retry":
        h.app.control.retry(run.id, "C", actor="kim", reason="again")
    else:
        h.app.control.resume(run.id, actor="kim", reason="again")
    with h.worker():
        until(lambda: h.status(run) is (RunStatus.SUCCESS if change == "new_before_b" else RunStatus.RUNNING))
    if change == "renamed":
        assert len(h.attempts(run, "C")) == 1
        h.close()
        h = harness(shops.first().wf)
        work(h, run, RunStatus.SUCCESS)
    assert shops.ledger.tally() == {"A": 1, "B": 1, "C": 1}
    all_is_well(h, run, orders=1)


def test_a_loop_has_as_many_rounds_as_when_the_run_began(harness: type[Harness], ledger: Ledger) -> None:
    """B34: the count of a loop changed."""

    def looping(rounds: int) -> Workflow[Any]:
        wf = flow(1)

        @wf.step(Effect.READ)
        def a(step: Step[Any]) -> int:
            ledger.write("A")
            return 1

        @wf.wait_for(PAID, timeout=DAY, on_timeout=Then.FAIL)
        def wait(step: Step[Any]) -> str:
            return str(step.input.id)

        @wf.step(Effect.READ)
        def b(step: Step[Any]) -> int:
            ledger.write("B", round=step.round)
            return step.round

        @wf.step(Effect.READ, retry=ONCE, rewind=Rewind(to=b, on=Broken, max=rounds, then=Then.FAIL))
        def c(step: Step[Any]) -> int:
            raise Broken("no good")

        return wf

    first, later = looping(1), looping(4)
    h, run = parked(harness, Shop(first, {}))
    h = harness(later)
    pay(h, "o1")
    with h.worker():
        reach(h, run, RunStatus.FAILED)
    assert ledger.tally() == {"A": 1, "B": 2}
    assert h.app.store.reading.detail(run.id).run.hash == first.spec.hash
    all_is_well(h, run)


# ── an operator moves it ──


def second(shops: Shops, change: str, old: Shop) -> Shop:
    """The second version, which takes over runs of the first."""
    new = getattr(shops, change)(2)
    at: dict[str, dict[Any, Any]] = {
        "renamed": {"B": "BB"}, "removed": {"B": None}, "new_before_b": {}, "swapped": {}, "parameter": {}, "child": {"B": None},
    }  # fmt: skip
    pairs: dict[Any, Any] = {old.steps[name]: None if now is None else new.steps[now] for name, now in at[change].items()}

    @new.wf.takes_over(old.wf, at=pairs)
    def carry(former: Order) -> Any:
        return Bigger(id=former.id, size=7) if change == "parameter" else former

    return new


@pytest.mark.parametrize(
    ("change", "once"),
    [
        ("renamed", {"A": 1, "B": 1, "C": 1}),
        ("removed", {"A": 1, "B": 1, "C": 1}),
        ("new_before_b", {"A": 1, "B": 1, "N": 1, "C": 1}),
        ("swapped", {"A": 1, "B": 1, "C": 1}),
        ("parameter", {"A": 1, "B": 1, "C": 1}),
        ("child", {"A": 1, "B": 1, "CHILD": 1, "C": 1}),
    ],
)
def test_an_operator_moves_a_waiting_run(harness: type[Harness], shops: Shops, change: str, once: dict[str, int]) -> None:
    """B34: what is done is kept, what is ahead is what the second version says, and it is in the audit log."""
    old = shops.first()
    _, run = parked(harness, old)
    new = second(shops, change, old)
    h = harness(*app_of(new))
    plan = h.app.control.plan_move(run.id)
    assert plan.move.problems == ()
    h.app.control.move(run.id, actor="kim", reason="v2 is out", plan=plan.move.hash)
    row = h.app.store.reading.detail(run.id).run
    assert (row.version, row.hash) == (2, new.wf.spec.hash)
    pay(h, "o1")
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
    assert shops.ledger.tally() == once
    assert audits(h, run) == [("kim", "move")]
    assert "workflow.moved" in h.journal(run)
    assert [one.record.key.step for one in h.app.store.reading.detail(run.id).records if "@" in one.record.key.step] == []
    all_is_well(h, run, orders=1)


def test_nothing_is_moved_that_the_second_version_does_not_speak_of(harness: type[Harness], shops: Shops) -> None:
    """B34: b has happened; without a word about it, it must not be done again under another name."""
    old = shops.first()
    _, run = parked(harness, old)
    new = shops.renamed(2)

    @new.wf.takes_over(old.wf)
    def carry(former: Order) -> Order:
        return former

    h = harness(new.wf)
    before = h.app.store.reading.detail(run.id).run
    with pytest.raises(Conflict, match="Step B has happened"):
        h.app.control.move(run.id, actor="kim", reason="v2 is out")
    assert h.app.store.reading.detail(run.id).run == before
    all_is_well(h, run, orders=0, refused=1)


def test_a_resume_moves_nothing(harness: type[Harness], shops: Shops) -> None:
    """B34: also where the second version would take the run over; a person moves it."""
    old = shops.first()
    run = failed(harness, shops, old)
    h = harness(second(shops, "parameter", old).wf)
    assert standing(h, run).affected.standing is Standing.MOVE
    h.app.control.resume(run.id, actor="kim", reason="again")
    with h.worker():
        until(lambda: h.record(run, "C").ready_at is not None)
    assert (h.app.store.reading.detail(run.id).run.version, shops.ledger.tally()) == (1, {"A": 1, "B": 1})
    h.app.control.move(run.id, actor="kim", reason="v2 is out")
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
    assert shops.ledger.tally() == {"A": 1, "B": 1, "C": 1}
    assert len(h.attempts(run, "C")) == 2
    all_is_well(h, run, orders=2)


def test_a_failed_run_is_moved_and_then_resumed(harness: type[Harness], shops: Shops) -> None:
    """B34: moving it does not start it."""
    old = shops.first()
    run = failed(harness, shops, old)
    h = harness(second(shops, "parameter", old).wf)
    h.app.control.move(run.id, actor="kim", reason="v2 is out")
    assert h.status(run) is RunStatus.FAILED
    h.app.control.resume(run.id, actor="kim", reason="again")
    with h.worker():
        reach(h, run, RunStatus.SUCCESS)
    assert shops.ledger.tally() == {"A": 1, "B": 1, "C": 1}
    all_is_well(h, run, orders=2)
