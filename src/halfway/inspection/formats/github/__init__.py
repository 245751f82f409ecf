"""The parts of a workflow of GitHub Actions, and how each becomes steps, triggers and guards."""

from __future__ import annotations
