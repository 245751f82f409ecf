"""Secrets never reach the database (R-A10)."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfway.authoring.redaction import redact

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"

# The text, the part that must go, the kind that stands for it.
SECRETS = [
    (KEY, "MIIEpAIBAAKCAQEA", "private-key"),
    (KEY[:70], "MIIEpAIBAAKCAQEA", "private-key"),
    ("cloned with ghp_" + "a1B2" * 9, "ghp_", "github-token"),
    ("github_pat_" + "a1B2_" * 9, "a1B2", "github-token"),
    ("key AKIA" + "ABCDEFGH12345678", "AKIA", "aws-key"),
    ("ntn_" + "123456789a" * 4, "123456789a", "notion-token"),
    ("sk-proj-" + "a1b2c3d4" * 4, "a1b2c3d4", "api-key"),
    ("xoxb-" + "123456789012-abcdef", "123456789012", "slack-token"),
    (f"sent {JWT} along", JWT, "jwt"),
    ("postgresql://app:pa55@w0rd@db:5432/x", "w0rd", "password"),
    ("redis://:s3cr3t@cache", "s3cr3t", "password"),
    ("Authorization: Bearer abcdef123456", "abcdef123456", "bearer"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "authorization"),
    ("password=hunter2", "hunter2", "password"),
    ("DB_PASSWORD = 'correct horse'", "correct horse", "password"),
    ("password: swordfish", "swordfish", "password"),
    ("api_key=abc123def", "abc123def", "secret"),
    ("token: q1w2e3r4", "q1w2e3r4", "secret"),
    ("{'client_secret': 'ab cd'}", "ab cd", "secret"),
    ('{"password": "a\\"b c"}', "b c", "password"),
    (json.dumps({"body": json.dumps({"access_token": "opaque value"})}), "opaque value", "secret"),
]


@pytest.mark.parametrize(("text", "secret", "kind"), SECRETS, ids=[kind for _, _, kind in SECRETS])
def test_a_secret_is_replaced_in_plain_text_and_in_json(text: str, secret: str, kind: str) -> None:
    for value in (text, f"line\n{text}", f"토큰은{text}"):
        assert secret not in redact(value)
        assert f"[REDACTED:{kind}]" in redact(value)
        for escaped in (True, False):
            stored = redact(json.dumps({"note": value, "n": 1}, ensure_ascii=escaped))
            assert secret not in stored
            assert f"[REDACTED:{kind}]" in stored
            assert json.loads(stored)["n"] == 1
            assert redact(stored) == stored


@pytest.mark.parametrize("name", ["password", "dbPassword", "passwd", "token", "access_token", "apiKey", "client_secret"])
def test_a_field_with_a_telling_name_is_replaced(name: str) -> None:
    stored = redact(json.dumps({name: 'opaque "value"', "other": "kept"}))
    assert "opaque" not in stored
    assert json.loads(stored)["other"] == "kept"


@pytest.mark.parametrize(
    "text",
    [
        "the task-force is at risk-assessment-level-2024-of-the-year",
        '{"maxTokens": 512, "tokens": [1, 2]}',
        '{"token": 5, "password": null, "passwordSet": true}',
        "https://example.org:8080/a@b",
        "the bearer of good news",
        "the token: refresh it before use",
        "PyJWT reads eyJ",
        '{"key": "lead:s-1042"}',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


PIECES = st.sampled_from(
    ['"', "\\", "\n", "password", "token", "=", ": ", "'", " ", "://u:p@h", "bearer ", "a1b2c3d4e5f6", "한", "-----BEGIN PRIVATE KEY-----"]
)


TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(st.recursive(TEXTS, lambda inner: st.dictionaries(TEXTS, inner, max_size=3) | inner.map(json.dumps)))
def test_json_stays_json_and_a_second_pass_changes_nothing(value: object) -> None:
    stored = redact(json.dumps(value))
    json.loads(stored)
    assert redact(stored) == stored


EVIL = """password a a:// ://a bearer- token= token\\ token\\":\\" eyJ -eyJ sk- -sk- token- password= token=' a: \\u0000 xoxb- ghp_"""


@pytest.mark.parametrize("piece", [*EVIL.split(), "bearer ", "token ", "-----BEGIN PRIVATE KEY-----", "authorization: basic "])
def test_no_text_takes_long(piece: str) -> None:
    text = "token ://" + piece * (262_144 // len(piece)) + "://"
    before = time.process_time()
    redact(text)
    assert time.process_time() - before < 2
