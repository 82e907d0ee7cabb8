"""Lists of feeds."""

import re
from pathlib import Path

import pytest

from fhcrawl.crawling.subscriptions import EXAMPLE, FeedOptions, from_arguments, with_subscribed
from fhcrawl.exceptions import ArgumentError

NINES = "9" * 5000
A, B, C = "http://example.org/a", "https://example.org/b?x=1#top", "https://[::1]:8080/c"

OPML = f"""<?xml version="1.0"?><opml version="2.0"><head><title>Mine</title></head><body>
<outline text="News"><outline type="rss" text="A" xmlUrl="{A}"/><outline text="no feed"/></outline>
<outline type="rss" text="B" xmlUrl=" {B} "/></body></opml>"""


def test_feed_argument_is_urls_separated_by_spaces() -> None:
    assert list(from_arguments(f"{A}  {B}\n{C}", None)) == [A, B, C]


def test_no_argument_names_no_feed_and_an_empty_one_is_refused() -> None:
    assert from_arguments(None, None) == {}
    for feed, feeds in (("", None), (None, ""), (" ", None)):
        with pytest.raises(ArgumentError, match=r"[Nn]o feed"):
            from_arguments(feed, feeds)


def test_feed_named_twice_is_crawled_once(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"{A}\n{C}\n{A}\n")
    assert list(from_arguments(f"{A} {B}", str(listed))) == [A, B, C]


def test_list_is_a_url_a_line_with_comments(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_bytes(f"\ufeff# mine\r\n{A}\t# first\r\n\r\n  {B} # the second\r\n".encode())
    assert list(from_arguments(None, str(listed))) == [A, B]


def test_list_can_be_opml(tmp_path: Path) -> None:
    listed = tmp_path / "list.opml"
    listed.write_text(OPML)
    assert list(from_arguments(None, str(listed))) == [A, B]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("# nothing\n", "There is no feed in"),
        (f"{A}\nexample.org\n", "line 2: example.org is not the URL of a feed; write https://example.org"),
        ("http://[::1\n", "line 1: http://[::1 is not the URL of a feed"),
        ("http://127.0.0.1:99999/x\n", "is not the URL of a feed"),
        ("http://127.0.0.1:abc/x\n", "is not the URL of a feed"),
        ("http://example.org/a b\n", "is not the URL of a feed"),
        ("http:///path\n", "is not the URL of a feed"),
        ("<opml><body>", "is neither a list of URLs nor OPML"),
        ('<opml><outline xmlUrl="mailto:x@example.org"/></opml>', "line 1: mailto:x@example.org is not"),
        ("https://ann:s3cret@example.org/a\n", "write https://example.org/a with HTTPAUTH_USER"),
        ("ftp://ann:s3cret@example.org/a\n", "line 1: ftp://example.org/a is not the URL of a feed"),
        ("https://ann:s3cret@[::1/a\n", "line 1: https://[::1/a is not the URL of a feed"),
        ("nonsense\x1b[31m\n", "line 1: nonsense\\x1b[31m is not the URL of a feed"),
    ],
)
def test_list_that_cannot_be_used_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    listed = tmp_path / "list"
    listed.write_text(content)
    with pytest.raises(ArgumentError) as refused:
        from_arguments(None, str(listed))
    assert sentence in str(refused.value)


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
    assert str(refused.value).endswith(f"is not the URL of a feed; write {meant.format(folder)}")


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
    sentence = f"URLs are separated by spaces, and not by commas; write {apart}, or"
    with pytest.raises(ArgumentError, match=f"^feed: {re.escape(sentence)}"):
        from_arguments(words, None)


def test_commas_within_urls_are_theirs(tmp_path: Path) -> None:
    urls = ["https://example.org/a,b?c=1,2", "https://example.org/via,https://example.org/x"]
    assert list(from_arguments(urls[0], None)) == urls[:1]
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(urls))
    assert list(from_arguments(None, str(listed))) == urls


