"""The knowledge base: its rows are complete, and every kind of expression leads to the row that it means."""

from collections.abc import Mapping, Sequence

import pytest

from halfway.inspection.knowledge import Key, Knowledge, Trust, load
from halfway.inspection.knowledge.rows import parse, rows, table
from halfway.inspection.model import Effect, Kind, Receiver, Repeat, Reversible


@pytest.fixture(scope="module")
def base() -> Knowledge:
    return load()


def row_of(effect: Effect | None) -> str | None:
    return None if effect is None else effect.action


# ── rows ──

GOOD = """
[[action]]
id = "vendor.thing"
kinds = ["MONEY", "NOTIFY"]
repeat = "with_key"
reversible = "forward_only"
key = { where = "header X-Key", seconds = 600 }
probe = "GET /things"
compensation = "none"
mails = true
sources = ["https://vendor.example/docs"]
checked = 2026-11-29
trust = "known"
http = ["POST api.vendor.example/things"]
"""


def test_a_row_says_all_that_it_says() -> None:
    (row,) = parse("made.toml", GOOD)
    action = row.action
    assert (action.id, action.kinds, action.repeat) == ("vendor.thing", {Kind.MONEY, Kind.NOTIFY}, Repeat.WITH_KEY)
    assert (action.reversible, action.key, action.probe) == (Reversible.FORWARD, Key("header X-Key", 600), "GET /things")
    assert (action.compensation, action.mails, action.sources) == ("none", True, ("https://vendor.example/docs",))
    assert (action.checked.isoformat(), action.trust, action.minted_by_sdk) == ("2026-11-29", Trust.KNOWN, False)
    assert row.http == ("POST api.vendor.example/things",)


@pytest.mark.parametrize(
    ("line", "instead", "problem"),
    [
        ('sources = ["https://vendor.example/docs"]', "", "sources is missing"),
        ('sources = ["https://vendor.example/docs"]', "sources = []", "sources must name at least one address"),
        ('sources = ["https://vendor.example/docs"]', 'sources = ["the docs"]', "sources must name at least one address"),
        ("checked = 2026-11-29", "", "checked is missing"),
        ("checked = 2026-11-29", 'checked = "2026-11-29"', "checked must be a date"),
        ('probe = "GET /things"', "", "probe is missing"),
        ('probe = "GET /things"', 'probe = " "', "probe must be a text that says something"),
        ('compensation = "none"', "", "compensation is missing"),
        ('kinds = ["MONEY", "NOTIFY"]', "kinds = []", "kinds is empty"),
        ('kinds = ["MONEY", "NOTIFY"]', 'kinds = ["CASH"]', "kinds 'CASH' is none of READ, CREATE"),
        ('repeat = "with_key"', 'repeat = "maybe"', "repeat 'maybe' is none of safe"),
        ('reversible = "forward_only"', "reversible = true", "reversible True is none of yes"),
        ('trust = "known"', 'trust = "high"', "trust 'high' is none of verified"),
        ("mails = true", "mails = 1", "mails must be true or false"),
        ('key = { where = "header X-Key", seconds = 600 }', "", "it is safe with a key, and no key is named"),
        ('key = { where = "header X-Key", seconds = 600 }', "key = { seconds = 600 }", "key must say where"),
        ('key = { where = "header X-Key", seconds = 600 }', 'key = { where = "x", ttl = 6 }', "key must say where"),
        ('key = { where = "header X-Key", seconds = 600 }', 'key = { where = "x", seconds = 0 }', "seconds of the key must be"),
        ("mails = true", "mails = true\nmail = true", "unknown key mail"),
        ("mails = true", "mails = true\nshell = [1]", "an entry of shell is a text, or a table"),
        ("mails = true", 'mails = true\nuses = [{ name = "x" }]', "an entry of uses is a text, or a table"),
        ("mails = true", 'mails = true\ncall = "x"', "call must be a list of texts"),
    ],
)
def test_a_row_that_breaks_the_schema_is_refused_with_its_file_and_name(line: str, instead: str, problem: str) -> None:
    assert line in GOOD
    with pytest.raises(ValueError, match=r"^made\.toml: vendor\.thing: ") as raised:
        list(parse("made.toml", GOOD.replace(line, instead)))
    assert problem in str(raised.value)


def test_a_row_without_a_name_is_refused_by_its_number() -> None:
    with pytest.raises(ValueError, match=r"^made\.toml: row 1: id is missing$"):
        list(parse("made.toml", GOOD.replace('id = "vendor.thing"', "")))


@pytest.mark.parametrize("text", ["[[action]\n", "[[actions]]\nid = 'x'\n", ""])
def test_a_file_that_is_no_list_of_rows_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^made\.toml: "):
        list(parse("made.toml", text))


# Rows that no pattern leads to: the lookups name them themselves.
BY_THE_LOOKUPS = {"aws.create", "aws.create_with_token", "aws.delete", "aws.operation", "aws.operation_with_token", "aws.put"}


def test_something_leads_to_every_row_that_comes_with_the_package() -> None:
    unreached = {row.action.id for row in rows() if not (row.shell or row.uses or row.http or row.named or row.call or row.aws or row.node)}
    assert unreached == BY_THE_LOOKUPS


