"""Reads Compose files: services that are started again, and jobs that labels start by the clock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from halfway.inspection.formats import Given, Reader
from halfway.inspection.formats.command_steps import Around, Line, in_order, program_of, steps_of
from halfway.inspection.formats.commands import Command, commands, of_words
from halfway.inspection.formats.durations import seconds
from halfway.inspection.formats.moving import moving
from halfway.inspection.formats.timetables import period_of
from halfway.inspection.model import Edge, Fact, Flow, Guard, Repeater, Repeating, RunLog, Starting, Step, Trigger, Unread, When
from halfway.inspection.quoting import holds_secret, quoted
from halfway.inspection.source import Node, Source, whole

NAME = "compose"
_BY_HAND = re.compile(r"(?i)debug|test|tools?$|cli$")
_PRETENDED = re.compile(r"(?i)(?:^|[-_.])?(?:mock|fake|stub)(?:s|ed|api)?(?:[-_.]\w+)*")
_SERVERS = re.compile(
    r"(?:^|/)(?:postgres|mysql|mariadb|redis|valkey|memcached|mongo|elasticsearch|opensearch|kibana|prometheus|alertmanager|grafana|tempo|loki"
    r"|jaeger|otel|opentelemetry-collector\w*|kafka|zookeeper|rabbitmq|nats|nginx|traefik|caddy|haproxy|minio|clickhouse(?:-server)?|mailhog|mailpit"
    r"|localstack|vault|consul|etcd|keycloak|adminer|pgadmin\d*|registry|selenium|playwright)(?:[:@/-]|$)"
)
_TESTS = re.compile(
    r"^(?:npx |pnpm |yarn |uv run |poetry run |python3? -m )?"
    r"(?:mocha|jest|vitest|playwright|pytest|rspec|phpunit|karma|cypress|black|flake8|ruff|mypy|pylint|isort|eslint|prettier|tsc)\b"
)
_DEFAULT = re.compile(r"\$\{\w+:?-([^{}]*)\}")
_STAYS = re.compile(r"(?i)(?:^|[\s_./-])(?:agent|server|daemon|listener|proxy|gateway|gotenberg|tika)s?(?:$|[\s_./-])")
# Programs that take up what others hand them.
_WAITING = frozenset({
    "gunicorn", "uvicorn", "hypercorn", "daphne", "sidekiq", "dramatiq", "huey_consumer", "huey_consumer.py", "php-fpm", "supervisord",
})  # fmt: skip
_WAITS = re.compile(r"^(?:rq worker|(?:next|nuxt) start|rails s(?:erver)?|flask run|streamlit run|(?:python3? )?manage\.py runserver)\b")
_OFELIA = re.compile(r"^ofelia\.(job-(?:exec|run|local|service-run))\.([\w.-]+)\.([\w-]+)$")


class Compose:
    """The reader of Compose files."""

    name = NAME

    def takes(self, source: Source, /) -> bool:
        return _root(source) is not None

    def flows(self, source: Source, given: Given, /) -> Iterator[Flow]:
        root = _root(source)
        if root is not None:
            yield from _flows(source, root, given)

    def runs(self, source: Source, given: Given, /) -> Iterator[RunLog]:
        yield from ()


def _root(source: Source) -> Node | None:
    """The file as Compose knows it: services, one of which at least has an image or is built."""
    if "services" not in source.text or not ("image" in source.text or "build" in source.text):
        return None
    root = source.json if source.json is not None else source.yaml
    if root is None or not isinstance(root.get("services").value, dict):
        return None
    services = [service for _, service in root.get("services").items() if isinstance(service.value, dict)]
    # Workflows of GitHub have services too, but below their jobs.
    return root if any(service.get("image") or service.get("build") for service in services) and not root.get("jobs") else None


def _flows(source: Source, root: Node, given: Given) -> Iterator[Flow]:
    services = dict(root.get("services").items())
    awaited = {
        name
        for service in services.values()
        for name, link in service.get("depends_on").items()
        if link.get("condition").text == "service_completed_successfully"
    }
    steps: list[Step] = []
    unread: list[Unread] = []
    for name, service in services.items():
        if _is_pretended(source, name) or _is_by_hand(service) or _is_server(service) or _is_test(service):
            continue
        if name in awaited or _is_job(service) or _has_known_effect(source, name, service, given):
            own = _steps(source, name, service, given, len(steps))
            joins = _joins(service, services)
            steps += [replace(step, extra={**step.extra, "serves": "true"}) if joins and step.opaque else step for step in own]
    if steps:
        unread += [step.opaque for step in steps if step.opaque is not None]
        yield Flow(
            id=root.get("name").text or source.path.rpartition("/")[2],
            name=root.get("name").text or source.path.rpartition("/")[2],
            format=NAME,
            file=source.path,
            span=root.get("services").span,
            steps=tuple(steps),
            edges=tuple(_edges(services, steps)),
            notice_expected=False,
            unread=tuple(dict.fromkeys(unread)),
            secrets=tuple(_secrets(source, services)),
            moving=moving(source, root.get("services").span, _made_here(services.values())),
        )
    for name, service in services.items():
        yield from _scheduled(source, name, service, given)


def _made_here(services: Iterable[Node]) -> list[int]:
    """The lines of the images that are built, so that their names are only what they are called then."""
    return [service.get("image").span.line for service in services if service.get("build") and service.get("image")]


def _is_by_hand(service: Node) -> bool:
    """Whether a service is for somebody who looks for a fault, and starts only when it is named."""
    return any(_BY_HAND.search(one.text) for one in service.get("profiles").each())


def _is_server(service: Node) -> bool:
    """Whether it is a server that everybody knows, which is only told its settings."""
    words = [word for node in (service.get("entrypoint"), service.get("command")) for one in _commands(node) for word in one.words]
    return _SERVERS.search(_image(service)) is not None and all(word.startswith(("-", "/", "$")) or "." in word for word in words)


def _only_waits(service: Node) -> bool:
    """Whether all that it starts waits for others; the clock of Celery only hands on what is due."""
    ran = [one.words for found in _started(service) for one in found if not one.harmless]
    return bool(ran) and all(_waits(words) for words in ran)


def _waits(words: Sequence[str]) -> bool:
    name = PurePosixPath(words[0]).name
    if name == "celery":
        valued = {"-A", "--app", "-b", "--broker", "--workdir", "--result-backend"}
        own = (one for place, one in enumerate(words) if place and not one.startswith("-") and words[place - 1] not in valued)
        return next(own, "") in ("worker", "beat", "flower")
    return name in _WAITING or _WAITS.match(" ".join((name, *words[1:3]))) is not None


def _is_test(service: Node) -> bool:
    """Whether it only runs tests or checks the text of programs, and has nothing to reach out with."""
    if any(service.get(key) for key in ("environment", "env_file", "secrets")):
        return False
    ran = [one for found in _started(service) for one in found if not one.harmless]
    return bool(ran) and all(_TESTS.search(" ".join(one.words[:3])) for one in ran)


def _joins(service: Node, services: dict[str, Node]) -> bool:
    """Whether a program of the image is told nothing but where another service listens: it is there to work for that one."""
    ran = [one for found in _started(service) for one in found if not one.harmless]
    listens = [re.fullmatch(r"(?:tcp://)?([\w.-]+):\d+", word) for one in ran for word in one.words]
    return not any(one.script for one in ran) and any(match is not None and match[1] in services for match in listens)


def _image(service: Node) -> str:
    """The image; of one that the environment may name, the default."""
    return _DEFAULT.sub(r"\1", service.get("image").text)


def _is_pretended(source: Source, name: str) -> bool:
    """Whether a service only stands for another one in tests."""
    return _PRETENDED.search(name) is not None or any(_PRETENDED.fullmatch(part) for part in source.path.split("/")[:-1])


def _is_job(service: Node) -> bool:
    """Whether a service looks like work that comes to an end: it says what to run, and nobody talks to it."""
    serves = any(service.get(key) for key in ("ports", "expose", "healthcheck"))
    return not serves and bool(service.get("command") or service.get("entrypoint"))


def _has_known_effect(source: Source, name: str, service: Node, given: Given) -> bool:
    lines = [Line(source, service.span, found) for found in (_commands(service.get("command")), _commands(service.get("entrypoint")))]
    return any(step.effect is not None and step.effect.outward and step.effect.action for step in steps_of(lines, given, Around(unit=name)))


def _commands(node: Node) -> tuple[Command, ...]:
    if isinstance(node.value, list):
        return of_words([one.text for one in node.value])
    return commands(node.text) if node.text else ()


def _started(service: Node) -> Iterator[tuple[Command, ...]]:
    """What a service runs; a shell as its entrypoint is told by the command what to do."""
    entry, given = service.get("entrypoint"), service.get("command")
    first = [one.text for one in entry.value] if isinstance(entry.value, list) else entry.text.split()
    if len(first) == 1 and first[0].rpartition("/")[2] in ("sh", "bash") and isinstance(given.value, list):
        script = given.value[-1].text.strip().splitlines()
        if len(script) == 1 or script[-1].startswith("exec "):  # what comes before the program that takes over prepares it
            yield of_words([*first, *(one.text for one in given.value[:-1]), script[-1]])
            return
    if len(first) == 2 and first[0].rpartition("/")[2] in ("sh", "bash") and first[1] == "-c" and isinstance(given.value, str):
        yield of_words([*first, given.text])
        return
    yield from (found for node in (entry, given) if (found := _commands(node)))


def _steps(source: Source, name: str, service: Node, given: Given, first: int) -> list[Step]:
    place = service.get("command") if service.get("command") else service.get("entrypoint")
    place = place if place else service
    lines = [Line(source, place.span, found) for found in _started(service)]
    image = _image(service) or service.get("build").text or service.get("build", "context").text
    image = name if image.startswith((".", "/", "$")) else image  # where it is built says nothing
    # A service without a command runs what its image says.
    lines = lines or [Line(source, place.span, (Command((image or name,)),))]
    repeaters = tuple(_restarts(service))
    unread = Unread(quoted(image or name), "what the image {what} does was not given", place.span)
    facts = tuple(source.fact(repeater.span) for repeater in repeaters)
    by_hand = Repeater(Repeating.UNIT_RERUN, False, None, service.span, default=True)
    extra = {key: said for key in ("restart", "stop_grace_period") if (said := service.get(key).text)}
    if (
        any(service.get(key) for key in ("ports", "expose", "healthcheck"))
        or _SERVERS.search(image)
        or _STAYS.search(f"{name} {place.text}")
        or _only_waits(service)
    ):
        extra["serves"] = "true"  # it waits for others; what has work of its own comes to an end
    program = "" if service.get("entrypoint") else program_of(_image(service))
    around = Around(unit=name, repeaters=(*repeaters, by_hand), facts=facts, opaque_image=unread, program=program, extra=extra)
    # A service is there to stay, and nobody waits for the end of a job: the missing limit of time is no weakness of either.
    return [replace(step, timeout_known=step.timeout is not None) for step in steps_of(lines, given, around, first)]


def _restarts(service: Node) -> Iterator[Repeater]:
    """Restarts: `always` and `unless-stopped` also after the work is done, `on-failure` after a failure."""
    policy = service.get("deploy", "restart_policy")
    if policy:
        condition = policy.get("condition")
        if condition.text != "none":
            most = policy.get("max_attempts").number
            span = condition.span if condition.there else policy.span
            yield Repeater(Repeating.RESTART, True, int(most) + 1 if most is not None else None, span, default=not condition.there)
        return
    restart = service.get("restart")
    kind, _, times = restart.text.partition(":")
    if kind in ("always", "unless-stopped", "on-failure"):
        yield Repeater(Repeating.RESTART, True, None if (said := whole(times)) is None else said + 1, restart.span)


def _edges(services: dict[str, Node], steps: list[Step]) -> Iterator[Edge]:
    by_unit: dict[str, list[Step]] = {}
    for step in steps:
        by_unit.setdefault(step.unit, []).append(step)
    for name, own in by_unit.items():
        yield from in_order(own)
        links = services[name].get("depends_on")
        for before in [key for key, _ in links.items()] or [one.text for one in links.each()]:
            if before in by_unit:
                ended = links.get(before, "condition").text == "service_completed_successfully"
                yield Edge(by_unit[before][-1].id, own[0].id, When.SUCCESS if ended else When.ALWAYS)


def _secrets(source: Source, services: dict[str, Node]) -> Iterator[Fact]:
    for service in services.values():
        environment = service.get("environment")
        for one in [value for _, value in environment.items()] or list(environment.each()):
            if holds_secret(source.line(one.span.line)):
                yield source.fact(one.span)


# ── schedules in labels ──


def _labels(service: Node) -> Iterator[tuple[str, str, Node]]:
    labels = service.get("labels")
    for key, value in labels.items():
        yield key, value.text, value
    for one in labels.each() if isinstance(labels.value, list) else ():
        name, _, said = one.text.partition("=")
        yield name.strip(), said.strip(), one


def _scheduled(source: Source, service: str, node: Node, given: Given) -> Iterator[Flow]:
    """The jobs that ofelia starts in a service."""
    jobs: dict[str, dict[str, tuple[str, Node]]] = {}
    for key, value, at in _labels(node):
        match = _OFELIA.match(key)
        if match:
            jobs.setdefault(match[2], {})[match[3]] = (value, at)
    for name, settings in jobs.items():
        if "command" not in settings:
            continue
        schedule, at = settings.get("schedule", ("", settings["command"][1]))
        trigger = Trigger(Starting.SCHEDULE, at.span, source.fact(at.span).quote, period=_period(schedule))
        apart = settings.get("no-overlap")
        command, place = settings["command"]
        repeater = Repeater(Repeating.SCHEDULE, True, None, at.span)
        unread = Unread(quoted(node.get("image").text or service), "what the image {what} does was not given", place.span)
        around = Around(unit=name, repeaters=(repeater,), opaque_image=unread, extra={"schedule": schedule})
        steps = steps_of([Line(source, place.span, commands(command))], given, around)
        yield Flow(
            id=f"{service}: {name}",
            name=name,
            format=NAME,
            file=source.path,
            span=place.span,
            steps=tuple(steps),
            edges=in_order(steps),
            triggers=(trigger,),
            guards=(Guard(apart[1].span, group=name, queues=False),) if apart is not None and apart[0] == "true" else (),
            unread=tuple(step.opaque for step in steps if step.opaque is not None),
        )


def _period(schedule: str) -> float | None:
    """The time between two starts; ofelia's six fields begin with seconds."""
    if schedule.startswith("@every"):
        return seconds(schedule.removeprefix("@every"))
    return period_of(schedule)


READER: Reader = Compose()