def test_folder_is_no_list(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot be read"):
        from_arguments(None, str(tmp_path))


def test_list_can_be_toml_with_options(tmp_path: Path) -> None:
    listed = tmp_path / "list.toml"
    listed.write_text(
        f"""
        [[feed]]
        url = "{A}"

        [[feed]]
        url = "{B}"
        next = "archive"
        reversed = true
        limit = 7
        wordpress = true
        merge_renamed = true
        web_archive = "wayback"
        headers = {{Authorization = "Bearer x"}}
        """
    )
    assert from_arguments(None, str(listed)) == {
        A: FeedOptions(),
        B: FeedOptions(
            "archive",
            True,
            7,
            {"Authorization": "Bearer x"},
            wordpress=True,
            merge_renamed=True,
            web_archive="https://web.archive.org/web",
        ),
    }


def test_opml_attributes_are_options(tmp_path: Path) -> None:
    listed = tmp_path / "list.opml"
    listed.write_text(
        f'<opml><outline xmlUrl="{A}" fhNext="archive" fhReversed="1" fhMergeRenamed="1"/></opml>'
    )
    assert from_arguments(None, str(listed)) == {A: FeedOptions("archive", reversed=True, merge_renamed=True)}
    listed.write_text(f'<opml><outline xmlUrl="{A}" fhLimit="{NINES}"/></opml>')
    with pytest.raises(ArgumentError, match=r"limit is 9.*: write a number of up to 18 digits"):
        from_arguments(None, str(listed))


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("nxt = 1", "there is no option nxt; write one of headers, limit, merge_renamed, next, rev"),
        ('web_archive = "archive.org"', "web_archive is archive.org, which is no web archive: write wayback"),
        *(('next = "x"', "next is x: write archive, or page"), ("limit = -1", "limit is -1: write a number")),
        ('reversed = "perhaps"', "reversed is perhaps: write 1 or 0"),
        *(("headers = {X = 1}", 'write headers = {Name = "value"}'), ("[[", "is no list of feeds in TOML")),
        (f"limit = {'9' * 19}", "write a number of up to 18 digits"),
        (f"limit = {NINES}", "is no list of feeds in TOML (a number of too many digits)"),
        (f"limit = '{NINES}'", "write a number of up to 18 digits"),
        (f"limit = 0x{'f' * 5000}", "limit is a number of too many digits: write a number"),
        (f"next = 0x{'f' * 5000}", "next is a number of too many digits: write archive"),
        (f"reversed = 0x{'f' * 5000}", "reversed is a number of too many digits: write 1 or 0"),
        (f"snapshot = 0x{'f' * 5000}", "snapshot: a number of too many digits is no URL"),
        (f"[[feed]]\nurl = 0x{'f' * 5000}", "a number of too many digits is not the URL of a feed"),
        ("a=" + "[" * 10_000, "is no list of feeds in TOML (it is nested too deeply)"),
        ("a=" + "{a=" * 10_000, "is no list of feeds in TOML (it is nested too deeply)"),
        ("a" + ".a" * 20_000 + "=1", "is no list of feeds in TOML (it is nested too deeply)"),
        ("[a" + " . 'a.b'" * 20_000 + "]", "is no list of feeds in TOML (it is nested too deeply)"),
    ],
    ids=lambda text: text[:20],
)
def test_option_that_cannot_be_used_is_refused(tmp_path: Path, option: str, sentence: str) -> None:
    listed = tmp_path / "list.toml"
    listed.write_text(f'[[feed]]\nurl = "{A}"\n{option}\n')
    with pytest.raises(ArgumentError) as refused:
        from_arguments(None, str(listed))
    assert sentence in str(refused.value)


def test_file_can_be_a_feed() -> None:
    assert list(from_arguments("file:///srv/feeds/index.atom", None)) == ["file:///srv/feeds/index.atom"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.txt", f"{A}\nFILE:///srv/feeds/index.atom\n"),
        ("list.opml", '<opml><outline xmlUrl=" file:///srv/feeds/index.atom"/></opml>'),
        ("list.toml", '[[feed]]\nurl = "file:///srv/feeds/index.atom"\n'),
    ],
)
def test_list_names_files_only_if_it_may(tmp_path: Path, name: str, content: str) -> None:
    listed = tmp_path / name
    listed.write_text(content)
    with pytest.raises(ArgumentError, match=r"names a file of this machine, (?i:file):///srv/"):
        from_arguments(None, str(listed))
    assert list(from_arguments(None, str(listed), may_list_files=True))[-1].lower().startswith("file:///srv")


class TestSnapshot:
    def test_snapshot_belongs_to_the_feed(self) -> None:
        assert from_arguments(A, None, B) == {A: FeedOptions(snapshot=B)}

    def test_snapshot_may_stand_in_a_list(self, tmp_path: Path) -> None:
        listed = tmp_path / "feeds.toml"
        listed.write_text(f'[[feed]]\nurl = "{A}"\nsnapshot = "{B}"\n')
        assert from_arguments(None, str(listed)) == {A: FeedOptions(snapshot=B)}

    @pytest.mark.parametrize(
        ("feed", "snapshot", "sentence"),
        [
            (None, B, "is for a feed: write its URL too, or "),
            (f"{A} {C}", B, "is for one feed"),
            (A, A, "is the feed itself: write "),
            (A, "snapshot", "is not the URL of a feed; write https://example"),
        ],
    )
    def test_snapshot_that_cannot_be_used(self, feed: str | None, snapshot: str, sentence: str) -> None:
        with pytest.raises(ArgumentError, match=sentence):
            from_arguments(feed, None, snapshot)

    def test_snapshot_that_is_no_string(self, tmp_path: Path) -> None:
        listed = tmp_path / "feeds.toml"
        listed.write_text(f'[[feed]]\nurl = "{A}"\nsnapshot = 1\n')
        with pytest.raises(ArgumentError, match="snapshot: 1 is no URL"):
            from_arguments(None, str(listed))


def test_feeds_without_options_have_those_of_their_subscriptions() -> None:
    subscribed = {"http://x/a": {"reversed": True, "snapshot": "http://x/s"}}
    stored = FeedOptions(reversed=True, snapshot="http://x/s")
    given = {"http://x/a": FeedOptions(), "http://x/b": FeedOptions()}
    assert with_subscribed(given, subscribed) == {"http://x/a": stored, "http://x/b": FeedOptions()}
    snapshot = with_subscribed({"http://x/a": FeedOptions(snapshot="http://x/t")}, subscribed)
    assert snapshot == {"http://x/a": FeedOptions(reversed=True, snapshot="http://x/t")}
    own = {"http://x/a": FeedOptions(limit=0)}
    assert with_subscribed(own, subscribed) == own
