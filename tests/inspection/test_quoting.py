"""R-K1: no secret and no personal address leaves in a quote."""

from __future__ import annotations

import pytest

from halfway.inspection.quoting import LONGEST, holds_secret, quoted

KEY = "a1B2c3D4" * 4
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
    '"x-api-key": "your_api_key1"',
    "SESSION_SECRET=${SESSION_SECRET:-at_least_16_signs}",
    "password = settings.mail.password1",
]


@pytest.mark.parametrize("text", NAMES)
def test_names_of_secrets_and_what_stands_in_for_them_are_no_secrets(text: str) -> None:
    assert not holds_secret(text)


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_taken_out_and_noticed(text: str) -> None:
    assert KEY not in quoted(text)
    assert holds_secret(text)


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
