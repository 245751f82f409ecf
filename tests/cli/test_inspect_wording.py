"""`halfway inspect --wording`: a model retells the card, and can change nothing by it: not the card, not the verdict, not the exit code."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halfway.cli import main, retelling
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.rules import all_rules
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_server import Handler, Local
from halfway_report.standin_voices import Script
from tests.cli.test_inspect import RELEASE, SECRET

GOOD = """Verdict: STOP
The release flow makes a new name each time: R-09, release.yml:14 (needs confirmation).
What may already have happened needs confirmation."""
KOREAN = """결론: 중단
R-09: 이름을 지금 가장 새로운 것에서 가져옵니다(release.yml:14, 확인 필요).
이미 일어났을 수 있는 일은 확인 필요입니다."""
LIE = GOOD.replace("STOP", "PROCEED")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "release.yml").write_text(RELEASE % SECRET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[StandinOllama]:
    with StandinOllama() as running:
        yield running


@pytest.fixture
def ollama(server: StandinOllama) -> StandinOllama:
    server.requests.clear()
    return server


def inspect(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["inspect", "release.yml", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@cache
def alone(*arguments: object) -> Result:
    """Without words; the file is the same in each test."""
    return inspect(*arguments)


def worded(ollama: StandinOllama, *lines: str, more: tuple[object, ...] = ()) -> Result:
    ollama.voice = Script(*lines)
    return inspect("--wording", "tiny", "--model-url", ollama.url, *more)


def told(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_words_stand_above_the_whole_card_and_say_whose_they_are(ollama: StandinOllama) -> None:
    card_alone, result = alone(), worded(ollama, GOOD)
    above, card = result.stdout.split("\nWhat was read\n")
    assert f"What was read\n{card}" == card_alone.stdout
    heading, mark, *words = above.strip().splitlines()
    assert (heading, [word.strip() for word in words]) == ("In plain words", GOOD.splitlines())
    assert "written by the model tiny" in mark
    assert "no finding" in mark
    assert (result.exit_code, result.stderr) == (card_alone.exit_code, "") == (20, "")


def test_who_sits_in_front_of_it_is_told_that_a_model_is_asked(ollama: StandinOllama, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    (card,) = [Inspector(READERS, all_rules(), load()).inspect([Path("release.yml")]).card]
    assert card is not None
    ollama.voice = Script(GOOD)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert retelling.retold(card, "tiny", ollama.url).text == GOOD
    assert terminal.getvalue() == f"Asking tiny at {ollama.url.removeprefix('http://')}; Ctrl-C ends it.\n"


def test_the_model_sees_the_card_and_nothing_of_the_files(ollama: StandinOllama, folder: Path) -> None:
    (folder / "release.yml").write_text((RELEASE % SECRET) + "# a remark that no card tells\n")
    result = worded(ollama, GOOD)
    (chat,) = ollama.chats
    assert isinstance(chat["messages"], list)
    order, data = [message["content"] for message in chat["messages"]]
    card = result.stdout[result.stdout.index("What was read") :]
    assert [line.removeprefix("| ") for line in data.splitlines()[1 : len(card.strip().splitlines()) + 1]] == card.strip().splitlines()
    assert not [text for text in (order, data) for hidden in (SECRET, "remark", "branches") if hidden in text]
    assert (chat["stream"], chat["truncate"], chat["shift"]) == (True, False, False)
    assert [request.path for request in ollama.requests] == ["/api/chat"]


def test_in_korean_the_model_gets_the_korean_card(ollama: StandinOllama) -> None:
    result = worded(ollama, KOREAN, more=("--lang", "ko"))
    assert result.stdout.startswith("쉬운 말로\n")
    assert result.stderr == ""
    assert "| 가장 중대한 취약점" in str(ollama.chats[0]["messages"])
    rejected = worded(ollama, GOOD, more=("--lang", "ko"))
    assert rejected.stdout == alone("--lang", "ko").stdout
    assert "tiny의 요약 없이" in rejected.stderr


def test_a_liar_is_told_what_is_wrong_once_and_then_the_card_stands_alone(ollama: StandinOllama) -> None:
    result = worded(ollama, LIE)
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    [line] = result.stderr.splitlines()
    assert "without the words of tiny: its first line is not: Verdict: STOP" in line
    first, second = (str(chat["messages"]) for chat in ollama.chats)
    assert "WRONG" not in first.replace("between WRONG", "")
    assert "WRONG\\n| its first line is not: Verdict: STOP" in second


def test_a_better_second_answer_is_shown(ollama: StandinOllama) -> None:
    result = worded(ollama, LIE, GOOD)
    assert "In plain words" in result.stdout
    assert len(ollama.chats) == 2


def test_programs_get_the_words_or_why_there_are_none(ollama: StandinOllama) -> None:
    good, bad = told(worded(ollama, GOOD, more=("--json",))), told(worded(ollama, LIE, more=("--json", "--lang", "ko")))
    assert good["wording"] == {"model": "tiny", "text": GOOD, "rejected": []}
    assert bad["wording"] == {"model": "tiny", "text": None, "rejected": ["its first line is not: Verdict: STOP"]}
    assert {name: value for name, value in good.items() if name != "wording"} == told(alone("--json"))


def test_in_markdown_the_words_cannot_break_out_of_their_section(ollama: StandinOllama) -> None:
    result = worded(ollama, GOOD + "\nThe quote `V=$(git tag -l 'v*' | sort -V | tail -1)` is its own.", more=("--format", "md"))
    words, card = result.stdout.split("\n# Release\n")
    assert words.splitlines()[0] == "## In plain words"
    assert "\\`V=$(git tag -l 'v\\*' \\| sort" in words
    assert f"# Release\n{card}" == alone("--format", "md").stdout


@pytest.mark.parametrize(("fault", "why"), [
    ("half_line", "broke off"), ("no_done", "broke off"), ("reset_midway", "does not answer"), ("error_line", "broke off"),
    ("noise", "broke off"), ("html", "broke off"), ("load", "broke off"), ("length", "broke off"), ("reset", "does not answer"),
    ("503", "answered 503: server busy"), ("oom", "more system memory"),
])  # fmt: skip
def test_an_answer_that_breaks_off_is_none(ollama: StandinOllama, fault: str, why: str) -> None:
    ollama.fail(fault)
    result = worded(ollama, GOOD)
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    assert why in result.stderr
    assert len(result.stderr.splitlines()) == len(ollama.chats) == 1


@pytest.mark.parametrize("fault", ["stall", "hang"])
def test_a_model_that_is_silent_is_not_waited_for(ollama: StandinOllama, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retelling, "PATIENCE", 0.1)
    ollama.fail(fault)
    result = worded(ollama, GOOD)
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    assert "did not answer within 0.1 seconds" in result.stderr


class Odd(Handler):
    """Sends the caller elsewhere, or goes on for ever without coming to the end of a line."""

    def do_POST(self) -> None:
        self.body()
        if self.path.startswith("/moved"):
            self.send(302, b"", "text/plain", headers={"Location": f"http://127.0.0.1:{self.connection.getsockname()[1]}/api/chat"})
            return
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):  # until nobody listens any more
            while True:
                self.wfile.write(b" ")
                threading.Event().wait(0.01)


def test_a_server_that_sends_a_byte_now_and_then_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retelling, "PATIENCE", 0.2)
    with Local(Odd, port=0) as server:
        result = inspect("--wording", "tiny", "--model-url", server.url)
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    assert "did not answer within 0.2 seconds" in result.stderr


def test_nobody_is_followed_elsewhere() -> None:
    with Local(Odd, port=0) as server:
        result = inspect("--wording", "tiny", "--model-url", f"{server.url}/moved/")
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    assert "answered 302" in result.stderr


def test_a_model_that_is_not_there_is_named_with_what_helps(ollama: StandinOllama) -> None:
    result = inspect("--wording", "no\x1bpe", "--model-url", ollama.url)
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    assert "ollama pull no pe" in result.stderr


def test_a_server_that_is_down_is_told_with_what_helps() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        result = inspect("--wording", "tiny", "--model-url", f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (result.exit_code, result.stdout) == (20, alone().stdout)
    assert "does not answer at 127.0.0.1:" in result.stderr
    assert "--model-url" in result.stderr


def test_no_proxy_is_asked_on_the_way(ollama: StandinOllama, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert "In plain words" in worded(ollama, GOOD).stdout


def test_without_the_option_nobody_is_asked(ollama: StandinOllama) -> None:
    assert alone().exit_code == 20
    assert "--model-url goes with --wording only." in inspect("--model-url", ollama.url).stderr
    assert ollama.requests == []


@pytest.mark.parametrize("arguments", [
    ("--format", "sarif"), ("--emit-workflow",), ("--model-url", "file:///etc/passwd"), ("--model-url", "http://kim:secret@127.0.0.1"),
    ("--model-url", "http://127.0.0.1:no"),
])  # fmt: skip
def test_where_no_words_belong_is_said_before_anything_is_read(arguments: tuple[str, ...]) -> None:
    result = inspect("--wording", "tiny", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "secret" not in result.stderr


def test_a_card_that_is_too_long_is_not_even_sent(ollama: StandinOllama, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retelling, "LARGEST", 100)
    assert "too long" in worded(ollama, GOOD).stderr
    assert ollama.requests == []
