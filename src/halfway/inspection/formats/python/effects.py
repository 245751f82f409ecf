"""What a call does to the world outside: requests, SDKs, commands, SQL, files, and calls that only their name tells about."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from halfway.inspection.formats.python.frames import GAP, Frame, calls, dotted, entries, keyword, number, text, truth
from halfway.inspection.formats.python.names import is_standard
from halfway.inspection.formats.python.sql import known, statement
from halfway.inspection.knowledge import Knowledge
from halfway.inspection.model import Effect, Kind, Receiver, Repeat, Reversible
from halfway.inspection.quoting import quoted

METHODS = {"get", "head", "options", "post", "put", "patch", "delete", "request"}
_CLIENTS = re.compile(r"^(requests|httpx|httpx2|aiohttp|urllib3|niquests|curl_cffi)\b")
_DEFAULT_TIMEOUTS = {"httpx": 5.0, "httpx2": 5.0, "aiohttp": 300.0}  # seconds; the others wait without end
_COMMANDS = re.compile(
    r"^(subprocess\.(run|call|check_call|check_output|Popen|getoutput)|os\.(system|popen)"
    r"|asyncio\.create_subprocess_(exec|shell)|(\w+\.)*run_(command|cmd|shell)|sh)$"
)
_UNTIMED = re.compile(r"^(requests|urllib3|niquests|urllib\.request|smtplib|subprocess)\b")
_FOR_MACHINES = re.compile(r"_(?:status|metrics?|telemetry|heartbeat|stats|trace|span|webhook|event)s?(?:_|$)")
_OWN_PEOPLE = re.compile(r"^mail_(?:admins|managers)$|_(?:alert|alarm)s?(?:_|$)|_(?:admins?|ops|oncall|staff|team)$")
_OWN_CHAT = re.compile(r"(?i)(?:^|[._])(?:slack|mattermost|pagerduty|opsgenie)(?:[._]|$)")  # where the own people are
# Only the verb of the name is known of these; what they do is inferred, and said so.
_VERBS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (
        re.compile(
            r"^(charge|refund|payout|pay|debit|credit|withdraw)(_[a-z]\w*)?$"
            r"|^(capture|transfer|invoice)(_(payment|charge|order|authorization|funds|money|amount|customer)\w*)?$"
            r"|^(create|send|issue)_(charge|refund|payment|payout|invoice)\w*$"
        ),
        Kind.MONEY,
    ),
    (
        re.compile(
            r"^(send|notify|email|mail|post)_(?!signal|json|response|file|from|header|static|error|ping|bytes|text|frame|init)\w+$"
            r"|^send(_?mail|_message)?$|^notify$"
        ),
        Kind.NOTIFY,
    ),
    (re.compile(r"^(grant|revoke|invite)_\w+$"), Kind.PERMISSION),
    (re.compile(r"^(publish|deploy|release)_\w+$"), Kind.UNKNOWN),
    (
        re.compile(
            r"^(create|register|submit|book|order|place|provision)_(?!by|task|app|engine|session|client|table|all|index|connection|pool|future|queue|handler|type|converter|codec|hook|plugin|signal"
            r"|server|logger|parser|histogram|counter|gauge|up_down_counter|observable|metric|meter|subprocess|model|default|argument|dir|context|element|token|access_token|autospec|string|text|message"
            r"|request|response|url|path|file|blueprint|cmd|list|dict|map|schema|thread|process)\w+$"
        ),
        Kind.CREATE,
    ),
)
_NO_OUTSIDE = re.compile(
    r"^prefect\.artifacts$|^(self\.)?(logger|log|logging|LOG|LOGGER|np|pd|plt|st|queue|q|loop|parser|ws|websocket|sock|generator|gen|conn|pipe)$"
)


_HANDLE = re.compile(r"^boto3\.[\w-]+(?:\.\w+)*\.(?:[A-Z]\w*|resource|client)$")
_VIEW = re.compile(r"_views?$")
_ANSWER = re.compile(r"^boto3\.[\w-]+\.(?:get|list|describe|head)_\w+\.")
# What is called so is a value, or is filled into a call.
_VALUE = re.compile(r"_(?:data|payload|uuid|guid|identifier|reference|params|kwargs|headers)$")


@dataclass(frozen=True)
class Seen:
    """The effect of a call, and how long it waits."""

    effect: Effect
    timeout: float | None = None
    timeout_known: bool = False
    ends_by_itself: bool = False  # its library gives up after a while that it does not tell of


def literal(call: ast.Call, frame: Frame) -> dict[str, str]:
    """The named arguments as texts; of one that is not written down its expression."""
    found: dict[str, str] = {}
    for one in call.keywords:
        if one.arg:
            told = text(one.value, frame)
            found[one.arg] = ast.unparse(one.value) if GAP in told and not isinstance(one.value, ast.JoinedStr) else told
    return found


def recognised(call: ast.Call, frame: Frame, knowledge: Knowledge) -> list[Seen]:
    """All effects of one call; a command line may hold several."""
    name = dotted(call.func, frame)
    if is_command(name):
        return [Seen(one, *_patience(keyword(call, "timeout"), frame, "subprocess")) for one in _commanded(call, frame, knowledge)]
    if _HANDLE.match(name) or _ANSWER.match(name):
        return []  # `resource.Bucket(name)` only names the thing; `client.get_object(…)["Body"].read()` works on an answer that is here
    if name.endswith((".send", ".send_robust")) and keyword(call, "sender") is not None:
        return []  # a signal of Django, which stays inside of the process
    for look in (_requested, _queued, _executed, _written, _called, _inferred):
        found = look(call, name, frame, knowledge)
        if found is not None:
            return [found]
    return []


# ── requests ──


def _requested(call: ast.Call, name: str, frame: Frame, knowledge: Knowledge) -> Seen | None:
    library, _, method = name.rpartition(".")
    if name == "urllib.request.urlopen":
        return _opened(call, frame, knowledge)
    if not _CLIENTS.match(library) or method.lower() not in METHODS:
        return None
    args = list(call.args)
    if method == "request":
        verb = args.pop(0) if args else keyword(call, "method")
        method = text(verb, frame) if verb is not None else GAP
    url = args[0] if args else keyword(call, "url")
    where = _url(url, call, frame)
    effect = knowledge.http(method.upper(), where, _body(call, frame))
    if effect is not None and _SIGNS_IN.search(where) and _is_secret(call, frame):
        effect = replace(effect, kinds=frozenset({Kind.READ}), repeat=Repeat.SAFE, reversible=Reversible.YES)
    root = library.partition(".")[0]
    limit = keyword(call, "timeout") or (_of_client(call, frame) if root != "requests" else None)
    return Seen(effect, *_patience(limit, frame, root)) if effect is not None else None


_SIGNS_IN = re.compile(
    r"(?i)/(?:[\w.-]*[._-])?(?:(?:create|new|get|obtain)[._-]?)?(?:session|token|log-?in|sign-?in|auth|authenticate|authentication)s?/?(?:[?#]|$)"
)
_SECRET = re.compile(r"(?i)^(?:pass(?:word|wd|phrase)?|grant_?type|refresh_?token|client_?secret|api_?(?:key|secret))$")


def _is_secret(call: ast.Call, frame: Frame) -> bool:
    """Whether what is sent is how one proves who one is."""
    return any(_SECRET.match(key) for key, _ in entries(keyword(call, "json", "data"), frame))


def _body(call: ast.Call, frame: Frame) -> str:
    """What is sent, as far as it is written down."""
    told = entries(keyword(call, "json", "data"), frame)
    return ", ".join(f"{key}: {value.value!r}" for key, value in told if isinstance(value, ast.Constant))


def _url(url: ast.expr | None, call: ast.Call, frame: Frame) -> str:
    told = text(url, frame) or GAP
    if "://" not in told and isinstance(call.func, ast.Attribute):
        base = _base(call.func.value, frame)
        told = base.rstrip("/") + "/" + told.lstrip("/") if base else told
    return told


def _base(client: ast.expr, frame: Frame) -> str:
    """The base_url of the client object."""
    made = _made(client, frame)
    return text(keyword(made, "base_url"), frame) if made is not None else ""


def _of_client(call: ast.Call, frame: Frame) -> ast.expr | None:
    """The limit that the object was made with: `smtplib.SMTP(host, timeout=9).send_message(…)`."""
    made = _made(call.func.value, frame) if isinstance(call.func, ast.Attribute) else None
    return keyword(made, "timeout") if made is not None else None


def _made(client: ast.expr, frame: Frame) -> ast.Call | None:
    """The call that made the object."""
    made: ast.expr | None = client
    if isinstance(client, ast.Name):
        found = frame.bound(client.id, client.lineno)
        made = found[0].value if found else None
    elif isinstance(client, ast.Attribute) and frame.owner:
        made = frame.module.attributes.get(f"{frame.owner}.{client.attr}")
    return made if isinstance(made, ast.Call) else None


def _patience(given: ast.expr | None, frame: Frame, root: str) -> tuple[float | None, bool]:
    """The seconds, and whether they are known; a limit that is not written down is a limit."""
    if given is None:
        return _DEFAULT_TIMEOUTS.get(root), True
    if isinstance(given, ast.Constant) and given.value is None:
        return None, True
    parts = [number(one, frame) for one in given.elts] if isinstance(given, ast.Tuple) else [number(given, frame)]
    seconds = [one for one in parts if one is not None]
    return (sum(seconds), True) if len(seconds) == len(parts) else (None, False)


def _opened(call: ast.Call, frame: Frame, knowledge: Knowledge) -> Seen | None:
    """urlopen: a POST if it has data, or if its Request says so."""
    target, data = (call.args[0] if call.args else keyword(call, "url")), (call.args[1] if len(call.args) > 1 else keyword(call, "data"))
    if (
        isinstance(target, ast.Name)
        and (found := frame.bound(target.id, target.lineno)) is not None
        and isinstance(found[0].value, ast.Call)
    ):
        target = found[0].value
    method = "POST" if data is not None else "GET"
    if isinstance(target, ast.Call) and dotted(target.func, frame).endswith("Request"):
        data = target.args[1] if len(target.args) > 1 else keyword(target, "data")
        method = text(keyword(target, "method"), frame) or ("POST" if data is not None else "GET")
        target = target.args[0] if target.args else keyword(target, "url")
    effect = knowledge.http(method.upper(), text(target, frame) or GAP)
    limit = call.args[2] if len(call.args) > 2 else keyword(call, "timeout")
    return Seen(effect, *_patience(limit, frame, "urllib")) if effect else None


# ── commands ──


def is_command(name: str) -> bool:
    """Whether a call starts a command of the machine."""
    return _COMMANDS.match(name) is not None


def _commanded(call: ast.Call, frame: Frame, knowledge: Knowledge) -> list[Effect]:
    words, called = command_words(call, frame), unknown("", dotted(call.func, frame))
    if not words:
        return [called]
    # A command of which no word stands in the file is called after the call that starts it.
    found = (_command(one, knowledge) if any(word.strip(GAP) for word in one) else called for one in words)
    return [effect for effect in found if effect is not None]


def _command(words: Sequence[str], knowledge: Knowledge) -> Effect | None:
    program = words[0].rpartition("/")[2]
    if program == "ssh" and _only_reads_there(words):
        return None
    if GAP in words[0] and (GAP in program or "." in program or program == words[0]):
        return unknown("", " ".join(words))
    if GAP in words[0]:
        return knowledge.command([program, *words[1:]])  # where it lies is worked out, not which it is
    return knowledge.command(words)


_READING = frozenset({"cat", "ls", "grep", "egrep", "fgrep", "head", "tail", "wc", "stat", "df", "du"})


def _only_reads_there(words: Sequence[str]) -> bool:
    """`ssh host cat file`; options before the host are not told apart."""
    there = " ".join(words[2:]).split()
    return bool(there) and not words[1].startswith("-") and there[0] in _READING and not set("".join(there)) & set("|>")


def command_words(call: ast.Call, frame: Frame) -> list[list[str]]:
    """The commands that a call starts, each as its words; what the file does not tell is a gap."""
    first = call.args[0] if call.args else keyword(call, "args", "cmd", "command")
    if isinstance(first, ast.Name) and (found := frame.bound(first.id, first.lineno)) is not None:
        first, frame = found[0].value, found[1]
    elif isinstance(first, ast.Name) and first.id in frame.given:
        first, frame = frame.given[first.id]
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and first.func.attr == "split" and not first.args:
        first = first.func.value  # `f"git log {name}".split()`
    if isinstance(first, (ast.List, ast.Tuple)):
        return shelled([text(one, frame) for one in first.elts])
    if first is None or isinstance(first, ast.Starred):
        return []
    if len(call.args) > 1 and all(isinstance(one, (ast.Constant, ast.JoinedStr, ast.Name)) for one in call.args):
        return shelled([text(one, frame) for one in call.args])
    told = text(first, frame)
    return [] if told.strip(GAP) == "" else lines(told)


def shelled(words: list[str]) -> list[list[str]]:
    """The words of a command; what a shell is told to do instead of the shell."""
    if len(words) > 2 and words[0].rpartition("/")[2] in ("sh", "bash") and words[1] in ("-c", "-lc", "-ec"):
        return lines(words[2])
    return [words] if words else []


def lines(script: str) -> list[list[str]]:
    """The simple commands of a script in words; a line that cannot be split is left as it is."""
    found: list[list[str]] = []
    for line in re.split(r"\n|&&|\|\||;", script.replace("\\\n", " ")):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        if words:
            found.append(words)
    return found


# ── databases, files ──


def _executed(call: ast.Call, name: str, frame: Frame, knowledge: Knowledge) -> Seen | None:
    if name.rpartition(".")[2] not in ("execute", "executemany", "execute_async", "fetch", "fetchrow", "fetchval", "run", "scalar", "raw"):
        return None
    effect = statement(text(call.args[0], frame), knowledge) if call.args else None
    return Seen(effect) if effect is not None else None


_DELETING = {"shutil.rmtree", "os.remove", "os.unlink", "os.rmdir", "os.removedirs"}


_QUEUEING = {"delay", "apply_async", "send_task", "enqueue", "enqueue_in", "enqueue_at", "send_with_options", "defer", "kiq"}


def _queued(call: ast.Call, name: str, frame: Frame, knowledge: Knowledge) -> Seen | None:
    """A task that is put into a queue; an id of one's own lets the queue know it again, if the queue looks at it."""
    if "." not in name or name.rpartition(".")[2] not in _QUEUEING:
        return None
    told = quoted(f"{frame.module.shown(name)}()")
    return Seen(Effect(known("task.enqueue", knowledge), frozenset({Kind.ENQUEUE}), Repeat.DUPLICATES, Reversible.UNKNOWN, told))


