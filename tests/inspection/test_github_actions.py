"""Workflows of GitHub Actions: their steps, who does them again, what keeps runs apart, and where they cannot be read."""

from __future__ import annotations

import pytest

from halfway.inspection.formats.github.expressions import when
from halfway.inspection.formats.github.triggers import period
from halfway.inspection.formats.github_actions import GithubActions
from halfway.inspection.model import Bearing, Kind, Mark, OnError, Receiver, Repeating, Span, Starting, When
from halfway.inspection.source import Source
from tests.inspection.shell_tools import acts, given, one, workflow

PATH = ".github/workflows/ship.yml"

COMPUTED = """
    name: Cut
    on:
      workflow_run:
        workflows: [Checks]
        types: [completed]
    jobs:
      cut:
        runs-on: ubuntu-latest
        environment: production
        outputs:
          next: ${{ steps.next.outputs.next }}
        steps:
          - uses: actions/checkout@v4
          - id: newest
            run: |
              # what is out
              newest=$(git tag --list 'v*' | sort -V | tail -1 || echo v0.0.0)
              if [ -z "$newest" ]; then
                newest=v0.0.0
              fi
              echo "newest=$newest" >> $GITHUB_OUTPUT
          - id: next
            run: |
              plain="${{ steps.newest.outputs.newest }}"
              IFS=. read -ra PARTS <<< "${plain#v}"
              last=${PARTS[2]:-0}
              last=$((last + 1))
              echo "next=v${PARTS[0]}.${PARTS[1]}.$last" >> "$GITHUB_OUTPUT"
          - name: Tag
            run: |
              tag="${{ steps.next.outputs.next }}"
              git tag -a "$tag" -m "Release"
              git push origin "$tag"
          - name: Release
            env:
              TAG: ${{ steps.next.outputs.next }}
            run: gh release create "$TAG" --generate-notes
      major:
        needs: cut
        runs-on: ubuntu-latest
        steps:
          - run: git push --force origin "${{ needs.cut.outputs.next }}"
"""


def test_a_version_that_is_computed_from_the_newest_one_is_followed_through_outputs() -> None:
    flow = workflow(COMPUTED)
    assert acts(flow) == ["git push", "gh release create", "git push"]
    tag, release, major = flow.steps
    assert [step.identity and step.identity.bearing for step in flow.steps] == [Bearing.MUTABLE, Bearing.MUTABLE, Bearing.STABLE]
    assert tag.identity is not None
    assert tag.identity.span == Span(PATH, 17, 17, "jobs.cut.steps[1].run")
    assert [fact.span.line for fact in tag.facts] == [17]
    assert tag.span == Span(PATH, 33, 33, "jobs.cut.steps[3].run")
    assert (tag.unit, tag.scope, release.scope, major.unit) == ("cut", "cut/tag", "cut/release", "major")
    assert [step.id for step in flow.steps] == ["cut/tag/git-push", "cut/release/gh-release-create", "major/git-push-force/git-push"]
    assert [(edge.before, edge.after, edge.when) for edge in flow.edges] == [
        (tag.id, release.id, When.SUCCESS),
        (release.id, major.id, When.SUCCESS),
    ]
    assert tag.gate is not None
    assert (tag.gate.kind, tag.gate.visible, tag.gate.span.line, major.gate) == ("environment", False, 9, None)
    assert [(one.kind, one.automatic, one.bound, one.default) for one in tag.repeaters] == [(Repeating.UNIT_RERUN, False, 51, True)]
    assert [trigger.kind for trigger in flow.triggers] == [Starting.PUSH]
    assert (flow.id, flow.name, flow.format, flow.guards, flow.unread) == (PATH, "Cut", "github-actions", (), ())


