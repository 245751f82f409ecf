import json
from pathlib import Path

import pytest

from halfway.inspection.formats.agents import READER
from halfway.inspection.model import Bearing, Kind, Mark, Repeat, Repeating
from halfway.inspection.source import Source
from tests.inspection.small_knowledge import by_id, only
from tests.inspection.test_told_too_much import told

SETTINGS = """{
  "permissions": {
    "allow": ["Read", "mcp__crm__send_email", "Bash(git push:*)", "Bash(ls:*)", "Bash(curl:*)", "Edit"],
    "ask": ["Bash(git push --force:*)"],
    "deny": ["Bash(rm:*)"]
  },
  "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "git push", "timeout": 5}]}]},
  "mcpServers": {
    "crm": {"command": "npx", "args": ["-y", "crm-mcp"], "env": {"CRM_TOKEN": "abcdef123456"}},
    "kept": {"command": "npx", "args": ["kept-mcp@1.2.3"], "autoApprove": ["pay_invoice"]}
  }
}"""
TOOLS = Source(
    "tools.json",
    json.dumps(
        {
            "tools": [
                {"name": "send_email", "inputSchema": {}},
                {"name": "find", "inputSchema": {}, "annotations": {"readOnlyHint": True}},
                {"name": "put", "inputSchema": {}, "annotations": {"idempotentHint": True, "destructiveHint": True}},
            ]
        }
    ),
)


def test_what_is_allowed_is_done_unattended() -> None:
    flow = only(READER, ".claude/settings.json", SETTINGS)
    steps = by_id(flow)
    assert list(steps) == [
        "mcp__crm__send_email",
        "Bash(git push:*)",
        "Bash(curl:*)",
        "Edit",
        "Bash(git push --force:*)",
        "hook PostToolUse: git push",
        "server crm",
        "mcp__kept__pay_invoice",
        "server kept",
    ]
    mail = steps["mcp__crm__send_email"]
    assert mail.effect is not None
    assert (mail.effect.kinds, mail.effect.certain) == ({Kind.AGENT, Kind.NOTIFY}, False)
    assert mail.opaque is not None
    assert [(one.kind, one.automatic, one.bound, one.default) for one in mail.repeaters] == [(Repeating.LOOP, True, None, True)]
    assert (mail.gate, mail.marks, mail.span.line, mail.extra) == (None, {Mark.AGENT_LOOP}, 3, {"unattended": "true"})
    push = steps["Bash(git push:*)"]
    assert push.effect is not None
    assert (push.effect.action, push.effect.kinds) == ("git.push", {Kind.GIT, Kind.AGENT})
    assert push.identity is not None
    assert push.identity.bearing is Bearing.NONE
    assert (flow.extra["denied"], flow.extra["asked"]) == ("1", "1")


def test_what_is_asked_for_has_a_gate() -> None:
    step = by_id(only(READER, "settings.json", SETTINGS))["Bash(git push --force:*)"]
    assert step.gate is not None
    assert (step.gate.kind, step.repeaters) == ("ask", ())


def test_hooks_run_by_themselves() -> None:
    step = by_id(only(READER, "settings.json", SETTINGS))["hook PostToolUse: git push"]
    assert (step.timeout, step.extra["hook"], step.repeaters[0].kind) == (5.0, "PostToolUse", Repeating.LOOP)


def test_servers_are_unread_and_may_be_the_newest() -> None:
    flow = only(READER, "settings.json", SETTINGS)
    steps = by_id(flow)
    assert ("unpinned" in steps["server crm"].extra, "unpinned" in steps["server kept"].extra) == (True, False)
    assert [unread.what for unread in flow.unread] == ["MCP crm", "MCP kept"]
    assert [(fact.span.line, "abcdef" in fact.quote) for fact in flow.secrets] == [(9, False)]


@pytest.mark.parametrize(
    ("allowed", "severities"),
    [
        ("mcp__shop__analyze_order", []),
        ("mcp__shop__list_orders", []),  # it looks, and a server of files keeps to the machine
        ("mcp__filesystem__write_file", []),
        ("Write", []),
        ("Bash(python -m pytest:*)", []),
        ("Bash(python tools/restock.py:*)", ["MEDIUM"]),
        ("Bash(python:*)", ["HIGH"]),
        ("Bash", ["HIGH"]),
        ("mcp__shop__restock", ["MEDIUM"]),
    ],
)
def test_what_an_agent_may_do_by_itself(tmp_path: Path, allowed: str, severities: list[str]) -> None:
    text = json.dumps({"permissions": {"allow": [allowed, "Bash(git status)"]}}, indent=1)
    found = told(tmp_path, ".claude/settings.json", text)
    assert found.get("R-34", []) == severities
    assert ("R-44" in found) is (severities == ["MEDIUM"])


def test_what_is_allowed_in_one_list_is_said_once(tmp_path: Path) -> None:
    allowed = ["mcp__shop__restock", "mcp__shop__reprice", "mcp__mail__subscribe", "Bash"]
    found = told(tmp_path, ".claude/settings.json", json.dumps({"permissions": {"allow": allowed}}, indent=1))
    assert (sorted(found["R-34"]), len(found["R-44"])) == (["HIGH", "MEDIUM"], 2)


