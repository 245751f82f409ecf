"""Listing the items of a step that is done for many, and keeping a list that is too large for a value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Never, cast

from halfway.authoring.items import Streamed, streamed_adapter
from halfway.authoring.keys import key_of
from halfway.authoring.step import Artifact, Step
from halfway.authoring.values import decode, encode
from halfway.authoring.workflow import Workflow
from halfway.domain.items import NOT_NAMED
from halfway.engine.attempt import Running
from halfway.errors import InvalidInput, StepFailed
from halfway.ports import Listed

CHUNK = 500  # items that are stored together
LARGEST = 131_072  # characters of items that are stored together


def list_items(running: Running, step: Step[Any]) -> int:
    """Makes a record for each item of the list, and answers how many there are; done once more, they are what they were."""
    whole = running.record
    seen: dict[str, int] = {}
    rows: list[tuple[str, int, str]] = []
    size = position = 0
    first = True
    for position, (key, text) in enumerate(_items(running, step), 1):
        rows.append((_name(key, seen), position, text))
        size += len(text)
        if len(rows) >= CHUNK or size > LARGEST:
            running.hand_in(Listed(running.run_id, whole, running.attempt, tuple(rows), first))
            rows, size, first = [], 0, False
    if rows or first:
        running.hand_in(Listed(running.run_id, whole, running.attempt, tuple(rows), first))
    return position


def _name(key: str, seen: dict[str, int]) -> str:
    """Two items of one key are two items: the second is called `key#2`."""
    name = key
    while name in seen:
        seen[key] += 1
        name = f"{key}#{seen[key]}"
    seen[name] = 1
    return name


def _items(running: Running, step: Step[Any]) -> Iterator[tuple[str, str]]:
    """Key and JSON of each: an item of the list, or the input of a child."""
    handler = running.handler
    if handler.child is not None:
        child = cast("Workflow[Any]", handler.child)
        for number, input in enumerate(cast("Iterable[Any]", handler.body(step)), 1):
            try:
                key = child.key_of(input)
            except InvalidInput as error:
                remedy = (
                    f"Correct in the code the function that makes the inputs, or the key= of {child.name}. "
                    "Then run a worker with that code, and resume the run: the items are then listed anew."
                )
                _not_named(running, number, error, remedy)
            yield key or str(number), child.encode(input)
        return
    assert handler.item_adapter is not None
    for number, text in enumerate(_texts(running), 1):
        what = f"item {number} of {running.step_name}"
        item: object = decode(handler.item_adapter, text, what=what)
        try:
            key = key_of(what, handler.item_key, item)
        except InvalidInput as error:
            remedy = (
                "The list stays as it is: correct in the code the function that names its items, which is key=. "
                "Then run a worker with that code, and resume the run: the items are then listed anew."
            )
            _not_named(running, number, error, remedy)
        yield key, text


def _not_named(running: Running, number: int, error: InvalidInput, remedy: str) -> Never:
    """No other attempt of the same code would do better."""
    told = InvalidInput(NOT_NAMED, number=number, step=running.step_name, problem=error.params["problem"], remedy=remedy)
    raise StepFailed(str(told), code=NOT_NAMED) from None


def _texts(running: Running) -> Iterator[str]:
    """The items of the list as JSON, one after the other."""
    text = running.outputs.get(running.spec.fan.items) if running.spec.fan is not None else None
    if text is None:
        return  # the list is optional, and is not there
    if running.handler.list_streams:
        lines = decode(streamed_adapter(), text, what="list of items").lines
        yield from running.lines(lines.id, lines.name)
    else:
        for value in json.loads(text):
            yield json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def keep_lines(running: Running, values: Iterable[Any]) -> Streamed:
    """Keeps what a generator step yields, line by line, as an artifact."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for count, value in enumerate(values, 1):
            running.ensure_running()
            text = encode(running.handler.body_adapter, value, what=f"item {count} of {running.step_name}")
            yield f"{text}\n".encode()

    name = f"{running.step_name.lower()}.jsonl"
    id, sha256, size = running.save_lines(name, lines())
    return Streamed(Artifact(id, name, sha256, size), count)
