"""Every reader, in the order in which they are asked whether a text is theirs."""

from __future__ import annotations

from halfway.inspection.formats import (
    Reader,
    agents,
    bpmn,
    cloudflare,
    compose,
    kubernetes,
    make,
    n8n,
    step_functions,
    systemd,
    timetables,
    zapier,
)
from halfway.inspection.formats.github_actions import GithubActions
from halfway.inspection.formats.github_runs import GithubRuns
from halfway.inspection.formats.halfway.database import DatabaseReader
from halfway.inspection.formats.halfway.definitions import HalfwayReader
from halfway.inspection.formats.python.reader import PythonReader
from halfway.inspection.formats.shell import Shell

READERS: tuple[Reader, ...] = (
    GithubActions(), GithubRuns(), DatabaseReader(), HalfwayReader(), n8n.READER, zapier.READER, make.READER, cloudflare.READER,
    PythonReader(), Shell(), step_functions.READER, bpmn.READER, agents.READER, compose.READER, kubernetes.READER, timetables.READER,
    systemd.READER,
)  # fmt: skip
