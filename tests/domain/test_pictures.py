"""Pictures of workflows: everything is in them, nothing lies on anything else, and no text gets out of its place."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfway.domain.drawing import mermaid_lines, text_lines
from halfway.domain.layout import Layout, Size, arrange
from halfway.domain.picture import Line, Picture, picture_of
from halfway.domain.spec import Effect, FanSpec, Sort, StepSpec, WorkflowSpec
from halfway.domain.svg import svg
from tests.domain.pictures import ALL, DRAWINGS, FOLDER, LOOP, ORDER, STRANGE

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("form", DRAWINGS)
def test_a_picture_is_the_committed_one(name: str, form: str) -> None:
    assert DRAWINGS[form](picture_of(ALL[name])) == (FOLDER / f"{name}.{form}").read_text(encoding="utf-8")


def test_what_a_step_does_waits_for_and_asks_is_told() -> None:
    nodes = {node.name: (node.look, node.kind, node.details) for node in picture_of(ORDER).nodes}
    assert nodes["RESERVE"] == ("step", "CHANGE", ("probe, holds its record", "undo HIGH, approved by shop-owner"))
    assert nodes["BOOK"] == ("transaction", "transaction", ())
    assert nodes["PAYMENT"] == ("wait", "waits for the event PAID", ("at most 3 d, then CANCEL",))
    assert nodes["AGREE"][:2] == ("approval", "approval by 2 of finance")
    assert nodes["CHARGE"][2] == ("each attempt approved by finance", "irreversible", "fails: MANUAL")
    assert nodes["SHIPPED"][1:] == ("waits for the run of SHIPMENT", ("at most 90 min, then PROBE",))
    assert nodes["COOL_DOWN"] == ("wait", "waits for a time", ())


def test_loops_items_conditions_and_children_are_told() -> None:
    nodes = {node.name: (node.look, node.kind, node.details) for node in picture_of(LOOP).nodes}
    assert nodes["ILLUSTRATE"][2] == ("optional", "probe")
    assert nodes["TRANSLATE"][2] == ("only if is_international", "idempotent")
    assert nodes["PUBLISH"][2] == ("wants 1 before it", "probe")
    assert nodes["TELL"][:2] == ("each", "NOTIFY for each of COLLECT")
    assert [line.label for line in picture_of(LOOP).lines if line.course == "back"] == ["TOO_LONG, DULL, …: at most 3 times"]
    children = StepSpec(name="SHIP", sort=Sort.CHILDREN, fan=FanSpec(), detached=True)
    (node,) = picture_of(WorkflowSpec(type="PARENT", version=1, owner="o", steps=(children,))).nodes
    assert (node.look, node.kind, node.details) == ("each", "starts runs, and waits for them", ("they go on when it is stopped",))


def test_a_step_stands_below_everything_that_leads_to_it() -> None:
    layers = {node.name: node.layer for node in picture_of(ORDER).nodes}
    assert (layers["FIND_CUSTOMER"], layers["BOOK"], layers["PAYMENT"], layers["THANK"]) == (0, 1, 2, 6)


@pytest.mark.parametrize("name", ALL)
def test_an_svg_is_well_formed_and_holds_nothing_but_shapes_and_texts(name: str) -> None:
    text = svg(picture_of(ALL[name]))
    root = ElementTree.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "g", "title", "rect", "path", "polygon", "text"}
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    written = "".join(element.text or "" for element in root.iter(f"{SVG}text"))
    for node in picture_of(ALL[name]).nodes:
        assert node.name in written


def test_texts_of_the_author_stay_texts() -> None:
    picture = picture_of(STRANGE)
    text = svg(picture)
    assert "<script" not in text
    assert "<img" not in text
    assert "\x00" not in text
    assert "\x1b" not in text
    lines = "\n".join(mermaid_lines(picture))
    assert '"><img' not in lines
    assert re.findall(r"[<>](?!/)", lines.replace("<br/>", "").replace("-->", "")) == []


def test_a_line_back_is_dashed_and_told() -> None:
    """As of a loop; nothing of a layout hangs on it."""
    before = picture_of(ALL["short"])
    back = Line(source="GREET", target="FIND", course="back", label="at most 3 times")
    picture = Picture(title=before.title, subtitle=before.subtitle, nodes=before.nodes, lines=(*before.lines, back))
    assert "at most 3 times" in svg(picture)
    assert svg(picture).count("stroke-dasharray") == 1
    assert list(text_lines(picture))[-1].endswith("<- FIND  -> back to FIND (at most 3 times)")
    assert "    GREET -.->|at most 3 times| FIND" in list(mermaid_lines(picture))


@st.composite
def graphs(draw: st.DrawFn) -> WorkflowSpec:
    names = [f"S{number}" for number in range(draw(st.integers(1, 14)))]
    steps = [
        StepSpec(name=name, effect=Effect.READ, after=tuple(draw(st.sets(st.sampled_from(names[:number]), max_size=3))) if number else ())
        for number, name in enumerate(names)
    ]
    return WorkflowSpec(type="RANDOM", version=1, owner="o", steps=tuple(steps))


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(0, 5))
def test_nothing_lies_on_anything_else(spec: WorkflowSpec, odd: int) -> None:
    picture = picture_of(spec)
    sizes = {node.name: Size(100 + 17 * ((number * 7 + odd) % 9), 40 + 11 * (number % 4)) for number, node in enumerate(picture.nodes)}
    layout = arrange(picture, sizes, between=44)
    assert arrange(picture, sizes, between=44) == layout
    boxes = {name: box_of(layout, name, sizes[name]) for name in sizes}
    for one, other in combinations(boxes, 2):
        assert apart(boxes[one], boxes[other]), (one, other)
    for line, points in layout.ways.items():
        for point in points[1:-1]:
            for name, (left, top, right, bottom) in boxes.items():
                assert not (left < point.x < right and top <= point.y <= bottom), (line, name)
    assert all(
        left >= -1e-6 and right <= layout.size.width + 1e-6 and bottom <= layout.size.height for left, _, right, bottom in boxes.values()
    )


Box = tuple[float, float, float, float]


def box_of(layout: Layout, name: str, size: Size) -> Box:
    x, y = layout.centres[name]
    return x - size.width / 2, y - size.height / 2, x + size.width / 2, y + size.height / 2


def apart(one: Box, other: Box) -> bool:
    return one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
