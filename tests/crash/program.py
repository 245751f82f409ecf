"""One life: `python -m tests.crash.program FLOW URL LEDGER` starts the run (or finds it), works until it has ended, and stops.

HALFWAY_KILL_AT names the point where it is killed. Otherwise it prints every point that was reached, and how the run stands.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta

from halfway import Halfway, Settings
from halfway.testing import KillAt, Ledger, RecordPoints
from tests.crash.flows import FLOWS
from tests.engine.harness import FAST, Order

# It looks around rarely, so that nearly all commits are those of the run; everything that is due wakes it anyway.
QUIET = Settings(**(vars(FAST) | {"poll": 5.0, "beat": 5.0, "sweep": 5.0, "lease": 30.0}))


def main(flow: str, url: str, ledger: str) -> None:
    recorded = RecordPoints()
    points = KillAt.from_env() or recorded
    wf = FLOWS[flow](url, Ledger(ledger), points.reached)
    app = Halfway(url, workflows=[wf], settings=QUIET, points=points)
    run = app.start(wf, Order())
    with app.worker(slots=2):
        run = app.result(run, timeout=timedelta(seconds=60))
    app.close()
    print(json.dumps({"status": run.status, "points": recorded.seen}))


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)
