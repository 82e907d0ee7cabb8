"""Elements of an entry that have no field, from its original."""

import json
from typing import Any

import pytest

from fhcrawl.documents import extensions
from fhcrawl.documents.extensions import DEEPEST
from tests.feeds import ATOM

OLD_ATOM = "http://purl.org/atom/ns#"
ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"
MEDIA = "http://search.yahoo.com/mrss/"
DC = "http://purl.org/dc/elements/1.1/"
CONTENT = "http://purl.org/rss/1.0/modules/content/"


def node(value: str | None = None, *, children: Any = None, **attrs: str) -> dict[str, Any]:
    return {"value": value, "attrs": attrs, "children": children or {}}


def atom(inner: str, attributes: str = "") -> str:
    return f'<entry xmlns="{ATOM}" {attributes}>{inner}</entry>'


JSON_ITEM = {"id": "1", "title": "T", "content_text": "C", "tags": ["t"], "authors": [{"name": "A"}]}


@pytest.mark.parametrize(
    "original",
    [
        atom(
            '<id>1</id><title type="html">T</title><link rel="alternate" href="/1"/>'
            "<published>2003-12-13T18:30:02Z</published><updated>2003-12-13T18:30:02.25Z</updated>"
            "<author><name>A</name></author><category term='c'/><summary>S</summary>"
            "<content type='xhtml' xml:lang='en'><div xmlns='http://www.w3.org/1999/xhtml'>C</div></content>"
            "<link rel='enclosure' href='/a.mp3' type='audio/mpeg' length='1'/>",
            'xml:base="http://example.org/" xml:lang="en"',
        ),
        f"<item xmlns:c='{CONTENT}'><guid>1</guid><title>T</title><link>http://example.org/</link>"
        "<pubDate>Sat, 13 Dec 2003 18:30:02 GMT</pubDate><author>A</author><category>c</category>"
        "<description>S <b>bold</b></description><c:encoded>C</c:encoded>"
        "<enclosure url='a.mp3' type='audio/mpeg' length='1'/></item>",
        json.dumps(JSON_ITEM | {"date_published": "2003-12-13T18:30:02Z"}),
        # what exporters add
        atom('<updated xmlns:x="urn:x-fhcrawl:export" x:stands-in="document">2003</updated>'),
    ],
    ids=range(4),
)
def test_extensions_are_empty_if_fields_have_all(original: str) -> None:
    assert extensions.read(original) == {}


NAMED, ADDRESS = {"name": [node("A")]}, {"email": [node("a@example.org")]}
ELEMENTS = (
    # a link that is no alternate, a second one, one with a media type
    ('<link rel="replies" href="/r" type="a/b"/>', node(rel="replies", href="/r", type="a/b")),
    ('<link href="/1"/><link href="/2"/>', node(href="/2")),
    ('<link href="/1" type="text/html"/>', node(href="/1", type="text/html")),
    # a length that is no number
    ('<link rel="enclosure" href="/1" length="3:40"/>', node(rel="enclosure", href="/1", length="3:40")),
    # more than a name
    ("<author><name>A</name><email>a@example.org</email></author>", node(children={"atom": NAMED | ADDRESS})),
    ('<category term="c" scheme="urn:s" label="C"/>', node(term="c", scheme="urn:s", label="C")),
    ("<contributor><name>A</name></contributor>", node(children={"atom": NAMED})),
    ("<rights type='html'> &amp;copy; </rights>", node("&copy;", type="html")),
    # a local time, an unreadable one
    ("<updated>2003-12-13T18:30:02+01:00</updated>", node("2003-12-13T18:30:02+01:00")),
    ("<updated>soon, UTC</updated>", node("soon, UTC")),
    # markup in a title
    (
        '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b></div></title>',
        node(children={"xhtml": {"div": [node("a <b>b</b>")]}}, type="xhtml"),
    ),
)


@pytest.mark.parametrize(("inner", "expected"), ELEMENTS)
def test_element_of_atom_with_more_than_its_field(inner: str, expected: Any) -> None:
    name = inner[1:].replace(">", " ").split()[0]
    assert extensions.read(atom(inner)) == {"atom": {name: [expected]}}


