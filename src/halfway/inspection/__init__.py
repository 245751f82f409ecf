"""Reads automations that exist already, and finds where they would break if they stopped halfway. Executes, fetches and writes nothing."""
