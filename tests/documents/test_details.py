"""The fields of entries that do not count as content: types, base URL, language."""

import pytest

from fhcrawl.logical_feed.results import digest
from tests.feeds import URL, read

BLOG = "http://feeds.example/blog/"
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"{}>{}</feed>'
RSS = '<rss version="2.0"{}><channel>{}<item>{}</item></channel></rss>'
DC = ' xmlns:dc="http://purl.org/dc/elements/1.1/"'


def atom(inside: str, attributes: str = ' xml:base="/blog/" xml:lang="de"') -> str:
    return ATOM.format(attributes, inside)


def json_feed(item: str) -> str:
    return f'{{"version": "https://jsonfeed.org/version/1.1", "language": "de", "items": [{item}]}}'


XHTML = '{0} type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">t</div></{0}'
OLD_ATOM = '<feed xmlns="http://purl.org/atom/ns#" xml:lang="de"><entry>{}</entry></feed>'
LONG = f' xml:base="/{"b" * 3000}/" xml:lang="{"x" * 101}"'


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (atom("<entry><title>t</title></entry>", ""), ("text", None, URL, None)),
        (
            atom('<entry><title type="html">t</title><summary type="html">s</summary></entry>', ""),
            ("html", "html", URL, None),
        ),
        # A title is without its markup.
        (
            atom(f"<entry><{XHTML.format('title')}><{XHTML.format('summary')}></entry>", ""),
            ("text", "xhtml", URL, None),
        ),
        (
            atom('<entry xml:base="1/" xml:lang="fr"><summary>s</summary></entry>'),
            (None, "text", f"{BLOG}1/", "fr"),
        ),
        (
            atom(
                '<entry xml:lang="fr"><summary xml:base="s/" xml:lang="it">s</summary>'
                '<content xml:base="c/">c</content></entry>'
            ),
            (None, "text", f"{BLOG}c/", "fr"),
        ),
        (
            atom('<entry><content xml:lang="de">c</content><summary xml:lang="it">s</summary></entry>', ""),
            (None, "text", URL, "de"),
        ),
        (atom('<entry xml:lang=""><title>t</title></entry>'), ("text", None, BLOG, "")),
        (
            RSS.format("", "<language>de</language>", "<title>t</title><description>s</description>"),
            (None, "html", URL, "de"),
        ),
        (RSS.format(DC, "<dc:language>de</dc:language>", "<title>t</title>"), (None, None, URL, "de")),
        (
            RSS.format(' xml:base="/blog/" xml:lang="fr"', "<language>de</language>", "<title>t</title>"),
            (None, None, BLOG, "fr"),
        ),
        (json_feed('{"id": "1", "title": "t", "summary": "s"}'), ("text", "text", None, "de")),
        (json_feed('{"id": "1", "language": "fr"}'), (None, None, None, "fr")),
        (
            OLD_ATOM.format('<title type="text/html" mode="escaped">t</title><summary>s</summary>'),
            ("html", "text", URL, "de"),
        ),
        # What is too long to repeat is left out.
        (atom("<entry><title>t</title></entry>", LONG), ("text", None, None, None)),
    ],
)
def test_details_are_those_in_effect(document: str, expected: tuple[str | None, ...]) -> None:
    [entry] = read(document.encode(), URL).entries
    assert (
        tuple(getattr(entry, name) for name in ("title_type", "summary_type", "base", "language")) == expected
    )


def test_details_do_not_count_as_content() -> None:
    plain = atom("<entry><id>1</id><title>t</title><summary>s</summary></entry>", "")
    typed = atom('<entry><id>1</id><title type="html">t</title><summary type="html">s</summary></entry>')
    [one], [two] = (read(document.encode(), URL).entries for document in (plain, typed))
    assert digest(one) == digest(two)
