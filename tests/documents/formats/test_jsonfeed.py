import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.exceptions import NotAFeedError
from tests.documents.test_json_text import VALUES
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed.json"
VERSION = "https://jsonfeed.org/version/1.1"


def read_json(**members: Any) -> FeedDocument:
    return read(json.dumps({"version": VERSION, "items": [], **members}).encode(), LOCATION)


def read_item(**members: Any) -> Entry:
    (item,) = read_json(items=[{"id": "1", **members}]).entries
    return item


def test_feed_without_anything_is_an_empty_one() -> None:
    assert read_json() == FeedDocument("json")


VERSIONS = ("https://jsonfeed.org/version/1", "https://www.jsonfeed.org/version/1.1/")


@pytest.mark.parametrize("version", [*VERSIONS, *(each.replace("https", "http") for each in VERSIONS)])
def test_every_version_of_json_feed_is_read(version: str) -> None:
    assert read_json(version=version).format == "json"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encoding_is_told_by_the_bytes(encoding: str) -> None:
    body = f'{{"version": "{VERSION}", "title": "café", "items": []}}'.encode(encoding)
    assert read(body, LOCATION, "application/json; charset=iso-8859-1").title == "café"


def test_bytes_that_are_not_utf_8_lose_nothing_else() -> None:
    body = b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "title": "caf\xe9"}]}'
    assert [item.title for item in read(body, LOCATION).entries] == ["caf�"]


@pytest.mark.parametrize(
    ("id_", "read_as"),
    [*((each, each) for each in ("1", "1.0", "-0", "1e3", "9" * 5000)), ('"1"', "1"), ('" a "', "a")],
)
def test_id_is_a_string_as_it_is_written(id_: str, read_as: str) -> None:
    body = f'{{"version": "{VERSION}", "items": [{{"id": {id_}}}]}}'
    assert [item.id for item in read(body.encode(), LOCATION).entries] == [read_as]


@pytest.mark.parametrize("id_", [None, "", " ", True, [], {}])
def test_item_without_an_id_is_a_problem_whatever_else_it_has(id_: object) -> None:
    document = read_json(items=[{"id": id_, "url": "http://example.org/", "title": "t"}])
    assert [item.id for item in document.entries] == [None]
    assert [problem.kind for problem in document.problems] == ["no-id"]


@pytest.mark.parametrize("nothing", [None, "", False])
def test_next_url_that_is_nothing_leads_nowhere(nothing: object) -> None:
    document = read_json(next_url=nothing)
    assert ("next" in document.links, "next" in document.other_links) == (False, False)
    assert read_json(next_url=["/2"]).other_links == {"next": [""]}


def test_next_url_is_paging() -> None:
    assert read_json(next_url="?page=2#x", feed_url="/self", home_page_url=None).links == {
        "next": "http://feeds.example/dir/feed.json?page=2",
        "self": "http://feeds.example/self",
    }


@pytest.mark.parametrize(
    ("members", "content", "content_type"),
    [
        ({"content_html": "<p>a</p> ", "content_text": "b"}, "<p>a</p> ", "html"),
        ({"content_text": " b "}, " b ", "text"),
        ({"content_html": " ", "content_text": "b"}, "b", "text"),
        ({"summary": "s"}, None, None),
    ],
)
def test_content_is_html_before_text(
    members: dict[str, str], content: str | None, content_type: str | None
) -> None:
    item = read_item(**members)
    assert (item.content, item.content_type) == (content, content_type)


@pytest.mark.parametrize(
    ("feed", "item", "authors"),
    [
        ({"authors": [{"name": "F"}]}, {"authors": [{"name": "I"}, {"name": "J"}]}, ["I", "J"]),
        ({"authors": [{"name": "F"}]}, {"authors": []}, ["F"]),
        ({"author": {"name": "F"}}, {}, ["F"]),
        ({"author": {"name": "F"}, "authors": [{"name": "G"}]}, {}, ["G"]),
        ({"authors": [{"name": "F"}]}, {"author": {"url": "http://example.org/"}}, ["http://example.org/"]),
        ({"author": "F"}, {"author": ["I"]}, ["F"]),
        ({"author": "F"}, {"authors": ["I", {"name": "J"}, 1]}, ["I", "J"]),
    ],
)
def test_authors_are_the_items_or_else_the_feeds(
    feed: dict[str, Any], item: dict[str, Any], authors: list[str]
) -> None:
    document = read_json(**feed, items=[{"id": "1", **item}])
    assert [entry.authors for entry in document.entries] == [authors]


