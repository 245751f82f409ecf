"""People are told in their language, programs never are; and what is generated from the code is current."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from halfway.cli import main
from halfway.cli.i18n import FOLDER, speak, tell, translated
from halfway.errors import MESSAGES, HalfwayError
from tests.cli.conftest import Project

ROOT = Path(__file__).parents[2]
HANGUL = re.compile(r"[가-힣]")


@pytest.mark.parametrize(
    ("arguments", "env", "korean"),
    [
        (["--lang", "ko"], {}, True),
        (["--lang=ko_KR"], {"HALFWAY_LANG": "en"}, True),
        ([], {"HALFWAY_LANG": "ko"}, True),
        ([], {"LANG": "ko_KR.UTF-8"}, True),
        ([], {"LC_ALL": "C", "LANG": "ko_KR.UTF-8"}, False),
        (["--lang", "en"], {"HALFWAY_LANG": "ko"}, False),
        (["--lang", "xx"], {}, False),
        (["--lang", "../../etc"], {}, False),
    ],
)
def test_the_language_is_the_option_the_variable_or_the_locale(
    small: Project, arguments: list[str], env: dict[str, str], korean: bool
) -> None:
    before = small.run(*arguments, "show", "nobody", env=env)
    after = small.run("show", "nobody", *arguments, env=env)
    assert before.stderr == after.stderr
    assert bool(HANGUL.search(before.stderr)) is korean


def test_show_speaks_korean(small: Project) -> None:
    run = small.start("o-1", "lose")
    small.work(run)
    told = small.run("show", run, "--lang", "ko").stdout
    for line in (
        "2개 단계 중 1개가 끝났고",
        "일어났는지 알 수 없습니다.",
        "확인할 곳: the payment at the bank",
        "지금 해도 안전한 일",
        "finance 역할이 결정합니다.",
    ):
        assert line in told
    assert "halfway mark-success" in told


def test_a_refusal_is_korean_to_its_last_word(small: Project) -> None:
    small.work(small.start("o-2", "lose"))
    told = small.run("resume", "o-2", "--reason", "r", "--lang", "ko").stderr
    assert "CHARGE 단계가 일어났는지 아직 알 수 없습니다. 확인한 뒤 알려 주십시오." in told


def test_json_is_never_translated(small: Project) -> None:
    run = small.start("o-3")
    for arguments in (["show", run], ["runs"], ["doctor"], ["check"]):
        assert not HANGUL.search(small.run(*arguments, "--json", "--lang", "ko").stdout)
    refused = small.run("show", "nobody", "--json", "--lang", "ko")
    assert json.loads(refused.stderr)["message"] == "There is no run nobody. List the runs with: halfway runs"


def test_every_error_has_a_korean_text() -> None:
    speak("ko")
    try:
        for code, text in MESSAGES.items():
            params = dict.fromkeys(re.findall(r"\{(\w+)\}", text), "X")
            assert HANGUL.search(tell(HalfwayError(code, **params))), code
        assert translated("step A is SUCCESS.") == "A 단계의 상태가 SUCCESS입니다."
        assert translated("something nobody translated") == "something nobody translated"
    finally:
        speak("en")


def test_english_is_the_text_itself() -> None:
    speak("en")
    error = HalfwayError("RUN_UNKNOWN", run="r")
    assert tell(error) == str(error)


@pytest.mark.parametrize("script", ["i18n.py", "generate.py"])
def test_what_is_generated_is_current(script: str) -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_the_catalogue_is_delivered() -> None:
    assert (FOLDER / "ko" / "LC_MESSAGES" / "halfway.mo").is_file()


def test_no_colour_is_no_colour(small: Project) -> None:
    run = small.start("o-4")
    coloured = CliRunner().invoke(main, ["show", run], color=True)
    plain = CliRunner().invoke(main, ["show", run], color=True, env={"NO_COLOR": "1"})
    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in plain.stdout
