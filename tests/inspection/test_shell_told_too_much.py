"""What a script does that looks like a weakness and is none; beside each stands the same but for the one thing, which is one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from halfway.inspection.formats.bash import read
from tests.inspection.test_told_too_much import INSPECTOR, job, script, told, workflow

BASH = "#!/bin/bash\nset -euo pipefail\n"


def shell(text: str, head: str = BASH) -> str:
    return head + dedent(text)


def run(text: str, then: str = "gh release create v1 --notes x") -> str:
    body = "\n".join(f"    {line}" for line in dedent(text).strip().splitlines())
    return workflow(f"- env: {{GH_TOKEN: x}}\n  run: |\n{body}\n- run: {then}")


def _pair(rule: str, name: str, none: str, one: str) -> tuple[str, str, str, str]:
    return rule, name, none, one


TOOLS = [
    # A tool that is documented is no part that somebody could hand in; one that nobody knows is.
    _pair("R-44", "a.sh", shell("databricks apps deploy web\n"), shell("shop-cli apps deploy web\n")),
    _pair("R-44", "a.sh", shell("databricks sync . /Shared/shop\n"), shell("shopsync sync . /Shared/shop\n")),
    _pair("R-44", "a.sh", shell("sentry-cli releases new v1\n"), shell("shop-cli releases publish v1\n")),
    _pair("R-44", "a.sh", shell("sentry-cli sourcemaps upload ./build --release v1\n"), shell("shop-cli sourcemaps upload ./build\n")),
    _pair("R-44", "a.sh", shell("smokeshow upload htmlcov\n"), shell("shopshow upload htmlcov\n")),
    _pair("R-44", "a.sh", shell("ansible-galaxy collection publish shop.tar.gz\n"), shell("shop-galaxy collection publish shop.tar.gz\n")),
]

LOOKED = """
    body="two words"
    {look}
    first=${{found%%$'\\n'*}}
    if [ -n "$first" ]; then
      echo "$first"
    else
      gh api "repos/shop/shop/issues/7/comments" -f body="$body"
    fi
"""
LIST = "found=$(gh api 'repos/shop/shop/issues/7/comments' --jq '.[].url')"
REFS = """
    refs=$(gh api --method GET repos/shop/shop/git/matching-refs/heads/next)
    head=$(jq -r '.[].object.sha' <<< "{from_}")
    if [ -z "$head" ]; then
      gh api --method POST repos/shop/shop/git/refs --raw-field ref=refs/heads/next --raw-field sha=abc
    fi
"""
COUNTED = """
    count=$(gh pr list --head next | wc -l)
    if (( {asked} == 0 )); then
      gh pr create --head next --title x --body y
    fi
"""
CLOSED = """
    TITLE="Prices of $(date +%F)"
    BRANCH="prices-$(date +%s)"
    gh pr list --json title --jq ".[] | select(.title == \\"$TITLE\\") | .number" | xargs -I {{}} gh pr {does} {{}}
    gh pr create --head "$BRANCH" --title "$TITLE" --body y
"""
LOOKS = [
    _pair("R-08", ".github/workflows/a.yml", run(LOOKED.format(look=LIST)), run(LOOKED.format(look='found=$(cat "$HOME/found")'))),
    _pair("R-08", ".github/workflows/a.yml", run(REFS.format(from_="$refs")), run(REFS.format(from_="$(cat refs.json)"))),
    _pair("R-08", ".github/workflows/a.yml", run(COUNTED.format(asked="count")), run(COUNTED.format(asked="LIMIT"))),
    _pair("R-04", ".github/workflows/a.yml", run(CLOSED.format(does="close")), run(CLOSED.format(does="view"))),
]

FOUND = """
const title = "Shop is closed"
const {{ data: found }} = await github.rest.{look}({{ q: title }})
if ({asked} > 0) {{
  core.info("there")
}} else {{
  await github.rest.issues.create({{ title }})
}}
"""
EARLY = """
const {{ data: found }} = await github.rest.{look}({{ owner: "shop", repo: "shop" }})
if (found.some((one) => one.title === "x")) return
await github.rest.issues.create({{ title: "x" }})
"""
CAUGHT = """
try {{
  await github.rest.repos.{look}({{ tag: "v1" }})
}} catch (error) {{
  await github.rest.repos.createRelease({{ tag_name: "v1" }})
}}
"""
SCRIPTS = [
    (
        FOUND.format(look="search.issuesAndPullRequests", asked="found.total_count"),
        FOUND.format(look="users.getByUsername", asked="found.id"),
    ),
    (FOUND.format(look="search.issuesAndPullRequests", asked="found.total_count"), FOUND.format(look="issues.get", asked="3")),
    (EARLY.format(look="issues.listForRepo"), EARLY.format(look="issues.listComments")),
    (CAUGHT.format(look="getReleaseByTag"), CAUGHT.format(look="getContent")),
]

CHARGED = "curl --fail -X POST https://shop.example/orders -d '{}'"
SERVER = "const x = 1"
SCHEDULE = """
    while true; do
      sleep 86400
      {act}
      {ends}
    done
