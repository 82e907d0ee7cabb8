"""Reads the same documents with feedparser. A clause of a specification explains each difference."""

import calendar
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import feedparser
import pytest

from fhcrawl.documents import Entry
from tests.feeds import read

DATA = Path(__file__).parent.parent / "data"
FEEDS = sorted(
    path
    for folder in ("documents", "repaired")
    for path in (DATA / folder).iterdir()
    if path.suffix in {".atom", ".rss", ".rdf", ".xml"}
)
FOLDER = "http://feeds.example/dir/"
FEED = "the feed"
FRACTION = re.compile(r"\.\d+Z$")


class Difference(NamedTuple):
    """What fhcrawl and feedparser read differently, of which entry (`the feed`: its head), in which field."""

    feed: str
    entry: str | None
    field: str
    ours: str | None
    theirs: str | None


def is_link_made_of_an_id(difference: Difference) -> bool:
    # RFC 4287, 4.2.6: an atom:id "MUST NOT be assumed to be dereferencable"; the link is 4.2.7's alternate.
    return difference.field == "link" and difference.ours is None and difference.theirs == difference.entry


def is_empty(difference: Difference) -> bool:
    # RFC 4287, 4.2.6.1 and 4.2.7.1: the empty string is no IRI; in our model, nothing is ever ''.
    return difference.ours is None and difference.theirs == ""


RULES = (is_link_made_of_an_id, is_empty)

CUT = "XML 1.0, 2.1: an element ends with its end tag; what is cut off may be half an entry, and is none"
TITLE = "DESIGN, 'title': a plain string; RFC 4287, 3.1.1.3: markup in xhtml is not part of the text"
HEAD = "RFC 4287, 4.1.1: the head's elements are children of atom:feed; what stands in others is nobody's"
FIRST = 'RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:id": the first one counts'
STRAY = "XML 1.0, 4.3.3: UTF-8 is the default; most of the document is UTF-8, and stray bytes are few"
ENTITIES = "XML 1.0, 5.1: HTML's entities are read as in HTML; other ones of a document are not expanded"
TITLE_SOUP = "RSS 2.0: a title is text; its markup, malformed or not, is none of it"
PUB_DATE = "draft-nottingham-atompub-feed-history-08: without lastBuildDate, pubDate is the document's time"
MONTH_13 = "RFC 3339, 5.7: date-month is 01-12; a date that cannot be read is none"
SPACE = "RFC 3987, 2.2: an IRI has no white space; what stands around it is the document's"
CHARACTERS = "XML 1.0, 2.2: a document cannot have these characters"
ATOM_03 = "Atom 0.3, 4.13.7: without atom:issued, atom:created is when the entry came into being"
NO_HREF = "RFC 4287, 4.2.7.1: atom:link MUST have an href, which is an IRI: a link without one is none"
TOMBSTONE = "RFC 6721, 3: what stands in an at:deleted-entry is not in the feed"
ABOUT = "RSS 1.0, 5.5: an item's rdf:about is its identifier; an IRI has no white space around it"
MODULES = (
    "DESIGN, Identity and item 6: where an item has no title of its own, media:title or itunes:title is it"
)
NAMESPACE = "Namespaces in XML 1.0, 6.2: a name in a namespace is not the name in none"
DC_DATE = "Dublin Core, 'date': of an event in the life of the resource; DESIGN: RSS has no `updated`"
UPDATED = "DESIGN: atom:updated is the update time of an item, before dcterms:modified"
PERMALINK = "RSS 2.0, <guid>: isPermaLink, true by default, says that it can be opened: it is the link"
GUID = 'RSS 2.0, <guid>: "a string that uniquely identifies the item", compared as it is, never resolved'
SPELLING = "Namespaces in XML 1.0, 1: they name vocabularies, which publishers know as addresses"
PLAYER = "Media RSS, media:player: the page of the file is the link of an entry without another one"
FILE = "Media RSS, media:title: what is said of one file among several is not the entry's title"
ATOM_ID = "RFC 4287, 4.2.6: atom:id identifies an item of RSS that has no identifier of its own"
TWO = "RSS 2.0: its own title and guid come before those of modules"
MADE = "DESIGN, Identity: an item without a guid and a link is identified by a digest"
DIGESTS = (
    "urn:sha256:ba93473a4d4d2fa166800108fbb1acfd61eba2d26649dcec97275e3bc62446c1",
    "urn:sha256:946d9c703ffd12a5d199e06a81fdbb285af4f84b3685ec0e3a845b35db4ce152",
)

