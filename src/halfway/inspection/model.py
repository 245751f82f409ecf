"""What every reader produces: flows of steps, with the effect of each and who repeats it. Pure values; a fact always names its place.

A step is one action with at most one kind of effect: a command of a script, a node, a task. What is repeated together says `unit`
(the smallest thing that can be run again: a job, a node, a task, a whole script) and `scope` (what one automatic retry goes over again).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, order=True)
class Span:
    """A place in a file: lines from 1, and where there are keys the path to it, as `jobs.ship.steps[2].run`."""

    file: str
    line: int
    end: int = 0  # the last line; 0: the same line
    at: str = ""


@dataclass(frozen=True)
class Fact:
    """What stands in a file, quoted in one line without secrets and personal data."""

    span: Span
    quote: str
    certain: bool = False  # of a secret: its form says whose it is


# ── effects ──


class Kind(StrEnum):
    """What an action does to the world outside."""

    READ = "READ"
    CREATE = "CREATE"
    NOTIFY = "NOTIFY"
    MONEY = "MONEY"
    RECORD = "RECORD"  # stock, customers, official records
    PERMISSION = "PERMISSION"
    AGENT = "AGENT"  # a model with tools decides what it does
    DEPLOY = "DEPLOY"
    PUBLISH = "PUBLISH"  # what is out cannot be made different
    GIT = "GIT"
    FILE = "FILE"
    ENQUEUE = "ENQUEUE"
    DELETE = "DELETE"
    UNKNOWN = "UNKNOWN"  # something outside, nobody knows what


CONSEQUENTIAL = frozenset({Kind.CREATE, Kind.NOTIFY, Kind.MONEY, Kind.RECORD, Kind.PERMISSION, Kind.AGENT})
"""On people, money, stock, permissions, official records and outside tools: always a person's business (R-K8)."""


class Repeat(StrEnum):
    """What a second call does."""

    SAFE = "safe"
    WITH_KEY = "with_key"  # safe with a stable key, and only then
    REJECTS = "rejects"  # the vendor refuses it: no second effect, but the step fails
    MERGES = "merges"  # it updates what is there
    DUPLICATES = "duplicates"
    UNKNOWN = "unknown"


class Reversible(StrEnum):
    """Whether it can be taken back."""

    YES = "yes"
    WINDOW = "window"  # for a while, or in part
    FORWARD = "forward_only"  # by another action, which stays visible
    NO = "no"
    UNKNOWN = "unknown"


class Receiver(StrEnum):
    """Who is told. Unknown counts as a customer."""

    CUSTOMER = "customer"
    TEAM = "team"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Effect:
    """One effect of a step, as the knowledge base knows it."""

    action: str  # the id of a row of the knowledge base; "" where it has none
    kinds: frozenset[Kind]
    repeat: Repeat
    reversible: Reversible
    told: str  # what was recognised: `gh release create`, `POST pay.example`
    certain: bool = True  # False: inferred, and said so
    receiver: Receiver = Receiver.UNKNOWN

    @property
    def outward(self) -> bool:
        return bool(self.kinds - {Kind.READ})

    @property
    def consequential(self) -> bool:
        return bool(self.kinds & CONSEQUENTIAL)


# ── who repeats it, and as what ──


class Bearing(StrEnum):
    """What identity a repeat carries."""

    STABLE = "stable"  # from the input, the event or the id of the run
    NATURAL = "natural"  # the thing itself is unique: a version, a digest, a name
    MINTED = "minted"  # made anew by each attempt
    MUTABLE = "mutable"  # computed from what is the newest now
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Identity:
    """What tells the receiver that it is the same action again."""

    bearing: Bearing
    expression: str
    span: Span


class Repeating(StrEnum):
    """Who does it again."""

    STEP_RETRY = "step_retry"
    LOOP = "loop"
    REDELIVERY = "redelivery"
    UNIT_RERUN = "unit_rerun"
    MANUAL = "manual"
    SCHEDULE = "schedule"
    RESTART = "restart"
    REPLAY = "replay"


@dataclass(frozen=True)
class Repeater:
    """Somebody or something that does a step again."""

    kind: Repeating
    automatic: bool
    bound: int | None  # attempts in all; None: no end
    span: Span
    default: bool = False  # the engine's own: the file does not say it
    after_timeout: bool = True  # also when the answer was lost
    narrow: bool = False  # only for some errors that are named
    libraries: tuple[str, ...] = ()  # whose errors alone those are; empty: not known, or any
    guessed: bool = False  # it is called so, and was not given


class OnError(StrEnum):
    """What follows a failure of the step."""

    STOP = "stop"
    CONTINUE = "continue"  # as if it had succeeded
    ROUTE = "route"  # along an edge of its own
    SWALLOW = "swallow"  # nobody learns of it


@dataclass(frozen=True)
class Undo:
    """What takes an effect back."""

    step: str  # its name
    span: Span
    reached: bool = True  # False: declared, and never triggered
    tolerant: bool = True  # False: it needs the output of the forward step, which a lost answer does not give
    retried: bool = True


@dataclass(frozen=True)
class Gate:
    """A person or a rule that lets something pass."""

    kind: str  # environment, approval, wait, …
    span: Span
    approver: str = ""  # a role or a group, if the file names one
    visible: bool = False  # whether who approves can be seen in what was read
    timeout_answers: bool = False  # silence is taken for an answer