def _written(call: ast.Call, name: str, frame: Frame, knowledge: Knowledge) -> Seen | None:
    if name == "open" or name.endswith("Path.open"):
        place = 1 if name == "open" else 0
        mode = text(call.args[place] if len(call.args) > place else keyword(call, "mode"), frame)
        if not set(mode) & set("wax"):
            return None
        repeat = Repeat.DUPLICATES if "a" in mode else Repeat.REJECTS if "x" in mode else Repeat.SAFE
        row = known("file.append" if "a" in mode else "file.write", knowledge)
        return Seen(Effect(row, frozenset({Kind.FILE}), repeat, Reversible.WINDOW, quoted(ast.unparse(call))))
    if name in _DELETING:
        effect = knowledge.call(name, literal(call, frame))
        return Seen(effect or Effect("", frozenset({Kind.DELETE}), Repeat.SAFE, Reversible.NO, name))
    return None


# ── libraries ──


def _called(call: ast.Call, name: str, frame: Frame, knowledge: Knowledge) -> Seen | None:
    effect = knowledge.call(name, literal(call, frame)) if "." in name else None
    if effect is None:
        return None
    if effect.told == quoted(name, 80):
        effect = replace(effect, told=quoted(frame.module.shown(name), 80))
    if Kind.AGENT in effect.kinds and _only_answers(call, frame):
        effect = replace(effect, kinds=frozenset({Kind.READ}), repeat=Repeat.SAFE, reversible=Reversible.YES)
    if keyword(call, "tools") is not None and name.rpartition(".")[2] in ("create", "stream", "parse", "invoke", "generate_content"):
        effect = replace(effect, kinds=effect.kinds | {Kind.AGENT}, repeat=Repeat.UNKNOWN)
    given = keyword(call, "timeout") or _of_client(call, frame)
    return (
        Seen(effect, *_patience(given, frame, ""))
        if given is not None or _UNTIMED.match(name)
        else Seen(effect, ends_by_itself=name.startswith("boto3."))
    )


