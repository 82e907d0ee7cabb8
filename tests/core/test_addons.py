"""What is switched off is not even loaded, and can be switched on."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fhcrawl.core.addons import SWITCHED

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

from tests.feeds import E, atom

# Which modules a crawl has loaded at its end, as JSON.
CRAWL = """
import json, sys
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings
process = CrawlerProcess({**get_project_settings(), "LOG_ENABLED": False})
process.crawl("history", feed=sys.argv[1])
process.start()
print(json.dumps(list(sys.modules)))
"""
ENABLED = {
    "COOKIES_ENABLED": "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
    "HTTPCACHE_ENABLED": "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware",
    "TELNETCONSOLE_ENABLED": "scrapy.extensions.telnet.TelnetConsole",
}


def test_crawl_loads_nothing_of_what_is_switched_off(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    done = subprocess.run(
        [sys.executable, "-c", CRAWL, server.url("/index")],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    loaded = set(json.loads(done.stdout))
    assert "fhcrawl.spiders.history" in loaded
    assert loaded.isdisjoint({path.rpartition(".")[0] for _, path in SWITCHED.values()} | {"warcio"})


@pytest.mark.parametrize("switch", ENABLED)
def test_what_is_switched_on_works(server: FeedServer, project: Project, switch: str) -> None:
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"), settings={switch: 1, "TELNETCONSOLE_PORT": "0"})
    assert run.changes == {"1": "new"}
    assert {switch for switch, path in ENABLED.items() if path in run.log} == {switch}
