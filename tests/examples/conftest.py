"""The examples on a database of the test, with a world that nothing has happened in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from examples.world import Receiver
from halfway import Halfway, Run, Workflow

I = TypeVar("I")
PATIENCE = timedelta(seconds=60)


class Stage:
    """One application on one database, with a worker."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._app: Halfway | None = None

    @property
    def app(self) -> Halfway:
        assert self._app is not None
        return self._app

    @contextmanager
    def open(self, workflow: Workflow[Any]) -> Iterator[Halfway]:
        self._app = Halfway(f"sqlite:///{self.path}", workflows=[workflow])
        try:
            with self._app.worker():
                yield self._app
        finally:
            self._app.close()

    def play(self, workflow: Workflow[I], input: I) -> Run[I]:
        """Starts a run and works until it has ended or needs a person."""
        return self.app.result(self.app.start(workflow, input), timeout=PATIENCE)

    def again(self, run: Run[I]) -> Run[I]:
        return self.app.result(run, timeout=PATIENCE)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "example.db")


def empty(*receivers: Receiver) -> None:
    """As if nothing had ever happened there."""
    for receiver in receivers:
        for field in fields(receiver):
            made = field.default_factory() if field.default_factory is not MISSING else field.default
            setattr(receiver, field.name, made)
