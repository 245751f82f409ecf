"""A flow as a workflow that is still to be written: it imports, it is judged, it does nothing, and no text gets out of its place."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halfway import Halfway
from halfway.cli.card_steps import said
from halfway.domain.check import check
from halfway.domain.spec import Effect, Sort, StepSpec, Then, WorkflowSpec
from halfway.errors import UnsafeStep
from halfway.inspection.card import card_of
from halfway.inspection.emitting import kind_of, skeleton
from halfway.inspection.finding import Case
from halfway.inspection.formats.all import READERS
from halfway.inspection.inspecting import Inspector
from halfway.inspection.judging import judge
from halfway.inspection.knowledge import Key, Trust, load
from halfway.inspection.literals import comment, one_line, string
from halfway.inspection.model import Bearing, Flow, Gate, Kind, Mark, OnError, Repeat, Repeating, Reversible, Starting, Undo, When
from halfway.inspection.rules import all_rules
from tests.inspection.emitted import FILES
from tests.inspection.flows import Known, edge, edges, effect, flow, guard, identity, repeater, row, span, step, trigger

GOLDEN = Path(__file__).parents[1] / "typing" / "emitted.py"
LOOK = "how to look whether it has happened"
PAY = effect(Kind.MONEY, repeat=Repeat.WITH_KEY, told="POST pay.example", action="pay.create")
MAIL = effect(Kind.NOTIFY, told="send mail", action="mail.send", reversible=Reversible.NO)
TICKET = effect(Kind.CREATE, told="create ticket", action="ticket.create")
AGENT = effect(Kind.AGENT, told="claude -p", action="agent.run")
GET = effect(Kind.READ, repeat=Repeat.SAFE, told="GET shop.example")
ROWS = (
    row("pay.create", key=Key("header Idempotency-Key", 86_400), probe="GET /charges", compensation="Refund it."),
    row("mail.send", probe="the folder of what was sent"),
    row("ticket.create", probe="search by the marker"),
    row("agent.run", probe="the log of its tools"),
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What is made of every flow of the samples, by format and number."""
    folder, known = tmp_path_factory.mktemp("flows"), load()
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with contextlib.chdir(folder):
        found = Inspector(READERS, all_rules(), known).inspect([Path(name) for name in FILES])
    assert found.skipped == ()
    assert found.card is not None
    cards = {(card.file, card.flow): card for card in (found.card, *found.others)}
    made = {f"{number}_{one.format}": skeleton(one, cards[one.file, one.id], known, said) for number, one in enumerate(found.flows)}
    formats = {name.partition("_")[2] for name in made}
    assert formats >= {
        "agents", "bpmn", "cloudflare", "compose", "crontab", "github-actions", "kubernetes", "make", "n8n", "python", "shell",
        "step-functions", "systemd", "zapier",
    }  # fmt: skip
    return made


def built(text: str) -> Halfway:
    """The application that the text makes; its steps are not looked at yet."""
    names: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, "made.py", "exec", dont_inherit=True), names)
    app: Halfway = names["app"]
    return app


def spec_of(text: str) -> WorkflowSpec:
    [workflow] = built(text).workflows.values()
    return workflow.spec


def made(*steps: Any, rows: tuple[Any, ...] = ROWS, **more: Any) -> str:
    one: Flow = flow(*steps, **more)
    case = Case(one, Known(*rows))
    return skeleton(one, card_of(case, judge(case, ()), ()), case.knowledge, said)


def steps_of(*steps: Any, **more: Any) -> dict[str, StepSpec]:
    return {one.name: one for one in spec_of(made(*steps, **more)).steps}


# ── every format ──


def test_each_imports_and_is_refused_only_for_what_is_marked(texts: Mapping[str, str]) -> None:
    clean = 0
    for name, text in texts.items():
        app = built(text)
        [workflow] = app.workflows.values()
        try:
            errors = {one.code for one in check(workflow.spec, app.roles) if one.level == "error"}
            assert errors == {"role-without-members"}, name
            clean += 1
        except UnsafeStep as refused:
            function = str(refused.params["step"]).lower()
            bodies = {
                node.name: ast.get_source_segment(text, node) or ""
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.FunctionDef)
            }
            assert LOOK in bodies[function] + bodies.get(f"undo_{function}", ""), name
    assert 3 < clean < len(texts)


