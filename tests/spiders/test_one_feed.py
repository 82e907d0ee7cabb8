"""A feed that is given by several URLs is stored once, under one of them."""

import json

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.walks import PAGE, Play, scripts

pytestmark = pytest.mark.in_process

PAGES = {
    "a page and its feed are one feed at once": """
        / page /feed#x; /feed 2 prev:/a1; /a1 1; crawl ORDER; exports 1 2; logs Found the feed
        stored /feed=2; verdict complete""",
    "a page and its feed are one feed one after the other": """
        / page /feed#x; /feed 2 prev:/a1; /a1 1; crawl /feed; exports 1 2; crawl /; exports
        logs Found the feed; stored /feed=2; verdict complete""",
    "a feed and its page are one feed": """
        / page /feed#x; /feed 2 prev:/a1; /a1 1; crawl /; exports 1 2; crawl /feed; exports
        stored /feed=2; verdict complete""",
    "a page leads to its feed each time": """
        / page /feed; /feed 1; crawl /; requests / /feed
        /feed 2 1; crawl; exports 2; stored /feed=2; requests / /feed""",
    "the headers of a page are not those of its feed elsewhere": """
        / page OTHER/feed; OTHER/feed 1; crawl / opt:headers={X-Key="k"} LOOPBACK; hides X-Key
        crawl opt:headers={X-Key="k"} LOOPBACK; hides X-Key; stored OTHER/feed=1""",
    "a feed of a page on a private host is refused": """
        / page OTHER/feed; OTHER/feed 1; subscribe /; crawl subscribed
        verdict unknown not-read private-address; crawl subscribed; verdict unknown not-read private-address
        stored /=0""",
    "a page whose feed cannot be read keeps its name": """
        / page /feed; subscribe /; crawl subscribed; stored /=0; /feed 1; crawl subscribed; stored /feed=1""",
}
REDIRECTS = {
    "a new URL that redirects to a stored feed is that feed": """
        /feed 1; /old STATUS /feed; crawl /feed; crawl /old; exports; logs Found the feed; stored /feed=1
        requests /old /feed""",
    "one that redirects to a feed of the same run is that feed": """
        /feed 1; /old STATUS /feed; crawl /feed /old; exports 1; logs Found the feed; stored /feed=1""",
    "feeds that move to one URL at once are one feed": """
        /feed 1; /a 301 /feed; /b 301 /feed; crawl /a /b /feed; stored /feed=1""",
    "feeds that move to one URL one after the other are one feed": """
        /feed 1; /a 301 /feed; /b 301 /feed; crawl /a; crawl /b; crawl /feed; stored /a=1""",
    "the target of a redirect has spellings too": """
        /feed 1; /old 301 /feed#x; crawl /feed; crawl /old; stored /feed=1""",
    "an archive that leads to a stored feed is that feed": """
        /feed 2 prev:/a1; /a1 1 archive current:/feed; crawl /feed; crawl /a1; exports; stored /feed=2""",
    "a subscription moves to the stored feed": """
        /feed 1; /old 301 /feed; crawl /feed; subscribe /old; crawl subscribed; stored /feed=1
        scrapy unsubscribe /feed; prints no longer subscribed""",
    "a temporary redirect is another feed": """
        /feed 1; /old 302 /feed; crawl /feed /old unexported; stored /feed=1 /old=1""",
}
TWO = "/feed 3 2; /old 2 1; crawl /feed /old unexported; /old 301 /feed; crawl /old unexported"
SPELLINGS = {
    "the first spelling names a feed, and is requested": """
        /%7ea 1; crawl /%7ea /x/../~a#b; exports 1; requests /%7ea; crawl /~a; exports; requests /%7ea
        stored /%7ea=1""",
    "a subscription has spellings": """
        /~a 1; subscribe /~a; scrapy subscribe /%7Ea; prints already subscribed: 1; crawl /%7Ea; exports 1
        crawl due=1 /%7Ea; logs No feed is due; stored /~a=1""",
    "a page links to a stored feed in another spelling": """
        / page /~a; /~a 1; /%7ea 1; crawl /%7ea; crawl /; exports; stored /%7ea=1""",
    "so does a redirect": """
        /old 301 /~a; /~a 1; /%7ea 1; crawl /%7ea; crawl /old; exports; stored /%7ea=1""",
    "URLs that only look alike are two feeds": """
        /a%2Fb 1; /a/b 2; crawl /a%2Fb /a/b; exports 1 2; stored /a%2Fb=1 /a/b=1""",
    "a page that has become a feed is a feed": """
        / page /feed; /feed 1; crawl /; stored /feed=1; / 2; crawl /; exports 2; stored /feed=1 /=1
        scrapy export -o -:jsonl --feed /; prints "id":"2" """,
}
MERGES = {
    "what is left to be exported moves": """
        /feed 2; /old 2 1; crawl /old unexported; crawl /feed; scrapy unsubscribe --merge-into /feed /old
        crawl /feed; exports 1""",
    "nothing is told twice": """
        /feed 2=a 1; /old 2=b 1; crawl /old; crawl /feed unexported
        scrapy unsubscribe --merge-into /feed /old; crawl /feed; exports 2:updated""",
    "versions are kept": """
        /feed 1=new; /old 1=old 0=old; crawl /old /feed KEEPS; /old 1=new 0=new; crawl KEEPS
        scrapy unsubscribe --merge-into /feed /old
        scrapy history /feed 1; prints old; scrapy history /feed 0; prints old""",
    "a feed that is not there is not the one to keep": f"""
        {TWO}; refused unsubscribe --merge-into /other /old; prints is not in the store
        stored /feed=2 /old=3""",
    "nor is it merged": f"""
        {TWO}; refused unsubscribe --merge-into /feed /other; prints is not in the store
        stored /feed=2 /old=3""",
    "a feed is not merged into itself": f"""
        {TWO}; refused unsubscribe --merge-into /feed /feed; prints is the feed to keep
        stored /feed=2 /old=3""",
}


