"""Web archives of the tests' own, on loopback: pywb, and what answers as the Wayback Machine should.

pywb comes from PyPI, in an environment of its own, since it needs an old redis: `.ci/servers` installs it
into the folder that the variable PYWB names, or into `~/.cache/fhcrawl-pywb`.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b32encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.feeds import E, atom
from tests.ports import answers, free_port, started
from tests.projects import Project, Run
from tests.server import Answer, FeedServer
from tests.servers import leave_out

FOLDER = Path(os.environ.get("PYWB") or Path.home() / ".cache" / "fhcrawl-pywb")
CAPTURE = re.compile(r"/web/([0-9]+)id_/(.*)")
NAMES = ["timestamp", "original", "mimetype", "statuscode", "digest"]


@dataclass(frozen=True)
class Captured:
    """A capture: time as 14 digits, URL, and the response."""

    stamp: str
    url: str
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return b32encode(hashlib.sha1(self.body).digest()).decode()  # noqa: S324 - as CDX files have it

    @property
    def key(self) -> str:
        return re.sub(r"^https?://", "", self.url)


def http_date(stamp: str) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.strptime(stamp, "%Y%m%d%H%M%S"))


class Wayback(dict[str, Answer]):
    """The answers of a server as the Wayback Machine's: its CDX server, and captures.

    `most` is the number of captures in one answer, whatever is requested. With `redirects` off, the nearest
    capture comes without a redirect, as from pywb. `timemaps` is the number of captures in one TimeMap, which
    are served in place of CDX if it is not 0. `index` is served in place of any index, if it is not None, and
    `cuts` indexes come without their second half; `cut_captures` have the times of captures that do.
    """

    def __init__(self) -> None:
        super().__init__()
        self.captures: list[Captured] = []
        self.most = 150_000
        self.redirects = True
        self.timemaps = 0
        self.index: bytes | None = None
        self.cuts = 0
        self.cut_captures: set[str] = set()

    def add(self, stamp: str, url: str, body: str | bytes, **more: Any) -> None:
        content = body.encode() if isinstance(body, str) else body
        self.captures.append(Captured(stamp, url, content, **more))
        self.captures.sort(key=lambda one: one.stamp)

    def get(self, path: str, default: Any = None) -> Any:
        if path in self:
            return self[path]
        if self.timemaps and path.startswith("/web/timemap/link/"):
            page, _, url = path.removeprefix("/web/timemap/link/").partition("/")
            is_first = not page.isdecimal()
            return self._timemap(0 if is_first else int(page), f"{page}/{url}" if is_first else url)
        if not self.timemaps and path.startswith("/cdx/search/cdx?"):
            return self._index({name: values[0] for name, values in parse_qs(urlsplit(path).query).items()})
        match = CAPTURE.fullmatch(path)
        return self._capture(match[1], match[2]) if match else default

    def _of(self, url: str) -> list[Captured]:
        key = re.sub(r"^https?://", "", url)
        return [one for one in self.captures if one.key == key]

    def _index(self, requested: dict[str, str]) -> Answer:
        if self.index is not None:
            return Answer(self.index, content_type="application/json")
        found = [one for one in self._of(requested["url"]) if one.stamp >= requested.get("from", "")]
        some = found[: min(int(requested["limit"]), self.most)]
        rows: list[list[str]] = [NAMES] if some else []
        rows += [[one.stamp, one.url, "application/atom+xml", str(one.status), one.digest] for one in some]
        if len(some) < len(found) and requested.get("showResumeKey") == "true":
            rows += [[], ["a+key"]]
        body = ("[" + ",\n ".join(map(json.dumps, rows)) + "]\n").encode()
        self.cuts -= 1
        cut = len(body) // 2 if self.cuts >= 0 else None
        return Answer(body, content_type="application/json", cut=cut)

    # RFC 7089, 5.1.1, with relative references.
    def _timemap(self, page: int, url: str) -> Answer | None:
        found = self._of(url)
        some = found[page * self.timemaps : (page + 1) * self.timemaps]
        if not some:
            return None
        links = [f'<{url}>;rel="original"', f'</web/timemap/link/{page}/{url}>;rel="self"']
        if len(found) > (page + 1) * self.timemaps:
            links.append(f'</web/timemap/link/{page + 1}/{url}>;rel="timemap";type="application/link-format"')
        links += [
            f'</web/{one.stamp}/{one.url}>; rel="memento"; datetime="{http_date(one.stamp)}"' for one in some
        ]
        return Answer(",\n".join(links).encode(), content_type="application/link-format")

    def _capture(self, stamp: str, url: str) -> Answer | None:
        found = self._of(url)
        if not found:
            return None
        nearest = min(found, key=lambda one: abs(int(one.stamp) - int(stamp)))
        if nearest.stamp != stamp and self.redirects:
            return Answer(b"", 302, headers={"Location": f"/web/{nearest.stamp}id_/{nearest.url}"})
        links = f'<{nearest.url}>; rel="original", </web/20300101000000/{url}>; rel="next memento"'
        headers = {"Memento-Datetime": http_date(nearest.stamp), "Link": links, **nearest.headers}
        cut = len(nearest.body) // 2 if nearest.stamp in self.cut_captures else None
        return Answer(nearest.body, nearest.status, headers=headers, cut=cut)


def captures_of(paths: Iterable[str]) -> list[str]:
    return [match[1] for path in paths if (match := re.search(r"/([0-9]{14})id_/", path))]


class Forwarded(dict[str, Answer]):
    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    def get(self, path: str, default: Any = None) -> Any:
        if path in self:
            return self[path]
        opener = urllib.request.build_opener(Unredirected)
        try:
            response = opener.open(f"http://127.0.0.1:{self._port}{path}", timeout=60)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            body, given = response.read(), response.headers
        content_type = given.pop("Content-Type", "") if hasattr(given, "pop") else given["Content-Type"] or ""
        names = ("Memento-Datetime", "Link", "Location", "Content-Encoding")
        headers = {name: ", ".join(given.get_all(name)) for name in names if name in given}
        return Answer(body, response.status, content_type, headers)


class Unredirected(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@contextlib.contextmanager
def pywb(folder: Path, files: Iterable[Path]) -> Iterator[FeedServer]:
    """Serve the captures in WARC files as the collection `coll`, through a FeedServer."""
    program = FOLDER / "bin" / "wayback"
    if not program.exists():
        leave_out(
            f"pywb is not in {FOLDER}: python3 -m venv {FOLDER} && {FOLDER}/bin/pip install pywb==2.10.0"
        )
    manager = FOLDER / "bin" / "wb-manager"
    folder.mkdir(exist_ok=True)
    for words in (("init", "coll"), ("add", "coll", *map(str, files))):
        subprocess.run([manager, *words], cwd=folder, capture_output=True, check=True)
    port = free_port()
    command = [str(program), "-b", "127.0.0.1", "-p", str(port)]
    with started(command, folder / "log", partial(answers, port)), FeedServer() as server:
        server.answers = Forwarded(port)
        yield server


def archive_of(server: FeedServer) -> Wayback:
    assert isinstance(server.answers, Wayback)
    return server.answers


def crawl(
    project: Project,
    archive: FeedServer,
    *feeds: str,
    path: str = "/web",
    output: str | None = "out.jsonl",
    **settings: object,
) -> Run:
    given = {"FHCRAWL_WEB_ARCHIVE": archive.url(path), **settings}
    run = project.crawl(*feeds, settings=given, output=output)
    assert run.exit_code == 0, run.log
    assert "Traceback" not in run.log
    return run


def serve(server: FeedServer, wayback: FeedServer, number: int) -> str:
    """Serve a feed that shows one entry, of which there is a capture for each of the days before."""
    feed, archive = server.url("/feed"), archive_of(wayback)
    server.serve("/feed", atom([E("now")]))
    for day in range(1, number + 1):
        archive.add(f"200901{day:02}000000", feed, atom([E(str(day))]))
    return feed
