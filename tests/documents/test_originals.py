"""Entries know their own XML or JSON, if they are asked to."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from fhcrawl.documents import Entry
from tests.documents.test_detection import FEEDS, LOCATION, XML_FEEDS, name_of
from tests.feeds import read

ATOM = "http://www.w3.org/2005/Atom"
# Around an entry that stands by itself, so that it can be read again; its root's local name chooses.
AROUND = {
    f"{{{ATOM}}}entry": (f'<feed xmlns="{ATOM}">', "</feed>"),
    "item": ("<rss><channel>", "</channel></rss>"),
}


def read_again(original: bytes) -> Entry:
    """An entry, from nothing but its own XML."""
    begin, end = AROUND[etree.fromstring(original).tag]
    [entry] = read(begin.encode() + original + end.encode(), LOCATION).entries
    return entry


@pytest.mark.parametrize("path", FEEDS, ids=name_of)
def test_keeping_changes_nothing_else(path: Path) -> None:
    body, url = path.read_bytes(), LOCATION + path.name
    plain, kept = read(body, url), read(body, url, keep_originals=True)
    assert [entry.original for entry in plain.entries] == [None] * len(plain.entries)
    assert None not in [entry.original for entry in kept.entries]
    assert replace(kept, entries=[replace(entry, original=None) for entry in kept.entries]) == plain


@pytest.mark.parametrize("path", XML_FEEDS, ids=name_of)
def test_original_is_xml_that_stands_by_itself(path: Path) -> None:
    url = LOCATION + path.name
    for entry in read(path.read_bytes(), url, keep_originals=True).entries:
        assert entry.original is not None
        if etree.fromstring(entry.original).tag not in AROUND:
            continue
        again = read_again(entry.original)
        # What an entry has from the feed around it is not its own.
        authors = again.authors and entry.authors
        again = replace(again, original=None, base=entry.base, language=entry.language)
        assert again == replace(entry, original=None, authors=authors)


def test_original_holds_what_has_no_field_and_the_base_and_language_around_it() -> None:
    body = f"""<feed xmlns="{ATOM}" xmlns:g="urn:geo" xml:base="/blog/" xml:lang="en"><title>T</title>
        <entry xml:base="2003/"><id>1</id><link href="a.html"/><g:point>45.2 -71</g:point></entry>
        <entry xml:lang="de"><id>2</id><title>t</title><link href="b.html"/></entry>tail</feed>"""
    document = read(body.encode(), "http://example.org/", keep_originals=True)
    first, second = (etree.fromstring(entry.original or b"") for entry in document.entries)
    assert first.findtext("{urn:geo}point") == "45.2 -71"
    xml = "{http://www.w3.org/XML/1998/namespace}"
    assert (first.get(f"{xml}base"), first.get(f"{xml}lang")) == ("/blog/2003/", "en")
    assert (second.get(f"{xml}base"), second.get(f"{xml}lang")) == ("/blog/", "de")
    assert [entry.link for entry in document.entries] == [
        "http://example.org/blog/2003/a.html",
        "http://example.org/blog/b.html",
    ]
    assert b"tail" not in (document.entries[1].original or b"")


def test_original_is_what_was_there_before_it_was_read() -> None:
    """Reading xhtml content takes its prefixes away."""
    div = '<h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:b>bold</h:b></h:div>'
    entry = f'<entry><id>1</id><title>t</title><content type="xhtml">{div}</content></entry>'
    document = read(f'<feed xmlns="{ATOM}">{entry}</feed>'.encode(), LOCATION, keep_originals=True)
    [kept] = document.entries
    assert (kept.content, div.encode() in (kept.original or b"")) == ("<b>bold</b>", True)


def test_original_of_json_is_its_object() -> None:
    item = {"id": "1", "_ours": {"about": "x", "n": 1.50}, "title": "t"}
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [item]}
    [entry] = read(json.dumps(feed).encode(), LOCATION, keep_originals=True).entries
    assert json.loads(entry.original or b"") == {**item, "_ours": {"about": "x", "n": "1.5"}}


def test_original_declares_only_what_it_uses_where_the_feed_declares_much() -> None:
    declared = "".join(f' xmlns:n{n}="urn:{"x" * 400}{n}"' for n in range(20))
    entry = "<entry><id>1</id><title>t</title><n7:point>45.2 -71</n7:point></entry>"
    body = f'<feed xmlns="{ATOM}"{declared}><title>T</title>{entry * 3}</feed>'
    for kept in read(body.encode(), LOCATION, keep_originals=True).entries:
        original = etree.fromstring(kept.original or b"")
        assert original.findtext(f"{{urn:{'x' * 400}7}}point") == "45.2 -71"
        assert len(kept.original or b"") < 700
