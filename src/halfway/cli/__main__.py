"""`python -m halfway.cli`."""

from __future__ import annotations

from halfway.cli import main

if __name__ == "__main__":
    main(prog_name="halfway")
