"""What looks like a weakness of a diagram and is none, or a lesser one; beside each the one that is, which differs in the one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspection.test_told_too_much import told

SEVEN = 'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"'
EIGHT = 'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'


def diagram(body: str, engine: str = SEVEN, beside: str = "") -> str:
    """A process that runs and begins at `s`, which leads to `a`; with other things beside it."""
    return f"""<?xml version="1.0"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" {engine}>
  <process id="p" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="a"/>
    {body}
  </process>
  {beside}
</definitions>"""


def reminded(at: str) -> str:
    """A timer at something, which goes on beside what it tells."""
    timer = "<timerEventDefinition><timeDuration>P2D</timeDuration></timerEventDefinition>"
    remind = '<sequenceFlow id="late" sourceRef="t" targetRef="r"/><manualTask id="r" name="Ask at the counter"/>'
    return f'<boundaryEvent id="t" attachedToRef="{at}" cancelActivity="false">{timer}</boundaryEvent>{remind}'


INSIDE = """<subProcess id="a"><startEvent id="is"/><sequenceFlow id="g" sourceRef="is" targetRef="i"/>
  <subProcess id="i"><startEvent id="js"/><sequenceFlow id="h" sourceRef="js" targetRef="w"/><receiveTask id="w" name="Wait for the goods"/>
  </subProcess></subProcess>"""
MESSAGE, CLOCK = "messageEventDefinition", "timerEventDefinition"


def first_of(*kinds: str) -> str:
    """A gateway that goes on with the first of what comes."""
    ones = [
        f'<sequenceFlow id="g{n}" sourceRef="a" targetRef="e{n}"/><intermediateCatchEvent id="e{n}"><{kind}/></intermediateCatchEvent>'
        for n, kind in enumerate(kinds)
    ]
    return f'<eventBasedGateway id="a"/>{"".join(ones)}'


def connector(target: str) -> str:
    definition = '<zeebe:taskDefinition type="acme:post:1"/>'
    given = f'<zeebe:ioMapping><zeebe:input source="PT1M" target="{target}"/></zeebe:ioMapping>'
    return f'<serviceTask id="a" name="Post"><extensionElements>{definition}{given}</extensionElements></serviceTask>'


def sent(how: str, name: str = "Send the bill for payment") -> str:
    """An event behind a wait, which a job of its own sends."""
    return f"""<userTask id="a" name="Pack the box"/><boundaryEvent id="t" attachedToRef="a"><timerEventDefinition/></boundaryEvent>
    <sequenceFlow id="g" sourceRef="a" targetRef="b"/>
    <intermediateThrowEvent id="b" name="{name}" camunda:asyncBefore="true"><messageEventDefinition messageRef="m" {how}/>
    </intermediateThrowEvent>"""


INSIDE_ENGINE = "camunda:expression=\"${runtimeService.createMessageCorrelation('billed').correlate()}\""
BY_CODE = 'camunda:class="shop.PayByCard"'


def paying(start: str, message: str = "billed") -> str:
    """Another process, which begins when it is told and pays."""
    return f"""<process id="q" isExecutable="true"><startEvent id="qs" {start}><messageEventDefinition messageRef="m"/></startEvent>
    <sequenceFlow id="q1" sourceRef="qs" targetRef="pay"/><serviceTask id="pay" name="Pay the shop" camunda:class="shop.PayByCard"/>
    </process><message id="m" name="{message}"/>"""


def caught(code: str) -> str:
    """A payment whose error has a way of its own, to a refund."""
    return diagram(
        """<serviceTask id="a" name="Charge card" camunda:class="shop.Charge"/><boundaryEvent id="b" attachedToRef="a">
        <errorEventDefinition errorRef="Error_1a2b3c"/></boundaryEvent><sequenceFlow id="g" sourceRef="b" targetRef="c"/>
        <serviceTask id="c" name="Refund card" camunda:class="shop.Refund"/>""",
        beside=f'<error id="Error_1a2b3c" errorCode="{code}"/>',
    )


def pair(first: str, then: str) -> str:
    return diagram(f'{first}<sequenceFlow id="g" sourceRef="a" targetRef="b"/>{then}')


PAYS = '<serviceTask id="a" name="Pay the shop" camunda:class="shop.PayByCard"/>'
SENDS = '<sendTask id="a" name="Pay for a van" camunda:delegateExpression="${{{}}}"/>'
BOOKS = '<serviceTask id="b" name="Book" camunda:class="shop.Book"/>'
WORKER = '<serviceTask id="a" name="Send mail" camunda:type="external" camunda:topic="letters"/>'
STARTED = '<startEvent id="s"/>'
BY_MESSAGE = '<startEvent id="s"><messageEventDefinition messageRef="m"/></startEvent>'
CHECKS = '<serviceTask id="a" name="Check customer credit" camunda:type="external" camunda:topic="score"/>'
CALLED = '<callActivity id="a" name="Pack" calledElement="packing"/>'


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        # a timer around all that it is a part of, also one that only tells somebody
        (diagram(INSIDE + reminded("a")), "R-15"),
        # a timer is among what is waited for
        (diagram(first_of(MESSAGE, CLOCK)), "R-15"),
        # a limit that a connector is handed; what hangs in a process that is called is told there
        (diagram(connector("data.sending.timeout"), EIGHT), "R-15"),
        (diagram(CALLED), "R-15"),
        # a message inside the engine is taken back with the one who sends it, whatever it is about; an event without code pays nothing
        (diagram(sent(INSIDE_ENGINE)), "R-01 R-02 R-08 R-16 R-20"),
        (diagram(sent("")), "R-16 R-20"),
        # where it begins, the engine saves
        (diagram(sent(INSIDE_ENGINE), beside=paying('camunda:asyncAfter="true"')), "R-01 R-02"),
        # who was asked in the other process has let it pass
        (diagram(sent(INSIDE_ENGINE), beside=paying("")), "R-32"),
        # the error that is caught has a code; a task that no program does cannot fail
        (caught("noMoney"), "R-14"),
        (pair(PAYS, '<task id="b" name="Read the bill"/>'), "R-20"),
        (pair(PAYS, '<intermediateCatchEvent id="b" name="Bill paid"><messageEventDefinition/></intermediateCatchEvent>'), "R-20"),
        # what only pretends; how often a worker tries, it says itself; a name without its package; a text is no code
        (pair(SENDS.format("mockVan"), BOOKS), "R-08"),
        (diagram(WORKER), "R-02"),
        (diagram('<serviceTask id="a" name="Look at the box" camunda:class="shop.desk.CheckBox"/>'), "R-44"),
        (diagram('<serviceTask id="a" name="Pack" camunda:expression="later"/>'), "R-44"),
        # a table decides by what was asked
        (pair(CHECKS, '<businessRuleTask id="b" name="Decide"/>'), "R-44"),
    ],
)
def test_it_is_none(tmp_path: Path, text: str, silent: str) -> None:
    found = told(tmp_path, "p.bpmn", text)
    assert {rule: found[rule] for rule in silent.split() if rule in found} == {}


@pytest.mark.parametrize(
    ("text", "rule", "severities"),
    [
        (diagram(INSIDE + reminded("b")), "R-15", ["LOW"]),
        # of several that end one wait it is said once
        (diagram(first_of(MESSAGE, MESSAGE, MESSAGE)), "R-15", ["LOW"]),
        (diagram(connector("data.sending.text"), EIGHT), "R-15", ["LOW"]),
        (diagram(CALLED), "R-44", ["MEDIUM"]),
        (diagram(sent(BY_CODE)), "R-01", ["BLOCKER"]),
        (diagram(sent(INSIDE_ENGINE), beside=paying("")), "R-01", ["BLOCKER"]),
        (diagram(sent(INSIDE_ENGINE), beside=paying("")), "R-02", ["HIGH"]),
        (diagram(PAYS), "R-32", ["MEDIUM"]),
        # whoever sends the message has decided, and who that is stands elsewhere
        (diagram(PAYS).replace(STARTED, BY_MESSAGE), "R-32", ["LOW"]),
        (caught("anyFailure"), "R-14", ["HIGH"]),
        (pair(PAYS, BOOKS), "R-20", ["HIGH"]),
        (pair(SENDS.format("van"), BOOKS), "R-08", ["MEDIUM"]),
        (diagram(WORKER), "R-01", ["HIGH"]),
        (diagram('<serviceTask id="a" name="Look at the box" camunda:class="shop.check.Box"/>'), "R-44", ["MEDIUM"]),
        (diagram('<serviceTask id="a" name="Pack" camunda:expression="${boxes.pack()}"/>'), "R-44", ["MEDIUM"]),
        (pair(CHECKS, BOOKS), "R-44", ["HIGH", "MEDIUM"]),
    ],
)
def test_its_look_alike_stands(tmp_path: Path, text: str, rule: str, severities: list[str]) -> None:
    assert told(tmp_path, "p.bpmn", text).get(rule) == severities
