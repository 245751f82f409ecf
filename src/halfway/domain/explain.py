"""Why a run stands where it stands, what is known of its effects, and what is safe next.

Pure: it reads what `decide` reads. Every order it suggests has been tried on `decide`, so none is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from halfway.domain.coming import Coming, coming
from halfway.domain.effects import EffectView, effects
from halfway.domain.joins import RULED_OUT, WAIVED, is_passed
from halfway.domain.lifecycle import RecordStatus
from halfway.domain.line import NO_TRAFFIC, Traffic
from halfway.domain.plan import NO_COUNTS
from halfway.domain.run import Counted, Key, Kind, Record, Snapshot
from halfway.domain.sentences import Sentence
from halfway.domain.spec import WorkflowSpec
from halfway.domain.standing import reasons
from halfway.domain.suggestions import Suggestion, suggestions
from halfway.domain.view import NOTHING_SAID, View, is_current

__all__ = ["Coming", "EffectView", "Explanation", "Sentence", "Suggestion", "explain"]

NO_RUNS: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a person needs to know about a run before touching it."""

    done: int
    total: int
    current: tuple[str, ...]  # steps that run, wait, are in doubt or ask somebody, or whose undo does
    progress: Sentence
    effects: tuple[EffectView, ...]
    reasons: tuple[Sentence, ...]  # why it stands; empty while it simply goes on
    coming: tuple[Coming, ...]
    next: tuple[Suggestion, ...]


def explain(
    spec: WorkflowSpec, snapshot: Snapshot, now: int, *, workers: int | None = None, traffic: Traffic = NO_TRAFFIC,
    counts: Mapping[Key, Counted] = NO_COUNTS, stuck: Mapping[str, tuple[str, ...]] = NO_RUNS, said: Mapping[Key, str] = NOTHING_SAID,
) -> Explanation:  # fmt: skip
    """`workers`: how many are alive, None if that is not known. `traffic`: what others keep it from.

    `counts`: of the items of steps, and of their undo. `stuck`: by step, runs that it has started and that wait for a person. `said`: by
    which conditions, why they could not be answered.
    """
    view = View(spec, snapshot, now, workers, traffic, counts, stuck, said)
    steps = view.steps
    done = sum(record.status is RecordStatus.SUCCESS or record.code == RULED_OUT for record in steps)
    current = _current(view)
    return Explanation(
        done=done,
        total=len(spec.steps),
        current=current,
        progress=_progress(view, steps, done, current),
        effects=effects(view),
        reasons=tuple(reasons(view)),
        coming=() if view.over else tuple(coming(view)),
        next=tuple(suggestions(view)),
    )


def _current(view: View) -> tuple[str, ...]:
    records = view.of_kind(Kind.STEP, Kind.COMPENSATION, Kind.DRAFT)
    return tuple(dict.fromkeys(record.key.step for record in records if is_current(record)))


def _progress(view: View, steps: tuple[Record, ...], done: int, current: tuple[str, ...]) -> Sentence:
    total = len(view.spec.steps)
    skipped = [record.key.step for record in steps if record.status is RecordStatus.SKIPPED and record.code == WAIVED]
    skipped += [record.key.step for record in steps if record.status is RecordStatus.FAILED and is_passed(view.turn, record)]
    if done == total:
        return Sentence("ALL_DONE", {"total": total})
    if view.snapshot.run.started_at is None and all(record.status is RecordStatus.PENDING for record in steps):
        return Sentence("NOT_STARTED", {"total": total})
    failed = [record for record in steps if record.status is RecordStatus.FAILED and not is_passed(view.turn, record)]
    stands = current or tuple(record.key.step for record in failed)
    if stands:
        return Sentence("DONE_AND_AT", {"done": done, "total": total, "current": ", ".join(stands)})
    if skipped:
        return Sentence("DONE_BUT", {"done": done, "total": total, "skipped": ", ".join(skipped)})
    return Sentence("DONE_SO_FAR", {"done": done, "total": total})
