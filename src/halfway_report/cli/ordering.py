"""Orders about a run: `report resume`, `retry-step`, `skip`, `reconcile`, `cancel`; the audit log keeps who gave them and why."""

from __future__ import annotations

from pathlib import Path

import click

from halfway_report import attempts, reading
from halfway_report.advice import OVER, advice
from halfway_report.cli.options import NO_LLM, RUN, common, order
from halfway_report.cli.printing import chat, exit_of, facts, print_json, tell_run
from halfway_report.cli.site import Site, opened
from halfway_report.cli.working import refuse_a_model, refuse_beside, refuse_without_code, work_on
from halfway_report.language import _
from halfway_report.reading import RunView
from halfway_report.workflow import NAME


@click.command(short_help="Go on with a run after what stopped it.")
@RUN
@NO_LLM
@order
@common
def resume(*, run_id: str, no_llm: bool, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Go on with RUN after what stopped it; steps that are done stay done. A run that was interrupted or waits goes on now."""
    with opened(config, no_llm=no_llm) as site:
        view = _going_on(site, run_id)
        if no_llm:
            refuse_a_model(site)
        if view.status in OVER or view.status == "MANUAL_REQUIRED":
            reading.resume(site.app, view.id, actor=actor, reason=reason)
        else:
            reading.hurry(site.app, view, actor=actor, reason=reason)
        code = _work(site, view, as_json=as_json)
    click.get_current_context().exit(code)


@click.command("retry-step", short_help="Give one step its attempts anew.")
@RUN
@click.argument("step")
@click.option("--not-happened", "evidence", metavar="EVIDENCE", help="Nobody knew whether it happened, and you have seen that it did not.")
@NO_LLM
@order
@common
def retry_step(
    *, run_id: str, step: str, evidence: str | None, no_llm: bool, actor: str, reason: str, config: Path | None, as_json: bool
) -> None:
    """Give STEP of RUN its attempts anew, as in: report retry-step RUN UPLOAD_NOTION"""
    with opened(config, no_llm=no_llm) as site:
        view = _going_on(site, run_id)
        if no_llm:
            refuse_a_model(site)
        reading.retry(site.app, view.id, step.upper(), actor=actor, reason=reason, evidence=evidence)
        code = _work(site, view, as_json=as_json)
    click.get_current_context().exit(code)


@click.command(short_help="Go on without a step that has failed.")
@RUN
@click.argument("step")
@order
@common
def skip(*, run_id: str, step: str, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Go on without STEP of RUN, as in: report skip RUN SAVE_MARKDOWN, where the file that a person wrote shall stay."""
    with opened(config) as site:
        view = _going_on(site, run_id)
        reading.skip(site.app, view.id, step.upper(), actor=actor, reason=reason)
        code = _work(site, view, as_json=as_json)
    click.get_current_context().exit(code)


@click.command(short_help="Have Notion asked again what became of a page.")
@click.argument("run_id", metavar="[RUN]", required=False)
@order
@common
def reconcile(*, run_id: str | None, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Have the other side asked again whether a step of RUN happened about which nobody knows; without RUN, of all such runs."""
    after: list[RunView] = []
    with opened(config) as site:
        views = [_found(site, run_id)] if run_id else [reading.show(site.app, row.id) for row in _asking(site)]
        doubtful = [(view, step.name) for view in views for step in view.steps if step.status == "UNKNOWN"]
        for view, step in doubtful:
            reading.probe(site.app, view.id, step, actor=actor, reason=reason)
            after.append(work_on(site, site.app.get(site.report.workflow, view.id)))
        workers = reading.workers(site.app)
    if as_json:
        print_json([facts(view, list(advice(view, workers=workers))) for view in after])
    for view in () if as_json else after:
        tell_run(view, workers=workers, as_json=False)
    if not doubtful:
        chat(_("Nothing is in doubt."))
    click.get_current_context().exit(max((exit_of(view.status) for view in after), default=0))


@click.command(short_help="Take what a generation wrote, whatever was wrong with it.")
@RUN
@click.option(
    "--attempt", required=True, type=click.IntRange(1), metavar="N", help="Which one; read it with: report show RUN report --attempt N"
)
@order
@common
def accept(*, run_id: str, attempt: int, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Take what the N-th generation of RUN wrote as its report, whatever was wrong with it, and go on."""
    with opened(config) as site:
        view = _going_on(site, run_id)
        attempts.accept(site.app, view.id, attempt, actor=actor, reason=reason)
        code = _work(site, view, as_json=as_json)
    click.get_current_context().exit(code)


@click.command(short_help="Stop a run at the next safe boundary.")
@RUN
@click.option("--undo", is_flag=True, help="And take back what it has made, if nobody has edited it.")
@order
@common
def cancel(*, run_id: str, undo: bool, actor: str, reason: str, config: Path | None, as_json: bool) -> None:
    """Stop RUN at the next safe boundary. What is done stays done, unless you say --undo; what is in doubt is settled first."""
    with opened(config) as site:
        view = reading.show(site.app, run_id, journal=False)
        reading.cancel(site.app, view.id, actor=actor, reason=reason, undo=undo)
        after = reading.show(site.app, view.id, journal=False)
        if after.status not in OVER:
            after = work_on(site, site.app.get(site.report.workflow, view.id))
        code = tell_run(after, workers=reading.workers(site.app), as_json=as_json)
    # Stopped or taken back is what was ordered.
    click.get_current_context().exit(0 if after.status in ("CANCELLED", "COMPENSATED") else code)


def _asking(site: Site) -> tuple[reading.RunLine, ...]:
    return reading.runs(site.app, NAME, 1000, status="MANUAL_REQUIRED")


def _found(site: Site, run_id: str) -> RunView:
    """The run, if this configuration has the code for all of its steps."""
    view = reading.show(site.app, run_id, journal=False)
    refuse_without_code(site, view)
    return view


def _going_on(site: Site, run_id: str) -> RunView:
    """The run, if no other revision of its day stands in its way; taking back what it has made is always allowed."""
    view = _found(site, run_id)
    if not view.undoing:
        refuse_beside((other for other in reading.of_day(site.app, NAME, view.day) if other.id != view.id), than=view)
    return view


def _work(site: Site, view: RunView, *, as_json: bool) -> int:
    after = work_on(site, site.app.get(site.report.workflow, view.id))
    return tell_run(after, workers=reading.workers(site.app), as_json=as_json)
