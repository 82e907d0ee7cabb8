"""What RSS's modules say of an item, where the fixtures leave a question open."""

import time

import pytest

from tests.documents.formats.test_rss import LOCATION, read_item, read_rss
from tests.feeds import read

RDF = 'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'


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
    document = read(body.encode(), LOCATION)
    assert (document.title, document.fault) == ("t", None)
    assert [entry.title for entry in document.entries] == ["inside", "beside"]


def test_rdf_feed_without_a_channel_is_not_whole() -> None:
    document = read(f"<r:RDF {RDF}><item><title>t</title></item></r:RDF>".encode(), LOCATION)
    assert document.fault == "it has no <channel>"
    assert [entry.title for entry in document.entries] == ["t"]


@pytest.mark.parametrize(
    "child", ['<media:content url="{}"/>', "<dc:creator>{}</dc:creator>", "<dc:subject>{}</dc:subject>"]
)
def test_time_grows_with_the_number_of_children_and_not_with_its_square(child: str) -> None:
    start = time.process_time()
    item = read_item("".join(child.format(number) for number in range(30_000)))
    assert len(item.enclosures) + len(item.authors) + len(item.categories) == 30_000
    assert time.process_time() - start < 5


# --- what is repeated


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
def test_second_guid_says_nothing(inside: str, expected: str | None) -> None:
    item = read_item(inside)
    assert (item.id, item.link) == ("http://e.example/1", expected)


def test_interpreted_date_is_said_if_it_counts() -> None:
    document = read_rss(
        "<item><guid>1</guid><pubDate>22 mai 2017 15:09:00 ET</pubDate></item>"
        "<item><guid>2</guid><pubDate>2017-05-22</pubDate><dc:date>22 mai 2016</dc:date></item>"
    )
    assert [item.published for item in document.entries] == ["2017-05-22T19:09:00Z", "2017-05-22T00:00:00Z"]
    (problem,) = document.problems
    assert (problem.kind, problem.entry) == ("interpreted-date", "1")
    assert problem.detail == (
        "its pubDate is read as 2017-05-22T19:09:00Z: '22 mai 2017 15:09:00 ET'; "
        "its month is not named in English; its zone ET is taken as -04:00"
    )
