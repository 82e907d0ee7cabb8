import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.documents.model import Tombstone
from fhcrawl.exceptions import NotAFeedError
from tests.documents.formats.test_jsonfeed import VALUES
from tests.feeds import ids, kinds, read

URL = "https://social.example/users/a/outbox?page=true"
CONTEXT = "https://www.w3.org/ns/activitystreams"
ACTOR = "https://social.example/users/a"
NOTE = f"{ACTOR}/statuses/1"
TIME, LATER = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"


def read_members(**members: Any) -> FeedDocument:
    return read(json.dumps({"@context": CONTEXT, **members}).encode(), URL)


def read_page(*items: Any, **members: Any) -> FeedDocument:
    return read_members(**{"type": "OrderedCollectionPage", "orderedItems": items, **members})


def create(kind: str = "Create", /, **members: Any) -> dict[str, Any]:
    note = {"id": NOTE, "type": "Note", **members}
    return {"id": f"{NOTE}/activity", "type": kind, "actor": ACTOR, "published": TIME, "object": note}


def read_note(**members: Any) -> Entry:
    document = read_page(create(**members))
    [entry] = document.entries
    assert document.problems == []
    return entry


class TestCollections:
    @pytest.mark.parametrize(
        ("members", "links"),
        [
            (
                {"first": "?page=1#a", "last": {"id": "/last", "type": "Link"}},
                {"next": "/users/a/outbox?page=1"},
            ),
            (
                {
                    "type": "OrderedCollectionPage",
                    "next": {"type": "OrderedCollectionPage", "id": "/3"},
                    "prev": {"type": "Link", "href": "/1"},
                    "partOf": "https://social.example/o",
                    "first": "/not-this",
                },
                {"next": "/3", "prev": "/1", "first": "/o"},
            ),
        ],
    )
    def test_collection_leads_to_its_pages_and_these_to_others(
        self, members: dict[str, Any], links: dict[str, str]
    ) -> None:
        document = read_members(**{"type": "OrderedCollection", "totalItems": 61, **members})
        absolute = {relation: f"https://social.example{path}" for relation, path in links.items()}
        assert document == FeedDocument("activitystreams", links=absolute, total=61)

    def test_first_page_may_be_inside(self) -> None:
        page = {"type": "OrderedCollectionPage", "next": "/2", "orderedItems": [create()]}
        document = read_members(type="OrderedCollection", first=page)
        assert (len(document.entries), document.links) == (1, {"next": "https://social.example/2"})

    @pytest.mark.parametrize(("total", "leads"), [(1, False), (2, True), ("x", False), (10**30, False)])
    def test_inline_items_are_complete_unless_the_total_is_greater(self, total: object, leads: bool) -> None:
        members = {"totalItems": total, "first": "/1", "orderedItems": [create()]}
        document = read_members(type="OrderedCollection", **members)
        assert ("next" in document.links, len(document.entries)) == (leads, 1)

    def test_empty_collection_is_an_empty_feed(self) -> None:
        assert read_members(type="OrderedCollection", totalItems=0).fault is None
        assert read_members(type="OrderedCollection", totalItems=1).fault == "it has no items"

    @pytest.mark.parametrize(
        "members",
        [
            {"type": "as:OrderedCollection", "orderedItems": [create()]},
            {"@type": ["x", f"{CONTEXT}#OrderedCollectionPage"], "orderedItems": create()},
            {"type": "Collection", "items": [create()], "@context": [{}, CONTEXT]},
            {"type": "CollectionPage", "items": create()},
        ],
    )
    def test_other_spellings_are_read(self, members: dict[str, Any]) -> None:
        assert ids(read_members(**members)) == [NOTE]

    @pytest.mark.parametrize("kind", ["Collection", "Person", 1, None])
    def test_other_json_is_no_feed(self, kind: object) -> None:
        with pytest.raises(NotAFeedError):
            read_members(**{"type": kind, "items": [], "@context": "x" if kind == "Collection" else CONTEXT})

    def test_head_has_no_items(self) -> None:
        page = {"type": "OrderedCollectionPage", "orderedItems": [create()]}
        for members in ({"orderedItems": [create()]}, {"first": page}):
            body = json.dumps({"type": "OrderedCollection", "name": "t", **members}).encode()
            found = read(body, URL, keep_head=True)
            assert found.head is not None
            assert (found.title, "Create" in found.head.original) == ("t", False)


