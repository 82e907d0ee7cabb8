"""Lists of feeds."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fhcrawl.crawling.subscriptions import (
    EXAMPLE,
    FeedOptions,
    from_arguments,
    from_file,
    from_words,
    with_subscribed,
)
from fhcrawl.exceptions import ArgumentError

A, B, C = "http://example.org/a", "https://example.org/b?x=1", "https://[::1]:8080/c"

OPML = f"""<?xml version="1.0"?><opml version="2.0"><head><title>Mine</title></head><body>
<outline text="News"><outline type="rss" text="A" xmlUrl="{A}"/><outline text="no feed"/></outline>
<outline type="rss" text="B" xmlUrl=" {B} "/></body></opml>"""


def refusals(path: Path) -> str:
    try:
        return "\n".join(from_arguments(None, str(path)).refused)
    except ArgumentError as error:
        return str(error)


def test_feed_argument_is_urls_separated_by_spaces() -> None:
    assert list(from_arguments(f"{A}  {B}\n{C}", None)) == [A, B, C]
    assert from_arguments(None, None) == {}
    for feed, feeds in (("", None), (None, ""), (" ", None)):
        with pytest.raises(ArgumentError, match=r"[Nn]o feed"):
            from_arguments(feed, feeds)


@pytest.mark.parametrize(
    "content",
    [f"\ufeff# mine\r\n{A}\t# first\r\n\r\n  {B} # the second\r\n{A}\n", OPML],
    ids=["lines", "OPML"],
)
def test_list_is_a_url_a_line_with_comments_or_opml(tmp_path: Path, content: str) -> None:
    listed = tmp_path / "list"
    listed.write_text(content, newline="")
    assert list(from_arguments(f"{C} {A}", str(listed))) == [C, A, B]


OPTIONS = {
    "nxt = 1": "there is no option nxt; valid options: headers, ids, limit, merge_renamed, next, pla",
    'web_archive = "archive.org"': "web_archive is archive.org, which is not a web archive: use",
    "snapshot = 1": "snapshot: 1 is not a URL",
    'next = "x"': "next must be archive or page, not x",
    "limit = -1": "limit must be a number of up to 18 digits, not -1",
    'reversed = "perhaps"': "reversed must be 1 or 0, not perhaps",
    "headers = {X = 1}": 'headers must be a table of strings: headers = {Name = "value"}',
    "[[": "is not a list of feeds in TOML",
    f"limit = {'9' * 19}": "limit must be a number of up to 18 digits, not 999",
    f"limit = '{'9' * 5000}'": "limit must be a number of up to 18 digits, not 999",
    "a=" + "[" * 10_000: "is not a list of feeds in TOML (",
    f"limit = 0x{'f' * 6000}": "is not a list of feeds in TOML (",
}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("# nothing\n", "There are no feeds in"),
        (f"{A}\nexample\n", "line 2: example is not the URL of a feed; use https://example.org"),
        (f"{A}\nlist.opml\n", "line 2: list.opml is not the URL of a feed; use fhcrawl crawl --feeds"),
        ("http://[::1\n", "line 1: http://[::1 is not the URL of a feed"),
        ("http://127.0.0.1:99999/x\n", "is not the URL of a feed"),
        ("http://127.0.0.1:abc/x\n", "is not the URL of a feed"),
        ("http://example.org/a http://example.org/b\n", "is not the URL of a feed"),
        ('http://example.org/a "tag"\n', "is not the URL of a feed"),
        ("http://example org/a\n", "is not the URL of a feed"),
        ("feed:///a\n", "is not the URL of a feed"),
        ("feed:file:///etc/passwd\n", "is a local file, file:///etc/passwd"),
        ("mailto:x@example.org\n", "line 1: mailto:x@example.org is not"),
        ("a\nb\nc\nd\ne\nf\ng\n", f"line 5: e is not the URL of a feed; use {EXAMPLE}; and 2 more"),
        ("<rss/>", "is neither a list of URLs nor OPML: its root element is rss"),
        ("<html><body>", "is neither a list of URLs nor OPML: it is an HTML page"),
        ("<opml/>", "There are no feeds in"),
        ("http:///path\n", "is not the URL of a feed"),
        ("<opml><body>", "is neither a list of URLs nor OPML"),
        ('<opml><outline xmlUrl="mailto:x@example.org"/></opml>', "line 1: mailto:x@example.org is not"),
        ("https://ann:s3cret@example.org/a\n", "use https://example.org/a with HTTPAUTH_USER"),
        ("feed://ann:s3cret@example.org/a\n", "use https://example.org/a with HTTPAUTH_USER"),
        ('<opml><outline xmlUrl="ann:s3&#10;cret@example.org/a"/></opml>', "line 1: example.org/a is not"),
        (f"{':' * 100_000}\n", "is not the URL of a feed"),
        ("ann:s3cret@example.org/a\n", "line 1: example.org/a is not the URL of a feed"),
        ("https://ann:s3/cret@example.org/a\n", "line 1: https://example.org/a is not the URL of a feed"),
        ('<opml><outline xmlUrl="https://ann:s3cret@x.example/"x/></opml>', "line 1"),
        ('<opml><outline a="b"c" xmlUrl="https://ann:s3cret@x.org/a"/>', "line 1, https://x.org/a, is not"),
        ("ftp://ann:s3cret@example.org/a\n", "line 1: ftp://example.org/a is not the URL of a feed"),
        ("https://ann:s3cret@[::1/a\n", "line 1: https://[::1/a is not the URL of a feed"),
        ("nonsense\x1b[31m\n", "line 1: nonsense\\x1b[31m is not the URL of a feed"),
        *((f'[[feed]]\nurl = "{A}"\n{option}\n', sentence) for option, sentence in OPTIONS.items()),
    ],
    ids=lambda text: text[:40],
)
def test_list_that_cannot_be_used_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    listed = tmp_path / ("list.toml" if content.startswith("[[") else "list")
    listed.write_text(content)
    reported = refusals(listed)
    assert sentence in reported
    assert "cret" not in reported


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("example.org/feed", "https://example.org/feed"),
        ("localhost:8000", "https://localhost:8000/"),
        ("//example.org/feed", "https://example.org/feed"),
        ("feed://example.org/a.xml", "https://example.org/a.xml"),
        ("Feed:https://example.org/a.xml", "https://example.org/a.xml"),
        ("feed://http://example.org/a.xml", "http://example.org/a.xml"),
        ("feed:example.org/a.xml", "https://example.org/a.xml"),
        ("itpc://example.org/a.xml", "https://example.org/a.xml"),
        ("https://example.org/e f.xml?q=a b", "https://example.org/e%20f.xml?q=a%20b"),
        ("https://example.org/e\u00a0f\t.xml", "https://example.org/e%C2%A0f.xml"),
    ],
)
def test_url_that_a_list_writes_otherwise_is_read(tmp_path: Path, given: str, url: str) -> None:
    listed = tmp_path / "list"
    listed.write_text(given)
    assert list(from_file(listed)) == [url]
    if "\t" not in given:  # XML 1.0, 3.3.3: it is a space in an attribute
        listed.write_text(f'<opml><outline xmlUrl="{given}"/></opml>')
        assert list(from_file(listed)) == [url]
    if given.startswith("feed:"):
        assert list(from_arguments(given, None)) == list(from_words([given])) == [url]


BAD_OUTLINES = f"""<opml version="2.0"><body>
<outline text="News"><outline text="One" xmlUrl="{A}" htmlUrl="https://example.org/?a=1&b=2"/></outline>
<OUTLINE title="Two" XMLURL="https://example.org/2" FHNEXT="archive"/>
<outline text="P" xmlUrl="https://ann:s3cret@example.org/p"/>
<outline text="Q" xmlUrl="{C}" fhNext="perhaps"/>
<outline text="R" type="rss"/>
<outline text="The "S" show" xmlUrl="https://example.org/s"/>
<outline text="Three" text="Three" xmlUrl="https://example.org/3"/>
</body></opml>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_bad_outlines_are_named_and_the_others_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "list.opml"
    path.write_text(OPML[: OPML.index('<outline type="rss" text="B"')])
    assert (list(from_file(path)), len(from_file(path).refused)) == ([A], 1)
    path.write_text(BAD_OUTLINES, encoding)
    listed = from_arguments(None, str(path))
    two, three = "https://example.org/2", "https://example.org/3"
    assert listed == {A: FeedOptions(), two: FeedOptions("archive"), three: FeedOptions()}
    assert listed.titles == {A: "One", two: "Two", three: "Three"}
    begins = [
        "line 4 (P): the URL of a feed must not contain a user name or a password; use "
        "https://example.org/p with",
        f"line 5 (Q), {C}: next must be archive or page, not perhaps",
        "line 6 (R): xmlUrl is missing; add",
        "line 7 (The), https://example.org/s, is not well-formed: ",
        "line 8 is not well-formed: Attribute text redefined",
    ]
    assert len(listed.refused) == len(begins)
    for sentence, begin in zip(listed.refused, begins, strict=True):
        assert sentence.startswith(f"{path}, {begin}")


