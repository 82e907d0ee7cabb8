"""The spider that downloads the enclosures of a feed into a folder, and the names of their files."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from mimetypes import guess_extension
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from scrapy import Request, Spider

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext, user_urls
from fhcrawl.crawling.failures import document_failure
from fhcrawl.exporters.storages import replacing
from fhcrawl.logical_feed import Role
from fhcrawl.utils.addresses import secured, without_credentials
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from pathlib import Path

    from scrapy.http import Response
    from twisted.python.failure import Failure

DAY = len("2003-12-13")
UNSAFE = frozenset('<>:"/\\|?*')  # not allowed in names on Windows
LONGEST_TITLE = 150  # octets; most file systems allow names of 255
ENDING = re.compile(r"\.\w{1,5}", re.ASCII)
# Suffixes of programs that send files, not of the files.
PROGRAMS = frozenset({".php", ".asp", ".aspx", ".cgi", ".jsp"})


class EnclosureFile(NamedTuple):
    """An enclosure, its document's URL, and the name of its file: `2003-12-13 Title.mp3`."""

    name: str
    url: str
    document: str


def files_of(entries: Iterable[Mapping[str, Any]]) -> list[EnclosureFile]:
    """Return the enclosures of entries; equal names get a digest of the entry's id.

    Other names do not depend on other entries, so that they stay the same when entries are added.
    """
    enclosures = [(e, n, enclosure) for e in entries for n, enclosure in enumerate(e["enclosures"])]
    names = [_stem_and_suffix(entry, enclosure) for entry, _, enclosure in enclosures]
    # Some file systems do not distinguish upper and lower case.
    counts = Counter("".join(name).casefold() for name in names)
    files = []
    for (stem, suffix), (entry, number, enclosure) in zip(names, enclosures, strict=True):
        if counts[f"{stem}{suffix}".casefold()] > 1:
            digest = hashlib.sha256(f"{number} {entry['id']}".encode("utf-8", "surrogatepass")).hexdigest()
            stem = f"{stem} {digest[:12]}"  # noqa: PLW2901
        files.append(EnclosureFile(f"{stem}{suffix}", enclosure["url"], entry["document"]))
    return files


def _stem_and_suffix(entry: Mapping[str, Any], enclosure: Mapping[str, Any]) -> tuple[str, str]:
    url = enclosure["url"] if requests.is_fetchable(enclosure["url"]) else ""
    path = PurePosixPath(unquote(urlsplit(url).path))
    is_of_file = ENDING.fullmatch(path.suffix) and path.suffix.lower() not in PROGRAMS
    media_type = (enclosure["type"] or "").partition(";")[0].strip()
    suffix = path.suffix.lower() if is_of_file else guess_extension(media_type) or ""
    title = _safe_name(entry["title"] or "") or _safe_name(path.stem) or "untitled"
    day = _safe_name((entry["published"] or entry["updated"] or "undated")[:DAY])
    return f"{day} {title}", suffix


def _safe_name(text: str) -> str:
    text = unicodedata.normalize("NFC", text)
    allowed = "".join(c if c.isprintable() and c not in UNSAFE else " " for c in text)
    shortened = " ".join(allowed.split()).encode()[:LONGEST_TITLE].decode("utf-8", "ignore")
    return shortened.strip(" .")


class EnclosuresSpider(Spider):
    """Downloads files as politely as a crawl requests documents; a file appears once it is complete.

    It has no name, so that `scrapy list` omits it: the command `download` runs it.
    """

    # Each response is in memory. DOWNLOAD_TIMEOUT covers the whole download.
    custom_settings = {  # noqa: RUF012 - as Scrapy declares it
        "CONCURRENT_REQUESTS": 4,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_FAIL_ON_DATALOSS": True,
        "DOWNLOAD_MAXSIZE": 1024**3,
        "DOWNLOAD_TIMEOUT": 60 * 60,
        "DOWNLOAD_WARNSIZE": 0,
        "FHCRAWL_MAX_BYTES": 0,
        "FHCRAWL_MAX_SECONDS": 0,
    }

    def __init__(
        self,
        feed: str,
        files: list[EnclosureFile],
        folder: Path,
        done: Callable[[str], None],
        failed: Callable[[str], None],
    ) -> None:
        super().__init__("download")
        self.feeds = [feed]
        self._done, self._failed = done, failed
        self._walk = WalkContext(feed, run=0)
        self._files = files
        self._folder = folder

    async def start(self) -> AsyncIterator[Request]:
        for file in self._files:
            url = secured(file.url, user_urls(self._walk), [self._walk.feed])
            yield requests.unstored(
                url,
                self._walk,
                Role.SUBSCRIPTION,
                via=file.document,
                callback=self.parse,
                errback=self.lose,
                meta={"file": file},
            )

    def parse(self, response: Response, **cb_kwargs: Any) -> None:
        file = response.meta["file"]
        if not response.body or "dataloss" in response.flags:
            self._fail(file, "comes incomplete" if response.body else "is empty")
            return
        try:
            with replacing(self._folder / file.name) as output:
                output.write(response.body)
        except OSError as error:
            self._fail(file, f"cannot be written to {file.name} ({error.strerror})")
            return
        self._done(printable(file.name))

    def lose(self, failure: Failure) -> None:
        self._fail(failure.request.meta["file"], document_failure(failure).detail)  # type: ignore[attr-defined]

    def _fail(self, file: EnclosureFile, detail: str) -> None:
        self._failed(f"{printable(without_credentials(file.url))} {detail}")
