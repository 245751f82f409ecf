from __future__ import annotations

from typing import Any

import pytest

from halfway.inspection.formats.make import READER
from halfway.inspection.model import Bearing, Edge, Flow, Kind, Mark, OnError, Outcome, Receiver, Repeating, Starting, When
from halfway.inspection.source import Source, Unreadable
from tests.inspection.node_tools import given, line_of, written


def module(id: int, name: str, mapper: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": id, "module": name, "version": 1, "mapper": mapper or {}, **more}


def blueprint(*flow: dict[str, Any], scenario: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": "Leads", "flow": list(flow), "metadata": {"version": 1, "scenario": scenario or {}}, **more}


def flow_of(*flow: dict[str, Any], scenario: dict[str, Any] | None = None, **more: Any) -> Flow:
    source = written(blueprint(*flow, scenario=scenario, **more))
    (found,) = READER.flows(source, given(source))
    return found


def post(id: int, **more: Any) -> dict[str, Any]:
    return module(id, "http:MakeRequest", {"url": "https://pay.example/charge", "method": "post"}, **more)


def asks(a: str, b: str = "", name: str = "") -> dict[str, Any]:
    return {"name": name, "conditions": [[{"a": a, "o": "text:equal", "b": b}]]}


HOOK = module(1, "gateway:CustomWebHook")
MAIL = module(8, "google-email:ActionSendEmail", {"to": ["{{1.email}}"], "subject": "Done"})
BREAK_FOR_EVER = {"module": "builtin:Break", "mapper": {"count": "inf"}}
CHAT = module(9, "slack:CreateMessage", {"channel": "C1"})


def test_a_blueprint_is_known_by_its_modules_also_as_the_api_gives_it() -> None:
    for value in (blueprint(HOOK, MAIL), {"blueprint": blueprint(HOOK, MAIL)}, {"response": {"blueprint": blueprint(HOOK, MAIL)}}):
        source = written(value)
        assert READER.takes(source)
        (flow,) = READER.flows(source, given(source))
        assert [step.id for step in flow.steps] == ["8"]
    for other in ({"flow": [{"module": "x"}]}, {"flow": {"module": "a:b"}}, {"flow": []}):
        assert not READER.takes(written(other))
    assert not READER.takes(Source("x.json", '{"flow": [{"module": "a:b"'))


def test_a_search_for_what_comes_in_is_no_look_for_what_is_made() -> None:
    search = module(2, "google-drive:searchForFilesFolders", {"query": ".pdf"})
    made = {**post(3), "filter": asks("{{2.id}}", "", "Found")}
    source = written(blueprint(HOOK, search, made))
    (flow,) = READER.flows(source, given(source))
    assert flow.steps[-1].guard is None


def test_a_claim_before_a_request_is_seen_with_the_look_that_guards_it() -> None:
    source = written(
        blueprint(
            HOOK,
            module(2, "datastore:ExistRecord", {"key": "{{1.id}}"}),
            module(3, "datastore:AddRecord", {"key": "{{1.id}}", "overwrite": False}, filter=asks("{{2.exist}}", "false", "New")),
            post(4),
            scenario={"autoCommit": True, "maxErrors": 3},
        )
    )
    (flow,) = READER.flows(source, given(source))
    look, claim, request = flow.steps
    assert flow.edges == (Edge("2", "3"), Edge("3", "4"))
    assert [(one.kind, one.span.line) for one in flow.triggers] == [(Starting.EVENT, line_of(source, "gateway:CustomWebHook"))]
    assert (claim.span.line, claim.span.at) == (line_of(source, "datastore:AddRecord"), "flow[2]")
    assert claim.quote == '"id": 3, "module": "datastore:AddRecord", "key": "{{1.id}}"'
    assert claim.marks == {Mark.CLAIM}
    assert claim.identity is not None
    assert (claim.identity.bearing, claim.identity.expression) == (Bearing.NATURAL, "{{1.id}}")
    assert request.identity is not None
    assert request.identity.bearing is Bearing.NONE
    assert (look.guard, claim.guard, request.guard) == (None, look.span, look.span)
    assert (claim.guard_is_proof, request.condition) == (False, "New: {{2.exist}} text:equal false")
    assert (request.on_error, request.timeout_known) == (OnError.STOP, False)
    assert flow.extra == {"maxErrors": "3", "autoCommit": "true"}
    assert [one.kind for one in request.repeaters] == [Repeating.REDELIVERY, Repeating.REPLAY]


@pytest.mark.parametrize(
    ("name", "way", "edges"),
    [
        ("Ignore", OnError.SWALLOW, (Edge("2", "8"),)),
        ("Commit", OnError.SWALLOW, (Edge("2", "8"),)),
        ("Resume", OnError.CONTINUE, (Edge("2", "8", When.ALWAYS),)),
        ("Rollback", OnError.STOP, (Edge("2", "8"),)),
        ("Break", OnError.STOP, (Edge("2", "8"),)),
    ],
)
def test_each_handler_means_what_make_does(name: str, way: OnError, edges: tuple[Edge, ...]) -> None:
    flow = flow_of(HOOK, post(2, onerror=[module(3, f"builtin:{name}")]), MAIL)
    step = flow.steps[0]
    assert (step.on_error, step.extra["handler"], flow.edges) == (way, name, edges)
    assert step.facts[0].quote == f'"module": "builtin:{name}", "mapper": {{}}'


@pytest.mark.parametrize(
    ("stored", "mapper", "repeaters"),
    [
        (True, {}, [(Repeating.STEP_RETRY, True, 4, True)]),
        (True, {"retry": True, "count": 5, "interval": 1}, [(Repeating.STEP_RETRY, True, 6, False)]),
        (True, {"retry": "true", "count": "99"}, [(Repeating.STEP_RETRY, True, 11, False)]),
        (True, {"retry": False}, [(Repeating.UNIT_RERUN, False, None, False)]),
        (False, {"retry": True, "count": 5}, []),
    ],
)
def test_break_repeats_only_what_the_scenario_stores(stored: bool, mapper: dict[str, Any], repeaters: list[object]) -> None:
    flow = flow_of(HOOK, post(2, onerror=[module(3, "builtin:Break", mapper)]), scenario={"dlq": stored})
    (step,) = flow.steps
    own = [one for one in step.repeaters if one.kind not in (Repeating.REDELIVERY, Repeating.REPLAY)]
    assert [(one.kind, one.automatic, one.bound, one.default) for one in own] == repeaters
    assert step.extra.get("break_without_store") == (None if stored else "true")


def test_a_handler_with_actions_is_a_way_of_its_own_and_its_message_tells_of_the_failure() -> None:
    flow = flow_of(
        HOOK,
        post(2, onerror=[CHAT, module(4, "airtable:ActionCreateRecord", {"error": "{{2.error.message}}"}), module(5, "builtin:Ignore")]),
        MAIL,
    )
    steps = {step.id: step for step in flow.steps}
    assert steps["2"].on_error is OnError.ROUTE
    assert set(flow.edges) == {Edge("2", "8"), Edge("2", "9", When.ERROR), Edge("9", "4")}
    assert {id: step.marks for id, step in steps.items()} == {
        "2": frozenset(),
        "9": {Mark.FAILURE_NOTICE},
        "4": {Mark.RECOVERY},
        "8": {Mark.SUCCESS_NOTICE},
    }
    assert steps["4"].extra["handles"] == "2"
    assert steps["2"].kept == ()


def test_a_handler_that_resumes_comes_back() -> None:
    flow = flow_of(HOOK, post(2, onerror=[CHAT, module(5, "builtin:Resume", {"id": "0"})]), MAIL)
    assert set(flow.edges) == {Edge("2", "8"), Edge("2", "9", When.ERROR), Edge("9", "8")}
    assert flow.steps[0].on_error is OnError.CONTINUE


def test_routes_part_for_good_and_branches_come_together_again() -> None:
    router = module(2, "builtin:BasicRouter", routes=[{"flow": [post(3, filter=asks("{{1.score}}", "50"))]}, {"flow": [MAIL]}])
    routed = flow_of(HOOK, router)
    assert routed.edges == ()
    assert {step.id: (step.condition, step.extra["route"]) for step in routed.steps} == {
        "3": ("{{1.score}} text:equal 50", "2: 1/2"),
        "8": ("", "2: 2/2"),
    }
    branches = module(2, "builtin:BasicIfElse", branches=[{"flow": [post(3)]}, {"flow": [CHAT]}])
    branched = flow_of(HOOK, branches, module(5, "builtin:BasicMerge"), MAIL)
    assert set(branched.edges) == {Edge("3", "8"), Edge("9", "8")}


@pytest.mark.parametrize(
    ("to", "receiver"),
    [
        ("{{1.email}}", Receiver.CUSTOMER),
        ("{{3.value}}", Receiver.CUSTOMER),
        ("{{4.value}}", Receiver.TEAM),
        ("ops@team.example", Receiver.TEAM),
        ("{{2.id}}", Receiver.UNKNOWN),
        ("{{77.x}}", Receiver.UNKNOWN),
    ],
)
def test_who_is_told_is_followed_through_variables(to: str, receiver: Receiver) -> None:
    flow = flow_of(
        HOOK,
        post(2),
        module(3, "util:SetVariable2", {"name": "a", "value": "{{1.email}}"}),
        module(4, "util:SetVariable2", {"name": "b", "value": "ops@team.example"}),
        MAIL | {"mapper": {"to": [to]}},
    )
    assert flow.steps[-1].effect is not None
    assert flow.steps[-1].effect.receiver is receiver


@pytest.mark.parametrize(
    ("key", "bearing"),
    [
        ("{{1.id}}", Bearing.STABLE),
        ("{{1.now}}", Bearing.STABLE),
        ("{{uuid}}", Bearing.MINTED),
        ('{{formatDate(now; "X")}}', Bearing.MINTED),
        ("{{5.id}}", Bearing.UNKNOWN),
    ],
)
def test_a_key_in_a_header_is_as_good_as_where_it_comes_from(key: str, bearing: Bearing) -> None:
    request = post(2)
    request["mapper"]["headers"] = [{"name": "Idempotency-Key", "value": key}]
    (step,) = flow_of(HOOK, request).steps
    assert step.identity is not None
    assert (step.identity.bearing, step.identity.expression) == (bearing, key)


def test_what_is_done_for_each_part_is_in_a_loop_until_the_parts_are_gathered() -> None:
    flow = flow_of(
        HOOK,
        module(2, "builtin:BasicFeeder", {"array": "{{1.items}}"}),
        post(3),
        module(4, "builtin:BasicAggregator", parameters={"feeder": 2}),
        CHAT,
    )
    inside, outside = flow.steps
    assert (Mark.IN_LOOP in inside.marks, Mark.IN_LOOP in outside.marks) == (True, False)
    assert [one.kind for one in inside.repeaters] == [Repeating.LOOP, Repeating.REDELIVERY, Repeating.REPLAY]
    assert [one.kind for one in outside.repeaters] == [Repeating.REDELIVERY, Repeating.REPLAY]


def test_what_the_receiver_answered_is_kept_where_it_is_stored_or_answered() -> None:
    stored = flow_of(HOOK, post(2), module(3, "airtable:ActionCreateRecord", {"charge": "{{2.data.id}}"}))
    answered = flow_of(HOOK, post(2), module(3, "gateway:WebhookRespond", {"body": "{{2.data.id}}"}))
    dropped = flow_of(HOOK, post(2), module(3, "airtable:ActionCreateRecord", {"who": "{{1.email}}"}))
    assert [len(flow.steps[0].kept) for flow in (stored, answered, dropped)] == [1, 1, 0]
    assert stored.steps[0].kept == (stored.steps[1].span,)
    assert (stored.steps[1].needs_output_of, dropped.steps[1].needs_output_of) == (("2",), ())


def test_a_first_module_that_acts_is_started_by_a_timetable() -> None:
    timed = flow_of(post(1), MAIL, scheduling={"type": "indefinitely", "interval": 900})
    asked = flow_of(post(1), MAIL, scheduling={"type": "on-demand"})
    polled = flow_of(module(1, "google-sheets:watchRows"), MAIL, scheduling={"type": "indefinitely", "interval": 900})
    assert [(flow.triggers[0].kind, flow.triggers[0].period) for flow in (timed, asked, polled)] == [
        (Starting.SCHEDULE, 900),
        (Starting.MANUAL, None),
        (Starting.POLL, 900),
    ]
    assert [[step.id for step in flow.steps] for flow in (timed, asked, polled)] == [["1", "8"], ["1", "8"], ["8"]]
    assert [flow.steps[-1].repeaters[0].kind for flow in (timed, asked, polled)] == [Repeating.SCHEDULE, Repeating.MANUAL, Repeating.REPLAY]


def test_a_scenario_that_runs_one_after_the_other_or_hides_its_data_says_so() -> None:
    source = written(blueprint(HOOK, MAIL, scenario={"sequential": True, "confidential": True}))
    (flow,) = READER.flows(source, given(source))
    assert [source.line(guard.span.line).strip() for guard in flow.guards] == ['"sequential": true,']
    assert flow.evidence_off is not None
    assert source.line(flow.evidence_off.line).strip() == '"confidential": true'
    assert (flow_of(HOOK, MAIL).guards, flow_of(HOOK, MAIL).evidence_off) == ((), None)


def test_a_scenario_that_is_called_and_a_module_that_nobody_knows_are_not_guessed() -> None:
    flow = flow_of(HOOK, module(2, "scenarios:CallSubscenario", {"scenarioId": "77"}), module(3, "acme:doIt"), module(4, "acme:getIt"))
    assert [(step.opaque and step.opaque.what, step.effect and step.effect.kinds) for step in flow.steps] == [
        ("77", {Kind.UNKNOWN}),
        (None, {Kind.UNKNOWN}),
        (None, {Kind.READ}),
    ]


def test_an_incomplete_execution_says_which_module_failed_and_nothing_of_the_rest() -> None:
    source = written({"dlq": {"id": "a1", "reason": "timeout", "failer": 4, "attempts": 1, "scenarioName": "Leads"}})
    assert READER.takes(source)
    assert list(READER.flows(source, given(source))) == []
    (log,) = READER.runs(source, given(source))
    assert (log.id, log.name, log.attempt) == ("a1", "Leads", 2)
    assert [(ran.step, ran.outcome, ran.fact.quote) for ran in log.steps] == [("4", Outcome.UNKNOWN, '"failer": 4')]
    listed = list(READER.runs(written({"dlqs": [{"id": "b"}, {"id": "c", "attempts": 1e9}]}), given()))
    assert [(one.id, one.attempt, one.steps) for one in listed] == [("b", 1, ()), ("c", 1001, ())]


def test_secrets_are_told_by_their_place() -> None:
    request = post(2)
    request["mapper"]["headers"] = [{"name": "Authorization", "value": "Bearer abcdef0123456789"}]
    flow = flow_of(HOOK, request)
    assert [(one.span.at, one.quote) for one in flow.secrets] == [("flow[1].mapper.headers[0].value", '"Authorization": "Bearer […]"')]
    assert "abcdef0123456789" not in str(flow)


@pytest.mark.parametrize(
    "flow",
    [
        [{"module": "a:b"}, 5, None, {"module": 7, "id": [1]}],
        [{"module": "http:MakeRequest", "id": 1, "mapper": None, "onerror": {"module": "builtin:Break"}, "filter": [1]}],
        [
            {"module": "http:x", "id": 1, "mapper": {"url": "u", "timeout": "nan", "method": 5}, "onerror": [BREAK_FOR_EVER]},
            {"module": "a:b", "id": 1},
        ],
        [{"module": "builtin:BasicRouter", "routes": [{"flow": [{"module": "builtin:BasicRouter", "routes": [None, {}]}]}]}],
    ],
)
def test_whatever_a_blueprint_says_it_is_read_without_an_accident(flow: object) -> None:
    source = written({"flow": flow, "metadata": {"scenario": {"dlq": True}}})
    assert READER.takes(source)
    (found,) = READER.flows(source, given(source))
    assert len({step.id for step in found.steps}) == len(found.steps) <= 3


def test_a_scenario_that_nobody_drew_is_refused() -> None:
    source = written(blueprint(*(module(number, "util:SetVariable2") for number in range(1001))), indent=None)
    with pytest.raises(Unreadable, match="more than 500 nodes"):
        list(READER.flows(source, given(source)))
