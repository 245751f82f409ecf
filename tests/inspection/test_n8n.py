from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from halfway.inspection.formats.n8n import READER
from halfway.inspection.model import (
    Bearing,
    Edge,
    Flow,
    Kind,
    Mark,
    OnError,
    Outcome,
    Receiver,
    Repeating,
    Starting,
    Step,
    When,
)
from halfway.inspection.source import Source, Unreadable
from tests.inspection.node_tools import given, line_of, written

BASE = "n8n-nodes-base."


def node(name: str, type: str, parameters: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type if type.startswith("@") else BASE + type, "parameters": parameters or {}, **more}


def workflow(nodes: list[dict[str, Any]], lines: dict[str, list[list[str]]], **more: Any) -> dict[str, Any]:
    drawn = {
        name: {"main": [[{"node": one, "type": "main", "index": 0} for one in output] for output in outputs]}
        for name, outputs in lines.items()
    }
    return {"id": "w1", "name": "Orders", "nodes": nodes, "connections": drawn, "settings": {}, **more}


def chain(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return workflow(list(nodes), {one["name"]: [[other["name"]]] for one, other in pairwise(nodes)}, **more)


def flow_of(value: object) -> Flow:
    source = written(value)
    (flow,) = READER.flows(source, given(source))
    return flow


def step_of(value: object, name: str) -> Step:
    return {step.name: step for step in flow_of(value).steps}[name]


HOOK = node("Hook", "webhook")


def test_a_workflow_is_known_by_what_it_says_and_nothing_else_is_taken() -> None:
    assert READER.takes(written(chain(HOOK, node("Mail", "gmail"))))
    assert not READER.takes(written({"nodes": [], "connections": {}}))
    assert not READER.takes(written({"nodes": {"a": 1}, "connections": [1]}))
    assert not READER.takes(Source("x.json", '{"nodes": [{"type": "a"}], "connections": {'))


def test_a_text_that_retries_names_its_line_its_bound_and_that_its_own_people_are_told() -> None:
    trigger = node("Form", "typeformTrigger", retryOnFail=True)
    source = written(
        chain(trigger, node("Set", "set"), node("Text", "twilio", {"to": "+15550100200", "message": "=Hi {{ $json.x }}"}, retryOnFail=True))
    )
    (flow,) = READER.flows(source, given(source))
    (step,) = flow.steps
    assert (flow.id, flow.name, flow.enabled, flow.failure_notice, flow.edges) == ("w1", "Orders", True, None, ())
    assert [(one.kind, one.span.line) for one in flow.triggers] == [(Starting.EVENT, line_of(source, '"name": "Form"'))]
    assert (step.id, step.unit, step.span.line, step.span.at) == ("Text", "Text", line_of(source, '"name": "Text"'), "nodes[2]")
    assert step.quote == '"name": "Text", "type": "n8n-nodes-base.twilio"'
    assert step.effect is not None
    assert (step.effect.action, step.effect.receiver) == ("text", Receiver.TEAM)
    assert [(one.kind, one.automatic, one.bound) for one in step.repeaters] == [
        (Repeating.STEP_RETRY, True, 3),
        (Repeating.REDELIVERY, True, None),
        (Repeating.UNIT_RERUN, False, None),
    ]
    assert source.line(step.repeaters[0].span.line).strip() == '"retryOnFail": true'
    assert [fact.quote for fact in step.facts] == ['"retryOnFail": true']


@pytest.mark.parametrize(("tries", "bound"), [(1, 2), (4, 4), (99, 5), ("x", 3), (None, 3)])
def test_the_engine_keeps_the_number_of_tries_within_bounds(tries: object, bound: int) -> None:
    step = step_of(chain(HOOK, node("Text", "twilio", retryOnFail=True, maxTries=tries)), "Text")
    assert step.repeaters[0].bound == bound


@pytest.mark.parametrize(
    ("to", "receiver"),
    [
        ("={{ $json.phone }}", Receiver.CUSTOMER),
        ("={{ $('Hook').item.json.body.phone }}", Receiver.CUSTOMER),
        ('={{ $node["Hook"].json["phone"] }}', Receiver.CUSTOMER),
        ("={{ $json.team }}", Receiver.TEAM),
        ("={{ $env.DUTY_PHONE }}", Receiver.TEAM),
        ("={{ $('Nobody').item.json.phone }}", Receiver.UNKNOWN),
        ({"__rl": True, "mode": "list", "value": "C123"}, Receiver.TEAM),
    ],
)
def test_who_is_told_is_followed_back_to_the_trigger_or_to_what_stands_in_the_file(to: object, receiver: Receiver) -> None:
    fixed = node("Set", "set", {"assignments": {"assignments": [{"name": "team", "value": "+15550100200"}]}})
    step = step_of(chain(HOOK, fixed, node("Text", "twilio", {"to": to})), "Text")
    assert step.effect is not None
    assert step.effect.receiver is receiver


@pytest.mark.parametrize(
    ("value", "bearing"),
    [
        ("={{ $json.order }}", Bearing.STABLE),
        ("={{ $('Hook').item.json.timestamp }}", Bearing.STABLE),
        ("order-1", Bearing.STABLE),
        ("={{ $execution.id }}", Bearing.MINTED),
        ("={{ $now.toMillis() }}", Bearing.MINTED),
        ("={{ $json.made }}", Bearing.MINTED),
        ("={{ $json.far }}", Bearing.UNKNOWN),
        ("={{ $env.KEY }}", Bearing.UNKNOWN),
        ("={{ $('Code').item.json.x }}", Bearing.UNKNOWN),
        ("={{ $('Chance').item.json.x }}", Bearing.MINTED),
    ],
)
def test_a_key_is_as_good_as_where_it_comes_from(value: str, bearing: Bearing) -> None:
    fields = {"made": "={{ crypto.randomUUID() }}", "order": "={{ $('Hook').item.json.id }}", "far": "={{ $('Code').item.json.y }}"}
    setting = node("Set", "set", {"values": {"string": [{"name": name, "value": text} for name, text in fields.items()]}})
    headers = {"parameters": [{"name": "Idempotency-Key", "value": value}]}
    charge = node("Charge", "httpRequest", {"method": "POST", "url": "https://pay.example/charge", "headerParameters": headers})
    code = node("Code", "code", {"jsCode": "return items"})
    chance = node("Chance", "code", {"jsCode": "return {x: Math.random()}"})
    step = step_of(chain(HOOK, code, chance, setting, charge), "Charge")
    assert step.identity is not None
    assert (step.identity.bearing, step.identity.expression) == (bearing, value)


def test_a_request_without_a_key_has_no_identity_and_waits_as_long_as_the_engine() -> None:
    charge = node("Charge", "httpRequest", {"method": "POST", "url": "https://pay.example/charge"})
    waits = node("Wait less", "httpRequest", {"method": "POST", "url": "=https://pay.example/{{ $json.id }}", "options": {"timeout": 5000}})
    steps = flow_of(chain(HOOK, charge, waits)).steps
    assert [(step.effect.kinds, step.timeout, step.timeout_known) for step in steps if step.effect] == [
        ({Kind.MONEY}, 300, True),
        ({Kind.MONEY}, 5, True),
    ]
    assert [step.identity.bearing for step in steps if step.identity] == [Bearing.NONE, Bearing.NONE]


def test_a_way_of_failures_is_an_edge_of_its_own_and_what_lies_on_it_is_marked() -> None:
    flow = flow_of(
        workflow(
            [
                HOOK,
                node("Page", "httpRequest", {"method": "POST", "url": "https://pages.example"}, onError="continueErrorOutput"),
                node("Label", "airtable", {"operation": "update", "id": "={{ $json.id }}"}),
                node("Switch off", "airtable", {"operation": "update", "id": "7"}),
                node("Tell", "gmail", {"sendTo": "={{ $('Hook').item.json.from }}"}),
            ],
            {"Hook": [["Page"]], "Page": [["Label"], ["Switch off"]], "Switch off": [["Tell"]]},
        )
    )
    steps = {step.name: step for step in flow.steps}
    assert set(flow.edges) == {
        Edge("Page", "Label"),
        Edge("Page", "Switch off", When.ERROR),
        Edge("Switch off", "Tell"),
    }
    assert steps["Page"].on_error is OnError.ROUTE
    assert {name: step.marks for name, step in steps.items()} == {
        "Page": frozenset(),
        "Label": frozenset(),
        "Switch off": frozenset({Mark.RECOVERY}),
        "Tell": frozenset({Mark.FAILURE_NOTICE}),
    }
    assert steps["Label"].needs_output_of == ("Page",)
    assert steps["Page"].kept == (steps["Label"].span,)
    assert [step.order for step in flow.steps] == [0, 1, 2, 3]


def test_what_goes_on_as_if_nothing_was_is_followed_whatever_happens() -> None:
    goes_on = flow_of(chain(HOOK, node("Chat", "slack", onError="continueRegularOutput"), node("Mail", "gmail")))
    old = flow_of(chain(HOOK, node("Chat", "slack", continueOnFail=True), node("Mail", "gmail")))
    nowhere = flow_of(chain(HOOK, node("Chat", "slack", onError="continueErrorOutput"), node("Mail", "gmail")))
    assert [(flow.steps[0].on_error, flow.edges) for flow in (goes_on, old, nowhere)] == [
        (OnError.CONTINUE, (Edge("Chat", "Mail", When.ALWAYS),)),
        (OnError.CONTINUE, (Edge("Chat", "Mail", When.ALWAYS),)),
        (OnError.SWALLOW, (Edge("Chat", "Mail"),)),
    ]


def test_a_look_with_a_condition_behind_it_is_credited_to_what_it_is_about_only() -> None:
    look = node("Look", "zendesk", {"operation": "search", "resource": "ticket"})
    ask = node("New?", "if", {"conditions": {"conditions": [{"leftValue": "={{ $json.id }}"}]}})
    flow = flow_of(
        workflow(
            [HOOK, look, ask, node("Open", "zendesk", {"resource": "ticket"}), node("Mail", "gmail"), node("Chat", "slack")],
            {"Hook": [["Look"]], "Look": [["New?"]], "New?": [["Open"], ["Chat"]], "Open": [["Mail"]]},
        )
    )
    steps = {step.name: step for step in flow.steps}
    assert {name: (step.guard, step.guard_is_proof) for name, step in steps.items()} == {
        "Look": (None, True),
        "Open": (steps["Look"].span, False),
        "Mail": (None, True),
        "Chat": (None, True),
    }
    assert steps["Open"].condition == "New? [0]: ={{ $json.id }}"
    assert steps["Chat"].condition == "New? [1]: ={{ $json.id }}"


def test_without_the_condition_a_look_guards_nothing() -> None:
    look = node("Look", "zendesk", {"operation": "search", "resource": "ticket"})
    assert step_of(chain(HOOK, look, node("Open", "zendesk", {"resource": "ticket"})), "Open").guard is None


def test_a_cursor_that_is_written_after_many_notes_is_seen_with_the_timetable_that_repeats_them() -> None:
    flow = flow_of(
        chain(
            node("Daily", "cron", {"triggerTimes": {"item": [{"hour": 8}]}}),
            node("Read", "functionItem", {"functionCode": "const s = getWorkflowStaticData('global'); return s.last;"}),
            node("Split", "itemLists", {"fieldToSplitOut": "data"}),
            node("Note", "zendesk", {"resource": "ticket"}),
            node(
                "Remember",
                "functionItem",
                {"functionCode": "const staticData = getWorkflowStaticData('global');\nstaticData.last = 1;"},
                executeOnce=True,
            ),
        )
    )
    note, remember = flow.steps
    assert [(one.kind, one.period) for one in flow.triggers] == [(Starting.SCHEDULE, 86400)]
    assert (note.name, note.marks) == ("Note", {Mark.IN_LOOP})
    assert (remember.name, remember.marks, remember.effect) == ("Remember", {Mark.CURSOR}, None)
    assert [one.kind for one in note.repeaters] == [Repeating.SCHEDULE, Repeating.UNIT_RERUN]


def test_a_circle_over_batches_repeats_what_is_in_it() -> None:
    flow = flow_of(
        workflow(
            [HOOK, node("Batches", "splitInBatches"), node("Mail", "gmail"), node("Done", "slack", {"channel": "#ops"})],
            {"Hook": [["Batches"]], "Batches": [["Done"], ["Mail"]], "Mail": [["Batches"]]},
        )
    )
    steps = {step.name: step for step in flow.steps}
    assert steps["Mail"].repeaters[0].kind is Repeating.LOOP
    assert steps["Mail"].marks == {Mark.IN_LOOP, Mark.SUCCESS_NOTICE}
    assert steps["Done"].marks == {Mark.SUCCESS_NOTICE}
    assert Repeating.LOOP not in {one.kind for one in steps["Done"].repeaters}


def test_code_that_calls_out_and_workflows_that_were_not_given_are_said_to_be_unread() -> None:
    calls = node("Code", "code", {"jsCode": "await this.helpers.httpRequest({method: 'POST'})"})
    sub = node("Sub", "executeWorkflow", {"workflowId": {"__rl": True, "mode": "id", "value": "w9", "cachedResultName": "Refunds"}})
    strange = {"name": "Strange", "type": "n8n-nodes-someone.thing", "parameters": {}}
    script = node("Script", "executeCommand", {"command": "cd /srv && ./bill.sh --all"})
    source = written(chain(HOOK, calls, sub, strange, script))
    (flow,) = READER.flows(source, given(source))
    assert [(step.name, step.opaque and step.opaque.what, step.effect and step.effect.kinds) for step in flow.steps] == [
        ("Code", "Code", {Kind.UNKNOWN}),
        ("Sub", "Refunds", {Kind.UNKNOWN}),
        ("Strange", "n8n-nodes-someone.thing", {Kind.UNKNOWN}),
        ("Script", "./bill.sh", {Kind.UNKNOWN}),
    ]
    other = written(chain(HOOK, node("Mail", "gmail")) | {"id": "w9"}, "refunds.json")
    (again,) = READER.flows(source, given(source, other))
    assert [step.opaque is None for step in again.steps] == [False, True, False, False]


def test_code_that_only_computes_is_a_step_where_it_may_fail_between_two_effects() -> None:
    code = {"jsCode": "return items"}
    flow = flow_of(
        chain(
            HOOK, node("Before", "code", code), node("Mail", "gmail"), node("A", "code", code), node("B", "code", code),
            node("Chat", "slack"), node("After", "code", code),
        )
    )  # fmt: skip
    assert [(step.name, step.effect is None) for step in flow.steps] == [("Mail", False), ("A", True), ("Chat", False)]
    assert flow.edges == (Edge("Mail", "A"), Edge("A", "Chat"))


def test_a_known_command_is_read_as_one() -> None:
    step = step_of(chain(HOOK, node("Issue", "executeCommand", {"command": "set -e\ngh issue create -t 'x y'"})), "Issue")
    assert step.effect is not None
    assert (step.effect.action, step.opaque) == ("page", None)


def agent(tool: dict[str, Any], kind: str = "ai_tool") -> dict[str, Any]:
    value = chain(HOOK, node("Agent", "@n8n/n8n-nodes-langchain.agent"))
    value["nodes"].append(tool)
    value["connections"][tool["name"]] = {kind: [[{"node": "Agent", "type": kind, "index": 0}]]}
    return value


def test_a_model_with_a_tool_that_writes_is_an_agent_and_one_that_computes_is_not() -> None:
    writes = flow_of(agent(node("Send", "gmailTool", {"sendTo": "x"})))
    counts = flow_of(agent(node("Count", "@n8n/n8n-nodes-langchain.toolCalculator")))
    assert [(step.name, step.effect and step.effect.kinds, step.marks) for step in writes.steps] == [
        ("Agent", {Kind.AGENT}, {Mark.AGENT_LOOP}),
    ]
    assert writes.steps[0].extra["tools"] == "Send"
    assert [(step.name, step.effect and step.effect.kinds, step.marks) for step in counts.steps] == [("Agent", {Kind.READ}, frozenset())]


def test_a_person_who_must_answer_is_a_gate_and_silence_counts_where_a_limit_is_set() -> None:
    asks = node(
        "Ask",
        "gmail",
        {"operation": "sendAndWait", "sendTo": "boss@team.example", "options": {"limitWaitTime": {"values": {"resumeAmount": 2}}}},
    )
    patient = node("Ask", "gmail", {"operation": "sendAndWait", "sendTo": "boss@team.example"})
    hasty, calm = (step_of(chain(HOOK, one, node("Page", "zendesk")), "Page").gate for one in (asks, patient))
    assert hasty is not None
    assert calm is not None
    assert [(gate.kind, gate.timeout_answers) for gate in (hasty, calm)] == [("approval", True), ("approval", False)]
    assert step_of(chain(HOOK, node("Page", "zendesk"), patient), "Page").gate is None
    nodes = [HOOK, node("Page", "zendesk"), patient, node("Tell", "zendesk")]
    circle = workflow(nodes, {HOOK["name"]: [["Page"]], "Page": [["Ask"]], "Ask": [["Tell", "Page"]]})
    assert [step_of(circle, name).gate is None for name in ("Page", "Tell")] == [True, False]  # the first round has asked nobody


def test_records_of_earlier_runs_that_are_sorted_out_are_a_claim_and_a_look() -> None:
    sorts = node("New only", "removeDuplicates", {"operation": "removeItemsSeenInPreviousExecutions", "dedupeValue": "={{ $json.id }}"})
    flow = flow_of(chain(HOOK, sorts, node("Mail", "gmail")))
    claim, mail = flow.steps
    assert (claim.name, claim.marks, claim.effect) == ("New only", {Mark.CLAIM}, None)
    assert (mail.guard, mail.guard_is_proof) == (claim.span, True)


def test_nodes_that_are_off_or_that_nothing_reaches_are_no_steps() -> None:
    off = chain(HOOK, node("Chat", "slack", disabled=True), node("Mail", "gmail", {"sendTo": "={{ $json.to }}"}))
    off["nodes"].append(node("Alone", "zendesk"))
    flow = flow_of(off)
    assert [step.name for step in flow.steps] == ["Mail"]
    assert flow.steps[0].effect is not None
    assert flow.steps[0].effect.receiver is Receiver.CUSTOMER


def test_settings_say_who_is_told_what_is_kept_and_whether_it_runs() -> None:
    settings = {"errorWorkflow": "w7", "saveDataErrorExecution": "none", "saveExecutionProgress": False}
    source = written(chain(HOOK, node("Mail", "gmail"), settings=settings, active=False, versionId="v3"))
    (flow,) = READER.flows(source, given(source))
    assert (flow.enabled, flow.version) == (False, "v3")
    assert flow.failure_notice is not None
    assert flow.evidence_off is not None
    assert source.line(flow.failure_notice.line).strip() == '"errorWorkflow": "w7",'
    assert source.line(flow.evidence_off.line).strip() == '"saveDataErrorExecution": "none",'
    assert flow.extra == {"saveExecutionProgress": "false", "saveDataErrorExecution": "none"}


def test_an_error_trigger_in_the_workflow_tells_of_its_failures() -> None:
    value = chain(HOOK, node("Page", "zendesk"))
    value["nodes"] += [node("Failed", "errorTrigger"), node("Alert", "slack", {"channel": "#ops"})]
    value["connections"]["Failed"] = {"main": [[{"node": "Alert", "type": "main", "index": 0}]]}
    flow = flow_of(value)
    assert flow.failure_notice is not None
    assert flow.failure_notice.at == "nodes[2]"
    assert [one.kind for one in flow.triggers] == [Starting.EVENT]
    assert {step.name: step.marks for step in flow.steps} == {"Page": frozenset(), "Alert": {Mark.FAILURE_NOTICE}}


def test_a_secret_is_told_by_its_place_and_never_by_its_value() -> None:
    headers = {
        "parameters": [
            {"name": "Authorization", "value": "Bearer abcdef0123456789"},
            {"name": "Authorization", "value": "=Bearer {{ $json.its }}"},
        ]
    }
    source = written(chain(HOOK, node("Call", "httpRequest", {"url": "https://pages.example", "headerParameters": headers})))
    (flow,) = READER.flows(source, given(source))
    assert [(source.line(one.span.line).strip(), one.quote) for one in flow.secrets] == [
        ('"value": "Bearer abcdef0123456789"', '"Authorization": "Bearer […]"'),
    ]
    assert "abcdef0123456789" not in str(flow)


def test_a_file_in_one_line_is_quoted_by_its_parts() -> None:
    source = written(chain(HOOK, node("Text", "twilio", {"to": "+15550100200"}, retryOnFail=True)), indent=None)
    (flow,) = READER.flows(source, given(source))
    assert (flow.steps[0].span.line, flow.steps[0].quote) == (1, '"name": "Text", "type": "n8n-nodes-base.twilio"')


@pytest.mark.parametrize("name", ["A", "Other"])
def test_ids_are_stable_when_lines_move(name: str) -> None:
    value = chain(HOOK, node("Text", "twilio"), name=name)
    moved = {"zzz": ["more"] * 5, **value}
    assert [step.id for step in flow_of(value).steps] == [step.id for step in flow_of(moved).steps] == ["Text"]


@pytest.mark.parametrize(
    "value",
    [
        {"nodes": [{"type": "a"}, 5, None, {"type": 7}], "connections": {"x": 5, "y": {"main": [5, [5], None]}}},
        {"nodes": [{"type": BASE + "webhook", "name": ["x"], "parameters": []}], "connections": {"": None}, "settings": []},
        {
            "nodes": [node("A", "httpRequest", {"method": [], "url": {}}, maxTries=1e999, retryOnFail=True)],
            "connections": {"A": {"main": [[{"node": "A"}]]}},
        },
        {"nodes": [{"type": BASE + "executeCommand", "name": "A", "parameters": {"command": "a 'b"}}], "connections": {}},
        {"nodes": [{"type": BASE + "gmail", "name": "A", "parameters": {"sendTo": "={{ $(" * 3000}}], "connections": {}},
    ],
)  # fmt: skip
def test_whatever_a_workflow_says_it_is_read_without_an_accident(value: object) -> None:
    source = Source("x.json", json.dumps(value).replace("Infinity", "1e999"))
    assert READER.takes(source)
    (flow,) = READER.flows(source, given(source))
    assert list(READER.runs(source, given(source))) == []
    assert len(flow.steps) <= 2


def test_a_workflow_that_nobody_drew_is_refused() -> None:
    source = written(chain(*(node(f"N{number}", "noOp") for number in range(1001))), indent=None)
    with pytest.raises(Unreadable, match="more than 500 nodes"):
        list(READER.flows(source, given(source)))


# ── runs ──

OK = {"executionStatus": "success", "executionIndex": 1, "data": {"main": [[{"json": {"id": "ch_1"}}]]}}


def failed(**error: object) -> dict[str, object]:
    return {"executionStatus": "error", "executionIndex": 2, "error": error}


def execution(run_data: dict[str, object], status: str = "error", **more: object) -> dict[str, Any]:
    definition = chain(HOOK, node("Charge", "httpRequest"), node("Mail", "gmail"), node("Chat", "slack"), versionId="v2")
    return {
        "id": 12,
        "workflowId": "w1",
        "status": status,
        "workflowData": definition,
        "data": {"resultData": {"runData": run_data}},
        **more,
    }


def test_a_run_tells_what_landed_what_was_refused_and_what_never_began() -> None:
    source = written(execution({"Charge": [OK], "Mail": [failed(message="timeout of 300000ms exceeded")]}, retryOf="11"))
    assert READER.takes(source)
    assert list(READER.flows(source, given(source))) == []
    (log,) = READER.runs(source, given(source))
    assert (log.id, log.name, log.format, log.attempt, log.version) == ("12", "Orders", "n8n", 2, "v2")
    assert [(ran.step, ran.outcome, ran.external_id) for ran in log.steps] == [
        ("Charge", Outcome.LANDED, "ch_1"),
        ("Mail", Outcome.UNKNOWN, ""),
        ("Hook", Outcome.NOT_EXECUTED, ""),
        ("Chat", Outcome.NOT_EXECUTED, ""),
    ]
    assert log.steps[1].fact.quote == '"message": "timeout of 300000ms exceeded"'
    assert source.line(log.steps[1].fact.span.line).strip() == '"error": {'


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"message": "Bad request", "httpCode": "422"}, Outcome.NOT_EXECUTED),
        ({"message": "Request failed with status code 403"}, Outcome.NOT_EXECUTED),
        ({"message": "getaddrinfo ENOTFOUND pay.example"}, Outcome.NOT_EXECUTED),
        ({"message": "connect ECONNREFUSED 10.0.0.1:443"}, Outcome.NOT_EXECUTED),
        ({"message": "Service unavailable", "httpCode": "503"}, Outcome.UNKNOWN),
        ({"message": "Conflict", "httpCode": "409"}, Outcome.UNKNOWN),
        ({"message": "Too many", "httpCode": 429}, Outcome.UNKNOWN),
        ({"message": "read ECONNRESET"}, Outcome.UNKNOWN),
        ({}, Outcome.UNKNOWN),
    ],
)
def test_only_a_refusal_or_a_request_that_was_not_sent_counts_as_not_executed(error: dict[str, object], outcome: Outcome) -> None:
    source = written(execution({"Charge": [failed(**error)]}))
    (log,) = READER.runs(source, given(source))
    assert log.steps[0].outcome is outcome


