"""Crawls of a real WordPress, whose pages no link names, and of which its REST API has a list of posts."""

import json
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

import pytest
from w3lib.url import url_query_cleaner, url_query_parameter

from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer
from tests.wordpress_server import WordPress

nightly = pytest.mark.nightly("starts a WordPress")
NO_HISTORY = ("unknown", ["no-history"])
PAGED, LOSSY = ("unknown", ["paged"]), ("lossy", ["paged"])
COMPLETE: tuple[str, list[str]] = ("complete", [])
NEWS = 2
# Of each feed: requests of the first run, entries, verdict and reasons. WordPress shows ten at a time, and
# one more request finds the end.
FEEDS = {
    "/?feed=rss2": (13, 120, COMPLETE),
    "/?feed=atom": (13, 120, COMPLETE),
    "/?feed=rdf": (13, 120, COMPLETE),
    f"/?feed=rss2&cat={NEWS}": (4, 30, PAGED),
    f"/?feed=rdf&cat={NEWS}": (4, 30, PAGED),
    "/?feed=rss2&s=Text+77": (2, 1, NO_HISTORY),
    "/?feed=comments-rss2": (2, 10, NO_HISTORY),
    "/?feed=comments-atom": (2, 10, NO_HISTORY),
    "/?feed=rss2&p=1": (2, 10, NO_HISTORY),
    "/?feed=rss2&cat=999": (1, 0, NO_HISTORY),
}
# Where a site with an API has its list: the first page of a check that reads all of it.
LIST = "/wp-json/wp/v2/posts?per_page=100&orderby=id&order=asc&page=1&_fields=id%2Cguid%2Clink%2Cmodified_gmt"
# A 404 whose body is a feed without entries.
MISSING = "/?feed=rss2&author=1&paged=99"
# Feeds of all posts, of which there is a list.
LISTED = 3
NO_API = """
add_filter('rest_authentication_errors', fn($answer) => new WP_Error('no', 'no', ['status' => 401]));
"""
# What `pre_get_posts` is for: which posts a feed shows.
HIDES_NEWS = (
    "add_action('pre_get_posts', function($query) { if ($query->is_feed()) $query->set('cat', '-2'); });"
)
SHOWS_PAGES = """
add_action('pre_get_posts', function($query) { if ($query->is_feed()) $query->set('post_type', 'any'); });
"""
# Posts that are not published are not listed; one with a password is, and the feed shows it.
OTHER_POSTS = """
$post = ['post_title' => 'Another', 'post_content' => 'text', 'post_author' => 1];
wp_insert_post($post + ['post_status' => 'draft', 'post_date' => '2020-09-14 00:00:01']);
wp_insert_post($post + ['post_status' => 'private', 'post_date' => '2020-09-14 00:00:02']);
$locked = $post + ['post_status' => 'publish', 'post_password' => 'x'];
wp_insert_post($locked + ['post_date' => '2020-09-14 00:00:03']);
wp_insert_post($post + ['post_status' => 'future', 'post_date' => '2199-01-01 00:00:00']);
stick_post(3);
"""
IMPORT = """
$post = ['post_title' => 'Imported', 'post_content' => 'text', 'post_status' => 'publish'];
wp_insert_post($post + ['post_date' => $time, 'post_date_gmt' => $time]);
"""
# As tools do that move a site, although WordPress's documentation forbids changed guids.
REPLACE_GUIDS = """
$wpdb->query("UPDATE {$wpdb->posts} SET guid = REPLACE(guid, '//127.0.0.1:', '//localhost:')");
"""


NO_SITEMAPS = {"FHCRAWL_SITEMAPS_ENABLED": 0}


def requested(wordpress: WordPress) -> Counter[str]:
    """Count the requests for each feed with its pages, and for the list of posts."""
    return Counter(
        "list" if is_list(path) else url_query_cleaner(path, ("paged",), remove=True)
        for path in wordpress.requests()
    )


def is_list(path: str) -> bool:
    return "rest_route" in path or "wp-json" in path


def steps(wordpress: WordPress) -> list[str]:
    """Describe the requests after robots.txt; of the list, the order."""
    return [
        url_query_parameter(path, "orderby", "") if is_list(path) else path
        for path in wordpress.requests()
        if path != "/robots.txt"
    ]


