import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.documents.formats.jsonfeed import parse
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import ids, kinds, read

LOCATION = "http://feeds.example/dir/feed.json"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=8,
)
VERSION = "https://jsonfeed.org/version/1.1"


def read_json(**members: Any) -> FeedDocument:
    return read(json.dumps({"version": VERSION, "items": [], **members}).encode(), LOCATION)


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
    assert ids(read(body.encode(), LOCATION)) == [read_as]


@pytest.mark.parametrize("id_", [None, "", " ", True, [], {}])
def test_item_without_an_id_is_a_problem_whatever_else_it_has(id_: object) -> None:
    document = read_json(items=[{"id": id_, "url": "http://example.org/", "title": "t"}])
    assert (ids(document), kinds(document)) == ([None], ["no-id"])


def test_next_url_is_paging() -> None:
    assert read_json(next_url="?page=2#x", feed_url="/self", home_page_url=None).links == {
        "next": "http://feeds.example/dir/feed.json?page=2",
        "self": "http://feeds.example/self",
    }
    for nothing in (None, "", False):
        assert read_json(next_url=nothing) == FeedDocument("json")
    assert read_json(next_url=["/2"]).other_links == {"next": [""]}


@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({"content_html": "<p> ", "content_text": "b"}, {"content": "<p> ", "content_type": "html"}),
        ({"content_text": " b "}, {"content": " b ", "content_type": "text"}),
        ({"content_html": " ", "content_text": "b"}, {"content": "b", "content_type": "text"}),
        ({"summary": "s"}, {"content": None, "content_type": None}),
        ({"url": "a", "external_url": "http://e.example/"}, {"link": "http://feeds.example/dir/a"}),
        ({"external_url": "http://e.example/"}, {"link": "http://e.example/"}),
    ],
)
def test_members_of_an_item_are_its_fields(members: dict[str, str], fields: dict[str, str | None]) -> None:
    [item] = read_json(items=[{"id": "1", **members}]).entries
    assert {name: getattr(item, name) for name in fields} == fields


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
    ("members", "problems"),
    [
        ('"items": [{"id": "1"}, {"id": "2"}], "items": [{"id": "3"}]', ["entry-lost"]),
        ('"items": [{"id": "1"}], "items": [], "items": [{"id": "3"}]', ["entry-lost"]),
        *(('"items": 1, "items": [{"id": "3"}]', []), ('"items": [], "items": [{"id": "3"}]', [])),
        ('"items": [{"id": "3", "items": [1], "_x": {"items": [1]}}]', []),
    ],
)
@pytest.mark.parametrize("size", [0, 8 * 1024**2], ids=["small", "large"])
def test_items_that_others_replace_are_reported_as_lost(members: str, problems: list[str], size: int) -> None:
    document = read(f'{{"version": "{VERSION}", {members}}}{" " * size}'.encode(), LOCATION)
    assert (ids(document), kinds(document)) == (["3"], problems)


@pytest.mark.parametrize("version", ["1", "1.0", "1.1"])
def test_version_without_its_url_needs_an_item(version: str) -> None:
    document = read_json(version=version, items=[{"id": "1", "content_html": "a"}, {"id": "2"}])
    assert (ids(document), kinds(document)) == (["1", "2"], ["nonstandard"])
    for items in ([], [{"id": "1"}], [{"content_html": "a"}], ["1"]):
        with pytest.raises(NotAFeedError):
            read_json(version=version, items=items)


# --- the text of JSON


MEMBERS = st.dictionaries(st.sampled_from(("a", "items", "version", "\\", '"')), VALUES)
TEXTS = st.text(alphabet='{}[],:"\\ 1aeéu\n\N{GRINNING FACE}', max_size=20)


@given(members=MEMBERS)
def test_members_are_those_of_the_object(members: dict[str, Any]) -> None:
    parsed = parse(json.dumps(members).encode())
    has_items = isinstance(members.get("items"), list)
    assert parsed.members.keys() == members.keys() - ({"items"} if has_items else set())
    assert (parsed.items is not None) == has_items