def test_bad_tables_and_lines_are_named_and_the_others_read(tmp_path: Path) -> None:
    text, toml = tmp_path / "list.txt", tmp_path / "list.toml"
    text.write_text(f"{A}\nnonsense\n{C}\n")
    toml.write_text(f'[[feed]]\nurl = "{A}"\nlimit = "x"\n[[feed]]\nurl = "{C}"\n')
    assert (list(from_file(text)), len(from_file(text).refused)) == ([A, C], 1)
    listed = from_words([str(toml)])
    assert (list(listed), len(listed.refused)) == ([C], 1)
    assert listed.refused[0].startswith(f"{toml}, feed 1, {A}: limit must be a number of up to 18 ")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("example.org/feed?x=1", "https://example.org/feed?x=1"),
        *(("localhost:8000/feed", "https://localhost:8000/feed"), ("10.0.0.1", "https://10.0.0.1")),
        *(("../lists/index.atom", "file://{}/index.atom"), (".", "file://{}/")),
        ("../missing.atom", EXAMPLE),
        ("https", EXAMPLE),
        ("list.opml", "fhcrawl crawl --feeds list.opml"),
        ("../lists/mine.txt", "fhcrawl crawl --feeds ../lists/mine.txt"),
        ("example.org/list.opml", "https://example.org/list.opml"),
        (f"x{'.x' * 3000};", EXAMPLE),
        ("ann:s3cret@example.org/feed", EXAMPLE),
    ],
)
def test_what_is_no_url_gets_the_one_that_is_probably_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, meant: str
) -> None:
    folder = tmp_path / "lists"
    folder.mkdir()
    (folder / "index.atom").touch()
    (folder / "mine.txt").touch()
    monkeypatch.chdir(folder)
    with pytest.raises(ArgumentError) as refused:
        from_arguments(word, None)
    assert str(refused.value).endswith(f"is not the URL of a feed; use {meant.format(folder)}")


