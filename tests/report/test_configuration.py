"""`report.toml`: what is wrong with it is told with the key and the nearest known one, and never with a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from halfway_report.configuration import ConfigurationMissing, ConfigurationWrong, find, read
from halfway_report.settings import LlmSettings, without_userinfo

PROJECT = '[projects.shop]\nrepositories = ["../shop"]\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "report.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> str:
    with pytest.raises(ConfigurationWrong) as refused:
        read(written(folder, text))
    return str(refused.value).removeprefix(f"{folder / 'report.toml'}: ")


def test_paths_begin_at_the_folder_of_the_file(tmp_path: Path) -> None:
    found = read(written(tmp_path, f'out = "daily"\nartifacts = "kept"\n{PROJECT}'))
    assert found.database == f"sqlite:///{tmp_path / 'report.db'}"
    assert found.artifacts == tmp_path / "kept"
    assert found.settings.out == tmp_path / "daily"
    assert found.settings.projects["shop"].repositories == (tmp_path / "../shop",)


def test_what_is_absolute_stays(tmp_path: Path) -> None:
    found = read(written(tmp_path, 'database = "postgresql://db/reports"\nout = "/srv/reports"\n[projects.shop]\nrepositories = ["~/a"]\n'))
    assert found.database == "postgresql://db/reports"
    assert found.settings.out == Path("/srv/reports")
    assert found.settings.projects["shop"].repositories == (Path.home() / "a",)


def test_the_file_is_looked_for_upwards(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    path = written(tmp_path, PROJECT)
    assert find(below) == path
    (nearer := below.parent / "report.toml").write_text(PROJECT)
    assert find(below) == nearer


def test_no_file_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationMissing, match="missing"):
        read(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'outt = "x"\n{PROJECT}', "outt: unknown; did you mean out?"),
        (f'databse = "x"\n{PROJECT}', "databse: unknown; did you mean database?"),
        (f'{PROJECT}timezone = "UTC"\n', "projects.shop.timezone: unknown; did you mean zone?"),
        (f'{PROJECT}[notion]\ndata_source_id = "1"\ntoken = "ntn_secret"\n', "notion.token: unknown; did you mean token_env?"),
        (f'{PROJECT}[schedules.shop]\ncrom = "0 9 * * *"\n', "schedules.shop.crom: unknown; did you mean cron?"),
        (f"{PROJECT}[schedules.shop]\nquux = 1\n", "schedules.shop.quux: unknown; known here: catch_up, cron, date"),
        (f'{PROJECT}[schedules.shopp]\ncron = "0 9 * * *"\n', "schedules.shopp: there is no project shopp"),
        (f'{PROJECT}zone = "Mars/Olympus"\n', "projects.shop.zone: no such time zone: Mars/Olympus"),
        ('[projects."a:b"]\nrepositories = ["x"]\n', "projects.a:b: has not the form ^[a-z0-9]"),
        ("[projects.shop]\nrepositories = []\n", "projects.shop.repositories: Tuple should have at least 1 item"),
        (f'{PROJECT}[notion]\ndata_source_id = "{"1" * 32}"\nsettle = -5\n', "notion.settle: Input should be greater than or equal to"),
        (f'{PROJECT}[notion]\ndata_source_id = "{"1" * 32}"\ntimeout = 0\n', "notion.timeout: Input should be greater than"),
        (f'{PROJECT}[llm]\nmodel = "tiny"\ntotal_timeout = -1\n', "llm.total_timeout: Input should be greater than"),
        ("", "projects: is missing"),
        ("[projects", "it is no TOML"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    assert told in faults(tmp_path, text)


def test_a_secret_in_place_of_the_name_of_its_variable_is_refused_and_not_repeated(tmp_path: Path) -> None:
    told = faults(tmp_path, f'{PROJECT}[notion]\ndata_source_id = "1"\ntoken_env = "ntn_7f-very secret"\n')
    assert "notion.token_env: write the name of an environment variable here" in told
    assert "7f-very" not in told


@pytest.mark.parametrize("token", ["ntn_46381927364512abcdEFGH0123456789abcdEFGH0123456", "a1b2c3d4e5f6"])
def test_a_token_that_could_be_a_name_is_no_name_of_a_variable(tmp_path: Path, token: str) -> None:
    told = faults(tmp_path, f'{PROJECT}[notion]\ndata_source_id = "{"1" * 32}"\ntoken_env = "{token}"\n')
    assert told.count("notion.token_env") == 1
    assert token not in told
    with pytest.raises(ValueError, match="api_key_env") as wrong:
        LlmSettings(model="tiny", api_key_env=token)
    assert token not in str(wrong.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://kim:s3cret@models.example:8080/v1", "http://models.example:8080/v1"),
        ("http://kim:s3/cret@models.example", "http://models.example"),
        ("http://models.example/v1", "http://models.example/v1"),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(url: str, shown: str) -> None:
    assert without_userinfo(url) == shown


def test_no_value_is_repeated_beside_an_unknown_key(tmp_path: Path) -> None:
    assert "ntn_secret" not in faults(tmp_path, f'{PROJECT}[notion]\ndata_source_id = "1"\ntoken = "ntn_secret"\n')
