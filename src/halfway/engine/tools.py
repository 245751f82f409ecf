"""Calls of tools inside an attempt: written down before and after, never made twice, and within the budget (R-E6, R-J10).

A repeat of the attempt asks first what earlier ones have called: the same call with an effect gets the same answer, and one whose answer
was lost is a doubt of the whole step. Calls that only read are simply made again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from halfway.authoring.failures import bounded, describe
from halfway.authoring.redaction import redact
from halfway.authoring.shape import called, is_coroutine
from halfway.authoring.tools import BudgetExceeded, Call, HandedOver, ToolFailed, ToolNotAllowed
from halfway.authoring.values import LIMIT, decode, encode
from halfway.domain.spec import Effect
from halfway.errors import HalfwayError, OutcomeUnknown, StepFailed
from halfway.ports import Answered, Called, CallRow

if TYPE_CHECKING:
    from halfway.engine.attempt import Running

LONGEST = 4_000  # characters of arguments that are kept


class Toolbox:
    """The calls of one attempt; used by its body alone."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._seq = 0
        self.stopped: StepFailed | None = None  # nothing is called any more, whatever the body makes of the exception
        self._one = threading.Lock()  # async tools are called side by side
        self._made: Counter[tuple[str, str]] = Counter()
        self._former: dict[tuple[str, str], list[CallRow]] | None = None

    # ── spending ──

    def spend(self, tokens: int) -> None:
        """Durable when it returns; BudgetExceeded if that was more than there is."""
        self._running.hand_in(self._next("", Effect.READ, "{}", tokens))
        self._check()

    def _check(self, *, calls: int = 0) -> None:
        """Whether what was spent, with so many more calls, is within what the run and the step may spend."""
        allowed = self._running.budget
        if allowed == (None, None, None, None):
            return
        spent = self._running.pump.calls.spent(self._running.run_id, self._running.step_name)
        used = (spent.tokens, spent.calls + calls, spent.step_tokens, spent.step_calls + calls)
        for what, used_up, limit in zip(("tokens", "tool calls", "tokens", "tool calls"), used, allowed, strict=True):
            if limit is not None and used_up > limit:
                raise self._stop(BudgetExceeded(f"{used_up} {what} are more than the {limit} that may be spent"))

    def _stop(self, error: StepFailed) -> StepFailed:
        self.stopped = error
        return error

    # ── calling ──

    def call(self, tool: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """What the tool answers; of one that is `async def` something to be awaited."""
        if is_coroutine(tool):
            return self._acall(tool, args, kwargs)
        known, started = self._begin(tool, args, kwargs)
        if started is None:
            return known
        try:
            answer = tool(*args, **kwargs)
        except BaseException as error:
            self._running.hand_in(_failed(started, error))
            raise
        self._running.hand_in(_answered(started, tool, answer))
        return answer

    async def _acall(self, tool: Callable[..., Awaitable[Any]], args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        known, started = await asyncio.to_thread(self._begin, tool, args, kwargs)
        if started is None:
            return known
        try:
            answer = await tool(*args, **kwargs)
        except BaseException as error:
            await asyncio.to_thread(self._running.hand_in, _failed(started, error))
            raise
        await asyncio.to_thread(self._running.hand_in, _answered(started, tool, answer))
        return answer

    def _begin(self, tool: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[Any, Called | None]:
        """What is known of this call already, or that it begins."""
        if self.stopped is not None:
            raise self.stopped
        running, name = self._running, called(tool)
        effect = running.handler.tools.get(tool)
        if effect is None:
            known = ", ".join(sorted(map(called, running.handler.tools))) or "none"
            raise ToolNotAllowed(f"step {running.step_name} may not use {name}; its tools: {known}")
        text = _arguments(args, kwargs)
        former = self._former_call(name, text) if effect is not Effect.READ else None
        if former is not None:
            return _known(former, tool), None
        self._check(calls=1)
        reason = None
        if running.handler.hand_over is not None:
            reason = running.handler.hand_over(Call(tool=name, effect=effect, args=args, kwargs=kwargs, number=self._seq + 1))
        if reason:
            raise self._stop(HandedOver(reason))
        started = self._next(name, effect, text, 0)
        running.hand_in(started)
        return None, started

    def _next(self, tool: str, effect: Effect, args: str, tokens: int) -> Called:
        running = self._running
        with self._one:
            self._seq += 1
            seq = self._seq
        return Called(running.run_id, running.record, running.attempt, seq, tool, effect.value, args, tokens)

    def _former_call(self, name: str, args: str) -> CallRow | None:
        """The same call of an earlier attempt, if there was one more of them than this attempt has made."""
        with self._one:
            if self._former is None:
                self._former = {}
                running = self._running
                for row in running.pump.calls.before(running.run_id, running.record, running.attempt):
                    self._former.setdefault((row.tool, row.args), []).append(row)
            made = self._made[name, args]
            self._made[name, args] += 1
            rows = self._former.get((name, args), [])
        return rows[made] if made < len(rows) else None


def _arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """As JSON, by which the same call is recognised; what JSON cannot hold is named by its text.

    Where something is left out, a digest of all of it keeps two calls apart that only look alike.
    """
    text = json.dumps(json.loads(to_json({"args": args, "kwargs": kwargs}, fallback=repr)), sort_keys=True, ensure_ascii=True)
    kept = bounded(redact(text), LONGEST)
    return kept if kept == text else f"{kept} #{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _answered(call: Called, tool: Callable[..., Any], answer: object) -> Answered:
    try:
        text: str | None = encode(_adapter(tool), answer, what=f"answer of {call.tool}")
        error = None
    except HalfwayError as refused:  # it did answer; a repeat cannot be given the same
        text, error = None, f"its answer could not be kept: {refused}"
    if text is not None and len(text) > LIMIT:
        text, error = None, "its answer is too large to be kept"
    return Answered(call.run_id, call.key, call.n, call.seq, text, error)


def _failed(call: Called, error: BaseException) -> Answered:
    code, message = describe(error)
    return Answered(call.run_id, call.key, call.n, call.seq, None, f"{code}: {message}")


def _known(row: CallRow, tool: Callable[..., Any]) -> Any:
    """What an earlier attempt got; its answer, its failure, or nobody knows."""
    if row.answer is not None:
        return decode(_adapter(tool), row.answer, what=f"answer of {row.tool}")
    if row.ended_at is None:
        raise OutcomeUnknown(f"attempt {row.n} has called {row.tool}, and its answer is missing")
    if row.error is not None and row.error.startswith("its answer"):
        raise OutcomeUnknown(f"attempt {row.n} has called {row.tool}; {row.error}")
    raise ToolFailed(f"attempt {row.n} has called {row.tool}, and it failed: {row.error}")


def _adapter(tool: Callable[..., Any]) -> TypeAdapter[Any]:
    """Of what the tool says that it answers; anything, if it does not say."""
    from typing import get_type_hints  # noqa: PLC0415 - only steps that call tools need it

    try:
        kind = get_type_hints(tool).get("return", Any)
        return TypeAdapter(kind)
    except Exception:  # a hint that cannot be resolved here
        return TypeAdapter(Any)