@pytest.mark.slow("the smoke test of WordPress")
def test_feeds_of_each_kind_are_walked_to_their_end_only(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 90)
    wordpress.post(91, 120, NEWS)
    wordpress.comment(12)
    wordpress.requests()
    missing = url_query_cleaner(MISSING, ("paged",), remove=True)
    feeds = [wordpress.url(path) for path in (*FEEDS, MISSING)]
    run = project.crawl(*feeds, settings=NO_SITEMAPS)
    others = {"/robots.txt": 1, missing: 1, "list": 2 * LISTED}
    assert requested(wordpress) == others | {path: n for path, (n, _, _) in FEEDS.items()}
    assert run.all_stats["finish_reason"] == "finished"
    run = project.crawl(*feeds, settings=NO_SITEMAPS)
    assert requested(wordpress) == others | dict.fromkeys(FEEDS, 1)
    assert not run.items
    found = {
        feed["feed"]: (feed["entries"], (feed["verdict"], [reason["kind"] for reason in feed["reasons"]]))
        for feed in project.feeds()
    }
    # What was never read leaves nothing behind.
    assert found == {
        wordpress.url(path): (entries, reported) for path, (_, entries, reported) in FEEDS.items()
    }


@nightly
def test_later_run_requests_what_is_new(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 25)
    wordpress.use_permalinks()
    wordpress.requests()
    feed = wordpress.url("/feed/")
    run = project.crawl(feed)
    pages = [f"/feed/?paged={number}" for number in (2, 3, 4)]
    assert steps(wordpress) == ["/feed/", *pages, "id"]
    assert len(run.changes) == 25
    # One entry of each page moves to the next one.
    wordpress.post(26, 26)
    wordpress.requests()
    run = project.crawl(feed)
    assert steps(wordpress) == ["/feed/", "/feed/?paged=2", "id"]
    assert list(run.changes.values()) == ["new"]
    # Another document, with the same entries.
    wordpress.run("update_option('blogname', 'Another title'); wp_update_post(['ID' => 1]);")
    run = project.crawl(feed)
    assert steps(wordpress) == ["/feed/", "id", "/feed/?orderby=ID&order=asc&paged=1", "id"]
    assert not run.items
    assert project.verdict() == COMPLETE


@nightly
def test_list_of_posts_finds_what_has_changed(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 120)
    wordpress.run(OTHER_POSTS)
    wordpress.use_permalinks()
    paths = ["/feed/", "/feed/atom/", "/feed/rdf/"]

    def crawl() -> tuple[Run, Counter[str]]:
        wordpress.requests()
        run = project.crawl(*map(wordpress.url, paths))
        assert [(feed["verdict"], feed["reasons"]) for feed in project.feeds()] == [COMPLETE] * 3
        return run, Counter(steps(wordpress))

    crawl()
    assert [feed["entries"] for feed in project.feeds()] == [121] * 3
    # An edit on the last page: one page, and the list again.
    wordpress.run("wp_update_post(['ID' => 5, 'post_content' => 'Another text']);")
    run, found = crawl()
    again = [f"{path}?orderby=modified&order=desc&paged=1" for path in paths]
    assert found == dict.fromkeys([*paths, *again], 1) | {"modified": 6, "id": 3}
    assert [item["change"] for item in run.items] == ["updated"] * 3
    assert all("Another text" in (item["content"] or item["summary"]) for item in run.items)
    # A deletion that the feed does not show.
    wordpress.run("wp_delete_post(7, true);")
    run, found = crawl()
    assert found == dict.fromkeys(paths, 1) | {"modified": 3, "id": 3}
    assert run.all_stats["fhcrawl/entry/unlisted"] == 3
    # An import: an old date, and an old time of modification; and as many deletions.
    wordpress.run("$time = '2020-09-14 09:09:09';" + IMPORT + "wp_delete_post(8, true);")
    run, found = crawl()
    assert [item["title"] for item in run.items] == ["Imported"] * 3
    assert found.total() <= 8 * 3


