"""What a state machine does that looks like a weakness and is none; beside each stands the same but for the one thing, which is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.inspection.test_told_too_much import told

LAMBDA = "arn:aws:states:::lambda:invoke"
RETRY = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}]
FAILED = {"Type": "Fail"}
TOPIC = "arn:aws:sns:eu-west-1:1:shop-alerts"


def machine(start: str, /, **states: object) -> str:
    """A definition; the underscores of a name are spaces."""
    return json.dumps({"StartAt": start, "States": {name.replace("_", " "): state for name, state in states.items()}}, indent=1)


def task(resource: str, next: str = "", **more: object) -> dict[str, object]:
    return {"Type": "Task", "Resource": resource, **({"Next": next} if next else {"End": True}), **more}


def call(function: str, next: str = "", **more: object) -> dict[str, object]:
    return task(LAMBDA, next, **({"Parameters": {"FunctionName": function, "Payload.$": "$"}} | more))


def ask(variable: str, yes: str, no: str) -> dict[str, object]:
    return {"Type": "Choice", "Choices": [{"Variable": variable, "BooleanEquals": True, "Next": yes}], "Default": no}


def tell(message: str, next: str = "", key: str = "Message.$", topic: str = TOPIC, **more: object) -> dict[str, object]:
    return task("arn:aws:states:::sns:publish", next, Parameters={"TopicArn": topic, key: message}, **more)


def catch(next: str, *errors: str, **more: object) -> list[object]:
    return [{"ErrorEquals": list(errors) or ["States.ALL"], "Next": next, **more}]


def query(text: str, key: str = "QueryString") -> str:
    return machine("Ask", Ask=task("arn:aws:states:::athena:startQueryExecution.sync", Parameters={key: text}, Retry=RETRY))


def detected(reader: dict[str, object]) -> str:
    """A look whose answer one other state reads."""
    first = call("scan-shelves", "Read", ResultPath="$.shelves", Retry=RETRY)
    return machine("DetectGaps", DetectGaps=first, Read=reader, Done={"Type": "Succeed"}, Stop=FAILED)


def fetched(given: dict[str, object]) -> str:
    return machine("Work", Work=call("fetch-quotes", "Transform", ResultPath="$.got"), Transform=call("transform-quotes", Parameters=given))


def branch(start: str, function: str) -> str:
    inner = {"StartAt": start, "States": {"TaskB": task(f"arn:aws:lambda:eu-west-1:1:function:{function}")}}
    return machine("Both", Both={"Type": "Parallel", "Branches": [inner], "Next": "Extract"}, Extract=call("extract"))


def verified(reader: dict[str, object]) -> str:
    """A look at a payment in a branch, of which the Parallel keeps one field."""
    inner = {"StartAt": "Verify Payment", "States": {"Verify Payment": call("card-desk", OutputPath="$.Payload", Retry=RETRY)}}
    both = {"Type": "Parallel", "Branches": [inner], "ResultPath": "$.seen", "ResultSelector": {"ok.$": "$[0].ok"}, "Next": "Read"}
    return machine("Both", Both=both, Read=reader, Done={"Type": "Succeed"}, Stop=FAILED)


def passed_over(message: dict[str, object], put: str | None = "$.problem", between: str | None = None) -> str:
    """A message that is reached when what is before it has failed, past a state that keeps the data or takes their place."""
    noted = task("arn:aws:states:::dynamodb:putItem", "Tell", Parameters={"TableName": "orders", "Item": {}}, ResultPath=between)
    ship = call("ship", "Note", ResultPath="$.shipped", Catch=catch("Note", ResultPath=put))
    return machine("Ship", Ship=ship, Note=noted, Tell=message)


def waited(*errors: str) -> str:
    wait = task(f"{LAMBDA}.waitForTaskToken", "Clear", Parameters={"FunctionName": "w"}, TimeoutSeconds=9, Catch=catch("Clear", *errors))
    clear = task("arn:aws:states:::aws-sdk:ec2:deleteFlowLogs", "Tell", Parameters={"FlowLogIds": ["a"]})
    return machine("Record", Record=wait, Clear=clear, Tell=tell("$.log"))


def alerted(topic: str) -> str:
    """A failure of which somebody is told before the report goes on without that part."""
    part = call("sum-up", "Report", Catch=catch("Alert"))
    report = call("report", "Tell", ResultPath="$.report")
    return machine("Sum", Sum=part, Alert=tell("the sum failed", "Report", "Message", topic), Report=report, Tell=tell("$.report.text"))


def items(**map: object) -> str:
    """A job for each item."""
    inner = {"StartAt": "Copy", "States": {"Copy": task("arn:aws:states:::glue:startJobRun.sync", Parameters={"JobName": "copy"})}}
    return machine("Each", Each={"Type": "Map", "ItemsPath": "$.tables", "Iterator": inner, "End": True, **map}, Stop=FAILED)


def approved(key: str) -> str:
    asked = task(f"{LAMBDA}.waitForTaskToken", "Notify user", TimeoutSeconds=9)
    asked["Parameters"] = {"FunctionName": "ask", "Payload": {key: "$.who", "token.$": "$$.Task.Token"}}
    return machine("Approve leave", Approve_leave=asked, Notify_user=call("notify-user"))


PAIRS = [
    # A query that only asks may be done twice, and Athena ends each by itself; one that comes from data may write.
    ("R-01", query("-- orders\nWITH o AS (SELECT 1) SELECT * FROM o"), query("INSERT INTO sums SELECT 1")),
    ("R-01", query("DESCRIBE orders"), query("$.statement", "QueryString.$")),
    ("R-15", query("INSERT INTO sums SELECT 1"), query("x").replace("athena:startQueryExecution", "batch:submitJob")),
    # A look by its name, of whose answer a choice or the next state makes use; an answer of which only a date is read may be a by-product.
    (
        "R-44",
        detected(ask("$.shelves.Payload.empty", "Done", "Stop")),
        detected(call("extract", Parameters={"a.$": "$.shelves.Payload.day"})),
    ),
    ("R-44", fetched({"FunctionName": "t", "Payload.$": "$.got.Payload"}), fetched({"FunctionName": "t", "Payload": {"d.$": "$.got.day"}})),
    ("R-44", branch("FetchQuotes", "quotes"), branch("PlaceOrders", "quotes")),
    ("R-44", branch("TaskB", "filter-quotes"), branch("TaskB", "filter-and-store-quotes")),
    ("R-44", branch("TaskB", "getQuotes"), branch("TaskB", "bookQuotes")),
    ("R-44", verified(ask("$.seen.ok", "Done", "Stop")), verified(call("extract", Parameters={"Payload.$": "$.seen.ok"}))),
    # Nothing is told of a success by a message that carries the error, or whose text is about a failure.
    ("R-07", passed_over(tell("$")), passed_over(tell("$"), put=None)),
    ("R-07", passed_over(tell("$.problem.Cause")), passed_over(tell("$.problem.Cause"), between="$.problem")),
    ("R-07", passed_over(tell("the order failed", key="Message")), passed_over(tell("done, no order failed", key="Message"))),
    # A wait that comes to its end goes on as planned; one that fails in any other way does not.
    ("R-07", waited("States.Timeout"), waited("States.ALL")),
    # Who is told of the failure already is not deceived by the report; others are.
    ("R-07", alerted(TOPIC), alerted("arn:aws:sns:eu-west-1:1:shop-night-watch")),
    # The engine does only those items again that failed, unless the failure was caught, or all are tried again.
    ("R-27", items(), items(Catch=catch("Stop"))),
    ("R-27", items(MaxConcurrency=2), items(Retry=RETRY)),
    # Who approves is handed over; a message that never changes was approved by who wrote it.
    ("R-32", approved("approverEmail.$"), approved("userEmail.$")),
    (
        "R-32",
        machine("Send email", Send_email=call("m", Parameters={"FunctionName": "m", "Payload": {"text": "done"}})),
        machine("Send email", Send_email=call("m", Parameters={"FunctionName": "m", "Payload": {"text.$": "$.text"}})),
    ),
]


@pytest.mark.parametrize(("rule", "none", "one"), PAIRS)
def test_what_looks_like_a_weakness_and_is_none(tmp_path: Path, rule: str, none: str, one: str) -> None:
    assert rule not in told(tmp_path, "none.asl.json", none)
    assert rule in told(tmp_path, "one.asl.json", one)


def test_an_error_that_says_that_it_is_there_already_is_an_answer(tmp_path: Path) -> None:
    def made(error: str) -> str:
        make = task("arn:aws:states:::aws-sdk:organizations:createOrganizationalUnit", "Tell", Parameters={"Name": "a"})
        look = task("arn:aws:states:::aws-sdk:organizations:listRoots", "Tell")
        return machine("Make", Make=make | {"Catch": catch("Look", error, ResultPath=None)}, Look=look, Tell=tell("$"))

    assert "R-07" not in told(tmp_path, "none.asl.json", made("Organizations.DuplicateOrganizationalUnitException"))
    assert told(tmp_path, "one.asl.json", made("Organizations.ServiceException"))["R-07"] == ["HIGH"]


def test_an_alert_to_the_own_people_may_come_twice(tmp_path: Path) -> None:
    def failing(alert: dict[str, object]) -> str:
        return machine("Ship", Ship=call("ship", Catch=catch("Alert", ResultPath="$.error")), Alert=alert)

    assert told(tmp_path, "error.asl.json", failing(tell("$.error.Cause", Retry=RETRY)))["R-01"] == ["LOW"]
    assert told(tmp_path, "text.asl.json", failing(tell("the job failed", key="Message", Retry=RETRY)))["R-01"] == ["LOW"]
    assert told(tmp_path, "customer.asl.json", failing(tell("$.apology", Retry=RETRY)))["R-01"] == ["HIGH"]


def test_states_that_name_no_function_are_told_once(tmp_path: Path) -> None:
    unnamed: dict[str, object] = {"Parameters": {"Payload.$": "$"}, "Retry": RETRY}
    assert told(tmp_path, "none.asl.json", machine("A", A=task(LAMBDA, "B", **unnamed), B=task(LAMBDA, "", **unnamed)))["R-44"] == ["HIGH"]
    assert told(tmp_path, "named.asl.json", machine("A", A=call("a", "B", Retry=RETRY), B=call("b", Retry=RETRY)))["R-44"] == [
        "HIGH",
        "HIGH",
    ]


def test_what_is_emptied_twice_is_empty(tmp_path: Path) -> None:
    assert told(tmp_path, "clear.asl.json", machine("EmptyBucket", EmptyBucket=call("b", Retry=RETRY)))["R-44"] == ["MEDIUM"]
    assert told(tmp_path, "fill.asl.json", machine("FillBucket", FillBucket=call("b", Retry=RETRY)))["R-44"] == ["HIGH"]
