"""Crawls, written down as lines: what is served, crawled, requested, exported and logged."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from datetime import date, timedelta
from typing import Any

import pytest

from tests.faketime import clock_at
from tests.feeds import E, atom, atom_link, rss, tombstone
from tests.in_process import MemoryServer
from tests.projects import Project, Run
from tests.server import FeedServer

Play = Callable[[str], None]

RELATIONS = (
    *("prev", "prev-archive", "next", "next-archive", "current", "self", "first", "last", "previous"),
    *("prev-page", "this", "alternate"),
)
HEADERS = ("Link", "Retry-After", "Location", "Last-Modified", "Cache-Control", "ETag", "Content-Encoding")
HEADS = {
    "archive": "<fh:archive/>",
    "complete": "<fh:complete/>",
    "incremental": "<fh:incremental>true</fh:incremental>",
    "stateful": "<fh:stateful>1</fh:stateful>",
    "stateless": "<fh:stateful> 0 </fh:stateful>",
    "lost": "<item/>",
    "wordpress": "<generator>https://wordpress.org/?v=6.1.9</generator>",
}
HTML = "<!DOCTYPE html><html><head><title>x</title></head><body>Hello<br></body></html>"
PAGE = '<html><head><link rel="alternate" type="application/atom+xml" href="%s"></head></html>'
WORDS = {"rss", "undated", "no-etag", "empty", "cut", "trailing", "lost-end"}
MULTIPART = "multipart/mixed; boundary=b"


def snapshot_date(day: int) -> str:
    return f"{day:02} Nov 2023 12:00:00 GMT"


def multipart(*entities: tuple[int, str, str | None]) -> bytes:
    """A page of (day of November 2023, body, Content-ID) entities."""
    parts = [
        f"--b\r\nContent-Type: text/plain\r\nLast-Modified: {snapshot_date(day)}\r\n"
        + (f"Content-ID: {name}\r\nOperation-Type: http-equiv=PUT\r\n" if name else "")
        + f"\r\n{body}\r\n"
        for day, body, name in entities
    ]
    return ("".join(parts) + "--b--\r\n").encode()


class Walk:
    """Plays a script, whose steps end with their line or a semicolon. OTHER is another server on loopback.

    `/a1 1 2=text@2004 prev:/a0 archive` serves a document: entries (`?` has no id, `~` is a space), links
    (`prev` means prev-archive), elements of its head, `buried:1@2004` for a tombstone, `draft:/a1` for
    fh:prev, `moved:/new`, `total:7`, `updated:2004`, `rss`, `undated`, `no-etag`, `cut`, `trailing`,
    `lost-end` (of the response), `type:text/html`, `Link=</a1>;rel=next`.
    `/a1 301 /b1`, `/a1 503 Retry-After=1`, `/ html`, `/ page /feed`, `/ raw TEXT`: redirects, errors, pages
    that name a feed, other bodies. `always rss undated` applies to each document from there on.
    `snapshot s1 a,b c created:2023-11-12 at:/s` serves an index with two pages, and `events /p 2 4 prev:/q` a
    page of events of some days of that month. `on /a2 STEP` is done when /a2 is requested, once.
    `crawl /index SETTING=1 ids=link opt:reversed=true unexported reset at:2004-01-01` is a run: with
    settings, arguments and the options of a list; without a URL, of the same feed again, or with
    `subscribed` of the subscribed ones. After `days`, runs are a day apart, and check all documents; after
    `confirm`, they confirm pages.
    About it: `requests PATHS`, in their order, or `requests-also PATHS`; `exports 1 2:deleted 3=text`;
    `logs WORDS`; `lacks WORDS`; `warns NUMBER`; `stat NAME NUMBER`; `code NUMBER`; `sends NAME=VALUE`;
    `hides NAME` (OTHER).
    About the store: `has IDS`; `verdict lossy paged`, or `verdict /index lossy paged`; `gap KIND URL`;
    `detail WORDS`; `stored /feed=2`, with numbers of entries; `absent IDS`; `holes NUMBER`;
    `checked 2010-01-03`; `as-of 2010-01-03`.
    `scrapy WORDS` and `refused WORDS` run a command; `prints WORDS` is in its output.
    """

    run: Run

    def __init__(self, server: FeedServer, project: Project) -> None:
        self._server = server
        self._other = MemoryServer()
        self._project = project
        self._at: dict[str, list[str]] = {}
        self._always: list[str] = []
        self._feeds: list[str] = []
        self._day: int | None = None
        self._always_set: dict[str, str] = {}
        self._printed = ""
        server.on_request = self._answer

    def play(self, script: str) -> None:
        for line in filter(None, map(str.strip, re.split(r";(?=\s)|\n", f"{script}\n"))):
            word, *words = line.replace("OTHER", self._other.root).split()
            if word.startswith(("/", "http")):
                self._serve(word, words)
            else:
                getattr(self, word.replace("-", "_"))(*words)

    def _url(self, word: str) -> str:
        return self._server.url(word) if word.startswith("/") else word

    def _serve(self, url: str, words: list[str]) -> None:
        server = self._server if url.startswith("/") else self._other
        given: dict[str, Any] = {"headers": {}}
        for word in [word for word in words if word.partition("=")[0] in HEADERS]:
            words.remove(word)
            name, _, value = word.partition("=")
            given["headers"][name] = value
        if words[0].isdecimal() and len(words[0]) == 3:
            given["status"] = int(words.pop(0))
        if given.get("status", 200) > 299:
            given["headers"] |= {"Location": words[0]} if words else {}
            body = ""
        elif words[0] in ("html", "page"):
            body = HTML if words[0] == "html" else PAGE % words[1]
            given["content_type"] = "text/html"
        elif words[0] == "raw":
            body = " ".join(words[1:])
        else:
            words = [*words, *self._always]
            given |= {"etag": "no-etag" not in words, "cut": 100 if "lost-end" in words else None}
            types = [word for word in words if word.startswith("type:")]
            given |= {"content_type": types[0][5:]} if types else {}
            body = self._document([word for word in words if word not in types])
        server.serve(url.removeprefix(self._other.root), body, **given)

    def _document(self, words: list[str]) -> str:
        head = "".join(map(_in_head, words))
        dates: dict[str, Any] = {"updated": None} if "undated" in words else {}
        times = [word for word in words if word.startswith("updated:")]
        dates |= {"updated": _timed(f"@{times[0][8:]}")[1]} if times else {}
        named = [word for word in words if word not in WORDS and word not in times]
        entries = [_entry(word, dates) for word in named if not _in_head(word)]
        document = (rss if "rss" in words else atom)(entries, head=head, **dates)
        return document[:-40] if "cut" in words else document + "<p>more</p>" * ("trailing" in words)

    def _answer(self, path: str) -> None:
        for line in self._at.pop(path, []):
            self.play(line)

    def events(self, path: str, *words: str) -> None:
        days = [int(word) for word in words if word.isdecimal()]
        links = {"self": path, **dict(word.split(":", 1) for word in words if ":" in word)}
        header = ", ".join(f"<{target}>; rel={relation}" for relation, target in links.items() if target)
        body = multipart(*((day, f"event {day}", f"e{day}") for day in days))
        headers = {"Link": header, "Last-Modified": snapshot_date(days[-1])}
        self._server.serve(path, body, content_type=MULTIPART, headers=headers, etag="no-etag" not in words)

    def on(self, path: str, *words: str) -> None:
        self._at.setdefault(path, []).append(" ".join(words))

    def always(self, *words: str) -> None:
        self._always = list(words)

    def days(self) -> None:
        self._day = 0

    def gone(self, *paths: str) -> None:
        for path in paths:
            del self._server.answers[path]

    def snapshot(self, name: str, *words: str) -> None:
        given = dict(word.split(":", 1) for word in words if word.startswith(("created:", "at:")))
        created = given.get("created", "2023-11-10T12:00:00.500Z")
        pages = [word for word in words if not word.startswith(("created:", "at:"))]
        urls = [self._server.url(f"/{name}/{number}") for number in range(len(pages))]
        index = json.dumps({"id": name, "createdAt": created, "pages": urls})
        self._server.serve(given.get("at", "/snapshot"), index, content_type="application/json")
        for number, bodies in enumerate(pages):
            page = multipart(*((1, body, None) for body in bodies.split(",")))
            self._server.serve(f"/{name}/{number}", page, content_type=MULTIPART)

    def scrapy(self, *words: str) -> None:
        done = self._project.scrapy(*map(self._url, words))
        assert done.returncode == 0, done.stderr
        self._printed = done.stdout

    def refused(self, *words: str) -> None:
        done = self._project.scrapy(*map(self._url, words))
        assert done.returncode == 2
        self._printed = done.stderr

    def prints(self, *words: str) -> None:
        assert " ".join(map(self._url, words)) in self._printed

    def confirm(self, pages: str = "500") -> None:
        self._always_set["FHCRAWL_CONFIRM_PAGES"] = pages

    def subscribe(self, *paths: str) -> None:
        self.scrapy("subscribe", *paths)

    def crawl(self, *words: str) -> None:
        urls = [self._url(word) for word in words if word.startswith(("/", "http", "file:"))]
        self._feeds = feeds = urls or ([] if "subscribed" in words else self._feeds)
        given = [word for word in words if "=" in word and not word.startswith("opt:") and word not in urls]
        settings = self._always_set | dict(word.split("=", 1) for word in given if word[0].isupper())
        args = [part for word in given if word[0].islower() for part in ("-a", self._argument(word))]
        args += ["-a", "deltafetch_reset=1"] if "reset" in words else []
        options = [word[4:] for word in words if word.startswith("opt:")]
        if options:
            listed = "".join(f'[[feed]]\nurl = "{url}"\n' + "\n".join(options) + "\n" for url in feeds)
            (self._project.folder / "feeds.toml").write_text(listed)
            feeds, args = [], [*args, "-a", "feeds=feeds.toml"]
        output = None if "unexported" in words else "out.jsonl"
        times = [f"{word[3:]}T00:00:00" for word in words if word.startswith("at:")]
        if self._day is not None:
            times = [f"{date(2010, 1, 1) + timedelta(self._day)}T00:00:00"]
            self._day += 1
            settings = {"FHCRAWL_RECHECK": "1,100", **settings}
        self._server.requested()
        self._other.requested()
        with clock_at(times[0]) if times else nullcontext():
            self.run = self._project.crawl(*feeds, settings=settings, output=output, args=tuple(args))
        assert "Traceback" not in self.run.log

    def _argument(self, word: str) -> str:
        name, _, value = word.partition("=")
        return f"{name}={self._url(value)}"

    def requests(self, *paths: str) -> None:
        assert self._server.requested() == list(paths)

    def requests_also(self, *paths: str) -> None:
        assert sorted(self._server.requested()) == sorted(paths)

    def exports(self, *words: str) -> None:
        ids = [word.partition("=")[0] for word in words]
        expected = dict(map(_change, ids)) if ids else {}
        items = {item["id"].removeprefix("urn:snapshot:"): item for item in self.run.items}
        assert len(items) == len(self.run.items)
        assert {entry_id: item["change"] for entry_id, item in items.items()} == expected
        for entry_id, _, text in (word.partition("=") for word in words if "=" in word):
            item = items[_change(entry_id)[0]]
            assert (item["summary"] or item["content"]) == text

    def logs(self, *words: str) -> None:
        assert " ".join(map(self._url, words)) in self.run.log

    def warns(self, number: str) -> None:
        assert len(self.run.warnings()) == int(number)

    def lacks(self, *words: str) -> None:
        assert " ".join(words) not in self.run.log

    def stat(self, name: str, number: str) -> None:
        assert self.run.stats.get(name, 0) == int(number)

    def code(self, number: str) -> None:
        assert self.run.exit_code == int(number)

    def sends(self, word: str) -> None:
        name, _, value = word.partition("=")
        sent = zip(self._server.requests, self._server.headers, strict=True)
        assert {headers.get(name) for path, headers in sent if path != "/robots.txt"} == {value}

    def hides(self, name: str) -> None:
        assert self._other.headers
        assert not any(name in headers for headers in self._other.headers)

    def verdict(self, *words: str) -> None:
        if not words[0].startswith("/"):
            assert self._project.verdict() == (words[0], list(words[1:]))
            return
        [feed] = [feed for feed in self._project.feeds() if feed["feed"] == self._url(words[0])]
        assert [feed["verdict"], *(reason["kind"] for reason in feed["reasons"])] == list(words[1:])

    def gap(self, kind: str, url: str) -> None:
        reasons = [reason for feed in self._project.feeds() for reason in feed["reasons"]]
        assert (kind, self._url(url)) in [(reason["kind"], reason["url"]) for reason in reasons]

    def detail(self, *words: str) -> None:
        details = [reason["detail"] for feed in self._project.feeds() for reason in feed["reasons"]]
        assert any(" ".join(map(self._url, words)) in detail for detail in details), details

    def stored(self, *words: str) -> None:
        expected = {self._url(url): int(number) for url, _, number in (w.rpartition("=") for w in words)}
        assert {feed["feed"]: feed["entries"] for feed in self._project.feeds()} == expected

    def has(self, *ids: str) -> None:
        found = {entry_id.removeprefix("urn:snapshot:") for entry_id in self._project.logical_feed()}
        assert found == set(ids)

    def absent(self, *ids: str) -> None:
        rows = self._project.database.rows("SELECT id FROM absent_entries ORDER BY id")
        [feed] = self._project.feeds()
        assert ([row[0] for row in rows], feed["absent"]) == (list(ids), len(ids))

    def holes(self, number: str) -> None:
        [feed] = self._project.feeds()
        kinds = [reason["kind"] for reason in feed["reasons"]]
        assert kinds.count("holes") == len(feed["holes"]) == int(number)

    def checked(self, day: str) -> None:
        [feed] = self._project.feeds()
        assert (feed["checked"] or "").startswith(day)
        assert feed["verdict"] != "incomplete"

    def as_of(self, day: str) -> None:
        [feed] = self._project.feeds()
        assert str(feed["complete_as_of"]).startswith(day)


def _in_head(word: str) -> str:
    """The element of a document's head that a word means; nothing if it means an entry."""
    name, colon, value = word.partition(":")
    if name in RELATIONS and colon:
        return atom_link("prev-archive" if name == "prev" else name.removesuffix("-page"), value)
    if name == "buried":
        return tombstone(*_timed(value))
    if name == "draft":
        return f"<fh:prev>{value}</fh:prev>"
    if name == "moved":
        return (
            f'<i:new-feed-url xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd">{value}</i:new-feed-url>'
        )
    if name == "total":
        return f'<o:totalResults xmlns:o="http://a9.com/-/spec/opensearch/1.1/">{value}</o:totalResults>'
    return HEADS.get(word, "")


