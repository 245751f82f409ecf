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
    ],
)
def test_its_look_alike_stands(tmp_path: Path, text: str, rule: str, severities: list[str]) -> None:
    assert told(tmp_path, "p.bpmn", text).get(rule) == severities
