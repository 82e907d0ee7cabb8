"""Feeds that an HTML page names."""

from urllib.parse import urljoin

import pytest

from fhcrawl.documents.discovery import feed_links, read_opml
from fhcrawl.exceptions import NotAFeedError

URL = "http://example.org/blog/"


ALTERNATES = """<html><head><base href="/base/">
<link rel="alternate" type="text/html" href="no">
<link rel="stylesheet" type="application/atom+xml" href="no">
<link rel="alternate" type="application/rss+xml" href="">
<link rel="ALTERNATE home" type="Application/Atom+XML; charset=utf-8" href="a.atom">
<link rel="alternate" type="application/feed+json" href="http://example.net/f.json">
</head></html>"""
A = '<link rel="alternate" type="text/xml" href="a">'


@pytest.mark.parametrize(
    ("page", "feeds"),
    [
        *((nothing, []) for nothing in ("", "   ", "<!-- nothing -->")),
        (ALTERNATES, ["http://example.org/base/a.atom", "http://example.net/f.json"]),
        # the first base element
        (f'<html><head><base href="/1/"><base href="/2/">{A}</head></html>', ["http://example.org/1/a"]),
        (f'<html><head><base target="_top"><base href="/2/">{A}</head></html>', [f"{URL}a"]),
        (f"<html><head><base href>{A}</head></html>", [f"{URL}a"]),
    ],
)
def test_alternate_links_of_feed_types_count(page: str, feeds: list[str]) -> None:
    assert feed_links(page.encode(), URL) == feeds


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
