"""Help in the language of whoever reads it. Every command is loaded and told once for each language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from halfway.cli import main
from halfway.command import Mishap, Root
from halfway.language import _, language, speak
from halfway.lines import width
from halfway_report.cli import main as report

HANGUL = re.compile(r"[가-힣]")
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
LONG = re.compile(r"  --\S+ \[\S+\]")  # an option with its list of values, which is one word
Told = dict[tuple[str, ...], str]


def paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from paths(below, (*path, name))


def helped(root: Root, *path: str, language: str = "ko", columns: int | None = None) -> str:
    result = CliRunner().invoke(
        root, ["--lang", language, *path, "--help"], prog_name=root.name, env={"COLUMNS": "80"}, terminal_width=columns
    )
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module", params=[main, report], ids=lambda root: root.name)
def told(request: pytest.FixtureRequest) -> dict[str, Told]:
    """The help of every command of a program, on a terminal, and on one that is so wide that no line is broken."""
    root: Root = request.param
    every = list(paths(root))
    return {
        f"{language} {columns}": {path: helped(root, *path, language=language, columns=columns) for path in every}
        for language in ("en", "ko")
        for columns in (None, 1000)
    }


def test_every_line_of_help_is_there_in_both_languages(told: dict[str, Told]) -> None:
    for path, text in told["en 1000"].items():
        lines, korean = text.splitlines(), told["ko 1000"][path].splitlines()
        assert (lines[0].startswith("Usage: "), korean[0].startswith("사용법: ")) == (True, True), path
        assert len(lines) == len(korean), path
        for line, other in zip(lines, korean, strict=True):
            assert not HANGUL.search(line), (path, line)
            assert bool(line) is bool(HANGUL.search(other)) or LONG.fullmatch(line), (path, other)
            if re.match(r"  -.*  ", line):
                assert line.strip().partition("  ")[0] == other.strip().partition("  ")[0]


def test_no_english_of_click_is_left(told: dict[str, Told]) -> None:
    for path, text in told["ko 1000"].items():
        left = re.search(r"\[OPTIONS|\[ARGS|COMMAND|\[default|[\[ ]required\]|[Oo]ptions:|Commands", text)
        assert left is None, (path, left)


def test_lines_of_help_fit_into_a_terminal(told: dict[str, Told]) -> None:
    for kind in ("en None", "ko None"):
        for path, text in told[kind].items():
            for line in text.splitlines():
                assert width(line) <= 80 or LONG.fullmatch(line), (path, line)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--lang", "ko", "show", "--help"],
        ["show", "--help", "--lang=ko"],
        ["--lang", "ko", "db", "--help"],
        ["db", "--help", "--lang", "ko"],
        ["db", "--lang", "ko", "status", "--help"],
    ],
)
def test_the_language_stands_before_or_after(arguments: list[str]) -> None:
    assert CliRunner().invoke(main, arguments).stdout.startswith("사용법: ")


def test_what_programs_read_is_english() -> None:
    assert CliRunner().invoke(main, ["show", "--help", "--lang", "ko", "--json"]).stdout.startswith("Usage: ")


def test_what_stands_behind_an_option_is_korean_and_its_name_is_not() -> None:
    text = helped(main, "schedule", "show")
    assert "--limit INTEGER RANGE  예정 시각을 최신순으로 최대 이만큼.  [기본값: 20;" in text
    assert "[기본값: TEXT" not in text
    sent = helped(main, "event", "send")
    assert "--key KEY          어떤 업무 건에 대한 것인지.  [필수]" in sent
    assert "사용법: halfway event send [옵션] NAME\n" in sent


def test_a_group_without_a_command_tells_its_help() -> None:
    assert CliRunner().invoke(main, ["--lang", "ko", "db"]).stderr.startswith("사용법: halfway db [옵션] 명령 [인자]...\n")


def test_the_reference_is_english_whichever_language_was_chosen_before() -> None:
    helped(main, "schedule", "show")
    context = click.Context(main, info_name="halfway")
    for name in ("schedule", "show"):
        assert isinstance(context.command, click.Group)
        below = context.command.get_command(context, name)
        assert below is not None
        context = click.Context(below, info_name=name, parent=context, max_content_width=100, terminal_width=100)
    lines = [line.rstrip() for line in context.get_help().splitlines() if "--help" not in line]
    assert set(lines) <= set(REFERENCE.read_text(encoding="utf-8").splitlines())


class Shop(Root):
    """A command line of somebody else."""

    def mishap(self, error: Exception) -> Mishap:
        if isinstance(error, click.ClickException):
            return super().mishap(error)
        return Mishap(command="shop", code="ANY", told=str(error), exit=70)


shop = Shop("shop", help="A shop.")


@shop.group()
def till() -> None:
    """Look at the till."""


@till.command()
@click.option("--limit", default=3, show_default=True, help="Of its own.")
def count(limit: int) -> None:
    """Count it.

    A second paragraph, of which halfway knows nothing, and which is long enough to be wrapped by whoever wraps it.
    """


def test_a_command_line_of_an_application_has_korean_around_its_own_words() -> None:
    text = helped(shop, "till", "count")
    for part in ("사용법: shop till count [옵션]", "옵션:", "Count it.", "Of its own.  [기본값: 3]", "이 도움말을 보여 주고 끝냅니다."):
        assert part in text
    assert "and which is long enough\n  to be wrapped" in text
    wrong = CliRunner().invoke(shop, ["till", "count", "--limi", "1", "--lang", "ko"])
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("shop till count: '--limi' 옵션은 없습니다. 혹시 '--limit'입니까?")


class Own(Shop):
    """With a catalogue of its own."""

    def translate(self, text: str) -> str:
        return {"A shop.": "가게."}.get(text, super().translate(text))


def test_an_application_translates_its_own_words() -> None:
    text = helped(Own("own", help="A shop."))
    assert "  가게.\n" in text
    assert "옵션:" in text


def test_a_command_within_a_program_leaves_its_language_alone() -> None:
    speak("en")
    helped(main, "show")
    assert (language(), _("Missing command.")) == ("en", "Missing command.")
