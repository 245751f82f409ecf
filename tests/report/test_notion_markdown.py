"""Markdown as Notion reads it: its own signs are escaped, code is not touched, and what is cut is cut between letters."""

from __future__ import annotations

import pytest

from halfway_report.notion_markdown import TITLE_UNITS, cut, for_notion, title_of, too_large, without_title


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Return Vec<T> and {a}", "Return Vec\\<T\\> and \\{a\\}"),
        ('A title {color="red"} costs $5^2', 'A title \\{color="red"\\} costs \\$5\\^2'),
        ("`Vec<T>` and ``a ` <b>`` stay, <c> does not", "`Vec<T>` and ``a ` <b>`` stay, \\<c\\> does not"),
        ("a `b <c", "a `b \\<c"),
        ("> a quote with <b>\n> > two", "> a quote with \\<b\\>\n> > two"),
        ("<https://shop.example/a> stays", "<https://shop.example/a> stays"),
        ("\\<once\\> is enough", "\\<once\\> is enough"),
        ("```\n$(LIB) <x>\n```\n<y>\n", "```\n$(LIB) <x>\n```\n\\<y\\>\n"),
        ("~~~ text\n<x>\n```\n<y>\n~~~~\n<z>", "~~~ text\n<x>\n```\n<y>\n~~~~\n\\<z\\>"),
        ("- ```\n  <x>\n  ```\n", "- ```\n  <x>\n  ```\n"),
        ("한글 <태그>\n", "한글 \\<태그\\>\n"),
        ("", ""),
    ],
)
def test_signs_of_notion_are_escaped_outside_code(written: str, sent: str) -> None:
    assert for_notion(written) == sent


def test_the_first_heading_is_the_title_and_not_part_of_the_content() -> None:
    assert title_of("# Daily report ##\n\nText\n") == "Daily report"
    assert without_title("# Daily report\n\nText\n# Next\n") == "Text\n# Next\n"
    assert title_of("Text\n# Later\n") == ""
    assert without_title("Text\n") == "Text\n"


@pytest.mark.parametrize("letter", ["a", "가", "😀", "🇰🇷", "👩‍👩‍👧‍👦", "é", "👍🏽"])
def test_fault_B41_a_title_is_cut_between_letters_and_counted_in_utf_16(letter: str) -> None:
    short = cut(letter * 3000)
    assert len(short.encode("utf-16-le")) // 2 <= TITLE_UNITS
    assert short.endswith("…")
    assert short[:-1] == letter * (len(short[:-1]) // len(letter))


def test_fault_B41_a_text_that_just_fits_is_not_cut() -> None:
    assert cut("a" * TITLE_UNITS) == "a" * TITLE_UNITS
    assert cut("a" * (TITLE_UNITS - 1) + "😀") == "a" * (TITLE_UNITS - 1) + "…"


@pytest.mark.parametrize(
    ("text", "refused"), [("x" * 480_000, False), ("x" * 500_000, True), ("가" * 170_000, True), ("<" * 170_000, True)]
)
def test_fault_B41_the_size_is_that_of_the_request_and_not_of_the_text(text: str, refused: bool) -> None:
    assert too_large(text) is refused
