"""Failures that a handler of a Python file passes over: what is done after them, and what is not reached, is asked, or is heard of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspection.test_told_too_much import told

TASK = """
import sys
from logging import error as note
import requests
from celery import shared_task

URL = "https://bank.shop.example/charges"

def report(order):
    requests.post("https://books.shop.example/entries", json=order, timeout=9)

{helpers}
@shared_task
def sell(order):
{body}
"""
PAY = """
def pay(order):
    try:
        requests.post(URL, json=order, timeout=9)
    except requests.RequestException as error:
        print(error)
        {}
    return True
"""
FOLLOWING = [
    # the rest of the body is left, and only what comes after the handler is reached
    ("try:\n  requests.post(URL, timeout=9)\n  report(order)\nexcept Exception:\n  note(1)",
     "try:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\nreport(order)"),
    # who leaves in the handler does not come to it
    ("try:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\n  return\nreport(order)",
     "try:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\nreport(order)"),
    ("try:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\n  sys.exit(2)\nreport(order)",
     "try:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\n  note(2)\nreport(order)"),
    ("for one in order:\n  try:\n    requests.post(URL, timeout=9)\n  except Exception:\n    note(1)\n    continue\n  report(one)",
     "for one in order:\n  try:\n    requests.post(URL, timeout=9)\n  except Exception:\n    note(1)\n    continue\nreport(order)"),
    # it is asked by what the way of the failure has made otherwise
    ("paid = False\ntry:\n  requests.post(URL, timeout=9)\n  paid = True\nexcept Exception:\n  note(1)\nif paid:\n  report(order)",
     "paid = False\ntry:\n  requests.post(URL, timeout=9)\n  paid = True\nexcept Exception:\n  note(1)\nif order:\n  report(order)"),
    ("lost = []\ntry:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  lost.append(order)\nif lost:\n  return\nreport(order)",
     "lost = []\ntry:\n  requests.post(URL, timeout=9)\nexcept Exception:\n  lost.append(order)\nreport(order)"),
    # a retry that raises at last has not passed it over
    ("for turn in (1, 2):\n  try:\n    requests.post(URL, timeout=9)\n    break\n  except Exception:\n    if turn > 1: raise\nreport(1)",
     "for turn in (1, 2):\n  try:\n    requests.post(URL, timeout=9)\n    break\n  except Exception:\n    note(1)\nreport(order)"),
    # no handler of the same function is one of the caller's
    ("try:\n  report(order)\n  requests.post(URL, timeout=9)\n  report(order)\nexcept Exception:\n  note(1)",
     "try:\n  report(order)\n  requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\nreport(order)"),
]  # fmt: skip
ASKED = [
    ("return False", "if pay(order):\n  report(order)", "pay(order)\nreport(order)"),
    ("return False", "paid = pay(order)\nif not paid:\n  return\nreport(order)", "paid = pay(order)\nreport(order)"),
    ("raise", "pay(order)\nreport(order)", ""),
]
HEARD = "try:\n  shop.orders.create_order(order)\nexcept Exception:\n  pass\n{}"


def task(body: str, helpers: str = "") -> str:
    lines = "\n".join("    " + one.replace("  ", "    ") for one in body.splitlines())
    return TASK.format(helpers=helpers, body=lines)


@pytest.mark.parametrize(("none", "one"), FOLLOWING)
def test_only_what_the_way_of_the_failure_comes_to_is_done_as_if_it_had_succeeded(tmp_path: Path, none: str, one: str) -> None:
    assert "R-13" not in told(tmp_path, "a.py", task(none))
    assert "R-13" in told(tmp_path, "b.py", task(one))


@pytest.mark.parametrize(("handler", "none", "one"), ASKED)
def test_what_a_function_answers_after_a_failure_may_be_asked(tmp_path: Path, handler: str, none: str, one: str) -> None:
    assert "R-13" not in told(tmp_path, "a.py", task(none, PAY.format(handler)))
    assert not one or "R-13" in told(tmp_path, "b.py", task(one, PAY.format(handler)))


def test_a_result_that_was_asked_for_is_not_missing(tmp_path: Path) -> None:
    lost = "answer = None\ntry:\n  answer = requests.post(URL, timeout=9)\nexcept Exception:\n  note(1)\n{}requests.post(URL, json=answer)"
    assert "R-13" not in told(tmp_path, "a.py", task(lost.format("if answer is None:\n  return\n")))
    assert told(tmp_path, "b.py", task(lost.format("")))["R-13"] == ["HIGH"]


def test_a_run_that_raises_later_does_not_end_as_if_it_had_succeeded(tmp_path: Path) -> None:
    sends = task(HEARD.format("raise ValueError(order)")).replace("import sys", "import sys\nimport shop")
    assert "R-13" not in told(tmp_path, "a.py", sends)
    assert "R-13" in told(tmp_path, "b.py", sends.replace("raise ValueError", "print"))


def test_what_tells_of_a_failure_is_told_of_by_another_rule(tmp_path: Path) -> None:
    text = task("try:\n  order.weigh()\nexcept Exception:\n  try:\n    telegram.bot.send_message(order)\n  except Exception:\n    pass")
    found = told(tmp_path, "a.py", text.replace("import sys", "import sys\nimport telegram"))
    assert "R-13" not in found
    assert "R-30" in found