def _timed(word: str) -> tuple[str, str]:
    name, _at, year = word.partition("@")
    return name, f"{year or 2003}-01-01T00:00:00Z"


def _entry(word: str, dates: dict[str, None]) -> E:
    name, _at, _year = word.partition("@")
    entry_id, _equals, text = name.partition("=")
    times = {"updated": _timed(word)[1]} if _at else {"updated": None} if "undated" in dates else {}
    times = {"updated": None} if dates.get("updated", "") is None else times
    return E(None if entry_id == "?" else entry_id, text.replace("~", " ") or "text", **times)


def _change(word: str) -> tuple[str, str]:
    entry_id, _colon, change = word.rpartition(":")
    return (entry_id, change) if change in ("updated", "deleted") else (word, "new")


def scripts(
    table: Mapping[str, str], both_stores: Collection[str] = (), **values: Collection[str]
) -> pytest.MarkDecorator:
    """Parametrize a test with the scripts of a table, by name, each with the values of the word in it.

    :param both_stores: names of those whose result depends on SQL most
    """
    return pytest.mark.parametrize(
        "script",
        [
            pytest.param(
                script.replace(word, value) if word else script,
                id=f"{name} ({value})" if value else name,
                marks=[pytest.mark.both_stores] if name in both_stores else [],
            )
            for name, script in table.items()
            for word in [next((word for word in values if word in script), "")]
            for value in values.get(word, [""])
        ],
    )
