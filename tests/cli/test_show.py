"""What `halfway show` says of runs that wait, ask for approval, or are undone; in English, in Korean and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from halfway import CannotTell, Effect, Event, Found, Halfway, Mark, Retry, Risk, Settings, Step, StepFailed, Then, Workflow
from halfway.cli import main
from halfway.domain.lifecycle import FINAL, RunStatus
from tests.cli.conftest import wait_for

HOUR = timedelta(hours=1)
STILL = frozenset({RunStatus.MANUAL_REQUIRED, RunStatus.WAITING}) | FINAL


class Order(BaseModel):
    id: str


paid: Event[dict[str, int]] = Event("PAID", dict[str, int])


def selling() -> Workflow[Order]:
    """It waits for an event, then for a person."""
    wf = Workflow("SELL", Order, version=1, owner="shop", key=lambda order: order.id)

    @wf.step(Effect.CREATE, evidence="the order list")
    def order(step: Step[Order]) -> str:
        return "order-7"

    @order.compensate(Risk.LOW, evidence="the order list")
    def drop(step: Step[Order], made: str) -> None:
        pass

    @wf.wait_for(paid, timeout=HOUR, on_timeout=Then.MANUAL)
    def payment(step: Step[Order]) -> str:
        return f"pay:{step.input.id}"

    @wf.approval("boss", expires=HOUR, on_expiry=Then.MANUAL, quorum=2)
    def release(step: Step[Order]) -> dict[str, str]:
        return {"order": step.input.id}

    return wf


def undoing() -> Workflow[Order]:
    """Its last step fails; one undo is asked for, one fails."""
    wf = Workflow(
        "BUY", Order, version=1, owner="shop", key=lambda order: order.id, on_failure=Then.COMPENSATE, runbook={"SHELF_LOCKED": "Call Kim."}
    )

    @wf.step(Effect.CREATE, evidence="the shelf list")
    def reserve(step: Step[Order]) -> str:
        return "r-1"

    @reserve.compensate(Risk.LOW, evidence="the shelf list", retry=Retry(1))
    def unreserve(step: Step[Order], made: str, mark: Mark) -> None:
        if step.input.id == "fail":
            raise StepFailed("the shelf is locked", code="SHELF_LOCKED")
        with mark:
            raise TimeoutError("no answer")

    @wf.step(Effect.CREATE, evidence="the archive", stays="The archive keeps every order.")
    def archive(step: Step[Order]) -> str:
        return "a-1"

    def refund_letter(step: Step[Order], made: str) -> dict[str, str]:
        return {"refund": made}

    @wf.step(Effect.CHANGE, evidence="the bank's list", approver="finance", record=lambda step: f"account-{step.input.id}")
    def charge(step: Step[Order]) -> str:
        return "p-1"

    @charge.compensate(Risk.HIGH, draft=refund_letter, evidence="the bank's list")
    def refund(step: Step[Order], made: str) -> None:
        pass

    @wf.step(Effect.READ, retry=Retry(1))
    def stock(step: Step[Order]) -> str:
        raise StepFailed("nothing left", code="OUT_OF_STOCK")

    return wf


def holding() -> Workflow[Order]:
    """The answer of its change is lost."""
    wf = Workflow("HOLD", Order, version=1, owner="shop", key=lambda order: order.id)

    @wf.step(Effect.CHANGE, evidence="the bank's list", record=lambda step: f"account-{step.input.id}")
    def charge(step: Step[Order], mark: Mark) -> str:
        with mark:
            raise TimeoutError("no answer")

    @charge.probe(settle=timedelta(0))
    def look(step: Step[Order]) -> Found[str] | CannotTell:
        return CannotTell("the bank shows it tomorrow")

    return wf


def family() -> Workflow[Order]:
    """It starts a run of HOLD, which asks a person."""
    wf = Workflow("FAMILY", Order, version=1, owner="shop", key=lambda order: order.id)

    @wf.children(held)
    def many(step: Step[Order]) -> list[Order]:
        return [step.input]

    return wf


held = holding()


class Shop:
    """A project whose runs are worked until they rest."""

    def __init__(self, url: str, *workflows: Workflow[Order]) -> None:
        times = Settings(beat=0.2, lease=3.0, sweep=0.2, stall=4.0, poll=0.05, settle=0.1)
        self.app = Halfway(url, workflows=workflows, settings=times)
        self.url = url

    def work(self, run: str) -> RunStatus:
        def still() -> RunStatus | None:
            status = self.app.store.reading.detail(run).run.status
            return status if status in STILL else None

        with self.app.worker():
            return wait_for(still)

    def show(self, run: str, *arguments: str) -> str:
        result = CliRunner().invoke(main, ["show", run, "--url", self.url, *arguments])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    def json(self, run: str) -> Any:
        return json.loads(self.show(run, "--json"))


@pytest.fixture
def shop(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.chdir(tmp_path)
    for name in ("HALFWAY_URL", "HALFWAY_LANG", "HALFWAY_ACTOR", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    yield (made := Shop(url, selling(), undoing(), held, family()))
    made.app.close()


def start(shop: Shop, name: str, id: str) -> str:
    return shop.app.start(shop.app.workflows[name, 1], Order(id=id)).id


def test_a_run_that_waits_says_for_what_with_which_key_and_how_to_send_it(shop: Shop) -> None:
    run = start(shop, "SELL", "s-1")
    assert shop.work(run) is RunStatus.WAITING
    told = shop.show(run)
    for line in (
        "WAITING  1 of 3 steps are done; it stands at PAYMENT.",
        "  PAYMENT  PAID with the key pay:s-1",
        "  Step PAYMENT waits for the event PAID, until ",
        "shop decides how it goes on.",
        "  Nothing: it goes on by itself when what it waits for is here.",
        "      halfway event send PAID --key '…' --id '…' --payload '…'",
        f"      halfway cancel {run} --compensate --reason '…'\n      undone: ORDER",
    ):
        assert line in told
    wait = shop.json(run)["steps"][1]
    assert (wait["status"], wait["effectKind"], wait["output"]) == ("WAITING", "EVENT", None)
    assert {**wait["waits"], "until": ""} == {
        "sort": "EVENT", "name": "PAID", "key": "pay:s-1", "until": "", "shown": None, "shownHash": None, "approvedBy": [],
    }  # fmt: skip
    assert wait["undo"] is None


def test_a_doubt_shows_what_its_probe_has_said(shop: Shop) -> None:
    run = start(shop, "HOLD", "h-9")
    assert shop.work(run) is RunStatus.MANUAL_REQUIRED
    assert "      The probe says: the bank shows it tomorrow\n" in shop.show(run)
    assert shop.json(run)["steps"][0]["probeSaid"] == "the bank shows it tomorrow"


def test_an_approval_shows_what_is_approved_by_whom_and_what_follows(shop: Shop) -> None:
    run = start(shop, "SELL", "s-2")
    shop.app.send(paid, {"sum": 1}, key="pay:s-2", id="1")
    shop.work(run)
    shop.app.control.approve(run, "RELEASE", actor="kim", reason="seen")
    told = shop.show(run)
    for line in (
        '  RELEASE  approval of boss, who is shown: {"order": "s-2"}',
        "RELEASE needs 2 different people; so far it was approved by kim.",
        f"      halfway approve {run} RELEASE --reason '…'\n      ends: SUCCESS",
        f"      halfway reject {run} RELEASE --reason '…'\n      ends: CANCELLED",
    ):
        assert line in told
    shown = shop.json(run)
    wait = shown["steps"][2]["waits"]
    assert (wait["sort"], wait["name"], wait["shown"], wait["approvedBy"]) == ("APPROVAL", "boss", {"order": "s-2"}, ["kim"])
    assert wait["shownHash"]
    approve = shown["explanation"]["next"][0]
    assert (approve["code"], approve["plan"]["after"]) == ("APPROVE", "SUCCESS")


def test_an_undo_that_waits_is_told_with_its_draft_and_what_stays(shop: Shop) -> None:
    run = start(shop, "BUY", "u-1")
    assert shop.work(run) is RunStatus.MANUAL_REQUIRED
    told = shop.show(run)
    for line in (
        "  ✓ RESERVE  CREATE  It happened.\n      COMPENSATION_PENDING  It is undone after what was done later.",
        "      NOT_NEEDED  It stays: The archive keeps every order.",
        "      COMPENSATION_PENDING  Its undo waits for the approval of finance.",
        '  CHARGE  approval of finance, who is shown: {"refund": "p-1"}',
        "The undo of CHARGE waits for the approval of finance; its risk is HIGH.",
        "After that, what was done before is undone: RESERVE.",
        "undone: CHARGE, RESERVE  stays: ARCHIVE",
    ):
        assert line in told
    shown = shop.json(run)
    undo = shown["steps"][2]["undo"]
    assert (shown["undo"], undo["status"], undo["approver"], undo["attemptCount"]) == ("*", "COMPENSATION_PENDING", "finance", 0)
    assert undo["waits"]["shown"] == {"refund": "p-1"}
    assert [one["undo"] for one in shown["explanation"]["effects"]] == ["COMPENSATION_PENDING", "NOT_NEEDED", "COMPENSATION_PENDING"]


@pytest.mark.parametrize(
    ("id", "state", "text"),
    [
        ("fail", "COMPENSATION_FAILED", "Its undo failed (SHELF_LOCKED). shop decides."),
        ("lose", "UNKNOWN", "Nobody knows whether it was undone: the answer of attempt 1 was lost (TIMEOUT_ERROR)."),
    ],
)
def test_an_undo_that_went_wrong_names_its_error_and_its_runbook(shop: Shop, id: str, state: str, text: str) -> None:
    run = start(shop, "BUY", id)
    shop.work(run)
    shop.app.control.approve(run, "CHARGE", actor="kim", reason="seen")
    assert shop.work(run) is RunStatus.MANUAL_REQUIRED
    told, shown = shop.show(run), shop.json(run)
    assert f"      {state}  {text}" in told
    assert "      COMPENSATED  It was undone." in told
    assert shown["steps"][0]["undo"]["status"] == state
    runbook = "Call Kim." if id == "fail" else "Look at the step where it stands"
    assert shown["runbook"].startswith(runbook)
    assert f"Runbook\n  {runbook}" in told
    assert f"halfway mark-success {run} RESERVE --evidence '…' --reason '…'" in told


def test_a_cancelled_wait_needs_nothing_and_has_no_runbook(shop: Shop) -> None:
    run = start(shop, "SELL", "s-3")
    shop.work(run)
    shop.app.control.cancel(run, actor="kim", reason="customer gone", undo=True)
    assert shop.work(run) is RunStatus.COMPENSATED
    told = shop.show(run)
    assert "  Nothing: it was undone." in told
    assert "Waits for" not in told
    assert shop.json(run)["runbook"] is None


def test_of_a_run_that_has_ended_the_steps_are_named_that_made_it_last(shop: Shop) -> None:
    run = start(shop, "SELL", "s-4")
    shop.app.send(paid, {"sum": 1}, key="pay:s-4", id="4")
    shop.work(run)
    assert shop.json(run)["criticalPath"] == []
    shop.app.control.cancel(run, actor="kim", reason="customer gone")
    shop.work(run)
    path = shop.json(run)["criticalPath"]
    assert [(leg["step"], leg["round"]) for leg in path] == [("ORDER", 1), ("PAYMENT", 1)]
    assert all(leg["waitedMs"] >= 0 and leg["tookMs"] >= 0 for leg in path)
    told = shop.show(run, "--timeline").partition("Critical path\n")[2].splitlines()
    assert [line.split()[0] for line in told[:3]] == ["step", "ORDER", "PAYMENT"]
    assert "Critical path" not in shop.show(run)


def test_all_of_it_is_said_in_korean(shop: Shop) -> None:
    run = start(shop, "BUY", "u-2")
    shop.work(run)
    told = shop.show(run, "--lang", "ko")
    for line in (
        "보상이 finance 역할의 승인을 기다립니다.",
        "기다리는 것",
        "한 일을 역순으로 되돌리고 있습니다.",
        "대응 방법\n  멈춘 단계와 오류",
        "CHARGE 단계가 한 일을 되돌려야 한다면 승인하십시오.",
        "되돌림: CHARGE, RESERVE  그대로 둠: ARCHIVE\n",
    ):
        assert line in told
    refused = CliRunner().invoke(main, ["retry", run, "CHARGE", "--reason", "r", "--url", shop.url, "--lang", "ko"])
    assert "CHARGE 단계의 보상의 상태가 WAITING입니다. finance 역할의 결정을 기다립니다" in refused.stderr


def test_what_a_lost_change_holds_is_shown(shop: Shop) -> None:
    run = start(shop, "HOLD", "h-1")
    assert shop.work(run) is RunStatus.MANUAL_REQUIRED
    assert "  account-h-1: no other run may change it before it is known what became of CHARGE." in shop.show(run)
    assert shop.json(run)["holds"] == [{"record": "account-h-1", "step": "CHARGE"}]
    assert f"halfway release {run} CHARGE --evidence '…' --reason '…'" in shop.show(run)


def test_runs_name_those_above_and_below_them(shop: Shop) -> None:
    run = start(shop, "FAMILY", "f-1")
    with shop.app.worker():
        child = wait_for(lambda: next(iter(shop.app.control.runs(type="HOLD", status=RunStatus.MANUAL_REQUIRED)), None))
    assert f"Runs around it\n  MANY  {child.id}  MANUAL_REQUIRED\n" in shop.show(run)
    assert f"Runs around it\n  MANY of {run} waits for it, or has started it\n" in shop.show(child.id)
    assert f"관련 실행\n  {run}의 MANY 단계가" in shop.show(child.id, "--lang", "ko")
