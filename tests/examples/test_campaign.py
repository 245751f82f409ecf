"""A campaign: partial success, a retry of what failed and of nothing else, and no mail twice however often a worker is killed."""

from __future__ import annotations

import random
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from halfway import RunStatus
from tests.crash.processes import Worker
from tests.engine.harness import Harness, until
from tests.examples.conftest import anew, said

FLOWS = "tests.examples.campaign_flows:flows"
SLOTS = 8


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from examples import campaign as example

    monkeypatch.setattr(example, "BATCH", 100)
    example.mailbox.open(tmp_path / "mailbox.db")
    return example


def killed(h: Harness, run: Any, mailbox: Any, *, kills: int, ends: tuple[RunStatus, ...]) -> None:
    """Workers that die in the midst of it, one after the other, and one that stays."""
    chance = random.Random(7)
    for _ in range(kills):
        before = len(mailbox.sent())
        with worker(h, mailbox) as victim:
            aim = before + chance.randrange(20, 90)
            until(lambda aim=aim: len(mailbox.sent()) >= aim or h.status(run) in ends, patience=60)
            victim.kill()
    with worker(h, mailbox):
        until(lambda: h.status(run) in ends, "the campaign ends", patience=120)


def worker(h: Harness, mailbox: Any) -> Worker:
    return Worker(FLOWS, h.app.url, "-", slots=SLOTS, MAILBOX=str(mailbox.path), BATCH="100")


def test_twenty_of_a_thousand_fail_and_a_retry_sends_these_twenty(harness: type[Harness], campaign: Any) -> None:
    """Also when the worker is killed five times on the way: nobody gets a mail twice."""
    h, mailbox = harness(*campaign.flows()), campaign.mailbox
    wrong = [f"a-{customer}" for customer in range(0, 1000, 50)]
    mailbox.forget(wrong)
    run = h.start(campaign.campaign, campaign.Campaign(id="spring", text="Spring is here.", customers=1000))
    killed(h, run, mailbox, kills=5, ends=(RunStatus.PARTIAL_SUCCESS,))
    sent = Counter(mailbox.sent())
    assert len(sent) == 980
    assert set(sent.values()) == {1}
    assert h.get(run).output(campaign.count) == campaign.Totals(sent=980, failed=20)
    mailbox.learn(wrong)
    h.app.control.retry(run.id, "BATCHES", actor="kim", reason="the addresses are known now")
    with worker(h, mailbox):
        until(lambda: h.status(run) is RunStatus.SUCCESS, "the rest is sent", patience=60)
    assert set(mailbox.sent()[980:]) == set(wrong)
    assert set(Counter(mailbox.sent()).values()) == {1}


def test_without_a_probe_what_is_not_known_is_one_decision_and_no_mail_is_sent_twice(harness: type[Harness], campaign: Any) -> None:
    from tests.examples.campaign_flows import blind, send_blindly

    h, mailbox, kills = harness(blind), campaign.mailbox, 3
    run = h.start(blind, campaign.Campaign(id="blind", text="?", customers=400))
    killed(h, run, mailbox, kills=kills, ends=(RunStatus.MANUAL_REQUIRED, RunStatus.SUCCESS))
    shown = next(step for step in h.app.control.show(run.id).steps if step.name == "SEND_BLINDLY").items
    assert shown is not None
    assert shown.asking <= kills * SLOTS
    assert shown.succeeded + shown.asking == 400
    if shown.asking:
        [asked] = h.app.control.inbox()
        assert (asked.step, asked.role) == ("SEND_BLINDLY", "marketing")
        h.app.control.mark_success(run.id, "SEND_BLINDLY", actor="kim", reason="seen", evidence="the log", output='"by hand"')
        with worker(h, mailbox):
            until(lambda: h.status(run) is RunStatus.SUCCESS, "one decision is enough")
    assert max(Counter(mailbox.sent()).values()) == 1
    assert h.get(run).output(send_blindly).succeeded == 400


def test_the_story_is_told(load: Any, capsys: pytest.CaptureFixture[str], url: str) -> None:
    example = load("campaign")
    example.story(url)
    told = said(capsys)
    assert told[0] == "PARTIAL_SUCCESS: 1980 sent, 20 failed"
    assert told[-1] == "SUCCESS: 2000 mails to 2000 customers"
    assert "  Try the failed items of BATCHES again; the others are not touched." in told


def test_an_example_loaded_for_one_test_is_no_second_one_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    from examples import campaign as first

    monkeypatch.setenv("EXAMPLES_URL", "sqlite:///:memory:")
    with anew():
        assert import_module("examples.campaign") is not first
    from examples import campaign as again

    assert again is first is import_module("examples.campaign")
