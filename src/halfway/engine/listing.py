"""Listing the items of a step that is done for many, and keeping a list that is too large for a value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from halfway.authoring.items import Streamed, streamed_adapter
from halfway.authoring.keys import checked_key
from halfway.authoring.step import Artifact, Step
from halfway.authoring.values import decode, encode
from halfway.authoring.workflow import Workflow
from halfway.engine.attempt import Running
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
            yield child.key_of(input) or str(number), child.encode(input)
        return
    assert handler.item_adapter is not None
    for number, text in enumerate(_texts(running), 1):
        what = f"item {number} of {running.step_name}"
        yield checked_key(f"key of {what}", handler.item_key(decode(handler.item_adapter, text, what=what))), text


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