@dataclass(frozen=True)
class Unread:
    """Something that is referred to and could not be read: the one question may be about it (R-K6)."""

    what: str  # ./.github/actions/deploy
    why: str  # a message id with `{what}`
    span: Span
    at_hand: bool = False  # it was given or stands in the file, and was not followed: to ask for it would bring nothing


@dataclass(frozen=True, kw_only=True)
class Step:
    """One action, in the order in which it is done."""

    id: str  # unique in the flow, and stable when lines move
    name: str
    unit: str
    scope: str  # what an automatic retry goes over again; a unit, a step of a job, a try block
    order: int
    span: Span
    quote: str  # its line, safe to show
    effect: Effect | None = None  # None: nothing that leaves the machine
    identity: Identity | None = None
    repeaters: tuple[Repeater, ...] = ()
    timeout: float | None = None  # seconds; None: none is set
    timeout_known: bool = False  # whether the format tells about timeouts of such a step at all
    ends_after: float | None = None  # seconds after which its engine ends it where nobody has set a limit
    on_error: OnError = OnError.STOP
    passed_to: tuple[str, ...] | None = None  # ids of what is done after its failure was passed over; None: the order tells
    kept: tuple[Span, ...] = ()  # where the id that the receiver gave is kept
    guard: Span | None = None  # where it is looked for before it is made
    known_by: Span | None = None  # where a later run sees by a state that it is done; the step's own retry does not look
    guard_is_proof: bool = True  # False: the look lags, or another may be faster
    undo: Undo | None = None
    gate: Gate | None = None
    opaque: Unread | None = None
    condition: str = ""  # when it runs, as written
    needs_output_of: tuple[str, ...] = ()  # ids of steps whose output it uses
    fallible: bool = True
    marks: frozenset[Mark] = frozenset()
    facts: tuple[Fact, ...] = ()  # more that rules may want to quote, e.g. of its retry
    extra: Mapping[str, str] = field(default_factory=dict[str, str])  # what only one format has


class Mark(StrEnum):
    """Roles of a step that rules ask for."""

    SUCCESS_NOTICE = "success_notice"
    FAILURE_NOTICE = "failure_notice"  # on the way of a failure
    CLAIM = "claim"  # writes down that something is done, or is being done
    CURSOR = "cursor"  # writes down how far it is
    RECOVERY = "recovery"  # part of a way back
    IN_LOOP = "in_loop"
    AGENT_LOOP = "agent_loop"
    WAIT = "wait"


class When(StrEnum):
    """On which ending of the one the other follows."""

    SUCCESS = "success"
    ERROR = "error"
    ALWAYS = "always"


@dataclass(frozen=True)
class Edge:
    """The step `after` follows the step `before`."""

    before: str
    after: str
    when: When = When.SUCCESS


class Starting(StrEnum):
    """What starts a flow."""

    PUSH = "push"
    SCHEDULE = "schedule"
    EVENT = "event"  # a webhook or a message, which may come twice
    MANUAL = "manual"
    CALL = "call"
    POLL = "poll"


@dataclass(frozen=True)
class Trigger:
    """Something that starts a flow; the manual ones may take inputs."""

    kind: Starting
    span: Span
    quote: str = ""
    inputs: tuple[str, ...] = ()
    period: float | None = None  # seconds between two starts of a schedule
    branches: tuple[str, ...] = ()  # only those start it; empty: not known, or all


@dataclass(frozen=True)
class Guard:
    """What keeps two runs apart, or stops one for another. Of one unit, or of the flow."""

    span: Span
    unit: str = ""
    group: str = ""
    cancels: bool = False  # a newer run ends an older one wherever it is
    queues: bool = True  # False: of those that wait only the newest is kept


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One automation."""

    id: str
    name: str
    format: str  # the name of its reader
    file: str
    span: Span
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    guards: tuple[Guard, ...] = ()
    enabled: bool = True
    failure_notice: Span | None = None  # who is told that it failed
    notice_expected: bool = True  # whether the format has a place for it
    undoes: bool = False  # whether the engine can undo
    evidence_off: Span | None = None  # where it is said that nothing is kept of a failed run
    unread: tuple[Unread, ...] = ()
    secrets: tuple[Fact, ...] = ()  # places of literal secrets; the quote never has the value
    version: str = ""  # of the definition, where the format has one
    version_at: Span | None = None
    moving: tuple[Fact, ...] = ()  # what it takes from a place that may hold something else tomorrow
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: tuple[Fact, ...] = ()  # more that rules may want to quote, e.g. of what is in `extra`


# ── what a run left behind ──


class Outcome(StrEnum):
    """What a log says about a step. There is no third way to guess."""

    LANDED = "landed"
    NOT_EXECUTED = "not_executed"
    UNKNOWN = "unknown"
    NO_LOG = "no_log"


@dataclass(frozen=True)
class Ran:
    """One step of a run."""

    step: str  # as the log calls it
    unit: str
    outcome: Outcome
    fact: Fact
    external_id: str = ""


@dataclass(frozen=True, kw_only=True)
class RunLog:
    """One run, as its log tells it."""

    id: str
    format: str  # of the definitions that it belongs to
    name: str  # of the flow
    attempt: int
    span: Span
    steps: tuple[Ran, ...]
    version: str = ""  # of the definition that ran
    version_at: Span | None = None
