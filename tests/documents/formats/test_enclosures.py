"""Files of entries in the spellings that publishers use, in each format."""

import json
from typing import Any

import pytest

from fhcrawl.documents import FeedDocument
from fhcrawl.documents.modules import unsigned
from tests.feeds import URL, kinds, read, read_atom

FILE = "http://feeds.example/dir/1.mp3"
NAMESPACES = (
    'xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:old="https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md" '
    'xmlns:atom="http://www.w3.org/2005/Atom"'
)


def read_rss(inside: str) -> FeedDocument:
    item = f"<item><guid>1</guid><title>t</title>{inside}</item>"
    return read(f"<rss {NAMESPACES}><channel>{item}</channel></rss>".encode(), URL)


def read_json(*attachments: Any) -> FeedDocument:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "items": [{"id": "1", "attachments": attachments}],
    }
    return read(json.dumps(feed).encode(), URL)


def files(document: FeedDocument) -> list[tuple[object, ...]]:
    return [tuple(file.values()) for file in document.entries[0].enclosures]


AUDIO = (FILE, "audio/mpeg", 1234)
SOURCE = '<podcast:source uri="1.mp3"/><podcast:source uri="ipfs://1"/>'
ALTERNATE = (
    f'<podcast:alternateEnclosure type="audio/mpeg" length="1234">{SOURCE}</podcast:alternateEnclosure>'
)


@pytest.mark.parametrize(
    "inside",
    [
        '<enclosure url="1.mp3" type="audio/mpeg" length="1234"/>',
        '<enclosure URL="1.mp3" Type="audio/mpeg" Length=" 1234 "/>',
        '<enclosure href="1.mp3" mimetype="audio/mpeg" size="1234"/>',
        '<enclosure src="1.mp3" mime="audio/mpeg" fileSize="1234.0"/>',
        '<enclosure link="1.mp3" url=" " mime-type="audio/mpeg" length="" size="1.234e3"/>',
        f'<enclosure type="audio/mpeg" length="1234">\n{FILE}\n</enclosure>',
        '<enclosure type="audio/mpeg" length="1234">/dir/1.mp3</enclosure>',
        "<enclosure><url>1.mp3</url><type>audio/mpeg</type><length>1234</length></enclosure>",
        ALTERNATE,
        ALTERNATE.replace("podcast:", "old:"),
        '<old:alternateEnclosure length="1234"><old:source uri="1.mp3" contentType="audio/mpeg"/>'
        "</old:alternateEnclosure>" + ALTERNATE,
    ],
)
def test_file_of_rss_is_read_in_any_spelling(inside: str) -> None:
    document = read_rss(inside)
    assert files(document) == [AUDIO]
    assert not document.problems


def test_alternate_enclosure_counts_where_no_enclosure_is() -> None:
    own = '<enclosure url="own.mp3"/>'
    for inside in (ALTERNATE + own, own + ALTERNATE, ALTERNATE + '<media:content url="own.mp3"/>'):
        assert [url for url, *_ in files(read_rss(inside))] == ["http://feeds.example/dir/own.mp3"]


RELATION = "http://opds-spec.org/acquisition"


@pytest.mark.parametrize("rel", [RELATION, f"{RELATION}/open-access", f"{RELATION}/borrow x", "enclosure"])
def test_acquisition_link_of_opds_is_an_enclosure(rel: str) -> None:
    link = f'<link rel="{rel}" href="1.mp3" type="audio/mpeg" size="1234"/>'
    document = read_atom(f"<entry><id>1</id><title/>{link}</entry>")
    assert files(document) == [AUDIO]


def test_other_link_of_opds_is_no_enclosure() -> None:
    link = '<link rel="http://opds-spec.org/image" href="1.png"/>'
    assert not files(read_atom(f"<entry><id>1</id><title/>{link}</entry>"))


@pytest.mark.parametrize(
    "attachment",
    [
        {"url": "1.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 1234},
        {"href": "1.mp3", "mimeType": "audio/mpeg", "size": "1234"},
        {"src": "1.mp3", "type": "audio/mpeg", "length": 1234.0},
    ],
)
def test_attachment_of_json_feed_is_read_in_any_spelling(attachment: dict[str, Any]) -> None:
    assert files(read_json(attachment)) == [AUDIO]
    assert files(read_json("1.mp3")) == [(FILE, None, None)]


@pytest.mark.parametrize(
    "inside",
    [
        *("<enclosure/>", '<enclosure url=""/>', '<enclosure type="audio/mpeg">none</enclosure>'),
        *('<media:content medium="audio"/>', '<podcast:alternateEnclosure type="audio/mpeg"/>'),
        '<atom:link rel="enclosure" type="audio/mpeg"/>',
    ],
)
def test_element_of_a_file_without_one_is_a_problem(inside: str) -> None:
    document = read_rss(inside)
    assert (files(document), kinds(document)) == ([], ["empty-enclosure"])


def test_link_or_attachment_without_a_file_is_a_problem() -> None:
    entry = '<entry><id>1</id><title>t</title><link rel="enclosure" href=" "/><link/></entry>'
    assert kinds(read_atom(entry)) == ["empty-enclosure"]
    assert kinds(read_json({"mime_type": "audio/mpeg"}, 1, None)) == ["empty-enclosure", "empty-enclosure"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(
            ("1234", 1234),
            ("1234.0", 1234),
            ("1.234e6", 1_234_000),
            ("1.5E+1", 15),
            ("12345678.00", 12345678),
        ),
        *(("1,234,567", 1234567), ("12.345.678", 12345678), ("1 234 567", 1234567), ("1'234'567", 1234567)),
        *(("1\u202f234\u202f567", 1234567), ("1,234", None), ("1.234", None), ("1.5", None), ("1e-3", None)),
        *(("1,234.567", None), ("1.234,567,890", None), ("12,34,567", None), ("1e20", None), ("nan", None)),
        *(("-1", None), ("0x10", None), ("12 MB", None), ("٣", None), ("1e999999", None)),
    ],
)
def test_number_is_read_if_it_has_one_meaning(text: str, number: int | None) -> None:
    assert unsigned(text) == number