IMAGE = {"itunes": {"image": [node(href="i", **{"itunes:size": "1"})]}}
MIXED = f"<item xmlns:m='{MEDIA}'><m:description>a <b x=\"1\">b</b> c</m:description></item>"
TREES = {
    # Only what a reader takes is in the fields.
    "content of RSS in Atom": (
        atom(f'<id>1</id><e:encoded xmlns:e="{CONTENT}">C</e:encoded>'),
        {"content": {"encoded": [node("C")]}},
    ),
    "dates of Atom 0.3 in Atom": (
        atom("<issued>2003-12-13T18:30:02Z</issued>"),
        {"atom": {"issued": [node("2003-12-13T18:30:02Z")]}},
    ),
    "created beside issued": (
        f"<entry xmlns='{OLD_ATOM}'><issued>2003-12-13T18:30Z</issued><created>2003-12-12Z</created></entry>",
        {"atom": {"created": [node("2003-12-12Z")]}},
    ),
    "category of Atom in Atom 0.3": (
        f"<entry xmlns='{OLD_ATOM}'><created>2003-12-12T18:30:02Z</created><category term='c'/></entry>",
        {"atom": {"category": [node(term="c")]}},
    ),
    "no namespace in RSS 1.0": (
        "<r:item xmlns:r='http://purl.org/rss/1.0/'><r:link>l</r:link><title>T</title></r:item>",
        {"rss": {"title": [node("T")]}},
    ),
    "text beside attributes and elements": (
        atom("<category term='c'>C</category><category>d</category><author>A<name>B</name></author>"),
        {"atom": {"category": [node("C", term="c")], "author": [node(f'A<name xmlns="{ATOM}">B</name>')]}},
    ),
    "text beside elements": (MIXED, {"media": {"description": [node('a <b x="1">b</b> c')]}}),
    "no qualified name": ("<item><a:b:c>x</a:b:c></item>", {"rss": {"a:b:c": [node("x")]}}),
    "unknown namespaces": (
        atom('<x:a x:b="1" xmlns:x="urn:x"><x:c>2</x:c></x:a>', 'xmlns:y="urn:y" y:etag="3"'),
        {
            "atom": {"entry": [node(**{"{urn:y}etag": "3"})]},
            "urn:x": {"a": [node(children={"urn:x": {"c": [node("2")]}}, **{"{urn:x}b": "1"})]},
        },
    ),
    # Prefixes are those of a table.
    **{
        uri: (f'<item xmlns:x="{uri}"><x:image href="i" x:size="1"/></item>', IMAGE)
        for uri in (ITUNES, ITUNES.replace("dtds/pod", "DTDs/Pod"), ITUNES.replace("http", "https"))
    },
    "RSS": (
        "<item><guid isPermaLink='false'>1</guid><source url='u'>S</source><comments>c</comments>"
        "<category domain='d'>c</category><category>e</category><cloud/>"
        "<title>A</title><title>B</title></item>",
        {
            "rss": {
                "guid": [node("1", isPermaLink="false")],
                "source": [node("S", url="u")],
                "comments": [node("c")],
                "category": [node("c", domain="d")],
                "cloud": [node()],
                "title": [node("A"), node("B")],
            }
        },
    ),
}


@pytest.mark.parametrize(("original", "expected"), TREES.values(), ids=TREES)
def test_what_fields_do_not_have_is_in_the_tree(original: str, expected: Any) -> None:
    assert extensions.read(original) == expected


def test_depth_is_bounded_and_nothing_is_lost() -> None:
    found = extensions.read(f"<item xmlns:x='urn:x'>{'<x:a>' * 200}deep{'</x:a>' * 200}</item>")
    levels, value = 0, ""
    while found:
        [each] = found["urn:x"]["a"]
        levels, value, found = levels + 1, each["value"], each["children"]
    assert (levels, value.count("<"), "deep" in value) == (DEEPEST, 2 * (200 - DEEPEST), True)
    found = extensions.read(json.dumps({"_x": json.loads("[" * 200 + '"deep"' + "]" * 200)}))
    value = (found or {})["json"]["_x"]
    while isinstance(value, list):
        [value] = value
    assert "deep" in value


def test_members_of_json_feed_stay_as_they_are() -> None:
    item = {
        "content_text": "t",
        "authors": [{"name": "A", "avatar": "http://example.org/a.png"}],
        "attachments": [{"url": "u", "mime_type": "audio/mpeg", "duration_in_seconds": "60"}],
        "image": "i",
        "date_modified": "2003-12-13T18:30:02+01:00",
        "_x": {"a": [None, {"b": True}]},
    }
    assert extensions.read(json.dumps({"id": "1", "content_html": "<p>", **item})) == {"json": item}


@pytest.mark.parametrize("original", [None, "", "{", "plain"])
def test_without_a_readable_original_there_is_no_tree(original: str | None) -> None:
    assert extensions.read(original) is None