def test_a_record_that_carries_an_error_did_not_land_because_the_node_went_on() -> None:
    goes_on = {"executionStatus": "success", "data": {"main": [[{"json": {"error": "read ECONNRESET"}}]]}}
    (log,) = READER.runs(written(execution({"Charge": [OK, goes_on]}, "success")), given())
    assert (log.steps[0].step, log.steps[0].outcome) == ("Charge", Outcome.UNKNOWN)


def test_what_was_due_when_a_run_crashed_may_have_begun() -> None:
    (log,) = READER.runs(written(execution({"Hook": [OK], "Charge": [OK]}, "crashed")), given())
    assert [(ran.step, ran.outcome) for ran in log.steps] == [
        ("Hook", Outcome.LANDED),
        ("Charge", Outcome.LANDED),
        ("Mail", Outcome.UNKNOWN),
        ("Chat", Outcome.NOT_EXECUTED),
    ]


def test_a_run_of_which_nothing_was_kept_has_no_log() -> None:
    (log,) = READER.runs(written(execution({}, "crashed")), given())
    assert {ran.outcome for ran in log.steps} == {Outcome.NO_LOG}


def test_the_form_of_the_database_is_read_as_well() -> None:
    flat = [
        {"resultData": "1"},
        {"runData": "2", "lastNodeExecuted": "6"},
        {"Charge": "3"},
        ["4"],
        {"executionStatus": "5", "executionIndex": 0},
        "success",
        "Mail",
    ]
    value = execution({}) | {"data": json.dumps(flat)}
    source = written({"data": [value]})
    (log,) = READER.runs(source, given(source))
    assert [(ran.step, ran.outcome) for ran in log.steps][:2] == [("Charge", Outcome.LANDED), ("Mail", Outcome.UNKNOWN)]
    assert log.steps[0].fact.span.line == next(number for number, line in enumerate(source.lines, 1) if '"data": "[' in line)


