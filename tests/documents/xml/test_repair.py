import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents import FeedDocument
from fhcrawl.documents.model import Entry
from fhcrawl.documents.xml.parsing import repaired
from tests.documents.test_detection import name_of, read_feed
from tests.feeds import read, said

DATA = Path(__file__).parents[2] / "data"
BROKEN = sorted(path for path in (DATA / "repaired").iterdir() if path.suffix != ".json")
SOUND = sorted(path for path in (DATA / "documents").iterdir() if path.suffix in {".atom", ".rss"})
LOCATION = "http://feeds.example/dir/"
ATOM = "http://www.w3.org/2005/Atom"
LIBXML2_FAULT = re.compile(r"(left out: ).+")


def read_atom(inside: str, start: str = "", attributes: str = "") -> FeedDocument:
    return read(f'{start}<feed xmlns="{ATOM}"{attributes}>{inside}</feed>'.encode(), LOCATION)


def entry(number: int, title: str = "t") -> str:
    return f"<entry><id>urn:{number}</id><title>{title}</title></entry>"


def between(title: str) -> FeedDocument:
    return read_atom(entry(1) + entry(2, title) + entry(3))


def kinds(document: FeedDocument) -> list[tuple[str, str]]:
    return [(problem.kind, problem.entry) for problem in document.problems]


def ids(document: FeedDocument) -> list[str | None]:
    return [entry.id for entry in document.entries]


@pytest.mark.parametrize("path", BROKEN, ids=name_of)
def test_broken_feed_gives_what_the_file_beside_it_says(path: Path) -> None:
    def plain(document: dict[str, Any]) -> dict[str, Any]:
        details = [LIBXML2_FAULT.sub(r"\1", problem.pop("detail")) for problem in document["problems"]]
        return {**document, "details": details}

    document = plain(said(read_feed(path)))
    expected = plain(json.loads(path.with_suffix(".json").read_text("utf-8")))
    assert document == {**document, **expected}
    assert document["fault"] is None


# --- what is repaired


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        *((text, text) for text in ("&foo;&eacute", "&", "a < b <= c <3 & d", "a]]>b", "&#;&#x;&#xg;")),
        ("?a=1&b=2&copy=3&lt;", "?a=1&b=2&copy=3<"),
        *(("&&amp;&", "&&&"), ("&nbsp;é&eacute;", "éé"), ("&LT;b&GT;", "<b>")),
        ("&foo;&eacute", "&foo;&eacute"),
        ("&NotEqualTilde;", "\u2242\u0338"),
        ("&#0;a&#x1b;b&#xFFFF;c&#xD800;d&#x110000;e&#99999999999999999999;", "abcde"),
        *(("&#233;&#xe9;&#x1F600;&#XE9;&", "éé😀é&"), ("a\x00b\x08c\x0bd\x1fe\ufffef\uffffg", "abcdefg")),
        *(("x\x85\x7f\x9f\x00x", "x\x85\x7f\x9fx"), ("<![CDATA[&nbsp; & \x00]]>", "&nbsp; &")),
        ("<![CDATA[a<![CDATA[b]]>c]]>", "a<![CDATA[bc]]>"),
        *(("<!-- & &nbsp; -->a&b", "a&b"), ("<?php & ?>a&b", "a&b")),
    ],
)
def test_fault_of_a_text_loses_no_entry(title: str, expected: str) -> None:
    document = between(title)
    assert document.fault is None
    assert ids(document) == ["urn:1", "urn:2", "urn:3"]
    assert document.entries[1].title == expected
    assert kinds(document) == [("repaired", "")]


def test_attributes_are_repaired_too() -> None:
    assert read_atom('<link rel="x" href="http://e/?a=1&b=&eacute;"/>').links == {"x": "http://e/?a=1&b=é"}


def test_sentence_says_what_was_repaired() -> None:
    (problem,) = between("a & &nbsp; \x00").problems
    assert problem.detail == (
        "it is not well-formed: characters that XML forbids are dropped; "
        "ampersands that begin no reference are read as text; entities of HTML are read as in HTML"
    )