@scripts(
    {**PAGES, **REDIRECTS, **SPELLINGS, **MERGES},
    [*list(PAGES)[:3], *list(SPELLINGS)[:2], *MERGES],
    ORDER=("/ /feed", "/feed /"),
    STATUS=("301", "308"),
)
def test_one_feed(play: Play, script: str) -> None:
    script = script.replace("LOOPBACK", "FHCRAWL_ALLOWED_PRIVATE_HOSTS=127.0.0.0/8")
    play(script.replace("KEEPS", "unexported FHCRAWL_KEEP_VERSIONS_ENABLED=1"))


def stored(project: Project) -> dict[str, int]:
    return {feed["feed"]: feed["entries"] for feed in project.feeds()}


def test_spellings_of_a_url_are_one_feed(server: FeedServer, project: Project) -> None:
    server.serve("/x", atom([E("1")]))
    run = project.crawl(server.url("/x"), server.url("/x#top"), server.url("/x").replace("http", "HTTP"))
    assert run.changes == {"1": "new"}
    assert stored(project) == {server.url("/x"): 1}
    again = server.url("/x#top")
    assert project.scrapy("subscribe", again).stdout.startswith("Newly subscribed: 1")
    assert len(stored(project)) == 1
    assert json.loads(project.scrapy("feeds", again, "--json").stdout)[0]["entries"] == 1
    assert '"1"' in project.scrapy("export", "-o", "-:jsonl", "--feed", again).stdout
    assert project.scrapy("history", again, "1").returncode == 0
    assert "0 already there" in project.scrapy("download", again, "-d", "files").stdout
    assert "no longer subscribed" in project.scrapy("unsubscribe", again).stdout


