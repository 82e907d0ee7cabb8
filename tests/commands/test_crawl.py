from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from fhcrawl.commands.crawl import PAGE, check_mistyped, check_names, check_settings
from fhcrawl.exceptions import ArgumentError
from tests.feeds import E, atom
from tests.projects import FROZEN, GARBAGE

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

# Scrapy alone are more.
MANY_OBJECTS = 50_000


def test_garbage_is_collected_but_not_looked_for_in_what_was_imported(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"))
    assert run.all_stats[GARBAGE]
    assert run.all_stats[FROZEN] > MANY_OBJECTS


def test_a_shell_takes_the_examples_of_the_help() -> None:
    examples = PAGE.partition("Examples:\n")[2].partition("\n\n")[0]
    assert examples.count("scrapy crawl history") == 4
    subprocess.run(["/bin/sh", "-n"], input=examples, text=True, check=True)


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({}, {"_job": "1"}),
        ({"FHCRAWL_WARC": "%(run)s-%(serial)05d.warc.gz"}, {"run": "1"}),
        ({"FEEDS": {"%(run)03d.jsonl": {}}}, {"run": "1"}),
    ],
    ids=["Scrapyd's", "of a WARC file", "of an export"],
)
def test_arguments_of_others_are_left_alone(given: dict[str, object], arguments: dict[str, str]) -> None:
    check_names(Settings(given), arguments)
    with pytest.raises(ArgumentError, match="There is no argument ru: write one of"):
        check_names(Settings(given), {"ru": "1", **arguments})


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("history", "http://a.example/"), "write scrapy crawl history -a feed=http://a.example/\n"),
        (("history", "http://a/", "http://b/"), 'write scrapy crawl history -a feed="http://a/ http://b/"\n'),
        (("http://a.example/",), "write scrapy crawl history -a feed=http://a.example/\n"),
        (("history", "--feed=x"), "There is no option --feed=x: `scrapy crawl --help` lists all\n"),
        (("history", "-o", "x.atom"), "write scrapy export -o x.atom\n"),
        (("history", "-o", "x.jsonl", "-O", "y.csv"), "only one of -o/--output"),
        (("history", "-O", "y:opml"), "write scrapy export -o y:opml\n"),
        (("history", "-o", "x.docx"), "Unrecognized output format 'docx'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_meant_for_another_place_gets_a_hint(
    project: Project, args: tuple[str, ...], sentence: str
) -> None:
    done = project.scrapy("crawl", *args)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_settings_of_a_users_module_may_be_called_as_ours() -> None:
    own = {"FHCRAWL_OWN": 1}
    check_mistyped(Settings(own, "project"))
    with pytest.raises(ArgumentError, match="FHCRAWL_OWN"):
        check_mistyped(Settings(own, "cmdline"))


@pytest.mark.parametrize(("seconds", "is_allowed"), [(2, False), (3, True), (86400, True), (86401, False)])
def test_lease_that_ends_too_far_ahead_is_none(seconds: int, is_allowed: bool) -> None:
    """In the store it could not be told from one of a clock that was wrong."""
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.set("FHCRAWL_LEASE_SECONDS", seconds)
    if is_allowed:
        check_settings(settings)
    else:
        with pytest.raises(ArgumentError, match=f"is '{seconds}': write a number of seconds, 3 to 86400"):
            check_settings(settings)
