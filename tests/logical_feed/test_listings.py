"""The check of a feed against its publisher's list, on a model of WordPress; and what sitemaps list of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from urllib.parse import urljoin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhcrawl.logical_feed import Winner
from fhcrawl.logical_feed.listings import (
    MOST_OCTETS,
    MOST_POSTS,
    MOST_REQUESTS,
    ListCheck,
    Listing,
    ListOrder,
    Post,
    PostList,
    SitemapCheck,
    SitemapReport,
    StoredEntries,
    compare,
    follow,
    is_current,
    is_sitemap_due,
    like_entries,
    read_posts,
)
from fhcrawl.logical_feed.results import Order

SIZE = 10
NOW = "9999-12-31T23:59:59.5Z"
API, FEED = "http://x/wp-json/wp/v2/posts", "http://x/feed/"
BEGUN = ListCheck.begin(API, FEED, SIZE, None, is_unchanged=False)


def time(number: int) -> str:
    return f"{2000 + number // 3600:04}-01-01T00:{number // 60 % 60:02}:{number % 60:02}"


@dataclass
class Site:
    """A WordPress and the store of a crawler.

    :param posts: when each post was modified, by number
    :param stored: the state in which the store has each post, and the walk that has read it
    :param hidden: posts that the feed does not show
    :param foreign: entries that the feed shows, and the list does not
    :param meanwhile: what happens in the next check, each before another request
    """

    posts: dict[int, int] = field(default_factory=dict)
    stored: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    foreign: int = 0
    now: int = 0
    number: int = 0
    walk: int = 0
    listing: Listing | None = None
    requests: list[tuple[str, int]] = field(default_factory=list)
    meanwhile: list[Callable[[], None]] = field(default_factory=list)

    @property
    def last(self) -> Listing:
        assert self.listing is not None
        return self.listing

    def add(self, number: int | None = None, modified: int | None = None) -> None:
        """Publish a post: a new one, or the draft of an odd number; now, or with an old time."""
        self.now += 1
        self.number += 2
        self.posts[number or self.number] = self.now if modified is None else min(modified, self.now)

    def edit(self, index: int) -> None:
        self.now += 1
        if self.posts:
            self.posts[sorted(self.posts)[index % len(self.posts)]] = self.now

    def delete(self, index: int) -> None:
        if self.posts:
            del self.posts[sorted(self.posts)[index % len(self.posts)]]

    def change(self, what: str, value: int) -> None:
        if what == "add":
            self.add()
        elif what == "import":
            self.add(modified=value)
        elif what == "draft":
            self.add(number=value % (self.number + 1) // 2 * 2 + 1)
        else:
            getattr(self, what)(value)

    def read(self, numbers: list[int]) -> None:
        for number in numbers:
            if number in self.posts and number not in self.hidden:
                self.stored[str(number)] = self.posts[number], self.walk

    def crawl(self, numbers: list[int]) -> Listing | None:
        """Read posts, as a walk does, then check the list."""
        self.walk += 1
        self.now += 1
        self.read(numbers)
        for number in range(self.foreign):
            self.stored[f"page {number}"] = self.now, self.walk
        self.requests = []
        check: ListCheck | Listing | None = ListCheck.begin(API, FEED, SIZE, self.listing, is_unchanged=False)
        while check is not None and not isinstance(check, Listing):
            check = self.answer(check)
        if check is not None:
            self.listing = check
        return check

    def answer(self, check: ListCheck) -> ListCheck | Listing | None:
        if self.meanwhile:
            self.meanwhile.pop(0)()
        by_time = check.order is ListOrder.MODIFIED
        ordered = sorted(self.posts, key=lambda n: (self.posts[n], n) if by_time else (n, n))
        if check.order is not ListOrder.ALL:
            ordered.reverse()
        if check.is_reading:
            self.requests.append(("feed", check.again[0]))
            shown = [number for number in ordered if number not in self.hidden]
            self.read(shown[SIZE * (check.again[0] - 1) : SIZE * check.again[0]])
            return check.after_page()
        self.requests.append((check.order.name.lower(), check.page))
        some = ordered[MOST_POSTS * (check.page - 1) : MOST_POSTS * check.page]
        posts = [Post(number, str(number), time(self.posts[number])) for number in some]
        now = f"{time(self.now)}.5Z"
        return follow(check, PostList(len(ordered), posts), self.winners(), self.entries(), now)

    def winners(self) -> dict[str, Winner]:
        return {
            i: Winner(Order(0, time(state), 0, walk, 0, 0), "digest")
            for i, (state, walk) in self.stored.items()
        }

    def entries(self) -> StoredEntries:
        read = sum(walk == self.walk for _, walk in self.stored.values())
        return StoredEntries(self.walk, len(self.stored), read, self.listing)


def site_of(number: int) -> Site:
    """A site of a number of posts, all of which were read and checked."""
    site = Site()
    for _ in range(number):
        site.add()
    site.crawl(list(site.posts))
    return site


def test_first_check_reads_all_of_the_list_and_a_later_one_what_was_modified_and_what_is_new() -> None:
    site = site_of(120)
    assert site.requests == [("all", 1), ("all", 2)]
    assert site.last.is_evidence
    site.crawl([])
    assert site.requests == [("modified", 1), ("newest", 1)]
    assert (site.last.walk, site.last.is_evidence) == (2, True)


@pytest.mark.parametrize(("number", "live"), [(2, 1), (2, 2), (102, 101)])
def test_posts_that_have_the_same_id_are_not_all_held(number: int, live: int) -> None:
    """The first and the last post, on one page of the list or on two."""
    posts = [Post(one, str(one % (number - 1)), time(1)) for one in range(1, number + 1)]
    winners = {post.id: Winner(Order(0, time(1), 0, 1, 0, 0), "digest") for post in posts}
    found: ListCheck | Listing | None = BEGUN
    for first in range(0, number, MOST_POSTS):
        assert isinstance(found, ListCheck)
        listed = PostList(number, posts[first : first + MOST_POSTS])
        found = follow(found, listed, winners, StoredEntries(1, live, live, None), NOW)
    assert isinstance(found, Listing)
    assert (found.held, found.known, found.is_evidence) == (number - 1, number - 1, False)


def test_edited_post_is_read_again_where_the_feed_shows_it_by_time() -> None:
    site = site_of(1000)
    site.edit(3)
    site.crawl([])
    assert site.requests == [("modified", 1), ("feed", 1), ("modified", 1), ("newest", 1)]
    assert site.last.is_evidence


def test_imported_post_is_read_again_where_the_feed_shows_it_by_number() -> None:
    """Its time is old, and as many posts were deleted: only its number tells."""
    site = site_of(1000)
    site.add(modified=500)
    site.delete(3)
    site.crawl([])
    in_full = [("all", page) for page in range(1, 11)]
    assert site.requests == [("modified", 1), ("newest", 1), *in_full, ("feed", 100), *in_full]
    assert (site.last.is_evidence, site.last.unlisted) == (True, 1)


@pytest.mark.parametrize("what", ["edits", "imports"])
def test_more_changes_than_the_beginning_of_a_list_has_are_all_found(what: str) -> None:
    site = site_of(400)
    for number in range(150):
        if what == "edits":
            site.edit(number)
        else:
            site.add(modified=number)
    found = site.crawl([])
    assert found is not None
    assert found.is_evidence
    assert all(site.stored[str(number)][0] == modified for number, modified in site.posts.items())
    assert len([r for r in site.requests if r[0] == "feed"]) == 15


@pytest.mark.parametrize("is_shown", [True, False])
def test_edits_behind_a_post_whose_time_is_still_to_come_are_found(is_shown: bool) -> None:
    """A plugin writes local times, say; the feed's own time of that post counts or does not."""
    site = site_of(400)
    site.posts[8] = 100_000
    site.hidden = set() if is_shown else {8}
    site.crawl([8])
    for number in range(150):
        site.edit(number + 12)
    for _ in range(2):
        site.crawl([])
    assert (site.last.held, site.last.total) == (400 - (not is_shown), 400)
    assert all(site.stored[str(n)][0] == time for n, time in site.posts.items() if n not in site.hidden)
    assert site.requests == [("modified", 1), ("newest", 1)]