def test_no_pattern_leads_to_two_rows() -> None:
    seen: dict[object, str] = {}
    for row in rows():
        for pattern in (*row.shell, *row.uses, *row.http, *row.named, *row.call, *row.aws, *row.node):
            assert seen.setdefault(pattern, row.action.id) == row.action.id, pattern


def test_actions_are_sorted_and_found_by_their_ids(base: Knowledge) -> None:
    ids = [action.id for action in base.actions()]
    assert ids == sorted(set(ids))
    assert len(ids) > 110
    assert all(base.action(id).id == id for id in ids)
    with pytest.raises(KeyError):
        base.action("vendor.thing")


def test_an_effect_is_what_its_row_says(base: Knowledge) -> None:
    effect = base.effect("toss.payment", "POST x", certain=False, receiver=Receiver.CUSTOMER)
    assert effect == Effect(
        "toss.payment", frozenset({Kind.MONEY}), Repeat.WITH_KEY, Reversible.FORWARD, "POST x", False, Receiver.CUSTOMER
    )
    assert base.action("toss.payment").trust is Trust.UNSURE


# ── commands of a shell ──


@pytest.mark.parametrize(
    ("line", "row", "told"),
    [
        ("git push", "git.push", "git push"),
        ("git -C out push origin main", "git.push", "git push"),
        ("git push --force origin main", "git.push.force", "git push --force"),
        ("git push -uf origin main", "git.push.force", "git push -f"),
        ("git push origin +main", "git.push.force", "git push +*"),
        ("git push --tags", "git.push.tag", "git push --tags"),
        ("git push origin --delete old", "git.push.delete", "git push --delete"),
        ("git push origin :old", "git.push.delete", "git push :*"),
        ("gh release create v1 --title x dist/a", "github.release", "gh release create"),
        ("gh -R o/r release create v1", "github.release", "gh release create"),
        ("gh release create v1 --draft", "github.release.draft", "gh release create --draft"),
        ("gh release view v1", "read", "gh release view"),
        ("gh release upload v1 a", "github.release.upload", "gh release upload"),
        ("gh release upload v1 a --clobber", "github.release.update", "gh release upload --clobber"),
        ("gh pr create --fill", "github.pull", "gh pr create"),
        ("gh pr merge 7 --squash", "github.pull.merge", "gh pr merge"),
        ("gh pr edit 7 --title x", "github.pull.update", "gh pr edit"),
        ("gh pr edit 7 --add-label x", "github.label", "gh pr edit --add-label"),
        ("gh issue comment 7 --body x", "github.comment", "gh issue comment"),
        ("gh workflow run deploy.yml", "github.dispatch", "gh workflow run"),
        ("npm publish --access public", "npm.publish", "npm publish"),
        ("sudo -E npm publish", "npm.publish", "npm publish"),
        ("NODE_AUTH_TOKEN=x npm publish", "npm.publish", "npm publish"),
        ("pnpm publish -r", "npm.publish.missing", "pnpm publish -r"),
        ("pnpm publish", "npm.publish", "pnpm publish"),
        ("npx changeset publish", "npm.publish.missing", "changeset publish"),
        ("npm view x@1 version", "read", "npm view"),
        ("npm dist-tag add x@1 latest", "npm.tag", "npm dist-tag add"),
        ("python -m twine upload dist/*", "pypi.upload", "twine upload"),
        ("uv run --with twine twine upload --skip-existing dist/*", "pypi.upload.skip_existing", "twine upload --skip-existing"),
        ("uv publish", "pypi.upload", "uv publish"),
        ("cargo publish -p x", "cargo.publish", "cargo publish"),
        ("bundle exec gem push x.gem", "gem.push", "gem push"),
        ("sshpass -p x ssh root@shop.example ./deploy.sh", "remote.command", "ssh"),
        ("sshpass -f pw scp a.tgz root@shop.example:/srv", "file.sync", "scp *:*"),
        ("autossh -M 0 root@shop.example make ship", "remote.command", "autossh"),
        ("npm pub", "npm.publish", "npm pub"),
        ("mongosh mongodb://shop.example --eval db.orders.deleteMany()", "db.delete", "mongosh *.delete*"),
        ("heroku run rake db:drop", "remote.command", "heroku run"),
        ("nc pay.example 80", "remote.command", "nc"),
        ("strace -f npm publish", "npm.publish", "npm publish"),
        ("proxychains4 npm publish", "npm.publish", "npm publish"),
        ("./mvnw -B clean deploy", "maven.deploy", "mvnw deploy"),
        ("./gradlew build publishToSonatype", "maven.deploy", "gradlew publishToSonatype"),
        ("docker push x:1", "image.push", "docker push"),
        ("docker buildx build --push -t x .", "image.push", "docker buildx build --push"),
        ("crane copy a b", "image.copy", "crane copy"),
        ("kubectl -n prod apply -f x.yaml", "kubectl.apply", "kubectl apply"),
        ("kubectl rollout restart deploy/x", "kubectl.restart", "kubectl rollout restart"),
        ("kubectl create job x --from=cronjob/y", "kubectl.create", "kubectl create"),
        ("kubectl delete ns x", "kubectl.delete", "kubectl delete"),
        ("helm upgrade --install x ./x", "helm.upgrade", "helm upgrade"),
        ("terraform -chdir=infra apply -auto-approve", "terraform.apply", "terraform apply"),
        ("terraform apply -destroy", "terraform.destroy", "terraform apply -destroy"),
        ("terraform plan", "read", "terraform plan"),
        ("wrangler deploy", "platform.deploy", "wrangler deploy"),
        ("vercel --prod", "platform.deploy", "vercel --prod"),
        ("gcloud --project p run deploy x", "platform.deploy", "gcloud run deploy"),
        ("aws s3 sync out s3://b", "s3.put", "aws s3 sync"),
        ("aws s3 sync out s3://b --delete", "s3.delete", "aws s3 sync --delete"),
        ("aws --region x sns publish --message y", "sns.publish", "sns publish"),
        ("aws ec2 describe-instances", "aws.read", "ec2 describe-instances"),
        ("alembic -c a.ini upgrade head", "db.migration", "alembic upgrade"),
        ("psql -h db -c 'insert into t values (1)'", "db.insert", "psql"),
        ("psql -Atc 'select 1'", "read", "psql"),
        ("rm -rf out", "file.delete", "rm -r"),
        ("rsync -a --delete a/ h:b", "file.delete", "rsync --delete"),
        ("timeout 30 ssh h 'x y'", "remote.command", "ssh"),
        ("flock -n /tmp/l claude -p 'do it'", "agent", "claude -p"),
        ("mail -s done a@b.example", "mail.send", "mail"),
    ],
)  # fmt: skip
def test_a_command_is_found_by_its_words(base: Knowledge, line: str, row: str, told: str) -> None:
    import shlex

    effect = base.command(shlex.split(line))
    assert effect is not None
    assert (effect.action, effect.told, effect.certain) == (row, told, True)


