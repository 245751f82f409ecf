"""What can be kept and comes back as it was, and what is refused with its path (B27, B28)."""

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from halfway.authoring.values import LIMIT, decode, encode
from halfway.errors import InvalidInput, UnstorableValue


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Customer(BaseModel):
    id: int
    name: str = ""


class Vip(Customer):
    bonus: int = 0


class Secretive(BaseModel):
    shown: int
    hidden: int = Field(default=0, exclude=True)


class Blob(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    content: bytes


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Named(TypedDict):
    name: str


def again(annotation: Any, value: object) -> object:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    text = encode(adapter, value)
    assert text.isascii()
    return decode(adapter, text)


def refusal(annotation: Any, value: object) -> UnstorableValue:
    with pytest.raises(UnstorableValue) as caught:
        encode(TypeAdapter(annotation), value)
    return caught.value


def path(annotation: Any, value: object) -> object:
    return refusal(annotation, value).params["path"]


KEPT: list[tuple[Any, object]] = [
    (None, None),
    (bool, True),
    (int, 2**63),
    (int, -(10**4000)),
    (float, 0.1),
    (float, 5e-324),
    (float, sys.float_info.max),
    (str, "a\x00b"),
    (str, "literal \\u0000 and \\ud800"),
    (str, "한국어 🙂 \u2028"),
    (dict[str, str], {"a\x00": "\x00"}),
    (bytes, "UTF-8 한".encode()),
    (Blob, Blob(content=b"\xff\x00")),
    (Decimal, Decimal("1.10")),
    (Decimal, Decimal("1E+30")),
    (datetime, datetime(2026, 9, 30, 1, 2, 3, 4)),
    (datetime, datetime(2026, 9, 30, tzinfo=timezone(timedelta(hours=9)))),
    (date, date(2026, 9, 30)),
    (time, time(18, 0)),
    (timedelta, timedelta(days=-3, microseconds=1)),
    (UUID, UUID(int=7)),
    (Path, Path("reports/today.md")),
    (Colour, Colour.RED),
    (Size, Size.SMALL),
    (Point, Point(1.5, -2.0)),
    (Named, {"name": "x"}),
    (Customer, Customer(id=1)),
    (Customer | None, None),
    (list[Customer], [Customer(id=1), Customer(id=2)]),
    (set[int], {3, 1}),
    (frozenset[str], frozenset({"a"})),
    (tuple[int, str], (1, "a")),
    (dict[int, str], {1: "a"}),
    (Any, {"a": [1, 2.5, None, True, "x"]}),
]


@pytest.mark.parametrize(("annotation", "value"), KEPT, ids=range(len(KEPT)))
def test_comes_back_as_it_was(annotation: Any, value: object) -> None:
    back = again(annotation, value)
    assert back == value
    assert type(back) is type(value) or isinstance(value, Path)
    assert str(back) == str(value)


def test_a_decimal_keeps_its_digits() -> None:
    assert str(again(Decimal, Decimal("1.10"))) == "1.10"


def test_what_is_annotated_as_a_sequence_or_a_mapping_comes_back_with_the_same_content() -> None:
    assert again(Sequence[int], (1, 2)) == [1, 2]
    assert again(Mapping[str, int], {"a": 1}) == {"a": 1}
    assert again(list[Sequence[int]], [(1, 2)]) == [[1, 2]]


REFUSED: list[tuple[Any, object, str]] = [
    (float, math.nan, "$"),
    (float | None, math.nan, "$"),
    (dict[str, list[float]], {"a": [1, 2, 3, math.inf]}, "$.a[3]"),
    (Point, Point(1, -math.inf), "$.y"),
    (Any, {"a": {"b c": math.nan}}, "$.a['b c']"),
    (str, "half \ud800", "$"),
    (dict[str, int], {"\udfff": 1}, "$.(key)"),
    (list[bytes], [b"ok", b"\xff"], "$[1]"),
    (int, 10**5000, "$"),
    (Any, {"a": datetime(2026, 9, 30, tzinfo=UTC)}, "$.a"),
    (object, [Decimal("1.10")], "$[0]"),
    (Any, [{1, 2}], "$[0]"),
    (dict[str, Any], {"a": (1, 2)}, "$.a"),
    (list, [Customer(id=1)], "$[0]"),
    (Any, {"a": UUID(int=1)}, "$.a"),
    (Any, [Colour.RED], "$[0]"),
    (Any, [timedelta(1)], "$[0]"),
    (Any, [b"bytes"], "$[0]"),
    (Any, {1: "a"}, "$"),
    (int, "3", "$"),
    (Customer, {"id": 1}, "$"),
    (list[int], [1, "2"], "$[1]"),
    (dict[str, Customer], {"a": Customer.model_construct(id="x")}, "$.a.id"),
    (Customer, Vip(id=1, bonus=3), "$"),
    (list[Customer], [Vip(id=1)], "$[0]"),
    (Secretive, Secretive(shown=1, hidden=2), "$.hidden"),
    (Any, {"a": lambda: 1}, "$.a"),
    (Any, object(), "$"),
]


@pytest.mark.parametrize(("annotation", "value", "where"), REFUSED, ids=range(len(REFUSED)))
def test_is_refused_with_its_path(annotation: Any, value: object, where: str) -> None:
    assert path(annotation, value) == where


def test_a_generator_an_open_file_and_an_iterator_are_refused(tmp_path: Path) -> None:
    assert path(Any, {"a": (number for number in range(3))}) == "$.a"
    assert path(Any, [iter([1])]) == "$[0]"
    with (tmp_path / "x").open("w") as file:
        assert path(Any, {"file": file}) == "$.file"


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = [1]
    loop.append({"again": loop})
    error = refusal(Any, loop)
    assert error.params["path"] == "$[1].again"
    assert "itself" in str(error)


def test_too_deep_nesting_is_refused_and_usual_nesting_is_kept() -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return value

    assert again(Any, nested(150)) == nested(150)
    assert "deeper" in str(refusal(Any, nested(2_000)))
    assert "deeper" in str(refusal(Any, nested(300)))


def test_the_limit_counts_bytes_of_utf8_and_points_to_artifacts() -> None:
    assert encode(TypeAdapter(str), "x" * (LIMIT - 2))
    assert encode(TypeAdapter(str), "한" * (LIMIT // 3 - 1))
    error = refusal(str, "x" * (LIMIT - 1))
    assert "262,145 bytes" in str(error)
    assert "step.save()" in str(error)


def test_numbers_that_only_look_like_numbers_are_refused() -> None:
    class Scalar:  # as numpy's integers: neither int nor float
        def __int__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return other == 1

        __hash__ = None  # type: ignore[assignment]

    assert path(list[int], [Scalar()]) == "$[0]"
    assert path(Any, {"a": Scalar()}) == "$.a"


def test_a_comparison_that_raises_does_not_let_a_value_pass() -> None:
    class Odd(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = str.__hash__

    refusal(str, Odd("x"))


def test_no_refusal_quotes_the_value() -> None:
    for value in ({"a": "s3cret-word"}, ["s3cret-word"]):
        assert "s3cret" not in str(refusal(dict[str, int], value))
    with pytest.raises(InvalidInput) as caught:
        decode(TypeAdapter(Customer), '{"id": "s3cret-word"}')
    assert "s3cret" not in str(caught.value)
    assert "$.id" in str(caught.value)


def test_what_does_not_fit_is_not_decoded() -> None:
    with pytest.raises(InvalidInput, match="does not fit"):
        decode(TypeAdapter(int), "null")
    with pytest.raises(InvalidInput, match="does not fit"):
        decode(TypeAdapter(int), "{")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_whatever_it_is_it_comes_back_or_is_refused(value: object) -> None:
    try:
        back = again(Any, value)
    except UnstorableValue as error:
        where = str(error.params["path"])
        assert where.startswith("$")
    else:
        assert back == value


def test_a_secret_in_a_value_is_stored_without_it(caplog: pytest.LogCaptureFixture) -> None:
    adapter = TypeAdapter(dict[str, str])
    text = encode(adapter, {"url": "postgres://shop:hunter2hunter2@db/shop", "n": "1"}, what="output of CONNECT")
    assert "hunter2" not in text
    assert decode(adapter, text)["n"] == "1"
    assert "output of CONNECT" in caplog.text
    assert "hunter2" not in caplog.text
