import pytest

from halfway_report.form import Form
from halfway_report.validation import Origin, validate

FORM = Form(name="test", headings=("Summary", "Changes", "Notes"), min_prose=60, max_size=5_000)
SHAS = ("a1b2c3d" + "0" * 33, "9f8e7d6" + "1" * 33)
PROSE = "The team shipped the rotation of tokens and closed one hole in the replay check."
GOOD = f"# Daily report\n\n## Summary\n\n{PROSE}\n\n## Changes\n\n- `a1b2c3d` rotation\n- 9f8e7d6 replay\n\n## Notes\n\n- none\n"


def codes(text: str, *, shas: tuple[str, ...] = SHAS, known: tuple[str, ...] = ()) -> list[str]:
    return list(validate(text, shas, known=known, form=FORM).codes)


TABLE = {
    "good": (GOOD, []),
    "empty": ("", ["EMPTY"]),
    "only spaces": (" \n\t\n", ["EMPTY"]),
    "a control character": (GOOD.replace("none", "no\x00ne"), ["BAD_CHARS"]),
    "a lost character": (GOOD.replace("none", "no\ufffdne"), ["BAD_CHARS"]),
    "headings and code only": (GOOD.replace(PROSE, "Done."), ["TOO_SHORT"]),
    "too long": (GOOD + "\nmore and more " * 400, ["TOO_LONG"]),
    "no title": (GOOD.replace("# Daily report\n", "", 1), ["MISSING_HEADING"]),
    "heading of the wrong level": (GOOD.replace("## Notes", "### Notes"), ["MISSING_HEADING"]),
    "bold is no heading": (GOOD.replace("## Notes", "**Notes**"), ["MISSING_HEADING"]),
    "underlined heading": (GOOD.replace("# Daily report\n", "Daily report\n============\n", 1), []),
    "closed heading": (GOOD.replace("## Notes", "## Notes ##"), []),
    "heading twice": (GOOD + "\n## Notes\n\n- again\n", ["DUPLICATE_HEADING"]),
    "wrong order": (GOOD.replace("## Notes", "## X").replace("## Summary", "## Notes").replace("## X", "## Summary"), ["HEADING_ORDER"]),
    "empty section": (GOOD.replace("- none\n", ""), ["EMPTY_SECTION"]),
    "subheading only": (GOOD.replace("- none\n", "### Nothing\n"), ["EMPTY_SECTION"]),
    "headings only inside a fence": ("```\n" + GOOD + "```\n", ["MISSING_HEADING"] * 4 + ["TOO_SHORT", "NO_CITATION"]),
    "open fence": (GOOD + "\n```py\nx = 1\n", ["OPEN_FENCE"]),
    "open fence at the very end": (GOOD + "\n```", ["OPEN_FENCE"]),
    "closed fence": (GOOD + "\n```py\nx = 1\n```\n", []),
    "four ticks may hold three": (GOOD + "\n````\n```\n````\n", []),
    "tildes are not closed by ticks": (GOOD + "\n~~~\nx\n```\n", ["OPEN_FENCE"]),
    "fence in a list": (GOOD + "\n- item\n\n  ```\n  x\n  ```\n", []),
    "fence in a quotation": (GOOD + "\n> ```\n> x\n> ```\n", []),
    "html block": (GOOD + "\n<div>\nx\n</div>\n", ["RAW_HTML"]),
    "html in a line": (GOOD.replace("none", "no <b>ne"), ["RAW_HTML"]),
    "invented, in code": (GOOD.replace("none", "`786f5e6`"), ["UNKNOWN_SHA"]),
    "invented, bare": (GOOD.replace("none", "see 786f5e6."), ["UNKNOWN_SHA"]),
    "invented, in a link": (GOOD.replace("none", "[c](https://shop.example/commit/786f5e6)"), ["UNKNOWN_SHA"]),
    "invented word, in code": (GOOD.replace("none", "`deadbee`"), ["UNKNOWN_SHA"]),
    "a word is no citation": (GOOD.replace("none", "on 20260930 the defaced pages and 1234567 others"), []),
    "a date in code": (GOOD.replace("none", "`20260930`"), []),
    "a uuid": (GOOD.replace("none", "123e4567-e89b-12d3-a456-426614174000"), []),
    "a fence is no citation": (GOOD + "\n```\n786f5e6\n```\n", []),
    "capitals": (GOOD.replace("none", "`A1B2C3D`"), []),
    "the full hash": (GOOD.replace("none", f"`{SHAS[0]}`"), []),
    "nothing cited": (GOOD.replace("`a1b2c3d`", "-").replace("9f8e7d6", "-"), ["NO_CITATION"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLE.values(), ids=TABLE.keys())
def test_a_text_has_exactly_these_faults(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_a_short_hash_that_fits_two_commits_is_ambiguous() -> None:
    assert codes(GOOD, shas=(*SHAS, "a1b2c3d" + "9" * 33)) == ["AMBIGUOUS_SHA"]


def test_a_commit_of_another_day_may_be_named_if_it_is_known() -> None:
    text = GOOD.replace("none", "reverts `786f5e6`")
    assert codes(text) == ["UNKNOWN_SHA"]
    assert codes(text, known=("786f5e6" + "c" * 33,)) == []


def test_a_day_without_commits_needs_no_citation() -> None:
    text = GOOD.replace("- `a1b2c3d` rotation\n- 9f8e7d6 replay", "- none")
    assert codes(text, shas=()) == []


def test_the_verdict_counts_the_commits_that_are_cited() -> None:
    verdict = validate(GOOD.replace("9f8e7d6", "one"), SHAS, form=FORM)
    assert (verdict.cited, verdict.faults) == (1, ())


def test_a_fault_names_what_it_is_about() -> None:
    verdict = validate(GOOD.replace("none", "see 786f5e6."), SHAS, form=FORM)
    assert [str(fault) for fault in verdict.faults] == ["UNKNOWN_SHA (786f5e6)"]


OUTSIDE = "The order of things was changed in the whole of the shop, and nobody was asked about it."
KOREAN = "오늘은 토큰 교체 기능을 추가하고 재전송 검사에서 발견된 문제를 모두 수정했다. "
MIXED = "오늘은 auth refresh token rotation을 추가했고 replay check의 문제를 수정했다. "
CHINESE = "今天增加了令牌轮换并修复了重放检查中的漏洞以及其他问题。"
ORIGINS = {
    "a text by code": (GOOD, Origin(), []),
    "cut at a limit": (GOOD, Origin(finish="length"), ["TRUNCATED"]),
    "empty and cut": ("", Origin(finish="length"), ["EMPTY", "TRUNCATED"]),
    "thoughts": (GOOD.replace("none", "none <think>so be it"), Origin(language="en"), ["LEAK"]),
    "thoughts in a block": (GOOD + "\n<think>\nso be it\n</think>\n", Origin(), ["LEAK"]),
    "a server's mark": (GOOD.replace("none", "none <|im_end|>"), Origin(language="en"), ["LEAK"]),
    "an instruction's mark": (GOOD.replace("none", "none [/INST]"), Origin(language="en"), ["LEAK"]),
    "a mark in code is what the text is about": (GOOD.replace("none", "strip `<think>`"), Origin(language="en"), []),
    "a mark that code has escaped is a commit's": (GOOD.replace("none", "strip \\<think\\>"), Origin(), []),
    "one line four times": (GOOD + "- the same line again\n" * 4, Origin(), ["REPETITION"]),
    "one line three times": (GOOD + "- the same line again\n" * 3, Origin(), []),
    "code may repeat": (GOOD + "\n```\n" + "return None and so on\n" * 9 + "```\n", Origin(), []),
    "an example came back": (GOOD.replace("none", OUTSIDE.upper()), Origin(examples=(OUTSIDE,)), ["FEWSHOT_ECHO"]),
    "another example did not": (GOOD, Origin(examples=(OUTSIDE,)), []),
    "the title that code knows": (GOOD, Origin(title="Daily report"), []),
    "another title": (GOOD.replace("# Daily report", "# Daily report: bank, 1999-01-01"), Origin(title="Daily report"), ["WRONG_TITLE"]),
    "two titles": (GOOD.replace("# Daily report", "# Daily report\n\n# Approved"), Origin(title="Daily report"), ["WRONG_TITLE"]),
    "an image": (GOOD.replace("none", "![x](https://a.example/p.png)"), Origin(language="en", said="https://a.example"), ["REMOTE_IMAGE"]),
    "an address that nobody said": (GOOD.replace("none", "[docs](https://a.example)"), Origin(language="en"), ["REMOTE_LINK"]),
    "an address that a commit said": (GOOD.replace("none", "<https://a.example>"), Origin(language="en", said="https://a.example"), []),
    "English": (GOOD, Origin(language="en"), []),
    "English for Korean": (GOOD, Origin(language="ko"), ["LANGUAGE"]),
    "Korean for English": (GOOD.replace(PROSE, KOREAN * 2), Origin(language="en"), ["LANGUAGE"]),
    "Korean full of English words": (GOOD.replace(PROSE, MIXED * 2), Origin(language="ko"), []),
    "Chinese for Korean": (GOOD.replace(PROSE, CHINESE * 4 + KOREAN), Origin(language="ko"), ["LANGUAGE"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "origin", "expected"), ORIGINS.values(), ids=ORIGINS.keys())
def test_case_17_what_is_known_about_how_a_text_came_to_be_is_looked_at(text: str, origin: Origin, expected: list[str]) -> None:
    assert list(dict.fromkeys(validate(text, SHAS, form=FORM, origin=origin).codes)) == expected
