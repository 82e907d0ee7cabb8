from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from fhcrawl.documents.lists import URI_LIST, DocumentList, read

DATA = Path(__file__).parent.parent / "data" / "lists"
TYPES = {".index": "application/json", ".uris": URI_LIST}
LISTS = sorted(path for path in DATA.iterdir() if path.suffix in TYPES)
LOCATION = "https://feeds.example/snapshots/latest"


def read_file(path: Path, location: str) -> DocumentList | None:
    return read(path.read_bytes(), location, TYPES[path.suffix])


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_list_gives_what_the_file_beside_it_says(path: Path) -> None:
    listed = read_file(path, "file:///feeds/" if path.suffix == ".uris" else LOCATION)
    assert listed is not None
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    assert json.loads(json.dumps(asdict(listed))) == expected


def test_every_expectation_belongs_to_one_list() -> None:
    assert sorted(path.stem for path in DATA.glob("*.json")) == [path.stem for path in LISTS]


def test_list_of_uris_is_a_folders_or_none() -> None:
    assert read_file(DATA / "folder.uris", LOCATION) is None


@pytest.mark.parametrize("body", [b"", b"{}", b"<feed/>", b'{"version": "https://jsonfeed.org/version/1.1"}'])
def test_what_is_no_list_is_none(body: bytes) -> None:
    assert read(body, LOCATION, "application/json") is None
