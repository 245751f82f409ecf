"""What says the next step of an AI task: a script, or a model behind an Ollama-compatible address."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Action:
    """What the agent is to do: read, list, write, or done."""

    tool: str
    path: str = ""
    content: str = ""


class Model(Protocol):
    name: str

    def say(self, prompt: str) -> tuple[str, int]:
        """An answer, and the tokens that it cost."""
        ...

    def next(self, goal: str, seen: str) -> tuple[Action, int]:
        """The next action towards a goal, after what the last one has shown."""
        ...


@dataclass
class Scripted:
    """Does what it is told, in this order, whoever asks."""

    actions: list[Action]
    name: str = "script"
    tokens: int = 100
    asked: list[str] = field(default_factory=list[str])

    def say(self, prompt: str) -> tuple[str, int]:
        self.asked.append(prompt)
        return f"answer {len(self.asked)}", self.tokens

    def next(self, goal: str, seen: str) -> tuple[Action, int]:
        self.asked.append(goal)
        return self.actions.pop(0) if self.actions else Action("done"), self.tokens


@dataclass
class Local:
    """A model behind an Ollama-compatible address; it answers each action as one JSON object."""

    url: str
    name: str

    def say(self, prompt: str) -> tuple[str, int]:
        body = {"model": self.name, "messages": [{"role": "user", "content": prompt}], "stream": False}
        request = urllib.request.Request(f"{self.url}/api/chat", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as response:
            answer = json.load(response)
        return str(answer["message"]["content"]), int(answer.get("eval_count", 0)) + int(answer.get("prompt_eval_count", 0))

    def next(self, goal: str, seen: str) -> tuple[Action, int]:
        rules = 'Answer with one JSON object: {"tool": "read"|"list"|"write"|"done", "path": "…", "content": "…"}.'
        answer, tokens = self.say(f"{goal}\n\n{seen}\n\n{rules}")
        try:
            told = json.loads(answer[answer.index("{") : answer.rindex("}") + 1])
            return Action(str(told["tool"]), str(told.get("path", "")), str(told.get("content", ""))), tokens
        except (ValueError, KeyError):
            return Action("done"), tokens
