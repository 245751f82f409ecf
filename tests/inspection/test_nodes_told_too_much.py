"""Drawn flows that look weak and are not, or less: beside each stands the same but for one thing, which is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from halfway.inspection.model import Flow, Receiver, Step
from tests.inspection.test_told_too_much import INSPECTOR, node, told

Node = dict[str, object]


def made(name: str, type: str, parameters: Mapping[str, object] | None = None, **more: object) -> Node:
    kind = type if "." in type else f"n8n-nodes-base.{type}"
    return {"name": name, "type": kind, "parameters": parameters or {}, "typeVersion": 1, "position": [0, 0], **more}


def drawn(*nodes: Node, ways: dict[str, list[list[str]]] | None = None, parts: dict[str, str] | None = None, id: str = "") -> str:
    """Nodes in a line, unless the ways say otherwise; the parts are tools of agents."""
    lines = ways if ways is not None else {str(one["name"]): [[str(other["name"])]] for one, other in pairwise(nodes)}
    joined: dict[str, object] = {
        before: {"main": [[{"node": one, "type": "main", "index": 0} for one in output] for output in outputs]}
        for before, outputs in lines.items()
    }
    for tool, agent in (parts or {}).items():
        joined[tool] = {"ai_tool": [[{"node": agent, "type": "ai_tool", "index": 0}]]}
    root = {"name": "x", "nodes": list(nodes), "connections": joined, "active": True, "settings": {}}
    return json.dumps(root | ({"id": id} if id else {}), indent=1)


def scenario(*modules: Node) -> str:
    return json.dumps({"name": "x", "flow": list(modules), "metadata": {"instant": True}}, indent=1)


def module(id: int, name: str, mapper: Mapping[str, object] | None = None, **more: object) -> Node:
    return {"id": id, "module": name, "mapper": mapper or {}, **more}


def read(folder: Path, text: str) -> Flow:
    path = folder / "x.json"
    path.write_text(text)
    return INSPECTOR.inspect([path]).flows[0]


def step(folder: Path, text: str, name: str) -> Step:
    return next(one for one in read(folder, text).steps if name in (one.name, one.id))


AGENT = "@n8n/n8n-nodes-langchain.agent"
TOOL = "@n8n/n8n-nodes-langchain.tool"
HOOK, CLOCK = made("Start", "webhook"), made("Start", "scheduleTrigger", {"rule": {"interval": [{"field": "days"}]}})
ITSELF: dict[str, object] = {"workflowId": "={{ $workflow.id }}"}
LOOK: dict[str, object] = {"url": "https://shop.example/rooms"}
BOOK: dict[str, object] = {**LOOK, "method": "POST"}
READS = "const book = require('xlsx').readFile('/data/rooms.xlsx');\nreturn JSON.stringify(book);"
WRITES = READS.replace("return", "book.writeFile('/data/rooms.xlsx');\nreturn")


def asking(tool: Node, *behind: Node) -> str:
    """An agent with a tool, and the part of the workflow that is behind its own start."""
    agent = made("Ask", AGENT)
    ways = {"Start": [["Ask"]]}
    if behind:
        ways |= {"Called": [[str(behind[0]["name"])]]}
    called = [made("Called", "executeWorkflowTrigger")] if behind else []
    return drawn(HOOK, agent, tool, *called, *behind, ways=ways, parts={"Tool": "Ask"})


# ── agents, and what a workflow calls ──


@pytest.mark.parametrize(
    ("none", "one"),
    [
        (asking(made("Tool", f"{TOOL}Code", {"jsCode": READS})), asking(made("Tool", f"{TOOL}Code", {"jsCode": WRITES}))),
        (
            asking(made("Tool", f"{TOOL}Workflow", ITSELF), made("Look", "httpRequest", LOOK)),
            asking(
                made("Tool", f"{TOOL}Workflow", ITSELF),
                made("Book", "httpRequest", BOOK),
            ),
        ),
        (
            asking(made("Tool", f"{TOOL}Workflow", ITSELF), made("Look", "httpRequest", LOOK)),
            asking(made("Tool", f"{TOOL}Workflow", {"workflowId": "w7"})),
        ),
    ],
)
def test_an_agent_whose_tools_only_read_is_none(tmp_path: Path, none: str, one: str) -> None:
    assert not {"R-35", "R-39"} & told(tmp_path, "x.json", none).keys()
    assert {"R-35", "R-39"} <= told(tmp_path, "x.json", one).keys()


def test_a_call_of_the_same_workflow_goes_on_behind_its_start(tmp_path: Path) -> None:
    def calling(start: str) -> str:
        ways = {"Go": [["Call"]], "Called": [["Mail"]]}
        mail = made("Mail", "gmail", {"sendTo": "={{ $json.email }}", "resource": "message", "operation": "send"})
        return drawn(made("Go", start), made("Call", "executeWorkflow", ITSELF), made("Called", "executeWorkflowTrigger"), mail, ways=ways)

    assert [one.name for one in read(tmp_path, calling("manualTrigger")).steps] == ["Mail"]
    assert "R-29" not in told(tmp_path, "x.json", calling("manualTrigger"))
    assert "R-29" in told(tmp_path, "x.json", calling("webhook"))


@pytest.mark.parametrize(("called", "said"), [("Customer ID to Email", []), ("Get Price", []), ("Customer to Email Campaign", ["MEDIUM"])])
def test_what_a_workflow_is_called_tells_that_it_looks_up(tmp_path: Path, called: str, said: list[str]) -> None:
    text = node("executeWorkflow", "webhook", workflowId={"__rl": True, "mode": "list", "value": "w7", "cachedResultName": called})
    assert told(tmp_path, "x.json", text).get("R-44", []) == said


def test_one_sort_of_node_is_missed_once(tmp_path: Path) -> None:
    def two(second: str) -> str:
        return drawn(HOOK, made("A", "n8n-nodes-shop.shop"), made("B", second))

    assert len(told(tmp_path, "x.json", two("n8n-nodes-shop.shop"))["R-44"]) == 1
    assert len(told(tmp_path, "x.json", two("n8n-nodes-shop.till"))["R-44"]) == 2


@pytest.mark.parametrize(("mode", "rule"), [("load", False), ("insert", True)])
def test_a_store_that_is_read_changes_nothing(tmp_path: Path, mode: str, rule: bool) -> None:
    text = drawn(HOOK, made("Store", "@n8n/n8n-nodes-langchain.vectorStorePinecone", {"mode": mode}))
    assert ("R-29" in told(tmp_path, "x.json", text)) is rule


def test_code_has_one_output_unless_it_says_what_it_does_with_failures(tmp_path: Path) -> None:
    def second(**more: object) -> str:
        code = made("Sort", "code", {"jsCode": "return []"}, **more)
        return drawn(HOOK, code, made("Chat", "slack", {"channel": "C1"}), ways={"Start": [["Sort"]], "Sort": [[], ["Chat"]]})

    assert "R-39" not in told(tmp_path, "x.json", second())
    assert "R-39" in told(tmp_path, "x.json", second(onError="continueErrorOutput"))


# ── who is told, and who waits ──


@pytest.mark.parametrize(
    ("chat", "receiver"),
    [("={{ $env.DUTY }}", Receiver.TEAM), ("={{ $env.DUTY || '1' }}", Receiver.TEAM), ("={{ $env.DUTY + $json.id }}", Receiver.CUSTOMER)],
)
def test_an_address_from_the_settings_is_of_the_own_people(tmp_path: Path, chat: str, receiver: Receiver) -> None:
    effect = step(tmp_path, node("telegram", "webhook", chatId=chat), "Act").effect
    assert effect is not None
    assert effect.receiver is receiver


@pytest.mark.parametrize(
    ("given", "receiver"),
    [
        ({"guildId": "1", "channelId": "={{ $json.id }}"}, Receiver.TEAM),
        ({"guildId": "={{ $json.guild }}", "channelId": "={{ $json.id }}"}, Receiver.CUSTOMER),
    ],
)
def test_any_channel_of_the_own_server_is_of_the_own_people(tmp_path: Path, given: dict[str, str], receiver: Receiver) -> None:
    effect = step(tmp_path, node("discord", "webhook", resource="message", operation="send", **given), "Act").effect
    assert effect is not None
    assert effect.receiver is receiver


@pytest.mark.parametrize(("guild", "home"), [("1", True), ("={{ $json.guild }}", False)])
def test_what_is_made_at_the_own_server_is_marked(tmp_path: Path, guild: str, home: bool) -> None:
    made_there = step(tmp_path, node("discord", "webhook", resource="channel", operation="create", guildId=guild), "Act")
    assert ("at_home" in made_there.extra) is home


MAIL = {"resource": "message", "operation": "send"}


@pytest.mark.parametrize(
    ("start", "to", "answers"),
    [
        ("gmailTrigger", "={{ $json.from.value[0].address }}", True),
        ("gmailTrigger", "={{ $json.shipper.address }}", False),
        ("formTrigger", "={{ $json['E-mail'] }}", True),
        ("webhook", "={{ $json['E-mail'] }}", False),
    ],
)
def test_a_mail_to_the_one_who_has_written_is_an_answer(tmp_path: Path, start: str, to: str, answers: bool) -> None:
    assert ("answers" in step(tmp_path, node("gmail", start, sendTo=to, **MAIL), "Act").extra) is answers


def test_a_model_that_sorts_hands_on_the_mail(tmp_path: Path) -> None:
    def sorted_by(type: str) -> str:
        mail = made("Mail", "gmail", {"sendTo": "={{ $json.from }}", **MAIL})
        return drawn(made("Start", "gmailTrigger"), made("Sort", f"@n8n/n8n-nodes-langchain.{type}"), mail)

    assert "answers" in step(tmp_path, sorted_by("textClassifier"), "Mail").extra
    assert "answers" not in step(tmp_path, sorted_by("chainLlm"), "Mail").extra


def test_somebody_waits_until_the_answer_is_given(tmp_path: Path) -> None:
    start, answer = made("Start", "webhook", {"responseMode": "responseNode"}), made("Say", "respondToWebhook")
    act = made("Act", "httpRequest", {"url": "https://shop.example/orders", "method": "POST"})
    assert read(tmp_path, drawn(start, act, answer)).extra.get("waited_for") == "true"
    assert "waited_for" not in read(tmp_path, drawn(start, answer, act)).extra
    assert "waited_for" not in read(tmp_path, drawn(made("Start", "webhook"), act, answer)).extra
    assert read(tmp_path, drawn(made("Start", "@n8n/n8n-nodes-langchain.chatTrigger"), act)).extra.get("waited_for") == "true"


def test_who_waits_is_answered_on_a_failure(tmp_path: Path) -> None:
    def failing(to: list[str]) -> str:
        act = made("Act", "httpRequest", {"url": "https://shop.example/orders", "method": "POST"}, onError="continueErrorOutput")
        start, answer = made("Start", "webhook", {"responseMode": "responseNode"}), made("Say", "respondToWebhook")
        ways = {"Start": [["Act"]], "Act": [["Say"], to]}
        return drawn(start, act, answer, made("Note", "set"), ways=ways)

    assert "R-29" not in told(tmp_path, "x.json", failing(["Say"]))
    assert "R-29" in told(tmp_path, "x.json", failing(["Note"]))


@pytest.mark.parametrize(("kind", "given", "rule"), [
    ("telegram", {"chatId": "={{ $json.message.chat.id }}"}, False),
    ("httpRequest", {"method": "POST", "url": "https://shop.example/orders"}, True),
])  # fmt: skip
def test_who_is_told_how_it_went_asks_when_nothing_comes(tmp_path: Path, kind: str, given: dict[str, str], rule: bool) -> None:
    lost = node(kind, "scheduleTrigger", **given).replace('"typeVersion": 1', '"onError": "continueErrorOutput"')
    assert ("R-13" in told(tmp_path, "x.json", lost)) is rule


def test_who_has_written_hears_that_it_went_wrong(tmp_path: Path) -> None:
    def failing(start: str) -> str:
        to = {"chatId": "={{ $('Start').item.json.message.chat.id }}"}
        tell = made("Tell", "telegram", to, onError="continueErrorOutput")
        ways = {"Start": [["Tell"]], "Tell": [[], ["Sorry"]]}
        return drawn(made("Start", start), tell, made("Sorry", "telegram", to), ways=ways)

    assert told(tmp_path, "x.json", failing("telegramTrigger"))["R-14"] == ["MEDIUM"]
    assert told(tmp_path, "x.json", failing("googleSheetsTrigger"))["R-14"] == ["HIGH"]


def test_an_answer_seldom_speaks_of_a_contact_that_is_kept_up(tmp_path: Path) -> None:
    def written(to: str) -> str:
        keep = made("Keep", "sendInBlue", {"resource": "contact", "operation": "upsert", "email": "={{ $json.from }}"})
        return drawn(made("Start", "gmailTrigger"), made("Mail", "gmail", {"sendTo": to, **MAIL}), keep)

    assert told(tmp_path, "x.json", written("={{ $json.from.address }}"))["R-06"] == ["MEDIUM"]
    assert told(tmp_path, "x.json", written("={{ $json.customer }}"))["R-06"] == ["HIGH"]


def test_the_own_people_let_it_pass_where_their_answer_is_heeded(tmp_path: Path) -> None:
    def asked(condition: str, to: str) -> str:
        ask = made("Ask", "gmail", {"sendTo": to, "operation": "sendAndWait", "resource": "message"})
        heeds = made("Heed", "if", {"conditions": {"boolean": [{"value1": condition, "value2": True}]}})
        ways = {"Start": [["Ask"]], "Ask": [["Heed"]], "Heed": [["Mail"], []]}
        return drawn(made("Start", "gmailTrigger"), ask, heeds, made("Mail", "gmail", {"sendTo": "={{ $json.to }}", **MAIL}), ways=ways)

    assert "let_pass" in step(tmp_path, asked("={{ $json.data.approved }}", "boss@shop.example"), "Mail").extra
    assert "let_pass" not in step(tmp_path, asked("={{ $json.data.approved }}", "={{ $json.from }}"), "Mail").extra
    assert "let_pass" not in step(tmp_path, asked("={{ $('Start').item.json.urgent }}", "boss@shop.example"), "Mail").extra


# ── the same again ──


@pytest.mark.parametrize(
    ("none", "one"),
    [
        (
            node("ssh", "webhook", command="sudo apt update; sudo apt upgrade"),
            node("ssh", "webhook", command="sudo apt update; buy"),
        ),
        (
            node("n8n", "webhook", operation="update", workflowId="={{ $json.id }}", workflowObject="={{ $json }}"),
            node("n8n", "webhook", operation="create", workflowObject="={{ $json }}"),
        ),
        (
            node("googleCalendar", "webhook", operation="delete", eventId="={{ $json.id }}"),
            node("googleCalendar", "webhook", operation="delete"),
        ),
        (
            node("googleDocs", "webhook", operation="update", documentURL="d", actionsUi={"actionFields": [{"action": "replaceAll"}]}),
            node("googleDocs", "webhook", operation="update", documentURL="d", actionsUi={"actionFields": [{"action": "insert"}]}),
        ),
        (node("slack", "localFileTrigger", channel="C1"), node("slack", "webhook", channel="C1")),
    ],
)
def test_what_is_set_is_the_same_a_second_time(tmp_path: Path, none: str, one: str) -> None:
    assert "R-39" not in told(tmp_path, "x.json", none)
    assert "R-39" in told(tmp_path, "x.json", one)


@pytest.mark.parametrize(("version", "rule"), [(4, False), (2, True)])
def test_rows_that_go_in_one_request_are_there_or_not(tmp_path: Path, version: int, rule: bool) -> None:
    rows = made("Rows", "googleSheets", {"operation": "append", "documentId": "d", "sheetName": "s"}, typeVersion=version)
    text = drawn(HOOK, made("Split", "splitOut"), rows)
    assert ("R-27" in told(tmp_path, "x.json", text)) is rule


def looped(*inside: Node) -> str:
    source = made("Files", "googleDrive", {"resource": "fileFolder", "operation": "search"})
    names = ["Each", *(str(one["name"]) for one in inside), "Each"]
    ways = {"Start": [["Files"]], "Files": [["Each"]]} | {one: [[other]] for one, other in pairwise(names)}
    ways["Each"] = [[], ways["Each"][0]]
    return drawn(HOOK, source, made("Each", "splitInBatches", typeVersion=3), *inside, ways=ways)


def test_what_is_through_is_taken_out_of_the_set(tmp_path: Path) -> None:
    act = made("Act", "httpRequest", {"url": "https://shop.example/orders", "method": "POST"})
    move = {"operation": "move", "fileId": "={{ $('Each').item.json.id }}"}
    assert "R-27" not in told(tmp_path, "x.json", looped(act, made("Move", "googleDrive", move)))
    assert "R-27" in told(tmp_path, "x.json", looped(act, made("Share", "googleDrive", {**move, "operation": "share"})))
    assert "R-27" in told(tmp_path, "x.json", looped(act, made("Move", "googleDrive", {**move, "fileId": "f7"})))


def test_what_is_deleted_by_its_key_is_made_anew(tmp_path: Path) -> None:
    store = made("Store", "@n8n/n8n-nodes-langchain.vectorStoreSupabase", {"mode": "insert", "tableName": "pages"})

    def cleared(table: str) -> str:
        given = {"operation": "delete", "tableId": table, "filterString": "=id=eq.{{ $('Each').item.json.id }}"}
        return looped(made("Clear", "supabase", given), store)

    none, one = told(tmp_path, "x.json", cleared("pages")), told(tmp_path, "x.json", cleared("visits"))
    assert "R-27" not in none
    assert "R-27" in one


def test_what_is_written_down_already_is_left_out(tmp_path: Path) -> None:
    def joined(mode: str) -> str:
        sheet = {"documentId": "d", "sheetName": "s"}
        known, news = made("Known", "googleSheets", sheet), made("News", "httpRequest", {"url": "https://shop.example/news"})
        join, log = made("Join", "merge", {"joinMode": mode}), made("Log", "googleSheets", {**sheet, "operation": "append"})
        ways = {"Start": [["Known", "News"]], "Known": [["Join"]], "News": [["Split"]], "Split": [["Join"]], "Join": [["Log"]]}
        return drawn(CLOCK, known, news, made("Split", "splitOut"), join, log, ways=ways)

    assert "R-27" not in told(tmp_path, "x.json", joined("keepNonMatches"))
    assert "R-27" in told(tmp_path, "x.json", joined("enrichInput1"))


@pytest.mark.parametrize(("start", "rule"), [(CLOCK, False), (HOOK, True)])
def test_remarks_that_are_read_at_the_thing_itself_are_no_lagging_search(tmp_path: Path, start: Node, rule: bool) -> None:
    look = made("Look", "jira", {"resource": "issueComment", "operation": "getAll", "issueKey": "A-1"})
    there = made("There?", "if", {"conditions": {"string": [{"value1": "={{ $json.id }}", "operation": "isEmpty"}]}})
    say = made("Say", "jira", {"resource": "issueComment", "operation": "add", "issueKey": "A-1", "comment": "x"})
    ways = {"Start": [["Look"]], "Look": [["There?"]], "There?": [["Say"], []]}
    assert ("R-40" in told(tmp_path, "x.json", drawn(start, look, there, say, ways=ways))) is rule


def test_that_two_runs_may_add_it_is_told_by_the_rule_of_the_look(tmp_path: Path) -> None:
    def rows(operation: str) -> str:
        look = made("Look", "supabase", {"operation": "getAll", "tableId": "users"})
        there = made("There?", "if", {"conditions": {"string": [{"value1": "={{ $json.id }}", "operation": "isEmpty"}]}})
        act = made("Act", "supabase", {"operation": operation, "tableId": "users"})
        return drawn(HOOK, look, there, act, ways={"Start": [["Look"]], "Look": [["There?"]], "There?": [["Act"], []]})

    found = told(tmp_path, "x.json", rows("create"))
    assert "R-10" not in found
    assert "R-40" in found


def test_a_request_that_streams_its_answer_waits_for_its_end(tmp_path: Path) -> None:
    def run(stream: str) -> str:
        body = {"parameters": [{"name": "assistant_id", "value": "a"}, {"name": "stream", "value": stream}]}
        return node("httpRequest", "webhook", url="https://api.openai.com/v1/threads/t/runs", method="POST", bodyParameters=body)

    assert told(tmp_path, "x.json", run("={{true}}"))["R-35"] == ["LOW"]
    assert told(tmp_path, "x.json", run("={{false}}"))["R-35"] == ["HIGH"]


def test_what_is_looked_up_by_its_own_key_is_found_again(tmp_path: Path) -> None:
    def lead(second: str) -> str:
        add = made("Add", "lemlist", {"resource": "lead", "email": '={{ $json["email"] }}'})
        look = made("Look", "lemlist", {"resource": "lead", "operation": "get", "email": second})
        return drawn(HOOK, add, look)

    assert "R-16" not in told(tmp_path, "x.json", lead('={{ $node["Start"].json["email"] }}'))
    assert "R-16" in told(tmp_path, "x.json", lead("boss@shop.example"))


# ── Make ──

INBOX = module(1, "google-email:TriggerNewEmail")


@pytest.mark.parametrize(("to", "answers"), [("{{1.from.address}}", True), ("{{1.subject}}", False)])
def test_a_module_answers_the_one_who_has_written(tmp_path: Path, to: str, answers: bool) -> None:
    text = scenario(INBOX, module(2, "google-email:ActionSendEmail", {"to": [to]}))
    assert ("answers" in step(tmp_path, text, "2").extra) is answers


@pytest.mark.parametrize(("value", "rule"), [("Yes", False), ("{{1.subject}}", True)])
def test_a_row_in_which_it_is_ticked_off_is_the_mark_of_the_mail(tmp_path: Path, value: str, rule: bool) -> None:
    mail = module(2, "google-email:ActionSendEmail", {"to": ["{{1.customer}}"]})
    row = module(3, "google-sheets:addRow", {"values": {"0": "{{1.date}}", "1": value}})
    assert ("R-06" in told(tmp_path, "x.json", scenario(INBOX, mail, row))) is rule


@pytest.mark.parametrize(("key", "rule"), [("", False), ("{{1.id}}", True)])
def test_a_record_that_nobody_asks_for_keeps_nothing_away(tmp_path: Path, key: str, rule: bool) -> None:
    record = module(2, "datastore:AddRecord", {"key": key, "data": {"a": ""}})
    text = scenario(INBOX, record, module(3, "instagram-business:CreatePostPhoto", {"caption": "x"}))
    assert ("R-18" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("folder", "rule"), [("/b", False), ("/a", True)])
def test_what_lies_in_another_folder_is_no_look(tmp_path: Path, folder: str, rule: bool) -> None:
    look = module(2, "google-drive:searchForFilesFolders", {"folderId": "/a", "query": "x"})
    asks = {"conditions": [[{"a": "{{2.id}}", "o": "exist"}]]}
    put = module(3, "google-drive:uploadAFile", {"folderId": folder, "filename": "x"}, filter=asks)
    assert ("R-40" in told(tmp_path, "x.json", scenario(INBOX, look, put))) is rule


def test_make_tells_its_people_of_a_failure_by_itself(tmp_path: Path) -> None:
    text = scenario(module(1, "gateway:CustomWebHook"), module(2, "google-sheets:addRow", {"sheetId": "s"}))
    found = told(tmp_path, "x.json", text)
    assert "R-39" in found
    assert "R-29" not in found


@pytest.mark.parametrize(("guests", "rule"), [([], False), (["{{1.email}}"], True)])
def test_an_entry_to_which_nobody_is_invited_tells_nobody(tmp_path: Path, guests: list[str], rule: bool) -> None:
    text = scenario(module(1, "gateway:CustomWebHook"), module(2, "google-calendar:createAnEvent", {"summary": "x", "attendees": guests}))
    assert ("R-32" in told(tmp_path, "x.json", text)) is rule


# ── rows that only tell, failures that are asked for ──

CHARGE = made("Pay", "httpRequest", {"url": "https://pay.shop.example/charges", "method": "POST"})
ASKS_EMPTY: dict[str, object] = {"conditions": {"string": [{"value1": "={{ $json.id }}", "operation": "isEmpty"}]}}


def row(name: str, table: str, operation: str = "create", **columns: str) -> Node:
    at = {"base": {"__rl": True, "mode": "id", "value": "app1"}, "table": {"__rl": True, "mode": "id", "value": table}}
    return made(name, "airtable", {"resource": "record", "operation": operation, **at, "columns": {"value": columns}}, typeVersion=2)


def search(table: str, **more: object) -> Node:
    at = {"base": {"__rl": True, "mode": "id", "value": "app1"}, "table": {"__rl": True, "mode": "id", "value": table}}
    return made("Find", "airtable", {"resource": "record", "operation": "search", **at, **more}, typeVersion=2)


@pytest.mark.parametrize(("looks", "writes", "rule"), [("t1", "t1", True), ("t2", "t1", False), ("REPLACE_ME", "REPLACE_ME", False)])
def test_a_row_that_nothing_reads_keeps_nothing_away(tmp_path: Path, looks: str, writes: str, rule: bool) -> None:
    text = drawn(HOOK, search(looks), row("Case", writes, Status="Done"), CHARGE)
    assert ("R-18" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("name", "rule"), [("Log it", False), ("Order it", True)])
def test_a_line_of_a_log_is_not_lost_work(tmp_path: Path, name: str, rule: bool) -> None:
    text = drawn(HOOK, search("t1"), row("Case", "t1", Status="Done"), row(name, "t3", What="x"))
    assert ("R-18" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("table", "retry"), [("AuditLog", "LOW"), ("Catalog", "HIGH")])
def test_two_lines_of_a_log_do_no_harm(tmp_path: Path, table: str, retry: str) -> None:
    found = told(tmp_path, "x.json", drawn(HOOK, row("Write", table, What="x") | {"retryOnFail": True}))
    assert found["R-01"] == [retry]
    assert ("R-39" in found) is (retry == "HIGH")


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("const r = $input.first().json;\nif (r.error) { return [{ json: { ok: false } }]; }\nreturn [{ json: { ok: true } }];", False),
        ("const r = $input.first().json;\nif (r && r.id) { return [r]; }\nreturn [{ json: {} }];", False),
        ("const r = $input.first().json;\nconsole.error('x');\nreturn [{ json: { ok: r.total } }];", True),
    ],
)
def test_code_that_asks_for_the_failure_does_not_pass_it_over(tmp_path: Path, code: str, rule: bool) -> None:
    text = drawn(HOOK, CHARGE | {"onError": "continueRegularOutput"}, made("Ask", "code", {"jsCode": code}), row("Note", "t1", What="x"))
    assert ("R-13" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("state", "rule"), [("={{ $('Pay').item.json.error ? 'failed' : 'paid' }}", False), ("={{ $json.total }}", True)])
def test_a_row_that_tells_the_failure_does_not_pass_it_over(tmp_path: Path, state: str, rule: bool) -> None:
    pay = CHARGE | {"onError": "continueRegularOutput"}
    text = drawn(HOOK, pay, row("Note", "t1", "update", id="={{ $('Start').item.json.id }}", Result=state))
    assert ("R-13" in told(tmp_path, "x.json", text)) is rule


def test_a_failure_is_asked_for_on_each_way(tmp_path: Path) -> None:
    def two(ways: list[str]) -> str:
        ask = made("Ask", "if", {"conditions": {"string": [{"value1": "={{ $json.error }}", "operation": "isEmpty"}]}})
        pay = CHARGE | {"onError": "continueRegularOutput"}
        lines = {"Start": [["Pay"]], "Pay": [ways], "Ask": [["Note"], []]}
        return drawn(HOOK, pay, ask, row("Note", "t1", What="x"), row("Other", "t2", What="x"), ways=lines)

    assert "R-13" not in told(tmp_path, "x.json", two(["Ask"]))
    assert "R-13" in told(tmp_path, "x.json", two(["Ask", "Other"]))


THANKS: dict[str, object] = {"sendTo": "={{ $('Start').item.json.email }}", **MAIL}


@pytest.mark.parametrize(("url", "rule"), [("https://crm.shop.example/people", False), ("https://crm.shop.example/faults", True)])
def test_what_is_done_in_another_way_has_not_failed(tmp_path: Path, url: str, rule: bool) -> None:
    add = made("Add", "httpRequest", {"url": "https://crm.shop.example/people", "method": "POST"}, onError="continueErrorOutput")
    other, thank = made("Set", "httpRequest", {"url": url, "method": "POST"}), made("Thank", "gmail", THANKS)
    ways = {"Start": [["Add"]], "Add": [["Thank"], ["Set"]], "Set": [["Thank"]]}
    assert ("R-07" in told(tmp_path, "x.json", drawn(HOOK, add, other, thank, ways=ways))) is rule


@pytest.mark.parametrize(("name", "rule"), [("Overdue alert", False), ("Tell the customer", True)])
def test_an_alert_tells_no_success(tmp_path: Path, name: str, rule: bool) -> None:
    text = drawn(HOOK, CHARGE | {"onError": "continueRegularOutput"}, made(name, "gmail", THANKS))
    assert ("R-07" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("operation", "rule"), [("sendAudio", False), ("sendMessage", True)])
def test_a_file_that_is_sent_says_nothing_of_anything_else(tmp_path: Path, operation: str, rule: bool) -> None:
    say = made("Say", "telegram", {"resource": "message", "operation": operation, "chatId": "={{ $('Start').item.json.id }}"})
    assert ("R-07" in told(tmp_path, "x.json", drawn(HOOK, CHARGE | {"onError": "continueRegularOutput"}, say))) is rule


# ── what is looked for, and what is no look ──


@pytest.mark.parametrize(("columns", "known"), [({"State": "Done"}, True), ({"State": "Open"}, False), ({"Remark": "Done"}, False)])
def test_what_is_found_by_its_state_and_then_moved_on_is_known_again(tmp_path: Path, columns: dict[str, str], known: bool) -> None:
    def text(start: Node) -> str:
        mail = made("Mail", "gmail", THANKS, retryOnFail=True)
        return drawn(start, search("t1", filterByFormula="={State}='Open'"), mail, row("Move", "t1", "update", **columns))

    found = told(tmp_path, "x.json", text(HOOK))
    assert ("R-40" in found, "R-39" in found) == (known, not known)
    assert "R-01" in found  # its own retry does not look
    assert "R-40" not in told(tmp_path, "x.json", text(CLOCK))


@pytest.mark.parametrize(("table", "operation", "known"), [("t1", "create", True), ("t2", "create", False), ("t1", "update", False)])
def test_what_is_written_where_it_was_asked_for_is_known_again(tmp_path: Path, table: str, operation: str, known: bool) -> None:
    nodes = (search("t1"), made("New?", "if", ASKS_EMPTY), made("Mail", "gmail", THANKS), row("Book", table, operation, Key="x"))
    ways = {"Start": [["Find"]], "Find": [["New?"]], "New?": [["Mail"], []], "Mail": [["Book"]]}
    assert (step(tmp_path, drawn(HOOK, *nodes, ways=ways), "Mail").known_by is not None) is known


@pytest.mark.parametrize(("second", "look"), [("manualTrigger", True), ("webhook", False)])
def test_a_look_that_a_run_comes_around_is_none(tmp_path: Path, second: str, look: bool) -> None:
    nodes = (HOOK, made("Other", second), search("t1"), made("New?", "if", ASKS_EMPTY), row("Add", "t1", Key="x"))
    ways = {"Start": [["Find"]], "Find": [["New?"]], "Other": [["New?"]], "New?": [["Add"], []]}
    assert (step(tmp_path, drawn(*nodes, ways=ways), "Add").guard is not None) is look


@pytest.mark.parametrize(("table", "look"), [("t1", True), ("YOUR_TABLE", False)])
def test_tables_that_are_still_to_be_named_are_not_the_same(tmp_path: Path, table: str, look: bool) -> None:
    nodes = (HOOK, search(table), made("New?", "if", ASKS_EMPTY), row("Add", table, Key="x"))
    ways = {"Start": [["Find"]], "Find": [["New?"]], "New?": [["Add"], []]}
    assert (step(tmp_path, drawn(*nodes, ways=ways), "Add").guard is not None) is look


@pytest.mark.parametrize(("table", "look"), [("shop_orders", True), ("shop_tasks", False)])
def test_tables_of_one_shop_are_not_the_same_by_its_name(tmp_path: Path, table: str, look: bool) -> None:
    find = made("Find", "httpRequest", {"url": "https://db.shop.example/rest/v1/shop_orders?id=eq.1"})
    add = made("Add", "httpRequest", {"url": f"https://db.shop.example/rest/v1/{table}", "method": "POST"})
    ways = {"Start": [["Find"]], "Find": [["New?"]], "New?": [["Add"], []]}
    text = drawn(HOOK, find, made("New?", "if", ASKS_EMPTY), add, ways=ways)
    assert (step(tmp_path, text, "Add").guard is not None) is look


def test_a_model_that_sorts_is_no_look(tmp_path: Path) -> None:
    def asks(type: str) -> str:
        nodes = (HOOK, made("Sort", type), made("New?", "if", ASKS_EMPTY), made("Do", AGENT), made("Tool", "gmailTool", MAIL))
        ways = {"Start": [["Sort"]], "Sort": [["New?"]], "New?": [["Do"], []]}
        return drawn(*nodes, ways=ways, parts={"Tool": "Do"})

    assert step(tmp_path, asks(AGENT), "Do").guard is None
    assert "R-39" in told(tmp_path, "x.json", asks(AGENT))


# ── the same again, by a name ──


@pytest.mark.parametrize(
    ("method", "url", "body", "rule"),
    [
        ("PATCH", "https://db.shop.example/orders/{{ $json.id }}", "", False),
        ("PATCH", "https://db.shop.example/orders", "", True),
        ("POST", "https://db.shop.example/rows", '={ "operation": "update", "fields": { "id": {{ $json.id }} } }', False),
        ("POST", "https://db.shop.example/rows", '={ "operation": "insert", "fields": { "id": {{ $json.id }} } }', True),
        ("POST", "https://db.shop.example/Offers", '={ "OfferID": "{{ $(\'Find\').item.json.offer }}" }', False),
        ("POST", "https://db.shop.example/Offers", '={ "CustomerID": "{{ $(\'Find\').item.json.offer }}" }', True),
        ("POST", "https://db.shop.example/Offers", '={ "OfferID": "{{ $(\'Start\').item.json.offer }}" }', True),
    ],
)
def test_a_request_that_names_the_one_thing_sets_it(tmp_path: Path, method: str, url: str, body: str, rule: bool) -> None:
    act = made("Act", "httpRequest", {"url": f"={url}", "method": method, "jsonBody": body})
    assert ("R-39" in told(tmp_path, "x.json", drawn(HOOK, search("t1"), act))) is rule


@pytest.mark.parametrize(("refusal", "rule"), [("duplicate key", False), ("no stock", True)])
def test_who_asks_whether_it_was_there_knows_that_a_second_one_is_refused(tmp_path: Path, refusal: str, rule: bool) -> None:
    asks = made(
        "There?", "if", {"conditions": {"string": [{"value1": "={{ $json.message }}", "operation": "contains", "value2": refusal}]}}
    )
    add = made("Add", "httpRequest", {"url": "https://db.shop.example/people", "method": "POST"})
    assert ("R-39" in told(tmp_path, "x.json", drawn(HOOK, add, asks))) is rule


@pytest.mark.parametrize(("takes", "rule"), [("made.orderId", False), ("made.total", True)])
def test_code_hands_on_the_id_that_is_then_kept(tmp_path: Path, takes: str, rule: bool) -> None:
    entry = made("Enter", "googleCalendar", {"resource": "event", "operation": "create", "calendar": "c"})
    code = made("Take", "code", {"jsCode": f"const made = $input.first().json;\nreturn [{{ json: {{ x: {takes} }} }}];"})
    text = drawn(HOOK, entry, code, row("Keep", "t1", "update", Entry="={{ $('Take').item.json.x }}"))
    assert ("R-16" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("value", "rule"), [("{{ $('Enter').item.json.id }}", False), ("{{ $('Start').item.json.id }}", True)])
def test_a_statement_is_filled_in_without_a_sign(tmp_path: Path, value: str, rule: bool) -> None:
    entry = made("Enter", "googleCalendar", {"resource": "event", "operation": "create", "calendar": "c"})
    keep = made("Keep", "postgres", {"operation": "executeQuery", "query": f"UPDATE visits SET entry = '{value}' WHERE id = 1"})
    assert ("R-16" in told(tmp_path, "x.json", drawn(HOOK, entry, keep))) is rule


# ── who decides, and what the own people hear ──


@pytest.mark.parametrize(("start", "severities"), [("errorTrigger", []), ("airtableTrigger", ["MEDIUM"])])
def test_the_notice_of_a_failure_is_nobodys_to_approve(tmp_path: Path, start: str, severities: list[str]) -> None:
    text = node("gmail", start, sendTo="={{ $json.owner }}", **MAIL)
    assert told(tmp_path, "x.json", text).get("R-32", []) == severities


@pytest.mark.parametrize(("start", "severity"), [("executeWorkflowTrigger", "LOW"), ("airtableTrigger", "MEDIUM")])
def test_another_workflow_that_calls_has_decided(tmp_path: Path, start: str, severity: str) -> None:
    assert told(tmp_path, "x.json", node("gmail", start, sendTo="={{ $json.owner }}", **MAIL))["R-32"] == [severity]


def test_who_writes_the_decision_is_asked_for_in_the_file(tmp_path: Path) -> None:
    def ordered(who: str, what: str) -> str:
        def asks(value: str, same: str) -> dict[str, object]:
            return {"conditions": {"conditions": [{"leftValue": value, "rightValue": same, "operator": {"operation": "equals"}}]}}

        boss, yes = made("Boss?", "if", asks("={{ $json.from }}", who)), made("Yes?", "if", asks("={{ $json.text }}", what))
        ways = {"Start": [["Boss?"]], "Boss?": [["Yes?"], []], "Yes?": [["Mail"], []]}
        return drawn(made("Start", "whatsAppTrigger"), boss, yes, made("Mail", "gmail", {"sendTo": "={{ $json.to }}", **MAIL}), ways=ways)

    assert "let_pass" in step(tmp_path, ordered("155", "approve"), "Mail").extra
    assert "let_pass" not in step(tmp_path, ordered("={{ $json.owner }}", "approve"), "Mail").extra
    assert "let_pass" not in step(tmp_path, ordered("155", "hello"), "Mail").extra


@pytest.mark.parametrize(("chat", "rule"), [("77", False), ("={{ $('Look').item.json.chat }}", True)])
def test_that_the_own_people_hear_it_twice_does_no_harm(tmp_path: Path, chat: str, rule: bool) -> None:
    often = made("Start", "scheduleTrigger", {"rule": {"interval": [{"field": "minutes", "minutesInterval": 5}]}})
    say = made("Say", "telegram", {"resource": "message", "operation": "sendMessage", "chatId": chat})
    assert ("R-38" in told(tmp_path, "x.json", drawn(often, made("Look", "httpRequest", LOOK), say))) is rule


@pytest.mark.parametrize(("key", "rule"), [("{{executionId}}", False), ("{{1.id}}", True)])
def test_a_key_that_each_run_makes_keeps_no_other_run_away(tmp_path: Path, key: str, rule: bool) -> None:
    record = module(2, "datastore:AddRecord", {"key": key, "data": {"a": ""}})
    text = scenario(INBOX, record, module(3, "instagram-business:CreatePostPhoto", {"caption": "x"}))
    assert ("R-18" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("given", "receiver"), [({"channel": "C1"}, Receiver.TEAM), ({}, Receiver.UNKNOWN)])
def test_a_channel_among_the_settings_is_of_the_own_people(tmp_path: Path, given: dict[str, str], receiver: Receiver) -> None:
    effect = step(tmp_path, scenario(INBOX, module(2, "slack:createMessage", {"text": "x"}, parameters=given)), "2").effect
    assert effect is not None
    assert effect.receiver is receiver


# ── what is asked, though it is posted ──


def posted(url: str = "https://shop.example/crud/orders", body: str = "", name: str = "Act", **more: object) -> str:
    given = {"method": "POST", "url": url, **({"specifyBody": "json", "jsonBody": body} if body else {}), **more}
    return drawn(HOOK, made(name, "httpRequest", given))


@pytest.mark.parametrize(
    ("none", "one"),
    [
        (posted(body='={"operation": "getOne", "id": "{{ $json.id }}"}'), posted(body='={"operation": "insert", "id": "{{ $json.id }}"}')),
        (
            posted(body="={{ JSON.stringify({ action: 'available_rooms' }) }}"),
            posted(body="={{ JSON.stringify({ action: 'book_room' }) }}"),
        ),
        (
            posted(body='{"jsonrpc": "2.0", "method": "host.get", "params": {}}'),
            posted(body='{"jsonrpc": "2.0", "method": "host.create", "params": {}}'),
        ),
        (
            posted(body='{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "search_rooms"}}'),
            posted(body='{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "book_room"}}'),
        ),
        (posted("https://shop.example/api/TicketSearch"), posted("https://shop.example/api/TicketUpdate")),
        (posted("https://shop.example/api/TicketGet/{{ $json.id }}"), posted("https://shop.example/api/Ticket/{{ $json.id }}")),
        (posted("https://shop.example/verify-token"), posted("https://shop.example/send-token")),
        (posted("https://shop.example/generate-token"), posted("https://shop.example/generate-invoice")),
        (posted("https://shop.example/rpc/get_due_orders"), posted("https://shop.example/rpc/close_due_orders")),
        (posted("https://shop.example/search"), posted("https://shop.example/mailing-list")),
        (posted(name="API: Get Orders"), posted(name="API: Keep Orders")),
        (posted(name="Get Orders"), posted(name="Get Orders", body='{"operation": "insert"}')),
        (
            posted(bodyParameters={"parameters": [{"name": "grant_type", "value": "refresh_token"}]}),
            posted(bodyParameters={"parameters": [{"name": "order_type", "value": "book"}]}),
        ),
        (
            node("facebookGraphApi", "webhook", node="me", edge="accounts"),
            node("facebookGraphApi", "webhook", node="me", edge="messages", httpRequestMethod="POST"),
        ),
        (
            node("whatsApp", "webhook", resource="media", operation="mediaUrlGet"),
            node("whatsApp", "webhook", resource="message", operation="send"),
        ),
    ],
)
def test_what_is_posted_to_ask_is_no_effect(tmp_path: Path, none: str, one: str) -> None:
    assert not {"R-29", "R-39"} & told(tmp_path, "x.json", none).keys()
    assert {"R-29", "R-39"} <= told(tmp_path, "x.json", one).keys()


@pytest.mark.parametrize(("given", "rule"), [({"returnAll": True}, False), ({"returnAll": True, "operation": "sell"}, True)])
def test_a_node_of_others_that_is_told_how_many_lists(tmp_path: Path, given: dict[str, object], rule: bool) -> None:
    assert ("R-44" in told(tmp_path, "x.json", drawn(HOOK, made("A", "n8n-nodes-shop.shop", given)))) is rule


@pytest.mark.parametrize(
    ("name", "said"),
    [("Kunden laden", []), ("Kunden hochladen", ["MEDIUM"]), ("Build Query", []), ("Build Queue", ["MEDIUM"])],
)
def test_a_workflow_is_called_a_look(tmp_path: Path, name: str, said: list[str]) -> None:
    found = told(tmp_path, "x.json", drawn(HOOK, made(name, "executeWorkflow", {"workflowId": "w7"})))
    assert found.get("R-44", []) == said


@pytest.mark.parametrize(("wanted", "rule"), [("@langchain/core/prompts", False), ("node-fetch", True)])
def test_code_that_only_asks_a_model_was_read(tmp_path: Path, wanted: str, rule: bool) -> None:
    code = {"code": {"execute": {"code": f"const part = require('{wanted}');\nreturn part;"}}}
    assert ("R-44" in told(tmp_path, "x.json", drawn(HOOK, made("Ask", "@n8n/n8n-nodes-langchain.code", code)))) is rule


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("// takes RUN.json from the issue\nreturn [];", False),
        ("const a = 1;\nfrom shop import orders", True),
        ("const a = await this.helpers.httpRequest({ method: 'GET', url: 'https://shop.example/orders' });", False),
        ("const a = await this.helpers.httpRequest({ method: 'POST', url: 'https://shop.example/orders' });", True),
        ("const a = await this.helpers.httpRequest({ method: wanted, url: 'https://shop.example/orders' });", True),
        ("const a = await this.helpers.httpRequest({ method, url: 'https://shop.example/orders' });", True),
        ("const a = await this.helpers.httpRequest({ ...options, url: 'https://shop.example/orders' });", True),
        ("const a = await fetch('https://shop.example/orders');", False),
        ("const a = await fetch(address);", False),
        ("const a = await fetch('https://shop.example/orders', options);", True),
        ("const a = await this.helpers.httpRequest(wanted);", True),
        ("const a = await axios.get('https://shop.example/orders');", False),
        ("const a = await axios.post('https://shop.example/orders', {});", True),
        ("const a = await axios(wanted);", True),
    ],
)
def test_code_is_unread_only_where_it_may_change_something(tmp_path: Path, code: str, rule: bool) -> None:
    assert ("R-44" in told(tmp_path, "x.json", drawn(HOOK, made("Take", "code", {"jsCode": code})))) is rule


@pytest.mark.parametrize(("tool", "rule"), [("shop_search", False), ("shop_order", True)])
def test_a_tool_of_a_server_is_called_a_look(tmp_path: Path, tool: str, rule: bool) -> None:
    text = drawn(HOOK, made("Ask", "mcpClient", {"toolName": tool}))
    assert ("R-39" in told(tmp_path, "x.json", text)) is rule


# ── statements that code writes ──

COUNT = "const find = `SELECT count(*) FROM orders WHERE id = '${id}'`.trim();\nreturn { find };"


def running(code: str, *between: Node, query: str = "={{ $json.find }}") -> str:
    run = made("Run", "postgres", {"operation": "executeQuery", "query": query})
    return drawn(HOOK, made("Write", "code", {"jsCode": code}), *between, run)


@pytest.mark.parametrize(
    ("none", "one"),
    [
        (running(COUNT), running(COUNT.replace("SELECT count(*) FROM orders WHERE id =", "INSERT INTO orders VALUES"))),
        (running(COUNT, made("Pass", "if")), running(COUNT, made("Pass", "httpRequest", LOOK))),
        (
            running(COUNT, made("Pass", "code", {"jsCode": "const o = $('Write').first().json;\nreturn { find: o.find };"})),
            running(COUNT, made("Pass", "code", {"jsCode": "const o = $('Write').first().json;\nreturn { find: o.find + more };"})),
        ),
        (running(COUNT), running("const find = 'SELECT 1' + tail;\nreturn { find };")),
        (running(COUNT), running(COUNT, query="={{ $json.other }}")),
        (
            running(COUNT.replace("SELECT count(*) FROM orders WHERE id =", "INSERT INTO orders ON CONFLICT (id) DO NOTHING")),
            running(COUNT.replace("SELECT count(*) FROM orders WHERE id =", "UPDATE orders SET n = n + 1 WHERE id =")),
        ),
    ],
)
def test_a_statement_is_read_where_code_writes_it(tmp_path: Path, none: str, one: str) -> None:
    assert "R-39" not in told(tmp_path, "x.json", none)
    assert "R-39" in told(tmp_path, "x.json", one)


@pytest.mark.parametrize(("table", "rule"), [("orders", "R-40"), ("visits", "R-39")])
def test_who_asks_one_table_has_not_looked_in_another(tmp_path: Path, table: str, rule: str) -> None:
    look = made("Look", "postgres", {"operation": "executeQuery", "query": "SELECT id FROM orders"})
    there = made("There?", "if", {"conditions": {"string": [{"value1": "={{ $json.id }}", "operation": "isEmpty"}]}})
    act = made("Act", "postgres", {"operation": "executeQuery", "query": f"INSERT INTO {table} (a) VALUES (1)"})
    ways = {"Start": [["Look"]], "Look": [["There?"]], "There?": [["Act"], []]}
    found = told(tmp_path, "x.json", drawn(HOOK, look, there, act, ways=ways))
    assert {"R-39", "R-40"} & found.keys() == {rule}
    assert "R-10" not in found


@pytest.mark.parametrize(("again", "rule"), [("orders", False), ("visits", True)])
def test_rows_that_one_text_deletes_and_puts_in_again_are_replaced(tmp_path: Path, again: str, rule: bool) -> None:
    query = f"DELETE FROM orders WHERE id = 1; INSERT INTO {again} (id) VALUES (1) ON CONFLICT (id) DO NOTHING"
    clear = made("Clear", "postgres", {"operation": "executeQuery", "query": query})
    assert ("R-26" in told(tmp_path, "x.json", drawn(HOOK, clear, made("Book", "httpRequest", BOOK)))) is rule


# ── what comes last, or in any case ──


@pytest.mark.parametrize(("body", "rule"), [("published_at", False), ("price", True)])
def test_the_record_that_it_is_published_comes_last(tmp_path: Path, body: str, rule: bool) -> None:
    url = {"method": "POST", "url": "https://shop.example/crud/news"}
    look = made("Look", "httpRequest", {**url, "jsonBody": '{"operation": "getAll"}'})
    note = made("Note", "httpRequest", {**url, "jsonBody": f'={{"operation": "insert", "{body}": "{{{{ $now }}}}"}}'})
    tell = made("Tell", "twitter", {"text": "x"})
    assert ("R-26" in told(tmp_path, "x.json", drawn(CLOCK, look, tell, note))) is rule


@pytest.mark.parametrize(("columns", "rule"), [("(to_whom, sent_at)", False), ("(to_whom, paid)", True)])
def test_the_row_that_it_is_sent_comes_after_the_message(tmp_path: Path, columns: str, rule: bool) -> None:
    mail = made("Mail", "gmail", {"sendTo": "={{ $json.email }}", **MAIL})
    row = made("Row", "postgres", {"operation": "executeQuery", "query": f"INSERT INTO mails {columns} VALUES ($1, $2)"})
    assert ("R-06" in told(tmp_path, "x.json", drawn(HOOK, mail, row))) is rule


def test_a_message_that_comes_in_any_case_takes_nothing_for_failed(tmp_path: Path) -> None:
    def failing(regular: list[str], words: str) -> str:
        act = made("Act", "httpRequest", BOOK, onError="continueErrorOutput")
        to = {"sendTo": "={{ $('Start').item.json.email }}", **MAIL}
        thanks = "Thank you for your order. We will look at it as soon as we can and write to you."
        mail, sorry = made("Mail", "gmail", {**to, "message": thanks}), made("Sorry", "gmail", {**to, "message": words or thanks})
        last = made("Last", "gmail", {**to, "message": "x"})
        return drawn(
            HOOK, act, mail, sorry, last, ways={"Start": [["Act"]], "Act": [["Mail"], ["Sorry"]], "Mail": [regular], "Sorry": [["Last"]]}
        )

    assert "R-14" not in told(tmp_path, "x.json", failing(["Last"], ""))
    assert "R-14" in told(tmp_path, "x.json", failing([], ""))
    assert "R-14" in told(
        tmp_path, "x.json", failing(["Last"], "We are sorry to say that your order could not be taken today. Please try again.")
    )


@pytest.mark.parametrize(("to", "severity"), [("+4900000", "MEDIUM"), ("={{ $json.phone }}", "HIGH")])
def test_the_own_people_hear_a_thing_twice(tmp_path: Path, to: str, severity: str) -> None:
    given = {"resource": "sms", "operation": "send", "to": to, "message": "x", "options": {"timeout": 5000}}
    text = drawn(HOOK, made("Act", "twilio", given, retryOnFail=True))
    assert told(tmp_path, "x.json", text)["R-14"] == [severity]


@pytest.mark.parametrize(
    ("said", "start", "rule"),
    [("error", "executeWorkflowTrigger", False), ("page", "executeWorkflowTrigger", True), ("error", "webhook", True)],
)
def test_the_calling_workflow_is_given_the_outcome(tmp_path: Path, said: str, start: str, rule: bool) -> None:
    act = made("Act", "httpRequest", BOOK, continueOnFail=True)
    end = made("End", "code", {"jsCode": f"return [{{ json: {{ {said}: $json.{said} }} }}];"})
    assert ("R-29" in told(tmp_path, "x.json", drawn(made("Start", start), act, end))) is rule


@pytest.mark.parametrize(("column", "rule"), [("Status", False), ("Remark", True)])
def test_what_is_through_is_no_longer_chosen(tmp_path: Path, column: str, rule: bool) -> None:
    table = {"base": "b", "table": "t"}
    jobs = made("Jobs", "airtable", {**table, "operation": "search", "filterByFormula": "={Status} = 'New'"})
    act = made("Act", "httpRequest", BOOK)
    sets = made("Set", "airtable", {**table, "operation": "update", "columns": {"value": {column: "x"}, "matchingColumns": ["id"]}})
    ways = {"Start": [["Jobs"]], "Jobs": [["Each"]], "Each": [[], ["Act"]], "Act": [["Set"]], "Set": [["Each"]]}
    text = drawn(CLOCK, jobs, made("Each", "splitInBatches", typeVersion=3), act, sets, ways=ways)
    assert ("R-27" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("module_", "rule"), [("google-sheets:filterRows", False), ("google-sheets:addRow", True)])
def test_rows_that_are_searched_are_no_effect(tmp_path: Path, module_: str, rule: bool) -> None:
    text = scenario(module(1, "gateway:CustomWebHook"), module(2, module_, {"sheetId": "s"}))
    assert ("R-39" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("method", "rule"), [("GET", False), ("POST", True)])
def test_a_request_to_one_vendor_says_that_it_reads(tmp_path: Path, method: str, rule: bool) -> None:
    text = scenario(module(1, "gateway:CustomWebHook"), module(2, "shop:shopRest", {"method": method, "url": "/orders"}))
    assert ("R-39" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("asked", "rule"), [("{{2.headers.page-count}}", False), ("{{2.headers.length}}", True)])
def test_what_runs_after_the_last_page_runs_once(tmp_path: Path, asked: str, rule: bool) -> None:
    ends = {"name": "", "conditions": [[{"a": "{{2.i}}", "b": asked, "o": "number:equal"}]]}
    make = module(3, "shop:createATask", {"title": "x"}, filter=ends)
    text = scenario(module(1, "gateway:CustomWebHook"), module(2, "builtin:BasicRepeater", {"repeats": "9"}), make)
    assert ("R-27" in told(tmp_path, "x.json", text)) is rule


# ── what is only asked, what n8n never comes to, and what an engine does by itself ──


TALK: dict[str, object] = {"model": "m1", "messages": [{"role": "user", "content": "{{1.subject}}"}]}
PICTURE: dict[str, object] = {"inputs": "{{1.subject}}"}


def handed(body: Mapping[str, object], used: str) -> str:
    """A request whose body a module before it makes, and of whose answer a module behind it uses a part."""
    asks = {"method": "post", "url": "{{1.api}}", "data": "{{2.json}}"}
    again = [module(9, "builtin:Break", {"retry": True, "count": "3"})]
    row = module(4, "google-sheets:addRow", {"values": {"0": used}})
    flow = [INBOX, module(2, "json:CreateJSON", body), module(3, "http:ActionSendData", asks, onerror=again), row]
    return json.dumps({"name": "x", "flow": flow, "metadata": {"scenario": {"dlq": True}}}, indent=1)


@pytest.mark.parametrize(
    ("body", "used", "rule"),
    [
        (TALK, "{{3.data.text}}", False),
        ({"order": "{{1.subject}}"}, "{{3.data.choices[].message.content}}", False),
        (PICTURE, "{{3.data}}", False),
        (PICTURE, "{{3.data.orderId}}", True),
        ({"order": "{{1.subject}}", "model": "m1"}, "{{3.data.orderId}}", True),
    ],
)
def test_a_request_of_make_that_asks_a_model_changes_nothing(tmp_path: Path, body: Mapping[str, object], used: str, rule: bool) -> None:
    assert ("R-01" in told(tmp_path, "x.json", handed(body, used))) is rule


@pytest.mark.parametrize(
    ("url", "body", "rule"),
    [
        ("https://maps.example/v1/places:searchText", '={"textQuery": "{{ $json.town }}"}', False),
        ("https://maps.example/v1/places:addText", '={"textQuery": "{{ $json.town }}"}', True),
        ("http://inside.example/api/generate", '={"model": "m1", "prompt": "x", "stream": false}', False),
        ("http://inside.example/api/generate", '={"model": "m1", "prompt": "x", "callback": "y"}', True),
    ],
)
def test_a_request_of_n8n_that_asks_is_known_by_its_body_or_its_verb(tmp_path: Path, url: str, body: str, rule: bool) -> None:
    text = drawn(HOOK, made("Post", "httpRequest", {"url": url, "method": "POST", "jsonBody": body}))
    assert ("R-39" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"query": "=shops in {{ $json.town }}", "options": {}}, False),
        ({"query": "DELETE FROM shops"}, True),
        ({"query": "x", "name": "y"}, True),
        ({"operation": "scrape", "url": "https://shop.example"}, False),
        ({"operation": "run", "url": "https://shop.example"}, True),
    ],
)
def test_a_node_of_others_that_gets_a_question_looks(tmp_path: Path, given: Mapping[str, object], rule: bool) -> None:
    assert ("R-29" in told(tmp_path, "x.json", drawn(HOOK, made("Ask", "n8n-nodes-shop.find", given)))) is rule


ALONE = "const { execSync } = require('child_process');\nexecSync('make ship');"


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        (f"const here = typeof module !== 'undefined' && require.main === module;\nif (here) {{ {ALONE} }}\nreturn [];", False),
        (f"if (typeof $input === 'undefined') {{ {ALONE} }}\nreturn $input.all();", False),
        (f"if (typeof $input !== 'undefined') {{ return []; }} else {{ {ALONE} }}", False),
        (f"if (typeof module !== 'undefined' && module.exports) {{ {ALONE} }} else {{ return []; }}", False),
        (f"if ($input.first().json.keep) {{ {ALONE} }}\nreturn [];", True),
        (f"if (typeof $input === 'undefined' || keep) {{ {ALONE} }}\nreturn [];", True),
        (f"if (typeof $input === 'undefined') {{ a(); }}\n{ALONE}", True),
        ("// await fetch(url, { method: 'POST' });\nreturn [];", False),
        ("await fetch(url, { method: 'POST' });\nreturn [];", True),
        ("const sql = `\nSELECT id\nFROM orders\nWHERE id = 1`;\nreturn [{ json: { sql } }];", False),
        ("from shop.client import post\npost(1)\nreturn []", True),
        ("const fs = require('node:fs');\nreturn [{ json: { text: String(items.length) } }];", False),
    ],
)
def test_code_counts_as_it_runs_in_n8n(tmp_path: Path, code: str, rule: bool) -> None:
    assert ("R-44" in told(tmp_path, "x.json", drawn(HOOK, made("Work", "code", {"jsCode": code})))) is rule


@pytest.mark.parametrize(("behind", "rule"), [("throw new Error('Unauthorized')", False), ("throw new Error('no stock')", True)])
def test_a_part_behind_which_strangers_are_turned_away_asks_who_somebody_is(tmp_path: Path, behind: str, rule: bool) -> None:
    test = made("Test", "code", {"jsCode": f"if (!$json.id) {behind};\nreturn [];"})
    assert ("R-44" in told(tmp_path, "x.json", drawn(HOOK, made("Ask", "executeWorkflow", {"workflowId": "w7"}), test))) is rule


@pytest.mark.parametrize(("method", "mode", "rule"), [("GET", "responseNode", False), ("POST", "responseNode", True), ("GET", "", True)])
def test_who_fetches_an_answer_delivers_nothing_again(tmp_path: Path, method: str, mode: str, rule: bool) -> None:
    start = made("Start", "webhook", {"httpMethod": method, "responseMode": mode})
    mail = made("Mail", "gmail", {"sendTo": "={{ $json.email }}", "resource": "message", "operation": "send"})
    assert ("R-39" in told(tmp_path, "x.json", drawn(start, mail, made("Answer", "respondToWebhook")))) is rule


@pytest.mark.parametrize(("handler", "said"), [("builtin:Ignore", ["MEDIUM"]), ("builtin:Resume", ["HIGH"])])
def test_what_make_ignores_comes_to_no_later_module(tmp_path: Path, handler: str, said: list[str]) -> None:
    row = module(2, "google-sheets:addRow", {"values": {"0": "{{1.subject}}"}}, onerror=[module(9, handler)])
    text = scenario(INBOX, row, module(3, "wordpress:createPost", {"title": "{{2.rowNumber}}"}))
    assert told(tmp_path, "x.json", text)["R-13"] == said


@pytest.mark.parametrize(("by", "said"), [("webhook", ["LOW"]), ("botToken", ["MEDIUM"])])
def test_a_webhook_of_a_chat_leads_to_one_channel(tmp_path: Path, by: str, said: list[str]) -> None:
    text = drawn(CLOCK, made("Say", "discord", {"authentication": by, "content": "x"}, typeVersion=2))
    found = told(tmp_path, "x.json", text)
    assert found["R-29"] == said
    assert ("R-16" in found) is (by != "webhook")


@pytest.mark.parametrize(("interval", "seconds"), [({"field": "minutes"}, 300), ({"field": "minutes", "minutesInterval": 1}, 60)])
def test_a_timetable_without_a_number_has_the_usual_one(tmp_path: Path, interval: Mapping[str, object], seconds: float) -> None:
    text = drawn(made("Start", "scheduleTrigger", {"rule": {"interval": [interval]}}), made("Say", "slack"))
    assert [one.period for one in read(tmp_path, text).triggers] == [seconds]


@pytest.mark.parametrize(("more", "rule"), [({}, False), ({"onError": "continueRegularOutput"}, True)])
def test_a_workflow_that_is_called_fails_in_its_caller(tmp_path: Path, more: Mapping[str, object], rule: bool) -> None:
    text = drawn(made("Start", "executeWorkflowTrigger"), made("Row", "googleSheets", {"operation": "append"}, **more))
    assert ("R-29" in told(tmp_path, "x.json", text)) is rule


# ── what is looked up, emptied or marked in the same flow, and what a message is about ──


def compared(output: int) -> str:
    """Rows that are made of what is, or is not, in the table already."""
    table = {"tableId": "posts"}
    ways = {"Start": [["New", "Old"]], "New": [["Split"]], "Split": [["Compare"]], "Old": [["Compare"]]}
    ways["Compare"] = [[], [], [], []]
    ways["Compare"][output] = ["Row"]
    new, split = made("New", "httpRequest", {"url": "https://shop.example/posts"}), made("Split", "splitOut")
    old, row = made("Old", "supabase", {"operation": "getAll", **table}), made("Row", "supabase", {"operation": "create", **table})
    return drawn(CLOCK, new, old, split, made("Compare", "compareDatasets"), row, ways=ways)


@pytest.mark.parametrize(("output", "rule"), [(0, False), (2, True)])
def test_what_is_new_by_comparison_is_not_done_again(tmp_path: Path, output: int, rule: bool) -> None:
    assert ("R-27" in told(tmp_path, "x.json", compared(output))) is rule


def emptied(height: int) -> str:
    """A calendar that is emptied on one way and filled on another."""
    book: dict[str, object] = {"calendar": "C1"}
    look = made("Look", "googleCalendar", {"operation": "getAll", **book}) | {"position": [0, height]}
    drop = made("Drop", "googleCalendar", {"operation": "delete", "eventId": "={{ $json.id }}", **book})
    split = made("Split", "splitOut") | {"position": [0, 100]}
    ways = {"Start": [["Look", "Split"]], "Look": [["Drop"]], "Split": [["Make"]]}
    text = drawn(CLOCK, look, drop, split, made("Make", "googleCalendar", book), ways=ways)
    return json.dumps({**json.loads(text), "settings": {"executionOrder": "v1"}}, indent=1)


@pytest.mark.parametrize(("height", "rule"), [(0, False), (200, True)])
def test_what_is_emptied_first_is_filled_anew(tmp_path: Path, height: int, rule: bool) -> None:
    found = told(tmp_path, "x.json", emptied(height))
    assert ("R-27" in found) is rule
    assert ("R-16" in found) is rule


@pytest.mark.parametrize(("fields", "rule"), [("synced,note", False), ("note", True)])
def test_each_round_marks_its_item_in_the_set_that_it_is_chosen_from(tmp_path: Path, fields: str, rule: bool) -> None:
    look = made("Look", "mongoDb", {"collection": "users", "query": '={"synced": {"$ne": true}}'})
    mark = made("Mark", "mongoDb", {"operation": "update", "collection": "users", "updateKey": "_id", "fields": fields})
    post = made("Post", "httpRequest", {"url": "https://shop.example/leads", "method": "POST"})
    ways = {"Start": [["Look"]], "Look": [["Each"]], "Each": [[], ["Post"]], "Post": [["Mark"]], "Mark": [["Each"]]}
    text = drawn(CLOCK, look, made("Each", "splitInBatches"), post, mark, ways=ways)
    assert ("R-27" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(
    ("to", "said", "rule", "severity"),
    [
        ("{{1.email}}", "Thank you, {{1.name}}", False, "MEDIUM"),
        ("{{2.email}}", "Thank you, {{1.name}}", True, "HIGH"),
        ("{{1.email}}", "{{2.text}}", True, "HIGH"),
    ],
)
def test_whom_the_event_names_is_told_what_it_has_brought(tmp_path: Path, to: str, said: str, rule: bool, severity: str) -> None:
    mail = module(3, "google-email:ActionSendEmail", {"to": [to], "text": said})
    found = told(tmp_path, "x.json", scenario(module(1, "gateway:CustomWebHook"), module(2, "google-sheets:filterRows"), mail))
    assert ("R-32" in found) is rule
    assert found["R-39"] == [severity]


@pytest.mark.parametrize(("to", "rule"), [("={{ $json.body.email }}", False), ("={{ $('Look').item.json.email }}", True)])
def test_whom_a_webhook_of_n8n_names_is_told_of_it(tmp_path: Path, to: str, rule: bool) -> None:
    mail = made("Mail", "gmail", {"sendTo": to, "message": "Thank you", "resource": "message", "operation": "send"})
    look = made("Look", "googleSheets", {"operation": "read"})
    text = drawn(HOOK, look, mail, ways={"Start": [["Mail", "Look"]], "Look": [["Mail"]]} if rule else {"Start": [["Mail"]]})
    assert ("R-32" in told(tmp_path, "x.json", text)) is rule


@pytest.mark.parametrize(("given", "rule"), [({"filename": "x.pdf", "folderId": "/a"}, False), ({"data": "{{1.data}}"}, True)])
def test_a_file_that_is_given_its_name_and_place_is_found_by_them(tmp_path: Path, given: Mapping[str, object], rule: bool) -> None:
    assert ("R-16" in told(tmp_path, "x.json", scenario(INBOX, module(2, "google-drive:uploadAFile", given)))) is rule


def forked(*otherwise: str) -> str:
    """A call that may fail before a message, and where the other way out of a condition leads."""
    call = made("Call", "httpRequest", {"url": "https://shop.example/calls", "method": "POST"}, onError="continueRegularOutput")
    ways = {"Start": [["If"]], "If": [["Call"], [*otherwise]], "Call": [["Say"]]}
    say = made("Say", "slack", {"channel": "C1", "text": "Two orders are left"})
    return drawn(CLOCK, made("If", "if"), call, say, ways=ways)


@pytest.mark.parametrize(("otherwise", "rule"), [(["Say"], False), ([], True)])
def test_a_message_that_comes_without_the_call_is_not_about_it(tmp_path: Path, otherwise: list[str], rule: bool) -> None:
    found = told(tmp_path, "x.json", forked(*otherwise))
    assert ("R-07" in found) is rule
    assert ("R-13" in found) is rule


def noted(*otherwise: str) -> str:
    """A message on one way out of a condition, and a row behind it."""
    ways = {"Start": [["If"]], "If": [["Say"], [*otherwise]], "Say": [["Row"]]}
    row = made("Row", "googleSheets", {"operation": "append"})
    return drawn(CLOCK, made("If", "if"), made("Say", "slack", {"channel": "C1", "text": "No price"}), row, ways=ways)


@pytest.mark.parametrize(("otherwise", "rule"), [(["Row"], False), ([], True)])
def test_a_message_on_one_of_two_ways_tells_of_the_condition(tmp_path: Path, otherwise: list[str], rule: bool) -> None:
    assert ("R-06" in told(tmp_path, "x.json", noted(*otherwise))) is rule


@pytest.mark.parametrize(("first", "rule"), [(["Row", "Mail"], False), (["Mail", "Row"], True)])
def test_what_comes_round_by_the_loop_is_about_the_next_item(tmp_path: Path, first: list[str], rule: bool) -> None:
    mail = made("Mail", "gmail", {"sendTo": "={{ $json.email }}", "resource": "message", "operation": "send"})
    row = made("Row", "googleSheets", {"operation": "append"})
    ways = {"Start": [["Each"]], "Each": [[], [first[0]]], first[0]: [[first[1]]], first[1]: [["Each"]]}
    assert ("R-06" in told(tmp_path, "x.json", drawn(CLOCK, made("Each", "splitInBatches"), mail, row, ways=ways))) is rule


@pytest.mark.parametrize(("operation", "rule"), [("create", False), ("update", True)])
def test_an_entry_about_a_customer_that_is_added_is_nobodys_to_approve(tmp_path: Path, operation: str, rule: bool) -> None:
    assert ("R-32" in told(tmp_path, "x.json", node("hubspot", "webhook", resource="company", operation=operation))) is rule


@pytest.mark.parametrize(("resource", "told_of"), [("draft", False), ("message", True)])
def test_a_draft_tells_nobody(tmp_path: Path, resource: str, told_of: bool) -> None:
    given = {"resource": resource, "operation": "create" if resource == "draft" else "send", "sendTo": "={{ $json.body.customer }}"}
    ticket = made("Ticket", "jira", {"operation": "create"})
    assert ("R-06" in told(tmp_path, "x.json", drawn(HOOK, made("Write", "gmail", given), ticket))) is told_of
