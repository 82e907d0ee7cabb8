"""Compressed bodies: one without its end, or with another one, is not whole."""

import gzip
import random
import sys
import zlib

import brotli
import pytest
from twisted.python.failure import Failure

from fhcrawl.crawling.failures import TooManyStreams, loss_of
from fhcrawl.downloadermiddlewares.httpcompression import MOST_STREAMS, is_whole
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind
from tests.feeds import E, atom
from tests.server import Answer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from collections.abc import Callable

from tests.projects import Project
from tests.server import FeedServer


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


def whole(encoding: str, body: bytes) -> bool:
    return is_whole(body, [encoding.encode()], MOST)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("compression", COMPRESS)
def test_body_with_its_end_is_whole_and_one_without_is_not(compression: str, body: bytes) -> None:
    encoding, compress = COMPRESS[compression]
    compressed = compress(body)
    assert whole(encoding, compressed)
    for cut in {1, len(compressed) // 2, len(compressed) - 4, len(compressed) - 1}:
        assert cut <= 0 or not whole(encoding, compressed[:cut]), cut


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_body_of_several_streams_is_whole(encoding: str) -> None:
    _encoding, compress = COMPRESS[encoding]
    assert whole(encoding, compress(NOISE) + compress(b"more"))
    assert not whole(encoding, compress(NOISE) + compress(b"more")[:-1])


@pytest.mark.parametrize("compression", ["gzip", "deflate", "zstd"])
def test_body_with_something_else_behind_it_is_not_whole(compression: str) -> None:
    encoding, compress = COMPRESS[compression]
    assert not whole(encoding, compress(NOISE) + b"<html>")


@pytest.mark.parametrize("padding", [b"\0" * 512, b"\n", b" \r\n\r\n"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_padding_is_no_fault(encoding: str, padding: bytes) -> None:
    _encoding, compress = COMPRESS[encoding]
    assert whole(encoding, compress(NOISE) + padding)


def test_members_with_padding_between_them_are_whole() -> None:
    padded = gzip.compress(NOISE) + b"\0" * 512
    assert whole("gzip", padded + padded)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_body_of_too_many_streams_is_not_decompressed(encoding: str) -> None:
    _encoding, compress = COMPRESS[encoding]
    nothing = compress(b"")
    assert whole(encoding, nothing * MOST_STREAMS)
    with pytest.raises(TooManyStreams) as raised:
        whole(encoding, nothing * (MOST_STREAMS + 1))
    detail = "consists of more than 10000 compressed streams"
    failure = Failure(raised.value)  # type: ignore[no-untyped-call]
    assert loss_of(failure) == DocumentFailure(State.REFUSED, ReasonKind.TOO_LARGE, detail)


@pytest.mark.parametrize("compression", ["gzip", "deflate", "raw deflate", "zstd"])
def test_body_that_is_too_large_is_not_decompressed_to_its_end(compression: str) -> None:
    encoding, compress = COMPRESS[compression]
    cut_off = compress(NOISE * (2 * MOST // len(NOISE)))[:-1]
    assert not is_whole(cut_off, [encoding.encode()], 0)
    # Whoever decompresses it says that it is too large.
    assert whole(encoding, cut_off)


@pytest.mark.parametrize("position", [-8, -1], ids=["checksum", "length"])
def test_gzip_with_a_wrong_checksum_or_length_is_not_whole(position: int) -> None:
    body = bytearray(gzip.compress(NOISE))
    body[position] ^= 1
    assert not whole("gzip", bytes(body))


@pytest.mark.parametrize("encoding", ["", "odd", "gzip, odd", "identity"])
def test_what_is_not_decompressed_is_not_judged(encoding: str) -> None:
    assert whole(encoding, b"<feed/>")


def test_response_without_a_body_is_whole() -> None:
    assert whole("gzip", b"")


def test_document_whose_compression_has_no_right_end_is_cut_off_until_it_heals(
    server: FeedServer, project: Project
) -> None:
    def answer(body: bytes, encoding: str = "gzip") -> Answer:
        return Answer(body, headers={"Content-Encoding": encoding}, etag=False)

    archive = atom([E("2")], prev="/a1").encode()
    squeezed = gzip.compress(archive)
    faults = {
        "crc": answer(squeezed[:-8] + b"\0\0\0\0" + squeezed[-4:]),
        "no-trailer": answer(squeezed[:-8]),
        "garbage": answer(squeezed + b"<!-- garbage -->"),
        "zlib": answer(zlib.compress(archive)[:-2], "deflate"),
        "whole": answer(squeezed),
    }
    server.serve("/a1", atom([E("1")]))
    for name, fault in faults.items():
        server.serve(f"/{name}", atom([E("3")], prev=f"/{name}/a2"))
        server.answers[f"/{name}/a2"] = fault
    feeds = [server.url(f"/{name}") for name in faults]
    run = project.crawl(*feeds, settings={"RETRY_TIMES": 1})
    assert "Traceback" not in run.log
    assert {(item["feed"], item["id"]) for item in run.items} == {(f, i) for f in feeds for i in "123"}
    assert server.asked().count("/crc/a2") == 2
    for feed in project.feeds():
        kinds = [(reason["kind"], reason["url"]) for reason in feed["reasons"]]
        assert kinds == ([] if feed["feed"].endswith("/whole") else [("cut-off", f"{feed['feed']}/a2")])
    for name in faults:
        server.answers[f"/{name}/a2"] = faults["whole"]
    run = project.crawl(*feeds)
    assert {feed["verdict"] for feed in project.feeds()} == {"complete"}
