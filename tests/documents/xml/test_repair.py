import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lxml import etree

from fhcrawl.documents import FeedDocument
from fhcrawl.documents.model import Entry
from fhcrawl.documents.xml.parsing import remove_doctype, repaired
from fhcrawl.documents.xml.repair import prolog_end
from fhcrawl.exceptions import NotAFeedError
from tests.documents.test_detection import name_of, read_feed
from tests.feeds import ATOM, ids, read, read_atom, reported

DATA = Path(__file__).parents[2] / "data"
BROKEN = sorted(path for path in (DATA / "repaired").iterdir() if path.suffix != ".json")
SOUND = sorted(path for path in (DATA / "documents").iterdir() if path.suffix in {".atom", ".rss"})
LOCATION = "http://feeds.example/dir/"
LIBXML2_FAULT = re.compile(r"(left out: ).+")


def entry(number: int, title: str = "t") -> str:
    return f"<entry><id>urn:{number}</id><title>{title}</title></entry>"


def between(title: str) -> FeedDocument:
    return read_atom(entry(1) + entry(2, title) + entry(3))


def problems(document: FeedDocument) -> list[tuple[str, str]]:
    return [(problem.kind, problem.entry) for problem in document.problems]


@pytest.mark.parametrize("path", BROKEN, ids=name_of)
def test_broken_feed_gives_the_expected_document(path: Path) -> None:
    def plain(document: dict[str, Any]) -> dict[str, Any]:
        details = [LIBXML2_FAULT.sub(r"\1", problem.pop("detail")) for problem in document["problems"]]
        return {**document, "details": details}

    document = plain(reported(read_feed(path)))
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
    assert problems(document) == [("repaired", "")]


def test_attributes_are_repaired_too() -> None:
    assert read_atom('<link rel="x" href="http://e/?a=1&b=&eacute;"/>').links == {"x": "http://e/?a=1&b=é"}


def test_sentence_states_what_was_repaired() -> None:
    (problem,) = between("a & &nbsp; \x00").problems
    assert problem.detail == (
        "it is not well-formed: characters that XML forbids are dropped; "
        "ampersands that do not begin a reference are read as text; entities of HTML are read as in HTML"
    )


def test_names_behind_an_external_dtd_are_left_alone_by_repairs() -> None:
    text = '<!DOCTYPE feed PUBLIC "-//X//Y" "http://dtd.example/"><feed>&unknown;&'
    repaired_text, repairs, _unresolved = repaired(text + " ")
    assert repaired_text == "<feed>&amp;unknown;&amp; "
    assert repairs == ["ampersands that do not begin a reference are read as text"]


DECLARATIONS = (' version="1.0" encoding=""?', " version=1.0?", ' encoding="utf-8"?', ' version="1.0"')


@pytest.mark.parametrize("declaration", [f"<?xml{each}>" for each in DECLARATIONS])
def test_declaration_that_is_none_loses_nothing(declaration: str) -> None:
    document = read_atom(entry(1), before=declaration)
    assert (ids(document), document.fault, problems(document)) == (["urn:1"], None, [("repaired", "")])


def test_undeclared_prefix_means_what_feeds_mean_by_it() -> None:
    body = (
        "<rss><channel><atom:link rel='next' href='2'/><item><guid>1</guid>"
        "<dc:creator>Anne</dc:creator><content:encoded>x</content:encoded></item></channel></rss>"
    )
    document = read(body.encode(), LOCATION)
    assert document.links == {"next": LOCATION + "2"}
    assert [(entry.authors, entry.content) for entry in document.entries] == [(["Anne"], "x")]
    assert problems(document) == [("repaired", "")]


@pytest.mark.parametrize(
    ("inside", "reported"),
    [
        *((each, "(x)") for each in ("<x:y/>", '<link x:y="1"/>', "<link\tx:y = '1'/>")),
        ('<x:y xmlns:x="urn:x"/><x:z/>', "not qualified names"),
    ],
)
def test_unknown_prefix_loses_nothing(inside: str, reported: str) -> None:
    document = read_atom(entry(1) + inside + entry(2))
    assert (ids(document), document.fault) == (["urn:1", "urn:2"], None)
    assert document.problems[0].kind == "repaired"
    assert reported in document.problems[0].detail


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
    assert problems(document) == [("repaired", "entry 2")]
    assert "balanced" in document.problems[0].detail


def item(inside: str) -> Entry:
    body = f"<rss><channel><item><guid>0</guid></item><item>{inside}</item></channel></rss>"
    document = read(body.encode(), LOCATION)
    assert (len(document.entries), document.fault) == (2, None)
    assert ("repaired", "entry 2") in problems(document)
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


def test_entries_behind_a_mended_one_are_repaired() -> None:
    document = read_atom(
        entry(1, "<b>") + entry(2, "a & b") + entry(3, "<x:y/>") + entry(4, "</b>").replace(">", " a=1>", 1)
    )
    assert (ids(document), document.fault) == (["urn:1", "urn:2", "urn:3", "urn:4"], None)
    assert problems(document)[:3] == [("repaired", ""), ("repaired", "entry 1"), ("repaired", "entry 4")]


@pytest.mark.parametrize("title", ["<b xmlns:a=''><i></b>", "<b>" * 300 + "</i>"])
def test_entry_that_stays_malformed_loses_itself(title: str) -> None:
    document = between(title)
    assert (ids(document), document.fault) == (["urn:1", "urn:3"], None)
    assert problems(document) == [("entry-lost", "entry 2")]


