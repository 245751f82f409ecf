"""Texts that are made to break the readers: each ends in a reason that is told, and in no exception of another kind."""

from __future__ import annotations

import json
import re
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from halfway.inspection import inspecting
from halfway.inspection.finding import Case, Finding
from halfway.inspection.formats import Given
from halfway.inspection.formats.all import READERS
from halfway.inspection.gathering import Gathered
from halfway.inspection.inspecting import Inspection, Inspector
from halfway.inspection.knowledge import load
from halfway.inspection.literals import comment, string
from halfway.inspection.model import Flow, RunLog
from halfway.inspection.rules import all_rules
from halfway.inspection.source import MOST_EDGES, Source, expressions, finite, replaced, whole

GOOD = "#!/bin/bash\ncurl -X POST https://a.example\n"
BEFORE = '<?xml version="1.0"?><definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><process id="p"><startEvent id="s"/>'
TASK = {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "Parameters": {"Message": "x"}, "End": True}


def inspected(folder: Path, files: Mapping[str, str | bytes]) -> Inspection:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return Inspector(READERS, all_rules(), load()).inspect([folder])


def told(found: Inspection) -> list[str]:
    return [skip.told for skip in found.skipped]


# ── numbers ──


@pytest.mark.parametrize("said", ["1e999999", "-inf", "nan", "9" * 5_000, 10**400, "1e16", "x"])
def test_a_number_without_an_end_is_none(said: str | int) -> None:
    assert finite(said) is None


@pytest.mark.parametrize("said", ["²", "٣", "9" * 5_000, "-1", "1.0", ""])
def test_what_only_looks_like_a_count_is_none(said: str) -> None:
    assert whole(said) is None


@pytest.mark.parametrize("number", ["1e999999", "1" + "0" * 5_000, "²", ".inf", "NaN", "-1"])
def test_no_number_of_a_file_is_too_great(tmp_path: Path, number: str) -> None:
    states = {"StartAt": "a", "States": {"a": {**TASK, "TimeoutSeconds": 7, "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 7}]}}}
    files = {
        "a.asl.json": json.dumps(states).replace("7", number),
        "compose.yml": f"services: {{a: {{image: x, restart: 'on-failure:{number}', command: curl -X POST https://a.example}}}}\n",
        "job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n"
        f"  backoffLimit: {number}\n  template: {{spec: {{containers: [{{name: a, image: x, command: [curl, -X, POST, a.example]}}]}}}}\n",
        "a.sh": f"{GOOD}for i in {{1..{number}}}; do curl -X POST a.example; done\n"
        f"curl --retry {number} -X POST a.example; halfwayexpr{number}x\n",
        "a.service": f"[Service]\nExecStart=/usr/bin/curl -X POST https://a.example\nRestart=always\nStartLimitBurst={number}\n",
        "a.bpmn": f"{BEFORE}<serviceTask id='t'><extensionElements><failedJobRetryTimeCycle>R{number}/PT1M</failedJobRetryTimeCycle>"
        "</extensionElements></serviceTask><sequenceFlow sourceRef='s' targetRef='t'/></process></definitions>",
    }
    if number[0].isdigit() and len(number) < 10:
        files["a.py"] = f"import requests\nfor i in range({number}):\n    requests.post('https://a.example', timeout={number} * {number})\n"
    assert len(inspected(tmp_path, files).flows) >= 4


# ── ends that never come ──


def test_expressions_end_at_the_nearest_end_and_without_one_nothing_is_left_to_look_for() -> None:
    text = "${{ a }} b ${{ c\n}}" + "${{ " * 20_000
    assert expressions(text) == [" a ", " c\n"]
    assert replaced(text, lambda whole: whole.upper()).startswith("${{ A }} b ${{ C\n}}${{ ")


def test_what_stands_between_quotes_ends_no_expression() -> None:
    assert expressions("${{ f('{{0}}', a) }} it's ${{ 'b''}}' }}") == [" f('{{0}}', a) ", " 'b''}}' "]
    assert expressions("${{ a' }} b") == [" a' "]


# ── too much ──


def fan(width: int) -> str:
    """A place where many may follow each of many."""
    tasks = "".join(f'<serviceTask id="t{one}"/><sequenceFlow sourceRef="t{one}" targetRef="g"/>' for one in range(width))
    ways = "".join(f'<sequenceFlow sourceRef="g" targetRef="t{one}"/>' for one in range(width))
    return f'{BEFORE}<sequenceFlow sourceRef="s" targetRef="g"/><exclusiveGateway id="g"/>{tasks}{ways}</process></definitions>'


def test_ways_from_each_step_to_each_are_bounded(tmp_path: Path) -> None:
    width = int(MOST_EDGES**0.5) + 2
    branches = [{"StartAt": f"s{one}", "States": {f"s{one}": TASK}} for one in range(width)]
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "p"}]
    around = {"Type": "Parallel", "End": True, "Branches": branches, "Catch": catch}
    files = {"fan.bpmn": fan(width), "around.asl.json": json.dumps({"StartAt": "p", "States": {"p": around}}), "good.sh": GOOD}
    found = inspected(tmp_path, files)
    assert [flow.name for flow in found.flows] == ["good.sh"]
    assert len([why for why in told(found) if "ways from step to step" in why]) == 2


def test_a_file_with_more_flows_than_are_read_tells_how_far_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "MOST_FLOWS", 2)
    found = inspected(tmp_path, {"crontab": "".join(f"@daily curl -X POST https://a.example/{one}\n" for one in range(4)), "good.sh": GOOD})
    assert [flow.format for flow in found.flows] == ["crontab", "crontab", "shell"]
    assert told(found) == ["crontab: line 3: the rest was not read, as the file has more than 2 flows or 3,000 steps"]


