"""What a lost answer means: the lost-answer table, and how the end of a body is judged.

This is the heart of halfway. `judge` says what an attempt's end proves; `rule_for` says what follows when it proves nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from halfway.domain.proof import Proof
from halfway.domain.run import Ended, Happened, Report
from halfway.domain.spec import Effect, StepSpec


class Rule(StrEnum):
    """What follows a lost answer, or an Absent."""

    REPEAT = "REPEAT"  # a machine may try again
    ASK_WORLD = "ASK_WORLD"  # the probe looks first
    ASK_PERSON = "ASK_PERSON"  # the approver decides


# (effect, what is known) -> rule. None is a transaction in the own database.
LOST_ANSWER: dict[Effect | None, Rule] = {
    None: Rule.REPEAT,
    Effect.READ: Rule.REPEAT,
    Effect.CREATE: Rule.ASK_WORLD,
    Effect.NOTIFY: Rule.ASK_WORLD,
    Effect.CHANGE: Rule.ASK_WORLD,
    Effect.DELEGATE: Rule.ASK_WORLD,
}
ABSENT: dict[Effect | None, Rule] = {
    None: Rule.REPEAT,
    Effect.READ: Rule.REPEAT,
    Effect.CREATE: Rule.REPEAT,
    Effect.NOTIFY: Rule.ASK_PERSON,  # a message that is not listed may still have been read
    Effect.CHANGE: Rule.ASK_PERSON,
    Effect.DELEGATE: Rule.ASK_PERSON,
}


def rule_for(step: StepSpec, *, repeatable: bool) -> Rule:
    """What follows a lost answer of this step; `repeatable`: attempts are left, the key still counts, the run goes on."""
    rule = LOST_ANSWER[step.effect]
    if rule is Rule.ASK_WORLD and step.idempotent and repeatable:
        return Rule.REPEAT  # the receiver drops a repeat with the same key, so the repeat is the probe
    if rule is Rule.ASK_WORLD and step.probe is None:
        return Rule.ASK_PERSON
    return rule


def rule_for_absent(step: StepSpec, *, key_counts: bool) -> Rule:
    """What follows when the probe has shown that it did not happen; `key_counts`: the receiver still knows the step's key."""
    return Rule.REPEAT if step.idempotent and key_counts else ABSENT[step.effect]


class Place(StrEnum):
    """Where the body of an attempt stood when it ended, relative to its effect mark."""

    NO_MARK = "NO_MARK"  # the function takes none
    BEFORE = "BEFORE"
    INSIDE = "INSIDE"  # the exception is the one that left the mark, or was raised from it
    CLOSED = "CLOSED"  # the block was left normally
    BROKEN = "BROKEN"  # an exception left the mark, and the body went on to something else


class Word(StrEnum):
    """The author's word on what an exception means; it counts everywhere."""

    RETRY = "RETRY"
    FAIL = "FAIL"  # it will not work; whether anything happened depends on where it was said
    REFUSED = "REFUSED"  # Errors(fail=): this exception says that the receiver refused
    UNKNOWN = "UNKNOWN"


class Ending(NamedTuple):
    """How a body ended without returning."""

    place: Place
    code: str
    word: Word | None = None
    proof: Proof = Proof.LOST  # what the exception itself proves
    retry_after: int | None = None
    gone_after: int = 0


def judge(step: StepSpec, ending: Ending) -> Report:
    """What an attempt that raised has proven (R-D1, R-J7)."""
    report = _judge(step, ending)
    return report._replace(code=ending.code, retry_after=ending.retry_after, gone_after=ending.gone_after)


def _judge(step: StepSpec, ending: Ending) -> Report:
    nothing_yet = not step.can_be_lost or ending.place is Place.BEFORE
    done = step.can_be_lost and ending.place is Place.CLOSED
    if ending.word is Word.FAIL and step.can_be_lost and not step.idempotent and ending.place in (Place.NO_MARK, Place.BROKEN):
        return Report(Ended.LOST, effect=Happened.UNKNOWN, final=True)  # it failed, and that says nothing about the effect
    if ending.word in (Word.FAIL, Word.REFUSED):
        return Report(Ended.FAILED, effect=_effect(step, ending.place, done), final=True)
    if ending.word is Word.RETRY or nothing_yet:
        return Report(Ended.NOTHING, effect=_effect(step, ending.place, False))
    if ending.word is None and ending.place is Place.INSIDE:
        if ending.proof is Proof.NOTHING_RETRY:
            return Report(Ended.NOTHING, effect=Happened.NOT)
        if ending.proof is Proof.NOTHING_FAIL:
            return Report(Ended.FAILED, effect=Happened.NOT, final=True)
    # All that is left may have happened. A conflict (409) too: on CREATE the probe tells, elsewhere it is simply lost.
    return Report(Ended.LOST, effect=Happened.UNKNOWN)


def _effect(step: StepSpec, place: Place, done: bool) -> Happened:
    if not step.can_be_lost or place is Place.BEFORE:
        return Happened.NONE
    return Happened.HAPPENED if done else Happened.NOT


def unstorable(step: StepSpec) -> Report:
    """The body ran and returned, but its output cannot be kept: failed, not repeated, and the effect did happen."""
    happened = Happened.HAPPENED if step.can_be_lost else Happened.NONE
    return Report(Ended.FAILED, code="OUTPUT_UNSTORABLE", effect=happened, final=True)


def cut_short(step: StepSpec, *, marked: bool, code: str, death: bool, gone: bool) -> Report:
    """An attempt that ended without its body: its time was up, or its worker died."""
    if step.can_be_lost and marked:
        return Report(Ended.LOST, code=code, effect=Happened.UNKNOWN, death=death, gone=gone)
    return Report(Ended.NOTHING, code=code, effect=Happened.NONE, death=death, gone=gone)
