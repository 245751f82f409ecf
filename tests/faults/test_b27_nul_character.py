"""B27: a NUL, which PostgreSQL has no text for, is kept exactly or refused at once, the same on both databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from pydantic import BaseModel

from halfway import Effect, Errors, RunStatus, Step, StepFailed, Workflow
from halfway.errors import HalfwayError
from tests.engine.harness import Calls, Harness
from tests.faults.checks import all_is_well

NUL = "a\u0000b"
LOOKS_LIKE_IT = "a\\u0000b"  # a backslash, and five characters behind it
HALF = "a\ud800b"


class Text(BaseModel):
    text: str = ""
    kind: str = ""


class Told(Exception):
    """An error whose name is its code."""


def doing(calls: Calls) -> Workflow[Text]:
    """One effect, which meets the text in the way that its input names."""
    wf = Workflow("TEXTS", Text, version=1, owner="owner", key=None)

    def act(step: Step[Text]) -> Any:
        text = step.input.text
        match step.input.kind:
            case "output":
                return text
            case "key of a dict":
                return {text: 1}
            case "error":
                raise StepFailed(text)
            case "code":
                raise StepFailed("it will not work", code=text)
            case "foreign error":
                raise Told(text)
            case "evidence":
                step.evidence(said=text)
            case "artifact":
                step.save(text, "content")
        return step.input.kind

    @wf.step(Effect.CREATE, evidence="the ledger", errors=Errors(fail=Told))
    def do(step: Step[Text]) -> Any:
        calls.add(step.run_id)
        return act(step)

    return wf


KINDS = ["output", "key of a dict", "error", "code", "foreign error", "evidence", "artifact", "input"]


def outcome(h: Harness, wf: Workflow[Text], calls: Calls, kind: str, text: str) -> tuple[object, ...]:
    """How a run with this text ends, and what is kept of it."""
    run = h.run(wf, Text(text=text, kind=kind))
    detail = h.app.store.reading.detail(run.id)
    [one] = detail.records
    all_is_well(h, run)
    assert run.input == Text(text=text, kind=kind)
    assert calls.count(run.id) == 1
    return run.status, one.output, one.record.code, one.error, [row.data for row in detail.evidence], [row.name for row in detail.artifacts]


def outcomes(url: str, text: str) -> dict[str, tuple[object, ...]]:
    calls = Calls()
    wf = doing(calls)
    with closing(Harness(url, wf, artifacts=None)) as h:
        return {kind: outcome(h, wf, calls, kind, text) for kind in KINDS}


@pytest.mark.parametrize("text", [NUL, LOOKS_LIKE_IT], ids=["NUL", "looks like NUL"])
def test_a_nul_in_what_a_step_brings_is_kept_or_told_and_never_retried_for_ever(
    sqlite_url: str, postgres_url: str, text: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B27: output, input, keys, errors, evidence, artifacts."""
    monkeypatch.chdir(tmp_path_factory.mktemp("place"))
    found = outcomes(sqlite_url, text)
    assert outcomes(postgres_url, text) == found
    escaped = text.replace("\\", "\\\\").replace("\0", "\\u0000")
    assert found["output"][:2] == (RunStatus.SUCCESS, f'"{escaped}"')
    assert found["key of a dict"][:2] == (RunStatus.SUCCESS, f'{{"{escaped}":1}}')
    assert found["input"][:2] == (RunStatus.SUCCESS, '"input"')
    assert found["evidence"][0] is RunStatus.SUCCESS
    assert found["evidence"][4] == [f'{{"said":"{escaped}"}}']
    for kind in ("error", "foreign error", "code"):
        status, _, code, error, *_ = found[kind]
        # What the author says on purpose in a step without a mark says nothing about the effect: a person is asked.
        assert status is (RunStatus.FAILED if kind == "foreign error" else RunStatus.MANUAL_REQUIRED)
        assert "\0" not in f"{code}{error}"
    if text == NUL:  # the name is refused in the body, which had begun: nobody knows how far it came
        assert found["artifact"][0] is RunStatus.MANUAL_REQUIRED
        assert found["artifact"][2] == "VALUE_UNSTORABLE"


def orders(h: Harness, wf: Workflow[Text]) -> dict[str, Callable[[str], object]]:
    """Everything that a caller may give as text; each gets the text that is tried."""
    run = h.start(wf, Text(kind="output"))
    control, reading = h.app.control, h.app.store.reading
    return {
        "correlation": lambda text: h.start(wf, Text(), correlation_id=text),
        "actor": lambda text: control.cancel(run.id, actor=text, reason="why"),
        "reason": lambda text: control.cancel(run.id, actor="kim", reason=text),
        "action id": lambda text: control.cancel(run.id, actor="kim", reason="why", action_id=text),
        "run": lambda text: control.cancel(text, actor="kim", reason="why"),
        "step": lambda text: control.retry(run.id, text, actor="kim", reason="why"),
        "evidence": lambda text: control.mark_success(run.id, "DO", actor="kim", reason="why", evidence=text),
        "detail": reading.detail,
        "find": reading.find,
    }


GIVEN = ["correlation", "actor", "reason", "action id", "run", "step", "evidence", "detail", "find"]


@pytest.mark.parametrize("text", [NUL, HALF], ids=["NUL", "half a character"])
@pytest.mark.parametrize("what", GIVEN)
def test_a_nul_in_what_a_caller_gives_is_refused_and_changes_nothing(harness: type[Harness], what: str, text: str) -> None:
    """B27."""
    wf = doing(Calls())
    h = harness(wf)
    act = orders(h, wf)[what]
    with pytest.raises(HalfwayError):
        act(text)
    [row] = h.app.store.reading.runs()
    assert (row.run.status, h.app.store.reading.audit(row.run.id)) == (RunStatus.PENDING, [])


@pytest.mark.parametrize("text", [NUL, HALF, "\\", "%", "_", "'"])
def test_a_search_for_anything_is_an_answer(harness: type[Harness], text: str) -> None:
    """B27: a term that nothing can hold finds nothing."""
    wf = doing(Calls())
    h = harness(wf)
    run = h.start(wf, Text())
    assert h.app.store.reading.runs(search=text) == []
    assert [row.run.id for row in h.app.store.reading.runs(search=run.id)] == [run.id]
