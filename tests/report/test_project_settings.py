"""What a project may say of itself, and that the guide tells all of it."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from halfway_report.settings import PersonalData, ProjectSettings
from tests.docs.pages import page


def refused(**values: object) -> str:
    with pytest.raises(ValidationError) as caught:
        ProjectSettings.model_validate({"repositories": ["."], **values})
    return str(caught.value)


@pytest.mark.parametrize("branch", ["--output=x", "a..b", "a b", "HEAD^", "a:b", "x@{1}", "a/", "", "*", "a\nb", "/a", ".a", "a.lock"])
def test_a_branch_is_a_name_and_nothing_else(branch: str) -> None:
    assert "no name of a branch" in refused(basis="landed", branch=branch)


@pytest.mark.parametrize("branch", ["main", "release/1.2", "origin/main", "기능/결제", "a-b_c+d"])
def test_the_usual_names_of_branches_are_taken(branch: str) -> None:
    assert ProjectSettings(repositories=(Path(),), basis="landed", branch=branch).branch == branch


def test_a_branch_without_the_basis_that_asks_for_it_is_a_mistake() -> None:
    assert "only asked for where the basis is landed" in refused(branch="main")


@pytest.mark.parametrize(
    ("expression", "words"), [("(", "no regular expression"), (".*", "matches the empty text"), ("", "matches the empty text")]
)
def test_an_expression_that_would_match_everywhere_or_nowhere_is_refused(expression: str, words: str) -> None:
    assert words in refused(exclude_authors=[expression])
    assert words in refused(personal={"patterns": {"own": expression}})


@pytest.mark.parametrize("calendar", ["XX", "US-QQ", "", "korea!"])
def test_a_calendar_that_nobody_knows_is_refused_before_a_day_is_asked_for(calendar: str) -> None:
    assert "no holidays are known" in refused(calendar=calendar)


def test_the_guide_names_every_key_with_its_default() -> None:
    table = re.findall(r"^\| (`.+?) \| (.*?) \|", page("docs/guides/report-git.md").text, re.MULTILINE)
    named = {key.strip("` ") for keys, _ in table for key in keys.split(",")}
    expected = {*ProjectSettings.model_fields, *(f"personal.{key}" for key in PersonalData.model_fields)} - {"personal"}
    assert expected <= named
    assert dict(table)["`context_tokens`"] == str(ProjectSettings.model_fields["context_tokens"].default)
