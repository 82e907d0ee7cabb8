"""What of a site's sitemaps looks like the entries of its feed."""

import pytest

from fhcrawl.logical_feed import listings
from fhcrawl.logical_feed.listings import MOST_REQUESTS, SitemapCheck, SitemapReport

SITE = "https://example.org"
POSTS = [f"{SITE}/posts/{name}/" for name in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("link", "page"),
    [
        (f"{SITE}/2024/05/a-post/", f"{SITE}/2019/11/another"),
        (f"{SITE}/posts/12/", f"{SITE}/posts/a-name/"),
        (f"{SITE}/posts/a.html", f"{SITE}/posts/b.html"),
        (f"{SITE}/?p=12", f"{SITE}/?p=7"),
        (f"{SITE}/posts/a/?utm_source=rss&utm_medium=rss", "http://www.example.org/posts/b/"),
    ],
)
def test_pages_that_look_like_entries(link: str, page: str) -> None:
    assert listings.like_entries([page], [link]) == [page]


@pytest.mark.parametrize(
    ("link", "page"),
    [
        (f"{SITE}/2024/05/a-post/", f"{SITE}/about/"),
        (f"{SITE}/2024/05/a-post/", f"{SITE}/2024/05/"),
        (f"{SITE}/posts/a/", f"{SITE}/posts/"),
        (f"{SITE}/posts/a/", f"{SITE}/posts/tag/a/"),
        (f"{SITE}/posts/a.html", f"{SITE}/posts/index.html"),
        (f"{SITE}/posts/a/", "https://example.com/posts/b/"),
        (f"{SITE}/?p=12", f"{SITE}/?page_id=7"),
        (f"{SITE}/posts/a/", f"{SITE}/posts/{'b' * 3000}/"),
    ],
)
def test_pages_that_do_not(link: str, page: str) -> None:
    assert listings.like_entries([page], [link]) == []


def test_shape_of_a_single_entry_among_many_does_not_count() -> None:
    links = [f"{SITE}/about/", *(f"{SITE}/posts/{number}/" for number in range(20))]
    assert listings.like_entries([f"{SITE}/contact/", f"{SITE}/posts/x/"], links) == [f"{SITE}/posts/x/"]


def test_page_of_an_entry_is_kept_however_its_url_is_written() -> None:
    links = ["http://www.example.org/posts/a?utm_source=rss", f"{SITE}/posts/b/#more"]
    found = listings.compare({f"{SITE}/sitemap.xml": POSTS}, links)
    assert (len(found.listed), found.missing) == (3, [f"{SITE}/posts/c/"])


# At the root of a site, every page looks like an entry.
def test_only_sitemaps_that_list_entries_count_and_others_of_their_name() -> None:
    listed = {
        f"{SITE}/sitemap-posts-2.xml": [f"{SITE}/new/"],
        f"{SITE}/sitemap-posts-1.xml": [f"{SITE}/old/"],
        f"{SITE}/sitemap-pages-1.xml": [f"{SITE}/about/"],
    }
    assert listings.compare(listed, [f"{SITE}/new/"]).missing == [f"{SITE}/old/"]
    assert not listings.compare(listed, [f"{SITE}/other/"]).listed


def test_sitemaps_of_entries_come_first_and_those_of_news_never() -> None:
    names = ["users", "pages", "news", "tags", "posts", "posts"]
    check = SitemapCheck().with_more(f"{SITE}/sitemap-{name}.xml" for name in names)
    read = []
    while (following := check.following()) is not None:
        check = following
        read.append(check.requested[-1].rpartition("-")[2])
    assert (read, check.is_part) == (["posts.xml", "users.xml", "pages.xml", "tags.xml"], False)


def test_no_more_sitemaps_are_read_than_allowed() -> None:
    check = SitemapCheck().with_more([f"{SITE}/sitemap.xml"]).following()
    assert check is not None
    check = check.with_more(f"{SITE}/sitemap-{number}.xml" for number in range(9))
    while (following := check.following()) is not None:
        check = following.with_more([f"{SITE}/sitemap.xml"])
    assert (len(check.requested), check.is_part) == (MOST_REQUESTS, True)


@pytest.mark.parametrize(
    ("read", "is_due"),
    [
        (None, True),
        ("2003-12-13T00:00:00Z", False),
        ("2003-11-15T00:00:00Z", False),
        ("2003-11-13T00:00:00Z", True),
        ("2004-01-01T00:00:00Z", True),
    ],
)
def test_sitemaps_are_read_once_in_thirty_days(read: str | None, is_due: bool) -> None:
    assert listings.is_sitemap_due(read, "2003-12-13T18:30:00Z") is is_due


def test_report_in_words() -> None:
    said = "its sitemap lists {} pages that look like entries; the store has {}"
    others = " (fhcrawl feeds --missing lists the others)"
    assert SitemapReport("", 122, 15).in_words == said.format("122", f"15 of them{others}")
    assert SitemapReport("", 1220, 15, is_part=True).in_words == said.format(
        "at least 1,220", f"15 of them{others}"
    )
    assert SitemapReport("", 15, 15).in_words == said.format("15", "15 of them")
    assert SitemapReport("").in_words == ""