LISTED = {
    ("atom-cut-in-end-tag.atom", "urn:2", "entry"): CUT,
    ("atom-cut-in-entry.atom", "urn:3", "entry"): CUT,
    ("rss-cut-in-item.rss", "3", "entry"): CUT,
    ("atom-content.atom", "urn:xhtml", "title"): TITLE,
    ("atom-text.atom", "urn:2", "title"): TITLE,
    ("atom-entities.atom", FEED, "title"): ENTITIES,
    ("atom-entities.atom", "urn:1", "title"): ENTITIES,
    ("bytes.atom", FEED, "title"): STRAY,
    ("bytes.atom", "urn:3", "title"): STRAY,
    ("tag-soup.rss", "2", "title"): TITLE_SOUP,
    ("atom-not-head.atom", FEED, "title"): HEAD,
    ("atom-not-head.atom", FEED, "updated"): HEAD,
    ("atom-not-head.atom", "urn:nested", "entry"): HEAD,
    ("atom-problems.atom", "urn:one-bad-date", "published"): MONTH_13,
    ("atom-problems.atom", "urn:two-ids", "id"): FIRST,
    ("atom-xml-base.atom", "urn:2", "link"): SPACE,
    ("rss-guids.rss", "five", "id"): GUID,
    ("rss-guids.rss", "five", "link"): PERMALINK,
    ("rss-guids.rss", "https://example.org/2", "link"): PERMALINK,
    ("rss-guids.rss", "nine", "id"): FIRST,
    ("rss-guids.rss", "nine", "link"): FIRST,
    ("controls.atom", "urn:2", "title"): CHARACTERS,
    ("rss-vocabularies.rss", "1", "updated"): UPDATED,
    ("rss-vocabularies.rss", "2", "published"): DC_DATE,
    ("rss-vocabularies.rss", "2", "updated"): DC_DATE,
    ("rss-vocabularies.rss", "3", "updated"): DC_DATE,
    ("rss-vocabularies.rss", "4", "published"): DC_DATE,
    ("atom-0.3.atom", "No id", "published"): ATOM_03,
    ("atom-0.3.atom", "tag:example.org,2003:2", "published"): ATOM_03,
    ("atom-entry-links.atom", "urn:1", "link"): NO_HREF,
    ("atom-tombstones.atom", "http://feeds.example/dir/nobodys", "entry"): TOMBSTONE,
    ("rdf-1.0.rdf", "http://example.org/1", "published"): DC_DATE,
    ("rdf-1.0.rdf", "http://example.org/1", "updated"): DC_DATE,
    ("rdf-1.0.rdf", "http://example.org/about", "id"): ABOUT,
    ("rdf-1.0.rdf", "http://example.org/about", "link"): ABOUT,
    ("rss-0.91.rss", FEED, "updated"): PUB_DATE,
    ("rss-media.rss", "empty words of its own", "title"): MODULES,
    ("rss-media.rss", "itunes alone", "title"): MODULES,
    ("rss-namespace.rss", "2", "title"): NAMESPACE,
    ("rss-namespace.rss", FEED, "updated"): PUB_DATE,
    ("rss-unreadable-dates.rss", "stood in for", "published"): DC_DATE,
    ("rss-problems.rss", FEED, "updated"): PUB_DATE,
    ("rss-namespaces.rss", "1", "updated"): SPELLING,
    ("rss-namespaces.rss", "2", "published"): SPELLING,
    ("rss-only-media.rss", "group", "link"): PLAYER,
    ("rss-only-media.rss", "two files", "title"): FILE,
    ("rss-substitutes.rss", "urn:1", "id"): ATOM_ID,
    ("rss-substitutes.rss", "2", "id"): TWO,
    ("rss-substitutes.rss", "2", "title"): TWO,
    ("rss-substitutes.rss", DIGESTS[0], "id"): MADE,
    ("rss-unescaped.rss", DIGESTS[1], "id"): MADE,
    ("rss-vocabularies.rss", FEED, "updated"): PUB_DATE,
}


