"""The examples on both databases, each test with a world of its own that nothing has happened in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any, TypeVar

import pytest

import examples
from halfway import Halfway, Run, Workflow
from tests.engine.harness import FAST, until

I = TypeVar("I")
PATIENCE = timedelta(seconds=60)


class Stage:
    """One application on one database, with a worker."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._app: Halfway | None = None

    @property
    def app(self) -> Halfway:
        assert self._app is not None
        return self._app

    @contextmanager
    def open(self, *workflows: Workflow[Any], working: bool = True, **options: Any) -> Iterator[Halfway]:
        self._app = Halfway(self.url, workflows=workflows, settings=FAST, **options)
        try:
            if working:
                with self._app.worker():
                    yield self._app
            else:
                yield self._app
        finally:
            self._app.close()

    def play(self, workflow: Workflow[I], input: I, **options: Any) -> Run[I]:
        """Starts a run and works until it has ended or needs something from outside."""
        return self.again(self.app.start(workflow, input, **options))

    def again(self, run: Run[I]) -> Run[I]:
        return self.app.result(run, timeout=PATIENCE)

    def step(self, run: Run[Any], name: str) -> Any:
        """A step of the run as a person sees it."""
        return next(step for step in self.app.control.show(run.id).steps if step.name == name)

    def code(self, run: Run[Any], step: str, code: str) -> None:
        """Waits until a step stands there with this code."""
        until(lambda: self.step(run, step).error_code == code, f"{step} {code}")

    def notes(self, run: Run[Any]) -> list[str]:
        return [entry.name for entry in self.app.control.show(run.id).journal]

    def later(self, time: timedelta) -> None:
        """The clock of the database goes on, and the workers look."""
        self.app.store.advance_clock(time // timedelta(microseconds=1))
        for worker in self.app._workers:
            worker.wake()


@pytest.fixture
def stage(url: str) -> Stage:
    return Stage(url)


@contextmanager
def anew() -> Iterator[None]:
    """In here the examples are imported anew, and afterwards they are what they were.

    Also as names of their package, where "from examples import campaign" looks first: a copy left there would be a second Campaign.
    """
    before = {name: module for name, module in sys.modules.items() if name.startswith("examples.")}
    named = dict(vars(examples))
    for name in before:
        if name != "examples.world":
            del sys.modules[name]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.startswith("examples.")]:
            del sys.modules[name]
        sys.modules.update(before)
        vars(examples).clear()
        vars(examples).update(named)


@pytest.fixture
def load(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports an example anew, for the database of this test."""
    monkeypatch.setenv("EXAMPLES_URL", url)
    with anew():
        yield lambda name: import_module(f"examples.{name}")


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()
