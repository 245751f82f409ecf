import json

import pytest

from halfway.inspection.formats.step_functions import READER
from halfway.inspection.model import Bearing, Kind, Mark, OnError, Outcome, Receiver, Repeat, Repeating, Reversible, Starting
from halfway.inspection.source import Source
from tests.inspection.small_knowledge import by_id, edges, logs, only

ORDER = """{
  "Comment": "Order",
  "StartAt": "Charge Card",
  "States": {
    "Charge Card": {
      "Type": "Task",
      "Resource": "arn:aws:states:::http:invoke",
      "Parameters": {"Method": "POST", "ApiEndpoint": "https://api.stripe.com/v1/charges",
        "Headers": {"Idempotency-Key.$": "$$.Execution.Name"}},
      "TimeoutSeconds": 30,
      "Retry": [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["Busy"], "MaxAttempts": 0}],
      "ResultPath": "$.charge",
      "Next": "Ship"
    },
    "Ship": {
      "Type": "Task",
      "Resource": "arn:aws:lambda:eu-west-1:123456789012:function:ship",
      "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Refund Card"}],
      "Next": "Tell"
    },
    "Refund Card": {
      "Type": "Task",
      "Resource": "arn:aws:states:::http:invoke",
      "Parameters": {"Method": "POST", "ApiEndpoint": "https://api.stripe.com/v1/refunds", "Body": {"id.$": "$.charge.id"}},
      "Retry": [{"ErrorEquals": ["States.TaskFailed"], "MaxAttempts": 1}],
      "Next": "Failed"
    },
    "Failed": {"Type": "Fail"},
    "Tell": {
      "Type": "Task",
      "Resource": "arn:aws:states:::sns:publish",
      "Parameters": {"PhoneNumber.$": "$.phone", "Message": "done"},
      "ResultPath": null,
      "End": true
    }
  }
}"""


def test_a_task_carries_its_key_its_retries_and_its_timeout() -> None:
    step = by_id(only(READER, "order.asl.json", ORDER))["Charge Card"]
    assert (step.span.line, step.quote) == (7, '"Resource": "arn:aws:states:::http:invoke",')
    assert step.effect is not None
    assert (step.effect.action, step.effect.repeat) == ("stripe.charge", Repeat.WITH_KEY)
    assert step.identity is not None
    assert (step.identity.bearing, step.identity.expression, step.identity.span.line) == (Bearing.STABLE, "$$.Execution.Name", 9)
    assert [(one.kind, one.automatic, one.bound, one.after_timeout, one.span.line) for one in step.repeaters] == [
        (Repeating.STEP_RETRY, True, 4, True, 11),
        (Repeating.UNIT_RERUN, False, None, True, 5),
    ]
    assert (step.timeout, step.timeout_known) == (30.0, True)
    assert [span.line for span in step.kept] == [12]


def test_a_way_back_is_linked_and_needs_what_a_lost_answer_does_not_give() -> None:
    flow = only(READER, "order.asl.json", ORDER)
    steps = by_id(flow)
    undo = steps["Charge Card"].undo
    assert undo is not None
    assert (undo.step, undo.reached, undo.tolerant, undo.retried) == ("Refund Card", True, False, True)
    assert steps["Refund Card"].marks == {Mark.RECOVERY}
    assert steps["Refund Card"].needs_output_of == ("Charge Card",)
    assert steps["Ship"].undo is None
    assert flow.undoes


def test_the_graph_follows_successes_and_failures() -> None:
    flow = only(READER, "order.asl.json", ORDER)
    assert [step.id for step in flow.steps] == ["Charge Card", "Ship", "Tell", "Refund Card", "Failed"]
    assert edges(flow) == [
        ("Charge Card", "Ship", "success"),
        ("Ship", "Tell", "success"),
        ("Ship", "Refund Card", "error"),
        ("Refund Card", "Failed", "success"),
    ]
    assert by_id(flow)["Ship"].on_error is OnError.ROUTE
    assert by_id(flow)["Charge Card"].on_error is OnError.STOP