def test_link_is_the_url_or_else_the_external_url() -> None:
    assert read_item(url="a", external_url="http://elsewhere.example/").link == "http://feeds.example/dir/a"
    assert read_item(external_url="http://elsewhere.example/").link == "http://elsewhere.example/"


def test_date_that_cannot_be_read_is_a_problem_and_null_is_none() -> None:
    document = read_json(items=[{"id": "1", "date_published": None, "date_modified": "soon\x7f"}])
    assert [(problem.kind, problem.entry, problem.detail) for problem in document.problems] == [
        ("unreadable-date", "1", r"its date_modified is not a date: 'soon\x7f'")
    ]


FEED_KEYS = ("title", "home_page_url", "feed_url", "next_url", "author", "authors", "items")
ITEM_KEYS = (
    *("id", "url", "external_url", "title", "summary", "content_html", "content_text", "date_published"),
    *("date_modified", "author", "authors", "tags", "attachments"),
)
ITEMS = st.dictionaries(st.sampled_from(ITEM_KEYS), VALUES)


@given(feed=st.dictionaries(st.sampled_from(FEED_KEYS), VALUES), items=st.lists(ITEMS, max_size=3))
def test_values_of_any_type_raise_nothing_and_give_no_empty_string(
    feed: dict[str, Any], items: list[dict[str, Any]]
) -> None:
    document = read_json(**{**feed, "items": items})
    assert len(document.entries) == len(items)
    for entry in document.entries:
        strings = (entry.id, entry.title, entry.link, entry.summary, entry.content, *entry.authors)
        assert "" not in strings
        "".join(filter(None, strings)).encode()
        assert (entry.content is None) == (entry.content_type is None)


@pytest.mark.parametrize(
    ("members", "ids", "problems"),
    [
        ('"items": [{"id": "1"}, {"id": "2"}], "items": [{"id": "3"}]', ["3"], ["entry-lost"]),
        ('"items": [{"id": "1"}], "items": [], "items": [{"id": "3"}]', ["3"], ["entry-lost"]),
        ('"items": 1, "items": [{"id": "3"}]', ["3"], []),
        ('"items": [], "items": [{"id": "3"}]', ["3"], []),
        ('"items": [{"id": "3", "items": [1], "_x": {"items": [1]}}]', ["3"], []),
    ],
)
@pytest.mark.parametrize("size", [0, 8 * 1024**2], ids=["small", "large"])
def test_items_that_others_replace_are_said_to_be_lost(
    members: str, ids: list[str], problems: list[str], size: int
) -> None:
    document = read(f'{{"version": "{VERSION}", {members}}}{" " * size}'.encode(), LOCATION)
    assert [entry.id for entry in document.entries] == ids
    assert [problem.kind for problem in document.problems] == problems


@pytest.mark.parametrize("version", ["1", "1.0", "1.1"])
def test_version_without_its_url_needs_an_item(version: str) -> None:
    document = read_json(version=version, items=[{"id": "1", "content_html": "a"}, {"id": "2"}])
    assert [entry.id for entry in document.entries] == ["1", "2"]
    assert [problem.kind for problem in document.problems] == ["nonstandard"]
    for items in ([], [{"id": "1"}], [{"content_html": "a"}], ["1"]):
        with pytest.raises(NotAFeedError):
            read_json(version=version, items=items)


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


def test_post_of_ghost() -> None:
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


def test_post_of_ghost_without_its_fields() -> None:
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
def test_next_page_of_ghost_has_the_other_parameters(url: str, following: str) -> None:
    document = read_page({"id": "1"}, url=url, next=2, total=120)
    assert document.links == {"next": following}
    assert document.total == 120


@pytest.mark.parametrize("following", [None, "x", -1, [2], ""])
def test_last_page_of_ghost(following: Any) -> None:
    document = read_page({"id": "1"}, next=following, total=None)
    assert document.links == {}
    assert document.total is None


def test_faults_of_a_post_of_ghost_are_its_own() -> None:
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
def test_other_json_is_no_page_of_ghost(members: dict[str, Any]) -> None:
    with pytest.raises(NotAFeedError):
        read(json.dumps(members).encode(), URL)