@nightly
def test_feed_read_once_is_not_complete_without_the_list(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 25)
    wordpress.use_plugin(NO_API)
    wordpress.requests()
    feed = wordpress.url("/?feed=rss2")
    project.crawl(feed)
    assert requested(wordpress) == {"/robots.txt": 1, "/?feed=rss2": 4, "list": 1}
    assert project.verdict() == PAGED
    project.crawl(feed, settings=NO_SITEMAPS)
    assert requested(wordpress) == {"/robots.txt": 1, "/?feed=rss2": 1}


@nightly
def test_posts_that_the_feed_hides_are_looked_for_once(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 20)
    wordpress.post(21, 23, NEWS)
    wordpress.use_plugin(HIDES_NEWS)
    wordpress.requests()
    feed = wordpress.url("/?feed=rss2")
    project.crawl(feed)
    again = "/?feed=rss2&orderby=ID&order=asc"
    assert requested(wordpress) == {"/robots.txt": 1, "/?feed=rss2": 3, "list": 2, again: 1}
    [reason] = project.feeds()[0]["reasons"]
    assert "; the store has 20 of the 23 posts that its WordPress lists" in reason["detail"]
    project.crawl(feed)
    assert requested(wordpress) == {"/robots.txt": 1, "/?feed=rss2": 1, "list": 1}
    assert project.verdict() == LOSSY


@nightly
def test_feed_that_shows_more_than_posts_is_not_complete(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 12)
    wordpress.run("wp_insert_post(['post_type' => 'page', 'post_title' => 'A', 'post_status' => 'publish']);")
    wordpress.use_plugin(SHOWS_PAGES)
    project.crawl(wordpress.url("/?feed=rss2"))
    [reason] = project.feeds()[0]["reasons"]
    assert (
        "; the store has 12 of the 12 posts that its WordPress lists, and 1 that it does not"
        in reason["detail"]
    )
    assert project.verdict() == PAGED


@nightly
def test_moved_site_keeps_its_ids_unless_they_are_rewritten(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 12)
    feed = wordpress.url("/?feed=rss2")
    own = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "localhost", "FHCRAWL_MERGE_RENAMED": 1}
    own["FHCRAWL_PLATFORMS_ENABLED"] = 0
    ids = set(project.crawl(feed, settings=own).changes)
    # WordPress calls its feed unchanged, before it looks at the host.
    wordpress.move("localhost")
    assert not project.crawl(feed, settings=own).items
    # It redirects to the new host, and links change; guids are in the database.
    wordpress.post(13, 13)
    run = project.crawl(feed, settings=own)
    new = wordpress.url("/?p=13").replace("127.0.0.1", "localhost")
    shown = ids - {wordpress.url("/?p=3")}
    assert run.changes == {**dict.fromkeys(shown, "updated"), new: "new"}
    assert all(item["link"].startswith("http://localhost:") for item in run.items)
    assert "fhcrawl/entry/renamed" not in run.stats
    wordpress.run(REPLACE_GUIDS)
    wordpress.post(14, 14)
    run = project.crawl(feed, settings=own)
    former = shown - {wordpress.url("/?p=4")}
    moved = {entry_id.replace("127.0.0.1", "localhost") for entry_id in former}
    assert run.stats["fhcrawl/entry/renamed"] == len(moved) == 8
    assert run.changes == {
        **dict.fromkeys(former, "deleted"),
        **dict.fromkeys([*moved, new.replace("?p=13", "?p=14")], "new"),
    }
    [found] = project.feeds()
    assert (found["entries"], found["renamed"]) == (12, 0)


def api_link(server: FeedServer) -> dict[str, str]:
    """The header by which WordPress names its API."""
    return {"Link": f'<{server.url("/wp-json/")}>; rel="https://api.w.org/"'}


def serve_list(server: FeedServer, ids: str, links: Iterable[str] = (), *, total: int | None) -> None:
    """Serve WordPress's list of posts whose ids are one character each, in the order of these."""
    numbers = accumulate(map(ord, ids), lambda last, number: max(last + 1, number))
    posts = [
        {"id": number, "guid": {"rendered": n}, "link": link, "modified_gmt": "2003-12-13T18:30:02"}
        for number, n, link in zip(numbers, ids, links or ids, strict=True)
    ]
    headers = {} if total is None else {"X-WP-Total": str(total)}
    server.serve(LIST, json.dumps(posts), headers=headers, etag=False)


