"""R-K1: no secret and no personal address leaves in a quote."""

from __future__ import annotations

import base64

import pytest

from halfway.inspection.quoting import LONGEST, holds_secret, quoted
from halfway.inspection.redacting import HIDDEN, shown_words

KEY = "a1B2c3D4" * 4


def token(role: str) -> str:
    """One that says itself whom it lets do what."""
    payload = base64.urlsafe_b64encode(f'{{"iss":"shop","role":"{role}"}}'.encode()).decode().rstrip("=")
    return f"eyJhbGciOiJIUzI1NiJ9.{payload}.abcdefgh12"


SECRETS = [
    f"token: ghp_{KEY}",
    f"curl -H 'Authorization: Bearer {KEY}' https://x.example",
    f"DATABASE_URL=postgres://app:{KEY}@db.example/x",
    f'"apiKey": "{KEY}"',
    f"url: https://x.example/hook?token={KEY}&a=1",
    f"https://hooks.slack.com/services/T000/B000/{KEY}",
    f"export STRIPE=sk_live_{KEY}",
    f"AWS_SECRET_ACCESS_KEY={KEY}",
    f"password='{KEY}'",
    f"-----BEGIN RSA PRIVATE KEY-----{KEY}",
]
REFERENCES = [
    "token: ${{ secrets.NPM_TOKEN }}",
    "curl -H 'Authorization: Bearer $TOKEN' https://x.example",
    '"apiKey": "={{ $credentials.key }}"',
    "api_key=os.environ['KEY']",
    "max_tokens: 1500",
    "git push https://x.example/a.git v1.2.3",
]


NAMES = [
    "secrets: inherit",
    'secrets: "SHOP-APP-ID-1,SHOP-APP-KEY-1"',
    "token_format: access_token2",
    "TOKEN_NAMES: 'SHOP_1,MAIL_2'",
    "SHOP_TOKEN_PATH: data/file2.txt",
    "secret = boto3.client('ssm')",
    "# export API_TOKEN=ab12cd34ef56",
    "POSTGRES_PASSWORD: postgres",
    "PGPASSWORD=test_user1",
    "DB_PASSWORD: SET_A_PASSWORD_HERE_1",
    "DATABASE_URL: postgres://shop:ab12cd34@localhost:5432/shop",
    "DATABASE_URL: postgres://shop:ab12cd34@db:5432/shop",
    "--query 'Outputs[?OutputKey==`Name1`].OutputValue'",
    "url: https://hooks.slack.com/services/YOUR/OWN/HOOK",
    "# curl https://hooks.slack.com/services/T.../B.../...",
    '"x-api-key": "your_api_key1"',
    "SESSION_SECRET=${SESSION_SECRET:-at_least_16_signs}",
    "password = settings.mail.password1",
    "curl 'https://api.indexnow.org/indexnow?url=https://shop.example&key=ab12cd34ef56ab12'",
    "OPENROUTER_API_KEY: sk-e2e-mock1",
    "export npm_config_electron_mirror_24=file:///deps/generic/",
    "    '-----BEGIN (RSA |EC |OPENSSH |)PRIVATE KEY-----'",
    "    '-----BEGIN.*PRIVATE KEY-----'",
    "NEXT_PUBLIC_SHOP_TOKEN: a1B2c3D4e5F6g7H8",
    "https://shop-dsn.algolia.net/1/indexes/*/queries?x-algolia-api-key=ab12cd34ef56ab12",
    'weak=("sk-1234567890abcdef")',
    f"SHOP_KEY: {token('anon')}",
    "if git diff | grep -q -- '-----BEGIN RSA PRIVATE KEY-----'; then",
    "echo DATABASE_URL=postgres://user:pass@ep-1.shop.example/shop",
    "JWT_SIGNING_KEY=CHANGE_ME_apart_from_shop_secret_key_token_urlsafe_64",
]


@pytest.mark.parametrize("text", NAMES)
def test_names_of_secrets_and_what_stands_in_for_them_are_no_secrets(text: str) -> None:
    assert not holds_secret(text)


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_taken_out_and_noticed(text: str) -> None:
    assert KEY not in quoted(text)
    assert holds_secret(text)