"""
FORWARD = """
    create() {{
      local url
      url="https://{host}/$1"
      shift
      curl --retry 5 "$url" "$@"
    }}
    create repos/shop/shop/forks --data '{{"name":"x"}}'
"""
LOOPS = [
    # Who asks how the script was called does not ask whether anything has succeeded.
    _pair("R-01", "a.sh", shell(SCHEDULE.format(act=CHARGED, ends='[ "$1" != "loop" ] && break')),
          shell(SCHEDULE.format(act=CHARGED + " > done.txt", ends="[ -s done.txt ] && break"))),
    # What goes on until somebody stops it has no last item.
    _pair("R-27", "a.sh", shell(SCHEDULE.format(act=CHARGED, ends=":")), shell(f'for id in $(cat ids); do\n{CHARGED} -H "n: $id"\ndone')),
    # An address that a function makes of what it was called with, and what the call itself tries again.
    _pair("R-01", "a.sh", shell(FORWARD.format(host="api.github.com")), shell(FORWARD.format(host="api.shop.example"))),
]  # fmt: skip

PUSH = """
    push() {
      until out=$(git push origin HEAD 2>&1); do
        sleep 5
      done
    }
    push
    gh release create v1 --notes x
"""
TRIED = PUSH.replace("until out", "if out").replace("do\n", "then\n").replace("done", "fi")
LESS = run("gh issue create --title x --body y --label z || gh issue create --title x --body y")
ALARM = run("make report || gh issue create --title x --body y")
WEEKLY = "on: {schedule: [{cron: '0 4 * * 1'}]}"
PASSED = [
    # To delete what need not be there may fail.
    _pair("R-13", ".github/workflows/a.yml", run("gh pr comment 7 --delete-last --yes || true\ngh pr comment 7 --body-file a.md"),
          run("gh pr comment 7 --body-file b.md || true\ngh release create v1 --notes x")),
    _pair("R-13", ".github/workflows/a.yml", run("gh cache delete --all || true"), run("gh release create v2 --notes x || true")),
    # What is done until it succeeds is asked for its failure.
    _pair("R-13", "a.sh", shell(PUSH, "#!/bin/bash\n"), shell(TRIED, "#!/bin/bash\n")),
    # A second try with less is no alarm about the first one.
    _pair("R-30", ".github/workflows/a.yml", LESS.replace("on: push", WEEKLY), ALARM.replace("on: push", WEEKLY)),
    # The commit that is checked out has a name; what is the newest has another one each time.
    _pair("R-09", ".github/workflows/a.yml", run('docker push "shop/web:$(git describe --tags --abbrev=7)"'),
          run('git push origin "$(git describe --tags --abbrev=0).1"\ngh release create "$(git describe --tags --abbrev=0).1"')),
    _pair("R-36", "a.sh", shell("cat <<EOF\n-----BEGIN PUBLIC KEY-----\nEOF\n"), shell("cat <<EOF\n-----BEGIN PRIVATE KEY-----\nEOF\n")),
]  # fmt: skip

BOTH = """
    pnpm exec changeset publish
    PUBLISH="{does} --allow-dirty"
    if [ -n "${{TOKEN:-}}" ]; then
      PUBLISH="$PUBLISH --token $TOKEN"
    fi
    $PUBLISH
