"""RFC 5005's elements and those of its drafts, in every format that has a head section."""

from urllib.parse import urljoin

import pytest

from fhcrawl.documents import FeedDocument
from fhcrawl.logical_feed import Kind, Link, Role
from fhcrawl.logical_feed.chain import kind, older_document
from tests.feeds import URL, read

FH = 'xmlns:fh="http://purl.org/syndication/history/1.0" xmlns:atom="http://www.w3.org/2005/Atom"'
WRAPPERS = {
    "atom": f"<atom:feed {FH}>%s</atom:feed>",
    "atom 0.3": f'<feed xmlns="http://purl.org/atom/ns#" {FH}>%s</feed>',
    "rss": f"<rss {FH}><channel>%s</channel></rss>",
    "rdf": f'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" {FH}>'
    '<channel xmlns="http://purl.org/rss/1.0/">%s</channel></r:RDF>',
}
PREV = '<atom:link rel="prev" href="11#x"/>'


@pytest.fixture(params=WRAPPERS.values(), ids=list(WRAPPERS))
def wrapper(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read_head(wrapper: str, head: str) -> FeedDocument:
    return read((wrapper % head).encode(), URL)


def test_head_without_anything_is_of_an_empty_feed(wrapper: str) -> None:
    format_ = "atom" if "feed" in wrapper else "rss"
    assert read_head(wrapper, "") == FeedDocument(format_)


@pytest.mark.parametrize(
    ("head", "stated"),
    [
        *(("<fh:archive/>", "archive"), ("<fh:complete>with text</fh:complete>", "complete")),
        *(("<fh:archive/><fh:complete/>", "archive complete"), ('<archive xmlns=""/><complete/>', "")),
        ("<x><fh:complete/><fh:archive/></x>", ""),
        ("<atom:entry><fh:complete/></atom:entry><item><fh:archive/></item>", ""),
        # the flags of the drafts
        *(("<fh:stateful>0</fh:stateful>", "complete"), ("<fh:stateful>\n\t 0 </fh:stateful>", "complete")),
        *(("<fh:stateful>1</fh:stateful>", "incremental"), ("<fh:stateful>2</fh:stateful>", "")),
        *(("<fh:incremental>false</fh:incremental>", "complete"), ("<fh:stateful/>", "")),
        ("<fh:incremental> True </fh:incremental>", "incremental"),
        ("<fh:complete/><fh:incremental>true</fh:incremental>", "complete incremental"),
        # What contradicts itself deletes nothing.
        ("<fh:stateful>0</fh:stateful><fh:incremental>true</fh:incremental>", "incremental"),
        ("<fh:stateful>1</fh:stateful><fh:stateful>0</fh:stateful>", "incremental"),
        *(("<stateful>0</stateful>", ""), ("<x><fh:stateful>0</fh:stateful></x>", "")),
    ],
)
def test_kind_of_the_document_is_read_from_its_head(wrapper: str, head: str, stated: str) -> None:
    document = read_head(wrapper, head)
    flags = [name for name in ("archive", "complete", "incremental") if getattr(document, name)]
    assert flags == stated.split()
    if "archive" not in flags:
        kinds = {"": Kind.SINGLE, "incremental": Kind.ARCHIVED}
        assert kind(document) is kinds.get(stated, Kind.COMPLETE)


@pytest.mark.parametrize(
    ("head", "before"),
    [
        (f"<fh:stateful>1</fh:stateful>{PREV}", "11"),
        (f"{PREV}<fh:incremental>true</fh:incremental>", "11"),
        *(("<fh:stateful>1</fh:stateful>", None), (PREV, None)),
        *((f"<fh:stateful>{flag}</fh:stateful>{PREV}", None) for flag in ("0", "no")),
        *(("<fh:prev> \n11#x </fh:prev>", "11"), ("<fh:prev/>", None)),
        ('<fh:prev xml:base="http://base.example/">11</fh:prev>', "http://base.example/11"),
        (f"<fh:prev>10</fh:prev>{PREV}<fh:stateful>1</fh:stateful>", "10"),
        ('<fh:prev>10</fh:prev><atom:link rel="prev-archive" href="11"/>', "11"),
        (f'<fh:stateful>1</fh:stateful>{PREV}<atom:link rel="prev-archive" href="10"/>', "10"),
    ],
)
def test_document_before_is_named_by_prev_in_the_drafts_alone(
    wrapper: str, head: str, before: str | None
) -> None:
    document = read_head(wrapper, head)
    url = before and urljoin(URL, before)
    assert document.links.get("prev-archive") == url
    assert older_document(document) == (url and Link(Role.ARCHIVE, url))
    if head == PREV:
        assert document.links == {"prev": urljoin(URL, "11")}


def test_elements_of_another_namespace_say_nothing() -> None:
    body = f'<rss {FH} xmlns:old="http://purl.org/syndication/history/0.1"><channel><old:stateful>0</old:stateful>'
    document = read(f"{body}<old:archive/><old:prev>11</old:prev></channel></rss>".encode(), URL)
    assert document == FeedDocument("rss")
