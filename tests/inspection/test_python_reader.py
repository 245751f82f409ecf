from __future__ import annotations

import pytest

from halfway.inspection.formats import Given
from halfway.inspection.formats.python import PythonReader
from halfway.inspection.source import Source, Unreadable
from tests.inspection.python_samples import Few, one, read


@pytest.mark.parametrize(
    ("path", "text", "taken"),
    [
        ("a.py", "import os\n", True),
        ("a", "#!/usr/bin/env python3\nfrom os import path\n", True),
        ("a", "def main():\n    pass\n", True),
        ("a.sh", "#!/bin/sh\nimport os\n", False),
        ("a.json", '{"a": [1, 2]}', False),
        ("a.yml", "on: push\njobs: x\n", False),
        ("a.md", "# Text\nimport os\nand then\n", False),
        ("a.py", "import os\ndef broken(:\n", True),
        ("a.py", "X = 1\n", False),
        ("a.py", "", False),
    ],
)
def test_a_file_is_taken_by_what_it_says(path: str, text: str, taken: bool):
    assert PythonReader().takes(Source(path, text)) is taken


@pytest.mark.parametrize(
    "text",
    ["import os\ndef broken(:\n", "import os\n" + "(" * 300, "import os\nx = \x00\n", "import os\n" + "x = " + "-" * 100_000 + "1\n"],
)
def test_a_text_that_cannot_be_parsed_is_unreadable_and_nothing_else(text: str):
    source = Source("a.py", text)
    with pytest.raises(Unreadable):
        list(PythonReader().flows(source, Given({"a.py": source}, Few())))


@pytest.mark.parametrize(
    "text",
    [
        "import os\nx = " + " + ".join(["f()"] * 300) + "\n",
        "import os\nx = x\nx = x * 2\nrequests.post(x, timeout=x, headers=x)\n",
        "from a import f\nf()\n",
        "def f():\n    g()\ndef g():\n    f()\nf()\n",
        "import requests\n"
        + "".join(f"def f{n}():\n    f{n + 1}()\n    f{n + 1}()\n    f{n + 1}()\n" for n in range(30))
        + "def f30():\n    requests.post('x')\nf0()\n",
        "import requests\nrequests.post(*a, **b)\nrequests.request()\nopen()\nopen(mode=1)\nboto3.client()\n",
        "import subprocess\nsubprocess.run()\nsubprocess.run([])\nsubprocess.run('')\nsubprocess.run(*x)\nsubprocess.run('a \"b')\n",
        "import tenacity\n@tenacity.retry(stop=f)\n@tenacity.retry(*a)\ndef f():\n    pass\n",
        "from celery import shared_task\n@shared_task(*a, max_retries=b)\ndef t(*args, **kw):\n    t.retry()\n",
        "import temporalio\nfrom temporalio import workflow\n@workflow.defn\nclass A:\n    @workflow.run\n"
        "    def run(self):\n        workflow.execute_activity()\n",
        "from airflow import DAG\nDAG()\nwith DAG(*a):\n    XOperator(task_id=f())\n    a >> [b, c] >> d\n",
        "from prefect import flow, task\n@flow(retries='x')\ndef f():\n    f()\n    g.submit()\n",
        "class A:\n    def f(self):\n        self.g()\n    def g(self):\n        self.f()\nA().f()\n",
        "match x:\n    case 1:\n        f()\n    case _:\n        return\nimport os\n",
        "try:\n    f()\nexcept* ValueError:\n    g()\nfinally:\n    h()\nimport os\n",
    ],
)
def test_no_text_raises_anything_else(text: str):
    assert isinstance(read(text, a="from job import f\n", b="from a import f\n"), list)


def test_ids_stay_when_lines_move():
    text = "import requests\nrequests.post('https://a.example')\nrequests.post('https://b.example')\n"
    first, second = one(text), one("\n\n# moved\n" + text)
    assert [step.id for step in first.steps] == [step.id for step in second.steps] == ["script/requests.post", "script/requests.post#2"]
    assert [step.span.line for step in second.steps] == [5, 6]
    assert [step.order for step in first.steps] == [0, 1]


def test_no_quote_has_a_secret_in_it():
    flow = one(
        "import requests\nhead = {'Authorization': 'Bearer abcdefghijklmnop'}\n"
        "requests.post('https://a.example?token=abcdefghijklmnop', headers=head, json={'to': 'kim@example.org'})\n"
    )
    told = repr(flow)
    assert "abcdefghijklmnop" not in told
    assert "kim@example.org" not in told


def test_a_script_without_effects_is_a_flow_without_steps_and_a_library_is_none():
    assert one("import os\nif __name__ == '__main__':\n    print(os.getcwd())\n").steps == ()
    assert read("import requests\ndef helper():\n    requests.post('https://a.example')\n") == []


def test_steps_without_an_effect_are_told_once_and_only_between_effects():
    flow = one(
        "import requests\nimport shop\nshop.load()\nrequests.post('https://a.example')\nshop.check()\n"
        "shop.verify()\nrequests.post('https://b.example')\n"
    )
    assert [(step.name, step.effect is None, step.fallible) for step in flow.steps] == [
        ("requests.post", False, True),
        ("shop.check", True, True),
        ("requests.post", False, True),
    ]
    assert [(edge.before, edge.after) for edge in flow.edges] == [
        ("script/requests.post", "script/shop.check"),
        ("script/shop.check", "script/requests.post#2"),
    ]


def test_errors_without_parentheses_are_read_as_newer_versions_read_them():
    flow = one("import svc\ntry:\n    svc.create_order()\nexcept OSError, svc.Lost:\n    pass\n")
    assert [(step.span.line, step.on_error.value) for step in flow.steps] == [(3, "swallow")]
