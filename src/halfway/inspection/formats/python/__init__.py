"""Python: scripts, tasks of queues, graphs and durable workflows, read from their text alone."""

from __future__ import annotations

from halfway.inspection.formats.python.reader import PythonReader

__all__ = ["PythonReader"]
