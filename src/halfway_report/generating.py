"""The two steps around the generator: GENERATE_REPORT writes, VALIDATE_REPORT judges and sends the run back, at most twice.

A written report is an artifact before anybody judges it, so no later fault asks the model again for what it has said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from halfway import Artifact, Effect, Retry, Rewind, Step, StepDefinition, Then, Workflow
from halfway_report.attempts import Shelf
from halfway_report.errors import InvalidOutput, Stopped
from halfway_report.form import title_of
from halfway_report.generators import Generator, Task
from halfway_report.models import Context, Day, Frozen
from halfway_report.outline import Outline
from halfway_report.settings import GENERATIONS, TRIES, LlmSettings
from halfway_report.validation import Origin, validate

_MARGIN = timedelta(seconds=15)  # of an attempt, to store what has come
_BEAT = 10.0  # seconds between two signs of life in the evidence
_QUICK = Retry(3)
_PATIENT = Retry(TRIES, wait=timedelta(seconds=10), factor=4, max_wait=timedelta(minutes=10))


class Generated(Frozen):
    """The output of GENERATE_REPORT: a text that is to become the report, and what is known about how it came to be."""

    report: Artifact
    generation: int
    finish: str
    language: str | None = None
    examples: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def add_generation(
    workflow: Workflow[Day],
    build_context: StepDefinition[Day, Artifact],
    generator: Generator,
    *,
    span: Callable[[Step[Day]], tuple[str | None, str | None]],
    llm: LlmSettings | None,
    language: str,
    shelf: Shelf,
) -> StepDefinition[Day, Generated]:
    """Declares GENERATE_REPORT. It changes nothing outside, so a repeat after a crash costs time alone.

    span: the first and the last commit of the day, which become evidence. language: of a day on which nothing happened.
    """

    @workflow.step(
        Effect.READ,
        retry=_QUICK if llm is None else _PATIENT,
        timeout=timedelta(minutes=10) if llm is None else llm.total_timeout + _MARGIN,
        on_failure=Then.MANUAL,
    )
    def generate_report(step: Step[Day]) -> Generated:
        artifact = step.output(build_context)
        context = Context.model_validate_json(step.read(artifact))
        # Nothing happened, and nobody is asked to tell it in words.
        author = generator if context.collection.commits else Outline(language)
        first, last = span(step)
        step.evidence(
            project=step.input.project,
            businessDate=step.input.date.isoformat(),
            fromCommit=first,
            toCommit=last,
            contextHash=artifact.sha256,
            promptVersion=author.prompt_version,
        )
        return _write(step, author, context, _Desk(step, shelf))

    return generate_report


def _write(step: Step[Day], author: Generator, context: Context, desk: _Desk) -> Generated:
    model = author.identify(desk)
    step.evidence(
        model=model.name,
        modelDigest=model.digest,
        mode=author.mode,
        generation=step.round,
        seed=author.seed(step.round),
    )
    faults = step.cause.message if step.cause is not None else ""
    written = author.write(Task(context=context, model=model, generation=step.round, faults=faults), desk)
    step.evidence(generation=step.round, finish=written.finish, tokens=written.tokens, repairs=list(written.repairs))
    return Generated(
        report=step.save(f"report-{step.round}.md", written.text),
        generation=step.round,
        finish=written.finish,
        language=author.language,
        examples=author.examples,
        faults=written.faults,
        repairs=written.repairs,
    )


def add_validation(
    workflow: Workflow[Day], build_context: StepDefinition[Day, Artifact], generate_report: StepDefinition[Day, Generated]
) -> StepDefinition[Day, Artifact]:
    """Declares VALIDATE_REPORT. It answers with the report that was found good; a person may name another one in its place."""

    @workflow.step(
        Effect.READ,
        rewind=Rewind(to=generate_report, on=InvalidOutput, max=GENERATIONS - 1),
        on_failure=Then.MANUAL,
    )
    def validate_report(step: Step[Day]) -> Artifact:
        generated = step.output(generate_report)
        collection = Context.model_validate_json(step.read(step.output(build_context))).collection
        shas = [commit.sha for commit in collection.commits]
        origin = Origin(
            finish=generated.finish,
            language=generated.language,
            examples=generated.examples,
            title=title_of(collection.project, collection.date),
            said="\n".join(f"{commit.subject}\n{commit.body}" for commit in collection.commits),
        )
        verdict = validate(step.read(generated.report).decode(), shas, known=collection.known, origin=origin)
        faults = (*generated.faults, *map(str, verdict.faults))
        step.evidence(generation=generated.generation, faults=[*faults], prose=verdict.prose, cited=verdict.cited, commits=len(shas))
        if faults:
            raise InvalidOutput("; ".join(faults))
        return generated.report

    return validate_report


class _Desk:
    """What an attempt offers to a generator."""

    def __init__(self, step: Step[Day], shelf: Shelf) -> None:
        self._step, self._shelf = step, shelf
        self._told = -_BEAT
        self._stored: Mapping[str, Artifact] | None = None

    def remaining(self) -> timedelta:
        """How long it may still take."""
        return max(timedelta(0), self._step.remaining - _MARGIN)

    def beat(self, received: int) -> None:
        """Writes down now and then how far it is; raises if the attempt or the run is to end."""
        if self._step.cancel_requested:
            raise Stopped("the run is to stop, so the rest of the answer is not waited for")
        now = time.monotonic()
        if now - self._told >= _BEAT:
            self._told = now
            self._step.evidence(received=received)

    def keep(self, name: str, content: str) -> None:
        """Stores an artifact; durable when it returns."""
        self._step.save(name, content)

    def kept(self, name: str) -> str | None:
        """What an earlier attempt of this run has stored under a name."""
        if self._step.attempt == 1:
            return None
        if self._stored is None:
            self._stored = self._shelf.stored(self._step.run_id)
        artifact = self._stored.get(name)
        return None if artifact is None else self._step.read(artifact).decode()
