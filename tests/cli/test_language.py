"""People are told in their language, programs never are; and what is generated from the code is current."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from halfway.cli import main
from halfway.cli.definitions import in_words
from halfway.cli.i18n import speak, tell, translated
from halfway.domain.clauses import contract_of
from halfway.domain.picture import picture_of
from halfway.domain.spec import (
    DAY,
    Effect,
    FanSpec,
    ProbeSpec,
    RewindSpec,
    Risk,
    Sort,
    StepSpec,
    UndoSpec,
    WaitSpec,
    WorkflowSpec,
)
from halfway.errors import MESSAGES, HalfwayError, InvalidInput
from halfway.language import FOLDER
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
        ([], {"LANG": "fr_FR.UTF-8"}, False),
        ([], {"HALFWAY_LANG": "../../etc"}, False),
    ],
)
def test_the_language_is_the_option_the_variable_or_the_locale(
    small: Project, arguments: list[str], env: dict[str, str], korean: bool
) -> None:
    before = small.run(*arguments, "show", "nobody", env=env)
    after = small.run("show", "nobody", *arguments, env=env)
    assert before.stderr == after.stderr
    assert bool(HANGUL.search(before.stderr)) is korean


@pytest.mark.parametrize("language", ["xx", "../../etc"])
def test_a_language_that_nobody_has_translated_into_is_refused_wherever_it_is_named(small: Project, language: str) -> None:
    for arguments in (["--lang", language, "show", "nobody"], ["show", "nobody", "--lang", language]):
        refused = small.run(*arguments)
        assert refused.exit_code == 2
        assert f"{language} is not known. Choose en or ko." in refused.stderr


def test_korean_has_one_register() -> None:
    catalogue = (FOLDER / "ko" / "LC_MESSAGES" / "halfway.po").read_text(encoding="utf-8")
    assert re.findall(r".{0,20}(?:세요|해요|예요)\b", catalogue) == []


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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope"], "'nope' 명령은 없습니다."),
        (["events"], "'events' 명령은 없습니다."),
        ([], "명령이 없습니다."),
        (["demo", "--repo", "no/where"], "'--repo'의 값이 올바르지 않습니다: 디렉터리가 없습니다: 'no/where'"),
        (["show"], "'RUN' 인자가 없습니다."),
        (["show", "a", "b"], "예상하지 못한 인자가 있습니다: b"),
        (["show", "a", "--timelin"], "'--timelin' 옵션은 없습니다. 혹시 '--timeline'입니까?"),
        (["resume", "a", "--reason"], "'--reason' 옵션에는 값이 필요합니다."),
        (
            ["graph", "A", "--format", "q"],
            "'--format'의 값이 올바르지 않습니다: 'q'은(는) 다음 중 하나가 아닙니다: 'text', 'mermaid', 'svg'.",
        ),
    ],
)
def test_a_command_that_cannot_be_read_is_told_in_korean(small: Project, arguments: list[str], told: str) -> None:
    result = small.run("--lang", "ko", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    english = small.run("--lang", "ko", *arguments, "--json").stderr
    assert not HANGUL.search(english)


def test_a_refusal_in_the_list_of_orders_is_korean(small: Project) -> None:
    run = small.start("o-5", "lose")
    small.work(run)
    small.run("resume", run, "--reason", "r")
    for arguments in (("show", run, "--timeline"), ("audit-log", "--run", run)):
        told = small.run(*arguments, "--lang", "ko").stdout
        assert "resume 작업을 할 수 없습니다: CHARGE 단계가 일어났는지 아직 알 수 없습니다." in told
        assert "does not apply" not in told
        assert "Find out" not in told


def english(text: str, *known: str) -> list[str]:
    """What is left of English words, but for these, names, and what stands in quotation marks."""
    return [word for word in re.findall(r"(?<![\w-])[a-z][a-z]+(?![\w-])", text) if word not in known]


def test_what_a_definition_says_is_korean(small: Project) -> None:
    told = small.run("check", "--lang", "ko").stdout
    assert "한 번에 최대" in told
    assert "then" not in english(told)
    assert "the run" not in told
    assert "attempts" not in told
    drawn = small.run("graph", "ORDER", "--lang", "ko").stdout
    assert "소유자" in drawn
    assert "(owner" not in drawn


TOLD_OF_STEPS = [
    (
        StepSpec(name="A", effect=Effect.CREATE, idempotent=True, optional=True),
        "같은 키로 반복하며 받는 쪽이 반복을 버립니다. 그 뒤에는: 승인자가",
    ),
    (StepSpec(name="A", effect=Effect.READ, condition="is_big", at_least=1, after=("B",)), "조건 is_big이(가) 참일 때만"),
    (StepSpec(name="A", effect=Effect.NOTIFY, probe=ProbeSpec(shows="그림"), requires_approval=True), "그 밖의 모든 경우에는"),
    (
        StepSpec(name="A", effect=Effect.READ, rewind=RewindSpec(to="B", max=2, on=("X", "Y")), after=("B",)),
        "B 단계로 되돌아갑니다(최대 2번)",
    ),
    (
        StepSpec(name="A", sort=Sort.EACH, effect=Effect.CHANGE, fan=FanSpec(items="B", partial_from=0.9, failed_below=0.2), after=("B",)),
        "90% 이상 성공하면 부분 성공입니다",
    ),
    (StepSpec(name="A", sort=Sort.CHILDREN, effect=Effect.CREATE, fan=FanSpec(workflow="W")), "입력마다 W의 실행 하나"),
    (StepSpec(name="A", sort=Sort.APPROVAL, wait=WaitSpec(timeout=DAY, role="boss", quorum=2)), "거절되면: 실행이 취소됩니다"),
    (StepSpec(name="A", sort=Sort.EVENT, wait=WaitSpec(timeout=DAY, name="PAID")), "그다음: 사람이 결정합니다"),
    (StepSpec(name="A", sort=Sort.TRANSACTION, undo=UndoSpec(risk=Risk.HIGH, effect=None, approver="boss")), "커밋되지 않은 것은"),
]


@pytest.mark.parametrize(("one", "korean"), TOLD_OF_STEPS)
def test_every_clause_of_a_contract_and_of_a_picture_is_korean(one: StepSpec, korean: str) -> None:
    before = StepSpec(name="B", effect=Effect.READ, optional=True)
    spec = WorkflowSpec(type="W", version=1, owner="boss", steps=(before, one), locked=True)
    names = ("boss", "is_big")
    speak("ko")
    try:
        contract = contract_of(one, spec)
        told = [translated(text) for text in (contract.starts, contract.many, contract.evidence, contract.rule, contract.stop_condition)]
        told.append(translated(contract.undo))
        drawn = in_words(picture_of(spec))
        parts = [drawn.subtitle, drawn.back, *(line.label for line in drawn.lines)]
        parts += [text for node in drawn.nodes for text in (node.kind, *node.details)]
        units = ("min", "step", "key")  # 5 min, step.key
        assert korean in " | ".join(told)
        assert english(" | ".join((*told, *parts)), *names, *units) == []
    finally:
        speak("en")


def test_an_error_of_the_engine_at_a_step_is_korean() -> None:
    speak("ko")
    try:
        problem = InvalidInput("ITEM_KEY_INVALID", number=3, step="SEND", problem="it has 0 characters.", remedy="Do it.")
        assert translated(str(problem)).startswith("SEND 단계의 3번째 항목에 키를 붙일 수 없습니다: ")
        assert translated("TIMEOUT: the attempt was ended before its body returned") == "TIMEOUT: 본문이 끝나기 전에 시도가 끝났습니다"
        assert translated("only if the author says so; then not") == "only if the author says so; then not"
    finally:
        speak("en")


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


def test_the_catalogue_is_delivered() -> None:
    assert (FOLDER / "ko" / "LC_MESSAGES" / "halfway.mo").is_file()


def test_no_colour_is_no_colour(small: Project) -> None:
    run = small.start("o-4")
    coloured = CliRunner().invoke(main, ["show", run], color=True)
    plain = CliRunner().invoke(main, ["show", run], color=True, env={"NO_COLOR": "1"})
    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in plain.stdout