def test_code_of_a_function_is_unread() -> None:
    flow = only(READER, "order.asl.json", ORDER)
    step = by_id(flow)["Ship"]
    assert step.opaque is not None
    assert step.opaque.what == "arn:aws:lambda:eu-west-1:123456789012:function:ship"
    assert flow.unread == (step.opaque,)
    assert step.effect is not None
    assert (step.effect.kinds, step.effect.certain) == (frozenset({Kind.UNKNOWN}), False)
    assert step.identity is not None
    assert step.identity.bearing is Bearing.UNKNOWN


def test_a_message_from_data_goes_to_a_customer_and_its_id_is_thrown_away() -> None:
    step = by_id(only(READER, "order.asl.json", ORDER))["Tell"]
    assert step.effect is not None
    assert step.effect.receiver is Receiver.CUSTOMER
    assert step.marks == {Mark.SUCCESS_NOTICE}
    assert step.kept == ()
    assert step.identity is not None
    assert step.identity.bearing is Bearing.NONE


APPROVAL = """
StartAt: Ask
States:
  Ask:
    Type: Task
    Resource: arn:aws:states:::sqs:sendMessage.waitForTaskToken
    Parameters:
      QueueUrl: q
      MessageDeduplicationId.$: States.UUID()
    Catch:
      - ErrorEquals: [States.Timeout]
        Next: Rejected
    Next: Look
  Look:
    Type: Choice
    Choices:
      - Variable: $.answer
        StringEquals: FAILED
        Next: Rejected
    Default: Count
  Rejected:
    Type: Pass
    Next: Tell Team
  Tell Team:
    Type: Task
    Resource: arn:aws:states:::sns:publish
    Parameters: {PhoneNumber: "+821012345678"}
    End: true
  Count:
    Type: Task
    Resource: arn:aws:states:::dynamodb:updateItem
    Parameters: {UpdateExpression: "ADD hits :one"}
    Next: Nap
  Nap:
    Type: Wait
    Seconds: 5
    Next: Count
"""


def test_yaml_choices_waits_and_circles() -> None:
    flow = only(READER, "approve.asl.yaml", APPROVAL.replace("Ask", "Approve"))
    steps = by_id(flow)
    ask = steps["Approve"]
    assert ask.gate is not None
    assert (ask.gate.kind, ask.gate.timeout_answers, ask.gate.visible) == ("approval", True, False)
    assert (ask.extra["heartbeat"], ask.timeout, ask.timeout_known) == ("", None, True)
    assert Mark.WAIT in ask.marks
    assert ask.identity is not None
    assert ask.identity.bearing is Bearing.MINTED
    told = steps["Tell Team"]
    assert told.effect is not None
    assert told.effect.receiver is Receiver.TEAM
    assert told.marks == {Mark.FAILURE_NOTICE}
    assert flow.failure_notice == told.span
    count = steps["Count"]
    assert count.effect is not None
    assert count.effect.repeat is Repeat.DUPLICATES
    assert [one.kind for one in count.repeaters] == [Repeating.LOOP, Repeating.UNIT_RERUN]
    assert count.marks == set()  # to ask once more is no batch
    assert edges(flow) == [
        ("Approve", "Tell Team", "error"),
        ("Approve", "Count", "success"),
        ("Count", "Nap", "success"),
        ("Nap", "Count", "success"),
    ]


def test_branches_share_the_retry_and_the_catch_around_them() -> None:
    text = json.dumps(
        {
            "StartAt": "Both",
            "States": {
                "Both": {
                    "Type": "Parallel",
                    "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}],
                    "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Sorry"}],
                    "Branches": [
                        {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "End": True}}},
                        {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": True}}},
                    ],
                    "Next": "Last",
                },
                "Last": {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "End": True},
                "Sorry": {"Type": "Fail"},
            },
        }
    )
    flow = only(READER, "both.json", text)
    steps = by_id(flow)
    assert [(steps[name].scope, steps[name].on_error.value) for name in "AB"] == [("Both", "route"), ("Both", "route")]
    assert [(one.kind.value, one.bound) for one in steps["A"].repeaters] == [("step_retry", 3), ("unit_rerun", None)]
    assert set(edges(flow)) == {("A", "Sorry", "error"), ("A", "Last", "success"), ("B", "Sorry", "error"), ("B", "Last", "success")}


