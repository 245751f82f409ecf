"""Conditions of a workflow put together: what never meets in one run; beside each what does, which differs in the one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from halfway.inspection.finding import Case
from tests.inspection.test_actions_told_too_much import WORKFLOW, only_if
from tests.inspection.test_told_too_much import INSPECTOR, told, workflow


def twice(one: str, other: str) -> str:
    return f"""- if: "{one}"
  run: gh issue create --title shop --body x
- if: "{other}"
  run: gh issue create --title stock --body x
"""


def taken_back(tried: str, failed: str = "steps.tried.outcome == 'failure'") -> str:
    return f"""- run: gh issue create --title shop --body x
- id: tried
  {tried}
  run: ./test-shop.sh
- if: {failed}
  run: gh release delete v1 --yes
"""


MERGES = "- run: gh pr merge \"$URL\"\n  env: {URL: '${{ github.event.pull_request.html_url }}'}"
BOTH = "[pull_request, workflow_dispatch]"
PAIRS = [
    ("R-08", workflow(twice("! contains(inputs.name, 'rc')", "contains(inputs.name, 'rc')")), workflow(twice("inputs.a", "inputs.b"))),
    ("R-08", workflow(twice("matrix.shop == 'a'", "matrix.shop == 'b'")), workflow(twice("matrix.shop == 'a'", "matrix.place == 'b'"))),
    ("R-08", workflow(twice("inputs.a == 'x'", "inputs.a != 'x'")), workflow(twice("inputs.a == 'x'", "inputs.a != 'y'"))),
    ("R-28", only_if("github.actor == 'helper[bot]'", MERGES, BOTH), only_if("github.actor == 'maria'", MERGES, BOTH)),
    ("R-28", only_if("github.actor == 'helper[bot]'", MERGES, BOTH), only_if("github.actor != 'helper[bot]'", MERGES, BOTH)),
    ("R-14", workflow(taken_back("shell: bash")), workflow(taken_back("if: always()"))),
    ("R-14", workflow(taken_back("shell: bash")), workflow(taken_back("shell: bash", "failure()"))),
    ("R-10", only_if("github.event_name == 'pull_request'", "- run: helm upgrade shop ."), only_if("true", "- run: helm upgrade shop .")),
]


@pytest.mark.parametrize(("rule", "none", "one"), PAIRS)
def test_what_never_meets_is_not_told(tmp_path: Path, rule: str, none: str, one: str) -> None:
    assert rule not in told(tmp_path, WORKFLOW, none.replace("on: push\n", "on:\n  push:\n"))
    assert rule in told(tmp_path, WORKFLOW, one.replace("on: push\n", "on:\n  push:\n"))


def quoted_starts(tmp_path: Path, condition: str) -> list[str]:
    path = tmp_path / WORKFLOW
    told(tmp_path, WORKFLOW, only_if(condition, "- run: terraform apply -auto-approve").replace("push\n", "\n  push:\n  pull_request:\n"))
    found = [one for flow in INSPECTOR.inspect([path]).flows for one in INSPECTOR.findings(Case(flow, INSPECTOR.knowledge))]
    return [fact.quote for one in found if one.rule == "R-10" for fact in one.facts[1:]]


def test_only_those_starts_are_named_that_come_to_the_step(tmp_path: Path) -> None:
    assert quoted_starts(tmp_path, "github.repository == 'shop/shop'") == ["push:", "pull_request:"]
    assert quoted_starts(tmp_path, "github.event_name == 'push'") == ["push:"]
    assert quoted_starts(tmp_path, "github.event_name != 'push'") == ["pull_request:"]
    assert quoted_starts(tmp_path, "github.ref == 'refs/heads/main'") == ["push:"]