@pytest.mark.parametrize(
    ("value", "bearing"),
    [
        ("${{ github.run_id }}", Bearing.STABLE),
        ("${{ github.run_id }}-${{ github.run_attempt }}", Bearing.MINTED),
        ("$GITHUB_RUN_ATTEMPT", Bearing.MINTED),
        ("${{ github.event.client_payload.id }}", Bearing.STABLE),
        ("${{ inputs.order }}", Bearing.STABLE),
        ("$ORDER", Bearing.STABLE),
        ("$WHEN", Bearing.MINTED),
        ("${{ env.WHEN }}", Bearing.MINTED),
        ("$NOWHERE", Bearing.UNKNOWN),
        ("${{ steps.none.outputs.x }}", Bearing.UNKNOWN),
    ],
)
def test_a_key_is_worth_what_it_is_made_of(value: str, bearing: Bearing) -> None:
    flow = workflow(f"""
        on: workflow_dispatch
        env:
          ORDER: ${{{{ github.event.inputs.order }}}}
        jobs:
          pay:
            steps:
              - run: echo "WHEN=$(date +%s)" >> $GITHUB_ENV
              - run: |
                  curl -X POST https://pay.example/charge -H 'Idempotency-Key: {value}' -d x
    """)
    identity = one(flow, "POST pay.example").identity
    assert identity is not None
    assert identity.bearing is bearing


def test_who_does_a_job_again() -> None:
    flow = workflow("""
        on:
          schedule:
            - cron: '*/15 * * * *'
          workflow_dispatch:
            inputs:
              tag: {required: true}
          repository_dispatch:
            types: [order]
          release:
            types: [published, edited]
        jobs:
          a:
            strategy:
              matrix: {os: [x, y], version: [1, 2, 3]}
            steps:
              - run: git push origin "${{ inputs.tag }}"
    """)
    step = flow.steps[0]
    assert [(one.kind, one.automatic, one.bound) for one in step.repeaters] == [
        (Repeating.UNIT_RERUN, False, 51),
        (Repeating.SCHEDULE, True, None),
        (Repeating.MANUAL, False, None),
        (Repeating.REDELIVERY, False, None),
        (Repeating.REDELIVERY, True, None),
        (Repeating.LOOP, True, 6),
    ]
    assert step.marks == {Mark.IN_LOOP}
    assert step.extra["fail_fast"] == "true"
    assert [(trigger.kind, trigger.inputs, trigger.period) for trigger in flow.triggers] == [
        (Starting.SCHEDULE, (), 900.0),
        (Starting.MANUAL, ("tag",), None),
        (Starting.EVENT, (), None),
        (Starting.PUSH, (), None),
    ]


@pytest.mark.parametrize(
    ("cron", "seconds"),
    [("* * * * *", 60.0), ("*/5 * * * *", 300.0), ("7 * * * *", 3600.0), ("0 */6 * * *", 21600.0),
     ("0 3 * * *", 86400.0), ("0 3 * * 1", 604800.0),
     ("0 0 1 * *", 2419200.0), ("0 0 1 1 *", 31536000.0), ("0,30 * * * *", 1800.0), ("0 3 * * 1-5", 86400.0), ("bad", None)],
)  # fmt: skip
def test_the_time_between_two_starts(cron: str, seconds: float | None) -> None:
    assert period(cron) == seconds


def test_what_keeps_runs_apart() -> None:
    flow = workflow("""
        on: push
        concurrency: {group: deploy, cancel-in-progress: true}
        jobs:
          a:
            concurrency: {group: prod, queue: max}
            steps: [{run: kubectl apply -f x}]
          b:
            concurrency: one
            steps: [{run: kubectl apply -f x}]
          c:
            concurrency: {group: "c-${{ github.run_id }}"}
            steps: [{run: kubectl apply -f x}]
          d:
            concurrency:
              group: d
              cancel-in-progress: ${{ github.event_name == 'pull_request' }}
            steps: [{run: kubectl apply -f x}]
    """)
    assert [(guard.unit, guard.group, guard.cancels, guard.queues) for guard in flow.guards] == [
        ("", "deploy", True, False),
        ("a", "prod", False, True),
        ("b", "one", False, False),
        ("d", "d", False, False),
    ]


