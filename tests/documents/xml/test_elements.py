from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pytest

from tests.feeds import read

if TYPE_CHECKING:
    from fhcrawl.documents import FeedDocument

LOCATION = "http://feeds.example/dir/feed"
ATOM = "http://www.w3.org/2005/Atom"


def read_atom(
    inside: str,
    attributes: str = "",
    doctype: str = "",
    max_entries: int = 0,
) -> FeedDocument:
    body = f'{doctype}<feed xmlns="{ATOM}" {attributes}>{inside}</feed>'.encode()
    return read(body, LOCATION, max_entries=max_entries)


def titled(title: str) -> str:
    return f'<feed xmlns="{ATOM}"><title>{title}</title></feed>'


# --- the encoding


def test_charset_of_the_header_is_used_where_the_document_says_nothing() -> None:
    assert read(titled("Café").encode("iso-8859-1"), LOCATION, "text/xml; charset=iso-8859-1").title == "Café"
    assert (
        read(titled("Привет").encode("windows-1251"), LOCATION, "text/xml; charset=windows-1251").title
        == "Привет"
    )


def test_document_that_says_nothing_is_utf_8_without_a_header() -> None:
    assert read(titled("Café").encode(), LOCATION).title == "Café"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_byte_order_mark_wins_over_the_header(mark: bytes, encoding: str) -> None:
    assert (
        read(mark + titled("Café").encode(encoding), LOCATION, "text/xml; charset=iso-8859-1").title == "Café"
    )


@pytest.mark.parametrize(
    "declaration",
    [
        '<?xml version="1.0" encoding="iso-8859-1"?>',
        "<?xml version='1.0' encoding = 'iso-8859-1' standalone='yes'?>",
        '<?xml version="1.0"\n encoding="iso-8859-1"?>',
    ],
)
def test_xml_declaration_counts_where_the_header_says_nothing(declaration: str) -> None:
    assert read((declaration + titled("Café")).encode("iso-8859-1"), LOCATION, "text/xml").title == "Café"


@pytest.mark.parametrize(
    "start",
    [
        '<?xml version="1.0"?>',
        '<?xml version="1.0"?><?other encoding="utf-8"?>',
        '<!-- <?xml version="1.0" encoding="utf-8"?> -->',
    ],
)
def test_xml_declaration_without_an_encoding_leaves_it_to_the_header(start: str) -> None:
    assert (
        read((start + titled("Café")).encode("iso-8859-1"), LOCATION, "text/xml; charset=iso-8859-1").title
        == "Café"
    )


@pytest.mark.parametrize("charset", [None, "", "x-unknown", "utf-8; x=y", "\x01", "utf-8\x00", "é", "\udce9"])
def test_charset_that_nobody_knows_is_ignored(charset: str | None) -> None:
    header = None if charset is None else f"text/xml; charset={charset}"
    assert read(titled("Café").encode(), LOCATION, header).title == "Café"


def test_utf_16_feed_that_is_cut_keeps_its_whole_entries() -> None:
    body = f'<feed xmlns="{ATOM}"><entry><id>urn:é</id><title>t</title></entry><entry><id>urn:2'.encode(
        "utf-16"
    )
    document = read(body, LOCATION)
    assert [entry.id for entry in document.entries] == ["urn:é"]
    assert document.fault
