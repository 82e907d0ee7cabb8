import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import databases, in_process, postgresql, projects
from tests.databases import SERVER, Database, NewDatabase
from tests.ports import NoServerError
from tests.projects import NewProject, Project
from tests.server import FeedServer

pytest_plugins = ["tests.browser", "tests.servers"]
STORES = ("sqlite", "postgresql")
NO_STORE = "keep no store"
# Each test is in one of the lanes quick, full and nightly. What each value of --lane runs:
LANES = {
    "quick": {"quick"},
    "rest": {"full"},
    "full": {"quick", "full"},
    "nightly": {"nightly"},
    "all": {"quick", "full", "nightly"},
}
# What takes time: starting a process takes a second or two.
SERVERS = {"postgresql_url", "redis_url", "shared_wordpress"}
PROCESSES = {"new_project", "anywhere", "cluster", "browser", *SERVERS}
STORE_TESTS = Path(__file__).parent / "store"
# How many tests are left out, by the reason; a worker of pytest-xdist tells it at its end.
LEFT_OUT = pytest.StashKey[Counter[str]]()


# No test fails because a machine is slow.
hypothesis.settings.register_profile(
    "any machine",
    hypothesis.settings(),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", choices=STORES, default="sqlite", help="where the tests keep their stores")
    lanes = (
        "quick (default): without most tests that start processes; full: with them; rest: full, not quick; "
        "nightly: those that only .ci/nightly runs; all: every test"
    )
    parser.addoption("--lane", choices=list(LANES), default="quick", help=lanes)
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sqlite_only(why): of what only SQLite does")
    config.addinivalue_line("markers", "postgresql_only(why): of what only PostgreSQL does")
    config.addinivalue_line("markers", "any_store(why): of what no store changes; with SQLite only")
    config.addinivalue_line("markers", "full_lane(why): not in the quick lane, like what starts processes")
    config.addinivalue_line("markers", "in_process: crawls run in the tests' process, without network")
    config.addinivalue_line("markers", "real_crawl: crawls have processes, though the module's have none")
    config.addinivalue_line("markers", "quick_lane: in the quick lane, though it starts processes")
    config.addinivalue_line("markers", "nightly(why): only in the nightly lane")
    config.addinivalue_line("markers", "both_stores: in the full lane with PostgreSQL too, not only nightly")
    config.stash[LEFT_OUT] = Counter()
    databases.share_statements()
    # The processes of pytest-xdist share the server, by the environment.
    if config.getoption("--store") == "sqlite" or hasattr(config, "workerinput"):
        return
    server = contextlib.ExitStack()
    try:
        # Tests lose no data that anybody wants back.
        os.environ[SERVER] = server.enter_context(postgresql.serving("fsync=off", "max_connections=200"))
    except NoServerError as error:
        raise pytest.UsageError(f"--store=postgresql: {error}") from error
    config.add_cleanup(server.close)


def pytest_report_header(config: pytest.Config) -> list[str]:
    store = config.getoption("--store")
    others = "; --store=postgresql runs those that keep one on PostgreSQL" if store == "sqlite" else ""
    return [f"stores: {store}{others}", f"lane: {config.getoption('--lane')}"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here, lanes = config.getoption("--store"), LANES[config.getoption("--lane")]
    whys = {}
    for item in items:
        lane = _lane_of(item, here)
        why = _why_not(item, here) or (f"{lane} lane" if lane not in lanes else None)
        if why:
            whys[item] = why
    config.stash[LEFT_OUT].update(whys.values())
    config.hook.pytest_deselected(items=list(whys))
    items[:] = [item for item in items if item not in whys]


def _why_not(item: pytest.Item, here: str) -> str | None:
    [elsewhere] = [store for store in STORES if store != here]
    for name, words in ((f"{elsewhere}_only", f"{elsewhere} only"), ("any_store", "the same with any store")):
        marker = item.get_closest_marker(name)
        if marker and not marker.args:
            raise pytest.UsageError(f"{item.nodeid}: say why it is {words}")
        if marker and (name != "any_store" or here != "sqlite"):
            return f"{words}: {marker.args[0]}"
    # What is not about stores need not run twice.
    if here == "sqlite" or item.get_closest_marker(f"{here}_only"):
        return None
    return None if "new_database" in getattr(item, "fixturenames", ()) else NO_STORE


def _lane_of(item: pytest.Item, store: str) -> str:
    names = ("full_lane", "quick_lane", "nightly")
    marker = next((m for m in item.iter_markers() if m.name in names), None)
    if marker and marker.name != "quick_lane" and not marker.args:
        raise pytest.UsageError(f"{item.nodeid}: say why it is not in the quick lane")
    if marker and marker.name == "nightly":
        return "nightly"
    if store == "postgresql":
        return "full" if _is_for_both_stores(item) else "nightly"
    if marker:
        return marker.name.removesuffix("_lane")
    processes = PROCESSES - {"new_project"} if _is_in_process(item) else PROCESSES
    return "quick" if processes.isdisjoint(getattr(item, "fixturenames", ())) else "full"


def _is_for_both_stores(item: pytest.Item) -> bool:
    return STORE_TESTS in item.path.parents or any(
        item.get_closest_marker(name) for name in ("both_stores", "postgresql_only")
    )


def _is_in_process(item: pytest.Item) -> bool:
    marker = next((m for m in item.iter_markers() if m.name in ("in_process", "real_crawl")), None)
    return marker is not None and marker.name == "in_process"


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        left_out = session.config.stash[LEFT_OUT]
        session.config.workeroutput["left_out"] = dict(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # Each worker has collected all.
    node.config.stash[LEFT_OUT] |= Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for why, number in sorted(config.stash[LEFT_OUT].items()):
        terminalreporter.write_line(f"left out: {number} ({why})")


@pytest.fixture
def wayback(request: pytest.FixtureRequest) -> Iterator[FeedServer]:
    from tests.web_archives import Wayback  # pytest registers a module of its imports first

    with in_process.MemoryServer() if _is_in_process(request.node) else FeedServer() as server:
        server.answers = Wayback()
        yield server


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[FeedServer]:
    with in_process.MemoryServer() if _is_in_process(request.node) else FeedServer() as running:
        yield running


@pytest.fixture(scope="session")
def new_database() -> NewDatabase:
    """Makes empty databases. A test that has this, or a fixture that has it, runs on PostgreSQL too."""
    return databases.new_database


@pytest.fixture
def database(new_database: NewDatabase) -> Iterator[Database]:
    with new_database() as made:
        yield made


@pytest.fixture(scope="session")
def new_project(new_database: object) -> NewProject:
    return projects.new_project


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path, new_project: NewProject) -> Iterator[Project]:
    new = in_process.new_project if _is_in_process(request.node) else new_project
    with new(tmp_path) as made:
        yield made