@given(text=TEXTS.map("{{{}".format) | TEXTS.map('{{"items":{}'.format))
@example('{"items":[1,]}')
@example('{"items":[1 2]}')
@example('{"items":[1],}')
@example('{"a":[}')
@example("{" + '"a":[' * 50_000)
def test_what_is_no_json_is_an_error(text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises(NotAFeedError) as caught:
            parse(text.encode("utf-8", "surrogatepass"))
        assert caught.value.kind == "not-json"


def test_what_stands_behind_too_many_items_is_read() -> None:
    body = f'{{"version":"{VERSION}","items":[1,2,3,4],"title":"t"}}'
    document = read(body.encode(), LOCATION, max_entries=2)
    assert (document.title, len(document.entries), kinds(document)[-1]) == ("t", 2, "too-many")


# --- Ghost


API = "https://example.org/ghost/api/content/posts/"
URL = f"{API}?key=k&limit=100&page=1&include=authors,tags&formats=html"


def read_page(*posts: Any, url: str = URL, **pagination: Any) -> FeedDocument:
    counts = {"page": 1, "limit": 100, "pages": 1, "total": len(posts), "next": None, "prev": None}
    page = {"posts": posts, "meta": {"pagination": {**counts, **pagination}}}
    return read(json.dumps(page).encode(), url)


def test_post_of_ghost() -> None:
    post = {
        "id": "5f1",
        "uuid": "c1",
        "url": "https://example.org/a/",
        "title": "A & B",
        "html": "<p>Text</p>",
        "excerpt": "Text",
        "custom_excerpt": "Short",
        "published_at": "2024-01-01T00:00:00.000+00:00",
        "updated_at": "2024-01-02T01:00:00.000+01:00",
        "feature_image": "https://example.org/images/a.png",
        "authors": [{"name": "A"}, {"name": "B"}, {"name": "A"}, {"name": None}, "C"],
        "tags": [{"name": "News"}],
    }
    document = read_page(post, {"id": "5f2", "html": None, "excerpt": "E", "authors": None, "tags": 3})
    assert document.problems == []
    assert document.entries == [
        Entry(
            id="5f1",
            link="https://example.org/a/",
            title="A & B",
            content="<p>Text</p>",
            content_type="html",
            summary="Short",
            published="2024-01-01T00:00:00.000Z",
            updated="2024-01-02T00:00:00.000Z",
            authors=["A", "B"],
            categories=["News"],
            enclosures=[{"url": "https://example.org/images/a.png", "type": "image/*", "length": None}],
            title_type="text",
            summary_type="text",
        ),
        Entry(id="5f2", summary="E", summary_type="text"),
    ]
    assert read_page({"id": "5f3", "feature_image": "", "html": ""}).entries == [Entry(id="5f3")]


@pytest.mark.parametrize(
    ("url", "following"),
    [
        (URL, URL.replace("page=1", "page=2")),
        *((f"{API}?key=k", f"{API}?key=k&page=2"), (API, f"{API}?page=2")),
        *((f"{API}?page=1#top", f"{API}?page=2"), (f"{API}?homepage=1&page=", f"{API}?homepage=1&page=2")),
    ],
)
def test_next_page_of_ghost_has_the_other_parameters(url: str, following: str) -> None:
    document = read_page({"id": "1"}, url=url, next=2, total=120)
    assert (document.links, document.total) == ({"next": following}, 120)


@pytest.mark.parametrize("following", [None, "x", -1, [2], ""])
def test_last_page_of_ghost(following: Any) -> None:
    document = read_page({"id": "1"}, next=following, total=None)
    assert (document.links, document.total) == ({}, None)


def test_faults_of_a_post_of_ghost_are_its_own() -> None:
    document = read_page("x", {"id": 1, "title": "A"}, {"id": "b", "updated_at": "x"}, {"id": "c"})
    assert ids(document) == [None, "1", "b", "c"]
    problems = [(problem.kind, problem.entry) for problem in document.problems]
    assert problems == [("no-id", "item 1"), ("unreadable-date", "b")]


META = {"meta": {"pagination": {"page": 1}}}


@pytest.mark.parametrize("members", [{"posts": []}, {"posts": {}, **META}, META])
def test_other_json_is_no_page_of_ghost(members: dict[str, Any]) -> None:
    with pytest.raises(NotAFeedError):
        read(json.dumps(members).encode(), URL)
