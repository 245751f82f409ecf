"""One life after the other: `python -m tests.crash.program` reads requests from stdin, and forks a process for each.

A life starts the run (or finds it), works until the run has ended or asks somebody, and stops. It is killed at the point that the
request names. It answers every point that it reached, and how the run stands.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from datetime import timedelta
from typing import NamedTuple, NoReturn

import halfway.store.dialects.postgres  # noqa: F401 - so that no life has to load it
from halfway import Halfway, Settings
from halfway.engine.worker import Worker  # noqa: F401
from halfway.testing import KillAt, Ledger, RecordPoints
from tests.crash.flows import FLOWS
from tests.engine.harness import FAST, Order

# It looks around rarely, so that nearly all commits are those of the run; what is due wakes it anyway.
QUIET = Settings(**(vars(FAST) | {"poll": 0.5, "beat": 5.0, "sweep": 5.0, "lease": 30.0}))


class Request(NamedTuple):
    """What a life is to do."""

    flow: str
    url: str
    ledger: str
    kill_at: str  # `point:n`; empty: nowhere


def live(request: Request) -> None:
    recorded = RecordPoints()
    name, _, n = request.kill_at.partition(":")
    points = KillAt(name, int(n)) if name else recorded
    wf = FLOWS[request.flow](request.url, Ledger(request.ledger), points.reached)
    app = Halfway(request.url, workflows=[wf], settings=QUIET, points=points)
    run = app.start(wf, Order())
    with app.worker(slots=2):
        run = app.result(run, timeout=timedelta(seconds=60))
    app.close()
    os.write(1, json.dumps({"status": run.status, "points": recorded.seen}).encode())


def in_child(request: Request, answers: int) -> NoReturn:
    code = 1
    try:
        os.dup2(answers, 1)
        live(request)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    for line in sys.stdin:
        request = Request(*json.loads(line))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            in_child(request, writing)
        os.close(writing)
        with os.fdopen(reading) as answers:
            told = answers.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), told]), flush=True)


if __name__ == "__main__":
    main()
