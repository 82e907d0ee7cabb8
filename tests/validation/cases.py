"""The faults that each rule finds, in histories without other faults."""

from dataclasses import dataclass, field, replace

from fhcrawl.validation import Severity
from tests.validation import histories
from tests.validation.histories import ARCHIVE, ATOM_SET, PAGES, RSS_SET, SITE, Fetched, served

ERROR, WARNING, ADVICE, GOOD = Severity
LINK_TO_2 = '<link rel="prev-archive" href="https://example.org/2"/>'
NEXT_TO_2 = '<link rel="next-archive" href="https://example.org/2"/>'
CURRENT = '<link rel="current" href="https://example.org/index"/>'
ID_9 = "<id>urn:9</id>"
DECLARED = (
    '<fx:verdict xmlns:fx="urn:x-fhcrawl:export" value="incomplete">'
    '<fx:reason url="@/0" detail="is missing (404)"/></fx:verdict>'
)
DECLARED_NOTHING = '<verdict xmlns="urn:x-fhcrawl:export"/>'
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Case:
    """A fault in a history: what is replaced in one of its documents, or how that is served.

    In its texts, `@` stands for the site.

    :param words: words of the sentence
    :param line: the line of the fault; None if the finding has none
    :param document: its path
    """

    rule: str
    severity: Severity
    words: str
    line: int | None = None
    old: str = ""
    new: str = ""
    document: str = "index"
    history: dict[str, str] = field(default_factory=lambda: ATOM_SET)
    headers: dict[str, str] = field(default_factory=dict)
    redirects: tuple[int, ...] = ()
    is_cut: bool = False
    leads_to: str = ""  # where a redirect leads
    fix: str = ""  # words of what to do

    def responses(self) -> dict[str, Fetched]:
        path = self.document
        old, new, leads_to = (text.replace("@", SITE) for text in (self.old, self.new, self.leads_to))
        text = self.history[path]
        assert old in text
        text = text.replace(old, new, 1) if old else text + new
        found = served({**self.history, path: text})
        url = f"{SITE}/{path}"
        here = replace(found[url], redirects=self.redirects, is_cut=self.is_cut, url=leads_to or url)
        return {**found, url: replace(here, headers={**here.headers, **self.headers})}