def test_a_token_that_is_not_for_all_is_a_secret() -> None:
    assert holds_secret(f"SHOP_KEY: {token('service')}")


def test_a_key_beside_one_for_everybody_is_a_secret() -> None:
    assert holds_secret(f"docker build --build-arg NEXT_PUBLIC_SHOP_TOKEN=a1B2c3D4e5F6g7H8 --build-arg T=ghp_{KEY} .")


def test_a_key_beside_a_pattern_is_a_secret() -> None:
    assert holds_secret(f"curl -u bot:ghp_{KEY} https://x.example/pem | grep BEGIN")


def test_an_open_key_beside_a_secret_acquits_nobody() -> None:
    assert holds_secret(f"curl -H 'Authorization: Bearer {KEY}' https://shop.example/indexnow")


def test_a_key_behind_another_is_taken_out_too() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----MIIEabc"
    assert "MIIE" not in quoted(f"get {key}/x={key}/desk")
    assert "MIIE" not in quoted(key.rsplit(" ", 1)[1])  # a word of a command


@pytest.mark.parametrize("text", REFERENCES)
def test_a_reference_to_a_secret_is_none(text: str) -> None:
    assert quoted(text) == text
    assert not holds_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "mail jane.doe+x@shop.example now",
        "to: '+82 10-1234-5678'",
        "call 010-1234-5678",
        "https://docs.acme.+82 10-1234-5678/x",
        "mcp__+82 10-1234-5678",
        "id 900101-1234567",
    ],
)
def test_addresses_of_persons_are_taken_out(text: str) -> None:
    shown = quoted(text)
    assert "[…]" in shown
    assert not any(part in shown for part in ("jane", "1234"))


def test_a_quote_is_one_bounded_line_that_cannot_move_the_cursor() -> None:
    shown = quoted("a\n\tb\x1b[31m\u202e" + "x" * 500)
    assert len(shown) == LONGEST
    assert shown.startswith("a b [31m x")
    assert all(sign.isprintable() for sign in shown)


@pytest.mark.parametrize(
    "text",
    [
        "git clone https://jane.doe@git.example/a.git",
        f"https://jane.doe:{KEY}@pay.example/x",
        "https://jane.doe:${{ secrets.TOKEN }}@git.example/a.git",
        "postgres://jane.doe:$PASSWORD@db.example/x",
        "git push https://jane.doe:${{",
    ],
)
def test_nobody_is_named_who_logs_in(text: str) -> None:
    assert "jane" not in quoted(text)


def test_a_reference_to_who_logs_in_stays() -> None:
    text = "https://${{ github.actor }}:${{ secrets.TOKEN }}@git.example/a.git"
    assert quoted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "to jane.doe＠shop.example", "?to=jane.doe%40shop.example", "jane%2Edoe%40shop%2Eexample", "jane.doe%2540shop.example",
        "jane.doe&#64;shop.example", "jane.doe\\u0040shop.example", "jane\u200b.doe@shop\u200b.example", "jane.doe@shop。example",
    ],
)  # fmt: skip
def test_an_address_of_a_person_is_one_however_it_is_written(text: str) -> None:
    assert not any(part in quoted(text) for part in ("jane", "doe", "shop"))


def test_a_sign_that_nobody_sees_hides_no_secret() -> None:
    assert "B2c3" not in quoted(f"x ghp_a1\u200b{KEY}\u00ad{KEY}")


