import time

import pytest

from fhcrawl.documents import Entry, FeedDocument, Problem
from tests.feeds import URL, read

NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:old="http://purl.org/dc/elements/1.0/" '
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/DTDs/Podcast-1.0.dtd" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
)


def read_rss(inside: str) -> FeedDocument:
    return read(f"<rss {NAMESPACES}><channel>{inside}</channel></rss>".encode(), URL)


def read_item(inside: str) -> Entry:
    (item,) = read_rss(f"<item>{inside}</item>").entries
    return item


RDF = 'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'


def test_feed_without_a_channel_is_not_complete() -> None:
    fault = "it has no <channel>"
    assert read(b"<rss/>", URL) == FeedDocument("rss", fault=fault)
    assert read(b"<rss><!--", URL).fault not in (None, fault)
    document = read(f"<r:RDF {RDF}><item><title>t</title></item></r:RDF>".encode(), URL)
    assert ([entry.title for entry in document.entries], document.fault) == (["t"], fault)


INTERPRETED = (
    "its pubDate is read as 2017-05-22T19:09:00Z: '22 mai 2017 15:09:00 ET'; "
    "its month is not named in English; its zone ET is taken as -04:00"
)


@pytest.mark.parametrize(
    ("item", "published", "problems"),
    [
        ("<pubDate>soon</pubDate><dc:date>2003-01-01</dc:date>", "2003-01-01T00:00:00Z", []),
        ("<pubDate>2017-05-22</pubDate><dc:date>22 mai 2016</dc:date>", "2017-05-22T00:00:00Z", []),
        (
            "<pubDate>soon\x7f\u202e</pubDate>",
            None,
            [("unreadable-date", r"its pubDate is not a date: 'soon\x7f\u202e'")],
        ),
        (
            "<pubDate>22 mai 2017 15:09:00 ET</pubDate>",
            "2017-05-22T19:09:00Z",
            [("interpreted-date", INTERPRETED)],
        ),
    ],
)
def test_date_that_counts_is_a_problem_if_it_is_not_as_specified(
    item: str, published: str | None, problems: list[tuple[str, str]]
) -> None:
    document = read_rss(f"<item><guid>1</guid>{item}</item>")
    assert [entry.published for entry in document.entries] == [published]
    assert document.problems == [Problem(kind, "1", detail) for kind, detail in problems]


def test_problem_of_an_unnamed_item_has_its_position() -> None:
    document = read_rss("<item><guid>1</guid></item><item><author>a</author></item>")
    assert [(problem.kind, problem.entry) for problem in document.problems] == [("no-id", "item 2")]


@pytest.mark.parametrize(
    "document",
    [
        "<channel><items>{0}{1}</items>{2}</channel>",
        "<channel>{0}<a><b>{1}</b>{2}</a></channel>",
        "<channel>{0}</channel><x><channel>{1}</channel></x>{2}",
        "<channel/><channel>{0}</channel><channel>{1}{2}</channel>",
    ],
)
def test_items_in_other_elements_are_read(document: str) -> None:
    items = [f"<item><guid>{number}</guid></item>" for number in range(3)]
    found = read(f"<rss>{document.format(*items)}</rss>".encode(), URL, keep_originals=True)
    assert sorted(entry.id or "" for entry in found.entries) == ["0", "1", "2"]
    assert all(f"<guid>{entry.id}</guid>".encode() in (entry.original or b"") for entry in found.entries)
    assert (found.problems, found.fault) == ([], None)


def test_items_in_other_elements_have_the_base_of_all_around_them() -> None:
    inside = '<a xml:base="b/"><items xml:base="c/"><item><link>d</link></item></items></a>'
    (entry,) = read_rss(inside).entries
    assert entry.link == "http://feeds.example/dir/b/c/d"


@pytest.mark.parametrize("order", [1, -1])
def test_other_vocabularies_have_one_order_of_precedence_in_any_order(order: int) -> None:
    dates = ("<dcterms:issued>2001-01-01</dcterms:issued>", "<dc:date>2002-01-01</dc:date>")
    assert read_item("".join(dates[::order])).published == "2002-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("inside", "authors"),
    [
        ("<dc:creator>a</dc:creator><author>a</author>", ["a"]),
        ("<author>b</author><dc:creator>a</dc:creator><dcterms:creator>b</dcterms:creator>", ["b", "a"]),
        ("<old:creator>a</old:creator>", ["a"]),
        ("<itunes:author>i</itunes:author><dc:creator>a</dc:creator>", ["a"]),
        ("<author/><itunes:author>i</itunes:author>", ["i"]),
        (
            "<itunes:author/><atom:author><atom:email>e@example.org</atom:email></atom:author>",
            ["e@example.org"],
        ),
        ("<atom:author><atom:name>n</atom:name></atom:author><author>a</author>", ["a"]),
        ('<source url="http://elsewhere.example/">s</source>', []),
    ],
)
def test_authors_are_rss_or_dublin_cores_then_others(inside: str, authors: list[str]) -> None:
    assert read_item(inside).authors == authors


def test_rdf_with_a_channel_under_a_prefix_is_a_feed() -> None:
    body = (
        '<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><s:channel xmlns:s="http://purl.org/rss/1.0/">'
        "<s:title>t</s:title><s:item><s:title>inside</s:title></s:item></s:channel>"
        '<s:item xmlns:s="http://purl.org/rss/1.0/"><s:title>beside</s:title></s:item></RDF>'
    )
    document = read(body.encode(), URL)
    assert (document.title, document.fault) == ("t", None)
    assert [entry.title for entry in document.entries] == ["inside", "beside"]


@pytest.mark.parametrize(
    "child", ['<media:content url="{}"/>', "<dc:creator>{}</dc:creator>", "<dc:subject>{}</dc:subject>"]
)
def test_time_grows_with_the_number_of_children_and_not_with_its_square(child: str) -> None:
    start = time.process_time()
    item = read_item("".join(child.format(number) for number in range(30_000)))
    assert len(item.enclosures) + len(item.authors) + len(item.categories) == 30_000
    assert time.process_time() - start < 5


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("field", "own", "other"),
    [
        ("title", "<title>own</title>", "<itunes:title>other</itunes:title>"),
        ("summary", "<description>own</description>", "<itunes:summary>other</itunes:summary>"),
        ("published", "<pubDate>2003-12-13</pubDate>", "<dc:date>2004-12-13</dc:date>"),
        ("content", "<content:encoded>own</content:encoded>", "<atom:content>other</atom:content>"),
    ],
)
def test_first_of_the_formats_own_elements_that_has_a_value_counts(
    field: str, own: str, other: str, order: int
) -> None:
    name = own[1 : own.index(">")]
    second = own.replace("own", "second").replace("2003", "2005")
    item = read_item("".join([*[f"<{name}/>{own}", other][::order], second]))
    expected = "2003-12-13T00:00:00Z" if field == "published" else "own"
    assert getattr(item, field) == expected
    assert getattr(read_item(other), field) not in (None, expected)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<guid isPermaLink='false'>http://e.example/1</guid><guid>http://e.example/2</guid>", None),
        ("<guid>http://e.example/1</guid><guid isPermaLink='false'>2</guid>", "http://e.example/1"),
    ],
)
def test_second_guid_is_ignored(inside: str, expected: str | None) -> None:
    item = read_item(inside)
    assert (item.id, item.link) == ("http://e.example/1", expected)


def test_blank_title_is_none() -> None:
    assert read_item("<guid>1</guid><title> </title>").title is None
