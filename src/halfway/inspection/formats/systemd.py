"""Reads the services and timers of systemd: what they start, how often, and again after what."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.command_steps import Around, Line, in_order, steps_of
from halfway.inspection.formats.commands import of_words
from halfway.inspection.formats.durations import seconds
from halfway.inspection.model import Fact, Flow, Guard, Repeater, Repeating, RunLog, Span, Starting, Trigger, Unread
from halfway.inspection.quoting import holds_secret, quoted
from halfway.inspection.source import Source, whole

NAME = "systemd"
_SECTION = re.compile(r"^\[(Unit|Service|Timer|Install|Path|Socket)\]\s*$")
_EXECUTED = ("ExecStartPre", "ExecStart", "ExecStartPost")
_AGAIN = frozenset({"always", "on-failure", "on-abnormal", "on-abort", "on-watchdog", "on-success"})
_CALENDAR = {
    "minutely": 60.0, "hourly": 3_600.0, "daily": 86_400.0, "weekly": 604_800.0, "monthly": 2_419_200.0,
    "quarterly": 7_776_000.0, "semiannually": 15_638_400.0, "yearly": 31_536_000.0, "annually": 31_536_000.0,
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """One line of a unit."""

    value: str
    span: Span


Settings = Mapping[str, list[Setting]]


class Systemd:
    """The reader of services and timers."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return is_unit(source)

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        yield from unit_flows(source, given)

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        yield from ()


def is_unit(source: Source) -> bool:
    """Whether a text is a service or a timer."""
    found = _settings(source)
    return "Service.ExecStart" in found or any(key.startswith("Timer.On") for key in found)


def unit_flows(source: Source, given: Given) -> Iterator[Flow]:
    """The flow of a service; that of a timer only if its service was not given."""
    settings = _settings(source)
    if "Service.ExecStart" in settings:
        timer = _timer_of(source, given)
        if timer is not None or _one(settings, "Service.Type") == "oneshot" or _does_something(source, settings, given):
            yield _service(source, settings, timer, given)
    elif _service_of(source, settings, given) is None:
        yield _lonely(source, settings)


def _settings(source: Source) -> dict[str, list[Setting]]:
    """The settings by section and key; a value that goes on below is one."""
    found: dict[str, list[Setting]] = {}
    section, held, first = "", list[str](), 0
    for number, line in enumerate(source.lines, 1):
        heading = _SECTION.match(line)
        if heading:
            section, held = heading[1], []
            continue
        if not held and (not line.strip() or line.lstrip()[:1] in "#;"):
            continue
        first = first if held else number
        if line.endswith("\\"):
            held.append(line[:-1] + " ")
            continue
        key, sign, value = "".join((*held, line)).partition("=")
        held = []
        if section and sign:
            at = f"{section}.{key.strip()}"
            found.setdefault(at, []).append(Setting(value.strip(), source.span(first, number, at)))
    return found


def _one(settings: Settings, key: str) -> str:
    return settings[key][-1].value if settings.get(key) else ""


def _lines(source: Source, settings: Settings) -> list[Line]:
    found: list[Line] = []
    for key in _EXECUTED:
        for setting in settings.get(f"Service.{key}", []):
            text = setting.value.lstrip("-@:+!|")
            try:
                words = shlex.split(text)
            except ValueError:
                words = [text]
            if words:
                found.append(Line(source, setting.span, of_words(words)))
    return found


def _does_something(source: Source, settings: Settings, given: Given) -> bool:
    """Whether a service that nothing starts by the clock has an effect that can be read; most are servers."""
    steps = steps_of(_lines(source, settings), given, Around(unit=_name(source)))
    return any(step.effect is not None and step.effect.outward and step.effect.action for step in steps)


def _name(source: Source) -> str:
    return source.path.rpartition("/")[2].rpartition(".")[0] or source.path


def _timer_of(source: Source, given: Given) -> tuple[Source, dict[str, list[Setting]]] | None:
    own = source.path.rpartition("/")[2]
    for other in given.sources.values():
        if "[Timer]" not in other.text or other is source:
            continue
        settings = _settings(other)
        unit = _one(settings, "Timer.Unit") or _name(other) + ".service"
        if unit == own:
            return other, settings
    return None


def _service_of(source: Source, settings: Settings, given: Given) -> Source | None:
    unit = _one(settings, "Timer.Unit") or _name(source) + ".service"
    return next((one for one in given.sources.values() if one.path.rpartition("/")[2] == unit and "[Service]" in one.text), None)