def test_templates_hold_definitions_whose_lines_are_those_of_the_file() -> None:
    text = """Resources:
  Pay:
    Type: AWS::Serverless::StateMachine
    Properties:
      Type: EXPRESS
      Events:
        Nightly:
          Type: Schedule
          Properties: {Schedule: rate(1 day)}
      DefinitionString: !Sub |
        {"StartAt": "Go",
         "States": {"Go": {"Type": "Task",
           "Resource": "arn:aws:states:::sns:publish", "End": true}}}
"""
    flow = only(READER, "template.yaml", text)
    [step] = flow.steps
    assert (flow.id, flow.extra["type"], step.span.line) == ("Pay", "EXPRESS", 13)
    assert [(one.kind, one.automatic) for one in step.repeaters] == [(Repeating.REDELIVERY, True), (Repeating.UNIT_RERUN, False)]
    assert [(one.kind, one.period) for one in flow.triggers] == [(Starting.SCHEDULE, 86_400.0)]


def test_a_template_says_which_service_a_name_stands_for() -> None:
    text = """Resources:
  Pay:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionSubstitutions:
        Put: !Sub arn:${AWS::Partition}:states:::dynamodb:putItem
        Charge: !GetAtt ChargeFunction.Arn
      Definition:
        StartAt: Charge
        States:
          Charge: {Type: Task, Resource: "${Charge}", Next: Keep}
          Keep: {Type: Task, Resource: "${Put}", Parameters: {TableName: orders, Item: {id: {S.$: $.id}}}, End: true}
"""
    charge, keep = only(READER, "template.yaml", text).steps
    assert charge.opaque is not None
    assert charge.opaque.what == "${Charge}"
    assert (keep.opaque, keep.span.line) == (None, 12)


def test_a_template_beside_it_says_so_too() -> None:
    machine = '{"StartAt": "Keep", "States": {"Keep": {"Type": "Task", "Resource": "${Put}", "End": true}}}'
    template = """Resources:
  Pay:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: machines/pay.asl.json
      DefinitionSubstitutions: {Put: !Sub "arn:${AWS::Partition}:states:::dynamodb:putItem"}
"""
    [keep] = only(READER, "shop/machines/pay.asl.json", machine, Source("shop/template.yaml", template)).steps
    assert keep.opaque is None
    [other] = only(READER, "shop/machines/other.asl.json", machine, Source("shop/template.yaml", template)).steps
    assert other.opaque is not None


def test_a_limit_from_data_cannot_be_told_and_a_payment_can_be_given_back() -> None:
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::apigateway:invoke.waitForTaskToken",
        "Parameters": {"Method": "POST", "ApiEndpoint": "${Endpoint}", "Path": "/payment"},
        "HeartbeatSecondsPath": "$.beat",
        "End": True,
    }
    [step] = only(READER, "pay.json", json.dumps({"StartAt": "Take", "States": {"Take": task}})).steps
    assert (step.timeout, step.timeout_known, step.extra["waits"]) == (None, False, "task_token")
    assert step.effect is not None
    assert (step.effect.kinds, step.effect.reversible) == ({Kind.UNKNOWN, Kind.MONEY}, Reversible.FORWARD)
    assert not step.effect.certain


