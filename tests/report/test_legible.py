import pytest

from halfway_report.legible import decoded, message_text, path_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link", "text link"),
        ("\x1b]never ends", ""),
        ("bell\x07 nul\x00 \x9b31m", "bell nul 31m"),
        ("\u202eright\u2069 \u200fto left", "right to left"),
        ("👩\u200d💻 한글 é", "👩\u200d💻 한글 é"),
    ],
)
def test_a_message_keeps_what_is_shown_and_loses_what_is_obeyed(text: str, expected: str) -> None:
    assert message_text(text) == expected


def test_a_path_stays_on_one_line() -> None:
    assert path_text("a\nb\tc\x1b\u2028d\u202e 한글".encode() + b"\xff") == "a\ufffdb\tc\ufffd\ufffdd\ufffd 한글\ufffd"
    assert decoded(b"\xed\x95\x9c\xe9") == "한\ufffd"
