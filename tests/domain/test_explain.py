"""What is told about a run is true, and nothing is suggested that would be refused."""

from __future__ import annotations

import re

import pytest

from halfway.domain.decide import decide
from halfway.domain.explain import Explanation, explain
from halfway.domain.facts import CancelAsked, LookAgain, MarkedSuccess, ResumeAsked, RetryAsked, SkipAsked
from halfway.domain.lifecycle import FINAL, RecordStatus, RunStatus
from halfway.domain.run import Answer, Ended, Happened, Report
from halfway.domain.sentences import SENTENCES, Sentence
from halfway.domain.spec import MINUTE, SECOND, Effect, RetrySpec, Then
from tests.domain.world import PROBE, T0, Run, Walk, step, workflow


def told(run: Run, *, workers: int | None = 1) -> Explanation:
    return explain(run.spec, run.snapshot, run.now, workers=workers)


def codes(sentences: tuple[Sentence, ...]) -> list[str]:
    return [sentence.code for sentence in sentences]


def next_codes(run: Run) -> list[str]:
    return [suggestion.sentence.code for suggestion in told(run).next]


class ToldWalk(Walk):
    """A random walk that is explained at every turn."""

    def _tick(self, faults: bool) -> None:
        super()._tick(faults)
        explanation = told(self.run)
        for suggestion in explanation.next:
            if suggestion.order is not None:
                decide(self.spec, self.run.snapshot, suggestion.order, self.run.now)
                assert suggestion.command.startswith("halfway ")
        if self.run.status is RunStatus.MANUAL_REQUIRED:
            assert explanation.reasons, "it waits for a person, who is not told why"
            assert any(suggestion.order is not None for suggestion in explanation.next)
        elif self.run.status in (RunStatus.FAILED, RunStatus.CANCELLED) and self.run.now < (self.run.deadline_at or self.run.now + 1):
            assert explanation.reasons
            assert explanation.next
        for effect in explanation.effects:
            if effect.happened is Happened.NOT and not self.spec.by_name[effect.step].idempotent:
                assert not self.world[effect.step], f"{effect.step} is said not to have happened"
        for sentence in (explanation.progress, *explanation.reasons, *(one.sentence for one in (*explanation.coming, *explanation.next))):
            assert str(sentence)


@pytest.mark.parametrize("block", range(4))
def test_on_no_walk_an_order_is_suggested_that_is_refused_or_an_effect_denied(block: int) -> None:
    for seed in range(block * 75, block * 75 + 75):
        try:
            ToldWalk(seed).go()
        except AssertionError as error:
            raise AssertionError(f"walk {seed}: {error}") from error


def test_a_fresh_run_goes_on_by_itself_or_waits_for_a_worker() -> None:
    run = Run(workflow(step("A"), step("B", Effect.CREATE, evidence="log", after=("A",))))
    explanation = told(run, workers=0)
    assert str(explanation.progress) == "Nothing has started yet; steps ahead: 2."
    assert codes(tuple(suggestion.sentence for suggestion in explanation.next)) == ["START_WORKER"]
    assert explanation.next[0].command == "halfway worker"
    assert next_codes(run) == ["GOES_ON"]
    assert [(effect.step, effect.happened, effect.sentence.code) for effect in explanation.effects] == [("B", Happened.NOT, "NOT_BEGUN")]


def test_a_running_effect_is_not_known_yet() -> None:
    run = Run(workflow(step("A", Effect.CREATE, evidence="log")))
    run.start("A")
    explanation = told(run)
    assert explanation.effects[0].happened is Happened.UNKNOWN
    assert explanation.effects[0].sentence.code == "UNDER_WAY"
    assert [str(coming.sentence) for coming in explanation.coming] == ["Step A is running: attempt 1, since 1970-01-01T00:16:40Z."]


def test_a_doubt_is_first_left_to_the_probe() -> None:
    run = Run(workflow(step("A", Effect.CREATE, probe=PROBE)))
    run.lose("A")
    explanation = told(run)
    assert explanation.effects[0].sentence.code == "NOT_KNOWN"
    assert [coming.sentence.code for coming in explanation.coming] == ["PROBE_READY"]
    assert next_codes(run) == ["GOES_ON"]
    run.probe("A", Answer.ABSENT)
    later = told(run).coming
    assert [(coming.sentence.code, coming.at) for coming in later] == [("PROBE_AT", T0 + PROBE.settle)]


def test_a_doubt_that_no_machine_may_settle_names_the_role_the_evidence_and_both_answers() -> None:
    run = Run(workflow(step("A", Effect.NOTIFY, evidence="message id at the provider", approver="support-lead")))
    run.lose("A")
    assert run.status is RunStatus.MANUAL_REQUIRED
    explanation = told(run)
    assert str(explanation.reasons[0]) == (
        "Nobody knows whether A happened (READ_TIMEOUT), and a machine must not repeat it. support-lead decides."
    )
    assert explanation.effects[0].evidence == "message id at the provider"
    assert [suggestion.order for suggestion in explanation.next] == [
        MarkedSuccess("A"), RetryAsked("A", not_happened=True), CancelAsked(),
    ]  # fmt: skip
    assert explanation.next[1].command == "halfway retry r A --not-happened --evidence '…' --reason '…'"


