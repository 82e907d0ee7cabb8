import json
from typing import Any

import pytest

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import read

API = "https://example.org/ghost/api/content/posts/"
URL = f"{API}?key=k&limit=100&page=1&include=authors,tags&formats=html"
PUBLISHED, UPDATED = "2024-01-01T00:00:00.000+00:00", "2024-01-02T01:00:00.000+01:00"


def read_page(*posts: Any, url: str = URL, **pagination: Any) -> FeedDocument:
    counts = {"page": 1, "limit": 100, "pages": 1, "total": len(posts), "next": None, "prev": None}
    page = {"posts": posts, "meta": {"pagination": {**counts, **pagination}}}
    return read(json.dumps(page).encode(), url)


def read_post(**members: Any) -> Entry:
    document = read_page({"id": "5f1", **members})
    [entry] = document.entries
    assert document.problems == []
    return entry


def test_post() -> None:
    entry = read_post(
        uuid="c1",
        url="https://example.org/a/",
        title="A & B",
        html="<p>Text</p>",
        excerpt="Text",
        custom_excerpt="Short",
        published_at=PUBLISHED,
        updated_at=UPDATED,
        feature_image="https://example.org/content/images/a.png",
        authors=[{"name": "A"}, {"name": "B"}, {"name": "A"}, {"name": None}, "C"],
        tags=[{"name": "News"}],
    )
    assert (entry.id, entry.link, entry.title) == ("5f1", "https://example.org/a/", "A & B")
    assert (entry.content, entry.content_type) == ("<p>Text</p>", "html")
    assert (entry.summary, entry.summary_type, entry.title_type) == ("Short", "text", "text")
    assert entry.published == "2024-01-01T00:00:00.000Z"
    assert entry.updated == "2024-01-02T00:00:00.000Z"
    assert entry.authors == ["A", "B"]
    assert entry.categories == ["News"]
    assert [each["url"] for each in entry.enclosures] == ["https://example.org/content/images/a.png"]


def test_post_without_its_fields() -> None:
    assert read_post(title=None, html=None, custom_excerpt=None, excerpt="Text").summary == "Text"
    entry = read_post(authors=None, tags=3, feature_image="", html="")
    assert (entry.title, entry.content, entry.content_type, entry.enclosures) == (None, None, None, [])


@pytest.mark.parametrize(
    ("url", "following"),
    [
        (URL, URL.replace("page=1", "page=2")),
        (f"{API}?key=k", f"{API}?key=k&page=2"),
        (API, f"{API}?page=2"),
        (f"{API}?page=1#top", f"{API}?page=2"),
        (f"{API}?homepage=1&page=", f"{API}?homepage=1&page=2"),
    ],
)
def test_next_page_has_the_other_parameters(url: str, following: str) -> None:
    document = read_page({"id": "1"}, url=url, next=2, total=120)
    assert document.links == {"next": following}
    assert document.total == 120


@pytest.mark.parametrize("following", [None, "x", -1, [2], ""])
def test_last_page(following: Any) -> None:
    document = read_page({"id": "1"}, next=following, total=None)
    assert document.links == {}
    assert document.total is None


def test_faults_of_a_post_are_its_own() -> None:
    document = read_page("x", {"id": 1, "title": "A"}, {"id": "b", "updated_at": "x"}, {"id": "c"})
    assert [entry.id for entry in document.entries] == [None, "1", "b", "c"]
    assert [(problem.kind, problem.entry) for problem in document.problems] == [
        ("no-id", "item 1"),
        ("unreadable-date", "b"),
    ]


@pytest.mark.parametrize(
    "members",
    [
        {"posts": []},
        {"posts": {}, "meta": {"pagination": {"page": 1}}},
        {"meta": {"pagination": {"page": 1}}},
    ],
)
def test_other_json_is_no_page(members: dict[str, Any]) -> None:
    with pytest.raises(NotAFeedError):
        read(json.dumps(members).encode(), URL)
