"""Shell scripts: what is done in which order, who does it again, and as what."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest

from halfway.inspection.formats.bash import read
from halfway.inspection.formats.shell import Shell
from halfway.inspection.model import Bearing, Edge, Kind, Mark, OnError, Receiver, Repeating, Span, Starting, When
from halfway.inspection.source import Source, Unreadable
from tests.inspection.shell_tools import acts, given, one, shell


def test_commands_come_in_order_with_their_words_unquoted() -> None:
    script = read("a 'b c' \"d $E\" f\\ g\nX=$(h i) j; k | l")
    assert [command.words for command in script.commands] == [("a", "b c", "d $E", "f g"), ("h", "i"), ("j",), ("k",), ("l",)]
    assert [command.line for command in script.commands] == [1, 2, 2, 2, 2]


def test_expressions_of_github_survive_as_words() -> None:
    (command,) = read('git push origin "${{ github.ref_name }}"').commands
    assert command.words == ("git", "push", "origin", "${{ github.ref_name }}")


def test_a_script_is_one_unit_with_its_places() -> None:
    flow = shell("""
        #!/usr/bin/env bash
        set -euo pipefail
        make build
        npm publish
        echo out
        mail -s done ops@example.com < note
    """)
    assert acts(flow) == ["npm publish", "mail"]
    publish, notice = flow.steps
    assert (publish.span, publish.quote) == (Span("run.sh", 4, 4), "npm publish")
    assert {step.unit for step in flow.steps} == {step.scope for step in flow.steps} == {"run.sh"}
    assert [step.id for step in flow.steps] == ["run.sh/npm-publish", "run.sh/mail"]
    assert publish.on_error is OnError.STOP
    assert (notice.marks, notice.effect and notice.effect.receiver) == ({Mark.SUCCESS_NOTICE}, Receiver.TEAM)
    assert flow.edges == (Edge("run.sh/npm-publish", "run.sh/mail"),)
    assert [(one.kind, one.automatic) for one in publish.repeaters] == [(Repeating.UNIT_RERUN, False)]
    assert [trigger.kind for trigger in flow.triggers] == [Starting.MANUAL]


def test_what_can_fail_after_an_effect_is_a_step_and_what_comes_before_is_none() -> None:
    flow = shell("""
        #!/bin/bash -e
        pytest
        npm publish
        npm ci
        npm test
        docker push acme/app:1
        echo bye
    """)
    assert acts(flow) == ["npm publish", "-", "docker push"]
    assert flow.steps[1].quote == "npm ci"
    assert flow.steps[1].fallible


def test_a_loop_over_things_repeats_for_each_and_the_cursor_comes_after_it() -> None:
    flow = shell("""
        #!/bin/bash
        set -e
        for f in out/*; do
          curl -X POST https://api.example.org/x -d @"$f"
        done
        date > .last_run
    """)
    post, cursor = flow.steps
    assert [(one.kind, one.automatic, one.bound, one.span.line) for one in post.repeaters[:1]] == [(Repeating.LOOP, True, None, 3)]
    assert post.marks == {Mark.IN_LOOP}
    assert post.effect is not None
    assert post.effect.kinds == {Kind.UNKNOWN}
    assert post.identity is not None
    assert post.identity.bearing is Bearing.NONE
    assert (cursor.marks, cursor.effect) == ({Mark.CURSOR}, None)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("for i in 1 2 3; do npm publish && break; sleep 5; done", 3),
        ("for i in {1..5}; do if npm publish; then break; fi; done", 5),
        ("for i in $(seq 1 4); do npm publish && exit 0; done", 4),
        ("n=0\nwhile [ $n -lt 7 ]; do npm publish && break; n=$((n+1)); done", 7),
        ("until npm publish; do sleep 1; done", None),
        ("while ! npm publish; do sleep 1; done", None),
        ("npm publish --tag x || (sleep 5; npm publish --tag x)", 2),
        ('retry() { for i in 1 2; do "$@" && return; done; }\nretry npm publish', 2),
    ],
)
def test_a_loop_that_ends_when_it_succeeded_is_a_retry(text: str, bound: int | None) -> None:
    step = one(shell("#!/bin/bash\n" + text), "npm publish")
    assert [(one.kind, one.bound) for one in step.repeaters if one.automatic] == [(Repeating.STEP_RETRY, bound)]
    assert Mark.IN_LOOP not in step.marks
    assert step.scope.startswith("run.sh#loop")


def test_curl_tries_again_by_itself_and_says_how_long_it_waits() -> None:
    step = shell("curl --retry 4 --max-time 30 -X POST https://pay.example/charge -d @o.json").steps[0]
    assert [(one.kind, one.bound, one.default, one.after_timeout) for one in step.repeaters if one.automatic] == [
        (Repeating.STEP_RETRY, 5, False, True)
    ]
    assert (step.timeout, step.timeout_known) == (30.0, True)
    assert step.scope != step.unit
    plain = shell("curl -X POST https://pay.example/charge -d @o.json").steps[0]
    assert (plain.timeout, plain.timeout_known, plain.scope) == (None, True, plain.unit)


@pytest.mark.parametrize(
    ("key", "bearing"),
    [
        ("order-7", Bearing.STABLE),
        ("$1", Bearing.STABLE),
        ("$(uuidgen)", Bearing.MINTED),
        ("$KEY", Bearing.MINTED),
        ("$RANDOM", Bearing.MINTED),
        ("$FROM_OUTSIDE", Bearing.UNKNOWN),
    ],
)
def test_a_key_is_worth_what_its_value_is(key: str, bearing: Bearing) -> None:
    step = one(
        shell(f'#!/bin/bash\nKEY=$(date +%s)\ncurl -X POST https://pay.example/c -H "Idempotency-Key: {key}" -d x'), "POST pay.example"
    )
    assert step.identity is not None
    assert step.identity.bearing is bearing


@pytest.mark.parametrize(
    ("setting", "bearing", "line"),
    [
        ("V=$(git tag | sort -V | tail -1)", Bearing.MUTABLE, 2),
        ("V=$(date +%Y.%m.%d)", Bearing.MINTED, 2),
        ("V=$(git describe --tags --exact-match)", Bearing.UNKNOWN, 2),
        ("V=$(jq -r .version package.json)", Bearing.NATURAL, 2),
        ("V=$(git rev-parse --short HEAD)", Bearing.STABLE, 2),
        ("V=v1.2.3", Bearing.NATURAL, 3),
        ("V=$1", Bearing.STABLE, 2),
        ("V=$(frobnicate)", Bearing.UNKNOWN, 2),
        ("L=$(git tag -l | tail -1)\nL=${L#v}\nN=$((L + 1))\nV=v$N", Bearing.MUTABLE, 2),
    ],
)
def test_a_name_is_worth_what_it_is_computed_from(setting: str, bearing: Bearing, line: int) -> None:
    step = one(shell(f'#!/bin/bash\n{setting}\ngh release create "$V" --notes "$(date)"'), "gh release create")
    assert step.identity is not None
    assert (step.identity.bearing, step.identity.span.line) == (bearing, line)


def test_a_default_under_a_condition_does_not_hide_where_a_value_comes_from() -> None:
    flow = shell("""
        V=$(git tag -l | tail -1)
        if [ -z "$V" ]; then
          V=v0
        fi
        git push origin "$V"
    """)
    identity = flow.steps[0].identity
    assert identity is not None
    assert identity.bearing is Bearing.MUTABLE


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("gh release view v1 || gh release create v1", 2),
        ("if ! gh release view v1; then\n  gh release create v1\nfi", 2),
        ("if gh release view v1; then\n  echo there\nelse\n  gh release create v1\nfi", 2),
        ("if gh release view v1; then\n  exit 0\nfi\ngh release create v1", 2),
        ("gh release view v1 && exit 0\ngh release create v1", 2),
        ('FOUND=$(gh release view v1)\nif [ -z "$FOUND" ]; then\n  gh release create v1\nfi', 2),
        ('if [ -z "$(git ls-remote --tags origin v1)" ]; then\n  gh release create v1\nfi', 2),
        ("[ -f .published ] && exit 0\ngh release create v1", 2),
    ],
)
def test_looking_first_is_credited(text: str, line: int) -> None:
    step = one(shell("#!/bin/bash\n" + text), "gh release create")
    assert step.guard is not None
    assert step.guard.line == line
    assert step.guard_is_proof


@pytest.mark.parametrize(
    "text",
    [
        "gh release create v1",
        "gh pr view 3 || gh release create v1",
        "docker manifest inspect a || gh release create v1",
        "git fetch || exit 1\ngh release create v1",
        'if [ -n "$CI" ]; then\n  gh release create v1\nfi',
        "gh release view v1\ngh release create v1",
        "[ ! -f package.json ] && exit 1\ngh release create v1",
        '[ -z "$(gh api repos/a/b/pulls)" ] && gh release create v1',
    ],
)
def test_looking_at_something_else_is_no_guard(text: str) -> None:
    assert one(shell("#!/bin/bash\n" + text), "gh release create").guard is None


@pytest.mark.parametrize(("host", "guarded"), [("https://pay.example/find", True), ("https://other.example/", False)])
def test_a_request_is_a_look_only_at_the_same_place(host: str, guarded: bool) -> None:
    flow = shell(f"if ! curl -f {host}; then\n  curl -X POST https://pay.example/charge -d x\nfi")
    assert (one(flow, "POST pay.example").guard is not None) is guarded


def test_a_search_is_a_look_that_lags_and_an_option_passes_over_what_is_there() -> None:
    step = one(shell('gh issue list --search "x in:title" | grep -q x || gh issue create -t x'), "gh issue create")
    assert step.guard is not None
    assert not step.guard_is_proof
    skipping = one(shell("twine upload --skip-existing dist/*"), "twine upload")
    assert skipping.guard == skipping.span


@pytest.mark.parametrize(
    ("text", "fate"),
    [
        ("set -e\nnpm publish\nls", OnError.STOP),
        ("npm publish\nls", OnError.CONTINUE),
        ("npm publish", OnError.STOP),
        ("set -e\nnpm publish || true\nls", OnError.SWALLOW),
        ("set -e\nnpm publish || echo bad\nls", OnError.CONTINUE),
        ("npm publish || exit 1\nls", OnError.STOP),
        ("set -e\nnpm publish || ./rollback.sh\nls", OnError.ROUTE),
        ("set -e\nnpm publish &\nls", OnError.SWALLOW),
        ("set -e\nnpm publish | tee log\nls", OnError.CONTINUE),
        ("set -eo pipefail\nnpm publish | tee log\nls", OnError.STOP),
        ("set -e\nset +e\nnpm publish\nls", OnError.CONTINUE),
        ("set -e\nif npm publish; then ls; fi\nls", OnError.CONTINUE),
    ],
)
def test_what_follows_a_failure(text: str, fate: OnError) -> None:
    assert one(shell("#!/bin/bash\n" + text), "npm publish").on_error is fate


def test_functions_are_followed_with_their_arguments() -> None:
    flow = shell("""
        ship() {
          local version="$1"
          git push origin "$version"
          gh release create "$version"
        }
        unused() { npm publish; }
        ship "$(git tag | tail -1)"
    """)
    assert acts(flow) == ["git push", "gh release create"]
    assert [step.span.line for step in flow.steps] == [3, 4]
    assert {step.identity.bearing for step in flow.steps if step.identity is not None} == {Bearing.MUTABLE}


def test_a_command_that_is_a_variable_is_resolved_or_unknown() -> None:
    resolved = shell('CMD="npm publish"\n$CMD --tag x')
    assert acts(resolved) == ["npm publish"]
    unknown = shell("$CMD --tag x").steps[0]
    assert unknown.effect is not None
    assert (unknown.effect.kinds, unknown.effect.certain) == ({Kind.UNKNOWN}, False)
    assert unknown.identity is not None
    assert unknown.identity.bearing is Bearing.UNKNOWN


def test_wrappers_scripts_within_scripts_and_here_documents_are_read() -> None:
    flow = shell("""
        sudo -E timeout 90 npm publish
        bash -c 'set -e; docker push a/b:1'
        ls *.json | xargs -n1 curl -X POST https://pay.example/c -d
        bash <<EOF
        git push
        EOF
        curl -X POST https://pay.example/c -d @- <<JSON
        {"idempotency_key": "$1"}
        JSON
    """)
    assert acts(flow) == ["npm publish", "docker push", "POST pay.example", "git push", "POST pay.example"]
    assert flow.steps[0].timeout == 90.0
    assert Mark.IN_LOOP in flow.steps[2].marks
    identity = flow.steps[4].identity
    assert identity is not None
    assert identity.bearing is Bearing.STABLE


def test_a_trap_is_the_way_of_a_failure() -> None:
    flow = shell("""
        set -e
        trap 'mail -s failed ops@example.com' ERR
        npm publish
        docker push a:1
    """)
    notice = one(flow, "mail")
    assert notice.marks == {Mark.FAILURE_NOTICE, Mark.RECOVERY}
    assert {(edge.before, edge.when) for edge in flow.edges if edge.after == notice.id} == {
        ("run.sh/npm-publish", When.ERROR),
        ("run.sh/docker-push", When.ERROR),
    }
    assert flow.failure_notice == notice.span


def test_where_an_answer_is_kept() -> None:
    logged = shell("curl -X POST https://pay.example/c -d x").steps[0]
    thrown = shell("curl -X POST https://pay.example/c -d x -o /dev/null").steps[0]
    silent = shell("curl -X POST https://pay.example/c -d x > /dev/null").steps[0]
    taken = shell("ID=$(curl -X POST https://pay.example/c -d x)\nls").steps[0]
    shown = shell('R=$(curl -X POST https://pay.example/c -d x)\nID=$(echo "$R" | jq -r .id)\necho "made $ID"').steps[0]
    stored = shell("curl -X POST https://pay.example/c -d x -o answer.json").steps[0]
    assert [bool(step.kept) for step in (logged, thrown, silent, taken, shown, stored)] == [True, False, False, False, True, True]
    assert shown.kept == (Span("run.sh", 3, 3),)


@pytest.mark.parametrize(
    ("to", "receiver"),
    [("ops@example.com", Receiver.TEAM), ("$1", Receiver.CUSTOMER), ("$WHO", Receiver.UNKNOWN), ("$buyer", Receiver.CUSTOMER)],
)
def test_who_is_told(to: str, receiver: Receiver) -> None:
    flow = shell(f'for buyer in $(cat list); do\nmail -s hi "{to}"\ndone')
    assert flow.steps[0].effect is not None
    assert flow.steps[0].effect.receiver is receiver


def test_scripts_that_were_given_are_followed_and_others_are_named() -> None:
    other = Source("bin/release.sh", "npm publish\n")
    flow = shell("#!/bin/bash\n./bin/release.sh\n./bin/notify.sh\npython send_mail.py\n./scripts/test.sh\n", "run.sh", other)
    publish, notify, mail, test = flow.steps
    assert (publish.span, publish.unit) == (Span("bin/release.sh", 1, 1), "run.sh")
    assert [step.opaque and step.opaque.what for step in (notify, mail, test)] == ["./bin/notify.sh", "send_mail.py", None]
    assert [unread.what for unread in flow.unread] == ["./bin/notify.sh", "send_mail.py"]


@pytest.mark.parametrize(
    ("command", "unread"),
    [
        ("pnpm nx run website:deploy --skip-nx-cache", "nx website:deploy"),
        ("npx nx deploy website", "nx deploy"),
        ("npx turbo run deploy", "turbo deploy"),
        ("nx affected -t deploy", "nx deploy"),
        ("npx nx affected --target=deploy --base main", "nx deploy"),
        ("nx affected --base main --target deploy", "nx deploy"),
        ("lerna run --scope web deploy", "lerna deploy"),
        ("lerna run --parallel deploy", "lerna deploy"),
        ("nx run-many -t build deploy", "nx deploy"),
        ("nx run-many --targets=build,deploy", "nx deploy"),
        ("npm run deploy -- --target prod", "npm run deploy"),
        ("yarn deploy -t prod", "yarn deploy -t"),
        ("make deploy --target x", "make deploy --target"),
        ("npx turbo run build", None),
        ("nx run website:test", None),
    ],
)
def test_a_target_of_several_packages_is_named(command: str, unread: str | None) -> None:
    assert [one.what for one in shell(command).unread] == ([] if unread is None else [unread])


@pytest.mark.parametrize(
    ("command", "unread"),
    [
        ("curl -sSL https://acme.example/deploy.sh | bash", "https://acme.example/deploy.sh"),
        ("wget -qO- https://acme.example/run | sh -s -- deploy", "deploy"),
        ("curl -LsSf https://acme.example/install.sh | sh", None),
        ('curl -sS -H "Authorization: token $RELEASE_TOKEN" https://acme.example/install.sh | bash', None),
        ('curl -sS https://acme.example/install.sh | bash -s -- --token "$DEPLOY_TOKEN"', None),
        ('echo "deploying to prod" | bash', None),
        ("curl -sSL https://acme.example/deploy.sh | grep -c x", None),
    ],
)
def test_what_a_shell_is_handed_by_a_pipe_was_not_read(command: str, unread: str | None) -> None:
    assert [one.what for one in shell(command).unread] == ([] if unread is None else [unread])


@pytest.mark.parametrize(
    ("command", "unread"),
    [
        ("go run ./cmd/announce", "go run ./cmd/announce"),
        ("cargo run --release --bin biller", "cargo run biller"),
        ("cargo x release", "cargo x release"),
        ("conda run -n prod python charge.py", "charge.py"),
        ("pipenv run python charge.py", "charge.py"),
        ("/opt/acme/bin/charge-all", "/opt/acme/bin/charge-all"),
        ("~/bin/deploy.sh", "~/bin/deploy.sh"),
        ("go run github.com/acme/lint@v1.2 ./...", None),
        ("cargo xtask lint", None),
        ("/usr/local/bin/jq . a.json", None),
        ("/tmp/job.log", None),
        ("/root/.cargo/bin/cargo build", None),
        ("~/.local/bin/ruff .", None),
        ("cargo run --example shop", None),
        ("CHARGE=./charge.sh\n${CHARGE:-echo} now", "./charge.sh"),
    ],
)
def test_a_program_of_the_project_is_named_however_it_is_started(command: str, unread: str | None) -> None:
    assert [one.what for one in shell(command).unread] == ([] if unread is None else [unread])


@pytest.mark.parametrize(
    "command",
    [
        "su - app -c 'curl -X POST https://pay.example/c -d 1'",
        "${CURL:-curl} -X POST https://pay.example/c -d 1",
        "docker run --rm curlimages/curl:8.1 -X POST https://pay.example/c -d 1",
        "docker run -v $HOME/aws:/aws --name curl alpine/tools curl -X POST https://pay.example/c -d 1",
    ],
)
def test_what_stands_before_a_request_does_not_hide_it(command: str) -> None:
    assert acts(shell(command)) == ["POST pay.example"]


@pytest.mark.parametrize(
    ("command", "does"),
    [
        ("Invoke-RestMethod -Method Post -Uri https://pay.example/c", ["Invoke-RestMethod -Method POST"]),
        ("Publish-Module -Name Shop", ["Publish-Module"]),
        ("Invoke-RestMethod -Uri https://pay.example/c", ["-"]),
        ("New-Item a", ["-"]),
    ],
)
def test_what_powershell_does_outside_is_seen(command: str, does: list[str]) -> None:
    assert [one for one in acts(shell(command)) if one != "-"] == [one for one in does if one != "-"]


def test_a_script_that_calls_itself_ends() -> None:
    flow = shell("#!/bin/bash\nnpm publish\n./run.sh\n")
    assert acts(flow) == ["npm publish", "-"]
    assert flow.steps[1].opaque is not None


def test_a_lock_keeps_two_runs_apart() -> None:
    (guard,) = shell("flock -n /tmp/x npm publish").guards
    assert (guard.span.line, guard.queues) == (1, False)
    assert shell("npm publish").guards == ()


def test_a_secret_is_found_and_not_shown() -> None:
    (fact,) = shell("npm publish\nexport API_TOKEN=abcdef123456\n").secrets
    assert fact.span.line == 2
    assert "abcdef123456" not in fact.quote


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\x01",
        "if then fi",
        "((((",
        "$(" * 400,
        "a <<EOF",
        "f() { f; }; f",
        "'",
        "{" * 300,
        "x=" + "$x" * 500,
        "é" * 50 + "\n\ud7ff",
    ],
)
def test_whatever_stands_there_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Unreadable):
        assert shell(f"#!/bin/sh\n{text}").format == "shell"


def test_functions_that_call_each_other_end() -> None:
    with pytest.raises(Unreadable, match="commands"):
        shell("".join(f"f{n}() {{ " + f"f{n + 1}; " * 20 + "}; " for n in range(5)) + "f5() { npm publish; }; f0")


@pytest.mark.parametrize(
    ("path", "text", "taken"),
    [
        ("run", "#!/bin/bash\n", True),
        ("run", "#!/usr/bin/env -S bash -e\n", True),
        ("run.sh", "ls\n", True),
        ("run.sh", "#!/usr/bin/env python3\n", False),
        ("run.py", "print(1)\n", False),
        ("fish", "#!/usr/bin/fish\n", False),
    ],
)
def test_what_is_taken(path: str, text: str, taken: bool) -> None:
    assert Shell().takes(Source(path, text)) is taken


def test_no_runs_are_told_of() -> None:
    source = Source("run.sh", "ls")
    assert list(Shell().runs(source, given(source))) == []


def test_to_ask_a_program_for_its_version_does_nothing() -> None:
    flow = shell('#!/bin/bash\n./bin/shop --version\n"$BIN" --help\n./bin/shop sell\n')
    assert [step.opaque.what for step in flow.steps if step.opaque] == ["./bin/shop"]
    assert acts(flow).count("-") == len(flow.steps)


def test_an_answer_that_the_script_asks_about_is_not_passed_over() -> None:
    text = "#!/bin/bash\nset -e\nanswer=$(curl -X POST https://shop.example/a) || true\n{0}\nnpm publish\n"
    asked = shell(text.replace("{0}", 'code=$(echo "$answer" | tail -1)\nif [ "$code" != 200 ]; then exit 1; fi'))
    assert one(asked, "POST shop.example").on_error is OnError.ROUTE
    assert one(shell(text.replace("{0}", 'echo "$answer"')), "POST shop.example").on_error is OnError.SWALLOW


def test_a_command_that_is_only_tried_has_no_effect() -> None:
    assert acts(shell("#!/bin/bash\n$DRY_RUN_COMMAND\n$COMMAND\n")) == ["$COMMAND"]


BRANCHES = """#!/bin/bash
set -e
gh issue create --title first
if [ "$KIND" = old ]; then
  gh issue create --title left
  exit 0
elif [ "$KIND" = new ]; then
  gh issue create --title new
  gh issue create --title newer
else
  gh issue create --title other
fi
case "$SHOP" in
  a) gh issue create --title a ;;
  b) gh issue create --title b ;;
esac
gh issue create --title last
"""


def test_one_way_through_a_script_does_not_lead_to_the_other() -> None:
    flow = shell(BRANCHES)
    names = {step.id: step.quote.rpartition(" ")[2] for step in flow.steps}
    ways: dict[str, set[str]] = {name: set() for name in names.values()}
    for edge in flow.edges:
        ways[names[edge.before]].add(names[edge.after])
    assert ways == {
        "first": {"left", "new", "other"},
        "left": set(),  # the script ends there
        "new": {"newer"},
        "newer": {"a", "b"},
        "other": {"a", "b"},
        "a": {"last"},
        "b": {"last"},
        "last": set(),
    }


def test_a_condition_that_need_not_hold_is_passed_through() -> None:
    flow = shell(
        '#!/bin/bash\ngh issue create --title a\nif [ -n "$X" ]; then\n  gh issue create --title b\nfi\ngh issue create --title c\n'
    )
    assert [(edge.before, edge.after) for edge in flow.edges] == list(pairwise(step.id for step in flow.steps))


@pytest.mark.parametrize(
    ("line", "acts"),
    [
        ("python3 -c \"import requests; requests.post('https://x.example')\"", True),
        ('python3 -c "import json, sys; print(json.load(sys.stdin))"', False),
        ("python3 -c \"import requests; print(requests.get('https://x.example').text)\"", False),
        ("python3 - <<EOF\nimport smtplib\nsmtplib.SMTP('mail').sendmail('a', 'b', 'c')\nEOF", True),
        ("python3 - <<EOF\ncursor.execute('DELETE FROM orders')\nEOF", True),
        ("node -e \"fetch('https://x.example', {method: 'POST'})\"", True),
        ("node -e \"fetch('https://x.example')\"", False),
        ('php -r \'mail("a@b.example","x","900");\'', True),
        ("perl -e 'LWP::UserAgent->new->post(\"https://x.example\")'", True),
        ("pwsh -c 'Invoke-RestMethod -Method Post https://x.example'", True),
    ],
)
def test_lines_of_another_language_that_send_something_are_named_as_not_followed(line: str, acts: bool) -> None:
    (flow,) = Shell().flows(source := Source("a.sh", f"#!/bin/bash\nset -e\n{line}\n"), given(source))
    assert [unread.at_hand for unread in flow.unread] == [True] * acts