def test_deleted_posts_follow_from_the_total() -> None:
    site = site_of(1000)
    site.delete(3)
    site.delete(500)
    site.crawl([])
    assert site.requests == [("modified", 1), ("newest", 1)]
    assert (site.last.is_evidence, site.last.total, site.last.unlisted) == (True, 998, 2)


def test_posts_that_the_feed_never_shows_are_looked_for_once() -> None:
    site = Site(hidden={8, 30, 110})
    for _ in range(120):
        site.add()
    site.crawl(list(site.posts))
    assert (site.last.is_evidence, site.last.held, site.last.total) == (False, 117, 120)
    site.crawl([])
    assert site.requests == [("modified", 1), ("newest", 1)]
    assert site.last.held == 117
    site.add()
    site.crawl([site.number])
    assert not any(what == "feed" for what, _ in site.requests)
    assert site.last.in_words == "the store has 118 of the 121 posts that its WordPress lists"


def test_post_that_the_feed_shows_only_as_it_was_is_not_held() -> None:
    """A cache answers with an old page, say."""
    site = site_of(400)
    site.hidden = {8}
    site.edit(3)
    site.crawl([])
    assert (site.last.known, site.last.held, site.last.is_evidence) == (400, 399, False)
    assert site.last.in_words.endswith("WordPress lists, 1 of them outdated")


