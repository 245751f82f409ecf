"""One life after the other: `python -m tests.crash.program` reads requests from stdin, and forks a process for each.

A life starts the run (or finds it), works until the run has ended or asks somebody, and stops. At the point that the request names it
is killed, or its connection breaks and it goes on. It answers every point that it reached, and how the run stands.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import NamedTuple, NoReturn, TypeVar

import halfway.store.dialects.postgres  # noqa: F401 - so that no life has to load it
from halfway import Halfway, RunStatus, Settings, Workflow
from halfway.engine.worker import Worker  # noqa: F401
from halfway.errors import DatabaseError
from halfway.ports import Points
from halfway.testing import KillAt, Ledger, RecordPoints
from tests.crash import flows, recovery_flows
from tests.engine.harness import FAST, Order

T = TypeVar("T")

FLOWS = flows.FLOWS | recovery_flows.FLOWS

# It looks around rarely, so that nearly all commits are those of the run; what is due wakes it anyway.
QUIET = Settings(**(vars(FAST) | {"poll": 0.1, "beat": 0.2, "sweep": 5.0, "lease": 30.0}))


class Request(NamedTuple):
    """What a life is to do."""

    flow: str
    url: str
    ledger: str
    at: str  # `point:n`; empty: nowhere
    how: str  # kill or cut
    order: tuple[str, dict[str, str]] | None = None  # what a person orders instead: the action and its arguments


class CutAt:
    """The connection breaks when a point is reached for the n-th time: before a commit nothing stands, after it only the answer is lost."""

    def __init__(self, point: str, n: int) -> None:
        self._point, self._left = point, n

    def reached(self, name: str) -> None:
        if name == self._point:
            self._left -= 1
            if self._left == 0:
                raise DatabaseError("DATABASE_UNREACHABLE", url="of the test", problem="the connection broke.")


def points_of(request: Request) -> Points:
    if not request.at:
        return RecordPoints()
    name, _, n = request.at.partition(":")
    return KillAt(name, int(n)) if request.how == "kill" else CutAt(name, int(n))


def live(request: Request) -> None:
    points = points_of(request)
    wf = FLOWS[request.flow](request.url, Ledger(request.ledger), points.reached)
    app = Halfway(request.url, workflows=[wf], settings=QUIET, points=points)
    if request.order is not None:
        action, arguments = request.order
        status = restored(app) if action == "restored" else getattr(app.control, action)(**arguments).after
    else:
        status = work(app, wf, request.flow)
    app.close()
    seen = points.seen if isinstance(points, RecordPoints) else []
    os.write(1, json.dumps({"status": status, "points": seen}).encode())


def work(app: Halfway, wf: Workflow[Order], flow: str) -> RunStatus:
    run = persist(lambda: app.start(wf, Order()))
    persist(app.worker(slots=2).start)
    story = recovery_flows.STORIES.get(flow)
    return story(app, run).status if story else app.result(run, timeout=timedelta(seconds=60)).status


def restored(app: Halfway) -> RunStatus:
    app.store.runs.restored()
    return RunStatus.RUNNING


def persist(act: Callable[[], T]) -> T:
    """What a program does whose database was away: the same again."""
    try:
        return act()
    except DatabaseError:
        return act()


def in_child(life: Callable[[], None], answers: int) -> NoReturn:
    code = 1
    try:
        os.dup2(answers, 1)
        life()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def serve(kind: Callable[..., T], live: Callable[[T], None]) -> None:
    """Lives what each line of stdin asks for, in a process of its own: `[seconds, […]]`, when to kill it at the latest, and the request."""
    logging.basicConfig(level=logging.CRITICAL)
    for line in sys.stdin:
        seconds, arguments = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            in_child(partial(live, kind(*arguments)), writing)
        os.close(writing)
        with os.fdopen(reading) as answers:
            if not select.select([answers], [], [], seconds)[0]:
                os.kill(child, signal.SIGKILL)
            told = answers.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), told]), flush=True)


if __name__ == "__main__":
    serve(Request, live)