@pytest.mark.parametrize(
    "line",
    [
        "vercel build --prod",
        "npm publish --dry-run",
        "git push --dry-run",
        "git push -n",
        "kubectl apply --dry-run=client -f x",
        "aws s3 sync a s3://b --dryrun",
        "gh release create --help",
        "cargo publish -n",
        "goreleaser release --snapshot",
        "echo git push",
        "git commit -m push",
        "git tag v1",
        "npm run publish-all",
        "ls",
        "docker build -t x .",
        "rm x",
        "rsync -a a b",
        "$CMD push",
        "ko build --local ./x",
        "make",
        "",
        "sudo",
        "X=1",
        "twine",
    ],
)
def test_a_command_that_does_nothing_outside_that_is_known_has_no_effect(base: Knowledge, line: str) -> None:
    assert base.command(line.split()) is None


def test_a_dry_run_that_is_switched_off_is_none(base: Knowledge) -> None:
    assert row_of(base.command(["kubectl", "apply", "--dry-run=none", "-f", "x"])) == "kubectl.apply"


@pytest.mark.parametrize(
    ("words", "row", "told"),
    [
        (["curl", "https://pay.example/orders"], "read", "GET pay.example"),
        (["curl", "-X", "POST", "https://pay.example/orders"], "", "POST pay.example"),
        (["curl", "-sSfX", "POST", "https://pay.example/orders"], "", "POST pay.example"),
        (["curl", "-XDELETE", "https://pay.example/orders/1"], "", "DELETE pay.example"),
        (["curl", "-sXPOST", "https://pay.example/orders"], "", "POST pay.example"),
        (["curl", "https://pay.example/orders", "-d", "x=1"], "", "POST pay.example"),
        (["curl", "--json", "{}", "https://pay.example"], "", "POST pay.example"),
        (["curl", "-F", "a=@b", "https://pay.example"], "", "POST pay.example"),
        (["curl", "-T", "a", "https://pay.example/a"], "", "PUT pay.example"),
        (["curl", "-G", "-d", "q=1", "https://pay.example"], "read", "GET pay.example"),
        (["curl", "-I", "https://pay.example"], "read", "HEAD pay.example"),
        (["curl", "-sfo", "out", "https://pay.example"], "read", "GET pay.example"),
        (["curl", "-H", "A: b", "-d@x", "https://api.stripe.com/v1/payment_intents"], "stripe.charge", "POST api.stripe.com"),
        (["curl", "-X", "POST", "-d", "x", "$SLACK_WEBHOOK_URL"], "slack.message", "POST $SLACK_WEBHOOK_URL"),
        (["wget", "--post-data=x", "https://pay.example"], "", "POST pay.example"),
        (["wget", "-q", "https://pay.example/x"], "read", "GET pay.example"),
        (["http", "POST", "https://pay.example", "a=1"], "", "POST pay.example"),
        (["http", "https://pay.example", "a=1"], "", "POST pay.example"),
        (["http", "https://pay.example", "a==1"], "read", "GET pay.example"),
        (["gh", "api", "repos/o/r/issues", "-f", "title=x"], "github.issue", "POST api.github.com"),
        (["gh", "api", "-X", "PUT", "/repos/{owner}/{repo}/pulls/7/merge"], "github.pull.merge", "PUT api.github.com"),
        (["gh", "api", "repos/o/r/releases"], "read", "GET api.github.com"),
        (["vercel", "--prod"], "platform.deploy", "vercel --prod"),
        (["psql", "shop"], "db.statement", "psql"),
        (["docker", "compose", "exec", "-T", "db", "psql"], "remote.command", "docker compose exec"),
        (["curl", "-d@x", "https://api.xero.com/api.xro/2.0/Contacts"], "xero.contact", "POST api.xero.com"),
        (["curl", "-d@x", "https://api.xero.com/api.xro/2.0/Invoices"], "xero.invoice", "POST api.xero.com"),
        (["gh", "api", "graphql", "-f", "query=x"], "graphql", "POST api.github.com"),
        (["gh", "api", "graphql", "-f", "query=query($n: Int!) { a }"], "read", "GET api.github.com"),
        (["gh", "api", "graphql", "-f", "query= mutation { a }"], "graphql", "POST api.github.com"),
    ],
)  # fmt: skip
def test_a_command_that_sends_a_request_is_found_by_it(base: Knowledge, words: Sequence[str], row: str, told: str) -> None:
    effect = base.command(words)
    assert effect is not None
    assert (effect.action, effect.told) == (row, told)
    assert effect.outward == (row != "read")
    assert effect.certain == (row not in ("", "slack.message"))