def test_a_gate_on_what_this_run_did_names_the_step() -> None:
    flow = workflow("""
        on: push
        jobs:
          release:
            outputs: {published: "${{ steps.out.outputs.published }}"}
            steps:
              - id: out
                uses: changesets/action@v1
                with: {publish: pnpm release}
              - name: Release
                if: steps.out.outputs.published == 'true'
                run: gh release create v1
          image:
            needs: [release]
            if: needs.release.outputs.published == 'true'
            steps: [{run: docker push acme/app:1}]
    """)
    out, release, image = flow.steps
    assert (out.needs_output_of, release.needs_output_of, image.needs_output_of) == ((), (out.id,), (out.id,))
    assert release.condition == "steps.out.outputs.published == 'true'"
    assert image.condition == "needs.release.outputs.published == 'true'"
    assert (release.guard, image.guard) == (None, None)
    assert out.kept == (Span(PATH, 4),)


def test_a_condition_on_a_look_of_an_earlier_step_is_a_guard() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            steps:
              - id: check
                run: |
                  if gh release view v1; then echo "exists=true" >> $GITHUB_OUTPUT; fi
              - if: steps.check.outputs.exists != 'true'
                run: gh release create v1
    """)
    assert flow.steps[0].guard == Span(PATH, 7, 7, "jobs.a.steps[0].run")


@pytest.mark.parametrize(
    ("condition", "ending"),
    [
        ("", When.SUCCESS),
        ("github.ref == 'refs/heads/main'", When.SUCCESS),
        ("${{ always() }}", When.ALWAYS),
        ("success() || failure()", When.ALWAYS),
        ("!cancelled()", When.ALWAYS),
        ("failure()", When.ERROR),
        ("cancelled()", When.ERROR),
        ("!failure()", When.SUCCESS),
        ("always() && needs.a.result == 'success'", When.SUCCESS),
        ("always() && needs.a.result == 'failure'", When.ERROR),
    ],
)
def test_on_which_ending_a_condition_holds(condition: str, ending: When) -> None:
    assert when(condition) is ending


def test_notices_of_success_and_of_failure_have_their_ways() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            steps:
              - run: npm publish
              - if: always()
                uses: slackapi/slack-github-action@v2
                with: {channel-id: C1, text: "Released!"}
              - if: failure()
                uses: slackapi/slack-github-action@v2
                with: {channel-id: C1, text: "It broke"}
              - if: false
                run: docker push x
          b:
            needs: a
            if: failure()
            steps: [{run: gh issue create -t broken}]
    """)
    publish, done, broke, issue = flow.steps
    assert (done.marks, broke.marks, issue.marks) == ({Mark.SUCCESS_NOTICE}, {Mark.FAILURE_NOTICE, Mark.RECOVERY}, {Mark.RECOVERY})
    assert done.effect is not None
    assert done.effect.receiver is Receiver.TEAM
    assert {(edge.before, edge.after, edge.when) for edge in flow.edges} == {
        (publish.id, done.id, When.ALWAYS),
        (publish.id, broke.id, When.ERROR),
        (done.id, broke.id, When.ERROR),
        (done.id, issue.id, When.ERROR),
    }
    assert flow.failure_notice == done.span


@pytest.mark.parametrize(
    ("to", "receiver"),
    [("C0TEAM", Receiver.TEAM), ("${{ secrets.CHANNEL }}", Receiver.TEAM), ("${{ github.event.issue.user.login }}", Receiver.CUSTOMER),
     ("${{ inputs.to }}", Receiver.CUSTOMER), ("${{ steps.a.outputs.b }}", Receiver.UNKNOWN)],
)  # fmt: skip
def test_who_is_told(to: str, receiver: Receiver) -> None:
    flow = workflow(f"""
        on: push
        jobs:
          a:
            steps:
              - uses: slackapi/slack-github-action@v2
                with: {{channel-id: "{to}", text: hi}}
    """)
    assert flow.steps[0].effect is not None
    assert flow.steps[0].effect.receiver is receiver


