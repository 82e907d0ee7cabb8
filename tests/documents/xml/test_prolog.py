"""What stands before a document."""

import pytest

from fhcrawl.exceptions import NotAFeedError
from tests.feeds import URL, read

RSS = "<rss><channel><item><guid>1</guid><title>Ü</title></item></channel></rss>"
XML = '<?xml version="1.0" encoding="iso-8859-1"?>'


@pytest.mark.parametrize(
    "start",
    [
        f"<!-- cached -->{XML}",
        f"\n<!-- <rss> {XML} -->\n{XML}\n<?xml-stylesheet href='x.xsl'?>",
        f"<br />\n<b>Warning</b>:  x &amp y in <b>/f.php</b> on line <b>3</b><br />\n{XML}",
        *(f"PHP Notice: a & b < c\n{XML}\n", f"{XML}\n<p>Deprecated: x</p>", f"{XML}{XML}"),
        *(f"x{XML}<!DOCTYPE rss [<!ENTITY x 'y'>]>", f"\xa0 {XML}"),
    ],
)
def test_junk_before_a_document_is_dropped_and_its_encoding_kept(start: str) -> None:
    document = read((start + RSS).encode("latin-1"), URL)
    assert [(each.id, each.title) for each in document.entries] == [("1", "Ü")]
    assert document.fault is None
    (problem,) = document.problems
    assert problem.detail == "it is not well-formed: text before the document is dropped"


@pytest.mark.parametrize("start", ["Notice: x\n", "<!-- cached -->\n\ufeff", "<br />\ufeff<!doctype rss>"])
def test_byte_order_mark_and_document_type_behind_junk_are_no_junk(start: str) -> None:
    assert [each.title for each in read((start + RSS).encode(), URL).entries] == ["Ü"]


def test_start_of_a_malformed_document_is_no_junk() -> None:
    start = f"\ufeff \n{XML}\n<!-- x -->\n<?xml-stylesheet href='x'?>\n"
    document = read(start.encode() + RSS.replace("Ü", "&").encode(), URL)
    assert [problem.detail for problem in document.problems] == [
        "it is not well-formed: ampersands that do not begin a reference are read as text"
    ]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        *(("<html><body><p>", "html"), ("<!DOCTYPE html><html>", "html")),
        *(("<opml><x>", "opml"), ("<x>", "not-a-feed")),
    ],
)
def test_feed_inside_another_document_is_not_read(start: str, kind: str) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read(f"{start}<br>{RSS}".encode(), URL)
    assert caught.value.kind == kind
