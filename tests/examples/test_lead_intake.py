"""A lead comes in, and each of its four effects has its own contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples import lead_intake as example
from examples.world import Customer
from halfway import Halfway, RunStatus
from halfway.domain.check import check
from tests.examples.conftest import Stage, empty

LEAD = example.Lead(submission_id="s-1042", plan="pro")


@pytest.fixture
def app(stage: Stage) -> Iterator[Halfway]:
    empty(example.crm, example.desk, example.mail)
    with stage.open(example.intake) as app:
        yield app


def test_a_lead_becomes_a_customer_with_a_plan(stage: Stage, app: Halfway) -> None:
    run = stage.play(example.intake, LEAD)
    assert run.status is RunStatus.SUCCESS
    assert example.crm.plan_of(run.output(example.create_customer).id) == "pro"


def test_a_lost_customer_is_found_by_its_external_id(stage: Stage, app: Halfway) -> None:
    example.crm.answers_to_lose = 1
    run = stage.play(example.intake, LEAD)
    assert run.status is RunStatus.SUCCESS
    assert len(example.crm.customers) == 1


def test_two_customers_with_one_external_id_are_for_a_person(stage: Stage, app: Halfway, monkeypatch: pytest.MonkeyPatch) -> None:
    create = example.crm.create

    def create_twice_and_lose(*, external_id: str) -> Customer:
        create(external_id=external_id)
        example.crm.answers_to_lose = 1
        return create(external_id=external_id)

    monkeypatch.setattr(example.crm, "create", create_twice_and_lose)
    run = stage.play(example.intake, LEAD)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert [step.name for step in app.control.show(run.id).steps if step.waits_for] == ["CREATE_CUSTOMER"]


def test_the_desk_drops_the_repeat(stage: Stage, app: Halfway) -> None:
    example.desk.answers_to_lose = 2
    assert stage.play(example.intake, LEAD).status is RunStatus.SUCCESS
    assert len(example.desk.tickets) == 1
    assert len(example.desk.requests) == 3


def test_a_lost_mail_is_never_sent_again_by_a_machine(stage: Stage, app: Halfway) -> None:
    example.mail.answers_to_lose = 1
    run = stage.play(example.intake, LEAD)
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert len(example.mail.log) == 1
    app.control.mark_success(
        run.id, "SEND_WELCOME", actor="ada", reason="the answer was lost", evidence="mail-1 in the log", output='"mail-1"'
    )
    assert stage.again(run).status is RunStatus.SUCCESS
    assert len(example.mail.log) == 1


def test_a_lost_change_that_can_be_seen_is_settled_by_its_probe(stage: Stage, app: Halfway, monkeypatch: pytest.MonkeyPatch) -> None:
    set_plan = example.crm.set_plan

    def set_and_lose(customer_id: str, plan: str) -> str:
        example.crm.answers_to_lose = 1
        return set_plan(customer_id, plan)

    monkeypatch.setattr(example.crm, "set_plan", set_and_lose)
    run = stage.play(example.intake, LEAD)
    assert run.status is RunStatus.SUCCESS
    assert run.output(example.set_plan) == "pro"
    assert [request for request in example.crm.requests if request.startswith("plan")] == ["plan of C-1 is pro"]


def test_its_contract_has_no_hole_and_nothing_to_recommend() -> None:
    assert [finding for finding in check(example.intake.spec) if finding.level != "note"] == []


def test_it_runs_by_itself(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    empty(example.crm, example.desk, example.mail)
    example.main(stage.path)
    assert capsys.readouterr().out.splitlines()[-1] == "SUCCESS: customers 1, mails 1, plan pro"