class TestPosts:
    def test_fields(self) -> None:
        assert read_note(
            url="https://social.example/@a/1",
            name=" t ",
            summary="cw",
            content="<p>c</p>",
            contentMap={"de": "<p>c</p>"},
            published=LATER,
            updated="2024-01-03T01:00:00+01:00",
            attributedTo=ACTOR,
            tag=[{"type": "Mention", "name": "@b"}, {"type": "Hashtag", "name": "#b"}, "x", None],
            attachment=[
                {"type": "Document", "mediaType": "image/png", "url": "/1.png"},
                {"type": "Link", "href": "https://preview.example/"},
                {"type": "Link", "href": "/2.ogg", "mediaType": "audio/ogg", "size": 5},
            ],
        ) == Entry(
            id=NOTE,
            title="t",
            link="https://social.example/@a/1",
            published=LATER,
            updated="2024-01-03T00:00:00Z",
            authors=[ACTOR],
            categories=["b"],
            summary="cw",
            content="<p>c</p>",
            content_type="html",
            enclosures=[
                {"url": "https://social.example/1.png", "type": "image/png", "length": None},
                {"url": "https://social.example/2.ogg", "type": "audio/ogg", "length": 5},
            ],
            title_type="text",
            summary_type="html",
            language="de",
        )

    def test_activity_supplies_fields_that_its_post_lacks(self) -> None:
        assert read_note() == Entry(id=NOTE, link=NOTE, published=TIME, authors=[ACTOR])

    def test_urls_of_a_video_are_its_page_and_its_files(self) -> None:
        video = {"type": "Link", "mediaType": "video/mp4", "href": "/v.mp4", "size": 7}
        page = {"type": "Link", "mediaType": "text/html", "href": "/w/1"}
        entry = read_note(type="Video", url=[video, page])
        assert entry.link == "https://social.example/w/1"
        file = {"url": "https://social.example/v.mp4", "type": "video/mp4", "length": 7}
        assert entry.enclosures == [file]

    @pytest.mark.parametrize(
        ("members", "fields"),
        [
            (
                {"attributedTo": [{"type": "Person", "name": "A", "id": "x"}, {"preferredUsername": "b"}]},
                {"authors": ["A", "b"]},
            ),
            ({"attributedTo": [ACTOR, ACTOR, {"id": "x"}, 5, None, {}]}, {"authors": [ACTOR, "x"]}),
            ({"attributedTo": {"nameMap": {"en": "A"}}}, {"authors": ["A"]}),
            # the first language of a map
            ({"contentMap": {"fr": " ", "en": "a", "de": "b"}}, {"content": "a", "language": "en"}),
            ({"content": "b", "contentMap": {"en": "a", "de": "b"}}, {"language": "de"}),
            ({"content": "b", "contentMap": {"und": "b"}}, {"language": None}),
            ({"content": "a < b", "mediaType": "text/plain"}, {"content_type": "text"}),
        ],
    )
    def test_members_of_a_post_are_its_fields(
        self, members: dict[str, Any], fields: dict[str, object]
    ) -> None:
        entry = read_note(**members)
        assert {name: getattr(entry, name) for name in fields} == fields

    def test_post_without_an_activity_is_read_and_so_is_a_poll(self) -> None:
        poll = {"id": NOTE, "type": "Question", "attributedTo": ACTOR, "content": "?"}
        assert [entry.content for entry in read_page(poll).entries] == ["?"]

    def test_post_that_is_only_a_url_is_an_entry_without_text(self) -> None:
        document = read_page({**create(), "object": NOTE})
        assert document.entries == [Entry(id=NOTE, link=NOTE, published=TIME, authors=[ACTOR])]
        assert kinds(document) == ["nonstandard"]

    def test_originals_are_the_activities(self) -> None:
        body = json.dumps({"type": "OrderedCollection", "orderedItems": [create(content="a\0")]}).encode()
        [entry] = read(body, URL, keep_originals=True).entries
        assert entry.original is not None
        assert json.loads(entry.original)["id"] == f"{NOTE}/activity"


