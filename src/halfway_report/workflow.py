"""The daily report as a workflow: six steps, each with one action and at most one effect.

`daily_report(settings)` builds it. The functions are small on purpose: what they do stands in the modules they call,
none of which knows that there is an engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from halfway import Artifact, Effect, Errors, Retry, Step, StepDefinition, Then, Workflow
from halfway_report.collect import collect
from halfway_report.context import context_for
from halfway_report.errors import InvalidOutput, ProjectUnknown
from halfway_report.git import RepositoryUnusable
from halfway_report.models import Collection, Context, Day, Frozen, Page, SavedReport
from halfway_report.notion_values import Known
from halfway_report.outline import Generator, Outline
from halfway_report.saving import add_save
from halfway_report.schedules import add_schedules
from halfway_report.settings import ProjectSettings, ReportSettings
from halfway_report.upload import add_upload
from halfway_report.validation import validate

NAME = "DAILY_REPORT"


class Collected(Frozen):
    """The output of COLLECT_GIT: where the commits are, and between which two they lie."""

    artifact: Artifact
    commits: int
    from_commit: str | None
    to_commit: str | None


class Checked(Frozen):
    """The output of VALIDATE_REPORT: how much of the day the report cites."""

    prose: int
    cited: int
    commits: int


@dataclass(frozen=True, kw_only=True)
class DailyReport:
    """The workflow and its steps, for `app.start()` and `run.output()`; without Notion there is no `upload_notion`."""

    workflow: Workflow[Day]
    collect_git: StepDefinition[Day, Collected]
    build_context: StepDefinition[Day, Artifact]
    generate_report: StepDefinition[Day, Artifact]
    validate_report: StepDefinition[Day, Checked]
    save_markdown: StepDefinition[Day, SavedReport]
    upload_notion: StepDefinition[Day, Page] | None


def daily_report(settings: ReportSettings, generator: Generator | None = None, *, known: Known | None = None) -> DailyReport:
    """Builds the workflow for a deployment; without a generator the report is the plain outline of the commits.

    known: what the database of the runs has about the pages of a day; `deploy()` connects it. Without it only pages are changed that
    the run itself has made.
    """
    workflow = Workflow(NAME, Day, version=1, owner=settings.owner, key=lambda day: day.run_key, severity="LOW", timeout=timedelta(hours=1))
    add_schedules(workflow, settings)
    collect_git = _collect_git(workflow, settings)
    build_context = _build_context(workflow, collect_git, settings)
    generate_report = _generate_report(workflow, collect_git, build_context, generator or Outline())
    return DailyReport(
        workflow=workflow,
        collect_git=collect_git,
        build_context=build_context,
        generate_report=generate_report,
        validate_report=_validate_report(workflow, build_context, generate_report),
        save_markdown=add_save(workflow, generate_report, settings.out),
        upload_notion=None if settings.notion is None else add_upload(workflow, generate_report, settings.notion, known),
    )


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


def _generate_report(
    workflow: Workflow[Day],
    collect_git: StepDefinition[Day, Collected],
    build_context: StepDefinition[Day, Artifact],
    generator: Generator,
) -> StepDefinition[Day, Artifact]:
    @workflow.step(Effect.READ, retry=Retry(3), timeout=timedelta(minutes=10))
    def generate_report(step: Step[Day]) -> Artifact:
        collected, context = step.output(collect_git), step.output(build_context)
        step.evidence(
            project=step.input.project,
            businessDate=step.input.date.isoformat(),
            fromCommit=collected.from_commit,
            toCommit=collected.to_commit,
            model=generator.model,
            promptVersion=generator.prompt_version,
            contextHash=context.sha256,
        )
        text = generator.write(Context.model_validate_json(step.read(context)))
        return step.save("report.md", text)

    return generate_report


def _validate_report(
    workflow: Workflow[Day], build_context: StepDefinition[Day, Artifact], generate_report: StepDefinition[Day, Artifact]
) -> StepDefinition[Day, Checked]:
    @workflow.step(Effect.READ, on_failure=Then.MANUAL)
    def validate_report(step: Step[Day]) -> Checked:
        collection = Context.model_validate_json(step.read(step.output(build_context))).collection
        shas = [commit.sha for commit in collection.commits]
        verdict = validate(step.read(step.output(generate_report)).decode(), shas, known=collection.known)
        step.evidence(faults=[str(fault) for fault in verdict.faults], cited=verdict.cited, commits=len(shas))
        if verdict.faults:
            raise InvalidOutput("; ".join(str(fault) for fault in verdict.faults))
        return Checked(prose=verdict.prose, cited=verdict.cited, commits=len(shas))

    return validate_report


def _project(settings: ReportSettings, day: Day) -> ProjectSettings:
    project = settings.projects.get(day.project)
    if project is None:
        raise ProjectUnknown(f"no project {day.project}; known: {', '.join(sorted(settings.projects)) or 'none'}")
    return project