def _server(**told_it: object) -> str:
    return json.dumps({"mcpServers": {"stock": told_it}}, indent=1)


STOCK = {"command": "uvx", "args": ["shop-stock-server"]}


@pytest.mark.parametrize(
    ("looks", "writes"),
    [
        (STOCK | {"args": ["shop-stock-server", "--readonly", "true"]}, STOCK | {"args": ["shop-stock-server", "--readonly", "false"]}),
        (STOCK | {"args": ["shop-stock-server", "--read-only"]}, STOCK),
        (STOCK | {"env": {"ALLOW_WRITE": "false"}}, STOCK | {"env": {"ALLOW_WRITE": "true"}}),
        ({"url": "https://stock.example/mcp?read_only=true"}, {"url": "https://stock.example/mcp?shop=7"}),
        ({"url": "https://mcp.context7.com/mcp"}, {"url": "https://mcp.stock.example/mcp"}),
        (STOCK | {"args": ["-y", "@modelcontextprotocol/server-memory@1.0.0"]}, STOCK | {"args": ["-y", "@shop/server-memory-cards"]}),
    ],
)
def test_a_server_that_is_told_only_to_look(tmp_path: Path, looks: dict[str, object], writes: dict[str, object]) -> None:
    assert told(tmp_path, ".mcp.json", _server(**looks)).keys().isdisjoint({"R-44", "R-32"})
    assert {"R-44", "R-32"} <= told(tmp_path, ".mcp.json", _server(**writes)).keys()


def test_what_a_server_only_lets_look_is_named_at_none_of_its_tools(tmp_path: Path) -> None:
    tools = {"alwaysAllow": ["restock"]}
    assert told(tmp_path, ".mcp.json", _server(**STOCK, **tools, env={"SHOP_READ_ONLY": "1"})) == {}
    assert "R-44" in told(tmp_path, ".mcp.json", _server(**STOCK, **tools))


@pytest.mark.parametrize(("allowed", "severities"), [("logs tail", []), ("logs reindex", ["MEDIUM"]), ("ses send-email", ["BLOCKER"])])
def test_an_operation_of_a_vendor_that_nobody_knows_is_no_interpreter(tmp_path: Path, allowed: str, severities: list[str]) -> None:
    text = json.dumps({"permissions": {"allow": [f"Bash(aws {allowed} *)"]}}, indent=1)
    assert told(tmp_path, ".claude/settings.json", text).get("R-34", []) == severities


@pytest.mark.parametrize(("script", "severity"), [("guard-branches.sh", []), ("verify-tests-ran.sh", []), ("restock.sh", ["MEDIUM"])])
def test_a_hook_that_only_watches_is_passed_over(tmp_path: Path, script: str, severity: list[str]) -> None:
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": f"$CLAUDE_PROJECT_DIR/.claude/hooks/{script}"}]}
    text = json.dumps({"hooks": {"PreToolUse": [hook]}}, indent=1)
    assert told(tmp_path, ".claude/settings.json", text).get("R-44", []) == severity


def test_hints_are_believed_only_for_the_worse() -> None:
    steps = by_id(only(READER, "tools.json", TOOLS.text))
    found = {name: step.effect for name, step in steps.items()}
    mail, find, put = found["send_email"], found["find"], found["put"]
    assert mail is not None
    assert (mail.kinds, mail.repeat) == ({Kind.AGENT, Kind.NOTIFY}, Repeat.UNKNOWN)
    assert find is not None
    assert (find.kinds, find.certain) == ({Kind.READ}, False)
    assert put is not None
    assert (put.kinds, put.repeat, put.certain) == ({Kind.AGENT, Kind.DELETE}, Repeat.SAFE, False)


def test_a_list_of_tools_that_was_given_answers_for_a_permission() -> None:
    step = by_id(only(READER, "settings.json", SETTINGS, TOOLS))["mcp__crm__send_email"]
    assert (step.opaque, step.effect is not None and step.effect.told) == (None, "MCP send_email")


def test_no_questions_at_all() -> None:
    flow = only(READER, "settings.json", '{"permissions": {"defaultMode": "bypassPermissions"}}')
    [step] = flow.steps
    assert (step.id, step.extra["unattended"], flow.extra["default_mode"]) == ("bypassPermissions", "true", "bypassPermissions")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"permissions": "write"}',
        '{"servers": {"a": {"x": 1}}}',
        '{"hooks": {"pre-commit": "x"}}',
        '{"tools": ["a"], "annotations": 1}',
    ],
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert not READER.takes(Source("x.json", text))


@pytest.mark.parametrize(
    "text",
    [
        '{"permissions": {"allow": [1, null, "", "Bash()", "Bash(\'", {"a": 1}]}}',
        '{"mcpServers": {"a": null, "b": [], "c": {"args": "x", "env": 1, "alwaysAllow": "y"}}}',
        '{"hooks": {"Stop": [{"hooks": [{"command": 1}, {"command": "\'"}]}]}}',
        '{"result": {"tools": [{"name": "a", "annotations": {"readOnlyHint": "yes"}}]}}',
    ],
)
def test_whatever_it_says_a_flow_comes_out(text: str) -> None:
    assert only(READER, "odd.json", text).format == "agents"
