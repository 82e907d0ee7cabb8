from __future__ import annotations

import pytest

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.documents.xml import parsing
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed"
NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:old="http://purl.org/dc/elements/1.0/" '
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/DTDs/Podcast-1.0.dtd" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
)


def read_rss(inside: str) -> FeedDocument:
    return read(f"<rss {NAMESPACES}><channel>{inside}</channel></rss>".encode(), LOCATION)


def read_item(inside: str) -> Entry:
    (item,) = read_rss(f"<item>{inside}</item>").entries
    return item


def test_channel_without_anything_is_an_empty_feed() -> None:
    assert read_rss("") == FeedDocument("rss", None, None, {}, False, False, [], [], None)


def test_feed_without_a_channel_is_not_whole() -> None:
    document = read(b"<rss/>", LOCATION)
    assert document == FeedDocument("rss", None, None, {}, False, False, [], [], "it has no <channel>")


def test_cut_feed_without_a_channel_says_where_it_is_cut() -> None:
    fault = read(b"<rss><!--", LOCATION).fault
    assert fault
    assert fault != "it has no <channel>"


@pytest.mark.parametrize(
    ("inside", "archive", "complete"),
    [
        ("<fh:archive/>", True, False),
        ("<fh:complete/>", False, True),
        ("<archive/><complete/>", False, False),
        ("<item><fh:archive/><fh:complete/></item>", False, False),
        ("<image><fh:archive/><fh:complete/></image>", False, False),
    ],
)
def test_kind_of_the_document_is_said_in_its_channel(inside: str, archive: bool, complete: bool) -> None:
    document = read_rss(inside)
    assert (document.archive, document.complete) == (archive, complete)


def test_only_atom_links_of_the_channel_are_head_links() -> None:
    document = read_rss(
        '<link rel="next">http://example.org/</link><atom:link rel="prev-archive" href="11"/>'
        '<item><atom:link rel="next" href="12"/></item><image><atom:link rel="next" href="13"/></image>'
    )
    assert document.links == {"prev-archive": "http://feeds.example/dir/11"}


@pytest.mark.parametrize(
    ("inside", "updated"),
    [
        (
            "<pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate>"
            "<atom:updated>2003-03-03T00:00:00Z</atom:updated>"
            "<lastBuildDate>Sun, 02 Feb 2003 00:00:00 GMT</lastBuildDate>",
            "2003-03-03T00:00:00Z",
        ),
        (
            "<pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate>"
            "<lastBuildDate>Sun, 02 Feb 2003 00:00:00 GMT</lastBuildDate>",
            "2003-02-02T00:00:00Z",
        ),
        ("<pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate>", "2003-01-01T00:00:00Z"),
        (
            "<atom:updated>soon</atom:updated><lastBuildDate/>"
            "<pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate>",
            "2003-01-01T00:00:00Z",
        ),
        ("<lastBuildDate>soon</lastBuildDate>", None),
        ("<item><pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate></item>", None),
    ],
)
def test_update_time_of_the_document_is_atoms_then_the_builds_then_the_channels(
    inside: str, updated: str | None
) -> None:
    assert read_rss(inside).updated == updated


@pytest.mark.parametrize(
    ("inside", "id_", "link"),
    [
        ("<guid>http://example.org/1</guid>", "http://example.org/1", "http://example.org/1"),
        (
            "<guid isPermaLink='true'>https://example.org/1</guid>",
            "https://example.org/1",
            "https://example.org/1",
        ),
        ("<guid isPermaLink='false'>http://example.org/1</guid>", "http://example.org/1", None),
        ("<guid isPermaLink='False'>http://example.org/1</guid>", "http://example.org/1", None),
        ("<guid>tag:example.org,2003:1</guid>", "tag:example.org,2003:1", None),
        (
            "<guid>http://example.org/1</guid><link>/x</link>",
            "http://example.org/1",
            "http://feeds.example/x",
        ),
        (
            "<link>/x</link><guid>http://example.org/1</guid>",
            "http://example.org/1",
            "http://feeds.example/x",
        ),
        ("<guid>http://example.org/1</guid><link/>", "http://example.org/1", "http://example.org/1"),
        ("<guid/><link>x</link>", None, "http://feeds.example/dir/x"),
        ("<title>t</title>", None, None),
    ],
)
def test_item_is_identified_by_its_guid_and_linked_by_its_link_then_its_permalink(
    inside: str, id_: str | None, link: str | None
) -> None:
    item = read_item(inside)
    assert (item.id, item.link) == (id_, link)