def test_posts_are_looked_for_again_on_demand_and_deletions_stay_known() -> None:
    site = site_of(250)
    site.hidden = {8}
    site.edit(3)
    site.delete(100)
    site.crawl([])
    assert (site.last.held, site.last.total, site.last.unlisted) == (248, 249, 1)
    site.hidden = set()
    site.listing = Listing.from_json(site.last.to_json())
    site.listing = site.last.anew()
    found = site.crawl([])
    assert found is not None
    assert (found.is_evidence, found.unlisted, found.foreign) == (True, 1, 0)


def test_feed_that_shows_more_than_the_list_is_never_complete() -> None:
    site = site_of(120)
    site.foreign = 1
    site.crawl([])
    assert not site.last.is_evidence
    assert "and 1 that it does not list" in site.last.in_words
    # The walk has not read the older pages again, which may still show it.
    site.foreign = 0
    site.add()
    site.delete(3)
    site.crawl([site.number])
    assert site.requests[-1] == ("all", 2)
    assert not site.last.is_evidence
    # As `--reset` does.
    site.listing = site.last.anew()
    site.crawl(list(site.posts))
    assert site.last.is_evidence


def test_list_that_changes_while_it_is_read_is_no_evidence() -> None:
    site = site_of(250)
    following = site.answer(BEGUN)
    assert following is not None
    assert not isinstance(following, Listing)
    site.delete(3)
    assert site.answer(following) is None


@pytest.mark.parametrize(
    ("numbers", "total"),
    [
        *(([1, 2], 3), ([3, 2, 1], 3), ([1, 1, 2], 3), ([0], 1), ([1], 0)),
        # Of millions, which are not there.
        ([*range(1, 51)], 10**8),
    ],
)
def test_list_that_contradicts_itself_is_no_evidence(numbers: list[int], total: int) -> None:
    posts = [Post(number, str(number), time(1)) for number in numbers]
    assert follow(BEGUN, PostList(total, posts), {}, StoredEntries(1, 0, 0, None), NOW) is None


changes = st.lists(
    st.tuples(st.sampled_from(["add", "import", "draft", "edit", "delete"]), st.integers(0, 400)), max_size=5
)


