"""What to do about a run that stands: one sentence about the cause, and the commands that go on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway_report import errors
from halfway_report.language import _
from halfway_report.reading import RunView, StepView

DONE = frozenset({"SUCCESS", "PARTIAL_SUCCESS"})
OVER = frozenset({*DONE, "FAILED", "CANCELLED", "EXPIRED", "COMPENSATED"})
_CAN_BE_LEFT_OUT = ("SAVE_MARKDOWN", "UPLOAD_NOTION")
_STOPPED = ("UNKNOWN", "FAILED")


def stopped_at(view: RunView) -> StepView | None:
    """The step that stopped a run; one about which a person is asked comes first."""
    stopped = [step for step in view.steps if step.asks or step.status in _STOPPED]
    return min(stopped, key=lambda step: not step.asks, default=None)


def advice(view: RunView, *, workers: int) -> Iterator[str]:
    """What to do, line by line; nothing for a run that has ended well."""
    step = stopped_at(view)
    if view.status in DONE:
        return
    if view.status in OVER and (view.status != "FAILED" or step is None):
        if any(one.name == "UPLOAD_NOTION" and one.undo == "COMPENSATED" for one in view.steps):
            yield _(
                "The undo has put the page into Notion's trash. Restore it there, or delete it for good, before you report the day anew."
            )
        yield _("This run has ended. Report the day anew with: {command}").format(command=_again(view))
    elif view.status in ("FAILED", "MANUAL_REQUIRED") and step is not None:
        yield from _about(view, step)
    elif workers:
        yield _("It goes on by itself; a worker is at it.")
    else:
        yield _("No worker is alive. Go on with: {command}").format(command=f"report resume {view.id}")


def _about(view: RunView, step: StepView) -> Iterator[str]:
    if step.status == "UNKNOWN":
        yield _("Nobody knows whether {step} has happened, so it is not repeated.").format(step=step.name)
        yield _("Have the other side asked again: {command}").format(command=f"report reconcile {view.id}")
        settled = f"report retry-step {view.id} {step.name} --not-happened '…'"
        yield _("If you have looked yourself, and it did not happen: {command}").format(command=settled)
        return
    if step.undo:
        yield _("What {step} has made could not be taken back: {code}").format(step=step.name, code=step.error_code)
        yield _("Remove the cause, then have it tried again: {command}").format(command=f"report resume {view.id}")
        yield _("Or leave it as it is: {command}").format(command=f"report skip {view.id} {step.name}")
        return
    yield remedy(step.error_code)
    if step.error_code == "INVALID_OUTPUT":
        yield _("Read what was written: {command}").format(command=f"report show {view.id} report --attempt 1")
        yield _("Take one of them all the same: {command}").format(command=f"report accept {view.id} --attempt 1")
    yield _("Then go on with: {command}").format(command=f"report resume {view.id}")
    if step.name in _CAN_BE_LEFT_OUT:
        yield _("Or go on without it: {command}").format(command=f"report skip {view.id} {step.name}")
    yield _("What is done stays done; nothing before {step} is run again.").format(step=step.name)


def _again(view: RunView) -> str:
    return f"report run {view.day.project} --date {view.day.date} --force"


def remedy(code: str) -> str:
    """What to do about a code: the errors of the report say it themselves."""
    remedies = {
        "HTTP_401": _("Notion does not accept the token. Put a valid one into its environment variable."),
        "HTTP_403": _("Notion does not allow it. Give the integration access to the data source."),
        "HTTP_404": _("Notion does not find the data source, or it is not shared with the integration."),
        "REPOSITORY_UNUSABLE": _("Git cannot read the repository. See what it says with: report doctor"),
    }
    documented = _documented().get(code)
    return _(documented) if documented else remedies.get(code, _("Remove the cause that is named above."))


def _documented() -> dict[str, str]:
    """The docstring of each error by the code that it has; scripts/i18n.py collects them as well."""
    found = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and kind.__module__ == errors.__name__}
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper(): " ".join((kind.__doc__ or "").split()) for name, kind in found.items()}
