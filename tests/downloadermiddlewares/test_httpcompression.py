"""Compressed bodies: one with a missing or wrong end is not complete."""

import gzip
import random
import sys
import zlib
from collections.abc import Callable
from itertools import count

import brotli
import pytest
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest, ResponseDataLossError
from scrapy.http import Response
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from fhcrawl.crawling.failures import ResponseTooLarge, document_failure
from fhcrawl.downloadermiddlewares.responses import (
    MOST_STREAMS,
    HttpCompressionMiddleware,
    is_complete,
)
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import Answer, FeedServer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def raw_deflate(body: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeeze.compress(body) + squeeze.flush()


COMPRESS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("Deflate", raw_deflate),
    "brotli": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "twice": ("zstd, x-gzip", lambda body: gzip.compress(zstd.compress(body))),
}
# Of more than one piece, before it is compressed and after.
NOISE = random.Random(0).randbytes(200_000)  # noqa: S311 - it is no secret
MOST = 2 * 10**6
BODIES = {"small": b"<feed/>", "large": NOISE, "far smaller": b" " * 10**6, "little": b"<f/>"}


STREAMS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}
ZIPPED_NOISE = gzip.compress(NOISE)


def complete(encoding: str, body: bytes) -> bool:
    return is_complete(body, [name.strip() for name in encoding.lower().encode().split(b",")], MOST)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("compression", COMPRESS)
