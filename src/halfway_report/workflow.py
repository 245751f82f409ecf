"""The daily report as a workflow: six steps, each with one action and at most one effect.

`daily_report(settings)` builds it. The functions are small on purpose: what they do stands in the modules they call,
none of which knows that there is an engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from halfway import Artifact, Effect, Errors, Retry, Step, StepDefinition, Workflow
from halfway_report.attempts import Shelf
from halfway_report.collect import collect
from halfway_report.context import context_for
from halfway_report.errors import ProjectUnknown
from halfway_report.generating import Generated, add_generation, add_validation
from halfway_report.generators import Generator
from halfway_report.git import RepositoryUnusable
from halfway_report.models import Collection, Day, Frozen, Page, SavedReport
from halfway_report.notion_values import Known
from halfway_report.outline import Outline
from halfway_report.saving import add_save
from halfway_report.schedules import add_schedules
from halfway_report.settings import ProjectSettings, ReportSettings
from halfway_report.upload import add_upload

NAME = "DAILY_REPORT"


class Collected(Frozen):
    """The output of COLLECT_GIT: where the commits are, and between which two they lie."""

    artifact: Artifact
    commits: int
    from_commit: str | None
    to_commit: str | None


@dataclass(frozen=True, kw_only=True)
class DailyReport:
    """The workflow and its steps, for `app.start()` and `run.output()`; without Notion there is no `upload_notion`."""

    workflow: Workflow[Day]
    collect_git: StepDefinition[Day, Collected]
    build_context: StepDefinition[Day, Artifact]
    generate_report: StepDefinition[Day, Generated]
    validate_report: StepDefinition[Day, Artifact]  # the report itself
    save_markdown: StepDefinition[Day, SavedReport]
    upload_notion: StepDefinition[Day, Page] | None
    shelf: Shelf  # to be given the application, or a map begins anew after a crash


def daily_report(settings: ReportSettings, generator: Generator | None = None, *, known: Known | None = None) -> DailyReport:
    """Builds the workflow for a deployment; without a model and a generator the report is the plain outline of the commits.

    known: what the database of the runs has about the pages of a day; `deploy()` connects it. Without it only pages are changed that
    the run itself has made.
    """
    # Without a timeout of its own: that would go on while nobody works, and each step has one.
    workflow = Workflow(
        NAME, Day, version=1, owner=settings.owner, key=lambda day: day.run_key, severity="LOW",
        resource=lambda day: day.key,  # the revisions of a day have one file and one page
    )  # fmt: skip
    add_schedules(workflow, settings)
    collect_git = _collect_git(workflow, settings)
    build_context = _build_context(workflow, collect_git, settings)

    def span(step: Step[Day]) -> tuple[str | None, str | None]:
        collected = step.output(collect_git)
        return collected.from_commit, collected.to_commit

    author, shelf = generator or _author(settings), Shelf()
    language = settings.language if settings.llm is None else settings.llm.language
    generate_report = add_generation(workflow, build_context, author, span=span, llm=settings.llm, language=language, shelf=shelf)
    validate_report = add_validation(workflow, build_context, generate_report)
    return DailyReport(
        workflow=workflow,
        collect_git=collect_git,
        build_context=build_context,
        generate_report=generate_report,
        validate_report=validate_report,
        # What is saved and uploaded is what was found good, or what a person has accepted.
        save_markdown=add_save(workflow, validate_report, settings.out),
        upload_notion=None if settings.notion is None else add_upload(workflow, validate_report, settings.notion, known),
        shelf=shelf,
    )


def _author(settings: ReportSettings) -> Generator:
    if settings.llm is None:
        return Outline(settings.language)
    from halfway_report.generators.modes import writer  # noqa: PLC0415 - its client takes longer to load than most commands take

    return writer(settings.llm)


def _collect_git(workflow: Workflow[Day], settings: ReportSettings) -> StepDefinition[Day, Collected]:
    @workflow.step(Effect.READ, retry=Retry(3), timeout=timedelta(minutes=5), errors=Errors(fail=RepositoryUnusable))
    def collect_git(step: Step[Day]) -> Collected:
        project = _project(settings, step.input)
        collection = collect(step.input.project, step.input.date, project, within=step.remaining * 0.9)
        commits = collection.commits
        return Collected(
            artifact=step.save("commits.json", collection.model_dump_json(indent=1)),
            commits=len(commits),
            from_commit=commits[0].sha if commits else None,
            to_commit=commits[-1].sha if commits else None,
        )

    return collect_git


def _build_context(
    workflow: Workflow[Day], collect_git: StepDefinition[Day, Collected], settings: ReportSettings
) -> StepDefinition[Day, Artifact]:
    @workflow.step(Effect.READ)
    def build_context(step: Step[Day]) -> Artifact:
        project = _project(settings, step.input)
        collection = Collection.model_validate_json(step.read(step.output(collect_git).artifact))
        context = context_for(collection, project)
        step.evidence(tokens=context.tokens, leftOut=list(context.left_out))
        return step.save("context.json", context.canonical())

    return build_context


def _project(settings: ReportSettings, day: Day) -> ProjectSettings:
    project = settings.projects.get(day.project)
    if project is None:
        raise ProjectUnknown(f"no project {day.project}; known: {', '.join(sorted(settings.projects)) or '-'}")
    return project