_AGENT = re.compile(r"^agents\.(?:\w+\.)*Agent$")
_HANDS = ("tools", "handoffs", "mcp_servers", "hooks")


def _only_answers(call: ast.Call, frame: Frame) -> bool:
    """Whether the agent that is run is made here, and is given nothing with which it could do more than answer."""
    agent = call.args[0] if call.args else keyword(call, "starting_agent", "agent")
    if not isinstance(agent, ast.Name) or (found := frame.bound(agent.id, agent.lineno)) is None:
        return False
    made = found[0].value
    if not isinstance(made, ast.Call) or not _AGENT.match(dotted(made.func, found[1])) or any(one.arg is None for one in made.keywords):
        return False
    given_later = any(isinstance(one, ast.Attribute) and one.attr in _HANDS for one in frame.module.inside(frame.function))
    return keyword(made, *_HANDS) is None and not given_later


def _inferred(call: ast.Call, name: str, frame: Frame, knowledge: Knowledge) -> Seen | None:
    """A call of something that was not given, by the verb of its name. Never what the standard library has."""
    del knowledge
    owner, _, verb = name.rpartition(".")
    root = name.partition(".")[0]
    if is_standard(root) or _NO_OUTSIDE.match(owner) or not _foreign(call, owner, frame) or truth(keyword(call, "dry_run")):
        return None
    kind = next((kind for pattern, kind in _VERBS if pattern.match(verb)), None)
    if kind is None or (kind is Kind.CREATE and _VALUE.search(verb) and not _is_dropped(call, frame)):
        return None
    chat = _OWN_CHAT.search(name) is not None
    if (kind is Kind.NOTIFY and _FOR_MACHINES.search(verb) and not chat) or (kind is Kind.CREATE and _VIEW.search(verb)):
        kind = Kind.UNKNOWN
    who = Receiver.TEAM if chat or _OWN_PEOPLE.search(verb) else Receiver.UNKNOWN
    told = quoted(f"{frame.module.shown(name)}()")
    return Seen(Effect("", frozenset({kind}), Repeat.UNKNOWN, Reversible.UNKNOWN, told, certain=False, receiver=who))


