"""Edits in the subscription document, whatever documents say of their own time."""

import pytest

from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process
A = 'xmlns:a="http://www.w3.org/2005/Atom"'
LATE, EARLY = "Tue, 03 Jun 2025 10:00:00 GMT", "Mon, 02 Jun 2025 10:00:00 GMT"
COMPLETE = '<c:complete xmlns:c="http://purl.org/syndication/history/1.0"/>'


def rss(text: str, built: str | None = None, more: str = "") -> str:
    date = f"<lastBuildDate>{built}</lastBuildDate>" if built else ""
    item = f"<item><guid>1</guid><title>t</title><description>{text}</description>{more}</item>"
    return f"raw <rss {A}><channel><title>T</title>{date}{item}</channel></rss>"


def leading_to(document: str, path: str) -> str:
    return document.replace("<item>", f'<a:link rel="prev-archive" href="{path}"/><item>')


def json_feed(text: str) -> str:
    item = f'{{"id":"1","summary":"{text}"}}'
    return f'raw {{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{item}]}}'


OWN_TIME = "<a:updated>2003-01-01T00:00:00Z</a:updated>"
RUNS = {
    "the time goes back": [rss("a", LATE), rss("b", EARLY), rss("c", EARLY)],
    "the time disappears": [rss("a", LATE), rss("b"), rss("c")],
    "the time was wrong once": [rss("a", "Fri, 03 Jan 2042 10:00:00 GMT"), rss("b", LATE), rss("c", LATE)],
    "the feed becomes an Atom feed": [rss("a", LATE), "1=b@2003 updated:2003", "1=c@2004 updated:2003"],
    "it becomes an RSS feed again": ["1=a@2025", rss("b", EARLY), rss("c", EARLY)],
    "it becomes a JSON feed": [rss("a", LATE), json_feed("b"), json_feed("c")],
    "items get a time of their own": [rss("a", LATE), rss("b", LATE, OWN_TIME), rss("c", LATE)],
}


@pytest.mark.parametrize("documents", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("is_complete", [False, True])
def test_edits_of_the_newest_document_count(play: Play, documents: list[str], is_complete: bool) -> None:
    if is_complete:
        documents = [one.replace("<title>T", f"{COMPLETE}<title>T") for one in documents]
    first, second, third = documents
    play(f"/f {first}; crawl /f; exports 1=a; /f {second}; crawl; exports 1:updated=b")
    play(f"/f {third}; crawl /f; exports 1:updated=c")


EDITS = {
    "an archive with a later time wins over nothing": f"""
        /old {rss("a", LATE)}; /f {leading_to(rss("b", EARLY), "/old")}; crawl /f; exports 1=b
        /f {leading_to(rss("c", EARLY), "/old")}; crawl; exports 1:updated=c; crawl FHCRAWL_RECHECK=0
        exports""",
    # The archive has another time then, or none; the subscription document shows the entry no more.
    "an edit that a check finds counts": f"""
        /old {rss("a", LATE)}; /f {leading_to(rss("a", LATE), "/old")}; crawl /f; /f empty rss prev:/old
        /old {rss("b", EARLY)}; crawl reset; exports 1:updated=b; /old {rss("c")}; crawl reset
        exports 1:updated=c""",
    "a stale copy does not win over a later update time": """
        /f 1=a@2003; crawl /f; exports 1=a; /f 1=b@2004; crawl; exports 1:updated=b; /f 1=a@2003; crawl
        exports""",
}


@scripts(EDITS)
def test_edit(play: Play, script: str) -> None:
    play(script)
