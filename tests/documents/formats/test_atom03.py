import base64

import pytest

from fhcrawl.documents import Entry, FeedDocument
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed"


def read_feed(inside: str) -> FeedDocument:
    return read(f'<feed version="0.3" xmlns="http://purl.org/atom/ns#">{inside}</feed>'.encode(), LOCATION)


def read_entry(inside: str) -> Entry:
    (entry,) = read_feed(f"<entry><id>1</id><title>t</title>{inside}</entry>").entries
    return entry


@pytest.mark.parametrize(
    ("attributes", "inside", "content", "content_type"),
    [
        *(("", " plain ", " plain ", "text"), ("", "a<b/>&lt;", "a<b></b>&lt;", "html")),
        *(("mode='escaped'", "&lt;b>", "<b>", "text"), ("type='text/html'", "&lt;b>", "<b>", "html")),
        ("type='text/html'", "a <b>c</b>", "a <b>c</b>", "html"),
        ("type='TEXT/HTML' mode=' ESCAPED '", "&lt;b>", "<b>", "html"),
        ("type='text/html' mode='xml'", "&lt;b>", "&lt;b&gt;", "html"),
        ("type='application/xml'", "<x xmlns=''/>", "<x/>", "application/xml"),
        ("type='text/html' mode='escaped'", " ", None, None),
        ("type='text/html' mode='base64'", "", None, None),
        ("type='text/html' mode='base64'", "PGI+\n", "<b>", "html"),
        ("mode='base64'", "no base64", "nobase64", "text/plain;base64"),
    ],
)
def test_content_is_read_by_its_mode_and_type(
    attributes: str, inside: str, content: str | None, content_type: str | None
) -> None:
    entry = read_entry(f"<content {attributes}>{inside}</content>")
    assert (entry.content, entry.content_type) == (content, content_type)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\x00b", "￾".encode()])
def test_bytes_that_are_no_text_stay_base64(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    entry = read_entry(f'<content type="application/x-bytes" mode="base64">{encoded}</content>')
    assert (entry.content, entry.content_type) == (encoded, "application/x-bytes;base64")
