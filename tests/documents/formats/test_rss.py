import pytest

from fhcrawl.documents import Entry, FeedDocument
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


def test_feed_without_a_channel_is_not_whole() -> None:
    document = read(b"<rss/>", LOCATION)
    assert document == FeedDocument("rss", fault="it has no <channel>")


def test_cut_feed_without_a_channel_says_where_it_is_cut() -> None:
    fault = read(b"<rss><!--", LOCATION).fault
    assert fault
    assert fault != "it has no <channel>"


def test_unreadable_pub_date_is_no_problem_where_another_date_stands_in() -> None:
    document = read_rss("<item><guid>1</guid><pubDate>soon</pubDate><dc:date>2003-01-01</dc:date></item>")
    assert document.problems == []


def test_problem_escapes_control_characters_of_the_feed() -> None:
    (problem,) = read_rss("<item><guid>1</guid><pubDate>soon\x7f\u202e</pubDate></item>").problems
    assert (problem.kind, problem.entry) == ("unreadable-date", "1")
    assert problem.detail == r"its pubDate is not a date: 'soon\x7f\u202e'"


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
def test_items_in_other_elements_are_read(document: str) -> None:
    items = [f"<item><guid>{number}</guid></item>" for number in range(3)]
    found = read(f"<rss>{document.format(*items)}</rss>".encode(), LOCATION, keep_originals=True)
    assert sorted(entry.id or "" for entry in found.entries) == ["0", "1", "2"]
    assert all(f"<guid>{entry.id}</guid>".encode() in (entry.original or b"") for entry in found.entries)
    assert (found.problems, found.fault) == ([], None)


def test_items_in_other_elements_have_the_base_of_all_around_them() -> None:
    inside = '<a xml:base="b/"><items xml:base="c/"><item><link>d</link></item></items></a>'
    (entry,) = read_rss(inside).entries
    assert entry.link == "http://feeds.example/dir/b/c/d"


def test_other_vocabularies_have_one_order_of_precedence_in_any_order() -> None:
    issued, date = "<dcterms:issued>2001-01-01</dcterms:issued>", "<dc:date>2002-01-01</dc:date>"
    declared = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
    for dates in (issued + date, date + issued):
        body = f"<rss {declared}><channel><item><guid>1</guid>{dates}</item></channel></rss>".encode()
        assert read(body, "http://feeds.example/").entries[0].published == "2002-01-01T00:00:00Z"