@pytest.mark.parametrize(
    ("words", "apart"),
    [
        (f"{A},{B}", f"{A} {B}"),
        (f"{A}, {B}", f"{A} {B}"),
        (f"{A} ,{B},", f"{A} {B}"),
        (f"{A},file:///x", f"{A} file:///x"),
        ("a.example.org,b.example.org", "a.example.org b.example.org"),
        ("https://ann:s3cret@example.org/,http://example.org/", "https://example.org/ http://example.org/"),
    ],
)
def test_commas_between_feeds_are_refused(words: str, apart: str) -> None:
    sentence = f"separate URLs with spaces, not commas: {apart}; if"
    with pytest.raises(ArgumentError, match=f"^{re.escape(sentence)}"):
        from_arguments(words, None)


def test_commas_within_urls_are_theirs(tmp_path: Path) -> None:
    urls = ["https://example.org/a,b?c=1,2", "https://example.org/via,https://example.org/x"]
    assert list(from_arguments(urls[0], None)) == urls[:1]
    (tmp_path / "list").write_text("\n".join(urls))
    assert list(from_arguments(None, str(tmp_path / "list"))) == urls
    with pytest.raises(ArgumentError, match="Cannot read"):
        from_arguments(None, str(tmp_path))


TOML = f"""
[[feed]]
url = "{A}"
[[feed]]
url = "{B}"
next = "archive"
reversed = true
limit = 7
platforms = false
probe = true
merge_renamed = true
snapshot = "{C}"
web_archive = "wayback"
headers = {{Authorization = "Bearer x"}}
"""
OUTLINE = (
    f'<opml><outline xmlUrl="{A}" fhNext="archive" fhReversed="1" fhMergeRenamed="1" fhProbe="1"/></opml>'
)


def test_lists_have_options(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    some = FeedOptions("archive", reversed=True, merge_renamed=True, probe=True)
    every = replace(some, limit=7, headers={"Authorization": "Bearer x"}, platforms=False, snapshot=C)
    every = replace(every, web_archive="https://web.archive.org/web")
    listed.write_text(OUTLINE)
    assert from_arguments(None, str(listed)) == {A: some}
    toml = listed.with_suffix(".toml")
    toml.write_text(TOML)
    assert from_arguments(None, str(toml)) == {A: FeedOptions(), B: every}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.txt", f"{A}\nFILE:///srv/feeds/index.atom\n"),
        ("list.opml", '<opml><outline xmlUrl=" file:///srv/feeds/index.atom"/></opml>'),
        ("list.toml", '[[feed]]\nurl = "file:///srv/feeds/index.atom"\n'),
    ],
)
def test_list_names_files_only_if_it_may(tmp_path: Path, name: str, content: str) -> None:
    assert list(from_arguments("file:///srv/feeds/index.atom", None)) == ["file:///srv/feeds/index.atom"]
    listed = tmp_path / name
    listed.write_text(content)
    assert re.search(r"is a local file, (?i:file):///srv/", refusals(listed))
    assert list(from_arguments(None, str(listed), may_list_files=True))[-1].lower().startswith("file:///srv")


