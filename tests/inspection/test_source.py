"""Trees with places: what is read is what the standard says, every value knows its line and its path, and nothing makes it hang."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfway.inspection.model import Span
from halfway.inspection.source import Source, join

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    node = Source("a.json", text).json
    assert node is not None
    assert node.plain == json.loads(text)


def test_every_value_of_json_knows_its_line_and_its_path() -> None:
    source = Source("a.json", '{\n "nodes": [\n  {"name": "Charge",\n   "retryOnFail": true}\n ],\n "a b": 1\n}')
    assert source.json is not None
    assert source.json.get("nodes", 0, "retryOnFail").span == Span("a.json", 4, 4, "nodes[0].retryOnFail")
    assert source.json.get("nodes", 0).span == Span("a.json", 3, 4, "nodes[0]")
    assert source.json.get("a b").span.at == "['a b']"
    assert source.json.get("nodes", 1, "name").there is False
    assert source.json.get("nodes", 0, "name", "x").span.line == 3


def test_every_value_of_yaml_knows_its_line_and_its_path() -> None:
    source = Source("a.yml", "on: [push]\njobs:\n  ship:\n    steps:\n      - run: |\n          one\n          two\n      - run: three\n")
    assert source.yaml is not None
    run = source.yaml.get("jobs", "ship", "steps", 0, "run")
    assert (run.span, run.first_line, run.text) == (Span("a.yml", 5, 7, "jobs.ship.steps[0].run"), 6, "one\ntwo\n")
    assert source.yaml.get("jobs", "ship", "steps", 1, "run").first_line == 8
    assert source.yaml.get("on", 0).text == "push"  # not a boolean, as in YAML 1.1


@pytest.mark.parametrize("text", ['{"a":}', "[1,]", '{"a" 1}', '"\\x"', "[", "nul", "1 2", '{"a": 1} x', "", "[" * 5000, '"\ttab"'])
def test_what_is_no_json_is_none_and_says_why(text: str) -> None:
    source = Source("a.json", text)
    assert source.json is None
    assert source.unread["json"].startswith("line 1: ")


def test_a_bomb_of_aliases_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    source = Source("a.yml", "\n".join(lines))
    assert source.yaml is None
    assert "aliases counted each time" in source.unread["yaml"]


def test_an_alias_is_at_its_own_place_with_the_lines_of_what_it_names() -> None:
    source = Source("a.yml", "a: &x\n  run: |\n    one\nb: [*x]\n? *x\n: c\n")
    assert source.yaml is not None
    run = source.yaml.get("b", 0, "run")
    assert (run.text, run.span, run.first_line) == ("one\n", Span("a.yml", 2, 3, "b[0].run"), 3)


def test_a_folded_text_has_spaces_where_it_was_folded() -> None:
    source = Source("a.yml", "a: >\n  one\n  two\nb: three\n  four\n")
    assert source.yaml is not None
    assert source.yaml.plain == {"a": "one two\n", "b": "three four"}


@pytest.mark.parametrize(
    "text", ["jobs: " + "[" * 5_000, "jobs: " + "{" * 5_000, "- " * 5_000, "\n".join(" " * n + "a:" for n in range(500))]
)
def test_what_is_too_deep_is_refused_as_soon_as_it_is(text: str) -> None:
    source = Source("a.yml", text)
    assert source.yaml is None
    assert "it is deeper than 100 levels" in source.unread["yaml"]


def test_json_is_read_as_json_where_yaml_is_asked_for() -> None:
    assert Source("a.yml", ' {"a": 1}').yaml is not None
    broken = Source("a.json", '{"a": 1')
    assert broken.yaml is None
    assert list(broken.unread) == ["json"]


def test_a_key_that_is_a_secret_is_none_of_a_path() -> None:
    assert join("env", "ghp_" + "a1B2c3D4" * 3) == "env['[…]']"
    assert join("env", "jane@shop.example") == "env['[…]']"


def test_an_alias_within_itself_is_refused() -> None:
    source = Source("a.yml", "a: &a\n  b: *a\n")
    assert source.yaml is None
    assert source.unread["yaml"]


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- x", "!!python/object/apply:os.system ['touch x']: [", "a: !<tag:x> *unknown"])
def test_what_is_no_yaml_is_none_and_says_why(text: str) -> None:
    source = Source("a.yml", text)
    assert source.yaml is None
    assert source.unread["yaml"]


def test_a_tag_is_text_and_nothing_is_made_of_it() -> None:
    source = Source("a.yml", "a: !!python/object/apply:os.system ['touch x']\n")
    assert source.yaml is not None
    assert source.yaml.get("a").plain == ["touch x"]


def test_paths_are_joined_as_people_write_them() -> None:
    assert [join("", "a"), join("a", "b-c"), join("a", 2), join("a", "b c"), join("", "1x")] == ["a", "a.b-c", "a[2]", "a['b c']", "['1x']"]
