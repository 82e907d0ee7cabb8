"""fhcrawl's components belong to each of its crawls, whatever components a user names."""

import json
import os
import subprocess
import sys
from itertools import product
from typing import Any

import pytest
from scrapy.settings import Settings

from fhcrawl.core.components import COMPONENTS, DOWNLOAD_HANDLERS, ESSENTIAL, add_components, check_components
from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.exceptions import ArgumentError
from tests.core.own_components import COUNTED, ON_COMMAND_LINE, PATH, OwnGuard
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer

GUARD = "fhcrawl.downloadermiddlewares.guard.GuardMiddleware"
STORE = "fhcrawl.extensions.store.StoreExtension"
DUPLICATES = "fhcrawl.pipelines.DuplicatesPipeline"
READER = "fhcrawl.extensions.reader.ReaderExtension"
MEMUSAGE = "scrapy.extensions.memusage.MemoryUsage"
OPTIONAL = [path for ours in COMPONENTS.values() for path, order in ours.items() if order is not None]
OPTIONAL = [path for path in OPTIONAL if path not in ESSENTIAL]


def settled(given: dict[str, Any]) -> Settings:
    settings = Settings({"TWISTED_REACTOR_ENABLED": False})
    settings.setdict(given, "cmdline")
    add_components(settings)
    check_components(settings)
    return settings


def setting_of(path: str) -> str:
    return next(name for name, ours in COMPONENTS.items() if path in ours)


HANDLERS = "DOWNLOAD_HANDLERS"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *product(COMPONENTS, ["{}", {}, {PATH + ".Extension": 7}, json.dumps({MEMUSAGE: None})]),
        *product([HANDLERS], ["{}", '{"https": null}', {"http": f"{PATH}.Handler"}, {"x": "mine.Handler"}]),
    ],
)
def test_components_of_fhcrawl_are_added_to_those_of_the_user(name: str, given: Any) -> None:
    ours = DOWNLOAD_HANDLERS if name == HANDLERS else COMPONENTS[name]
    wanted = {**ours, **(json.loads(given) if isinstance(given, str) else given)}
    assert dict(settled({name: given})[name]) == wanted


@pytest.mark.parametrize("scheme", ["http", "https", "file"])
def test_download_handler_without_the_guard_is_refused(scheme: str) -> None:
    handler = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
    with pytest.raises(ArgumentError, match=f"{handler} for {scheme}; remove it, or make it a subclass of"):
        settled({"DOWNLOAD_HANDLERS": {scheme: handler}})


@pytest.mark.parametrize(
    "named", [f"{PATH}.OwnGuard", OwnGuard, GuardMiddleware, f"{GuardMiddleware.__module__}.GuardMiddleware"]
)
@pytest.mark.parametrize("more", [{}, {GUARD: None}])
def test_subclass_counts_as_the_component(named: Any, more: dict[str, None]) -> None:
    """So does its class, in place of its path."""
    given = {**more, named: 56}
    found = dict(settled({"DOWNLOADER_MIDDLEWARES": given})["DOWNLOADER_MIDDLEWARES"])
    others = {path: order for path, order in COMPONENTS["DOWNLOADER_MIDDLEWARES"].items() if path != GUARD}
    assert found == {**others, **given}


@pytest.mark.parametrize("path", ESSENTIAL)
def test_essential_component_cannot_be_switched_off(path: str) -> None:
    name = setting_of(path)
    with pytest.raises(ArgumentError) as raised:
        settled({name: {path: None}})
    assert str(raised.value) == f"{name} must contain {path}; without it, {ESSENTIAL[path]}"


@pytest.mark.parametrize("given", [{GuardMiddleware: None}, {GUARD: None, f"{PATH}.OwnGuard": None}])
def test_class_that_is_none_is_switched_off(given: dict[Any, None]) -> None:
    with pytest.raises(ArgumentError, match=f"must contain {GUARD}"):
        settled({"DOWNLOADER_MIDDLEWARES": given})


@pytest.mark.parametrize("path", OPTIONAL)
def test_other_components_can_be_switched_off(path: str) -> None:
    name = setting_of(path)
    assert dict(settled({name: {path: None}})[name]) == {**COMPONENTS[name], path: None}


@pytest.mark.parametrize(
    ("path", "order"), [(GUARD, 56), (GUARD, 60.5), (READER, 500), (STORE, 0), (DUPLICATES, 900)]
)
def test_order_of_a_component_set_by_the_user_is_kept(path: str, order: float) -> None:
    name = setting_of(path)
    assert settled({name: {path: order}})[name][path] == order


@pytest.mark.parametrize("path", ["no.Such", f"{PATH}.Such", "such"])
def test_component_that_cannot_be_loaded_is_a_sentence(path: str) -> None:
    with pytest.raises(ArgumentError, match=f"Cannot load {path} in ITEM_PIPELINES"):
        settled({"ITEM_PIPELINES": {path: 1}})