ODD = "Zq7Kx9Wm2Lp4"
PLACES = [
    f"curl -u admin:{ODD} https://x.example",
    f"curl --user 'admin:{ODD}' https://x.example",
    f"curl --oauth2-bearer {ODD} https://x.example",
    f"curl -H 'Cookie: session={ODD}' https://x.example",
    f"curl https://x.example -b 'sid={ODD}'",
    f"curl -H 'Authorization: Token {ODD}' https://x.example",
    f"curl -H 'Authorization: GenieKey {ODD}' https://x.example",
    f"curl -H 'Authorization: {ODD}' https://x.example",
    f"curl https://x.example -d 'user=a&pass={ODD}'",
    f"curl https://x.example -d 'user=a&pwd={ODD}'",
    f'curl https://x.example -d \'{{"passphrase":"{ODD}"}}\'',
    f"curl 'https://x.example/api/f?code={ODD}'",
    f"npm publish --token {ODD}",
    f"docker login -u me --password {ODD}",
    f"gem push x.gem --key {ODD}",
    f"twine upload -u __token__ -p {ODD} dist/*",
    f"mysql -u root -p{ODD} -e 'DELETE FROM orders'",
    f"sqlcmd -S db.example -U sa -P {ODD} -Q 'DELETE FROM orders'",
    f"redis-cli -h r.example -a {ODD} FLUSHALL",
    f"sshpass -p '{ODD}' scp x h.example:/srv",
    f"lftp -u deploy,{ODD} ftp.example",
    f"az login --service-principal -u a -p {ODD} --tenant t",
    f"gh secret set X --body {ODD}",
    f"aws secretsmanager put-secret-value --secret-id x --secret-string {ODD}",
    f"aws ssm put-parameter --name /x --value {ODD}",
    f"kubectl create secret generic s --from-literal=pw={ODD}",
    f"vault kv put secret/x value={ODD}",
    f"heroku config:set STRIPE={ODD}",
    f"MYSQL_PWD={ODD} mysql -e x",
    f"helm upgrade x y --set adminPass={ODD}",
    f"openssl enc -k {ODD} -in a",
    f"PGPASSWORD='correct horse {ODD}' psql -c x",
    f'{{"password": "correct horse {ODD}"}}',
    *(f"curl https://x.example -d 'password={sign}{ODD}'" for sign in ("null", "true", "!", "<", "{", "ab,", "abcdef)", "7")),
    f"curl https://x.example -d 'password=${ODD}!'",
    f'"args": ["--api-key", "{ODD}"], "env": {{"STRIPE_KEY": "{ODD}"}}',
    f'headers={{"X-K": "{ODD}HDR"}}',
    f'auth=("{ODD}AUTH", "")',
    f'"url": "https://hook.eu1.make.com/{ODD.lower()}aaa"',
    f"https://api.telegram.org/bot{ODD}/sendMessage",
]
FORMS = [
    *(
        f"{sign}{KEY}"
        for sign in ("hf_", "npm_", "pypi-", "dckr_pat_", "shpat_", "dop_v1_", "xapp-1-", "hvs.", "tskey-auth-", "glrt-", "GOCSPX-")
    ),
    f"123456789:AA{KEY}xyz",
    "d4f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5",
    KEY,
]


