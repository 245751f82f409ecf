"""Where the examples are played: a SQLite file of their own, or the PostgreSQL database that EXAMPLES_URL names."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress

from halfway.cli import main as halfway

URL = os.environ.get("EXAMPLES_URL", "")


def play(story: Callable[[str], None]) -> None:
    """Tells a story on a database that is gone afterwards, unless EXAMPLES_URL names one."""
    with tempfile.TemporaryDirectory() as folder:
        story(URL or f"sqlite:///{folder}/example.db")


def show(url: str, run_id: str) -> None:
    """Prints what the command line says about a run: `halfway show RUN`."""
    with suppress(SystemExit):  # how every command ends
        halfway(["show", run_id, "--url", url, "--lang", "en"])
