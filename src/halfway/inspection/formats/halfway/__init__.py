"""Reads halfway's own definitions, in Python or as a database keeps them, and its runs."""
