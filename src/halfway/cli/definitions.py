"""Your definitions, before the first run: the contract of each step, its holes, and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

import click

from halfway.cli.i18n import _, translated
from halfway.cli.options import where
from halfway.cli.output import chat, clean, print_json
from halfway.cli.place import control, find_place, load_app
from halfway.cli.versions import exit_of, print_impact
from halfway.command import answering
from halfway.domain.check import Finding
from halfway.domain.check import check as find_holes
from halfway.domain.clauses import Contract, contract_of
from halfway.domain.drawing import mermaid_lines, text_lines
from halfway.domain.picture import Picture, picture_of
from halfway.domain.spec import FanSpec, Sort, StepSpec, WorkflowSpec
from halfway.domain.svg import svg
from halfway.errors import Exit, NotFound

COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@click.command(short_help="Look for holes in the contracts of your workflows.")
@click.argument("kind", metavar="[TYPE]", required=False)
@click.option("--live", is_flag=True, help="And say what this code means for the runs that are open now; reads the database.")
@where
@answering
def check(*, kind: str | None, live: bool, app: str | None, url: str | None, as_json: bool) -> None:
    """Print the contract of every step, and look for holes. Touches no database without --live. Exit code 2 if there is an error.

    A contract says what proves that the step ran, what a lost answer means, when no further attempt is made, and who decides then.
    With --live, exit code 4 if open runs would stand with this code, 5 if somebody must move them first.
    """
    if live:
        _check_live(kind, app, url, as_json)
        return
    specs = _specs(kind, app, url)
    roles = _roles(app, url)
    found = {spec: find_holes(spec, roles=roles) for spec in specs}
    if as_json:
        print_json([_json(spec, findings) for spec, findings in found.items()])
    else:
        for spec, findings in found.items():
            _print(spec, findings)
        if roles is None:
            chat(_("No roles are named, so whether anybody holds them was not looked at, and everybody may order everything."))
        _sum([finding for findings in found.values() for finding in findings])
    if any(finding.level == "error" for findings in found.values() for finding in findings):
        click.get_current_context().exit(Exit.USAGE)


def _check_live(kind: str | None, app: str | None, url: str | None, as_json: bool) -> None:
    """The same holes, and the runs that are open."""
    with control(app, url, code=True) as runs:
        groups = runs.impact(type=kind)
    roles = _roles(app, url)
    specs = [workflow.spec for workflow in load_app(find_place(app, url)).workflows.values() if kind in (None, workflow.name)]
    errors = [(spec, one) for spec in specs for one in find_holes(spec, roles=roles) if one.level == "error"]
    if as_json:
        told = [
            {"type": spec.type, "version": spec.version, "step": one.step, "code": one.code, "problem": one.problem} for spec, one in errors
        ]
        print_json({"errors": told, "live": [group.to_json() for group in groups]})
    else:
        for spec, one in errors:
            click.echo(f"{spec.type} v{spec.version} {one.step}")
            _print_finding(one)
        print_impact(groups)
    click.get_current_context().exit(Exit.USAGE if errors else exit_of(groups))


def _specs(kind: str | None, app: str | None, url: str | None) -> list[WorkflowSpec]:
    workflows = load_app(find_place(app, url)).workflows
    specs = [workflow.spec for (name, _number), workflow in sorted(workflows.items()) if kind in (None, name)]
    if kind is not None and not specs:
        raise NotFound("WORKFLOW_UNKNOWN", workflow=kind, known=", ".join(sorted({name for name, _number in workflows})) or "none")
    return specs


def _roles(app: str | None, url: str | None) -> Mapping[str, Sequence[str]] | None:
    """Those of the project, else those of the app."""
    place = find_place(app, url)
    return place.roles if place.roles is not None else load_app(place).roles


def _print(spec: WorkflowSpec, findings: tuple[Finding, ...]) -> None:
    click.echo(click.style(f"{spec.type} v{spec.version}", bold=True) + f"  {_('owner')} {spec.owner}")
    for finding in findings:
        if not finding.step:
            _print_finding(finding)
    for step in spec.steps:
        click.echo(f"\n  {click.style(step.name, bold=True)}  {_effect(step)}")
        for name, text in _parts(contract_of(step, spec)):
            click.echo(f"    {name}: {translated(text)}")
        for finding in findings:
            if finding.step == step.name:
                _print_finding(finding)
    click.echo()


def _print_finding(finding: Finding) -> None:
    level = {"error": _("error"), "warning": _("warning"), "note": _("note")}[finding.level]
    told = f"{translated(finding.problem)} {translated(finding.remedy)}"
    click.echo(f"    {click.style(level, fg=COLOURS[finding.level])} {finding.code}: {told}")


def _parts(contract: Contract) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for name, text in ((_("starts"), contract.starts), (_("for many"), contract.many)) if text)
    yield _("evidence"), contract.evidence
    yield _("a lost answer"), contract.rule
    yield _("stop"), contract.stop_condition
    yield _("approver"), contract.approver


def _sum(findings: list[Finding]) -> None:
    counts = {level: sum(finding.level == level for finding in findings) for level in COLOURS}
    chat(_("errors: {error}, warnings: {warning}, notes: {note}").format(**counts))


def _json(spec: WorkflowSpec, findings: tuple[Finding, ...]) -> dict[str, object]:
    return {
        "type": spec.type, "version": spec.version, "owner": spec.owner,
        "steps": [_step_json(step, contract_of(step, spec)) for step in spec.steps],
        "findings": [
            {"level": one.level, "step": one.step, "code": one.code, "problem": one.problem, "remedy": one.remedy} for one in findings
        ],
    }  # fmt: skip


def _step_json(step: StepSpec, contract: Contract) -> dict[str, object]:
    return {
        **_node(step), "starts": contract.starts or None, "forMany": contract.many or None,
        "evidence": contract.evidence, "lostAnswer": contract.rule, "stopCondition": contract.stop_condition,
        "approver": contract.approver,
    }  # fmt: skip


def _effect(step: StepSpec) -> str:
    return step.sort.value if step.effect is None else step.effect.value


# ── the picture ──


@click.command(short_help="Draw a workflow.")
@click.argument("kind", metavar="TYPE")
@click.option(
    "--format", "form", type=click.Choice(["text", "mermaid", "svg"]), default="text", show_default=True, help="text, mermaid or svg."
)
@where
@answering
def graph(*, kind: str, form: str, app: str | None, url: str | None, as_json: bool) -> None:
    """Draw the workflow TYPE: its steps with what they do, wait for and ask, and after which others each of them stands.

    An SVG shows the newest version; the others show all that the app has. Touches no database.
    """
    specs = _specs(kind, app, url)
    if as_json:
        print_json([{"type": spec.type, "version": spec.version, "steps": [_node(step) for step in spec.steps]} for spec in specs])
    elif form == "svg":
        click.echo(svg(in_words(picture_of(specs[-1]))), nl=False)
    else:
        for spec in specs:
            lines = mermaid_lines if form == "mermaid" else text_lines
            click.echo("\n".join(map(clean, lines(in_words(picture_of(spec))))))


def in_words(picture: Picture) -> Picture:
    """The picture for who reads the chosen language; names and kinds of effects stay."""
    nodes = (replace(one, kind=translated(one.kind), details=tuple(map(_listed, one.details))) for one in picture.nodes)
    lines = (replace(one, label=translated(one.label)) for one in picture.lines)
    return replace(picture, subtitle=_listed(picture.subtitle), nodes=tuple(nodes), lines=tuple(lines), back=translated(picture.back))


def _listed(text: str) -> str:
    whole = translated(text)
    return whole if whole != text else ", ".join(map(translated, text.split(", ")))


def _node(step: StepSpec) -> dict[str, object]:
    each, children = (step.fan if step.sort is sort else None for sort in (Sort.EACH, Sort.CHILDREN))
    return {
        "name": step.name, "effectKind": _effect(step), "after": list(step.after), "optional": step.optional,
        "condition": step.condition or None, "atLeast": step.at_least, "rewind": None if step.rewind is None else asdict(step.rewind),
        "each": None if each is None else {"items": each.items, **_fan(each)},
        "children": None if children is None else {"workflow": children.workflow, **_fan(children), "detached": step.detached},
    }  # fmt: skip


def _fan(fan: FanSpec) -> dict[str, object]:
    return {"concurrency": fan.concurrency, "partialFrom": fan.partial_from, "failedBelow": fan.failed_below}