class TestActivities:
    def test_boost_is_an_entry_of_its_own(self) -> None:
        link = "https://x.example/1"
        boost = {**create("Announce"), "id": "b", "object": link}
        document = read_page(boost, create())
        assert document.entries[0] == Entry(id="b", link=link, published=TIME, authors=[ACTOR])
        assert document.entries[1].id == NOTE

    @pytest.mark.parametrize("is_wrapped", [True, False])
    def test_boost_of_a_post_inside_has_its_text_and_author(self, is_wrapped: bool) -> None:
        inner = create(content="c", attributedTo="https://x.example/b", updated=LATER)
        boost = {"id": "b", "type": "Announce", "actor": ACTOR, "published": TIME}
        [entry] = read_page({**boost, "object": inner if is_wrapped else inner["object"]}).entries
        assert (entry.id, entry.link, entry.content, entry.updated) == ("b", NOTE, "c", None)
        assert entry.authors == ["https://x.example/b"]

    @pytest.mark.parametrize("order", [1, -1])
    def test_update_is_the_newer_version_of_its_post(self, order: int) -> None:
        update = {**create("Update", content="new"), "published": LATER}
        document = read_page(*[update, create(content="old")][::order])
        assert [(e.id, e.content, e.updated) for e in document.entries] == [(NOTE, "new", LATER)]

    def test_posts_that_share_an_id_stay_two(self) -> None:
        assert len(read_page(create(content="a"), create(content="b")).entries) == 2

    @pytest.mark.parametrize(
        ("given", "when"),
        [
            ({"id": NOTE, "type": "Tombstone", "formerType": "Note", "deleted": LATER}, LATER),
            ({"id": NOTE, "type": "Tombstone"}, TIME),
            (NOTE, TIME),
        ],
    )
    def test_deletion_is_one_of_the_post(self, given: object, when: str) -> None:
        document = read_page({**create("Delete"), "object": given}, create())
        assert (document.entries, document.tombstones) == ([], [Tombstone(NOTE, when)])

    def test_tombstone_in_place_of_a_post_is_a_deletion(self) -> None:
        gone = {"id": NOTE, "type": "Tombstone", "deleted": LATER}
        for item in (gone, {**create(), "object": gone}):
            assert read_page(item).tombstones == [Tombstone(NOTE, LATER)]

    @pytest.mark.parametrize(
        "activity",
        [
            *(create(kind) for kind in ("Like", "Undo", "Follow", "Add", "EmojiReact", "Arrive")),
            *(
                {**create(kind), "object": actor}
                for kind in ("Create", "Update", "Delete")
                for actor in (ACTOR, {"id": ACTOR, "type": "Person"})
            ),
        ],
    )
    def test_activity_that_is_of_no_post_is_no_loss(self, activity: dict[str, Any]) -> None:
        assert read_page(activity) == FeedDocument("activitystreams")


LOST: tuple[Any, ...] = ("https://social.example/activities/1", None, 5, [], "")


class TestFaults:
    @pytest.mark.parametrize(
        ("item", "kind"),
        [
            *((item, "entry-lost") for item in LOST),
            *(({"type": "Create", **more}, "entry-lost") for more in ({}, {"object": [5]})),
            ({"type": "Announce", "object": NOTE}, "no-id"),
            *(({"type": "Create", "object": {"type": "Note"}}, "no-id"), ({}, "no-id")),
            ({"type": "Delete"}, "no-ref"),
        ],
    )
    def test_bad_item_loses_only_itself(self, item: object, kind: str) -> None:
        document = read_page(item, create())
        assert kinds(document) == [kind]
        assert [id_ for id_ in ids(document) if id_] == [NOTE]

    def test_date_that_is_none_is_a_problem(self) -> None:
        assert kinds(read_page(create(published="x", updated=[]))) == ["unreadable-date"] * 2

    NAMES = st.sampled_from(
        (
            *("id", "type", "object", "actor", "url", "href", "name", "content", "contentMap", "summary"),
            *("tag", "attachment", "attributedTo", "published", "updated", "deleted", "mediaType", "first"),
            *("next", "orderedItems", "items", "totalItems", "partOf"),
        )
    )
    TYPES = st.sampled_from(
        ("Create", "Update", "Announce", "Delete", "Tombstone", "Note", "Hashtag", "Like")
    )
    ANY = st.recursive(
        VALUES | TYPES,
        lambda inside: (
            st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(("href", "type", "en")), inside)
        ),
        max_leaves=6,
    )
    OBJECTS = st.dictionaries(NAMES, ANY | st.dictionaries(NAMES, ANY, max_size=5), max_size=8)

    @given(items=st.lists(OBJECTS | ANY, max_size=3), members=OBJECTS, kind=TYPES)
    def test_any_json_is_read(self, items: list[Any], members: dict[str, Any], kind: str) -> None:
        typed = [{"type": kind, **item} if isinstance(item, dict) else item for item in items]
        page = {**members, "type": "OrderedCollection", "orderedItems": typed}
        document = read(json.dumps(page).encode(), URL, keep_originals=True)
        lost = sum(problem.kind in ("entry-lost", "no-id", "no-ref") for problem in document.problems)
        # Without items of its own, a collection has those of a first page inside.
        first = members.get("first")
        inner = [first.get("orderedItems"), first.get("items")] if isinstance(first, dict) else []
        others = [members.get("items"), *(inner if not typed else [])]
        most = len(typed) + sum(len(o) if isinstance(o, list) else o is not None for o in others)
        assert len(document.entries) + len(document.tombstones) + lost <= 2 * most
        assert all(url for url in document.links.values())
