import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fhcrawl.documents.links import Links, header_links, header_targets
from tests.feeds import URL

IANA = "http://www.iana.org/assignments/relation/"

# Each is a link to /1, which is the previous document.
PREV = (
    *('</1>; rel="prev', "< /1 >; rel=prev", '</1>; rel="pr\\ev"', "junk, </1>; rel=prev"),
    *("</1> ; rel = prev ; x", "</1>; rel=prev; rel=next", '</1>; rel=prev; anchor=""'),
    *('</1>; rel=prev; ANCHOR="feed"', '</1>; title="a" junk; rel=prev'),
    *('"junk; rel=next, </1>; rel=prev', "http://feeds.example/1; rel=prev"),
    *('</1>; title="a=b"; crossorigin; rel=prev', '</1>; title="a, </2>; rel=next"; rel=prev'),
    '</1>; title="a\\", </2>; rel=next"; rel=prev',
    '</1>; rel=prev; anchor="http://feeds.example/dir/feed"',
)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], {}),
        *(([value], {"prev": "/1"}) for value in PREV),
        (["", " , ,", ";"], {}),
        # RFC 8288, 3.5: its own examples
        (
            ['<http://example.com/TheBook/chapter2>; rel="previous"; title="previous chapter"'],
            {"previous": "http://example.com/TheBook/chapter2"},
        ),
        (['</>; rel="http://example.net/foo"'], {"http://example.net/foo": "/"}),
        (['</terms>; rel="copyright"; anchor="#foo"'], {}),
        (
            [
                "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, "
                "</TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel"
            ],
            {"previous": "/TheBook/chapter2", "next": "/TheBook/chapter4"},
        ),
        (
            ['<http://example.org/>; rel="start http://example.net/relation/other"'],
            {"start": "http://example.org/", "http://example.net/relation/other": "http://example.org/"},
        ),
        # several lines
        (["</1>; rel=prev", "</3>; rel=next"], {"prev": "/1", "next": "/3"}),
        (["</1>; rel=self", "</2>; rel=self"], {"self": "/1"}),
        (["</1>; rel=self, </2>; rel=SELF"], {"self": "/1"}),
        # quotes
        (["</1>; rel='prev'"], {"'prev'": "/1"}),
        (["</1>; rel=prev archive, </2>; rel=next"], {"prev": "/1", "archive": "/1", "next": "/2"}),
        # targets
        (["</a,b;c>; rel=prev"], {"prev": "/a,b;c"}),
        (["<../x?y#z>; rel=prev"], {"prev": "/x?y"}),
        (["<>; rel=self"], {"self": URL}),
        (["<#top>; rel=self"], {"self": URL}),
        (["<//other.example/>; rel=prev"], {"prev": "http://other.example/"}),
        (["<http://[>; rel=prev"], {"prev": "http://["}),
        # without angle brackets
        (["/1;rel=prev,/3 ; rel=next, </2>; rel=self"], {"prev": "/1", "next": "/3", "self": "/2"}),
        # relations
        (["</1>; REL=Prev-Archive"], {"prev-archive": "/1"}),
        ([f"</1>; rel={IANA}prev-archive"], {"prev-archive": "/1"}),
        (
            ['</1>; rel="HTTPS://www.IANA.org/assignments/link-relations/#Next  self"'],
            {"next": "/1", "self": "/1"},
        ),
        (["</1>", "</1>; rev=prev", "</1>; rel=", '</1>; rel=" "'], {}),
        # anchors
        (['</1>; rel=prev; anchor="http://other.example/"', "</2>; rel=prev"], {"prev": "/2"}),
        (["</1>; anchor=/2; rel=prev"], {}),
        # what is no link loses itself
        (["</1; rel=next, </2>; rel=prev"], {"next": "/1", "prev": "/2"}),
        (["</1> junk; rel=next, </2>; rel=prev"], {"prev": "/2"}),
        (["</0>; rel=prev, junk"], {"prev": "/0"}),
        ([",, </1>; rel=prev ,,, </2>; rel=next,"], {"prev": "/1", "next": "/2"}),
    ],
)
def test_links_are_read_by_relation(values: list[str], expected: dict[str, str]) -> None:
    host = "http://feeds.example"
    absolute = {relation: host + url if url.startswith("/") else url for relation, url in expected.items()}
    assert header_links(values, URL).first == absolute


def test_fragment_of_the_response_is_no_part_of_any_link() -> None:
    values = ["<>; rel=self", "<?x>; rel=next; anchor=feed"]
    assert header_links(values, f"{URL}#top").first == {"self": URL, "next": f"{URL}?x"}


