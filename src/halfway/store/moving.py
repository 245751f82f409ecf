"""The port `Moves`: a run gets another definition, and its rows the names and routes that they have there."""

from __future__ import annotations

from halfway.ports import GuardFailed, Moved
from halfway.store.database import Session, Work
from halfway.store.texts import require_storable

NAMED = (
    "rename_records", "rename_attempts", "rename_waits", "rename_evidence", "rename_artifacts", "rename_calls", "rename_children",
)  # fmt: skip
OF_ATTEMPTS = tuple(name for name in NAMED if name != "rename_records")


class StoreMoves:
    """On one open transaction, which holds the run."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def move(self, moved: Moved) -> None:
        session, run_id = self._session, moved.run_id
        require_storable(input=moved.input, note=moved.note, **{f"output of {name}": text for name, text in moved.outputs.items()})
        session.run("keep_input", now=session.now, run_id=run_id)
        count = session.run(
            "move_run", version=moved.spec.version, hash=moved.spec.hash, input=moved.input, now=session.now, run_id=run_id,
            revision=moved.revision,
        )  # fmt: skip
        if count != 1:
            raise GuardFailed(f"move_run: {run_id} is not at revision {moved.revision}")
        session.run("note_moved", now=session.now, data=moved.note, run_id=run_id)
        self._leave(moved)
        self._rename(moved)
        session.run("void_approvals", run_id=moved.run_id)
        routes = [(moved.spec.by_name[name].route, run_id, name) for name in (*(name for _, name in moved.steps), *_going_on(moved))]
        outputs = [(text, run_id, name) for name, text in moved.outputs.items()]
        session.many([Work(name, rows) for name, rows in (("reroute", routes), ("make_output", outputs)) if rows])

    def _leave(self, moved: Moved) -> None:
        """What does not go along is set aside; its attempts keep a name that no step has, so that nothing is deleted."""
        going_on = _going_on(moved)
        for step in moved.dropped:
            self._session.run("set_aside", version=moved.version, now=self._session.now, run_id=moved.run_id, step=step)
            if step in going_on:
                self._session.run("begin_anew", run_id=moved.run_id, step=step)
            self._session.run("drop_records", run_id=moved.run_id, step=step, goes_on=1 if step in going_on else 0)
            self._call(OF_ATTEMPTS, moved.run_id, step, f"{step}@{moved.version}")

    def _rename(self, moved: Moved) -> None:
        """By way of names that no step has: two steps may have exchanged theirs."""
        renamed = [(step, name) for step, name in moved.steps if step != name]
        for step, _ in renamed:
            self._call(NAMED, moved.run_id, step, f"{step}@")
        for step, name in renamed:
            self._call(NAMED, moved.run_id, f"{step}@", name)

    def _call(self, statements: tuple[str, ...], run_id: str, step: str, name: str) -> None:
        for statement in statements:
            self._session.run(statement, name=name, run_id=run_id, step=step)


def _going_on(moved: Moved) -> frozenset[str]:
    """Steps that are left behind and whose name another step of the later version has."""
    return frozenset(moved.dropped) & moved.spec.by_name.keys() - {name for _, name in moved.steps}