def test_content_of_an_item_is_html_beside_its_summary() -> None:
    item = read_item(
        "<description> short </description><content:encoded><![CDATA[<p>a&b</p> ]]></content:encoded>"
    )
    assert (item.summary, item.content, item.content_type) == (" short ", "<p>a&b</p> ", "html")


def test_description_alone_is_no_content() -> None:
    item = read_item("<description>&lt;p>whole&lt;/p></description>")
    assert (item.summary, item.content, item.content_type) == ("<p>whole</p>", None, None)


@pytest.mark.parametrize(
    ("inside", "published"),
    [
        ("<pubDate>Wed, 01 Jan 2003 00:00:00 EST</pubDate>", "2003-01-01T05:00:00Z"),
        ("<pubDate>2003-01-01T00:00:00.50Z</pubDate>", "2003-01-01T00:00:00.50Z"),
        ("<dc:date>2003-01-01</dc:date>", "2003-01-01T00:00:00Z"),
        (
            "<dc:date>2001-01-01</dc:date><pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate>",
            "2003-01-01T00:00:00Z",
        ),
        (
            "<pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate><dc:date>2001-01-01</dc:date>",
            "2003-01-01T00:00:00Z",
        ),
        ("<pubDate>soon</pubDate><dc:date>2003-01-01</dc:date>", "2003-01-01T00:00:00Z"),
        ("<dc:date>2003-01-01</dc:date><pubDate>soon</pubDate>", "2003-01-01T00:00:00Z"),
        ("<dc:date>soon</dc:date>", None),
    ],
)
def test_item_is_published_at_its_pub_date_then_its_dublin_core_date(
    inside: str, published: str | None
) -> None:
    item = read_item(inside)
    assert (item.published, item.updated) == (published, None)


@pytest.mark.parametrize(
    ("inside", "updated"),
    [
        ("<atom:updated>2003-01-01T00:00:00.250Z</atom:updated>", "2003-01-01T00:00:00.250Z"),
        ("<dcterms:modified>2003-01-01T00:00:00+01:00</dcterms:modified>", "2002-12-31T23:00:00Z"),
        (
            "<atom:updated>soon</atom:updated><dcterms:modified>2003-01-01</dcterms:modified>",
            "2003-01-01T00:00:00Z",
        ),
        ("<updated>2003-01-01T00:00:00Z</updated>", None),
    ],
)
def test_item_is_updated_only_where_another_vocabulary_says_so(inside: str, updated: str | None) -> None:
    item = read_item(inside)
    assert (item.published, item.updated) == (None, updated)


def test_item_does_not_take_over_what_is_the_channels() -> None:
    document = read_rss(
        "<managingEditor>editor@example.org</managingEditor><category>c</category>"
        "<pubDate>Wed, 01 Jan 2003 00:00:00 GMT</pubDate><item><guid isPermaLink='false'>1</guid></item>"
    )
    assert document.entries == [Entry(id="1", base="http://feeds.example/dir/feed")]


def test_unreadable_pub_date_is_no_problem_where_another_date_stands_in() -> None:
    document = read_rss("<item><guid>1</guid><pubDate>soon</pubDate><dc:date>2003-01-01</dc:date></item>")
    assert document.problems == []


def test_problem_escapes_control_characters_of_the_feed() -> None:
    (problem,) = read_rss("<item><guid>1</guid><pubDate>soon\x7f\u202e</pubDate></item>").problems
    assert (problem.kind, problem.entry) == ("unreadable-date", "1")
    assert problem.detail == r"its pubDate is not a date: 'soon\x7f\u202e'"


