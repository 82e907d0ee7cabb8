import json

import pytest

from fhcrawl.exceptions import NotAFeedError
from tests.feeds import URL, atom_feed, ids, kinds, read


@pytest.mark.parametrize("where", ["", " " * 2**20], ids=["whole", "in pieces"])
def test_tombstones_are_as_many_as_entries(where: str) -> None:
    inside = f"<at:deleted-entry ref='a'/>{where}" * 3
    body = atom_feed(inside, "xmlns:at='http://purl.org/atompub/tombstones/1.0'")
    document = read(body, URL, max_entries=2)
    assert (len(document.tombstones), kinds(document).count("too-many")) == (2, 1)


# Each entry's day of a month; '-' for one without a time.
@pytest.mark.parametrize(
    ("days", "kept"),
    [
        *(("54321", "543"), ("12345", "345"), ("51234", "534"), ("31524", "354"), ("22222", "222")),
        *(("-----", "---"), ("5--21", "5--"), ("1234-", "34-"), ("-1234", "-34")),
    ],
)
def test_newest_entries_are_kept_in_their_order(days: str, kept: str) -> None:
    def entry(name: str, day: str) -> dict[str, str]:
        time = {} if day == "-" else {"date_published": f"2003-01-0{day}"}
        return {"id": f"{name}{day}", "content_text": "x", **time}

    items = [entry(name, day) for name, day in zip("abcde", days, strict=True)]
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "title": "T", "items": items}).encode()
    document = read(body, URL, max_entries=3)
    assert "".join((entry.id or "")[-1] for entry in document.entries) == kept
    [problem] = document.problems
    assert problem.detail.startswith("has 5 entries: only the newest 3 are read")


def test_headers_of_a_part_are_as_long_as_those_of_a_response() -> None:
    def document(count: int) -> bytes:
        return b"--b\nContent-ID: a\n" + b"Header: b\n" * count + b"\nx\n--b--"

    content_type = "multipart/mixed; boundary=b"
    assert [entry.id for entry in read(document(10_000), URL, content_type).entries] == ["a"]
    with pytest.raises(NotAFeedError, match="headers of more than 128 KiB"):
        read(document(14_000), URL, content_type)


def test_entry_with_a_text_that_is_too_long_is_left_out() -> None:
    items = ",".join(f'{{"id":"{n}","content_text":"{"x" * n}"}}' for n in (1, 10_000_000, 10_000_001))
    document = read(f'{{"version":"https://jsonfeed.org/version/1","items":[{items}]}}'.encode(), URL)
    assert (ids(document), kinds(document)) == (["1", "10000000"], ["entry-lost"])