def test_while_the_attempt_may_still_act_only_the_careful_way_is_shown() -> None:
    run = Run(workflow(step("A", Effect.NOTIFY, evidence="log")))
    run.lose("A", gone=False)
    run.advance(6 * 60)
    assert run.status is RunStatus.MANUAL_REQUIRED
    gone = RetryAsked("A", not_happened=True, gone=True)
    assert [suggestion.order for suggestion in told(run).next] == [MarkedSuccess("A"), gone, CancelAsked()]


def test_a_failure_is_resumed_when_its_cause_is_gone() -> None:
    run = Run(workflow(step("A", retry=RetrySpec(attempts=1)), step("B", after=("A",))))
    run.start("A")
    run.end("A", Report(Ended.NOTHING, code="BOOM"))
    assert run.status is RunStatus.FAILED
    explanation = told(run)
    assert str(explanation.reasons[0]) == "Step A failed with BOOM; attempts in all: 1."
    assert [suggestion.order for suggestion in explanation.next] == [ResumeAsked(), RetryAsked("A", new_input=True)]
    assert str(explanation.progress) == "0 of 2 steps are done; it stands at A."


def test_what_happened_before_the_failure_is_given_not_repeated() -> None:
    run = Run(workflow(step("A", Effect.CREATE, evidence="log", takes_mark=True)))
    run.start("A")
    run.end("A", Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=Happened.HAPPENED, final=True))
    explanation = told(run)
    assert explanation.effects[0].sentence.code == "HAPPENED_THEN_FAILED"
    assert [suggestion.order for suggestion in explanation.next] == [MarkedSuccess("A")]


def test_a_retry_says_when() -> None:
    run = Run(workflow(step("A", retry=RetrySpec(attempts=3, wait=MINUTE))))
    run.start("A")
    run.end("A", Report(Ended.NOTHING, code="BOOM"))
    coming = told(run).coming[0]
    assert coming.sentence.code == "RETRY_AT"
    assert coming.at == run.record("A").ready_at


def test_a_step_for_a_person_offers_resume_by_hand_and_cancel() -> None:
    run = Run(workflow(step("A", retry=RetrySpec(attempts=1), on_failure=Then.MANUAL)))
    run.start("A")
    run.end("A", Report(Ended.NOTHING, code="BOOM"))
    assert run.status is RunStatus.MANUAL_REQUIRED
    assert codes(told(run).reasons) == ["FAILED_ASKS"]
    assert [suggestion.order for suggestion in told(run).next] == [
        MarkedSuccess("A"), ResumeAsked(), RetryAsked("A", new_input=True), SkipAsked("A"), CancelAsked(),
    ]  # fmt: skip


def test_deadline_and_cancel_are_told() -> None:
    run = Run(workflow(step("A")), deadline_at=T0 + 10 * SECOND)
    assert [coming.sentence.code for coming in told(run).coming] == ["READY", "DEADLINE_AHEAD"]
    run.start("A")
    run.take(CancelAsked())
    assert "STOPS_SOON" in [coming.sentence.code for coming in told(run).coming]
    run.end("A", Report(Ended.SUCCESS))
    assert run.status in FINAL


def test_an_expired_run_is_not_resumed_but_started_anew() -> None:
    run = Run(workflow(step("A"), keyed=True), deadline_at=T0 + 10 * SECOND)
    run.now += 20 * SECOND
    run.take(LookAgain())
    assert run.status is RunStatus.EXPIRED
    explanation = told(run)
    assert codes(explanation.reasons) == ["DEADLINE_PASSED"]
    assert [suggestion.command for suggestion in explanation.next] == ["halfway start W --input '…' --again '…'"]


def test_success_needs_nothing() -> None:
    run = Run(workflow(step("A", None)))
    run.ok("A")
    explanation = told(run)
    assert str(explanation.progress) == "All steps are done: 1."
    assert explanation.effects[0].sentence.code == "COMMITTED"
    assert next_codes(run) == ["NOTHING_TO_DO"]
    assert explanation.reasons == explanation.coming == ()
    assert run.record("A").status is RecordStatus.SUCCESS


def test_every_sentence_ends_like_one_and_has_only_named_gaps() -> None:
    assert [text for text in SENTENCES.values() if not re.fullmatch(r"[A-Z{].*[.:]", text)] == []
    assert [text for text in SENTENCES.values() if re.search(r"\{(?![a-z]+\})", text)] == []
