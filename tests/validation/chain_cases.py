"""The faults between documents, for each rule of the chain."""

from tests.validation.cases import ADVICE, CURRENT, ERROR, LINK_TO_2, NEXT_TO_2, WARNING, Case
from tests.validation.histories import ARCHIVE, ATOM_SET, PAGES, RSS_SET

CASES = [
    # chain.py
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
    # neighbours.py
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