def test_links_keep_their_order_their_repetitions_and_their_fragments() -> None:
    targets = header_targets(["<a#1>; rel=about, <b>; rel=self", "<a#2>; rel=about"], "http://e.example/")
    paths = [("about", "a#1"), ("self", "b"), ("about", "a#2")]
    assert list(targets) == [(relation, f"http://e.example/{path}") for relation, path in paths]


PIECES = st.sampled_from(
    ["<", ">", ",", ";", '"', "\\", "=", " ", "rel", "prev", "anchor", "http://", "//[", "#", "/a"]
)
VALUES = st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=20).map("".join)


@settings(deadline=None, max_examples=300)
@given(values=st.lists(VALUES, max_size=3), url=st.sampled_from([URL, "", "file:///a", "http://["]))
def test_arbitrary_values_raise_nothing(values: list[str], url: str) -> None:
    for relation, target in header_links(values, url).first.items():
        assert relation == relation.lower()
        assert target
        assert "#" not in target


TITLES = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=12)
PATHS = st.from_regex(r"/[a-z,;=]{0,8}x", fullmatch=True)
WRITTEN = st.tuples(st.sampled_from(["prev", "next", "self"]), PATHS, TITLES)


@settings(deadline=None, max_examples=200)
@given(written=st.lists(WRITTEN, max_size=4), joined=st.booleans())
@example(written=[("prev", "/a", '"\\'), ("next", "/b", ",")], joined=True)
def test_written_links_are_read_back(written: list[tuple[str, str, str]], joined: bool) -> None:
    values = []
    for relation, path, title in written:
        quoted = title.replace("\\", "\\\\").replace('"', '\\"')
        values.append(f'<{path}>; title="{quoted}"; rel="{relation}"')
    expected = {relation: f"http://feeds.example{path}" for relation, path, _ in reversed(written)}
    assert header_links([", ".join(values)] if joined else values, URL).first == expected


HOSTILE = ("", ","), ("", "a,"), ("", "a "), ("", "<"), ("", "<,"), ("", '"'), ("", ";"), ("<a>", " ")


@pytest.mark.parametrize(
    ("begin", "repeated", "end"),
    [
        *((*each, "") for each in HOSTILE),
        *(("<a>;rel", " ", "x"), ("", "<a>;", ""), ('<a>;x="', "\\", ""), ("", '<a>;x=",', "")),
    ],
)
def test_hostile_value_takes_no_longer_than_its_length_deserves(begin: str, repeated: str, end: str) -> None:
    value = begin + repeated * (60_000 // len(repeated)) + end
    start = time.process_time()
    header_links([value], URL)
    assert time.process_time() - start < 2


# --- contradicting links


def others(*urls: str) -> list[str]:
    links = Links()
    for url in urls:
        links.add("prev-archive", url)
    assert links.first == {"prev-archive": urls[0]}
    return links.others.get("prev-archive", [])


@pytest.mark.parametrize(
    ("url", "other", "is_same"),
    [
        *(
            ("http://h.example/a", "http://H.Example/a", True),
            ("http://h.example", "http://h.example/", True),
        ),
        *(("http://h.example/a", f"http://h.example:{port}/a", True) for port in ("80", "")),
        ("https://h.example:443/a", "https://h.example/a", True),
        ("http://h.example/~a?b=-", "http://h.example/%7ea?b=%2D", True),
        ("http://h.example/%c3%a9", "http://h.example/%C3%A9", True),
        ("http://h.example/%C3%A9", "http://h.example/\u00e9", True),
        ("http://h.example/a", "https://h.example/a", False),
        *(("http://h.example/a", f"http://h.example/{path}", False) for path in ("a/", "A")),
        ("http://h.example/a", "http://h.example:443/a", False),
        ("http://h.example/a/b", "http://h.example/a%2Fb", False),
        ("http://h.example/?a=%26", "http://h.example/?a=&", False),
        *(("http://h.example/a", other, False) for other in ("http://[/a", "")),
    ],
)
def test_another_spelling_of_a_url_is_the_same_one(url: str, other: str, is_same: bool) -> None:
    assert others(url, other) == ([] if is_same else [other])
    assert not is_same or others(other, url) == []


def test_the_same_other_url_is_kept_once_and_not_too_many_are() -> None:
    assert others("http://h/", "http://h/1", "http://h/1") == ["http://h/1"]
    assert len(others("http://h/", *(f"http://h/{n}" for n in range(20)))) == 10