@pytest.mark.parametrize(
    "text", ["StartAt: [", '{"StartAt": "A"}', '{"StartAt": 1, "States": {}}', "States and StartAt", '{"StartAt": "A", "States": []}']
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert not READER.takes(Source("x.json", text))


@pytest.mark.parametrize(
    "states",
    [
        {},
        {"A": None},
        {"A": {"Type": "Task"}},
        {"A": {"Type": "Task", "Resource": 7, "Next": "A", "Retry": "x", "Catch": {"Next": "A"}}},
        {
            "A": {
                "Type": "Parallel",
                "Branches": [{"StartAt": "A", "States": {"A": {"Type": "Map", "Iterator": {"StartAt": "A", "States": {}}}}}],
            }
        },
        {"A": {"Type": "Choice", "Choices": [{"And": [{"Or": [{"Not": 3}]}], "Next": "B"}], "Default": "A"}},
    ],
)
def test_whatever_a_definition_says_a_flow_comes_out(states: object) -> None:
    flow = only(READER, "odd.json", json.dumps({"StartAt": "A", "States": states}))
    assert flow.format == "step-functions"


def test_a_history_tells_what_landed_and_what_nobody_knows() -> None:
    def event(id: int, before: int, type: str, **details: object) -> dict[str, object]:
        return {"id": id, "previousEventId": before, "type": type, **details}

    text = json.dumps(
        {
            "events": [
                event(
                    1,
                    0,
                    "ExecutionStarted",
                    executionStartedEventDetails={"stateMachineVersionArn": "arn:aws:states:x:1:stateMachine:Pay:7"},
                ),
                event(2, 1, "TaskStateEntered", stateEnteredEventDetails={"name": "Charge"}),
                event(3, 2, "TaskScheduled"),
                event(4, 3, "TaskSucceeded", taskSucceededEventDetails={"output": '{"MessageId":"m-1"}'}),
                event(5, 4, "TaskStateExited"),
                event(6, 5, "TaskStateEntered", stateEnteredEventDetails={"name": "Ship"}),
                event(7, 6, "TaskScheduled"),
                event(8, 7, "TaskTimedOut"),
                event(9, 5, "TaskStateEntered", stateEnteredEventDetails={"name": "Tell"}),
                event(10, 8, "ExecutionFailed"),
            ]
        },
        indent=1,
    )
    [run] = logs(READER, "history.json", text)
    assert (run.name, run.version, run.attempt, run.format) == ("Pay", "7", 1, "step-functions")
    assert [(ran.step, ran.outcome, ran.external_id) for ran in run.steps] == [
        ("Charge", Outcome.LANDED, "m-1"),
        ("Ship", Outcome.UNKNOWN, ""),
        ("Tell", Outcome.NOT_EXECUTED, ""),
    ]
    assert run.steps[1].fact.quote == '"type": "TaskTimedOut"'


def test_only_who_waits_for_the_end_of_another_may_hang() -> None:
    def task(name: str, resource: str, more: str = "", after: str = '"End": true') -> str:
        return f'"{name}": {{"Type": "Task", "Resource": "arn:aws:states:::{resource}", "Parameters": {{}}{more}, {after}}}'

    states = (
        task("Tell", "sns:publish", after='"Next": "Call"'),
        task("Call", "lambda:invoke", after='"Next": "Load"'),
        task("Load", "batch:submitJob.sync", after='"Next": "Ask"'),
        task("Ask", "sqs:sendMessage.waitForTaskToken", after='"Next": "Limited"'),
        task("Limited", "sns:publish", ', "TimeoutSeconds": 5'),
    )
    steps = by_id(only(READER, "wait.asl.json", '{"StartAt": "Tell", "States": {' + ", ".join(states) + "}}"))
    assert {name: step.timeout_known for name, step in steps.items()} == {
        "Tell": False, "Call": False, "Load": True, "Ask": True, "Limited": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("state", "kind"),
    [("Get Prices", Kind.READ), ("List Crawlers", Kind.READ), ("Check Out Cart", Kind.UNKNOWN), ("Get Payment", Kind.UNKNOWN),
     ("Save Order", Kind.UNKNOWN)],
)  # fmt: skip
def test_a_function_whose_state_is_named_after_a_look_is_inferred_to_read(state: str, kind: Kind) -> None:
    text = f'''{{"StartAt": "{state}", "States": {{"{state}": {{
      "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {{"FunctionName": "f"}}, "End": true}}}}}}'''
    (step,) = only(READER, "look.asl.json", text).steps
    assert step.effect is not None
    assert (kind in step.effect.kinds, step.effect.certain, step.opaque is not None) == (True, False, True)


def test_a_conditional_write_looks_first() -> None:
    text = """{"StartAt": "Lock", "States": {"Lock": {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:updateItem", "Parameters": {
      "UpdateExpression": "ADD held :one",
      "ConditionExpression": "held < :most"}, "End": true}}}"""
    (step,) = only(READER, "lock.asl.json", text).steps
    assert step.guard is not None
    assert step.guard.line == 3
