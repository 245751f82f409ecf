"""What the words of a command say about it: whether it only looks, where it goes, is done again by itself, ends by itself or has a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from halfway.inspection.knowledge.limits import of_command
from halfway.inspection.source import whole

_LOOKS = re.compile(
    r"^(?:"
    r"gh (?:\S+ )?(?:view|list|status|checks|diff)\b|gh search\b"
    r"|git (?:tag (?:-l|--list|-n)|ls-remote|rev-parse|show-ref|cat-file|branch --list|branch -r|log|describe|rev-list)\b|git tag$"
    r"|(?:npm|pnpm|yarn|yarn npm) (?:view|info|show|dist-tag ls)\b|pip3? (?:index|download)\b"
    r"|cargo (?:search|info)\b|gem (?:list|search|info)\b"
    r"|docker (?:manifest inspect|buildx imagetools inspect|image inspect|pull)\b|crane (?:digest"
    r"|manifest|ls)\b|skopeo (?:inspect|list-tags)\b"
    r"|kubectl (?:get|describe|diff|rollout status)\b|helm (?:status|history|list|get)\b|terraform (?:plan|show|output)\b"
    r"|aws \S+ (?:describe-|get-|list-|head-|ls\b)|gcloud .*\b(?:describe|list)\b|az .*\b(?:show|list)\b"
    r"|test\b|\[\[? "
    r")"
)
_LAGS = re.compile(r"\bsearch\b|--search\b|/search")
_FAMILIES = (
    frozenset({"gh", "git", "hub", "curl"}),
    frozenset({"npm", "pnpm", "yarn", "npx", "lerna", "changeset", "curl", "node"}),
    frozenset({"pip", "pip3", "twine", "uv", "poetry", "hatch", "flit", "pdm", "python", "python3", "curl"}),
    frozenset({"docker", "crane", "skopeo", "podman", "buildah", "regctl", "oras"}),
    frozenset({"kubectl", "helm", "kustomize", "argocd"}),
    frozenset({"cargo", "curl"}),
    frozenset({"gem", "curl"}),
    frozenset({"ansible-galaxy", "curl"}),
)
_TRIVIAL = frozenset({
    "echo", "printf", "set", "unset", "export", "local", "declare", "readonly", "true", "false", ":", "cd", "pushd", "popd", "return",
    "exit", "shift", "break", "continue", "read", "sleep", "wait", "trap", "test", "[", "[[", "cat", "basename", "dirname", "date",
    "pwd", "ls", "head", "tail", "wc", "cut", "tr", "sort", "uniq", "tee", "umask", "ulimit", "shopt", "alias", "type", "which", "hash",
    "whoami", "hostname", "uname", "source", ".", "mkdir", "touch", "grep", "sed", "awk", "jq", "yq", "getopts", "let", "xargs", "seq",
    "env", "expr", "git config", "git fetch", "git checkout", "stat", "find", "mktemp", "sha256sum", "md5sum", "fold", "rev", "paste",
    "nproc", "id", "time", "command",
})  # fmt: skip
_SKIPS = re.compile(
    r"^--(?:skip-existing|skip-duplicate|if-not-exists|no-clobber|ignore-existing|skip-if-exists|check-url|if-none-match)\b"
)
_KEY = re.compile(
    r"(?i)[\"']?(?:(?<![\w-])[\w-]*idempoten[\w-]*|(?:x-|paypal-)?request-?id|client[-_]?(?:request[-_]?)?token"
    r"|dedup[\w-]*|nonce|sender_batch_id)[\"']?\s*[:=]\s*(.+)"
)
_KEY_OPTIONS = (
    "--idempotency-token",
    "--client-token",
    "--client-request-token",
    "--idempotency-key",
    "--message-deduplication-id",
    "--request-id",
)
_TRIES = re.compile(r"--?dry-?run(?:=(?!none|false|0).*)?|--snapshot|--help")
# A helper that runs the words behind it, or only shows them.
_CARRIES = re.compile(r"^(?:\w+_)?(?:run|exec|execute|do|cmd|dryrun|maybe|must|safe|quiet|quietly|verbose)(?:_\w+)?$")
_PLACES = frozenset({"-R", "--repo", "--hostname", "-C", "-c", "--git-dir", "--work-tree"})
KNOWN_TOOLS = frozenset({
    "git", "gh", "docker", "podman", "npm", "pnpm", "yarn", "bun", "cargo", "go", "mvn", "gradle", "gradlew", "mvnw", "pip",
    "pip3", "uv", "goreleaser", "apt", "apt-get", "brew", "apk", "dnf", "yum", "cmake", "meson", "terraform", "tofu", "aws",
    "gcloud", "az", "kubectl", "helm", "rsync", "scp", "ssh", "curl", "wget", "cp", "mv", "rm", "tar", "chmod", "chown", "mkdir",
    "systemctl", "service", "dotnet", "nuget", "conda",
})  # fmt: skip
_BESIDE = re.compile(r"(?:^|[/@=])(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?:[:/]|$)")
_CHECKS = {"node": (["--check"], ["-c"]), "bash": (["-n"],), "sh": (["-n"],), "php": (["-l"],), "ruby": (["-c"],), "perl": (["-c"],)}
_SHELL_ONLY = re.compile(r"^(?:\$\(|`)\s*(?:ssh-agent|brew shellenv|opam env|pyenv init|conda shell)\b")
_VARIABLE = re.compile(r"^\$\{?\w+\}?$|^\$\(")


def carried(words: tuple[str, ...], known: Callable[[Sequence[str]], object]) -> tuple[str, ...]:
    """Without a helper in front that is called after running what it is given, where that is a command: `maybe_run git push`."""
    if len(words) < 2 or not _CARRIES.match(words[0]) or known(words) is not None:
        return words
    return words[1:] if words[1] in KNOWN_TOOLS or known(words[1:]) is not None else words


def without_place(words: Sequence[str]) -> tuple[str, ...]:
    """Without the options in front of a subcommand that say where: `gh --repo shop/shop release view`."""
    at = 1
    while words[0] in ("gh", "git") and at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _PLACES else 1
    return (words[0], *words[at:])


def looks(words: Sequence[str]) -> bool:
    """Whether a command only asks."""
    said = " ".join(words)
    if _LOOKS.match(said):
        return True
    if words[:2] == ("gh", "api") or list(words[:2]) == ["gh", "api"]:
        return method(words) == "GET"
    return words[0] in ("curl", "wget", "http", "https") and method(words) in ("GET", "HEAD")


def lags(words: Sequence[str]) -> bool:
    """Whether what was just made may not be found yet."""
    return _LAGS.search(" ".join(words)) is not None


def related(look: Sequence[str], act: Sequence[str]) -> bool:
    """Whether a look can be about what an action makes."""
    first, second = base(look[0]), base(act[0])
    return first == second or any(first in family and second in family for family in _FAMILIES)


def method(words: Sequence[str]) -> str:
    """The method of a request by curl, wget or `gh api`."""
    sends = False
    for place, word in enumerate(words):
        if word in ("-X", "--request", "--method") and place + 1 < len(words):
            return words[place + 1].upper()
        if match := re.match(r"^(?:-X|--request=|--method=)(\w+)$", word):
            return match[1].upper()
        if word in ("-I", "--head"):
            return "HEAD"
        if word in ("-G", "--get"):
            return "GET"
        sends = sends or (
            re.match(r"^(?:-d|--data|-F|--form|-T|--upload-file|--json|--post-|-f$|--field|--raw-field|--input)", word) is not None
            and not (words[0] == "curl" and word == "-f")
        )
    return "POST" if sends else "GET"


def trivial(words: Sequence[str]) -> bool:
    """Whether a command cannot do harm by failing, or only prepares on this machine."""
    return words[0] in _TRIVIAL or " ".join(words[:2]) in _TRIVIAL


def only_here(words: Sequence[str]) -> bool:
    """Whether only files and services of this machine are touched."""
    return base(words[0]) in (
        "rm",
        "rmdir",
        "cp",
        "mv",
        "unlink",
        "truncate",
        "dd",
        "shred",
        "install",
        "ln",
        "chmod",
        "chown",
        "tar",
        "unzip",
        "zip",
        "systemctl",
        "service",
    ) or (base(words[0]) in ("rsync", "find") and not any(":" in word for word in words[1:]))


def to_a_cluster(words: Sequence[str]) -> bool:
    """Whether it speaks to a cluster: where the job has made it, it is gone with it."""
    return base(words[0]) in ("kubectl", "helm", "flux", "istioctl", "linkerd", "argocd", "kustomize", "cilium", "skaffold")


def to_a_container(words: Sequence[str]) -> bool:
    """Whether it starts or stops containers of a daemon: where that is the one of a job's own machine, they are gone with it."""
    return list(words[:2]) == ["docker", "compose"] or words[0] == "docker-compose"


