"""The command line. It knows no table and no driver; each command loads only what it needs."""

from __future__ import annotations

from halfway.cli.group import Lazy

main = Lazy(
    "halfway",
    help="Durable steps with a recovery contract: the database knows what happened, only the missing part runs again.",
    places={
        "init": ("halfway.cli.first:init", "Write a small working example into this folder."),
        "demo": ("halfway.cli.first:demo", "Show a run that stops halfway and is recovered."),
        "start": ("halfway.cli.start:start", "Start a run, or find the one that stands under its key."),
        "worker": ("halfway.cli.worker:worker", "Execute steps until stopped."),
        "runs": ("halfway.cli.runs:runs", "List runs, the newest first."),
        "show": ("halfway.cli.show:show", "Say how far a run got, what happened, and what is safe next."),
        "items": ("halfway.cli.items:items", "List the items of a step that is done for many."),
        "inbox": ("halfway.cli.inbox:inbox", "List what waits for a person."),
        "plan": ("halfway.cli.plans:plan", "Say what an order would do, before it is given."),
        "resume": ("halfway.cli.orders:resume", "Go on with what stopped a run; what is done stays done."),
        "retry": ("halfway.cli.orders:retry", "Give one step its attempts anew."),
        "skip": ("halfway.cli.orders:skip", "Go on without a step that failed or waits."),
        "mark-success": ("halfway.cli.orders:mark_success", "Say that a step did happen, with the evidence for it."),
        "cancel": ("halfway.cli.orders:cancel", "Ask a run to stop at the next safe boundary."),
        "compensate": ("halfway.cli.orders:compensate", "Undo what is done, in reverse order."),
        "approve": ("halfway.cli.decisions:approve", "Say yes to what a step shows, or to its next attempt."),
        "reject": ("halfway.cli.decisions:reject", "Say no to what a step shows, or to its next attempt."),
        "probe": ("halfway.cli.decisions:probe", "Ask the outside world now whether a step happened."),
        "release": ("halfway.cli.decisions:release", "Open the business record that a step in doubt holds."),
        "move": ("halfway.cli.versions:move", "Move runs to a later version of their workflow."),
        "batch": ("halfway.cli.batches:batch", "Order something for many runs at once."),
        "queue": ("halfway.cli.queues:queue", "Look at queues, pause and resume them."),
        "workflow": ("halfway.cli.queues:workflow", "Look at workflows as a whole, pause and resume them."),
        "event": ("halfway.cli.events:event", "Send a message that runs wait for, or list what came."),
        "schedule": ("halfway.cli.schedules:schedule", "Look at schedules, pause them, start runs by hand."),
        "backfill": ("halfway.cli.schedules:backfill", "Start runs for times that have passed."),
        "audit-log": ("halfway.cli.inbox:audit_log", "Say who ordered what, and what was refused."),
        "inspect": ("halfway.cli.inspect:inspect", "Find where an automation would break if it stopped halfway."),
        "check": ("halfway.cli.definitions:check", "Look for holes in the contracts of your workflows."),
        "graph": ("halfway.cli.definitions:graph", "Draw a workflow."),
        "cleanup": ("halfway.cli.cleanup:cleanup", "Delete what is older than your retention says."),
        "db": ("halfway.cli.database:db", "Create, update and look at the database."),
        "doctor": ("halfway.cli.database:doctor", "Look for what would keep runs from going on."),
    },
    hidden={"_worker-child": "halfway.cli.worker:child"},
)

__all__ = ["main"]
