"""What is taken for a WARC file."""

import gzip
from pathlib import Path

import pytest

from fhcrawl.exceptions import ArgumentError
from fhcrawl.warc import naming

RECORD = b"WARC/1.1\r\nWARC-Type: response\r\n"
CUT_OFF = b"http://example.org/feed 127.0.0.1 20050101000000 application/atom+xml 99\n"


@pytest.mark.parametrize(
    ("content", "is_read"),
    [
        (b'{"version": "https://jsonfeed.org/version/1.1"}', False),
        (b"http://example.org/feed\nhttp://example.org/other\n", False),
        (gzip.compress(b"<feed/>"), False),
        (b"", False),
        (RECORD, True),
        (gzip.compress(RECORD), True),
        (gzip.compress(RECORD)[:10], True),
        (b"\x1f\x8b\x08\x00damaged", True),
        (b"filedesc://old file.arc 0.0.0.0 20050101000000 text/plain 76\n", True),
        (CUT_OFF, True),
    ],
    ids=["JSON", "URLs", "gzip", "empty", "WARC", "WARC, gzip", "cut off", "damaged", "ARC", "ARC, cut"],
)
def test_file_is_looked_at_where_it_begins(tmp_path: Path, content: bytes, is_read: bool) -> None:
    path = tmp_path / "old"
    path.write_bytes(content)
    if is_read:
        assert naming.files("old", tmp_path) == [str(path)]
        return
    with pytest.raises(ArgumentError, match="is not a WARC or ARC file; use the path of one"):
        naming.files("old", tmp_path)
