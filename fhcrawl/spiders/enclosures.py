"""The spider that downloads the enclosures of feeds into a folder, and the names of their files."""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import unicodedata
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from scrapy import Request, Spider, signals
from scrapy.utils.asyncio import run_in_thread

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext, header, user_urls
from fhcrawl.crawling.failures import document_failure
from fhcrawl.crawling.partfiles import OK, PART, PART_FILE, PartFile
from fhcrawl.documents.dates import utc
from fhcrawl.documents.detection import declared
from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import file_of
from fhcrawl.store import Download
from fhcrawl.utils.addresses import secured, without_credentials
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from fhcrawl.store import Store

DAY = len("2003-12-13")
UNSAFE = frozenset('<>:"/\\|?*')  # not allowed in names on Windows
LONGEST_TITLE = 150  # octets; most file systems allow names of 255
# Endings of names, the usual one first, and the media types of such files. (The module mimetypes reads tables
# of the machine.)
TYPES = """
.mp3 audio/mpeg audio/mp3 audio/mpeg3 audio/mpg audio/x-mp3 audio/x-mpeg audio/x-mpeg-3 audio/x-mpeg3
.m4a .m4b audio/mp4 audio/m4a audio/x-m4a audio/mp4a-latm
.m4b audio/m4b audio/x-m4b
.aac audio/aac audio/aacp audio/x-aac
.ogg .oga .opus audio/ogg audio/x-ogg audio/vorbis application/ogg
.opus audio/opus
.flac audio/flac audio/x-flac
.wav audio/wav audio/x-wav audio/wave audio/vnd.wave
.aif .aiff audio/aiff audio/x-aiff
.wma audio/x-ms-wma
.mka audio/x-matroska audio/matroska
.weba audio/webm
.amr audio/amr
.mid .midi audio/midi audio/x-midi
.mp4 .m4v video/mp4 application/mp4
.m4v video/m4v video/x-m4v
.mov .qt video/quicktime
.mpg .mpeg video/mpeg
.webm video/webm
.mkv video/x-matroska video/matroska
.ogv video/ogg
.avi video/x-msvideo video/avi video/msvideo
.wmv video/x-ms-wmv
.flv video/x-flv
.3gp video/3gpp
.ts video/mp2t
.jpg .jpeg image/jpeg image/jpg image/pjpeg
.png image/png image/x-png
.gif image/gif
.webp image/webp
.avif image/avif
.heic image/heic
.svg image/svg+xml
.tif .tiff image/tiff
.bmp image/bmp image/x-ms-bmp
.ico image/x-icon image/vnd.microsoft.icon
.pdf application/pdf application/x-pdf
.epub application/epub+zip application/epub application/x-epub+zip
.mobi application/x-mobipocket-ebook
.azw3 .azw application/vnd.amazon.ebook application/vnd.amazon.mobi8-ebook
.fb2 application/x-fictionbook+xml application/fb2+xml text/fb2+xml
.djvu image/vnd.djvu image/x-djvu
.cbz application/vnd.comicbook+zip application/x-cbz
.cbr application/vnd.comicbook-rar application/x-cbr
.zip .epub .cbz application/zip application/x-zip-compressed application/x-zip
.gz .tgz application/gzip application/x-gzip
.tar application/x-tar
.bz2 application/x-bzip2
.xz application/x-xz
.7z application/x-7z-compressed
.rar .cbr application/vnd.rar application/x-rar-compressed application/x-rar
"""
ENDINGS: dict[str, list[str]] = {}
for line in TYPES.split("\n"):
    of_line = [word for word in line.split() if word.startswith(".")]
    ENDINGS |= dict.fromkeys(line.split()[len(of_line) :], of_line)
KNOWN = frozenset(ending for endings in ENDINGS.values() for ending in endings)
ANY_AUDIO = "audio/mpeg"  # some servers send it for any audio
UNKNOWN = ("", "application/octet-stream", "binary/octet-stream")
TEXTS = frozenset({"text/html", "text/plain", "text/json", "application/json", "application/xhtml+xml"})
PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
BEGINNING, BUFFER = 512, 1 << 20  # octets
UNSATISFIABLE = 416