def test_names_behind_an_external_dtd_are_left_alone_by_repairs() -> None:
    text = '<!DOCTYPE feed PUBLIC "-//X//Y" "http://dtd.example/"><feed>&unknown;&'
    repaired_text, repairs, _unresolved = repaired(text + " ")
    assert repaired_text == "<feed>&amp;unknown;&amp; "
    assert repairs == ["ampersands that begin no reference are read as text"]


DECLARATIONS = (' version="1.0" encoding=""?', " version=1.0?", ' encoding="utf-8"?', ' version="1.0"')


@pytest.mark.parametrize("declaration", [f"<?xml{each}>" for each in DECLARATIONS])
def test_declaration_that_is_none_loses_nothing(declaration: str) -> None:
    document = read_atom(entry(1), declaration)
    assert (ids(document), document.fault, kinds(document)) == (["urn:1"], None, [("repaired", "")])


def test_undeclared_prefix_means_what_feeds_mean_by_it() -> None:
    body = (
        "<rss><channel><atom:link rel='next' href='2'/><item><guid>1</guid>"
        "<dc:creator>Anne</dc:creator><content:encoded>x</content:encoded></item></channel></rss>"
    )
    document = read(body.encode(), LOCATION)
    assert document.links == {"next": LOCATION + "2"}
    assert [(entry.authors, entry.content) for entry in document.entries] == [(["Anne"], "x")]
    assert kinds(document) == [("repaired", "")]


@pytest.mark.parametrize("inside", ["<x:y/>", '<link x:y="1"/>', "<link\tx:y = '1'/>"])
def test_unknown_prefix_loses_nothing(inside: str) -> None:
    document = read_atom(entry(1) + inside + entry(2))
    assert (ids(document), document.fault) == (["urn:1", "urn:2"], None)
    assert "(x)" in document.problems[0].detail


def test_prefix_that_is_declared_elsewhere_only_loses_no_entry() -> None:
    document = read_atom(entry(1) + '<x:y xmlns:x="urn:x"/><x:z/>' + entry(2))
    assert (ids(document), document.fault, kinds(document)[0]) == (["urn:1", "urn:2"], None, ("repaired", ""))


# Entries that have left a complete feed are deleted: nobody's guess may say so.
def test_undeclared_prefix_does_not_make_a_feed_complete() -> None:
    document = read_atom("<fh:complete/>" + entry(1))
    assert (document.complete, document.fault) == (False, None)


# --- entries that are not well-formed


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        *(("a<b>c", "ac"), ("a</b>c", "ac"), ("a<b>c</i>d</b>e", "acde"), ("a</title>", "a")),
        ("a<title>", "a"),
        *(('a<b c="1" c="2"/>d', "ad"), ("a<b c=1/>d", "ad"), ("a<b c d='1'>e", "ae"), ("a<P>b</p>c", "abc")),
        *(('a<b c="<"/>', 'a<b c="<"/>'), ("a<!-- -- -->b", "ab"), ("a<br>b<img src=x>c", "abc")),
        *(("a<$>b", "a<$>b"), ("<b><![CDATA[<i>]]>", "<i>")),
    ],
)
def test_tag_soup_loses_no_entry_and_none_of_its_text(title: str, expected: str) -> None:
    document = between(title)
    assert (ids(document), document.fault) == (["urn:1", "urn:2", "urn:3"], None)
    assert [each.title for each in document.entries] == ["t", expected, "t"]
    assert kinds(document) == [("repaired", "entry 2")]
    assert "balanced" in document.problems[0].detail


def item(inside: str) -> Entry:
    body = f"<rss><channel><item><guid>0</guid></item><item>{inside}</item></channel></rss>"
    document = read(body.encode(), LOCATION)
    assert (len(document.entries), document.fault) == (2, None)
    assert ("repaired", "entry 2") in kinds(document)
    return document.entries[1]


def test_child_without_an_end_tag_takes_nothing_of_the_next_one() -> None:
    found = item(
        "<title>One<link>http://e.example/1</title><guid>1<description><p>a<br>b</p>"
        "<category>x<category>y</category><pubDate>2003-12-13T18:30:02Z</pubDate>"
    )
    assert (found.id, found.link, found.title) == ("1", None, "Onehttp://e.example/1")
    assert (re.sub("<[^>]*>", "", found.summary or ""), found.categories) == ("ab", ["x", "y"])
    assert found.published == "2003-12-13T18:30:02Z"


