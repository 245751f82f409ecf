"""What is known about the actions of vendors: what they do, what a second call does, how to look, how to take back. Data, with sources."""

from __future__ import annotations

from halfway.inspection.knowledge.base import Action, Key, Knowledge, Trust, load

__all__ = ["Action", "Key", "Knowledge", "Trust", "load"]
