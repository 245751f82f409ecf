"""Reading a file twice as long is about twice the work: counted in calls, because times tell of the machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.github_actions import GithubActions
from halfway.inspection.formats.n8n import N8n
from halfway.inspection.formats.python.reader import PythonReader
from halfway.inspection.knowledge import load
from halfway.inspection.source import Source

LENGTH = 60


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
    each = (f"  j{one}:\n    needs: [j{max(one - 1, 0)}, j{max(one - 2, 0)}]\n    steps: [{{run: ./deploy.sh}}]\n" for one in range(length))
    return "on: push\njobs:\n" + "".join(each)


def work(reader: Reader, path: str, text: str) -> int:
    """How many functions are called to make the flows of a text."""
    source, found = Source(path, text), [0]
    given = Given({path: source}, load())
    assert reader.takes(source)

    def count(_frame: object, event: str, _given: object) -> None:
        found[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        flows = list(reader.flows(source, given))
    finally:
        sys.setprofile(before)
    assert flows
    return found[0]


@pytest.mark.parametrize(
    ("reader", "path", "made"),
    [(PythonReader(), "long.py", script), (N8n(), "long.json", drawing), (GithubActions(), "long.yml", jobs)],
)
def test_a_file_twice_as_long_is_about_twice_the_work(reader: Reader, path: str, made: Callable[[int], str]) -> None:
    work(reader, path, made(2))  # what is loaded once is no work of either
    assert work(reader, path, made(2 * LENGTH)) < 2.5 * work(reader, path, made(LENGTH))
