"""RFC 5005's elements and those of its drafts, in every format that has a head section."""

import pytest

from fhcrawl.documents import FeedDocument
from fhcrawl.logical_feed import Kind, Link, Role
from fhcrawl.logical_feed.chain import kind, older_document
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed"
FH = 'xmlns:fh="http://purl.org/syndication/history/1.0" xmlns:atom="http://www.w3.org/2005/Atom"'
WRAPPERS = {
    "atom": f"<atom:feed {FH}>%s</atom:feed>",
    "atom 0.3": f'<feed xmlns="http://purl.org/atom/ns#" {FH}>%s</feed>',
    "rss": f"<rss {FH}><channel>%s</channel></rss>",
    "rdf": f'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" {FH}>'
    '<channel xmlns="http://purl.org/rss/1.0/">%s</channel></r:RDF>',
}
PREV = '<atom:link rel="prev" href="11#x"/>'
BEFORE = "http://feeds.example/dir/11"


@pytest.fixture(params=list(WRAPPERS.values()), ids=list(WRAPPERS))
def wrapper(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def read_head(wrapper: str, head: str) -> FeedDocument:
    return read((wrapper % head).encode(), LOCATION)


def test_head_without_anything_is_of_an_empty_feed(wrapper: str) -> None:
    format_ = "atom" if "feed" in wrapper else "rss"
    assert read_head(wrapper, "") == FeedDocument(format_)


@pytest.mark.parametrize(
    ("head", "archive", "complete"),
    [
        *(("<fh:archive/>", True, False), ("<fh:complete>with text</fh:complete>", False, True)),
        *(("<fh:archive/><fh:complete/>", True, True), ('<archive xmlns=""/><complete/>', False, False)),
        ("<x><fh:complete/><fh:archive/></x>", False, False),
        ("<atom:entry><fh:complete/></atom:entry><item><fh:archive/></item>", False, False),
    ],
)
def test_kind_of_the_document_is_said_in_its_head(
    wrapper: str, head: str, archive: bool, complete: bool
) -> None:
    document = read_head(wrapper, head)
    assert (document.archive, document.complete) == (archive, complete)


@pytest.mark.parametrize(
    ("head", "complete", "incremental"),
    [
        *(("<fh:stateful>0</fh:stateful>", True, False), ("<fh:stateful>\n\t 0 </fh:stateful>", True, False)),
        ("<fh:stateful>1</fh:stateful>", False, True),
        ("<fh:incremental>false</fh:incremental>", True, False),
        ("<fh:incremental> True </fh:incremental>", False, True),
        *(("<fh:stateful>2</fh:stateful>", False, False), ("<fh:stateful/>", False, False)),
        ("<fh:complete/><fh:incremental>true</fh:incremental>", True, True),
        # What contradicts itself deletes nothing.
        ("<fh:stateful>0</fh:stateful><fh:incremental>true</fh:incremental>", False, True),
        ("<fh:stateful>1</fh:stateful><fh:stateful>0</fh:stateful>", False, True),
        ("<stateful>0</stateful>", False, False),
        ("<x><fh:stateful>0</fh:stateful></x>", False, False),
    ],
)
def test_flags_of_the_drafts_say_complete_or_archived(
    wrapper: str, head: str, complete: bool, incremental: bool
) -> None:
    document = read_head(wrapper, head)
    assert (document.complete, document.incremental) == (complete, incremental)
    kinds = {(True, False): Kind.COMPLETE, (True, True): Kind.COMPLETE, (False, True): Kind.ARCHIVED}
    assert kind(document) is kinds.get((complete, incremental), Kind.SINGLE)


@pytest.mark.parametrize(
    ("head", "before"),
    [
        (f"<fh:stateful>1</fh:stateful>{PREV}", BEFORE),
        (f"{PREV}<fh:incremental>true</fh:incremental>", BEFORE),
        ("<fh:stateful>1</fh:stateful>", None),
        (PREV, None),
        (f"<fh:stateful>0</fh:stateful>{PREV}", None),
        (f"<fh:stateful>no</fh:stateful>{PREV}", None),
        ("<fh:prev> \n11#x </fh:prev>", BEFORE),
        ('<fh:prev xml:base="http://base.example/">11</fh:prev>', "http://base.example/11"),
        ("<fh:prev/>", None),
        (f"<fh:prev>10</fh:prev>{PREV}<fh:stateful>1</fh:stateful>", "http://feeds.example/dir/10"),
        ('<fh:prev>10</fh:prev><atom:link rel="prev-archive" href="11"/>', BEFORE),
        (
            f'<fh:stateful>1</fh:stateful>{PREV}<atom:link rel="prev-archive" href="10"/>',
            "http://feeds.example/dir/10",
        ),
    ],
)
def test_document_before_is_named_by_prev_in_the_drafts_alone(
    wrapper: str, head: str, before: str | None
) -> None:
    document = read_head(wrapper, head)
    assert document.links.get("prev-archive") == before
    assert older_document(document) == (None if before is None else Link(Role.ARCHIVE, before))


def test_prev_stays_what_it_is(wrapper: str) -> None:
    assert read_head(wrapper, PREV).links == {"prev": BEFORE}


def test_elements_of_another_namespace_say_nothing() -> None:
    body = f'<rss {FH} xmlns:old="http://purl.org/syndication/history/0.1"><channel><old:stateful>0</old:stateful>'
    document = read(f"{body}<old:archive/><old:prev>11</old:prev></channel></rss>".encode(), LOCATION)
    assert document == FeedDocument("rss")
