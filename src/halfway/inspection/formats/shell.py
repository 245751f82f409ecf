"""Reads shell scripts. The unit is the whole script: whoever starts it again does everything again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from halfway.inspection.formats import Given
from halfway.inspection.formats.bash import read
from halfway.inspection.formats.bash.frame import Frame
from halfway.inspection.formats.bash.script import Script
from halfway.inspection.formats.bash.steps import drafts
from halfway.inspection.formats.moving import moving
from halfway.inspection.formats.sequence import edges, joined, numbered
from halfway.inspection.model import Fact, Flow, Guard, Mark, Repeater, Repeating, RunLog, Span, Starting, Trigger, Unread
from halfway.inspection.quoting import has_form, holds_secret, quoted
from halfway.inspection.source import Source, Unreadable

_FIRST_LINE = re.compile(r"^#!\s*\S*?(?:/|\benv\s+(?:-S\s+)?)(?:ba|z|da|k)?sh\b")
BROKEN = "parts of {what} could not be read as a shell script"
NEAR = 8  # lines
_SERVICE = re.compile(r"\s*(?:export\s+)?([A-Z][A-Z0-9_]{0,60}?)_(?:API_KEY|ACCESS_KEY|SECRET_KEY|KEY|TOKEN|SECRET|PASSWORD|PASS)\s*[:=]")
MOST_SECRETS = 50


class Shell:
    """The reader of plain scripts."""

    name = "shell"

    def takes(self, source: Source, /) -> bool:
        """A first line that names a shell; without one, a name that does and no other first line."""
        if _FIRST_LINE.match(source.line(1)):
            return True
        return source.path.endswith((".sh", ".bash")) and not source.text.startswith("#!")

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        """The one automation that a script is."""
        first = source.line(1)
        try:
            script = read(source.text, stops=bool(re.match(r"^#!.*\s-[a-z]*e", first)))
        except Unreadable as error:
            source.unread["shell"] = str(error)
            raise
        name = PurePosixPath(source.path).name
        whole = Span(source.path, 1, len(source.lines))
        frame = Frame(
            source=source,
            given=given,
            unit=name,
            scope=name,
            id=name,
            place=lambda line, end: Span(source.path, line, end),
            repeaters=(Repeater(Repeating.UNIT_RERUN, automatic=False, bound=None, span=Span(source.path, 1), default=True),),
            followed=(source.path,),
        )
        broken = [Unread(name, BROKEN, whole, at_hand=True)] if script.broken else []
        placed = numbered(joined(drafts(script, frame), False))
        steps = tuple(draft.step for draft in placed)
        notices = [step.span for step in steps if Mark.FAILURE_NOTICE in step.marks]
        yield Flow(
            id=source.path,
            name=name,
            format=self.name,
            file=source.path,
            span=whole,
            steps=steps,
            edges=tuple(edges(placed)),
            triggers=(Trigger(Starting.MANUAL, Span(source.path, 1), quoted(first), _parameters(source.text)),),
            guards=tuple(_locks(script, source)),
            failure_notice=notices[0] if notices else None,
            notice_expected=False,
            unread=(*(step.opaque for step in steps if step.opaque is not None), *broken),
            secrets=tuple(secrets(source)),
            moving=moving(source),
        )

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        """A script leaves no log of a known form."""
        yield from ()


def secrets(source: Source) -> Iterator[Fact]:
    """Lines in which a literal secret stands; the quote does not have it."""
    found = 0
    for number, line in enumerate(source.lines, 1):
        if found < MOST_SECRETS and len(line) < 5_000 and holds_secret(line) and not _is_of_this_machine(source, number):
            found += 1
            yield replace(source.fact(source.span(number)), certain=has_form(line))


def _is_of_this_machine(source: Source, number: int) -> bool:
    """Whether a variable beside it, of the same service by its name, says that this runs on the machine itself."""
    named = _SERVICE.match(source.line(number))
    if named is None or has_form(source.line(number)):
        return False
    here = re.compile(
        rf"\b{named[1]}_(?:BASE_)?(?:URL|HOST|ENDPOINT|BASE|ADDR)\s{{0,5}}[:=]\s{{0,5}}[\"']?(?:\w+://)?(?:localhost|127\.0\.0\.1)\b"
    )
    return any(here.search(source.line(one)) for one in range(max(1, number - NEAR), min(len(source.lines), number + NEAR) + 1))


def _parameters(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"\$\{?([1-9])\b", text))))


def _locks(script: Script, source: Source) -> Iterator[Guard]:
    """`flock` keeps two runs apart; without `-n` the second one waits."""
    for command in script.commands:
        if command.wrapping.locked or command.words[0] in ("flock", "lockfile", "setlock"):
            waits = not re.search(r"\s(?:-n|--nonblock)\b", command.text)
            yield Guard(Span(source.path, command.line, command.end), queues=waits)
            return
