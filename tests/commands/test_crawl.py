from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from fhcrawl.commands.crawl import PAGE
from tests.crawling import FROZEN, GARBAGE
from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.crawling import Project
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