@pytest.mark.parametrize("flat", [[{"a": "0"}], ["9"], [{"resultData": "²"}], [10**400], [[["1"]]], []])
def test_a_form_of_the_database_that_goes_round_or_nowhere_ends(flat: list[object]) -> None:
    (log,) = READER.runs(written(execution({}) | {"data": json.dumps(flat)}), given())
    assert {ran.outcome for ran in log.steps} == {Outcome.NO_LOG}


def test_data_that_is_no_json_is_refused_with_its_line() -> None:
    source = written(execution({}) | {"data": "[{"})
    with pytest.raises(Unreadable, match=r"line \d+: the data of the execution is no JSON"):
        list(READER.runs(source, given(source)))


@pytest.mark.parametrize(
    ("type", "version", "parameters", "told"),
    [
        ("twilio", 1, {}, "sms:send"),
        ("gmail", 2.1, {}, "message:send"),
        ("gmail", 1, {}, "draft:create"),
        ("pipedrive", 1, {"resource": "note"}, "note:create"),
        ("zendesk", 1, {"operation": "update"}, "ticket:update"),
        ("unheard", 1, {"operation": "do"}, "do"),
    ],
)
def test_what_an_export_leaves_out_is_what_that_version_does_by_default(
    type: str, version: float, parameters: dict[str, Any], told: str
) -> None:
    step = step_of(chain(HOOK, node("Node", type, parameters, typeVersion=version)), "Node")
    assert step.extra["told"] == f"{type} {told}"


