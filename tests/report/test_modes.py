"""The modes without an engine: what is asked, what is made of the answer, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date

import pytest

from halfway_report.context import build_context
from halfway_report.generators import Identity, Task, Written
from halfway_report.generators.mending import mend
from halfway_report.generators.modes import writer
from halfway_report.generators.sentences import first_sentence, flaw
from halfway_report.generators.wire import Answer, Prompt
from halfway_report.models import Collection, Commit
from halfway_report.settings import LlmSettings
from tests.report.desks import Desk

PROSE = "The tokens are rotated now, and the page for new people says how to start."
SHAS = ("a1b2c3d4e5f6" + "0" * 28, "9f8e7d6c5b4a" + "1" * 28)
DAY = Collection(
    project="shop",
    date=date(2026, 9, 30),
    zone="UTC",
    basis="author",
    commits=tuple(Commit(sha=sha, repository="shop", at=1, subject=f"Subject {sha[0]}") for sha in SHAS),
)


class Says:
    """A model that says one thing, or what a function makes of the question."""

    def __init__(self, said: str | Callable[[Prompt], str], finish: str = "stop") -> None:
        self.said, self.finish = said, finish
        self.prompts: list[Prompt] = []

    def identify(self, desk: object, /) -> Identity:
        return Identity(name="tiny", digest="d" * 64)

    def ask(self, prompt: Prompt, desk: object, /) -> Answer:
        self.prompts.append(prompt)
        return Answer(text=self.said if isinstance(self.said, str) else self.said(prompt), finish=self.finish, prompt_tokens=9, tokens=2)


def written(mode: str, model: Says, desk: Desk | None = None, *, thinks: bool = False, **settings: object) -> Written:
    facts = LlmSettings.model_validate({"model": "tiny", "mode": mode, **settings})
    task = Task(context=build_context(DAY), model=Identity(name="tiny", digest="d" * 64, thinks=thinks))
    return writer(facts, model).write(task, desk or Desk())


def filled(*shas: str, **more: object) -> str:
    changes = [{"commit": sha[:12], "sentence": "This was done with care."} for sha in shas]
    return json.dumps({"summary": PROSE, "changes": changes, **more})


ANSWERS = {
    "no json": ("I cannot do that.", "SCHEMA (JSON"),
    "half of it": ("{", "SCHEMA (JSON"),
    "text behind it": (filled() + " and that is all", "SCHEMA (JSON"),
    "a line break in a text": ('{"summary": "a\nb", "changes": []}', "SCHEMA (JSON"),
    "a field is missing": (json.dumps({"summary": PROSE}), "SCHEMA (changes"),
    "a field of the wrong type": (json.dumps({"summary": 1, "changes": []}), "SCHEMA (summary"),
    "a field too many": (filled(more=1), "SCHEMA (more"),
    "a commit that does not exist": (filled("0badc0de1234"), "UNKNOWN_SHA (0badc0de1234)"),
    "a commit in a text": (filled().replace("The tokens", "Since 0badc0de1 the tokens"), "UNKNOWN_SHA (0badc0de1)"),
    "another language": (json.dumps({"summary": "오늘은 토큰을 교체했다.", "changes": []}), "LANGUAGE"),
    "nothing": (json.dumps({"summary": "", "changes": []}), "EMPTY in summary"),
    "a leak": (filled().replace("The tokens", "<|im_start|> The tokens"), "LEAK (<|im_start|>)"),
}


@pytest.mark.parametrize(("answer", "code"), ANSWERS.values(), ids=ANSWERS.keys())
def test_b43_an_answer_that_does_not_fit_is_named_by_its_field(answer: str, code: str) -> None:
    report = written("structured", Says(answer))
    assert report.faults
    assert report.faults[0].startswith(code)


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "<think>a</think>{}"])
def test_b43_what_stands_around_an_answer_is_taken_off(around: str) -> None:
    report = written("structured", Says(around.replace("{}", filled(SHAS[0]))))
    assert report.faults == ()
    assert f"## Summary\n\n{PROSE}\n" in report.text
    assert "- `a1b2c3d4e5f6` This was done with care.\n- `9f8e7d6c5b4a` Subject 9\n" in report.text


def test_every_question_and_every_answer_is_kept() -> None:
    desk = Desk()
    model = Says(filled())
    written("structured", model, desk)
    assert desk.stored == {"prompt-1.txt": model.prompts[0].text, "answer-1.txt": filled()}


def test_a_map_asks_nothing_twice() -> None:
    desk, model = Desk(), Says("This was done with care.")
    first = written("map", model, desk)
    assert written("map", model, desk).text == first.text
    assert len(model.prompts) == 2
    assert len(desk.stored) == 2
    written("map", model, desk, seed=8)
    assert len(model.prompts) == 4


@pytest.mark.parametrize(("thinks", "think", "sent"), [(False, True, None), (True, False, False), (True, True, True)])
def test_b43_thinking_is_asked_of_a_model_that_can_and_gets_room(thinks: bool, think: bool, sent: bool | None) -> None:
    model = Says("This was done with care.")
    written("map", model, thinks=thinks, think=think, num_predict=1500)
    assert model.prompts[0].think is sent
    assert model.prompts[0].num_predict == (1500 if sent else 100)


def test_the_authors_words_are_in_no_instruction() -> None:
    model = Says("")
    written("whole", model)
    (prompt,) = model.prompts
    assert "Subject a" not in prompt.system
    mark = prompt.user.partition("\n<<<")[2][:12]
    begin, end = prompt.user.index(f"\n<<<{mark}\n"), prompt.user.index(f"\n{mark}>>>")
    assert begin < prompt.user.index("Subject a") < end


def test_a_map_shows_its_examples_as_turns_of_a_conversation() -> None:
    model = Says("This was done with care.")
    written("map", model)
    roles = [message["role"] for message in model.prompts[0].messages]
    assert roles == ["system", *["user", "assistant"] * 3, "user"]
    assert model.prompts[0].messages[-1]["content"] == "Commit: Subject a"


def test_notes_are_added_only_where_they_belong() -> None:
    assert written("whole", Says("# Title\n\n## Notes\n\n- none\n")).text.endswith("by the model tiny (mode whole).\n")
    assert written("whole", Says("## Notes\n\nx\n\n## Changes\n\nx\n")).text == "## Notes\n\nx\n\n## Changes\n\nx\n"


MENDED = {
    "nothing to do": ("# A\n", "# A\n", ()),
    "no end of line": ("# A", "# A\n", ("spaces",)),
    "windows": ("# A\r\nb\r\n", "# A\nb\n", ("normalised",)),
    "decomposed": ("# e\u0301\n", "# é\n", ("normalised",)),
    "wrapped": ("```markdown\n# A\n```\n", "# A\n", ("unwrapped", "spaces")),
    "wrapped without a name": ("```\n# A\n```", "# A\n", ("unwrapped", "spaces")),
    "four ticks around three": ("````md\n# A\n```\nx\n```\n````", "# A\n```\nx\n```\n", ("unwrapped", "spaces")),
    "two blocks": ("```\n# A\n```\ntext\n```\nb\n```\n", "```\n# A\n```\ntext\n```\nb\n```\n", ()),
    "code is no wrapper": ("```py\nx = 1\n```\n", "```py\nx = 1\n```\n", ()),
    "prose before it": ("Sure!\n```markdown\n# A\n```\n", "Sure!\n```markdown\n# A\n```\n", ()),
    "thoughts": ("<think>a\nb</think>\n\n# A\n", "# A\n", ("thoughts", "spaces")),
    "thoughts and a wrapper": ("<THINK>a</THINK>\n```md\n# A\n```\n", "# A\n", ("thoughts", "unwrapped", "spaces")),
    "thoughts without an end": ("<think>a\n# A\n", "<think>a\n# A\n", ()),
    "thoughts in the middle": ("# A\n<think>a</think>\n", "# A\n<think>a</think>\n", ()),
    "thoughts that the text is about": ("# A\n\n`<think>a</think>` is stripped\n", "# A\n\n`<think>a</think>` is stripped\n", ()),
    "only thoughts": ("<think>a</think>", "", ("thoughts",)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "repairs"), MENDED.values(), ids=MENDED.keys())
def test_case_17_b43_what_is_mended_and_what_is_left(text: str, expected: str, repairs: tuple[str, ...]) -> None:
    assert mend(text) == (expected, repairs)
    assert mend(expected) == (expected, ())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("Sentence: The cart was fixed. It is fine now.", "The cart was fixed."),
        ('\n"The cart was fixed."\n\nMore.', "The cart was fixed."),
        ("The file a.py was fixed", "The file a.py was fixed"),
        ("Some files, e.g. a.py, were fixed. More.", "Some files, e.g. a.py, were fixed."),
        (" \n", ""),
    ],
)
def test_the_first_sentence_of_an_answer(answer: str, sentence: str) -> None:
    assert first_sentence(answer) == sentence


FLAWS = [
    ("", "The cart of a1b2c3d4 was fixed.", "stop", "en"),
    ("EMPTY", "", "stop", "en"),
    ("TOO_SHORT", "Done.", "stop", "en"),
    ("TOO_LONG", "word " * 100, "stop", "en"),
    ("TRUNCATED", "The cart was fi", "length", "en"),
    ("TRUNCATED", "The command to start it is:", "stop", "en"),
    ("LEAK", "<|im_end|> The cart was fixed.", "stop", "en"),
    ("UNKNOWN_SHA", "The cart of 0badc0de1 was fixed.", "stop", "en"),
    ("FEWSHOT_ECHO", "The cart was shown to you.", "stop", "en"),
    ("FEWSHOT_ECHO", "Commit: Rotate the tokens", "stop", "en"),
    ("REPETITION", "The cart was and the cart was and the cart was and the cart was and", "stop", "en"),
    ("LANGUAGE", "The cart was fixed.", "stop", "ko"),
    ("", "장바구니의 auth token refresh rotation을 수정했다.", "stop", "ko"),
]


@pytest.mark.parametrize(("code", "sentence", "finish", "language"), FLAWS)
def test_a_sentence_is_used_or_its_flaw_is_named(code: str, sentence: str, finish: str, language: str) -> None:
    found = flaw(sentence, finish, SHAS, examples=("The cart was shown to you.",), language=language)
    assert found.partition(" ")[0] == code
