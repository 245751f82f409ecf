"""Every way a command of halfway can go wrong: what is told about it, in the chosen language."""

from __future__ import annotations

from halfway.cli.i18n import tell
from halfway.command import Mishap, keep_trace
from halfway.errors import Exit, HalfwayError

HALFWAY = "halfway"


def mishap_of(error: Exception) -> Mishap:
    """One line for any exception; the traceback of an unexpected one goes to a file."""
    if isinstance(error, HalfwayError):
        return Mishap(command=HALFWAY, code=error.code, message=str(error), told=tell(error), params=error.params, exit=error.exit_code)
    problem = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}."
    internal = HalfwayError("INTERNAL", problem=problem, trace=keep_trace(error))
    return Mishap(command=HALFWAY, code="INTERNAL", message=str(internal), told=tell(internal), params=internal.params, exit=Exit.INTERNAL)
