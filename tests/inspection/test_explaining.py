"""What the knowledge base says of an action in sentences."""

from dataclasses import replace

import pytest

from halfway.inspection.finding import Said
from halfway.inspection.knowledge import load
from halfway.inspection.knowledge.explaining import KINDS, REPEATS, REVERSIBLE, TRUSTS, explain, find, like, listed
from halfway.inspection.knowledge.rows import parse
from halfway.inspection.model import Kind, Repeat, Reversible
from halfway.inspection.reports import words

KNOWN = load()

(ROW,) = parse(
    "made.toml",
    """
[[action]]
id = "vendor.pay"
kinds = ["NOTIFY", "MONEY"]
repeat = "with_key"
reversible = "window"
key = { where = "header X-Key", seconds = 600 }
minted_by_sdk = true
probe = "GET /things"
compensation = "Refund it."
mails = true
sources = ["https://vendor.example/a", "https://vendor.example/b"]
checked = 2026-11-29
trust = "known"
""",
)


def said(**changes: object) -> list[str]:
    return [words(one) for one in explain(replace(ROW.action, **changes))]


def test_everything_that_is_known_is_said_in_order() -> None:
    assert said() == [
        "vendor.pay",
        "It tells people something.",
        "It moves money, or promises it.",
        "A second call is safe only with the same key as the first.",
        "The receiver tells a repeat by: header X-Key",
        "It remembers that for 600 seconds.",
        "The SDK makes a key for each call when none is given; that protects only the SDK's own retries.",
        "To look without changing anything: GET /things",
        "It can be taken back for a while, or in part.",
        "To set it right: Refund it.",
        "People hear of it, and of every repeat.",
        "Needs confirmation: the sources are official, and were not read again on 2026-11-29.",
        "Source: https://vendor.example/a",
        "Source: https://vendor.example/b",
    ]


def test_what_is_not_there_is_said_too() -> None:
    assert said(key=None, repeat=Repeat.UNKNOWN, reversible=Reversible.NO, probe="none", compensation="none", mails=False)[3:-3] == [
        "What a second call does is not known.",
        "There is no way to look whether it has happened.",
        "It cannot be taken back.",
        "There is nothing that takes it back: hand it to a person.",
    ]


def test_there_is_a_sentence_for_every_word() -> None:
    assert (set(KINDS), set(REPEATS), set(REVERSIBLE)) == (set(Kind), set(Repeat), set(Reversible))
    assert len(TRUSTS) == 3


def test_every_row_of_the_base_can_be_explained() -> None:
    for action in KNOWN.actions():
        lines = [words(one) for one in explain(action)]
        assert lines[0] == action.id
        assert find(KNOWN, action.id) is action
        assert lines[-len(action.sources) :] == [f"Source: {source}" for source in action.sources]


def test_what_the_base_says_in_words_is_a_sentence_of_its_own() -> None:
    for action in KNOWN.actions():
        told = {action.probe, action.compensation, *([action.key.where] if action.key else [])} - {"none"}
        filled = [value for one in explain(action) for value in one.params.values()]
        assert {one.text for one in filled if isinstance(one, Said)} == told


@pytest.mark.parametrize(
    ("said", "id"),
    [
        ("gh release create", "github.release"), ("twine upload", "pypi.upload"),
        ("peter-evans/create-pull-request", "github.pull.update"), ("peter-evans/create-pull-request@v7", "github.pull.update"),
        ("POST api.stripe.com/v1/refunds", "stripe.refund"), ("POST https://api.stripe.com/v1/refunds", "stripe.refund"),
        ("stripe.PaymentIntent.create", "stripe.charge"), (" npm publish ", "npm.publish"),
        ("sns publish", "sns.publish"), ("gmail message send", "mail.send"), ("google-sheets:addRow", "sheets.append"),
    ],
)  # fmt: skip
def test_an_action_is_found_by_the_words_of_a_card(said: str, id: str) -> None:
    found = find(KNOWN, said)
    assert (found and found.id) == id


@pytest.mark.parametrize(
    "said",
    ["", "POST api.stripe.com", "POST nobody.example/x", "nobody/knows", "make 'it", "a.b", "list", "x y", "a b c", "ec2 rebootInstances"],
)
def test_what_is_not_known_or_could_be_several_is_not_guessed(said: str) -> None:
    assert find(KNOWN, said) is None


def test_ids_are_proposed_by_their_spelling_and_by_the_vendor() -> None:
    assert like(KNOWN, "github.releese")[0] == "github.release"
    assert "stripe.refund" in like(KNOWN, "POST api.stripe.com")


def test_every_action_is_listed_with_what_it_does() -> None:
    found = {id: [words(one) for one in does] for id, does in listed(KNOWN)}
    assert list(found) == [action.id for action in KNOWN.actions()]
    assert found["npm.publish"] == ["It publishes; what is out cannot be made different."]
    assert all(found.values())
