"""Deleting what is old: in small batches, each a short transaction, so that it can be stopped at any moment and gone on with later.

`cleanup` is a plain function over the port, for whoever calls it by a clock; `Cleaning` asks for permission first and keeps who ordered it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import uuid4

from halfway.authoring.policy import microseconds
from halfway.authoring.redaction import redact
from halfway.authoring.retention import FOR_EVER, Retention
from halfway.control.access import ADMIN, Can, Demand
from halfway.domain.draft import Audit
from halfway.domain.spec import WorkflowSpec
from halfway.errors import InvalidInput, NotAllowed
from halfway.ports import Cut, Keeping, Old, Place, Swept

Json = dict[str, Any]
YOUNG_FILES = timedelta(hours=24)  # a file may wait that long for its row
LONGEST_REST = 0.1  # seconds


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How long the runs of each workflow are kept, and what belongs to no single one."""

    default: Retention = FOR_EVER
    by_type: Mapping[str, Retention] = field(default_factory=dict[str, Retention])
    look_back: timedelta = timedelta(0)  # the longest after which a wait may still take an event that nobody has used

    def of(self, type: str) -> Retention:
        return self.by_type.get(type, self.default)


class Progress(NamedTuple):
    """One batch is done."""

    what: Old
    done: int  # runs that were looked at
    total: int  # about so many are old


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was deleted, or would be, and what is old and stays for a reason."""

    deleted: Mapping[str, int]
    kept: Mapping[str, int]
    dry_run: bool = False
    stopped: bool = False  # somebody asked it to stop: the rest is left to the next time

    def to_json(self) -> Json:
        return {"deleted": dict(self.deleted), "kept": dict(self.kept), "dryRun": self.dry_run, "stopped": self.stopped}


class Part(NamedTuple):
    """One kind of what is old, of one workflow or of all."""

    what: Old
    cut: Cut


def cleanup(
    store: Keeping, policy: Policy, *, types: Sequence[str] | None = None, dry_run: bool = False,
    told: Callable[[Progress], None] = lambda progress: None, stop: Callable[[], bool] = lambda: False,
    rest: Callable[[float], None] = time.sleep,
) -> Report:  # fmt: skip
    """Deletes what is older than the policy says. Many may do so at once, beside workers.

    types: of these workflows only; by default of all that the policy names, and what belongs to none. stop: asked before each batch.
    rest: called after each batch with the time that it took, which belongs to others.
    """
    counts: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    now = store.now()
    total = done = 0
    for part in parts(policy, types, now):
        total += store.count(part.what, part.cut)
        place: Place | None = Place()
        while place is not None:
            if stop():
                return Report(deleted=+counts, kept=+kept, dry_run=dry_run, stopped=True)
            began = time.monotonic()
            swept: Swept = store.sweep(part.what, part.cut, place, delete=not dry_run)
            counts.update(swept.deleted)
            kept.update(swept.kept)
            if part.what is Old.RUNS:
                done += swept.deleted.get("runs", 0) + sum(swept.kept.values())
            told(Progress(part.what, done, total))
            place = swept.after
            if not dry_run:
                rest(min(time.monotonic() - began, LONGEST_REST))
    return Report(deleted=+counts, kept=+kept, dry_run=dry_run)


def parts(policy: Policy, types: Sequence[str] | None, now: int) -> Iterator[Part]:
    """What is to be swept, in order: what refers to something goes before it."""
    named = sorted(policy.by_type) if types is None else list(types)
    own = {type: now - microseconds(time) for type in named if (time := policy.of(type).artifacts) is not None}
    elsewhere = {type: 0 for type, retention in policy.by_type.items() if retention.artifacts is not None}
    yield from _by_type(Old.RUNS, now, {type: policy.of(type).history for type in named})
    yield Part(Old.REST, Cut(untils=elsewhere | own))
    if types is None:
        yield from _of_nobody(policy, now)
    if own:
        yield Part(Old.ARTIFACTS, Cut(max(own.values()), untils=own))
    yield from _by_type(Old.AUDIT, now, {type: policy.of(type).audit for type in ([*named, ""] if types is None else named)})
    keys = {type: policy.of(type).keys for type in named}
    yield from _by_type(Old.KEYS, now, keys)
    yield from _by_type(Old.TICKS, now, keys)
    if types is None:
        if policy.default.keys is not None:
            yield Part(Old.EVENT_IDS, Cut(now - microseconds(policy.default.keys)))
        yield Part(Old.FILES, Cut(_file_clock() - microseconds(YOUNG_FILES)))


def _by_type(what: Old, now: int, ages: Mapping[str, timedelta | None]) -> Iterator[Part]:
    yield from (Part(what, Cut(now - microseconds(age), type)) for type, age in ages.items() if age is not None)


def _of_nobody(policy: Policy, now: int) -> Iterator[Part]:
    """What belongs to no workflow is as old as that of one which says nothing."""
    if policy.default.history is not None:
        until = now - microseconds(policy.default.history)
        yield Part(Old.EVENTS, Cut(until, unused_until=min(until, now - microseconds(policy.look_back))))
        yield Part(Old.BATCHES, Cut(until))


def policy_of(default: Retention, by_type: Mapping[str, Retention], specs: Sequence[WorkflowSpec]) -> Policy:
    """The policy of an app; `specs`: every definition that was registered, whose waits may look back."""
    looks = [step.wait.look_back for spec in specs for step in spec.steps if step.wait is not None and step.wait.name]
    return Policy(default=default, by_type=by_type, look_back=timedelta(microseconds=max(looks, default=0)))


class Cleaning:
    """What an operator asks and orders about what is old."""

    def __init__(
        self, store: Keeping, *, specs: Callable[[], Sequence[WorkflowSpec]], can: Can, default: Retention, by_type: Mapping[str, Retention]
    ) -> None:
        self.store = store
        self._specs = specs
        self._can = can
        self._default = default
        self._by_type = by_type

    @property
    def policy(self) -> Policy:
        """How long what is kept."""
        return policy_of(self._default, self._by_type, self._specs())

    def run(
        self, *, actor: str, reason: str, type: str | None = None, dry_run: bool = False,
        told: Callable[[Progress], None] = lambda progress: None, stop: Callable[[], bool] = lambda: False,
    ) -> Report:  # fmt: skip
        """Deletes what is old, in the name of a person; who ordered it is kept before anything is deleted. Raises NotAllowed.

        type: of one workflow only, also of one whose code is gone: the default holds for it then.
        """
        policy = self.policy
        if not dry_run:
            self._order(actor.strip(), reason, type, policy)
        return cleanup(self.store, policy, types=None if type is None else [type], dry_run=dry_run, told=told, stop=stop)

    def _order(self, actor: str, reason: str, type: str | None, policy: Policy) -> None:
        for what, given in (("actor", actor), ("reason", reason)):
            if not given.strip():
                remedy = "Say who orders it, and why; it is kept in the audit log."
                raise InvalidInput("CONFIG_INVALID", source=f"of the cleanup: {what}", problem="it is empty.", remedy=remedy)
        owner = next((spec.owner for spec in self._specs() if spec.type == type), ADMIN)
        audit = Audit(uuid4().hex, actor, "cleanup", redact(reason), evidence=_told(policy, type))
        if not self._can(actor, "cleanup", Demand("", type or "", owner, None, owner)):
            refused = NotAllowed("NOT_PERMITTED", actor=actor, action="cleanup", remedy=f"Ask somebody who holds the role {owner}.")
            self.store.note(audit._replace(refused=str(refused)))
            raise refused
        self.store.note(audit)


def _told(policy: Policy, type: str | None) -> str:
    """The policy, as the audit log keeps it."""
    types = sorted(policy.by_type) if type is None else [type]
    kept = {name: _seconds(policy.of(name)) for name in types}
    return json.dumps(kept if type is not None else {"*": _seconds(policy.default), **kept}, separators=(",", ":"))


def _seconds(retention: Retention) -> dict[str, float]:
    times = (("history", retention.history), ("artifacts", retention.artifacts), ("audit", retention.audit), ("keys", retention.keys))
    return {name: time.total_seconds() for name, time in times if time is not None}


def _file_clock() -> int:
    """Files are dated by the operating system, whatever time the database has."""
    return time.time_ns() // 1000
