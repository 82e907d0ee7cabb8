import pytest
from scrapy.settings import Settings

from fhcrawl.commands.crawl import check_names
from fhcrawl.exceptions import ArgumentError
from fhcrawl.spiders.history import HistorySpider
from tests.feeds import E, atom
from tests.projects import FROZEN, GARBAGE, Project
from tests.server import FeedServer

# Scrapy alone are more.
MANY_OBJECTS = 50_000


def test_garbage_is_not_looked_for_in_what_was_imported(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"))
    assert run.all_stats[GARBAGE]
    assert run.all_stats[FROZEN] > MANY_OBJECTS


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
    check_names(Settings(given), arguments, HistorySpider)
    with pytest.raises(ArgumentError, match="There is no argument ru; valid arguments:"):
        check_names(Settings(given), {"ru": "1", **arguments}, HistorySpider)