def _service(source: Source, settings: Settings, timer: tuple[Source, dict[str, list[Setting]]] | None, given: Given) -> Flow:
    name = _name(source)
    triggers = tuple(_triggers(*timer)) if timer is not None else ()
    repeaters = (*_repeaters(source, settings), *(Repeater(Repeating.SCHEDULE, True, None, trigger.span) for trigger in triggers))
    facts = tuple(source.fact(one.span) for key in ("Service.Restart", "Service.Type") for one in settings.get(key, []))
    timeout = _timeout(settings)
    extra = {"restart": _one(settings, "Service.Restart"), "type": _one(settings, "Service.Type")}
    if timer is not None and _one(timer[1], "Timer.Persistent").lower() in ("true", "yes", "1", "on"):
        extra["persistent"] = "true"
    around = Around(
        unit=name, repeaters=repeaters, timeout=timeout, facts=facts, extra={key: value for key, value in extra.items() if value}
    )
    steps = steps_of(_lines(source, settings), given, around)
    execution = settings["Service.ExecStart"][0].span
    notice = settings.get("Unit.OnFailure")
    outputs = [one for key in ("StandardOutput", "StandardError") for one in settings.get(f"Service.{key}", []) if one.value == "null"]
    return Flow(
        id=name,
        name=_one(settings, "Unit.Description") or name,
        format=NAME,
        file=source.path,
        span=execution,
        steps=tuple(steps),
        edges=in_order(steps),
        triggers=triggers,
        # systemd never runs a unit twice at the same time; a start meanwhile is dropped.
        guards=(Guard(execution, group=f"{name}.service", queues=False),),
        failure_notice=notice[-1].span if notice else None,
        evidence_off=outputs[0].span if outputs else None,
        unread=tuple(step.opaque for step in steps if step.opaque is not None),
        secrets=tuple(_secrets(source)),
    )


def _lonely(source: Source, settings: Settings) -> Flow:
    unit = _one(settings, "Timer.Unit") or _name(source) + ".service"
    triggers = tuple(_triggers(source, settings))
    span = triggers[0].span
    unread = Unread(quoted(unit), "the unit {what} was not given", span)
    return Flow(
        id=_name(source), name=_name(source), format=NAME, file=source.path, span=span, steps=(), triggers=triggers, unread=(unread,)
    )


def _repeaters(source: Source, settings: Settings) -> Iterator[Repeater]:
    for restart in settings.get("Service.Restart", [])[-1:]:
        if restart.value in _AGAIN:
            burst = _one(settings, "Unit.StartLimitBurst") or _one(settings, "Service.StartLimitBurst")
            yield Repeater(Repeating.RESTART, True, whole(burst) or None, restart.span)
    yield Repeater(Repeating.UNIT_RERUN, False, None, settings["Service.ExecStart"][0].span, default=True)


def _timeout(settings: Settings) -> float | None:
    for key in ("TimeoutStartSec", "TimeoutSec", "RuntimeMaxSec"):
        said = _one(settings, f"Service.{key}")
        if said:
            return seconds(said)
    return None


def _triggers(timer: Source, settings: Settings) -> Iterator[Trigger]:
    for key, found in settings.items():
        if not key.startswith("Timer.On"):
            continue
        for setting in found:
            if key == "Timer.OnCalendar":
                period = _calendar(setting.value)
            else:
                period = seconds(setting.value) if key in ("Timer.OnUnitActiveSec", "Timer.OnUnitInactiveSec") else None
            yield Trigger(Starting.SCHEDULE, setting.span, timer.fact(setting.span).quote, period=period)


def _calendar(said: str) -> float | None:
    """The time between two starts, of the forms that are common; None for others."""
    known = _CALENDAR.get(said.lower())
    if known is not None:
        return known
    every = re.fullmatch(r"(?:\*-\*-\*\s+)?(\*|\d+):(?:(?:0{1,2}|\*)/(\d+)|(\d+)|(\*))(?::\d+)?", said)
    if every and every[1] == "*":
        return 60.0 * (whole(every[2]) or 1) if every[2] else 3_600.0 if every[3] else 60.0
    if every and every[3]:
        return 86_400.0
    return 604_800.0 if re.fullmatch(r"(?i)(?:mon|tue|wed|thu|fri|sat|sun)\w*(?:\s+\d+:\d+(?::\d+)?)?", said) else None


def _secrets(source: Source) -> Iterator[Fact]:
    for number, line in enumerate(source.lines, 1):
        if line.startswith("Environment") and holds_secret(line):
            yield source.fact(source.span(number))


READER: Reader = Systemd()