# ── actions of GitHub Actions ──


@pytest.mark.parametrize(
    ("action", "given", "row", "certain"),
    [
        ("pypa/gh-action-pypi-publish@release/v1", {}, "pypi.upload", True),
        ("pypa/gh-action-pypi-publish@v1", {"skip-existing": "true"}, "pypi.upload.skip_existing", True),
        ("pypa/gh-action-pypi-publish@v1", {"skip-existing": "${{ inputs.again }}"}, "pypi.upload", False),
        ("docker/build-push-action@v6", {"push": "true"}, "image.push", True),
        ("docker/build-push-action@v6", {"push": "${{ github.event_name != 'pull_request' }}"}, "image.push", False),
        ("docker/build-push-action@v6", {"outputs": "type=image,push=true"}, "image.push", True),
        ("Docker/Build-Push-Action@v6", {"PUSH": "true"}, "image.push", True),
        ("changesets/action@v1", {"publish": "pnpm release"}, "npm.publish.missing", True),
        ("changesets/action@v1", {}, "changesets.version", True),
        ("goreleaser/goreleaser-action@v6", {"args": "release --clean"}, "goreleaser.release", True),
        ("softprops/action-gh-release@v2", {}, "github.release.update", True),
        ("tauri-apps/tauri-action@v0", {"tagName": "v1"}, "github.release.update", True),
        ("tauri-apps/tauri-action@v0", {"args": "--debug"}, "inside", True),
        ("peter-evans/repository-dispatch@v3", {}, "github.dispatch", True),
        ("peter-evans/create-pull-request@v7", {}, "github.pull.update", True),
        ("slackapi/slack-github-action@v2", {}, "slack.message", True),
        ("8398a7/action-slack@v3", {}, "slack.message", True),
        ("cloudflare/wrangler-action@v3", {}, "platform.deploy", True),
        ("aws-actions/amazon-ecs-deploy-task-definition@v2", {}, "aws.deploy", True),
        ("linear/linear-release-action@v1", {}, "linear.release", True),
        ("mislav/bump-homebrew-formula-action@v3", {}, "package.bump", True),
        ("anthropics/claude-code-action@v1", {}, "agent", True),
        ("actions/github-script@v7", {"script": "await github.rest.issues.createComment({ body: '${{ x }}' })"}, "code", True),
        ("actions/checkout@v4", {}, "read", True),
        ("actions/setup-node@v4", {}, "read", True),
        ("docker/login-action@v3", {}, "inside", True),
    ],
)  # fmt: skip
def test_an_action_is_found_by_its_name_and_its_inputs(
    base: Knowledge, action: str, given: Mapping[str, str], row: str, certain: bool
) -> None:
    effect = base.uses(action, given)
    assert effect is not None
    assert (effect.action, effect.certain, effect.told) == (row, certain, action.split("@", maxsplit=1)[0])


@pytest.mark.parametrize(
    ("action", "given"),
    [
        ("docker/build-push-action@v6", {}),
        ("docker/build-push-action@v6", {"push": "false"}),
        ("goreleaser/goreleaser-action@v6", {"args": "release --snapshot"}),
        ("actions/github-script@v7", {"script": "console.log(context)"}),
        ("someone/unknown@v1", {"push": "true"}),
        ("./.github/actions/deploy", {}),
    ],
)
def test_an_action_that_does_nothing_or_that_nobody_knows_has_no_effect(base: Knowledge, action: str, given: Mapping[str, str]) -> None:
    assert base.uses(action, given) is None


# ── requests ──


@pytest.mark.parametrize(
    ("body", "row"),
    [
        ("draft: True", "github.release.draft"), ('{"draft": true}', "github.release.draft"), ("draft=true", "github.release.draft"),
        ("draft=false", "github.release"), ("", "github.release"), ("text=a draft: truely", "github.release"),
    ],
)  # fmt: skip
def test_a_field_of_the_body_may_decide_which_row_it_is(base: Knowledge, body: str, row: str) -> None:
    effect = base.http("POST", "https://api.github.com/repos/acme/shop/releases", body)
    assert effect is not None
    assert effect.action == row
    words = ["gh", "api", "-X", "POST", "repos/acme/shop/releases", "-f", body or "a=b"]
    assert row == getattr(base.command(words), "action", "")


