"""B24: a name of an artifact is data and never a path; a reference leads to what its own run has saved, and to nothing else."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from halfway import Artifact, Effect, Run, RunStatus, Step, Workflow
from halfway.store.artifacts import OWNERS
from tests.engine.harness import Harness, Order, flow
from tests.faults.checks import all_is_well

REFUSED = ["../x", "a/../../x", "/etc/passwd", "..\\x", "%2e%2e/x", "a/%00b", "a\0b", "C:x", "n" * 300, "two\nlines", "", "."]
HARMLESS = ["foo..bar", ".foo", "a/.b/c", "..foo", "한글 😀.md", "a b+c#d?e", "n" * 255]


def saving(names: list[str]) -> Workflow[Order]:
    """Saves one artifact for each name, and says what was refused; then another step reads them."""
    wf = flow()

    @wf.step(Effect.READ)
    def save(step: Step[Order]) -> list[Artifact | str]:
        saved: list[Artifact | str] = []
        for name in names:
            try:
                saved.append(step.save(name, f"content of {len(saved)}".encode()))
            except Exception as error:
                saved.append(type(error).__name__)
        return saved

    @wf.step(Effect.READ)
    def read(step: Step[Order]) -> list[str]:
        return [step.read(one).decode() for one in step.output(save) if isinstance(one, Artifact)]

    return wf


def outputs(h: Harness, run: Run[Order]) -> tuple[list[Artifact | str], list[str]]:
    run = h.get(run)
    save, read = (definition for definition, _ in h.app.workflows["FLOW", 1]._graph.steps.values())
    return run.output(save), run.output(read)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != OWNERS}


def test_names_that_might_lead_elsewhere_are_refused_and_the_step_goes_on(url: str, tmp_path: Path) -> None:
    """B24."""
    around = tmp_path / "around"
    (around / "artifacts").mkdir(parents=True)
    (around / "secret").write_text("do not touch")
    wf = saving(REFUSED)
    with closing(Harness(url, wf, artifacts=str(around / "artifacts"))) as h:
        run = h.run(wf, Order())
        assert run.status is RunStatus.SUCCESS
        assert outputs(h, run) == (["UnstorableValue"] * len(REFUSED), [])
        assert h.app.store.reading.detail(run.id).artifacts == ()
        assert files(around) == {"secret": b"do not touch"}
        all_is_well(h, run)


def test_harmless_names_and_any_content_come_back_byte_for_byte(url: str, tmp_path: Path) -> None:
    """B24."""
    wf = saving(HARMLESS)
    with closing(Harness(url, wf, artifacts=str(tmp_path / "artifacts"))) as h:
        run = h.run(wf, Order())
        saved, read = outputs(h, run)
        assert [one.name for one in saved if isinstance(one, Artifact)] == HARMLESS
        assert read == [f"content of {n}" for n in range(len(HARMLESS))]
        assert [row.name for row in h.app.store.reading.detail(run.id).artifacts] == HARMLESS
        all_is_well(h, run)


def reaching(artifact: Artifact) -> Workflow[Order]:
    wf = flow("REACHING")

    @wf.step(Effect.READ)
    def reach(step: Step[Order]) -> str:
        try:
            return step.read(artifact).decode()
        except Exception as error:
            return type(error).__name__

    return wf


def answer(h: Harness, run: Run[Order]) -> str | None:
    return h.app.store.reading.detail(run.id).records[0].output


@pytest.mark.parametrize("id", ["of another run", "../secret", "", "' or 1=1 --", "x" * 5000, "a\0b"])
def test_a_reference_that_is_not_of_this_run_is_not_found(url: str, tmp_path: Path, id: str) -> None:
    """B24: made up, or of another run, it gets the same answer."""
    wf = saving(["mine.txt"])
    with closing(Harness(url, wf, artifacts=str(tmp_path / "artifacts"))) as h:
        [mine] = outputs(h, h.run(wf, Order()))[0]
        assert isinstance(mine, Artifact)
    forged = Artifact(mine.id if id == "of another run" else id, mine.name, mine.sha256, mine.size)
    wf = reaching(forged)
    with closing(Harness(url, wf, artifacts=str(tmp_path / "artifacts"))) as h:
        run = h.run(wf, Order())
        assert answer(h, run) == '"NotFound"'
        all_is_well(h, run)


TRICKS = ["link to a secret", "link inside", "folder that is a link", "fifo", "other content", "gone"]


@pytest.mark.parametrize("trick", TRICKS)
def test_a_file_that_was_swapped_is_damaged_whatever_stands_in_its_place(url: str, tmp_path: Path, trick: str) -> None:
    """B24: links, a pipe without a writer, other content; behind the save and before the read."""
    secret = tmp_path / "secret"
    secret.write_text("content of 0")  # even if it had the right hash: it is not ours
    root = tmp_path / "artifacts"
    wf = flow()

    @wf.step(Effect.READ)
    def save(step: Step[Order]) -> str:
        artifact = step.save("mine.txt", "content of 0")
        [path] = [path for path in root.rglob("*") if path.is_file() and path.parent.name != OWNERS]
        swap(path, secret, trick)
        try:
            return step.read(artifact).decode()
        except Exception as error:
            return type(error).__name__

    with closing(Harness(url, wf, artifacts=str(root))) as h:
        run = h.run(wf, Order())
        assert answer(h, run) == '"ArtifactDamaged"'
        all_is_well(h, run)
    assert secret.read_text() == "content of 0"


def swap(path: Path, secret: Path, trick: str) -> None:
    kept = path.with_name("kept")
    path.rename(kept)
    match trick:
        case "link to a secret":
            path.symlink_to(secret)
        case "link inside":
            path.symlink_to(kept)
        case "folder that is a link":
            elsewhere = secret.with_name("elsewhere")
            path.parent.rename(elsewhere)
            (elsewhere / path.name).write_text("a secret of the same name")
            path.parent.symlink_to(elsewhere)
        case "fifo":
            os.mkfifo(path)
        case "other content":
            path.write_text("other content")