"""
FINAL = [
    _pair("R-26", "a.sh", shell(BOTH.format(does="pnpm jsr publish")), shell(BOTH.format(does="wrangler deploy"))),
]

ASKED = "curl -s -X POST {url} --data-urlencode grant_type=client_credentials"
BODY = """curl $AT -d '{{"model": "m", "{asked}": []}}'"""
PLACE = """
    PORT=8080
    URL=http://lab.example:$PORT/v1/chat/{asked}
    curl -X POST "$URL" -d "$BODY"
"""
LAMP = """["sh", "-c", "while {test}; do curl -X POST https://shop.example/orders -d x; sleep 5; done"]"""
READS = [
    # A token that is asked for changes nothing; nor does an answer of a model.
    _pair("R-15", "a.sh", shell(ASKED.format(url="https://id.shop.example/realms/shop/protocol/openid-connect/token")),
          shell(ASKED.format(url="https://id.shop.example/realms/shop/users"))),
    _pair("R-15", "a.sh", shell(ASKED.format(url='"$LOGIN/oauth2/v1/token"')), shell(ASKED.format(url='"$LOGIN/oauth2/v1/clients"'))),
    _pair("R-15", "a.sh", shell(BODY.format(asked="messages")), shell(BODY.format(asked="orders"))),
    _pair("R-15", "a.sh", shell(PLACE.format(asked="completions")), shell(PLACE.format(asked="orders"))),
    # What the file itself does over and over does not read as if it happened once.
    _pair("R-02", "a.yaml", job(LAMP.format(test="true")).replace("backoffLimit: 4", "suspend: false"),
          job(LAMP.format(test="read id")).replace("backoffLimit: 4", "suspend: false")),
]  # fmt: skip
HEARD = script(FOUND.format(look="search.issuesAndPullRequests", asked="found.total_count"))
TELLS = "- if: failure()\n        uses: actions/github-script"
ALARMS = [
    # A second notice of the same failure, behind a look, does no harm.
    _pair("R-40", ".github/workflows/a.yml", HEARD.replace("- uses: actions/github-script", TELLS), HEARD),
]

PAIRS = [*TOOLS, *LOOKS, *LOOPS, *PASSED, *FINAL, *READS, *ALARMS]


@pytest.mark.parametrize(("rule", "name", "none"), [pair[:3] for pair in PAIRS])
def test_this_is_none(tmp_path: Path, rule: str, name: str, none: str) -> None:
    assert rule not in told(tmp_path, name, none)


@pytest.mark.parametrize(("rule", "name", "one"), [(*pair[:2], pair[3]) for pair in PAIRS])
def test_beside_it_stands_one(tmp_path: Path, rule: str, name: str, one: str) -> None:
    assert rule in told(tmp_path, name, one)


@pytest.mark.parametrize(("looks", "blind"), SCRIPTS)
def test_a_script_for_github_that_looks_first(tmp_path: Path, looks: str, blind: str) -> None:
    for number, (text, guarded) in enumerate(((looks, True), (blind, False))):
        path = tmp_path / str(number) / ".github/workflows/a.yml"
        path.parent.mkdir(parents=True)
        path.write_text(script(text))
        made = [step for flow in INSPECTOR.inspect([path]).flows for step in flow.steps if "github.rest" in step.id.replace("-", ".")]
        assert [step.guard is not None for step in made] == [guarded]


def test_a_search_lags_and_a_list_does_not(tmp_path: Path) -> None:
    for number, (look, proof) in enumerate((("search.issuesAndPullRequests", False), ("issues.listForRepo", True))):
        path = tmp_path / str(number) / ".github/workflows/a.yml"
        path.parent.mkdir(parents=True)
        path.write_text(script(FOUND.format(look=look, asked="found.total_count")))
        steps = [step for flow in INSPECTOR.inspect([path]).flows for step in flow.steps if step.guard is not None]
        assert [(step.guard_is_proof, step.guard and step.guard.line) for step in steps] == [(proof, 11)]


def test_a_script_that_the_script_writes_itself(tmp_path: Path) -> None:
    written = shell('T=$(mktemp)\ncat > "$T" << "EOF"\n{text}\nEOF\n{starts} "${{T}}" --now\n')
    (path := tmp_path / "a.sh").write_text(written.format(text="gh release create v1 --notes x", starts="bash"))
    [step] = [step for flow in INSPECTOR.inspect([path]).flows for step in flow.steps if step.effect is not None]
    assert (step.effect and step.effect.action, step.span.line) == ("github.release", 5)
    path.write_text(written.format(text="import shop", starts="python3"))
    [flow] = INSPECTOR.inspect([path]).flows
    assert [step.extra for step in flow.steps if step.opaque] == [{"written": "here"}]
    assert "in the file itself, in another language" in flow.unread[0].why
    path.write_text(written.format(text="import shop", starts="python3").replace('"$T"', '"$U"'))
    [flow] = INSPECTOR.inspect([path]).flows
    assert [step.extra for step in flow.steps if step.opaque] == [{}]


def test_a_script_of_a_script_that_is_called_by_its_path(tmp_path: Path) -> None:
    (path := tmp_path / "a.sh").write_text(shell("tee ./tools/ship.sh <<EOF\nkubectl apply -f shop.yaml\nEOF\n./tools/ship.sh\n"))
    [step] = [step for flow in INSPECTOR.inspect([path]).flows for step in flow.steps if step.effect is not None]
    assert (step.effect and step.effect.action, step.span.line) == ("kubectl.apply", 4)


def test_what_ends_a_loop() -> None:
    def loop(text: str) -> tuple[bool, bool]:
        [found] = {one for command in read(text).commands for one in command.loops}
        return found.retries, found.endless

    assert loop("while true; do act; sleep 1; done") == (False, True)
    assert loop("while [ 1 ]; do act; done") == (False, True)
    assert loop("for ((;;)); do act; done") == (False, True)
    assert loop('while true; do act; [ "$1" = once ] && break; done') == (False, True)
    assert loop('while true; do act; if [ -n "$ONCE" ]; then break; fi; done') == (False, True)
    assert loop('while true; do act; N=$(count); [ "$N" = 0 ] && break; done') == (True, False)
    assert loop("while true; do act && break; done") == (True, False)
    assert loop('while true; do act; [ "$?" = 0 ] && break; done') == (True, False)
    assert loop('while true; do act; (( n += 1 )); [ "$n" -gt 3 ] && break; done') == (True, False)
    assert loop("while true; do act; [ -s out ] && break; done") == (True, False)
    assert loop("while true; do act || exit 1; done") == (False, False)


def test_each_call_of_a_function_has_its_own_names() -> None:
    text = """
        at() { local url; url="https://shop.example/$1"; shift 2; send "$url" "$@"; }
        at orders skipped one
        if true; then at mails skipped two; fi
    """
    sent = [command.words[2:] for command in read(dedent(text)).commands if command.words[0] == "send"]
    assert sent == [("one",), ("two",)]
    known = [command.known for command in read(dedent(text)).commands if command.words[0] == "send"]
    assert known == [1, 2]


def test_a_command_in_a_variable_is_known_where_nothing_else_may_stand_in_it(tmp_path: Path) -> None:
    apply, diff = 'DO="kubectl apply -f shop.yaml"', 'DO="kubectl diff -f shop.yaml"'
    for text, known in (
        (f'{apply}\nif [ -n "$1" ]; then\n  DO="$DO --wait"\nfi\n$DO\n', "kubectl.apply"),
        (f'if [ -n "$1" ]; then\n  {apply}\n  $DO\nfi\n', "kubectl.apply"),
        (f'{apply}\nif [ -n "$1" ]; then\n  {diff}\nfi\n$DO\n', ""),
        (f'if [ -n "$1" ]; then\n  {apply}\nelse\n  {diff}\nfi\n$DO\n', ""),
    ):
        (path := tmp_path / "a.sh").write_text(shell(text))
        [step] = [step for flow in INSPECTOR.inspect([path]).flows for step in flow.steps if step.effect is not None]
        assert step.effect is not None
        assert step.effect.action == known