@pytest.mark.in_process
def test_check_that_has_not_ended_is_made_for_a_304(server: FeedServer, project: Project) -> None:
    """A 304 does not name the API."""
    feed = server.url("/feed/")
    api = api_link(server)
    server.serve("/feed/?paged=2", b"", status=404, headers=api)
    # It changes while it is read.
    serve_list(server, "12", total=3)
    for ids in ("1", "21"):
        server.serve("/feed/", atom([E(one) for one in ids]), headers=api)
        project.crawl(feed)
        assert project.verdict()[0] == "unknown"
        [(listing,)] = project.database.rows("SELECT listing FROM feeds")
        assert json.loads(listing)["size"] == len(ids)
    serve_list(server, "12", total=2)
    server.requested()
    project.crawl(feed)
    assert server.requested() == ["/feed/", LIST]
    assert project.verdict() == COMPLETE
    # A list without posts is no evidence while the feed shows some.
    project.database.execute("UPDATE feeds SET listing = NULL")
    serve_list(server, "", total=1)
    project.crawl(feed, args=("-a", "deltafetch_reset=1"))
    serve_list(server, "", total=0)
    project.crawl(feed)
    assert project.verdict()[0] != "complete"


@pytest.mark.in_process
@pytest.mark.quick
def test_posts_that_share_an_id_are_looked_for_by_their_links(server: FeedServer, project: Project) -> None:
    feed, links = server.url("/feed/"), [f"http://example.org/?p=1&x={n}" for n in "abc"]
    entries = [E(entry_id, link=link) for entry_id, link in zip("112", links, strict=True)]
    server.serve("/feed/", atom(entries), headers=api_link(server))
    server.serve("/feed/?paged=2", b"", status=404, headers=api_link(server))
    escaped = [link.replace("&", "&#038;") for link in links]
    serve_list(server, "112", escaped, total=3)
    project.crawl(feed)
    assert project.verdict() == COMPLETE
    # Another one that the feed does not show.
    serve_list(server, "1121", [*escaped, "http://example.org/d"], total=4)
    project.crawl(feed)
    assert project.verdict()[0] != "complete"


@pytest.mark.in_process
@pytest.mark.quick
def test_posts_are_gone_only_if_pages_show_all_listed(server: FeedServer, project: Project) -> None:
    """A 404 after a page is its end, or an error; some caches answer each page with the first one."""
    feed = server.url("/feed/")
    link = api_link(server)
    deleting = {"FHCRAWL_DELETE_ABSENT": 1}

    def crawl(*pages: str, listed: str | None = None, args: tuple[str, ...] = ()) -> dict[str, str]:
        for number in (1, 2, 3, 4):
            page = "/feed/" if number == 1 else f"/feed/?paged={number}"
            shown = atom([E(one) for one in pages[number - 1]]) if number <= len(pages) else ""
            server.serve(page, shown, status=200 if shown else 404, headers=link, etag=False)
        serve_list(server, listed or "", total=len(listed) if listed else None)
        return project.crawl(feed, settings=deleting, args=args).changes

    crawl("fe", "dc", "ba", listed="abcdef")
    for newest, before, listed in (("g", "f", "abcdefg"), ("h", "g", "abcdefgh"), ("i", "h", None)):
        assert crawl(newest + before, listed=listed) == {newest: "new"}
    # Posts leave the first page, which all others repeat.
    reset = ("-a", "deltafetch_reset=1")
    for changes, listed in (({"j": "new"}, "abcdefghij"), ({}, "abcdefghij"), ({}, None)):
        assert crawl(*["ji"] * 4, listed=listed, args=reset) == changes
    complete = ("jih", "gfe", "dc")
    for _ in range(2):
        assert crawl(*complete, args=reset) == {}
    assert crawl(*complete, listed="cdefghij", args=reset) == {"a": "deleted", "b": "deleted"}
    assert project.verdict() == COMPLETE