@pytest.mark.parametrize(
    "inside", ["<guid>1</guid>", "<link>x</link>", "<title>t</title>", "<description>d</description>"]
)
def test_item_with_anything_to_tell_it_by_is_no_problem(inside: str) -> None:
    assert read_rss(f"<item>{inside}</item>").problems == []


def test_problem_of_an_item_without_a_name_says_its_position() -> None:
    document = read_rss("<item><guid>1</guid></item><item><author>a</author></item>")
    assert [(problem.kind, problem.entry) for problem in document.problems] == [("no-id", "item 2")]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param("<channel><items>{0}{1}</items>{2}</channel>", id="wrapper"),
        pytest.param("<channel>{0}<a><b>{1}</b>{2}</a></channel>", id="wrapper-in-a-wrapper"),
        pytest.param("<channel>{0}</channel><x><channel>{1}</channel></x>{2}", id="channel-in-a-wrapper"),
        pytest.param("<channel/><channel>{0}</channel><channel>{1}{2}</channel>", id="channels"),
    ],
)
@pytest.mark.parametrize("size", [0, parsing.LARGE], ids=["small", "large"])
def test_items_in_other_elements_are_read(document: str, size: int) -> None:
    items = [f"<item><guid>{number}</guid><summary>{'x' * size}</summary></item>" for number in range(3)]
    found = read(f"<rss>{document.format(*items)}</rss>".encode(), LOCATION, keep_originals=True)
    assert sorted(entry.id or "" for entry in found.entries) == ["0", "1", "2"]
    assert all(f"<guid>{entry.id}</guid>".encode() in (entry.original or b"") for entry in found.entries)
    assert (found.problems, found.fault) == ([], None)


def test_items_in_other_elements_have_the_base_of_all_around_them() -> None:
    inside = '<a xml:base="b/"><items xml:base="c/"><item><link>d</link></item></items></a>'
    (entry,) = read_rss(inside).entries
    assert entry.link == "http://feeds.example/dir/b/c/d"


@pytest.mark.parametrize(
    ("inside", "authors"),
    [
        ("<author><name>A. &amp; B.</name><uri>http://a.example/</uri></author>", ["A. & B."]),
        ("<author><email>a@example.org</email></author>", ["a@example.org"]),
        ("<author>a@example.org (A)</author>", ["a@example.org (A)"]),
    ],
)
def test_author_may_be_a_person_as_in_atom(inside: str, authors: list[str]) -> None:
    assert read_item(inside).authors == authors


def test_category_may_have_a_term_as_in_atom() -> None:
    assert read_item("<category term=' a '/><category>b</category>").categories == ["a", "b"]


@pytest.mark.parametrize(
    ("guids", "link"),
    [
        ('<guid isPermaLink="false">http://example.org/guid</guid>', "http://example.org/about"),
        (
            '<guid isPermaLink="false">http://example.org/guid</guid><guid>2</guid>',
            "http://example.org/about",
        ),
        ("<guid>1</guid>", "http://example.org/about"),
        ("<guid>http://example.org/guid</guid>", "http://example.org/guid"),
        ("<guid> </guid>", "http://example.org/about"),
    ],
)
def test_link_is_a_guid_that_is_a_permalink_or_what_the_item_is_about(guids: str, link: str) -> None:
    (item,) = read_rss(f'<item rdf:about="http://example.org/about">{guids}</item>').entries
    assert item.link == link


def test_other_vocabularies_have_one_order_of_precedence_in_any_order() -> None:
    issued, date = "<dcterms:issued>2001-01-01</dcterms:issued>", "<dc:date>2002-01-01</dc:date>"
    declared = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
    for dates in (issued + date, date + issued):
        body = f"<rss {declared}><channel><item><guid>1</guid>{dates}</item></channel></rss>".encode()
        assert read(body, "http://feeds.example/").entries[0].published == "2002-01-01T00:00:00Z"
