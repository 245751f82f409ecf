"""What an operator of Airflow does: commands, requests, SQL and functions are read; an image is not there to be read."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from halfway.inspection.formats.python.carried import sql_of, unread
from halfway.inspection.formats.python.effects import Seen, lines, literal, unknown
from halfway.inspection.formats.python.frames import GAP, Frame, entries, keyword, number, text, truth
from halfway.inspection.formats.python.sql import shaping, statement
from halfway.inspection.formats.python.walk import Around, Found, Walk
from halfway.inspection.formats.wording import only_looks, opaque_effect, words
from halfway.inspection.model import Effect, Kind, Mark, Receiver, Repeat, Reversible, Unread
from halfway.inspection.quoting import quoted

FUNCTION = "the function {what} was not given"
SENSOR_ENDS_AFTER = 7 * 24 * 3600.0  # seconds; the default of every sensor
SSH_ENDS_AFTER = 10.0  # seconds; its own default
_TRIGGERS = "TriggerDagRunOperator"
_SUBDAG = "SubDagOperator"  # waits for its tasks as a sensor does
_CHAT = re.compile(r"(?i)slack|teams|mattermost|pagerduty|opsgenie")  # where the own people are
_IDLE = re.compile(r"(Empty|Dummy|Latest\w*|Branch\w*|ShortCircuit)Operator$")
_WAITING = re.compile(r"(Sensor|SensorAsync)$")
_READING = re.compile(r"(Check\w*|ToLocal\w*|Get\w*|List\w*|Fetch\w*|Download\w*)Operator$")
_TEMPLATE = re.compile(r"\{%.*?%\}", re.DOTALL)  # what is gone when the command is run


def operator(call: ast.Call, name: str, task: str, around: Around, walk: Walk) -> None:
    """Adds what the operator does to the walk."""
    kind = name.rpartition(".")[2]
    if _WAITING.search(kind):
        limit = number(keyword(call, "timeout"), around.frame)
        inner = replace(around, timeout=limit if limit is not None else around.timeout, ends_after=SENSOR_ENDS_AFTER)
        _add(walk, call, task, inner, marks=frozenset({Mark.WAIT}))
        return
    if keyword(call, "python_callable") is not None:
        _python(call, task, around, walk)
        return
    if _IDLE.search(kind) or _READING.search(kind):
        return
    if keyword(call, "bash_command") is not None:
        _bash(call, task, around, walk)
        return
    if kind == _TRIGGERS and not truth(keyword(call, "wait_for_completion")):
        around = replace(around, timeout_known=around.timeout is not None)  # it only notes that the other is to run
    sending = dict(entries(keyword(call, "extra_options"), around.frame))  # of a request
    given = keyword(call, "timeout", "cmd_timeout", "command_timeout") or sending.get("timeout")
    limit = number(given, around.frame) if given is not None or kind != "SSHOperator" else SSH_ENDS_AFTER
    around = replace(around, timeout=limit or around.timeout, ends_after=SENSOR_ENDS_AFTER if kind == _SUBDAG else around.ends_after)
    seen = _known(call, name, kind, around, walk)
    does = task.replace("download", "get", 1)
    if not seen.effect.certain and only_looks(does):
        if keyword(call, "image") is None:
            return
        seen = Seen(opaque_effect(seen.effect.told, does))
    told = seen.effect.certain or "Http" in kind or _shows_sql(sql_of(call, around.frame, walk.program))
    opaque = None if told else unread(call, name, around.frame)
    _add(walk, call, task, around, seen=seen, opaque=opaque)


def _shows_sql(sql: str) -> bool:
    """Whether the statements that it runs were given."""
    told = sql.strip()
    return " " in told and GAP not in told.split(" ", 1)[0]


def _add(
    walk: Walk,
    call: ast.Call,
    name: str,
    around: Around,
    *,
    seen: Seen | None = None,
    opaque: Unread | None = None,
    marks: frozenset[Mark] = frozenset(),
) -> None:
    walk.add(Found(node=call, statement=walk.statement, around=around, name=name, seen=seen, opaque=opaque, marks=marks))


def _python(call: ast.Call, task: str, around: Around, walk: Walk) -> None:
    wanted = keyword(call, "python_callable")
    assert wanted is not None
    target = walk.target(wanted, around.frame)
    given = keyword(call, "op_kwargs")
    if target is not None:
        keywords = (
            [ast.keyword(arg=text(key, around.frame), value=value) for key, value in zip(given.keys, given.values, strict=True) if key]
            if isinstance(given, ast.Dict)
            else []
        )
        values = keyword(call, "op_args")
        made = ast.Call(func=wanted, args=list(values.elts) if isinstance(values, ast.List) else [], keywords=keywords)
        walk.follow(*target, ast.copy_location(made, call), around)
        return
    if isinstance(wanted, ast.Lambda):
        walk.expression(wanted.body, around)
        return
    name = ast.unparse(wanted)
    effect = opaque_effect(f"{name}()", task) if only_looks(task) else unknown("", f"{name}()")
    _add(walk, call, task, around, seen=Seen(effect), opaque=Unread(name, FUNCTION, around.frame.module.span(wanted)))


def _bash(call: ast.Call, task: str, around: Around, walk: Walk) -> None:
    told = _TEMPLATE.sub("", text(keyword(call, "bash_command"), around.frame))
    commands = lines(told) if told.strip(GAP) else []
    if not commands:
        _add(walk, call, task, around, seen=Seen(unknown("", "bash_command")))
        return
    for one in commands:
        hidden = GAP in one[0]
        effect = unknown("", "bash_command" if hidden else " ".join(one)) if hidden or _is_file(one[0]) else walk.knowledge.command(one)
        opaque = Unread(quoted(one[0]), FUNCTION, around.frame.module.span(call)) if _is_file(one[0]) else None
        _add(walk, call, effect.told if effect else task, around, seen=Seen(effect) if effect else None, opaque=opaque)


def _is_file(word: str) -> bool:
    return word.endswith((".sh", ".py", ".rb", ".js"))


def _known(call: ast.Call, name: str, kind: str, around: Around, walk: Walk) -> Seen:
    frame = around.frame
    told_sql = sql_of(call, frame, walk.program)
    made = statement(told_sql, walk.knowledge) or shaping(told_sql)
    if made is not None:
        return Seen(made)
    if "Http" in kind:
        method = text(keyword(call, "method"), frame) or ("GET" if _READING.search(kind) else "POST")
        effect = walk.knowledge.http(method.upper(), text(keyword(call, "endpoint"), frame) or GAP)
        if effect is not None:
            return Seen(effect)
    effect = walk.knowledge.call(name, literal(call, frame))
    if effect is not None:
        return Seen(effect)
    told = quoted(f"{kind}({_subject(call, frame)})")
    task = text(keyword(call, "task_id"), frame)
    if re.search(r"Email|Slack|Teams|Telegram|Discord|Pagerduty|Sns|Opsgenie", kind) or _CHAT.search(task):
        receiver = keyword(call, "to", "to_emails", "recipients", "channel", "chat_id")
        team = isinstance(receiver, (ast.Constant, ast.List)) or _is_own(receiver) or _CHAT.search(f"{kind} {task}") is not None
        return Seen(
            Effect(
                "", frozenset({Kind.NOTIFY}), Repeat.DUPLICATES, Reversible.NO, told, receiver=Receiver.TEAM if team else Receiver.UNKNOWN
            )
        )
    if kind == "TriggerDagRunOperator":
        return Seen(Effect("", frozenset({Kind.ENQUEUE}), Repeat.DUPLICATES, Reversible.UNKNOWN, told))
    named = keyword(call, "sql", "query")
    if isinstance(named, ast.Name) and "drop" in words(named.id):  # statements of another file, whose name says what they do
        return Seen(replace(unknown("", told), kinds=frozenset({Kind.DELETE})))
    return Seen(unknown("", told))


def _is_own(receiver: ast.expr | None) -> bool:
    """Whether it is the very address to which the failures of the graph are told."""
    match receiver:
        case ast.Subscript(value=value, slice=ast.Constant(value="email")):
            return ast.unparse(value).rpartition(".")[2] == "default_args"
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value="email"), *_]):
            return ast.unparse(value).rpartition(".")[2] == "default_args"
        case _:
            return False


def _subject(call: ast.Call, frame: Frame) -> str:
    return text(keyword(call, "image", "application", "job_name", "trigger_dag_id", "to", "channel"), frame)
