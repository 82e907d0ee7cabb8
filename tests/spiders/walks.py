"""Crawls, written down as lines: what is served, crawled, asked for, exported and said."""

from contextlib import nullcontext

from tests.faketime import clock_at
from tests.feeds import E, atom, rss, tombstone
from tests.projects import Project, Run
from tests.server import FeedServer

RELATIONS = ("prev", "prev-archive", "next", "next-archive", "current", "self", "first", "last", "previous")
HEADS = {
    "archive": "<fh:archive/>",
    "complete": "<fh:complete/>",
    "wordpress": "<generator>https://wordpress.org/?v=6.1.9</generator>",
}
HTML = "<!DOCTYPE html><html><head><title>x</title></head><body>Hello<br></body></html>"
PAGE = '<html><head><link rel="alternate" type="application/atom+xml" href="%s"></head></html>'


class Walk:
    """Plays a script, whose steps end with their line or a semicolon.

    `/a1 1 2=text@2004 prev:/a0 archive` serves a document: entries (`?` has no id), links (`prev` means
    prev-archive), elements of its head, `buried:1@2004` for a tombstone, `updated:2004`, `rss`, `undated`,
    `no-etag`. `/a1 301 /b1`, `/a1 503 Retry-After=1`, `/ html`, `/ page /feed`: redirects, errors, pages that
    name a feed. `on /a2 STEP` is done when /a2 is asked for, once.
    `crawl /index SETTING=1 unexported reset at:2004-01-31` is a run. About it: `asked PATHS`, in their order;
    `exports 1 2:deleted 3=text`; `logs WORDS`; `stat NAME NUMBER`.
    About the store: `has IDS`; `verdict lossy paged`.
    """

    run: Run

    def __init__(self, server: FeedServer, project: Project) -> None:
        self._server = server
        self._project = project
        self._at: dict[str, list[str]] = {}
        server.on_request = self._answer

    def play(self, script: str) -> None:
        for line in filter(None, map(str.strip, script.replace(";", "\n").splitlines())):
            word, *words = line.split()
            if word.startswith("/"):
                self._serve(word, words)
            else:
                getattr(self, word)(*words)

    def _serve(self, path: str, words: list[str]) -> None:
        if words[0].isdecimal() and len(words[0]) == 3:
            headers = {"Location" if "/" in word[:1] else "Retry-After": word for word in words[1:]}
            headers = {name: value.removeprefix("Retry-After=") for name, value in headers.items()}
            self._server.serve(path, "", status=int(words[0]), headers=headers)
        elif words[0] in ("html", "page"):
            body = HTML if words[0] == "html" else PAGE % words[1]
            self._server.serve(path, body, content_type="text/html")
        else:
            self._server.serve(path, self._document(words), etag="no-etag" not in words)

    def _document(self, words: list[str]) -> str:
        entries, links, head, dates = [], {}, "", {"updated": None} if "undated" in words else {}
        for word in words:
            name, _colon, value = word.partition(":")
            if name in RELATIONS and value:
                links["prev-archive" if name == "prev" else name] = value
            elif name == "buried":
                head += tombstone(*_timed(value))
            elif name == "updated":
                dates["updated"] = f"{value}-01-01T00:00:00Z"  # type: ignore[assignment]
            elif word in HEADS:
                head += HEADS[word]
            elif word not in ("rss", "undated", "no-etag", "empty"):
                entries.append(_entry(word, dates))
        return (rss if "rss" in words else atom)(entries, links=links, head=head, **dates)

    def _answer(self, path: str) -> None:
        for line in self._at.pop(path, []):
            self.play(line)

    def on(self, path: str, *words: str) -> None:
        self._at.setdefault(path, []).append(" ".join(words))

    def gone(self, *paths: str) -> None:
        for path in paths:
            del self._server.answers[path]

    def subscribe(self, path: str) -> None:
        assert self._project.scrapy("subscribe", self._server.url(path)).returncode == 0

    def crawl(self, *words: str) -> None:
        feeds = [self._server.url(word) for word in words if word.startswith("/")]
        settings = dict(word.split("=") for word in words if "=" in word)
        args = ("-a", "deltafetch_reset=1") if "reset" in words else ()
        output = None if "unexported" in words else "out.jsonl"
        times = [f"{word[3:]}T00:00:00" for word in words if word.startswith("at:")]
        self._server.asked()
        with clock_at(times[0]) if times else nullcontext():
            self.run = self._project.crawl(*feeds, settings=settings, output=output, args=args)
        assert "Traceback" not in self.run.log

    def asked(self, *paths: str) -> None:
        assert self._server.asked() == list(paths)

    def exports(self, *words: str) -> None:
        expected = {word.partition("=")[0] for word in words}
        changes = (
            dict.fromkeys(expected, "new") if ":" not in "".join(words) else dict(map(_change, expected))
        )
        assert self.run.changes == changes
        for entry_id, _, text in (word.partition("=") for word in words if "=" in word):
            assert self.run.texts[entry_id.partition(":")[0]] == text

    def logs(self, *words: str) -> None:
        assert " ".join(words) in self.run.log

    def stat(self, name: str, number: str) -> None:
        assert self.run.stats.get(name, 0) == int(number)

    def verdict(self, *words: str) -> None:
        assert self._project.verdict() == (words[0], list(words[1:]))

    def has(self, *ids: str) -> None:
        assert set(self._project.logical_feed()) == set(ids)


def _timed(word: str) -> tuple[str, str]:
    name, _at, year = word.partition("@")
    return name, f"{year or 2003}-01-01T00:00:00Z"


def _entry(word: str, dates: dict[str, None]) -> E:
    name, _at, _year = word.partition("@")
    entry_id, _equals, text = name.partition("=")
    times = {"updated": _timed(word)[1]} if _at else {"updated": None} if "undated" in dates else {}
    times = {"updated": None} if dates.get("updated", "") is None else times
    return E(None if entry_id == "?" else entry_id, text or "text", **times)


def _change(word: str) -> tuple[str, str]:
    entry_id, _colon, change = word.partition(":")
    return entry_id, change or "new"