class EnclosureFile(NamedTuple):
    """An enclosure of an entry.

    :param time: when the entry was published or updated: ISO 8601 in UTC; '' if unknown
    :param stem: the name of the file without its ending: `2003-12-13 Title`
    :param media_type, length: as the feed has them
    :param document: URL of the entry's document
    :param record: the last download of it, or attempt
    """

    feed: str
    time: str
    stem: str
    url: str
    media_type: str
    length: int | None
    document: str
    record: Download

    def is_in(self, folder: Path) -> bool:
        return self.record.digest is not None and (folder / (self.record.name or "")).is_file()

    @property
    def _url_ending(self) -> str:
        url = self.url if requests.is_fetchable(self.url) else ""
        ending = PurePosixPath(unquote(urlsplit(url).path)).suffix.lower()
        return ending if ending in KNOWN else ""

    def ending(self, sent_type: str) -> str:
        """Return the ending of the file's name by the response's media type, the feed's, or the URL."""
        sent, listed, of_url = ENDINGS.get(sent_type), ENDINGS.get(self.media_type), self._url_ending
        is_any = sent_type == ANY_AUDIO and self.media_type.startswith("audio/")
        if sent and listed and (is_any or listed[0] in sent):
            sent = listed
        endings = sent or listed or [of_url]
        return of_url if of_url in endings else endings[0]

    def is_text_instead(self, sent_type: str, beginning: bytes) -> bool:
        """Return whether a web page, JSON or text was sent instead of a file of another kind."""
        is_text = sent_type in TEXTS or sent_type.endswith("+json") or PAGE.match(beginning) is not None
        if self.media_type in UNKNOWN:
            return is_text and self._url_ending != ""
        is_media = self.media_type.startswith(("audio/", "video/", "image/"))
        return is_text and (is_media or self.media_type in ENDINGS)


def files_of(feed: str, entries: Iterable[Mapping[str, Any]], records: list[Download]) -> list[EnclosureFile]:
    """Return the enclosures of a feed's entries, newest first.

    :param entries: those without times oldest first
    :param records: the feed's downloads
    """
    by_entry: dict[str, list[Download]] = {}
    for record in records:
        by_entry.setdefault(record.id, []).append(record)
    files = []
    for entry in entries:
        day = entry["published"] or entry["updated"] or ""
        urls = [enclosure["url"] for enclosure in entry["enclosures"]]
        known = _match(urls, by_entry.get(entry["id"], []))
        for number, enclosure in enumerate(entry["enclosures"]):
            url, media_type = enclosure["url"], declared(enclosure["type"])[0]
            path = PurePosixPath(unquote(urlsplit(url if requests.is_fetchable(url) else "").path))
            title = _safe_name(entry["title"] or "") or _safe_name(path.stem) or "untitled"
            stem = f"{_safe_name(day[:DAY]) or 'undated'} {title}"
            key = hashlib.sha256(f"{url} {entry['id']}".encode("utf-8", "surrogatepass")).hexdigest()
            record = known[number]._replace(url=url) if number in known else Download(key, entry["id"], url)
            length, document = enclosure["length"], entry["document"]
            files.append(EnclosureFile(feed, utc(day) or "", stem, url, media_type, length, document, record))
    files.reverse()
    files.sort(key=lambda file: file.time, reverse=True)
    return files


# Servers change URLs (`file_of`), and an entry may have several files at such URLs.
def _match(urls: list[str], records: list[Download]) -> dict[int, Download]:
    found: dict[int, Download] = {}
    for part_of in (str, file_of):
        for number, url in enumerate(urls):
            same = [one for one in records if part_of(one.url) == part_of(url) and one not in found.values()]
            if same and number not in found:
                found[number] = same[0]
    return found


def _safe_name(text: str) -> str:
    text = unicodedata.normalize("NFC", text)
    allowed = "".join(c if c.isprintable() and c not in UNSAFE else " " for c in text)
    shortened = " ".join(allowed.split()).encode()[:LONGEST_TITLE].decode("utf-8", "ignore")
    return shortened.strip(" .")