@pytest.mark.parametrize("text", ["x = 1\n" * 100_000, "f(1);" * 42_000])
def test_python_of_more_parts_than_are_read_is_told(tmp_path: Path, text: str) -> None:
    [why] = told(inspected(tmp_path, {"a.py": f"import requests\n{text}"}))
    assert "it is Python of more than 512 KiB" in why or "it has more than 200,000 parts" in why


def test_a_program_that_is_nested_without_end_is_told(tmp_path: Path) -> None:
    head = 'import { WorkflowEntrypoint } from "cloudflare:workers";\n'
    head += "export class A extends WorkflowEntrypoint {\n  async run(event, step) {\n"
    [why] = told(inspected(tmp_path, {"a.ts": head + "f(" * 50_000 + ")" * 50_000 + ";\n  }\n}\n"}))
    assert why == "cloudflare: line 4: the program is nested too deeply"


# ── files beside each other ──


def test_a_python_file_is_parsed_once_however_many_ask_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from halfway.inspection.formats.python import names

    parsed, asked = names.parsed, list[str]()
    monkeypatch.setattr(names, "parsed", lambda text: (asked.append(text), parsed(text))[1])
    task = "from temporalio import workflow\nfrom shared import charge\n@workflow.defn\nclass W:\n    @workflow.run\n"
    more = "    async def run(self):\n        await workflow.execute_activity(charge)\n        await workflow.execute_activity('other')\n"
    files = {f"w{one}.py": task + more for one in range(5)}
    shared = "import requests\ndef charge():\n    requests.post('https://a.example')\n"
    inspected(tmp_path, {**files, "shared.py": shared, "unlike.py": "import os\nos.remove('x')\n"})
    assert asked.count(shared) <= 2
    assert len(asked) <= 5 + 2 + 1 + 5


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
def test_other_files_are_read_beside_one_in_a_strange_encoding(tmp_path: Path, encoding: str) -> None:
    found = inspected(tmp_path, {"a.yml": "on: push # \u00e9\n".encode(encoding), "b.json": '{"nodes": "\\ud800"}', "good.sh": GOOD})
    assert "good.sh" in [flow.name for flow in found.flows]


def test_a_source_lets_go_of_what_its_readers_made_of_it() -> None:
    source, inspector = Source("a.py", "import requests\nrequests.post('https://a.example')\n"), Inspector(READERS, all_rules(), load())
    flows = inspector._flows(source, Given({"a.py": source}, load()), Gathered())
    assert next(flows)
    assert list(source.kept) == ["python"]
    assert list(flows) == []
    assert source.kept == {}


class Counted(dict[str, Source]):
    """Files that tell how often somebody goes over all of them."""

    gone_over = 0

    def items(self) -> ItemsView[str, Source]:
        self.gone_over += 1
        return super().items()


def test_a_setting_is_looked_for_once_in_all_files() -> None:
    sources = Counted({"a.py": Source("a.py", "import celery\nacks_late = True\n")})
    given = Given(sources, load())
    assert given.first(re.compile("acks_late"), ".py") == given.first(re.compile("acks_late"), ".py")
    assert given.first(re.compile("nothing"), ".py") is given.first(re.compile("nothing"), ".py") is None
    assert sources.gone_over == 2


class Broken:
    """A reader with an error in it."""

    name = "broken"

    def takes(self, source: Source) -> bool:
        return source.path.endswith(".sh")

    def flows(self, source: Source, given: Given) -> Iterator[Flow]:
        raise KeyError(source.path, given)

    def runs(self, source: Source, given: Given) -> Iterator[RunLog]:
        raise OverflowError(source.path, given)


def test_where_a_reader_errs_the_others_are_read_and_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "good.sh").write_text(GOOD)
    found = Inspector((Broken(), *READERS), all_rules(), load()).inspect([tmp_path], [tmp_path])
    assert [flow.name for flow in found.flows] == ["good.sh"]
    assert told(found)[0] == "broken: KeyError: an error of the inspection itself"
    assert "broken: OverflowError: an error of the inspection itself" in told(found)


def test_where_a_rule_errs_the_other_flows_are_judged_and_it_is_told(tmp_path: Path) -> None:
    def check(case: Case) -> Iterator[Finding]:
        if case.flow.name == "bad.sh":
            raise ZeroDivisionError
        yield from ()

    for name in ("bad.sh", "good.sh"):
        (tmp_path / name).write_text(GOOD)
    found = Inspector(READERS, [replace(all_rules()[0], check=check)], load()).inspect([tmp_path])
    assert found.card is not None
    assert (found.card.name, found.others) == ("good.sh", ())
    assert told(found) == ["shell: ZeroDivisionError: an error of the inspection itself"]


def test_what_may_be_passed_over_leads_to_what_comes_next_and_not_to_all(tmp_path: Path) -> None:
    calls = "".join(f"if a{one}:\n    requests.post('https://a.example/{one}')\n" for one in range(250))
    [flow] = inspected(tmp_path, {"a.py": f"import requests\n{calls}"}).flows
    assert len(flow.steps) == 250
    assert len(flow.edges) < MOST_EDGES / 2


def test_no_name_in_an_emitted_workflow_is_an_order_to_a_build_server() -> None:
    assert not any("##vso[" in put("close ##vso[task.setvariable variable=x]y") for put in (comment, string))