def _is_dropped(call: ast.Call, frame: Frame) -> bool:
    """Whether nobody takes what it answers, so that it must be there for something else."""
    whole = (one.value for one in frame.module.inside(frame.function) if isinstance(one, ast.Expr))
    return any(call is (one.value if isinstance(one, ast.Await) else one) for one in whole)


def _foreign(call: ast.Call, owner: str, frame: Frame) -> bool:
    """Whether the call goes to an object or to something imported, not to a function of the file."""
    if owner:
        return not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, (ast.Constant, ast.JoinedStr))
    return isinstance(call.func, ast.Name) and call.func.id in frame.module.aliases


def unknown(action: str, told: str) -> Effect:
    """Something outside, and the file does not tell what."""
    return Effect(action, frozenset({Kind.UNKNOWN}), Repeat.UNKNOWN, Reversible.UNKNOWN, quoted(told), certain=False)


def reads(expr: ast.AST, frame: Frame, knowledge: Knowledge) -> ast.Call | None:
    """The first call of an expression that looks for something outside without changing it."""
    for call in calls(expr):
        seen = recognised(call, frame, knowledge)
        if seen and not seen[0].effect.outward:
            return call
        if not seen and _LOOKING.match(dotted(call.func, frame).rpartition(".")[2]):
            return call
    return None


_LOOKING = re.compile(
    r"^(exists|is_\w*(sent|done|processed|paid)|already_\w+|has_\w+|find(_\w+)?|search(_\w+)?|list(_\w+)?|retrieve"
    r"|get_(by_|existing_)\w+|lookup(_\w+)?|first|one_or_none|fetch(?:one|all|val|row)|scalar(?:_one_or_none)?|sismember|setnx)$"
)