def test_an_action_that_retries_repeats_what_it_is_given() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            timeout-minutes: 60
            steps:
              - uses: nick-fields/retry@v3
                with:
                  timeout_seconds: 30
                  max_attempts: 5
                  command: |
                    echo go
                    curl -sf -X POST https://pay.example/orders -d @o.json
              - uses: nick-fields/retry@v3
                with: {timeout_minutes: 2, retry_on: error, command: npm publish}
              - uses: Wandalen/wretry.action@v3
                with: {attempt_limit: 4, action: pypa/gh-action-pypi-publish@v1}
    """)
    pay, publish, pypi = flow.steps
    assert [
        (step.repeaters[0].kind, step.repeaters[0].bound, step.repeaters[0].default, step.repeaters[0].after_timeout) for step in flow.steps
    ] == [
        (Repeating.STEP_RETRY, 5, False, True),
        (Repeating.STEP_RETRY, 3, True, False),
        (Repeating.STEP_RETRY, 4, False, True),
    ]
    assert (pay.timeout, publish.timeout, pypi.timeout) == (30.0, 120.0, 3600.0)
    assert pay.span.line == 12
    assert pay.repeaters[0].span.line == 9


def test_what_the_shell_of_a_step_does_about_failures() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            steps:
              - run: npm publish | tee log
              - run: docker push x | tee log
                shell: bash
              - run: kubectl apply -f x
                continue-on-error: true
              - run: |
                  git push || true
              - run: ls
    """)
    assert [step.on_error for step in flow.steps[:4]] == [OnError.CONTINUE, OnError.STOP, OnError.CONTINUE, OnError.SWALLOW]
    assert (flow.steps[1].timeout, flow.steps[1].timeout_known) == (None, True)


def test_calls_of_a_script_for_github_are_steps() -> None:
    flow = workflow("""
        on: issues
        jobs:
          a:
            steps:
              - uses: actions/github-script@v7
                with:
                  script: |
                    const all = await github.rest.issues.listForRepo({});
                    await github.rest.issues.create({title: 'x'});
                    await github.rest.repos.createDispatchEvent({});
                    await fetch("https://pay.example/c", { method: "POST", body: x });
    """)
    assert [(step.effect and step.effect.told, step.span.line) for step in flow.steps] == [
        ("github.rest.issues.create", 9),
        ("github.rest.repos.createDispatchEvent", 10),
        ("POST pay.example", 11),
    ]
    assert flow.steps[1].effect is not None
    assert flow.steps[1].effect.kinds == {Kind.UNKNOWN}


COMPOSITE = Source(
    ".github/actions/send/action.yml",
    "name: Send\ninputs:\n  tag: {default: none}\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      run: |\n"
    '        echo "$X"\n        gh release create "${{ inputs.tag }}"\n',
)


def test_a_composite_action_that_was_given_is_followed() -> None:
    flow = workflow(
        """
        on: push
        jobs:
          a:
            steps:
              - uses: ./.github/actions/send
                with: {tag: "${{ github.run_id }}-${{ github.run_attempt }}"}
              - uses: ./.github/actions/lost
    """,
        COMPOSITE,
    )
    release, lost = flow.steps
    assert (release.span, release.unit) == (Span(COMPOSITE.path, 10, 10, "runs.steps[0].run"), "a")
    assert release.identity is not None
    assert release.identity.bearing is Bearing.MINTED
    assert lost.opaque is not None
    assert (lost.opaque.what, lost.effect, flow.unread) == ("./.github/actions/lost", None, (lost.opaque,))


def test_a_composite_action_alone_is_a_flow_and_one_that_is_used_is_none() -> None:
    reader = GithubActions()
    assert reader.takes(COMPOSITE)
    (flow,) = reader.flows(COMPOSITE, given(COMPOSITE))
    assert (acts(flow), [trigger.kind for trigger in flow.triggers]) == (["gh release create"], [Starting.CALL])
    user = Source(PATH, "on: push\njobs: {a: {steps: [\n  {uses: x},\n]}}\n#\njobs2:\n  - uses: ./.github/actions/send\n")
    assert list(reader.flows(COMPOSITE, given(COMPOSITE, user))) == []


