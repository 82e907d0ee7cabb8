import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests import databases, in_process, postgresql, projects
from tests.databases import SERVER, Database, NewDatabase
from tests.ports import NoServerError
from tests.projects import NewProject, Project
from tests.server import FeedServer

pytest_plugins = ["tests.browser", "tests.servers"]
STORES = ("sqlite", "postgresql")
# Tests with these fixtures start processes, each of which takes a second or two.
SERVERS = {"postgresql_url", "redis_url", "shared_wordpress"}
PROCESSES = {"new_project", "anywhere", "cluster", "browser", *SERVERS}
STORE_TESTS = Path(__file__).parent / "store"
WITH_REASONS = ("slow", "nightly", "sqlite_only", "postgresql_only", "any_store")


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
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure(config: pytest.Config) -> None:
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
    return [f"store: {config.getoption('--store')}; markers: {config.getoption('-m') or 'any'}"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the markers that follow from fixtures and folders; select by store, before `-m` selects."""
    for item in items:
        _check_reasons(item)
        if _starts_processes(item) and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.slow("starts processes"))
        if STORE_TESTS in item.path.parents or item.get_closest_marker("postgresql_only"):
            item.add_marker(pytest.mark.both_stores)
    store = config.getoption("--store")
    deselected = [item for item in items if not _is_for_store(item, store)]
    config.hook.pytest_deselected(items=deselected)
    items[:] = [item for item in items if _is_for_store(item, store)]


def _check_reasons(item: pytest.Item) -> None:
    for marker in item.iter_markers():
        if marker.name in WITH_REASONS and not marker.args:
            raise pytest.UsageError(f"{item.nodeid}: the marker {marker.name} needs a reason")


def _starts_processes(item: pytest.Item) -> bool:
    processes = PROCESSES - {"new_project"} if _is_in_process(item) else PROCESSES
    return not processes.isdisjoint(getattr(item, "fixturenames", ()))


def _is_for_store(item: pytest.Item, store: str) -> bool:
    markers = {marker.name for marker in item.iter_markers()}
    if store == "sqlite":
        return "postgresql_only" not in markers
    if markers & {"sqlite_only", "any_store"}:
        return False
    return "postgresql_only" in markers or "new_database" in getattr(item, "fixturenames", ())


def _is_in_process(item: pytest.Item) -> bool:
    marker = next((m for m in item.iter_markers() if m.name in ("in_process", "real_crawl")), None)
    return marker is not None and marker.name == "in_process"


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