def test_nothing_is_imported_for_components_of_ours() -> None:
    script = (
        "import sys; from scrapy.settings import Settings; from fhcrawl.core import components as c\n"
        "s = Settings(); c.add_components(s); c.check_components(s)\n"
        "print([name for name in sys.modules if name.startswith('fhcrawl.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "fhcrawl.extensions" not in done.stdout
    assert "fhcrawl.core.components" in done.stdout


# -- crawls ------------------------------------------------------------------------------------------


@pytest.fixture
def feed(server: FeedServer) -> str:
    server.serve("/index", atom([E("2")], prev="/archive"))
    server.serve("/archive", atom([E("1")], prev="http://127.0.0.1:1/private"))
    return server.url("/index")


def check(run: Run) -> None:
    """Check that the feed was crawled, behind the guard, by fhcrawl's components and the user's."""
    assert run.exit_code == 0, run.log
    assert run.changes == {"1": "new", "2": "new"}
    assert run.stats["fhcrawl/document/processed"] == 2
    assert run.stats["fhcrawl/document/refused"] == 1
    assert run.stats["fhcrawl/feed/incomplete"] == 1
    assert run.all_stats.keys() >= COUNTED


def test_components_on_the_command_line(project: Project, feed: str) -> None:
    check(project.crawl(feed, settings=ON_COMMAND_LINE))


def test_components_in_custom_settings(project: Project, feed: str) -> None:
    settings = {"SPIDER_MODULES": f"fhcrawl.spiders,{PATH}"}
    check(project.crawl(feed, settings=settings, spider="components"))


@pytest.mark.parametrize("name", ["addon_project", "star_project"])
def test_components_in_the_settings_of_a_project(project: Project, feed: str, name: str) -> None:
    (project.folder / "scrapy.cfg").write_text(f"[settings]\ndefault = tests.core.{name}\n")
    check(project.crawl(feed, SCRAPY_PROJECT="default"))


def test_components_of_the_command_fhcrawl(project: Project, feed: str) -> None:
    given = [word for name, value in ON_COMMAND_LINE.items() for word in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "fhcrawl", "crawl", feed, "-o", "out.jsonl", *given]
    command += ["-s", "STATS_CLASS=tests.projects.JsonStatsCollector"]
    environment = {**os.environ, **project.environment()}
    done = subprocess.run(command, cwd=project.folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    stats = project.stats()
    assert stats.keys() >= COUNTED
    assert stats["fhcrawl/document/refused"] == 1
    assert len((project.folder / "out.jsonl").read_text().splitlines()) == 2


def test_all_that_may_be_off_is_off(project: Project, feed: str) -> None:
    names = {setting_of(path) for path in OPTIONAL}
    off = {name: json.dumps({p: None for p in OPTIONAL if setting_of(p) == name}) for name in names}
    run = project.crawl(feed, settings=off)
    assert run.exit_code == 0, run.log
    assert run.changes == {"1": "new", "2": "new"}
    assert project.verdict() == ("incomplete", ["private-address"])


@pytest.mark.parametrize(
    ("settings", "code", "sentence"),
    [
        (
            {"DOWNLOADER_MIDDLEWARES": {GUARD: None}},
            2,
            f"scrapy: error: DOWNLOADER_MIDDLEWARES must contain {GUARD}; without it, {ESSENTIAL[GUARD]}",
        ),
        ({"ADDONS": {f"{PATH}.NoGuardAddon": 1}}, 2, "ADDONS does not contain fhcrawl.Addon"),
        (
            {"ADDONS": {"fhcrawl.Addon": 1, f"{PATH}.NoGuardAddon": 2}},
            1,
            f"Cannot start the crawl: DOWNLOADER_MIDDLEWARES must contain {GUARD}",
        ),
    ],
)
def test_refusal_comes_before_the_first_request(
    server: FeedServer, project: Project, feed: str, settings: dict[str, object], code: int, sentence: str
) -> None:
    run = project.crawl(feed, settings={name: json.dumps(value) for name, value in settings.items()})
    assert (run.exit_code, server.requests) == (code, [])
    assert sentence in (run.log.splitlines()[-1] if code == 2 else "\n".join(run.warnings()))


SCRIPT = """
import sys
from itertools import product
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings
pipelines = {"tests.core.importing_reactor.Pipeline": 300}
process = CrawlerProcess({**get_project_settings(), "LOG_LEVEL": "ERROR", "ITEM_PIPELINES": pipelines})
process.crawl("history", feed=sys.argv[1])
process.start()
"""


def test_module_that_imports_the_reactor_gets_that_of_the_crawl(project: Project, feed: str) -> None:
    command = [sys.executable, "-c", SCRIPT, feed]
    environment = project.environment()
    done = subprocess.run(
        command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert project.states()["/archive"] == "processed"