def test_a_workflow_that_is_called_is_followed_or_named() -> None:
    called = Source(
        ".github/workflows/image.yml",
        "on:\n  workflow_call:\n    inputs:\n      tag: {type: string}\njobs:\n  push:\n    steps:\n"
        "      - run: docker push acme/app:${{ inputs.tag }}\n"
        "  notes:\n    needs: push\n    steps:\n      - run: gh release edit v1\n",
    )
    flow = workflow(
        """
        on:
          schedule: [{cron: '0 3 * * *'}]
        jobs:
          cut:
            outputs: {tag: "${{ steps.v.outputs.tag }}"}
            steps:
              - id: v
                run: echo "tag=$(date +%s)" >> $GITHUB_OUTPUT
              - run: git push
          image:
            needs: cut
            uses: ./.github/workflows/image.yml
            with: {tag: "${{ needs.cut.outputs.tag }}"}
          remote:
            needs: image
            uses: acme/ci/.github/workflows/deploy.yml@main
    """,
        called,
    )
    git, push, edit, remote = flow.steps
    assert [step.unit for step in flow.steps] == ["cut", "image/push", "image/notes", "remote"]
    assert Repeating.SCHEDULE in {repeater.kind for repeater in push.repeaters}
    assert {(edge.before, edge.after) for edge in flow.edges} == {
        (git.id, push.id), (push.id, edit.id), (push.id, remote.id), (edit.id, remote.id),
    }  # fmt: skip
    assert remote.opaque is not None
    assert remote.opaque.what == "acme/ci/.github/workflows/deploy.yml@main"


def test_an_input_that_nothing_uses_flows_into_the_effect_that_takes_the_branch_instead() -> None:
    flow = workflow("""
        on:
          release: {types: [published]}
          workflow_dispatch:
            inputs:
              version:
                required: true
              note: {}
        jobs:
          a:
            steps:
              - run: echo "${{ inputs.note }}"
              - run: |
                  V="${{ github.ref_name }}"
                  echo "NUMBER=${V:1}" >> $GITHUB_ENV
              - run: npm publish --tag "$NUMBER"
          b:
            steps: [{run: git push}]
    """)
    publish, push = flow.steps
    assert flow.extra["broken_inputs"] == "version; github.ref_name"
    assert [fact.span.line for fact in flow.facts] == [5, 13]
    assert (publish.extra["broken_inputs"], "broken_inputs" in push.extra) == ("github.ref_name", False)
    assert 13 in [fact.span.line for fact in publish.facts]


@pytest.mark.parametrize(
    ("use", "broken"),
    [
        ("${{ github.event.release.tag_name }}", "github.event.release (workflow_dispatch)"),
        ("${{ github.event.release.tag_name || inputs.tag }}", ""),
        ("${{ inputs.tag }}", ""),
        ("${{ github.event.repository.name }}", ""),
    ],
)
def test_a_field_that_a_manual_start_does_not_bring(use: str, broken: str) -> None:
    flow = workflow(f"""
        on:
          release: {{types: [published]}}
          workflow_dispatch: {{inputs: {{tag: {{}}}}}}
        jobs:
          a:
            steps:
              - run: gh release edit "{use}"
              - run: echo ${{{{ inputs.tag }}}}
    """)
    assert flow.extra.get("broken_inputs", "") == broken
    assert flow.steps[0].extra.get("broken_inputs", "") == broken


def test_a_step_that_asks_what_started_it_is_not_broken() -> None:
    flow = workflow("""
        on: {release: {types: [published]}, workflow_dispatch: {}}
        jobs:
          a:
            steps:
              - if: github.event_name == 'release'
                run: gh release edit "${{ github.event.release.tag_name }}"
    """)
    assert "broken_inputs" not in flow.extra


@pytest.mark.parametrize(
    ("asks", "broken"),
    [
        ('[ -n "${{ github.event.release.name }}" ]', False),
        ('[ "${{ github.event.release.name }}" != "" ]', False),
        ('[ -n "$NOTES" ]', True),
        ('[ -n "${{ secrets.TOKEN }}" ]', True),
    ],
)
def test_a_script_that_asks_whether_a_field_was_brought_is_not_broken(asks: str, broken: bool) -> None:
    flow = workflow(f"""
        on: {{release: {{types: [published]}}, workflow_dispatch: {{}}}}
        jobs:
          a:
            steps:
              - run: |
                  if {asks}; then
                    gh release edit "${{{{ github.event.release.name }}}}"
                  else
                    gh release edit latest
                  fi
    """)
    assert ("broken_inputs" in flow.extra) is broken


