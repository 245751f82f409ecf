"""From a card to a contract: a flow as a workflow of halfway in Python, without a body that does anything.

What the flow or a verified row of the base says is filled in, with its line as a comment; what a person must decide is marked.
Where nothing says how to look whether a step happened, the contract is left open, so that `halfway check` refuses exactly that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from halfway.inspection.assessing import outward, weight
from halfway.inspection.card import Card
from halfway.inspection.drafting import identities, plan
from halfway.inspection.emitting_steps import Writing, functions, place, roles
from halfway.inspection.finding import Said
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.literals import Names, comment, plain, string
from halfway.inspection.model import Flow

Say = Callable[[Said], str]

MOST_FIELDS = 12
IMPORTED = ("Absent", "CannotTell", "Effect", "Found", "Halfway", "Mark", "Retry", "Risk", "Step", "Then", "Workflow")
SEVERITIES = ("LOW", "NORMAL", "NORMAL", "NORMAL", "HIGH", "CRITICAL")  # by the weight of the gravest effect


@dataclass(frozen=True)
class Field:
    """What tells one case from another."""

    name: str
    lines: tuple[str, ...]  # comments above it


def skeleton(flow: Flow, card: Card, knowledge: Knowledge, say: Say) -> str:
    """The text of a module, empty if no step would be in it; `say` puts a sentence into the language of the comments."""
    names = Names()
    writing = Writing(flow, card, plan(flow, knowledge, names), names, say)
    if not writing.plan.parts:
        return ""
    fields = tuple(_fields(writing))
    body = [*_input(fields), *_workflow(writing, fields), *functions(writing), *_left_out(writing), *_app(writing)]
    return "\n".join([*_head(writing), *_imports(body), *body, ""])


def _head(writing: Writing) -> Iterator[str]:
    flow, card = writing.flow, writing.card
    yield '"""A workflow that is not written yet: every step says what it stands for, and does nothing."""'
    yield ""
    yield writing.remark("Made from {name} ({format}) in {file}, which was only read.", name=flow.name, format=flow.format, file=flow.file)
    yield writing.remark("The inspection of it ended with: {verdict}", verdict=Said(card.verdict.value.upper()))
    if card.gravest is not None:
        yield comment(f"{card.gravest.rule} {place(card.gravest.span)}: {writing.say(card.gravest.inference)}")
        if card.gravest.holds_if is not None:
            yield writing.remark("holds if: {condition}", condition=card.gravest.holds_if)
    yield writing.todo("first the places with this mark, then the bodies: each raises NotImplementedError")
    yield writing.remark("Look at it again and again with: halfway check --app MODULE:app")
    yield writing.remark("That refuses a step as long as nothing tells what became of a lost answer, and a role that nobody holds.")
    yield ""


def _imports(body: Sequence[str]) -> Iterator[str]:
    used = {node.id for node in ast.walk(ast.parse("\n".join(body))) if isinstance(node, ast.Name)}
    times = [name for name in ("datetime", "timedelta") if name in used]
    if times:
        yield from (f"from datetime import {', '.join(times)}", "")
    yield "from halfway import ("
    yield from (f"    {name}," for name in IMPORTED if name in used)
    yield from (")", "from pydantic import BaseModel")


# ── the case ──


def _fields(writing: Writing) -> Iterator[Field]:
    from pydantic import BaseModel  # noqa: PLC0415

    flow, names = writing.flow, Names(dir(BaseModel))
    inputs = [(name, trigger.span) for trigger in flow.triggers for name in trigger.inputs]
    found: dict[str, list[str]] = {}
    for text, span in (*identities(flow), *inputs):
        # `inputs.tag` and `$TAG` are the input `tag`.
        same = next((name for name, _ in inputs if f"_{plain(text)}".endswith(f"_{plain(name)}")), text)
        line = comment(f"{place(span)}: {text}")
        if line not in found.setdefault(plain(same) or "case_id", []):
            found[plain(same) or "case_id"].append(line)
    for name, lines in list(found.items())[:MOST_FIELDS]:
        yield Field(names.unique(f"the_{name}" if name.startswith("model") else name, prefix="the"), tuple(lines))
    if not found:
        yield Field("case_id", (writing.todo("what tells one case from another, and is no personal data"),))


def _input(fields: Sequence[Field]) -> Iterator[str]:
    yield from ("", 'OWNER = "owner"', "", "", "class Input(BaseModel):")
    for field in fields:
        yield from (f"    {line}" for line in field.lines)
        yield f"    {field.name}: str"


def _workflow(writing: Writing, fields: Sequence[Field]) -> Iterator[str]:
    flow = writing.flow
    gravest = max((weight(step) for step in outward(flow)), default=0)
    yield from ("", "", "flow = Workflow(", f"    {string(kind_of(flow))},", "    Input,", "    version=1,", "    owner=OWNER,")
    yield "    " + writing.todo("whether this names the case: a second start with the same key answers the first run")
    yield f'    key=lambda given: f"{kind_of(flow).lower()[:20]}:{{given.{fields[0].name}}}",'
    yield f'    severity="{SEVERITIES[gravest]}",'
    yield "    on_failure=Then.MANUAL,"
    for guard in flow.guards[:1]:
        yield "    " + comment(f"{place(guard.span)}: {guard.group}")
        yield "    concurrency=1,"
    yield ")"
    for trigger in flow.triggers:
        yield comment(f"{place(trigger.span)}: {trigger.quote or trigger.kind}")
    if flow.triggers:
        yield writing.todo("what starts it: flow.schedule, flow.starts_on, or app.start in your program")


def kind_of(flow: Flow) -> str:
    """The type of its runs."""
    name = plain(flow.name)[:40].strip("_") or "flow"
    return (name if name[0].isalpha() else f"flow_{name}").upper()


# ── the end ──


def _left_out(writing: Writing) -> Iterator[str]:
    if writing.plan.left_out:
        yield from ("", "")
        yield writing.todo("what is done when a run fails: halfway tells its owner, and a person decides; left out are")
        yield from (comment(f"{place(step.span)}: {step.name}") for step in writing.plan.left_out)


def _app(writing: Writing) -> Iterator[str]:
    yield from ("", "", "app = Halfway(", f"    {string(f'sqlite:///{kind_of(writing.flow).lower()}.db')},", "    workflows=[flow],")
    yield "    " + writing.todo("who holds each role")
    yield f"    roles={{{', '.join(f'{role}: []' for role in roles(writing))}}},"
    yield ")"
