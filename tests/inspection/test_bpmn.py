import pytest

from halfway.inspection.formats.bpmn import READER
from halfway.inspection.model import Bearing, Kind, Mark, OnError, Receiver, Repeating, Starting
from halfway.inspection.source import Source, Unreadable
from tests.inspection.small_knowledge import by_id, edges, given, only

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
  <bpmn:process id="trip" name="Trip" isExecutable="true">
"""
SEVEN = HEAD.replace('xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"', 'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"')
TAIL = "\n  </bpmn:process>\n</bpmn:definitions>\n"

SAGA = """
    <bpmn:startEvent id="start"/>
    <bpmn:sequenceFlow id="f1" sourceRef="start" targetRef="book"/>
    <bpmn:serviceTask id="book" name="Book room">
      <bpmn:extensionElements><zeebe:taskDefinition type="book-room" retries="5"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:boundaryEvent id="undoing" attachedToRef="book"><bpmn:compensateEventDefinition/></bpmn:boundaryEvent>
    <bpmn:association id="a1" sourceRef="undoing" targetRef="cancel"/>
    <bpmn:serviceTask id="cancel" name="Cancel room" isForCompensation="true">
      <bpmn:extensionElements><zeebe:taskDefinition type="cancel-room"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="f2" sourceRef="book" targetRef="pay"/>
    <bpmn:serviceTask id="pay" name="Pay">
      <bpmn:extensionElements><zeebe:taskDefinition type="io.camunda:http-json:1"/>
        <zeebe:ioMapping>
          <zeebe:input source="POST" target="method"/>
          <zeebe:input source="https://api.stripe.com/v1/charges" target="url"/>
          <zeebe:input source="={&quot;Idempotency-Key&quot;: orderId}" target="headers"/>
        </zeebe:ioMapping>
        <zeebe:taskHeaders><zeebe:header key="resultVariable" value="charge"/></zeebe:taskHeaders>
      </bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:boundaryEvent id="declined" attachedToRef="pay"><bpmn:errorEventDefinition errorRef="e"/></bpmn:boundaryEvent>
    <bpmn:sequenceFlow id="f3" sourceRef="declined" targetRef="back"/>
    <bpmn:intermediateThrowEvent id="back"><bpmn:compensateEventDefinition/></bpmn:intermediateThrowEvent>
    <bpmn:sequenceFlow id="f4" sourceRef="pay" targetRef="end"/>
    <bpmn:endEvent id="end"/>"""

LOOPED = '<bpmn:serviceTask id="pay" name="Pay"><bpmn:multiInstanceLoopCharacteristics/>'


def test_a_compensation_that_is_thrown_is_reached() -> None:
    flow = only(READER, "trip.bpmn", HEAD + SAGA + TAIL)
    steps = by_id(flow)
    undo = steps["book"].undo
    assert undo is not None
    assert (undo.step, undo.reached, undo.tolerant, undo.retried, undo.span.line) == ("Cancel room", True, True, True, 10)
    assert steps["cancel"].marks == {Mark.RECOVERY}
    assert [step.id for step in flow.steps] == ["book", "pay", "cancel"]
    assert edges(flow) == [("book", "pay", "success"), ("pay", "cancel", "error")]
    assert (flow.id, flow.name, flow.undoes, flow.extra) == ("trip", "Trip", True, {"engine": "camunda-8"})
    assert [one.kind for one in flow.triggers] == [Starting.CALL]


@pytest.mark.parametrize(
    "broken",
    [
        SAGA.replace('targetRef="back"', 'targetRef="end"'),
        SAGA.replace('<bpmn:intermediateThrowEvent id="back"><bpmn:compensateEventDefinition/>', '<bpmn:intermediateThrowEvent id="back">'),
        SAGA.replace(
            '<bpmn:intermediateThrowEvent id="back"><bpmn:compensateEventDefinition/>',
            '<bpmn:intermediateThrowEvent id="back"><bpmn:compensateEventDefinition activityRef="pay"/>',
        ),
    ],
)
def test_a_compensation_that_nothing_throws_to_is_dead(broken: str) -> None:
    undo = by_id(only(READER, "trip.bpmn", HEAD + broken + TAIL))["book"].undo
    assert undo is not None
    assert not undo.reached


def test_a_boundary_without_a_handler_is_dead() -> None:
    text = HEAD + SAGA.replace('<bpmn:association id="a1" sourceRef="undoing" targetRef="cancel"/>', "") + TAIL
    undo = by_id(only(READER, "trip.bpmn", text))["book"].undo
    assert undo is not None
    assert (undo.step, undo.reached) == ("undoing", False)


def test_a_throw_at_a_scope_reaches_what_it_holds() -> None:
    body = """
    <bpmn:startEvent id="s"/><bpmn:sequenceFlow id="g0" sourceRef="s" targetRef="part"/>
    <bpmn:subProcess id="part"><bpmn:startEvent id="is"/><bpmn:sequenceFlow id="g1" sourceRef="is" targetRef="a"/>
      <bpmn:serviceTask id="a"/><bpmn:boundaryEvent id="b" attachedToRef="a"><bpmn:compensateEventDefinition/></bpmn:boundaryEvent>
      <bpmn:association sourceRef="b" targetRef="h"/><bpmn:serviceTask id="h" isForCompensation="true"/>
      <bpmn:sequenceFlow id="g2" sourceRef="a" targetRef="ie"/><bpmn:endEvent id="ie"/></bpmn:subProcess>
    <bpmn:sequenceFlow id="g3" sourceRef="part" targetRef="t"/>
    <bpmn:intermediateThrowEvent id="t"><bpmn:compensateEventDefinition activityRef="part"/></bpmn:intermediateThrowEvent>
    <bpmn:sequenceFlow id="g4" sourceRef="t" targetRef="z"/><bpmn:serviceTask id="z"/>"""
    flow = only(READER, "part.bpmn", HEAD + body + TAIL)
    undo = by_id(flow)["a"].undo
    assert undo is not None
    assert undo.reached
    assert edges(flow) == [("a", "z", "success"), ("a", "h", "success")]


def test_a_connector_sends_a_request_with_a_key_and_keeps_the_answer() -> None:
    step = by_id(only(READER, "trip.bpmn", HEAD + SAGA + TAIL))["pay"]
    assert step.effect is not None
    assert (step.effect.action, step.opaque) == ("stripe.charge", None)
    assert step.identity is not None
    assert (step.identity.bearing, step.identity.span.line) == (Bearing.STABLE, 21)
    assert [span.line for span in step.kept] == [23]
    assert step.on_error is OnError.ROUTE
    assert [(one.kind, one.bound, one.default) for one in step.repeaters] == [
        (Repeating.STEP_RETRY, 3, True),
        (Repeating.UNIT_RERUN, None, True),
    ]


def test_a_connector_ends_by_itself_and_a_worker_does_not() -> None:
    steps = by_id(only(READER, "trip.bpmn", HEAD + SAGA + TAIL))
    assert [(steps[name].timeout, steps[name].ends_after) for name in ("pay", "book")] == [(None, 40.0), (None, None)]


def test_what_sends_tells_another_process_and_a_person_where_its_name_says_so() -> None:
    event = '<bpmn:endEvent id="over"><bpmn:extensionElements><zeebe:taskDefinition type="over"/></bpmn:extensionElements>'
    event += "<bpmn:messageEventDefinition/></bpmn:endEvent>"
    body = '<bpmn:startEvent id="s"/><bpmn:sequenceFlow id="f1" sourceRef="s" targetRef="over"/>'
    sends = event.replace("endEvent", "sendTask")
    ones = (
        event,
        sends,
        sends.replace('id="over"', 'id="over" name="Notify customer"'),
        sends.replace('id="over"', 'id="over" name="Notify sales reps"'),
    )
    given = [by_id(only(READER, "e.bpmn", HEAD + body + one + TAIL))["over"].effect for one in ones]
    queued, told = {Kind.UNKNOWN, Kind.ENQUEUE}, {Kind.UNKNOWN, Kind.NOTIFY}
    assert [one.kinds for one in given if one] == [queued, queued, told, told]
    assert [one.receiver for one in given if one][2:] == [Receiver.UNKNOWN, Receiver.TEAM]


def test_a_process_that_is_called_is_not_tried_again_by_itself() -> None:
    called = '<bpmn:extensionElements><zeebe:calledElement processId="other"/></bpmn:extensionElements>'
    body = f'<bpmn:callActivity id="sub">{called}</bpmn:callActivity>'
    start = '<bpmn:startEvent id="s"/><bpmn:sequenceFlow id="f1" sourceRef="s" targetRef="sub"/>'
    (step,) = only(READER, "e.bpmn", HEAD + start + body + TAIL).steps
    assert [one.kind for one in step.repeaters] == [Repeating.UNIT_RERUN]


def test_code_of_a_worker_is_unread() -> None:
    step = by_id(only(READER, "trip.bpmn", HEAD + SAGA + TAIL))["book"]
    assert step.effect is not None
    assert (step.effect.kinds, step.effect.certain) == (frozenset({Kind.UNKNOWN}), False)
    assert step.opaque is not None
    assert (step.opaque.what, step.opaque.span.line) == ("book-room", 8)
    assert step.repeaters[0].bound == 5


def test_a_person_decides_and_silence_is_taken_for_an_answer() -> None:
    body = """
    <bpmn:startEvent id="s"><bpmn:timerEventDefinition>
      <bpmn:timeCycle>R/PT10M</bpmn:timeCycle></bpmn:timerEventDefinition></bpmn:startEvent>
    <bpmn:sequenceFlow id="g1" sourceRef="s" targetRef="ask"/>
    <bpmn:userTask id="ask" name="Approve order" camunda:candidateGroups="managers"/>
    <bpmn:boundaryEvent id="late" attachedToRef="ask"><bpmn:timerEventDefinition>
      <bpmn:timeDuration>P2D</bpmn:timeDuration></bpmn:timerEventDefinition></bpmn:boundaryEvent>
    <bpmn:sequenceFlow id="g2" sourceRef="late" targetRef="no"/>
    <bpmn:serviceTask id="no" name="Reject order" camunda:class="org.Reject"/>
    <bpmn:sequenceFlow id="g3" sourceRef="ask" targetRef="tell"/>
    <bpmn:sendTask id="tell" name="Send mail" camunda:asyncBefore="true"><bpmn:extensionElements>
      <camunda:failedJobRetryTimeCycle>R4/PT1M</camunda:failedJobRetryTimeCycle></bpmn:extensionElements></bpmn:sendTask>
    <bpmn:sequenceFlow id="g4" sourceRef="tell" targetRef="log"/>
    <bpmn:serviceTask id="log" camunda:class="org.Log"/>"""
    flow = only(READER, "ask.bpmn", SEVEN + body + TAIL)
    steps = by_id(flow)
    gate = steps["ask"].gate
    assert gate is not None
    assert (gate.kind, gate.approver, gate.visible, gate.timeout_answers) == ("approval", "managers", True, True)
    assert (steps["ask"].timeout, steps["ask"].fallible, steps["ask"].effect) == (172_800.0, False, None)
    assert [(one.kind, one.period) for one in flow.triggers] == [(Starting.SCHEDULE, 600.0)]
    told = steps["tell"]
    assert told.effect is not None
    assert Kind.NOTIFY in told.effect.kinds
    assert [(one.kind.value, one.bound) for one in told.repeaters] == [("step_retry", 4), ("unit_rerun", None)]
    # What follows without a place where the engine saves is done again together with it.
    assert (steps["log"].unit, [(one.kind.value, one.bound) for one in steps["log"].repeaters]) == (
        "tell",
        [("step_retry", 4), ("unit_rerun", None)],
    )
    assert edges(flow) == [("ask", "tell", "success"), ("ask", "no", "error"), ("tell", "log", "success")]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "<bpmn:serviceTask",
        HEAD.replace("<bpmn:definitions", '<!DOCTYPE x [<!ENTITY a "b">]>\n<bpmn:definitions') + TAIL,
        HEAD + "<bpmn:task>" * 120 + "</bpmn:task>" * 120 + TAIL,
    ],
)
def test_what_is_broken_or_dangerous_is_unreadable(text: str) -> None:
    source = Source("x.bpmn", text)
    assert READER.takes(source)
    with pytest.raises(Unreadable):
        list(READER.flows(source, given(source)))
    assert source.unread["bpmn"]


def test_odd_references_do_no_harm() -> None:
    body = """<bpmn:boundaryEvent id="b" attachedToRef="nobody"><bpmn:compensateEventDefinition/></bpmn:boundaryEvent>
    <bpmn:sequenceFlow sourceRef="b" targetRef="x"/><bpmn:association sourceRef="b" targetRef="x"/><bpmn:serviceTask/>
    <bpmn:serviceTask id="x" isForCompensation="true"/><bpmn:callActivity id="c" calledElement="elsewhere"/>"""
    flow = only(READER, "odd.bpmn", HEAD + body + TAIL)
    assert [step.id for step in flow.steps] == ["x", "c"]
    assert [unread.what for unread in flow.unread] == ["elsewhere"]  # without any code there is no part that could be given


def test_other_xml_is_left_alone() -> None:
    assert not READER.takes(Source("x.xml", "<process/>"))


def test_a_process_that_does_not_run_is_a_drawing_beside_one_that_does() -> None:
    drawn = '<bpmn:process id="drawn" isExecutable="false"><bpmn:serviceTask id="a"/></bpmn:process>'
    text = (HEAD + SAGA + TAIL).replace("</bpmn:definitions>", f"{drawn}</bpmn:definitions>")
    assert only(READER, "trip.bpmn", text).id == "trip"


def test_an_engine_of_jobs_keeps_each_turn_of_a_loop() -> None:
    flow = only(READER, "trip.bpmn", HEAD + SAGA.replace('<bpmn:serviceTask id="pay" name="Pay">', LOOPED) + TAIL)
    assert "each" in by_id(flow)["pay"].extra
    inside = '<bpmn:serviceTask id="a" camunda:class="shop.Pay"><bpmn:standardLoopCharacteristics/></bpmn:serviceTask>'
    assert "each" not in by_id(only(READER, "seven.bpmn", SEVEN + inside + TAIL))["a"].extra