@pytest.mark.parametrize(
    ("method", "url", "row"),
    [
        ("POST", "https://api.stripe.com/v1/payment_intents", "stripe.charge"),
        ("POST", "https://api.stripe.com/v1/payment_intents/${id}/capture", "stripe.charge"),
        ("post", "https://api.stripe.com/v1/refunds?x=1", "stripe.refund"),
        ("POST", "https://api.stripe.com/v1/customers", "stripe.customer.create"),
        ("POST", "https://api.stripe.com/v1/tax_rates", "stripe.other"),
        ("POST", "https://api-m.paypal.com/v2/checkout/orders", "paypal.order"),
        ("POST", "https://api-m.sandbox.paypal.com/v1/payments/payouts", "paypal.payout"),
        ("POST", "https://api.tosspayments.com/v1/payments/confirm", "toss.payment"),
        ("POST", "https://quickbooks.api.intuit.com/v3/company/1/salesreceipt", "quickbooks.entry"),
        ("POST", "https://sandbox-quickbooks.api.intuit.com/v3/company/{{ $json.realm }}/customer", "quickbooks.person"),
        ("POST", "https://hooks.slack.com/services/T/B/x", "slack.message"),
        ("POST", "https://slack.com/api/chat.postMessage", "slack.message"),
        ("POST", "https://slack.com/api/chat.update", "slack.change"),
        ("POST", "https://discord.com/api/webhooks/1/x", "discord.webhook"),
        ("POST", "https://api.notion.com/v1/pages", "notion.create"),
        ("PATCH", "https://api.notion.com/v1/pages/{id}", "notion.update"),
        ("PATCH", "https://api.notion.com/v1/blocks/{id}/children", "notion.append"),
        ("POST", "https://api.notion.com/v1/databases/x/query", "read"),
        ("POST", "https://api.github.com/repos/o/r/issues", "github.issue"),
        ("POST", "=https://api.github.com/repos/{{ $json.full }}/issues/{{ $json.n }}/comments", "github.comment"),
        ("PUT", "https://api.github.com/repos/o/r/contents/a/b.txt", "github.contents"),
        ("POST", "https://api.hubapi.com/crm/v3/objects/contacts", "hubspot.contact.create"),
        ("POST", "https://api.hubapi.com/crm/v3/objects/deals", "hubspot.create"),
        ("POST", "https://api.hubapi.com/crm/v3/objects/deals/search", "read"),
        ("PATCH", "https://api.hubapi.com/crm/v3/objects/deals/7", "hubspot.update"),
        ("POST", "https://api.twilio.com/2010-04-01/Accounts/x/Messages.json", "twilio.message"),
        ("POST", "https://api.sendgrid.com/v3/mail/send", "mail.service"),
        ("POST", "https://api.resend.com/emails", "resend.email"),
        ("POST", "https://acme.zendesk.com/api/v2/tickets.json", "zendesk.ticket"),
        ("POST", "https://acme.atlassian.net/rest/api/3/issue", "jira.issue"),
        ("POST", "https://${DOMAIN}.atlassian.net/rest/api/3/issue", "jira.issue"),
        ("POST", "https://api.airtable.com/v0/app1/Orders", "airtable.create"),
        ("PATCH", "https://api.airtable.com/v0/app1/Orders/rec1", "airtable.upsert"),
        ("POST", "https://sheets.googleapis.com/v4/spreadsheets/x/values/A1:append?valueInputOption=RAW", "sheets.append"),
        ("POST", "https://api.devin.ai/v1/sessions", "agent"),
        ("POST", "https://api.openai.com/v1/chat/completions", "model.call"),
        ("GET", "https://api.stripe.com/v1/charges", "read"),
        ("POST", "https://api.firecrawl.dev/v1/scrape", "read"),
        ("HEAD", "https://pay.example", "read"),
        ("", "https://pay.example", "read"),
    ],
)  # fmt: skip
def test_a_request_is_found_by_its_host_and_path(base: Knowledge, method: str, url: str, row: str) -> None:
    effect = base.http(method, url)
    assert effect is not None
    assert (effect.action, effect.certain) == (row, True)


@pytest.mark.parametrize(
    ("method", "url", "told"),
    [
        ("POST", "https://pay.example/charge?key=secretsecret", "POST pay.example"),
        ("PUT", "http://localhost:8080/x", "PUT localhost"),
        ("DELETE", "https://user:pass@pay.example/x", "DELETE pay.example"),
        ("POST", "$API/orders", "POST $API/orders"),
        ("POST", "={{ $json.url }}", "POST {{ $json.url }}"),
        ("POST", "https://${HOST}/api.stripe.com/v1/refunds", "POST https://${HOST}/api.stripe.com/v1/refunds"),
        ("POST", "https://evil-api.stripe.com.example/v1/refunds", "POST evil-api.stripe.com.example"),
        ("POST", "", "POST"),
    ],
)  # fmt: skip
def test_a_write_to_a_host_that_is_not_known_is_unknown(base: Knowledge, method: str, url: str, told: str) -> None:
    expected = Effect("", frozenset({Kind.UNKNOWN}), Repeat.UNKNOWN, Reversible.UNKNOWN, told, certain=False)
    assert base.http(method, url) == expected