class EnclosuresSpider(Spider):
    """Downloads files as politely as a crawl requests documents; a file gets its name once it is complete.

    It has no name, so that `scrapy list` omits it: the command `download` runs it.

    :param done: called with the name of each complete file
    :param report: called with a sentence on each file that is not complete, or not as announced
    :param progress: called with a line on a file that is being downloaded, for each piece of it
    """

    # DOWNLOAD_TIMEOUT covers the whole download.
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
        files: list[EnclosureFile],
        folder: Path,
        store: Store,
        done: Callable[[str], None],
        report: Callable[[str], None],
        progress: Callable[[str], None],
    ) -> None:
        super().__init__("download")
        self.feeds = list({file.feed for file in files})
        self._done, self._report, self._progress = done, report, progress
        self._files, self._folder, self._store = files, folder, store
        # Of files that were downloaded, in lower case: not all file systems distinguish it.
        records = (record for feed in self.feeds for record in store.downloads.read(feed))
        self._names = {record.name.casefold(): record.key for record in records if record.name}

    async def start(self) -> AsyncIterator[Request]:
        self.crawler.signals.connect(self._count, signal=signals.bytes_received)
        for number, file in enumerate(self._files):
            walk = WalkContext(file.feed, run=0)
            request = requests.unstored(
                secured(file.url, user_urls(walk), [walk.feed]),
                walk,
                Role.SUBSCRIPTION,
                via=file.document,
                callback=self.parse,
                errback=self.lose,
                priority=-number,  # the scheduler's queue is last in, first out
            )
            part = PartFile(self._folder, file.record, partial(self._store.downloads.write, file.feed))
            request.meta.update(file=file, handle_httpstatus_list=[UNSATISFIABLE])
            request.meta[PART_FILE] = part
            # A compressed body cannot be resumed.
            request.headers["Accept-Encoding"] = "identity"
            yield request

    async def parse(self, response: Response, **cb_kwargs: Any) -> AsyncIterator[Request]:
        file, part = response.meta["file"], response.meta[PART_FILE]
        if response.status == UNSATISFIABLE and response.request and "Range" in response.request.headers:
            part.discard()
            yield response.request.copy()
            return
        try:
            await self._save(file, part, response)
        except (OSError, StoreError) as error:
            self._tell(file, f"cannot be saved ({getattr(error, 'strerror', None) or error})")
        finally:
            part.close()

    def _count(self, request: Request) -> None:
        if (part := request.meta.get(PART_FILE)) is not None and part.is_begun:
            of_size = f" of {part.record.size:,}" if part.record.size else ""
            self._progress(f"{part.size:,}{of_size} bytes of {printable(request.meta['file'].stem)}")

    async def _save(self, file: EnclosureFile, part: PartFile, response: Response) -> None:
        sent_type = declared(header(response, "Content-Type"))[0]
        if fault := self._fault(file, part, response, sent_type):
            self._tell(file, fault)
            return
        size = part.size
        digest = await run_in_thread(_digest, part.path)
        name = self._free_name(file, sent_type, part.path)
        record = part.record._replace(name=name, size=size, digest=digest, time=now())
        self._store.downloads.write(file.feed, record)
        part.path.replace(self._folder / name)
        self._done(printable(name))
        if file.length and abs(size - file.length) > file.length / 2:
            self._tell(file, f"has {size:,} bytes, but {file.length:,} by the feed; it is kept")

    def _fault(self, file: EnclosureFile, part: PartFile, response: Response, sent_type: str) -> str | None:
        if response.body:  # it was compressed: its length is another one
            plain = response.copy()
            plain.headers["Content-Length"] = str(len(response.body))
            if part.begin(plain):
                part.write(response.body)
        if part.error is not None:
            raise part.error
        size = part.size if part.is_begun else 0
        if response.status not in (OK, PART) or (response.body and not size):
            return f"cannot be fetched: HTTP status {response.status}"
        if not size:
            return "is empty"
        if "dataloss" in response.flags or (part.record.size or size) != size:
            return "comes incomplete"
        with part.path.open("rb") as content:
            beginning = content.read(BEGINNING)
        if not file.is_text_instead(sent_type, beginning):
            return None
        part.discard()
        return f"is not fetched: the server sent {sent_type or 'a web page'} instead of the file"

    # Files that were there before are not replaced, unless they are the same.
    def _free_name(self, file: EnclosureFile, sent_type: str, path: Path) -> str:
        numbers = (f" ({number})" if number > 1 else "" for number in count(1))
        new = (f"{file.stem}{number}{file.ending(sent_type)}" for number in numbers)
        key = file.record.key
        for name in chain(filter(None, [file.record.name]), new):
            other = self._folder / name
            is_own = self._names.get(name.casefold(), key) == key
            if is_own and (not os.path.lexists(other) or filecmp.cmp(path, other, shallow=False)):
                self._names[name.casefold()] = key
                return name
        raise AssertionError("there are always more numbers")

    def lose(self, failure: Failure) -> None:
        meta = failure.request.meta  # type: ignore[attr-defined]
        meta[PART_FILE].close()
        error = meta[PART_FILE].error
        detail = f"cannot be saved ({error.strerror})" if error else document_failure(failure).detail
        self._tell(meta["file"], detail)

    def _tell(self, file: EnclosureFile, detail: str) -> None:
        self._report(f"{printable(without_credentials(file.url))} {detail}")


# Also writes the file to the disk.
def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        os.fsync(file.fileno())
        while octets := file.read(BUFFER):
            digest.update(octets)
    return digest.hexdigest()
