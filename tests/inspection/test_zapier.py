from __future__ import annotations

from typing import Any

import pytest

from halfway.inspection.formats.zapier import AUTOREPLAY, READER
from halfway.inspection.model import Bearing, Edge, Flow, Kind, Mark, Receiver, Repeating, Starting
from halfway.inspection.source import Source, Unreadable
from tests.inspection.node_tools import given, line_of, written


def node(id: int, parent: int | None, api: str, action: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    kind = more.pop("type_of", "read" if parent is None else "write")
    return {
        "id": id,
        "type_of": kind,
        "params": params or {},
        "parent_id": parent,
        "action": action,
        "selected_api": f"{api}@1.2.3",
        "meta": {},
        **more,
    }


def export(*nodes: dict[str, Any], status: str = "on") -> dict[str, Any]:
    zap = {"id": 1, "title": "Concerns", "status": status, "nodes": {str(one["id"]): one for one in nodes}}
    return {"metadata": {"version": "gdpr_v1"}, "zaps": [zap]}


def flow_of(*nodes: dict[str, Any]) -> Flow:
    source = written(export(*nodes))
    (flow,) = READER.flows(source, given(source))
    return flow


ROW = node(1, None, "GoogleSheetsV2CLIAPI", "updated_row_notify_hook")
MAIL = node(
    2, 1, "GoogleMailV2CLIAPI", "message", {"to": ['{{=gives["1"]["COL$K"]}}'], "subject": "Your concern has a ticket", "body": "Dear …"}
)
FILTER = node(
    3,
    2,
    "FilterAPI",
    "filter",
    {"filter_criteria": [{"key": '{{=gives["1"]["COL$A"]}}', "match": "iexact", "value": "true"}]},
    type_of="filter",
)
TYPE = node(4, 3, "ZapierFormatterCLIAPI", "util_line_item", {"inputs": '{{=gives["1"]["COL$D"]}}'})
ISSUE = node(5, 4, "JiraSoftwareCloudCLIAPI", "create_issue", {"issuetype": "{{=gives['4'][\"output\"]}}", "summary": "{{1__COL$E}}"})
UPDATE = node(6, 5, "GoogleSheetsV2CLIAPI", "update_row", {"row": "{{1__row}}", "COL$M": '{{=gives["5"]["key"]}}'})


def test_an_export_is_known_by_its_zaps_and_holds_no_runs() -> None:
    source = written(export(ROW, MAIL))
    assert READER.takes(source)
    assert list(READER.runs(source, given(source))) == []
    assert not READER.takes(written({"zaps": [{"nodes": {}}]}))
    assert not READER.takes(written({"zaps": [{"nodes": {"1": {"type": "x"}}}]}))
    assert not READER.takes(Source("x.json", '{"zaps": [{"nodes"'))


def test_a_customer_is_told_of_a_ticket_before_the_filter_and_before_the_ticket() -> None:
    # The nodes stand in the file in another order than they run.
    source = written(export(UPDATE, ISSUE, ROW, FILTER, TYPE, MAIL))
    (flow,) = READER.flows(source, given(source))
    mail, stops, issue, update = flow.steps
    assert [step.id for step in flow.steps] == ["2", "3", "5", "6"]
    assert flow.edges == (Edge("2", "3"), Edge("3", "5"), Edge("5", "6"))
    assert mail.effect is not None
    assert (mail.effect.action, mail.effect.receiver, mail.marks) == ("mail", Receiver.CUSTOMER, {Mark.SUCCESS_NOTICE})
    assert (mail.quote, mail.span.at) == ('"selected_api": "GoogleMailV2CLIAPI@1.2.3", "action": "message"', "zaps[0].nodes['2']")
    assert mail.span.line == line_of(source, "GoogleMailV2CLIAPI")
    assert [fact.quote for fact in mail.facts] == ['"parent_id": 1', '"subject": "Your concern has a ticket"']
    assert (stops.effect, stops.fallible) == (None, True)
    assert issue.condition == '{{=gives["1"]["COL$A"]}} iexact true'
    assert mail.condition == ""
    assert (issue.identity is not None, update.identity is not None) == (True, True)
    assert [step.identity.bearing for step in (issue, update) if step.identity] == [Bearing.NONE, Bearing.NATURAL]
    assert issue.kept == (update.span,)
    assert (issue.needs_output_of, update.needs_output_of) == ((), ("5",))


def test_what_the_export_does_not_say_of_replays_is_left_open_and_asked_for() -> None:
    flow = flow_of(ROW, MAIL)
    assert [(one.kind, one.automatic) for one in flow.steps[0].repeaters] == [(Repeating.REDELIVERY, True), (Repeating.REPLAY, False)]
    assert [one.what for one in flow.unread] == [AUTOREPLAY]
    assert flow.notice_expected is False
    assert flow_of(ROW, TYPE | {"parent_id": 1}).unread == ()


@pytest.mark.parametrize(
    ("to", "receiver"),
    [
        ("{{1__COL$K}}", Receiver.CUSTOMER),
        ("{{4__output}}", Receiver.CUSTOMER),
        ("help@team.example", Receiver.TEAM),
        ("{{7__address}}", Receiver.UNKNOWN),
        ("", Receiver.UNKNOWN),
    ],
)
def test_who_is_told_is_followed_through_what_only_reshapes(to: str, receiver: Receiver) -> None:
    code = node(7, 4, "CodeCLIAPI", "run", {"code": "return {address: 1}"})
    flow = flow_of(ROW, TYPE | {"parent_id": 1}, code, node(8, 7, "GoogleMailV2CLIAPI", "message", {"to": to}))
    (mail,) = flow.steps
    assert mail.effect is not None
    assert mail.effect.receiver is receiver


@pytest.mark.parametrize(
    ("key", "bearing"),
    [
        ("{{1__id}}", Bearing.STABLE),
        ("{{zap_meta_utc_iso}}", Bearing.MINTED),
        ("{{1__timestamp}}", Bearing.STABLE),
        ("{{9__x}}", Bearing.UNKNOWN),
    ],
)
def test_a_key_in_a_hook_is_as_good_as_where_it_comes_from(key: str, bearing: Bearing) -> None:
    params = {"url": "https://pay.example/charge", "headers": {"Idempotency-Key": key}}
    (step,) = flow_of(ROW, node(2, 1, "WebHookCLIAPI", "post", params)).steps
    assert step.effect is not None
    assert step.identity is not None
    assert (step.effect.kinds, step.identity.bearing) == ({Kind.MONEY}, bearing)


def test_paths_are_branches_with_conditions_of_their_own() -> None:
    criteria = [[{"key": "{{1__kind}}", "match": "exact", "value": kind}] for kind in ("a", "b")]
    flow = flow_of(
        ROW,
        node(2, 1, "BranchingAPI", "branch"),
        node(3, 2, "BranchingAPI", "filter", {"filter_criteria": criteria[0]}, type_of="filter"),
        node(4, 2, "BranchingAPI", "filter", {"filter_criteria": criteria[1]}, type_of="filter"),
        node(5, 3, "GoogleMailV2CLIAPI", "message"),
        node(6, 4, "SlackCLIAPI", "channel_message", {"channel": "C1"}),
        node(7, 5, "JiraSoftwareCloudCLIAPI", "create_issue"),
    )
    assert {step.id: step.condition for step in flow.steps} == {
        "5": "{{1__kind}} exact a",
        "6": "{{1__kind}} exact b",
        "7": "{{1__kind}} exact a",
    }
    assert flow.edges == (Edge("5", "7"),)


def test_a_search_guards_only_with_a_filter_that_asks_for_its_result() -> None:
    look = node(2, 1, "JiraSoftwareCloudCLIAPI", "find_issue", type_of="search")
    asks = node(
        3, 2, "FilterAPI", "filter", {"filter_criteria": [{"key": "{{2__found}}", "match": "exact", "value": "false"}]}, type_of="filter"
    )
    guarded = flow_of(ROW, look, asks, ISSUE | {"parent_id": 3}).steps[-1]
    bare = flow_of(ROW, look, ISSUE | {"parent_id": 2}).steps[-1]
    assert guarded.guard is not None
    assert (guarded.guard.at, guarded.guard_is_proof) == ("zaps[0].nodes['2']", False)
    assert (bare.guard, bare.guard_is_proof) == (None, True)


def test_code_sub_zaps_and_agents_are_unread_where_they_reach_out() -> None:
    flow = flow_of(
        ROW,
        node(2, 1, "CodeCLIAPI", "run", {"code": "await fetch(url, {method: 'POST'})"}, title="Push"),
        node(3, 2, "SubZapCLIAPI", "call_subzap", meta={"stepTitle": "Refund"}),
        node(4, 3, "AgentsCLIAPI", "run_agent"),
        node(5, 4, "OpenAiCLIAPI", "send_prompt"),
        node(6, 5, "StrangeCLIAPI", "do_it"),
        node(7, 6, "StrangeCLIAPI", "find_it", type_of="search"),
    )
    assert [(step.name, step.opaque and step.opaque.what, step.effect and step.effect.kinds) for step in flow.steps] == [
        ("Push", "Push", {Kind.UNKNOWN}),
        ("Refund", "Refund", {Kind.UNKNOWN}),
        ("AgentsCLIAPI run_agent", "AgentsCLIAPI run_agent", {Kind.AGENT}),
        ("OpenAiCLIAPI send_prompt", None, {Kind.READ}),
        ("StrangeCLIAPI do_it", None, {Kind.UNKNOWN}),
        ("StrangeCLIAPI find_it", None, {Kind.READ}),
    ]


def test_a_loop_a_timetable_and_a_person_repeat_and_a_poll_does_not() -> None:
    mail = MAIL | {"parent_id": 9}
    loop = node(9, 1, "LoopingCLIAPI", "create_loop")
    daily = flow_of(node(1, None, "ScheduleCLIAPI", "everyDay"), loop, mail)
    poll = flow_of(node(1, None, "GoogleMailV2CLIAPI", "new_message"), MAIL)
    assert [(one.kind, one.period) for one in daily.triggers] == [(Starting.SCHEDULE, 86400)]
    assert [one.kind for one in daily.steps[0].repeaters] == [Repeating.LOOP, Repeating.SCHEDULE, Repeating.REPLAY]
    assert Mark.IN_LOOP in daily.steps[0].marks
    assert [one.kind for one in poll.triggers] == [Starting.POLL]
    assert [one.kind for one in poll.steps[0].repeaters] == [Repeating.REPLAY]


@pytest.mark.parametrize(("status", "enabled"), [("on", True), ("off", False), ("draft", False)])
def test_only_a_zap_that_is_on_runs(status: str, enabled: bool) -> None:
    source = written(export(ROW, MAIL, status=status))
    (flow,) = READER.flows(source, given(source))
    assert flow.enabled is enabled


def test_code_between_two_effects_may_fail_and_of_several_in_a_row_the_first_stands_for_all() -> None:
    code = {"code": "return 1"}
    flow = flow_of(
        ROW,
        MAIL,
        node(3, 2, "CodeCLIAPI", "run", code),
        node(4, 3, "CodeCLIAPI", "run", code),
        ISSUE,
        node(7, 5, "CodeCLIAPI", "run", code),
    )
    assert [(step.id, step.effect is None) for step in flow.steps] == [("2", False), ("3", True), ("5", False)]


def test_secrets_are_told_by_their_place_in_a_file_of_one_line_too() -> None:
    hook = node(2, 1, "WebHookCLIAPI", "post", {"url": "https://pages.example", "headers": {"Authorization": "Bearer abcdef0123456789"}})
    source = written(export(ROW, hook), indent=None)
    (flow,) = READER.flows(source, given(source))
    assert [(one.span.at, one.quote) for one in flow.secrets] == [
        ("zaps[0].nodes['2'].params.headers.Authorization", '"Authorization": "Bearer […]"')
    ]
    assert "abcdef0123456789" not in str(flow)


@pytest.mark.parametrize(
    "nodes",
    [
        {"1": {"selected_api": "A@1", "id": 1, "parent_id": 1}},
        {"1": {"selected_api": "A@1", "id": 1, "parent_id": 2}, "2": {"selected_api": 5, "id": 2, "parent_id": 1, "params": None}},
        {"1": 5, "2": {"selected_api": None, "params": [1], "meta": 3}},
        {
            "1": {"selected_api": "FilterAPI", "params": {"filter_criteria": {"a": []}}},
            "2": {"selected_api": "CodeCLIAPI", "params": {"code": 5}},
        },
    ],
)
def test_whatever_a_zap_says_it_is_read_without_an_accident(nodes: object) -> None:
    source = written({"zaps": [{"nodes": nodes}]})
    assert READER.takes(source)
    (flow,) = READER.flows(source, given(source))
    assert len(flow.steps) <= 2


def test_a_zap_that_nobody_drew_is_refused() -> None:
    source = written(export(*(node(number, number - 1 or None, "FilterAPI", "filter") for number in range(1, 1003))), indent=None)
    with pytest.raises(Unreadable, match="more than 500 nodes"):
        list(READER.flows(source, given(source)))


def test_an_address_in_the_name_of_an_api_is_hidden() -> None:
    act = node(2, 1, "jane.doe@shop.example Jira", "create_issue")
    [step] = flow_of(ROW, act).steps
    assert step.effect is not None
    assert "jane" not in step.effect.told