def test_actions_that_are_not_known_are_named_where_they_may_go_outside() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            steps:
              - uses: actions/setup-node@v4
              - uses: acme/deploy-it@main
              - uses: acme/thing@v1
                with: {key: "${{ secrets.KEY }}"}
              - uses: acme/thing@v1
              - uses: pypa/gh-action-pypi-publish@release/v1
                with: {skip-existing: true}
    """)
    assert [step.opaque and step.opaque.what for step in flow.steps] == ["acme/deploy-it@main", "acme/thing@v1", None, None]
    assert [fact.quote for fact in flow.moving] == ["- uses: acme/deploy-it@main"]
    pypi = flow.steps[-1]
    assert pypi.guard is not None
    assert (pypi.guard.line, pypi.identity and pypi.identity.bearing) == (11, Bearing.NATURAL)


def test_a_missing_field_that_no_effect_takes_is_not_worth_a_word() -> None:
    flow = workflow("""
        on: {push: {}, workflow_dispatch: {}}
        jobs:
          a:
            steps:
              - uses: actions/checkout@v4
                with: {ref: "${{ github.event.pull_request.head.sha }}"}
              - run: git push
    """)
    assert ("broken_inputs" in flow.extra, flow.facts) == (False, ())


def test_other_shells_are_not_guessed_at() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            steps:
              - name: Ship
                shell: python
                run: import requests
              - shell: python
                run: print(1)
              - shell: msys2 {0}
                run: git push
    """)
    # Nothing of the second leaves the machine, and the third is a shell like any other.
    assert [step.opaque and step.opaque.what for step in flow.steps] == ["python", None]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("on: push\njobs: {a: {steps: []}}\n", True),
        ('{"on": "push", "jobs": {"a": {"steps": [{"run": "ls"}]}}}', True),
        ("services: {a: {image: b}}\n", False),
        ("jobs: {a: {steps: []}}\n", False),
        ("on: push\njobs: {a: {image: x}}\n", False),
        ("runs: {using: node20}\njobs: 1\n", False),
        ("jobs: [\n", False),
    ],
)
def test_what_is_taken(text: str, taken: bool) -> None:
    assert GithubActions().takes(Source(PATH, text)) is taken


@pytest.mark.parametrize(
    "jobs",
    [
        "{a: {steps: [null, 3, text, [x], {run: [x]}, {run: npm publish, with: 3, env: [], if: {a: b}}]}}",
        "{a: {uses: ./.github/workflows/ship.yml}}",
        "{a: {steps: [{uses: './'}, {uses: ./.github/workflows/ship.yml}, {uses: ''}], concurrency: [x], strategy: 3, environment: []}}",
        "{a: {outputs: {x: '${{ needs.a.outputs.x }}'}, steps: [{run: 'git push origin ${{ needs.a.outputs.x }}'}]}}",
        "{a: {steps: [{run: 'git push origin $X', env: {X: '${{ env.X }}'}}]}}",
        '{a: {timeout-minutes: x, steps: [{run: "x=\'", timeout-minutes: -1}]}}',
        "{a: {steps: [{id: x, run: 'echo \"y=${{ steps.x.outputs.y }}\" >> $GITHUB_OUTPUT; git push origin ${{ steps.x.outputs.y }}'}]}}",
    ],
)
def test_whatever_stands_there_is_read(jobs: str) -> None:
    source = Source(PATH, f"on: push\njobs: {jobs}\n")
    (flow,) = GithubActions().flows(source, given(source))
    assert flow.format == "github-actions"
    assert len({step.id for step in flow.steps}) == len(flow.steps)


def test_no_runs_are_told_of() -> None:
    source = Source(PATH, "on: push\njobs: {a: {steps: []}}\n")
    assert list(GithubActions().runs(source, given(source))) == []


