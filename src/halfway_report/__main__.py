"""The command `report`, also as `python -m halfway_report`: whoever stops it while it is still loading sees no traceback."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    try:
        from halfway_report.cli import main as command  # noqa: PLC0415 - takes most of a second
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    command(prog_name="report")


if __name__ == "__main__":
    main()
