"""Crawls of what publishers do besides plain archived feeds."""

from pathlib import Path

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process
LOOPBACK = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8,localhost"}
RSS_1 = (
    'raw <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    '<channel rdf:about="x"><title>t</title><link xmlns="http://www.w3.org/2005/Atom" rel="%s" href="/a1"/>'
    '</channel><item rdf:about="%s"><title>t</title><link>%s</link></item></rdf:RDF>'
)
JSON = 'raw {"version":"https://jsonfeed.org/version/1.1",%s"items":[{"id":"%s","content_text":"text"}]}'
FORMS = {
    "paging links may lead to another host": """
        /index 2 next:OTHER/p2; OTHER/p2 1; crawl /index FHCRAWL_ALLOWED_PRIVATE_HOSTS=127.0.0.0/8
        exports 1 2""",
    "links in headers are followed": """
        /index 2 FORM Link=</a1>;rel="prev-archive"; /a1 1 FORM; crawl /index; exports 1 2
        verdict complete""",
    "links of the document come first": """
        /index 2 FORM prev:/a1 Link=</other>;rel="prev-archive"; /a1 1; crawl /index; requests /index /a1""",
    "a feed on the net leads to no file": """
        /index 1 prev:file:///etc/passwd; crawl /index; exports 1; verdict incomplete refused-url""",
    "the content type of a response does not matter": """
        /index 2 prev:/a1 type:text/html; /a1 1 type:text/plain; crawl /index; exports 1 2""",
    "a content type that cannot be read loses nothing": """
        /index 1 type:application/atom+xml;charset*=utf-8''utf-8;charset*0=utf-8; crawl /index; exports 1""",
    "the history of draft 00 is walked": """
        /index 2 stateful this:/now prev-page:/a1; /a1 1 stateful; crawl /index; exports 1 2
        verdict complete""",
    "so is that of the drafts in between": """
        /index 2 incremental draft:/a1; /a1 1 incremental; crawl /index; exports 1 2; verdict complete""",
    "a stateless feed of a draft is complete": """
        /index 1 stateless; crawl /index; verdict complete""",
    "prev is paging elsewhere": """
        /index 1 prev-page:/a1; crawl /index; requests /index""",
    "RSS 1.0 is archived": f"""
        /index {RSS_1 % ("prev-archive", 2, 2)}; /a1 {RSS_1 % ("x", 1, 1)}; crawl /index; exports 1 2
        verdict complete""",
    "JSON Feed is paged": f"""
        /f.json {JSON % ('"next_url":"/2.json",', 2)}; /2.json {JSON % ("", 1)}; crawl /f.json; exports 1 2
        verdict unknown paged""",
    "an archive that only a header names is read": f"""
        /f.json Link=</1.json>;rel=prev-archive {JSON % ("", "c")}; /1.json {JSON % ("", "a")}
        /2.json Link=</1.json>;rel=prev-archive {JSON % ("", "b")}; crawl /f.json
        /f.json Link=</2.json>;rel=prev-archive {JSON % ("", "c")}; crawl; exports b; verdict complete""",
    "feeds that share archives both get all entries": """
        /one 3 prev:/a2; /two 4 prev:/a2; /a2 2 prev:/a1; /a1 1; crawl /one /two unexported
        stored /one=3 /two=3; stat fhcrawl/feed/complete 2""",
    "a loop over two documents ends the walk": """
        /index 3 prev:/a2; /a2 2 prev:/a1; /a1 1 prev:/a2; crawl /index; requests /index /a2 /a1
        verdict incomplete loop""",
    "so does one to the subscription document": """
        /index 3 prev:/a2; /a2 2 prev:/index; crawl /index; requests /index /a2; verdict incomplete loop""",
    "so does one at once": """
        /index 3 prev:/index; crawl /index; requests /index; verdict incomplete loop""",
    "a part of a complete feed deletes nothing": """
        /index 1 2 complete; crawl /index; /index PART; crawl; exports; has 1 2""",
    "reversed links": """
        /index 3 next-archive:/a2; /a2 2 next-archive:/a1 prev:/index; /a1 1 prev:/a2
        crawl /index opt:reversed=true; requests /index /a2 /a1; verdict complete""",
    # Though its subscription document has not changed.
    "a feed whose links are reversed later is read again": """
        /index 3 next-archive:/a2; /a2 2 next-archive:/a1; /a1 1; crawl /index
        verdict incomplete no-current no-history; crawl opt:reversed=true; verdict complete; has 1 2 3
        crawl opt:reversed=true; requests /index; crawl; verdict incomplete no-current no-history""",
    "so is one whose next pages are archives": """
        /index 3 next:/a2; /a2 2 next:/a1; /a1 1; crawl /index; verdict unknown paged
        crawl opt:next="archive"; verdict complete; has 1 2 3; crawl opt:next="archive"; requests /index""",
    "more headers": """
        /index 2 prev:/a1; /a1 1; crawl /index opt:headers={X-Key="k"}; sends X-Key=k""",
    "more headers stay with the feed's host, also where archives are skipped": """
        /index 2 prev:/a1; /a1 1 prev:OTHER/a0; OTHER/a0 404
        crawl /index opt:headers={X-Key="k"} FHCRAWL_ALLOWED_PRIVATE_HOSTS=127.0.0.0/8; hides X-Key
        /index 3 prev:/a1
        crawl opt:headers={X-Key="k"} FHCRAWL_ALLOWED_PRIVATE_HOSTS=127.0.0.0/8; hides X-Key""",
    "a limit of one feed": """
        /index 3 prev:/a2; /a2 2 prev:/a1; crawl /index opt:limit=1; verdict incomplete limit""",
}
WAYS = {
    "FORM": ("undated", "rss"),
    "PART": ("2 3 complete cut", "2 ? complete", "html", "raw", "206 2 complete"),
}


@scripts(FORMS, **WAYS)
def test_form(play: Play, script: str) -> None:
    play(script)


@pytest.mark.real_crawl
def test_files_are_a_feed(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "feeds"
    (folder / "old").mkdir(parents=True)
    (folder / "index.atom").write_text(atom([E("2")], prev="old/a1.atom"))
    (folder / "old" / "a1.atom").write_text(atom([E("1")], prev="../../secret.atom"))
    (tmp_path / "secret.atom").write_text(atom([E("secret")]))
    run = project.crawl((folder / "index.atom").as_uri())
    assert set(run.changes) == {"1", "2"}
    assert project.verdict() == ("incomplete", ["refused-url"])


@pytest.mark.real_crawl
def test_credentials_do_not_leave_for_another_host(server: FeedServer, project: Project) -> None:
    domain = server.root.removeprefix("http://")
    credentials = {"HTTPAUTH_USER": "ann", "HTTPAUTH_PASS": "secret", "HTTPAUTH_DOMAIN": domain}
    with FeedServer() as other:
        server.serve("/index", atom([E("2")], prev=f"{other.root.replace('127.0.0.1', 'localhost')}/a1"))
        other.serve("/a1", atom([E("1")]))
        run = project.crawl(server.url("/index"), settings={**credentials, **LOOPBACK})
        sent, elsewhere = ([one.get("Authorization") for one in each.headers] for each in (server, other))
    assert set(run.changes) == {"1", "2"}
    assert any(sent)
    assert not any(elsewhere)
