"""The encoding of a document: its bytes, a header and a declaration, which may all be wrong."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS

from fhcrawl.documents import FeedDocument
from fhcrawl.documents.xml import encoding
from tests.feeds import ATOM, URL, ids, kinds, read

STRAY = "bytes that are not UTF-8 are read as windows-1252"
UNKNOWN = (
    "none x-unknown binary unicode_escape utf-7 idna punycode rot13 zlib undefined replacement iso-2022-kr"
    " x-user-defined"
)


def feed(title: str, declared: str | None = None) -> str:
    declaration = "" if declared is None else f'<?xml version="1.0" encoding="{declared}"?>\n'
    return f'{declaration}<feed xmlns="{ATOM}"><title>{title}</title></feed>'


def read_as(body: bytes, charset: str | None = None) -> FeedDocument:
    return read(body, URL, None if charset is None else f"text/xml; charset={charset}")


def check_title(title: str, codec: str, charset: str | None = None, declared: str | None = None) -> None:
    document = read_as(feed(title, declared).encode(codec), charset)
    assert (document.title, document.problems, document.fault) == (title, [], None)


def not_well_formed(document: FeedDocument) -> list[str]:
    return [problem.detail.removeprefix("it is not well-formed: ") for problem in document.problems]


# RFC 7303, 3: the byte order mark, then the charset, then the declaration, then UTF-8.
@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "utf-16be", "shift_jis"])
@pytest.mark.parametrize("declared", ["iso-8859-1", "utf-8", "utf-16", "x-unknown"])
def test_byte_order_mark_wins(mark: str, charset: str, declared: str) -> None:
    assert read_as(feed("Café", declared).encode(mark), charset).title == "Café"


@pytest.mark.parametrize(
    ("title", "codec", "charset", "declared"),
    [
        *(("Привет", "koi8-r", "koi8-r", "iso-8859-1"), ("Caféø", "cp1252", "iso-8859-1", "utf-8")),
        *(("Ã© é ø", "cp1252", None, "windows-1252"), ("Café", "cp1252", "x-unknown", "latin1")),
        ("Café 日本", "utf-8", None, None),
        # A charset that cannot decode the bytes gives way.
        *(("Caféø “x”", "cp1252", "utf-8", "iso-8859-1"), ("Привет", "cp1251", "utf-8", "windows-1251")),
        *(("Caféø “x”", "utf-8", "shift_jis", declared) for declared in ("utf-8", None)),
        *(("Caféø “x”", "utf-8", None, "euc-kr"), ("Caféø “x”", "utf-8", "euc-jp", "x-unknown")),
        # What is ASCII is not UTF-16.
        *(("Café", "utf-8", label, label) for label in ("utf-16", "utf-16le", "utf-32", "ucs-2")),
        # Python has encodings that are none of documents; some run or unpack what they read.
        *(("Café \\u0041 +AEE-", "utf-8", label, None) for label in UNKNOWN.split()),
        *(("Café \\u0041 +AEE-", "utf-8", None, label) for label in UNKNOWN.split()),
        *(("Café", "utf-8", label, None) for label in ("", "utf-8; x=y", "\x01", "utf-8\x00", "é", "\udce9")),
    ],
)
def test_header_wins_over_declaration_and_that_over_utf_8(
    title: str, codec: str, charset: str | None, declared: str | None
) -> None:
    check_title(title, codec, charset, declared)


@pytest.mark.parametrize(
    ("start", "charset"),
    [
        ("<?xml version='1.0' encoding = 'iso-8859-1' standalone='yes'?>", None),
        ('<?xml version="1.0"\n encoding="iso-8859-1"?>', None),
        ('<?xml version="1.0"?><?other encoding="utf-8"?>', "iso-8859-1"),
        ('<!-- <?xml version="1.0" encoding="utf-8"?> -->', "iso-8859-1"),
    ],
)
def test_declaration_is_read_however_it_is_written(start: str, charset: str | None) -> None:
    assert read_as((start + feed("Café")).encode("iso-8859-1"), charset).title == "Café"


# The bytes of the second title are not all defined in the encoding that is claimed.
@pytest.mark.parametrize("title", ["Café кот", "Café “кот” И Í"])
@pytest.mark.parametrize(
    ("charset", "declared"),
    [
        *(("iso-8859-1", "utf-8"), ("iso-8859-1", None), (None, "iso-8859-1"), ("windows-1251", "utf-8")),
        *((None, "windows-1251"), (None, "iso-8859-7"), ("utf-8", "iso-8859-1")),
    ],
)
@pytest.mark.parametrize("stray", [b"", b"\xe9"])
def test_text_in_utf_8_is_read_as_such_whatever_is_claimed(
    charset: str | None, declared: str | None, title: str, stray: bytes
) -> None:
    document = read_as(feed(f"{title}X", declared).encode().replace(b"X", stray), charset)
    assert (document.title, document.fault) == (title + stray.decode("latin-1"), None)
    assert not_well_formed(document) == ([STRAY] if stray else [])


# Encoding Standard, 4.2: labels.
LABELS_OF = {
    ("cp1252", "“Café” €"): "iso-8859-1 ISO_8859-1 latin1 latin-1 us-ascii ascii cp1252",
    ("cp1251", "Привет"): "windows-1251 x-cp1251",
    ("koi8-r", "Привет"): "koi",
    ("cp932", "日本①"): "x-sjis Shift_JIS",
    ("gb18030", "中文€"): "gb2312 x-gbk",
    ("big5", "中文"): "big5",
    ("cp949", "한국똠"): "euc-kr ks_c_5601-1987",
    ("euc_jp", "日本"): "euc-jp",
    ("iso2022_jp", "日本"): "iso-2022-jp",
    ("cp1254", "İstanbul€"): "iso-8859-9 x-cp1254",
    ("cp874", "ไทย"): "tis-620",
    ("iso8859-8", "שלום"): "iso-8859-8-i",
    ("mac-roman", "Café"): "macintosh",
    ("utf-8", "Café"): "unicode-1-1-utf-8 utf8",
    ("iso8859-5", "Привет"): "iso88595",
    ("iso8859-6", "سلام"): "iso-8859-6-i",
}


@pytest.mark.parametrize(
    ("label", "codec", "title"),
    [(label, *written) for written, labels in LABELS_OF.items() for label in labels.split()],
)
def test_labels_are_those_of_browsers(label: str, codec: str, title: str) -> None:
    check_title(title, codec, charset=label)
    check_title(title, codec, declared=label)


# UTF-16 is recognised by its bytes; the others are no encodings of text.
def test_every_label_of_the_encoding_standard_names_an_encoding() -> None:
    unknown = {name for label, name in LABELS.items() if encoding.resolve(label) is None}
    assert unknown == {"utf-16le", "utf-16be", "replacement", "x-user-defined"}


def test_cut_character_at_the_end_does_not_change_the_encoding() -> None:
    document = read_as(feed("Café", "latin1").replace("</feed>", "<id>é").encode()[:-1], "utf-8")
    assert document.title == "Café"
    assert document.fault


FALSE_UTF_8 = pytest.mark.parametrize(
    ("charset", "declared"), [(None, None), (None, "utf-8"), ("utf-8", None), ("utf-8", "utf-8"), ("x", None)]
)


@FALSE_UTF_8
def test_stray_bytes_in_utf_8_are_windows_1252_one_by_one(charset: str | None, declared: str | None) -> None:
    body = feed("é日本語ø X", declared).encode().replace(b"X", b"\xe9 \x93x\x94 \x81")
    document = read_as(body, charset)
    assert (document.title, document.fault) == ("é日本語ø é “x” \x81", None)
    assert not_well_formed(document) == [STRAY]


# An accented letter, a no-break space and a guillemet have the bytes of one character of UTF-8.
@FALSE_UTF_8
@pytest.mark.parametrize("title", ["il est doué\xa0» été", "doué\xa0» é", "È\xa0» … €“ø”"])
def test_windows_1252_is_never_read_as_utf_8_in_part(
    charset: str | None, declared: str | None, title: str
) -> None:
    document = read_as(feed(title, declared).encode("cp1252"), charset)
    assert (document.title, document.fault) == (title, None)
    assert not_well_formed(document) == ["it is not UTF-8 and is read as windows-1252"]


# The document is mostly UTF-8, or mostly not, as its last title has more letters or fewer.
@pytest.mark.parametrize("number", [1, 100])
@pytest.mark.parametrize("link", ["{}", "<![CDATA[{}]]> ", "\n{}&amp;"])
@pytest.mark.parametrize("own", ["http://e/café-日本", "http://e/doué\xa0»", "http://e/?a&amp;é"])
def test_ids_do_not_depend_on_the_encoding_of_other_entries(number: int, link: str, own: str) -> None:
    given = link.format(own)
    items = f"<item><guid>{given}</guid></item><item><link>{given}</link></item>".encode()
    others = f"<item><guid>thé</guid><title>{'é ' * number}</title></item>".encode("cp1252")
    document = read_as(b"<rss><channel>%b%b</channel></rss>" % (items, others))
    expected = own if "CDATA" in link else given.strip().replace("&amp;", "&")
    assert [entry.id or entry.link for entry in document.entries] == [expected, expected, "thé"]


@pytest.mark.parametrize(
    ("codec", "declared", "charset", "octets", "title", "problems"),
    [
        # A byte order mark is believed; surrogates are dropped.
        ("utf-8-sig", None, None, b"\xe9\xe8", "日éè", ["repaired"]),
        ("utf-8", None, None, b"\xed\xa0\x80", "日", ["repaired"]),
        # False UTF-8 gives way to what is declared. What no claimed encoding knows is replaced.
        ("cp932", "shift_jis", "utf-8", b"\x81\xff", "日\ufffd", ["repaired"]),
        ("cp932", "shift_jis", None, b"\x81\xff", "日\ufffd", ["repaired"]),
        ("utf-16-le", None, None, b"\x00\xd8", "日\ufffd", []),
        # An octet of windows-1252 without a character is the control of its number.
        ("utf-8", None, "iso-8859-1", b"\x81\x93", "æ—¥\x81“", []),
    ],
)
def test_octets_that_are_no_characters_lose_themselves(
    codec: str, declared: str | None, charset: str | None, octets: bytes, title: str, problems: list[str]
) -> None:
    body = feed("日X", declared).encode(codec).replace("X".encode(codec.removesuffix("-sig")), octets)
    document = read_as(codecs.BOM_UTF16_LE + body if codec == "utf-16-le" else body, charset)
    assert (document.title or "").startswith(title)
    assert (kinds(document), document.fault) == (problems, None)


# XML 1.0, F.1: what begins with '<' in two bytes is UTF-16.
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", [None, "utf-16", "utf-8", "iso-8859-1"])
@pytest.mark.parametrize("charset", [None, "utf-16", "utf-16le", "utf-8"])
@pytest.mark.parametrize("start", ["", "\r\n ", "\ufeff"])
def test_utf_16_is_read(codec: str, declared: str | None, charset: str | None, start: str) -> None:
    document = read_as((start + feed("Café 日 😀", declared)).encode(codec), charset)
    assert (document.title, document.problems, document.fault) == ("Café 日 😀", [], None)


def test_utf_16_feed_that_is_cut_keeps_its_complete_entries() -> None:
    entry = "<entry><id>urn:é</id><title>t</title></entry>"
    document = read_as(f'<feed xmlns="{ATOM}">{entry}<entry><id>urn:2'.encode("utf-16"))
    assert ids(document) == ["urn:é"]
    assert document.fault


@pytest.mark.parametrize("charset", [None, "utf-8", "UTF8", "x-unknown"])
@pytest.mark.parametrize("declared", [None, "utf-8", "UTF-8"])
def test_document_that_is_claimed_to_be_utf_8_is_not_decoded(
    charset: str | None, declared: str | None
) -> None:
    body = feed("Café", declared).encode()
    source, _repair = encoding.source(body, charset)
    assert source is body


@given(
    body=st.binary(max_size=60),
    charset=st.sampled_from([None, "utf-8", "latin1", "utf-16", "big5", "gbk", "x"]),
)
def test_any_bytes_have_a_text(body: bytes, charset: str | None) -> None:
    encoding.text(body, charset)[0].encode()
    encoding.source(body, charset)


TITLES = st.text(st.characters(codec="utf-8", min_codepoint=0x20, exclude_characters="<&]\x7f\ufffe\uffff"))


@given(title=TITLES)
def test_any_title_is_read_from_utf_8_and_utf_16(title: str) -> None:
    for codec in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be"):
        assert read_as(feed(title).encode(codec)).title == (title.strip() or None)


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", ["utf-16", "windows-1252"])
def test_comment_before_the_declaration_is_dropped_in_utf_16_too(codec: str, declared: str) -> None:
    document = read_as(f"<!-- a -->{feed('é', declared)}".encode(codec), "windows-1252")
    assert (document.title, document.fault) == ("é", None)
