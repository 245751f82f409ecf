"""Three ways in which a model writes a report, from the freest to the one that asks least of it.

In each of them the code writes what must be right: in the modes structured and map also headings, ids, counts and notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, ValidationError

from halfway_report.form import NOTES
from halfway_report.generators import Desk, Generator, Identity, Task, Written
from halfway_report.generators import prompts as texts
from halfway_report.generators.mending import mend
from halfway_report.generators.ollama import Ollama
from halfway_report.generators.openai import OpenAi
from halfway_report.generators.sentences import first_sentence, flaw
from halfway_report.generators.wire import Answer, Chat, Prompt
from halfway_report.language import translator
from halfway_report.models import Commit
from halfway_report.outline import LISTED, notes, plain, skeleton
from halfway_report.settings import LlmSettings

_TRIES = 2  # of one sentence; then the commit speaks for itself
_SENTENCE = 100  # tokens
_USABLE = 0.5  # of the sentences at least, or the report is not by the model


def writer(settings: LlmSettings, chat: Chat | None = None) -> Generator:
    """The generator that the settings ask for; it touches nothing until it is used."""
    talk = chat or (Ollama(settings) if settings.provider == "ollama" else OpenAi(settings))
    match settings.mode:
        case "whole":
            return Whole(settings, talk)
        case "structured":
            return Structured(settings, talk)
        case "map":
            return Map(settings, talk)


class _Mode:
    """What the modes share: asking once, with everything that is kept of it."""

    version = ""

    def __init__(self, settings: LlmSettings, chat: Chat) -> None:
        self._settings, self._chat = settings, chat

    @property
    def prompt_version(self) -> str:
        """Which texts the model is given."""
        return f"{self.version}-{self._settings.language}"

    @property
    def mode(self) -> str:
        """As the settings call it."""
        return self._settings.mode

    @property
    def language(self) -> str | None:
        """None where each sentence was looked at when it came."""
        return None

    @property
    def examples(self) -> tuple[str, ...]:
        """None unless a mode shows some."""
        return ()

    def identify(self, desk: Desk, /) -> Identity:
        """The model as its server knows it now."""
        return self._chat.identify(desk)

    def seed(self, generation: int, /) -> int | None:
        """Another one each time, or a repeat would give the same text."""
        return self._settings.seed + generation - 1

    def _prompt(self, task: Task, asked: tuple[str, str], *, seed: int, most: int, schema: Mapping[str, object] | None = None) -> Prompt:
        think = self._settings.think if task.model.thinks else None
        system, user = asked
        # A model that thinks first needs room for it.
        most = self._settings.num_predict if think else min(most, self._settings.num_predict)
        return Prompt(system=system, user=user, seed=seed, num_predict=most, schema=schema, think=think)

    def _ask(self, task: Task, asked: tuple[str, str], desk: Desk, schema: Mapping[str, object] | None = None) -> Answer:
        system, user = asked
        seed = self._settings.seed + task.generation - 1
        told = (system, texts.with_faults(user, task.faults))
        prompt = self._prompt(task, told, seed=seed, most=self._settings.num_predict, schema=schema)
        desk.keep(f"prompt-{task.generation}.txt", prompt.text)
        answer = self._chat.ask(prompt, desk)
        desk.keep(f"answer-{task.generation}.txt", answer.text)
        return answer


class Whole(_Mode):
    """The model writes all of it; the code adds what was left out, and who wrote it."""

    version = texts.WHOLE

    @property
    def language(self) -> str | None:
        """The language that was asked for."""
        return self._settings.language

    def write(self, task: Task, desk: Desk, /) -> Written:
        """The report in Markdown."""
        answer = self._ask(task, texts.whole(task.context, self._settings.language), desk)
        text, repairs = mend(answer.text)
        if f"\n## {NOTES}\n" in text and text.rindex("\n## ") == text.rindex(f"\n## {NOTES}\n"):
            _ = translator(self._settings.language)
            by = _("Written by the model {model} (mode {mode}).").format(model=task.model.name, mode=self.mode)
            told = [*notes(task.context, self._settings.language), f"- {plain(by)}"]
            text = text.rstrip("\n") + "\n" + "\n".join(told) + "\n"
        return Written(text=text, finish=answer.finish, repairs=repairs, tokens=answer.tokens or 0)


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")
    commit: str
    sentence: str


class _Filled(BaseModel):
    model_config = ConfigDict(extra="forbid")
    summary: str
    changes: tuple[_Change, ...]


class Structured(_Mode):
    """The model fills in a schema in which it can name no commit that does not exist."""

    version = texts.STRUCTURED

    def write(self, task: Task, desk: Desk, /) -> Written:
        """The report in Markdown, or the answer as it came if it does not fit the schema."""
        commits = task.context.collection.commits[:LISTED]
        schema = texts.schema([commit.sha for commit in commits])
        answer = self._ask(task, texts.structured(task.context, self._settings.language), desk, schema)
        text, repairs = mend(answer.text)
        try:
            filled = _Filled.model_validate_json(text)
        except ValidationError as error:
            faults = tuple(f"SCHEMA ({'.'.join(map(str, one['loc'])) or 'JSON'}: {one['msg'][:120]})" for one in error.errors()[:3])
            return Written(text=text, finish=answer.finish, faults=faults, repairs=repairs, tokens=answer.tokens or 0)
        told: dict[str, str] = {}
        for change in filled.changes:
            sha = next((commit.sha for commit in commits if commit.sha[:12] == change.commit), change.commit)
            told[sha] = f"{told.get(sha, '')} {change.sentence}".strip()
        faults = tuple(self._faults(task, filled.summary, told))
        _, language = translator(self._settings.language), self._settings.language
        by = _("Summary and changes were written by the model {model} (mode {mode}).").format(model=task.model.name, mode=self.mode)
        report = skeleton(task.context, authorship=by, language=language, summary=filled.summary, sentences=told)
        return Written(text=report, finish=answer.finish, faults=faults, repairs=repairs, tokens=answer.tokens or 0)

    def _faults(self, task: Task, summary: str, told: Mapping[str, str]) -> Iterator[str]:
        shas = task.context.collection.shas
        yield from (f"UNKNOWN_SHA ({name[:64]})" for name in told if name not in shas)
        for where, text in (("summary", summary), *told.items()):
            found = flaw(text, "stop", shas, examples=(), language=self._settings.language, longest=2000)
            if found:
                yield f"{found} in {where[:12]}"


class _Told(BaseModel):
    """What is kept of one question about one commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    prompt: str
    answer: str
    finish: str
    tokens: int = 0


