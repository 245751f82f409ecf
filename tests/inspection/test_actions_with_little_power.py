"""Parts of a workflow that were not given and cannot do much; beside each one that can, which differs in the one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspection.test_actions_told_too_much import READ_ONLY, SECRET, WORKFLOW
from tests.inspection.test_told_too_much import told, workflow

RELEASE = "- run: bash scripts/release/gather.sh --output goods/list.json\n"
KEY = "key: '${{ secrets.SHOP_KEY }}'"


def fetched(asked: str, taken: str = "steps.vault.outputs.SHOP_TOKEN") -> str:
    return f"""- id: vault
  uses: acme/strongbox@v1
  with:
    {KEY}
    paths: |
      shop/ci {asked};
- uses: actions/checkout@v4
  with: {{token: "${{{{ {taken} }}}}"}}
"""


def built(name: str, more: str) -> str:
    return f"- name: {name}\n  uses: acme/shop-app@v1\n  with: {{{KEY}, {more}}}\n"


def boarded(owner: str) -> str:
    return f"- uses: {owner}/add-to-project@v1\n  with: {{{KEY}}}\n"


def ordered(lines: str) -> str:
    return f"""- uses: acme/platform-tools@v1
  with:
    {KEY}
    command: |
      {lines}
      cf restage shop
"""


PAIRS = [
    (READ_ONLY + workflow(RELEASE), workflow(RELEASE)),
    (READ_ONLY + workflow(RELEASE), READ_ONLY + workflow(RELEASE + SECRET)),
    (READ_ONLY + workflow("- uses: acme/publish@v1"), workflow("- uses: acme/publish@v1")),
    (READ_ONLY + workflow("- uses: ./.github/actions/publish"), workflow("- uses: ./.github/actions/publish")),
    (workflow("- run: python tools/sort_emails.py"), workflow("- run: python tools/sort_emails.py\n" + SECRET)),
    (workflow("- run: python tools/sort_emails.py"), workflow("- run: python tools/send_goods.py")),
    (workflow("- run: python tools/add.py\n  env: {H: '${{ secrets.SHOP_HASH }}'}"), workflow("- run: python tools/add.py\n" + SECRET)),
    (workflow(fetched("SHOP_TOKEN")), workflow(fetched("LIST"))),
    (workflow(fetched("SHOP_TOKEN", "env.SHOP_TOKEN")), workflow(fetched("SHOP_TOKEN", "github.token"))),
    (workflow(built("Build the app", "args: fast")), workflow(built("Build the app", "tagName: v1"))),
    (workflow(built("Build the app", "args: fast")), workflow(built("Build the app", "t: '${{ github.token }}'"))),
    (workflow(built("Build the app", "args: fast")), workflow(built("Hand over the app", "args: fast"))),
    (workflow(built("Create shop.xml", "args: fast")), workflow(built("Create shop", "args: fast"))),
    (workflow(built("Create shop.xml", "args: fast")), workflow(built("Create shop.xml and publish", "args: fast"))),
    (workflow(ordered("cf set-env shop A b")), workflow(ordered("shop-tool open"))),
    (workflow(boarded("actions")), workflow(boarded("acme"))),
]


@pytest.mark.parametrize(("none", "one"), PAIRS)
def test_a_part_with_little_power_is_not_told(tmp_path: Path, none: str, one: str) -> None:
    assert "R-44" not in told(tmp_path, WORKFLOW, none)
    assert "R-44" in told(tmp_path, WORKFLOW, one)


def test_the_commands_that_an_action_is_handed_are_read(tmp_path: Path) -> None:
    assert "R-15" in told(tmp_path, WORKFLOW, workflow(ordered("cf set-env shop A b")).replace("    timeout-minutes: 9\n", ""))
