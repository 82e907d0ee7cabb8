"""The fields of entries that do not count as content: types, base URL, language."""

import pytest

from fhcrawl.documents.model import DETAILS
from fhcrawl.logical_feed.results import digest
from tests.feeds import read

URL = "http://example.org/feeds/feed"
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"{}>{}</feed>'
RSS = '<rss version="2.0"{}><channel>{}<item>{}</item></channel></rss>'
DC = ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
BLOG = "http://example.org/blog/"


def details(document: str) -> tuple[str | None, ...]:
    """Title type, summary type, base and language of the only entry."""
    [entry] = read(document.encode(), URL).entries
    return tuple(getattr(entry, name) for name in DETAILS)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (ATOM.format("", "<entry><title>t</title></entry>"), ("text", None, URL, None)),
        (
            ATOM.format("", '<entry><title type="html">t</title><summary type="html">s</summary></entry>'),
            ("html", "html", URL, None),
        ),
        (
            ATOM.format(
                "",
                '<entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">t</div></title>'
                '<summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">s</div></summary></entry>',
            ),
            # A title is without its markup.
            ("text", "xhtml", URL, None),
        ),
        (
            ATOM.format(
                ' xml:base="/blog/" xml:lang="de"',
                '<entry xml:base="1/" xml:lang="fr"><summary>s</summary></entry>',
            ),
            (None, "text", f"{BLOG}1/", "fr"),
        ),
        (
            ATOM.format(
                ' xml:base="/blog/" xml:lang="de"',
                '<entry xml:lang="fr"><summary xml:base="s/" xml:lang="it">s</summary>'
                '<content xml:base="c/">c</content></entry>',
            ),
            (None, "text", f"{BLOG}c/", "fr"),
        ),
        (
            ATOM.format(
                "", '<entry><content xml:lang="de">c</content><summary xml:lang="it">s</summary></entry>'
            ),
            (None, "text", URL, "de"),
        ),
        (
            ATOM.format(' xml:lang="de"', '<entry xml:lang=""><title>t</title></entry>'),
            ("text", None, URL, ""),
        ),
        (
            RSS.format("", "<language>de</language>", "<title>t</title><description>s</description>"),
            (None, "html", URL, "de"),
        ),
        (RSS.format(DC, "<dc:language>de</dc:language>", "<title>t</title>"), (None, None, URL, "de")),
        (
            RSS.format(' xml:base="/blog/" xml:lang="fr"', "<language>de</language>", "<title>t</title>"),
            (None, None, BLOG, "fr"),
        ),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "language": "de", "items":'
            '[{"id": "1", "title": "t", "summary": "s"}]}',
            ("text", "text", None, "de"),
        ),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "language": "de", "items":'
            '[{"id": "1", "language": "fr"}]}',
            (None, None, None, "fr"),
        ),
        (
            '<feed xmlns="http://purl.org/atom/ns#" xml:lang="de"><entry>'
            '<title type="text/html" mode="escaped">t</title>'
            "<summary>s</summary></entry></feed>",
            ("html", "text", URL, "de"),
        ),
    ],
)
def test_details_are_those_in_effect(document: str, expected: tuple[str | None, ...]) -> None:
    assert details(document) == expected


def test_what_is_too_long_to_repeat_is_left_out() -> None:
    document = ATOM.format(
        f' xml:base="/{"b" * 3000}/" xml:lang="{"x" * 101}"', "<entry><title>t</title></entry>"
    )
    assert details(document)[2:] == (None, None)


def test_details_do_not_count_as_content() -> None:
    plain = ATOM.format("", "<entry><id>1</id><title>t</title><summary>s</summary></entry>")
    typed = ATOM.format(
        ' xml:lang="de" xml:base="/blog/"',
        '<entry><id>1</id><title type="html">t</title><summary type="html">s</summary></entry>',
    )
    [one], [two] = (read(document.encode(), URL).entries for document in (plain, typed))
    assert digest(one) == digest(two)