WORD = "hunterpony"
PASSWORDS_OF_WORDS = [
    f'requests.post(u, auth=("bob", "{WORD}"), data=x)',
    f"requests.post(u, auth=('{WORD}', ''), data=x)",
    f'httpx.post(u, auth=["bob", "{WORD}"])',
    f's.login("bob", "{WORD}")',
    f's.login(os.environ["USER"], "{WORD}")',
    f"s.login(USER, 'correct {WORD}')",
    f'auth=HTTPBasicAuth("bob", "{WORD}")',
    f'es = Elasticsearch(url, basic_auth=("bob", "{WORD}"))',
    f'MySQLdb.connect("db.example", "root", "{WORD}", "shop")',
    f'ftplib.FTP("ftp.example", "bob", "{WORD}")',
    f"curl --user 'bob':'{WORD}' https://x.example",
    f'curl -u "bob":{WORD} https://x.example',
    f'http -a "bob":{WORD} POST x.example',
    f"http -a bob:{WORD} POST x.example",
    f"hey -a bob:{WORD} https://x.example",
    f'["http", "-a", "bob:{WORD}"]',
    f"curl -sSfu bob:{WORD} -X POST https://x.example",
    f"curl -X POST -u :{WORD} https://x.example",
    f'curl https://x.example --user bob:"correct {WORD}"',
    f"curl --digest --user 'bob:correct {WORD} staple' https://x.example",
    f"curl -X POST --cert a.pem:{WORD} https://x.example",
    f"psql -c \"alter user bob with password '{WORD}'\"",
    f"mysql -e \"create user bob identified with native by '{WORD}'\"",
    f"aws configure set aws_secret_access_key {WORD}",
    f"helm upgrade --install web x --set secrets.stripe={WORD}",
    f"skopeo copy --dest-creds bob:{WORD} docker://a docker://b",
    f"poetry publish -u bob -p {WORD}",
    f'{{"command": "npx", "args": ["pay-mcp", "-k", "{WORD}"]}}',
    f'{{"command": "npx", "env": {{"REGION": "${{REGION}}", "STRIPE": "{WORD}"}}}}',
    f"""curl -d '{{"credentials":{{"user":"bob","pw":"{WORD}"}}}}' https://x.example""",
    f"curl -H 'X-Key: {WORD}' https://x.example",
    f"headers={{'X-Api-Auth': '{WORD}'}}",
    f"curl -H 'Ocp-Apim-Subscription-Key: {WORD}' https://x.example",
    f'os.getenv("DB_PASSWORD", "{WORD}")',
    f"os.environ.get('API_TOKEN', '{WORD}')",
    f'config("SECRET_KEY", default="{WORD}")',
    f"process.env.API_SECRET || '{WORD}'",
    f'curl -d "${{DB_PASSWORD:-{WORD}}}" https://x.example',
    f"<password>{WORD}</password>",
    f'<wsse:Password Type="x">{WORD}</wsse:Password>',
    f'docker login -u bob --password-stdin <<< "{WORD}"',
    f"echo {WORD} | docker login -u bob --password-stdin",
    f"echo '{WORD}' | sudo -S rm x",
    f'echo "bob:{WORD}" | chpasswd',
    f'printf "%s" {WORD} | gh auth login --with-token',
    f"insert into users (name, password) values ('bob', '{WORD}')",
    f'User.objects.create_user("bob", "b", "{WORD}")',
    f"net user bob {WORD} /add",
    f"smbclient //h/s {WORD} -U bob",
    f"smbclient //h/s -U bob%{WORD}",
    f"htpasswd -bnBC 10 bob {WORD}",
    f"rclone config create r s3 secret_access_key {WORD}",
    f"vault login {WORD}",
    f"gpg --passphrase-fd 0 <<< {WORD}",
    f'PRAGMA key = "{WORD}"',
    f'SET PASSWORD FOR bob = PASSWORD("{WORD}")',
    f"https://x.example/?access_code={WORD}",
    rf'curl -d "{{\"password\": \"{WORD}\"}}" https://x.example',
    rf'curl --form "pass=\"{WORD}\"" https://x.example',
    f'curl --form-string "password=correct {WORD}" https://x.example',
    f"STRIPE_KEY={WORD} ./pay.sh",
    f'os.getenv("STRIPE_KEY","{WORD}")',
    f"curl -d key={WORD} https://x.example",
    f"curl -F passcode={WORD} https://x.example",
    f"""curl -d '{{"name":"password","value":"{WORD}"}}' https://x.example""",
    f'<add key="Password" value="{WORD}" />',
    f'Authorization: Digest username="bob", response="{WORD}"',
    f'curl -H "Authorization: Basic $(echo -n bob:{WORD} | base64)" https://x.example',
    f"curl -x bob:{WORD}@proxy:80 https://x.example",
    f"curl -u ${{{{ secrets.X }}}}:{WORD} https://x.example",
    f"kubectl create secret generic db --from-literal=password=a --from-literal=foo={WORD}",
    f"gh secret set MYTOK -b{WORD}",
    f"npm config set //registry.example/:_authToken {WORD}",
    f"nuget push a.nupkg {WORD} -Source x",
    f"jq -n --arg password {WORD} .",
    f"""printf '{{"password":"%s"}}' {WORD}""",
    f"curl -d password%3D{WORD} https://x.example",
    f"http x token:='\"{WORD}\"'",
    f'subprocess.run(["mysql", "-p{WORD}", "x"])',
    f'headers={{"Auth": "{WORD}"}}',
    f'execute("INSERT INTO users (email, passwd) VALUES (%s, %s)", ("b", "{WORD}"))',
    f"pass_hash=crypt('{WORD}', gen_salt('bf'))",
    f"curl -d x https://ntfy.sh/{WORD}",
    f"비밀번호={WORD}",
    f"Passwort={WORD}",
]


