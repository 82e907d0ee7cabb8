"""What the store knows of one feed's documents and entries."""

from contextlib import closing

import pytest

from fhcrawl.store import Details, Store
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = [pytest.mark.in_process, pytest.mark.slow("many crawls")]


def crawled(server: FeedServer, project: Project, **documents: str) -> Details:
    for name, body in documents.items():
        server.serve(f"/{name.lstrip('_')}", body)
    project.crawl(server.url("/feed"))
    return details(project, server.url("/feed"))


def details(project: Project, feed: str) -> Details:
    with closing(Store.open(project.database.url)) as store:
        return store.feeds.read_details(feed)


def test_chain_goes_from_the_subscription_document_to_the_gap(server: FeedServer, project: Project) -> None:
    newer = atom([E("3", updated="2004-02-01T00:00:00Z")], prev="/2")
    older = atom([E("2"), E("2 too"), E("1", updated="2003-12-01T01:00:00Z"), E(None)], prev="/1")
    found = crawled(server, project, feed=newer, _2=older)
    assert [(d.url.removeprefix(server.root), d.role, d.state) for d in found.chain] == [
        ("/feed", "subscription", "processed"),
        ("/2", "archive", "processed"),
        ("/1", "archive", "missing"),
    ]
    assert found.chain[1].lost_entries == 1
    assert (found.chain[2].reason, found.chain[2].older_id) == ("http-404", None)
    assert found.months == {"2003-12": 3, "2004-02": 1}
    assert (found.first, found.last) == ("2003-12-01T01:00:00Z", "2004-02-01T00:00:00Z")
    assert (found.snapshot, found.beside) == ([], 0)
    assert found.gap == (server.url("/1"), "2003-12-01T01:00:00Z", None)


def test_gap_is_before_the_oldest_entry_of_the_last_document(server: FeedServer, project: Project) -> None:
    # An entry of a newer document can be older than those of the archives.
    old, first, second = (f"{year}-01-01T00:00:00Z" for year in (1999, 2004, 2005))
    newest = atom([E("3", updated="2006-01-01T00:00:00Z"), E("0", updated=old)], prev="/2")
    older = atom([E("2", updated=second), E("1", updated=first)], prev="/1")
    assert crawled(server, project, feed=newest, _2=older).gap == (server.url("/1"), first, old)
    # An archive that can be read in part is known as far as that.
    oldest = atom([E("-1", updated="2002-01-01T00:00:00Z")])
    found = crawled(server, project, _1=oldest.replace("</feed>", "<entry>"))
    assert found.chain[-1].state == "invalid"
    assert found.gap == (server.url("/1"), "2002-01-01T00:00:00Z", old)
    assert crawled(server, project, _1=oldest).gap is None


def test_gap_behind_the_subscription_document_is_before_it_all(server: FeedServer, project: Project) -> None:
    for year in (2004, 2005, 2006):
        body = atom([E(str(year), updated=f"{year}-01-01T00:00:00Z")], prev="/gone")
        gap = crawled(server, project, feed=body).gap
        assert gap == (server.url("/gone"), "2004-01-01T00:00:00Z", None)


def test_latest_entries_are_those_with_the_latest_times(server: FeedServer, project: Project) -> None:
    entries = [E(str(n), updated=f"2003-12-{n:02}T00:00:00Z", title=f" Title {n} ") for n in range(1, 8)]
    entries[6] = E("7", updated="2003-12-07T00:00:00Z", title="")
    latest = crawled(server, project, feed=atom([*entries, E("0", updated=None)], updated=None)).latest
    assert [(entry.name, entry.time) for entry in latest] == [
        ("7", "2003-12-07T00:00:00Z"),
        *((f"Title {n}", f"2003-12-{n:02}T00:00:00Z") for n in (6, 5, 4, 3)),
    ]


def test_chain_of_a_feed_that_has_moved_begins_at_its_new_place(server: FeedServer, project: Project) -> None:
    server.serve("/feed", "", status=301, headers={"Location": "/new"})
    server.serve("/new", atom([E("1")]))
    for _ in range(2):
        project.crawl(server.url("/feed"), args=("-a", "deltafetch_reset=1"))
    found = details(project, server.url("/feed"))
    assert [d.url.removeprefix(server.root) for d in found.chain] == ["/new"]


def test_chain_contains_each_linked_document_once(server: FeedServer, project: Project) -> None:
    crawled(server, project, feed=atom([E("2")], prev="/1"), _1=atom([E("1")]))
    found = crawled(server, project, feed=atom([E("3")], prev="/other"), other=atom([E("1")]))
    assert [d.url.removeprefix(server.root) for d in found.chain] == ["/feed", "/other"]
    assert found.beside == 1
    subscription = "(SELECT subscription_id FROM feeds)"
    project.database.execute(f"UPDATE documents SET behind_id = {subscription} WHERE role = 'archive'")
    assert [d.role for d in details(project, server.url("/feed")).chain] == ["subscription", "archive"]


def test_time_that_does_not_count_is_none_of_the_feeds(server: FeedServer, project: Project) -> None:
    future, past = "2999-01-01T00:00:00Z", "2003-12-13T18:30:02Z"
    newest = atom([E("2", updated=past), E("1", updated=None)], prev="/1", updated=future)
    older = atom([E("4", updated=past), E("3", updated=future)], updated="2003-12-12T00:00:00Z")
    feed, found = server.url("/feed"), crawled(server, project, feed=newest, _1=older)
    assert found.months == {"": 1, "2003-12": 2, "2999-01": 1}
    with closing(Store.open(project.database.url)) as store:
        times = {version.fields["id"]: version.time for version in store.entries.read_versions(feed)}
        assert [entry["id"] for entry in store.entries.read()] == list(times) == ["1", "3", "4", "2"]
        assert store.feeds.read_times(feed)[1] == past
    assert times == {"1": "", "3": "2003-12-12T00:00:00", "2": past[:-1], "4": past[:-1]}


def test_feed_that_was_never_read_has_no_entries(server: FeedServer, project: Project) -> None:
    project.scrapy("subscribe", server.url("/none"))
    project.crawl(server.url("/none"))
    found = details(project, server.url("/none"))
    assert [d.state for d in found.chain] == ["missing"]
    assert (found.months, found.first, found.latest) == ({}, None, [])
    assert found.gap is None


def test_deleted_entries_do_not_count(server: FeedServer, project: Project) -> None:
    for entries in ([E("1"), E("2", updated=None)], [E("2", updated=None)]):
        found = crawled(server, project, feed=atom(entries, head="<fh:complete/>", updated=None))
    assert found.months == {"": 1}
