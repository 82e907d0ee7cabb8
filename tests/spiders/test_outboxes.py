"""Crawls of outboxes: collections of ActivityStreams whose pages are cut at a post, as Mastodon's are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process

PAGE_SIZE = 20
USER = "/users/a"
OUTBOX = f"{USER}/outbox"
FIRST = f"{OUTBOX}?page=true"


class Outbox:
    """An outbox of activities, by number, the newest with the highest number."""

    def __init__(self, server: FeedServer, states_total: bool = True) -> None:
        self._server = server
        self._states_total = states_total
        self.activities: dict[int, dict[str, Any]] = {}

    def post(self, number: int, text: str = "a", **members: object) -> None:
        note = {"id": self.id_of(number), "type": "Note", "content": f"<p>{text}</p>", **members}
        self._add(number, "Create", note)

    def boost(self, number: int) -> None:
        self._add(number, "Announce", f"https://elsewhere.example/{number}")

    def edit(self, number: int, edited: int, text: str) -> None:
        self._add(number, "Update", {"id": self.id_of(edited), "type": "Note", "content": f"<p>{text}</p>"})

    def delete(self, number: int, deleted: int) -> None:
        del self.activities[deleted]
        self._add(number, "Delete", {"id": self.id_of(deleted), "type": "Tombstone", "formerType": "Note"})

    def _add(self, number: int, kind: str, given: object) -> None:
        self.activities[number] = {
            "id": f"{self.id_of(number)}/activity",
            "type": kind,
            "actor": self._server.url(USER),
            "published": f"2024-01-01T{number // 60:02}:{number % 60:02}:00Z",
            "object": given,
        }

    def id_of(self, number: int) -> str:
        return self._server.url(f"{USER}/statuses/{number}")

    def serve(self) -> None:
        url = self._server.url
        numbers = sorted(self.activities, reverse=True)
        total = {"totalItems": len(numbers)} if self._states_total else {}
        links = {"first": url(FIRST), "last": url(f"{FIRST}&min_id=0")}
        self._serve(OUTBOX, {"type": "OrderedCollection", **total, **links})
        path = FIRST
        for begin in range(0, len(numbers), PAGE_SIZE):
            shown = numbers[begin : begin + PAGE_SIZE]
            older = f"{OUTBOX}?max_id={shown[-1]}&page=true"
            links = {"prev": url(f"{OUTBOX}?min_id={shown[0]}&page=true"), "partOf": url(OUTBOX)}
            if len(shown) == PAGE_SIZE:
                links["next"] = url(older)
                self._serve(older, {"type": "OrderedCollectionPage", "orderedItems": []})
            items = [self.activities[number] for number in shown]
            self._serve(path, {"type": "OrderedCollectionPage", **links, "orderedItems": items})
            path = older

    def _serve(self, path: str, members: dict[str, Any]) -> None:
        context = "https://www.w3.org/ns/activitystreams"
        body = json.dumps({"@context": context, "id": self._server.url(path), **members})
        self._server.serve(
            path, body, content_type="application/activity+json; charset=utf-8", etag=f'"{hash(body)}"'
        )


@pytest.fixture(params=[True, False], ids=["total", "no-total"])
def outbox(request: pytest.FixtureRequest, server: FeedServer) -> Outbox:
    found = Outbox(server, states_total=request.param)
    for number in range(1, 61):
        (found.boost if number == 30 else found.post)(number)
    found.serve()
    return found


def test_all_pages_are_read_and_later_only_news(outbox: Outbox, server: FeedServer, project: Project) -> None:
    run = project.crawl(server.url(OUTBOX))
    expected = {outbox.id_of(number) for number in range(1, 61)} - {outbox.id_of(30)}
    assert set(run.changes) == {*expected, f"{outbox.id_of(30)}/activity"}
    assert len([path for path in server.requested() if "outbox" in path]) == 5  # the last one is empty
    assert project.verdict()[0] == "unknown"
    outbox.post(61)
    outbox.boost(62)
    outbox.edit(63, 5, "b")
    outbox.delete(64, 50)
    outbox.serve()
    run = project.crawl(server.url(OUTBOX))
    assert run.changes == {
        outbox.id_of(61): "new",
        f"{outbox.id_of(62)}/activity": "new",
        outbox.id_of(5): "updated",
        outbox.id_of(50): "deleted",
    }
    server.requested()
    kept = project.logical_feed()
    assert kept[outbox.id_of(5)]["content"] == "<p>b</p>"
    assert kept[outbox.id_of(5)]["updated"] == "2024-01-01T01:03:00Z"
    outbox.post(65)
    outbox.serve()
    assert project.crawl(server.url(OUTBOX)).changes == {outbox.id_of(65): "new"}
    # The pages have other URLs after each post.
    assert len(server.requested()) <= 6
    assert project.crawl(server.url(OUTBOX)).changes == {}
    assert server.requested() == [OUTBOX, FIRST]
    assert project.verdict() == ("unknown", ["paged"])


def test_posts_behind_a_failure_are_read_later(outbox: Outbox, server: FeedServer, project: Project) -> None:
    broken = f"{OUTBOX}?max_id=21&page=true"
    answer = server.answers.pop(broken)
    project.crawl(server.url(OUTBOX))
    for number in (61, 62):
        outbox.post(number)
    outbox.serve()
    server.answers[broken] = answer
    changes = project.crawl(server.url(OUTBOX)).changes
    assert set(changes) == {outbox.id_of(number) for number in (*range(1, 21), 61, 62)}
    assert project.verdict() == ("unknown", ["paged"])


def test_page_leads_to_its_collection(outbox: Outbox, server: FeedServer, project: Project) -> None:
    project.crawl(server.url(f"{OUTBOX}?max_id=21&page=true"))
    assert len(project.logical_feed()) == 60