def test_no_step_of_any_does_anything(texts: Mapping[str, str]) -> None:
    for text in texts.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert [ast.unparse(line) for line in node.body] in (["raise NotImplementedError"], ["return step.input"])


def test_each_has_the_form_of_a_formatter_at_any_width(texts: Mapping[str, str], tmp_path: Path) -> None:
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    for told in ("format --diff --line-length 88", "format --diff --line-length 140", "check --select E4,E7,E9,F,I,B,UP"):
        command = [sys.executable, "-m", "ruff", *told.split(), "--isolated", "--no-cache", "."]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout


def test_one_with_everything_in_it_is_kept_for_the_type_checkers() -> None:
    """Both look at it in every build. When the wording changes: HALFWAY_WRITE=1 pytest tests/inspection/test_emitting.py."""
    thrice = (repeater(Repeating.STEP_RETRY, 5),)
    team = Gate("approval", span(9), approver="release team", visible=True)
    text = made(
        step("look", 1, GET, repeaters=thrice, timeout=2.5), step("agree", 2, gate=team, timeout=3600.0),
        step("pay", 3, PAY, repeaters=thrice, timeout=30.0, identity=identity(Bearing.STABLE, "order.id"), needs_output_of=("look",)),
        step("order", 4, TICKET, on_error=OnError.ROUTE, undo=Undo("revoke", span(7)), marks=frozenset({Mark.IN_LOOP})),
        step("park", 5, effect(Kind.UNKNOWN, certain=False), condition="failed > 0"), step("rest", 6, marks=frozenset({Mark.WAIT})),
        step("tell", 7, MAIL, on_error=OnError.CONTINUE), step("clean", 8),
        step("revoke", 9, TICKET), step("cry", 10, MAIL, marks=frozenset({Mark.FAILURE_NOTICE})),
        edges=(*edges("look", "agree", "pay", "order", "rest", "tell", "clean"), edge("order", "park", When.ERROR)),
        guards=(guard(group="shop"),), triggers=(trigger(Starting.SCHEDULE),),
    )  # fmt: skip
    if os.environ.get("HALFWAY_WRITE"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


# ── what is taken over ──


def test_steps_stand_after_those_that_the_edges_name() -> None:
    found = steps_of(
        step("one", 1, GET), step("two", 2, GET), step("three", 3, GET), step("four", 4, GET),
        edges=(edge("one", "two"), edge("one", "three"), edge("two", "four"), edge("three", "four", When.ALWAYS)),
    )  # fmt: skip
    assert {name: one.after for name, one in found.items()} == {
        "ONE": (), "TWO": ("ONE",), "THREE": ("ONE",), "FOUR": ("TWO", "THREE"),
    }  # fmt: skip
    assert [one.after for one in steps_of(step("a", 1, GET), step("b", 2, GET)).values()] == [(), ("A",)]


def test_what_begins_by_itself_beside_others_begins_at_once() -> None:
    found = steps_of(step("a", 1, GET), step("b", 2, GET), step("c", 3, GET, unit="other"), edges=edges("a", "b"))
    assert [one.after for one in found.values()] == [(), ("A",), ()]


def test_effects_retries_and_timeouts_are_taken_over_where_that_is_safe() -> None:
    thrice = (repeater(Repeating.STEP_RETRY, 5),)
    found = steps_of(
        step("look", 1, GET, repeaters=thrice, timeout=2.5), step("pay", 2, PAY, repeaters=thrice, timeout=30.0),
        step("tell", 3, MAIL, repeaters=thrice), step("order", 4, TICKET, timeout=float("inf")),
    )  # fmt: skip
    assert {name: (one.effect, one.retry.attempts, one.timeout // 1000) for name, one in found.items() if one.sort is Sort.STEP} == {
        "LOOK": (Effect.READ, 5, 2_500),
        "PAY": (Effect.CHANGE, 5, 30_000),
        "TELL": (Effect.NOTIFY, 3, 300_000),
        "ORDER": (Effect.CREATE, 3, 300_000),
    }
    assert (found["PAY"].idempotent, found["TELL"].idempotent) == (True, False)
    assert (found["TELL"].irreversible, found["PAY"].irreversible) == (True, False)
    assert [one.probe is not None for one in found.values() if one.can_be_lost] == [True, True, True]
    assert found["PAY"].undo is not None


@pytest.mark.parametrize("doubt", [{"trust": Trust.KNOWN}, {"key": Key("header Idempotency-Key")}, {"key": Key("x", 20)}, {"key": None}])
def test_a_key_is_promised_only_where_a_verified_row_says_for_how_long(doubt: dict[str, Any]) -> None:
    given = {"key": Key("header Idempotency-Key", 86_400), "probe": "GET /charges"} | doubt
    assert not steps_of(step("pay", 1, PAY), rows=(row("pay.create", **given),))["PAY"].idempotent
    assert "idempotent=" not in made(step("pay", 1, effect(Kind.MONEY, repeat=Repeat.SAFE, action="pay.create", certain=False)))


def test_a_step_about_which_nobody_knows_how_to_look_is_refused_until_somebody_says() -> None:
    text = made(step("pay", 1, effect(Kind.MONEY)))
    with pytest.raises(UnsafeStep, match="step PAY: a lost answer of this CHANGE would have no rule"):
        spec_of(text)
    assert spec_of(text.replace("@flow.step(Effect.CHANGE)", '@flow.step(Effect.CHANGE, evidence="the ledger")')).steps


def test_a_person_is_asked_before_the_first_step_on_others_and_again_after_an_agent() -> None:
    found = steps_of(step("look", 1, GET), step("pay", 2, PAY), step("tell", 3, MAIL), step("tidy", 4, AGENT), step("order", 5, TICKET))
    assert list(found) == ["LOOK", "APPROVE_PAY", "PAY", "TELL", "TIDY", "APPROVE_ORDER", "ORDER"]
    assert (found["PAY"].after, found["APPROVE_PAY"].after) == (("APPROVE_PAY",), ("LOOK",))


def test_a_gate_of_the_flow_is_an_approval_and_its_people_are_asked() -> None:
    gate = Gate("approval", span(9), approver="release team", visible=True)
    text = made(
        step("wait", 1, gate=gate, timeout=3600.0), step("order", 2, TICKET), step("pay", 3, PAY, gate=Gate("environment", span(4)))
    )
    found = {one.name: one for one in spec_of(text).steps}
    assert list(found) == ["WAIT", "ORDER", "APPROVE_PAY", "PAY"]
    wait = found["WAIT"].wait
    assert wait is not None
    assert (wait.role, wait.timeout, wait.on_timeout) == ("release team", 3600 * 1_000_000, Then.CANCEL)
    assert built(text).roles == {"owner": [], "release team": []}


def test_what_only_takes_back_becomes_an_undo_and_what_only_tells_of_a_failure_is_left_out() -> None:
    text = made(
        step("pay", 1, PAY, undo=Undo("refund", span(7))), step("order", 2, TICKET),
        step("refund", 3, PAY, marks=frozenset({Mark.RECOVERY})), step("cry", 4, MAIL, marks=frozenset({Mark.FAILURE_NOTICE})),
        edges=(*edges("pay", "order"), edge("order", "refund", When.ERROR), edge("refund", "cry")),
    )  # fmt: skip
    assert [one.name for one in spec_of(text).steps] == ["APPROVE_PAY", "PAY", "ORDER"]
    assert "# flow.yml:3: do refund\n" in text
    assert "# flow.yml:4: cry\n" in text


def test_a_way_round_a_failure_is_a_condition() -> None:
    found = steps_of(
        step("pay", 1, PAY, on_error=OnError.ROUTE), step("order", 2, TICKET), step("park", 3, TICKET), step("note", 4, GET),
        edges=(*edges("pay", "order"), edge("pay", "park", When.ERROR), *edges("park", "note")),
    )  # fmt: skip
    assert {name: (one.optional, bool(one.condition), one.after) for name, one in found.items()} == {
        "APPROVE_PAY": (False, False, ()),
        "PAY": (True, False, ("APPROVE_PAY",)),
        "ORDER": (False, False, ("PAY",)),
        "PARK": (False, True, ("PAY",)),
        "NOTE": (False, True, ("PARK", "PAY")) if found["NOTE"].after[0] == "PARK" else (False, True, ("PAY", "PARK")),
    }


def test_the_case_is_what_the_flow_tells_cases_apart_by() -> None:
    text = made(
        step("pay", 1, PAY, identity=identity(Bearing.STABLE, "${{ inputs.order-id }}")),
        step("order", 2, TICKET, identity=identity(Bearing.NATURAL, "model_name")),
        step("tell", 3, MAIL, identity=identity(Bearing.MINTED, "uuid4()")),
        triggers=(trigger(Starting.MANUAL, inputs=("order-id", "copy")),), guards=(guard(group="ship"),),
    )  # fmt: skip
    [workflow] = built(text).workflows.values()
    assert list(workflow.input.model_fields) == ["order_id", "the_model_name", "copy_2"]
    assert workflow.key_of(workflow.parse('{"order_id": "7", "the_model_name": "x", "copy_2": "y"}')) == "flow:7"
    assert (workflow.spec.severity, workflow.spec.concurrency, workflow.spec.on_failure) == ("CRITICAL", 1, Then.MANUAL)


def test_a_flow_without_steps_is_no_skeleton_and_a_wait_is_one() -> None:
    assert made() == ""
    assert [one.sort for one in steps_of(step("sleep", 1, marks=frozenset({Mark.WAIT}))).values()] == [Sort.TIME]


def test_names_are_valid_short_and_unique() -> None:
    names = ["class", "Class", "결제", "3 things", "flow", "print", "x" * 90, "x" * 91, "createTicket", "mark", "", "find create ticket"]
    found = steps_of(*(step(name, line, GET) for line, name in enumerate(names, 1)))
    assert len(found) == len(names)
    assert list(found)[:6] == ["DO_CLASS", "DO_CLASS_2", "DO_STEP", "DO_3_THINGS", "DO_FLOW", "DO_PRINT"]
    assert kind_of(flow(format="x")) == "FLOW"


# ── texts are data ──

WILD = st.text(max_size=40) | st.text(alphabet="\"'\\\n\r\t\0#{}()`\u2028\u202e\x85\ud800 a:", max_size=30)


def shape(text: str) -> str:
    """The tree without its names and texts."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str()):
                node.value = ""
            case ast.Name(id=str(id)) if id.islower():
                node.id = "name"
            case ast.FunctionDef() | ast.ClassDef():
                node.name = "name"
            case ast.Attribute(attr=str(attr)) if attr.islower():
                node.attr = "name"
            case _:
                pass
    return ast.dump(tree)


def hostile(wild: str) -> str:
    gate = Gate(wild, span(9, wild), approver=f"x{wild}", visible=True)
    one = step("pay", 1, effect(Kind.MONEY, told=wild), identity=identity(Bearing.STABLE, f"x{wild}"), condition=f"x{wild}", gate=gate)
    named = replace(
        flow(replace(one, name=wild, quote=wild, span=span(1, wild)), triggers=(trigger(Starting.EVENT, quote=f"x{wild}"),)),
        name=wild, file=wild, guards=(guard(group=wild),),
    )  # fmt: skip
    case = Case(named, Known(*ROWS))
    return skeleton(named, card_of(case, judge(case, ()), ()), case.knowledge, said)


PLAIN = shape(hostile("plain"))
ORDERS = ("type: ignore", "pyright: ignore", "mypy: ignore-errors", "noqa", "ruff: noqa", "fmt: off", "coding: utf-7", "pylint: skip-file")


@example('"""\nimport os; os.system("x")\n"""')
@example("'''; raise SystemExit #")
@example("\\")
@example("{given.x} %s {0} {step}")
@example("\u202e\u2066 # type: ignore\u2029x = 1\x0cy = 2\rz = 3")
@given(wild=WILD)
@settings(max_examples=25, deadline=None)
def test_no_text_leaves_its_string_or_its_comment(wild: str) -> None:
    text = hostile(wild)
    text.encode()
    assert shape(text) == PLAIN


@pytest.mark.parametrize("order", ORDERS)
def test_a_quote_gives_no_orders_to_tools(order: str) -> None:
    for wild in (order, f"x # {order}", f"#{order.upper()}", f"a\n# {order}"):
        for line in comments(hostile(wild)):
            assert re.search(rf"#\s*{order}", line, re.IGNORECASE) is None


def comments(text: str) -> Iterator[str]:
    yield from (one.string for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type == tokenize.COMMENT)


@given(text=WILD)
@settings(max_examples=50, deadline=None)
def test_a_string_is_the_text_in_one_line(text: str) -> None:
    assert ast.literal_eval(string(text)) == one_line(text)
    assert one_line(text).isprintable()
    assert comment(text).isprintable()