def test_a_secret_beside_a_very_long_text_is_found() -> None:
    flow = flow_of(chain(HOOK, node("Mail", "gmail", {"message": "a" * 300_000, "token": "abcdef0123456789"})))
    assert [one.quote for one in flow.secrets] == ['"token": "[…]"']


def test_in_a_circle_the_items_are_those_that_came_in_and_not_what_went_round() -> None:
    pages = node("Pages", "airtable")
    batches, again = node("Batches", "splitInBatches"), node("Each", "noOp")
    load = node("Load", "httpRequest", {"url": "={{ $('Each').item.json.url }}"})
    write, done = (
        node("Write", "notion", {"text": "={{ $json.url }}"}),
        node("Done", "slack", {"channel": "#ops", "text": "={{ $json.id }}"}),
    )
    drawn = workflow(
        [HOOK, pages, batches, again, load, write, done],
        {"Hook": [["Pages"]], "Pages": [["Batches"]], "Batches": [["Done"], ["Each"]], "Each": [["Load"]], "Load": [["Write"]],
         "Write": [["Batches"]]},
    )  # fmt: skip
    assert step_of(drawn, "Load").needs_output_of == ("Pages",)
    assert step_of(drawn, "Write").needs_output_of == ("Load",)
    assert "Write" in step_of(drawn, "Done").needs_output_of


@pytest.mark.parametrize(("start", "again"), [("formTrigger", []), ("chatTrigger", []), ("webhook", [Repeating.REDELIVERY])])
def test_what_a_person_sends_by_a_browser_is_not_delivered_again(start: str, again: list[Repeating]) -> None:
    step = step_of(chain(node("Start", start), node("Mail", "gmail")), "Mail")
    assert [one.kind for one in step.repeaters if one.automatic] == again