def test_attributes_without_quotes_are_kept() -> None:
    found = item("<guid isPermaLink=false>1</guid><enclosure url=http://e.example/1.mp3 length=2 />")
    assert found.enclosures == [{"url": "http://e.example/1.mp3", "type": None, "length": 2}]
    assert found.link is None


def test_attributes_of_the_entry_itself_are_mended() -> None:
    body = f"<feed xmlns='{ATOM}'><entry a=1><id>urn:1</id><title>t</title></entry></feed>"
    assert ids(read(body.encode(), LOCATION)) == ["urn:1"]


@pytest.mark.parametrize("title", ["<b xmlns:a=''><i></b>", "<b>" * 300 + "</i>"])
def test_entry_that_stays_malformed_loses_itself(title: str) -> None:
    document = between(title)
    assert (ids(document), document.fault) == (["urn:1", "urn:3"], None)
    assert kinds(document) == [("entry-lost", "entry 2")]


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        *(("<b>", piece) for piece in ("<b>", "</b>", "<b></i>", "<b ", "<b a='", '<b a="1"', "<title>")),
        *(("<b>", piece) for piece in ("<x:y>", "<b a=1 ", "<")),
        ("<", "a"),
    ],
)
def test_balancing_takes_time_in_proportion(start: str, piece: str) -> None:
    body = f'<feed xmlns="{ATOM}"><entry>{start}{piece * (100_000 // len(piece))}</entry></feed>'.encode()
    begin = time.process_time()
    read(body, LOCATION)
    assert time.process_time() - begin < 5


TAGS = "<b> </b> <title> </title> <br> <br/> > ' < / x"
SOUP = st.lists(st.sampled_from([*TAGS.split(), "<a b=c d", '"', " "]), max_size=20).map("".join)


@given(inside=SOUP)
def test_any_soup_in_an_entry_leaves_the_others_alone(inside: str) -> None:
    document = between(inside)
    assert document.fault is None
    assert ids(document) == ["urn:1", "urn:2", "urn:3"]
    assert [document.entries[number].title for number in (0, 2)] == ["t", "t"]


def test_entries_behind_a_mended_one_are_repaired() -> None:
    document = read_atom(entry(1, "<b>") + entry(2, "a & b") + entry(3, "<x:y/>") + entry(4, "</b>"))
    assert (ids(document), document.fault) == (["urn:1", "urn:2", "urn:3", "urn:4"], None)
    assert kinds(document)[:3] == [("repaired", ""), ("repaired", "entry 1"), ("repaired", "entry 4")]


@pytest.mark.parametrize("prefix", ["", "a:", "A-1:"])
def test_broken_entry_is_found_under_any_prefix(prefix: str) -> None:
    colon = f":{prefix[:-1]}" if prefix else ""
    one, two = (
        f"<{prefix}entry><{prefix}id>{n}{junk}</{prefix}id></{prefix}entry>"
        for n, junk in ((1, "<b>"), (2, ""))
    )
    body = f"<{prefix}feed xmlns{colon}='{ATOM}'>{one}{two}</{prefix}feed>"
    assert ids(read(body.encode(), LOCATION)) == ["1", "2"]


def test_tags_of_entries_in_text_are_none() -> None:
    text = "<![CDATA[</entry><entry>]]><!-- <entry> --><x a='</entry>'/>".replace("<x a='</entry>'/>", "")
    document = read_atom(entry(1, text) + entry(2, "<b>") + entry(3, text))
    assert (ids(document), document.fault) == (["urn:1", "urn:2", "urn:3"], None)


@pytest.mark.parametrize(
    "inside",
    [
        "<b>" + entry(1) + entry(2),  # the head itself is broken
        entry(1) + "<entry><id>urn:2</id>" + entry(3),  # an entry without an end
        entry(1) + "</entry>" + entry(3),
        entry(1) + "<entry><id>urn:2</id><title><![CDATA[" + entry(3),
    ],
)
def test_feed_whose_entries_cannot_be_told_apart_keeps_its_fault(inside: str) -> None:
    document = read_atom(inside)
    assert document.fault
    assert set(ids(document)) <= {"urn:1", "urn:2", "urn:3"}
