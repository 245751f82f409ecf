"""Where the answer of a Task of ASL goes, and so whether a function that was not given is there for its answer only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from halfway.inspection.formats.asl_graph import Machine, State
from halfway.inspection.formats.asl_tasks import function_of
from halfway.inspection.formats.wording import begins_with_look, changes, only_looks, seems_to_look, told_kinds
from halfway.inspection.model import When
from halfway.inspection.source import Node

_READING = ("Parameters", "Arguments", "InputPath", "ItemsPath", "Items", "ItemSelector", "Choices", "ResultSelector", "Output")
_NEUTRAL = frozenset({"Choice", "Pass"})  # what asks for a value, or puts it elsewhere, does nothing with it
_UNWRAPPED = r"(?:\.(?:Payload|body))*(?![\w.\[])"  # the answer itself, in whatever it comes
_ALL = re.compile(r"(?<![\w$.])\$(?![\w.\[$])|\$states\.input(?![\w.\[])")
MOST_STATES = 500  # of a machine in which answers are followed; nobody writes a larger one by hand
_OWN_ANSWER = "$states.result"


def is_for_answer(state: State, machine: Machine) -> bool:
    """Whether one of its names speaks of a look or a computation, none of a change, and what comes after it takes the answer."""
    names = tuple(name for name in (state.name, function_of(state.node), _start_of(state)) if name)
    if len(machine.states) > MOST_STATES or any(map(changes, names)):
        return False
    if begins_with_look(state.name) and _is_only_asked(state, machine):
        return True  # whatever it looks at, a payment too
    if told_kinds(*names):
        return False
    return any(map(only_looks, names)) or (any(map(seems_to_look, names)) and _is_taken(state, machine))


def _start_of(state: State) -> str:
    """The name by which its branch is begun, where that is the name of no state: then it is another name of the only one."""
    for branch in state.parents[-1].node.get("Branches").each() if state.parents else ():
        states = [node for _, node in branch.get("States").items()]
        start = branch.get("StartAt").text
        if [node.span for node in states] == [state.node.span] and not branch.get("States", start).there:
            return start
    return ""


def answer_at(node: Node) -> str:
    """Where the answer is kept; `$` is all that the next state gets, and nothing says that it is thrown away."""
    path = node.get("ResultPath")
    if path.there:
        return path.text
    assigned = next((name for name, value in node.get("Assign").items() if _OWN_ANSWER in value.text), "")
    if assigned:
        return f"${assigned}"
    thrown_away = node.get("Output").there and _OWN_ANSWER not in str(node.get("Output").plain)
    return "" if thrown_away else "$"


def _is_taken(state: State, machine: Machine) -> bool:
    """Whether somebody is handed all of the answer, or asks for a part of it; one of whom only a date is used may have done more."""
    path = answer_at(state.node)
    if not path:
        return False
    followers = list(_followers(state, machine))
    if not followers or any(_takes_all(one) for one in followers):
        return True
    if path == "$":
        return any("$" in _read(one) for one in followers)
    part, whole = within(path), re.compile(re.escape(path) + _UNWRAPPED)
    others = [one for one in machine.states if one is not state]
    return any(whole.search(_read(one)) or (one.type in ("Choice", "Map") and part.search(_read(one))) for one in others)


def _is_only_asked(state: State, machine: Machine) -> bool:
    """Whether a choice, and nobody who acts, reads what it has answered."""
    places = [within(path) for path in _places(state)]
    readers = [one.type for one in machine.states if one is not state and any(place.search(_read(one)) for place in places)]
    return "Choice" in readers and _NEUTRAL.issuperset(readers)


def _places(state: State) -> Iterator[str]:
    """Where the answer is kept beside other data, by the state itself or by the Parallel whose branch it ends."""
    path = answer_at(state.node)
    if path != "$":
        yield from [path] if path else []
    elif state.parents and state.node.get("End").value is True:
        around = state.parents[-1].node
        spans = [[node.span for _, node in one.get("States").items()] for one in around.get("Branches").each()]
        number = next((at for at, one in enumerate(spans) if state.node.span in one), -1)
        for key, value in around.get("ResultSelector").items():
            if value.text.startswith(f"$[{number}]"):
                yield f"{around.get('ResultPath').text or '$'}.{key.removesuffix('.$')}"


def _followers(state: State, machine: Machine) -> Iterator[State]:
    """What comes directly after it, past what only waits; not what ends as a failure."""
    by_name = {one.name: one for one in machine.states}
    waiting, seen = [state.name], {state.name}
    while waiting:
        for name, when in machine.links[waiting.pop()]:
            if when is When.SUCCESS and name not in seen:
                seen.add(name)
                if by_name[name].type == "Wait":
                    waiting.append(name)
                elif by_name[name].type not in ("Succeed", "Fail"):
                    yield by_name[name]


def _takes_all(state: State) -> bool:
    """Whether a state is handed everything that there is."""
    node = state.node
    given = [node.get(key) for key in ("Parameters", "Arguments", "InputPath", "ItemsPath", "Items") if node.get(key).there]
    return state.type != "Choice" and (not given or any(reads_all(str(one.plain)) for one in given))


def reads_all(text: str) -> bool:
    """Whether an expression takes everything that there is."""
    return _ALL.search(text) is not None


def within(path: str) -> re.Pattern[str]:
    """What reads a place, or a part of what is kept there."""
    return re.compile(re.escape(path) + r"(?!\w)")


def _read(state: State) -> str:
    """What a state reads of the data, as written."""
    return " ".join(str(state.node.get(key).plain) for key in _READING if state.node.get(key).there)
