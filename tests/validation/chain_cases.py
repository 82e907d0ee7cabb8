"""The faults between documents, for each rule of the chain."""

from __future__ import annotations

from tests.validation.cases import ADVICE, CURRENT, ERROR, LINK_TO_2, NEXT_TO_2, WARNING, Case
from tests.validation.histories import ARCHIVE, ATOM_SET, PAGES, RSS_SET

CASES = [
    # chain.py
    Case("walk-ends", ERROR, "/3, which is not there (404)", old="@/2", new="@/3", line=7),
    Case("walk-ends", ERROR, "the chain is a loop", "1", ARCHIVE, LINK_TO_2, 9),
    Case("walk-ends", ERROR, "is not a feed: it is an HTML page", old=ATOM_SET["index"], new="<html></html>"),
    Case("archive-marks", WARNING, "no fh:archive", "1", ARCHIVE, line=2),
    Case(
        "next-archive",
        ERROR,
        "leads to @/3, which is not there (404).",
        "1",
        NEXT_TO_2,
        NEXT_TO_2.replace("/2", "/3"),
        8,
    ),
    Case(
        "next-archive",
        ERROR,
        "leads to @/1, and not to @/2.",
        "1",
        NEXT_TO_2,
        NEXT_TO_2.replace("/2", "/1"),
        8,
    ),
    Case("next-archive", WARNING, "no next-archive link", "1", NEXT_TO_2, line=2),
    Case(
        "next-archive",
        ERROR,
        "next-archive link leads to @/3, which is not there",
        "2",
        ARCHIVE,
        f"{ARCHIVE}{NEXT_TO_2}".replace("g/2", "g/3"),
        9,
    ),
    Case(
        "next-archive",
        WARNING,
        "to the subscription document",
        "2",
        ARCHIVE,
        f"{ARCHIVE}{NEXT_TO_2}".replace("g/2", "g/index"),
        9,
    ),
    Case(
        "current", ERROR, "not to the subscription document", "1", CURRENT, CURRENT.replace("index", "2"), 7
    ),
    Case("current", ERROR, "/3, which is not there (404)", "1", CURRENT, CURRENT.replace("index", "3"), 7),
    Case("current", WARNING, "no current link", "1", CURRENT, line=2),
    Case(
        "self-link",
        WARNING,
        "leads to @/index, and not to @/1.",
        "1",
        'rel="self" href="@/1"',
        'rel="self" href="@/index"',
        6,
    ),
    Case(
        "self-link",
        WARNING,
        "leads to @/feed, which is not there (404).",
        old='rel="self" href="@/index"',
        new='rel="self" href="@/feed"',
        line=6,
    ),
    Case(
        "pages",
        ERROR,
        "previous link leads to @/1",
        "2",
        'rel="previous" href="@/index"',
        'rel="previous" href="@/1"',
        8,
        PAGES,
    ),
    Case("conditional-requests", ADVICE, "neither ETag nor", headers={"etag": ""}),
    Case("conditional-requests", ADVICE, "answered with 200", headers={"x-forgets": "1"}),
    # neighbours.py
    Case("one-newest-version", ERROR, "with the same atom:updated", "1", "Text 4.", "Another text.", 10),
    Case("one-newest-version", WARNING, "with the same atom:updated", "2", "Text 7.", "Another text.", 10),
    Case(
        "one-newest-version",
        ADVICE,
        "only the documents' times",
        "1",
        "Text 4.",
        "Another text.",
        10,
        RSS_SET,
    ),
    Case("ids-stay", ADVICE, "@/4 have different ids", "1", "<id>urn:4</id>", "<id>urn:other</id>", 10),
    Case("one-feed", WARNING, "Its atom:id is urn:other", "1", "<id>urn:feed</id>", "<id>urn:other</id>", 2),
    Case(
        "order-of-documents",
        ADVICE,
        "is later than that of",
        "2",
        "2003-12-07T18:00:00Z",
        "2003-12-09T18:00:01Z",
        2,
    ),
]
