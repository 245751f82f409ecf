"""The graph of a state machine: its states in the order in which they run, who follows whom, and on which ending."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from halfway.inspection.formats.wording import is_failure
from halfway.inspection.model import Edge, When
from halfway.inspection.quoting import quoted
from halfway.inspection.source import MOST_EDGES, Node, Unreadable

_COMPARED = re.compile(r"(?:Equals|Matches|LessThan|GreaterThan)")
_REFERENCE = re.compile(r"\$(?:\.[\w$.-]+|[A-Za-z]\w*)")
_WAITING = (".waitForTaskToken", ":activity:")
_TIMES_UP = frozenset({"States.Timeout", "States.HeartbeatTimeout"})
_THERE = re.compile(r"Duplicate|AlreadyExist|AlreadyOwned")
Links = Mapping[str, Sequence[tuple[str, When]]]


@dataclass(frozen=True)
class State:
    """One state, and the Parallel and Map states around it, the outermost first."""

    name: str
    node: Node
    parents: tuple[State, ...] = ()

    @property
    def type(self) -> str:
        return self.node.get("Type").text


@dataclass(frozen=True)
class Machine:
    """All states of a definition, those of branches too."""

    states: tuple[State, ...]
    links: Links
    conditions: Mapping[str, str]  # by state, of the choice that leads to it
    failing: frozenset[str]  # only reached along the edge of a failure
    cyclic: frozenset[str]
    reached: frozenset[str]
    needs: Mapping[str, tuple[str, ...]]  # by state, whose results it uses
    language: str
    standard: bool  # waits for what it starts or asks, which an EXPRESS one cannot


@dataclass
class _Building:
    states: dict[str, State] = field(default_factory=dict[str, State])
    links: dict[str, list[tuple[str, When]]] = field(default_factory=dict[str, list[tuple[str, When]]])
    conditions: dict[str, str] = field(default_factory=dict[str, str])

    def scope(self, root: Node, parents: tuple[State, ...], prefix: str) -> None:
        """Takes up the states of one level; names that occur twice get the name of their parent before them."""
        known = {name: name if name not in self.states else f"{prefix}/{name}" for name, _ in root.get("States").items()}
        for name, node in root.get("States").items():
            state = State(known[name], node, parents)
            self.states[state.name] = state
            self.links[state.name] = []
        for state_name, node in root.get("States").items():
            self._leave(self.states[known[state_name]], known)
            for branch in _branches(node):
                self.scope(branch, (*parents, self.states[known[state_name]]), known[state_name])

    def _leave(self, state: State, known: Mapping[str, str]) -> None:
        links = self.links[state.name]

        def link(target: Node, when: When) -> None:
            if target.text in known:
                links.append((known[target.text], when))

        for choice in state.node.get("Choices").each():
            target = choice.get("Next")
            bad = is_failure(target.text) or any(is_failure(value) for value in _literals(choice))
            link(target, When.ERROR if bad else When.SUCCESS)
            self.conditions.setdefault(known.get(target.text, ""), quoted(_condition(choice)))
        link(state.node.get("Default"), When.ERROR if is_failure(state.node.get("Default").text) else When.SUCCESS)
        link(state.node.get("Next"), When.SUCCESS)
        for catch in state.node.get("Catch").each():
            link(catch.get("Next"), When.SUCCESS if _is_answer(state.node, catch) else When.ERROR)

    def nest(self) -> None:
        """Leads from a Parallel or Map into its branches, and from their ends to what follows it."""
        onward = {name: list(links) for name, links in self.links.items()}
        for name, state in self.states.items():
            if state.parents:
                parent = state.parents[-1].name
                errors = [link for around in state.parents for link in onward[around.name] if link[1] is When.ERROR]
                ends = state.node.get("End").value is True or state.type == "Succeed"
                self.links[name] += errors + ([link for link in onward[parent] if link[1] is When.SUCCESS] if ends else [])
        inside: dict[str, list[str]] = {}
        for name, state in self.states.items():
            if state.parents:
                inside.setdefault(state.parents[-1].name, []).append(name)
        for name, held in inside.items():
            firsts = {branch.get("StartAt").text for branch in _branches(self.states[name].node)}
            entries = [one for one in held if one in firsts or one.rpartition("/")[2] in firsts]
            if entries:
                self.links[name] = [(one, When.SUCCESS) for one in entries] + [one for one in onward[name] if one[1] is When.ERROR]


def machine_of(root: Node) -> Machine:
    """The graph of a definition."""
    building = _Building()
    building.scope(root, (), "")
    building.nest()
    start = root.get("StartAt").text
    order = list(reversed(postorder(building.links, [start] if start in building.links else [])))
    reached = frozenset(order)
    order += [name for name in building.states if name not in reached]
    plain = {name: [link for link in links if link[1] is When.SUCCESS] for name, links in building.links.items()}
    succeeding = frozenset(postorder(plain, [start] if start in plain else []))
    return Machine(
        states=tuple(building.states[name] for name in order),
        links=building.links,
        conditions=building.conditions,
        failing=reached - succeeding,
        cyclic=cyclic_names(building.links),
        reached=reached,
        needs=_needs(building.states),
        language=root.get("QueryLanguage").text or "JSONPath",
        standard=any(word in one.node.get("Resource").text for one in building.states.values() for word in (*_WAITING, ".sync")),
    )


def connected(machine: Machine, steps: frozenset[str]) -> tuple[Edge, ...]:
    """The edges between steps; states that are none are passed through."""
    return ways(machine.links, [state.name for state in machine.states if state.name in steps], steps)


def ways(links: Links, firsts: Sequence[str], steps: frozenset[str]) -> tuple[Edge, ...]:
    """The edges from these steps to others, past whatever is none; raises Unreadable if there are too many."""
    edges = dict[Edge, None]()
    for first in firsts:
        edges.update(dict.fromkeys(_onward(links, first, steps)))
        if len(edges) > MOST_EDGES:
            raise Unreadable(f"it has more than {MOST_EDGES:,} ways from step to step")
    return tuple(edges)


def _onward(links: Links, first: str, steps: frozenset[str]) -> Iterator[Edge]:
    left = list(reversed(links[first]))
    seen = set[tuple[str, When]]()
    while left:
        name, when = left.pop()
        if (name, when) in seen:
            continue
        seen.add((name, when))
        if name in steps:
            yield Edge(first, name, when)
            continue
        left += [(after, When.ERROR if When.ERROR in (when, then) else then) for after, then in reversed(links[name])]


def _is_answer(node: Node, catch: Node) -> bool:
    """Whether what is caught is no failure: it is there already, or a wait that goes on the same way has come to the end it was given."""
    errors = [error.text for error in catch.get("ErrorEquals").each()]
    waits = any(word in node.get("Resource").text for word in _WAITING)
    over = waits and _TIMES_UP.issuperset(errors) and catch.get("Next").text == node.get("Next").text
    return bool(errors) and (over or all(map(_THERE.search, errors)))


def _branches(node: Node) -> Iterator[Node]:
    yield from node.get("Branches").each()
    for key in ("ItemProcessor", "Iterator"):
        if node.get(key):
            yield node.get(key)


def _condition(choice: Node) -> str:
    if choice.get("Condition"):
        return choice.get("Condition").text
    said: list[str] = []
    for key, value in choice.items():
        if key in ("And", "Or"):
            said.append(f" {key.lower()} ".join(_condition(one) for one in value.each()))
        elif key == "Not":
            said.append(f"not {_condition(value)}")
        elif key not in ("Next", "Comment", "Assign", "Output"):
            said.append(value.text if key == "Variable" else f"{key} {value.text}")
    return " ".join(said)


def _literals(choice: Node) -> Iterator[str]:
    if choice.get("Condition"):
        yield from re.findall(r"""['"]([^'"]+)['"]""", choice.get("Condition").text)
    for key, value in choice.items():
        if key in ("And", "Or"):
            for one in value.each():
                yield from _literals(one)
        elif _COMPARED.search(key):
            yield value.text


def _needs(states: Mapping[str, State]) -> Mapping[str, tuple[str, ...]]:
    kept: dict[str, str] = {}
    for name, state in states.items():
        path = state.node.get("ResultPath").text
        if path.startswith("$.") and state.type in ("Task", "Parallel", "Map"):
            kept.setdefault(path, name)
        for variable, _ in state.node.get("Assign").items():
            kept.setdefault("$" + variable.removesuffix(".$"), name)
    needs: dict[str, tuple[str, ...]] = {}
    for name, state in states.items():
        given = [state.node.get(key).plain for key in ("Parameters", "Arguments", "InputPath")]
        used = [reference.rstrip(".") for reference in _REFERENCE.findall(str(given))]
        found = (kept[part] for one in used for part in _beginnings(one) if part in kept)
        needs[name] = tuple(dict.fromkeys(one for one in found if one != name))
    return needs


def _beginnings(path: str) -> Iterator[str]:
    while path not in ("", "$"):
        yield path
        path = path.rpartition(".")[0]


def postorder(links: Links, starts: Sequence[str]) -> list[str]:
    """Every name after all that follow it, except along a way back; without recursion, a file may be deep."""
    order: list[str] = []
    seen = set[str]()
    left = [(name, False) for name in reversed(starts)]
    while left:
        name, done = left.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            left.append((name, True))
            # What is named first is to come first in the reversed order, so it is finished last.
            left += [(after, False) for after, _ in links[name] if after not in seen]
    return order


def cyclic_names(links: Links) -> frozenset[str]:
    """The names that can be reached from themselves, by strongly connected parts."""
    back: dict[str, list[tuple[str, When]]] = {name: [] for name in links}
    for name, following in links.items():
        for after, when in following:
            back[after].append((name, when))
    found = set[str]()
    done = set[str]()
    for name in reversed(postorder(links, list(links))):
        left, part = [name], set[str]()
        while left:
            one = left.pop()
            if one not in done:
                done.add(one)
                part.add(one)
                left += [before for before, _ in back[one] if before not in done]
        if len(part) > 1 or any(after == name for after, _ in links[name]):
            found |= part
    return frozenset(found)
