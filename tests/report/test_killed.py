"""The worker is killed while a model writes: what it had told is kept, and another worker goes on there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

from halfway_report import reading
from halfway_report.attempts import attempts
from halfway_report.deployment import deploy
from halfway_report.settings import LlmSettings, ProjectSettings, ReportSettings
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_voices import Asked, Script
from tests.engine.harness import FAST, Harness, until
from tests.report.conftest import Scratch
from tests.report.test_generating import DAY, about

COMMITS, KILLED_AT = 8, 6
WORK = """
import sys
from halfway import Halfway, Settings
from halfway_report.settings import ReportSettings
from halfway_report.workflow import daily_report
from tests.engine.harness import FAST
report = daily_report(ReportSettings.model_validate_json(sys.argv[1]))
app = Halfway(sys.argv[2], workflows=[report.workflow], settings=FAST, artifacts=sys.argv[3])
report.shelf.app = app
with app.worker():
    sys.stdin.read()
"""


def test_a_map_whose_worker_is_killed_goes_on_at_the_same_commit(tmp_path: Path, repo: Scratch) -> None:
    for number in range(COMMITS):
        repo.commit(f"Change number {number}", f"2026-09-30T09:{number:02}:00+00:00")
    killed = threading.Event()

    def deadly(asked: Asked) -> str:
        if len(ollama.chats) == KILLED_AT and not killed.is_set():
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()
            killed.set()
        return about(asked)

    with StandinOllama(Script(deadly)) as ollama:
        llm = LlmSettings(base_url=ollama.url, model="tiny", mode="map")
        settings = ReportSettings(projects={"shop": ProjectSettings(repositories=(repo.path,))}, out=tmp_path / "reports", llm=llm)
        url, artifacts = f"sqlite:///{tmp_path / 'runs.sqlite3'}", tmp_path / "artifacts"
        deployment = deploy(settings, url, artifacts=artifacts)
        run = deployment.app.start(deployment.report.workflow, DAY)
        command = [sys.executable, "-c", WORK, settings.model_dump_json(), url, str(artifacts)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as worker:
            until(killed.is_set, "the worker is dead")
        deployment.app.close()
        h = Harness(url, deployment.report.workflow, settings=FAST, artifacts=str(artifacts))
        deployment.report.shelf.app = h.app
        done = h.drain(run)
        assert done.status == "SUCCESS"
        assert reading.show(h.app, run.id).step("GENERATE_REPORT").attempts == 2
        assert len(attempts(h.app, run.id)) == 1
        h.close()
    assert len(ollama.chats) == COMMITS + 1
    text = Path(done.output(deployment.report.save_markdown).path).read_text()
    assert len(re.findall(r"The work on this was done: change number \d", text)) == COMMITS
