"""The original XML or JSON of entries, which is kept on request."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from fhcrawl.documents import Entry
from tests.documents.test_detection import FEEDS, LOCATION, XML_FEEDS, name_of
from tests.feeds import ATOM, atom_feed, read, read_atom


def read_again(original: bytes) -> Entry:
    """An entry, from nothing but its own XML."""
    inside = original.decode()
    is_rss = etree.fromstring(original).tag == "item"
    body = f"<rss><channel>{inside}</channel></rss>".encode() if is_rss else atom_feed(inside)
    [entry] = read(body, LOCATION).entries
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
    for entry in read(path.read_bytes(), LOCATION + path.name, keep_originals=True).entries:
        assert entry.original is not None
        if etree.fromstring(entry.original).tag not in (f"{{{ATOM}}}entry", "item"):
            continue
        again = read_again(entry.original)
        # What an entry has from the feed around it is not its own.
        authors = again.authors and entry.authors
        again = replace(again, original=None, base=entry.base, language=entry.language)
        assert again == replace(entry, original=None, authors=authors)


def test_original_holds_what_has_no_field_and_the_base_and_language_around_it() -> None:
    document = read_atom(
        """<entry xml:base="2003/"><id>1</id><link href="a.html"/><g:point>45.2 -71</g:point></entry>
        <entry xml:lang="de"><id>2</id><title>t</title><link href="b.html"/></entry>tail""",
        'xmlns:g="urn:geo" xml:base="/blog/" xml:lang="en"',
        keep_originals=True,
    )
    first, second = (etree.fromstring(entry.original or b"") for entry in document.entries)
    assert first.findtext("{urn:geo}point") == "45.2 -71"
    base, language = (f"{{http://www.w3.org/XML/1998/namespace}}{name}" for name in ("base", "lang"))
    assert (first.get(base), first.get(language)) == ("/blog/2003/", "en")
    assert (second.get(base), second.get(language)) == ("/blog/", "de")
    links = [f"http://feeds.example/blog/{path}" for path in ("2003/a.html", "b.html")]
    assert [entry.link for entry in document.entries] == links
    assert b"tail" not in (document.entries[1].original or b"")


def test_original_is_what_was_there_before_it_was_read() -> None:
    # Reading xhtml content takes its prefixes away.
    div = '<h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:b>bold</h:b></h:div>'
    entry = f'<entry><id>1</id><title>t</title><content type="xhtml">{div}</content></entry>'
    [kept] = read_atom(entry, keep_originals=True).entries
    assert (kept.content, div.encode() in (kept.original or b"")) == ("<b>bold</b>", True)


def test_original_of_json_is_its_object() -> None:
    item = {"id": "1", "_ours": {"about": "x", "n": 1.50}, "title": "t"}
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": [item]}
    [entry] = read(json.dumps(feed).encode(), LOCATION, keep_originals=True).entries
    assert json.loads(entry.original or b"") == {**item, "_ours": {"about": "x", "n": "1.5"}}


def test_original_declares_only_what_it_uses_where_the_feed_declares_much() -> None:
    declared = "".join(f' xmlns:n{n}="urn:{"x" * 400}{n}"' for n in range(20))
    entry = "<entry><id>1</id><title>t</title><n7:point>45.2 -71</n7:point></entry>"
    for kept in read_atom(entry * 3, declared, keep_originals=True).entries:
        original = etree.fromstring(kept.original or b"")
        assert original.findtext(f"{{urn:{'x' * 400}7}}point") == "45.2 -71"
        assert len(kept.original or b"") < 700