def to_this_machine(words: Sequence[str]) -> bool:
    """Whether it speaks to what runs beside it, as a database of a test does."""
    return list(words[:2]) in (["docker", "exec"], ["podman", "exec"]) or any(_BESIDE.search(word) for word in words[1:])


def to_a_host(words: Sequence[str]) -> bool:
    """Whether a command names the database that it speaks to."""
    told = (word for before, word in pairwise(words) if before not in ("-p", "--port", "-P", "-U", "-u", "--username", "--user", "-c"))
    return any(word.startswith(("-h", "--host", "--url", "--dbname=", "$")) or "://" in word for word in told)


def asks_about_itself(words: Sequence[str]) -> bool:
    """Whether a program is only asked where it is, for its version or its help, or for what is in a file, or only tries."""
    if words[0] == "command" and words[1:2] in (("-v",), ("-V",)):
        return True
    alone = len(words) == 2 and words[1] in ("--version", "--help", "-V", "-v", "-h", "version", "help")
    lists = base(words[0]) == "pg_restore" and not {"-l", "--list"}.isdisjoint(words)
    return alone or lists or any(_TRIES.fullmatch(word) for word in words[1:])


def only_checks(words: Sequence[str]) -> bool:
    """Whether an interpreter only looks at the grammar of a program: `bash -n deploy.sh`."""
    name, options = base(words[0]), words[1:2]
    return list(options) in _CHECKS.get(name, ()) or list(words[1:3]) == ["-m", "py_compile"]


