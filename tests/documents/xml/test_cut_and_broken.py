"""What is cut off stays cut off, and a page that repairs would make well-formed is no feed."""

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from fhcrawl.documents.xml.parsing import repaired, resolve_entities
from fhcrawl.exceptions import NotAFeedError
from tests.documents.test_detection import name_of, read_feed
from tests.documents.xml.test_repair import ATOM, BROKEN, LOCATION, SOUND, entry, ids, read_atom
from tests.feeds import read

# --- what is cut off stays cut off


@pytest.mark.parametrize("path", BROKEN, ids=name_of)
def test_broken_feed_that_is_cut_at_any_byte_never_looks_whole(path: Path) -> None:
    body = path.read_bytes()
    whole = read_feed(path)
    begin = body.index(
        b">", body.index(b"<feed" if b"<feed" in body else b"<a:feed" if b"<a:" in body else b"<rss")
    )
    end = body.rindex(b">")
    for cut in range(begin + 1, end):
        document = read(body[:cut], LOCATION + path.name)
        assert document.fault, body[:cut]
        assert document.links.items() <= whole.links.items()
        assert document.entries == whole.entries[: len(document.entries)]
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
        assert repaired(text[:cut])[:2] == (resolve_entities(text[:cut], is_lenient=True)[0], [])


@pytest.mark.parametrize("page", ["<html><body>a & b</body></html>", "<!DOCTYPE html><html>&nbsp;</html>"])
def test_page_that_repairs_would_make_well_formed_is_no_feed(page: str) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read(page.encode(), LOCATION)
    assert caught.value.kind == "html"


# --- what nobody may be able to do


HOSTILE = """
& < ]]> <!-- <![CDATA[ <? <!DOCTYPE·[ <entry> <entry· <a·b=' &# &a ·= <!ENTITY· ·x:y <x:y· ·xmlns:a \0
<!DOCTYPE·a·[<!ENTITY·]· <?xml·
"""


@pytest.mark.parametrize("piece", [each.replace("·", " ") for each in HOSTILE.split()])
def test_repairing_takes_time_in_proportion(piece: str) -> None:
    body = f'<feed xmlns="{ATOM}"><entry>{piece * (200_000 // len(piece))}'.encode()
    begin = time.process_time()
    read(body, LOCATION)
    assert time.process_time() - begin < 5


TOKENS = (
    "& ; < > <entry> </entry> <![CDATA[ ]]> <!-- --> &nbsp; &#0; <x:y> </x:y> <id> </id> <? ?> ]> </feed>"
)
PIECES = st.lists(
    st.sampled_from([*TOKENS.split(), " ", "\x00", "\ufffe", "<!DOCTYPE feed ["]), max_size=30
).map("".join)


@example("<&#0; ")
@example("]&#0;]&#1;>")
@given(inside=PIECES)
def test_repaired_text_needs_no_repair(inside: str) -> None:
    once = repaired(inside)
    assert repaired(once[0]) == (once[0], [], [])


@given(inside=PIECES.filter(lambda inside: "</feed>" not in inside))
def test_feed_without_an_end_never_looks_whole(inside: str) -> None:
    assert read(f'<feed xmlns="{ATOM}">{entry(1)}{inside}'.encode(), LOCATION).fault


@pytest.mark.parametrize("element", ["id", "a:id"])
def test_ids_that_differ_in_characters_that_xml_forbids_stay_apart(element: str) -> None:
    characters = ("1\x01", "1\x02", "1\0", "1&#3;", "1&#x4;", "<![CDATA[1\x05]]>", " <![CDATA[1\x06]]>")
    found = [
        f"<entry xmlns:a='{ATOM}'><{element}>{each}</{element}><title>&#1;t</title></entry>"
        for each in characters
    ]
    document = read_atom("".join(found))
    assert len(set(ids(document))) == len(found)
    assert {each.title for each in document.entries} == {"t"}
    assert [problem.kind for problem in document.problems] == ["repaired"]


def test_references_in_a_cdata_section_of_an_id_are_text() -> None:
    document = read_atom("<entry><id><![CDATA[1&#1;]]></id><title>&</title></entry>")
    assert ids(document) == ["1&#1;"]


def test_document_whose_ids_alone_are_mended_is_said_to_be_mended() -> None:
    document = read_atom("<entry><id>&#1;</id><title>t</title></entry>")
    assert [problem.kind for problem in document.problems] == ["repaired"]