@pytest.mark.both_stores
def test_feed_is_found_by_what_led_to_it(server: FeedServer, project: Project) -> None:
    """The page with its link, a redirect to it, the target of its redirect, and a merged feed."""
    server.serve("/", PAGE % "/feed", content_type="text/html")
    server.serve("/feed", "", status=301, headers={"Location": "/new~"})
    server.serve("/new~", atom([E("1")]))
    server.serve("/old", "", status=308, headers={"Location": "/new~"})
    server.serve("/other", atom([E("2")]))
    for path in ("/", "/old", "/other"):
        project.crawl(server.url(path))
    kept, other = server.url("/feed"), server.url("/other")
    assert stored(project) == {kept: 1, other: 1}
    project.scrapy("unsubscribe", "--merge-into", server.url("/x/../new%7E"), other)
    for path in ("/#x", "/%6fld", "/new%7e", "/./other", "/f%65ed"):
        url = server.url(path)
        [feed] = json.loads(project.scrapy("feeds", url, "--json").stdout)
        assert (feed["feed"], feed["entries"]) == (kept, 2)
        assert project.scrapy("export", "-o", "-:jsonl", "--feed", url).stdout.count('"id"') == 2
        assert project.scrapy("history", url, "1").returncode == 0
    assert project.scrapy("unsubscribe", "--delete", server.url("/old")).stdout.startswith(kept)
    assert stored(project) == {}


@pytest.mark.parametrize("is_known", [False, True])
def test_subscription_of_a_page_moves_to_feed(server: FeedServer, project: Project, is_known: bool) -> None:
    server.serve("/", PAGE % "/feed", content_type="text/html")
    server.serve("/feed", atom([E("1")]))
    if is_known:
        project.crawl(server.url("/feed"))
    listed = f'[[feed]]\nurl = "{server.root}"\nreversed = true\nheaders = {{X-Key = "k"}}\n'
    (project.folder / "list.toml").write_text(listed)
    assert project.scrapy("subscribe", "list.toml").returncode == 0
    project.crawl()
    assert stored(project) == {server.url("/feed"): 1}
    [(url, options, subscribed)] = project.database.rows("SELECT url, options, subscribed FROM feeds")
    assert json.loads(options) == {"headers": {"X-Key": "k"}, "reversed": True}
    assert (url, subscribed is None) == (server.url("/feed"), False)


def test_server_that_answers_by_turns_ends(server: FeedServer, project: Project) -> None:
    """Each URL is a feed, then a page that leads to the other one, then a feed."""

    def turn(path: str) -> None:
        others = {"/": "/feed", "/feed": "/"}
        if path in others and server.requests.count(path) % 2 == (path == "/feed"):
            server.serve(path, PAGE % others[path], content_type="text/html")
        elif path in others:
            server.serve(path, atom([E("1")]))

    server.on_request = turn
    for path in ("/", "/feed"):
        turn(path)
    project.crawl(server.url("/"), settings={"CLOSESPIDER_PAGECOUNT": 20})
    assert server.requested() == ["/", "/feed"]


@pytest.mark.both_stores
def test_duplicates_are_reported_and_merged(play: Play, server: FeedServer, project: Project) -> None:
    play(TWO)
    kept, other = server.url("/feed"), server.url("/old")
    command = f"fhcrawl unsubscribe --merge-into {kept} {other}"
    lines = project.scrapy("feeds").stdout.splitlines()
    assert [line for line in lines if command in line and line.startswith(f"{kept} and {other} ")]
    duplicates = {feed["feed"]: feed["duplicates"] for feed in project.feeds()}
    assert duplicates == {kept: [other], other: [kept]}
    project.scrapy("subscribe", other)
    done = project.scrapy("unsubscribe", "--merge-into", f"{kept}#x", other)
    assert done.stdout == f"{other} is merged into {kept}; entries added: 1\n"
    assert stored(project) == {kept: 3}
    assert "unsubscribe" not in project.scrapy("feeds").stdout
    assert [feed["duplicates"] for feed in project.feeds()] == [[]]
    [(subscribed,)] = project.database.rows("SELECT subscribed FROM feeds")
    assert subscribed is not None
