"""What a run has kept as a message is told in Korean; what others said in it stays as it is, and programs read English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from halfway.errors import Told
from halfway_report import language
from halfway_report.language import retold, speak
from tests.report.shell import Shell

CATALOGUE = Path(language.__file__).with_name("locale") / "ko" / "LC_MESSAGES" / "halfway.po"
GAP = re.compile(r"\{\d\}")


@pytest.fixture
def korean() -> Iterator[None]:
    speak("ko")
    yield
    speak("en")


@pytest.mark.usefixtures("korean")
def test_every_message_is_found_by_what_was_filled_into_it() -> None:
    """None of them is taken for another one, which says less."""
    with CATALOGUE.open("rb") as file:
        texts = {str(message.id): str(message.string) for message in read_po(file, locale="ko") if message.id}
    templates = [text for text in texts if "{0}" in text]
    assert len(templates) > 50
    for text in templates:
        filled = [f"X{number}" for number in range(len(GAP.findall(text)))]
        assert retold(text.format(*filled)) == texts[text].format(*filled)


@pytest.mark.usefixtures("korean")
@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (
            "Notion answered 401 unauthorized: API token is invalid. Check the token of the connection.",
            "Notion의 응답 401 unauthorized: API token is invalid. 연결의 토큰을 확인하십시오.",
        ),
        (
            "Notion answered 429 rate_limited: Slow down. (asks to wait 5 s)",
            "Notion의 응답 429 rate_limited: Slow down. (5초 기다리라고 함)",
        ),
        ("Notion answered 502: no explanation was given", "Notion의 응답 502: 설명이 없습니다"),
        ("git log in /srv/shop: fatal: bad object", "/srv/shop에서 git log: fatal: bad object"),
        ("git log in /srv/shop: its time was over, it was killed", "/srv/shop에서 git log: 시간이 다 되어 강제로 종료했습니다"),
        (
            "TOO_SHORT (12 characters of text, 40 needed); UNKNOWN_SHA (abc1234); MISSING_HEADING (a heading of level 1)",
            "TOO_SHORT (본문 12자, 40자 필요); UNKNOWN_SHA (abc1234); MISSING_HEADING (1단계 제목)",
        ),
        (
            "model tiny: http://127.0.0.1:1 answered 404: model 'tiny' not found; get it with: ollama pull tiny",
            "모델 tiny: http://127.0.0.1:1의 응답 404: model 'tiny' not found; 받으려면: ollama pull tiny",
        ),
        ("commits after the first 500 of the day, left out: 3", "그날의 처음 500개 뒤에 와서 뺀 커밋: 3"),
        ("lock files: 2", "잠금 파일: 2"),
        ("no project run; known: status", "프로젝트 run이(가) 없습니다. 있는 것: status"),
        ("Something that nobody here has written. Nor this.", "Something that nobody here has written. Nor this."),
    ],
)
def test_a_message_is_korean_but_for_the_words_of_others(kept: str, told: str) -> None:
    assert retold(kept) == told


@pytest.mark.usefixtures("korean")
def test_sentences_of_halfway_come_with_their_parts() -> None:
    told = Told([("Only a run that has stopped can be resumed.", {}), ("There is no file {path}.", {"path": "x"})])
    assert retold(told) == "멈춘 실행만 재개할 수 있습니다. 파일 x이(가) 없습니다."


def test_a_message_is_english_where_nobody_asked_for_another_language() -> None:
    speak("en")
    assert retold("no project shop; known: none") == "no project shop; known: none"


def test_a_run_that_failed_is_told_in_korean_and_as_json_in_english(shell: Shell) -> None:
    shell.path.parent.mkdir(parents=True)
    shell.path.write_text("my own words")
    stopped = shell("run", "shop", "--date", "2026-09-30", lang="ko")
    run = re.search(r"^runId +(\S+)", stopped.stdout, re.MULTILINE)
    assert run is not None
    for told in (stopped.stdout, shell("status", run[1], lang="ko").stdout):
        assert "그대로 두었습니다" in told
        assert "another content" not in told
    assert "another content" in shell("status", run[1], "--json", "--lang", "ko").stdout
    refused = shell("accept", run[1], "--attempt", "7", lang="ko").stderr
    assert "7번째 시도가 쓴 보고서가 없습니다. 있는 것: 1." in refused


def test_what_was_left_out_of_a_day_is_korean(shell: Shell) -> None:
    shell.configure(project='exclude_authors = ["."]')
    told = shell("run", "shop", "--date", "2026-09-30", "--dry-run", lang="ko").stdout
    assert "- 제외한 작성자의 것이어서 뺀 커밋: " in told


def test_the_doctor_speaks_korean_in_columns(shell: Shell) -> None:
    told = shell("doctor", lang="ko").stdout.splitlines()
    assert [line.split()[:2] for line in told] == [["정상", one] for one in ("설정", "프로젝트", "폴더", "데이터베이스", "실행")]
    assert {sum(1 + (letter > "\u1100") for letter in line.partition("/")[0]) for line in told[:3]} == {30}


def test_a_mistake_in_the_settings_is_korean(shell: Shell) -> None:
    shell.configure('[schedules.stock]\ncron = "0 18 * * *"\n', project='zone = "Nowhere/Else"')
    assert "없는 시간대입니다: Nowhere/Else" in shell("runs", lang="ko").stderr


def test_a_mistake_in_a_command_is_korean(shell: Shell) -> None:
    told = shell("run", "shop", "--forse", lang="ko").stderr
    assert told.startswith("report run: '--forse' 옵션은 없습니다. 혹시 '--force'입니까?")
    assert told.endswith("도움말: report run --help\n")


@pytest.mark.usefixtures("korean")
@pytest.mark.parametrize("part", ["line ", "x: ", "x: y; "])
def test_what_others_have_made_deep_or_long_is_left(part: str) -> None:
    assert part * 20 in retold((part * 1300).strip())