@pytest.mark.parametrize(
    ("feed", "snapshot", "sentence"),
    [
        (None, B, "A snapshot requires a feed; add the feed's URL, or "),
        (f"{A} {C}", B, "applies to only one feed"),
        (A, "HTTP://example.org:80/a", "is the URL of the feed itself; use "),
        (A, "snapshot", "is not the URL of a feed; use https://example"),
    ],
)
def test_snapshot_that_cannot_be_used(feed: str | None, snapshot: str, sentence: str) -> None:
    assert from_arguments(A, None, B) == {A: FeedOptions(snapshot=B)}
    with pytest.raises(ArgumentError, match=sentence):
        from_arguments(feed, None, snapshot)


def test_feeds_without_options_have_those_of_their_subscriptions() -> None:
    subscribed = {"http://x/a": {"reversed": True, "snapshot": "http://x/s"}}
    stored = FeedOptions(reversed=True, snapshot="http://x/s")
    given = {"http://x/a": FeedOptions(), "http://x/b": FeedOptions()}
    assert with_subscribed(given, subscribed) == {"http://x/a": stored, "http://x/b": FeedOptions()}
    snapshot = with_subscribed({"http://x/a": FeedOptions(snapshot="http://x/t")}, subscribed)
    assert snapshot == {"http://x/a": FeedOptions(reversed=True, snapshot="http://x/t")}
    own = {"http://x/a": FeedOptions(limit=0)}
    assert with_subscribed(own, subscribed) == own


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.txt", "{}\n{}\n"),
        ("list.toml", '[[feed]]\nurl = "{}"\n[[feed]]\nurl = "{}"\n'),
        ("list.opml", '<opml><body><outline xmlUrl="{}"/><outline xmlUrl="{}"/></body></opml>'),
    ],
)
def test_spellings_of_a_url_are_one_feed(tmp_path: Path, name: str, content: str) -> None:
    first, second = "HTTP://Bücher.example:80/%7Ea?b#c", "http://xn--bcher-kva.example/./~a?b"
    as_given = "http://Bücher.example/%7Ea?b"
    (tmp_path / name).write_text(content.format(first, second))
    assert list(from_file(tmp_path / name)) == [as_given]
    assert list(from_words([second, str(tmp_path / name)])) == [second]
    assert list(from_arguments(f"{first} {second}", name, base=tmp_path)) == [as_given]


def test_options_and_title_of_a_later_spelling_count(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text(
        '<opml><outline xmlUrl="http://x/~a"/><outline xmlUrl="http://x/%7ea" text="T" fhLimit="3"/></opml>'
    )
    feeds = from_words(["http://x/%7Ea", str(listed)])
    assert feeds == {"http://x/%7Ea": FeedOptions(limit=3)}
    assert feeds.titles == {"http://x/%7Ea": "T"}


OUTLINES = {
    '<outline type="rss" xmlurl="{}"/>': [A],
    '<outline TYPE="RSS" XMLURL="{}" category="/News,/Tech"/>': [A],
    '<outline type="rss" url="{}"/>': [A],
    '<outline type="link" url="{}"/>': [A],
    '<outline text="Page" xmlUrl="" htmlUrl="{}"/>': [A],
    '<outline text="T" xmlUrl="{}" htmlUrl="https://example.org/"/>': [A],
    '<outline type="include" url="{}"/>': [],
    '<outline isComment="true" xmlUrl="{}"/>': [],
    '<outline iscomment="True"><outline><outline xmlUrl="{}"/></outline></outline>': [],
    '<outline isComment="false" xmlUrl="{}"/>': [A],
    '<outline text="Folder" htmlUrl="https://example.org/"><outline htmlUrl="{}"/></outline>': [A],
}


@pytest.mark.parametrize(("outline", "feeds"), OUTLINES.items(), ids=OUTLINES)
def test_outlines_as_applications_write_them(tmp_path: Path, outline: str, feeds: list[str]) -> None:
    listed = tmp_path / "list.opml"
    listed.write_text(f'<opml><body>{outline.format(A)}<outline xmlUrl="{B}"/></body></opml>')
    found = from_file(listed)
    assert (list(found), found.refused) == ([*feeds, B], [])
