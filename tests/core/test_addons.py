"""The add-on: settings of fhcrawl's for its own crawls, and nothing for others."""

import json
import subprocess
import sys
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings, Settings, default_settings

import fhcrawl
from fhcrawl import settings as ours
from fhcrawl.core.addons import SWITCHED, Addon, add_settings, has_addon, is_missing
from fhcrawl.core.components import COMPONENTS, DOWNLOAD_HANDLERS, WITHOUT
from fhcrawl.exceptions import ArgumentError
from fhcrawl.items import FIELDS
from fhcrawl.spiders.check import CheckSpider
from fhcrawl.spiders.history import HistorySpider
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.own import OwnSpider, PlainSpider

OCTETS = "fhcrawl.downloadermiddlewares.limits.OctetsMiddleware"
OWN_PIPELINE = "tests.pipelines.adding.SetsAttribute"
SCRAPYS = {name: value for name, value in vars(default_settings).items() if name.isupper()}
DUPLICATES = "fhcrawl.pipelines.DuplicatesPipeline"


def crawl_settings(spider: type[Spider], **project: Any) -> Settings:
    settings = Settings({"ADDONS": {"fhcrawl.Addon": 500}, **project})
    crawler = Crawler(spider, settings)
    crawler.addons.load_settings(crawler.settings)
    return crawler.settings


def plain(settings: BaseSettings) -> dict[str, Any]:
    return {name: value for name, value in settings.copy_to_dict().items() if name != "ADDONS"}


@pytest.mark.slow("starts Python")
def test_package_does_not_load_the_add_on_before_it_is_used() -> None:
    script = "import sys, fhcrawl; print('scrapy' in sys.modules, fhcrawl.Addon.__module__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False fhcrawl.core.addons\n"
    with pytest.raises(AttributeError, match="no attribute 'Adon'"):
        fhcrawl.Adon  # noqa: B018


@pytest.mark.parametrize("spider", [HistorySpider, OwnSpider])
def test_crawls_of_the_spider_and_of_subclasses_get_all_settings(spider: type[Spider]) -> None:
    settings = plain(crawl_settings(spider))
    by_module = Settings({"DOWNLOAD_HANDLERS": DOWNLOAD_HANDLERS, **COMPONENTS})
    by_module.setmodule(ours)
    wanted = plain(by_module)
    named = {"BOT_NAME", "SPIDER_MODULES", "NEWSPIDER_MODULE", "COMMANDS_MODULE"}
    bases = {name for name in wanted if name.endswith("_BASE")}  # what is switched off is removed there
    assert {n for n in wanted if settings.get(n) != wanted[n]} - bases == named


def test_checks_get_the_settings_without_those_of_the_store() -> None:
    settings = crawl_settings(
        CheckSpider,
        TWISTED_REACTOR_ENABLED=False,
        EXTENSIONS={"scrapy.extensions.memusage.MemoryUsage": 1},
        FEEDS={"x.csv": {}},
    )
    assert (
        settings["DOWNLOADER_MIDDLEWARES"]["fhcrawl.downloadermiddlewares.guard.GuardMiddleware"] is not None
    )
    assert settings["EXTENSIONS"]["scrapy.extensions.memusage.MemoryUsage"] == 1
    for name, paths in WITHOUT.items():
        assert {settings[name][path] for path in paths} == {None}
    assert settings["DOWNLOAD_HANDLERS"]["http"] == DOWNLOAD_HANDLERS["http"]
    assert not settings.getdict("FEEDS")


def test_environment_wins_over_the_project_and_the_command_line_over_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = {"FHCRAWL_DATA_DIR": "/project", "FHCRAWL_STORE_URL": "sqlite:////project"}
    monkeypatch.setenv("FHCRAWL_DATA_DIR", "/environment")
    monkeypatch.setenv("FHCRAWL_STORE_URL", "")
    assert crawl_settings(HistorySpider, **project)["FHCRAWL_DATA_DIR"] == "/environment"
    assert crawl_settings(HistorySpider, **project)["FHCRAWL_STORE_URL"] == "sqlite:////project"
    for priority in ("spider", "cmdline"):
        settings = Settings({"FHCRAWL_DATA_DIR": "/given"}, priority)
        add_settings(settings)
        assert settings["FHCRAWL_DATA_DIR"] == "/given"


def test_other_crawls_get_none() -> None:
    assert plain(crawl_settings(PlainSpider)) == plain(Settings())


def test_project_that_is_made_of_the_settings_has_none_in_crawls_of_other_spiders() -> None:
    settings = crawl_settings(PlainSpider, **{n: v for n, v in vars(ours).items() if n.isupper()})
    merged = [*COMPONENTS, *(name for name in SCRAPYS if f"{name}_BASE" in SCRAPYS)]
    assert {name: dict(settings[name]) for name in merged} == {name: {} for name in merged}
    components = [name for name in SCRAPYS if str(getattr(ours, name, "")).startswith("fhcrawl.")]
    assert "SCHEDULER" in components
    for name in (*components, "FEED_EXPORT_FIELDS"):
        assert settings[name] == SCRAPYS[name]
    # What the project may well want for all of its spiders.
    assert settings["USER_AGENT"] == ours.USER_AGENT


