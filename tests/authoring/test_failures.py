"""What an exception says can always be stored (B27, B29)."""

import asyncio
import threading

import pytest
from pydantic import BaseModel, ValidationError

from halfway import OutcomeUnknown, RetryLater, StepFailed
from halfway.authoring.failures import MESSAGE_LIMIT, bounded, describe
from halfway.errors import MarkRefused


class TwoArguments(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)
        self.lock = threading.Lock()


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Leaves(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class NoText(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # noqa: PLE0307


class Huge(Exception):
    def __str__(self) -> str:
        return "x" * 50_000_000


class InvalidOutput(StepFailed):
    pass


class OddCode(StepFailed):
    @property
    def code(self) -> str:  # type: ignore[override]
        raise RuntimeError

    @code.setter
    def code(self, value: str) -> None:
        pass


def chained(error: BaseException, *causes: BaseException) -> BaseException:
    for this, cause in zip((error, *causes), causes, strict=False):
        this.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("bad"), "VALUE_ERROR", "bad"),
        (ValueError(), "VALUE_ERROR", "ValueError"),
        (TwoArguments("a", "b"), "TWO_ARGUMENTS", "a"),
        (InvalidOutput("no heading"), "INVALID_OUTPUT", "no heading"),
        (StepFailed("declined", code="card_declined: 51"), "CARD_DECLINED_51", "declined"),
        (RetryLater("busy"), "RETRY_LATER", "busy"),
        (OutcomeUnknown("silence"), "OUTCOME_UNKNOWN", "silence"),
        (Broken(), "BROKEN", "Broken (its text cannot be read: RuntimeError)"),
        (Leaves(), "LEAVES", "Leaves (its text cannot be read: SystemExit)"),
        (NoText(), "NO_TEXT", "NoText (its text cannot be read: TypeError)"),
        (SystemExit(3), "SYSTEM_EXIT", "3"),
        (KeyboardInterrupt(), "KEYBOARD_INTERRUPT", "KeyboardInterrupt"),
        (GeneratorExit(), "GENERATOR_EXIT", "GeneratorExit"),
        (asyncio.CancelledError(), "CANCELLED_ERROR", "CancelledError"),
        (ValueError("a\x00b\ud800c"), "VALUE_ERROR", "a\ufffdb\ufffdc"),
        (ValueError("password=hunter2"), "VALUE_ERROR", "password=[REDACTED:password]"),
        (ExceptionGroup("many", [ValueError(str(n)) for n in range(1_000)]), "EXCEPTION_GROUP",
         "many (1000 sub-exceptions); the first is ValueError: 0"),
        (chained(ValueError("a"), KeyError("b"), Broken()), "VALUE_ERROR",
         "a\ncaused by KeyError: 'b'\ncaused by Broken: Broken (its text cannot be read: RuntimeError)"),
        (MarkRefused("MARK_REFUSED", step="A", run="r", reason="Cancelled."), "MARK_REFUSED",
         "The effect of step A in run r was not begun: Cancelled. Nothing has happened outside."),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_the_code_and_the_message_of(error: BaseException, code: str, message: str) -> None:
    assert describe(error) == (code, message)


def test_a_class_named_without_a_usable_letter_still_has_a_code() -> None:
    assert describe(type("오류", (Exception,), {})("x")) == ("ERROR", "x")


def test_a_huge_text_is_cut() -> None:
    code, message = describe(Huge())
    assert code == "HUGE"
    assert len(message) == MESSAGE_LIMIT
    assert message.endswith("…")


def test_deep_groups_and_cause_cycles_end() -> None:
    group: Exception = ValueError("inner")
    for _ in range(2_000):
        group = ExceptionGroup("g", [group])
    assert len(describe(group)[1]) <= MESSAGE_LIMIT
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert describe(first)[1] == "a\ncaused by ValueError: b"


def test_a_validation_error_does_not_quote_the_value() -> None:
    class Form(BaseModel):
        age: int

    with pytest.raises(ValidationError) as caught:
        Form.model_validate({"age": "s3cret-word"})
    assert describe(caught.value) == (
        "VALIDATION_ERROR",
        "$.age: Input should be a valid integer, unable to parse string as an integer.",
    )


def test_describe_never_raises() -> None:
    assert describe(OddCode("x"))[0] == "UNKNOWN_ERROR"


def test_a_bounded_text_can_be_stored() -> None:
    assert bounded("abc", 3) == "abc"
    assert bounded("abcd", 3) == "ab…"
    assert bounded("\x00\udfff", 9) == "\ufffd\ufffd"
    assert bounded("abc", 0) == "…"