def for_this_shell(words: Sequence[str]) -> bool:
    """Whether the output of a program is run that only sets up the shell itself: `eval "$(ssh-agent -s)"`."""
    return _SHELL_ONLY.match(" ".join(words[:2])) is not None


def unknown_name(words: Sequence[str]) -> bool:
    """Whether the command itself is a variable."""
    return _VARIABLE.match(words[0]) is not None


def skips_existing(words: Sequence[str]) -> bool:
    """Whether it passes over what is there already."""
    return any(_SKIPS.match(word) for word in words)


def key_of(words: Sequence[str], body: str) -> str:
    """The value that the request carries as its identity; empty if there is none."""
    for place, word in enumerate(words):
        if word in _KEY_OPTIONS and place + 1 < len(words):
            return words[place + 1]
        if match := re.match(rf"^(?:{'|'.join(_KEY_OPTIONS)})=(.+)", word):
            return match[1]
    for text in (*words[1:], body):
        if match := _KEY.search(text):
            value = re.match(r"(?:\$\{\{.*?\}\}|\$\([^)]*\)|[^\"',}&\s])+", match[1].lstrip("\"'"))
            return value[0] if value is not None else ""
    return ""


def own_retry(words: Sequence[str]) -> tuple[int | None, bool] | None:
    """How often a program tries by itself, and whether that is its default."""
    name = base(words[0])
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        match = re.match(r"^(?:--retry|--tries|--retries)(?:=(\S+))?$", word)
        if match and name in ("curl", "wget", "uv", "pip", "pip3"):
            count = match[1] or following
            extra = 0 if word.startswith("--tries") else 1
            return (number + extra if (number := whole(count)) is not None and number < 10_000 else None), False
    if name == "wget" and any(word.startswith("--post-") for word in words):
        return 20, True
    return None


def own_timeout(words: Sequence[str]) -> float | None:
    """The longest time that a request may take, or a tool that has a limit of its own."""
    limit = of_command((base(words[0]), *words[1:]))
    if limit is not None and not limit.request:
        told = next((_after(words, place) for place, word in enumerate(words) if word.partition("=")[0] in limit.options), "")
        return _length(told) or limit.seconds
    for place, word in enumerate(words):
        match = re.match(r"^(?:--max-time|-m|--timeout|--read-timeout|--cli-read-timeout)(?:[= ]?(\d+(?:\.\d+)?))?$", word)
        if match and base(words[0]) in ("curl", "wget", "aws", "http", "https"):
            value = match[1] or (words[place + 1] if place + 1 < len(words) else "")
            return (float(value) or None) if re.fullmatch(r"\d+(?:\.\d+)?", value) else None  # 0 is no limit
        if word == "--timeout" and (own := _length(_after(words, place))) is not None:
            return own
    return None


def gives_up(words: Sequence[str]) -> bool:
    """Whether the tool gives up what it waits for when that does not come."""
    limit = of_command((base(words[0]), *words[1:]))
    return any(word.startswith("--wait-timeout") for word in words) or (limit is not None and limit.request and "--wait" not in words)


def _after(words: Sequence[str], place: int) -> str:
    """The value of an option, which is joined to it or the next word."""
    _, joined, value = words[place].partition("=")
    return value if joined else words[place + 1] if place + 1 < len(words) else ""


def _length(said: str) -> float | None:
    if re.fullmatch(r"\d+|(?:\d+[smh])+", said) is None:
        return None
    return sum(float(number) * {"m": 60, "h": 3600}.get(unit, 1) for number, unit in re.findall(r"(\d+)([smh]?)", said))


def ends_by_itself(words: Sequence[str]) -> bool:
    """Whether each request of a tool is given up after a while that it does not tell of."""
    return base(words[0]) == "aws" and not any(word.startswith("--cli-read-timeout") for word in words)


def base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def naming(words: Sequence[str]) -> Iterator[str]:
    """The words that may name what is made: all but messages, headers, credentials and answers' shapes."""
    skipped = False
    for word in words[1:]:
        if skipped:
            skipped = False
            continue
        skipped = word in _SAYS and not (word == "-t" and base(words[0]) in ("docker", "podman", "buildah"))
        if not skipped and not re.match(
            r"^--(?:notes|body|title|message|token|password|repo|username|generate-notes|query|jq|output)\b", word
        ):
            yield word


_SAYS = frozenset({
    "-m", "--message", "--notes", "--notes-file", "--body", "--title", "-t", "-b", "-n", "-F", "--notes-start-tag", "--token",
    "--password", "-p", "-u", "--username", "--repo", "-R", "-H", "--header", "--query", "--jq", "-q", "--output", "-o", "--registry",
    "--author", "--assignee", "--reviewer", "--label", "--build-arg", "-C", "--cwd", "--access", "--otp", "--target",
})  # fmt: skip
