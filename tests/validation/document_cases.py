"""The faults of one document, for each rule."""

from tests.validation import histories
from tests.validation.cases import ADVICE, ERROR, HTML, ID_9, LINK_TO_2, NEXT_TO_2, WARNING, Case
from tests.validation.histories import ARCHIVE, PAGES, RSS_SET

OLD_ENTRY = histories.ENTRY.format(number=4)
CASES = [
    # history.py
    Case("subscription-mark", ERROR, "marked with fh:archive", 8, LINK_TO_2, f"{LINK_TO_2}\n{ARCHIVE}"),
    Case("subscription-mark", ERROR, "has a next-archive link", 6, LINK_TO_2, f"{LINK_TO_2}{NEXT_TO_2}"),
    Case("one-type", ERROR, "fh:complete and a prev-archive", 7, LINK_TO_2, f"{LINK_TO_2}\n<fh:complete/>"),
    Case("one-type", ERROR, "fh:complete and fh:archive", 9, ARCHIVE, f"{ARCHIVE}<fh:complete/>", "2"),
    Case("one-type", WARNING, "is for paged feeds", 9, ARCHIVE, f'{ARCHIVE}<link rel="next" href="1"/>', "2"),
    Case(
        "one-link", ERROR, "@/2 and to @/1", 7, LINK_TO_2, f'{LINK_TO_2}<link rel="prev-archive" href="/1"/>'
    ),
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
    # formats.py
    Case("well-formed", ERROR, "not well-formed", 39, "</feed>", "", "1"),
    Case(
        "well-formed", ERROR, "read as http://purl.org/syndication", None, "history/1.0", "history/1.0/", "1"
    ),
    Case("well-formed", ERROR, "shorter than its server", document="1", is_cut=True),
    Case("entries-are-read", ERROR, "Readers cannot use it", None, "<entry>", '<entry xmlns="">', "1"),
    Case("entry-id", ERROR, "it has no atom:id", 8, ID_9),
    Case("item-guid", WARNING, "no guid", 8, "<guid>@/9</guid>", history=RSS_SET),
    Case("entry-title", ERROR, "it has no atom:title", 8, "<title>Entry 9</title>"),
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
    # serving.py
    Case("media-type", ERROR, "Its Content-Type is text/html.", headers={"content-type": HTML}),
    Case("media-type", WARNING, "Its Content-Type is text/plain.", headers={"content-type": "text/plain"}),
    Case("media-type", WARNING, "application/gzip.", headers={"content-type": "application/gzip"}),
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
]