@settings(max_examples=60)
@given(
    st.sampled_from([0, 3, 98, 100, 130]),
    st.lists(st.tuples(changes, st.integers(0, 3)), min_size=1, max_size=5),
)
def test_evidence_means_that_each_listed_post_is_held(number: int, runs: list[tuple[object, int]]) -> None:
    site = site_of(number)
    for done, unread in runs:
        added: list[int] = []
        for what, value in done:  # type: ignore[attr-defined]
            before = set(site.posts)
            site.change(what, value)
            added += set(site.posts) - before
        # The walk reads posts of new dates; an interrupted one reads fewer.
        found = site.crawl(added[: len(added) - unread])
        assert len([r for r in site.requests if r[0] == "feed"]) <= 10 + len(added)
        if found is not None and found.is_evidence:
            winners = site.winners()
            for post, modified in site.posts.items():
                assert is_current(Post(post, str(post), time(modified)), winners)
                assert site.stored[str(post)][0] == modified
            assert found.total == len(site.posts)


@settings(max_examples=100)
@given(st.sampled_from([0, 60, 98, 130, 210]), changes, st.lists(changes, max_size=3))
def test_whatever_changes_in_checks_is_found_by_later_ones(
    number: int, first: list[tuple[str, int]], runs: list[list[tuple[str, int]]]
) -> None:
    site = site_of(number)
    for change in first:
        site.change(*change)
    for changed in runs:
        site.meanwhile = [partial(site.change, *change) for change in changed]
        site.crawl([])
    site.meanwhile = []
    for _ in range(2):
        site.crawl([])
    assert site.last.is_whole


POST = {
    "id": 7,
    "guid": {"rendered": "http://x/?post_type=a&#038;p=7"},
    "link": "http://x/seven/",
    "modified_gmt": "2020-01-02T03:04:05",
}


def test_posts_are_read_with_the_ids_that_feeds_have() -> None:
    expected = Post(7, "http://x/?post_type=a&p=7", "2020-01-02T03:04:05")
    body = json.dumps([POST]).encode()
    assert read_posts(body, "12", FEED) == PostList(12, [expected])
    by_link = expected._replace(id="http://x/seven/")
    assert read_posts(body, "12", "http://x/feed/rdf/") == PostList(12, [by_link])
    assert read_posts(b"[]", "0", FEED) == PostList(0, [])


def posts_with(**more: object) -> bytes:
    return json.dumps([POST | more]).encode()


@pytest.mark.parametrize(
    ("body", "total"),
    [
        *((posts_with(), total) for total in (None, "", "-1", "1e9", "9999999999", "\u0663", "12, 12")),
        *((body, "1") for body in (b"", b"{}", b"[" * 100_000, b"[1]", b"[" + b" " * MOST_OCTETS + b"]")),
        (json.dumps([POST] * 101).encode(), "1"),
        *((posts_with(id=number), "1") for number in (True, "7")),
        *((posts_with(modified_gmt=time), "1") for time in (None, "now")),
        *((posts_with(guid=guid), "1") for guid in ({}, {"rendered": " "})),
    ],
    ids=count(),
)
def test_what_is_no_list(body: bytes, total: str | None) -> None:
    assert read_posts(body, total, FEED) is None


def test_ids_have_the_characters_of_ids_in_the_store() -> None:
    expected = Post(7, "a\ufffd{0000}b", "2020-01-02T03:04:05")
    assert read_posts(posts_with(guid={"rendered": " a\0b\n"}), "1", FEED) == PostList(1, [expected])