HOSTILE = """
& < ]]> <!-- <![CDATA[ <? <!DOCTYPE·[ <entry> <entry· <a·b=' &# &a ·= <!ENTITY· ·x:y <x:y· ·xmlns:a \0
<!DOCTYPE·a·[<!ENTITY·]· <?xml·
"""
IN_ENTRY = ("<b>", "</b>", "<b></i>", "<b ", "<b a='", '<b a="1"', "<title>", "<x:y>", "<b a=1 ", "<")


@pytest.mark.parametrize(
    ("start", "piece", "end"),
    [
        *(("", piece.replace("·", " "), "") for piece in HOSTILE.split()),
        *(("<b>", piece, "</entry></feed>") for piece in IN_ENTRY),
        ("<", "a", "</entry></feed>"),
    ],
)
def test_repairing_takes_time_in_proportion(start: str, piece: str, end: str) -> None:
    body = f'<feed xmlns="{ATOM}"><entry>{start}{piece * (200_000 // len(piece))}{end}'.encode()
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


@pytest.mark.parametrize("prefix", ["", "a:", "A-1:"])
def test_broken_entry_is_found_under_any_prefix(prefix: str) -> None:
    colon = f":{prefix[:-1]}" if prefix else ""
    one, two = (f"<P:entry><P:id>{text}</P:id></P:entry>".replace("P:", prefix) for text in ("1<b>", "2"))
    body = f"<{prefix}feed xmlns{colon}='{ATOM}'>{one}{two}</{prefix}feed>"
    assert ids(read(body.encode(), LOCATION)) == ["1", "2"]


def test_tags_of_entries_in_text_are_none() -> None:
    text = "<![CDATA[</entry><entry>]]><!-- <entry> -->"
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


@pytest.mark.parametrize("path", BROKEN, ids=name_of)
def test_broken_feed_that_is_cut_at_any_byte_is_incomplete(path: Path) -> None:
    body = path.read_bytes()
    full = read_feed(path)
    root = re.search(rb"<(feed|a:feed|rss)[^>]*>", body)
    assert root
    for cut in range(root.end(), body.rindex(b">")):
        document = read(body[:cut], LOCATION + path.name)
        assert document.fault, body[:cut]
        assert document.links.items() <= full.links.items()
        assert document.entries == full.entries[: len(document.entries)]
        assert {problem.kind for problem in document.problems} <= {"repaired"}


@pytest.mark.parametrize("path", SOUND, ids=name_of)
def test_nothing_of_a_well_formed_document_is_repaired_wherever_it_is_cut(path: Path) -> None:
    body = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        etree.fromstring(body, etree.XMLParser(resolve_entities=False))
    except etree.XMLSyntaxError:
        body = body[:0]
    text = body.decode("latin-1" if "latin" in path.name else "utf-8")
    for cut in range(len(text) + 1):
        assert repaired(text[:cut])[:2] == (remove_doctype(text[:cut])[0], [])


@pytest.mark.parametrize("page", ["<html><body>a & b</body></html>", "<!DOCTYPE html><html>&nbsp;</html>"])
def test_page_that_repairs_would_make_well_formed_is_no_feed(page: str) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read(page.encode(), LOCATION)
    assert caught.value.kind == "html"


MARKUP = (
    "& ; < > <entry> </entry> <![CDATA[ ]]> <!-- --> &nbsp; &#0; <x:y> </x:y> <id> </id> <? ?> ]> </feed>"
)
PIECES = st.lists(
    st.sampled_from([*MARKUP.split(), " ", "\x00", "\ufffe", "<!DOCTYPE feed ["]), max_size=30
).map("".join)


def test_dropped_reference_does_not_hide_the_declarations_after_it() -> None:
    text = "&#0; <!-- --> &#xB;<!DOCTYPE feed [<!ENTITY a 'b'>]><feed>&amp;&#1;</feed>"
    dropped = "references to characters that XML forbids are dropped"
    assert repaired(text) == ("<feed>&amp;</feed>", [dropped], [])


@example("<&#0; ")
@example("]&#0;]&#1;>")
@given(inside=PIECES)
def test_repaired_text_needs_no_repair(inside: str) -> None:
    once = repaired(inside)
    # Of several declarations, only the first one is removed.
    assume(not once[0].startswith("<!DOCTYPE", prolog_end(once[0])))
    assert repaired(once[0]) == (once[0], [], [])


@given(inside=PIECES.filter(lambda inside: "</feed>" not in inside))
def test_feed_without_an_end_is_incomplete(inside: str) -> None:
    assert read(f'<feed xmlns="{ATOM}">{entry(1)}{inside}'.encode(), LOCATION).fault


@pytest.mark.parametrize("element", ["id", "a:id"])
def test_ids_that_differ_in_characters_that_xml_forbids_stay_apart(element: str) -> None:
    characters = ("1\x01", "1\x02", "1\0", "1&#3;", "1&#x4;", "<![CDATA[1\x05]]>", " <![CDATA[1\x06]]>")
    entries = [
        f"<entry xmlns:a='{ATOM}'><{element}>{each}</{element}><title>&#1;t</title></entry>"
        for each in characters
    ]
    document = read_atom("".join(entries))
    assert len(set(ids(document))) == len(entries)
    assert {each.title for each in document.entries} == {"t"}
    assert problems(document) == [("repaired", "")]
    assert problems(read_atom("<entry><id>&#1;</id><title>t</title></entry>")) == [("repaired", "")]
    # References in a CDATA section are text.
    assert ids(read_atom("<entry><id><![CDATA[1&#1;]]></id><title>&</title></entry>")) == ["1&#1;"]