@dataclass
class _Tally:
    tokens: int = 0


class Map(_Mode):
    """One sentence for each commit; each answer is kept at once, so that a later attempt goes on where this one stops."""

    version = texts.MAP

    @property
    def examples(self) -> tuple[str, ...]:
        """The sentences that show the model how."""
        return tuple(sentence for _, sentence in texts.EXAMPLES[self._settings.language])

    def write(self, task: Task, desk: Desk, /) -> Written:
        """The report in Markdown, and which share of the sentences could be used."""
        commits = task.context.collection.commits[:LISTED]
        tally = _Tally()
        found = {commit.sha: self._sentence(task, commit, desk, tally) for commit in commits}
        sentences = {sha: sentence for sha, sentence in found.items() if sentence is not None}
        usable = len(sentences) / len(commits)
        faults = (f"UNUSABLE ({len(commits) - len(sentences)} of {len(commits)} sentences)",) if usable < _USABLE else ()
        _, language = translator(self._settings.language), self._settings.language
        by = _("The sentences about the changes were written by the model {model} (mode {mode}).").format(
            model=task.model.name, mode=self.mode
        )
        if len(sentences) < len(commits):
            silent = _("{count} of {all} could not be used; there the commit speaks for itself.")
            by += " " + silent.format(count=len(commits) - len(sentences), all=len(commits))
        text = skeleton(task.context, authorship=by, language=language, sentences=sentences)
        return Written(text=text, faults=faults, tokens=tally.tokens)

    def _sentence(self, task: Task, commit: Commit, desk: Desk, tally: _Tally) -> str | None:
        faults, language = "", self._settings.language
        for number in range(_TRIES):
            seed = self._settings.seed + task.generation - 1 + 1000 * number
            asked = self._prompt(task, texts.sentence(commit, language, faults), seed=seed, most=_SENTENCE)
            prompt = replace(asked, shots=texts.shots(language))
            told = self._told(task, prompt, desk)
            tally.tokens += told.tokens
            sentence = first_sentence(mend(told.answer)[0])
            faults = flaw(sentence, told.finish, task.context.collection.shas, examples=self.examples, language=language)
            if not faults:
                return sentence
        return None

    def _told(self, task: Task, prompt: Prompt, desk: Desk) -> _Told:
        # The same question to the same model was answered already if an earlier attempt has come so far.
        name = f"sentence-{prompt.sha256[:24]}-{(task.model.digest or 'no-digest')[:12]}.json"
        kept = desk.kept(name)
        if kept is not None:
            return _Told.model_validate_json(kept)
        answer = self._chat.ask(prompt, desk)
        told = _Told(prompt=prompt.text, answer=answer.text, finish=answer.finish, tokens=answer.tokens or 0)
        desk.keep(name, told.model_dump_json())
        return told
