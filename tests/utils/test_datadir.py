import os
from pathlib import Path

import pytest
from scrapy.settings import Settings

from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.datadir import base_of, data_dir, data_file
from tests.projects import ROOT, Project


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("XDG_", "SCRAPY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(data: str | None = None) -> Settings:
    return Settings({"FHCRAWL_DATA_DIR": data})


def test_setting_chooses_the_data_folder(home: Path) -> None:
    assert data_file(settings(f"{home}/some/where"), "x") == home / "some" / "where" / "x"
    assert (home / "some" / "where").is_dir()


def test_data_of_a_project_are_in_it_and_others_are_the_users(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_user = home / ".local" / "share" / "fhcrawl"
    assert data_dir(settings()) == of_user
    # As Scrapyd has it, from the egg; and in the folder of the source.
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "pipelines_config.embedded")
    assert data_dir(settings()) == of_user
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE")
    monkeypatch.chdir(ROOT / "fhcrawl")
    assert data_dir(settings()) == of_user
    (home / "scrapy.cfg").touch()
    (home / "below").mkdir()
    monkeypatch.chdir(home / "below")
    assert data_dir(settings()) == home / ".scrapy"


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("data", r"FHCRAWL_DATA_DIR must be an absolute path .*, not data"),
        ("{}/file/data", r"/file/data \(Not a directory\); set FHCRAWL_DATA_DIR to"),
    ],
)
def test_data_directory_that_cannot_be_made_is_a_sentence(home: Path, given: str, reported: str) -> None:
    (home / "file").touch()
    with pytest.raises(ArgumentError, match=reported):
        data_file(settings(given.format(home)), "x")


def test_relative_paths_are_relative_to_the_data_in_a_job_of_scrapyds(home: Path) -> None:
    assert base_of(settings(str(home)), {"_job": "1"}) == home
    assert base_of(settings(str(home)), {}) == Path()


@pytest.mark.sqlite_only("a file in the data directory")
def test_environment_variable_chooses_the_store(project: Project, tmp_path: Path) -> None:
    feed = (ROOT / "tests" / "data" / "nothing.atom").as_uri()
    data = tmp_path / "elsewhere"
    run = project.crawl(feed, FHCRAWL_DATA_DIR=str(data))
    assert (data / "fhcrawl.sqlite").exists()
    assert f"Store: sqlite:///{data}/fhcrawl.sqlite" in run.log
