import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents import DocumentList, Entry, FeedDocument, detection
from fhcrawl.documents.model import Tombstone
from fhcrawl.exceptions import NotAFeedError
from tests.documents.test_json_text import VALUES
from tests.feeds import read

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
    def test_first_page_is_older_than_its_collection(self) -> None:
        document = read_members(
            type="OrderedCollection", totalItems=61, first="?page=1#a", last={"id": "/last", "type": "Link"}
        )
        assert (document.format, document.links) == (
            "activitystreams",
            {"next": "https://social.example/users/a/outbox?page=1"},
        )
        assert (document.total, document.entries, document.fault) == (61, [], None)

    def test_page_leads_to_older_and_newer_ones_and_to_its_collection(self) -> None:
        document = read_page(
            next={"type": "OrderedCollectionPage", "id": "/3"},
            prev={"type": "Link", "href": "/1"},
            partOf="https://social.example/o",
            first="/not-this",
        )
        assert document.links == {
            "next": "https://social.example/3",
            "prev": "https://social.example/1",
            "first": "https://social.example/o",
        }

    def test_first_page_may_be_inside(self) -> None:
        page = {"type": "OrderedCollectionPage", "next": "/2", "orderedItems": [create()]}
        document = read_members(type="OrderedCollection", first=page)
        assert (len(document.entries), document.links) == (1, {"next": "https://social.example/2"})

    @pytest.mark.parametrize(("total", "leads"), [(1, False), (2, True), ("x", False), (10**30, False)])
    def test_items_inside_are_all_unless_the_total_says_more(self, total: object, leads: bool) -> None:
        document = read_members(
            type="OrderedCollection", totalItems=total, first="/1", orderedItems=[create()]
        )
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
        assert [entry.id for entry in read_members(**members).entries] == [NOTE]

    @pytest.mark.parametrize(
        "members",
        [
            {"type": "Collection", "items": [], "@context": "x"},
            *({"type": kind} for kind in ("Person", 1, None)),
        ],
    )
    def test_other_json_is_no_feed(self, members: dict[str, Any]) -> None:
        with pytest.raises(NotAFeedError):
            read_members(**members)

    def test_head_has_no_items(self) -> None:
        page = {"type": "OrderedCollectionPage", "orderedItems": [create()]}
        for members in ({"orderedItems": [create()]}, {"first": page}):
            body = json.dumps({"type": "OrderedCollection", "name": "t", **members}).encode()
            found = detection.read(body, URL, keep_head=True)
            assert not isinstance(found, DocumentList)
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

    def test_activity_says_what_the_post_does_not(self) -> None:
        assert read_note() == Entry(id=NOTE, link=NOTE, published=TIME, authors=[ACTOR])

    def test_urls_of_a_video_are_its_page_and_its_files(self) -> None:
        entry = read_note(
            type="Video",
            url=[
                {"type": "Link", "mediaType": "video/mp4", "href": "/v.mp4", "size": 7},
                {"type": "Link", "mediaType": "text/html", "href": "/w/1"},
            ],
        )
        assert entry.link == "https://social.example/w/1"
        assert [(each["url"], each["length"]) for each in entry.enclosures] == [
            ("https://social.example/v.mp4", 7)
        ]

    @pytest.mark.parametrize(
        ("given", "names"),
        [
            ([{"type": "Person", "name": "A", "id": ACTOR}, {"preferredUsername": "b"}], ["A", "b"]),
            ([ACTOR, ACTOR, {"id": "x"}, 5, None, {}], [ACTOR, "x"]),
            ({"nameMap": {"en": "A"}}, ["A"]),
        ],
    )
    def test_authors(self, given: object, names: list[str]) -> None:
        assert read_note(attributedTo=given).authors == names

    def test_first_language_of_a_map_is_read(self) -> None:
        entry = read_note(contentMap={"fr": " ", "en": "a", "de": "b"})
        assert (entry.content, entry.language) == ("a", "en")
        assert read_note(content="b", contentMap={"en": "a", "de": "b"}).language == "de"
        assert read_note(content="b", contentMap={"und": "b"}).language is None

    def test_plain_text_is_no_html(self) -> None:
        assert read_note(content="a < b", mediaType="text/plain").content_type == "text"

    def test_post_without_an_activity_is_read_and_so_is_a_poll(self) -> None:
        poll = {"id": NOTE, "type": "Question", "attributedTo": ACTOR, "content": "?"}
        assert [entry.content for entry in read_page(poll).entries] == ["?"]

    def test_post_that_is_only_a_url_is_an_entry_without_text(self) -> None:
        document = read_page({**create(), "object": NOTE})
        assert document.entries == [Entry(id=NOTE, link=NOTE, published=TIME, authors=[ACTOR])]
        assert [problem.kind for problem in document.problems] == ["nonstandard"]

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

    @pytest.mark.parametrize("kind", ["Like", "Undo", "Follow", "Add", "EmojiReact", "Arrive"])
    def test_other_activities_are_no_loss(self, kind: str) -> None:
        document = read_page(create(kind))
        assert (document.entries, document.tombstones, document.problems) == ([], [], [])

    @pytest.mark.parametrize("kind", ["Create", "Update", "Delete"])
    @pytest.mark.parametrize("given", [ACTOR, {"id": ACTOR, "type": "Person"}])
    def test_changes_of_the_actor_are_none_of_a_post(self, kind: str, given: object) -> None:
        document = read_page({**create(kind), "object": given})
        assert (document.entries, document.tombstones, document.problems) == ([], [], [])


LOST: tuple[Any, ...] = ("https://social.example/activities/1", None, 5, [], "")


class TestFaults:
    @pytest.mark.parametrize(
        ("item", "kind"),
        [
            *((item, "entry-lost") for item in LOST),
            *(({"type": "Create", **more}, "entry-lost") for more in ({}, {"object": [5]})),
            ({"type": "Announce", "object": NOTE}, "no-id"),
            ({"type": "Create", "object": {"type": "Note"}}, "no-id"),
            ({}, "no-id"),
            ({"type": "Delete"}, "no-ref"),
        ],
    )
    def test_bad_item_loses_only_itself(self, item: object, kind: str) -> None:
        document = read_page(item, create())
        assert [problem.kind for problem in document.problems] == [kind]
        assert [entry.id for entry in document.entries if entry.id] == [NOTE]

    def test_date_that_is_none_is_a_problem(self) -> None:
        document = read_page(create(published="x", updated=[]))
        assert [problem.kind for problem in document.problems] == ["unreadable-date"] * 2

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
            st.lists(inside, max_size=3)
            | st.dictionaries(st.sampled_from(("href", "type", "en", "id")), inside)
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