@given(
    st.binary()
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_body_is_read_or_refused(body: bytes) -> None:
    found = read_posts(body, "1", FEED)
    assert found is None or found.total == 1


HOME = "https://example.org"


@pytest.mark.parametrize(
    ("link", "page", "is_like"),
    [
        ("/2024/05/a-post/", "/2019/11/another", True),
        ("/posts/12/", "/posts/a-name/", True),
        ("/posts/a.html", "/posts/b.html", True),
        ("/?p=12", "/?p=7", True),
        ("/posts/a/?utm_source=rss&utm_medium=rss", "http://www.example.org/posts/b/", True),
        ("/2024/05/a-post/", "/about/", False),
        ("/2024/05/a-post/", "/2024/05/", False),
        ("/posts/a/", "/posts/", False),
        ("/posts/a/", "/posts/tag/a/", False),
        ("/posts/a.html", "/posts/index.html", False),
        ("/posts/a/", "https://example.com/posts/b/", False),
        ("/?p=12", "/?page_id=7", False),
        ("/posts/a/", f"/posts/{'b' * 3000}/", False),
    ],
)
def test_pages_that_look_like_entries(link: str, page: str, is_like: bool) -> None:
    url = urljoin(HOME, page)
    assert like_entries([url], [HOME + link]) == [url] * is_like


def test_shape_of_a_single_entry_among_many_does_not_count() -> None:
    links = [f"{HOME}/about/", *(f"{HOME}/posts/{number}/" for number in range(20))]
    assert like_entries([f"{HOME}/contact/", f"{HOME}/posts/x/"], links) == [f"{HOME}/posts/x/"]


def test_page_of_an_entry_is_kept_however_its_url_is_written() -> None:
    links = ["http://www.example.org/posts/a?utm_source=rss", f"{HOME}/posts/b/#more"]
    found = compare({f"{HOME}/sitemap.xml": [f"{HOME}/posts/{name}/" for name in "abc"]}, links)
    assert (len(found.listed), found.missing) == (3, [f"{HOME}/posts/c/"])


# At the root of a site, every page looks like an entry.
def test_only_sitemaps_that_list_entries_count_and_others_of_their_name() -> None:
    listed = {
        f"{HOME}/sitemap-posts-2.xml": [f"{HOME}/new/"],
        f"{HOME}/sitemap-posts-1.xml": [f"{HOME}/old/"],
        f"{HOME}/sitemap-pages-1.xml": [f"{HOME}/about/"],
    }
    assert compare(listed, [f"{HOME}/new/"]).missing == [f"{HOME}/old/"]
    assert not compare(listed, [f"{HOME}/other/"]).listed


def test_sitemaps_of_entries_come_first_and_those_of_news_never() -> None:
    names = ["users", "pages", "news", "tags", "posts", "posts"]
    check = SitemapCheck().with_more(f"{HOME}/sitemap-{name}.xml" for name in names)
    read = []
    while (following := check.next_check()) is not None:
        check = following
        read.append(check.requested[-1].rpartition("-")[2])
    assert (read, check.is_part) == (["posts.xml", "users.xml", "pages.xml", "tags.xml"], False)


def test_no_more_sitemaps_are_read_than_allowed() -> None:
    check = SitemapCheck().with_more([f"{HOME}/sitemap.xml"]).next_check()
    assert check is not None
    check = check.with_more(f"{HOME}/sitemap-{number}.xml" for number in range(9))
    while (following := check.next_check()) is not None:
        check = following.with_more([f"{HOME}/sitemap.xml"])
    assert (len(check.requested), check.is_part) == (MOST_REQUESTS, True)


def test_sitemaps_are_read_once_in_thirty_days() -> None:
    now, recent = "2003-12-13T18:30:00Z", ["2003-12-13T00:00:00Z", "2003-11-15T00:00:00Z"]
    assert not any(is_sitemap_due(read, now) for read in recent)
    for read in (None, "2003-11-13T00:00:00Z", "2004-01-01T00:00:00Z"):
        assert is_sitemap_due(read, now)


def test_report_in_words() -> None:
    reads = "--from-sitemap reads"
    assert SitemapReport("", 122, 15).in_words == f"its sitemap names 107 more posts: {reads} them"
    part = SitemapReport("", 1_200, 1_199, is_part=True)
    assert part.in_words == f"its sitemap names at least 1 more post: {reads} it"
    assert SitemapReport("", 15, 15).in_words == "its sitemap names no other post"
    assert not SitemapReport("").in_words
    assert SitemapReport("", 5, 2).with_posts(2, 1) == SitemapReport("", 4, 4)