@pytest.mark.parametrize(
    ("url", "row"),
    [
        ("${{ secrets.SLACK_WEBHOOK_URL }}", "slack.message"),
        ("$DEVIN_API_URL", "agent"),
        ("$DISCORD_HOOK", "discord.webhook"),
        ("={{ $env.TEAMS_WEBHOOK }}", "chat.message"),
    ],
)
def test_the_name_of_a_variable_lets_infer_and_is_never_certain(base: Knowledge, url: str, row: str) -> None:
    effect = base.http("POST", url)
    assert effect is not None
    assert (effect.action, effect.certain) == (row, False)


# ── calls of Python and TypeScript ──


@pytest.mark.parametrize(
    ("name", "given", "row"),
    [
        ("stripe.PaymentIntent.create", {}, "stripe.charge"),
        ("stripe.StripeClient.v1.payment_intents.create", {}, "stripe.charge"),
        ("stripe.paymentIntents.capture", {}, "stripe.charge"),
        ("stripe.Refund.create", {}, "stripe.refund"),
        ("stripe.Customer.create", {}, "stripe.customer.create"),
        ("stripe.Coupon.create", {}, "stripe.other"),
        ("stripe.Charge.list", {}, "read"),
        ("client.chat_postMessage", {}, "slack.message"),
        ("slack_sdk.WebClient.chat_postMessage", {}, "slack.message"),
        ("app.client.chat.postMessage", {}, "slack.message"),
        ("notion_client.Client.pages.create", {}, "notion.create"),
        ("self.notion.pages.create", {}, "notion.create"),
        ("notion.pages.update", {}, "notion.update"),
        ("twilio.rest.Client.messages.create", {}, "twilio.message"),
        ("anthropic.Anthropic.messages.create", {}, "model.call"),
        ("smtplib.SMTP.send_message", {}, "mail.send"),
        ("sendgrid.SendGridAPIClient.send", {}, "mail.service"),
        ("resend.Emails.send", {}, "resend.email"),
        ("github.rest.issues.createComment", {}, "github.comment"),
        ("octokit.rest.git.createRef", {}, "git.push.tag"),
        ("charge.apply_async", {}, "task.enqueue"),
        ("env.ORDERS.create", {}, "cloudflare.workflow.create"),
        ("shutil.rmtree", {}, "file.delete"),
        ('boto3.client("sns").publish', {}, "sns.publish"),
        ("boto3.client.sns.publish", {}, "sns.publish"),
        ("boto3.client.publish", {"service": "sns"}, "sns.publish"),
        ("boto3.sqs.send_message", {}, "sqs.send"),
        ('boto3.resource("dynamodb").Table.put_item', {}, "dynamodb.put"),
        ("@aws-sdk/client-sesv2.SendEmailCommand", {}, "aws.mail"),
        ("@aws-sdk/client-sfn.StartExecutionCommand", {}, "stepfunctions.start"),
        ("boto3.client.s3.list_objects_v2", {}, "aws.read"),
        ("boto3.client.ec2.create_fleet", {}, "aws.create_with_token"),
        ("boto3.client.acm_pca.delete_nothing", {}, "aws.delete"),
        ("boto3.client.accessanalyzer.update_archive_rule", {}, "aws.operation_with_token"),
        ("boto3.client.guardduty.create_members", {}, "aws.create"),
        ("boto3.client.guardduty.accept_invitation", {}, "aws.operation"),
        ("boto3.client.s3.put_object_tagging", {}, "aws.put"),
        ("boto3.client.firehose.put_record_batch", {}, "queue.send"),
        ("cur.execute", {"0": "insert into t (a) values (%s)"}, "db.insert"),
        ("cur.execute", {"0": "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING"}, "db.upsert"),
        ("cur.execute", {"0": "update t set stock = stock - 1 where id = 1"}, "db.add"),
        ("cur.execute", {"0": "update t set state = 'paid' where id = 1"}, "db.update"),
        ("session.execute", {"statement": "with x as (select 1) delete from t"}, "db.delete"),
        ("pool.query", {"0": "select 1; drop table t"}, "db.migration"),
        ("cur.execute", {"0": "-- insert\nselect 1"}, "read"),
        ("requests.post", {"0": "https://api.notion.com/v1/pages"}, "notion.create"),
        ("requests.post", {"url": "https://pay.example"}, ""),
        ("requests.get", {"0": "https://pay.example"}, "read"),
        ("requests.request", {"0": "POST", "1": "https://api.resend.com/emails"}, "resend.email"),
        ("requests.Session.request", {"method": "PATCH", "url": "https://api.notion.com/v1/pages/x"}, "notion.update"),
        ("httpx.AsyncClient.put", {"0": "https://pay.example"}, ""),
        ("aiohttp.ClientSession.post", {"0": "https://api.resend.com/emails"}, "resend.email"),
        ("session.post", {"0": "https://api.resend.com/emails"}, "resend.email"),
        ("fetch", {"0": "https://pay.example"}, "read"),
        ("fetch", {"0": "https://api.resend.com/emails", "method": "POST"}, "resend.email"),
        ("axios.post", {"0": "https://api.resend.com/emails"}, "resend.email"),
        ("axios", {"method": "post", "url": "https://api.resend.com/emails"}, "resend.email"),
        ("requests.request", {}, ""),
    ],
)  # fmt: skip
def test_a_call_is_found_by_its_dotted_name(base: Knowledge, name: str, given: Mapping[str, str], row: str) -> None:
    effect = base.call(name, given)
    assert effect is not None
    assert effect.action == row
    assert effect.certain == (row not in ("", "aws.create", "aws.delete", "aws.operation", "aws.put"))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("json.dumps", {}),
        ("order.save", {}),
        ("cache.get", {"0": "key"}),
        ("form.post", {"0": "name"}),
        ("cur.execute", {}),
        ("cur.execute", {"0": "sql"}),
        ("", {}),
    ],
)
def test_a_call_that_nobody_knows_has_no_effect(base: Knowledge, name: str, given: Mapping[str, str]) -> None:
    assert base.call(name, given) is None