def test_an_action_of_the_project_that_was_not_given_says_whether_it_was_handed_anything() -> None:
    flow = workflow("""
        on: push
        env: {REGION: eu}
        jobs:
          ship:
            steps:
              - uses: ./.github/actions/install
              - uses: ./.github/actions/install-tool
                with: {key: "${{ secrets.KEY }}"}
              - uses: ./.github/actions/deploy
              - uses: ./.github/actions/prepare
                with: {token: "${{ secrets.GITHUB_TOKEN }}"}
          call:
            uses: acme/flows/.github/workflows/check.yml@v1
          inherits:
            uses: acme/flows/.github/workflows/check.yml@v1
            secrets: inherit
    """)
    handed = [(step.opaque.what.rpartition("/")[2], step.extra.get("handed", "")) for step in flow.steps if step.opaque]
    assert handed[:4] == [("install", "nothing"), ("install-tool", ""), ("deploy", ""), ("prepare", "nothing")]
    assert handed[4:] == [("check.yml@v1", "nothing"), ("check.yml@v1", "")]
    assert [step.ends_after for step in flow.steps if step.timeout_known] == [21_600.0] * 4


def test_a_part_of_the_same_repository_may_be_named_from_its_root() -> None:
    action = Source("/srv/shop/.github/actions/ship/action.yml", "runs: {using: composite, steps: [{run: npm publish, shell: bash}]}\n")
    called = Source("/srv/shop/.github/workflows/tell.yml", "on: workflow_call\njobs: {tell: {steps: [{run: mail a@shop.example}]}}\n")
    flow = workflow(
        "on: push\njobs:\n  a: {steps: [{uses: $/.github/actions/ship}]}\n  b: {uses: $/.github/workflows/tell.yml}\n",
        action, called, path="/srv/shop/.github/workflows/main.yml",
    )  # fmt: skip
    assert sorted(acts(flow)) == ["mail", "npm publish"]


def test_what_an_image_does_cannot_be_read() -> None:
    flow = workflow("on: push\njobs: {a: {steps: [{uses: 'docker://shop/tool:1', with: {args: make deploy}}]}}\n")
    assert [step.opaque.what for step in flow.steps if step.opaque] == ["docker://shop/tool:1"]


@pytest.mark.parametrize(
    ("step", "handed"),
    [("run: ./ci/skip-branch", "nothing"), ("run: ./ci/release-it", ""), ("{run: ./ci/skip-branch, env: {KEY: '${{ secrets.KEY }}'}}", "")],
)
def test_a_program_of_the_project_says_whether_it_was_handed_a_secret(step: str, handed: str) -> None:
    flow = workflow(f"on: push\njobs:\n  a:\n    steps:\n      - {step}\n")
    assert [one.extra.get("handed", "") for one in flow.steps if one.opaque] == [handed]


def test_a_limit_of_a_job_is_told_from_one_of_a_command() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            timeout-minutes: 30
            steps:
              - run: curl -X POST https://shop.example/a
              - run: curl --max-time 20 -X POST https://shop.example/b
              - uses: nick-fields/retry@v3
                with: {timeout_seconds: 5, max_attempts: 3, command: "curl -X POST https://shop.example/c"}
    """)
    assert [(step.timeout, step.extra.get("limit", "")) for step in flow.steps] == [(1800.0, "whole"), (20.0, ""), (5.0, "")]


def test_what_runs_beside_a_job_is_gone_when_it_ends() -> None:
    flow = workflow("""
        on: push
        jobs:
          a:
            steps:
              - run: curl -X POST http://localhost:8080/orders
              - run: docker exec shop bin/sell
              - run: . venv/bin/activate
              - run: curl -X POST http://shop.example:8080/orders
    """)
    assert [told for told in acts(flow) if told != "-"] == ["POST shop.example:8080"]
    assert [step.opaque for step in flow.steps if step.opaque] == []


@pytest.mark.parametrize(("env", "told"), [("", []), ("env: {KEY: '${{ secrets.KEY }}'}", ["$BIN"])])
def test_a_command_that_only_the_run_knows_needs_a_secret_to_go_outside(env: str, told: list[str]) -> None:
    flow = workflow(f"on: push\n{env}\njobs:\n  a:\n    steps:\n      - run: $BIN --generate complete-fish\n")
    assert [one for one in acts(flow) if one != "-"] == told
