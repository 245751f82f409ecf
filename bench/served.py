"""What a worker process serves: the URL and the kind of flow come from the environment."""

from __future__ import annotations

import os

from bench.flows import chain
from halfway import Halfway

app = Halfway(os.environ["BENCH_URL"], workflows=[chain(asynchronous=os.environ.get("BENCH_KIND") == "async")])