# ── nodes ──


@pytest.mark.parametrize(
    ("type", "resource", "operation", "row"),
    [
        ("gmail", "", "", "mail.send"),
        ("slack", "", "", "slack.message"),
        ("slack", "message", "update", "slack.change"),
        ("telegram", "", "", "chat.message"),
        ("twilio", "", "", "twilio.message"),
        ("github", "", "", "github.issue"),
        ("jira", "", "", "jira.issue"),
        ("zendesk", "", "", "zendesk.ticket_without_key"),
        ("linear", "", "", "linear.issue_without_key"),
        ("notion", "", "", "notion.create"),
        ("hubspot", "", "", "hubspot.contact.upsert"),
        ("hubspot", "deal", "update", "hubspot.update"),
        ("salesforce", "", "", "salesforce.create"),
        ("shopify", "", "", "shopify.create"),
        ("postgres", "", "", "db.insert"),
        ("postgres", "", "upsert", "db.upsert"),
        ("supabase", "", "", "db.insert"),
        ("payPal", "", "", "paypal.payout"),
        ("stripe", "", "", "read"),
        ("stripe", "charge", "create", "stripe.charge_without_key"),
        ("googleSheets", "", "", "read"),
        ("googleSheets", "", "appendOrUpdate", "sheets.update"),
        ("googleSheets", "sheet", "append", "sheets.append"),
        ("airtable", "record", "upsert", "airtable.upsert"),
        ("airtable", "", "append", "airtable.create"),
        ("quickbooks", "invoice", "create", "quickbooks.entry_without_key"),
        ("emailSend", "", "", "mail.send"),
        ("set", "", "", "inside"),
        ("if", "", "", "inside"),
        ("gmailTool", "", "", "mail.send"),
        ("slack", "message", "getAll", "read"),
    ],
)
def test_a_node_of_n8n_is_found_with_the_defaults_of_its_type(base: Knowledge, type: str, resource: str, operation: str, row: str) -> None:
    effect = base.node("n8n", f"n8n-nodes-base.{type}", resource, operation)
    assert effect is not None
    assert (effect.action, effect.certain) == (row, True)


def test_an_agent_of_n8n_is_an_agent(base: Knowledge) -> None:
    assert row_of(base.node("n8n", "@n8n/n8n-nodes-langchain.agent")) == "agent"


def test_a_node_of_n8n_that_sends_a_request_is_found_by_it(base: Knowledge) -> None:
    assert row_of(base.node("n8n", "n8n-nodes-base.httpRequest", "https://api.notion.com/v1/pages", "POST")) == "notion.create"
    assert row_of(base.node("n8n", "n8n-nodes-base.httpRequest", "https://api.notion.com/v1/pages")) == "read"


@pytest.mark.parametrize(
    ("type", "operation", "kind"),
    [
        ("someCrm", "create", Kind.CREATE),
        ("someChat", "sendNote", Kind.NOTIFY),
        ("someCrm", "delete", Kind.DELETE),
        ("someCrm", "update", Kind.UNKNOWN),
    ],
)
def test_a_node_that_nobody_knows_is_inferred_from_its_verb(base: Knowledge, type: str, operation: str, kind: Kind) -> None:
    told = f"{type} thing {operation}"
    expected = Effect("", frozenset({kind}), Repeat.UNKNOWN, Reversible.UNKNOWN, told, certain=False)
    assert base.node("n8n", f"n8n-nodes-other.{type}", "thing", operation) == expected


def test_a_node_without_a_verb_has_no_effect(base: Knowledge) -> None:
    assert base.node("n8n", "n8n-nodes-other.someThing") is None
    assert base.node("n8n", "n8n-nodes-base.code") is None


