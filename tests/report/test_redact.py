import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfway_report.redact import Redactor

# Written in parts, so that no scanner takes this file for a leak.
redact = Redactor()  # secrets only
SECRETS = {
    "github": "ghp_" + "a1B2" * 9,
    "gitlab": "glpat-" + "a1B2c3D4e5" * 2,
    "aws": "AKIA" + "ABCD2345" * 2,
    "notion": "ntn_" + "a1B2" * 10,
    "openai": "sk-" + "proj-" + "a1B2c3D4" * 3,
    "slack": "xoxb-" + "123456789012-abcdef",
    "google": "AIza" + "a1B2c3D" * 5,
    "jwt": "eyJ" + "hbGciOiJI.eyJ" + "zdWIiOiIx.c2lnbmF0dXJl",
    "private-key": "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE" + " KEY-----",
}


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items(), ids=SECRETS.keys())
def test_a_secret_with_a_shape_of_its_own_is_replaced(kind: str, secret: str) -> None:
    text, counts = redact(f"before {secret} after")
    assert text == f"before [REDACTED:{kind}] after"
    assert counts == {kind: 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: hunter2x", "password: [REDACTED:assignment]"),
        ("+MY_CUSTOM_SECRET=abcdef123", "+MY_CUSTOM_SECRET=[REDACTED:assignment]"),
        ("-  api-key = 'abc def ghi'", "-  api-key = '[REDACTED:assignment]'"),
        ('{"db_password": "abcdef"}', '{"db_password": "[REDACTED:assignment]"}'),
        ("token=abc123456, then", "token=[REDACTED:assignment], then"),
        ("postgres://shop:s3cret@db.example/shop", "postgres://[REDACTED:url-password]@db.example/shop"),
        ("redis://:s3cret@cache", "redis://[REDACTED:url-password]@cache"),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [REDACTED:bearer]"),
        ("password: `hunter22secret`", "password: `[REDACTED:assignment]`"),
        ('password := "hunter22secret"', 'password := "[REDACTED:assignment]"'),
        (":password => 'hunter22secret'", ":password => '[REDACTED:assignment]'"),
        ("password=hunt,er22secret, then", "password=[REDACTED:assignment], then"),
        ("AccountKey=abcdefghijklmnop==;x", "AccountKey=[REDACTED:assignment];x"),
        ("DB_PASS=hunter22secret", "DB_PASS=[REDACTED:password]"),
        ("PWD=hunter22secret", "PWD=[REDACTED:password]"),
        ("Authorization: token abcdef0123456789abcdef", "Authorization: token [REDACTED:authorization]"),
        ("https://oauthtoken1234567890@host/x", "https://[REDACTED:url-token]@host/x"),
        ("postgres://u:p/ss#w0rd@h/db", "postgres://[REDACTED:url-password]@h/db"),
    ],
)
def test_a_secret_that_its_surroundings_betray_is_replaced(text: str, expected: str) -> None:
    assert redact(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
        "Rotate the tokens of the session",
        "https://shop.example/a:b/c@d",
        "Rename password field",
        "The tests pass: everything is well",
        "map tokens.map(token => check(token))",
        "http://registry:4873/@shop/app",
        "ssh://git@shop.example/app",
        "Authorization: see docs/authorization-guide.md",
        "token: short",
        "한글 비밀번호 변경",
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == (text, {})


def test_a_second_pass_changes_nothing() -> None:
    text = "\n".join([*SECRETS.values(), "password: hunter2x", "postgres://u:p4ss@h", "Bearer abcdefghijklmnop1234"])
    once = redact(text)
    assert redact(once.text) == (once.text, {})
    assert sum(once.counts.values()) == len(SECRETS) + 3


def test_a_key_without_its_end_is_cut_to_the_end_of_the_text() -> None:
    assert redact("x -----BEGIN PRIVATE" + " KEY-----\nMIIE\nab").text == "x [REDACTED:private-key]"


PEOPLE = Redactor(emails=True, people=True, names=("Kim Minsu", "김민수"), patterns={"ticket": r"PLAT-\d+", "all": r"z+"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Signed-off-by: Jane Doe <jane@shop.example>", "Signed-off-by: [REDACTED:person]"),
        ("Reviewed-by: Jane Doe", "Reviewed-by: [REDACTED:person]"),
        ("Group-by: the day", "Group-by: the day"),
        ("write to jane.doe+x@mail.shop.example, please", "write to [REDACTED:email], please"),
        ("git@github.com:shop/app.git and pkg@1.2.3", "git@github.com:shop/app.git and pkg@1.2.3"),
        ("as kim minsu said", "as [REDACTED:name] said"),
        ("김민수가 말했다", "[REDACTED:name]가 말했다"),
        ("Kim Minsuh is another one", "Kim Minsuh is another one"),
        ("PLAT-12 is done", "[REDACTED:ticket] is done"),
    ],
)
def test_people_and_own_patterns_go_where_the_settings_say_so(text: str, expected: str) -> None:
    once = PEOPLE(text)
    assert once.text == expected
    assert PEOPLE(once.text) == (expected, {})


@given(
    st.text(alphabet="axzP-1: =/@.<>\n[]RE\U000f0001가", max_size=60), st.sampled_from([*SECRETS.values(), "token=", "", "[REDACTED:jwt]"])
)
@settings(max_examples=150, deadline=None)
def test_a_second_pass_changes_nothing_whatever_the_text(text: str, secret: str) -> None:
    once = PEOPLE(f"{text}{secret}{text}")
    assert PEOPLE(once.text) == (once.text, {})


def test_a_mark_that_somebody_else_wrote_stays_a_mark() -> None:
    text = "[REDACTED:something] and [REDACTED:all]"
    assert PEOPLE(text) == (text, {})


@pytest.mark.parametrize(
    "piece",
    [
        "S",
        "token",
        "token=",
        "eyJaaaaaaaa-",
        "-----BEGIN A",
        "<",
        "Cc: <",
        "a-",
        "a@b.",
        "://a:",
        " ",
        "Reviewed-by: ",
        "x.",
        "ghp_",
        "\"'",
        "https://a:b/",
        "authorization: a",
        "pass=",
        "`",
        "=> ",
        ",",
    ],
)
def test_no_text_takes_for_ever(piece: str) -> None:
    """The limit of the test is the limit; each of these is quadratic in an expression written without care."""
    PEOPLE(piece * (2**16 // len(piece)))
    PEOPLE("password: " + piece * (2**16 // len(piece)))
    PEOPLE("Cc: " + piece * (2**16 // len(piece)))
