"""Reading a file twice as long is about twice the work: counted in calls, because times tell of the machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest

from halfway.inspection.finding import Case
from halfway.inspection.formats import Given, Reader, bpmn, cloudflare
from halfway.inspection.formats.github_actions import GithubActions
from halfway.inspection.formats.n8n import N8n
from halfway.inspection.formats.python.reader import PythonReader
from halfway.inspection.formats.shell import Shell
from halfway.inspection.inspecting import Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.model import Flow
from halfway.inspection.rules import all_rules
from halfway.inspection.source import Source

LENGTH = 40


def script(length: int) -> str:
    calls = (f"r{one} = requests.post('https://a.example/{one}', json={{'before': r{one - 1}}})\n" for one in range(length))
    return "import requests\nr = 0\n" + "".join(calls)


def drawing(length: int) -> str:
    names = [f"n{one}" for one in range(length)]
    nodes = [
        {"name": name, "type": "n8n-nodes-base.gmail", "parameters": {"sendTo": f"={{{{ $('n{max(place - 1, 0)}').item.json.id }}}}"}}
        for place, name in enumerate(names)
    ]
    links = {one: {"main": [[{"node": other, "type": "main", "index": 0}]]} for one, other in pairwise(names)}
    return json.dumps({"name": "long", "nodes": nodes, "connections": links})


def jobs(length: int) -> str:
    each = (
        f"  j{one}:\n    needs: {[f'j{before}' for before in (one - 1, one - 2) if before >= 0]}\n    steps: [{{run: ./deploy.sh}}]\n"
        for one in range(length)
    )
    return "on: push\njobs:\n" + "".join(each)


def functions(length: int) -> str:
    each = (f"def f{one}():\n    requests.post('https://a.example/{one}')\n    f{one + 1}()\n" for one in range(length))
    return "import requests\n" + "".join(each) + "f0()\n"


def loops(length: int) -> str:
    one = "for a in b:\n    try:\n        requests.post('https://a.example/{0}')\n    except OSError:\n        undo{0}()\n"
    return "import requests\n" + "".join(one.format(number) for number in range(length))


def one_statement(length: int) -> str:
    return "import requests\nx = [" + ", ".join(f"requests.post('https://a.example/{one}', json=a)" for one in range(length)) + "]\n"


def listed(length: int) -> str:
    return "#!/bin/bash\n" + " && ".join(f"curl -X POST https://a.example/{one}" for one in range(length)) + "\n"


def classes(length: int) -> str:
    body = "async run(event, step) { await step.do('x', async () => fetch('https://a.example', {method: 'POST'})) }"
    return "".join(f"export class A{one} extends WorkflowEntrypoint {{ {body} }}\n" for one in range(length))


def nested(length: int) -> str:
    head = "export class A extends WorkflowEntrypoint { async run(event, step) { await step.do('x', async () => 1); x = "
    return head + "f(" * length + "1" + ")" * length + " }}"


def processes(length: int) -> str:
    one = '<process id="p{0}" isExecutable="true"><startEvent id="s{0}"/><serviceTask id="t{0}"/></process>'
    space = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'
    return f"<definitions {space}>{''.join(one.format(number) for number in range(length))}</definitions>"


def work(reader: Reader, path: str, text: str) -> int:
    """How many functions are called to make the flows of a text."""
    source, flows = Source(path, text), list[Flow]()
    given = Given({path: source}, load())
    assert reader.takes(source)
    calls = counted(lambda: flows.extend(reader.flows(source, given)))
    assert flows
    return calls


def counted(done: Callable[[], object]) -> int:
    found = [0]

    def count(_frame: object, event: str, _given: object) -> None:
        found[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        done()
    finally:
        sys.setprofile(before)
    return found[0]


@pytest.mark.parametrize(
    ("reader", "path", "made"),
    [
        (PythonReader(), "long.py", script),
        (PythonReader(), "functions.py", functions),
        (PythonReader(), "statement.py", one_statement),
        (N8n(), "long.json", drawing),
        (GithubActions(), "long.yml", jobs),
        (Shell(), "list.sh", listed),
        (cloudflare.READER, "classes.ts", classes),
        (cloudflare.READER, "nested.ts", nested),
        (bpmn.READER, "processes.bpmn", processes),
    ],
)
def test_a_file_twice_as_long_is_about_twice_the_work(reader: Reader, path: str, made: Callable[[int], str]) -> None:
    work(reader, path, made(2))  # what is loaded once is no work of either
    assert work(reader, path, made(2 * LENGTH)) < 2.5 * work(reader, path, made(LENGTH))


def test_rules_look_at_a_flow_twice_as_long_with_about_twice_the_work() -> None:
    def looked(length: int) -> int:
        source = Source("a.py", loops(length))
        [one] = PythonReader().flows(source, Given({"a.py": source}, load()))
        inspector = Inspector((), all_rules(), load())
        return counted(lambda: inspector.findings(Case(one, inspector.knowledge)))

    looked(2)
    assert looked(2 * LENGTH) < 3.2 * looked(LENGTH)