@pytest.mark.parametrize(
    ("api", "action", "row"),
    [
        ("GoogleMailV2CLIAPI@2.8.0", "message", "mail.send"),
        ("JiraSoftwareCloudCLIAPI@1.0", "create_issue", "jira.issue"),
        ("GoogleSheetsV2CLIAPI@2", "add_row", "sheets.append"),
        ("GoogleSheetsV2CLIAPI@2", "update_row", "sheets.update"),
        ("AirtableCLIAPI@1", "findRecord", "read"),
        ("StripeCLIAPI@3", "create_charge", "stripe.charge_without_key"),
        ("SlackCLIAPI@1", "channel_message", "slack.message"),
        ("OpenAiCLIAPI@1", "prompt", "model.call"),
        ("CodeCLIAPI@1", "run_python", "code"),
        ("WebHookCLIAPI@1", "post", "code"),
        ("FilterAPI@1", "filter", "inside"),
    ],
)
def test_a_step_of_zapier_is_found_by_its_api_and_action(base: Knowledge, api: str, action: str, row: str) -> None:
    assert row_of(base.node("zapier", api, "", action)) == row
    assert row_of(base.node("zapier", api, action)) == row


@pytest.mark.parametrize(
    ("module", "row"),
    [
        ("google-email:ActionSendEmail", "mail.send"),
        ("email:ActionSendEmail", "mail.send"),
        ("airtable:ActionCreateRecord", "airtable.create"),
        ("airtable:upsertRecord", "airtable.upsert"),
        ("notion:createADatabaseItem", "notion.create"),
        ("datastore:AddRecord", "store.set"),
        ("datastore:GetRecord", "read"),
        ("builtin:BasicRouter", "inside"),
        ("http:MakeRequest", "code"),
        ("slack:CreateMessage", "slack.message"),
    ],
)
def test_a_module_of_make_is_found_by_its_id(base: Knowledge, module: str, row: str) -> None:
    assert row_of(base.node("make", module)) == row


def test_a_module_of_make_that_sends_a_request_is_found_by_it(base: Knowledge) -> None:
    assert row_of(base.node("make", "http:MakeRequest", "https://api.resend.com/emails", "post")) == "resend.email"


@pytest.mark.parametrize(
    ("resource", "row", "certain"),
    [
        ("arn:aws:states:::sns:publish", "sns.publish", True),
        ("arn:aws:states:::aws-sdk:sesv2:sendEmail", "aws.mail", True),
        ("arn:aws:states:::sqs:sendMessage.waitForTaskToken", "sqs.send", True),
        ("arn:aws:states:::dynamodb:putItem", "dynamodb.put", True),
        ("arn:aws:states:::dynamodb:updateItem", "dynamodb.update", True),
        ("arn:aws:states:::lambda:invoke", "lambda.invoke", True),
        ("arn:aws:lambda:eu-west-1:1:function:pay", "lambda.invoke", True),
        ("arn:aws:states:::ecs:runTask.sync", "aws.run", True),
        ("arn:aws:states:::http:invoke", "", False),
        ("arn:aws:states:::apigateway:invoke.waitForTaskToken", "", False),
        ("arn:aws:states:::glue:startJobRun", "aws.operation", False),
    ],
)
def test_a_resource_of_step_functions_is_found_by_its_service(base: Knowledge, resource: str, row: str, certain: bool) -> None:
    effect = base.node("asl", resource)
    assert effect is not None
    assert (effect.action, effect.certain) == (row, certain)


def test_a_resource_that_sends_a_request_is_found_by_it(base: Knowledge) -> None:
    assert row_of(base.node("asl", "arn:aws:states:::http:invoke", "https://api.resend.com/emails", "POST")) == "resend.email"


def test_a_resource_that_is_none_of_aws_has_no_effect(base: Knowledge) -> None:
    assert base.node("asl", "${PayFunction}") is None


# ── whatever a text says ──

ODD = [
    "",
    " ",
    "-",
    "--",
    "=",
    "/",
    "://",
    "https://",
    "[",
    "*",
    "{{",
    "}}",
    "${",
    "a" * 9_000,
    "{{" * 9_000,
    "/*" * 9_000,
    "a." * 9_000,
    "\x00",
    "가나다",
    "set x=x" * 2_000,
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_lead_nowhere_and_break_nothing(base: Knowledge, text: str) -> None:
    assert base.command([text]) is None
    assert base.command([text, text]) is None
    assert base.uses(text, {text: text}) is None
    assert base.node("n8n", text) is None
    assert base.node(text, text, text, text) is None
    assert base.call(text, {"0": text}) is None
    assert base.call("cur.execute", {"0": text}) is None
    posted = base.http("POST", text)
    assert posted is not None
    assert (posted.action, len(posted.told) <= 80) == ("", True)


def test_an_update_that_adds_is_seen_only_behind_its_set(base: Knowledge) -> None:
    assert row_of(base.call("cur.execute", {"0": "update t set a = 1 where b = 2"})) == "db.update"
    assert row_of(base.call("cur.execute", {"0": "update t set a = t.a + 1"})) == "db.add"


def test_a_copy_that_ends_on_this_machine_changes_nothing_outside() -> None:
    base = load()
    for line, outward in (("rsync -a host:/a /b", False), ("scp host:/a .", False), ("rsync -a /b host:/a", True), ("scp a $TO", False)):
        effect = base.command(line.split())
        assert (effect is not None and effect.outward) is outward, line


@pytest.mark.parametrize("of", ["commands", "uses"])
def test_a_limit_of_a_tool_has_a_source(of: str) -> None:
    for name, told in table("limits")[of].items():
        assert told.keys() <= {"seconds", "options", "request", "source"}, name
        assert told["seconds"] > 0, name
        assert told["source"].startswith("https://"), name