OLD_ENTRY = histories.ENTRY.format(number=4)
CASES = [
    Case("subscription-mark", ERROR, "marked with fh:archive", 8, LINK_TO_2, f"{LINK_TO_2}\n{ARCHIVE}"),
    Case("subscription-mark", ERROR, "has a next-archive link", 6, LINK_TO_2, f"{LINK_TO_2}{NEXT_TO_2}"),
    Case("one-type", ERROR, "fh:complete and a prev-archive", 7, LINK_TO_2, f"{LINK_TO_2}\n<fh:complete/>"),
    Case("one-type", ERROR, "fh:complete and fh:archive", 9, ARCHIVE, f"{ARCHIVE}<fh:complete/>", "2"),
    Case("one-type", WARNING, "is for paged feeds", 9, ARCHIVE, f'{ARCHIVE}<link rel="next" href="1"/>', "2"),
    Case(
        "one-link", ERROR, "@/2 and to @/1", 7, LINK_TO_2, f'{LINK_TO_2}<link rel="prev-archive" href="/1"/>'
    ),
    Case(
        "nothing-missing",
        ERROR,
        "(incomplete): @/0 is missing (404)",
        8,
        LINK_TO_2,
        f"{LINK_TO_2}\n{DECLARED}",
    ),
    Case("nothing-missing", WARNING, "not complete ()", 9, ARCHIVE, f"{ARCHIVE}{DECLARED_NOTHING}", "2"),
    Case("link-target", ERROR, "link has no URL", 9, ARCHIVE, '<link rel="prev-archive" href=""/>', "1"),
    Case("relation-name", ERROR, "'previous-archive'", 7, '"prev-archive"', '"previous-archive"'),
    Case("in-head-section", ERROR, "'prev-archive' is not in the head", 9, ID_9, f"{ID_9}{LINK_TO_2}"),
    Case("in-head-section", ERROR, "is not in the head", 10, "<item>", f"<item>{ARCHIVE}", "2", RSS_SET),
    Case(
        "link-namespace", ERROR, "'prev-archive' is not in Atom's", 7, "<atom:link", "<link", history=RSS_SET
    ),
    Case(
        "history-namespace",
        ERROR,
        "in the namespace http://example.org/history",
        9,
        ARCHIVE,
        '<archive xmlns="http://example.org/history"/>',
        "2",
    ),
    Case(
        "history-elements",
        WARNING,
        "fh:prev is from a draft",
        7,
        LINK_TO_2,
        f"{LINK_TO_2}<fh:prev>2</fh:prev>",
    ),
    Case(
        "history-elements",
        ERROR,
        "fh:archived is not an element",
        9,
        ARCHIVE,
        f"{ARCHIVE}<fh:archived/>",
        "2",
    ),
    Case("history-elements", WARNING, "is not empty", 9, ARCHIVE, "<fh:archive>true</fh:archive>", "2"),
    Case("relative-links", ADVICE, "'prev-archive' is relative", 7, "@/2", "2", history=RSS_SET),
    Case("secure-links", WARNING, "from https: to http:", 7, 'href="@/2"', 'href="http://example.org/2"'),
    Case(
        "secure-links", ADVICE, "another host, example.net", 7, 'href="@/2"', 'href="https://example.net/2"'
    ),
    Case("says-its-history", ADVICE, "where its older entries are", 2, LINK_TO_2),
    Case("says-its-history", ADVICE, "It is paged", history=PAGES),
    Case("well-formed", ERROR, "not well-formed", 39, "</feed>", "", "1"),
    Case(
        "well-formed", ERROR, "read as http://purl.org/syndication", None, "history/1.0", "history/1.0/", "1"
    ),
    Case("well-formed", ERROR, "shorter than its server", document="1", is_cut=True),
    Case("entries-are-read", ERROR, "Readers cannot use it", None, "<entry>", '<entry xmlns="">', "1"),
    Case("entry-id", ERROR, "it has no atom:id", 8, ID_9),
    Case("item-guid", WARNING, "no guid", 8, "<guid>@/9</guid>", history=RSS_SET),
    Case("entry-title", ERROR, "it has no atom:title", 8, "<title>Entry 9</title>"),
    Case("enclosures", ERROR, "its link names no file", 8, ID_9, f'{ID_9}<link rel="enclosure"/>'),
    Case("id-is-a-uri", ERROR, "'9' is not an absolute IRI", 9, ID_9, "<id>9</id>"),
    Case("id-is-a-uri", ERROR, "'9' is a permalink", 9, "@/9", "9", history=RSS_SET),
    Case("unique-ids", WARNING, "urn:4 appears twice", 17, OLD_ENTRY, f"{OLD_ENTRY}\n{OLD_ENTRY}", "1"),
    Case("update-times", ERROR, "feed has no atom:updated", 2, "<updated>2003-12-09T18:00:00Z</updated>"),
    Case("update-times", ERROR, "entry has no atom:updated", 8, "<updated>2003-12-09T12:00:00Z</updated>"),
    Case(
        "archive-time",
        ADVICE,
        "no lastBuildDate",
        4,
        "<lastBuildDate>04 Dec 2003 18:00:00 GMT</lastBuildDate>",
        "",
        "1",
        RSS_SET,
    ),
    Case("dates", ERROR, "is not a date", 8, "2003-12-09T12:00:00Z", "yesterday"),
    Case(
        "times-are-past", WARNING, "time is in the future", 8, "2003-12-09T12:00:00Z", "2033-12-09T12:00:00Z"
    ),
    Case("times-are-past", WARNING, "is in the future", None, "2003-12-09T18:00:00Z", "2033-12-09T18:00:00Z"),
    Case("feed-head", ERROR, "no atom:id", 2, "<id>urn:feed</id>"),
    Case("feed-head", WARNING, "no self link", 2, '<link rel="self" href="@/index"/>'),
    Case(
        "standard-form",
        WARNING,
        "its link has an href attribute",
        8,
        "<title>Entry 9</title>",
        '<link href="@/a"/>',
        history=RSS_SET,
    ),
    Case("media-type", ERROR, "Its Content-Type is text/html.", headers={"content-type": HTML}),
    Case("media-type", WARNING, "Its Content-Type is text/plain.", headers={"content-type": "text/plain"}),
    Case(
        "media-type",
        WARNING,
        "application/gzip.",
        headers={"content-type": "application/gzip"},
        fix="Serve it as application/atom+xml, with Content-Encoding: gzip.",
    ),
    Case("media-type", ADVICE, "Its Content-Type is text/xml.", headers={"content-type": "text/xml"}),
    Case(
        "one-encoding",
        WARNING,
        "Content-Type says cp1252, but its XML",
        1,
        headers={"content-type": "application/atom+xml; charset=latin1"},
    ),
    Case("archive-url", WARNING, "redirects (301)", document="2", redirects=(301,), leads_to="@/two"),
    Case("archive-url", ADVICE, "redirects (302)", document="2", redirects=(302,), leads_to="@/two"),
    Case("caching", ADVICE, "for 0 seconds", document="2", headers={"cache-control": "no-cache"}),
    Case("caching", ADVICE, "does not say how long", document="2", headers={"cache-control": ""}),
    Case("size", ADVICE, "It has 1.1 MiB.", None, "", "\n" * 1_150_000),
    Case("walk-ends", ERROR, "/3, which is missing (404)", 7, "@/2", "@/3"),
    Case("walk-ends", ERROR, "the chain forms a loop", 9, ARCHIVE, LINK_TO_2, "1"),
    Case("walk-ends", ERROR, "is not a feed: it is an HTML page", None, ATOM_SET["index"], "<html></html>"),
    Case("archive-marks", WARNING, "no fh:archive", 2, ARCHIVE, "", "1"),
    Case("next-archive", ERROR, "which is missing (404).", 8, NEXT_TO_2, NEXT_TO_2.replace("/2", "/3"), "1"),
    Case("next-archive", ERROR, "to @/1, not to @/2.", 8, NEXT_TO_2, NEXT_TO_2.replace("/2", "/1"), "1"),
    Case("next-archive", WARNING, "no next-archive link", 2, NEXT_TO_2, "", "1"),
    Case("next-archive", ERROR, "is missing", 9, ARCHIVE, f"{ARCHIVE}{NEXT_TO_2}".replace("g/2", "g/3"), "2"),
    Case(
        "next-archive",
        WARNING,
        "to the subscription document",
        9,
        ARCHIVE,
        f"{ARCHIVE}{NEXT_TO_2}".replace("g/2", "g/index"),
        "2",
    ),
    Case(
        "current", ERROR, "not to the subscription document", 7, CURRENT, CURRENT.replace("index", "2"), "1"
    ),
    Case("current", ERROR, "/3, which is missing (404)", 7, CURRENT, CURRENT.replace("index", "3"), "1"),
    Case("current", WARNING, "no current link", 2, CURRENT, "", "1"),
    Case("self-link", WARNING, "not to @/1.", 6, 'rel="self" href="@/1"', 'rel="self" href="@/index"', "1"),
    Case(
        "self-link", WARNING, "is missing (404).", 6, 'rel="self" href="@/index"', 'rel="self" href="@/feed"'
    ),
    Case(
        "pages", ERROR, "to @/1", 8, 'rel="previous" href="@/index"', 'rel="previous" href="@/1"', "2", PAGES
    ),
    Case("conditional-requests", ADVICE, "neither ETag nor", headers={"etag": ""}),
    Case("conditional-requests", ADVICE, "conditional request was 200", headers={"x-forgets": "1"}),
    Case("one-newest-version", ERROR, "with the same atom:updated", 10, "Text 4.", "Another text.", "1"),
    Case("one-newest-version", WARNING, "with the same atom:updated", 10, "Text 7.", "Another text.", "2"),
    Case(
        "one-newest-version",
        ADVICE,
        "the times of the documents",
        10,
        "Text 4.",
        "Another text.",
        "1",
        RSS_SET,
    ),
    Case("ids-stay", ADVICE, "@/4 have different ids", 10, "<id>urn:4</id>", "<id>urn:other</id>", "1"),
    Case("one-feed", WARNING, "Its atom:id is urn:other", 2, "<id>urn:feed</id>", "<id>urn:other</id>", "1"),
    Case(
        "order-of-documents", ADVICE, "than that of", 2, "2003-12-07T18:00:00Z", "2003-12-09T18:00:01Z", "2"
    ),
]