def moment(time: Any) -> str | None:
    if time is None:
        return None
    return datetime.fromtimestamp(calendar.timegm(time), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def their_reading(body: bytes, url: str) -> Any:
    """Read a document with feedparser, which changes no markup then."""
    headers = {"content-location": url, "content-type": "application/xml"}
    return feedparser.parse(body, response_headers=headers, sanitize_html=False, resolve_relative_uris=False)


def cut_fraction(time: str | None) -> str | None:
    return FRACTION.sub("Z", time) if time else None


def our_fields(entry: Entry) -> dict[str, str | None]:
    published, updated = cut_fraction(entry.published), cut_fraction(entry.updated)
    title, link = entry.title, entry.link
    return {"id": entry.id, "link": link, "title": title, "published": published, "updated": updated}


# dict.get, because feedparser's own gives `published` where there is no `updated`.
def their_fields(entry: Any) -> dict[str, str | None]:
    times = {name: moment(dict.get(entry, f"{name}_parsed")) for name in ("published", "updated")}
    return {name: dict.get(entry, name) for name in ("id", "link", "title")} | times


def differences(path: Path) -> list[Difference]:
    url = FOLDER + path.name
    body = path.read_bytes()
    ours, theirs = read(body, url), their_reading(body, url)
    head = {
        "title": (ours.title, dict.get(theirs.feed, "title")),
        "updated": (cut_fraction(ours.updated), moment(dict.get(theirs.feed, "updated_parsed"))),
    }
    compared: list[tuple[str | None, dict[str, Any]]] = [(FEED, head)]
    for name, our_entry, their_entry in aligned(list(ours.entries), theirs.entries):
        if our_entry is None or their_entry is None:
            there = ("there" if one is not None else None for one in (our_entry, their_entry))
            compared.append((name, {"entry": tuple(there)}))
            continue
        mine, other = our_fields(our_entry), their_fields(their_entry)
        compared.append((name, {field: (mine[field], other[field]) for field in mine}))
    found = [
        Difference(path.name, name, field, *both)
        for name, fields in compared
        for field, both in fields.items()
        if both[0] != both[1]
    ]
    return [difference for difference in found if not any(rule(difference) for rule in RULES)]


def aligned(ours: list[Entry], theirs: list[Any]) -> list[tuple[str, Entry | None, Any]]:
    """Entries by position; by id, where one reader has fewer of them."""
    if len(ours) == len(theirs):
        return [(one.id or one.title or str(i), one, theirs[i]) for i, one in enumerate(ours)]
    mine = {one.id or "": one for one in ours}
    other = {dict.get(one, "id", ""): one for one in theirs}
    return [(name, mine.get(name), other.get(name)) for name in {**mine, **other}]


@pytest.mark.parametrize("path", FEEDS, ids=lambda path: path.name)
def test_every_difference_from_feedparser_is_listed_with_its_clause(path: Path) -> None:
    found = {(feed, entry, field): both for feed, entry, field, *both in differences(path)}
    listed = {key for key in LISTED if key[0] == path.name}
    assert found == {key: found.get(key) for key in listed}


def test_every_listed_difference_is_of_a_feed() -> None:
    assert {key[0] for key in LISTED} <= {path.name for path in FEEDS}
