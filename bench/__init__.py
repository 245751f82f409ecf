"""Measurements: each figure is made by one command."""
