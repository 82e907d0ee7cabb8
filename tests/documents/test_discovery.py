"""Feeds that an HTML page names."""

from urllib.parse import urljoin

import pytest

from fhcrawl.documents.discovery import feed_links, read_opml
from fhcrawl.exceptions import NotAFeedError

URL = "http://example.org/blog/"


@pytest.mark.parametrize("body", [b"", b"   ", b"<!-- nothing -->"])
def test_page_that_cannot_be_read_names_none(body: bytes) -> None:
    assert feed_links(body, URL) == []


def test_only_alternate_links_of_feed_types_count() -> None:
    body = b"""<html><head><base href="/base/">
    <link rel="alternate" type="text/html" href="no">
    <link rel="stylesheet" type="application/atom+xml" href="no">
    <link rel="alternate" type="application/rss+xml" href="">
    <link rel="ALTERNATE home" type="Application/Atom+XML; charset=utf-8" href="a.atom">
    <link rel="alternate" type="application/feed+json" href="http://example.net/f.json">
    </head></html>"""
    assert feed_links(body, URL) == ["http://example.org/base/a.atom", "http://example.net/f.json"]


@pytest.mark.parametrize(
    ("bases", "found"),
    [
        ('<base href="/1/"><base href="/2/">', "http://example.org/1/a"),
        ('<base target="_top"><base href="/2/">', "http://example.org/blog/a"),
        ("<base href>", "http://example.org/blog/a"),
    ],
)
def test_first_base_element_counts(bases: str, found: str) -> None:
    page = f'<html><head>{bases}<link rel="alternate" type="text/xml" href="a"></head></html>'
    assert feed_links(page.encode(), URL) == [found]


def test_first_of_many_feeds_are_named_and_no_long_url() -> None:
    link = "<link rel=alternate type=text/xml href='{}'>"
    page = link.format("a" * 10_001) + "".join(map(link.format, range(1000)))
    assert feed_links(page.encode(), "http://example.org/") == [f"http://example.org/{n}" for n in range(99)]


@pytest.mark.parametrize(
    ("links", "first"),
    [
        ([("/comments/feed/", "x"), ("/feed/", "x")], "/feed/"),
        ([("/a", "News - Comments Feed"), ("/b", "News - Feed")], "/b"),
        ([("/category/x/feed/", "x"), ("/tag/y/feed", "y"), ("/feed/", "x")], "/feed/"),
        ([("/category/x/comments", "x"), ("/category/x/feed/", "x")], "/category/x/feed/"),
        ([("//comments.example/a", "a"), ("//comments.example/b", "b")], "//comments.example/a"),
        ([("/commentary", "Stages of commentsmanship"), ("/b", "b")], "/commentary"),
    ],
)
def test_main_feed_comes_first(links: list[tuple[str, str]], first: str) -> None:
    page = "".join(
        f'<link rel="alternate" type="application/rss+xml" href="{href}" title="{title}">'
        for href, title in links
    )
    found = feed_links(page.encode(), "http://example.org/")
    assert (len(found), found[0]) == (len(links), urljoin("http://example.org/", first))


# The recovering parser finds no element in these.
@pytest.mark.parametrize("content", ["x<rss>", "&<rss>", "<<opml>", '<?xml <br>version="1.0\u2039rss><rss>'])
def test_list_without_any_element_is_no_opml(content: str) -> None:
    with pytest.raises(NotAFeedError):
        read_opml(content.encode())
