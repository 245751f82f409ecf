from pathlib import Path

import pytest

from halfway_report.kinds import kind_of, marked, unwanted
from halfway_report.settings import ProjectSettings


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("package-lock.json", "lock file"),
        ("deep/down/Cargo.lock", "lock file"),
        ("go.sum", "lock file"),
        ("web/app.min.js", "minified"),
        ("web/app.js.map", "minified"),
        ("vendor/lib/a.go", "vendored"),
        ("web/node_modules/x/index.js", "vendored"),
        ("api/v1/service.pb.go", "generated"),
        ("api/service_pb2.py", "generated"),
        ("src/lock.py", ""),
        ("src/vendor.py", ""),
        ("src/administrator.js", ""),
        ("docs/한글.md", ""),
    ],
)
def test_the_usual_names_tell_what_a_file_is(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_a_repository_says_itself_what_is_generated() -> None:
    rules = marked(
        "# comment\n"
        "*.sql linguist-generated\n"
        "gen/** text linguist-generated=true\n"
        "api/*.ts linguist-vendored\n"
        "go.sum -linguist-generated\n"
        "keep.sql linguist-generated=false\n"
        "*.txt diff=evil\n"
    )
    expected = {
        "a/b.sql": "generated", "keep.sql": "", "gen/x/y.py": "generated", "src/gen/y.py": "", "api/a.ts": "vendored",
        "api/b/a.ts": "", "go.sum": "", "a.txt": "",
    }  # fmt: skip
    assert {path: kind_of(path, rules) for path in expected} == expected


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("fixtures/", ["fixtures/a", "tests/fixtures/b/c"], ["fixtures.py"]),
        ("*.svg", ["a.svg", "b/c.svg"], ["a.svgz"]),
        ("/data/*.csv", ["data/a.csv"], ["x/data/a.csv", "data/b/a.csv"]),
        ("docs/**/old", ["docs/old", "docs/a/b/old/c"], ["old"]),
        ("file?.[ch]", ["file1.c", "x/file2.h"], ["file12.c", "file1.o"]),
        ("a+b(c", ["a+b(c"], ["aab"]),
    ],
)
def test_the_settings_name_files_as_gitignore_does(pattern: str, hits: list[str], misses: list[str]) -> None:
    rules = unwanted([pattern])
    assert [path for path in hits + misses if kind_of(path, rules) == "unwanted"] == hits


def test_patterns_made_to_take_for_ever_are_not_tried() -> None:
    assert marked("*a*a*a*a*a*a*a*b linguist-generated\n") == []
    rules = marked("*a*b linguist-generated\n" * 500)
    assert kind_of("a" * 5_000, rules) == ""
    assert len(rules) <= 200


@pytest.mark.parametrize("pattern", ["a[z-a].py", "x[!].py", "x[^].py"])
def test_a_pattern_that_is_none_is_refused_and_the_others_hold(pattern: str) -> None:
    refused: list[str] = []
    rules = marked(f"{pattern} linguist-generated\n*.api linguist-generated\n", refused.append)
    assert (refused, kind_of("shop.api", rules)) == ([pattern], "generated")
    with pytest.raises(ValueError, match="no pattern"):
        ProjectSettings(repositories=(Path(),), drop=(pattern,))


def test_what_an_expression_would_take_for_a_sign_is_a_letter() -> None:
    assert kind_of("a[1.py", marked("a[[~&|]1.py linguist-generated\n")) == "generated"