@pytest.mark.parametrize("text", PASSWORDS_OF_WORDS)
def test_a_password_that_is_a_word_is_told_by_its_place(text: str) -> None:
    assert WORD not in quoted(text)


@pytest.mark.parametrize("text", PLACES)
def test_what_stands_where_a_secret_does_is_taken_out(text: str) -> None:
    shown = quoted(text)
    assert not any(part in shown for part in (ODD, ODD.lower()))


@pytest.mark.parametrize("secret", FORMS)
def test_what_looks_like_a_key_is_taken_out_wherever_it_stands(secret: str) -> None:
    assert secret not in quoted(f"curl -X POST https://x.example/v1/{secret}/messages -H 'X-Foo: {secret}'")


def test_a_private_key_of_several_lines_is_taken_out_as_a_whole() -> None:
    assert "MIIE" not in quoted(f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{KEY}\n{KEY}\n-----END RSA PRIVATE KEY-----")


@pytest.mark.parametrize(
    "text",
    [
        "uses: shop/npm-get-version-action@b65137ca591da0b9f43bad7b24df13050ea45d1b # v1.10.1",
        "image: shop/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        'gh pr close "${{ github.event.pull_request.number }}"',
        "curl -H 'Authorization: Bearer {access_token}' https://x.example",
        "const tokenResponse = await this.helpers.httpRequest(ask)",
        'curl -H "Authorization: token $GITHUB_TOKEN" -u "$USER:$PASSWORD" https://x.example',
        "npm_config_store_dir: /root/.pnpm-store",
        "docker run -p 8080:80 -u 1000:1000 shop/app",
        "git push -u origin main",
        "mkdir -p /srv/shop && cp -p a b",
        'rsync -a "$FROM":/srv/shop host:/srv',
        "rsync -a host:/srv/shop /srv",
        'requests.post(u, auth=(USER, PASSWORD), data=("a", "b"))',
        'requests.post(u, auth=("bob", os.environ["PASSWORD"]))',
        's.login("bob", f"{password}")',
        'authors=("Bob", "Al")',
        '{"env": {"STRIPE_KEY": "${STRIPE_KEY}"}}',
        '["mkdir", "-p", "$OUT"]',
        '["docker", "run", "-p", "8080:80"]',
        'docker run -u "1000":"1000" shop/app',
        "key: build-${{ runner.os }}-${{ hashFiles('**/package-lock.json') }}",
        "https://docs.shop.example/pull-requests/reviewing-changes-in-pull-requests/about-pull-request-reviews",
        "docker login --password-stdin registry.example",
        'echo "$PW" | docker login --password-stdin',
        "insert into orders (id, name) values (1, 'blue shirt')",
        "headers={'Idempotency-Key': order.id}",
        "max_tokens: 4096",
        "os.getenv('REGION', 'eu')",
        "net user bob /delete",
        "SORT_KEY=name PUBLIC_KEY=a.pub",
        "with: {cache-key: v1-deps, key: build-1}",
        "-F key=@file",
        "items.sort(key=lambda order: order.id)",
    ],
)
def test_names_commits_and_references_stay(text: str) -> None:
    assert quoted(text) == text


@pytest.mark.parametrize("number", ["010 1234 5678", "4242 4242 4242 4242", "4242424242424242", "DE89370400440532013000", "123-45-6789"])
def test_numbers_of_persons_are_taken_out(number: str) -> None:
    assert number not in quoted(f"curl -d value={number} https://x.example")


def test_digits_are_a_secret_where_they_are_called_so() -> None:
    assert "1234" not in quoted('requests.post(u, json={"pin": "1234"})') + quoted("curl -H 'X-Pin: 1234' https://x.example")


def test_a_word_alone_is_taken_out_where_it_is_a_secret_in_its_command() -> None:
    assert shown_words(["gh", "secret", "set", "X", "--body", ODD]) == {
        "gh": "gh", "secret": "secret", "set": "set", "X": "X", "--body": "--body", ODD: HIDDEN,
    }  # fmt: skip