def test_body_with_its_end_is_complete_and_one_without_is_not(compression: str, body: bytes) -> None:
    encoding, compress = COMPRESS[compression]
    compressed = compress(body)
    assert complete(encoding, compressed)
    for cut in {1, len(compressed) // 2, len(compressed) - 4, len(compressed) - 1}:
        assert cut <= 0 or not complete(encoding, compressed[:cut]), cut


@pytest.mark.parametrize(
    ("encoding", "body", "is_complete"),
    [
        *((name, compress(NOISE) + compress(b"more"), True) for name, compress in STREAMS.items()),
        *((name, compress(NOISE) + compress(b"more")[:-1], False) for name, compress in STREAMS.items()),
        # Other data after the end is ignored.
        *(("gzip", ZIPPED_NOISE + more, True) for more in (b"<html>", ZIPPED_NOISE[:2])),
        ("zstd", zstd.compress(NOISE) + b"<html>", False),
        ("deflate", zlib.compress(NOISE) + b"<html>", True),
        *(("gzip", ZIPPED_NOISE + padding, True) for padding in (b"\0" * 512, b"\n", b" \r\n\r\n")),
        *(("deflate", zlib.compress(NOISE) + padding, True) for padding in (b"\0" * 512, b"\n", b" \r\n")),
        ("gzip", (ZIPPED_NOISE + b"\0" * 512) * 2, True),
        # A wrong checksum, and a wrong length.
        ("gzip", ZIPPED_NOISE[:-8] + bytes([ZIPPED_NOISE[-8] ^ 1]) + ZIPPED_NOISE[-7:], False),
        ("gzip", ZIPPED_NOISE[:-1] + b"\1", False),
        ("gzip", b"", True),
        # What is not decompressed is not judged.
        *((name, b"<feed/>", True) for name in ("", "odd", "gzip, odd", "identity")),
    ],
    ids=count(),
)
def test_compressed_body_is_complete(encoding: str, body: bytes, is_complete: bool) -> None:
    assert complete(encoding, body) is is_complete


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_body_of_too_many_streams_is_not_decompressed(encoding: str) -> None:
    _encoding, compress = COMPRESS[encoding]
    nothing = compress(b"")
    assert complete(encoding, nothing * MOST_STREAMS)
    with pytest.raises(ResponseTooLarge) as raised:
        complete(encoding, nothing * (MOST_STREAMS + 1))
    detail = "consists of more than 10000 compressed streams"
    failure = Failure(raised.value)  # type: ignore[no-untyped-call]
    assert document_failure(failure) == DocumentFailure(State.REFUSED, ReasonKind.TOO_LARGE, detail)


@pytest.mark.parametrize("compression", ["gzip", "deflate", "raw deflate", "zstd"])
def test_body_that_is_too_large_is_not_decompressed_to_its_end(compression: str) -> None:
    encoding, compress = COMPRESS[compression]
    cut_off = compress(NOISE * (2 * MOST // len(NOISE)))[:-1]
    assert not is_complete(cut_off, [encoding.lower().encode()], 0)
    # Whoever decompresses it says that it is too large.
    assert complete(encoding, cut_off)


def body_of(body: bytes, headers: dict[str, str], most: int = MOST) -> Response:
    """The response that fhcrawl makes of a server's."""
    crawler = get_crawler(settings_dict={"DOWNLOAD_MAXSIZE": most})
    crawler.spider = Spider.from_crawler(crawler, "one")
    made = HttpCompressionMiddleware.from_crawler(crawler)
    request = Request("https://example.org/feed.rss.gz", meta={"max_retry_times": 0})
    done = made.process_response(request, Response(request.url, body=body, headers=headers))
    assert isinstance(done, Response)
    return done


FEED = atom([E("1"), E("2")]).encode()
ZIPPED = gzip.compress(FEED)


@pytest.mark.parametrize("media_type", ["application/gzip", "application/x-gzip", "text/xml", ""])
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        *(("", ZIPPED), ("gzip", ZIPPED), ("gzip", gzip.compress(ZIPPED)), ("", gzip.compress(ZIPPED))),
        *(("br", brotli.compress(ZIPPED)), ("UTF-8", FEED), ("UTF-8", ZIPPED), ("identity", ZIPPED)),
        *(("gzip", FEED), ("x-gzip", FEED), ("gzip, gzip", ZIPPED), ("UTF-8, gzip", ZIPPED)),
    ],
)
def test_gzip_is_told_by_its_first_bytes(media_type: str, encoding: str, body: bytes) -> None:
    done = body_of(body, {"Content-Type": media_type, **({"Content-Encoding": encoding} if encoding else {})})
    assert (done.body, done.flags) == (FEED, [])


def test_gzip_without_a_header_is_incomplete_or_too_large_like_another() -> None:
    for encoding in ({}, {"Content-Encoding": "gzip"}):
        for body in (ZIPPED[:-12], gzip.compress(ZIPPED)[:-12], gzip.compress(ZIPPED[:-12])):
            with pytest.raises(ResponseDataLossError):
                body_of(body, encoding)
    inner = gzip.compress(b" " * (MOST + 1))
    for bomb, encoding in ((inner, {}), (gzip.compress(inner), {"Content-Encoding": "gzip"})):
        with pytest.raises(IgnoreRequest) as raised:
            body_of(bomb, encoding)
        loss = document_failure(Failure(raised.value))  # type: ignore[no-untyped-call]
        detail = f"is larger than DOWNLOAD_MAXSIZE ({MOST} bytes)"
        assert (loss.kind, loss.detail) == (ReasonKind.TOO_LARGE, detail)


def test_gzip_files_are_decompressed_a_few_times_only() -> None:
    body = FEED
    for _ in range(50):
        body = gzip.compress(body)
    assert body_of(body, {}).body.startswith(b"\x1f\x8b")


@pytest.mark.in_process
def test_gzip_files_of_a_feed_are_read_over_http_and_from_a_folder(
    server: FeedServer, project: Project
) -> None:
    archive = gzip.compress(atom([E("1")]).encode())
    server.serve(
        "/feed.gz", gzip.compress(atom([E("2")], prev="/a.gz").encode()), content_type="application/gzip"
    )
    server.serve("/a.gz", archive, content_type="application/octet-stream")
    (folder := project.folder / "history").mkdir()
    (folder / "1.atom.gz").write_bytes(archive)
    run = project.crawl(server.url("/feed.gz"), folder.as_uri())
    assert sorted(item["id"] for item in run.items) == ["1", "1", "2"]
    assert {feed["verdict"] for feed in project.feeds()} == {"complete", "unknown"}


def test_truncated_compressed_document_fails_until_it_is_complete(
    server: FeedServer, project: Project
) -> None:
    def answer(body: bytes, encoding: str = "gzip") -> Answer:
        return Answer(body, headers={"Content-Encoding": encoding}, etag=False)

    archive = atom([E("2")], prev="/a1").encode()
    squeezed = gzip.compress(archive)
    faults = {
        "crc": answer(squeezed[:-8] + b"\0\0\0\0" + squeezed[-4:]),
        "no-trailer": answer(squeezed[:-8]),
        "zlib": answer(zlib.compress(archive)[:-2], "deflate"),
        "complete": answer(squeezed),
    }
    server.serve("/a1", atom([E("1")]))
    for name, fault in faults.items():
        server.serve(f"/{name}", atom([E("3")], prev=f"/{name}/a2"))
        server.answers[f"/{name}/a2"] = fault
    feeds = [server.url(f"/{name}") for name in faults]
    run = project.crawl(*feeds, settings={"RETRY_TIMES": 1})
    assert "Traceback" not in run.log
    read = {(feed, "3") for feed in feeds} | {(feeds[-1], "2"), (feeds[-1], "1")}
    assert {(item["feed"], item["id"]) for item in run.items} == read
    assert server.requested().count("/crc/a2") == 2
    for feed in project.feeds():
        kinds = [(reason["kind"], reason["url"]) for reason in feed["reasons"]]
        assert kinds == ([] if feed["feed"].endswith("/complete") else [("cut-off", f"{feed['feed']}/a2")])
    for name in faults:
        server.answers[f"/{name}/a2"] = faults["complete"]
    project.crawl(*feeds)
    assert {feed["verdict"] for feed in project.feeds()} == {"complete"}
