"""What commands print: in any encoding, and a sentence where it cannot be written."""

import json
from pathlib import Path

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.any_store("what becomes of printed text")

TITLE = "\u2603\U0001f600"


@pytest.fixture
def feed(server: FeedServer, project: Project) -> str:
    server.serve("/index", atom([E(TITLE, title=TITLE)], title=TITLE))
    project.crawl(server.url("/index"))
    return server.url("/index")


def test_stdout_that_does_not_know_a_character_gets_an_escape(project: Project, feed: str) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    for args in (("feeds",), ("history", feed, TITLE), ("export", "-o", f"{TITLE}.jsonl")):
        done = project.scrapy(*args, **ascii_only)
        assert (done.returncode, done.stderr) == (0, "")
        assert r"\u2603\U0001f600" in done.stdout
    # RFC 8259, 8.1: JSON is UTF-8.
    [reported] = json.loads(project.scrapy("feeds", "--json", **ascii_only).stdout)
    assert reported["title"] == TITLE
    assert json.loads(project.scrapy("history", "--json", feed, TITLE, **ascii_only).stdout)["id"] == TITLE


@pytest.mark.parametrize(
    ("args", "unbuffered"),
    [
        (("feeds",), ""),
        (("feeds", "--json"), "1"),
        (("history", "FEED", TITLE), ""),
        (("export", "-o", "whole.jsonl"), ""),
        (("export", "-o", "-:opml"), "1"),
        (("export", "-o", "-:csv"), "1"),
        (("report", "-o", "report.html"), ""),
        (("report", "-o", "-"), "1"),
    ],
)
def test_full_stdout_is_a_sentence(
    project: Project, feed: str, args: tuple[str, ...], unbuffered: str
) -> None:
    given = [feed if arg == "FEED" else arg for arg in args]
    with Path("/dev/full").open("wb") as full:
        done = project.scrapy(*given, stdout=full, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert "(No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


def test_arguments_that_are_no_utf8_are_a_sentence(project: Project, feed: str) -> None:
    none = f"{feed}\udcff"  # as Python has the octet FF of a command line
    for args in (
        ("history", feed, "\udcff"),
        ("history", none, "1"),
        ("export", "-o", "-:jsonl", "--feed", none),
        ("subscribe", none),
        ("unsubscribe", none),
        ("crawl", "history", "-a", f"feed={none}"),
    ):
        done = project.scrapy(*args)
        assert done.returncode == 2, args
        assert "Traceback" not in done.stderr
        assert r"\udcff" in done.stderr
