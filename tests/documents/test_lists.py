import json
from dataclasses import asdict
from pathlib import Path

import pytest

from fhcrawl import documents
from fhcrawl.documents import DocumentList, FeedDocument
from fhcrawl.documents.lists import URI_LIST
from fhcrawl.exceptions import NotAFeedError

DATA = Path(__file__).parent.parent / "data" / "lists"
TYPES = {".index": "application/json", ".uris": URI_LIST}
LISTS = sorted(path for path in DATA.iterdir() if path.suffix in TYPES)
LOCATION = "https://feeds.example/snapshots/latest"


def read_file(path: Path, location: str) -> DocumentList | FeedDocument:
    return documents.read(path.read_bytes(), location, TYPES[path.suffix])


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_list_gives_what_the_file_beside_it_says(path: Path) -> None:
    listed = read_file(path, "file:///feeds/" if path.suffix == ".uris" else LOCATION)
    assert isinstance(listed, DocumentList)
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    assert json.loads(json.dumps(asdict(listed))) == expected


def test_list_of_uris_is_a_folders_or_none() -> None:
    with pytest.raises(NotAFeedError):
        read_file(DATA / "folder.uris", LOCATION)


def test_list_is_no_feed() -> None:
    with pytest.raises(NotAFeedError, match="a list of documents"):
        documents.as_feed(
            documents.read(next(path for path in LISTS if path.suffix == ".index").read_bytes(), LOCATION)
        )


def test_folder_of_too_many_files_is_an_error() -> None:
    body, most = b"file:///feeds/a\r\n" * 3, 3
    assert isinstance(documents.read(body, "file:///feeds/", URI_LIST, max_entries=most), DocumentList)
    with pytest.raises(NotAFeedError) as caught:
        documents.read(body + body, "file:///feeds/", URI_LIST, max_entries=most)
    assert caught.value.kind == "too-large"