def test_project_keeps_what_it_has_set() -> None:
    settings = crawl_settings(
        OwnSpider,
        TWISTED_REACTOR_ENABLED=False,
        USER_AGENT="mine",
        ITEM_PIPELINES={OWN_PIPELINE: 300},
        DOWNLOADER_MIDDLEWARES={OCTETS: None},
        FEED_EXPORTERS={"csv": "mine.Exporter"},
        DEFAULT_REQUEST_HEADERS={"Accept": "text/plain"},
        FHCRAWL_MAX_PAGES=7,
    )
    assert settings["USER_AGENT"] == "mine"
    assert dict(settings["ITEM_PIPELINES"]) == {OWN_PIPELINE: 300, DUPLICATES: 100}
    assert settings["DOWNLOADER_MIDDLEWARES"][OCTETS] is None
    assert settings["FEED_EXPORTERS"]["csv"] == "mine.Exporter"
    assert settings["FEED_EXPORTERS"]["jsonl"] == ours.FEED_EXPORTERS["jsonl"]
    assert dict(settings["DEFAULT_REQUEST_HEADERS"]) == {"Accept": "text/plain"}
    assert settings["FHCRAWL_MAX_PAGES"] == 7
    assert settings["FHCRAWL_MAX_ARCHIVES"] == ours.FHCRAWL_MAX_ARCHIVES


def test_invalid_setting_ends_a_crawl_that_another_command_has_begun() -> None:
    with pytest.raises(ArgumentError, match="FHCRAWL_MAX_PAGES must be a number"):
        crawl_settings(OwnSpider, FHCRAWL_MAX_PAGES="many")


@pytest.mark.parametrize(
    ("given", "has_it", "misses_it"),
    [
        *(({}, False, True), ({"ADDONS": {"fhcrawl.Addon": None}}, False, True)),
        *(({"ADDONS": {"fhcrawl.Addon": 500}}, True, False), ({"ADDONS": {Addon: 500}}, True, False)),
        # Made of fhcrawl's settings.
        ({"ITEM_PROCESSOR": ours.ITEM_PROCESSOR}, False, False),
    ],
)
def test_project_without_the_settings_is_found(given: dict[str, Any], has_it: bool, misses_it: bool) -> None:
    assert (has_addon(Settings(given)), is_missing(Settings(given))) == (has_it, misses_it)


def test_commands_know_the_spider_and_the_formats() -> None:
    settings = Settings({"SPIDER_MODULES": ["mine"], "FHCRAWL_MAX_PAGES": 7})
    Addon.update_pre_crawler_settings(settings)
    Addon.update_pre_crawler_settings(settings)
    assert settings["SPIDER_MODULES"] == ["mine", "fhcrawl.spiders"]
    assert dict(settings["FEED_EXPORTERS"]) == {"parquet": ours.FEED_EXPORTERS["parquet"]}
    assert (settings["FHCRAWL_MAX_PAGES"], settings["FHCRAWL_RECHECK"]) == (7, ours.FHCRAWL_RECHECK)
    assert settings["USER_AGENT"] == Settings()["USER_AGENT"]


@pytest.mark.parametrize("given", [["minutes", "words"], "minutes,words"])
def test_added_fields_are_exported_after_the_others(given: object) -> None:
    settings = Settings({"FHCRAWL_ADDED_FIELDS": given})
    add_settings(settings)
    add_settings(settings)
    assert settings["FEED_EXPORT_FIELDS"] == [*FIELDS, "minutes", "words"]
    own = Settings({"FHCRAWL_ADDED_FIELDS": given, "FEED_EXPORT_FIELDS": ["id"]})
    add_settings(own)
    assert own["FEED_EXPORT_FIELDS"] == ["id"]


@pytest.mark.parametrize("given", [["title"], ["words", "words"]])
def test_added_fields_with_a_name_that_is_taken_are_refused(given: list[str]) -> None:
    with pytest.raises(ArgumentError, match=f"no built-in field; remove '{given[0]}'"):
        crawl_settings(OwnSpider, FHCRAWL_ADDED_FIELDS=given)


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
    unwanted = {path.rpartition(".")[0] for _, path in SWITCHED.values()} | {"warcio"}
    assert loaded & unwanted == set()


@pytest.mark.parametrize("switch", ENABLED)
def test_what_is_switched_on_works(server: FeedServer, project: Project, switch: str) -> None:
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"), settings={switch: 1, "TELNETCONSOLE_PORT": "0"})
    assert run.changes == {"1": "new"}
    assert {switch for switch, path in ENABLED.items() if path in run.log} == {switch}
