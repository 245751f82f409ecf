"""A lead comes in: three effects have happened, the last one is in doubt, and only its owner can say what is true."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from examples.world import Customer
from halfway import Halfway, Run, RunStatus
from halfway.cli import main
from halfway.errors import NotAllowed
from tests.examples.conftest import Stage, said

ROLES = {"support-lead": ["ada"], "billing": ["bea"]}
HANGUL = re.compile("[가-힣]")


@pytest.fixture
def example(load: Callable[[str], Any]) -> Any:
    return load("lead_intake")


@pytest.fixture
def app(stage: Stage, example: Any) -> Iterator[Halfway]:
    with stage.open(example.intake, example.upgrade, roles=ROLES) as app:
        yield app


def play(stage: Stage, example: Any) -> Run[Any]:
    return stage.play(example.intake, example.Lead(submission_id="s-1042", plan="pro"))


def in_doubt(stage: Stage, example: Any, *, arrives: bool = True) -> Run[Any]:
    """The payment service has booked it, or has not; it does not answer, and does not show it today."""
    example.payments.is_closed = True
    if arrives:
        example.payments.answers_to_lose = 1
    else:
        example.payments.requests_to_lose = 1
    return play(stage, example)


def held(stage: Stage, example: Any) -> Run[Any]:
    """Another run that wants to change the same subscription, and waits."""
    run = stage.app.start(example.upgrade, example.Upgrade(customer_id="C-1", plan="team"))
    stage.code(run, "CHANGE_PLAN", "RECORD_HELD")
    return run


def done(example: Any) -> tuple[int, int, int]:
    """How many customers, tasks and mails there are."""
    return len(example.crm.customers), len(example.desk.tasks), len(example.mail.log)


def test_a_lead_becomes_a_customer_with_a_plan(stage: Stage, example: Any, app: Halfway) -> None:
    run = play(stage, example)
    assert run.status is RunStatus.SUCCESS
    assert done(example) == (1, 1, 1)
    assert example.payments.plans == {run.output(example.create_customer).id: "pro"}


def test_three_effects_have_happened_and_the_owner_of_the_fourth_is_asked(stage: Stage, example: Any, app: Halfway) -> None:
    run = in_doubt(stage, example)
    assert run.status is RunStatus.MANUAL_REQUIRED
    effects = {effect.step: effect.happened for effect in app.control.show(run.id).explanation.effects}
    assert effects == {"CREATE_CUSTOMER": "happened", "OPEN_TASK": "happened", "CONFIRM": "happened", "SUBSCRIBE": "unknown"}
    (asking,) = app.control.inbox()
    assert (asking.step, asking.role, asking.members) == ("SUBSCRIBE", "billing", ("bea",))
    assert "current_plan" not in asking.evidence
    assert "payment service" in asking.evidence


def test_while_it_is_in_doubt_no_other_run_changes_the_subscription(stage: Stage, example: Any, app: Halfway) -> None:
    run = in_doubt(stage, example)
    waiting = held(stage, example)
    assert app.get(example.upgrade, waiting.id).status is RunStatus.RUNNING
    assert example.payments.requests == ["C-1 takes pro"]

    example.payments.is_closed = False
    example.say_booked(app, run.id, actor="bea")
    run = stage.again(run)
    assert run.status is RunStatus.SUCCESS
    assert run.output(example.subscribe) == "pro"
    assert stage.again(waiting).status is RunStatus.SUCCESS
    assert example.payments.requests == ["C-1 takes pro", "C-1 takes team"]
    assert done(example) == (1, 1, 1)
    order = next(line for line in app.control.audit_log(run=run.id) if line["action"] == "mark-success")
    assert (order["actorId"], order["evidence"], order["before"]) == ("bea", "booking 77 of today, plan pro", "MANUAL_REQUIRED")


def test_a_cancelled_run_holds_the_record_until_the_doubt_is_settled(stage: Stage, example: Any, app: Halfway) -> None:
    run = in_doubt(stage, example)
    waiting = held(stage, example)
    app.control.cancel(run.id, actor="ada", reason="the lead has changed its mind")
    assert stage.again(run).status is RunStatus.MANUAL_REQUIRED
    assert len(example.payments.requests) == 1
    example.payments.is_closed = False
    example.say_booked(app, run.id, actor="bea")
    assert stage.again(waiting).status is RunStatus.SUCCESS
    assert stage.again(run).status is RunStatus.CANCELLED


def test_if_it_was_not_booked_only_that_is_done_again(stage: Stage, example: Any, app: Halfway) -> None:
    run = in_doubt(stage, example, arrives=False)
    assert example.payments.requests == []
    example.payments.is_closed = False
    said = {"actor": "bea", "reason": "the request was lost", "evidence": "no booking of today"}
    app.control.retry(run.id, "SUBSCRIBE", not_happened=True, **said)
    assert stage.again(run).status is RunStatus.SUCCESS
    assert example.payments.requests == ["C-1 takes pro"]
    assert done(example) == (1, 1, 1)


def test_who_may_draft_a_lead_may_not_decide_about_money(stage: Stage, example: Any, app: Halfway) -> None:
    run = in_doubt(stage, example)
    with pytest.raises(NotAllowed, match="billing"):
        example.say_booked(app, run.id, actor="ada")
    refused = app.control.audit_log(run=run.id)[0]
    assert refused["actorId"] == "ada"
    assert refused["refused"]
    assert stage.step(run, "SUBSCRIBE").status == "UNKNOWN"


def test_a_change_that_shows_is_settled_by_its_probe(stage: Stage, example: Any, app: Halfway) -> None:
    example.payments.answers_to_lose = 1
    assert play(stage, example).status is RunStatus.SUCCESS
    assert example.payments.requests == ["C-1 takes pro"]


def test_a_change_that_provably_did_not_happen_still_needs_its_owner(stage: Stage, example: Any, app: Halfway) -> None:
    example.payments.requests_to_lose = 1
    assert play(stage, example).status is RunStatus.MANUAL_REQUIRED
    assert example.payments.requests == []


def test_a_lost_customer_is_found_by_its_external_id(stage: Stage, example: Any, app: Halfway) -> None:
    example.crm.answers_to_lose = 1
    assert play(stage, example).status is RunStatus.SUCCESS
    assert done(example) == (1, 1, 1)


def test_two_customers_with_one_external_id_are_for_a_person(stage: Stage, example: Any, app: Halfway) -> None:
    create = example.crm.create

    def create_twice_and_lose(*, external_id: str) -> Customer:
        create(external_id=external_id)
        example.crm.answers_to_lose = 1
        return create(external_id=external_id)

    example.crm.create = create_twice_and_lose
    assert play(stage, example).status is RunStatus.MANUAL_REQUIRED
    assert [one.step for one in app.control.inbox(role="support-lead")] == ["CREATE_CUSTOMER"]


def test_the_desk_drops_the_repeat(stage: Stage, example: Any, app: Halfway) -> None:
    example.desk.answers_to_lose = 2
    assert play(stage, example).status is RunStatus.SUCCESS
    assert done(example) == (1, 1, 1)
    assert len(example.desk.requests) == 3


def test_a_lost_mail_is_never_sent_again_by_a_machine(stage: Stage, example: Any, app: Halfway) -> None:
    example.mail.answers_to_lose = 1
    run = play(stage, example)
    assert run.status is RunStatus.MANUAL_REQUIRED
    seen = {"reason": "the answer was lost", "evidence": "mail-1 in the log", "output": '"mail-1"'}
    app.control.mark_success(run.id, "CONFIRM", actor="ada", **seen)
    assert stage.again(run).status is RunStatus.SUCCESS
    assert done(example) == (1, 1, 1)


def test_what_show_says_at_the_decisive_moment_in_english_and_korean(stage: Stage, example: Any, app: Halfway) -> None:
    run = in_doubt(stage, example)
    told = {language: CliRunner().invoke(main, ["show", run.id, "--url", stage.url, "--lang", language]) for language in ("en", "ko")}
    for answer in told.values():
        assert answer.exit_code == 0, answer.stderr
        for name in ("MANUAL_REQUIRED", "CREATE_CUSTOMER", "OPEN_TASK", "CONFIRM", "SUBSCRIBE", "UNKNOWN", "billing"):
            assert name in answer.stdout
        assert f"halfway mark-success {run.id} SUBSCRIBE" in answer.stdout
    assert not HANGUL.search(told["en"].stdout)
    assert HANGUL.search(told["ko"].stdout)


def test_it_runs_by_itself(stage: Stage, example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(stage.url)
    told = said(capsys)
    assert told[0].startswith("LEAD_INTAKE v1")
    assert any(line.startswith("MANUAL_REQUIRED") for line in told)
    asked, done, waits, refused, *end = told[-6:]
    assert asked == "bea of billing is told: PERSON_NEEDED for SUBSCRIBE"
    assert done == "customers 1, tasks 1, mails 1"
    assert waits == "another run wants to change the subscription of C-1, and waits"
    assert refused.startswith("ada may not mark-success run")
    assert end == ["SUCCESS: plan pro; customers 1, mails 1", "SUCCESS: plan team; bookings 2"]
