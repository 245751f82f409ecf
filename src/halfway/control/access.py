"""Who may do what (R-J4, R-J5): roles with their members, and the one question that every order asks first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from halfway.errors import InvalidInput


class Demand(NamedTuple):
    """What somebody wants to do something about."""

    run_id: str  # empty: no single one, as of a batch or an event
    type: str  # of its workflow
    owner: str  # the role that owns the workflow
    step: str | None
    role: str  # that decides about this step; the owner, where no step is meant


Can = Callable[[str, str, Demand], bool]  # (actor, action, what about)
Members = Mapping[str, Sequence[str]]

ADMIN = "admin"  # may do everything
OPERATOR = "operator"  # may order what repeats or stops nothing but what a machine may repeat or stop
OPERATING = frozenset({
    "resume", "retry", "retry-input", "cancel", "probe", "compensate", "batch", "send-event", "schedule-pause", "schedule-resume",
    "schedule-trigger", "backfill", "pause-queue", "resume-queue", "pause-workflow", "resume-workflow",
})  # fmt: skip


def everyone(actor: str, action: str, about: Demand) -> bool:
    """The default while no roles are named: whoever reaches the database may act."""
    return True


def by_roles(members: Members) -> Can:
    """Decisions belong to the role that is asked, the rest to operators and to the workflow's owner; admins may do everything."""

    def can(actor: str, action: str, about: Demand) -> bool:
        own = {role for role, names in members.items() if actor in names}
        if ADMIN in own:
            return True
        if action in OPERATING:
            return bool(own & {OPERATOR, about.owner, about.role})
        return about.role in own

    return can


def checked(members: Members | None) -> Members | None:
    """Roles as they can be used; InvalidInput for anything that is not a list of names under a name."""
    if members is None:
        return None
    for role, names in members.items():
        if not role.strip() or isinstance(names, str) or not all(names):
            problem = f"role {role!r} has {names!r}."
            raise InvalidInput("CONFIG_INVALID", source="of the roles", problem=problem, remedy="Give a list of names for each role.")
    return {role: tuple(names) for role, names in members.items()}


def hearers(members: Members | None, role: str) -> tuple[str, ...]:
    """Who must hear of something that this role decides; a role without members is the admins' matter."""
    if members is None:
        return ()
    return tuple(members.get(role, ())) or tuple(members.get(ADMIN, ()))
